# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Power cuts: tests/crash replays recordings to many instants. Other tests here measure
# what an activation costs after a cut.

# run_dir: the directory of this boot, in which the host keeps what the guest writes.
run_dir() {
	realpath "$(dirname "${BASH_SOURCE[0]}")/.."
}

# Sets up crashtest's needs: the disks, checkers, a way to change engines, and no udev,
# because udev would open the device after each change of a table. The test's end undoes
# it.
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
	CRASH_DIR=$(run_dir)
	export CRASH_DIR
	cd "$T" || exit
}

crash_over() {
	set +e
	rmmod crashdisk
	/lib/systemd/systemd-udevd --daemon
}

# cuts SEED ROUNDS CUTS LOOKS STOCK: runs crashtest with these arguments; the run's own
# seed is added to SEED.
cuts() {
	local seed=$((${HEARTH_SEED:-1} * 1000 + $1))
	shift
	crash_ready
	./crashtest "$seed" "$@"
}

# Eight seeds in a row use every script of recordings. make test-full has them all. make
# test has three, because a recording takes 20 seconds of the CPU and more. Seed 11 records
# writethrough with a bound on intents.
#@ smp hearth-only fast timeout=60 on=0,3,11 slow=1,2,4..7
test_cuts() {
	cuts "$1" 1 19 60 0
}

# The hundreds of the seed have the recording use a write log. One script of twelve runs in
# make test, because a recording with a log takes longer still; 311 changes modes.
#@ smp hearth-only timeout=120 fast on=311 slow=300..310,312..323
test_cuts_of_the_log() {
	cuts "$1" 1 19 60 0
}

#@ smp hearth-only slow timeout=120
test_logs_refused_by_stock() {
	cuts 350 1 4 20 8
}

#@ smp hearth-only fast timeout=60
test_cuts_opened_by_stock() {
	cuts 100 1 4 40 3
}

#@ smp hearth-only timeout=300 slow=200..239
test_many_cuts() {
	cuts "$1" 1 50 200 3
}

# --- cost of an activation after a cut -----------------------------------------

# empty_device VARIABLE MIB: makes a device that accepts writes and keeps no data.
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

# power_cut COPY: copies the metadata device, as it is now, to COPY. META is a linear
# device over DISKMETA, and no write reaches DISKMETA while META is suspended.
power_cut() {
	dmsetup suspend --noflush --nolockfs meta
	dd if="$DISKMETA" of="$1" bs=1M oflag=direct iflag=direct status=none
	dmsetup resume meta
	is_sound "$1"
}

# is_sound COPY: no cut may damage the metadata. If one has, the host gets the image.
# Status 3 is a leak, which cache_restore leaves.
is_sound() {
	local image status=0
	"$TOP/build/tools/hearth-metadata" check "$1" || status=$?
	case $status in 0 | 3) return ;; esac
	image=$(run_dir)/metadata-after-a-cut
	dd if="$1" of="$image" bs=1M iflag=direct status=none
	fail "the metadata are damaged after a cut: $image"
}

metadata_devices() {
	device DISKMETA "$1" ram
	device COPY "$1" ram
	dmsetup create meta --table "0 $(sectors "$DISKMETA") linear $DISKMETA 0"
	META=/dev/mapper/meta
}

dirty_on_disk() {
	cache_dump "$1" | awk '/dirty="true"/ { n++ } END { print n + 0 }'
}

