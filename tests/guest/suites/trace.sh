# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The trace events of dm_cache: their number must match the counters, and their reasons
# and times must be plausible.

TRACE=/sys/kernel/tracing

tracing_on() {
	trap tracing_off EXIT
	mount_trace
	echo 8192 >$TRACE/buffer_size_kb
	: >$TRACE/trace
	echo 1 >$TRACE/events/dm_cache/enable
}

tracing_off() {
	echo 0 >$TRACE/events/dm_cache/enable
	echo 8 >$TRACE/buffer_size_kb
}

# traced EVENT REGEX: prints how many such events all CPUs have traced.
traced() {
	grep -E "dm_cache_$1: " "$T/trace" | grep -cE "$2" || true
}

#@ fast hearth-only timeout=120
test_events_agree_with_counters() {
	local dev
	by_hand_devices 8 64
	# Tracing begins before the cache exists, because udev reads the cache at once.
	tracing_on
	by_hand c 128 "metadata2 writeback" "default 6 read_level 0 write_level 0 seq_cutoff 0"
	write_data /dev/mapper/c 1 0 6
	read_all /dev/mapper/c 24
	blkdiscard -o 0 -l 1M /dev/mapper/c
	# An idle cache writes its dirty blocks back.
	until_true 60 all_clean c || fail "the cache is still dirty"
	dmsetup suspend c
	cp $TRACE/trace "$T/trace"
	grep -o "dm_cache_[a-z]*: .*" "$T/trace" | sed "s/block=[0-9]* slot=[0-9]*//; s/usecs=[0-9]*//; s/ops=[0-9]* intents=[0-9]*//" | sort | uniq -c
	if grep -q '\[LOST' "$T/trace"; then fail "the kernel lost trace events"; fi
	dev=$(lsblk -dno MAJ:MIN /dev/mapper/c | tr -d ' ')
	assert_eq "$(grep -c 'dm_cache_' "$T/trace")" "$(grep -cE "dm_cache_[a-z]*: $dev (block|ops)=" "$T/trace")" device

	assert_ge "$(counter c promotions)" 100 promotions
	assert_eq "$(traced promote ' why=(seen|ahead|hot) .* error=0$')" "$(counter c promotions)" promotions
	assert_eq "$(traced promote ' error=-[0-9]*$')" "$(counter c promotions_aborted)" "promotions aborted"
	assert_ge "$(counter c demotions)" 10 demotions
	assert_eq "$(traced demote ' why=evicted ')" "$(counter c demotions)" demotions
	assert_ge "$(counter c invalidations)" 1 invalidations
	assert_eq "$(traced demote ' why=(invalidated|discarded) ')" "$(counter c invalidations)" invalidations
	assert_ge "$(counter c writebacks)" 10 write-backs
	assert_eq "$(traced writeback ' why=(drain|room|share|idle) .* error=0$')" "$(counter c writebacks)" write-backs
	assert_eq "$(traced '(promote|writeback)' ' usecs=0 ')" 0 "without a time"
	assert_eq "$(traced commit ' ops=')" "$(counter c commits)" commits
	dmsetup resume c
}

# The histogram shows hits and misses apart, as the docs say.
#@ slow hearth-only timeout=90
test_dm_statistics_of_a_cache() {
	local reads fast slow
	device META 8 ram
	device FAST 16 ssd
	device SLOW 64 200000000ns
	zero "$META" 1
	by_hand c 128 "metadata2 writeback"
	message c mode writeonly
	write_data /dev/mapper/c 1 0 2
	dmstats create --bounds 100ms c
	fio_quiet --readonly --filename=/dev/mapper/c --rw=randread --bs=4k --size=2M --io_size=160k
	fio_quiet --readonly --filename=/dev/mapper/c --rw=randread --bs=4k --offset=8M --size=2M --io_size=40k
	dmstats report --noheadings -o read_count,hist_count c | tee "$T/report"
	# number of reads, reads under 100 ms, reads above; udev's reads are among them
	read -r reads fast slow < <(tr -s ' ,|:' ' ' <"$T/report")
	assert_ge "$reads" 50 reads
	assert_ge "$fast" 40 "fast ones"
	assert_ge "$slow" 10 "slow ones"
	dmstats delete --allregions c
}

# one_liner NUMBER: prints the program of the nth bpftrace command in the docs.
one_liner() {
	sed -n "s/^    bpftrace -e '\(.*\)'$/\1/p" "$TOP/docs/administration.md" | sed -n "$1p"
}

is_attached() {
	grep -q '^Attaching' "$T/bpf"
}

# observe NUMBER SECONDS: runs the program while blocks are promoted, written and written back.
# bpftrace does not say when it has attached all that it begins with, so it gets some SECONDS.
observe() {
	local program pid
	program=$(one_liner "$1")
	[ -n "$program" ] || fail "no line $1 for bpftrace in docs/administration.md"
	# A shell makes its background processes ignore interrupts.
	env --default-signal=INT bpftrace -e "$program" >"$T/bpf" 2>&1 &
	pid=$!
	until_true 120 is_attached || { cat "$T/bpf"; fail "bpftrace does not begin: $program"; }
	sleep "$2"
	write_data /dev/mapper/c "$1" 0 6
	read_all /dev/mapper/c 24
	until_true 60 all_clean c || fail "the cache is still dirty"
	sleep 1
	kill -INT $pid || true
	wait $pid || true
	cat "$T/bpf"
}

# shows NUMBER REGEX: the program prints such a line. A busy machine gets more time.
shows() {
	local seconds
	for seconds in 2 10 30; do
		observe "$1" $seconds
		! grep -qE "$2" "$T/bpf" || return 0
	done
	fail "bpftrace shows nothing like $2"
}

#@ slow hearth-only timeout=600
test_one_liners_for_bpftrace() {
	[ -e /usr/bin/bpftrace ] || skip "no bpftrace"
	[ -e /proc/sys/kernel/unprivileged_bpf_disabled ] || skip "this kernel runs no programs of BPF"
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	by_hand_devices 8 64
	by_hand c 128 "metadata2 writeback" "default 6 read_level 0 write_level 0 seq_cutoff 0"
	shows 1 '^@\[[0-3]\]: [1-9]'		# reasons
	shows 2 '^\[.*\) +[1-9][0-9]* \|@'	# a histogram
	shows 3 '^@\[[0-9]+\]: [1-9]'		# blocks
	assert_eq "$(one_liner 4)" "" "lines that are not tried"
}
