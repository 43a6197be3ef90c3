# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Administrators change a volume that happens to be cached: they grow, shrink, rename,
# move, snapshot and remove it. They also put RAID below it, a thin pool above it, and
# several caches on one SSD.

#@ fast timeout=90 on=pool:writeback slow=vol:writeback,pool:writethrough,pool:passthrough,pool:writeback:format1,vol:writethrough,vol:passthrough
test_lvextend() {
	standard_vg
	LV_MIB=96 cached_lv "$@"
	write_data /dev/vg/lv 1 0 24
	lvextend -L 160M vg/lv "$DISK"
	assert_eq "$(sectors /dev/vg/lv)" 327680 size
	write_data /dev/vg/lv 2 90 20
	check_data /dev/vg/lv 1 0 24
	check_data /dev/vg/lv 2 90 20
	lvchange -an vg/lv
	lvchange -ay vg/lv
	check_data /dev/vg/lv 2 90 20
	lvconvert -y --uncache vg/lv
	check_data /dev/vg/lv 1 0 24
	check_data /dev/vg/lv 2 90 20
}

#@ fast timeout=90 on=pool slow=vol
test_lvextend_then_file_system() {
	standard_vg
	LV_MIB=64 cached_lv "$1" writeback
	mkfs.ext4 -q /dev/vg/lv
	mkdir "$T/m"
	mount /dev/vg/lv "$T/m"
	dd if=/dev/urandom of="$T/m/a" bs=1M count=16 status=none
	sha256sum "$T/m/a" >"$T/sums"
	lvextend -r -L 128M vg/lv "$DISK"
	assert_ge "$(df --output=size "$T/m" | tail -1)" 100000 "file system"
	dd if=/dev/urandom of="$T/m/b" bs=1M count=40 status=none
	sha256sum "$T/m/b" >>"$T/sums"
	umount "$T/m"
	fsck.ext4 -fn /dev/vg/lv
	mount /dev/vg/lv "$T/m"
	sha256sum -c "$T/sums"
}

#@ slow timeout=90 on=pool:writethrough,vol:writethrough,pool:passthrough,vol:passthrough
test_lvreduce() {
	standard_vg
	cached_lv "$@"
	write_data /dev/vg/lv 1 0 24
	write_data /dev/vg/lv 2 100 8
	lvreduce -f -y -L 64M vg/lv
	assert_eq "$(sectors /dev/vg/lv)" 131072 size
	check_data /dev/vg/lv 1 0 24
	write_data /dev/vg/lv 3 56 8
	check_data /dev/vg/lv 3 56 8
	lvchange -an vg/lv
	lvchange -ay vg/lv
	check_data /dev/vg/lv 1 0 24
	check_data /dev/vg/lv 3 56 8
}

# The engine must keep dirty blocks beyond the new end. The kernel refuses the shorter
# table, lvm2 leaves the volume suspended (with stock, too), and extending it again
# brings all data back. A clean volume shrinks.
#@ slow timeout=90 on=pool,vol,pool:format1
test_lvreduce_with_dirty_blocks_beyond() {
	standard_vg
	cached_lv "$1" writeback "${@:2}"
	write_data /dev/vg/lv 1 0 8
	write_data /dev/vg/lv 2 100 8
	if ! lvreduce -f -y -L 64M vg/lv; then
		[ "$(sectors /dev/vg/lv)" = 262144 ] || lvextend -L 128M vg/lv "$DISK"
		check_data /dev/vg/lv 1 0 8
		check_data /dev/vg/lv 2 100 8
		lvchange -y --cachemode writethrough vg/lv
		lvreduce -f -y -L 64M vg/lv
	fi
	assert_eq "$(sectors /dev/vg/lv)" 131072 size
	check_data /dev/vg/lv 1 0 8
	lvchange -an vg/lv
	lvchange -ay vg/lv
	check_data /dev/vg/lv 1 0 8
}

# table_of SECTORS: prints the table of a cache of so many sectors.
table_of() {
	echo "0 $1 cache $META $FAST $SLOW 128 1 writeback default 2 writeback_idle 0"
}

