# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The same work for every engine. The host's table (tests/bench/peers.py) decides what a
# case does: $OUT/peers.plan has a line for each step, "CASE ENGINE STEP WORD...", and a
# step is a function peers_STEP here. This file must not know what a case promises.
#
# The SSD has to be flushed. It keeps no data, nor does the disk, because the transfers of
# real devices cost the CPU nothing; only their heads do, for superblocks. A case with
# files has devices that keep everything.

PEERS_MIB=256		# of the SSD
PEERS_WIDE_MIB=1100	# of the SSD of a drain
PEERS_KEPT_MIB=640	# of the disk that keeps what is written, and of its SSD, if it is alone

# --- devices ------------------------------------------------------------------

# peers_ssd MIB KEEP_MIB
peers_ssd() {
	WRITE_CACHE=32 device META 16 20000ns
	ALONE=
	ssd "$(($1 > $2 ? $1 : $2))" "$2"
	linear fast "$SSD" $(($1 * 2048))
	FAST=/dev/mapper/fast
}

# Three sets of devices: far has 1 TiB of disk, wide a larger SSD as well, and kept a disk
# that keeps what is written.
peers_devices() {
	[ "${PEERS_DEVICES:-}" != "$1" ] || return 0
	[ -z "${PEERS_DEVICES:-}" ] || remove_devices
	PEERS_DEVICES=
	case $1 in
	far) far_disk; peers_ssd $PEERS_MIB 2 ;;
	wide) far_disk; peers_ssd $PEERS_WIDE_MIB 8 ;;
	kept)
		disk $PEERS_KEPT_MIB keep
		linear slow "$DISK" $((PEERS_KEPT_MIB * 2048))
		SLOW=/dev/mapper/slow
		peers_ssd $PEERS_MIB $PEERS_KEPT_MIB
		ALONE=$SSD
		;;
	esac
	PEERS_DEVICES=$1
}

# --- what is counted ------------------------------------------------------------

# disk_totals: prints nanoseconds of the disk's work, then reads, sectors read, writes,
# sectors written.
disk_totals() {
	echo "$(cat /sys/module/hearth_disk/parameters/busy_ns)" \
		"$(awk '{ print $1, $3, $5, $7 }' "/sys/class/block/$(basename "$DISK")/stat")"
}

# disk_counted NAME COMMAND...: reports what the disk did while the command ran.
disk_counted() {
	local -a before after
	local i=0 name=$1 what
	shift
	read -ra before < <(disk_totals)
	"$@"
	read -ra after < <(disk_totals)
	for what in ns reads sectors-read writes sectors-written; do
		figure "$name-disk-$what" $((after[i] - before[i]))
		i=$((i + 1))
	done
}

# hearth's and stock's counters, for who wants to know why
peers_stats() {
	[ -e /dev/mapper/c ] || return 0
	{
		echo "--- $1, $(now) s"
		dmsetup status --noflush c
		[ "$ENGINE" != hearth ] || dmsetup message c 0 stats
	} >>"$OUT/$SECTION.stats"
}

# took NAME COMMAND...: reports how many seconds the command took.
took() {
	local name=$1 began=$EPOCHREALTIME
	shift
	"$@"
	figure "$name-seconds" "$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')"
}

# --- steps --------------------------------------------------------------------

peers_make() {
	make_stack "$STACK"
}

peers_remove() {
	remove_stack "$STACK"
}

peers_wait() {
	sleep "$1"
}

# peers_job PART FIO-OPTION...: a job that is not measured. @DATA stands for as much data
# as hearth's cache can hold.
peers_job() {
	peers_stats "before $1"
	job "$SECTION-$1" "$DEV" --offset="$AT" "${@:2}"
	peers_stats "after $1"
}

# peers_counted PART FIO-OPTION...: a job that is measured.
peers_counted() {
	peers_stats "before $1"
	disk_counted "$SECTION-$1" counted_job "$SECTION-$1" "$DEV" --offset="$AT" "${@:2}"
	peers_stats "after $1"
}

# The slots of an empty cache that are not lent to the write log or kept for its ring.
learn_data_kib() {
	local ring segments
	[ -z "${DATA_KIB:-}" ] || return 0
	make_stack hearth
	ring=$(dmesg | awk '/write log: on, with a ring of/ { n = $(NF - 1) } END { print n + 2 }')
	segments=$(dmsetup message c 0 stats | awk '$1 == "log_segments" { print $2 }')
	remove_stack hearth
	DATA_KIB=$(((PEERS_MIB * 16 - (ring + 15) / 16 - segments) * 64))
	echo "hearth has room for $DATA_KIB KiB of data"
}

# --- a drain ------------------------------------------------------------------

