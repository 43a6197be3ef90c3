# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The engine writes back 4,000 dirty blocks, spread at random over 1 TiB of the disk:
# how long that takes, and how much slower readers of the cache are while it writes back
# 16,000.

WB_BLOCKS=4000		# of 64 KiB, of which the first 64 lie side by side
WB_NOISE_BLOCKS=16000
WB_RANGE=16777216	# blocks of the disk: 1 TiB

writeback_devices() {
	disk $((WB_RANGE / 16))
	device META 16 20000ns
	MEMORY_BACKED=0 device SSD 1100 20000ns
	linear fast "$SSD" $((1100 * 2048))
	linear slow "$DISK" $((WB_RANGE * 128))
	FAST=/dev/mapper/fast SLOW=/dev/mapper/slow
	writeback_blocks $WB_BLOCKS
	writeback_blocks $WB_NOISE_BLOCKS
}

# writeback_floor: reports how long the disk takes at least.
writeback_floor() {
	figure "$SECTION-drain-floor" "$(awk '{ print $1 * 128, 128 }' "$T/blocks-$WB_BLOCKS" |
		"$HEARTH_TOP/build/tools/disk-floor")"
}

# writeback_blocks NR: writes the numbers of NR blocks to the file $T/blocks-NR.
writeback_blocks() {
	{
		seq 0 63
		some_blocks $(($1 - 64)) $((WB_RANGE - 64)) | awk '{ print $1 + 64 }'
	} >"$T/blocks-$1"
}

# writeback_dirty NR: writes 4 KiB at some place of each of these blocks.
writeback_dirty() {
	awk -v dev="${DEV:-/dev/mapper/c}" '
		BEGIN { print "fio version 2 iolog\n" dev " add\n" dev " open" }
		{ printf "%s write %.0f 4096\n", dev, $1 * 65536 + $1 * 7 % 16 * 4096 }
		END { print dev " close" }' "$T/blocks-$1" >"$T/iolog"
	fio_quiet --read_iolog="$T/iolog" --replay_no_stall=1 --iodepth=16
}

# writeback_waits ENGINE: no block is written back until writeback_begins. Stock has no
# such settings.
writeback_waits() {
	[ "$1" = hearth ] || return 0
	dmsetup message c 0 dirty_high 100
	dmsetup message c 0 writeback_idle 0
}

writeback_begins() {
	becomes c "$(dmsetup table c | sed 's/ smq .*/ cleaner 0/')"
}

# writeback_cache ENGINE NR: makes a cache with NR dirty blocks, which must all be
# written back.
writeback_cache() {
	cache_with "$1" writeback $(($2 + 500)) <"$T/blocks-$2"
	writeback_waits "$1"
	writeback_dirty "$2"
	writeback_begins
}

until_clean() {
	until all_clean c; do sleep 0.1; done
}

# Some blocks are written back before the clock runs, so the time is scaled to all of
# them.
writeback_time() {
	local began dirty
	writeback_cache "$1" $WB_BLOCKS
	dirty=$(stat_of c dirty)
	began=$(now)
	until_clean
	figure "$SECTION-drain-$1" "$(awk -v a="$began" -v b="$(now)" -v all=$WB_BLOCKS \
		-v dirty="$dirty" 'BEGIN { print (b - a) * all / dirty }')"
	dmsetup remove c
}

# Measures hits while the cache drains, and again when it is clean.
writeback_noise() {
	local depth when
	writeback_cache "$1" $WB_NOISE_BLOCKS
	for when in draining idle; do
		[ $when = draining ] || until_clean
		for depth in 1 16; do
			job "writeback-$1-$when-$depth" /dev/mapper/c --rw=randread \
				--size=4m --iodepth=$depth --time_based --runtime=1
		done
		# The cache must still have been draining at the end of the measurement.
		[ $when = idle ] || ! all_clean c || fail "$1: drained too soon"
	done
	dmsetup remove c
}

bench_writeback() {
	local engine
	writeback_devices
	writeback_floor
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		writeback_time "$engine"
		writeback_noise "$engine"
	done
}
