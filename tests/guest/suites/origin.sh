# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Does the cache notice that its origin was written without it, and does it believe an
# origin that was not? The engine compares some clean blocks before the first hit.
#
# Eight tests are fast, because each costs make test half a minute or more. They break when
# the check is left out, comes too late, or forgets what is dirty. Every other suite looks
# for false alarms as well: lib.sh fails a test for an alarm that it did not provoke.

# Compares every clean block, so that a test needs no luck. Stock has no such setting.
ALL="default 2 origin_check 1024"
if is_stock; then ALL="default 0"; fi

# resident_cache [MODE [FAST_MIB]]: makes a cache c of 16 MiB over 32 MiB of data. The
# first 8 MiB are resident, and hit again and again.
resident_cache() {
	by_hand_devices "${2:-16}" 32
	make_resident "${1:-writethrough}"
}

# make_resident MODE: the same with the devices that are there.
make_resident() {
	write_data "$SLOW" 1 0 32
	again "$(warming "$1")"
	warm c 8 128
	check_data /dev/mapper/c 1 0 8
	[ "$1" != writeonly ] || becomes c "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writeonly $ALL"
}

# Reads bring nothing into the cache in writeonly.
warming() {
	if [ "$1" = writeonly ]; then echo writeback; else echo "$1"; fi
}

# overwrite BLOCK...: gives whole blocks of the origin another content.
overwrite() {
	local block
	for block; do
		dd if=/dev/urandom of="$SLOW" bs=64k seek="$block" count=1 oflag=direct status=none
	done
}

ALARMS=0

alarms() {
	kernel_log | grep -cE "$ORIGIN_ALARM" || true
}

# The test has written the origin itself, so the messages up to now are right.
alarm_is_right() {
	dmesg_allow "$ORIGIN_ALARM"
	ALARMS=$(alarms)
}

no_alarm() {
	assert_eq "$(alarms)" "$ALARMS" "messages of the check"
}

# again [MODE] [POLICY]: activates c.
again() {
	by_hand c 128 "metadata2 ${1:-writethrough}" "${2:-$ALL}"
}

# cost_of BLOCK_SECTORS POLICY: activates c, and nobody else reads meanwhile. Sets
# FAST_READ and SLOW_READ, in sectors, and MILLISECONDS.
cost_of() {
	local fast slow began code=0
	udevadm settle
	udevadm control --stop-exec-queue
	fast=$(sectors_read "$FAST") slow=$(sectors_read "$SLOW") began=${EPOCHREALTIME/./}
	dmsetup create --noudevsync --noudevrules c --table \
		"0 $(sectors "$SLOW") cache $META $FAST $SLOW $1 2 metadata2 writethrough $2" || code=$?
	MILLISECONDS=$(((${EPOCHREALTIME/./} - began) / 1000))
	FAST_READ=$(($(sectors_read "$FAST") - fast)) SLOW_READ=$(($(sectors_read "$SLOW") - slow))
	udevadm control --start-exec-queue
	udevadm settle
	dmsetup mknodes
	return $code
}

origin_is() {
	assert_eq "$(counter c origin)" "$1" "what the check found"
}

# Reads the kernel's message, because udev reads blocks into the cache before a test
# could see it empty.
resident_at_start() {
	dmesg | sed -n 's/.* hearth: .*, \([0-9]*\) resident, .*/\1/p' | tail -n 1
}

started_warm() {
	origin_is same
	assert_ge "$(resident_at_start)" "${1:-128}" "resident at the start"
	no_alarm
}

started_empty() {
	alarm_is_right
	origin_is changed
	assert_eq "$(resident_at_start)" 0 "resident at the start"
	assert_eq "$(kernel_said 'c: the origin was written without the cache: starting with an empty cache')" \
		"${1:-1}" "messages"
}

# refused_origin REGEX COMMAND...: refused, because the test has written the origin.
refused_origin() {
	refused "$@"
	alarm_is_right
}

# odd_blocks NUMBER FIRST [MESSAGES]: so many differ, and have left the cache.
odd_blocks() {
	alarm_is_right
	origin_is same
	assert_eq "$(kernel_said "c: $1 of [0-9]* blocks differ from their copies, which leave the cache; the first is origin block $2\$")" \
		"${3:-1}" "messages"
}

# The volume must have the origin's content. In writethrough and passthrough that is so
# at any time.
has_the_origins_data() {
	assert_eq "$(sum_of /dev/mapper/c)" "$(sum_of "$SLOW")" "content"
}

# --- the origin was written without the cache ---------------------------------------

# overwrite_through FIRST COUNT: gives whole blocks another content, through the cache.
overwrite_through() {
	dd if=/dev/urandom of=/dev/mapper/c bs=64k seek="$1" count="$2" oflag=direct status=none
}

# Three blocks, which the cache wrote last. The default compares a quarter of what is
# resident, and these among it, also when another activation without writes came after.
#@ fast hearth-only timeout=60 on=writethrough slow=writearound,writeback
test_three_blocks_changed() {
	resident_cache "$1"
	overwrite_through 20 16
	[ "$1" != writeback ] || goes_clean
	# The engine notes these as written before the others.
	dmsetup suspend c
	dmsetup resume c
	overwrite_through 64 3
	[ "$1" != writeback ] || goes_clean
	dmsetup remove c
	again "$1" "default 0"
	started_warm
	dmsetup remove c
	overwrite 64 65 66
	again "$1" "default 0"
	has_the_origins_data
	started_empty
	assert_ge "$(differing)" 3 "blocks that differ"
	warm c 8
	has_the_origins_data
	dmsetup remove c
	again "$1"
	started_warm 96
}

# Prints how many of the compared blocks differed when a cache was emptied.
differing() {
	dmesg | sed -n 's/.*starting with an empty cache; \([0-9]*\) of [0-9]* blocks differ.*/\1/p' |
		tail -n 1
}

