# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The write log: small writes that miss go to the SSD, and from there home. A log that
# lies on the devices is recovered, settled, or refused by stock.

# shellcheck source=tests/guest/suites/faults.sh
. "${BASH_SOURCE%/*}/faults.sh"

# absorbing [FAST_MIB [SLOW_MIB]]: makes a writeback cache with a log, from which nothing
# goes home while it is not too full, nor when the cache is removed.
absorbing() {
	by_hand_devices "$@"
	log_begins
}

# log_begins [POLICY]: as absorbing, on the devices that there are.
log_begins() {
	by_hand c 128 "metadata2 writeback" "$@"
	stays_dirty c
	log_goes_on
}

# The log of the cache c is turned on.
log_goes_on() {
	message c settle_seconds 0
	message c absorb 1
	until_true 60 log_is on
}

# log_is STATE: what the message stats says of the log's state
log_is() {
	[ "$(counter c log)" = "$1" ]
}

# missed_ones_absorbed N: of so many writes those that missed were absorbed, and they are
# most. udev reads a new device, so a few blocks are in the cache.
missed_ones_absorbed() {
	local hits absorbed
	hits=$(counter c write_hits)
	absorbed=$(counter c log_writes)
	assert_ge "$((hits + absorbed))" "$1" "writes that hit or were absorbed"
	assert_ge "$absorbed" $(($1 / 2)) "writes that were absorbed"
}

# home_is_complete: all that is dirty goes home, and the origin is what the volume is.
home_is_complete() {
	sum_of /dev/mapper/c >"$T/volume"
	message c writeback_idle 1
	until_true 240 all_clean c
	assert_eq "$(sum_of "$SLOW")" "$(cat "$T/volume")" "the origin"
}

# small_writes SEED OFFSET_MIB MIB: writes 4 KiB at a time, in random order.
small_writes() {
	RW=randwrite write_data /dev/mapper/c "$1" "$2" "$3" 4k
}

# are_right DEVICE SEED OFFSET_MIB MIB: the device has these small writes.
are_right() {
	RW=randwrite check_data "$@" 4k
}

# flag_is 0|1: the flag of the write log on the metadata device
flag_is() {
	dd if="$META" of="$T/superblock" bs=4k count=1 iflag=direct status=none
	assert_eq "$(($(od -An -tu4 -j252 -N4 "$T/superblock")))" "$1" "the flag of the write log"
}

#@ fast hearth-only timeout=120
test_small_writes_are_absorbed() {
	absorbing
	small_writes 1 0 8
	missed_ones_absorbed 2048
	assert_ge "$(stat_of c dirty)" 64 "segments, as dirty blocks"
	are_right /dev/mapper/c 1 0 8
	assert_ge "$(counter c log_reads)" 1024 "reads from the log"
	check_data_fails "$SLOW" 1 0 8 4k
	small_writes 2 2 4
	are_right /dev/mapper/c 2 2 4
	are_right /dev/mapper/c 1 6 2
}

#@ fast hearth-only timeout=180
test_off_goes_home() {
	absorbing
	small_writes 1 0 8
	flag_is 1
	message c absorb 0
	until_true 120 log_is off
	flag_is 0
	are_right /dev/mapper/c 1 0 8
	home_is_complete
	message c writeback_idle 0
	message c absorb 1
	until_true 60 log_is on
	small_writes 2 0 2
	are_right /dev/mapper/c 2 0 2
}

#@ slow hearth-only timeout=180
test_idle_log_goes_home() {
	absorbing
	small_writes 1 0 4
	message c writeback_idle 1
	until_true 120 all_clean c
	are_right "$SLOW" 1 0 4
	until_true 10 log_is on
	dmsetup remove c
	flag_is 0
}

#@ slow hearth-only timeout=180
test_mixed_reads() {
	by_hand_devices
	write_data "$SLOW" 1 0 16 4k
	log_begins
	# Every other 4 KiB of 4 MiB are written again.
	fio_quiet --filename=/dev/mapper/c --rw=write:4k --bs=4k --size=4M --io_size=2M --verify=crc32c
	missed_ones_absorbed 256
	dd if=/dev/mapper/c of="$T/whole" bs=64k count=64 iflag=direct status=none
	dd if=/dev/mapper/c of="$T/parts" bs=4k count=1024 iflag=direct status=none
	cmp "$T/whole" "$T/parts"
	message c absorb 0
	until_true 120 log_is off
	dd if=/dev/mapper/c of="$T/home" bs=64k count=64 iflag=direct status=none
	cmp "$T/whole" "$T/home"
	home_is_complete
	check_data "$SLOW" 1 4 12 4k
}

# counts_of NAME...: prints counters of the cache.
counts_of() {
	local name
	for name; do counter c "$name"; done
}

# every_other_4k MIB: writes every other 4 KiB of the volume's first MIB, and nothing else.
every_other_4k() {
	fio_quiet --filename=/dev/mapper/c --rw=write:4k --bs=4k --size="$1M" \
		--io_size="$(($1 * 512))k" --verify=crc32c
}

# As in the other tests, udev reads a new device, so that some ten blocks are in the cache.
#
# A read that promotes a block of which the log has something brings all of it into the
# cache. From then on the log has nothing of it.
#@ fast hearth-only timeout=180
test_reads_bring_blocks_from_the_log() {
	by_hand_devices
	write_data "$SLOW" 1 0 16 4k
	log_begins
	message c max_promote_share 100
	every_other_4k 2
	dd if=/dev/mapper/c of="$T/before" bs=64k count=32 iflag=direct status=none
	until_true 60 reads_have_moved_all
	assert_ge "$(counter c log_moved)" 16 "blocks that went into the cache"
	assert_ge "$(stat_of c used)" 32 "blocks in the cache"
	counts_of read_misses log_reads >"$T/counts"
	dd if=/dev/mapper/c of="$T/after" bs=64k count=32 iflag=direct status=none
	cmp "$T/before" "$T/after"
	assert_eq "$(counts_of read_misses log_reads)" "$(cat "$T/counts")" "misses and reads of the log"
	check_data "$SLOW" 1 4 12 4k
	every_other_4k 2
	dd if=/dev/mapper/c of="$T/after" bs=64k count=32 iflag=direct status=none
	dmsetup remove c
	by_hand c 128 "metadata2 writeback"
	dd if=/dev/mapper/c of="$T/again" bs=64k count=32 iflag=direct status=none
	cmp "$T/after" "$T/again"
	home_is_complete
}