# shrinks reload|stop WHY DEVICE_SECTORS TABLE_SECTORS: the kernel must refuse the
# shorter cache. Then the function restores c.
shrinks() {
	local table
	[ "$1" = reload ] || dmsetup remove c
	if [ "$1" = reload ]; then
		dmsetup suspend c
		becomes slow "0 $3 linear $RAW 0"
		dmsetup load c --table "$(table_of "$4")"
		refused "$2" dmsetup resume c
	else
		becomes slow "0 $3 linear $RAW 0"
		refused "$2" dmsetup create c --table "$(table_of "$4")"
	fi
	becomes slow "0 65536 linear $RAW 0"
	table=$(table_of 65536)
	if [ "$1" = reload ]; then
		dmsetup load c --table "$table"
		dmsetup resume c
	else
		dmsetup create c --table "$table"
	fi
}

# The origin's device ends before a dirty block, or within one: the engine forgets no
# block and writes none back. If only the table is shorter, the device still has the
# block's place, and the engine writes the block back.
#@ hearth-only fast timeout=90 on=reload,stop
test_shrink_keeps_dirty_blocks() {
	by_hand_devices 16 32
	RAW=$SLOW
	dmsetup create slow --table "0 65536 linear $RAW 0"
	SLOW=/dev/mapper/slow
	dmsetup create c --table "$(table_of 65536)"
	every_write_comes_in c
	write_data /dev/mapper/c 1 0 2
	write_data /dev/mapper/c 2 26 4
	assert_eq "$(stat_of c dirty)" 96 dirty
	shrinks "$1" '57408 sectors: 32 blocks .* dirty, up to sector 61440' 57408 53248
	shrinks "$1" '61376 sectors: 1 blocks .* dirty, up to sector 61440' 61376 53248
	assert_eq "$(stat_of c dirty)" 96 "dirty afterwards"
	check_data_fails "$RAW" 2 26 1
	check_data /dev/mapper/c 1 0 2
	check_data /dev/mapper/c 2 26 4

	if [ "$1" = reload ]; then
		dmsetup reload c --table "$(table_of 53248)"
		dmsetup resume c
	else
		dmsetup remove c
		dmsetup create c --table "$(table_of 53248)"
	fi
	assert_eq "$(stat_of c dirty)" 32 "dirty within the shorter table"
	check_data "$RAW" 2 26 4
	check_data /dev/mapper/c 1 0 2
}

#@ slow timeout=90 on=pool:writeback,vol:writeback,pool:writethrough,pool:passthrough,pool:writeback:format1,vol:writethrough,vol:passthrough
test_lvrename_and_vgrename() {
	standard_vg
	cached_lv "$@"
	write_data /dev/vg/lv 1 0 8
	lvrename vg/lv vg/renamed
	check_data /dev/vg/renamed 1 0 8
	vgrename vg group
	check_data /dev/group/renamed 1 0 8
	lvchange -an group/renamed
	lvchange -ay group/renamed
	check_data /dev/group/renamed 1 0 8
	assert_eq "$(field segtype group/renamed)" cache type
}

#@ fast timeout=150 on=pool slow=vol
test_pvmove_origin_and_cache() {
	standard_vg
	device DISK2 256 disk
	device SSD2 96 ssd
	vgextend vg "$DISK2" "$SSD2"
	LV_MIB=48 cached_lv "$1" writeback
	write_data /dev/vg/lv 1 0 24
	pvmove -i 1 "$DISK" "$DISK2"
	check_data /dev/vg/lv 1 0 24
	pvmove -i 1 "$SSD" "$SSD2"
	check_data /dev/vg/lv 1 0 24
	vgreduce vg "$DISK" "$SSD"
	write_data /dev/vg/lv 2 0 12
	lvchange -an vg/lv
	lvchange -ay vg/lv
	check_data /dev/vg/lv 2 0 12
	check_data /dev/vg/lv 1 12 12
}

#@ fast timeout=60 on=pool slow=vol
test_lvremove() {
	standard_vg
	cached_lv "$1" writeback
	write_data /dev/vg/lv 1 0 8
	lvremove -y vg/lv
	assert_eq "$(lvs -a --noheadings vg | wc -l)" 0 volumes
	assert_eq "$(dmsetup ls)" "No devices found" devices
}

#@ slow timeout=60 on=pool,vol
test_lvremove_of_the_pool_uncaches() {
	standard_vg
	cached_lv "$1" writeback
	write_data /dev/vg/lv 1 0 8
	lvremove -y "vg/fast_c$1"
	assert_eq "$(field segtype)" linear type
	check_data /dev/vg/lv 1 0 8
}

