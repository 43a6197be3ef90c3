# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The functions that guest tests share: devices, volume groups, reading a cache's
# status, data that fio writes and checks, comparisons, choosing the engine. Only the
# guest sources this file. $T is the running test's own directory.

T=/run/t
TOP=$HEARTH_TOP
# The directory of the guest's kernel, its modules together with hearth's, and how many
# times slower than Debian's kernel it is.
HEARTH_KERNEL=${HEARTH_KERNEL:-$TOP/build/kernel}
HEARTH_MODS=${HEARTH_MODS:-$TOP/build/mods}
HEARTH_SLOWER=${HEARTH_SLOWER:-1}
NULLB=/sys/kernel/config/nullb
export LVM_SYSTEM_DIR=/run/lvm.d
export LVM_SUPPRESS_FD_WARNINGS=1
# Programs that the guest uses instead of this machine's.
HEARTH_PROGRAMS=${HEARTH_PROGRAMS:-}
export PATH=${HEARTH_PROGRAMS:+$HEARTH_PROGRAMS:}/usr/sbin:/sbin:/usr/bin:/bin
declare -A ST

# --- messages and comparisons -------------------------------------------------

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

skip() {
	echo "skipped: $*" >&2
	exit 77
}

assert_eq() {
	[ "$1" = "$2" ] || fail "${3:-}: have '$1', want '$2'"
}

assert_ge() {
	[ "$1" -ge "$2" ] || fail "${3:-}: have $1, want at least $2"
}

assert_le() {
	[ "$1" -le "$2" ] || fail "${3:-}: have $1, want at most $2"
}

assert_match() {
	[[ $1 =~ $2 ]] || fail "${3:-}: '$1' does not match '$2'"
}

# any_line [OPTION OF GREP...] REGEX: passes if a line of its input matches. Not grep -q, which
# ends at the first match: the program that writes to it may die of SIGPIPE then, and pipefail
# makes that a failure.
any_line() {
	grep "$@" | cat >/dev/null
}

# must_fail COMMAND...: the command must fail; its output is kept in $T/said.
must_fail() {
	if "$@" >"$T/said" 2>&1; then
		cat "$T/said"
		fail "the command should have failed: $*"
	fi
	cat "$T/said"
}

# refused REGEX COMMAND...: the command must fail, and the kernel must log the reason.
# Only hearth's words are compared, because stock words its messages differently.
refused() {
	local why=$1
	shift
	echo "hearth-refused: $*" >/dev/kmsg
	must_fail "$@"
	kernel_log hearth-refused >"$T/kernel-said"
	cat "$T/kernel-said"
	is_stock || grep -qE "$why" "$T/kernel-said" || fail "no '$why' in the kernel's log after: $*"
}

# Prints what the kernel has logged since the test began, or since the last mark.
kernel_log() {
	dmesg | awk -v mark="${1:-hearth-test}: " \
		'index($0, mark) { text = ""; next } { text = text $0 "\n" } END { printf "%s", text }'
}

kernel_said() {
	kernel_log | grep -c "$1" || fail "the kernel did not say '$1'"
}

# doctor_says REGEX: does hearth doctor have such a line?
doctor_says() {
	"$TOP/build/lvm-plugin/hearth" doctor >"$T/doctor" || true
	cat "$T/doctor"
	grep -qE "$1" "$T/doctor"
}

# until_true SECONDS COMMAND...: retries twice a second. A slower kernel gets more
# seconds.
until_true() {
	local limit=$((SECONDS + $1 * HEARTH_SLOWER))
	shift
	until "$@"; do
		[ $SECONDS -lt $limit ] || return 1
		sleep 0.5
	done
}

# stops_in PID FUNCTION: the task sleeps in this function of the kernel.
stops_in() {
	grep -q "$2" "/proc/$1/stack"
}

is_stock() {
	[ "$HEARTH_ENGINE" = stock ]
}

