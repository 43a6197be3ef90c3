# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# Hits to be looked at from outside: says where the kernel's functions are, and
# reads until the host has seen enough.

bench_profile() {
	# shellcheck source=tests/bench/guest/hit.sh
	. "$HEARTH_TOP/tests/bench/guest/hit.sh"
	hit_devices
	hit_cache hearth writeback
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=4k --size=${HIT_MIB}m \
		--number_ios=20000 --norandommap
	cp /proc/kallsyms "$OUT/profile.symbols"
	(sleep 0.5 && touch "$OUT/profile.begin") &
	job profile-io /dev/mapper/c --rw="${PROFILE_RW:-randread}" --iodepth=16 \
		--size="${PROFILE_MIB:-$HIT_MIB}M" --time_based --runtime=600
}
