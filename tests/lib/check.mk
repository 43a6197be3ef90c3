# SPDX-License-Identifier: GPL-2.0-only
#
# The recipe of "check" for a directory of cmocka programs: $(call run-tests,ENV)
# runs $(OUT)/test-NAME for each NAME of $(TESTS) with ENV before it, prints the
# closing lines, and at the end the output of those that failed. The programs of LVM and of
# thin-provisioning-tools are in directories that are not on the PATH of every user.

define run-tests
@failed=; for t in $(TESTS); do \
	echo "== $$t"; \
	PATH="$$PATH:/usr/sbin:/sbin" $(1) $(OUT)/test-$$t > $(OUT)/$$t.log 2>&1 || failed="$$failed $$t"; \
	grep -E '^(note|skip):|^\[  (FAILED|SKIPPED)|^\[  PASSED|tests? run|ERROR|Sanitizer' $(OUT)/$$t.log; \
done; \
for t in $$failed; do echo "== output of $$t"; tail -n 60 $(OUT)/$$t.log; done; \
[ -z "$$failed" ]
endef
