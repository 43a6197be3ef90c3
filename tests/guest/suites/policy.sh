# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The default policy's promises, as its users see them: scans, moved working sets,
# hints, limits, settings.

# Makes a cache of 256 blocks of 64 KiB over a disk. The message sets seq_cutoff as for
# a disk with seeks, because these devices do not report that they have any.
policy_cache() {
	by_hand_devices 16 256
	by_hand c 128 "metadata2 writethrough" "default 0"
	message c seq_cutoff 64
}

# touch_set OFFSET_MIB MIB [LOOPS]: reads the whole range in random order, 16 KiB at a
# time.
touch_set() {
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=16k \
		--offset="${1}M" --size="${2}M" --loops="${3:-1}"
}

# Prints the read hits per 1000 reads of one more touch_set.
hits_per_mille() {
	local hits misses
	hits=$(stat_of c read_hits) misses=$(stat_of c read_misses)
	touch_set "$@"
	hits=$(($(stat_of c read_hits) - hits))
	misses=$(($(stat_of c read_misses) - misses))
	echo $((hits * 1000 / (hits + misses)))
}

#@ fast smp hearth-only timeout=120
test_scan_leaves_the_working_set() {
	local before after i
	policy_cache
	no_promotion_limits c
	touch_set 0 14 6
	before=$(hits_per_mille 0 10)
	assert_ge "$before" 900 "hits per mille before the scan"
	# The kernel moves the reader from one CPU to the other 64 times.
	for ((i = 0; i < 64; i++)); do
		taskset $((1 + i % 2)) dd if=/dev/mapper/c of=/dev/null bs=256k \
			skip=$((256 + 10 * i)) count=10 iflag=direct status=none
	done
	after=$(hits_per_mille 0 10)
	echo "hits per mille: $before before a scan of ten times the cache, $after after"
	assert_ge "$after" $((before - 20)) "hits per mille after the scan"
	assert_ge "$(counter c bypass_stream)" 100 "requests bypassed as streams"
}

#@ fast hearth-only timeout=120
test_moved_working_set_gets_in() {
	local before after
	policy_cache
	no_promotion_limits c
	touch_set 0 15 6
	before=$(hits_per_mille 0 10)
	# The test reads twice the bytes of the new set.
	touch_set 100 10 2
	after=$(hits_per_mille 100 10)
	echo "hits per mille: $before of the old set, $after of the new one"
	assert_ge "$after" $((before * 9 / 10)) "hits per mille of the new set"
}

#@ fast hearth-only timeout=120
test_hints_survive_a_clean_stop() {
	local before after
	policy_cache
	no_promotion_limits c
	# This set fits; a full cache of this size evicts a few blocks at its first
	# miss.
	touch_set 0 12 4
	before=$(hits_per_mille 0 12)
	dmsetup remove c
	cache_dump "$META" | grep '<hint ' >"$T/hints"
	assert_ge "$(wc -l <"$T/hints")" 150 hints
	assert_ge "$(grep -vc 'data="AAAAAA=="' "$T/hints")" 50 "hints that say something"
	by_hand c 128 "metadata2 writethrough"
	after=$(hits_per_mille 0 12)
	echo "hits per mille: $before before, $after after"
	assert_ge "$after" $((before - 10)) "hits per mille after the start"
}

#@ fast hearth-only timeout=120
test_promotions_are_bounded() {
	local began promoted limit
	policy_cache
	no_promotion_limits c
	message c max_promote_mbps 1
	began=$SECONDS
	touch_set 0 14 2
	promoted=$(($(stat_of c promotions) * 64))
	limit=$(((SECONDS - began + 2) * 1000))
	echo "$promoted KiB promoted, $limit allowed"
	assert_le "$promoted" "$limit" "KiB promoted at 1 MB/s"
	assert_ge "$(counter c bypass_rate)" 1 "promotions refused"
	message c max_promote_mbps 0
	touch_set 0 14 4
	promoted=$(stat_of c promotions)
	assert_ge "$promoted" 150 "promotions without the limit"
	message c max_promote_mbps 1
	touch_set 32 4 6
	promoted=$(($(stat_of c promotions) - promoted))
	assert_ge "$promoted" 2 "promotions as soon as there is a limit again"
}

promoted_at_least() {
	[ "$(stat_of c promotions)" -ge "$1" ]
}