# A promotion that is refused is wanted again by the next miss.
reads_have_moved_all() {
	dd if=/dev/mapper/c of=/dev/null bs=64k count=32 iflag=direct status=none
	log_has_left
}

# has_moved N: so many blocks went from the log into the cache.
has_moved() {
	[ "$(counter c log_moved)" -ge "$1" ]
}

# A block that the policy wanted when it was written goes into the cache when the log is
# emptied, and home from there.
#@ fast hearth-only timeout=180
test_wanted_blocks_stay_in_the_cache() {
	absorbing
	small_writes 1 0 4
	message c dirty_low 100
	message c max_promote_share 100
	message c writeback_idle 1
	until_true 120 all_clean c
	assert_ge "$(counter c log_moved)" 48 "blocks that went into the cache"
	assert_ge "$(stat_of c used)" 64 "blocks in the cache"
	are_right "$SLOW" 1 0 4
	counts_of read_misses log_reads >"$T/counts"
	are_right /dev/mapper/c 1 0 4
	assert_eq "$(counts_of read_misses log_reads)" "$(cat "$T/counts")" "misses and reads of the log"
	message c writeback_idle 0
	small_writes 2 1 2
	assert_ge "$(counter c write_hits)" 500 "writes that hit"
	are_right /dev/mapper/c 2 1 2
	are_right /dev/mapper/c 1 3 1
	home_is_complete
}

# Slots that are free are no reason to copy the rest of a block to the SSD because of some
# small writes to it, so the block goes home. A reader is a reason.
#@ fast hearth-only timeout=180
test_free_slots_take_no_parts_of_blocks() {
	local written
	absorbing
	message c dirty_low 100
	message c max_promote_share 100
	# 4 KiB of each 8 KiB, at random
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --ba=8k --offset=2M --size=4M \
		--io_size=4M --norandommap
	written=$(counter c cache_sectors_written)
	message c writeback_idle 1
	until_true 60 log_has_left
	assert_le $(($(counter c cache_sectors_written) - written)) 0 "sectors written to the cache device"
	assert_ge "$(counter c log_home)" 256 "extents that went home"
	home_is_complete
}

# A block that was wanted because slots were free goes home when none is: no block leaves the
# cache for it. A slot that the log gives back meanwhile is free.
#@ slow hearth-only timeout=180
test_blocks_from_free_times_evict_nothing() {
	local demoted
	absorbing 8 64
	small_writes 1 0 2
	message c promote_ahead 0
	until_true 60 reads_have_filled_it
	until_true 60 evicts_nothing
	demoted=$(counter c demotions)
	message c dirty_low 100
	message c max_promote_share 100
	message c writeback_idle 1
	until_true 60 log_has_left
	assert_ge "$(counter c log_home)" 64 "extents that went home"
	assert_eq "$(counter c demotions)" "$demoted" "blocks that left the cache"
	are_right /dev/mapper/c 1 0 2
	home_is_complete
}

# evicts_nothing: no block left the cache for eight seconds. Then no slot is kept free.
evicts_nothing() {
	local before
	before=$(counter c demotions)
	sleep 8
	[ "$(counter c demotions)" = "$before" ]
}

reads_have_filled_it() {
	dd if=/dev/mapper/c of=/dev/null bs=64k skip=512 count=128 iflag=direct status=none
	[ "$(counter c free_slots)" -le 1 ]
}

# Whole blocks are absorbed, too, and are mapped where they lie: nothing is copied.
#@ fast hearth-only timeout=180
test_whole_blocks_are_mapped_in_place() {
	local written
	linear_devices
	log_begins
	written=$(counter c cache_sectors_written)
	RW=randwrite write_data /dev/mapper/c 1 0 8 64k
	assert_ge "$(counter c log_writes)" 100 "whole blocks that were absorbed"
	RW=randwrite check_data /dev/mapper/c 1 0 8 64k
	until_true 20 log_has_left
	assert_le "$(counter c data_slots)" $(($(stat_of c total) - 2)) "blocks that may hold data beside the ring"
	assert_eq "$(counter c log_moved)" "$(counter c log_writes)" "blocks that were mapped"
	assert_ge "$(stat_of c used)" 128 "blocks in the cache"
	assert_le $(($(counter c cache_sectors_written) - written)) $((16384 + 8 * 128)) "sectors written"
	RW=randwrite check_data /dev/mapper/c 1 0 8 64k
	# Over blocks that are being mapped, and over blocks that are.
	RW=randwrite write_data /dev/mapper/c 2 6 4 64k
	small_writes 3 7 2
	are_right /dev/mapper/c 3 7 2
	sum_of /dev/mapper/c >"$T/before"
	cut_power_after_flush
	by_hand c 128 "metadata2 writeback"
	assert_eq "$(sum_of /dev/mapper/c)" "$(cat "$T/before")" "the volume after the cut"
	home_is_complete
}

# log_has_left: the log has nothing any more.
log_has_left() {
	[ "$(counter c log_blocks)" = 0 ]
}

# A stream of large requests is absorbed while the cache has free slots, and then goes to the
# origin.
#@ fast hearth-only timeout=180
test_streams_are_absorbed_while_slots_are_free() {
	local before
	absorbing
	write_data /dev/mapper/c 1 0 4 32k
	assert_ge "$(counter c log_writes)" 100 "large writes that were absorbed"
	check_data /dev/mapper/c 1 0 4 32k
	check_data_fails "$SLOW" 1 0 4 32k
	message c dirty_limit 1
	before=$(counter c log_writes)
	write_data /dev/mapper/c 2 8 4 32k
	assert_eq "$(counter c log_writes)" "$before" "writes that were absorbed"
	check_data /dev/mapper/c 2 8 4 32k
	message c dirty_limit 100
	home_is_complete
	check_data "$SLOW" 1 0 4 32k
}

# A database's log, which flushes after each write, is absorbed although one of its writes was
# large. Only the large one goes to the origin.
#@ fast hearth-only timeout=120
test_small_writes_behind_a_large_one_are_absorbed() {
	local before
	by_hand_devices
	log_begins "nhit 4 visits 9 trigger 0"
	small_writes 1 0 1
	message c dirty_limit 1
	before=$(counter c log_writes)
	fio_quiet --filename=/dev/mapper/c --rw=write --bs=32k --offset=8224k --size=32k --fsync=1
	assert_eq "$(counter c log_writes)" "$before" "large writes that were absorbed"
	fio_quiet --filename=/dev/mapper/c --rw=write --bs=4k --offset=8256k --size=256k --fsync=1
	# udev has read a few blocks into the cache.
	assert_ge $(($(counter c log_writes) - before)) 56 "small writes that were absorbed, of 64"
}