# The default compares this block in any case.
#@ slow hearth-only timeout=60
test_the_first_block_changed() {
	resident_cache
	dmsetup remove c
	dd if=/dev/urandom of="$SLOW" bs=512 seek=5 count=1 oflag=direct status=none
	again writethrough "default 0"
	has_the_origins_data
	started_empty
}

# The kernel's own target does not notice.
#@ slow stock-only timeout=60
test_stock_reads_what_is_no_longer_there() {
	resident_cache
	dmsetup remove c
	write_data "$SLOW" 2 0 8
	again writethrough "default 0"
	check_data /dev/mapper/c 1 1 6
}

#@ slow hearth-only timeout=60
test_origin_check_0_looks_at_nothing() {
	resident_cache
	dmsetup remove c
	write_data "$SLOW" 2 0 8
	cost_of 128 "default 2 origin_check 0"
	assert_eq "$FAST_READ $SLOW_READ" "0 0" "sectors read"
	origin_is unchecked
	assert_ge "$(resident_at_start)" 128 "resident at the start"
	check_data /dev/mapper/c 1 1 6
}

# One or two blocks of many may differ for another reason, so only these leave the cache.
#@ slow hearth-only timeout=60 on=77,77+78
test_odd_blocks_of_many() {
	local blocks=${1/+/ }
	resident_cache
	dmsetup remove c
	# shellcheck disable=SC2086
	overwrite $blocks
	again
	has_the_origins_data
	odd_blocks "$(wc -w <<<"$blocks")" 77
	assert_ge "$(resident_at_start)" 126 "resident at the start"
	dmsetup remove c
	again
	assert_ge "$(resident_at_start)" 126 "resident at the next start"
	odd_blocks "$(wc -w <<<"$blocks")" 77
}

# Among few, one is enough.
#@ slow hearth-only timeout=60
test_one_block_of_few() {
	by_hand_devices 16 32
	write_data "$SLOW" 1 0 32
	again writethrough "default 4 origin_check 1024 promote_ahead 0"
	warm c 1 8
	assert_le "$(stat_of c used)" 31 "resident blocks"
	dmsetup remove c
	overwrite $(seq 1 15)
	again
	has_the_origins_data
	started_empty
}

# The mapping is void on the disk before the first request: a power cut after it finds
# none. A start that compares nothing shows that. Nobody reads c, and nothing suspends it,
# because both would commit.
#@ fast hearth-only timeout=60
test_void_is_durable() {
	resident_cache
	dmsetup remove c
	write_data "$SLOW" 2 0 8
	udevadm settle
	udevadm control --stop-exec-queue
	dmsetup create --noudevsync --noudevrules c --table \
		"0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writethrough $ALL"
	dd if="$META" of="$T/meta" bs=1M iflag=direct status=none
	udevadm control --start-exec-queue
	udevadm settle
	dmsetup mknodes
	alarm_is_right
	dmsetup remove c
	dd if="$T/meta" of="$META" bs=1M oflag=direct status=none
	again writethrough "default 2 origin_check 0"
	assert_eq "$(resident_at_start)" 0 "resident at the start"
	check_data /dev/mapper/c 2 0 8
	has_the_origins_data
}

events() {
	dmsetup info -c --noheadings -o events c
}

#@ slow hearth-only timeout=60
test_event() {
	local before
	resident_cache
	dmsetup remove c
	again
	before=$(events)
	dmsetup remove c
	write_data "$SLOW" 2 0 8
	again
	alarm_is_right
	until_true 10 more_events "$before" || fail "no event: $(events)"
}

more_events() {
	[ "$(events)" -gt "$1" ]
}

# --- with dirty blocks ---------------------------------------------------------------

dirty_cache() {
	resident_cache writeback
	stays_dirty c
	write_data /dev/mapper/c 2 2 2
	assert_ge "$(stat_of c dirty)" 32 dirty
	dmsetup remove c
}

sums_of_devices() {
	local d
	for d in "$META" "$FAST" "$SLOW"; do sum_of "$d"; done
}

# Nobody but the administrator can tell which is newer. A refusal changes nothing.
#@ fast hearth-only timeout=60
test_dirty_blocks_refuse() {
	local before i
	dirty_cache
	write_data "$SLOW" 3 5 2
	before=$(sums_of_devices)
	for i in 1 2; do
		refused_origin 'c: the origin was written without the cache, and 32 blocks are dirty: refused, until .hearth origin. says which is right; 32 of [0-9]* blocks differ, the first is origin block 80' \
			again writeback
		must_fail dmsetup info c
	done
	assert_eq "$(sums_of_devices)" "$before" "devices changed"
	again writeback "default 2 origin_check 0"
	check_data /dev/mapper/c 1 5 2
	check_data /dev/mapper/c 2 2 2
}

# Dirty blocks differ, and are no evidence.
#@ slow hearth-only timeout=60
test_dirty_blocks_alone_are_no_evidence() {
	dirty_cache
	write_data "$SLOW" 3 2 2
	again writeback
	started_warm
	check_data /dev/mapper/c 2 2 2
	check_data /dev/mapper/c 1 4 28
}

# Odd blocks are dropped, whatever else is dirty.
#@ slow hearth-only timeout=60
test_odd_blocks_beside_dirty_ones() {
	dirty_cache
	overwrite 98 99
	again writeback
	odd_blocks 2 98
	check_data /dev/mapper/c 2 2 2
	dd if=/dev/mapper/c bs=64k skip=99 count=1 iflag=direct status=none |
		cmp - <(dd if="$SLOW" bs=64k skip=99 count=1 iflag=direct status=none)
}

# A volume in use whose length changes gets a new engine, but has not left its origin. So
# nothing is compared, and the volume is never refused.
#@ slow hearth-only timeout=60
test_reload_of_another_length() {
	resident_cache writeback
	stays_dirty c
	write_data /dev/mapper/c 2 2 2
	dmsetup suspend c
	write_data "$SLOW" 3 5 2
	becomes c "0 $(($(sectors "$SLOW") - 128)) cache $META $FAST $SLOW 128 2 metadata2 writeback $ALL"
	assert_ge "$(resident_at_start)" 128 "resident at the start"
	check_data /dev/mapper/c 2 2 2
	check_data /dev/mapper/c 1 5 2
}