# promoted_by_read_at AT WANT: sets PROMOTED to the number of promotions that a random
# read of 4 KiB at AT KiB causes. The function cannot suspend the table to wait for
# them, because udev reads a device that resumes. It waits one second more, so that
# promotions beyond WANT are counted as well.
promoted_by_read_at() {
	local before
	udevadm settle
	before=$(stat_of c promotions)
	dd if=/dev/mapper/c of=/dev/null bs=4k skip=$(($1 / 4)) count=1 iflag=direct status=none
	until_true 20 promoted_at_least $((before + $2)) || true
	sleep 1
	PROMOTED=$(($(stat_of c promotions) - before))
}

# promotes AT WANT WHAT
promotes() {
	promoted_by_read_at "$1" "$2"
	assert_eq "$PROMOTED" "$2" "$3"
}

#@ fast hearth-only timeout=60
test_a_read_brings_what_lies_behind() {
	local before at=9728	# in KiB; udev reads at whole MiB when the device appears
	by_hand_devices 16 256
	write_data "$SLOW" 1 9 2
	echo 1 >"/sys/block/${SLOW#/dev/}/queue/rotational"
	by_hand c 128 "metadata2 writethrough" "default 0"
	promotes $at 4 "blocks of a read into an empty cache"
	before=$(stat_of c read_misses)
	dd if=/dev/mapper/c of=/dev/null bs=64k skip=$((at / 64)) count=4 iflag=direct status=none
	assert_eq "$(stat_of c read_misses)" "$before" "misses of what was brought"
	promotes $((at - 64)) 1 "blocks before one that is there"
	promotes $((at + 2048 + 60)) 1 "blocks of a read that ends with its block"
	message c promote_ahead 64
	promotes $((at + 3072)) 1 "blocks if less than one is allowed"
	message c promote_ahead 384
	read_all /dev/mapper/c 15
	promoted_by_read_at $((at + 10240)) 0
	assert_le "$PROMOTED" 1 "blocks with few slots free"
	check_data /dev/mapper/c 1 9 2
}

