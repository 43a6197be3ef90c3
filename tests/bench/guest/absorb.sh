# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# Small writes that miss: on the SSD alone, and on empty writeback caches of the same
# devices. Every engine has the same linear layers below it. hearth absorbs, if the
# engine can. BENCH_ROWS chooses some of the rows: those of ABSORB_ROWS, four, zipf, home
# and tree.
#
# Neither the disk nor the first SSD keeps data, because the transfers of real devices
# cost the CPU nothing. Only their heads do, for the superblocks. The rows with an fsync
# have the peers' SSD, which has to be flushed. null_blk has a write cache, too, but copies
# what is in it, and hands each flush and each write with FUA to another task.

ABSORB_MIB=256		# of the SSD
ABSORB_ROWS="depth-1 depth-16 twice whole-8 whole-32 line-512 line-4k
	fsync-1 fsync-16 line-512-fsync line-4k-fsync"

# A slow engine's job ends after so many seconds (--runtime). line-512-fsync ends after
# 3,000 writes, because bcache stood still for 28 s after 3,962 of them.
declare -A ABSORB_JOBS=(
	[depth-1]="--rw=randwrite --size=128m --iodepth=1 --number_ios=20000 --runtime=20"
	[depth-16]="--rw=randwrite --size=128m --iodepth=16 --number_ios=20000 --runtime=20"
	[twice]="--rw=randwrite --size=512m --iodepth=16 --number_ios=100000 --runtime=60"
	[whole-8]="--rw=randwrite --bs=64k --size=256m --iodepth=8 --number_ios=2000 --runtime=10"
	[whole-32]="--rw=randwrite --bs=64k --size=256m --iodepth=32 --number_ios=2000 --runtime=10"
	[line-512]="--rw=write --bs=512 --size=8m --iodepth=1 --runtime=10"
	[line-4k]="--rw=write --size=64m --iodepth=1 --runtime=10"
	[fsync-1]="--rw=randwrite --size=128m --iodepth=1 --fsync=1 --number_ios=5000 --runtime=20"
	[fsync-16]="--rw=randwrite --size=128m --iodepth=1 --fsync=1 --number_ios=500 --runtime=20
		--numjobs=16 --group_reporting"
	[line-512-fsync]="--rw=write --bs=512 --size=1500k --iodepth=1 --fsync=1 --runtime=10"
	[line-4k-fsync]="--rw=write --size=16m --iodepth=1 --fsync=1 --runtime=10"
)

absorb_devices() {
	far_disk

	device PLAIN_META 16 20000ns
	device PLAIN_HEAD 2 20000ns
	MEMORY_BACKED=0 device PLAIN_SSD $ABSORB_MIB 20000ns
	with_head plain "$PLAIN_HEAD" "$PLAIN_SSD"

	WRITE_CACHE=1 device FLUSHED_META 16 20000ns
	ssd $ABSORB_MIB 2
	FLUSHED_SSD=$SSD
	linear flushed "$FLUSHED_SSD" $((ABSORB_MIB * 2048))
	plain_ssd
}

# runs_on ROW STACK: dm-writecache has sectors of 4 KiB here. A row of more than the SSD
# holds can't run on it. The disk limits stock, and no goal asks for its figure there.
runs_on() {
	case $1-$2 in
	line-512*-writecache | twice-ssd | twice-stock | four-ssd | four-stock) return 1 ;;
	esac
}

absorb_row() {
	local -a before
	plain_ssd
	[[ $1 != *fsync* ]] || flushed_ssd
	make_stack "$2"
	read -ra before < <(writes_of)
	# shellcheck disable=SC2086
	counted_job "absorb-$2-$1" "$DEV" --offset=$AT ${ABSORB_JOBS[$1]}
	# The section's log has the counters, because they explain a figure.
	[ "$2" != hearth ] || message c stats
	[[ $2-$1 != hearth-depth-* ]] || all_leaves "absorb-$2-$1" "${before[@]}"
	remove_stack "$2"
}

# all_leaves NAME META_SECTORS SSD_SECTORS...: reports what was written to META and to the SSD
# since they had these totals, once the idle volume's log is empty. The job's own figure may
# have some of it, because the clock runs on while the guest writes down fio's results.
all_leaves() {
	local -a after
	[ "$(counter c log)" = on ] || return 0
	until_true 240 log_is_empty || fail "the write log does not get empty"
	read -ra after < <(writes_of)
	figure "$1-rest-sectors" $((after[0] - $2 + after[1] - $3))
}

log_is_empty() {
	[ "$(counter c log_blocks)" = 0 ]
}

