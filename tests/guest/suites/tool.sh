# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The command hearth on real caches: what it says is compared with what was done,
# and what it does with what lvm2 and the target say afterwards.

hearth() {
	"$TOP/build/lvm-plugin/hearth" "$@"
}

# told FIELD [CACHE]: the first of that name in the JSON of hearth status.
told() {
	hearth status --json "${2:-vg/lv}" >"$T/json"
	sed -nE "s/^ *\"$1\": \"?([^\",]*)\"?,?$/\1/p" "$T/json" | head -n1
}

# fails_with CODE REGEX COMMAND...
fails_with() {
	local want=$1 why=$2 code=0
	shift 2
	"$@" >"$T/said" 2>&1 || code=$?
	cat "$T/said"
	assert_eq $code "$want" "exit status of $*"
	grep -qE "$why" "$T/said" || fail "no '$why' from $*"
}

#@ fast timeout=120
test_status_agrees_with_lvs() {
	local hits
	standard_vg
	fails_with 0 'no cache is active' hearth status
	cached_lv pool writeback
	write_data /dev/vg/lv 1 0 16
	reads 0 8 1m
	reads 64 8 1m
	# Nothing goes home between two looks.
	dmsetup suspend --noflush --nolockfs vg-lv_corig
	hearth status
	lvs_is cache_total_blocks="$(told total_blocks)" cache_used_blocks="$(told used_blocks)" \
		cache_dirty_blocks="$(told dirty_blocks)" cache_mode="$(told mode)" \
		kernel_cache_policy="$(told policy)" \
		cache_read_hits="$(told read_hits)" cache_read_misses="$(told read_misses)" \
		cache_write_hits="$(told write_hits)" cache_write_misses="$(told write_misses)"
	assert_ge "$(told dirty_blocks)" 1 "dirty blocks"
	dmsetup resume vg-lv_corig
	assert_ge "$(told read_hits)" 256 "hits of what was written"
	if is_stock; then
		assert_eq "$(told engine)" kernel engine
	else
		assert_eq "$(told engine)" hearth engine
		assert_eq "$(told cache_sectors_written)" "$(counter vg-lv cache_sectors_written)" "written"
		message vg-lv mode writeonly
		assert_eq "$(told mode)/$(told table_mode)" writeonly/writeback mode
	fi
	hits=$(told read_hits)
	reads 0 8 1m
	assert_eq "$(($(told read_hits) - hits))" 256 "hits since"
	assert_eq "$(told health)" good health

	lvcreate -qq -y -L 4M -n plain vg "$DISK"
	lvchange -an vg/lv
	fails_with 3 'not active' hearth status vg/lv
	fails_with 3 'type is linear' hearth status vg/plain
	fails_with 3 'no such volume' hearth status vg/none
	fails_with 3 'no cache of that name' hearth status none
}

reactivated() {
	udevadm settle
	lvchange -an vg/lv
	lvchange -ay vg/lv
}

#@ fast hearth-only timeout=120
test_set_outlives_activation() {
	standard_vg
	cached_lv pool writeback
	hearth set vg/lv read_level=3 migration_threshold=4096 mode=writeonly
	reactivated
	assert_eq "$(told mode)" writeonly mode
	assert_eq "$(told read_level)" 3 "setting in the metadata"
	assert_eq "$(told migration_threshold)" 4096 "setting in LVM"
	lvs_is cache_mode=writeback cache_policy=smq cache_settings=migration_threshold=4096
	fails_with 1 'read_level=9 was refused: .*not in 0\.\.5' hearth set vg/lv read_level=9
	fails_with 1 'seqq_cutoff=1 was refused: .*seqq_cutoff' hearth set vg/lv seqq_cutoff=1
	fails_with 1 'visits is not a setting' hearth set vg/lv visits=3

	write_data /dev/vg/lv 1 0 8
	hearth set vg/lv --preset read-mostly
	assert_eq "$(told mode)/$(told dirty_blocks)" writearound/0 "mode and dirty blocks"
	lvs_is cache_mode=writethrough
	hearth set vg/lv mode=writeback policy=lru
	assert_eq "$(told mode)/$(told policy)" writeback/lru "mode and policy"
	check_data /dev/vg/lv 1 0 8
}

#@ fast hearth-only timeout=90
test_drain_by_hand() {
	local table
	by_hand_devices
	by_hand c 128 "metadata2 writeback" "default 2 read_level 1"
	table=$(dmsetup table c)
	write_data /dev/mapper/c 1 0 8
	assert_ge "$(told dirty_blocks c)" 64 dirty
	hearth drain c
	assert_eq "$(told dirty_blocks c)" 0 dirty
	assert_eq "$(dmsetup table c)" "$table" table
	hearth set c policy=lru mode=writearound
	assert_match "$(dmsetup table c)" '2 metadata2 writethrough lru 2 read_level 1$' table
	assert_eq "$(told mode c)" writearound mode
	check_data /dev/mapper/c 1 0 8
}

#@ fast timeout=150 on=pool
test_split_and_uncache() {
	standard_vg
	cached_lv "$1" writeback
	write_data /dev/vg/lv 1 0 16
	hearth split vg/lv
	assert_eq "$(field segtype)" linear type
	check_data /dev/vg/lv 1 0 16
	lvconvert -qq -y --type cache "--cache$1" vg/fast --cachemode writeback vg/lv
	write_data /dev/vg/lv 2 0 8
	hearth uncache vg/lv
	assert_eq "$(lvs --noheadings vg | wc -l)" 1 volumes
	check_data /dev/vg/lv 2 0 8
	check_data /dev/vg/lv 1 8 8
}