# Another device may be another origin, also if it has the same length.
#@ slow hearth-only timeout=60 on=same,shorter
test_refused_reload() {
	local other=/dev/mapper/other length
	resident_cache writeback
	length=$(sectors "$SLOW")
	[ "$1" = same ] || length=$((length - 128))
	stays_dirty c
	write_data /dev/mapper/c 2 2 2
	dmsetup suspend c
	write_data "$SLOW" 3 5 2
	dmsetup create other --table "0 $(sectors "$SLOW") linear $SLOW 0"
	dmsetup load c --table "0 $length cache $META $FAST $other 128 2 metadata2 writeback $ALL"
	refused_origin 'blocks are dirty: refused' dmsetup resume c
	# device-mapper has dropped the table before it.
	refused_origin 'blocks are dirty: refused' dmsetup resume c
	answer cache:c
	dmsetup resume c
	kept cache-kept
	check_data /dev/mapper/c 2 2 2
	check_data /dev/mapper/c 1 5 2
}

# Another cache device has other content, so no block goes home from it.
#@ slow hearth-only timeout=60
test_reload_with_another_cache_device() {
	device OTHER 16 ssd
	resident_cache writeback
	stays_dirty c
	write_data /dev/mapper/c 2 2 2
	dmsetup suspend c
	dmsetup load c --table "0 $(sectors "$SLOW") cache $META $OTHER $SLOW 128 2 metadata2 writeback $ALL"
	refused_origin 'blocks are dirty: refused' dmsetup resume c
	dmsetup load c --table "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writeback $ALL"
	dmsetup resume c
	check_data /dev/mapper/c 2 2 2
	check_data /dev/mapper/c 1 5 2
}

# --- the administrator's answer ------------------------------------------------------

KEEP=/sys/module/dm_cache/parameters/keep

# answer TEXT: until the test ends
answer() {
	trap 'echo >$KEEP' EXIT
	echo "$1" >$KEEP
}

goes_clean() {
	message c writeback_idle 1
	until_true 60 all_clean c
}

# The origin has other content at 5 MiB, and 32 blocks from 2 MiB on are dirty.
refused_cache() {
	dirty_cache
	write_data "$SLOW" 3 5 2
	refused_origin 'blocks are dirty: refused' again writeback
}

kept() {
	origin_is "$1"
	assert_eq "$(kernel_said "c: the ${1%-kept} is kept, as the administrator says")" 1 "messages"
}

#@ slow hearth-only timeout=60 on=c,all
test_keep_cache() {
	refused_cache
	answer "cache:${1/all/*}"
	again writeback
	kept cache-kept
	check_data /dev/mapper/c 1 0 2
	check_data /dev/mapper/c 2 2 2
	check_data /dev/mapper/c 1 4 4
	goes_clean
	dmsetup remove c
	check_data "$SLOW" 2 2 2
	check_data "$SLOW" 1 4 4
	[ "$1" = all ] || assert_eq "$(cat $KEEP)" "" "the answer, which was for one activation"
	again writeback
	started_warm
}

#@ slow hearth-only timeout=60 on=c,all
test_keep_origin() {
	refused_cache
	answer "origin:${1/all/*}"
	again writeback
	kept origin-kept
	assert_eq "$(resident_at_start)" 0 "resident at the start"
	check_data /dev/mapper/c 1 0 5
	check_data /dev/mapper/c 3 5 2
	dmsetup remove c
	again writeback
	check_data /dev/mapper/c 1 0 5
	check_data /dev/mapper/c 3 5 2
}

# An answer to all caches is for those whose origin differs, and one to a name for that
# cache, whether a block differs or not.
#@ slow hearth-only timeout=60
test_answers_are_for_whom() {
	dirty_cache
	answer 'origin:*'
	again writeback
	started_warm
	check_data /dev/mapper/c 2 2 2
	dmsetup remove c
	answer origin:other
	again writeback
	started_warm
	dmsetup remove c
	assert_eq "$(cat $KEEP)" origin:other "the answer to another name"
	answer origin:c
	again writeback
	kept origin-kept
	check_data /dev/mapper/c 1 0 8
	must_fail bash -c "echo ssd:c >$KEEP"
	must_fail bash -c "echo cache: >$KEEP"
	assert_eq "$(cat $KEEP)" "" "the answer"
}

# hearth origin, as lvm2's volumes are known to the target. A snapshot makes a layer
# below the volume.
#@ fast hearth-only timeout=120 on=pool slow=snapshot,vol
test_hearth_origin() {
	local hearth=$TOP/build/lvm-plugin/hearth kind=${1/snapshot/pool}
	standard_vg
	cached_lv "$kind" writeback
	stays_dirty vg-lv
	message vg-lv origin_check 1024
	write_data /dev/vg/lv 1 0 16
	lvchange -y --cachemode writethrough vg/lv
	lvchange -y --cachemode writeback vg/lv
	stays_dirty vg-lv
	reads 0 16 32m
	[ "$1" != snapshot ] || lvcreate -y -s -n snap -L 32M vg/lv "$DISK"
	write_data /dev/vg/lv 2 0 2
	vgchange -an vg
	dmsetup create behind --table "0 $((64 * 2048)) linear $DISK 2048"
	write_data /dev/mapper/behind 3 8 4
	dmsetup remove behind
	refused_origin 'blocks are dirty: refused' lvchange -ay vg/lv
	# LVM leaves the cache below a snapshot behind, suspended.
	[ "$1" = snapshot ] || vgchange -an vg
	doctor_says "vg/lv: it was refused" || fail "hearth doctor does not find the refused volume"
	dmesg --clear
	! doctor_says "vg/lv: it was refused" || fail "hearth doctor reads what was cleared from the kernel's log"
	if "$hearth" origin vg/lv --keep cache </dev/null; then
		fail "it did not ask"
	fi
	"$hearth" origin vg/lv --keep cache --yes
	assert_eq "$("$hearth" origin vg/lv --json | sed -n 's/.*"origin": "\(.*\)".*/\1/p')" cache-kept
	check_data /dev/vg/lv 2 0 2
	check_data /dev/vg/lv 1 2 14
	vgchange -an vg
	"$hearth" origin vg/lv --keep origin --yes
	assert_eq "$(resident_at_start)" 0 "resident at the start"
}

