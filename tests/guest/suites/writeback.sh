# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# When the engine writes dirty blocks back before it has to, and how many blocks may be
# dirty.

# keeping_cache [BLOCKS]: makes a cache of 256 blocks that writes nothing back while
# idle, and that holds at least BLOCKS (180) blocks of the first 12 MiB.
keeping_cache() {
	by_hand_devices 16 64
	by_hand c 128 "metadata2 writeback" "default 0"
	stays_dirty c
	warm c 12 "${1:-180}"
}

# shellcheck disable=SC2154
percent_dirty() {
	read_status c
	echo $((ST[dirty] * 100 / ST[total]))
}

dirty_at_most() {
	[ "$(stat_of c dirty)" -le "$1" ]
}

# right_everywhere SEED OFFSET_MIB MIB: the data is right in the cache and, once that is
# clean, on the origin.
right_everywhere() {
	check_data /dev/mapper/c "$@"
	message c writeback_idle 1
	until_true 60 all_clean c
	dmsetup remove c
	check_data "$SLOW" "$@"
}

#@ fast hearth-only timeout=120
test_idle_volumes_are_written_back() {
	keeping_cache
	write_data /dev/mapper/c 1 0 4
	sleep 5
	assert_ge "$(stat_of c dirty)" 60 "dirty after 5 s with writeback_idle 0"
	right_everywhere 1 0 4
}

#@ slow hearth-only timeout=120
test_write_back_between_watermarks() {
	keeping_cache
	message c dirty_high 40
	message c dirty_low 10
	write_data /dev/mapper/c 1 0 6
	sleep 4
	assert_ge "$(percent_dirty)" 35 "percent dirty below dirty_high"
	write_data /dev/mapper/c 1 6 4
	until_true 60 dirty_at_most 26
	sleep 4
	assert_ge "$(stat_of c dirty)" 13 "dirty at dirty_low"
	right_everywhere 1 0 10
}

# pieces FIRST NR KIB LENGTH_KIB: writes LENGTH_KIB at KIB of each of NR blocks of 64
# KiB, from block FIRST on, and writes the same to $T/reference.
pieces() {
	local i
	for ((i = $1; i < $1 + $2; i++)); do
		dd if=/dev/urandom of="$T/piece" bs=1k count="$4" status=none
		dd if="$T/piece" of=/dev/mapper/c bs="$4k" oflag=direct,seek_bytes \
			seek=$(((i * 64 + $3) * 1024)) status=none
		dd if="$T/piece" of="$T/reference" bs=1k seek=$((i * 64 + $3)) \
			conv=notrunc status=none
	done
}

# goes_home: lets the engine write all dirty blocks back, and sets GOES_HOME to the
# number of sectors that this writes to the origin.
goes_home() {
	local before
	before=$(sectors_written "$SLOW")
	message c writeback_idle 1
	until_true 60 all_clean c || fail "the cache is still dirty"
	message c writeback_idle 0
	GOES_HOME=$(($(sectors_written "$SLOW") - before))
}

#@ fast hearth-only timeout=120
test_only_what_was_written_goes_home() {
	keeping_cache 192
	write_data /dev/mapper/c 1 0 12
	goes_home
	assert_eq $GOES_HOME $((12 * 2048)) "sectors of whole blocks"
	dd if=/dev/mapper/c of="$T/reference" bs=1M count=12 iflag=direct status=none

	# The test writes to one quarter of each block, then to two. Then it writes to
	# the first and the third, and the engine writes the second back as well.
	pieces 0 20 20 4
	goes_home
	assert_eq $GOES_HOME $((20 * 32)) "sectors of quarters"
	pieces 20 20 12 8
	goes_home
	assert_eq $GOES_HOME $((20 * 64)) "sectors of two quarters"
	pieces 40 20 0 4
	pieces 40 20 44 4
	goes_home
	assert_eq $GOES_HOME $((20 * 96)) "sectors of three quarters"

	# A restart loses which quarters of a block were written.
	pieces 60 20 60 4
	dmsetup remove c
	by_hand c 128 "metadata2 writeback" "default 0"
	assert_eq "$(stat_of c dirty)" 20 dirty
	goes_home
	assert_eq $GOES_HOME $((20 * 128)) "sectors after another start"
	dmsetup remove c
	cmp -n $((12 << 20)) "$T/reference" "$SLOW"
}

