# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# Copying a large file from one volume to another on the same disk, both cached
# in writethrough, beside the same volumes without a cache.

STREAM_MIB=512

# stream_copy NAME FROM TO
stream_copy() {
	local began
	echo 3 >/proc/sys/vm/drop_caches
	began=$(now)
	dd if="$2" of="$3" bs=1M count=$STREAM_MIB conv=fsync status=none
	figure "stream-$1" "$(awk -v a="$began" -v b="$(now)" -v mib=$STREAM_MIB \
		'BEGIN { print mib * 1.048576 / (b - a) }')"
}

# A cache of 64 KiB blocks on its own half of the disk and of the SSD.
stream_cache() {
	zero "/dev/nullbMETA$1" 1
	dmsetup create "c$1" --table "0 $(sectors "/dev/mapper/slow$1") cache \
		/dev/nullbMETA$1 /dev/mapper/fast$1 /dev/mapper/slow$1 \
		128 2 metadata2 writethrough smq 0"
}

bench_stream() {
	local i engine half=$((16 * 2097152))
	disk 32768
	MEMORY_BACKED=0 device SSD 512 20000ns
	for i in 0 1; do
		device META$i 16 20000ns
		dmsetup create fast$i --table "0 524288 linear $SSD $((i * 524288))"
		dmsetup create slow$i --table "0 $half linear $DISK $((i * half))"
	done
	stream_copy uncached /dev/mapper/slow0 /dev/mapper/slow1
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		load_engine "$engine"
		stream_cache 0
		stream_cache 1
		stream_copy "$engine" /dev/mapper/c0 /dev/mapper/c1
		stream_copy "$engine-again" /dev/mapper/c0 /dev/mapper/c1
		dmsetup remove c0
		dmsetup remove c1
	done
}