#@ fast timeout=120 on=pool:writeback slow=pool:writethrough,pool:passthrough,pool:writeback:format1
test_snapshot_of_cached_lv() {
	standard_vg
	LV_MIB=64 cached_lv "$@"
	write_data /dev/vg/lv 1 0 24
	lvcreate -y -s -L 32M -n snap vg/lv "$DISK"
	write_data /dev/vg/lv 2 0 12
	check_data /dev/vg/lv 2 0 12
	check_data /dev/vg/snap 1 0 24
	lvremove -y vg/snap
	check_data /dev/vg/lv 2 0 12
	check_data /dev/vg/lv 1 12 12
}

# Not every lvm2 makes a snapshot over a cachevol (2.03.16 does not, 2.03.31 does).
# Either way the attempt must lose nothing.
#@ slow timeout=120
test_snapshot_over_cachevol() {
	local seed=1
	standard_vg
	LV_MIB=64 cached_lv vol writeback
	write_data /dev/vg/lv 1 0 24
	if lvcreate -y -s -L 32M -n snap vg/lv "$DISK"; then
		seed=2
		write_data /dev/vg/lv 2 0 8
		check_data /dev/vg/snap 1 0 24
		lvremove -y vg/snap
	fi
	check_data /dev/vg/lv $seed 0 8
	check_data /dev/vg/lv 1 8 16
	lvs -a vg
	lvchange -an vg
	lvchange -ay vg/lv
	check_data /dev/vg/lv $seed 0 8
	check_data /dev/vg/lv 1 8 16
}

snapshot_is_gone() {
	! lvs vg/snap >"$T/lvs" 2>&1
}

#@ slow timeout=120
test_snapshot_merge() {
	standard_vg
	LV_MIB=64 cached_lv pool writeback
	write_data /dev/vg/lv 1 0 16
	lvcreate -y -s -L 32M -n snap vg/lv "$DISK"
	write_data /dev/vg/lv 2 0 16
	udevadm settle
	lvconvert -i 1 --merge vg/snap
	# 2.03.31 may leave the merge to the next activation
	snapshot_is_gone || lvchange -an vg/lv
	lvchange -ay vg/lv
	until_true 60 snapshot_is_gone || fail "the snapshot was not merged"
	check_data /dev/vg/lv 1 0 16
}

#@ slow timeout=150 on=pool,vol
test_on_raid1() {
	local d legs="lv_corig fast_cvol"
	standard_vg
	device DISK2 256 disk
	device SSD2 96 ssd
	vgextend vg "$DISK2" "$SSD2"
	lvcreate -y --type raid1 -m1 --nosync -L 64M -n lv vg "$DISK" "$DISK2"
	lvcreate -y --type raid1 -m1 --nosync -L 32M -n fast vg "$SSD" "$SSD2"
	if [ "$1" = pool ]; then
		lvcreate -y --type raid1 -m1 --nosync -L 8M -n meta vg "$SSD" "$SSD2"
		lvconvert -y --type cache-pool --poolmetadata vg/meta vg/fast
		legs="lv_corig fast_cpool_cdata fast_cpool_cmeta"
	fi
	lvconvert -y --type cache "--cache$1" vg/fast --cachemode writeback vg/lv
	write_data /dev/vg/lv 1 0 24
	check_data /dev/vg/lv 1 0 24
	for d in $legs; do
		assert_eq "$(field segtype "vg/$d")" raid1 "$d"
	done
	lvconvert -y --uncache vg/lv
	check_data /dev/vg/lv 1 0 24
}

# cached_as pool|vol LV ORIGIN_SIZE CACHE_SIZE: makes one of several cached volumes.
cached_as() {
	lvcreate -y -L "$3" -n "$2" vg "$DISK"
	cache_it "$1" "$2" "$4"
}

cache_it() {
	local type=()
	[ "$1" = vol ] || type=(--type cache-pool)
	lvcreate -y "${type[@]}" -L "$3" -n "fast_$2" vg "$SSD"
	lvconvert -y --type cache "--cache$1" "vg/fast_$2" --cachemode writeback "vg/$2"
}

