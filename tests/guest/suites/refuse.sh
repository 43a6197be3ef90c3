# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Bad input: the kernel must refuse each with a message that gives the reason, and must
# change nothing.

sums_of_devices() {
	dd if="$META" bs=1M iflag=direct status=none | md5sum
	local d
	for d in "$FAST" "$SLOW"; do
		dd if="$d" bs=1M count=4 iflag=direct status=none | md5sum
	done
}

# bad REGEX "WORDS AFTER cache": the kernel must refuse a table of $LENGTH sectors
# (default: the whole origin). nothing_changed then checks that the devices are as they
# were.
bad() {
	[ -n "${SUMS:-}" ] || SUMS=$(sums_of_devices)
	refused "$1" dmsetup create bad --table "0 ${LENGTH:-$(sectors "$SLOW")} cache $2"
	must_fail dmsetup info bad
}

nothing_changed() {
	assert_eq "$(sums_of_devices)" "$SUMS" "devices changed"
	SUMS=
}

# bad_after_devices REGEX "WORDS": the kernel must refuse the words after the devices.
bad_after_devices() {
	bad "$1" "$META $FAST $SLOW $2"
}

#@ fast timeout=90
test_bad_argument_counts() {
	by_hand_devices
	dmesg_allow 'core_arg'
	bad 'Missing argument: cache device' "$META"
	bad 'Missing argument: origin device' "$META $FAST"
	bad 'Missing argument: block size' "$META $FAST $SLOW"
	bad_after_devices 'Missing argument: feature arguments' 128
	bad_after_devices "Invalid number of feature arguments '99': must be 0..3" \
		'128 99 writeback default 0'
	bad_after_devices 'Missing argument: feature arguments' '128 2 writeback'
	bad_after_devices 'Missing argument: policy name' '128 1 writeback'
	bad_after_devices 'Missing argument: policy arguments' '128 1 writeback default'
	bad_after_devices "Invalid number of policy arguments '99': must be 0..64" \
		'128 1 writeback default 99'
	bad_after_devices 'Policy arguments must be <key> <value> pairs' \
		'128 1 writeback default 1 migration_threshold'
	bad_after_devices 'Missing argument: policy arguments' \
		'128 1 writeback default 2 migration_threshold'
	is_stock || bad_after_devices "Surplus argument 'more' after the policy's" \
		'128 1 writeback default 0 more'
	nothing_changed
}

#@ fast timeout=90
test_bad_words() {
	by_hand_devices
	bad_after_devices "Unrecognised cache feature requested: 'nonesuch'" '128 1 nonesuch default 0'
	bad_after_devices 'Duplicate cache io_mode features requested' \
		'128 2 writeback writethrough default 0'
	bad_after_devices "Unknown cache policy 'nonesuch': no module dm-cache-nonesuch" \
		'128 1 writeback nonesuch 0'
	bad_after_devices "Policy default: migration_threshold: 'many' is not a number" \
		'128 1 writeback default 2 migration_threshold many'
	bad 'Error opening metadata device /dev/nonesuch' "/dev/nonesuch $FAST $SLOW 128 1 writeback default 0"
	bad 'Error opening cache device /dev/nonesuch' "$META /dev/nonesuch $SLOW 128 1 writeback default 0"
	bad 'Error opening origin device /dev/nonesuch' "$META $FAST /dev/nonesuch 128 1 writeback default 0"
	nothing_changed
}

#@ hearth-only fast timeout=60
test_bad_settings() {
	by_hand_devices
	bad_after_devices "Policy smq: unknown setting 'nonesuch'" '128 1 writeback smq 2 nonesuch 1'
	bad_after_devices "Policy lru: unknown setting 'nonesuch'" '128 1 writeback lru 2 nonesuch 1'
	bad_after_devices 'Policy lru: max_promote_share: 0 is not in 1..100' \
		'128 1 writeback lru 2 max_promote_share 0'
	bad_after_devices 'Policy lru: migration_threshold: 4294967296 is not in 0..4294967295' \
		'128 1 writeback lru 2 migration_threshold 4294967296'
	LENGTH=128 bad 'Metadata, cache and origin must be three devices' "$META $FAST $META 128 1 writeback lru 0"
	nothing_changed
}

