# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Stacks that dmsetup makes by hand: every feature word, geometry, messages, resizing,
# discards, suspending under load.

# flush_by_hand NAME: writes all dirty blocks back with the policy cleaner.
flush_by_hand() {
	local table
	table=$(dmsetup table "$1")
	read -ra f <<<"$table"
	dmsetup reload "$1" --table "${f[*]:0:7} 1 writethrough cleaner 0"
	dmsetup resume "$1"
	until_true 60 all_clean "$1" || fail "still $(stat_of "$1" dirty) dirty"
}

feature_word() {
	by_hand_devices
	by_hand c 128 "$1"
	assert_match "$(dmsetup table c)" " 128 $(wc -w <<<"$1") $1 default 0\$" table
	read_status c
	assert_eq "$(tr ' ' '\n' <<<"${ST[features]}" | sort | xargs)" \
		"$(tr ' ' '\n' <<<"$1" | sort | xargs)" features
	assert_eq "${ST[total]}" 256 blocks
	assert_eq "${ST[rw]} ${ST[needs_check]}" "rw -" health
	write_data /dev/mapper/c 1 0 24
	check_data /dev/mapper/c 1 0 24
	dmsetup remove c
	by_hand c 128 "$1"
	check_data /dev/mapper/c 1 0 24
	RW=randwrite write_data /dev/mapper/c 2 0 6 4k
	RW=randwrite check_data /dev/mapper/c 2 0 6 4k
}

#@ slow timeout=60
test_feature_writethrough() {
	feature_word writethrough
	check_data_fails "$SLOW" 1 0 24
	RW=randwrite check_data "$SLOW" 2 0 6 4k
}

#@ fast timeout=60
test_feature_writeback() {
	feature_word writeback
	stays_dirty c
	# Write-back may have cleaned blocks since the last write, so write again.
	RW=randwrite write_data /dev/mapper/c 2 0 6 4k
	assert_ge "$(stat_of c dirty)" 1 dirty
	flush_by_hand c
	RW=randwrite check_data "$SLOW" 2 0 6 4k
}

#@ fast timeout=60
test_feature_passthrough() {
	feature_word passthrough
	assert_eq "$(stat_of c dirty)" 0 dirty
	RW=randwrite check_data "$SLOW" 2 0 6 4k
}

metadata2_and() {
	feature_word "metadata2 $1"
	flush_by_hand c
	RW=randwrite check_data "$SLOW" 2 0 6 4k
}

#@ timeout=60 slow=writeback,writethrough,passthrough
test_feature_metadata2() {
	metadata2_and "$1"
}

#@ hearth-only timeout=60 slow=writearound,writeonly
test_feature_metadata2_and_own() {
	metadata2_and "$1"
}

#@ slow timeout=60
test_feature_no_discard_passdown() {
	feature_word "writeback no_discard_passdown"
	write_data "$SLOW" 7 40 8
	blkdiscard -o 40M -l 8M /dev/mapper/c
	check_data "$SLOW" 7 40 8
}

#@ hearth-only slow timeout=60
test_feature_writearound() {
	feature_word writearound
	RW=randwrite check_data "$SLOW" 2 0 6 4k
}

#@ hearth-only slow timeout=60
test_feature_writeonly() {
	feature_word writeonly
	flush_by_hand c
	RW=randwrite check_data "$SLOW" 2 0 6 4k
}

# geometry BLOCK_SECTORS ORIGIN_SECTORS: writes and checks an origin of odd length, to
# its last sector.
geometry() {
	local block=$1 length=$2 sum
	echo "=== block $block origin $length"
	zero "$META" 1
	dmsetup create slow --table "0 $length linear $RAW 0"
	SLOW=/dev/mapper/slow
	by_hand c "$block" writeback
	assert_eq "$(stat_of c total)" $((32768 / block)) blocks
	write_data /dev/mapper/c 1 0 8
	dd if=/dev/urandom of="$T/tail" bs=512 count=61 status=none
	dd if="$T/tail" of=/dev/mapper/c bs=512 seek=$((length - 61)) oflag=direct status=none
	dd if=/dev/mapper/c bs=512 skip=$((length - 61)) iflag=direct status=none | cmp - "$T/tail"
	check_data /dev/mapper/c 1 0 8
	sum=$(md5sum </dev/mapper/c)
	flush_by_hand c
	dmsetup remove c
	blockdev --flushbufs /dev/mapper/slow
	assert_eq "$(md5sum </dev/mapper/slow)" "$sum" "the origin's sum"
	dmsetup remove slow
}

