# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# Copies a large file from one volume to another on the same disk, with both cached in
# writethrough, and with both uncached. The order in which the disk serves reads and
# writes is chaotic, and so is a copy's time. Therefore the section copies the same file
# at several places, and the host takes the median.

STREAM_MIB=512
STREAM_PLACES=5
STREAM_OVER_MIB=128

# stream_dd NAME MIB DD-OPTION...: prints how fast dd is, with a flush at the end.
stream_dd() {
	local name=$1 mib=$2 began
	shift 2
	echo 3 >/proc/sys/vm/drop_caches
	began=$(now)
	dd bs=1M count="$mib" conv=fsync,notrunc status=none "$@"
	figure "stream-$name" "$(awk -v a="$began" -v b="$(now)" -v mib="$mib" \
		'BEGIN { print mib * 1.048576 / (b - a) }')"
}

# stream_copy NAME PLACE FROM TO
stream_copy() {
	local at=$((($2 % STREAM_PLACES) * 3 * STREAM_MIB))
	stream_dd "$1-$2" $STREAM_MIB if="$3" of="$4" skip=$at seek=$at
}

# stream_cache: a cache of 64 KiB blocks on its own half of the disk and of the SSD.
stream_cache() {
	zero "/dev/nullbMETA$1" 1
	dmsetup create "c$1" --table "0 $(sectors "/dev/mapper/slow$1") cache \
		/dev/nullbMETA$1 /dev/mapper/fast$1 /dev/mapper/slow$1 \
		128 2 metadata2 writethrough smq 0"
}

stream_caches() {
	stream_cache 0
	stream_cache 1
}

remove_stream_caches() {
	dmsetup remove c0
	dmsetup remove c1
}

# stream_overwrite: writes pages again whose blocks are all in the cache.
stream_overwrite() {
	for _ in 1 2 3; do
		read_all /dev/mapper/c1 $STREAM_OVER_MIB
	done
	stream_dd "$1-over" $STREAM_OVER_MIB if=/dev/zero of=/dev/mapper/c1
}

bench_stream() {
	local i place engine half=$((16 * 2097152))
	disk 32768
	MEMORY_BACKED=0 device SSD 512 20000ns
	for i in 0 1; do
		device META$i 16 20000ns
		dmsetup create fast$i --table "0 524288 linear $SSD $((i * 524288))"
		dmsetup create slow$i --table "0 $half linear $DISK $((i * half))"
	done
	for ((place = 0; place < STREAM_PLACES; place++)); do
		stream_copy uncached $place /dev/mapper/slow0 /dev/mapper/slow1
	done
	stream_dd uncached-over $STREAM_OVER_MIB if=/dev/zero of=/dev/mapper/slow1
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		load_engine "$engine"
		for ((place = 0; place < STREAM_PLACES; place++)); do
			stream_caches
			stream_copy "$engine-empty" $place /dev/mapper/c0 /dev/mapper/c1
			stream_copy "$engine-again" $place /dev/mapper/c0 /dev/mapper/c1
			stream_copy "$engine-full" $((place + 1)) /dev/mapper/c0 /dev/mapper/c1
			remove_stream_caches
		done
		stream_caches
		stream_overwrite "$engine"
		remove_stream_caches
	done
}