# A block that the log has all of comes into the cache without a read of the origin.
#@ fast hearth-only timeout=180
test_covered_blocks_need_no_read_of_the_origin() {
	breakable_devices 16 32
	log_begins
	message c max_promote_share 100
	message c dirty_low 100
	small_writes 1 20 1
	now SLOW dead_from 40960 2048
	message c writeback_idle 1
	until_true 60 log_has_left
	assert_ge "$(counter c log_moved)" 14 "blocks that went into the cache"
	assert_eq "$(counter c promotions_aborted)" 0 "promotions that were given up"
	are_right /dev/mapper/c 1 20 1
	now SLOW working
	home_is_complete
}

# dead_from DEVICE SECTOR SECTORS: the device can neither read nor write there.
dead_from() {
	local -n real=real_$1
	echo "0 $2 linear $real 0"
	echo "$2 $3 error"
	echo "$(($2 + $3)) $(($(sectors "$real") - $2 - $3)) linear $real $(($2 + $3))"
}

# Writes, reads and discards meet blocks on their way from the log into the cache.
#@ smp fast hearth-only timeout=300
test_load_on_blocks_that_move() {
	local moved
	absorbing
	message c dirty_low 100
	message c writeback_idle 1
	fio_quiet --filename=/dev/mapper/c --rw=randrw --bssplit=512/20:4k/50:16k/20:64k/10 --size=8M \
		--io_size=48M --ba=512 \
		--iodepth=8 --verify=crc32c --thinktime=20ms --thinktime_blocks=64 --output="$T/load" &
	LOAD=$!
	until load_is_over; do
		moved=$(counter c log_moved)
		blkdiscard -o 8M -l 1M /dev/mapper/c
		fio_quiet --filename=/dev/mapper/c --rw=write:4k --bs=4k --offset=8M --size=1M --io_size=512k
		dd if=/dev/mapper/c of=/dev/null bs=64k skip=128 count=16 iflag=direct status=none
		until_true 20 has_moved $((moved + 1))
	done
	wait "$LOAD"
	home_is_complete
}

#@ fast hearth-only timeout=240
test_power_cut() {
	linear_devices
	log_begins
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=8M --fsync=16 --iodepth=1
	small_writes 1 0 8
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=512 --offset=9M --size=64k --sync=1 --iodepth=1
	sum_of /dev/mapper/c >"$T/before"
	cut_power_after_flush
	flag_is 1
	by_hand c 128 "metadata2 writeback"
	kernel_said "write log: recovered"
	assert_eq "$(sum_of /dev/mapper/c)" "$(cat "$T/before")" "the volume after the cut"
	until_true 10 log_is on
	message c absorb 0
	until_true 120 log_is off
	home_is_complete
	assert_eq "$(cat "$T/volume")" "$(cat "$T/before")" "the volume when the log is off"
	dmsetup remove c
	flag_is 0
}

#@ slow hearth-only timeout=240
test_stock_refuses_and_settle_helps() {
	linear_devices
	log_begins
	small_writes 1 0 8
	small_writes 2 2 2
	fio_quiet --filename=/dev/mapper/c --rw=write --bs=4k --offset=12M --size=4k --fsync=1
	sum_of /dev/mapper/c >"$T/before"
	cut_power_after_flush
	load_engine stock
	must_fail by_hand c 128 "metadata2 writeback"
	"$TOP/build/tools/hearth-metadata" settle "$META" "$FAST" "$SLOW"
	by_hand c 128 "metadata2 writeback"
	assert_eq "$(sum_of /dev/mapper/c)" "$(cat "$T/before")" "the volume in stock"
	dmsetup remove c
	load_engine hearth
}

# More than the log can hold is written, and goes home meanwhile.
#@ slow hearth-only timeout=300
test_more_than_the_log_holds() {
	absorbing 8 64
	message c migration_threshold 16384
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=48M --iodepth=16 \
		--verify=crc32c
	assert_ge "$(counter c log_writes)" 1000 "writes that were absorbed"
	assert_ge "$(counter c log_home)" 1000 "extents that went home"
}

# The log is nearly full, and the disk takes 1,600 writes a second. Each write waits until as
# much has gone home, and is absorbed. To wait for the disk itself would take longer.
#@ fast hearth-only timeout=240
test_writers_keep_pace_with_the_disk() {
	local absorbed
	device META 8 ram
	device FAST 16 ram
	device SLOW 64 40000000ns
	log_begins
	message c migration_threshold 16384
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=64M --io_size=40M \
		--iodepth=16 --verify=crc32c --do_verify=0
	absorbed=$(counter c log_writes)
	assert_ge "$(counter c log_home)" 4000 "extents that went home"
	assert_ge $((absorbed + $(counter c write_hits))) $((40 * 256 - 64)) "writes that hit or were absorbed"
}

#@ fast hearth-only timeout=240
test_discards() {
	absorbing
	small_writes 1 0 8
	blkdiscard -o 1M -l 4M /dev/mapper/c
	dd if=/dev/mapper/c bs=1M skip=1 count=4 iflag=direct status=none | tr -d '\0' | wc -c >"$T/rest"
	assert_eq "$(cat "$T/rest")" 0 "bytes left after a discard"
	are_right /dev/mapper/c 1 0 1
	are_right /dev/mapper/c 1 5 3
	small_writes 2 2 1
	are_right /dev/mapper/c 2 2 1
	message c absorb 0
	until_true 120 log_is off
	are_right /dev/mapper/c 2 2 1
	are_right /dev/mapper/c 1 5 3
	home_is_complete
}

#@ slow hearth-only timeout=240
test_suspend_and_reload() {
	absorbing
	small_writes 1 0 4
	dmsetup suspend c
	dmsetup resume c
	are_right /dev/mapper/c 1 0 4
	dmsetup load c --table "$(dmsetup table c)"
	dmsetup suspend c
	dmsetup resume c
	are_right /dev/mapper/c 1 0 4
	small_writes 2 4 2
	# Another mode: everything goes home.
	dmsetup load c --table "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writethrough default 0"
	dmsetup suspend c
	dmsetup resume c
	small_writes 3 0 1
	are_right /dev/mapper/c 3 0 1
	until_true 120 log_is off
	until_true 120 all_clean c
	are_right "$SLOW" 3 0 1
	are_right "$SLOW" 1 1 3
	are_right "$SLOW" 2 4 2
	flag_is 0
}