#@ fast timeout=90
test_bad_block_sizes() {
	local size
	by_hand_devices
	for size in 0 1 63 32 65 96 100 127 2097216 4194304 -128 x; do
		bad_after_devices "Invalid data block size '$size': must be 64..2097152 sectors, a multiple of 64" \
			"$size 1 writeback default 0"
	done
	nothing_changed
}

#@ fast timeout=90
test_devices_too_small() {
	by_hand_devices
	bad_after_devices 'Cache device too small: less than one block of 65536 sectors' \
		'65536 1 writeback default 0'
	LENGTH=$(($(sectors "$SLOW") + 128)) bad_after_devices \
		'Device size larger than cached device' '128 1 writeback default 0'
	nothing_changed
}

#@ hearth-only fast timeout=60
test_metadata_device_too_small() {
	by_hand_devices
	dmsetup create tiny --table "0 64 linear $META 0"
	META=/dev/mapper/tiny
	bad_after_devices 'Metadata device too small: 32 KiB, 512 cache blocks need [0-9]+ KiB' \
		'64 1 writeback default 0'
	nothing_changed
}

#@ fast timeout=60
test_foreign_metadata_is_not_formatted_over() {
	local foreign='Metadata device holds something that is not cache metadata'
	by_hand_devices
	no_metadata_check
	mkfs.ext4 -q "$META"
	bad_after_devices "$foreign" '128 1 writeback default 0'
	nothing_changed
	fsck.ext4 -fn "$META"
	dd if=/dev/urandom of="$META" bs=64k count=8 oflag=direct status=none
	bad_after_devices "$foreign" '128 1 writeback default 0'
	nothing_changed
}

# Makes a cache, fills it with data and removes it.
used_once() {
	by_hand_devices
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	dmsetup remove c
}

# spoil BLOCK OFFSET: changes one byte of the metadata.
spoil() {
	dd if="$META" of="$T/block" bs=4k skip="$1" count=1 iflag=direct status=none
	printf '\377' | dd of="$T/block" bs=1 seek="$2" conv=notrunc status=none
	dd if="$T/block" of="$META" bs=4k seek="$1" count=1 oflag=direct status=none
}

#@ fast timeout=60
test_bad_superblock_checksum() {
	used_once
	no_metadata_check
	spoil 0 100
	bad_after_devices 'Metadata superblock has a bad checksum' '128 1 writeback default 0'
	nothing_changed
}

# The superblock has the root of the mapping at offset 192. Stock also refuses this, but
# it writes needs_check.
#@ hearth-only fast timeout=60
test_bad_mapping_checksum() {
	local root
	used_once
	no_metadata_check
	root=$(dd if="$META" bs=4k count=1 iflag=direct status=none | od -An -tu8 -j192 -N8)
	spoil "$((root))" 1000
	bad_after_devices "block $((root)), which should be a .*checksum" '128 1 writeback default 0'
	nothing_changed
}

#@ fast timeout=60
test_block_size_differs_from_metadata() {
	used_once
	bad_after_devices "Cache block size differs from the metadata's" '256 1 writeback default 0'
	bad_after_devices "Cache block size differs from the metadata's" '64 1 writeback default 0'
	nothing_changed
	by_hand c 128 writeback
	check_data /dev/mapper/c 1 0 8
}

# Stock accepts any cache device with this metadata.
#@ hearth-only fast timeout=60
test_metadata_in_use_by_another_cache() {
	by_hand_devices
	device OTHER 16 ssd
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	refused 'metadata device is in use by another active cache' dmsetup create bad --table \
		"0 $(sectors "$SLOW") cache $META $OTHER $SLOW 128 1 writeback default 0"
	dmsetup remove bad 2>/dev/null || true
	check_data /dev/mapper/c 1 0 8
}

# Prints everything that a message or a table could have changed.
state_of() {
	dmsetup table "$1"
	read_status "$1"
	echo "${ST[used]} ${ST[dirty]} ${ST[features]} ${ST[core]} ${ST[settings]}"
	is_stock || message "$1" stats | head -n1
}

bad_message() {
	local why=$1 before
	shift
	before=$(state_of c)
	refused "$why" message c "$@"
	assert_eq "$(state_of c)" "$before" "state changed"
}

# warm_cache MODE: makes a cache c whose blocks a bad message could remove.
warm_cache() {
	by_hand_devices
	by_hand c 128 writethrough
	write_data /dev/mapper/c 1 0 8
	warm c 2
	if [ "$1" != writethrough ]; then
		dmsetup remove c
		by_hand c 128 "$1"
		assert_ge "$(stat_of c used)" 24 "blocks in the cache"
	fi
}

