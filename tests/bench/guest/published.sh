# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The fio jobs of tests/bench/published/ on the disk alone, on the SSD alone where a
# source compares with it, and on caches of the disk. Each job has a new cache. hearth
# runs each job again on a cache that is full of other data. Sizes are relative to the
# SSD's. With BENCH_QUICK the section runs only the one-pass reads, because the other
# figures need a run without a cache. BENCH_ROWS chooses jobs by name; onepass is one.

PUB_MIB=256	# of the SSD
# hdparm and dd pass over more than 256 MiB, and their sources' caches had room for it.
PUB_BIG_MIB=1024
PUB_BIG="hdparm-sequential hdparm-cached dd-1m"
# A job, and those that run after it on the same cache. A job that comes again has the
# results NAME-again and NAME-third.
PUB_JOBS=(
	"hdparm-sequential hdparm-sequential hdparm-sequential"
	"hdparm-cached"
	"dd-1m dd-1m-read"
	"dd-512"
	"ioping ioping"
	"sysbench-rndrw"
	"sysbench-rndwr-fsync"
	"oltp-4" "oltp-8" "oltp-16" "oltp-64"
	"cachecade-cold cachecade-warm"
	"cachecade-write"
	"flashcache-quarter" "flashcache-half" "flashcache-full" "flashcache-twice"
	"line-quarter-write line-quarter-read line-quarter-read"
	"line-half-write line-half-read line-half-read"
	"line-full-write line-full-read line-full-read"
	"line-twice-write line-twice-read line-twice-read"
)

# MiB of a sequential job's set. A full cache has less data than the SSD, because the ring
# of a write log lies beside them.
declare -A PUB_LINES=([quarter]=$((PUB_MIB / 4)) [half]=$((PUB_MIB / 2))
	[full]=$((PUB_MIB * 15 / 16)) [twice]=$((PUB_MIB * 2)))

# published_job STACK NAME DEVICE [RESULT]: holds the device open, because the kernel
# drops its page cache when the last user closes it, and fio closes it between loops.
# line-SIZE-read and line-SIZE-write are line-read and line-write over that size.
published_job() {
	local file=$2 size=
	if [[ $2 = line-* ]]; then
		file=line-${2##*-} size=${2#line-}
		size=${PUB_LINES[${size%-*}]}
	fi
	DEV=$3 SIZE=$size QUARTER=$((PUB_MIB / 4)) HALF=$((PUB_MIB / 2)) FULL=$PUB_MIB \
		TWICE=$((PUB_MIB * 2)) fio --output-format=json \
		--output="$OUT/published-$1-${4:-$2}.json" \
		"$HEARTH_TOP/tests/bench/published/$file.fio" 9<"$3" || fail "$1 $2"
}

# published_group STACK DEVICE NAME...: the jobs one after the other.
published_group() {
	local stack=$1 dev=$2 name
	local -A runs=()
	local -a suffix=("" -again -third)
	shift 2
	for name in "$@"; do
		published_job "$stack" "$name" "$dev" "$name${suffix[${runs[$name]:-0}]}"
		runs[$name]=$((${runs[$name]:-0} + 1))
	done
}

# published_cache ENGINE FAST [full]: makes c. With "full", blocks that no job uses are in
# all of its slots.
published_cache() {
	local slots
	FAST=$2
	slots=$(($(sectors "$FAST") / 128))
	if [ -n "${3:-}" ]; then
		# The jobs use the first 8 GiB.
		seq $((1 << 18)) $(((1 << 18) + slots - 1)) >"$T/blocks"
		cache_with "$1" writeback $slots <"$T/blocks"
	else
		empty_cache "$1" writeback
	fi
	# as "hearth set mode=writeback" does
	[ "$1" = stock ] || absorbs 1
}

published_cached() {
	local engine=$1 group=$2 fast=$3 stack
	for stack in "$engine" "$engine-full"; do
		[ "$stack" != stock-full ] || continue
		# shellcheck disable=SC2046
		published_cache "$engine" "$fast" $([ "$stack" = "$engine" ] || echo full)
		# shellcheck disable=SC2086
		published_group "$stack" /dev/mapper/c $group
		# for a reader who asks why
		[ "$stack" = stock ] || dmsetup message c 0 stats >"$OUT/published-$stack-${group%% *}.stats"
		dmsetup remove c
	done
}

# published_all GROUP: on every stack.
published_all() {
	local group=$1 fast=$SMALL engine
	[[ " $PUB_BIG " != *" ${group%% *} "* ]] || fast=$BIG
	# shellcheck disable=SC2086
	published_group uncached "$DISK" $group
	# shellcheck disable=SC2086
	[[ $group != line-* || $group = line-twice* ]] || published_group ssd "$fast" $group
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		published_cached "$engine" "$group" "$fast"
	done
}

# The cache holds the second half of the set when the pass begins.
published_onepass() {
	local size hits misses
	FAST=$SMALL
	for size in block 4k; do
		seq $((PUB_MIB * 16)) $((PUB_MIB * 32 - 1)) >"$T/blocks"
		cache_with "$1" writeback $((PUB_MIB * 16)) <"$T/blocks"
		sleep 5
		# udev's reads do not count for the pass.
		read_status c
		hits=${ST[read_hits]} misses=${ST[read_misses]}
		published_job "$1" onepass-$size /dev/mapper/c
		read_status c
		figure "onepass-$1-$size" "$(awk -v h=$((ST[read_hits] - hits)) \
			-v m=$((ST[read_misses] - misses)) \
			'BEGIN { print h / (h + m) }')"
		dmsetup remove c
	done
}

bench_published() {
	local engine group
	# shellcheck source=tests/bench/guest/stacks.sh
	. "$HEARTH_TOP/tests/bench/guest/stacks.sh"
	disk 65536
	device META 16 20000ns
	MEMORY_BACKED=0 device SMALL $PUB_MIB 20000ns
	MEMORY_BACKED=0 device BIG $PUB_BIG_MIB 20000ns
	SLOW=$DISK
	for group in "${PUB_JOBS[@]}"; do
		[ -z "${BENCH_QUICK:-}" ] || break
		# shellcheck disable=SC2086
		! wanted $group || published_all "$group"
	done
	wanted onepass || return 0
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		published_onepass "$engine"
	done
}
