# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Memory is short, and the kernel frees it by writing through the cache: it swaps pages.

volume_for_memory() {
	standard_vg 320
	LV_MIB=256 CACHE_MIB=48 cached_lv pool writeback
}

vmstat() {
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

cache_is_well() {
	read_status vg-lv
	assert_eq "${ST[rw]} ${ST[needs_check]}" "rw -" "end of the status"
	assert_eq "$(kernel_log | grep -ciE 'out of memory|oom-kill|page allocation failure')" 0 \
		"complaints of the kernel"
}

# swapping LEFT MIB ROUNDS COMMAND...: the command runs a program that uses MIB of
# memory where only LEFT are free.
swapping() {
	local out in
	mkswap /dev/vg/lv
	swapon /dev/vg/lv
	out=$(vmstat pswpout) in=$(vmstat pswpin)
	"${@:4}" "$TOP/build/tools/dirtymem" "$2" "$3" "${HEARTH_SEED:-1}"
	out=$((($(vmstat pswpout) - out) / 256)) in=$((($(vmstat pswpin) - in) / 256))
	echo "swapped out $out MiB, in $in MiB; dirty blocks $(stat_of vg-lv dirty)"
	assert_ge $out $((($2 - $1) * $3)) "MiB swapped out"
	assert_ge $in $((($2 - $1) * ($3 - 1) / 2)) "MiB swapped in"
	swapoff /dev/vg/lv
	cache_is_well
}

# in_cgroup MIB COMMAND...: runs the command with so much memory, and swap. The kernel
# delays a process above that limit, and kills it only above one and a half times the
# limit, because slow writes can keep all of its pages busy.
in_cgroup() {
	local group=$T/cgroup/small
	mkdir "$T/cgroup"
	mount -t cgroup2 cgroup "$T/cgroup"
	echo +memory >"$T/cgroup/cgroup.subtree_control"
	mkdir "$group"
	echo "$1M" >"$group/memory.high"
	echo "$(($1 * 3 / 2))M" >"$group/memory.max"
	(echo $BASHPID >"$group/cgroup.procs" && "${@:2}")
	rmdir "$group"
}

#@ smp hearth-only fast timeout=60
test_swap_on_a_cached_lv() {
	[ -e /proc/swaps ] || skip "this kernel does not swap"
	volume_for_memory
	swapping 32 56 2 in_cgroup 32
}