# dmesg_allow REGEX: the test provokes such lines in the kernel's log on purpose.
dmesg_allow() {
	echo "$1" >>"$T/dmesg-allow"
}

# dmesg_known REGEX: a report that has such a line is known, and not hearth's.
dmesg_known() {
	echo "$1" >>"$T/dmesg-known"
}

# The test leaves metadata in which cache_check may find faults.
no_metadata_check() {
	touch "$T/no-metadata-check"
}

# --- devices ----------------------------------------------------------------

# device VARIABLE MIB KIND: makes a RAM device that behaves like a KIND, or that answers
# after a given number of nanoseconds (20000ns), and sets VARIABLE to its path. With
# MEMORY_BACKED=0 the device forgets what is written, and with DISCARD=0 it takes no
# discards. With WRITE_CACHE=MIB it has a volatile cache of this length. A test's cache is
# longer than its device, because on one CPU null_blk of Linux 6.1 can wait for ever: the
# thread that empties a full cache sleeps, and the next one spins until it has ended.
device() {
	local -n path_of=$1
	local dir=$NULLB/nullb$1 nsec=0 depth=128 mode=0
	case $3 in
	disk) nsec=100000 depth=1 mode=2 ;;
	slow-disk) nsec=4000000 depth=1 mode=2 ;;
	ssd) nsec=10000 depth=64 mode=2 ;;
	slow-ssd) nsec=100000 depth=64 mode=2 ;;
	ram) ;;
	[0-9]*ns) nsec=${3%ns} depth=64 mode=2 ;;
	*) fail "no such kind of device: $3" ;;
	esac
	mkdir "$dir"
	echo "${MEMORY_BACKED:-1}" >"$dir/memory_backed"
	echo "$2" >"$dir/size"
	echo "${BLOCKSIZE:-512}" >"$dir/blocksize"
	echo 2 >"$dir/queue_mode"
	echo 1 >"$dir/submit_queues"
	echo $depth >"$dir/hw_queue_depth"
	echo $mode >"$dir/irqmode"
	[ "$nsec" = 0 ] || echo "$nsec" >"$dir/completion_nsec"
	echo "${DISCARD:-1}" >"$dir/discard"
	[ -z "${WRITE_CACHE:-}" ] || echo "$WRITE_CACHE" >"$dir/cache_size"
	echo 1 >"$dir/power"
	path_of=/dev/nullb$1
	[ -b "$path_of" ] || path_of=/dev/nullb$(cat "$dir/index")
	udevadm settle
}

# Waits for udev's events once more, if udevd answers a ping, because udevd has ended the
# connection of "udevadm settle" without an answer ("Broken pipe", twice in some 60 runs). The
# reason is not known.
udevadm() {
	command udevadm "$@" && return
	[ "$1" = settle ] || return
	command udevadm control --ping || fail "udevd is gone"
	command udevadm "$@"
}

# Waits for udev first, because udev may still have a freshly written device open.
dmsetup() {
	if [ "$1" = remove ]; then
		shift
		command dmsetup remove --retry "$@"
	else
		command dmsetup "$@"
	fi
}

sectors() {
	blockdev --getsz "$1"
}

# becomes DEVICE TABLE: gives a device-mapper device another table, and does not wait
# for requests that are in flight on it.
becomes() {
	dmsetup load "$1" --table "$2"
	dmsetup suspend --noflush --nolockfs "$1"
	dmsetup resume "$1"
}

# dies DEVICE: every request to the device fails from here on.
dies() {
	becomes "$1" "0 $(sectors "/dev/mapper/$1") error"
}

# io_total DEVICE FIELD: prints a number of the kernel's file stat, which counts since the
# device was made
io_total() {
	awk -v field="$2" '{ print $field }' "/sys/class/block/$(basename "$(readlink -f "$1")")/stat"
}

sectors_read() {
	io_total "$1" 3
}

sectors_written() {
	io_total "$1" 7
}

# flushes DEVICE: device-mapper counts none
flushes() {
	io_total "$1" 16
}

