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

# begin_now: has fio, which needs some seconds before its first I/O, wait until the host
# has begun
begin_now() {
	cp /proc/kallsyms "$OUT/profile.symbols"
	printf '#!/bin/sh\ntouch %s/profile.begin\nuntil [ -e %s/profile.go ]; do sleep 1; done\n' \
		"$OUT" "$OUT" >"$T/begin"
	chmod +x "$T/begin"
}

# begin_with_ios DEVICE: has the host begin when fio has done some I/O
begin_with_ios() {
	local from
	from=$(ios "$1")
	cp /proc/kallsyms "$OUT/profile.symbols"
	(
		until [ "$(ios "$1")" -gt $((from + 100)) ]; do sleep 0.01; done
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

# profile_absorb [JOB...]: absorbed writes, as the rows depth-1 and fsync-1 of the section
# absorb, which absorb.sh explains; or the same writes to another stack. The first ones are not
# watched, because they find an empty log.
profile_absorb() {
	# shellcheck source=tests/bench/guest/absorb.sh
	. "$HEARTH_TOP/tests/bench/guest/absorb.sh"
	# shellcheck source=tests/bench/guest/stacks.sh
	. "$HEARTH_TOP/tests/bench/guest/stacks.sh"
	# shellcheck source=tests/bench/guest/writeback.sh
	. "$HEARTH_TOP/tests/bench/guest/writeback.sh"
	absorb_devices
	flushed_ssd
	make_stack "$PROFILE_STACK"
	# Without another seed the watched writes would be to the same places.
	job profile-first "$DEV" --offset="$AT" --rw=randwrite --size=128m --iodepth=1 \
		--number_ios=8000 --randrepeat=0 --randseed=77 "$@"
	# Otherwise they go home while fio starts, which takes seconds of the guest's time.
	[ "$PROFILE_STACK" != hearth ] || dmsetup message "$DEV" 0 writeback_idle 0
	begin_now
	cd "$T" || return
	job profile-io "$DEV" --exec_prerun="$T/begin" --rw=randwrite --size=128m --iodepth=1 \
		--offset=$(($(numfmt --from=iec "${AT^^}") + PROFILE_BEHIND)) --time_based \
		--runtime=600 "$@"
}

# The watched writes of profile_absorb go so many bytes behind the first ones.
PROFILE_BEHIND=0

bench_profile() {
	case $PROFILE_RW in
	absorb) profile_absorb ;;
	absorb-16) profile_absorb --iodepth=16 ;;
	whole) profile_absorb --bs=64k --size=224m --iodepth=8 ;;
	fsync) profile_absorb --fsync=1 ;;
	line)
		PROFILE_BEHIND=$((64 << 20))
		profile_absorb --rw=write
		;;
	*) profile_hits ;;
	esac
}

profile_hits() {
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
