# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# First writes: 4 KiB to each of 4,000 resident clean blocks, in random order. The
# section counts their commits, and compares their throughput with that of read hits.
# The metadata lies on a device as fast as the SSD.

FW_WRITES=4000

# firstwrite_log FILE SLOTS: writes a fio log of the writes.
firstwrite_log() {
	some_blocks $FW_WRITES "$2" | awk -v dev=/dev/mapper/c '
	BEGIN { print "fio version 2 iolog"; print dev, "add"; print dev, "open" }
	{ printf "%s write %d 4096\n", dev, $1 * 65536 }
	END { print dev, "close" }' >"$1"
}

commits_of() {
	dmsetup message c 0 stats | awk '$1 == "commits" { print $2 }'
}

# firstwrite ENGINE SLOTS DEPTH: SLOTS blocks are in use, and each write goes to another
# one of them.
firstwrite() {
	local name="$1-$2-$3" commits written
	seq 0 $(($2 - 1)) >"$T/blocks"
	cache_with "$1" writeback $(($2 + $2 / 4)) <"$T/blocks"
	sleep 5
	job "firstwrite-$name-read" /dev/mapper/c --rw=randread --size="$(($2 / 16))M" \
		--iodepth="$3" --number_ios=$((5 * FW_WRITES))
	[ "$1" = stock ] || commits=$(commits_of)
	written=$(sectors_written "$META")
	job "firstwrite-$name-write" /dev/mapper/c --iodepth="$3" --read_iolog="$T/log-$2"
	[ "$1" = stock ] ||
		figure "firstwrite-$name-commits" $(($(commits_of) - commits))
	figure "firstwrite-$name-sectors" $(($(sectors_written "$META") - written))
	dmsetup remove c
}

bench_firstwrite() {
	local engine slots depth
	device META 32 20000ns
	MEMORY_BACKED=0 device FAST 1400 20000ns
	MEMORY_BACKED=0 device SLOW 2048 20000ns
	for slots in 4096 16384; do
		firstwrite_log "$T/log-$slots" $slots
		for engine in ${BENCH_ENGINES:-stock hearth}; do
			for depth in 1 16; do
				firstwrite "$engine" $slots $depth
			done
		done
	done
}