# written_to DEVICE SECTORS: at least so many sectors were written since the device was
# made.
written_to() {
	[ "$(sectors_written "$1")" -ge "$2" ]
}

zero() {
	dd if=/dev/zero of="$1" bs=64k count="${2:-16}" oflag=direct status=none
}

# standard_vg [DISK_MIB [SSD_MIB]]: makes the volume group vg of a disk and an SSD
standard_vg() {
	device DISK "${1:-256}" disk
	device SSD "${2:-96}" ssd
	vgcreate -y vg "$DISK" "$SSD"
}

# cached_lv pool|vol MODE [format1] [LVCONVERT OPTION...]: makes vg/lv of $LV_MIB,
# cached by $CACHE_MIB of the SSD.
cached_lv() {
	local kind=$1 mode=$2
	shift 2
	[ "${1:-}" != format1 ] || set -- --cachemetadataformat 1 "${@:2}"
	lvcreate -qq -y -L "${LV_MIB:-128}M" -n lv vg "$DISK"
	if [ "$kind" = pool ]; then
		lvcreate -qq -y --type cache-pool -L "${CACHE_MIB:-32}M" -n fast vg "$SSD"
		lvconvert -y --type cache --cachepool vg/fast --cachemode "$mode" "$@" vg/lv
	else
		lvcreate -qq -y -L "${CACHE_MIB:-32}M" -n fast vg "$SSD"
		lvconvert -y --type cache --cachevol vg/fast --cachemode "$mode" "$@" vg/lv
	fi
}

# Removes the old metadata that lvconvert --repair keeps. Its name comes from the volume
# or from the pool, depending on the version of lvm2.
remove_old_metadata() {
	lvremove -y "vg/$(lvs --noheadings -o lv_name vg | grep -o '[a-z_]*_meta0')"
}

# --config "$(hearth_repairs [OPTION])" makes lvm2 repair with hearth's program.
hearth_repairs() {
	echo "global { cache_repair_executable=\"$TOP/build/tools/hearth-cache-repair\" cache_repair_options=[\"${1:-}\"] }"
}

# spoil_leaf DEVICE SECTOR ROOT: damages the first block of an array. The metadata
# begins at SECTOR of the device, and the superblock has the array's root at byte ROOT.
spoil_leaf() {
	local start=$(($2 * 512)) root leaf
	root=$(od -An -tu8 -j$((start + $3)) -N8 "$1")
	leaf=$(od -An -tu8 -j$((start + root * 4096 + 2048)) -N8 "$1")
	assert_ge "$((root))" 1 "root at byte $3"
	assert_ge "$((leaf))" 1 "array block of the root at byte $3"
	printf damage | dd of="$1" bs=1 seek=$((start + leaf * 4096 + 100)) conv=notrunc,fsync status=none
}

# cache_xml BLOCK SLOTS [hints]: prints the metadata of a cache of SLOTS blocks of BLOCK
# sectors, for cache_restore. tests/lib/cache-xml.awk says what the input has.
cache_xml() {
	awk -f "$TOP/tests/lib/cache-xml.awk" -v block="$1" -v slots="$2" -v hints="${3:+1}"
}

# cache_xml_full BLOCK SLOTS: the same, of a cache whose slots are all mapped and clean.
cache_xml_full() {
	seq 0 $(($2 - 1)) | cache_xml "$1" "$2"
}

# by_hand NAME BLOCK_SECTORS "FEATURES" "POLICY": makes a cache of $META, $FAST and
# $SLOW with dmsetup.
# shellcheck disable=SC2153
by_hand() {
	local name=$1 block=$2 features=$3 policy=${4:-default 0}
	# shellcheck disable=SC2086
	set -- $features
	dmsetup create "$name" --table \
		"0 $(sectors "$SLOW") cache $META $FAST $SLOW $block $# $* $policy"
}

# by_hand_devices [FAST_MIB [SLOW_MIB]]: makes the devices META, FAST and SLOW for
# by_hand.
by_hand_devices() {
	device META 8 ram
	device FAST "${1:-16}" ssd
	device SLOW "${2:-64}" disk
	zero "$META" 1
}