geometries() {
	local block
	by_hand_devices 16 16
	RAW=$SLOW
	write_data "$RAW" 9 0 16
	for block in "$@"; do
		geometry "$block" $((32768 - 3 * 64 - 8))
		geometry "$block" $((32768 - 7))
	done
	geometry "$1" 32768
}

#@ fast timeout=120
test_block_sizes_32k_and_1m() {
	geometries 64 2048
}

#@ slow timeout=240
test_block_sizes_between() {
	geometries 128 192 512 1024
}

#@ slow timeout=60
test_discards() {
	by_hand_devices
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 24
	blkdiscard -o 8M -l 8M /dev/mapper/c
	check_data /dev/mapper/c 1 0 8
	check_data /dev/mapper/c 1 16 8
	write_data /dev/mapper/c 2 10 4
	check_data /dev/mapper/c 2 10 4
	# These discards cover parts of blocks.
	blkdiscard -o $((2 * 1048576 + 512)) -l 65536 /dev/mapper/c
	check_data /dev/mapper/c 1 0 2
	check_data /dev/mapper/c 1 3 5
	flush_by_hand c
	dmsetup remove c
	check_data "$SLOW" 1 0 2
	check_data "$SLOW" 1 16 8
	check_data "$SLOW" 2 10 4
}

#@ fast timeout=90
test_fstrim_under_a_file_system() {
	by_hand_devices 16 96
	by_hand c 128 writeback
	mkfs.ext4 -q /dev/mapper/c
	mkdir "$T/m"
	mount /dev/mapper/c "$T/m"
	dd if=/dev/urandom of="$T/m/keep" bs=1M count=16 status=none
	dd if=/dev/urandom of="$T/m/drop" bs=1M count=24 status=none
	sync
	sha256sum "$T/m/keep" >"$T/sums"
	rm "$T/m/drop"
	sync
	fstrim -v "$T/m"
	echo 3 >/proc/sys/vm/drop_caches
	sha256sum -c "$T/sums"
	umount "$T/m"
	fsck.ext4 -fn /dev/mapper/c
	flush_by_hand c
	dmsetup remove c
	fsck.ext4 -fn "$SLOW"
}

# load_starts NAME [BYTES]: fio writes and checks NAME in the background, by default
# four times the cache's size; load_ends waits for it.
load_starts() {
	fio --name=load --filename="/dev/mapper/$1" --direct=1 --ioengine=libaio --iodepth=16 \
		--thread --rw=randrw --bsrange=4k-128k --size=60M --io_size="${2:-240M}" \
		--verify=crc32c --verify_fatal=1 --verify_backlog=64 --verify_state_save=0 \
		--randseed="${HEARTH_SEED:-1}" --output="$T/load.out" &
	LOAD=$!
	UNDER_LOAD=0
}

load_wrote() {
	written_to "$@" || load_is_over
}

# load_goes_on NAME: waits until the load has written another MiB or has ended.
# UNDER_LOAD counts the calls after which the load still runs.
load_goes_on() {
	local more=$(($(sectors_written "/dev/mapper/$1") + 2048))
	until_true 60 load_wrote "/dev/mapper/$1" $more || fail "the load stands still"
	load_is_over || UNDER_LOAD=$((UNDER_LOAD + 1))
}

load_ends() {
	wait "$LOAD" || {
		cat "$T/load.out"
		fail "the load found wrong data"
	}
}

