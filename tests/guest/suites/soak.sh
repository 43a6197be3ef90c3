# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Soak: checked load of all kinds runs on a volume that lvm2 caches. Meanwhile the test
# makes every change that an administrator may make, in random order, for
# HEARTH_MINUTES. No step may fail or hang, no data may be wrong, and memory use must
# not grow.

# The volume, in MiB: a region for each writer, a region that is written once, a region
# for discards, and the part by which the volume grows and shrinks.
WRITERS=4
REGION=24
STEADY=$((WRITERS * REGION))
DISCARDS=$((STEADY + 16))
BASE=$((DISCARDS + 32))
MOST=$((BASE + 32))
POLICIES=(smq smq default lru nhit mq cleaner)

# How much more memory the kernel may hold at the end, in KiB: for the same volume in
# the same state, and after the volume was removed.
MAY_GROW=4096
MAY_LEAK=2048

# pick WORD...: sets PICKED. It does not print, because a subshell's RANDOM has no seed.
pick() {
	local from=("$@")
	PICKED=${from[RANDOM % $#]}
}

steady() {
	check_data /dev/vg/lv 1 $STEADY $((DISCARDS - STEADY))
}

soak_volume() {
	device DISK 320 disk
	device SSD 96 ssd
	fill_device "$DISK"
	fill_device "$SSD"
	vgcreate -y vg "$DISK" "$SSD"
	LV_MIB=$BASE CACHE_MIB=48 cached_lv pool writeback
	write_data /dev/vg/lv 1 $STEADY $((DISCARDS - STEADY))
	rm -f "$T"/{stop,pause,failed,idle.*,writer.*}
}

# --- load ---------------------------------------------------------------------

# one_load N: writes a region once, and checks it during the writing or afterwards.
one_load() {
	local n=$1 options=("--randseed=$((RANDOM * 32768 + RANDOM))")
	pick write randwrite randwrite randrw rw && options+=("--rw=$PICKED")
	pick bs=4k bs=16k bs=64k bs=1M bsrange=4k-64k bsrange=4k-1M && options+=("--$PICKED")
	pick 1 4 16 32 && options+=("--iodepth=$PICKED")
	pick 0 0 1 64 && options+=("--fsync=$PICKED")
	pick 0 0 32 && options+=("--verify_backlog=$PICKED")
	echo "${options[*]}" >>"$T/writer.$n"
	fio --name="writer$n" --filename=/dev/vg/lv --direct=1 --ioengine=libaio --thread \
		--offset=$((n * REGION))M --size=${REGION}M --verify=crc32c --verify_fatal=1 \
		--verify_state_save=0 --output="$T/fio.$n" "${options[@]}"
}

# writer N: writes until $T/stop exists, and pauses while $T/pause exists.
writer() {
	local n=$1
	set +x
	RANDOM=$((${HEARTH_SEED:-1} * 100 + n))
	while [ ! -e "$T/stop" ]; do
		if [ -e "$T/pause" ]; then
			touch "$T/idle.$n"
			sleep 0.5
			continue
		fi
		rm -f "$T/idle.$n"
		if ! one_load "$n"; then
			touch "$T/failed"
			return 1
		fi
	done
}

writers_start() {
	local n
	for ((n = 0; n < WRITERS; n++)); do
		writer "$n" &
	done
}

all_idle() {
	[ -e "$T/failed" ] || [ "$(find "$T" -name 'idle.*' | wc -l)" = $WRITERS ]
}

no_failure() {
	[ -e "$T/failed" ] || return 0
	cat "$T"/fio.*
	fail "a writer found wrong data or an error"
}

# --- administration -----------------------------------------------------------

# run COMMAND...: each step ends well within two minutes under any load.
run() {
	timeout 360 "$@" || fail "soak: $*"
}

step_cachemode() {
	pick writethrough writeback writeback
	run lvchange -y --cachemode "$PICKED" vg/lv
}

# lvm2 loads writethrough for every mode as long as the policy is cleaner.
is_writethrough() {
	dmsetup table vg-lv | any_line ' writethrough '
}

step_passthrough() {
	run lvchange -y --cachepolicy smq vg/lv
	run lvchange -y --cachemode passthrough vg/lv
	run dmsetup message vg-lv 0 invalidate_cblocks $((RANDOM % 100)) 200-$((201 + RANDOM % 300))
	run lvchange -y --cachemode writeback vg/lv
}

step_own_mode() {
	local own=writeonly
	if is_writethrough; then own=writearound; fi
	pick $own $own table
	run dmsetup message vg-lv 0 mode "$PICKED"
}

step_cachepolicy() {
	pick "${POLICIES[@]}"
	run lvchange -y --cachepolicy "$PICKED" vg/lv
}

step_cachesettings() {
	run lvchange -y --cachesettings "migration_threshold=$((2048 * (1 + RANDOM % 8)))" vg/lv
}

step_message() {
	pick migration_threshold max_intents
	run dmsetup message vg-lv 0 "$PICKED" $((128 + RANDOM))
	pick 10 50 100
	run dmsetup message vg-lv 0 max_promote_share "$PICKED"
}

step_suspend() {
	pick --noflush --nolockfs --
	run dmsetup suspend "$PICKED" vg-lv
	run dmsetup resume vg-lv
}

step_status() {
	pick --noflush --
	run dmsetup status "$PICKED" vg-lv
	run dmsetup message vg-lv 0 stats >/dev/null
	run lvs -a -o+cache_dirty_blocks,cache_used_blocks,kernel_cache_policy
	steady
}

step_size() {
	local now
	now=$(($(sectors /dev/vg/lv) / 2048))
	if [ $((now + 8)) -le $MOST ]; then
		run lvextend -L +8M vg/lv "$DISK"
	else
		run lvreduce -f -y -L ${BASE}M vg/lv
	fi
}

# step_discard: discards whole blocks and parts of blocks, of data that was just written
# and of other data.
step_discard() {
	local seed=$RANDOM at=$((DISCARDS * 1048576 + RANDOM % 4096 * 512))
	write_data /dev/vg/lv $seed $DISCARDS 8
	run blkdiscard -o $((at + 4194304)) -l $((1048576 * (1 + RANDOM % 20))) /dev/vg/lv
	check_data /dev/vg/lv $seed $DISCARDS 4
}

step_snapshot() {
	run lvcreate -s -y -n snap -L 16M vg/lv "$DISK"
	sleep $((RANDOM % 3))
	run lvremove -y vg/snap
}

step_split() {
	run lvconvert -y --splitcache vg/lv
	steady
	run lvconvert -y --type cache --cachepool vg/fast --cachemode writeback vg/lv
}

STEPS=(cachemode cachemode cachepolicy cachepolicy cachesettings message message
	suspend suspend status size size discard discard own_mode own_mode
	snapshot passthrough split)

# administer UNTIL: counts its steps in DID.
administer() {
	local step
	while [ $SECONDS -lt "$1" ]; do
		pick "${STEPS[@]}"
		step=$PICKED
		"step_$step"
		DID[$step]=$((${DID[$step]:-0} + 1))
		no_failure
		sleep $((RANDOM % 3))
	done
}

# --- memory -------------------------------------------------------------------

where_memory_is() {
	grep -E '^(MemFree|MemAvailable|Buffers|Cached|AnonPages|Shmem|SReclaimable|SUnreclaim|PageTables|Percpu|VmallocUsed):' \
		/proc/meminfo | tr -s ' \n' ' ' | tee -a "$T/figures"
	echo | tee -a "$T/figures"
}

# objects: prints how much memory each kind of object takes, in KiB.
objects() {
	awk 'NR > 2 { print $1, $6 * $15 * 4 }' /proc/slabinfo | sort
}

# objects_grown FILE: prints the kinds of object that take more than FILE says.
objects_grown() {
	objects | join "$1" - | awk '$3 - $2 >= 64 { print $1 " " $3 - $2 " KiB" }' | paste -sd, |
		sed 's/^/objects that take more: /' | tee -a "$T/figures"
}

# measure: stops the load, brings the volume to the same state each time, and sets HELD
# to the memory in use, in KiB.
measure() {
	touch "$T/pause"
	until_true 600 all_idle || fail "a writer hangs"
	no_failure
	run lvchange -y --cachemode writeback vg/lv
	run lvchange -y --cachepolicy smq vg/lv
	[ "$(sectors /dev/vg/lv)" = $((MOST * 2048)) ] || run lvextend -L ${MOST}M vg/lv "$DISK"
	# writes the range again, because discards freed memory of the devices
	write_data /dev/vg/lv 9 $DISCARDS $((MOST - DISCARDS))
	HELD=$(memory_held)
	echo "held $HELD KiB after $SECONDS s; steps: $(declare -p DID)" | tee -a "$T/figures"
	where_memory_is
	rm "$T"/pause "$T"/idle.*
}

# --- the whole ----------------------------------------------------------------

# soak_over: removes everything, and runs cache_check on the metadata that the cache
# leaves.
soak_over() {
	touch "$T/stop"
	wait
	no_failure
	steady
	awk '{ printf "read %d MiB, written %d MiB\n", $3 / 2048, $7 / 2048 }' \
		"/sys/block/$(basename "$(readlink -f /dev/vg/lv)")/stat" | tee -a "$T/figures"
	remove_all_devices pass
	[ ! -e "$T/bad-metadata" ] || fail "cache_check does not accept the metadata"
	remove_nullb
}

# load_modules: loads the modules that stay in memory once they were used.
load_modules() {
	modprobe -a dm-snapshot dm-cache-lru dm-cache-nhit dm-cache-cleaner
}

# soak SECONDS: measures memory after each fifth of the time, first when the cache is
# warm.
soak() {
	local i before began first kept
	declare -gA DID=()
	RANDOM=${HEARTH_SEED:-1}
	load_modules
	soak_volume
	writers_start
	administer $((SECONDS + 60))
	soak_over
	before=$(memory_held)
	objects >"$T/objects"
	where_memory_is

	DID=()
	soak_volume
	writers_start
	began=$SECONDS
	for i in 1 2 3 4 5; do
		administer $((began + $1 * i / 5))
		measure
		[ "$i" != 1 ] || first=$HELD
	done
	assert_le $((HELD - first)) $MAY_GROW "KiB more held than when warm"
	soak_over
	kept=$(($(memory_held) - before))
	where_memory_is
	objects_grown "$T/objects"
	echo "kept after removal: $kept KiB" | tee -a "$T/figures"
	wc -l "$T"/writer.*
	cat "$T/figures"
	assert_le $kept $MAY_LEAK "KiB kept by what is gone"
}

#@ smp hearth-only slow minutes timeout=600
test_soak() {
	soak $((HEARTH_MINUTES * 60))
}
