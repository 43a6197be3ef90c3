# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What lvs and the status line say, compared with what was done.

# percent PART WHOLE: as lvs prints it.
percent() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b ? 100 * a / b : 0 }'
}

#@ fast timeout=120
test_lvs_agrees_with_status() {
	standard_vg
	cached_lv pool writeback
	write_data /dev/vg/lv 1 0 16
	reads 0 8 1m
	reads 64 8 1m
	lvchange -y --cachepolicy cleaner --cachemode writethrough vg/lv
	until_true 60 all_clean vg-lv
	udevadm settle
	read_status vg-lv
	lvs_is cache_total_blocks="${ST[total]}" cache_used_blocks="${ST[used]}" \
		cache_dirty_blocks="${ST[dirty]}" \
		cache_read_hits="${ST[read_hits]}" cache_read_misses="${ST[read_misses]}" \
		cache_write_hits="${ST[write_hits]}" cache_write_misses="${ST[write_misses]}" \
		data_percent="$(percent "${ST[used]}" "${ST[total]}")" \
		metadata_percent="$(percent "${ST[metadata_used]}" "${ST[metadata_total]}")" \
		copy_percent="$(percent "${ST[dirty]}" "${ST[used]}")" \
		kernel_cache_policy=cleaner cache_mode=writethrough kernel_metadata_format=2 \
		lv_health_status= lv_check_needed= kernel_discards=
	assert_match "$(field lv_attr)" '^Cwi-a-C---' attributes
	assert_eq "${ST[total]}" 512 total
}

#@ fast timeout=120
test_dirty_and_used_after_writes() {
	standard_vg
	cached_lv pool writeback
	assert_le "$(stat_of vg-lv used)" 40 "used at first"
	write_data /dev/vg/lv 1 0 16
	udevadm settle
	read_status vg-lv
	assert_ge "${ST[used]}" 256 used
	assert_ge "${ST[dirty]}" 200 dirty
	assert_le "${ST[dirty]}" "${ST[used]}" "dirty of used"
	assert_eq "$(field data_percent)" "$(percent "${ST[used]}" 512)" data
}

#@ fast timeout=120
test_hits_and_misses_are_counted() {
	local hits misses
	standard_vg
	CACHE_MIB=64 cached_lv pool writeback
	write_data /dev/vg/lv 1 0 16
	counted read_hits reads 0 16 2m
	hits=$COUNT
	assert_eq "$hits" 512 "hits of reads of what was written"
	counted read_misses reads 0 16 2m
	assert_eq "$COUNT" 0 "misses of the same"
	read_status vg-lv
	hits=${ST[read_hits]} misses=${ST[read_misses]}
	reads 64 64 2m
	read_status vg-lv
	assert_eq $((ST[read_hits] + ST[read_misses] - hits - misses)) 512 "reads of elsewhere"
	assert_ge $((ST[read_misses] - misses)) 300 "misses of reads of elsewhere"
	counted write_hits write_data /dev/vg/lv 2 0 4 4k
	assert_eq "$COUNT" 1024 "write hits"
	counted write_misses write_data /dev/vg/lv 2 4 4 4k
	assert_eq "$COUNT" 0 "write misses of what is there"
	check_data /dev/vg/lv 2 0 8 4k
}

# The kernel's own forgets what it counted since it last wrote it down.
#@ hearth-only fast timeout=120
test_counters_survive_a_reload() {
	local hits
	standard_vg
	cached_lv pool writeback
	write_data /dev/vg/lv 1 0 8
	reads 0 8 1m
	hits=$(stat_of vg-lv read_hits)
	assert_ge "$hits" 256 hits
	lvchange -y --cachesettings migration_threshold=8192 vg/lv
	assert_ge "$(stat_of vg-lv read_hits)" "$hits" "hits after lvchange"
}

#@ fast timeout=90
test_promotions_and_demotions_are_counted() {
	standard_vg
	CACHE_MIB=8 cached_lv pool writeback
	read_status vg-lv
	assert_eq "${ST[demotions]}" 0 demotions
	write_data /dev/vg/lv 1 0 48
	warm vg-lv 2 24
	read_status vg-lv
	assert_ge "${ST[promotions]}" 100 promotions
	check_data /dev/vg/lv 1 0 48
}

#@ fast timeout=60
test_dump_agrees_with_status() {
	local used dirty
	by_hand_devices
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	read_status c
	used=${ST[used]} dirty=${ST[dirty]}
	dmsetup remove c
	# shellcheck disable=SC2153
	cache_dump "$META" >"$T/xml"
	grep -q 'block_size="128"' "$T/xml"
	assert_eq "$(grep -c '<mapping ' "$T/xml")" "$used" mappings
	assert_ge "$(grep -c '<mapping .*dirty="true"' "$T/xml")" "$((dirty * 9 / 10))" "dirty mappings"
}