#@ slow timeout=150 on=pool,vol
test_two_caches_on_one_ssd() {
	local n
	standard_vg
	for n in root home; do
		cached_as "$1" $n 64M 16M
	done
	write_data /dev/vg/root 1 0 24
	write_data /dev/vg/home 2 0 24
	check_data /dev/vg/root 1 0 24
	check_data /dev/vg/home 2 0 24
	lvchange -an vg/root
	write_data /dev/vg/home 3 0 8
	lvconvert -y --uncache vg/home
	lvchange -ay vg/root
	check_data /dev/vg/root 1 0 24
	check_data /dev/vg/home 3 0 8
	check_data /dev/vg/home 2 8 16
}

#@ fast timeout=150 on=pool slow=vol
test_cached_thin_pool_data() {
	modprobe dm-thin-pool
	standard_vg
	lvcreate -y --type thin-pool -L 64M --poolmetadatasize 4M -n tp vg "$DISK"
	cache_it "$1" tp 16M
	lvcreate -y -V 48M -T vg/tp -n thin
	write_data /dev/vg/thin 1 0 24
	lvcreate -y -s -kn -n tsnap vg/thin
	write_data /dev/vg/thin 2 0 12
	check_data /dev/vg/thin 2 0 12
	check_data /dev/vg/tsnap 1 0 24
	vgchange -an vg
	vgchange -ay vg
	check_data /dev/vg/tsnap 1 0 24
	lvconvert -y --uncache vg/tp
	check_data /dev/vg/thin 2 0 12
	check_data /dev/vg/tsnap 1 0 24
}

#@ timeout=200 slow=pool,vol
test_one_lv_per_virtual_machine() {
	local n
	standard_vg 256 128
	for n in 1 2 3 4; do
		cached_as "$1" vm$n 40M 12M
	done
	for n in 1 2 3 4; do write_data /dev/vg/vm$n $n 0 20 & done
	wait
	vgchange -an vg
	vgchange -ay vg
	for n in 1 2 3 4; do check_data /dev/vg/vm$n $n 0 20; done
}

#@ slow timeout=90 on=pool,vol
test_xfs_of_real_files() {
	modprobe -q xfs || skip "this kernel has no XFS"
	standard_vg 512
	LV_MIB=320 cached_lv "$1" writeback
	mkfs.xfs -q /dev/vg/lv
	mkdir "$T/m"
	mount /dev/vg/lv "$T/m"
	cp -r "$TOP/tests" "$T/m/"
	dd if=/dev/urandom of="$T/m/big" bs=1M count=40 status=none
	(cd "$T/m" && find . -type f -print0 | xargs -0 sha256sum) >"$T/sums"
	sync
	umount "$T/m"
	lvconvert -y --splitcache vg/lv
	xfs_repair -n /dev/vg/lv
	mount /dev/vg/lv "$T/m"
	(cd "$T/m" && sha256sum --quiet -c "$T/sums")
}

# cache_full_of BLOCKS MODE: makes a cache c of so many slots of 32 KiB, all mapped and
# clean. TAIL is the first MiB of the last 1,250, which watched looks at.
cache_full_of() {
	local mib=$(($1 / 32))
	# shellcheck source=tests/guest/suites/crash.sh
	. "${BASH_SOURCE%/*}/crash.sh"
	empty_device FAST $mib
	empty_device SLOW $mib
	device META 48 ram
	cache_xml_full 64 "$1" >"$T/map"
	cache_restore -i "$T/map" -o "$META"
	rm "$T/map"
	dmsetup create c --table "0 $(($1 * 64)) cache $META $FAST $SLOW 64 1 $2 default 2 writeback_idle 0"
	assert_eq "$(stat_of c used)" "$1" "blocks in the cache"
	TAIL=$((mib - 1250))
}

# Prints the memory of the kernel's objects in use, in KiB. KASAN keeps freed objects for a
# while, a slab its free ones.
slab_now() {
	shrink_slabs
	awk '/^SUnreclaim:/ { print $2 }' /proc/meminfo
}

