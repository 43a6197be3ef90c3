# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The section copies a tree of files (the kernel's headers) to a new ext4 and searches
# it twice, each time with an empty page cache: on the disk, on caches of it, and on the
# SSD alone.

GREP_MIB=1024

# searched NAME: reads every file, and prints how long that took.
searched() {
	local began=$EPOCHREALTIME
	! grep -rq "no header says this" "$T/mnt" || fail "grep found something"
	figure "$SECTION-$1-seconds" "$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')"
}

# grep_on NAME DEVICE
grep_on() {
	local pass
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$2"
	mkdir -p "$T/mnt"
	mount "$2" "$T/mnt"
	tar -C "$T/mnt" -xf "$T/tree.tar"
	for pass in first second; do
		umount "$T/mnt"
		echo 3 >/proc/sys/vm/drop_caches
		mount "$2" "$T/mnt"
		undisturbed searched "$1-$pass"
	done
	umount "$T/mnt"
}

grep_cached() {
	empty_cache "$1" "$2"
	grep_on "$1-$2" /dev/mapper/c
	dmsetup remove c
}

grep_devices() {
	tar -C /usr/src/linux-headers-*-common -cf "$T/tree.tar" include
	disk $GREP_MIB keep
	device META 16 20000ns
	device SSD $GREP_MIB 20000ns
	linear fast "$SSD" $((256 * 2048))
	FAST=/dev/mapper/fast SLOW=$DISK
}

bench_grep() {
	local engine mode
	grep_devices
	if [ -z "${BENCH_QUICK:-}" ]; then
		grep_on uncached "$DISK"
	fi
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		for mode in writeback writethrough; do
			grep_cached "$engine" $mode
		done
	done
	dmsetup remove fast
	grep_on ssd "$SSD"
}