#@ smp fast timeout=180
test_suspend_resume_under_load() {
	local i
	by_hand_devices
	by_hand c 128 writeback
	load_starts c
	for ((i = 0; i < 12; i++)); do
		load_goes_on c
		if [ $((i % 2)) = 0 ]; then dmsetup suspend c; else dmsetup suspend --noflush c; fi
		dmsetup resume c
	done
	assert_ge $UNDER_LOAD 6 "times suspended under load"
	load_ends
}

#@ smp fast timeout=180
test_change_mode_under_load() {
	local mode base
	by_hand_devices
	by_hand c 128 writeback
	base=$(dmsetup table c | cut -d' ' -f1-7)
	load_starts c
	for mode in writethrough writeback writethrough writeback; do
		load_goes_on c
		dmsetup reload c --table "$base 1 $mode default 0"
		dmsetup resume c
		assert_match "$(stat_of c features)" $mode mode
	done
	assert_ge $UNDER_LOAD 3 "modes under load"
	load_ends
}

#@ smp slow timeout=180
test_change_policy_under_load() {
	local policy base policies="smq cleaner mq default smq"
	is_stock || policies="smq lru cleaner lru mq default smq"
	by_hand_devices
	by_hand c 128 writeback
	base=$(dmsetup table c | cut -d' ' -f1-7)
	load_starts c
	for policy in $policies; do
		load_goes_on c
		dmsetup reload c --table "$base 1 writeback $policy 0"
		dmsetup resume c
		# The status shows the policy's name, which is smq for the word default.
		assert_eq "$(stat_of c policy)" "${policy/default/smq}" policy
	done
	assert_ge $UNDER_LOAD 3 "policies under load"
	load_ends
}

#@ smp hearth-only slow timeout=180
test_change_own_mode_under_load() {
	local mode
	by_hand_devices
	by_hand c 128 writeback
	load_starts c
	for mode in writeonly table writeonly table; do
		load_goes_on c
		message c mode $mode
	done
	assert_ge $UNDER_LOAD 3 "modes under load"
	load_ends
}

# Discards whole blocks and parts of blocks beyond the load's range, and dirty blocks.
#@ smp fast timeout=180
test_discards_under_load() {
	local i
	by_hand_devices 16 128
	by_hand c 128 writeback
	load_starts c
	for ((i = 0; i < 6; i++)); do
		write_data /dev/mapper/c $i 64 8
		blkdiscard -o $((66 * 1048576 + 512)) -l $((2 * 1048576)) /dev/mapper/c
		blkdiscard -o 70M -l 58M /dev/mapper/c
		check_data /dev/mapper/c $i 64 2
		check_data /dev/mapper/c $i 69 1
	done
	load_ends
}

#@ smp slow timeout=120
test_load_writethrough() {
	by_hand_devices
	by_hand c 128 writethrough
	load_starts c
	load_ends
	assert_eq "$(stat_of c dirty)" 0 dirty
	assert_eq "$(sum_of /dev/mapper/c)" "$(sum_of "$SLOW")" sums
}

# every_other_page: writes every other page of the first block, all at once.
every_other_page() {
	local at
	for ((at = 0; at < 16; at += 2)); do
		dd if=/dev/urandom of=/dev/mapper/c bs=4k seek=$at count=1 oflag=direct \
			conv=notrunc status=none &
	done
}

# Prints the sectors that users have written to FAST, that is without promotions: udev
# reads a device that was written, and so promotes blocks.
users_wrote() {
	echo $(($(sectors_written "$FAST") - $(stat_of c promotions) * 128))
}

users_wrote_exactly() {
	[ "$(users_wrote)" = "$1" ]
}

