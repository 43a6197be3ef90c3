# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# How much a promotion reads: bytes read from the origin for each promoted byte, while 4
# KiB random reads fill an empty cache.

bench_fill() {
	local engine before
	disk 65536
	device META 16 20000ns
	MEMORY_BACKED=0 device FAST 256 20000ns
	SLOW=$DISK
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		empty_cache "$engine" writethrough
		before=$(sectors_read "$SLOW")
		job "fill-$engine" /dev/mapper/c --rw=randread --size=8g --iodepth=4 \
			--number_ios=2000
		sleep 2
		read_status c
		figure "fill-$engine-promoted" $((ST[promotions] * 128))
		figure "fill-$engine-read" $(($(sectors_read "$SLOW") - before))
		dmsetup remove c
	done
}
