# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The write log: small writes that miss go to the SSD, and from there home. A log that
# lies on the devices is recovered, settled, or refused by stock.

# shellcheck source=tests/guest/suites/faults.sh
. "${BASH_SOURCE%/*}/faults.sh"

# absorbing [FAST_MIB [SLOW_MIB]]: makes a writeback cache with a log, from which nothing
# goes home while it is not too full.
absorbing() {
	by_hand_devices "$@"
	log_begins
}

log_begins() {
	by_hand c 128 "metadata2 writeback"
	stays_dirty c
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

# cut_power: META, FAST and SLOW become copies of what the devices hold now; the cache
# goes on with the others.
# shellcheck disable=SC2153
cut_power() {
	local name copy of
	sync
	for name in META:8 FAST:16 SLOW:64; do
		of=${name%:*}
		device "COPY$of" "${name#*:}" ram
		copy=COPY$of
		dd if="${!of}" of="${!copy}" bs=1M iflag=direct oflag=direct status=none
	done
	META=$COPYMETA FAST=$COPYFAST SLOW=$COPYSLOW
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

#@ fast hearth-only timeout=180
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

#@ fast hearth-only timeout=180
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

#@ fast hearth-only timeout=240
test_power_cut() {
	absorbing
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=8M --fsync=16 --iodepth=1
	small_writes 1 0 8
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=512 --offset=9M --size=64k --sync=1 --iodepth=1
	sum_of /dev/mapper/c >"$T/before"
	cut_power
	dmsetup remove c
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

#@ fast hearth-only timeout=240
test_stock_refuses_and_settle_helps() {
	absorbing
	small_writes 1 0 8
	small_writes 2 2 2
	fio_quiet --filename=/dev/mapper/c --rw=write --bs=4k --offset=12M --size=4k --fsync=1
	sum_of /dev/mapper/c >"$T/before"
	cut_power
	dmsetup remove c
	load_engine stock
	must_fail by_hand c 128 "metadata2 writeback"
	"$TOP/build/tools/hearth-metadata" settle "$META" "$FAST" "$SLOW"
	by_hand c 128 "metadata2 writeback"
	assert_eq "$(sum_of /dev/mapper/c)" "$(cat "$T/before")" "the volume in stock"
	dmsetup remove c
	load_engine hearth
}

# More than the log can hold is written, and goes home meanwhile.
#@ fast hearth-only timeout=300
test_more_than_the_log_holds() {
	absorbing 8 64
	message c migration_threshold 16384
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=48M --iodepth=16 \
		--verify=crc32c
	assert_ge "$(counter c log_writes)" 1000 "writes that were absorbed"
	assert_ge "$(counter c log_home)" 1000 "extents that went home"
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

#@ fast hearth-only timeout=240
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

#@ fast hearth-only timeout=240
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

# The SSD becomes read-only. All that the log has goes home, and the cache is given up. No
# write of a user fails.
#@ fast hearth-only timeout=180
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

# A flush that needs a record fails when the ring cannot be written.
#@ fast hearth-only timeout=180
test_flush_fails_with_the_ring() {
	WRITE_CACHE=64 breakable_devices 16 32
	log_begins
	small_writes 1 0 4
	now FAST failing_writes
	sync /dev/mapper/c || true
	until_true 60 health_is c bypass || fail "health: $(health c)"
	sync /dev/mapper/c
	are_right "$SLOW" 1 0 4
	are_right /dev/mapper/c 1 0 4
	flag_is 0
}

# An extent that cannot go home stays in the log, is read from there, and is tried again.
#@ fast hearth-only timeout=240
test_origin_refuses_what_the_log_has() {
	breakable_devices 16 32
	log_begins
	small_writes 1 0 4
	now SLOW failing_writes
	message c absorb 0
	sleep 12
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
#@ fast hearth-only timeout=240
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

is_read_only() {
	[ "$(stat_of c rw)" = ro ]
}

# A cache device that grows gets a header at its new end, and the log goes on.
#@ fast hearth-only timeout=240
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
	message c absorb 0
	until_true 120 log_is off
	home_is_complete
	are_right "$SLOW" 2 1 1
	dmsetup remove c
	flag_is 0
}
