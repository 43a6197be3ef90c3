# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A volume goes back and forth between hearth and stock, the kernel's own dm-cache, with
# dirty data in the cache. Some tests stop it cleanly, others cut its power.

# Fails unless some of the written data is in the cache alone.
origin_is_stale() {
	dmsetup create origin --table "0 131072 linear $DISK 2048"
	if block_data check /dev/mapper/origin 1 0 8 2>/dev/null &&
		block_data check /dev/mapper/origin 2 8 8 4k 2>/dev/null &&
		block_data check /dev/mapper/origin 1 16 8 2>/dev/null; then
		fail "the origin has all data: no block was dirty"
	fi
	dmsetup remove origin
}

# hand_over FROM TO pool|vol [format1]: the engine FROM leaves dirty blocks, TO reads
# them and writes more, and FROM reads all again.
hand_over() {
	local from=$1 to=$2 dirty
	load_engine "$from"
	standard_vg
	cached_lv "$3" writeback "${@:4}"
	write_data /dev/vg/lv 1 0 24
	# The engine writes nothing back from here on; stock does that quickly when
	# idle.
	message vg-lv migration_threshold 0
	RW=randwrite write_data /dev/vg/lv 2 8 8 4k
	dirty=$(stat_of vg-lv dirty)
	assert_ge "$dirty" 64 "dirty blocks"
	lvchange -an vg/lv
	origin_is_stale
	load_engine "$to"
	lvchange -ay vg/lv
	assert_ge "$(stat_of vg-lv used)" 200 "blocks taken over"
	check_data /dev/vg/lv 1 0 8
	RW=randwrite check_data /dev/vg/lv 2 8 8 4k
	check_data /dev/vg/lv 1 16 8
	write_data /dev/vg/lv 3 0 4
	write_data /dev/vg/lv 3 100 8
	lvchange -an vg/lv
	load_engine "$from"
	lvchange -ay vg/lv
	check_data /dev/vg/lv 3 0 4
	check_data /dev/vg/lv 3 100 8
	RW=randwrite check_data /dev/vg/lv 2 8 8 4k
	lvchange -an vg/lv
	load_engine "$to"
	lvconvert -y --uncache vg/lv
	lvchange -ay vg/lv
	check_data /dev/vg/lv 3 0 4
	check_data /dev/vg/lv 1 4 4
	RW=randwrite check_data /dev/vg/lv 2 8 8 4k
	check_data /dev/vg/lv 1 16 8
	check_data /dev/vg/lv 3 100 8
}

#@ hearth-only fast timeout=180 on=pool slow=pool:format1,vol
test_stock_to_hearth() {
	hand_over stock hearth "$@"
}

#@ hearth-only fast timeout=180 on=pool slow=pool:format1,vol
test_hearth_to_stock() {
	hand_over hearth stock "$@"
}

cut_between() {
	local from=$1 to=$2
	load_engine "$from"
	linear_devices
	by_hand c 128 "$3"
	write_data /dev/mapper/c 1 0 12
	RW=randwrite write_data /dev/mapper/c 2 4 4 4k
	cut_power_after_flush
	load_engine "$to"
	by_hand c 128 "$3"
	check_data /dev/mapper/c 1 0 4
	RW=randwrite check_data /dev/mapper/c 2 4 4 4k
	check_data /dev/mapper/c 1 8 4
	write_data /dev/mapper/c 3 20 8
	check_data /dev/mapper/c 3 20 8
}

#@ hearth-only slow timeout=120
test_power_cut_on_stock_then_hearth() {
	cut_between stock hearth writeback
}

# Stock stores which blocks are dirty when it stops. After its power cut, all blocks are
# dirty for hearth, because their bits are older than what stock has written.
#@ hearth-only slow timeout=120
test_power_cut_on_stock_leaves_all_dirty() {
	load_engine hearth
	linear_devices
	by_hand c 128 writethrough
	write_data /dev/mapper/c 1 0 8
	warm c 8
	dmsetup remove c
	load_engine stock
	by_hand c 128 writeback
	message c migration_threshold 0
	write_data /dev/mapper/c 2 0 8
	assert_ge "$(stat_of c dirty)" 90 "blocks that stock made dirty"
	cut_power_after_flush
	load_engine hearth
	by_hand c 128 writeback "cleaner 0"
	until_true 30 all_clean c || fail "not written back: $(stat_of c dirty) blocks"
	dmsetup remove c
	check_data "$SLOW" 2 0 8
}

#@ hearth-only fast timeout=120
test_power_cut_on_hearth_then_stock() {
	cut_between hearth stock writeback
}

#@ slow timeout=120
test_power_cut_same_engine() {
	cut_between "$HEARTH_ENGINE" "$HEARTH_ENGINE" writeback
}

