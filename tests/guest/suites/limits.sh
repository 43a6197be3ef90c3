# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Devices whose queues have different limits: the largest request, the logical block,
# requests that must not wait.

queue_of() {
	echo "/sys/block/$(basename "$(readlink -f "$1")")/queue"
}

# small_requests DEVICE: limits its requests to 16 KiB, a quarter of a cache block.
small_requests() {
	echo 16 >"$(queue_of "$1")/max_sectors_kb"
}

# The engine has counted no error of either device.
no_errors() {
	read_status c
	assert_eq "${ST[rw]} ${ST[needs_check]}" "rw -" health
	is_stock || assert_eq "$(message c stats | awk '/^(health|cache_read_errors|cache_write_errors|origin_errors) / { print $2 }' | xargs)" \
		"good 0 0 0" "health and errors"
}

#@ fast timeout=90 on=writeback slow=writethrough
test_small_requests_of_the_cache_device() {
	by_hand_devices
	small_requests "$FAST"
	by_hand c 128 "metadata2 $1" "smq 0"
	# The cache device must not lower this limit, because it sets how far the kernel
	# reads ahead.
	is_stock || assert_eq "$(cat "$(queue_of /dev/mapper/c)/max_sectors_kb")" \
		"$(cat "$(queue_of "$SLOW")/max_sectors_kb")" "the largest request in KiB"
	write_data /dev/mapper/c 1 0 24 1024k
	check_data /dev/mapper/c 1 0 24 1024k
	RW=randwrite write_data /dev/mapper/c 2 0 6
	RW=randwrite check_data /dev/mapper/c 2 0 6
	read_all /dev/mapper/c 8
	assert_ge "$(stat_of c used)" 32 "used blocks"
	no_errors
	dmsetup remove c
	by_hand c 128 "metadata2 $1" "smq 0"
	RW=randwrite check_data /dev/mapper/c 2 0 6
	check_data /dev/mapper/c 1 6 18 1024k
	no_errors
}

# blocks_are META_BYTES FAST_BYTES SLOW_BYTES: the cache has the larger logical block of
# cache device and origin, and refuses smaller requests.
blocks_are() {
	BLOCKSIZE=$1 device META 8 ram
	BLOCKSIZE=$2 device FAST 16 ssd
	BLOCKSIZE=$3 device SLOW 64 disk
	zero "$META" 1
	by_hand c 128 "metadata2 writeback" "smq 0"
	assert_eq "$(blockdev --getss /dev/mapper/c)" 4096 "logical block"
	must_fail dd if=/dev/mapper/c of=/dev/null bs=512 count=1 iflag=direct
	must_fail dd if=/dev/zero of=/dev/mapper/c bs=512 count=1 seek=8 oflag=direct
	write_data /dev/mapper/c 1 0 8
	RW=randwrite write_data /dev/mapper/c 2 0 4 4k
	RW=randwrite check_data /dev/mapper/c 2 0 4 4k
	read_all /dev/mapper/c 8
	no_errors
	dmsetup remove c
	by_hand c 128 "metadata2 writethrough" "cleaner 0"
	until_true 60 all_clean c || fail "still $(stat_of c dirty) dirty"
	dmsetup remove c
	RW=randwrite check_data "$SLOW" 2 0 4 4k
	check_data "$SLOW" 1 4 4
}

#@ fast timeout=90 on=512:4096:512 slow=512:512:4096,4096:4096:4096
test_logical_blocks() {
	blocks_are "$@"
}

# The kernel refuses an origin that ends within a logical block of the cache device.
#@ fast timeout=60
test_logical_block_that_does_not_fit() {
	local odd
	device META 8 ram
	BLOCKSIZE=4096 device FAST 16 ssd
	device WHOLE 64 disk
	zero "$META" 1
	for odd in 1 7; do
		dmsetup create odd --table "0 $(($(sectors "$WHOLE") - odd)) linear $WHOLE 0"
		SLOW=/dev/mapper/odd
		must_fail by_hand c 128 "metadata2 writeback" "smq 0"
		dmsetup info c >/dev/null 2>&1 && dmsetup remove c
		dmsetup remove odd
	done
	dmsetup create odd --table "0 $(($(sectors "$WHOLE") - 8)) linear $WHOLE 0"
	SLOW=/dev/mapper/odd
	by_hand c 128 "metadata2 writeback" "smq 0"
	write_data /dev/mapper/c 1 0 8
	check_data /dev/mapper/c 1 0 8
	no_errors
}

# without_waiting read|write BLOCKS: reads or writes each block of 64 KiB whole, by a
# request that must not wait. Prints how many requests the cache served, and how many
# were to be tried again. A write repeats the block's content.
without_waiting() {
	python3 - "$@" <<-'PYTHON'
		import errno
		import mmap
		import os
		import sys

		fd = os.open("/dev/mapper/c", os.O_RDWR | os.O_DIRECT)
		page = mmap.mmap(-1, 65536)
		served = again = 0
		for n in range(int(sys.argv[2])):
		    try:
		        if sys.argv[1] == "read":
		            done = os.preadv(fd, [page], n * 65536, os.RWF_NOWAIT)
		        else:
		            os.preadv(fd, [page], n * 65536)
		            done = os.pwritev(fd, [page], n * 65536, os.RWF_NOWAIT)
		        served += done == 65536
		    except OSError as e:
		        if e.errno != errno.EAGAIN:
		            raise
		        again += 1
		print(served, again)
	PYTHON
}

# The test sends more such requests than the number of errors at which the engine gives
# the cache device up. Stock takes no requests that must not wait.
#@ hearth-only fast timeout=120 on=writeback slow=writethrough
test_hits_that_must_not_wait() {
	local how served again hits
	by_hand_devices
	small_requests "$FAST"
	by_hand c 128 "metadata2 $1" "smq 0"
	message c writeback_idle 0
	write_data /dev/mapper/c 1 0 8
	write_data /dev/mapper/c 1 0 8
	for how in read write; do
		hits=$(stat_of c read_hits)
		read -r served again < <(without_waiting "$how" 128)
		echo "$how: $served served, $again to be tried again"
		assert_eq $((served + again)) 128 "answers to each $how"
		assert_ge "$(stat_of c read_hits)" $((hits + 128)) "read hits"
		no_errors
	done
	check_data /dev/mapper/c 1 0 8
	assert_eq "$(message c stats | head -n1)" "mode $1" mode
	no_errors
}