# drain_waits: the engine keeps what is dirty until drain_begins.
drain_waits() {
	case $ENGINE in
	hearth | stock) writeback_waits "$ENGINE" ;;
	bcache) echo 0 >/sys/block/bcache0/bcache/writeback_running ;;
	esac
}

drain_begins() {
	case $ENGINE in
	hearth | stock) writeback_begins ;;
	bcache)
		echo 0 >/sys/block/bcache0/bcache/writeback_percent
		echo 1 >/sys/block/bcache0/bcache/writeback_running
		;;
	writecache)
		dmsetup message c 0 flush &
		FLUSH=$!
		;;
	esac
}

drain_ends() {
	case $ENGINE in
	hearth | stock) until_clean ;;
	bcache) until [ "$(cat /sys/block/bcache0/bcache/state)" = clean ]; do sleep 0.1; done ;;
	writecache) wait "$FLUSH" ;;
	esac
}

# Stock promotes no write that misses, so its cache holds the blocks before.
drain_stack() {
	if [ "$ENGINE" = stock ]; then
		cache_with stock writeback $((WB_BLOCKS + 500)) <"$T/blocks-$WB_BLOCKS"
		DEV=/dev/mapper/c
	else
		peers_make
	fi
}

# drain_left BLOCKS_BEFORE: how many blocks are dirty still
drain_left() {
	case $ENGINE in
	stock) stat_of c dirty ;;
	*) echo $((WB_BLOCKS - ($(sectors_written "$DISK") - $1) / 8)) ;;
	esac
}

# drain_all FIO-OPTION...: readers run while the engine drains.
drain_all() {
	drain_begins
	job "$SECTION-beside" "$DEV" "$@"
	drain_ends
}

# 4,000 blocks go home. Readers of 64 of them, which are all in the cache, run beside for
# a second, and again when all are home. If some went home before the clock ran, the time
# is scaled to all of them; there is none if most had gone.
peers_drain() {
	local read=(--rw=randread --size=4m --iodepth=1 --time_based --runtime=1)
	local before left began
	writeback_blocks "$WB_BLOCKS"
	drain_stack
	drain_waits
	job "$SECTION-fill" "$DEV" --rw=randwrite --bs=64k --size=4m --norandommap=0 --iodepth=8
	job "$SECTION-read" "$DEV" --rw=randread --bs=64k --size=4m --norandommap=0 --loops=2
	before=$(sectors_written "$DISK")
	writeback_dirty "$WB_BLOCKS"
	left=$(drain_left "$before")
	peers_stats "before the drain"
	began=$(now)
	disk_counted "$SECTION-drain" drain_all "${read[@]}"
	figure "$SECTION-drain-left" "$left"
	[ "$left" -lt $((WB_BLOCKS / 2)) ] ||
		figure "$SECTION-drain-seconds" "$(awk -v a="$began" -v b="$(now)" -v all="$WB_BLOCKS" \
			-v left="$left" 'BEGIN { print (b - a) * all / left }')"
	peers_stats "after the drain"
	job "$SECTION-idle" "$DEV" "${read[@]}"
}

# --- a tree of files ------------------------------------------------------------

# place_for_data: makes PLACE, where data lie on the disk that are to be there on DEV
# from sector 0 on. bcache's backing device has a head of 16 sectors.
place_for_data() {
	local from=0
	[ "$ENGINE" = ssd ] && PLACE=$ALONE && return
	[ "$ENGINE" != bcache ] || from=16
	dmsetup create place --table "0 $(($(sectors "$SLOW") - from)) linear $SLOW $from"
	PLACE=/dev/mapper/place
}

mount_anew() {
	! mountpoint -q "$T/mnt" || umount "$T/mnt"
	echo 3 >/proc/sys/vm/drop_caches
	mount "$1" "$T/mnt"
}

search_in() {
	! grep -rq "no header says this" "$T/mnt/$1" || fail "grep found something"
}

copy_tree() {
	cp -a "$T/mnt/include" "$T/mnt/copy"
	sync -f "$T/mnt"
}

# A tree is on the disk before there is a cache. It is read once, copied, and the copy is
# searched, each time with an empty page cache.
peers_tree() {
	mkdir -p "$T/mnt"
	[ -e "$T/tree.tar" ] || tar -C /usr/src/linux-headers-*-common -cf "$T/tree.tar" include
	place_for_data
	mkfs.ext4 -qF -E lazy_itable_init=0,lazy_journal_init=0 "$PLACE" 240m
	mount "$PLACE" "$T/mnt"
	tar -C "$T/mnt" -xf "$T/tree.tar"
	umount "$T/mnt"
	[ "$ENGINE" = ssd ] || dmsetup remove place
	peers_make
	mount_anew "$DEV"
	disk_counted "$SECTION-read" undisturbed took "$SECTION-read" search_in include
	mount_anew "$DEV"
	disk_counted "$SECTION-copy" undisturbed took "$SECTION-copy" copy_tree
	mount_anew "$DEV"
	disk_counted "$SECTION-search" undisturbed took "$SECTION-search" search_in copy
	peers_stats "after the tree"
	umount "$T/mnt"
}