#@ fast hearth-only timeout=120
test_dirty_limit_holds() {
	keeping_cache
	message c dirty_limit 25
	# The load writes resident blocks in random order, and then blocks that are not
	# resident.
	RW=randwrite write_data /dev/mapper/c 1 0 12
	assert_le "$(percent_dirty)" 30 "percent dirty of resident blocks"
	assert_ge "$(counter c invalidations)" 30 "blocks that made way for a write"
	write_data /dev/mapper/c 1 12 12
	assert_le "$(percent_dirty)" 30 "percent dirty"
	assert_ge "$(counter c bypass_dirty)" 30 "writes that were not promoted"
	check_data /dev/mapper/c 1 0 24
	message c dirty_limit 100
	write_data /dev/mapper/c 2 0 6
	right_everywhere 2 0 6
}

# all_dirty NAME: writes the first 32 MiB of the cache NAME, until all of it is cached and
# dirty.
all_dirty() {
	stays_dirty "$1"
	every_write_comes_in "$1"
	fio --name=dirty --filename="/dev/mapper/$1" --direct=1 --rw=randwrite --bs=64k \
		--size=32M --ioengine=libaio --iodepth=16 --output="$T/dirty.out"
	assert_ge "$(stat_of "$1" dirty)" 500 "dirty blocks"
	message "$1" max_promote_share 50	# as it was
}

# writers NAME SIZE: starts four writers at depth 16 on the first SIZE of the cache NAME, as
# LOAD.
writers() {
	fio --name=w --filename="/dev/mapper/$1" --direct=1 --ioengine=libaio --iodepth=16 \
		--thread --numjobs=4 --rw=randwrite --bs=4k --size="$2" --time_based --runtime=300 \
		--output="$T/load.out" &
	LOAD=$!
	sleep 1
}

# becomes_mode "FEATURES" "POLICY": another table for c, with I/O under way.
becomes_mode() {
	# shellcheck disable=SC2086
	set -- "$2" $1
	dmsetup reload c --table "$(dmsetup table c | cut -d' ' -f1-7) $(($# - 1)) ${*:2} $1"
	dmsetup resume c
}

# timed COMMAND...: sets TOOK to the milliseconds that the command takes.
timed() {
	local began
	began=$(date +%s%3N)
	"$@"
	TOOK=$(($(date +%s%3N) - began))
}

# switch_to_cleaner: as lvchange --cachemode writethrough does it.
switch_to_cleaner() {
	becomes_mode "metadata2 writethrough" "cleaner 0"
	until_true 200 all_clean c || fail "not clean: $(stat_of c dirty) blocks"
}

# drains_beside_writers NAME BACK DRAIN SIZE: the command BACK brings write-back back, DRAIN
# drains. DRAIN takes at most ten seconds longer beside four writers.
drains_beside_writers() {
	local alone
	all_dirty "$1"
	timed "$3"
	alone=$TOOK
	"$2"
	all_dirty "$1"
	writers "$1" "$4"
	timed "$3"
	echo "alone $alone ms, beside writers $TOOK ms"
	kill "$LOAD"
	wait "$LOAD" || true
	assert_le "$TOOK" $((alone + 10000)) "milliseconds beside writers, $alone alone"
}

back_by_hand() {
	becomes_mode "metadata2 writeback" "default 4 seq_cutoff 0 full_write_level 0"
}

# A drain that the administrator asked for does not starve behind the users.
#@ hearth-only slow timeout=400
test_drain_beside_writers() {
	device META 8 ram
	device FAST 64 ssd
	device SLOW 128 slow-disk
	zero "$META" 1
	by_hand c 128 "metadata2 writeback" "default 4 seq_cutoff 0 full_write_level 0"
	drains_beside_writers c back_by_hand switch_to_cleaner 128M
}

back_by_lvchange() {
	lvchange -y --cachemode writeback vg/lv
}

drain_by_lvchange() {
	lvchange -y --cachemode writethrough vg/lv
	assert_eq "$(stat_of vg-lv dirty)" 0 "dirty blocks"
}

# The same with lvm2, which asks twice a second whether the cache is clean, and then loads
# the table of the new mode. It takes a while to begin. So the writers write to blocks
# that are dirty already, because each further one would make the drain longer.
#@ hearth-only slow timeout=400
test_lvchange_drains_beside_writers() {
	device DISK 160 slow-disk
	device SSD 96 ssd
	vgcreate -y vg "$DISK" "$SSD"
	CACHE_MIB=64 cached_lv pool writeback
	drains_beside_writers vg-lv back_by_lvchange drain_by_lvchange 32M
}
