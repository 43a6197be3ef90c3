# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The other suites rely on this: the right modules are loaded, and the checks can fail.

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

# memory_held counts pages that no counter of the kernel covers, and no other memory.
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

# Tasks that have ended do not count, though KASAN keeps the shadow of their stacks until
# there is much of it.
#@ fast timeout=60
test_memory_held_leaves_ended_tasks_out() {
	local least most
	set +x
	for _ in {1..4}; do
		for _ in {1..200}; do /bin/true; done
		memory_held
	done | sort -n >"$T/held"
	least=$(head -n 1 "$T/held") most=$(tail -n 1 "$T/held")
	assert_le $((most - least)) 1024 "KiB between the least and the most after 200 tasks each"
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

# Each line is what the kernel logs when it finds a mistake. A test whose log has such a
# line fails.
#@ fast timeout=60
test_reports_of_the_kernel_are_noticed() {
	local report
	while read -r report; do
		echo "hearth-test: $report" >/dev/kmsg
		dmesg_clean
		echo "$report" >/dev/kmsg
		if dmesg_clean; then fail "the report was not noticed: $report"; fi
	done <<-'END'
		BUG: KASAN: slab-out-of-bounds in cache_message+0x1f/0x30 [dm_cache]
		BUG: sleeping function called from invalid context at mm/slab.h:494
		BUG: unable to handle page fault for address: ffffc90000a01000
		BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 36s!
		UBSAN: shift-out-of-bounds in cache-target.c:12:3
		WARNING: possible circular locking dependency detected
		WARNING: inconsistent lock state
		WARNING: suspicious RCU usage
		WARNING: CPU: 1 PID: 77 at lib/refcount.c:28 refcount_warn_saturate+0xba/0x110
		watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [dmsetup:101]
		rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
		INFO: task dmsetup:101 blocked for more than 60 seconds.
	END
	echo "hearth-test: the end" >/dev/kmsg
}