# A write to both devices waits for overlapping writes, and for no others. This matters
# because the kernel flushes a block from the page cache in pages, and a disk takes one
# turn for each page that waits for another.
#@ smp hearth-only fast timeout=60
test_writethrough_writes_of_one_block_side_by_side() {
	local before
	by_hand_devices 16 32
	dmsetup create slow --table "0 $(sectors "$SLOW") linear $SLOW 0"
	SLOW=/dev/mapper/slow
	by_hand c 128 writethrough
	warm c 1 16
	until_true 20 is_at_rest c
	before=$(users_wrote)
	dmsetup suspend --noflush --nolockfs slow
	trap 'dmsetup resume slow; wait' EXIT
	every_other_page
	until_true 30 users_wrote_exactly $((before + 64)) || fail "the writes wait for each other"
	every_other_page
	sleep 2
	until_true 20 users_wrote_exactly $((before + 64)) || fail "written over each other"
	dmsetup resume slow
	trap - EXIT
	wait
	until_true 20 users_wrote_exactly $((before + 128)) || fail "not all was written"
	assert_eq "$(sum_of /dev/mapper/c)" "$(sum_of "$SLOW")" sums
}

#@ smp fast timeout=120
test_load_writeback() {
	local sum
	by_hand_devices
	by_hand c 128 writeback
	load_starts c
	load_ends
	sum=$(sum_of /dev/mapper/c)
	flush_by_hand c
	assert_eq "$(sum_of "$SLOW")" "$sum" sums
}

#@ smp hearth-only slow timeout=120
test_load_writearound() {
	by_hand_devices
	by_hand c 128 writearound
	load_starts c
	load_ends
	assert_eq "$(sum_of /dev/mapper/c)" "$(sum_of "$SLOW")" sums
}

#@ smp hearth-only slow timeout=120
test_load_writeonly() {
	local sum
	by_hand_devices
	by_hand c 128 writeonly
	load_starts c
	load_ends
	sum=$(sum_of /dev/mapper/c)
	flush_by_hand c
	assert_eq "$(sum_of "$SLOW")" "$sum" sums
}

#@ smp slow timeout=900
test_load_long() {
	by_hand_devices
	by_hand c 128 writeback
	load_starts c 2g
	load_ends
}

#@ smp fast timeout=120
test_cleaner_cleans_while_writing() {
	by_hand_devices
	by_hand c 128 writeback
	stays_dirty c
	write_data /dev/mapper/c 1 0 16
	assert_ge "$(stat_of c dirty)" 64 dirty
	flush_by_hand c
	check_data "$SLOW" 1 0 16
	write_data /dev/mapper/c 2 0 8
	until_true 60 all_clean c || fail dirty
	check_data "$SLOW" 2 0 8
	check_data "$SLOW" 1 8 8
}

# --- resizing

resizable() {
	by_hand_devices "$1" 64
	RAW=$FAST
	dmsetup create fast --table "0 $2 linear $RAW 0"
	FAST=/dev/mapper/fast
	by_hand c 128 writeback
}

resize_fast() {
	local base
	base=$(dmsetup table c)
	dmsetup reload fast --table "0 $1 linear $RAW 0"
	dmsetup suspend c
	dmsetup resume fast
	dmsetup reload c --table "$base"
	dmsetup resume c
}

#@ slow timeout=60
test_larger_cache_device() {
	resizable 32 16384
	write_data /dev/mapper/c 1 0 24
	resize_fast 49152
	assert_eq "$(stat_of c total)" 384 blocks
	check_data /dev/mapper/c 1 0 24
	write_data /dev/mapper/c 2 16 32
	check_data /dev/mapper/c 2 16 32
	dmsetup remove c
	by_hand c 128 writeback
	assert_eq "$(stat_of c total)" 384 "blocks after reload"
	check_data /dev/mapper/c 1 0 16
	check_data /dev/mapper/c 2 16 32
}

#@ slow timeout=60
test_smaller_cache_device_when_clean() {
	resizable 32 49152
	write_data /dev/mapper/c 1 0 24
	flush_by_hand c
	dmsetup remove c
	dmsetup reload fast --table "0 16384 linear $RAW 0"
	dmsetup resume fast
	by_hand c 128 writeback
	assert_eq "$(stat_of c total)" 128 blocks
	check_data /dev/mapper/c 1 0 24
	write_data /dev/mapper/c 2 0 24
	check_data /dev/mapper/c 2 0 24
}