#@ slow timeout=120
test_power_cut_same_engine_writethrough() {
	cut_between "$HEARTH_ENGINE" "$HEARTH_ENGINE" writethrough
	check_data "$SLOW" 1 0 4
	check_data "$SLOW" 3 20 8
}

#@ hearth-only fast timeout=120
test_power_cut_leaves_it_warm_and_mostly_clean() {
	linear_devices
	by_hand c 128 writethrough
	write_data /dev/mapper/c 1 0 12
	warm c 8
	cut_power_after_flush
	by_hand c 128 writethrough
	read_status c
	assert_ge "${ST[used]}" 90 "still warm"
	check_data /dev/mapper/c 1 0 12
}

# dirty_and_damaged FORMAT ROOT: stops a volume with dirty blocks, and damages the array
# whose root is at byte ROOT of the superblock.
dirty_and_damaged() {
	local dev offset
	standard_vg
	cached_lv pool writeback --cachemetadataformat "$1"
	stays_dirty vg-lv
	write_data /dev/vg/lv 1 0 24
	assert_ge "$(stat_of vg-lv dirty)" 64 "dirty blocks"
	read -r _ _ _ dev offset < <(dmsetup table vg-fast_cpool_cmeta)
	lvchange -an vg/lv
	spoil_leaf "/dev/block/$dev" "$offset" "$2"
}

# The damage is in the dirty bits of format 2, or in the hints of format 1. After the
# repair every block that was dirty still is, and stock opens the metadata.
#@ hearth-only fast timeout=180 on=2:284 slow=1:200
test_stock_opens_what_was_repaired() {
	dirty_and_damaged "$@"
	lvconvert -y --repair --config "$(hearth_repairs)" vg/lv | tee "$T/log"
	grep -q 'has a bad checksum' "$T/log" || fail "the repair did not find the damage"
	load_engine stock
	lvchange -ay vg/lv
	assert_ge "$(stat_of vg-lv used)" 64 "mapped blocks"
	check_data /dev/vg/lv 1 0 24
	remove_old_metadata
	lvconvert -y --uncache vg/lv
	check_data /dev/vg/lv 1 0 24
}

# The damage is in the mapping, so dirty blocks are lost, and the repair must report a
# failure to lvm2. The metadata stays as it is until the administrator accepts the loss.
#@ hearth-only fast timeout=180
test_repair_that_loses_is_not_taken_for_one() {
	local before
	dirty_and_damaged 2 192
	before=$(lvs --noheadings -a -o lv_name,lv_uuid vg/fast_cpool_cmeta)
	must_fail lvconvert -y --repair --config "$(hearth_repairs)" vg/lv >"$T/log" 2>&1
	grep -q 'lost, and was dirty: [0-9]' "$T/log" || fail "the repair does not list the lost blocks: $(cat "$T/log")"
	assert_eq "$(lvs --noheadings -a -o lv_name,lv_uuid vg/fast_cpool_cmeta)" "$before" metadata
	lvconvert -y --repair --config "$(hearth_repairs --accept-lost)" vg/lv
	load_engine stock
	lvchange -ay vg/lv
	remove_old_metadata
}

# spoil FILE BLOCK PATTERN: damages a block of metadata.
spoil() {
	local at=$(($2 * 4096 + 1234)) byte
	case $3 in
	zeros) dd if=/dev/zero of="$1" bs=4k seek="$2" count=1 conv=notrunc status=none ;;
	noise) dd if=/dev/urandom of="$1" bs=4k seek="$2" count=1 conv=notrunc status=none ;;
	bit)
		byte=$(od -An -tu1 -j$at -N1 "$1")
		printf '%b' "\\0$(printf %o $((byte ^ 1)))" |
			dd of="$1" bs=1 seek=$at conv=notrunc status=none
		;;
	esac
}

# opens_repaired BLOCK PATTERN: damages this block of $T/sound, repairs the result, and
# opens it with stock. All $DIRTY blocks must be dirty in stock, except the ones that the
# repair calls lost. Adds to OPENED and LOSSES.
opens_repaired() {
	local mapped dirty lost geometry=()
	cp "$T/sound" "$T/bad"
	spoil "$T/bad" "$1" "$2"
	[ "$1" != 0 ] || geometry=(--block-size 128 --cache-blocks 256)
	"$TOP/build/tools/hearth-cache-repair" --accept-lost "${geometry[@]}" -i "$T/bad" -o "$META" |
		tee "$T/said"
	# A block that the last commit does not use.
	if grep -q 'no damage was found' "$T/said"; then return; fi
	read -r mapped dirty lost < <(sed -nE \
		's/.*mapped ([0-9]+) of .* dirty ([0-9]+), lost ([0-9]+)$/\1 \2 \3/p' "$T/said")
	# If the dirty bits are lost with the mapping, all blocks of the cache may be lost.
	assert_ge $((dirty + lost)) "$DIRTY" "blocks that are dirty or lost"
	by_hand c 128 "$FEATURES" "smq 2 migration_threshold 0"
	read_status c
	# Reads by udev may have brought in more blocks, but clean ones.
	assert_ge "${ST[used]}" "$mapped" "mapped blocks in stock"
	assert_eq "${ST[dirty]}" "$dirty" "dirty blocks in stock"
	[ "$lost" != 0 ] || check_data /dev/mapper/c 2 0 10
	dmsetup remove c
	# Stock has written to slots that a lossy repair calls free.
	dd if="$T/fast" of="$FAST" bs=1M oflag=direct status=none
	OPENED=$((OPENED + 1))
	[ "$lost" = 0 ] || LOSSES=$((LOSSES + 1))
}

