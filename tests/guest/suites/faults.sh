# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Devices that fail under a running cache. The tests check which operations still work,
# which data the engine gives up, what it reports, and that it never trusts old content
# afterwards.

# breakable_devices [FAST_MIB [SLOW_MIB]]: makes the devices of by_hand_devices, and a
# test can break each of them.
breakable_devices() {
	by_hand_devices "$@"
	local name
	for name in META FAST SLOW; do
		local -n path=$name
		local real=real_$name
		declare -g "$real=$path"
		dmsetup create "${name,,}" --table "$(working "$name")"
		path=/dev/mapper/${name,,}
	done
}

working() {
	local -n real=real_$1
	echo "0 $(sectors "$real") linear $real 0"
}

failing() {
	local -n real=real_$1
	echo "0 $(sectors "$real") error"
}

# Reads work; writes and flushes fail.
failing_writes() {
	local -n real=real_$1
	modprobe -q dm-flakey
	echo "0 $(sectors "$real") flakey $real 0 0 60 1 error_writes"
}

# Flushes fail; reads and writes work, but for writes to the last 4 KiB. device-mapper sends
# a flush to each target of a table.
failing_flushes() {
	local -n real=real_$1
	local end=$(($(sectors "$real") - 8))
	modprobe -q dm-flakey
	echo "0 $end linear $real 0"
	echo "$end 8 flakey $real $end 0 60 1 error_writes"
}

# Reads take 400 ms, writes fail, flushes work. The caller runs losetup -D once the
# device is in use.
slow_and_read_only() {
	local -n real=real_$1
	local loop
	modprobe -q -a loop dm-delay
	loop=$(losetup --show --direct-io=on -r -f "$real")
	echo "0 $(sectors "$real") delay $loop 0 400 $loop 0 0"
}

# The device can neither read nor write one piece of 4 KiB at SECTOR.
bad_at() {
	local -n real=real_$1
	echo "0 $2 linear $real 0"
	echo "$2 8 error"
	echo "$(($2 + 8)) $(($(sectors "$real") - $2 - 8)) linear $real $(($2 + 8))"
}

# The device can read SECTORS (8) from SECTOR on, but cannot write them.
unwritable_at() {
	local -n real=real_$1
	local end=$(($2 + ${3:-8}))
	modprobe -q dm-flakey
	echo "0 $2 linear $real 0"
	echo "$2 $((end - $2)) flakey $real $2 0 60 1 error_writes"
	echo "$end $(($(sectors "$real") - end)) linear $real $end"
}

# The device can write nothing, and cannot read one piece of 4 KiB at SECTOR either.
bad_at_and_read_only() {
	local -n real=real_$1
	modprobe -q dm-flakey
	echo "0 $2 flakey $real 0 0 60 1 error_writes"
	echo "$2 8 error"
	echo "$(($2 + 8)) $(($(sectors "$real") - $2 - 8)) flakey $real $(($2 + 8)) 0 60 1 error_writes"
}

# now DEVICE KIND [...]: the device behaves as KIND from here on.
now() {
	becomes "${1,,}" "$("$2" "$1" "${@:3}")"
}

# Reads the kernel's message, because udev reads blocks into the cache before a test
# could see it empty.
started_empty() {
	assert_match "$(dmesg | grep 'hearth: ' | tail -n 1)" ', 0 resident'
}

health() {
	counter "$1" health
}

health_is() {
	[ "$(health "$1")" = "$2" ]
}

# clean_cache [MODE]: makes a clean cache c of 16 MiB over 32 MiB of data, and fills
# half of it.
clean_cache() {
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "${1:-writethrough}"
	warm c 8
}

# Reads and writes in several ways, and checks all data.
use_all() {
	write_data /dev/mapper/c 2 0 4 4k
	write_data /dev/mapper/c 2 4 4
	write_data /dev/mapper/c 2 28 4
	check_data /dev/mapper/c 2 0 8
	check_data /dev/mapper/c 1 8 20
	check_data /dev/mapper/c 2 28 4
	fio_quiet --filename=/dev/mapper/c --rw=randrw --bs=4k --offset=16M \
		--size=8M --fsync=16 --verify=crc32c --do_verify=1 \
		--loops=2
	write_data /dev/mapper/c 1 16 8
}

origin_complete() {
	check_data "$SLOW" 2 0 8
	check_data "$SLOW" 1 8 20
	check_data "$SLOW" 2 28 4
}

# The whole SSD dies with the metadata, and returns while the volume is active.
dead_ssd() {
	clean_cache "$1"
	no_metadata_check
	now META failing
	now FAST failing
	use_all
	read_status c
	assert_eq "${ST[rw]}" ro
	assert_eq "${ST[dirty]}" 0
	assert_eq "$(health c)" bypass-unfenced
	assert_eq "$(kernel_said 'bypassed from now on')" 1 "messages"
	origin_complete
	# The kernel can load the table again, although it cannot read the metadata.
	dmsetup suspend c
	dmsetup resume c
	write_data /dev/mapper/c 2 4 4
	check_data /dev/mapper/c 2 0 8

	now META working
	now FAST working
	until_true 20 health_is c bypass || fail "not wiped: $(health c)"
	use_all
	dmsetup remove c
	by_hand c 128 "$1"
	started_empty
	use_all
	warm c 8
	origin_complete
}

#@ slow hearth-only timeout=120
test_dead_ssd_writethrough() { dead_ssd writethrough; }
#@ slow hearth-only timeout=120
test_dead_ssd_writearound() { dead_ssd writearound; }

# The cache is given up. A block that it still has is written on the origin, so a flush goes
# there.
# shellcheck disable=SC2154
#@ fast hearth-only timeout=60
test_bypassed_writes_are_flushed() {
	local flushed
	WRITE_CACHE=64 clean_cache writethrough
	no_metadata_check
	now META failing
	now FAST failing
	dd if=/dev/mapper/c of="$T/old" bs=64k count=4 iflag=direct status=none
	until_true 20 health_is c bypass-unfenced || fail "health: $(health c)"
	sync -d /dev/mapper/c
	flushed=$(flushes "$real_SLOW")
	dd if=/dev/zero of=/dev/mapper/c bs=4k count=1 oflag=direct status=none
	sync -d /dev/mapper/c
	assert_ge "$(flushes "$real_SLOW")" $((flushed + 1)) "flushes of the disk"
}

#@ slow hearth-only timeout=90
test_dead_metadata_passthrough() {
	clean_cache writethrough
	no_metadata_check
	dmsetup remove c
	by_hand c 128 passthrough
	now META failing
	use_all
	assert_eq "$(health c)" bypass-unfenced
	origin_complete
}

