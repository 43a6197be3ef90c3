# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The host watches hits (or misses that are bypassed, or absorbed writes with an fsync). The
# section reports the addresses of the kernel's functions, and does I/O until the host has
# seen enough.

# ios DEVICE: prints the reads and writes since it was made
ios() {
	echo $(($(io_total "$1" 1) + $(io_total "$1" 5)))
}

# begin_with_ios DEVICE: has the host begin when fio, which needs some seconds, has done some.
begin_with_ios() {
	local from
	from=$(ios "$1")
	cp /proc/kallsyms "$OUT/profile.symbols"
	(
		until [ "$(ios "$1")" -gt $((from + 100)) ]; do sleep 0.1; done
		touch "$OUT/profile.begin"
	) &
}

profile_io() {
	local rw=$1
	shift
	begin_with_ios /dev/mapper/c
	job profile-io /dev/mapper/c "$@" --rw="$rw" --iodepth=16 --time_based \
		--runtime=600
}

# profile_fsync: as the row fsync-1 of the section absorb, which absorb.sh explains
profile_fsync() {
	# shellcheck source=tests/bench/guest/absorb.sh
	. "$HEARTH_TOP/tests/bench/guest/absorb.sh"
	# shellcheck source=tests/bench/guest/stacks.sh
	. "$HEARTH_TOP/tests/bench/guest/stacks.sh"
	# shellcheck source=tests/bench/guest/writeback.sh
	. "$HEARTH_TOP/tests/bench/guest/writeback.sh"
	absorb_devices
	flushed_ssd
	make_stack hearth
	begin_with_ios "$DEV"
	job profile-io "$DEV" --offset="$AT" --rw=randwrite --size=128m --iodepth=1 --fsync=1 \
		--time_based --runtime=600
}

bench_profile() {
	if [ "$PROFILE_RW" = fsync ]; then
		profile_fsync
		return
	fi
	# shellcheck source=tests/bench/guest/hit.sh
	. "$HEARTH_TOP/tests/bench/guest/hit.sh"
	hit_devices
	hit_cache hearth writeback
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=4k --size=${HIT_MIB}m \
		--number_ios=20000 --norandommap
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