# --- the write log -------------------------------------------------------------------

# logged_cache: 2 MiB from 20 MiB on are in the write log, in small writes, and no block is
# dirty.
logged_cache() {
	resident_cache writeback 24
	stays_dirty c
	until_true 60 all_clean c
	message c settle_seconds 0
	message c absorb 1
	until_true 60 log_is_on
	RW=randwrite write_data /dev/mapper/c 2 20 2 4k
	assert_ge "$(counter c log_blocks)" 16 "blocks with something in the log"
}

log_is_on() {
	[ "$(counter c log)" = on ]
}

# Extents of the log are dirty data: no evidence, and a reason to refuse. No other block is
# dirty here.
#@ fast hearth-only timeout=120 on=cache slow=origin
test_write_log_is_dirty() {
	logged_cache
	dmsetup remove c
	again writeback
	started_warm
	RW=randwrite check_data /dev/mapper/c 2 20 2 4k
	dmsetup remove c
	write_data "$SLOW" 3 5 2
	refused_origin 'c: the origin was written without the cache, and [1-9][0-9]* blocks are dirty: refused, until .hearth origin. says which is right; 32 of [0-9]* blocks differ, the first is origin block 80' \
		again writeback
	answer "$1:c"
	again writeback
	kept "$1-kept"
	if [ "$1" = cache ]; then
		RW=randwrite check_data /dev/mapper/c 2 20 2 4k
		check_data /dev/mapper/c 1 4 4
	else
		assert_eq "$(resident_at_start)" 0 "resident at the start"
		check_data /dev/mapper/c 3 5 2
		check_data /dev/mapper/c 1 20 4
	fi
	goes_clean
	dmsetup remove c
	[ "$1" = cache ] || check_data "$SLOW" 1 20 4
	again writeback
	no_alarm
}

# --- passthrough ---------------------------------------------------------------------

# Nothing hits in passthrough, so that the comparison is put off to the change of mode.
#@ slow hearth-only timeout=60 on=changed,same
test_passthrough() {
	resident_cache
	dmsetup remove c
	[ "$1" = same ] || write_data "$SLOW" 2 0 8
	again passthrough
	origin_is unchecked
	assert_ge "$(resident_at_start)" 128 "resident at the start"
	has_the_origins_data
	write_data /dev/mapper/c 4 20 1
	becomes c "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writethrough $ALL"
	if [ "$1" = same ]; then started_warm; else started_empty; fi
	has_the_origins_data
}

# In passthrough users have read the origin, so that the change of mode is never refused,
# even if the kernel's own target may have lost dirty bits.
#@ slow hearth-only timeout=90
test_passthrough_after_stock() {
	load_engine stock
	DISCARD=0 by_hand_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "metadata2 writethrough"
	warm c 8 128
	dmsetup remove c
	write_data "$SLOW" 2 0 8
	load_engine hearth
	again passthrough
	becomes c "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writeback $ALL"
	started_empty
	has_the_origins_data
}

# --- no false alarm ------------------------------------------------------------------

#@ slow hearth-only timeout=90 on=writethrough,writeback,writearound,writeonly
test_warm_after_a_clean_stop() {
	resident_cache "$1"
	RW=randwrite write_data /dev/mapper/c 2 1 3 4k
	dmsetup remove c
	again "$1"
	started_warm
	RW=randwrite check_data /dev/mapper/c 2 1 3 4k
	check_data /dev/mapper/c 1 4 28
}

#@ slow hearth-only timeout=90 on=writethrough,writeback,writearound,writeonly
test_warm_after_a_power_cut() {
	linear_devices 16 32
	make_resident "$1"
	RW=randwrite write_data /dev/mapper/c 2 1 3 4k
	cut_power_after_flush
	again "$1"
	# Blocks with an intent are dirty now, and the others have equal copies.
	[ "$(counter c origin)" = unchecked ] || started_warm
	assert_ge "$(resident_at_start)" 128 "resident at the start"
	RW=randwrite check_data /dev/mapper/c 2 1 3 4k
	check_data /dev/mapper/c 1 4 28
	until_true 60 all_clean c
	dmsetup remove c
	again "$1"
	started_warm
}

# Returns when writes hit the cache.
writes_all_the_time() {
	fio --name=load --thread --filename=/dev/mapper/c --direct=1 --ioengine=libaio --iodepth=16 \
		--rw=randwrite --bs=4k --size=8M --time_based --runtime=600 >"$T/load" 2>&1 &
	LOAD=$!
	until_true 60 is_written || fail "no writes: $(cat "$T/load")"
}

is_written() {
	[ "$(stat_of c write_hits)" -ge 200 ]
}

load_under_cut() {
	linear_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "metadata2 $1" "default 4 origin_check 1024 max_intents 16"
	[ "$1" != writeback ] || stays_dirty c
	warm c 8 128
	writes_all_the_time
	cut_power_beside "$LOAD"
}

# The two copies of a write are cut off at different places, and sweeps run.
#@ slow hearth-only timeout=90 on=writethrough,writeback
test_power_cut_while_blocks_are_written() {
	load_under_cut "$1"
	again "$1"
	[ "$(counter c origin)" = unchecked ] || started_warm
	assert_ge "$(resident_at_start)" 120 "resident at the start"
	dmsetup remove c
	again "$1"
	[ "$(counter c origin)" = unchecked ] || started_warm
}