# The SSD dies, and returns after the volume was removed. The engine must not trust its
# old content.
#@ fast hearth-only timeout=90
test_ssd_returns_with_old_content() {
	clean_cache
	now META failing
	now FAST failing
	use_all
	assert_eq "$(health c)" bypass-unfenced
	dmsetup remove c
	now META working
	now FAST working
	by_hand c 128 writethrough
	assert_eq "$(kernel_said 'older than the origin')" 1
	started_empty
	use_all
	origin_complete
}

# Only the data device dies, so the engine can empty the mapping.
#@ slow hearth-only timeout=90
test_dead_data_device() {
	clean_cache
	now FAST failing
	use_all
	until_true 10 health_is c bypass || fail "health: $(health c)"
	assert_eq "$(kernel_said 'mapping was emptied')" 1
	origin_complete
	dmsetup remove c
	cache_check "$META"
	now FAST working
	by_hand c 128 writethrough
	started_empty
	use_all
	origin_complete
}

# The SSD fails writes and flushes, but reads work.
#@ slow hearth-only timeout=90
test_ssd_fails_to_write() {
	clean_cache
	now FAST failing_writes
	use_all
	until_true 10 health_is c bypass || fail "health: $(health c)"
	origin_complete
	now FAST working
	dmsetup remove c
	by_hand c 128 writethrough
	started_empty
	use_all
}

#@ slow hearth-only timeout=90
test_metadata_fails_to_write() {
	clean_cache
	no_metadata_check
	now META failing_writes
	use_all
	assert_eq "$(health c)" bypass-unfenced
	assert_eq "$(stat_of c rw)" ro
	origin_complete
}

# Makes a clean cache whose SSD and metadata are dead, and which holds writes (fail_open
# 0).
cache_that_holds() {
	clean_cache
	no_metadata_check
	message c fail_open 0
	now META failing
	now FAST failing
}

# With fail_open 0 the engine holds a write that would make the metadata wrong.
#@ slow hearth-only timeout=90
test_fail_open_0_holds_writes() {
	cache_that_holds
	dd if=/dev/zero of=/dev/mapper/c bs=64k count=1 oflag=direct status=none &
	until_true 10 health_is c holding || fail "health: $(health c)"
	check_data /dev/mapper/c 1 0 32
	sleep 1
	kill -0 $! || fail "the write did not wait"
	check_data "$SLOW" 1 0 32
	refused 'takes no settings' message c fail_open 0
	message c fail_open 1
	wait $! || fail "the write failed"
	assert_eq "$(health c)" bypass-unfenced
	write_data /dev/mapper/c 1 0 1
	check_data /dev/mapper/c 1 0 32
}

# A suspend does not wait for held writes; they fail.
#@ slow hearth-only timeout=90
test_held_writes_end() {
	cache_that_holds
	dd if=/dev/zero of=/dev/mapper/c bs=64k count=1 oflag=direct status=none &
	until_true 10 health_is c holding || fail "health: $(health c)"
	sleep 1
	timeout 20 dmsetup suspend c || fail "suspend is stuck"
	must_fail wait $!
	dmsetup resume c
	check_data /dev/mapper/c 1 0 32
	dmsetup remove c
	check_data "$SLOW" 1 0 32
}

# Two tables share one engine. A user can suspend one of them, although the engine holds
# the write that the suspend causes, and the other table still works.
#@ fast hearth-only timeout=90
test_holding_two_tables() {
	cache_that_holds
	dmsetup create second --table "$(dmsetup table c)"
	dd if=/dev/zero of=/dev/mapper/second bs=64k count=1 oflag=direct status=none &
	until_true 10 health_is c holding || fail "health: $(health c)"
	# The suspend writes this block from the page cache.
	exec 7<>/dev/mapper/c
	dd if=/dev/zero bs=64k count=1 seek=2 of=/dev/mapper/c conv=notrunc status=none
	if ! timeout 20 dmsetup suspend c; then
		now META working
		fail "suspend is stuck"
	fi
	exec 7>&-
	wait || true
	check_data /dev/mapper/second 1 0 32
	dmsetup resume c
	check_data /dev/mapper/c 1 0 32
	dd if=/dev/zero of=/dev/mapper/second bs=64k count=1 oflag=direct status=none &
	sleep 1
	kill -0 $! || fail "the write did not wait"
	now META working
	wait $! || fail "the write failed"
	dmsetup remove second
}

#@ slow hearth-only timeout=90
test_held_writes_go_on_when_the_ssd_is_back() {
	cache_that_holds
	write_data /dev/mapper/c 2 0 1 &
	until_true 10 health_is c holding || fail "health: $(health c)"
	now META working
	wait $! || fail "the write failed"
	assert_eq "$(health c)" bypass
	check_data /dev/mapper/c 2 0 1
	check_data /dev/mapper/c 1 1 31
}

# The SSD has one bad place. The engine retires its slot, and still caches the other
# blocks.
#@ slow hearth-only timeout=90
test_one_bad_place() {
	clean_cache
	local used
	now FAST bad_at 4096
	used=$(stat_of c used)
	check_data /dev/mapper/c 1 0 32
	write_data /dev/mapper/c 2 0 8 4k
	check_data /dev/mapper/c 2 0 8
	assert_eq "$(health c)" good
	assert_eq "$(stat_of c rw)" rw
	assert_ge "$(stat_of c used)" $((used / 2)) "still cached"
	assert_eq "$(counter c retired_blocks)" 1 "retired"
	check_data "$SLOW" 2 0 8
}

# The SSD does not answer for some seconds.
#@ slow hearth-only timeout=90
test_ssd_hangs_and_returns() {
	clean_cache
	dmsetup suspend --noflush --nolockfs fast
	dmsetup suspend --noflush --nolockfs meta
	use_all &
	sleep 8
	kill -0 $! || fail "nothing waited for the SSD"
	dmsetup resume meta
	dmsetup resume fast
	wait $! || fail "errors after the SSD was back"
	assert_eq "$(health c)" good
	origin_complete
}

# A drain waits for an SSD that does not answer. Requests that need only the origin do
# not wait with it.
#@ fast hearth-only timeout=90
test_stalled_drain_holds_nobody() {
	breakable_devices 32 64
	write_data "$SLOW" 1 0 64
	by_hand c 128 "metadata2 writeback" "default 4 seq_cutoff 0 full_write_level 0"
	stays_dirty c
	every_write_comes_in c
	write_data /dev/mapper/c 2 0 24
	assert_ge "$(stat_of c dirty)" 100 "dirty blocks"
	# One block at a time, and each takes 200 ms, so that the drain is not over before the
	# SSD stops, however slow the machine is.
	message c migration_threshold 128
	now SLOW slow_to_write
	dmsetup reload c --table "$(dmsetup table c | cut -d' ' -f1-7) 2 metadata2 writethrough cleaner 0"
	dmsetup resume c
	dmsetup suspend --noflush --nolockfs fast
	assert_ge "$(stat_of c dirty)" 1 "dirty blocks when the SSD stopped to answer"
	if ! timeout 30 dd if=/dev/mapper/c of="$T/read" bs=1M skip=40 count=4 iflag=direct; then
		dmsetup resume fast
		fail "a read of the origin waited for the drain"
	fi
	dmsetup resume fast
	now SLOW working
	until_true 60 all_clean c || fail "the drain did not go on"
	check_data /dev/mapper/c 2 0 24
	check_data /dev/mapper/c 1 24 40
}