# watched COMMAND...: traces commits, and writes to the last part of c, into $T/trace.
# SLAB is the largest increase of kernel memory while the command ran, in KiB.
watched() {
	local trace=/sys/kernel/tracing before watcher
	mount_trace
	echo 4096 >$trace/buffer_size_kb
	: >$trace/trace
	echo "dev == $(($(stat -Lc '0x%t * 0x100000 + 0x%T' /dev/mapper/c))) && sector >= $((TAIL * 2048))" \
		>$trace/events/block/block_bio_queue/filter
	echo 1 >$trace/events/dm_cache/dm_cache_commit/enable
	echo 1 >$trace/events/block/block_bio_queue/enable
	before=$(slab_now)
	while sleep 0.05; do slab_now; done >"$T/slab" &
	watcher=$!
	"$@"
	kill $watcher
	echo 0 >$trace/events/block/block_bio_queue/enable
	echo 0 >$trace/events/dm_cache/dm_cache_commit/enable
	cp $trace/trace "$T/trace"
	echo 8 >$trace/buffer_size_kb
	if grep -q '\[LOST' "$T/trace"; then fail "the kernel lost trace events"; fi
	SLAB=$(($(sort -n "$T/slab" | tail -n 1) - before))
	echo "at most $SLAB KiB more"
	grep -o ' ops=[0-9]*' "$T/trace" | sort | uniq -c | sort -rn | sed -n 1,20p
}

largest_group() {
	grep -o 'dm_cache_commit: .* ops=[0-9]*' "$T/trace" | sed 's/.*ops=//' | sort -n | tail -n 1
}

# write_beside COMMAND...: while the command runs, writes to one block of the tail after
# another. The blocks lie so far apart that each write has to wait for its own bit.
write_beside() {
	local at=$TAIL
	"$@" &
	while kill -0 $! 2>"$T/gone" && [ "$at" -lt $((TAIL + 1200)) ]; do
		dd if=/dev/zero of=/dev/mapper/c bs=4k seek=$((at * 256)) count=1 oflag=direct status=none
		at=$((at + 40))
	done
	wait $!
}

# Prints, for each traced write, how many groups the engine committed until the write's
# bit was set.
waited_groups() {
	awk '/block_bio_queue: / { waits = 1; n = 0 }
		/dm_cache_commit: / && waits {
			n++
			if ($0 !~ / intents=0 /) { print n; waits = 0 }
		}' "$T/trace" | sort -n | uniq -c
}

# discards_beside_writes BLOCKS: discards all but the tail of a full cache.
discards_beside_writes() {
	local waited
	cache_full_of "$1" writeback
	# The ioctl has the inode's lock, for which dd and udev wait over a minute on a busy
	# machine. A cache that hangs makes the test time out.
	dmesg_allow 'blocked for more than|Call Trace'
	watched write_beside blkdiscard -o 0 -l "${TAIL}M" /dev/mapper/c
	# udev's reads may promote some blocks again.
	assert_le "$(stat_of c used)" 41000 "blocks left"
	waited=$(waited_groups)
	echo "$waited"
	assert_ge "$(awk '{ n += $1 } END { print n + 0 }' <<<"$waited")" 1 "writes seen"
	assert_le "$(awk 'END { print $2 }' <<<"$waited")" 2 "groups that a first write waited for"
}

# invalidates BLOCKS: invalidates all of a full cache by one message.
invalidates() {
	cache_full_of "$1" passthrough
	watched message c invalidate_cblocks "0-$1"
	assert_eq "$(stat_of c used)" 0 "blocks left"
}

# However many blocks leave the cache at once, a group of commits stays short, and the
# engine takes little memory. Each takes two minutes, so make test has unmap_many_blocks.
#@ hearth-only timeout=240 slow=discards_beside_writes,invalidates
test_unmap_a_million() {
	"$1" 1000000
	assert_le "$(largest_group)" 4096 "operations in a group"
	assert_le "$SLAB" 8192 "KiB of memory"
}

# An eighth of a million blocks may take an eighth of the memory.
#@ hearth-only fast timeout=90 on=discards_beside_writes,invalidates
test_unmap_many_blocks() {
	"$1" 128000
	assert_le "$(largest_group)" 4096 "operations in a group"
	assert_le "$SLAB" 1024 "KiB of memory"
}

# flushes_after COMMAND...: prints how many flushes of c the SSD and the disk serve after the
# command.
flushes_after() {
	local fast slow on_fast on_slow
	fast=$(counter c timed_cache_flushes) slow=$(counter c timed_origin_flushes)
	"$@" >&2
	on_fast=$(flushes "$FAST") on_slow=$(flushes "$SLOW")
	sync -d /dev/mapper/c
	fast=$(($(counter c timed_cache_flushes) - fast))
	slow=$(($(counter c timed_origin_flushes) - slow))
	assert_ge "$(flushes "$FAST")" $((on_fast + fast)) "flushes of the SSD"
	assert_ge "$(flushes "$SLOW")" $((on_slow + slow)) "flushes of the disk"
	echo "$fast $slow"
}

