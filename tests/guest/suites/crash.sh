# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Power cuts: recordings that are replayed to many instants (tests/crash), and
# what an activation costs after one.

# What crashtest needs: the disks, no udev (which looks at every new table),
# checkers, and a way to change engines. Undone when the test ends.
crash_ready() {
	udevadm settle
	udevadm control --exit
	trap crash_over EXIT
	[ -e /dev/crashdisk ] || insmod "$TOP/build/tools/crashdisk-$(uname -r).ko"
	cp "$TOP/build/tools/crashtest" "$T/"
	echo ". $TOP/tests/guest/guest/lib.sh && load_engine \"\$1\"" >"$T/engine"
	export CRASH_ENGINE="bash $T/engine"
	export CRASH_TOOLS=/usr/sbin
	[ ! -d "$TOP/build/trixie/bin" ] || CRASH_TOOLS+=" $TOP/build/trixie/bin"
	CRASH_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
	export CRASH_DIR
	cd "$T" || exit
}

crash_over() {
	set +e
	rmmod crashdisk
	/lib/systemd/systemd-udevd --daemon
}

# cuts SEED ROUNDS CUTS LOOKS STOCK: crashtest's arguments; the seed is added
# to the run's own.
cuts() {
	local seed=$((${HEARTH_SEED:-1} * 1000 + $1))
	shift
	crash_ready
	./crashtest "$seed" "$@"
}

# Eight seeds in a row go through all scripts of recordings.
#@ hearth-only fast timeout=60 on=0..7
test_cuts() {
	cuts "$1" 1 19 60 0
}

#@ hearth-only fast timeout=60
test_cuts_opened_by_stock() {
	cuts 100 1 4 40 3
}

#@ hearth-only timeout=300 slow=200..239
test_many_cuts() {
	cuts "$1" 1 50 200 3
}

# --- what a cut costs ---------------------------------------------------------

# mapped XML_FILE SLOTS BLOCK_SECTORS: metadata with every slot mapped, clean.
mapped() {
	awk -v n="$2" -v bs="$3" 'BEGIN {
		printf "<superblock uuid=\"\" block_size=\"%d\" nr_cache_blocks=\"%d\" policy=\"smq\" hint_width=\"4\">\n<mappings>\n", bs, n
		for (i = 0; i < n; i++)
			printf "<mapping cache_block=\"%d\" origin_block=\"%d\" dirty=\"false\"/>\n", i, i
		print "</mappings>\n</superblock>"
	}' >"$1"
}

# empty_device VARIABLE MIB: takes what is written, and keeps nothing.
empty_device() {
	local -n path_of=$1
	local dir=$NULLB/nullb$1

	mkdir "$dir"
	echo 0 >"$dir/memory_backed"
	echo "$2" >"$dir/size"
	echo 512 >"$dir/blocksize"
	echo 1 >"$dir/power"
	path_of=/dev/nullb$1
	[ -b "$path_of" ] || path_of=/dev/nullb$(cat "$dir/index")
}

# power_cut COPY: what is on the metadata device now goes to COPY. META is a
# linear device over DISKMETA; nothing reaches that while it is suspended.
power_cut() {
	dmsetup suspend --noflush --nolockfs meta
	dd if="$DISKMETA" of="$1" bs=1M oflag=direct iflag=direct status=none
	dmsetup resume meta
}

metadata_devices() {
	device DISKMETA "$1" ram
	device COPY "$1" ram
	dmsetup create meta --table "0 $(sectors "$DISKMETA") linear $DISKMETA 0"
	META=/dev/mapper/meta
}

dirty_on_disk() {
	cache_dump "$1" | grep -c 'dirty="true"'
}

# bounded MAX: random writes everywhere in writethrough, then a cut: at most so
# many blocks are dirty on the disk, and so many are written back afterwards.
bounded() {
	local dirty written
	dmsetup create c --table "0 $(sectors "$SLOW") cache $META $FAST $SLOW 64 1 writethrough smq ${2:-0}"
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=300M --io_size=48M \
		--iodepth=16 --norandommap
	power_cut "$COPY"
	dirty=$(dirty_on_disk "$COPY")
	echo "dirty on the disk: $dirty of at most $1"
	assert_le "$dirty" "$1" "blocks dirty on the disk"
	assert_ge "$dirty" "$(($1 / 4))" "blocks dirty on the disk"
	dmsetup remove c
	dmsetup create c --table "0 $(sectors "$SLOW") cache $COPY $FAST $SLOW 64 1 writethrough smq 0"
	# A full cache frees a few slots in advance.
	assert_ge "$(stat_of c used)" 9500 "blocks in the cache"
	until_true 120 all_clean c
	written=$(dmsetup message c 0 stats | awk '$1 == "writebacks" { print $2 }')
	assert_le "$written" "$dirty" "blocks written back"
	dmsetup remove c
}

#@ hearth-only slow timeout=240
test_writebacks_after_a_cut_are_bounded() {
	metadata_devices 8
	empty_device FAST 300
	empty_device SLOW 300
	mapped "$T/map" 9600 64
	cache_restore -i "$T/map" -o "$META"
	bounded 4096
	cache_restore -i "$T/map" -o "$META"
	bounded 500 "2 max_intents 500"
}

# How long the cache takes to be there, in ms.
time_activation() {
	local began
	began=$(date +%s%N)
	dmsetup create c --table "0 $(sectors "$SLOW") cache $1 $FAST $SLOW 64 1 writeback smq 0"
	TOOK=$((($(date +%s%N) - began) / 1000000))
}

#@ hearth-only slow timeout=300
test_activation_after_a_cut() {
	local i clean=0 cut=0
	metadata_devices 24
	empty_device FAST 12800
	empty_device SLOW 25600
	mapped "$T/map" 400000 64
	cache_restore -i "$T/map" -o "$META"
	time_activation "$META"
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=12G --io_size=8M --norandommap
	power_cut "$COPY"
	dmsetup remove c
	dd if="$COPY" of="$T/cut" bs=1M status=none
	echo "dirty on the disk: $(dirty_on_disk "$COPY")"
	for ((i = 0; i < 6; i++)); do
		time_activation "$COPY"
		dmsetup remove c
		echo "after a cut: $TOOK ms"
		cut=$((cut + TOOK))
		time_activation "$COPY"
		# Who probes the new device has read blocks into it.
		assert_ge "$(stat_of c used)" 400000 "blocks in the cache"
		dmsetup remove c
		echo "after a clean stop: $TOOK ms"
		clean=$((clean + TOOK))
		dd if="$T/cut" of="$COPY" bs=1M oflag=direct status=none
	done
	echo "sum of 6: $cut ms after a cut, $clean ms after a clean stop"
	assert_le $((cut * 100)) $((clean * 120)) "activation after a cut, in hundredths"
}