# Writes take 200 ms, or as many as are named.
slow_to_write() {
	local -n real=real_$1
	modprobe -q dm-delay
	echo "0 $(sectors "$real") delay $real 0 0 $real 0 ${2:-200}"
}

# Two tables share an engine that drains. Requests wait for their turns beside the
# drain, but a suspend of one of the tables waits for its requests, so it lets them go.
#@ slow hearth-only timeout=90
test_suspend_beside_a_drain() {
	local began took
	breakable_devices 32 64
	by_hand c 128 "metadata2 writeback" "default 4 seq_cutoff 0 full_write_level 0"
	stays_dirty c
	every_write_comes_in c
	write_data /dev/mapper/c 2 0 24
	assert_ge "$(stat_of c dirty)" 200 "dirty blocks"
	# One block at a time, so that turns are few.
	message c migration_threshold 128
	now SLOW slow_to_write
	dmsetup reload c --table "$(dmsetup table c | cut -d' ' -f1-7) 2 metadata2 writethrough cleaner 0"
	dmsetup resume c
	dmsetup create second --table "$(dmsetup table c)"
	fio --name=r --readonly --filename=/dev/mapper/second --direct=1 --ioengine=libaio \
		--iodepth=32 --thread --rw=randread --bs=4k --offset=32M --size=32M --time_based \
		--runtime=60 --output="$T/load.out" &
	LOAD=$!
	sleep 3
	began=$(date +%s%3N)
	timeout 60 dmsetup suspend second || fail "suspend is stuck"
	took=$(($(date +%s%3N) - began))
	assert_ge "$(stat_of c dirty)" 20 "dirty blocks, so that the drain still ran"
	dmsetup resume second
	kill $LOAD
	wait $LOAD || true
	echo "the suspend took $took ms"
	assert_le "$took" 4000 "milliseconds of the suspend"
	now SLOW working
	until_true 60 all_clean c || fail "the drain did not go on"
	check_data /dev/mapper/second 2 0 24
	dmsetup remove second
}

# The cache device fails a flush while nothing is dirty, and the user sees no error. Then
# the origin fails a flush as well. The origin still serves all data afterwards.
#@ hearth-only slow timeout=90
test_neither_device_can_flush() {
	WRITE_CACHE=64 breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 writethrough
	warm c 4
	write_data /dev/mapper/c 2 0 4
	now FAST failing_writes
	sync /dev/mapper/c
	until_true 10 health_is c bypass || fail "health: $(health c)"
	write_data /dev/mapper/c 3 0 4
	now SLOW failing_writes
	must_fail sync /dev/mapper/c
	now SLOW working
	check_data /dev/mapper/c 3 0 4
	write_data /dev/mapper/c 4 0 4 4k
	check_data /dev/mapper/c 4 0 4 4k
}

# The SSD becomes read-only, as many SSDs do at the end of their life. No user gets an
# error in writeback either, because the engine sends refused writes to the origin ...
#@ fast hearth-only timeout=90
test_ssd_fails_to_write_writeback() {
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 writeback
	warm c 8
	now FAST failing_writes
	use_all
	until_true 10 health_is c bypass || fail "health: $(health c)"
	origin_complete
}

# ... after the data that users wrote to the block before.
#@ slow hearth-only timeout=90
test_ssd_fails_to_write_dirty_blocks() {
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 2 writeback_idle 0"
	every_write_comes_in c
	warm c 8
	write_data /dev/mapper/c 2 0 8
	assert_ge "$(stat_of c dirty)" 128 "dirty blocks"
	now FAST failing_writes
	write_data /dev/mapper/c 3 0 4 4k
	fio_quiet --filename=/dev/mapper/c --rw=randrw --bs=4k --offset=4M \
		--size=2M --fsync=16 --verify=crc32c --do_verify=1
	check_data /dev/mapper/c 3 0 4 4k
	check_data /dev/mapper/c 2 6 2
	until_true 20 health_is c bypass || fail "health: $(health c)"
	assert_eq "$(stat_of c dirty)" 0
	check_data "$SLOW" 3 0 4 4k
	check_data "$SLOW" 2 6 2
	check_data "$SLOW" 1 8 24
}

dirty_is() {
	[ "$(stat_of "$1" dirty)" = "$2" ]
}

counter_at_least() {
	[ "$(counter "$1" "$2")" -ge "$3" ]
}

# drain_by_hand [MODE]: loads a table with the policy cleaner, with which the engine
# writes all dirty blocks back. lvm2 does so in writethrough, and in the volume's mode
# when the user has asked for the policy.
drain_by_hand() {
	dmsetup suspend c
	dmsetup load c --table "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 1 ${1:-writethrough} cleaner 0"
	dmsetup resume c
}

# drained_to LEFT: drains the cache by hand until LEFT blocks are dirty, and sets TOOK to
# the milliseconds of the drain.
drained_to() {
	local began
	assert_ge "$(stat_of c dirty)" 440 "dirty blocks"
	began=$(date +%s%3N)
	drain_by_hand
	until_true 60 dirty_is c "$1" || fail "$(stat_of c dirty) blocks still dirty"
	TOOK=$(($(date +%s%3N) - began))
}

# The SSD cannot read one dirty block, and the origin cannot write another. The engine
# writes all others back as fast as without the two, and logs each of the two once. It
# leaves a block alone for five seconds after an error; the drain must not wait for that.
#@ smp fast hearth-only timeout=180
test_bad_block_holds_up_nothing() {
	local alone table
	breakable_devices 32 64
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 4 writeback_idle 0 dirty_high 100"
	table=$(dmsetup table c)
	every_write_comes_in c
	write_data /dev/mapper/c 1 0 28
	drained_to 0
	alone=$TOOK
	becomes c "$table"
	every_write_comes_in c
	write_data /dev/mapper/c 2 0 28
	now FAST bad_at $((100 * 128))
	now SLOW unwritable_at $((10 * 128))
	drained_to 2
	echo "alone $alone ms, beside two bad blocks $TOOK ms"
	assert_le "$TOOK" $((alone + alone / 2 + 3500)) "milliseconds of the drain, $alone without bad blocks"
	# The engine tries both blocks again, and a suspend does not wait for them.
	until_true 20 counter_at_least c cache_read_errors 2
	until_true 20 counter_at_least c origin_errors 2
	assert_eq "$(kernel_said 'write-back of block')" 2 "messages"
	assert_eq "$(kernel_log | grep -o 'write-back of block [0-9]*' | sort -u | wc -l)" 2 "blocks that are named"
	timeout 20 dmsetup suspend c || fail "suspend is stuck"
	dmsetup resume c
	assert_eq "$(health c)" good
	now FAST working
	now SLOW working
	until_true 20 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 2 0 28
	check_data "$SLOW" 1 28 4
}

