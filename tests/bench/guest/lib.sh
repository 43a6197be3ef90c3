# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The functions that benchmarks share, in addition to those of the guest tests: fio jobs
# whose results the host reads, caches with given content, and figures that no fio job
# reports. The host sees the directory $OUT.

# figure NAME VALUE: reports a number to the host.
figure() {
	echo "$1 $2" | tee -a "$OUT/$SECTION.figures"
}

# undisturbed COMMAND...: makes udev wait while the command runs. udev reads each device
# that was closed after a write, and how long that takes depends on the host.
undisturbed() {
	local code=0
	udevadm settle
	udevadm control --stop-exec-queue
	"$@" || code=$?
	udevadm control --start-exec-queue
	return $code
}

# job NAME DEVICE FIO-OPTION...: runs fio. $OUT/NAME.json has the results; if there are
# several jobs, the last one counts.
job() {
	local name=$1 dev=$2
	shift 2
	[[ "$*" == *--name=* ]] || set -- --name=j "$@"
	undisturbed fio --filename="$dev" --direct=1 --thread --norandommap --ioengine=libaio \
		--bs=4k --output-format=json --output="$OUT/$name.json" "$@" ||
		fail "fio $name"
}

# linear NAME DEVICE SECTORS
linear() {
	dmsetup create "$1" --table "0 $3 linear $2 0"
}

# metadata_of DEVICE BLOCK SLOTS <NUMBERS: makes metadata of a cache of SLOTS blocks of
# BLOCK sectors. The first slots hold the origin blocks NUMBERS, all clean.
metadata_of() {
	awk -v block="$2" -v slots="$3" '
	BEGIN {
		printf "<superblock uuid=\"\" block_size=\"%d\" nr_cache_blocks=\"%d\" policy=\"smq\" hint_width=\"4\">\n<mappings>\n", block, slots
	}
	{ printf "<mapping cache_block=\"%d\" origin_block=\"%d\" dirty=\"false\"/>\n", NR - 1, $1 }
	END {
		printf "</mappings>\n<hints>\n"
		for (i = 0; i < NR; i++)
			printf "<hint cache_block=\"%d\" data=\"AAAAAA==\"/>\n", i
		printf "</hints>\n</superblock>\n"
	}' >"$T/metadata.xml"
	cache_restore -q --metadata-version 2 -i "$T/metadata.xml" -o "$1" ||
		fail "cache_restore"
}

# some_blocks NR RANGE: prints so many different numbers below RANGE in random order.
some_blocks() {
	awk -v nr="$1" -v range="$2" 'BEGIN {
		srand(1)
		while (n < nr) {
			b = int(rand() * range)
			if (!(b in seen)) { seen[b]; print b; n++ }
		}
	}'
}

# disk MIB [keep]: loads the disk with seeks, and sets DISK.
disk() {
	insmod "$HEARTH_TOP/tests/bench/disk/hearth-disk.ko" size_mib="$1" keep=$((${2:+1} + 0))
	udevadm settle
	DISK=/dev/hearthdisk0
}

remove_disk() {
	[ ! -e /sys/module/hearth_disk ] || rmmod hearth_disk
}

# prints the seconds since boot, in the guest's clock
now() {
	cut -d' ' -f1 /proc/uptime
}

# While the guest waits for the host, its clock runs ahead to the next timeout, because
# the host's work takes no instructions of the guest.
udevadm() {
	case $1 in
	settle | control) command udevadm "$@" --timeout=1000000 ;;
	*) command udevadm "$@" ;;
	esac
}
