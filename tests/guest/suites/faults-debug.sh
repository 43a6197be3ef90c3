# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Failures that only the kernel of scripts/debug-kernel can cause: dm-dust makes sectors
# unreadable until they are written again, fault injection fails some requests, and it
# refuses memory.

# shellcheck source=tests/guest/suites/faults.sh
. "${BASH_SOURCE%/*}/faults.sh"

# dusty DEVICE: the table of a device whose pieces of 4 KiB can be made unreadable by
# spoil.
dusty() {
	local -n real=real_$1
	modprobe -q dm-dust
	echo "0 $(sectors "$real") dust $real 0 4096"
}

# spoil DEVICE PIECE...: makes these pieces of 4 KiB unreadable until they are written.
spoil() {
	local name=${1,,} piece
	shift
	for piece; do
		dmsetup message "$name" 0 addbadblock "$piece"
	done
	dmsetup message "$name" 0 enable
}

# --- dm-dust ------------------------------------------------------------------

# read_at DEVICE PIECE: reads the piece, and fails if the device cannot read it.
read_at() {
	dd if="$1" of=/dev/null bs=4k skip="$2" count=1 iflag=direct status=none
}

# The cache reads the origin's copy for the user, and caches the block again after the
# slot was written again.
#@ fast hearth-only debug-kernel timeout=90
test_unreadable_piece_of_a_clean_block() {
	clean_cache
	now FAST dusty
	spoil FAST 512
	must_fail read_at "$FAST" 512
	check_data /dev/mapper/c 1 0 32
	assert_eq "$(counter c cache_read_errors)" 1 "errors"
	assert_eq "$(health c)" good
	assert_eq "$(stat_of c rw)" rw
	warm c 16
	check_data /dev/mapper/c 1 0 32
	assert_eq "$(counter c retired_blocks)" 0 "retired"
	assert_eq "$(counter c cache_read_errors)" 1 "errors"
	read_at "$FAST" 512
}

# unreadable_blocks FIRST LAST: prints which of the blocks [FIRST, LAST) of c cannot be
# read.
unreadable_blocks() {
	local block
	for ((block = $1; block < $2; block++)); do
		dd if=/dev/mapper/c of=/dev/null bs=64k skip=$block count=1 iflag=direct status=none ||
			echo $block
	done
}

# The slot holds the only copy. The reader gets an error, and no other block is
# affected. The block is written back after a user has written it again.
#@ fast hearth-only debug-kernel timeout=120
test_unreadable_piece_of_a_dirty_block() {
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 writeback
	every_write_comes_in c
	now SLOW failing_writes		# write-back fails until the origin works again
	write_data /dev/mapper/c 2 8 2
	assert_eq "$(stat_of c dirty)" 32
	now FAST dusty
	# Slots are filled in their order, so the last 32 are dirty. A slot has 16
	# pieces.
	spoil FAST $((($(stat_of c used) - 16) * 16))
	assert_eq "$(unreadable_blocks 128 160 | wc -l)" 1 "blocks that cannot be read"
	assert_eq "$(unreadable_blocks 128 160 | wc -l)" 1 "and again"
	check_data /dev/mapper/c 1 0 8
	check_data /dev/mapper/c 1 10 22
	assert_eq "$(health c)" good
	assert_eq "$(stat_of c dirty)" 32
	write_data /dev/mapper/c 3 8 2
	check_data /dev/mapper/c 3 8 2
	now SLOW working
	dmsetup suspend c
	dmsetup load c --table "0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 1 writeback cleaner 0"
	dmsetup resume c
	until_true 40 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 3 8 2
}

# A block that the origin cannot read is not promoted, and works again after a write.
#@ fast hearth-only debug-kernel timeout=90 on=writethrough,writeback
test_unreadable_piece_of_the_origin() {
	local promotions
	breakable_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "$1"
	now SLOW dusty
	spoil SLOW 2050
	promotions=$(stat_of c promotions)
	must_fail read_at /dev/mapper/c 2050
	read_at /dev/mapper/c 2051
	assert_eq "$(stat_of c promotions)" "$promotions" promotions
	check_data /dev/mapper/c 1 0 8
	check_data /dev/mapper/c 1 9 23
	write_data /dev/mapper/c 2 8 1 4k
	check_data /dev/mapper/c 2 8 1 4k
	assert_eq "$(health c)" good
	dmsetup remove c
	by_hand c 128 writeback "cleaner 0"
	until_true 40 all_clean c || fail "$(stat_of c dirty) blocks still dirty"
	check_data "$SLOW" 2 8 1 4k
}

# The kernel refuses a table whose metadata cannot be read, and changes nothing.
#@ fast hearth-only debug-kernel timeout=90
test_unreadable_metadata() {
	clean_cache
	dmsetup remove c
	now META dusty
	spoil META 0
	must_fail by_hand c 128 writethrough
	dmsetup message meta 0 removebadblock 0
	spoil META {1..24}
	must_fail by_hand c 128 writethrough
	dmsetup message meta 0 disable
	cache_check "$META"
	by_hand c 128 writethrough
	assert_ge "$(stat_of c used)" 96 "still cached"
	check_data /dev/mapper/c 1 0 32
}

# --- fault injection ----------------------------------------------------------

MANY=1000000