# linear_devices [FAST_MIB [SLOW_MIB]]: the same over linear devices, so that cut_power
# can stop them. BELOW[META] and so on are the devices below.
linear_devices() {
	local d
	declare -gA BELOW
	by_hand_devices "$@"
	for d in META FAST SLOW; do
		BELOW[$d]=${!d}
		dmsetup create "below$d" --table "0 $(sectors "${!d}") linear ${!d} 0"
		printf -v $d %s "/dev/mapper/below$d"
	done
}

# Copies the devices below the cache c at one instant. A suspend of the cache would be a
# clean stop, so the devices below it stop. The metadata device is the first, so that it
# promises no more than the others have.
copy_at_an_instant() {
	local d
	for d in META FAST SLOW; do
		dmsetup suspend --noflush --nolockfs "below$d"
	done
	for d in META FAST SLOW; do
		dd if="${BELOW[$d]}" of="$T/$d" bs=1M iflag=direct status=none
	done
	for d in META FAST SLOW; do
		dmsetup resume "below$d"
	done
}

# Removes the cache, and gives the devices the content of the copies.
go_back_to_copies() {
	local d
	dmsetup remove c
	for d in META FAST SLOW; do
		dd if="$T/$d" of="${!d}" bs=1M oflag=direct status=none
	done
}

# Cuts the power of the cache c, over linear_devices.
cut_power() {
	copy_at_an_instant
	go_back_to_copies
}

# cut_power_beside PID: the same while this process writes.
cut_power_beside() {
	copy_at_an_instant
	kill "$1"
	wait "$1" || true
	go_back_to_copies
}

# Cuts the power after a flush.
cut_power_after_flush() {
	sync /dev/mapper/c		# without a device it would send no flush
	cut_power
}

# --- the status of a cache ----------------------------------------------------

# settings_of OWNER: prints the keys of "target" or a policy, one a line, in the order of
# the status. scripts/lists has made the file.
settings_of() {
	awk -F '\t' -v owner="$1" '$1 == "setting" && $2 == owner { print $3 }' "$TOP/build/lists"
}

# long_values OWNER: prints "KEY VALUE ..." with the largest value of each setting, or the
# one below it where that is the default, because the record keeps no default.
long_values() {
	awk -F '\t' -v owner="$1" '$1 == "setting" && $2 == owner {
		printf "%s%s %.0f", space, $3, $7 - ($5 == $7)
		space = " "
	}' "$TOP/build/lists"
}

# read_status NAME: reads the status line of NAME into ST.
read_status() {
	local -a f
	local i n
	read -ra f < <(dmsetup status --noflush "$1")
	[ "${f[2]:-}" = cache ] || fail "not a cache: $1: ${f[*]}"
	ST=()
	ST[line]="${f[*]:3}"
	ST[block]=${f[5]}
	ST[metadata_used]=${f[4]%/*} ST[metadata_total]=${f[4]#*/}
	ST[used]=${f[6]%/*} ST[total]=${f[6]#*/}
	ST[read_hits]=${f[7]} ST[read_misses]=${f[8]}
	ST[write_hits]=${f[9]} ST[write_misses]=${f[10]}
	ST[demotions]=${f[11]} ST[promotions]=${f[12]} ST[dirty]=${f[13]}
	n=${f[14]} i=15
	ST[features]="${f[*]:i:n}"
	i=$((i + n)) n=${f[i]}
	ST[core]="${f[*]:i+1:n}"
	i=$((i + n + 1))
	ST[policy]=${f[i]}
	n=${f[i + 1]} i=$((i + 2))
	ST[settings]="${f[*]:i:n}"
	i=$((i + n))
	ST[rw]=${f[i]:-} ST[needs_check]=${f[i + 1]:-}
}

stat_of() {
	read_status "$1"
	echo "${ST[$2]}"
}