# Stock may leave metadata that stock itself refuses from then on.
#@ hearth-only fast timeout=60
test_smaller_cache_device_never_cuts_dirty_blocks() {
	resizable 32 49152
	every_write_comes_in c
	stays_dirty c
	write_data /dev/mapper/c 1 0 16
	# More blocks are dirty than the smaller device holds, and slots are left: write-back
	# would make room.
	assert_ge "$(stat_of c dirty)" 150 dirty
	dmsetup remove c
	dmsetup reload fast --table "0 16384 linear $RAW 0"
	dmsetup resume fast
	if by_hand c 128 writeback; then
		check_data /dev/mapper/c 1 0 16
	else
		dmsetup remove c || true
		dmsetup reload fast --table "0 49152 linear $RAW 0"
		dmsetup resume fast
		by_hand c 128 writeback
		check_data /dev/mapper/c 1 0 16
	fi
}

#@ slow timeout=60
test_larger_and_smaller_origin() {
	by_hand_devices 16 64
	RAW=$SLOW
	dmsetup create slow --table "0 65536 linear $RAW 0"
	SLOW=/dev/mapper/slow
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 24
	dmsetup remove c
	dmsetup reload slow --table "0 131072 linear $RAW 0"
	dmsetup resume slow
	by_hand c 128 writeback
	check_data /dev/mapper/c 1 0 24
	write_data /dev/mapper/c 2 50 8
	check_data /dev/mapper/c 2 50 8
	flush_by_hand c
	dmsetup remove c
	dmsetup reload slow --table "0 49152 linear $RAW 0"
	dmsetup resume slow
	by_hand c 128 writeback
	check_data /dev/mapper/c 1 0 24
}

#@ hearth-only fast timeout=60
test_larger_metadata_device() {
	device RAWMETA 16 ram
	device FAST 16 ssd
	device SLOW 64 disk
	META=/dev/mapper/meta
	dmsetup create meta --table "0 4096 linear $RAWMETA 0"
	zero $META 1
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 24
	assert_eq "$(stat_of c metadata_total)" 512 "metadata blocks"
	dmsetup remove c
	dmsetup reload meta --table "0 16384 linear $RAWMETA 0"
	dmsetup resume meta
	by_hand c 128 writeback
	assert_eq "$(stat_of c metadata_total)" 2048 "metadata blocks"
	check_data /dev/mapper/c 1 0 24
	write_data /dev/mapper/c 2 0 24
	check_data /dev/mapper/c 2 0 24
}

# --- messages

#@ slow timeout=60
test_message_migration_threshold() {
	by_hand_devices
	by_hand c 128 writeback
	dmsetup message c 0 migration_threshold 12345
	assert_match "$(stat_of c core)" 'migration_threshold 12345' core
}

#@ fast timeout=60
test_message_invalidate_cblocks() {
	local used
	by_hand_devices
	by_hand c 128 writethrough
	write_data /dev/mapper/c 1 0 8
	warm c 2
	dmsetup suspend c
	dmsetup reload c --table "$(dmsetup table c | sed s/writethrough/passthrough/)"
	dmsetup resume c
	used=$(stat_of c used)
	assert_ge "$used" 24 used
	dmsetup message c 0 invalidate_cblocks 0-256
	until_true 10 used_is_zero c || fail "still $(stat_of c used) used"
	check_data /dev/mapper/c 1 0 8
}

used_is_zero() {
	[ "$(stat_of "$1" used)" = 0 ]
}

is_blocked() {
	[ "$(awk '{ print $3 }' "/proc/$1/stat")" = D ]
}

is_gone() {
	! dmsetup info "$1"
}