#@ slow hearth-only timeout=240
test_removed_and_made_again() {
	absorbing
	small_writes 1 0 4
	dmsetup remove c
	flag_is 1
	check_data_fails "$SLOW" 1 0 4 4k
	by_hand c 128 "metadata2 writeback"
	are_right /dev/mapper/c 1 0 4
	until_true 10 log_is on
	small_writes 2 0 2
	are_right /dev/mapper/c 2 0 2
	are_right /dev/mapper/c 1 2 2
}

#@ fast hearth-only timeout=180
test_removal_empties_the_log() {
	absorbing
	small_writes 1 0 4
	message c settle_seconds 60
	dmsetup remove c
	flag_is 0
	by_hand c 128 "metadata2 writeback"
	are_right /dev/mapper/c 1 0 4
}

# Not all of the log gets home in the time that it has: the disk takes 0.6 s for each write,
# of which 128 run at a time.
#@ fast hearth-only timeout=180
test_removal_ends_before_the_log_is_empty() {
	local extents found
	device META 8 ram
	device FAST 16 ram
	device SLOW 64 600000000ns
	log_begins
	small_writes 1 0 4
	extents=$(counter c log_writes)
	message c settle_seconds 1
	dmsetup remove c
	flag_is 1
	kernel_said "write log: [1-9][0-9]* blocks stay in it; only hearth can open the cache"
	by_hand c 128 "metadata2 writeback"
	found=$(kernel_log | sed -nE 's/.*write log: recovered, with ([0-9]+) extents.*/\1/p' | tail -n 1)
	assert_ge "$found" 1 "extents that stayed"
	assert_le "$found" $((extents - 200)) "extents that stayed"
	are_right /dev/mapper/c 1 0 4
}

# Another table takes the cache's place. Users write the origin by it, so the log, which is
# older, must not.
#@ fast hearth-only timeout=120
test_replaced_table_leaves_the_origin_alone() {
	absorbing
	small_writes 1 0 4
	message c settle_seconds 60
	dmsetup load c --table "0 $(sectors "$SLOW") linear $SLOW 0"
	sum_of "$SLOW" >"$T/before"
	dmsetup suspend c
	dmsetup resume c
	assert_eq "$(sum_of "$SLOW")" "$(cat "$T/before")" "the origin"
	flag_is 1
}

# The table ends before the origin: what the log has of the rest goes home at activation.
#@ slow hearth-only timeout=180
test_table_is_shorter_than_what_the_log_has() {
	absorbing 16 64
	small_writes 1 0 4
	small_writes 2 40 4
	dmsetup remove c
	flag_is 1
	check_data_fails "$SLOW" 2 40 4 4k
	dmsetup create c --table "0 65536 cache $META $FAST $SLOW 128 2 metadata2 writeback default 0"
	are_right "$SLOW" 2 40 4
	are_right /dev/mapper/c 1 0 4
}

# The SSD cannot be read while what lies past the table's end goes home. The table is refused,
# and the disk keeps the log. No block is dirty, but the log's extents are.
#@ slow hearth-only timeout=180
test_ssd_fails_as_the_tail_goes_home() {
	local i
	breakable_devices 16 64
	log_begins
	small_writes 1 8 4
	dd if=/dev/urandom of="$T/new" bs=512 count=40 status=none
	for i in {0..39}; do
		dd if="$T/new" of=/dev/mapper/c bs=512 count=1 skip="$i" seek=$((81920 + 2 * i)) oflag=direct conv=notrunc status=none
	done
	only_the_log_is_dirty
	dmsetup remove c
	flag_is 1
	now FAST dead_before_the_ring
	must_fail dmsetup create c --table "0 65536 cache $META $FAST $SLOW 128 2 metadata2 writeback default 0"
	now FAST working
	flag_is 1
	by_hand c 128 "metadata2 writeback"
	are_right /dev/mapper/c 1 8 4
	for i in {0..39}; do
		dd if=/dev/mapper/c bs=512 count=1 skip=$((81920 + 2 * i)) iflag=direct status=none
	done | cmp - "$T/new"
}

dead_before_the_ring() {
	local -n real=real_$1
	local from
	from=$(ring_begins)
	echo "0 $from error"
	echo "$from $(($(sectors "$real") - from)) linear $real $from"
}

only_the_log_is_dirty() {
	assert_eq "$(stat_of c dirty)" "$(counter c log_segments)" "what is dirty, and the log's segments"
}

# The metadata device comes back without the cache. No block is dirty, but the suspended engine
# has a log that cannot go home.
#@ slow hearth-only timeout=180
test_metadata_comes_back_without_the_log() {
	breakable_devices 16 32
	no_metadata_check
	log_begins
	now SLOW failing_writes
	small_writes 1 8 4
	only_the_log_is_dirty
	now META failing
	must_fail message c max_intents 77
	until_true 60 is_read_only
	comes_back_empty
	are_right /dev/mapper/c 1 8 4
	now META working
	dmsetup suspend c
	dmsetup resume c
	assert_eq "$(health c)" good
	now SLOW working
	are_right /dev/mapper/c 1 8 4
	message c absorb 0
	until_true 120 log_is off
	home_is_complete
	are_right "$SLOW" 1 8 4
}

# The SSD fails while blocks of which the log has a part are copied into the cache. Readers get
# what the log has, although the cache asks the SSD for as little as it can.
#@ slow hearth-only timeout=180
test_ssd_fails_while_blocks_come_in() {
	breakable_devices 16 64
	write_data "$SLOW" 1 0 16 4k
	log_begins
	message c max_promote_share 100
	message c dirty_low 100
	every_other_4k 2
	now FAST slow_before_the_ring
	message c writeback_idle 1
	until_true 30 writes_wait fast || fail "no block comes into the cache"
	becomes ring "$(ring_table flakey '0 60 1 error_writes')"
	sync -d /dev/mapper/c &
	until_true 30 in_the_kernel_log 'cache device failed: only its'
	until_true 120 given_up_and_right || fail "health: $(health c)"
	wait
	parts_are_new "$SLOW" || fail "what the log has did not go home"
	dmsetup remove c
	dmsetup remove fast ring
}

