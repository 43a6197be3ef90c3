# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# No request may wait for ever. Operations that stop, flush or take apart a cache must
# end under load, during promotions, and with devices that fail. tool.sh has the test of
# an interrupted drain.

# For the functions that make devices fail.
# shellcheck source=tests/guest/suites/faults.sh
. "$(dirname "${BASH_SOURCE[0]}")/faults.sh"

# in_time COMMAND...: runs the command for at most a minute, because a busy host needs
# that long.
in_time() {
	local code=0
	timeout -s KILL 60 "$@" || code=$?
	[ $code != 137 ] || fail "stuck: $*"
	return $code
}

# load_all_over NAME [FIO OPTION...]: reads, writes and flushes at random places, until
# a request fails or until stop_load.
load_all_over() {
	fio --name=load --filename="/dev/mapper/$1" --direct=1 --ioengine=libaio --iodepth=32 \
		--thread --rw=randrw --bs=4k --norandommap --time_based --runtime=600 \
		--fsync=32 --output="$T/load.out" "${@:2}" &
	LOAD=$!
}

stop_load() {
	kill "$LOAD"
	until_true 60 load_is_over || fail "stuck: the load"
	wait "$LOAD" || true
}

promotes() {
	[ "$(stat_of c promotions)" -gt "$PROMOTED" ]
}

# promoting: waits until the engine has promoted another block.
promoting() {
	PROMOTED=$(stat_of c promotions)
	until_true 60 promotes || fail "the engine promotes nothing"
}

# promoting_cache MODE: makes a cache that promotes every miss, over a disk so slow that
# some promotion is always in flight.
promoting_cache() {
	device META 8 ram
	device FAST 16 ssd
	device SLOW 64 slow-disk
	zero "$META" 1
	by_hand c 128 "$1" "lru 2 max_promote_share 100"
	load_all_over c
	promoting
}

#@ smp hearth-only fast timeout=120
test_suspend_and_flush_while_promoting() {
	promoting_cache writeback
	for _ in 1 2 3; do
		in_time dmsetup suspend c
		in_time dmsetup resume c
		promoting
		in_time dmsetup suspend --noflush c
		in_time dmsetup resume c
		promoting
		in_time sync /dev/mapper/c
	done
	stop_load
	in_time dmsetup remove --retry c
}

# A table of errors replaces the cache's, as "dmsetup remove --force" does first.
#@ smp hearth-only slow timeout=120 on=writeback
test_remove_while_promoting() {
	promoting_cache "$1"
	in_time dmsetup wipe_table c
	until_true 60 load_is_over || fail "stuck: the load"
	must_fail wait "$LOAD"
	in_time dmsetup remove --retry c
	by_hand c 128 "$1"
	assert_eq "$(stat_of c rw)" rw
}

# Every operation must end, whichever device fails; dirty blocks may stay dirty.
#@ smp hearth-only fast timeout=180 on=FAST
test_stopped_with_failing() {
	no_metadata_check
	breakable_devices 16 64
	by_hand c 128 writeback "lru 2 max_promote_share 100"
	load_all_over c --continue_on_error=all
	promoting
	now "$1" failing
	in_time sync /dev/mapper/c || true
	in_time dmsetup suspend c
	in_time dmsetup resume c
	in_time dmsetup suspend --noflush c
	in_time dmsetup resume c
	stop_load
	in_time dmsetup remove --retry c
}

#@ smp hearth-only slow timeout=180 on=vol
test_uncache_under_load() {
	local more
	standard_vg
	cached_lv "$1" writeback
	write_data /dev/vg/lv 1 64 16
	fio --name=load --filename=/dev/vg/lv --direct=1 --ioengine=libaio --iodepth=16 --thread \
		--rw=randrw --bsrange=4k-64k --size=48M --io_size=96M --loops=50 --verify=crc32c \
		--verify_fatal=1 --verify_backlog=64 --verify_state_save=0 --output="$T/load.out" &
	LOAD=$!
	until_true 60 used_at_least vg-lv 200 || fail "the cache holds too few blocks"
	in_time lvconvert -y --uncache vg/lv
	load_is_over && fail "the load is over already"
	assert_eq "$(field segtype)" linear type
	more=$(($(sectors_written /dev/vg/lv) + 2048))
	until_true 60 written_to /dev/vg/lv $more || fail "the load stands still"
	load_is_over && fail "errors: $(cat "$T/load.out")"
	stop_load
	if grep -E 'err= *[1-9]|verify: bad' "$T/load.out"; then fail "the load met errors"; fi
	check_data /dev/vg/lv 1 64 16
}

# busy_worker: discards what no slot holds, all the time. The engine's worker passes
# them down to a disk so slow that each takes it milliseconds, so a bio that was woken
# waits for the worker while readers go on. A discard locks its device, so each job has
# one of its own.
busy_worker() {
	local job jobs=()
	for job in 1 2 3 4 5 6; do
		dmsetup create "part$job" --table "0 8192 linear /dev/mapper/c $((job * 8192 + 65536))"
		jobs+=(--name="trim$job" --filename="/dev/mapper/part$job")
	done
	fio --rw=randtrim --bs=64k --thread --time_based --runtime=600 \
		--output="$T/trims.out" "${jobs[@]}" &
	TRIMS=$!
}

block_is_read() {
	[ "$(stat_of c read_hits)" -gt $((HITS + 20)) ]
}

# A discard needs a slot without pins. A reader that waits for no other pins the slot
# again as soon as it opens, before the worker comes to the discard. Without a grant it
# is a matter of luck when the discard ends: of two, one had 26 hits beside it, the other
# 106. With a grant five had 5 to 42, nearly all while the programs start: 40 in a second.
# So the test is not for a machine with other work.
#@ smp hearth-only slow timeout=180
test_discard_of_a_block_that_is_read() {
	device META 8 ram
	device FAST 16 100000000ns
	device SLOW 64 slow-disk
	zero "$META" 1
	by_hand c 128 writethrough "lru 2 max_promote_share 100"
	fio --name=reads --filename=/dev/mapper/c --rw=randread --bs=4k --size=64k --direct=1 \
		--ioengine=libaio --iodepth=4 --thread --time_based --runtime=600 \
		--output="$T/reads.out" &
	LOAD=$!
	busy_worker
	for _ in 1 2 3 4 5; do
		HITS=$(stat_of c read_hits)
		until_true 60 block_is_read || fail "the block is not cached"
		HITS=$(stat_of c read_hits)
		in_time blkdiscard -f -o 0 -l 64k /dev/mapper/c
		HITS=$(($(stat_of c read_hits) - HITS))
		echo "reads that hit during the discard: $HITS"
		assert_le $HITS 100 "reads that hit during the discard"
	done
	stop_load
	kill "$TRIMS"
	wait "$TRIMS" || true
}