# inject KIND SETTING=VALUE...: makes the kernel fail operations of this kind.
inject() {
	local dir=/sys/kernel/debug/$1 setting
	shift
	for setting in probability=0 interval=1 times=$MANY space=0 verbose=0 task-filter=N "$@"; do
		echo "${setting#*=}" >"$dir/${setting%%=*}"
	done
}

# injected KIND: prints how many failures the kernel has injected since.
injected() {
	echo $((MANY - $(cat "/sys/kernel/debug/$1/times")))
}

no_faults() {
	local kind
	for kind in failslab fail_page_alloc fail_make_request; do
		echo 0 >"/sys/kernel/debug/$kind/probability"
	done
}

# Two of a hundred requests to one device fail. The test does not say how the cache
# reacts, but no user may get an error.
#@ fast hearth-only debug-kernel timeout=120 on=FAST,META
test_requests_fail_now_and_then() {
	local -n real=real_$1
	local least=2
	# The cache stops using the metadata at its first failure.
	[ "$1" != META ] || least=1
	clean_cache
	no_metadata_check
	trap no_faults EXIT
	echo 1 >"/sys/block/${real#/dev/}/make-it-fail"
	inject fail_make_request probability=2
	use_all
	use_all
	no_faults
	assert_ge "$(injected fail_make_request)" $least "failures"
	dmsetup message c 0 stats
	origin_complete
	use_all
	origin_complete
}

# --- memory -------------------------------------------------------------------

# Half of all allocations that may not wait fail, in every task.
#@ fast hearth-only debug-kernel timeout=120 on=writethrough,writeback
test_no_memory_at_once() {
	by_hand_devices 16 32
	write_data "$SLOW" 1 0 32
	by_hand c 128 "$1"
	warm c 4
	trap no_faults EXIT
	inject failslab ignore-gfp-wait=Y probability=50
	inject fail_page_alloc ignore-gfp-wait=Y min-order=0 probability=50
	use_all
	warm c 8
	no_faults
	assert_ge "$(injected failslab)" 100 "failures"
	went_on
}

# A tenth of the allocations by kernel workers fail, also where the allocation may wait.
#@ fast hearth-only debug-kernel timeout=150 on=writethrough,writeback
test_no_memory_for_workers() {
	by_hand_devices 16 32
	# null_blk allocates a page at its first write, and an injected failure there
	# looks like a bad SSD.
	zero "$FAST" 256
	write_data "$SLOW" 1 0 32
	by_hand c 128 "$1"
	warm c 4
	trap no_faults EXIT
	dmesg_allow 'Call Trace:'	# vmalloc logs a trace when it fails
	inject failslab ignore-gfp-wait=N task-filter=Y probability=10
	inject fail_page_alloc ignore-gfp-wait=N min-order=0 task-filter=Y probability=10
	workers_may_fail
	use_all
	workers_may_fail
	for _ in 1 2 3 4; do
		read_all /dev/mapper/c 8
	done
	no_faults
	assert_ge "$(($(injected failslab) + $(injected fail_page_alloc)))" 20 "failures"
	went_on
}

workers_may_fail() {
	local task
	for task in /proc/[0-9]*; do
		grep -qs kworker "$task/comm" || continue
		echo 1 >"$task/make-it-fail" || true
	done
}

# The cache works as before after the memory shortage.
went_on() {
	assert_eq "$(health c)" good
	assert_eq "$(stat_of c rw)" rw
	use_all
	warm c 8
	check_data /dev/mapper/c 2 0 8
	check_data /dev/mapper/c 1 8 20
	check_data /dev/mapper/c 2 28 4
}

# Prints kmemleak's reports on memory that device-mapper's modules allocated.
leaked() {
	local file=/sys/kernel/debug/kmemleak
	echo scan >$file
	sleep 6				# kmemleak does not report younger objects
	echo scan >$file
	cat $file >"$T/leaks"
	# The kernel itself leaks the names of slabs and kobjects when it fails to make
	# them.
	awk 'BEGIN { RS = "unreferenced object" }
		/\[dm_/ && !/ (kmem_cache_create|dm_sysfs_init)[a-z_]*\+/ { print; found = 1 }
		END { exit !found }' "$T/leaks"
}

# The kernel fails each allocation of a load (or resume) in its turn.
#@ fast hearth-only debug-kernel timeout=600 on=load,resume
test_no_memory_to() {
	local used
	grep -q kmemleak=on /proc/cmdline || skip "needs HEARTH_APPEND=kmemleak=on"
	echo scan=off >/sys/kernel/debug/kmemleak
	dmesg_allow 'Call Trace:'	# vmalloc logs a trace when it fails
	clean_cache
	used=$(stat_of c used)
	dmsetup remove c
	echo clear >/sys/kernel/debug/kmemleak
	inject failslab ignore-gfp-wait=N
	inject fail_page_alloc ignore-gfp-wait=N min-order=0
	"$TOP/build/tools/failnth" c "$1" \
		"0 $(sectors "$SLOW") cache $META $FAST $SLOW 128 1 writethrough default 0"
	cache_check "$META"
	by_hand c 128 writethrough
	assert_ge "$(stat_of c used)" "$used" "still cached"
	check_data /dev/mapper/c 1 0 32
	dmsetup remove c
	if leaked; then
		fail "the modules did not free all memory"
	fi
}