# bad_stretch FIRST: of the origin below c, 20480 sectors from this one on cannot be
# written, nor read.
bad_stretch() {
	local end=$(($1 + 20480)) table="$1 20480 error"
	[ "$1" = 0 ] || table="0 $1 linear $REAL 0
$table"
	becomes slow "$table
$end $(($(sectors "$REAL") - end)) linear $REAL $end"
}

# 160 dirty blocks one after another cannot go home, more than the 64 errors after which
# write-back waits for five seconds. The blocks behind them do, and those before them, also
# those that become dirty meanwhile.
#@ smp fast hearth-only timeout=120 on=0 slow=24576
test_many_bad_blocks_hold_up_nothing() {
	by_hand_devices 32 64
	REAL=$SLOW
	dmsetup create slow --table "0 $(sectors "$REAL") linear $REAL 0"
	SLOW=/dev/mapper/slow
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 4 writeback_idle 0 dirty_high 100"
	every_write_comes_in c
	write_data /dev/mapper/c 2 0 28
	assert_ge "$(stat_of c dirty)" 440 "dirty blocks"
	bad_stretch "$1"
	dmesg_allow 'I/O error'
	drain_by_hand writeback
	until_true 40 dirty_is c 160 || fail "$(stat_of c dirty) blocks still dirty"
	if [ "$1" -gt 0 ]; then
		write_data /dev/mapper/c 3 0 2
		until_true 25 dirty_is c 160 || fail "$(stat_of c dirty) blocks dirty, 160 of them bad"
		write_data /dev/mapper/c 2 0 2
	fi
	becomes slow "0 $(sectors "$REAL") linear $REAL 0"
	until_true 40 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 2 0 28
}

# The SSD refuses writes, and cannot read one dirty block.
unreadable_and_read_only() {
	now FAST bad_at_and_read_only $((60 * 128))
	now SLOW working
}

# The SSD refuses writes, and the origin refuses one dirty block.
unwritable_and_read_only() {
	now FAST failing_writes
	now SLOW unwritable_at $((60 * 128))
}

# ... and the engine sends refused writes of other blocks to the origin.
#@ smp fast hearth-only timeout=120 on=unreadable:cache_read_errors slow=unwritable:origin_errors
test_refused_write_beside_a_bad_block() {
	local block failed=0 tried=0 errors
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 2 writeback_idle 1"
	every_write_comes_in c
	warm c 8
	now SLOW failing_writes		# write-back fails until the origin works again
	write_data /dev/mapper/c 2 0 8
	assert_ge "$(stat_of c dirty)" 64 "dirty blocks"
	"$1_and_read_only"
	errors=$(counter c "$2")
	until_true 30 counter_at_least c "$2" $((errors + 1)) || fail "no new $2"
	for block in {0..39}; do
		# The unreadable slot may have one of these blocks.
		dd if=/dev/mapper/c of=/dev/null bs=64k skip="$block" count=1 iflag=direct status=none || continue
		tried=$((tried + 1))
		dd if=/dev/zero of=/dev/mapper/c bs=4k seek=$((block * 16)) count=1 oflag=direct status=none ||
			failed=$((failed + 1))
	done
	assert_ge $tried 39 "blocks that could be read"
	assert_eq $failed 0 "refused writes that failed"
}

# The origin refuses every write-back. The engine tries again at intervals, and logs few
# messages.
#@ fast hearth-only timeout=120
test_origin_refuses_everything() {
	local began
	breakable_devices 32 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 4 writeback_idle 0 dirty_high 100"
	every_write_comes_in c
	write_data /dev/mapper/c 2 0 28
	now SLOW failing_writes
	began=$SECONDS
	drain_by_hand
	until_true 80 counter_at_least c origin_errors 250
	assert_ge $((SECONDS - began)) 10 "seconds for so many errors"
	assert_le "$(kernel_log | grep -c 'write-back')" 9 "messages"
	now SLOW working
	until_true 30 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 2 0 28
}

# The SSD fails flushes and writes, but reads work. The engine writes all dirty blocks
# back: by itself once a flush has failed, and if a user drains the cache. The user does
# so before a request has failed, or afterwards (late). The metadata is on another
# device, or on the same SSD, as lvm2 has it. make test runs the second, because there
# the metadata cannot be written either.
#@ fast hearth-only timeout=120 on=together:itself slow=together:drain,together:late_drain,together:cleaner,apart:itself,apart:drain,apart:late_drain,apart:cleaner
test_ssd_cannot_flush_drains() {
	WRITE_CACHE=64 breakable_devices 16 32
	no_metadata_check
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 4 writeback_idle 0 dirty_high 100"
	every_write_comes_in c
	warm c 8
	write_data /dev/mapper/c 2 0 4
	assert_ge "$(stat_of c dirty)" 64 "dirty blocks"
	"home_by_$2" "$1"
	until_true 30 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 2 0 4
	check_data /dev/mapper/c 2 0 4
	check_data /dev/mapper/c 1 4 28
	"home_and_$1"
	dmsetup remove c
}

ssd_cannot_flush() {
	[ "$1" = apart ] || now META failing_writes
	now FAST failing_writes
}

# If the metadata can be written, refused writes reach the origin while flushes fail.
home_by_itself() {
	ssd_cannot_flush "$1"
	must_fail sync /dev/mapper/c
	[ "$1" = together ] || write_data /dev/mapper/c 2 0 1
}

home_by_drain() {
	ssd_cannot_flush "$1"
	drain_by_hand
}

home_by_cleaner() {
	ssd_cannot_flush "$1"
	drain_by_hand writeback
}

# The engine writes one block or two at a time to a slow disk, so that the drain meets
# dirty blocks, and not a cache that has become clean by itself.
home_by_late_drain() {
	message c migration_threshold 128
	now SLOW slow_to_write 1000
	ssd_cannot_flush "$1"
	must_fail sync /dev/mapper/c
	dmsetup suspend c
	assert_ge "$(stat_of c dirty)" 1 "dirty blocks when the drain began"
	now SLOW working
	drain_by_hand
}

# The engine gives the cache up, and the origin serves all.
home_and_apart() {
	until_true 10 health_is c bypass || fail "health: $(health c)"
	write_data /dev/mapper/c 3 0 8 4k
	sync /dev/mapper/c
	check_data /dev/mapper/c 3 0 8 4k
	check_data "$SLOW" 3 0 8 4k
}