# field FIELD [LV]: prints a field of lvs
field() {
	lvs -a --noheadings --nosuffix --units "${UNITS:-k}" -o "$1" "${2:-vg/lv}" | tr -d ' '
}

# lvs_is FIELD=VALUE...: calls lvs once for all fields, and lvs must print no warning.
lvs_is() {
	local have want
	# lv_attr says whether a volume is open, and udev opens volumes too
	udevadm settle
	have=$(IFS=,; lvs --noheadings --nosuffix --units k --separator '|' -o "${*%%=*}" vg/lv 2>&1)
	want=$(IFS='|'; echo "${*#*=}")
	assert_eq "${have#"${have%%[! ]*}"}" "$want" "lvs ${*%%=*}"
}

message() {
	dmsetup message -- "$1" 0 "${@:2}"
}

# counter CACHE NAME: prints a counter that only the message stats has.
counter() {
	message "$1" stats | awk -v name="$2" '$1 == name { print $2 }'
}

# is_at_rest NAME: the status has not changed since the last call.
is_at_rest() {
	local before=${AT_REST:-}
	AT_REST=$(dmsetup status --noflush "$1")
	[ "$AT_REST" = "$before" ]
}

all_clean() {
	[ "$(stat_of "$1" dirty)" = 0 ]
}

used_at_least() {
	[ "$(stat_of "$1" used)" -ge "$2" ]
}

# warm NAME MIB [BLOCKS]: reads the first MIB of NAME again and again until so many
# blocks are in the cache (default: three quarters of them).
warm() {
	local name=$1 mib=$2 i
	local want=${3:-$((mib * 1536 / $(stat_of "$1" block)))}
	for ((i = 0; i < 40; i++)); do
		read_all "/dev/mapper/$name" "$mib"
		if used_at_least "$name" "$want"; then return; fi
	done
	fail "only $(stat_of "$name" used) of $want blocks in the cache"
}

# stays_dirty NAME: neither an idle volume nor many dirty blocks make write-back begin. A
# busy machine makes a volume look idle. Stock writes an idle volume back only while the
# migrations are below its threshold.
stays_dirty() {
	if is_stock; then
		message "$1" migration_threshold 0
		return
	fi
	message "$1" writeback_idle 0
	message "$1" dirty_high 100
}

# no_promotion_limits NAME: the engine refuses no promotion for what the promotions
# before have cost. That depends on the speed of the machine. Hearth only.
no_promotion_limits() {
	message "$1" max_promote_share 100
	message "$1" migration_threshold 1048576
}

# every_write_comes_in NAME: neither the share of promotions nor the policy sends a write
# of whole blocks to the origin while there are free slots. The room for migrations
# stays, because write-back has it, too; write_data never fills it. Hearth only.
every_write_comes_in() {
	message "$1" max_promote_share 100
	[ "$(stat_of "$1" policy)" != smq ] || message "$1" full_write_level 0
}

read_all() {
	fio_quiet --filename="$1" --rw=randread --bs=16k --size="${2}M"
}

# reads OFFSET_MIB MIB IO_SIZE: reads 4 KiB at random places of vg/lv.
reads() {
	fio_quiet --readonly --filename=/dev/vg/lv --rw=randread --bs=4k --offset="$1M" --size="$2M" --io_size="$3"
}

# counted FIELD COMMAND...: sets COUNT to how far the command raised a counter of vg/lv.
# shellcheck disable=SC2034
counted() {
	local counter=$1 before
	shift
	udevadm settle
	before=$(stat_of vg-lv "$counter")
	"$@"
	COUNT=$(($(stat_of vg-lv "$counter") - before))
}

# --- memory -----------------------------------------------------------------

drop_caches() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

# Prints the kernel's memory without the page cache, in KiB.
kernel_memory() {
	drop_caches
	awk '/^(Slab|Percpu|KernelStack|VmallocUsed):/ { n += $2 } END { print n }' /proc/meminfo
}