# After a power cut in writethrough, blocks are dirty on the disk. The origin has all that
# was acknowledged nevertheless, so the volume is not refused.
#@ slow hearth-only timeout=90 on=writethrough,writeback
test_power_cut_and_another_origin() {
	load_under_cut "$1"
	# cache_dump 0.9 loses dirty bits.
	assert_ge "$("$TOP/build/tools/hearth-metadata" dump "$META" | grep -c 'dirty="true"')" 1 \
		"dirty on the disk"
	write_data "$SLOW" 3 0 32
	if [ "$1" = writeback ]; then
		refused_origin 'blocks are dirty: refused' again writeback
		return
	fi
	again writethrough
	started_empty
	check_data /dev/mapper/c 3 0 32
}

# A table of another mode follows, and the power goes before the next activation.
#@ slow hearth-only timeout=90
test_power_cut_after_a_change_to_writeback() {
	# Without intents ahead, so that there are clean blocks.
	local policy="default 4 origin_check 1024 max_intents 1"
	linear_devices 16 32
	write_data "$SLOW" 1 0 32
	again writethrough "$policy"
	warm c 8 128
	becomes c "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writeback $policy"
	stays_dirty c
	write_data /dev/mapper/c 2 2 2
	cut_power
	write_data "$SLOW" 3 5 2
	refused_origin 'blocks are dirty: refused' again writeback
	refused_origin 'blocks are dirty: refused' again writethrough
}

# Intents ahead make neighbours dirty on the disk; blocks of a later sweep are clean.
#@ slow hearth-only timeout=120
test_power_cut_beside_swept_intents() {
	linear_devices 16 32
	make_resident writethrough
	message c max_intents 1
	RW=randwrite write_data /dev/mapper/c 2 0 8 4k
	cut_power_after_flush
	again
	started_warm
	RW=randwrite check_data /dev/mapper/c 2 0 8 4k
}

#@ slow hearth-only timeout=90
test_discards() {
	resident_cache
	blkdiscard -o 1M -l 2M /dev/mapper/c
	# This one begins and ends within blocks.
	blkdiscard -o $((4 * 1048576 + 4096)) -l $((1048576 - 8192)) /dev/mapper/c
	dmsetup remove c
	again
	started_warm 60
	has_the_origins_data
}

# The kernel's own target leaves discarded blocks in the cache, and reads them from
# there, while its origin has zeros.
#@ slow hearth-only timeout=120
test_discards_of_stock() {
	load_engine stock
	by_hand_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "metadata2 writethrough"
	warm c 8 128
	blkdiscard -o 1M -l 6M /dev/mapper/c
	# The discard bit of this block is cleared, but only a part of it is written.
	write_data /dev/mapper/c 2 3 1
	dd if=/dev/zero of=/dev/mapper/c bs=4k seek=$((5 * 256 + 1)) count=1 oflag=direct status=none
	dmsetup remove c
	check_data_fails "$SLOW" 1 2 1
	load_engine hearth
	again
	started_warm
	dmsetup remove c
	again
	started_warm
	dmsetup remove c
	# Other content is evidence all the same.
	overwrite 1 2 3
	again
	started_empty
	# From here on the mapping is hearth's own, and a zero is evidence, too.
	warm c 8
	dmsetup remove c
	zero "$SLOW" 32
	again
	started_empty 2
}

# Zeros are evidence where only hearth has filled the cache, whether the origin takes
# discards or not.
#@ slow hearth-only timeout=60 on=0,1
test_a_wiped_origin() {
	DISCARD=$1 resident_cache
	dmsetup remove c
	zero "$SLOW" 128
	again
	has_the_origins_data
	started_empty
}

#@ slow hearth-only timeout=120 on=writethrough,writeback
test_made_by_stock() {
	load_engine stock
	by_hand_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "metadata2 $1"
	warm c 8 128
	RW=randwrite write_data /dev/mapper/c 2 1 3 4k
	dmsetup remove c
	load_engine hearth
	again "$1"
	started_warm
	RW=randwrite check_data /dev/mapper/c 2 1 3 4k
	check_data /dev/mapper/c 1 4 28
}

# After a crash of stock every block is dirty, and none can be compared.
#@ slow hearth-only timeout=120
test_crashed_on_stock() {
	load_engine stock
	linear_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "metadata2 writethrough"
	warm c 8 128
	# A flush has stock commit its mapping.
	dd if=/dev/zero of=/dev/mapper/c bs=4k count=1 oflag=direct conv=fsync status=none
	writes_all_the_time
	cut_power_beside "$LOAD"
	load_engine hearth
	again
	origin_is unchecked
	assert_ge "$(resident_at_start)" 128 "resident at the start"
	until_true 60 all_clean c
	dmsetup remove c
	again
	started_warm
}

# The kernel's own target says at a suspend which blocks are dirty. After a crash it
# calls those clean that became dirty since, although only the cache has them.
dirty_bits_are_lost() {
	load_engine stock
	linear_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "metadata2 writeback"
	warm c 8 128
	until_true 60 all_clean c
	dmsetup suspend c
	dmsetup resume c
	message c migration_threshold 0
	write_data /dev/mapper/c 2 2 2
	cut_power
	check_data "$SLOW" 1 2 2
	load_engine hearth
}

#@ slow hearth-only timeout=120 on=cache,origin
test_dirty_bits_that_stock_has_lost() {
	DISCARD=0 dirty_bits_are_lost
	refused_origin 'may be newer, because not only hearth has used the cache: refused' again writeback
	answer "$1:c"
	again writeback
	kept "$1-kept"
	if [ "$1" = cache ]; then
		check_data /dev/mapper/c 2 2 2
	else
		check_data /dev/mapper/c 1 2 2
	fi
	check_data /dev/mapper/c 1 4 28
	until_true 60 all_clean c
	dmsetup remove c
	again writeback
	check_data /dev/mapper/c 1 4 28
}

# If the origin takes discards, such blocks may be those that stock has discarded. Then the
# volume is not refused, and is what it is with stock.
#@ slow hearth-only timeout=120
test_dirty_bits_that_stock_has_lost_or_discarded() {
	dirty_bits_are_lost
	again writeback
	alarm_is_right
	kernel_said 'blocks differ from the origin, perhaps because'
	assert_ge "$(resident_at_start)" 128 "resident at the start"
	check_data /dev/mapper/c 2 2 2
	check_data /dev/mapper/c 1 4 28
}

