# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The gain of read hits from a second CPU. The guest has two CPUs and a real clock, so
# the figures are medians of several runs.

# smp_jobs NAME DEVICE
smp_jobs() {
	local jobs run
	for jobs in 1 2; do
		for run in 1 2 3 4 5; do
			job "smp-$1-$jobs-$run" "$2" --rw=randread --size="${HIT_MIB}M" \
				--iodepth=16 --numjobs=$jobs --group_reporting \
				--time_based --runtime=3
		done
	done
}

bench_smp() {
	local engine
	# shellcheck source=tests/bench/guest/hit.sh
	. "$HEARTH_TOP/tests/bench/guest/hit.sh"
	hit_devices
	smp_jobs ssd "$SSD"
	smp_jobs linear $FAST
	for engine in ${BENCH_ENGINES:-stock hearth}; do
		hit_cache "$engine" writeback
		smp_jobs "$engine" /dev/mapper/c
		dmsetup remove c
	done
}