# Gives the kernel's freed objects back, also the ones that KASAN has kept.
shrink_slabs() {
	local list
	for list in /sys/kernel/slab/*/shrink; do
		echo 1 >"$list"
	done
}

# purge_vmalloc: gives KASAN's shadow of freed addresses back; see kernel/vmpurge.c.
purge_vmalloc() {
	grep -q ' kasan_populate_vmalloc$' /proc/kallsyms || return 0
	[ -e /sys/module/vmpurge ] || insmod "$TOP/build/tools/vmpurge-$(uname -r).ko"
	cat /sys/module/vmpurge/parameters/purge >/dev/null
}

# Prints all memory that belongs to no process and no file, in KiB, including pages that
# no counter of the kernel covers. Freed memory that waits on a list of free pages or
# free objects is left out, and so is the shadow of addresses that nothing uses.
memory_held() {
	drop_caches
	shrink_slabs
	purge_vmalloc
	cat /proc/sys/vm/stat_refresh
	awk '$1 == "MemTotal:" { held += $2 }
		/^(MemFree|Buffers|Cached|SwapCached|AnonPages|PageTables|SReclaimable):/ { held -= $2 }
		$1 == "count:" { held -= $2 * 4 }
		END { print held }' /proc/meminfo /proc/zoneinfo
}

memory_available() {
	drop_caches
	awk '/^MemAvailable:/ { print $2 }' /proc/meminfo
}

# leave_memory MIB: takes all other memory away from everybody, until give_memory_back.
leave_memory() {
	local available
	available=$(memory_available)
	echo $(((available - $1 * 1024) / 2048)) >/proc/sys/vm/nr_hugepages
	awk '/^(MemAvailable|HugePages_Total):/' /proc/meminfo
}

give_memory_back() {
	[ ! -e /proc/sys/vm/nr_hugepages ] || echo 0 >/proc/sys/vm/nr_hugepages
}

# Writes all of a null_blk device. null_blk allocates a page of memory at the first
# write to each page, so later writes allocate nothing.
fill_device() {
	zero "$1" $(($(sectors "$1") / 128))
}

# --- data -------------------------------------------------------------------

fio_quiet() {
	fio --name=t --direct=1 --ioengine=libaio --iodepth=8 --thread \
		--verify_state_save=0 --output="$T/fio.out" "$@" || {
		cat "$T/fio.out"
		fail "fio $*"
	}
}

# The load of a test is its child process LOAD.
load_is_over() {
	! kill -0 "$LOAD" 2>/dev/null
}

# write_data DEVICE SEED OFFSET_MIB MIB [BS]: writes blocks that carry their seed and
# place. RW=randwrite writes them in random order.
write_data() {
	block_data write "$@"
}

# check_data: takes the arguments with which write_data wrote the data.
check_data() {
	block_data check "$@" || fail "wrong data: $*"
}

block_data() {
	local order=seq size=${6:-64k}
	[ "${RW:-write}" = write ] || order=rand
	"$TOP/build/tools/blockdata" "$1" "$2" "$3" $(($4 * 1048576)) $(($5 * 1048576)) \
		$((${size%k} * 1024)) $order
}

# check_data_fails: as check_data, but the device must hold something else.
check_data_fails() {
	local code=0
	(check_data "$@") >/dev/null 2>&1 || code=$?
	[ $code != 0 ] || fail "the device holds data that it must not hold: $*"
}

sum_of() {
	dd if="$1" bs=1M iflag=direct status=none | sha256sum | cut -d' ' -f1
}

# --- engine -----------------------------------------------------------------

unload_engine() {
	local m
	for m in /sys/module/dm_cache_*; do
		[ -e "$m" ] && rmmod "$(basename "$m")"
	done
	[ ! -e /sys/module/dm_cache ] || rmmod dm_cache
}

# install_engine stock|hearth: chooses which dm-cache this guest's modprobe finds.
install_engine() {
	local release tree=$HEARTH_MODS
	release=$(uname -r)
	[ "$1" = hearth ] || tree=$HEARTH_KERNEL
	ln -sfn "$tree/lib/modules/$release" "/lib/modules/$release"
}

# load_engine stock|hearth: loads this engine; no other is loaded from here on.
load_engine() {
	unload_engine
	install_engine "$1"
	modprobe dm-cache-smq
	case $(modinfo -F filename dm-cache) in
	*/updates/*) assert_eq hearth "$1" engine ;;
	*) assert_eq stock "$1" engine ;;
	esac
}

# Mounts the kernel's trace events at their usual place.
mount_trace() {
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
}

# --- before the first test, and after each ----------------------------------

# Moves the root directory to memory, and mounts everything where it was, because the
# host looks up each path and each link of the shared file system.
root_in_memory() {
	local root=/mnt entry
	mount -t tmpfs root $root
	for entry in /*; do
		if [ -L "$entry" ]; then
			cp -d "$entry" "$root$entry"
		elif [ -d "$entry" ] && [ "$entry" != $root ]; then
			mkdir "$root$entry"
			mount --rbind "$entry" "$root$entry"
		fi
	done
	mkdir $root/mnt
	pivot_root $root $root/mnt
	cd "$PWD"
}

# Copies the programs to memory and mounts them at their usual place. Prints the lines
# of LVM's configuration that name the tools which LVM runs.
use_programs() {
	local tool place=${HEARTH_PROGRAMS%/bin}
	mkdir /run/programs
	cp -a "$place/." /run/programs
	mount --bind /run/programs "$place"
	cp -n "$place"/root/usr/libexec/lvresize_fs_helper /usr/libexec/
	for tool in check dump repair restore; do
		echo "global/cache_${tool}_executable=\"$HEARTH_PROGRAMS/cache_$tool\""
	done
}

# Copies the programs that scripts/setup cluster has unpacked to their places, which are in
# the guest's memory.
cluster_programs() {
	local from=$TOP/build/cluster
	[ -e "$from/.ok" ] || skip "scripts/setup cluster gets the programs that the test needs"
	[ ! -e /run/cluster-programs ] || return 0
	tar -C "$from" -c sbin usr/sbin usr/lib/x86_64-linux-gnu lib/drbd etc/iscsi |
		tar -C / -x --keep-directory-symlink
	mkdir -p /run/lock /var/lib/drbd
	touch /run/cluster-programs
}

guest_init() {
	set -e
	root_in_memory
	sysctl -qw kernel.hung_task_timeout_secs=$((60 * HEARTH_SLOWER)) kernel.panic_on_oops=1 kernel.panic=-1
	mkdir -p $LVM_SYSTEM_DIR /etc/udev/rules.d
	ln -s /dev/null /etc/udev/rules.d/69-lvm.rules
	udevadm control --reload
	cat >$LVM_SYSTEM_DIR/lvm.conf <<-'CONF'
		devices {
			filter = [ "r|^/dev/nullbFAR_|", "a|^/dev/nullb|", "a|^/dev/sd|", "a|^/dev/nvme|", "a|^/dev/mapper/pv_|", "r|.*|" ]
			types = [ "nullb", 16 ]
			use_devicesfile = 0
		}
		backup { backup = 0 archive = 0 }
		activation { monitoring = 0 }
		global { use_lvmpolld = 0 }
	CONF
	[ -z "$HEARTH_PROGRAMS" ] || use_programs >>$LVM_SYSTEM_DIR/lvm.conf
	# /usr and /etc are overlays in memory over the host's; touch copies a file into
	# memory
	touch /etc/ld.so.cache /etc/ld.so.preload
	xargs touch -c <"$TOP/build/hot-files"
	modprobe null_blk nr_devices=0
	[ -d $NULLB ] || mount -t configfs none /sys/kernel/config
	load_engine "$HEARTH_ENGINE"
	set +e
}

state_of_devices() {
	echo "--- devices"
	dmsetup table
	dmsetup status --noflush
	lvs -a -o+devices
	echo "udevd: $(pgrep -c systemd-udevd) processes"
}

unmount_all() {
	local m
	for m in $(awk -v t="$T/" 'index($2, t) == 1 { print $2 }' /proc/mounts | tac); do
		umount "$m" || umount -l "$m"
	done
}

# Removes a cache, and runs cache_check on the metadata that it left.
remove_cache() {
	local name=$1 table meta
	read -ra table < <(dmsetup table "$name")
	dmsetup remove "$name" || return
	[ "$2" = pass ] && [ ! -e "$T/no-metadata-check" ] || return 0
	meta=/dev/block/${table[3]}
	cache_check "$meta" || touch "$T/bad-metadata"
}

remove_free_devices() {
	local name opens type
	dmsetup info -c --noheadings --separator ' ' -o name,open | while read -r name opens; do
		[ "$opens" = 0 ] || continue
		type=$(dmsetup table "$name" | cut -d' ' -f3)
		if [ "$type" = cache ]; then
			remove_cache "$name" "$1"
		else
			dmsetup remove "$name"
		fi
	done
}

remove_all_devices() {
	local i name state
	dmsetup info -c --noheadings --separator ' ' -o name,suspended |
		while read -r name state; do
			[ "$state" != Suspended ] || dmsetup resume "$name" || true
		done
	for ((i = 0; i < 12; i++)); do
		[ "$(dmsetup ls)" != "No devices found" ] || return 0
		remove_free_devices "$1" || true
	done
	dmsetup info -c
	return 1
}

remove_nullb() {
	local d
	for d in "$NULLB"/*/; do
		[ -d "$d" ] || continue
		echo 0 >"$d/power"
		rmdir "$d"
	done
	rm -rf /run/lvm/*_online /run/lvm/hints
}

clean_up() {
	echo "--- cleaning up"
	swapoff -a
	give_memory_back
	udevadm settle
	unmount_all
	if ! remove_all_devices "$1"; then
		echo "FAILED: devices cannot be removed"
		exit 2
	fi
	remove_nullb
	if [ -e "$T/bad-metadata" ]; then
		echo "FAILED: cache_check does not accept the metadata"
		exit 1
	fi
	if [ "$(modinfo -F filename dm-cache | grep -c /updates/)" != "$(is_stock && echo 0 || echo 1)" ]; then
		load_engine "$HEARTH_ENGINE"
	fi
	if [ "$(cat /sys/module/dm_cache_smq/refcnt)" != 0 ]; then
		echo "FAILED: dm-cache-smq is still referred to"
		exit 2
	fi
}

BAD_NEWS='WARNING:|BUG:|BUG |Oops|KASAN|UBSAN|possible circular|possible recursive|inconsistent lock|blocked for more than|soft lockup|general protection|refcount_t|Call Trace|bad page|detected stall'

# The origin check says this when blocks differ. If no test has written the origin, it is a
# false alarm.
ORIGIN_ALARM='the origin was written without the cache|blocks differ from '

# without_known_reports: what the kernel has said, without the reports that dmesg_known named.
# A report goes from a line of "=" to the end of its call trace.
without_known_reports() {
	[ -e "$T/dmesg-known" ] || exec cat
	awk -v known="$(paste -sd '|' "$T/dmesg-known")" '
		/ ======/ { printf "%s", report; report = ""; inside = 1 }
		!inside { print; next }
		{ report = report $0 "\n" }
		/<\/TASK>/ { if (report !~ known) printf "%s", report; inside = 0; report = "" }
		END { printf "%s", report }'
}

dmesg_clean() {
	local allow=$T/dmesg-allow
	[ -e "$allow" ] || echo '^$' >"$allow"
	kernel_log | without_known_reports >"$T/dmesg"
	if grep -E "$BAD_NEWS|$ORIGIN_ALARM" "$T/dmesg" | any_line -vEf "$allow"; then
		echo "FAILED: the kernel's log"
		cat "$T/dmesg"
		return 1
	fi
}
