# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The fields of lvs and of the status line, compared with what the test did.

# percent PART WHOLE: prints the percentage as lvs prints it.
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
	is_stock || no_promotion_limits vg-lv
	assert_le "$(stat_of vg-lv used)" 40 "used at first"
	stays_dirty vg-lv
	write_data /dev/vg/lv 1 0 16
	udevadm settle
	read_status vg-lv
	assert_ge "${ST[used]}" 256 used
	assert_ge "${ST[dirty]}" 200 dirty
	assert_le "${ST[dirty]}" "${ST[used]}" "dirty of used"
	assert_eq "$(field data_percent)" "$(percent "${ST[used]}" 512)" data
}

#@ slow timeout=120
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

# Stock loses all counts since it last wrote its counters to the metadata.
#@ hearth-only fast timeout=120
test_counters_survive_a_reload() {
	local hits
	standard_vg
	cached_lv pool writeback
	no_promotion_limits vg-lv
	write_data /dev/vg/lv 1 0 8
	reads 0 8 1m
	hits=$(stat_of vg-lv read_hits)
	assert_ge "$hits" 256 hits
	lvchange -y --cachesettings migration_threshold=8192 vg/lv
	assert_ge "$(stat_of vg-lv read_hits)" "$hits" "hits after lvchange"
}

#@ slow timeout=90
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

#@ slow timeout=60
test_dump_agrees_with_status() {
	local used dirty
	by_hand_devices
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	# udev reads the volume first, because its read would keep a suspended one open. A
	# promotion that has begun ends before the suspend does, and none begins later.
	udevadm settle
	dmsetup suspend c
	read_status c
	used=${ST[used]} dirty=${ST[dirty]}
	dmsetup remove c
	# shellcheck disable=SC2153
	cache_dump "$META" >"$T/xml"
	grep -q 'block_size="128"' "$T/xml"
	assert_eq "$(grep -c '<mapping ' "$T/xml")" "$used" mappings
	assert_ge "$(grep -c '<mapping .*dirty="true"' "$T/xml")" "$((dirty * 9 / 10))" "dirty mappings"
}

# --- the status line, field by field, as stock prints it ---------------------

# Settings that only hearth's target has: its own, and those of each policy.
OWN_CORE=$(settings_of target | grep -vx migration_threshold | xargs)
HEAT_SETTINGS=$(settings_of heat | xargs)
declare -A OWN_SETTINGS=(
	[smq]=$HEAT_SETTINGS [mq]=$HEAT_SETTINGS [heat]=$HEAT_SETTINGS
	[lru]=$(settings_of lru | xargs) [nhit]=$(settings_of nhit | xargs) [cleaner]=""
)
# Settings of each policy that stock prints.
declare -A SETTINGS=(
	[mq]="random_threshold 0 sequential_threshold 0 discard_promote_adjustment 0 read_promote_adjustment 0 write_promote_adjustment 0"
)

# counted_words "WORDS" "KEYS": prints the number of words and the words. Hearth's own
# keys follow them, each with any number.
counted_words() {
	local -a words keys
	local key
	read -ra words <<<"$1"
	is_stock || read -ra keys <<<"$2"
	for key in "${keys[@]}"; do
		words+=("$key" "[0-9]+")
	done
	echo ${#words[@]} "${words[@]}"
}

# Prints the policy's name in the status for the policy word of a table.
named_policy() {
	[ "$1" = default ] && echo smq || echo "$1"
}

# status_is "FEATURES" POLICY [MIGRATION_THRESHOLD]: compares each field of the status
# of c, a new cache of 256 blocks of 64 KiB. One space separates two words, and one
# space ends the line.
status_is() {
	local want have
	want="0 131072 cache 8 [0-9]+/2048 128 [0-9]+/256( [0-9]+){6} 0"
	want+=" $(wc -w <<<"$1") $1"
	want+=" $(counted_words "migration_threshold ${3:-2048}" "$OWN_CORE")"
	want+=" $2 $(counted_words "${SETTINGS[$2]:-}" "${OWN_SETTINGS[$2]}") rw - "
	have=$(dmsetup status --noflush c)
	assert_match "$have" "^$want\$" "features '$1', policy $2"
}

# status_of "FEATURES" "POLICY ARGS" [MIGRATION_THRESHOLD]: the caller gives the
# features in the order in which the status prints them.
status_of() {
	zero "$META" 1
	by_hand c 128 "$1" "$2"
	status_is "$1" "$(named_policy "${2%% *}")" "${3:-}"
	dmsetup remove c
}

# The test combines each policy with each mode, and each other feature with each policy
# and each mode.
#@ fast timeout=120
test_status_line() {
	by_hand_devices
	status_of writethrough "smq 0"
	status_of "metadata2 writeback no_discard_passdown" "smq 0"
	status_of "metadata2 passthrough" "smq 2 migration_threshold 4096" 4096
	status_of "metadata2 writethrough no_discard_passdown" "mq 0"
	status_of "metadata2 writeback" "mq 4 sequential_threshold 512 random_threshold 8"
	status_of "passthrough no_discard_passdown" "mq 2 migration_threshold 0" 0
	status_of "writethrough no_discard_passdown" "default 0"
	status_of writeback "default 0"
	status_of "metadata2 passthrough" "default 0"
	status_of "metadata2 writethrough" "cleaner 0"
	status_of "writeback no_discard_passdown" "cleaner 0"
	status_of passthrough "cleaner 0"
}

status_lines() {
	local mode policy
	for policy in $1; do
		for mode in $2; do
			status_of "$mode" "$policy 0"
			status_of "metadata2 $mode" "$policy 0"
			status_of "$mode no_discard_passdown" "$policy 0"
			status_of "metadata2 $mode no_discard_passdown" "$policy 0"
		done
	done
}

#@ slow timeout=240
test_every_status_line() {
	by_hand_devices
	status_lines "smq mq default cleaner" "writethrough writeback passthrough"
}

#@ hearth-only slow timeout=300
test_every_status_line_of_its_own() {
	by_hand_devices
	status_lines "heat lru nhit" "writethrough writeback passthrough"
	status_lines "smq mq lru nhit cleaner" "writearound writeonly"
}

# after_discard check_data|check_data_fails "FEATURES": compares the status, and checks
# whether the discard changed the origin.
after_discard() {
	zero "$META" 1
	write_data "$SLOW" 7 40 8
	by_hand c 128 "${2% no_discard_passdown}" "smq 0"
	status_is "$2" smq
	blkdiscard -o 40M -l 8M /dev/mapper/c
	"$1" "$SLOW" 7 40 8
	dmsetup remove c
}

#@ fast timeout=90
test_origin_takes_no_discards() {
	local queue
	device META 8 ram
	device FAST 16 ssd
	DISCARD=0 device SLOW 64 disk
	after_discard check_data "metadata2 writeback no_discard_passdown"
	device BETTER 64 disk
	SLOW=$BETTER queue=/sys/block/${BETTER#/dev/}/queue
	echo 32768 >"$queue/discard_max_bytes"
	after_discard check_data "metadata2 writethrough no_discard_passdown"
	echo 65536 >"$queue/discard_max_bytes"
	after_discard check_data_fails "metadata2 writethrough"
}

#@ slow timeout=90
test_lvs_of_an_origin_without_discards() {
	DISCARD=0 standard_vg
	cached_lv pool writethrough
	lvs_is kernel_discards=nopassdown kernel_cache_policy=smq
}
