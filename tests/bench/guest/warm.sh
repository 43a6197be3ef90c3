# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# Warming up on the disk: a reader reads a set of twice the cache's size, zipf(1.1),
# until the hit ratio is steady, and then another set.

WARM_SLOTS=4096		# of 64 KiB
WARM_SECONDS=${WARM_SECONDS:-120}

# warm_watch: logs hits and misses about four times a second while the reader runs.
warm_watch() {
	while kill -0 "$1" 2>/dev/null; do
		read_status c
		echo "$(now) ${ST[read_hits]} ${ST[read_misses]}"
		sleep .25
	done >"$2"
}

# warm_set ENGINE NAME OFFSET
warm_set() {
	job "warm-$1-$2" /dev/mapper/c --rw=randread --random_distribution=zipf:1.1 \
		--offset="$3" --size=$((WARM_SLOTS * 2 / 16))M --iodepth=8 \
		--time_based --runtime="$WARM_SECONDS" &
	warm_watch $! "$OUT/warm-$1-$2.samples"
	wait $!
}

bench_warm() {
	local engine
	disk 65536
	device META 16 20000ns
	MEMORY_BACKED=0 device FAST $((WARM_SLOTS / 16)) 20000ns
	SLOW=$DISK
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		empty_cache "$engine" writeback
		warm_set "$engine" first 0
		warm_set "$engine" moved 32g
		dmsetup remove c
	done
}
