# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The host watches hits (or misses that are bypassed). The section reports the addresses
# of the kernel's functions, and reads until the host has seen enough.

profile_io() {
	local rw=$1
	shift
	job profile-io /dev/mapper/c "$@" --rw="$rw" --iodepth=16 --time_based \
		--runtime=600
}

bench_profile() {
	# shellcheck source=tests/bench/guest/hit.sh
	. "$HEARTH_TOP/tests/bench/guest/hit.sh"
	hit_devices
	hit_cache hearth writeback
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=4k --size=${HIT_MIB}m \
		--number_ios=20000 --norandommap
	cp /proc/kallsyms "$OUT/profile.symbols"
	# fio needs some seconds to begin.
	(sleep 20 && touch "$OUT/profile.begin") &
	case $PROFILE_RW in
	randmiss)
		dmsetup message c 0 mode writeonly
		profile_io randread --offset=300M --size=600M
		;;
	randwrite)
		fio_quiet --filename=/dev/mapper/c --rw=write --bs=64k --size="${HIT_DIRTY_MIB}M"
		profile_io randwrite --size="${HIT_DIRTY_MIB}M"
		;;
	*) profile_io "$PROFILE_RW" --size="${HIT_MIB}M" ;;
	esac
}