# A removal stops no engine that a message still uses. Until the message has ended, no other
# table gets the metadata.
#@ hearth-only fast timeout=60
test_removal_waits_for_messages() {
	by_hand_devices 16 32
	dmsetup create slow --table "0 $(sectors "$SLOW") linear $SLOW 0"
	SLOW=/dev/mapper/slow
	by_hand c 128 writethrough "default 2 origin_check 0"
	warm c 1 16
	until_true 20 is_at_rest c
	dmsetup suspend --noflush --nolockfs slow
	trap 'dmsetup resume slow; wait' EXIT
	command dmsetup message c 0 verify 0 &
	until_true 10 is_blocked $! || fail "the message does not wait"
	command dmsetup remove c &
	until_true 10 is_gone c || fail "nothing removes it"
	# It is shorter, so it would get an engine of its own.
	must_fail dmsetup create d --table "0 32768 cache $META $FAST $SLOW 128 1 writethrough default 2 origin_check 0"
	dmsetup resume slow
	trap - EXIT
	wait
	dmsetup create d --table "0 32768 cache $META $FAST $SLOW 128 1 writethrough default 2 origin_check 0"
}

# One device has the engine, is suspended and asked for its status, while another one goes
# on with the engine and other policies. The debug kernel sees a use after free.
#@ hearth-only slow timeout=90
test_status_beside_another_policy() {
	local i
	by_hand_devices 16 32
	by_hand c 128 writethrough
	dmsetup suspend c
	dmsetup create second --notable
	while dmsetup status --noflush c >"$T/status"; do :; done &
	ASKER=$!
	trap 'kill $ASKER; wait' EXIT
	for ((i = 0; i < 40; i++)); do
		dmsetup load second --table "$(dmsetup table c | sed "s/ default / $([ $((i % 2)) = 0 ] && echo lru || echo smq) /")"
		dmsetup resume second
		dmsetup suspend second
	done
	assert_match "$(dmsetup status --noflush second)" ' smq ' "the policy"
	# The metadata is checked when c goes, and must be idle then.
	command dmsetup remove second
}

# --- one table after another

rebuilt() {
	kernel_log | grep -c 'hearth: .* blocks of'
}

# Another program writes the metadata during each suspend, so each resume builds a new
# engine. The old engine must go, even while another process reads the status.
#@ hearth-only fast timeout=120
test_replaced_engines_go() {
	local i before
	MEMORY_BACKED=0 device FAST 12800 ram
	MEMORY_BACKED=0 device SLOW 12800 ram
	device META 24 ram
	zero "$META" 1
	by_hand c 64 writethrough
	dmsetup suspend c
	cp "$META" "$T/meta"
	while dmsetup status --noflush c >"$T/status"; do :; done &
	ASKER=$!
	trap 'kill $ASKER; wait' EXIT
	for ((i = 0; i < 12; i++)); do
		dmsetup resume c
		dmsetup suspend c
		dd if="$T/meta" of="$META" bs=1M oflag=direct status=none
		[ $i != 1 ] || before=$(kernel_memory)
	done
	assert_eq "$(rebuilt)" 12 "engines built"
	# One engine with 409,600 blocks needs more than 10 MiB.
	assert_le $(($(kernel_memory) - before)) 8192 "KiB more after ten more engines"
	dmsetup resume c
}

# A table joins the engine and is removed, because another target of the table could not
# be resumed. It must leave nothing behind: the engine still wakes a process that waits
# for an event of the first table.
#@ hearth-only fast timeout=90
test_event_after_a_table_that_did_not_resume() {
	local events
	by_hand_devices 16 32
	by_hand c 128 writeback "default 2 writeback_idle 0"
	device META2 8 ram
	device FAST2 16 ram
	device SLOW2 32 ram
	zero "$META2" 1
	dmsetup create other --table "0 65536 cache $META2 $FAST2 $SLOW2 128 0 default 0"
	{
		dmsetup table c
		echo "65536 65536 cache $META2 $FAST2 $SLOW2 128 1 writeback default 0"
	} >"$T/two"
	refused 'in use by another active cache' dmsetup create two "$T/two"
	stays_dirty c
	write_data /dev/mapper/c 1 0 2
	assert_ge "$(stat_of c dirty)" 1 "dirty blocks"
	events=$(dmsetup info -c --noheadings -o events c)
	message c writeback_idle 1
	timeout 30 dmsetup wait c "$events" || fail "no event said that the cache is clean"
	all_clean c
}