# The metadata says dirty, so the engine must not write to the origin alone.
home_and_together() {
	must_fail dd if=/dev/zero of=/dev/mapper/c bs=4k count=1 oflag=direct
	check_data "$SLOW" 2 0 4
	check_data /dev/mapper/c 2 0 4
	write_data /dev/mapper/c 2 24 4
	must_fail sync /dev/mapper/c
	assert_eq "$(health c)" read-only
}

# ssd_of_lvm: makes the devices DISK and SSD. SSD is a device-mapper device that a
# test can break, and lvm2 sees nothing below it.
ssd_of_lvm() {
	device DISK 128 disk
	device SSD 64 ssd
	dmsetup create pv_ssd --table "0 $(sectors "$SSD") linear $SSD 0"
	cp -r "$LVM_SYSTEM_DIR" "$T/lvm.d"
	sed -i 's,/dev/nullb|,/dev/nullbDISK|,' "$T/lvm.d/lvm.conf"
	export LVM_SYSTEM_DIR=$T/lvm.d
	# shellcheck disable=SC2034
	real_SSD=$SSD
	SSD=/dev/mapper/pv_ssd
}

# The same with lvm2, which keeps data and metadata on one SSD: --uncache ends, after the
# policy cleaner or without it, and the volume has all data. The volume group keeps
# its own metadata on the disk, because the SSD takes no writes.
#@ slow hearth-only timeout=150 on=uncache,cleaner
test_lvm_uncaches_an_ssd_that_cannot_flush() {
	WRITE_CACHE=256 ssd_of_lvm
	no_metadata_check
	pvcreate -y --metadatacopies 0 "$SSD"
	vgcreate -y vg "$DISK" "$SSD"
	LV_MIB=64 cached_lv pool writeback
	write_data /dev/vg/lv 1 0 32
	lvchange -y --cachepolicy cleaner vg/lv
	until_true 60 all_clean vg-lv || fail "the cache is still dirty"
	lvchange -y --cachepolicy smq vg/lv
	stays_dirty vg-lv
	every_write_comes_in vg-lv
	write_data /dev/vg/lv 2 8 8
	assert_ge "$(stat_of vg-lv dirty)" 64 "dirty blocks"
	becomes pv_ssd "$(failing_writes SSD)"
	if [ "$1" = cleaner ]; then
		lvchange -y --cachepolicy cleaner vg/lv
		until_true 60 all_clean vg-lv || fail "$(stat_of vg-lv dirty) blocks still dirty"
		check_data /dev/mapper/vg-lv_corig 2 8 8
	fi
	timeout 100 lvconvert -y --uncache vg/lv || fail "--uncache did not end"
	assert_match "$(dmsetup table vg-lv)" ' linear ' "table after --uncache"
	check_data /dev/vg/lv 1 0 8
	check_data /dev/vg/lv 2 8 8
	check_data /dev/vg/lv 1 16 16
}

# loses_power DEVICE: the device forgets what it has not flushed.
loses_power() {
	echo 0 >"$NULLB/nullb$1/power"
	echo 1 >"$NULLB/nullb$1/power"
	udevadm settle
}

# The SSD cannot flush, so that no commit can say that a block was written back. When
# the engine calls such a block clean, the origin must have flushed it.
#@ fast hearth-only timeout=90
test_blocks_are_home_durably() {
	local -n real=real_SLOW
	WRITE_CACHE=64 breakable_devices 16 32
	no_metadata_check
	by_hand c 128 writeback "default 4 writeback_idle 0 dirty_high 100"
	every_write_comes_in c
	warm c 4
	write_data /dev/mapper/c 2 0 1
	assert_ge "$(stat_of c dirty)" 12 "dirty blocks"
	now FAST failing_writes
	must_fail sync /dev/mapper/c
	until_true 30 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	until_true 10 health_is c bypass || fail "health: $(health c)"
	dmsetup remove c
	dmsetup remove slow
	loses_power SLOW
	check_data "$real" 2 0 1
}

# The metadata dies in writeback. The engine writes all dirty blocks back. From then on
# it writes such a block to both devices, because the metadata still calls the block
# dirty.
#@ slow hearth-only timeout=90
test_dead_metadata_lets_all_go_home() {
	breakable_devices 16 32
	no_metadata_check
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 4 writeback_idle 0 dirty_high 100"
	every_write_comes_in c
	warm c 4
	write_data /dev/mapper/c 2 8 2
	assert_eq "$(stat_of c dirty)" 32
	now META failing
	must_fail dd if=/dev/zero of=/dev/mapper/c bs=4k count=1 oflag=direct
	assert_eq "$(health c)" read-only
	until_true 20 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 2 8 2
	write_data /dev/mapper/c 3 8 1 4k
	assert_eq "$(stat_of c dirty)" 0
	check_data "$SLOW" 3 8 1 4k
	check_data /dev/mapper/c 3 8 1 4k
	# A write that reaches one copy alone must fail.
	now FAST failing_writes
	must_fail dd if=/dev/zero of=/dev/mapper/c bs=64k seek=140 count=1 oflag=direct
	now FAST working
	dmsetup remove c
	now META working
	by_hand c 128 writeback
	check_data /dev/mapper/c 1 0 8
	check_data /dev/mapper/c 3 8 1 4k
}

# striped VARIABLE: replaces the device by a stripe over its two halves, which splits
# requests.
striped() {
	local -n device=$1
	local half=$(($(sectors "$device") / 2))
	dmsetup create "${1,,}_striped" --table \
		"0 $((2 * half)) striped 2 8 $device 0 $device $half"
	device=/dev/mapper/${1,,}_striped
}

# ... also if both devices split their requests.
# The engine doubts a device after 32 errors, and forgets half of them every second. So
# 64 blocks are written at once, of which at least 48 are cached: that is enough on a
# slow machine, too.
#@ slow hearth-only timeout=90
test_refused_requests_that_were_split() {
	breakable_devices 16 32
	striped FAST
	striped SLOW
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 2 writeback_idle 0"
	warm c 12 176
	write_data /dev/mapper/c 2 0 4
	now FAST failing_writes
	write_data /dev/mapper/c 3 0 1
	check_data /dev/mapper/c 3 0 1
	now FAST failing
	check_data /dev/mapper/c 1 5 3
	now FAST failing_writes
	check_data /dev/mapper/c 2 1 3
	fio --name=refused --filename=/dev/mapper/c --direct=1 --rw=write --bs=64k --offset=8M \
		--size=4M --zero_buffers --ioengine=libaio --iodepth=64 --iodepth_batch=64 \
		--output="$T/refused.out"
	until_true 20 health_is c bypass || fail "health: $(health c)"
	check_data "$SLOW" 3 0 1
	check_data "$SLOW" 2 1 3
	check_data "$SLOW" 1 4 4
	cmp -n 4194304 -i 8388608:0 "$SLOW" /dev/zero
	check_data "$SLOW" 1 12 20
}