# The metadata must not be written before it was checked, so the mapping could not be
# made void.
#@ slow hearth-only timeout=90
test_needs_check() {
	# Clearing the flag voids the record. Then discards of stock would be thought of.
	DISCARD=0 by_hand_devices 16 32
	modprobe dm-flakey
	# Without intents ahead, so that there are clean blocks.
	local real=$META policy="default 4 origin_check 1024 max_intents 1"
	dmsetup create meta --table "0 $(sectors "$real") linear $real 0"
	META=/dev/mapper/meta
	write_data "$SLOW" 1 0 32
	by_hand c 128 "metadata2 writeback" "$policy"
	stays_dirty c
	warm c 8 128
	write_data /dev/mapper/c 2 0 1
	becomes meta "0 8 linear $real 0
8 $(($(sectors "$real") - 8)) flakey $real 8 0 3600 1 error_writes"
	blkdiscard -o 1M -l 1M /dev/mapper/c || true
	write_data /dev/mapper/c 9 20 8 || true
	until_true 20 is_read_only || fail "the engine did not notice"
	dmsetup remove c
	becomes meta "0 $(sectors "$real") linear $real 0"
	overwrite 100 101 102
	no_metadata_check
	again writeback "$policy"
	kernel_said 'NEEDS_CHECK is set, read-only until it was checked'
	origin_is unchecked
	dmsetup remove c
	cache_check --clear-needs-check-flag "$META"
	refused_origin 'blocks are dirty: refused' again writeback "$policy"
}

is_read_only() {
	[ "$(stat_of c rw)" = ro ]
}

# A place that the SSD cannot read is left out of the comparison.
#@ slow hearth-only timeout=60
test_unreadable_blocks() {
	resident_cache
	dmsetup remove c
	dmsetup create fast --table "0 1024 error
1024 $(($(sectors "$FAST") - 1024)) linear $FAST 1024"
	FAST=/dev/mapper/fast
	again
	started_warm
	has_the_origins_data
	dmsetup remove c
	becomes fast "0 $(sectors "$FAST") error"
	again
	origin_is unchecked
	has_the_origins_data
}

# The comparison leaves out an origin that cannot be read, too.
#@ slow hearth-only timeout=60
test_unreadable_origin() {
	resident_cache
	dmsetup remove c
	local real=$SLOW
	dmsetup create slow --table "0 $(sectors "$real") error"
	SLOW=/dev/mapper/slow
	again
	origin_is unchecked
	assert_ge "$(resident_at_start)" 128 "resident at the start"
	becomes slow "0 $(sectors "$real") linear $real 0"
	has_the_origins_data
}

# The origin is shorter or longer than before; blocks past its end are not compared.
#@ slow hearth-only timeout=90
test_origin_of_another_length() {
	local real length
	by_hand_devices 16 32
	real=$SLOW
	write_data "$real" 1 0 32
	dmsetup create slow --table "0 65536 linear $real 0"
	SLOW=/dev/mapper/slow
	again
	warm c 8 128
	dmsetup remove c
	for length in 8192 65536; do
		becomes slow "0 $length linear $real 0"
		again
		started_warm 64
		has_the_origins_data
		dmsetup remove c
	done
}

# A table of the same sizes keeps the engine, and reads nothing.
#@ slow hearth-only timeout=60
test_reload_compares_nothing() {
	local before
	resident_cache
	udevadm settle
	dmsetup suspend c
	dmsetup load c --table "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writethrough default 2 origin_check 512"
	udevadm control --stop-exec-queue
	before=$(sectors_read "$SLOW")
	dmsetup resume --noudevsync --noudevrules c
	before=$(($(sectors_read "$SLOW") - before))
	udevadm control --start-exec-queue
	udevadm settle
	dmsetup mknodes
	assert_eq "$before" 0 "sectors read of the origin"
	check_data /dev/mapper/c 1 0 32
}

# The origin was written while the cache was bypassed: its mapping is void by then.
#@ slow hearth-only timeout=90
test_after_fail_open() {
	by_hand_devices 16 32
	local real=$FAST
	dmsetup create fast --table "0 $(sectors "$real") linear $real 0"
	FAST=/dev/mapper/fast
	write_data "$SLOW" 1 0 32
	again
	warm c 8 128
	dies fast
	write_data /dev/mapper/c 2 0 16
	check_data /dev/mapper/c 2 0 16
	until_true 20 is_read_only || fail "the cache is not bypassed"
	dmsetup remove c
	becomes fast "0 $(sectors "$real") linear $real 0"
	again
	check_data /dev/mapper/c 2 0 16
	assert_eq "$(resident_at_start)" 0 "resident at the start"
	no_alarm
}

# A thin volume as the origin: what was discarded there reads as zeros.
#@ slow hearth-only timeout=90
test_thin_origin() {
	modprobe dm-thin-pool
	by_hand_devices 16 48
	device TMETA 8 ram
	zero "$TMETA" 1
	dmsetup create pool --table "0 $(sectors "$SLOW") thin-pool $TMETA $SLOW 256 0"
	dmsetup message pool 0 "create_thin 0"
	dmsetup create thin --table "0 65536 thin /dev/mapper/pool 0"
	SLOW=/dev/mapper/thin
	again
	write_data /dev/mapper/c 1 0 8
	# Half of it was never written on the thin volume.
	warm c 16 160
	write_data /dev/mapper/c 2 12 1
	blkdiscard -o 2M -l 2M /dev/mapper/c
	dmsetup remove c
	again
	started_warm 64
	has_the_origins_data
}