#@ fast timeout=90
test_bad_messages() {
	warm_cache writethrough
	bad_message "unknown message or setting 'nonesuch'" nonesuch 1
	bad_message "migration_threshold: 'many' is not a number" migration_threshold many
	bad_message "migration_threshold: '-1' is not a number" migration_threshold -1
	bad_message "message 'migration_threshold': takes one value" migration_threshold
	bad_message "message 'migration_threshold': takes one value" migration_threshold 1 2
	bad_message 'invalidate_cblocks: only in passthrough mode' invalidate_cblocks 0-4
	check_data /dev/mapper/c 1 0 8
}

#@ hearth-only fast timeout=90
test_bad_values_of_own_messages() {
	warm_cache writethrough
	bad_message 'migration_threshold: 4294967296 is not in 0..4294967295' migration_threshold 4294967296
	bad_message 'max_promote_share: 0 is not in 1..100' max_promote_share 0
	bad_message "mode: 'writeonly' is not possible over writethrough" mode writeonly
	bad_message "mode: 'nonesuch' is not possible over writethrough" mode nonesuch
	bad_message "message 'mode': takes one value" mode
	bad_message "message 'stats': takes one value" stats now please
	check_data /dev/mapper/c 1 0 8
}

#@ fast timeout=90
test_bad_invalidations() {
	local range too_large=4294967296
	# Stock takes this number for 0.
	! is_stock || too_large=
	warm_cache passthrough
	for range in 256 0-257 300-310 99999999999999 $too_large; do
		bad_message "'$range' is (out of range, there are 256 blocks|not a cache block)" \
			invalidate_cblocks "$range"
	done
	for range in 10-5 7-7; do
		bad_message "'$range' ends before it begins" invalidate_cblocks $range
	done
	for range in x 1-x -1 1-2-3; do
		bad_message "'$range' is not a cache block or a range" invalidate_cblocks $range
	done
	is_stock || bad_message "'256' is out of range" invalidate_cblocks 0-200 256
	message c invalidate_cblocks 0-5 255
	check_data /dev/mapper/c 1 0 8
}

# lvm2 passes such settings on without reading them. The kernel refuses them, and lvm2
# restores the old ones.
#@ hearth-only fast timeout=90
test_bad_settings_by_lvchange() {
	local before
	standard_vg
	cached_lv pool writethrough
	lvchange -y --cachepolicy lru vg/lv
	write_data /dev/vg/lv 1 0 8
	before=$(state_of_lv)
	refused "Policy lru: unknown setting 'nonesuch'" lvchange -y --cachesettings nonesuch=1 vg/lv
	assert_eq "$(state_of_lv)" "$before" "state changed"
	refused 'Policy lru: max_promote_share: 101 is not in 1..100' \
		lvchange -y --cachesettings max_promote_share=101 vg/lv
	assert_eq "$(state_of_lv)" "$before" "state changed"
	refused "Unknown cache policy 'nonesuch': no module dm-cache-nonesuch" \
		lvchange -y --cachepolicy nonesuch vg/lv
	assert_eq "$(state_of_lv)" "$before" "state changed"
	check_data /dev/vg/lv 1 0 8
}

state_of_lv() {
	lvs --noheadings -o cache_policy,cache_settings,cache_mode,lv_active vg/lv
	dmsetup table vg-lv
	stat_of vg-lv core
	dmsetup info -c --noheadings -o suspended,tables_loaded vg-lv
}

#@ fast timeout=60
test_failed_reload_leaves_the_live_table() {
	local table
	by_hand_devices
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	table=$(dmsetup table c)
	refused "Invalid data block size '100'" dmsetup reload c --table "${table/ 128 / 100 }"
	refused "Unknown cache policy 'nonesuch'" dmsetup reload c --table "${table/default/nonesuch}"
	refused "Unrecognised cache feature requested: 'backwrite'" \
		dmsetup reload c --table "${table/writeback/backwrite}"
	assert_eq "$(dmsetup table c)" "$table" table
	check_data /dev/mapper/c 1 0 8
	dmsetup suspend c
	dmsetup resume c
	check_data /dev/mapper/c 1 0 8
}