# The SSD has no volatile cache, but the disk has one. A write that must be durable has
# to be durable on the disk, too.
#@ fast hearth-only timeout=90
test_refused_write_stays_durable() {
	local trace=/sys/kernel/tracing disk ssd
	WRITE_CACHE=64 breakable_devices 16 32
	by_hand c 128 "writeback" "default 2 writeback_idle 0"
	warm c 8
	write_data /dev/mapper/c 2 0 4
	now FAST failing_writes
	ssd=$(basename "$(readlink -f "$FAST")")
	disk=$(cat "/sys/block/$(basename "$(readlink -f "$SLOW")")/dev")
	echo "write through" >"/sys/block/$ssd/queue/write_cache"
	mount_trace
	echo 1 >$trace/events/block/block_bio_queue/enable
	dd if=/dev/zero of=/dev/mapper/c bs=4k seek=5 count=1 oflag=direct,dsync
	echo 0 >$trace/events/block/block_bio_queue/enable
	grep -E "block_bio_queue: ${disk/:/,} W" $trace/trace | tee "$T/writes"
	echo >$trace/trace
	grep -q ' WF[A-Z]* 40 + 8 ' "$T/writes" || fail "the write to the disk has no FUA"
	cmp -n 4096 -i 20480:0 "$SLOW" /dev/zero
}

# ... and a refused write does not wait for users who keep reading its block.
#@ smp slow hearth-only timeout=90
test_refused_write_beside_readers() {
	local readers
	breakable_devices 16 32
	by_hand c 128 "writeback" "default 2 writeback_idle 0"
	warm c 8
	write_data /dev/mapper/c 2 0 4
	now FAST slow_and_read_only
	losetup -D
	for _ in 1 2 3 4; do
		dd if=/dev/mapper/c of=/dev/null bs=4k count=64 iflag=direct &
		sleep 0.1
	done
	dd if=/dev/zero of=/dev/mapper/c bs=4k seek=5 count=1 oflag=direct
	readers=$(jobs -rp)
	[ -n "$readers" ] || fail "the write waited for the last reader"
	# shellcheck disable=SC2086
	kill $readers
	wait
	cmp -n 4096 -i 20480:0 "$SLOW" /dev/zero
}

# The SSD dies in writeback. Only data without a second copy is lost, and it is there
# again when the SSD returns.
#@ fast hearth-only timeout=120
test_dead_ssd_writeback() {
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 writeback
	every_write_comes_in c
	warm c 4
	now SLOW failing_writes		# write-back fails until the origin works again
	write_data /dev/mapper/c 2 8 2
	assert_ge "$(stat_of c dirty)" 32 "dirty blocks"
	now FAST failing
	now SLOW working
	check_data /dev/mapper/c 1 0 8
	check_data /dev/mapper/c 1 10 22
	must_fail dd if=/dev/mapper/c of=/dev/null bs=64k skip=128 count=1 iflag=direct
	must_fail dd if=/dev/zero of=/dev/mapper/c bs=64k seek=128 count=1 oflag=direct
	check_data_fails /dev/mapper/c 2 8 2 4k
	check_data_fails /dev/mapper/c 2 8 2 4k
	until_true 20 health_is c cache-device-failed || fail "health: $(health c)"
	write_data /dev/mapper/c 2 0 4 4k
	write_data /dev/mapper/c 2 26 4
	check_data "$SLOW" 2 0 4 4k
	check_data "$SLOW" 2 26 4
	assert_eq "$(stat_of c rw)" ro
	assert_ge "$(stat_of c dirty)" 32

	now FAST working
	dmsetup suspend c
	dmsetup load c --table "$(dmsetup table c)"
	dmsetup resume c
	assert_eq "$(health c)" good
	check_data /dev/mapper/c 2 0 4 4k
	check_data /dev/mapper/c 2 8 2
	check_data /dev/mapper/c 1 10 16
	check_data /dev/mapper/c 2 26 4
}

# No user gets an error. A write to a clean block that the SSD refuses goes to the
# origin once the block has left the cache, and so do reads of slots that the SSD cannot
# read.
#@ fast hearth-only timeout=90
test_refused_first_writes_go_to_the_origin() {
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 2 writeback_idle 1"
	warm c 8
	write_data /dev/mapper/c 2 0 1	# the engine sets the neighbours' intents, too
	until_true 20 all_clean c || fail "$(stat_of c dirty) blocks dirty"
	now FAST failing
	dd if=/dev/zero of=/dev/mapper/c bs=4k seek=517 count=1 oflag=direct
	cmp -n 4096 -i 2117632:0 "$SLOW" /dev/zero
	assert_eq "$(stat_of c dirty)" 0
	write_data /dev/mapper/c 1 2 1
	use_all
	until_true 10 health_is c bypass || fail "health: $(health c)"
	origin_complete
}

# Data and metadata are on one SSD, as with LVM, and it dies with one dirty block. Users
# can read all other blocks from the origin, even after a refused write to one. The
# engine notices the death by a commit, or by writes that need no commit.
#@ fast hearth-only timeout=120 on=commit,writes
test_whole_ssd_dies_writeback() {
	local block errors began
	breakable_devices 16 32
	no_metadata_check
	write_data "$SLOW" 1 0 32
	by_hand c 128 "writeback" "default 4 writeback_idle 0 dirty_high 100"
	every_write_comes_in c
	warm c 8
	dd if=/dev/zero of=/dev/mapper/c bs=64k seek=127 count=1 oflag=direct
	assert_eq "$(stat_of c dirty)" 1
	assert_ge "$(counter c intents_held)" 60 "intents"
	# A read of udev's between the two failures would put a block out of the cache.
	udevadm settle
	# In this order, because the engine would write the block home if it noticed the
	# death of the metadata while the data can still be read.
	now FAST failing
	now META failing
	[ "$1" = writes ] || must_fail message c writeback_idle 0
	for block in {0..39}; do
		must_fail dd if=/dev/zero of=/dev/mapper/c bs=4k seek=$((block * 16)) count=1 oflag=direct status=none
		dd if=/dev/mapper/c of=/dev/null bs=4k skip=$((block * 16 + 8)) count=1 iflag=direct status=none ||
			fail "block $block cannot be read"
	done
	assert_eq "$(stat_of c dirty)" 1
	until_true 10 [ "$(counter c mode)" = passthrough ] || fail "mode: $(counter c mode)"
	assert_eq "$(health c)" read-only
	errors=$(counter c cache_read_errors)
	began=$SECONDS
	for block in {0..39}; do
		must_fail dd if=/dev/zero of=/dev/mapper/c bs=4k seek=$((block * 16)) count=1 oflag=direct status=none
	done
	check_data /dev/mapper/c 1 4 3
	check_data /dev/mapper/c 1 8 24
	# The engine tries every five seconds to write the dirty block back, but it must not
	# send the users' 432 reads to the SSD.
	errors=$(($(counter c cache_read_errors) - errors))
	assert_le $errors $((5 + (SECONDS - began) / 4)) "reads sent to the dead SSD"
	must_fail dd if=/dev/mapper/c of=/dev/null bs=64k skip=127 count=1 iflag=direct
	now META working
	now FAST working
	dmsetup remove c
	by_hand c 128 writeback
	check_data /dev/mapper/c 1 4 3
	check_data /dev/mapper/c 1 8 24
	cmp -n 65536 -i 8323072:0 /dev/mapper/c /dev/zero
}