# The data of every_other_4k are there. fio knows them by their checksums.
parts_are_new() {
	fio_quiet --filename="${1:-/dev/mapper/c}" --rw=read:4k --bs=4k --size=2M --io_size=1024k --verify=crc32c --readonly
}

given_up_and_right() {
	parts_are_new || fail "readers get what is older than the log"
	health_is c bypass
}

# writes_wait DEVICE: dm-delay has writes that wait.
writes_wait() {
	[ "$(delayed_writes "$1")" -gt 0 ]
}

# delayed_writes DEVICE: prints how many writes wait in dm-delay.
delayed_writes() {
	dmsetup status "$1" | awk '$3 == "delay" { print $5 }'
}

# Writes of data take six seconds, and the ring is on the device ring.
slow_before_the_ring() {
	local -n real=real_$1
	local from
	from=$(ring_begins)
	modprobe -q -a dm-flakey dm-delay
	dmsetup create ring --table "$(ring_table linear)"
	echo "0 $from delay $real 0 0 $real 0 6000"
	echo "$from $(($(sectors "$real") - from)) linear /dev/mapper/ring 0"
}

# ring_table TARGET [WORDS]
# shellcheck disable=SC2154
ring_table() {
	local from
	from=$(ring_begins)
	echo "0 $(($(sectors "$real_FAST") - from)) $1 $real_FAST $from ${2:-}"
}

# The SSD becomes read-only. All that the log has goes home, and the cache is given up. No
# write of a user fails.
#@ slow hearth-only timeout=180
test_ssd_fails_to_write_its_log() {
	breakable_devices 16 32
	log_begins
	small_writes 1 0 6
	now FAST failing_writes
	small_writes 2 2 2
	small_writes 2 7 1
	until_true 60 health_is c bypass || fail "health: $(health c)"
	are_right /dev/mapper/c 1 0 2
	are_right /dev/mapper/c 2 2 2
	are_right "$SLOW" 1 0 2
	are_right "$SLOW" 2 2 2
	are_right "$SLOW" 1 4 2
	are_right "$SLOW" 2 7 1
	flag_is 0
}

# flushed_each MIB: writes 64 KiB from there on, 4 KiB at a time, with an fsync after each.
# Later writes have FUA then, so their records need no flush.
flushed_each() {
	fio --name=each --filename=/dev/mapper/c --rw=write --bs=4k --size=64k --offset="$1m" \
		--fsync=1 --direct=1 --output="$T/fio"
	# fio leaves out the fsync after the last write.
	sync -d /dev/mapper/c
}

# leaves_unlogged WRITES: writes of 4 KiB, of which the second and those behind it are in no
# batch of the ring. False if a batch that began late has recorded them, too.
leaves_unlogged() {
	dd if=/dev/zero of=/dev/mapper/c bs=4k count="$1" seek=2560 oflag=direct status=none
	[ "$(counter c log_unlogged)" = 1 ]
}

# Writes to the device ring, which has the log's ring, take ten minutes; flushes do not.
slow_ring() {
	local -n real=real_$1
	local from
	from=$(ring_begins)
	echo "0 $from linear $real 0"
	echo "$from $(($(sectors "$real") - from)) delay /dev/mapper/ring 0 0 /dev/mapper/ring 0 600000 /dev/mapper/ring 0 0"
}

# Once a user flushes after each write, the record of a write is on its way before the flush
# comes. The flush waits for it, also if the device has flushed long ago, and if it has
# nothing to flush.
# shellcheck disable=SC2154
#@ fast hearth-only timeout=120 on=written,refused,alone
test_flush_waits_for_an_early_record() {
	local flushed sync
	WRITE_CACHE=64 breakable_devices 16 32
	# No read of udev's is promoted, because a commit flushes the SSD.
	by_hand c 128 "metadata2 writeonly"
	stays_dirty c
	dd if=/dev/zero of=/dev/mapper/c bs=64k seek=8 count=1 oflag=direct status=none
	log_goes_on
	flushed_each 8
	modprobe -q dm-delay
	dmsetup create ring --table "$(ring_table linear)"
	now FAST slow_ring
	dd if=/dev/urandom of="$T/new" bs=4k count=1 status=none
	dd if="$T/new" of=/dev/mapper/c bs=4k seek=2560 oflag=direct status=none
	until_true 20 writes_wait fast || fail "no record is written before a flush comes"
	[ "$1" = alone ] || dd if=/dev/zero of=/dev/mapper/c bs=4k count=1 seek=128 oflag=direct status=none
	flushed=$(flushes "$real_FAST")
	sync -d /dev/mapper/c &
	sync=$!
	trap 'now FAST working; wait' EXIT
	if [ "$1" = alone ]; then
		until_true 20 is_in_flush $sync || fail "the flush has not begun"
	else
		until_true 20 has_flushed "$real_FAST" "$flushed" || fail "the device is not flushed beside the record"
	fi
	sleep 1
	kill -0 $sync || fail "the flush has ended before the record is durable"
	[ "$1" != alone ] || assert_eq "$(flushes "$real_FAST")" "$flushed" "flushes of the SSD, which had nothing to flush"
	[ "$1" != refused ] || becomes ring "$(ring_table error)"
	now FAST working
	trap - EXIT
	if [ "$1" != refused ]; then
		wait $sync
		assert_eq "$(counter c health)" good health
	else
		wait $sync || true
		until_true 60 health_is c bypass || fail "health: $(health c)"
		dd if="$SLOW" bs=4k count=1 skip=2560 iflag=direct status=none | cmp - "$T/new"
	fi
	dd if=/dev/mapper/c bs=4k count=1 skip=2560 iflag=direct status=none | cmp - "$T/new"
}

# If a writer flushes after two writes, neither has a record of its own.
#@ fast hearth-only timeout=60
test_two_writes_share_a_record() {
	local before i
	WRITE_CACHE=64 breakable_devices 16 32
	log_begins
	flushed_each 8
	before=$(counter c log_ring_sectors)
	for i in {0..15}; do
		dd if=/dev/zero of=/dev/mapper/c bs=4k count=1 seek=$((2560 + 48 * i)) oflag=direct status=none
		dd if=/dev/zero of=/dev/mapper/c bs=4k count=1 seek=$((2592 + 48 * i)) oflag=direct status=none
		sync -d /dev/mapper/c
	done
	assert_le "$(($(counter c log_ring_sectors) - before))" $((18 * 8)) "sectors of the ring"
}

