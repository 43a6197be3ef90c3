# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How often hearth's locks are taken, as LOCK_STAT of the kernel of
# scripts/debug-kernel counts.

# shellcheck source=tests/guest/suites/faults.sh
. "${BASH_SOURCE%/*}/faults.sh"

# The locks of hearth's sources, one a line, as the kernel names them.
our_locks() {
	sed -nE \
		-e 's/.*(spin_lock_init|mutex_init|init_waitqueue_head)\((.*)\);.*/\2/p' \
		-e 's/.*DEFINE_(SPINLOCK|MUTEX)\((.*)\).*/\2/p' \
		"$TOP"/dm-target/*.c "$TOP"/policies/*.[ch] "$TOP"/persistent-data/*.c |
		sort -u
}

# acquisitions COMMAND...: how often our locks were taken meanwhile, each, and in
# total in TOTAL; TOOK is its time, in seconds. Names of the kernel's own that are the
# same count as ours.
acquisitions() {
	our_locks >"$T/ours"
	assert_match "$(<"$T/ours")" 'policy_lock' "locks"
	TOOK=$SECONDS
	echo 0 >/proc/lock_stat
	"$@"
	cp /proc/lock_stat "$T/lock_stat"
	TOOK=$((SECONDS - TOOK))
	count_ours "$T/ours" "$T/lock_stat" | tee "$T/counts"
	TOTAL=$(awk '{ n += $1 } END { print n + 0 }' "$T/counts")
}

# The eighth column; a name may end in a subclass, #1 or /1.
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

# The clock ticks once a second, whatever the I/Os.
# hits_take_no_lock RW
hits_take_no_lock() {
	udevadm settle
	misses_nothing acquisitions hits "$1" || fail "misses"
	echo "locks: $TOTAL acquisitions in $IOS I/Os and $TOOK seconds"
	assert_le "$TOTAL" $((IOS / 1000 + 4 * TOOK)) "acquisitions"
}

# All of the first 16 MiB in the cache c.
resident_cache() {
	breakable_devices 32 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "$1"
	# promotions take them: so it is seen when none is counted
	acquisitions read_all /dev/mapper/c 16
	assert_ge "$TOTAL" 256 "acquisitions of promotions"
	until_true 60 misses_nothing read_all /dev/mapper/c 16 || fail "not all is resident"
}

#@ fast hearth-only debug-kernel timeout=120
test_read_hits_take_no_lock() {
	resident_cache writethrough
	hits_take_no_lock randread
}

#@ fast hearth-only debug-kernel timeout=120
test_write_hits_on_dirty_blocks_take_no_lock() {
	resident_cache writeback
	now SLOW failing_writes		# they stay dirty
	write_data /dev/mapper/c 2 0 16
	assert_ge "$(stat_of c dirty)" 256
	hits_take_no_lock randwrite
}
