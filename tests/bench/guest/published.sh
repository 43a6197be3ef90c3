# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The fio jobs of tests/bench/published/ on the disk alone and on caches of it. Each
# engine's cache is new before the first job. Sizes are relative to the SSD's. With
# BENCH_QUICK the section runs only the one-pass reads, because the other figures need a
# run without a cache.

PUB_MIB=256
PUB_JOBS="hdparm-sequential hdparm-cached dd-1m dd-512 ioping sysbench-rndrw
	sysbench-rndwr-fsync oltp-4 oltp-8 oltp-16 oltp-64 flashcache-quarter
	flashcache-half flashcache-full flashcache-twice"

# published_job STACK NAME DEVICE [RESULT]: holds the device open, because the kernel
# drops its page cache when the last user closes it, and fio closes it between loops.
published_job() {
	DEV=$3 QUARTER=$((PUB_MIB / 4)) HALF=$((PUB_MIB / 2)) FULL=$PUB_MIB \
		TWICE=$((PUB_MIB * 2)) fio --output-format=json \
		--output="$OUT/published-$1-${4:-$2}.json" \
		"$HEARTH_TOP/tests/bench/published/$2.fio" 9<"$3" || fail "$1 $2"
}

published_jobs() {
	local name
	published_job "$1" cachecade-cold "$2"
	published_job "$1" cachecade-warm "$2"
	for name in $PUB_JOBS; do
		published_job "$1" "$name" "$2"
	done
}

published_cached() {
	empty_cache "$1" writeback
	published_jobs "$1" /dev/mapper/c
	dmsetup remove c
}

# The cache holds the second half of the set when the pass begins.
published_onepass() {
	local size hits misses
	for size in block 4k; do
		seq $((PUB_MIB * 16)) $((PUB_MIB * 32 - 1)) >"$T/blocks"
		cache_with "$1" writeback $((PUB_MIB * 16)) <"$T/blocks"
		sleep 5
		# udev's reads do not count for the pass.
		hits=$(stat_of c read_hits) misses=$(stat_of c read_misses)
		published_job "$1" onepass-$size /dev/mapper/c
		figure "onepass-$1-$size" "$(awk -v h=$((ST[read_hits] - hits)) \
			-v m=$((ST[read_misses] - misses)) \
			'BEGIN { print h / (h + m) }')"
		dmsetup remove c
	done
}

bench_published() {
	local engine
	disk 65536
	device META 16 20000ns
	MEMORY_BACKED=0 device FAST $PUB_MIB 20000ns
	SLOW=$DISK
	[ -n "${BENCH_QUICK:-}" ] || published_jobs uncached "$DISK"
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		[ -n "${BENCH_QUICK:-}" ] || published_cached "$engine"
		published_onepass "$engine"
	done
}