# bounded MAX: writes at random places in writethrough, then cuts. At most MAX blocks
# may be dirty on the disk, and the engine may write back no more than those. The engine
# sweeps intents as soon as it can, so the loop repeats the cut until enough blocks are
# dirty.
bounded() {
	local dirty=0 written cut
	dmsetup create c --table "0 $(sectors "$SLOW") cache $META $FAST $SLOW 64 1 writethrough smq ${2:-0}"
	for ((cut = 0; cut < 10 && dirty < $1 / 4; cut++)); do
		fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=300M \
			--io_size=24M --iodepth=16 --norandommap --randseed=$((cut + 1))
		power_cut "$COPY"
		dirty=$(dirty_on_disk "$COPY")
		echo "dirty on the disk: $dirty of at most $1"
		assert_le "$dirty" "$1" "blocks dirty on the disk"
	done
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

#@ smp hearth-only slow timeout=240
test_writebacks_after_a_cut_are_bounded() {
	metadata_devices 8
	empty_device FAST 300
	empty_device SLOW 300
	cache_xml_full 64 9600 >"$T/map"
	cache_restore -i "$T/map" -o "$META"
	bounded 4096
	cache_restore -i "$T/map" -o "$META"
	bounded 500 "2 max_intents 500"
}

written_on() {
	[ "$(stat_of c write_hits)" -ge "$1" ]
}

# The same bound under load. A cut may find no dirty block, because the engine sweeps
# intents as soon as it can.
#@ smp hearth-only slow timeout=60
test_intents_are_bounded_under_load() {
	local dirty i most=0
	metadata_devices 8
	empty_device FAST 100
	empty_device SLOW 100
	cache_xml_full 64 3200 >"$T/map"
	cache_restore -i "$T/map" -o "$META"
	by_hand c 64 writethrough "smq 2 max_intents 300"
	fio --name=load --filename=/dev/mapper/c --direct=1 --ioengine=libaio --iodepth=16 --thread \
		--rw=randwrite --bs=4k --time_based --runtime=600 --norandommap >"$T/load.out" &
	LOAD=$!
	trap 'kill $LOAD; wait' EXIT
	for i in 1 2 3 4; do
		until_true 60 written_on $((i * 777)) || fail "the load writes nothing"
		power_cut "$COPY"
		dirty=$(dirty_on_disk "$COPY")
		echo "cut $i, dirty on the disk: $dirty"
		assert_le "$dirty" $((300 + 16)) "blocks dirty on the disk"
		[ "$dirty" -le "$most" ] || most=$dirty
	done
	assert_ge "$most" 30 "blocks dirty on the disk, at most"
}

# levels DUMP: prints slot and block of each cached block, and its level: the queue and
# the hits that the default policy's hints hold (heat.c). A hint is the first byte of
# the base64 data.
levels() {
	awk -F'"' -v digits=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/ '
		function digit(n) { return index(digits, substr($4, n, 1)) - 1 }
		/<mapping / { block[$2] = $4 }
		/<hint / && $2 in block {
			hint = digit(1) * 4 + int(digit(2) / 16)
			print $2 ":" block[$2], hint < 8 ? "small" : "main-" int((hint - 8) / 14)
		}' "$1" | sort
}

# Reads some blocks often and some seldom; the last range is larger than the cache.
levels_cache() {
	by_hand c 128 "metadata2 writethrough" "default 0"
	message c seq_cutoff 64
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=16k --size=5M --loops=8
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=16k --offset=5M --size=4M --loops=3
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=16k --offset=9M --size=20M --loops=2
}

# The session that was cut loses what it learnt of its reads and writes. The hints that
# the session before saved are used.
#@ hearth-only fast timeout=90
test_saved_hints_are_used_after_a_cut() {
	local blocks same
	metadata_devices 8
	device FAST 16 ssd
	device SLOW 64 disk
	levels_cache
	dmsetup remove c
	cache_dump "$META" >"$T/saved"
	by_hand c 128 "metadata2 writethrough"
	fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=8M --io_size=1M
	fio_quiet --filename=/dev/mapper/c --rw=randread --bs=16k --offset=9M --size=2M --loops=4
	assert_ge "$(counter c commits)" 1 commits
	power_cut "$COPY"
	dmsetup remove c

	META=$COPY by_hand c 128 "metadata2 writethrough"
	dmsetup remove c
	cache_dump "$COPY" >"$T/used"
	levels "$T/saved" >"$T/levels-saved"
	levels "$T/used" >"$T/levels-used"
	cut -d' ' -f2 "$T/levels-saved" | sort | uniq -c | tee "$T/levels"
	assert_ge "$(awk '$1 >= 10' "$T/levels" | wc -l)" 2 "levels that ten blocks have"
	# The session that was cut has evicted some blocks, and udev reads new devices.
	join "$T/levels-saved" "$T/levels-used" >"$T/both"
	blocks=$(wc -l <"$T/both")
	same=$(awk '$2 == $3' "$T/both" | wc -l)
	echo "$same of $blocks blocks that stayed have the level that was saved"
	assert_ge "$blocks" 80 "blocks that stayed"
	assert_ge $((same * 100)) $((blocks * 95)) "levels kept, in hundredths"
}

# Measures in ms how long the kernel takes to activate a cache; udev's work afterwards
# is not counted.
time_activation() {
	local began
	began=$(date +%s%N)
	dmsetup create c --noudevsync --table \
		"0 $(sectors "$SLOW") cache $1 $FAST $SLOW 64 1 writeback smq 0"
	TOOK=$((($(date +%s%N) - began) / 1000000))
	udevadm settle
}

min() {
	echo $(($1 < $2 ? $1 : $2))
}

# large_cache: makes metadata of 400,000 blocks, which fill all but 9,600 slots of FAST.
large_cache() {
	metadata_devices 24
	empty_device FAST 12800
	empty_device SLOW 25600
	cache_xml_full 64 400000 >"$T/map"
	cache_restore -i "$T/map" -o "$META"
	rm "$T/map"
}

# Cuts in the first seconds after an activation, when each commit changes array blocks all
# over the mapping. power_cut checks each copy.
#@ hearth-only slow timeout=300
test_cuts_after_an_activation() {
	local round cut load
	large_cache
	dd if="$META" of="$T/restored" bs=1M iflag=direct status=none
	for ((round = 0; round < 4; round++)); do
		dd if="$T/restored" of="$META" bs=1M oflag=direct status=none
		time_activation "$META"
		fio_quiet --filename=/dev/mapper/c --rw=randwrite --bs=4k --size=12G --io_size=8M \
			--norandommap --randseed=$((round + 1)) &
		load=$!
		for ((cut = 0; cut < 6; cut++)); do
			power_cut "$COPY"
			[ $cut != 2 ] || wait "$load"
		done
		dmsetup remove c
	done
}

# A busy host only makes an activation slower, so the test compares the fastest of six.
#@ hearth-only slow timeout=300
test_activation_after_a_cut() {
	local i clean=1000000 cut=1000000
	large_cache
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
		cut=$(min "$cut" "$TOOK")
		time_activation "$COPY"
		# udev has read blocks into the cache while it probed the new device.
		assert_ge "$(stat_of c used)" 400000 "blocks in the cache"
		dmsetup remove c
		echo "after a clean stop: $TOOK ms"
		clean=$(min "$clean" "$TOOK")
		dd if="$T/cut" of="$COPY" bs=1M oflag=direct status=none
	done
	echo "fastest: $cut ms after a cut, $clean ms after a clean stop"
	assert_le $((cut * 100)) $((clean * 120)) "activation after a cut, in hundredths"
}