# The metadata dies in writeback. Users can still read and write dirty data.
#@ fast hearth-only timeout=90
test_dead_metadata_writeback() {
	breakable_devices 16 32
	no_metadata_check
	write_data "$SLOW" 1 0 32
	by_hand c 128 writeback
	every_write_comes_in c
	warm c 4
	now SLOW failing_writes
	write_data /dev/mapper/c 2 8 2
	now META failing
	# This write makes the engine notice the death before a write-back ends. The
	# engine could not record the end of one, and its block would take no writes.
	must_fail dd if=/dev/zero of=/dev/mapper/c bs=4k count=1 oflag=direct
	now SLOW working
	assert_eq "$(health c)" read-only
	assert_eq "$(stat_of c rw)" ro
	check_data /dev/mapper/c 1 0 8
	check_data /dev/mapper/c 2 8 2
	write_data /dev/mapper/c 3 8 2
	check_data /dev/mapper/c 3 8 2
	check_data /dev/mapper/c 1 10 22
	now META working
	dmsetup suspend c
	dmsetup load c --table "$(dmsetup table c)"
	dmsetup resume c
	assert_eq "$(health c)" good
	check_data /dev/mapper/c 1 0 8
	check_data /dev/mapper/c 3 8 2
}

# dirty_and_blind CACHE: the metadata has died, and the engine notices it here; the 32
# blocks at 8 MiB are dirty.
dirty_and_blind() {
	must_fail message "$1" max_promote_mbps 1
	still_knows "$1"
}

still_knows() {
	assert_eq "$(health "$1")" read-only
	check_data "/dev/mapper/$1" 1 0 8
	check_data "/dev/mapper/$1" 2 8 2
	check_data "/dev/mapper/$1" 1 10 22
}

# on_device WORD DEVICE TABLE: prints the table with another device.
on_device() {
	awk -v word="$1" -v device="$2" '{ $word = device } 1' <<<"$3"
}

# The table is suspended and resumed, and replaced by others. The kernel refuses a table
# that would forget dirty blocks, and the next table finds them again.
survives_by_hand() {
	local table shorter
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 writeback "default 2 writeback_idle 0"
	every_write_comes_in c
	warm c 4
	now SLOW failing_writes		# write-back fails until the origin works again
	write_data /dev/mapper/c 2 8 2
	table=$(dmsetup table c)
	shorter="0 49152 ${table#* * }"
	dmsetup load c --table "$shorter"
	now META failing
	dirty_and_blind c

	dmsetup suspend c
	must_fail dmsetup resume c
	refused 'Metadata: .*read' dmsetup load c --table "$shorter"
	dmsetup load c --table "$table"
	dmsetup resume c
	still_knows c
	dmsetup suspend c
	dmsetup resume c
	still_knows c
	refused 'Metadata: .*read' dmsetup load c --table "$shorter"
	device OTHER 16 ssd
	refused 'Metadata: .*read' dmsetup load c --table "$(on_device 5 "$OTHER" "$table")"
	device OTHER_ORIGIN 32 disk
	refused 'Metadata: .*read' dmsetup load c --table "$(on_device 6 "$OTHER_ORIGIN" "$table")"
	dmsetup load c --table "${table/default/lru}"
	dmsetup suspend c
	dmsetup resume c
	assert_eq "$(stat_of c policy)" lru policy
	still_knows c
	comes_back_empty
	still_knows c
	assert_ge "$(stat_of c dirty)" 32 "dirty blocks"
	now META working
	dmsetup suspend c
	dmsetup resume c
	assert_eq "$(health c)" good
	assert_ge "$(stat_of c dirty)" 32 "dirty blocks"
	check_data /dev/mapper/c 2 8 2
	write_data /dev/mapper/c 3 0 1
	now SLOW working
	check_data /dev/mapper/c 3 0 1
}

# The metadata device comes back empty. The engine refuses it and does not format it,
# because the cache has dirty blocks.
comes_back_empty() {
	local -n real=real_META
	cp "$real" "$T/meta"
	zero "$real" 1
	now META working
	dmsetup suspend c
	refused 'not formatted' dmsetup resume c
	cmp -n 1048576 "$real" /dev/zero
	now META failing
	dmsetup resume c
	dd if="$T/meta" of="$real" bs=1M oflag=direct status=none
}

# metadata_volume working|failing: prints the table of the metadata's disk; LVM's label
# stays readable.
metadata_volume() {
	local rest=$(($(sectors "$RAWMETA") - 2048))
	echo "0 2048 linear $RAWMETA 0"
	[ "$1" = failing ] || echo "2048 $rest linear $RAWMETA 2048"
	[ "$1" = working ] || echo "2048 $rest error"
}

# lvm2 changes the volume: it makes and removes a snapshot, and changes the policy.
survives_lvm() {
	device DISK 128 disk
	device SSD 64 ssd
	device RAWMETA 16 ram
	dmsetup create pv_meta --table "$(metadata_volume working)"
	cp -r "$LVM_SYSTEM_DIR" "$T/lvm.d"
	sed -i 's,/dev/nullb|,/dev/nullb(DISK\|SSD)|,' "$T/lvm.d/lvm.conf"
	export LVM_SYSTEM_DIR=$T/lvm.d
	vgcreate -y vg "$DISK" "$SSD" /dev/mapper/pv_meta
	lvcreate -y -L 64M -n lv vg "$DISK"
	lvcreate -y -L 16M -n fast vg "$SSD"
	lvcreate -y -L 8M -n meta vg /dev/mapper/pv_meta
	lvconvert -y --type cache-pool --poolmetadataspare n --poolmetadata vg/meta vg/fast
	lvconvert -y --type cache --cachepool vg/fast --cachemode writeback vg/lv
	message vg-lv writeback_idle 0
	write_data /dev/vg/lv 1 0 32
	lvchange -y --cachepolicy cleaner vg/lv
	until_true 60 all_clean vg-lv || fail "the cache is still dirty"
	lvchange -y --cachepolicy smq vg/lv
	warm vg-lv 4
	write_data /dev/vg/lv 2 8 2
	becomes pv_meta "$(metadata_volume failing)"
	dirty_and_blind vg-lv
	lvcreate -y -s -L 16M -n snap vg/lv "$DISK"
	assert_eq "$(health vg-lv-real)" read-only
	check_data /dev/vg/snap 2 8 2
	check_data /dev/vg/snap 1 10 22
	lvremove -y vg/snap
	still_knows vg-lv
	lvchange -y --cachepolicy cleaner vg/lv
	still_knows vg-lv
	until_true 60 all_clean vg-lv || fail "$(stat_of vg-lv dirty) blocks still dirty"
	lvconvert -y --uncache vg/lv
	assert_match "$(dmsetup table vg-lv)" ' linear ' "table after --uncache"
	check_data /dev/vg/lv 1 0 8
	check_data /dev/vg/lv 2 8 2
	check_data /dev/vg/lv 1 10 22
}