# is_in_flush PID: it waits for the end of a flush
is_in_flush() {
	grep -q blkdev_issue_flush "/proc/$1/stack"
}

has_flushed() {
	[ "$(flushes "$1")" -gt "$2" ]
}

# A flush that needs a record fails when the ring cannot be written, also if the record
# does not need the flush. The record of the second write is not early, because no flush has
# come after the first.
#@ slow hearth-only timeout=180 on=many,few
test_flush_fails_with_the_ring() {
	WRITE_CACHE=64 breakable_devices 16 32
	log_begins
	small_writes 1 0 4
	if [ "$1" = few ]; then
		flushed_each 8
		until_true 60 leaves_unlogged 2 || fail "all writes are recorded at once"
	fi
	now FAST failing_writes
	sync /dev/mapper/c || true
	until_true 60 health_is c bypass || fail "health: $(health c)"
	sync /dev/mapper/c
	are_right "$SLOW" 1 0 4
	are_right /dev/mapper/c 1 0 4
	flag_is 0
}

# The flush before a ring block fails, and the block itself would be written well. The
# writes that it names may be lost, so the user's flush fails.
#@ fast hearth-only timeout=120
test_flush_fails_before_the_ring() {
	WRITE_CACHE=64 breakable_devices 16 32
	# No read of udev's is promoted, because a commit flushes the SSD.
	by_hand c 128 "metadata2 writeonly"
	stays_dirty c
	log_goes_on
	flushed_each 8
	until_true 60 leaves_unlogged 4 || fail "all writes are recorded at once"
	now FAST failing_flushes
	sync -d /dev/mapper/c && fail "a flush ended well, although the SSD cannot flush"
	until_true 60 health_is c bypass || fail "health: $(health c)"
	flag_is 0
}

# An extent that cannot go home stays in the log, is read from there, and is tried again.
#@ fast hearth-only timeout=240
test_origin_refuses_what_the_log_has() {
	local errors
	breakable_devices 16 32
	log_begins
	small_writes 1 0 4
	now SLOW failing_writes
	message c absorb 0
	until_true 60 counter_at_least c origin_errors 1 || fail "nothing goes home"
	errors=$(message c stats | awk '$1 == "origin_errors" { print $2 }')
	until_true 60 counter_at_least c origin_errors $((errors + 1)) || fail "it is not tried again"
	log_is drains
	are_right /dev/mapper/c 1 0 4
	assert_le "$(kernel_log | grep -c 'write log: extents')" 4 "messages"
	now SLOW working
	until_true 60 log_is off
	home_is_complete
	are_right "$SLOW" 1 0 4
	flag_is 0
}

# Without its metadata the cache is read-only, but what the log has is served, goes home
# when its block is written, and is found by the next activation.
#@ slow hearth-only timeout=240
test_log_outlives_its_metadata() {
	breakable_devices 16 32
	no_metadata_check
	log_begins
	small_writes 1 0 4
	now META failing_writes
	must_fail message c max_intents 77
	until_true 60 is_read_only
	are_right /dev/mapper/c 1 0 4
	small_writes 2 0 1
	are_right /dev/mapper/c 2 0 1
	now META working
	dmsetup remove c
	flag_is 1
	by_hand c 128 "metadata2 writeback"
	are_right /dev/mapper/c 2 0 1
	are_right /dev/mapper/c 1 1 3
	message c absorb 0
	until_true 120 log_is off
	home_is_complete
	are_right "$SLOW" 1 1 3
	are_right "$SLOW" 2 0 1
}

# The metadata cannot be written when blocks of the log are to be mapped. Perhaps they are
# mapped on the disk: the log and the slots have the same, and all goes home.
#@ slow hearth-only timeout=240
test_metadata_fails_as_blocks_are_mapped() {
	breakable_devices 16 32
	no_metadata_check
	log_begins
	small_writes 1 0 2
	now META failing_writes
	RW=randwrite write_data /dev/mapper/c 2 4 2 64k
	until_true 60 is_read_only
	RW=randwrite check_data /dev/mapper/c 2 4 2 64k
	are_right /dev/mapper/c 1 0 2
	until_true 60 only_the_flag_is_left
	RW=randwrite check_data "$SLOW" 2 4 2 64k
	are_right "$SLOW" 1 0 2
	now META working
	dmsetup remove c
	by_hand c 128 "metadata2 writeback"
	RW=randwrite check_data /dev/mapper/c 2 4 2 64k
	are_right /dev/mapper/c 1 0 2
	message c absorb 0
	until_true 120 log_is off
	home_is_complete
	RW=randwrite check_data "$SLOW" 2 4 2 64k
	dmsetup remove c
	flag_is 0
}

# The flag counts as one dirty block until it is cleared.
only_the_flag_is_left() {
	[ "$(stat_of c dirty)" -le 1 ]
}

# A block of which the origin cannot read a part does not come into the cache; what the log
# has of it goes home.
#@ slow hearth-only timeout=180
test_block_that_the_origin_cannot_read() {
	breakable_devices 16 32
	log_begins
	message c max_promote_share 100
	fio_quiet --filename=/dev/mapper/c --rw=write --bs=4k --offset=20M --size=4k
	dd if=/dev/mapper/c of="$T/written" bs=4k skip=5120 count=1 iflag=direct status=none
	now SLOW bad_at $((40960 + 64))
	message c writeback_idle 1
	until_true 60 log_has_left
	assert_ge "$(counter c promotions_aborted)" 1 "promotions that were given up"
	assert_eq "$(counter c log_moved)" 0 "blocks that went into the cache"
	dd if="$SLOW" of="$T/home" bs=4k skip=5120 count=1 iflag=direct status=none
	cmp "$T/written" "$T/home"
	now SLOW working
	home_is_complete
}

is_read_only() {
	[ "$(stat_of c rw)" = ro ]
}

# ends_without_a_log SEED MIB MIB: absorb is turned off, so all goes home, and the flag is
# cleared. The origin alone must have the data then.
ends_without_a_log() {
	message c absorb 0
	until_true 120 log_is off
	home_is_complete
	are_right "$SLOW" "$@"
	dmsetup remove c
	flag_is 0
}