# --- what a boot reads ----------------------------------------------------------

# A list of reads, four at a time, and again.
peers_boot() {
	local pass
	peers_make
	awk -v dev="$DEV" -v from=$((64 << 30)) '
		BEGIN { print "fio version 2 iolog\n" dev " add\n" dev " open" }
		!/^#/ { printf "%s read %.0f %d\n", dev, from + $1 * 512, $2 * 512 }
		END { print dev " close" }' "$HEARTH_TOP/tests/bench/boot-reads" >"$T/boot"
	for pass in first second; do
		disk_counted "$SECTION-$pass" took "$SECTION-$pass" undisturbed \
			fio_quiet --read_iolog="$T/boot" --replay_no_stall=1 --iodepth=4
	done
	peers_stats "after the boots"
}

# --- a database ---------------------------------------------------------------

# peers_pgbench SCALE SECONDS: fills a database through the cache, and runs clients with an
# empty page cache. Then the server is cut off and starts again, and its tables' sums have
# to agree.
peers_pgbench() {
	local rates
	mkdir -p "$T/mnt" "$T/transactions"
	chown postgres "$T/transactions"
	peers_make
	mkfs.ext4 -qF -E lazy_itable_init=0,lazy_journal_init=0 "$DEV"
	mount "$DEV" "$T/mnt"
	pg_make "$T/mnt/pg"
	pg_start
	pg_fill "$1"
	pg_stop fast
	mount_anew "$DEV"
	pg_start
	peers_stats "before the clients"
	disk_counted "$SECTION-job" undisturbed pg_run "$2" "$T/transactions/$ENGINE"
	peers_stats "after the clients"
	read -ra rates < <(pg_rates "$T/transactions/$ENGINE" "$2")
	figure "$SECTION-job-rate" "${rates[0]}"
	figure "$SECTION-job-worst-rate" "${rates[1]}"
	figure "$SECTION-job-p99-ms" "${rates[2]}"
	pg_stop immediate
	mount_anew "$DEV"
	pg_start
	figure "$SECTION-job-agrees" "$(pg_agrees)"
	pg_stop fast
	umount "$T/mnt"
}

# --- cases --------------------------------------------------------------------

# peers_case: runs the steps of CASE on ENGINE. Its results carry the name of both.
peers_case() {
	local case_name engine step words
	SECTION=peers-$CASE-$ENGINE
	echo "=== $SECTION, $(now) s"
	STACK=$ENGINE
	[ "$ENGINE" != bcache ] || STACK=plain-bcache
	while read -r case_name engine step words; do
		[ "$case_name $engine" = "$CASE $ENGINE" ] || continue
		words=${words//@DATA/${DATA_KIB:-}k}
		# shellcheck disable=SC2086
		"peers_$step" $words </dev/null
	done <"$OUT/peers.plan"
	touch "$OUT/$SECTION.ok"
}

# After a case that failed, all devices are made anew.
after_failure() {
	echo "=== $CASE on $ENGINE failed"
	dmsetup table
	unmount_all
	if [ -e /sys/block/bcache0 ]; then remove_bcache; fi
	if [ -e /dev/cas1-1 ]; then remove_opencas; fi
	remove_devices
	PEERS_DEVICES=
	[ ! -e /sys/module/dm_writecache ] || rmmod dm_writecache
}

bench_peers() {
	local code kind
	# shellcheck source=tests/bench/guest/stacks.sh
	. "$HEARTH_TOP/tests/bench/guest/stacks.sh"
	# shellcheck source=tests/bench/guest/writeback.sh
	. "$HEARTH_TOP/tests/bench/guest/writeback.sh"
	# shellcheck source=tests/bench/guest/postgres.sh
	. "$HEARTH_TOP/tests/bench/guest/postgres.sh"
	echo "=== the guest is up, $(now) s"
	while read -r CASE ENGINE kind <&4; do
		peers_devices "$kind"
		if grep -q "^$CASE $ENGINE .*@DATA" "$OUT/peers.plan"; then learn_data_kib; fi
		# A process of its own, so that "set -e" holds in it.
		code=0
		peers_case &
		wait $! || code=$?
		[ $code = 0 ] || after_failure
	done 4< <(awk '$3 == "devices" { print $1, $2, $4 }' "$OUT/peers.plan")
	remove_devices
}
