# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The functions that benchmarks share, in addition to those of the guest tests: fio jobs
# whose results the host reads, caches with given content, and figures that no fio job
# reports. The host sees the directory $OUT.

# figure NAME VALUE: reports a number to the host.
figure() {
	[ -n "$2" ] || fail "the figure $1 has no value"
	echo "$1 $2" | tee -a "$OUT/$SECTION.figures"
}

# wanted NAME...: does BENCH_ROWS, if it is set, have one of them?
wanted() {
	local name
	[ -n "${BENCH_ROWS:-}" ] || return 0
	for name in "$@"; do
		[[ ,$BENCH_ROWS, != *,$name,* ]] || return 0
	done
	return 1
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

# writes_of: prints the sectors written to META and to FAST, then the flushes of META
# and of the SSD. SSD is the device below FAST, if there is one, because device-mapper
# does not count flushes.
writes_of() {
	echo "$(sectors_written "$META") $(sectors_written "$FAST")" \
		"$(flushes "$META") $(flushes "${SSD:-$FAST}")"
}

# counted_job NAME DEVICE FIO-OPTION...: as job, and reports the sectors written to META
# and to the SSD meanwhile, and their flushes.
counted_job() {
	local -a before after
	local i=0 what
	read -ra before < <(writes_of)
	job "$@"
	read -ra after < <(writes_of)
	for what in meta-sectors ssd-sectors meta-flushes ssd-flushes; do
		figure "$1-$what" $((after[i] - before[i]))
		i=$((i + 1))
	done
}

# engine_is stock|hearth: is it the one that is loaded?
engine_is() {
	local tree=$HEARTH_MODS
	[ "$1" = hearth ] || tree=$HEARTH_KERNEL
	[[ -e /sys/module/dm_cache && $(readlink "/lib/modules/$(uname -r)") = "$tree"/* ]]
}

# empty_cache ENGINE MODE: loads the engine and makes c, an empty cache of META, FAST
# and SLOW with blocks of 64 KiB.
empty_cache() {
	engine_is "$1" || load_engine "$1"
	zero "$META" 1
	by_hand c 128 "metadata2 $2" "smq 0"
}

# cache_with ENGINE MODE SLOTS <NUMBERS: as empty_cache, but the first of the SLOTS slots
# hold the origin blocks NUMBERS, all clean. hearth is told not to compare them, because
# the devices have what was there before.
cache_with() {
	local settings=0
	engine_is "$1" || load_engine "$1"
	[ "$1" = stock ] || settings="2 origin_check 0"
	zero "$META" 1
	cache_xml 128 "$3" hints >"$T/metadata.xml"
	cache_restore -q --metadata-version 2 -i "$T/metadata.xml" -o "$META" || fail "cache_restore"
	by_hand c 128 "metadata2 $2" "smq $settings"
}

# make_writecache: makes c, an empty dm-writecache of FAST and SLOW.
make_writecache() {
	modprobe dm-writecache
	zero "$FAST"
	dmsetup create c --table "0 $(sectors "$SLOW") writecache s $SLOW $FAST 4096 0"
}

remove_writecache() {
	dmsetup remove c
	rmmod dm-writecache
}

# plain_bcache: makes /dev/bcache0 of FAST and SLOW, empty and in writeback, with bcache's
# defaults. Its buckets have 64 KiB, because the cache is small. SLOW keeps what it has from
# sector 16 on, and /dev/bcache0 shows that from sector 0 on.
plain_bcache() {
	modprobe bcache
	zero "$FAST"
	dd if=/dev/zero of="$SLOW" bs=8k count=1 oflag=direct status=none
	"$HEARTH_TOP/build/bcache/usr/sbin/make-bcache" --wipe-bcache --writeback --bucket 64k \
		-C "$FAST" -B "$SLOW"
	echo "$FAST" >/sys/fs/bcache/register
	echo "$SLOW" >/sys/fs/bcache/register
	udevadm settle
}

# make_bcache: makes a plain bcache, and tells it to cache sequential I/O, too.
make_bcache() {
	local c=/sys/block/bcache0/bcache set
	plain_bcache
	echo 0 >$c/sequential_cutoff
	echo 40 >$c/writeback_percent
	set=$(readlink -f $c/cache)
	echo 0 >"$set/congested_read_threshold_us"
	echo 0 >"$set/congested_write_threshold_us"
}

remove_bcache() {
	local c=/sys/block/bcache0/bcache set
	set=$(readlink -f $c/cache)
	# In this order, because the set's end stops the device, too, and takes its files.
	echo 1 >$c/stop
	echo 1 >"$set/stop"
	until_true 1000 rmmod bcache 2>/dev/null || fail "bcache does not stop"
}

# linear NAME DEVICE SECTORS
linear() {
	dmsetup create "$1" --table "0 $3 linear $2 0"
}

# with_head NAME HEAD DEVICE: makes NAME, a linear layer as large as DEVICE. HEAD has its
# first sectors, DEVICE the others. So a DEVICE that forgets what is written can have
# superblocks.
with_head() {
	local head
	head=$(sectors "$2")
	dmsetup create "$1" --table "0 $head linear $2 0
		$head $(($(sectors "$3") - head)) linear $3 $head"
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

# ssd MIB KEEP_MIB: loads the SSD that has to be flushed, and sets SSD. It keeps what is
# written to its first KEEP_MIB.
ssd() {
	insmod "$HEARTH_TOP/tests/bench/disk/hearth-ssd.ko" size_mib="$1" keep_mib="$2"
	udevadm settle
	SSD=/dev/hearthssd0
}

# Removes the disk, and the SSD if it is loaded.
remove_disk() {
	[ ! -e /sys/module/hearth_disk ] || rmmod hearth_disk
	[ ! -e /sys/module/hearth_ssd ] || rmmod hearth_ssd
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

# dmsetup does not wait for udev's answer, because udev lost one now and then in a guest
# whose clock runs ahead, and dmsetup then waited for ever. settle waits for the queue.
dmsetup() {
	case $1 in
	create)
		command dmsetup create --noudevsync "${@:2}"
		udevadm settle
		[ -e "/dev/mapper/$2" ] || fail "udev has not made /dev/mapper/$2"
		;;
	remove)
		command dmsetup remove --noudevsync --retry "${@:2}"
		udevadm settle
		;;
	resume) command dmsetup resume --noudevsync "${@:2}" ;;
	*) command dmsetup "$@" ;;
	esac
}