# The mirror is still being made equal when the cache is activated.
#@ slow hearth-only timeout=120
test_mirrored_origin() {
	modprobe dm-raid
	standard_vg
	device OTHER 256 disk
	vgextend -y vg "$OTHER"
	lvcreate -y --type raid1 -m1 -L 96M -n lv vg "$DISK" "$OTHER"
	lvcreate -y -L 32M -n fast vg "$SSD"
	lvconvert -y --type cache --cachevol vg/fast --cachemode writethrough vg/lv
	message vg-lv origin_check 1024
	write_data /dev/vg/lv 1 0 16
	reads 0 16 64m
	write_data /dev/vg/lv 2 4 4
	lvchange -an vg/lv
	lvchange -ay vg/lv
	assert_eq "$(counter vg-lv origin)" same "what the check found"
	assert_ge "$(resident_at_start)" 64 "resident at the start"
	check_data /dev/vg/lv 1 0 4
	check_data /dev/vg/lv 2 4 4
	check_data /dev/vg/lv 1 8 8
}

# Snapshots of the cached volume, their removal and their merge go through the cache. Not every
# lvm2 makes one over a cachevol (ops.snapshot_over_cachevol).
#@ slow hearth-only timeout=180
test_snapshots() {
	modprobe dm-snapshot
	standard_vg
	cached_lv pool writethrough
	message vg-lv origin_check 1024
	write_data /dev/vg/lv 1 0 16
	reads 0 16 64m
	lvcreate -y -s -n snap -L 32M vg/lv "$DISK"
	write_data /dev/vg/lv 2 4 4
	vgchange -an vg
	vgchange -ay vg
	comes_back_warm
	check_data /dev/vg/snap 1 0 16
	lvconvert -y --merge vg/snap
	vgchange -an vg
	vgchange -ay vg
	comes_back_warm
	check_data /dev/vg/lv 1 0 16
	until_true 60 merged
	vgchange -an vg
	vgchange -ay vg
	comes_back_warm
	check_data /dev/vg/lv 1 0 16
}

merged() {
	[ -z "$(lvs --noheadings -a -S 'lv_merging=1' vg)" ]
}

comes_back_warm() {
	assert_ge "$(resident_at_start)" 64 "resident at the start"
	no_alarm
}

# --- file systems --------------------------------------------------------------------

# An array puts the origin back to the snapshot that it made one mount before.
#@ fast hearth-only timeout=180 on=ext4 slow=xfs
test_rolled_back_file_system() {
	local mib=64
	[ "$1" = ext4 ] || mib=320
	device META 8 ram
	device FAST 32 ssd
	device SLOW $mib disk
	zero "$META" 1
	by_hand c 128 "metadata2 writethrough"
	"mkfs.$1" -q /dev/mapper/c
	mkdir "$T/fs"
	mount /dev/mapper/c "$T/fs"
	files_of old 1
	sums_of_files >"$T/sums"
	umount "$T/fs"
	dd if="$SLOW" of="$T/copy" bs=1M iflag=direct conv=sparse status=none
	mount /dev/mapper/c "$T/fs"
	files_of new 2
	rm -r "$T/fs/old3"
	umount "$T/fs"
	dmsetup remove c
	dd if="$T/copy" of="$SLOW" bs=1M oflag=direct status=none
	by_hand c 128 "metadata2 writethrough"
	started_empty
	assert_ge "$(differing)" 4 "blocks that differ"
	as_the_copy "$1"
	read_all /dev/mapper/c 32
	as_the_copy "$1"
}

# The same in writeback, with dirty blocks: the volume is refused, and either answer
# gives a sound file system.
#@ slow hearth-only timeout=240 on=cache,origin
test_rolled_back_under_dirty_blocks() {
	device META 8 ram
	device FAST 80 ssd
	device SLOW 64 disk
	zero "$META" 1
	# The cache has room for all, and takes every write.
	by_hand c 128 "metadata2 writeback" "$ALL"
	stays_dirty c
	every_write_comes_in c
	no_promotion_limits c
	mkfs.ext4 -q /dev/mapper/c
	mkdir "$T/fs"
	mount /dev/mapper/c "$T/fs"
	files_of old 1
	sums_of_files >"$T/origin"
	umount "$T/fs"
	goes_clean
	message c writeback_idle 0
	dd if="$SLOW" of="$T/copy" bs=1M iflag=direct conv=sparse status=none
	mount /dev/mapper/c "$T/fs"
	files_of new 2
	umount "$T/fs"
	goes_clean
	message c writeback_idle 0
	mount /dev/mapper/c "$T/fs"
	files_of newest 3
	sums_of_files >"$T/cache"
	umount "$T/fs"
	assert_ge "$(stat_of c dirty)" 8 dirty
	dmsetup remove c
	dd if="$T/copy" of="$SLOW" bs=1M oflag=direct status=none
	refused_origin 'blocks are dirty: refused' again writeback
	answer "$1:c"
	again writeback
	kept "$1-kept"
	mv "$T/$1" "$T/sums"
	as_the_copy ext4
	goes_clean
	dmsetup remove c
	e2fsck -fn "$SLOW"
}

sums_of_files() {
	(cd "$T/fs" && find . -type f -exec md5sum {} +) | sort -k2
}