# The metadata dies, but the data on the SSD is sound. No change of tables may forget a
# dirty block.
#@ fast hearth-only timeout=150 on=by_hand slow=lvm
test_dead_metadata_survives_reload() {
	no_metadata_check
	"survives_$1"
}

# only_the_engine_knows: makes the cache c with dirty blocks and dead metadata. $table is its table.
only_the_engine_knows() {
	breakable_devices 16 32
	no_metadata_check
	write_data "$SLOW" 1 0 32
	by_hand c 128 writeback "default 2 writeback_idle 0"
	every_write_comes_in c
	warm c 4
	now SLOW failing_writes		# nothing goes home before the metadata is dead
	write_data /dev/mapper/c 2 8 2
	table=$(dmsetup table c)
	now META failing
	dirty_and_blind c
}

# The second target of a table does not resume, and the engine of the first one alone knows of
# dirty blocks. The next table has another mode. It is refused, because the first target runs
# until its table goes, and the engine must not go with that table.
#@ fast hearth-only timeout=90
test_refused_table_keeps_dirty_blocks() {
	local table
	only_the_engine_knows
	device META2 8 ram
	device FAST2 16 ram
	device SLOW2 32 ram
	zero "$META2" 1
	dmsetup create other --table "0 65536 cache $META2 $FAST2 $SLOW2 128 0 default 0"

	dmsetup load c <<<"$table"$'\n'"65536 65536 cache $META2 $FAST2 $SLOW2 128 1 writeback default 0"
	dmsetup suspend c
	refused 'in use by another active cache' dmsetup resume c
	dmsetup load c --table "${table/writeback/writethrough}"
	refused 'in use by another active cache' dmsetup resume c
	dmsetup resume c
	still_knows c
}

# A table of another device is refused, too, but the engine goes with its own device.
#@ fast hearth-only timeout=90
test_refused_table_of_another_device_keeps_nothing() {
	local table
	only_the_engine_knows
	dmsetup create twin --notable
	dmsetup load twin --table "${table/writeback/writethrough}"
	refused 'in use by another active cache' dmsetup resume twin
	timeout 20 dmsetup remove --retry c || fail "remove is stuck"
	refused 'etadata' dmsetup resume twin
}

# A drain runs while the metadata is dead. Then the metadata comes back with its old
# content. The blocks that it calls dirty go home again, and change nothing there.
#@ fast hearth-only timeout=150 on=resume slow=activation
test_drained_before_the_metadata_came_back() {
	breakable_devices 16 32
	no_metadata_check
	write_data "$SLOW" 1 0 32
	by_hand c 128 writeback "default 2 writeback_idle 0"
	warm c 4
	now SLOW failing_writes		# nothing goes home before the metadata is dead
	write_data /dev/mapper/c 2 8 2
	now META failing
	dirty_and_blind c
	now SLOW working
	drain_by_hand
	until_true 60 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 2 8 2
	write_data /dev/mapper/c 3 8 1	# to both devices
	check_data "$SLOW" 3 8 1
	must_fail dd if=/dev/zero of=/dev/mapper/c bs=64k count=1 oflag=direct

	"comes_back_at_$1"
	assert_eq "$(health c)" good
	drained_content /dev/mapper/c
	until_true 60 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	assert_ge "$(counter c writebacks)" 32 "blocks that went home again"
	drained_content "$SLOW"
	drained_content /dev/mapper/c
}

comes_back_at_resume() {
	now META working
	dmsetup suspend c
	dmsetup resume c
}

comes_back_at_activation() {
	timeout 20 dmsetup remove --retry c || fail "remove is stuck"
	now META working
	by_hand c 128 writethrough "cleaner 0"
}

drained_content() {
	check_data "$1" 1 0 8
	check_data "$1" 3 8 1
	check_data "$1" 2 9 1
	check_data "$1" 1 10 22
}

# The origin refuses writes for a while. Blocks stay dirty, and are written back later.
#@ slow hearth-only timeout=120
test_origin_fails_to_write() {
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 writeback 'cleaner 0'
	dmsetup suspend c
	dmsetup load c --table "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 1 writeback lru 0"
	dmsetup resume c
	every_write_comes_in c
	now SLOW failing_writes
	write_data /dev/mapper/c 2 0 2
	until_true 40 counter_at_least c origin_errors 1 || fail "the engine did not try to write back"
	assert_eq "$(stat_of c dirty)" 32
	timeout 20 dmsetup suspend c || fail "suspend is stuck"
	dmsetup resume c
	check_data /dev/mapper/c 2 0 2
	now SLOW working
	until_true 40 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 2 0 2
}

# A read that the origin fails ends with an error, and its block is not promoted.
#@ slow hearth-only timeout=90
test_origin_fails_to_read() {
	local promotions
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 writethrough
	now SLOW bad_at 16384
	promotions=$(stat_of c promotions)
	must_fail dd if=/dev/mapper/c of=/dev/null bs=4k skip=2048 count=1 iflag=direct
	dd if=/dev/mapper/c of=/dev/null bs=4k skip=2049 count=1 iflag=direct
	assert_eq "$(stat_of c promotions)" "$promotions" promotions
	check_data /dev/mapper/c 1 0 8
	assert_eq "$(health c)" good
	now SLOW working
	check_data /dev/mapper/c 1 0 32
}

# The SSD of an LVM volume dies. lvm2 reports it, and removes the cache.
#@ slow hearth-only timeout=150
test_lvm_dead_ssd() {
	ssd_of_lvm
	vgcreate -y vg "$DISK" "$SSD"
	LV_MIB=64 cached_lv pool writethrough
	write_data /dev/vg/lv 1 0 32
	warm vg-lv 8
	no_metadata_check
	dies pv_ssd
	check_data /dev/vg/lv 1 0 32
	write_data /dev/vg/lv 2 0 8
	check_data /dev/vg/lv 2 0 8
	check_data /dev/vg/lv 1 8 24
	assert_eq "$(stat_of vg-lv rw)" ro
	lvs -a -o+lv_health_status vg
	assert_match "$(field lv_health_status vg/lv)" 'partial|read_only' health
	lvconvert -y --uncache --force vg/lv
	check_data /dev/vg/lv 2 0 8
	check_data /dev/vg/lv 1 8 24
}