# One sector of the last slots cannot be written: the ring lies before them.
#@ fast hearth-only timeout=180
test_bad_sector_where_the_ring_would_lie() {
	breakable_devices 16 32
	now FAST unwritable_at $(($(sectors "$FAST") - 512))
	log_begins
	kernel_said "write log: its ring is to lie before the cache blocks"
	small_writes 1 0 4
	sync /dev/mapper/c
	are_right /dev/mapper/c 1 0 4
	dmsetup remove c
	flag_is 1
	by_hand c 128 "metadata2 writeback"
	kernel_said "write log: recovered"
	are_right /dev/mapper/c 1 0 4
	small_writes 2 1 1
	ends_without_a_log 2 1 1
}

# The log's header cannot be written, so no place for the ring is any good: no block leaves
# the cache for one.
#@ slow hearth-only timeout=180
test_no_block_leaves_for_a_log_without_a_header() {
	local used
	breakable_devices 16 32
	by_hand c 128 "metadata2 writeback"
	stays_dirty c
	every_write_comes_in c
	write_data /dev/mapper/c 1 0 16
	until_true 60 evicts_nothing
	used=$(stat_of c used)
	assert_ge "$used" 200 "blocks in the cache"
	now FAST unwritable_at $(($(sectors "$FAST") - 16))
	message c absorb 1
	until_true 60 in_the_kernel_log "write log: its header cannot be written"
	sleep 5
	assert_ge "$(stat_of c used)" $((used - 2)) "blocks in the cache"
	log_is off
	check_data /dev/mapper/c 1 0 16
}

# The ring cannot be written when blocks are mapped, and their extents are to leave (W5).
# These blocks go home from their slots, all others from the log.
#@ fast hearth-only timeout=240
test_ring_fails_as_blocks_leave() {
	breakable_devices 16 32
	log_begins
	message c max_promote_share 100
	message c dirty_low 100
	small_writes 1 0 4
	now FAST failing_ring
	message c writeback_idle 1
	until_true 60 health_is c bypass || fail "health: $(health c)"
	kernel_said "write log: its ring cannot be written"
	assert_ge "$(counter c promotions)" 16 "blocks that were mapped"
	assert_eq "$(counter c log_moved)" 0 "blocks that had left the log"
	are_right /dev/mapper/c 1 0 4
	are_right "$SLOW" 1 0 4
	small_writes 2 2 2
	are_right /dev/mapper/c 2 2 2
	flag_is 0
	dmsetup remove c
}

# The origin refuses the lower half of what the log has. The rest goes home, and a write
# that waits for a block of the rest does not get the error.
#@ slow hearth-only timeout=240
test_origin_refuses_some_of_the_log() {
	breakable_devices 16 32
	log_begins
	small_writes 1 1 4
	now SLOW unwritable_at 2048 4096
	message c absorb 0
	small_writes 2 4 1
	until_true 60 saved 1 3 1 || fail "nothing goes home behind a bad stretch"
	are_right /dev/mapper/c 1 1 3
	are_right /dev/mapper/c 2 4 1
	now SLOW working
	until_true 60 log_is off
	home_is_complete
	are_right "$SLOW" 1 1 3
	are_right "$SLOW" 2 4 1
}

# Nothing goes home, because the origin refuses all writes. The log takes what it has room for,
# which is more than the three quarters from which on writes are paced; no write fails.
#@ fast hearth-only timeout=240
test_log_fills_while_the_origin_refuses() {
	breakable_devices 16 32
	log_begins
	now SLOW failing_writes
	small_writes 1 0 12
	are_right /dev/mapper/c 1 0 12
	now SLOW working
	home_is_complete
	are_right "$SLOW" 1 0 12
}

# saved SEED OFFSET_MIB MIB: the origin has these small writes.
saved() {
	(are_right "$SLOW" "$@") >/dev/null 2>&1
}

# Records of the log are on the disk, newer extents of the same blocks are not, and the ring
# fails. The newer ones go home. A dirty block that cannot go home keeps the cache in use,
# so the disk is to forget the log by itself: a table that is built anew must not read the
# old records (W9).
#@ fast hearth-only timeout=240
test_ring_fails_beside_a_block_that_stays() {
	local waits=
	breakable_devices 16 32
	by_hand c 128 "metadata2 writeback"
	stays_dirty c
	every_write_comes_in c
	write_data /dev/mapper/c 3 31 1
	message c absorb 1
	until_true 60 log_is on
	small_writes 1 0 4
	sync -d /dev/mapper/c
	small_writes 2 0 2
	now SLOW unwritable_at $((31 * 2048))
	now FAST failing_ring
	sync -d /dev/mapper/c && fail "a flush ended well, although the ring cannot be written"
	until_true 60 saved 2 0 2 || fail "what the log has does not go home"
	are_right "$SLOW" 1 2 2
	# Blocks of the log wait for nothing any more.
	small_writes 4 3 1 &
	LOAD=$!
	until_true 60 load_is_over || waits=yes
	dmsetup suspend c
	dmsetup resume c
	are_right /dev/mapper/c 2 0 2
	are_right /dev/mapper/c 1 2 1
	are_right /dev/mapper/c 4 3 1
	check_data /dev/mapper/c 3 31 1
	dmsetup remove c
	by_hand c 128 "metadata2 writeback"
	are_right /dev/mapper/c 2 0 2
	are_right /dev/mapper/c 4 3 1
	check_data /dev/mapper/c 3 31 1
	assert_eq "$waits" "" "writes to what the log had waited"
}

# in_the_kernel_log REGEX: as kernel_said, for until_true
in_the_kernel_log() {
	kernel_log | any_line -E "$1"
}

# The ring fails after blocks were mapped and written again, while a suspend waits for a read,
# and one extent cannot go home. The suspend is called off. The blocks go home from their slots,
# so the log's extents of them are older than the origin.
#@ slow hearth-only timeout=240
test_ring_fails_in_a_suspend() {
	local promoted
	breakable_devices 16 64
	log_begins
	message c max_promote_share 100
	message c dirty_low 100
	fio_quiet --filename=/dev/mapper/c --rw=write --bs=4k --offset=10M --size=4k
	small_writes 1 12 1
	promoted=$(counter c promotions)
	dd if=/dev/urandom of="$T/new" bs=64k count=16 status=none
	now SLOW slow_to_read_and_dead 20480 96000
	slow_and_failing_ring
	message c writeback_idle 1
	until_true 60 counter_at_least c promotions $((promoted + 16))
	dd if="$T/new" of=/dev/mapper/c bs=64k seek=192 oflag=direct conv=notrunc status=none
	dd if=/dev/mapper/c of=/dev/null bs=4k skip=12000 count=1 iflag=direct status=none &
	must_fail timeout -s INT 12 dmsetup suspend c
	in_the_kernel_log "write log: its ring cannot be written"
	wait $!
	assert_eq "$(counter c log_moved)" 0 "blocks that had left the log"
	until_true 60 origin_has_new || fail "the blocks did not go home from their slots"
	now SLOW working
	until_true 60 health_is c bypass || fail "health: $(health c), $(message c stats)"
	origin_has_new || fail "the log has put older data on the origin"
	dmsetup remove c
	dmsetup remove fast failing-ring
}