# write_4k BLOCK [FLAG]: writes 4 KiB to a block of 64 KiB.
write_4k() {
	dd if=/dev/urandom of=/dev/mapper/c bs=4k seek=$((16 * $1)) count=1 oflag="direct${2:+,$2}" status=none
}

read_4k() {
	dd if=/dev/mapper/c of=/dev/null bs=4k skip=$((16 * $1)) count=1 iflag=direct status=none
}

# in_mode_of_table COMMAND MODE: the last block of the origin is not whole.
in_mode_of_table() {
	dmsetup "$1" c --table "0 65528 cache $META $FAST $SLOW 128 1 $2 default 0"
	[ "$1" = create ] || dmsetup resume c
}

# A flush goes only to a device that was written since it was flushed, because a flush holds
# up what a disk does. The last block, which is not whole, is never cached.
#@ hearth-only fast timeout=60
test_flush_goes_where_it_is_needed() {
	local flushed
	WRITE_CACHE=64 by_hand_devices 16 32
	in_mode_of_table create writeback
	stays_dirty c
	write_4k 0
	write_4k 0
	flushes_after true
	assert_eq "$(flushes_after true)" "0 0" "flushes after nothing"
	assert_eq "$(flushes_after read_4k 0)" "0 0" "flushes after a read"
	assert_eq "$(flushes_after write_4k 0)" "1 0" "flushes after a write that hits"
	assert_eq "$(flushes_after write_4k 0 dsync)" "0 0" "flushes after a write with FUA"
	in_mode_of_table load writethrough
	message c mode writearound
	until_true 20 all_clean c || fail "$(stat_of c dirty) blocks are dirty"
	flushes_after true
	assert_eq "$(flushes_after write_4k 400)" "0 1" "flushes after a write that misses"
	assert_eq "$(flushes_after write_4k 511)" "0 1" "flushes after a write to the last block"
	assert_eq "$(flushes_after blkdiscard -o 20M -l 1M /dev/mapper/c)" "0 1" "flushes after a discard"
	assert_eq "$(flushes_after write_4k 0)" "1 1" "flushes after a write to both"
	assert_eq "$(flushes_after true)" "0 0" "flushes after nothing, in writearound"
	in_mode_of_table load passthrough
	sync -d /dev/mapper/c
	# The target times nothing in passthrough.
	flushed=$(flushes "$SLOW")
	write_4k 400
	sync -d /dev/mapper/c
	assert_ge "$(flushes "$SLOW")" $((flushed + 1)) "flushes of the disk in passthrough"
}

is_held() {
	[ "$(cat /sys/module/heldlock/parameters/held)" = Y ]
}

# A second table joins a running engine while the engine's last table is being
# suspended. The kernel must not give it an engine that is stopping.
#@ smp hearth-only fast timeout=90
test_shared_engine_resume_race() {
	local late last
	by_hand_devices 16 32
	dmsetup create meta --table "0 $(sectors "$META") linear $META 0"
	META=/dev/mapper/meta
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	dmsetup create second --notable
	dmsetup load second --table "$(dmsetup table c)"
	insmod "$TOP/build/tools/heldlock-$(uname -r).ko" skip=1 \
		caller=cache_engine_resume,begin_resume,end_resume
	"$(type -P dmsetup)" resume second &
	late=$!
	until_true 20 is_held || fail "the resume was not held"
	dmsetup suspend --noflush --nolockfs meta
	trap 'echo 1 >/sys/module/heldlock/parameters/go; dmsetup resume meta; wait' EXIT
	"$(type -P dmsetup)" suspend c &
	last=$!
	until_true 20 stops_in $last cache_engine_suspend || fail "the suspend does not wait for the metadata"
	echo 1 >/sys/module/heldlock/parameters/go
	must_fail wait $late
	kernel_said 'in use by another active cache'
	dmsetup resume meta
	trap - EXIT
	wait $last
	rmmod heldlock
	dmsetup resume second
	check_data /dev/mapper/second 1 0 8
	write_data /dev/mapper/second 2 4 4
	check_data /dev/mapper/second 2 4 4
	dmsetup remove c
	check_data /dev/mapper/second 1 0 4
}