#@ fast hearth-only timeout=60
test_every_setting_has_room() {
	local all of_policy of_nhit key value i
	local -a word
	all=$(long_values target) of_policy=$(long_values heat) of_nhit=$(long_values nhit)
	policy_cache
	message c mode writearound
	# The record keeps the settings of another policy. The settings that follow would
	# not fit beside them as lines of their own.
	dmsetup remove c
	by_hand c 128 "metadata2 writethrough" "nhit 0"
	for key in $(settings_of nhit); do
		value=${of_nhit#*"$key "}
		message c "$key" "${value%% *}"
	done
	dmsetup remove c
	by_hand c 128 "metadata2 writethrough"
	read -ra word <<<"$all $of_policy"
	read_status c
	assert_eq ${#word[@]} "$(wc -w <<<"${ST[core]} ${ST[settings]}")" "words of settings"
	for ((i = 0; i < ${#word[@]}; i += 2)); do
		message c "${word[i]}" "${word[i + 1]}"
	done
	dmsetup remove c
	by_hand c 128 "metadata2 writethrough"
	read_status c
	assert_eq "${ST[core]}" "$all" "core settings"
	assert_eq "${ST[settings]}" "$of_policy" "policy settings"
	assert_eq "$(message c stats | head -n1)" "mode writearound" mode
	dmsetup remove c
	dd if="$META" bs=4k count=1 iflag=direct status=none | LC_ALL=C grep -a '^= [a-z]*[0-9A-Z]' ||
		fail "the packed line is not in use"
	by_hand c 128 "metadata2 writethrough" "nhit 0"
	read_status c
	assert_eq "${ST[core]}" "$all" "core settings beside another policy"
	assert_match "${ST[settings]}" "$of_nhit" "settings of that policy"
}

#@ fast hearth-only timeout=60
test_settings_outlive_the_table() {
	policy_cache
	message c max_promote_mbps 7
	message c dirty_limit "$(printf '%070u' 71)"
	message c mode writearound
	dmsetup remove c
	by_hand c 128 "metadata2 writethrough"
	read_status c
	assert_match "${ST[core]}" "max_promote_mbps 7" "core settings"
	assert_match "${ST[core]}" "dirty_limit 71" "a setting given with leading zeros"
	assert_match "${ST[settings]}" "seq_cutoff 64" "policy settings"
	assert_eq "$(message c stats | head -n1)" "mode writearound" mode
	# The table's own setting takes precedence, and "mode table" returns to the
	# table's mode.
	dmsetup remove c
	by_hand c 128 "metadata2 writethrough" "default 2 seq_cutoff 128"
	message c mode table
	read_status c
	assert_match "${ST[settings]}" "seq_cutoff 128" "policy settings"
	assert_eq "$(message c stats | head -n1)" "mode writethrough" mode
	refused "mode" message c mode writeonly
	refused "not in 0..1000000" message c max_promote_mbps 1000001
	refused "is not a number" message c max_promote_share many
	refused "unknown message or setting" message c no_such_key 1
}

# all_hit MIB: every read of the first MIB hits.
all_hit() {
	local misses
	misses=$(stat_of c read_misses)
	read_all /dev/mapper/c "$1"
	[ "$(stat_of c read_misses)" = "$misses" ]
}

all_may_hold_data() {
	[ "$(counter c data_slots)" = "$(stat_of c total)" ]
}

a_slot_is_kept_free() {
	! all_may_hold_data
}

# No slot is kept free while no block needs one. When blocks of another set come in, the
# engine frees slots ahead of them again.
#@ fast hearth-only timeout=90
test_a_set_of_the_caches_size_fits() {
	local lacked
	by_hand_devices 4 64
	by_hand c 128 "metadata2 writethrough" "lru 0"
	no_promotion_limits c
	until_true 30 all_hit 4 || fail "$(stat_of c used) of 64 blocks are in the cache"
	until_true 20 all_may_hold_data || fail "$(counter c data_slots) of 64 blocks may hold data"
	lacked=$(counter c bypass_no_slot)
	# The other set fits, too, so once it is in the cache no slot is kept free any more.
	touch_set 32 4 8 &
	until_true 60 a_slot_is_kept_free || fail "no slot is kept free"
	wait $!
	assert_ge "$(stat_of c demotions)" 64 "blocks that made room"
	assert_le "$(($(counter c bypass_no_slot) - lacked))" 64 "blocks that found no slot, of 2048 reads"
}

# A backup that runs in the idle class displaces nothing, whether it reads through the page
# cache or past it, and however often.
#@ fast hearth-only timeout=60
test_idle_requests_bring_nothing_in() {
	local used
	by_hand_devices 16 64
	by_hand c 128 "metadata2 writethrough" "lru 0"
	no_promotion_limits c
	udevadm settle
	used=$(stat_of c used)
	ionice -c 3 dd if=/dev/mapper/c of=/dev/null bs=64k count=64 status=none
	ionice -c 3 dd if=/dev/mapper/c of=/dev/null bs=4k count=16 skip=4096 iflag=direct status=none
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=16k --offset=32M --size=2M --prioclass=3 --loops=2
	assert_eq "$(stat_of c used)" "$used" "blocks that were brought in"
	assert_ge "$(counter c bypass_idle)" 128 "requests of the idle class"
	message c promote_idle 1
	ionice -c 3 dd if=/dev/mapper/c of=/dev/null bs=64k count=16 skip=128 iflag=direct status=none
	# Their commit lingers.
	until_true 20 used_at_least c $((used + 8)) || fail "the setting lets no block in"
}

# figure NAME: prints a figure that the policy of c reports.
figure() {
	message c policy_stats | awk -v name="$1" '$1 == name { print $2 }'
}

#@ fast hearth-only timeout=60
test_policy_can_be_looked_into() {
	local slots
	policy_cache
	assert_eq "$(figure new_cold_small_yield_permille)" 1000 "yield before anything is known"
	touch_set 0 15 6
	read_all /dev/mapper/c 15
	touch_set 0 10 4
	assert_eq "$(message c policy_stats | head -n1)" "policy smq" "first line"
	slots=$(($(figure small_slots) + $(figure main_slots) + $(figure busy_slots)))
	assert_ge "$slots" "$(stat_of c used)" "slots in a queue"
	assert_le "$slots" 256 "slots in a queue"
	assert_ge "$(figure border_slots)" 16 "slots below the border"
	assert_le "$(figure border_slots)" 224 "slots below the border"
	assert_ge "$(figure write_price_permille)" 1 "price of a write"
	message c write_level 0
	assert_eq "$(figure write_price_permille)" 0 "price of a write at level 0"
	dmsetup suspend c
	refused "message 'policy_stats': the device is suspended" message c policy_stats
	dmsetup resume c
	dmsetup remove c
	by_hand c 128 "metadata2 writethrough" "cleaner 0"
	assert_eq "$(message c policy_stats)" "policy cleaner" "a policy that tells nothing"
}
