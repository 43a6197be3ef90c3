# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# Caches of 1, 4 and 16 million blocks, all in use: how long activation takes, how much
# memory it takes, and how much a load suffers from status requests. The host made the
# metadata (build/bench-images/).

scale_status() {
	local n=0
	while kill -0 "$1" 2>/dev/null; do
		dmsetup status c >/dev/null
		n=$((n + 1))
	done
	echo "$n status calls"
}

# scale_load ENGINE
scale_load() {
	local dev=(/dev/mapper/c --rw=randread --size=64m --iodepth=4 --time_based --runtime=2)
	job "scale-$1-quiet" "${dev[@]}"
	job "scale-$1-asked" "${dev[@]}" &
	scale_status $!
	wait $!
}

scale_cache() {
	local engine=$1 million=$2 before began
	load_engine "$engine"
	dd if="$HEARTH_TOP/build/bench-images/$million" of="$META" bs=1M oflag=direct status=none
	linear fast "$SSD" $((million * 1000000 * 64))
	FAST=/dev/mapper/fast
	before=$(memory_held)
	# dmsetup's files are read from the host before the measurement begins.
	command dmsetup version >/dev/null
	began=$(now)
	# Without udev, whose own work on the host's files takes any time here.
	command dmsetup create --noudevsync c --table "0 $(sectors "$SLOW") cache \
		$META $FAST $SLOW 64 2 metadata2 writeback smq 0"
	figure "scale-$engine-$million-seconds" "$(awk -v a="$began" -v b="$(now)" 'BEGIN { print b - a }')"
	udevadm settle
	figure "scale-$engine-$million-kib" $(($(memory_held) - before))
	[ "$million" != 1 ] || scale_load "$engine"
	dmsetup remove c
	dmsetup remove fast
}

bench_scale() {
	local engine million
	device META 400 20000ns
	MEMORY_BACKED=0 device SSD 524288 20000ns
	MEMORY_BACKED=0 device SLOW 1048576 20000ns
	for million in 1 4 16; do
		for engine in ${BENCH_ENGINES:-stock hearth}; do
			scale_cache "$engine" $million
		done
	done
}
