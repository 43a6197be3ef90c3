# SPDX-License-Identifier: GPL-2.0-only
#
# make            the kernel modules and the user-space programs
# make test       every test that fits a continuous-integration run
# make demo       a cached volume from pvcreate to --uncache, in a guest
# README.md has the rest.

KVER    ?= $(shell scripts/kver)
KDIR    ?= /lib/modules/$(KVER)/build
MODDIR  ?= /lib/modules/$(KVER)/updates
DESTDIR ?=
PREFIX  ?= /usr
MANDIR  ?= $(PREFIX)/share/man
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
MODULES := $(shell sed -n 's/^BUILT_MODULE_NAME.*="\(.*\)"/\1.ko/p' dkms.conf)
# Where others look for what is theirs to find, whatever PREFIX is.
DRACUTDIR    ?= /usr/lib/dracut/modules.d
INITRAMFSDIR ?= /usr/share/initramfs-tools
KERNELDIR    ?= /etc/kernel/postinst.d
INSTALLDIR   ?= /usr/lib/kernel/install.d
LIBDIR       ?= /usr/lib/hearth
SRCDIR       ?= /usr/src/hearth-$(VERSION)
PYTEST  := build/venv/bin/pytest -p no:cacheprovider
BENCH   := build/venv/bin/python tests/bench/bench.py
# Directories with a Makefile of their own that has a "check" target.
UNITS   := $(patsubst %/Makefile,%,$(filter-out tests/boot/% tests/crash/%,$(wildcard tests/*/Makefile)))
TOOLS   := $(patsubst %/Makefile,%,$(wildcard tools/Makefile lvm-plugin/Makefile))
# The manual pages. Pages with .in are templates: scripts/man-page puts in the settings
# and counters of build/lists, which scripts/lists makes of the headers that have them.
PAGES   := $(patsubst man/%,build/man/%,$(patsubst %.in,%,$(wildcard man/*.[78] man/*.[78].in)))
LISTS   := dm-target/cache-setting-list.h dm-target/cache-counters.h dm-target/cache-latency.h $(wildcard policies/*.[ch])

all: modules tools man

# These two, and what installs or packs them, install nothing on the machine: they
# name the packages that they miss.
modules:
	@scripts/needs modules $(KVER)
	$(if $(wildcard dm-target/Kbuild),$(MAKE) -C $(KDIR) M=$(CURDIR)/dm-target W=1 modules)

tools:
	@scripts/needs tools
	$(foreach d,$(TOOLS),$(MAKE) -C $(d) &&) true

lists: build/lists

build/lists: scripts/lists $(LISTS)
	@mkdir -p build
	CC="$(CC)" scripts/lists >$@.new
	mv $@.new $@

man: $(PAGES)

build/man/%: man/%
	@mkdir -p build/man
	cp $< $@

build/man/%: man/%.in build/lists scripts/man-page
	@mkdir -p build/man
	awk -f scripts/man-page build/lists $< >$@.new
	mv $@.new $@

# All that the packages ship to be read, in the places that the documents' links lead to.
# In the tree the link of a page with a template leads to the template.
documents: man
	rm -rf build/documents
	mkdir -p build/documents
	cp -r --parents $(wildcard *.md) docs dm-target/cache-policy.h $(wildcard tests/README.md tests/*/README.md) build/documents
	cp -r build/man build/documents/man
	sed -i 's|(\(man/[a-z-]*\.[78]\)\.in)|(\1)|g' build/documents/*.md

# A target that tests, benches or demonstrates runs setup first, once. The modules
# are made afterwards, because setup may bring the kernel's headers.
setup setup-fuzz setup-debug-kernel setup-cluster:
	@scripts/setup $(patsubst -%,%,$(@:setup%=%))

modules-ready: setup
	@$(MAKE) modules

test: setup
	scripts/test fast

test-full: setup-cluster
	scripts/test full

# Tests in user space, under sanitizers.
unit: setup
	$(MAKE) check

# The same with what is on the machine, for packagers.
check:
	$(foreach d,$(UNITS),$(MAKE) -C $(d) check &&) true

# make policy-test POLICY=name: the conformance suite on one policy.
policy-test: setup
	$(MAKE) -C tests/policies check POLICY=$(POLICY)

# make fuzz [TIME=seconds]: crafted metadata, by libFuzzer and AFL++ (scripts/setup
# fuzz installs them); then which lines were reached. make model: the models of
# docs/models.
fuzz: setup-fuzz
	$(MAKE) -C tests/fuzz fuzz $(if $(TIME),TIME=$(TIME))

model: setup
	$(MAKE) -C tests/models check

# make guest-test [T=pattern] [HEARTH_STOCK=1]: tests in a guest of 6.1.
guest-test: modules-ready
	$(PYTEST) -v tests/guest $(if $(T),-k '$(T)')

# make test-sanitize [T=pattern]: the guest tests in a kernel that looks for
# mistakes (KASAN, lockdep); make test-faults [T=pattern]: failing devices, and
# in that kernel refused memory and bad sectors. Both build it first (scripts/debug-kernel).
test-sanitize: setup
	scripts/debug-kernel
	HEARTH_KERNEL=debug-kernel $(PYTEST) -v tests/guest $(if $(T),-k '$(T)')

test-faults: modules-ready
	HEARTH_SET=all $(PYTEST) -v tests/guest/suites/faults.sh $(if $(T),-k '$(T)')
	scripts/debug-kernel
	HEARTH_KERNEL=debug-kernel HEARTH_APPEND=kmemleak=on $(PYTEST) -v tests/guest/suites/faults-debug.sh $(if $(T),-k '$(T)')

# make test-crash [SEED=n]: power cuts and kills, the long version. make test-crash
# SEED=n CUT=m: one cut of a recording that a failed run has saved.
test-crash: modules-ready
	$(if $(CUT),tests/crash/replay $(SEED) $(CUT),tests/crash/all $(SEED))

# Checked load and random administration for so long: make soak [MINUTES=30].
soak: modules-ready
	$(if $(MINUTES),HEARTH_MINUTES=$(MINUTES)) $(PYTEST) -v tests/guest -k soak.sh

# Figures in a guest whose clock counts instructions: make bench measures all of
# them and writes docs/performance.md, make bench-check fails when one misses its
# limit. S='hit writeback' chooses sections; absorb and peers are in neither unless
# they are named. tests/bench/README.md has more.
bench: modules-ready
	$(BENCH) run $(S)

bench-check: modules-ready
	$(BENCH) check $(S)

# Where the instructions of a hit go.
bench-profile: modules-ready
	$(BENCH:bench.py=profile.py) $(or $(RW),randread)

# Compiles for every kernel that Debian has, K='trixie sid' for some.
kernels: setup
	scripts/kernels $(K)

# Reads the source for mistakes, without running it: make lint [P='shell docs'].
lint: setup
	scripts/lint $(P)

tools-ready: setup
	@$(MAKE) tools

demo: modules-ready tools-ready
	scripts/demo

# The files outside the modules: programs, man pages, hooks of initramfs generators.
BOOT_FILES := $(LIBDIR)/hearth-on-cache $(LIBDIR)/hearth-degraded $(LIBDIR)/hearth-origin \
	$(foreach f,module-setup hearth-timeout hearth-emergency hearth-answer hearth-forget,$(DRACUTDIR)/90hearth/$(f).sh) \
	$(DRACUTDIR)/90hearth/hearth-emergency.conf \
	$(foreach f,hooks $(addprefix scripts/,init-top local-block local-bottom panic),$(INITRAMFSDIR)/$(f)/hearth) \
	$(KERNELDIR)/hearth $(INSTALLDIR)/95-hearth.install

# An initramfs has copies of modules, which these targets do not touch.
say-initramfs = $(if $(DESTDIR),,@echo "If / is cached, renew the initramfs before a restart: update-initramfs -u, or dracut --force")

install: all install-modules install-tools install-man install-boot
	$(say-initramfs)

install-modules:
	install -d $(DESTDIR)$(MODDIR)
	install -m 644 dm-target/*.ko $(DESTDIR)$(MODDIR)
	$(if $(DESTDIR),,depmod $(KVER))

install-tools: tools
	$(foreach d,$(TOOLS),$(MAKE) -C $(d) install DESTDIR=$(DESTDIR) prefix=$(PREFIX) &&) true

install-man: man
	install -d $(DESTDIR)$(MANDIR)/man7 $(DESTDIR)$(MANDIR)/man8
	install -m 644 $(filter %.7,$(PAGES)) $(DESTDIR)$(MANDIR)/man7
	install -m 644 $(filter %.8,$(PAGES)) $(DESTDIR)$(MANDIR)/man8

install-boot:
	install -d $(addprefix $(DESTDIR),$(sort $(dir $(BOOT_FILES))))
	install boot/* $(DESTDIR)$(LIBDIR)
	install dracut-module/90hearth/*.sh $(DESTDIR)$(DRACUTDIR)/90hearth
	install -m 644 dracut-module/90hearth/*.conf $(DESTDIR)$(DRACUTDIR)/90hearth
	install kernel-hooks/hearth $(DESTDIR)$(KERNELDIR)
	install kernel-hooks/95-hearth.install $(DESTDIR)$(INSTALLDIR)
	cd initramfs-tools && for f in $$(find . -name hearth); do \
		install $$f $(DESTDIR)$(INITRAMFSDIR)/$$f || exit; done

# The modules as source, for "dkms install hearth/$(VERSION)".
install-dkms:
	scripts/copy-sources $(DESTDIR)$(SRCDIR)

uninstall:
	$(if $(DESTDIR),,lvm-plugin/hearth-leave)
	rm -f $(addprefix $(DESTDIR)$(MODDIR)/,$(MODULES))
	rm -f $(patsubst build/man/%,$(DESTDIR)$(MANDIR)/man7/%,$(filter %.7,$(PAGES)))
	rm -f $(patsubst build/man/%,$(DESTDIR)$(MANDIR)/man8/%,$(filter %.8,$(PAGES)))
	$(foreach d,$(TOOLS),$(MAKE) -C $(d) uninstall DESTDIR=$(DESTDIR) prefix=$(PREFIX) &&) true
	rm -f $(addprefix $(DESTDIR),$(BOOT_FILES))
	rm -rf $(DESTDIR)$(SRCDIR)
	scripts/remove-empty "$(DESTDIR)" $(sort $(dir $(BOOT_FILES))) $(MODDIR) $(MANDIR)/man7 $(MANDIR)/man8
	$(if $(DESTDIR),,depmod $(KVER))
	$(say-initramfs)

# Debian packages, into build/deb, of a clone or of an unpacked source archive.
deb:
	@scripts/needs tools deb
	rm -rf build/deb
	mkdir -p build/deb/hearth-$(VERSION)
	scripts/source-files | tar -cf - -T - | tar -xf - -C build/deb/hearth-$(VERSION)
	cd build/deb/hearth-$(VERSION) && dpkg-buildpackage -us -uc

# RPM packages, into build/rpm. Where the names of packages are not those of Fedora:
# make rpm RPMFLAGS=--nodeps. Fedora has no package of Dygraphs, so this machine's copy, from
# Debian's package or from npm's, is packed with the source.
rpm: DYGRAPHS ?= $(wildcard /usr/share/javascript/dygraphs)
rpm:
	@scripts/needs rpm
	rm -rf build/rpm
	mkdir -p build/rpm
	scripts/source-files | tar -cf build/rpm/hearth-$(VERSION).tar -T - --transform 's|^|hearth-$(VERSION)/|'
	$(if $(DYGRAPHS),tar -rhf build/rpm/hearth-$(VERSION).tar -C $(DYGRAPHS) dygraph.min.js dygraph.min.css \
		--transform 's|^|hearth-$(VERSION)/dygraphs/|')
	gzip build/rpm/hearth-$(VERSION).tar
	rpmbuild -bb $(RPMFLAGS) -D '_sourcedir $(CURDIR)/build/rpm' -D '_topdir $(CURDIR)/build/rpm' rpm/hearth.spec

# Packages, DKMS and initramfs images in a Debian tree under build/boot, and
# machines that boot from a cached volume. Needs root.
test-boot: modules-ready tools-ready
	@[ "$$(id -u)" = 0 ] || { echo "make test-boot: needs root"; exit 1; }
	$(MAKE) -C tests/boot check HEARTH_SET=all

clean:
	$(if $(wildcard dm-target/Kbuild),$(MAKE) -C $(KDIR) M=$(CURDIR)/dm-target clean)
	$(foreach d,$(UNITS) $(TOOLS),$(MAKE) -C $(d) clean &&) true
	$(MAKE) -C $(KDIR) M=$(CURDIR)/tests/bench/disk clean
	$(MAKE) -C tests/crash clean
	rm -rf build/guest build/mods build/full build/bench build/kills build/mutants build/man build/lists build/documents

.PHONY: all modules tools lists man documents setup setup-fuzz setup-debug-kernel setup-cluster modules-ready tools-ready test test-full test-sanitize test-faults test-boot unit check policy-test fuzz model guest-test bench bench-check bench-profile kernels lint test-crash soak demo
.PHONY: install install-modules install-tools install-man install-boot install-dkms uninstall deb rpm clean
