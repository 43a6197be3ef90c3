# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# Copying a large file from one volume to another on the same disk, both cached
# in writethrough, beside the same volumes without a cache. How reads and writes
# take turns at the disk is chaotic, a copy's time with it: the same file at
# several places, of which the host takes the median.

STREAM_MIB=512
STREAM_PLACES=${STREAM_PLACES:-5}

# stream_copy NAME PLACE FROM TO
stream_copy() {
	local began at=$(($2 * 3 * STREAM_MIB))
	echo 3 >/proc/sys/vm/drop_caches
	tr=/sys/kernel/tracing; mountpoint -q $tr || mount -t tracefs t $tr; echo 65536 >$tr/buffer_size_kb; echo >$tr/trace; echo mono >$tr/trace_clock; for e in block_rq_issue block_rq_complete; do echo 1 >$tr/events/block/$e/enable; done
	began=$(now)
	echo BEGIN $(date +%s.%N) >$tr/trace_marker; dd if="$3" of="$4" bs=1M count=$STREAM_MIB skip=$at seek=$at conv=fsync,notrunc status=none
	echo END >$tr/trace_marker; figure "stream-$1-$2" "$(awk -v a="$began" -v b="$(now)" -v mib=$STREAM_MIB \
		'BEGIN { print mib * 1.048576 / (b - a) }')"
	cat $tr/trace >$OUT/trace-$1-$2
}

# A cache of 64 KiB blocks on its own half of the disk and of the SSD.
stream_cache() {
	zero "/dev/nullbMETA$1" 1
	dmsetup create "c$1" --table "0 $(sectors "/dev/mapper/slow$1") cache \
		/dev/nullbMETA$1 /dev/mapper/fast$1 /dev/mapper/slow$1 \
		128 2 metadata2 writethrough smq 0"
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
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		load_engine "$engine"
		stream_cache 0
		stream_cache 1
		for ((place = 0; place < STREAM_PLACES; place++)); do
			stream_copy "$engine" $place /dev/mapper/c0 /dev/mapper/c1
			stream_copy "$engine-again" $place /dev/mapper/c0 /dev/mapper/c1
		done
		dmsetup remove c0
		dmsetup remove c1
	done
}