# absorb_four STACK: random writes over four caches for 60 s. In the last 20 they wait
# for the disk. Then readers of cached blocks run for 2 s beside them; they ran alone
# before. Hits keep those blocks in the cache meanwhile.
absorb_four() {
	local name="absorb-$1-four"
	local write=(--name=w --rw=randwrite --offset="$STACK_FROM" --size=1g --iodepth=16)
	local read=(--name=r --rw=randread --size=4m --iodepth=1)
	plain_ssd
	if [ "$1" = hearth ]; then
		seq 0 63 >"$T/blocks"
		cache_with hearth writeback $((ABSORB_MIB * 16)) <"$T/blocks"
		absorbs 1
		DEV=/dev/mapper/c
		job "$name-alone" $DEV --time_based "${read[@]}" --runtime=1
		job "$name-first" $DEV --time_based --runtime=40 "${read[@]}" --rate_iops=50 "${write[@]}"
		job "$name-last" $DEV --time_based --runtime=20 "${read[@]}" --rate_iops=50 "${write[@]}"
		job "$name-beside" $DEV --time_based --runtime=2 "${write[@]}" "${read[@]}"
	else
		make_stack "$1"
		job "$name-first" "$DEV" --time_based --runtime=40 "${write[@]}"
		job "$name-last" "$DEV" --time_based --runtime=20 "${write[@]}"
	fi
	remove_stack "$1"
}

# zipf_reads NAME: zipf reads over twice the cache for 20 s, beside cold random writes
zipf_reads() {
	job "$1" /dev/mapper/c --time_based --runtime=20 \
		--name=w --rw=randwrite --offset="$STACK_FROM" --size=1g --iodepth=4 --rate_iops=500 \
		--name=r --rw=randread --random_distribution=zipf:1.1 \
		--size=$((ABSORB_MIB * 2))m --iodepth=8
}

# absorb_zipf 0|1: the ratio of hits of zipf reads, after 20 s to warm up
absorb_zipf() {
	local hits all
	plain_ssd
	empty_cache hearth writeback
	absorbs "$1"
	zipf_reads "absorb-zipf-$1-first"
	read_status c
	hits=${ST[read_hits]} all=$((ST[read_hits] + ST[read_misses]))
	zipf_reads "absorb-zipf-$1"
	read_status c
	figure "absorb-zipf-$1-hits" $((ST[read_hits] - hits))
	figure "absorb-zipf-$1-reads" $((ST[read_hits] + ST[read_misses] - all))
	dmsetup remove c
}

# absorb_home: 4,000 absorbed writes go home. Some may have gone before the clock runs, so
# the time is scaled to all. If most have, the engine did not absorb, and there is no
# figure.
absorb_home() {
	local began before early
	writeback_devices
	writeback_floor
	writeback_time stock
	empty_cache hearth writeback
	absorbs 1
	writeback_waits hearth
	before=$(sectors_written "$DISK")
	writeback_dirty "$WB_BLOCKS"
	early=$((($(sectors_written "$DISK") - before) / 8))
	writeback_begins
	began=$(now)
	until_clean
	figure absorb-home-early $early
	[ $early -gt $((WB_BLOCKS / 2)) ] ||
		figure absorb-drain-hearth "$(awk -v a="$began" -v b="$(now)" -v all="$WB_BLOCKS" \
			-v early=$early 'BEGIN { print (b - a) * all / (all - early) }')"
	remove_devices
}

# absorb_tree: the section grep, with a hearth that absorbs
absorb_tree() {
	local engine
	grep_devices
	for engine in stock hearth; do
		empty_cache $engine writeback
		[ $engine = stock ] || absorbs 1
		grep_on "tree-$engine" /dev/mapper/c
		dmsetup remove c
	done
}

bench_absorb() {
	local stack row
	# shellcheck source=tests/bench/guest/stacks.sh
	. "$HEARTH_TOP/tests/bench/guest/stacks.sh"
	# shellcheck source=tests/bench/guest/writeback.sh
	. "$HEARTH_TOP/tests/bench/guest/writeback.sh"
	# shellcheck source=tests/bench/guest/grep.sh
	. "$HEARTH_TOP/tests/bench/guest/grep.sh"
	absorb_devices
	for stack in ${BENCH_ENGINES:-ssd writecache bcache stock hearth}; do
		for row in $ABSORB_ROWS; do
			if wanted "$row" && runs_on "$row" "$stack"; then
				absorb_row "$row" "$stack"
			fi
		done
		if wanted four && runs_on four "$stack"; then absorb_four "$stack"; fi
	done
	if wanted zipf; then
		absorb_zipf 1
		absorb_zipf 0
	fi
	remove_devices
	if wanted home; then absorb_home; fi
	if wanted tree; then absorb_tree; fi
}