# Each block of small metadata is damaged in turn: of the mapping, of the dirty bits, of
# the hints, of the space map, and the superblock. A repair has written the metadata, so
# that next to no block of it belongs to an older commit.
#@ hearth-only slow timeout=180 on=1,2
test_stock_opens_what_was_repaired_block_by_block() {
	local blocks block pattern
	FEATURES="metadata2 writeback"
	[ "$1" = 2 ] || FEATURES=writeback
	by_hand_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "$FEATURES"
	stays_dirty c
	every_write_comes_in c
	write_data /dev/mapper/c 2 0 10
	DIRTY=$(stat_of c dirty)
	assert_ge "$DIRTY" 150 "dirty blocks"
	dmsetup remove c
	dd if="$FAST" of="$T/fast" bs=1M iflag=direct status=none
	truncate -s 1M "$T/sound"
	"$TOP/build/tools/hearth-cache-repair" -i "$META" -o "$T/sound"
	blocks=$(od -An -v -w4096 -tx1 "$T/sound" | awk '/[1-9a-f]/ { print NR - 1 }')
	load_engine stock
	OPENED=0 LOSSES=0
	for block in $blocks; do
		for pattern in zeros noise bit; do
			opens_repaired "$block" "$pattern"
		done
	done
	echo "opened $OPENED, of them $LOSSES with losses"
	assert_ge $OPENED 8 "repaired metadata that stock has opened"
	assert_ge $LOSSES 1 "repairs with losses"
	assert_ge $((OPENED - LOSSES)) 6 "repairs without losses"
}

# opens_as_repaired MAPPED DIRTY: loads a cache of the metadata's sizes with stock. Its devices
# have no data, because the mapping alone is compared.
opens_as_repaired() {
	local format block blocks features="1 writeback"
	read -r format block blocks < <("$TOP/build/tools/hearth-metadata" info "$META" |
		awk '{ of[$1] = $2 } END { print of["format"], of["block_size"], of["cache_blocks"] }')
	[ "$format" != 2 ] || features="2 metadata2 writeback"
	dmsetup create fast --table "0 $((blocks * block)) zero"
	dmsetup create c --table "0 $((1 << 31)) cache $META /dev/mapper/fast /dev/mapper/slow $block $features smq 2 migration_threshold 0"
	read_status c
	# Reads by udev may have brought in more blocks, but clean ones.
	assert_ge "${ST[used]}" "$1" "mapped blocks in stock"
	assert_eq "${ST[dirty]}" "$2" "dirty blocks in stock"
	command dmsetup remove c
	dmsetup remove fast
}

# The fuzzers' corpus is damage that nobody has thought of. Stock opens each image that the repair
# takes, and has the dirty blocks that the repair has counted.
#@ hearth-only slow timeout=600
test_stock_opens_the_repaired_corpus() {
	local image mapped blocks dirty opened=0 with_dirty=0
	device META 64 ram
	dmsetup create slow --table "0 $((1 << 31)) zero"
	load_engine stock
	for image in "$TOP"/tests/fuzz/corpus-metadata/*; do
		"$TOP/build/tools/image-to-device" "$image" "$T/bad" || continue
		"$TOP/build/tools/hearth-cache-repair" --accept-lost -i "$T/bad" -o "$META" >"$T/said" 2>&1 || continue
		read -r mapped blocks dirty < <(sed -nE \
			's/.*mapped ([0-9]+) of ([0-9]+) cache blocks, dirty ([0-9]+),.*/\1 \2 \3/p' "$T/said")
		[ "$blocks" != 0 ] || continue
		echo "$(basename "$image"): $(tail -n1 "$T/said")"
		opens_as_repaired "$mapped" "$dirty"
		opened=$((opened + 1))
		[ "$dirty" = 0 ] || with_dirty=$((with_dirty + 1))
	done
	echo "opened $opened, of them $with_dirty with dirty blocks"
	assert_ge $opened 50 "repaired images that stock has opened"
	assert_ge $with_dirty 15 "with dirty blocks"
}