# files_of NAME SEED: makes directories with files.
files_of() {
	local i
	for i in 1 2 3 4 5 6; do
		mkdir "$T/fs/$1$i"
		head -c 300000 /dev/urandom >"$T/fs/$1$i/data"
		seq "$2" 500 >"$T/fs/$1$i/text"
	done
	sync
	cat "$T"/fs/*/* >/dev/null
}

as_the_copy() {
	if [ "$1" = ext4 ]; then
		e2fsck -fn /dev/mapper/c
	else
		xfs_repair -n /dev/mapper/c
	fi
	mount /dev/mapper/c "$T/fs"
	sums_of_files | diff "$T/sums" -
	umount "$T/fs"
}

# --- hearth verify -------------------------------------------------------------------

# verifies CODE [OPTION...]: runs hearth verify, whose exit status must be CODE.
verifies() {
	local want=$1 code=0
	shift
	"$TOP/build/lvm-plugin/hearth" verify c "$@" >"$T/verified" 2>&1 || code=$?
	cat "$T/verified"
	assert_eq $code "$want" "exit status of hearth verify $*"
}

# loads_second_half: writes and reads 16 MiB to 32 MiB until stop_load.
loads_second_half() {
	fio --name=load --thread --filename=/dev/mapper/c --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randrw --bs=4k --offset=16M --size=16M --time_based --runtime=600 \
		--verify=crc32c --verify_backlog=64 --verify_state_save=0 >"$T/load" 2>&1 &
	LOAD=$!
}

stop_load() {
	if load_is_over; then
		cat "$T/load"
		fail "the load has ended"
	fi
	kill "$LOAD"
	wait "$LOAD" || true
}

# One changed block among all that are resident, while others are written. The cache has
# room for all, because the load would push the block out.
#@ fast hearth-only timeout=180 on=writethrough slow=writeback
test_verify_finds_one_block_under_load() {
	resident_cache "$1" 40
	dmsetup remove c
	again "$1"
	loads_second_half
	verifies 0
	overwrite 77
	verifies 6
	grep -q 'origin block 77 differs from cache block [0-9]*$' "$T/verified" ||
		fail "it does not name the block"
	grep -q ', 1 differ' "$T/verified" || fail "others differ"
	verifies 0 --repair
	grep -q '1 differ, of which 1 have left the cache' "$T/verified" || fail "not dropped"
	dd if=/dev/mapper/c bs=64k skip=77 count=1 iflag=direct status=none |
		cmp - <(dd if="$SLOW" bs=64k skip=77 count=1 iflag=direct status=none)
	verifies 0
	stop_load
	check_data /dev/mapper/c 1 0 4
}

# Every block is written all the time, and none differs.
#@ slow hearth-only timeout=300 on=writethrough,writeback,writearound
test_verify_beside_writes_to_every_block() {
	local i
	resident_cache "$1"
	fio --name=load --thread --filename=/dev/mapper/c --direct=1 --ioengine=libaio --iodepth=16 \
		--rw=randwrite --bs=4k --size=8M --time_based --runtime=600 >"$T/load" 2>&1 &
	LOAD=$!
	for i in 1 2 3 4 5; do
		echo "round $i"
		verifies 0
	done
	stop_load
	until_true 60 all_clean c
	verifies 0
}

# The kernel's procedure for passthrough mode: what is not the origin's leaves the cache,
# and the rest is warm.
#@ slow hearth-only timeout=90
test_passthrough_verify_writethrough() {
	resident_cache
	dmsetup remove c
	overwrite 3 64 65
	again passthrough
	verifies 6
	verifies 0 --repair
	becomes c "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 2 metadata2 writethrough $ALL"
	started_warm 125
	has_the_origins_data
}

# The SSD returns other data than were written to it.
#@ slow hearth-only timeout=60
test_verify_finds_rot_of_the_ssd() {
	resident_cache
	dd if=/dev/urandom of="$FAST" bs=512 seek=$((40 * 128 + 60)) count=1 oflag=direct status=none
	verifies 6
	grep -q 'from cache block 40$' "$T/verified" || fail "it does not name the block"
	verifies 6 --sample 200
	verifies 0 --repair --json
	verifies 0
	has_the_origins_data
}

# A block is larger than what is compared at a time; dirty blocks are skipped.
#@ slow hearth-only timeout=90
test_verify_large_blocks() {
	by_hand_devices 64 64
	write_data "$SLOW" 1 0 64
	by_hand c 4096 "metadata2 writeback" "$ALL"
	stays_dirty c
	warm c 32 16
	write_data /dev/mapper/c 2 0 2
	verifies 0 --json
	assert_ge "$(verified skipped_blocks)" 1 skipped
	dd if=/dev/urandom of="$SLOW" bs=512 seek=$((8 * 4096 + 4095)) count=1 oflag=direct status=none
	verifies 6 --json
	assert_eq "$(verified origin_block)" 8 "the block that differs"
}

# verified KEY: prints a number of the JSON of hearth verify.
verified() {
	sed -nE "s/.*\"$1\": ([0-9]+).*/\1/p" "$T/verified" | head -n 1
}

#@ slow hearth-only timeout=90
test_verify_and_suspends() {
	local i
	SLOW_KIND=slow-disk resident_cache
	"$TOP/build/lvm-plugin/hearth" verify c >"$T/verified" 2>&1 &
	LOAD=$!
	for i in 1 2 3; do
		timeout 20 dmsetup suspend c || fail "suspend $i is stuck"
		dmsetup resume c
	done
	wait "$LOAD" || fail "$(cat "$T/verified")"
	cat "$T/verified"
	dmsetup suspend c
	refused 'the device is suspended' message c verify 0
	dmsetup resume c
	refused "takes a cache block below 256" message c verify 256
	refused "takes a cache block below 256" message c verify 0 repair
	refused "takes a cache block below 256" message c verify
}

# --- cost ----------------------------------------------------------------------------

# The default compares 32 blocks, of each at most 64 KiB.
#@ slow hearth-only timeout=90 on=64,128,2048
test_sectors_that_are_read() {
	local piece=$(($1 < 128 ? $1 : 128))
	by_hand_devices 64 64
	by_hand c "$1" "metadata2 writethrough"
	message c promote_ahead 0
	warm c 48 $((48 * 2048 / $1 < 40 ? 40 : 48 * 1024 / $1))
	dmsetup remove c
	cost_of "$1" "default 0"
	assert_eq "$SLOW_READ" $((32 * piece)) "sectors of the origin"
	assert_eq "$FAST_READ" $((32 * piece)) "sectors of the cache device"
	origin_is same
}

# A disk that takes 4 ms for each request, one after the other.
#@ slow hearth-only timeout=90
test_time_that_it_takes() {
	local without best=10000
	SLOW_KIND=slow-disk by_hand_devices 16 32
	again writethrough "default 0"
	warm c 8 128
	for _ in 1 2 3; do
		dmsetup remove c
		cost_of 128 "default 2 origin_check 0"
		without=$MILLISECONDS
		dmsetup remove c
		cost_of 128 "default 0"
		[ $((MILLISECONDS - without)) -ge $best ] || best=$((MILLISECONDS - without))
	done
	origin_is same
	assert_le $best 500 "milliseconds longer"
}