# As above, but the second table stays, and the first one goes before it. The engine is
# stopped with the second: the disk calls nothing dirty that was written through.
#@ hearth-only fast timeout=90
test_table_that_did_not_resume_goes_last() {
	by_hand_devices 16 32
	by_hand c 128 writethrough
	every_write_comes_in c
	write_data /dev/mapper/c 1 0 4
	device META2 8 ram
	device FAST2 16 ram
	device SLOW2 32 ram
	zero "$META2" 1
	dmsetup create other --table "0 65536 cache $META2 $FAST2 $SLOW2 128 0 default 0"
	dmsetup create two --notable
	{
		dmsetup table c
		echo "65536 65536 cache $META2 $FAST2 $SLOW2 128 1 writeback default 0"
	} | dmsetup load two
	refused 'in use by another active cache' dmsetup resume two
	write_data /dev/mapper/c 2 0 2
	dmsetup remove c
	dmsetup remove two
	assert_eq "$(cache_dump "$META" | grep -c 'dirty="true"')" 0 "blocks that the disk calls dirty"
	cache_check "$META"
	by_hand c 128 writethrough
	assert_ge "$(stat_of c used)" 32 "blocks in the cache"
	check_data /dev/mapper/c 2 0 2
}

# --- the man page's stack

# man_example FIRST: prints the literal block of the man page that begins with FIRST,
# with this guest's devices in it.
man_example() {
	local d edits=()
	for d in "sdb1 $SLOW" "nvme0n1p1 $META" "nvme0n1p2 $FAST"; do
		edits+=(-e "s,/dev/${d% *}\>,${d#* },g" -e "s,\<dev-${d% *}\.,dev-${d##*/}.,g")
	done
	awk -v first="$1" '
		/^\.nf/ { block = ""; literal = 1; next }
		/^\.fi/ { if (literal && index(block, first) == 1) printf "%s", block; literal = 0 }
		literal { sub(/^\.sp$/, ""); gsub(/\\\\/, "\\"); block = block $0 "\n" }
	' "$TOP/man/hearth-target.8.in" | sed "${edits[@]}"
}

# unit_runs KEY: prints the commands of the unit's KEY= lines, joined as systemd joins
# them.
unit_runs() {
	sed -e ':join; /\\$/ { N; s/\\\n/ /; b join }' "$T/cached-home.service" |
		sed -n "s/^$1=//p" >"$T/commands"
	[ -s "$T/commands" ] || fail "the unit has no $1"
	bash -e "$T/commands"
}

#@ hearth-only slow timeout=90
test_man_page_unit_restores_the_stack() {
	local used hits
	by_hand_devices
	man_example 'dd if=' >"$T/create"
	bash -e "$T/create"
	stays_dirty home
	write_data /dev/mapper/home 1 0 12
	assert_ge "$(stat_of home dirty)" 64 "dirty blocks"
	used=$(stat_of home used)

	man_example '[Unit]' >"$T/cached-home.service"
	assert_eq "$(systemd-analyze --man=no verify "$T/cached-home.service" 2>&1)" "" "the unit"
	unit_runs ExecStop
	assert_eq "$(dmsetup ls)" "No devices found" devices
	# As after a boot: the kernel loads the modules by itself.
	unload_engine
	unit_runs ExecStart
	assert_eq "$(stat_of home used)" "$used" "blocks still cached"
	hits=$(stat_of home read_hits)
	check_data /dev/mapper/home 1 0 12
	assert_ge $(($(stat_of home read_hits) - hits)) $((used * 9 / 10)) "read hits"
	flush_by_hand home
	check_data "$SLOW" 1 0 12
}