origin_has_new() {
	dd if="$SLOW" bs=64k skip=192 count=16 iflag=direct status=none | cmp -s - "$T/new"
}

# Writes to the ring take six seconds, and then fail.
# shellcheck disable=SC2154
slow_and_failing_ring() {
	local from size
	from=$(ring_begins)
	size=$(($(sectors "$real_FAST") - from))
	modprobe -q -a dm-flakey dm-delay
	dmsetup create failing-ring --table "0 $size flakey $real_FAST $from 0 60 1 error_writes"
	now FAST slow_from "$from" /dev/mapper/failing-ring 6000
}

# slow_from NAME SECTOR DEVICE MS: from there on the device is another, whose writes wait.
slow_from() {
	local -n real=real_$1
	echo "0 $2 linear $real 0"
	echo "$2 $(($(sectors "$real") - $2)) delay $3 0 0 $3 0 $4"
}

# slow_to_read_and_dead NAME DEAD SLOW: a block is dead, and reads of another, behind it, take
# eighteen seconds. Both at these sectors.
slow_to_read_and_dead() {
	local -n real=real_$1
	echo "0 $2 linear $real 0"
	echo "$2 128 error"
	echo "$(($2 + 128)) $(($3 - $2 - 128)) linear $real $(($2 + 128))"
	echo "$3 128 delay $real $3 18000 $real $3 0"
	echo "$(($3 + 128)) $(($(sectors "$real") - $3 - 128)) linear $real $(($3 + 128))"
}

# A suspend begins while the log's worker writes the header. The worker then sends home the
# dirty blocks in whose slots the ring is to lie. The suspend has to wait for these write-backs,
# because after it another table may write the origin.
# shellcheck disable=SC2154
#@ fast hearth-only timeout=120
test_suspend_waits_for_blocks_where_the_ring_is_to_lie() {
	local last written
	breakable_devices 16 32
	dd if=/dev/urandom of="$FAST" bs=64k count=256 oflag=direct status=none
	dd if="$FAST" of="$T/dirty" bs=64k skip=192 count=63 iflag=direct status=none
	seq 192 254 | awk '{ print $1, $1, "dirty" }' | cache_xml 128 256 >"$T/map"
	cache_restore -i "$T/map" -o "$META"
	by_hand c 128 writeback "default 2 writeback_idle 0"
	stays_dirty c
	assert_eq "$(stat_of c dirty)" 63 dirty
	udevadm settle
	now FAST header_waits
	now SLOW slow_to_write 6000
	written=$(sectors_written "$real_SLOW")
	message c absorb 1
	until_true 20 writes_wait fast || fail "the log's header is not written"
	"$(type -P dmsetup)" suspend c &
	last=$!
	trap 'now FAST working; wait' EXIT
	until_true 20 waits_for_workers $last || fail "the suspend does not wait for the log's worker"
	assert_eq "$(sectors_written "$real_SLOW")" "$written" "the origin, before the header is written"
	now FAST working
	wait $last
	trap - EXIT
	assert_eq "$(delayed_writes slow)" 0 "writes to the origin under way while the cache is suspended"
	assert_ge "$(sectors_written "$real_SLOW")" $((written + 8 * 128)) "the origin, when the suspend has ended"
	now SLOW working
	dmsetup resume c
	until_true 60 log_is on
	dd if=/dev/mapper/c bs=64k skip=192 count=63 iflag=direct status=none | cmp - "$T/dirty"
}

# waits_for_workers PID: the task that suspends a cache has no more bios to wait for.
waits_for_workers() {
	stops_in "$1" cache_engine_suspend && stops_in "$1" flush_workqueue
}

# A write to the last block of the device waits ten minutes, or until the device is another.
header_waits() {
	local -n real=real_$1
	local from=$(($(sectors "$real") - 128))
	modprobe -q dm-delay
	echo "0 $from linear $real 0"
	echo "$from 128 delay $real $from 0 $real $from 600000"
}

# nr_ring_slots: the slots of the ring and its header, which are the last ones
nr_ring_slots() {
	local blocks
	blocks=$(kernel_log | sed -n 's/.*with a ring of \([0-9]*\) blocks.*/\1/p' | tail -n 1)
	echo $((((blocks + 2) * 8 + 127) / 128))
}

# ring_begins: the first sector of these slots
# shellcheck disable=SC2154
ring_begins() {
	echo $(($(sectors "$real_FAST") - $(nr_ring_slots) * 128))
}

# The device cannot write the place of the log's ring.
failing_ring() {
	local -n real=real_$1
	local from
	from=$(ring_begins)
	modprobe -q dm-flakey
	echo "0 $from linear $real 0"
	echo "$from $(($(sectors "$real") - from)) flakey $real $from 0 60 1 error_writes"
}

# A cache device that grows gets a header at its new end, and the log goes on.
#@ slow hearth-only timeout=240
test_grows_with_a_log() {
	local half
	by_hand_devices 16 32
	half=$(($(sectors "$FAST") / 2))
	dmsetup create fast --table "0 $half linear $FAST 0"
	REAL_FAST=$FAST FAST=/dev/mapper/fast
	log_begins
	small_writes 1 0 3
	dmsetup suspend c
	becomes fast "0 $((2 * half)) linear $REAL_FAST 0"
	dmsetup load c --table "$(dmsetup table c)"
	dmsetup resume c
	are_right /dev/mapper/c 1 0 3
	assert_eq "$(stat_of c total)" $((2 * half / 128)) "blocks of the cache"
	small_writes 2 1 1
	dmsetup remove c
	flag_is 1
	by_hand c 128 "metadata2 writeback"
	are_right /dev/mapper/c 1 0 1
	are_right /dev/mapper/c 2 1 1
	are_right /dev/mapper/c 1 2 1
	ends_without_a_log 2 1 1
}
