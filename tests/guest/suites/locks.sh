# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How often hearth takes its locks, as LOCK_STAT in the kernel of scripts/debug-kernel
# counts.

# shellcheck source=tests/guest/suites/faults.sh
. "${BASH_SOURCE%/*}/faults.sh"

# Prints the locks of hearth's sources, one a line, by the names that the kernel uses.
our_locks() {
	sed -nE \
		-e 's/.*(spin_lock_init|mutex_init|init_waitqueue_head)\((.*)\);.*/\2/p' \
		-e 's/.*DEFINE_(SPINLOCK|MUTEX)\((.*)\).*/\2/p' \
		"$TOP"/dm-target/*.c "$TOP"/policies/*.[ch] \
		"$TOP"/persistent-data/*.c "$TOP"/slots/*.c "$TOP"/write-log/*.c |
		sort -u
}

# acquisitions COMMAND...: prints how often each of our locks was taken while the
# command ran. TOTAL is the sum, and TOOK is the command's time in seconds. A lock of
# the kernel with the name of one of ours counts as ours.
acquisitions() {
	our_locks >"$T/ours"
	assert_match "$(<"$T/ours")" 'policy.lock' "locks"
	TOOK=$SECONDS
	echo 0 >/proc/lock_stat
	"$@"
	cp /proc/lock_stat "$T/lock_stat"
	TOOK=$((SECONDS - TOOK))
	count_ours "$T/ours" "$T/lock_stat" | tee "$T/counts"
	TOTAL=$(awk '{ n += $1 } END { print n + 0 }' "$T/counts")
}

# The eighth column counts acquisitions; a name may end in a subclass, #1 or /1.
count_ours() {
	awk '
	NR == FNR { ours[$0] }
	NR != FNR && match($0, /: +[0-9]/) {
		name = substr($0, 1, RSTART - 1)
		gsub(/^ +|[#\/][0-9]+$/, "", name)
		split(substr($0, RSTART + 1), column, " ")
		if (name in ours)
			print column[8], name
	}' "$@"
}

IOS=20000

hits() {
	fio_quiet --filename=/dev/mapper/c --rw="$1" --bs=4k --size=16M --io_size=$((IOS * 4))k \
		--norandommap
}

misses() {
	echo $(($(stat_of c read_misses) + $(stat_of c write_misses)))
}

misses_nothing() {
	local before
	before=$(misses)
	"$@"
	[ "$(misses)" = "$before" ]
}

# hits_take_no_lock RW: hits must add almost no acquisitions. The limit grows with the
# seconds, because the engine's clock takes locks once a second.
hits_take_no_lock() {
	udevadm settle
	misses_nothing acquisitions hits "$1" || fail "some requests were misses"
	echo "locks: $TOTAL acquisitions in $IOS I/Os and $TOOK seconds"
	assert_le "$TOTAL" $((IOS / 1000 + 4 * TOOK)) "acquisitions"
}

# resident_cache MODE: makes a cache c that holds all of the first 16 MiB.
resident_cache() {
	breakable_devices 32 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "$1"
	# promotions take locks, which shows that the count can rise
	acquisitions read_all /dev/mapper/c 16
	assert_ge "$TOTAL" 256 "acquisitions of promotions"
	until_true 60 misses_nothing read_all /dev/mapper/c 16 || fail "not all blocks are resident"
}

#@ fast hearth-only debug-kernel timeout=120
test_read_hits_take_no_lock() {
	resident_cache writethrough
	hits_take_no_lock randread
}

#@ fast hearth-only debug-kernel timeout=120
test_write_hits_on_dirty_blocks_take_no_lock() {
	resident_cache writeback
	now SLOW failing_writes		# the blocks stay dirty
	write_data /dev/mapper/c 2 0 16
	assert_ge "$(stat_of c dirty)" 256
	# Tries to write back take locks, and fio needs some idle seconds before its first I/O.
	stays_dirty c
	hits_take_no_lock randwrite
}
