# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Bad input: each refused with a message that says why, and nothing changed.

sums_of_devices() {
	local d
	for d in "$META" "$FAST" "$SLOW"; do
		dd if="$d" bs=1M count=4 iflag=direct status=none | md5sum
	done
}

# bad REGEX "WORDS AFTER cache"...: a table of the full origin's length that
# must be refused, and must leave the three devices as they are.
bad() {
	local why=$1 sums
	shift
	sums=$(sums_of_devices)
	refused "$why" dmsetup create bad --table "0 $(sectors "$SLOW") cache $*"
	dmsetup remove bad 2>/dev/null || true
	assert_eq "$(sums_of_devices)" "$sums" "devices changed"
}

#@ fast timeout=90
test_bad_argument_counts() {
	by_hand_devices
	dmesg_allow 'core_arg'
	bad 'insufficient|number of|not enough|too few|missing' "$META"
	bad 'insufficient|number of|not enough|too few|missing' "$META $FAST $SLOW"
	bad 'insufficient|number of|not enough|too few|missing' "$META $FAST $SLOW 128"
	bad 'feature' "$META $FAST $SLOW 128 99 writeback default 0"
	bad 'feature|insufficient|not enough|polic|number' "$META $FAST $SLOW 128 2 writeback"
	bad 'polic|argument' "$META $FAST $SLOW 128 1 writeback default 99"
	bad 'polic|argument' "$META $FAST $SLOW 128 1 writeback default 1 migration_threshold"
	bad 'polic|argument|setting|value' "$META $FAST $SLOW 128 1 writeback default 2 migration_threshold"
}

#@ fast timeout=90
test_bad_words() {
	by_hand_devices
	bad 'feature' "$META $FAST $SLOW 128 1 nonesuch default 0"
	bad 'feature|mode' "$META $FAST $SLOW 128 2 writeback writethrough default 0"
	bad 'polic' "$META $FAST $SLOW 128 1 writeback nonesuch 0"
	bad 'migration_threshold|value|argument|polic' \
		"$META $FAST $SLOW 128 1 writeback default 2 migration_threshold many"
	bad 'device' "/dev/nonesuch $FAST $SLOW 128 1 writeback default 0"
	bad 'device' "$META /dev/nonesuch $SLOW 128 1 writeback default 0"
	bad 'device' "$META $FAST /dev/nonesuch 128 1 writeback default 0"
}

#@ hearth-only fast timeout=60
test_unknown_setting() {
	by_hand_devices
	bad 'nonesuch' "$META $FAST $SLOW 128 1 writeback smq 2 nonesuch 1"
	bad 'nonesuch' "$META $FAST $SLOW 128 1 writeback lru 2 nonesuch 1"
}

#@ fast timeout=90
test_bad_block_sizes() {
	local size
	by_hand_devices
	for size in 0 1 63 32 65 96 100 127 4194304 -128 x; do
		bad 'block size' "$META $FAST $SLOW $size 1 writeback default 0"
	done
	# larger than the cache device
	bad 'block size|too small|larger|smaller' "$META $FAST $SLOW 65536 1 writeback default 0"
}

#@ fast timeout=60
test_origin_too_small() {
	by_hand_devices
	refused 'larger|small|size' dmsetup create bad --table \
		"0 $(($(sectors "$SLOW") + 128)) cache $META $FAST $SLOW 128 1 writeback default 0"
}

#@ hearth-only fast timeout=60
test_metadata_device_too_small() {
	local raw
	by_hand_devices
	raw=$META
	dmsetup create tiny --table "0 64 linear $raw 0"
	META=/dev/mapper/tiny
	bad 'metadata|space|No space|allocat' "$META $FAST $SLOW 64 1 writeback default 0"
}

#@ fast timeout=60
test_foreign_metadata_is_not_formatted_over() {
	by_hand_devices
	no_metadata_check
	mkfs.ext4 -q "$META"
	bad 'metadata|superblock|sb_check' "$META $FAST $SLOW 128 1 writeback default 0"
	fsck.ext4 -fn "$META"
	dd if=/dev/urandom of="$META" bs=64k count=8 oflag=direct status=none
	bad 'metadata|superblock|sb_check' "$META $FAST $SLOW 128 1 writeback default 0"
}

#@ fast timeout=60
test_bad_superblock_checksum() {
	by_hand_devices
	no_metadata_check
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	dmsetup remove c
	dd if="$META" of="$T/sb" bs=4k count=1 iflag=direct status=none
	printf '\377' | dd of="$T/sb" bs=1 seek=100 conv=notrunc status=none
	dd if="$T/sb" of="$META" bs=4k count=1 oflag=direct status=none
	bad 'metadata|superblock|sb_check|checksum' "$META $FAST $SLOW 128 1 writeback default 0"
}

#@ fast timeout=60
test_block_size_differs_from_metadata() {
	by_hand_devices
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	dmsetup remove c
	bad 'block size' "$META $FAST $SLOW 256 1 writeback default 0"
	bad 'block size' "$META $FAST $SLOW 64 1 writeback default 0"
	by_hand c 128 writeback
	check_data /dev/mapper/c 1 0 8
}

#@ fast timeout=60
test_metadata_in_use_by_another_cache() {
	by_hand_devices
	device OTHER 16 ssd
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	must_fail dmsetup create bad --table \
		"0 $(sectors "$SLOW") cache $META $OTHER $SLOW 128 1 writeback default 0"
	dmsetup remove bad 2>/dev/null || true
	check_data /dev/mapper/c 1 0 8
}

bad_message() {
	local why=$1 before
	shift
	read_status c
	before="${ST[used]} ${ST[dirty]} ${ST[core]} ${ST[settings]}"
	refused "$why" dmsetup message c 0 "$@"
	read_status c
	assert_eq "${ST[used]} ${ST[dirty]} ${ST[core]} ${ST[settings]}" "$before" "status changed"
}

#@ fast timeout=90
test_bad_messages() {
	by_hand_devices
	by_hand c 128 writethrough
	write_data /dev/mapper/c 1 0 8
	bad_message 'invalid|unrecognised|unknown|message|value|argument|bad|error' nonesuch 1
	bad_message 'invalid|value|argument|bad|error|migration' migration_threshold many
	bad_message 'invalid|value|argument|bad|error|migration' migration_threshold
	bad_message 'invalid|value|argument|bad|error|migration' migration_threshold 1 2
	bad_message 'passthrough' invalidate_cblocks 0-4
	check_data /dev/mapper/c 1 0 8
}

#@ fast timeout=90
test_bad_invalidations() {
	local range
	by_hand_devices
	by_hand c 128 passthrough
	for range in 256 0-257 300-310 10-5 7-7 x 1-x 99999999999999; do
		bad_message 'cblock|range|invalid' invalidate_cblocks $range
	done
	dmsetup message c 0 invalidate_cblocks 0 5-9 255
}

#@ fast timeout=60
test_failed_reload_leaves_the_live_table() {
	local table
	by_hand_devices
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	table=$(dmsetup table c)
	must_fail dmsetup reload c --table "${table/ 128 / 100 }"
	must_fail dmsetup reload c --table "${table/default/nonesuch}"
	must_fail dmsetup reload c --table "${table/writeback/backwrite}"
	assert_eq "$(dmsetup table c)" "$table" table
	check_data /dev/mapper/c 1 0 8
	dmsetup suspend c
	dmsetup resume c
	check_data /dev/mapper/c 1 0 8
}
