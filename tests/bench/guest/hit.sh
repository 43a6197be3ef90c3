# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The cost of a layer for an I/O that it only passes on. A device-mapper linear layer
# lies between every cache and its devices, as with lvm2. The working set is resident
# before a job is measured, and needs no evictions.

HIT_SLOTS=4096		# of 64 KiB
HIT_MIB=192		# MiB of blocks in use
HIT_DIRTY_MIB=32	# few enough that no engine writes them back

hit_devices() {
	device META 16 ram
	device SSD 320 20000ns
	device SLOWSSD 1024 20000ns
	linear fast "$SSD" $((HIT_SLOTS * 128))
	linear slow "$SLOWSSD" $((1024 * 2048))
	FAST=/dev/mapper/fast SLOW=/dev/mapper/slow
	# The first write to a page of null_blk allocates it.
	fio_quiet --filename="$SSD" --rw=write --bs=1M
	fio_quiet --filename="$SLOWSSD" --rw=write --bs=1M
}

# hit_jobs NAME DEVICE OFFSET_MIB MIB RW...: before writes are measured, another job
# makes their range dirty.
hit_jobs() {
	local name=$1 dev=$2 rw
	local range=(--offset="$3M" --size="$4M") before
	shift 4
	for rw; do
		before=()
		[ "$rw" = read ] || before=(--name=before --rw=write --bs=64k --iodepth=8)
		job "hit-$name-$rw-aio-16" "$dev" "${range[@]}" "${before[@]}" \
			--name=j --stonewall --bs=4k --rw="rand$rw" --iodepth=16 \
			--io_size=$((BENCH_IOS * 4))k
		[ "${BENCH_QUICK:-}" != 1 ] || continue
		job "hit-$name-$rw-aio-1" "$dev" "${range[@]}" "${before[@]}" \
			--name=j --stonewall --bs=4k --rw="rand$rw" --iodepth=1 \
			--io_size=$((BENCH_IOS * 2))k
		job "hit-$name-$rw-uring-16" "$dev" "${range[@]}" --ioengine=io_uring \
			"${before[@]}" --name=j --stonewall --bs=4k --rw="rand$rw" \
			--iodepth=16 --io_size=$((BENCH_IOS * 4))k
	done
}

# hit_cache ENGINE MODE: makes a cache that holds the first blocks of SLOW.
hit_cache() {
	seq 0 $((HIT_MIB * 16 - 1)) >"$T/blocks"
	cache_with "$1" "$2" $HIT_SLOTS <"$T/blocks"
	sleep 5
}

hit_writeback() {
	local engine=$1 c=/dev/mapper/c
	hit_cache "$engine" writeback
	hit_jobs "$engine" $c 0 $HIT_MIB read
	hit_jobs "$engine" $c 0 $HIT_DIRTY_MIB write
	# No miss is promoted, so the job measures the decision alone.
	[ "$engine" = stock ] || dmsetup message c 0 mode writeonly
	hit_jobs "$engine-miss" $c 300 600 read
	dmsetup remove c
}

hit_writethrough() {
	local engine=$1 c=/dev/mapper/c
	hit_cache "$engine" writethrough
	hit_jobs "$engine-wt" $c 0 $HIT_DIRTY_MIB write
	dmsetup remove c
}

# dm-writecache holds only what was written, so its read hits are reads of that.
hit_writecache() {
	make_writecache
	hit_jobs writecache /dev/mapper/c 0 $HIT_DIRTY_MIB write read
	remove_writecache
}

# bcache's read hits are reads of data that was read twice before.
hit_bcache() {
	make_bcache
	read_all /dev/bcache0 $HIT_MIB
	read_all /dev/bcache0 $HIT_MIB
	hit_jobs bcache /dev/bcache0 0 $HIT_MIB read
	hit_jobs bcache /dev/bcache0 0 $HIT_DIRTY_MIB write
	cat /sys/block/bcache0/bcache/stats_total/cache_hit_ratio
	remove_bcache
}

bench_hit() {
	local engine
	hit_devices
	hit_jobs ssd "$SSD" 0 $HIT_MIB read write
	hit_jobs linear $FAST 0 $HIT_MIB read write
	if [ -z "${BENCH_ENGINES:-}" ]; then
		hit_writecache
		hit_bcache
	fi
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		hit_writeback "$engine"
		hit_writethrough "$engine"
	done
}
