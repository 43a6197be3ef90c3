# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# Metadata traffic of 1,000 random 4 KiB writes with an fsync after each: to resident
# clean blocks, to dirty ones, and to blocks that are not resident. Both devices have a
# write cache, which has to be flushed.

# fsync_writes ENGINE NAME OFFSET_MIB MIB
fsync_writes() {
	counted_job "fsync-$1-$2" /dev/mapper/c --rw=randwrite --offset="$3M" --size="$4M" \
		--iodepth=1 --fsync=1 --number_ios=1000
}

bench_fsync() {
	local engine
	WRITE_CACHE=1 device META 16 20000ns
	WRITE_CACHE=1 device FAST 400 20000ns
	MEMORY_BACKED=0 device SLOW 4096 100000ns
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		seq 0 4095 >"$T/blocks"
		cache_with "$engine" writeback 6000 <"$T/blocks"
		sleep 5
		fsync_writes "$engine" clean 0 192
		fio_quiet --filename=/dev/mapper/c --rw=write --bs=64k --offset=200m --size=32m
		fsync_writes "$engine" dirty 200 32
		fsync_writes "$engine" miss 1024 2048
		dmsetup remove c
	done
}
