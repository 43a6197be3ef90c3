# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The ground the other suites stand on: the right modules are loaded, and the
# checks can fail.

#@ fast timeout=60
test_engine_is_ours() {
	assert_match "$(dmsetup targets | grep '^cache ')" '^cache +v[2-9]' version
	if is_stock; then
		assert_match "$(modinfo -F filename dm-cache-smq)" /kernel/drivers/md/ path
	else
		assert_match "$(modinfo -F filename dm-cache-smq)" /updates/ path
	fi
	[ -e /sys/module/dm_cache_smq ] || fail "dm-cache-smq is not loaded"
}

# Pages that the kernel counts nowhere are seen, and nothing else is.
#@ fast timeout=60
test_memory_held_is_seen() {
	local before with after
	device DISK 8 ram
	before=$(memory_held)
	fill_device "$DISK"
	with=$(memory_held)
	remove_nullb
	after=$(memory_held)
	echo "held: $before, $with, $after KiB"
	assert_ge $((with - before)) 7680 "KiB more with 8 MiB in a device"
	assert_le $((with - before)) 9216 "KiB more with 8 MiB in a device"
	assert_le $((after - before)) 512 "KiB kept without it"
}

#@ fast timeout=60
test_data_checks_can_fail() {
	device DISK 32 ram
	write_data "$DISK" 1 0 8
	check_data "$DISK" 1 0 8
	check_data_fails "$DISK" 2 0 8
	write_data "$DISK" 2 3 1
	check_data_fails "$DISK" 1 0 8
	check_data "$DISK" 2 3 1
	RW=randwrite write_data "$DISK" 5 0 8 4k
	RW=randwrite check_data "$DISK" 5 0 8 4k
	dd if=/dev/zero of="$DISK" bs=512 seek=999 count=1 oflag=direct status=none
	RW=randwrite check_data_fails "$DISK" 5 0 8 4k
}
