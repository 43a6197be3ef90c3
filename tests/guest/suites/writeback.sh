# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# When dirty blocks go home while they need not, and how many there may be.

# A cache of 256 blocks that writes nothing back of its own accord and holds
# the first 12 MiB.
keeping_cache() {
	by_hand_devices 16 64
	by_hand c 128 "metadata2 writeback" "default 0"
	message c writeback_idle 0
	message c dirty_high 100
	warm c 12 180
}

# shellcheck disable=SC2154
percent_dirty() {
	read_status c
	echo $((ST[dirty] * 100 / ST[total]))
}

dirty_at_most() {
	[ "$(stat_of c dirty)" -le "$1" ]
}

# The data is right from the cache and, when it is clean, on the origin.
right_everywhere() {
	check_data /dev/mapper/c "$@"
	message c writeback_idle 1
	until_true 60 all_clean c
	dmsetup remove c
	check_data "$SLOW" "$@"
}

#@ fast hearth-only timeout=120
test_idle_volumes_are_written_back() {
	keeping_cache
	write_data /dev/mapper/c 1 0 4
	sleep 5
	assert_ge "$(stat_of c dirty)" 60 "dirty after 5 s with writeback_idle 0"
	right_everywhere 1 0 4
}

#@ fast hearth-only timeout=120
test_write_back_between_watermarks() {
	keeping_cache
	message c dirty_high 40
	message c dirty_low 10
	write_data /dev/mapper/c 1 0 6
	sleep 4
	assert_ge "$(percent_dirty)" 35 "percent dirty below dirty_high"
	write_data /dev/mapper/c 1 6 4
	until_true 60 dirty_at_most 26
	sleep 4
	assert_ge "$(stat_of c dirty)" 13 "dirty at dirty_low"
	right_everywhere 1 0 10
}

#@ fast hearth-only timeout=120
test_dirty_limit_holds() {
	keeping_cache
	message c dirty_limit 25
	# Blocks that are there, in another order, and others.
	RW=randwrite write_data /dev/mapper/c 1 0 12
	assert_le "$(percent_dirty)" 30 "percent dirty of resident blocks"
	assert_ge "$(counter c invalidations)" 30 "blocks that made way for a write"
	write_data /dev/mapper/c 1 12 12
	assert_le "$(percent_dirty)" 30 "percent dirty"
	assert_ge "$(counter c bypass_dirty)" 30 "writes that were not promoted"
	check_data /dev/mapper/c 1 0 24
	message c dirty_limit 100
	write_data /dev/mapper/c 2 0 6
	right_everywhere 2 0 6
}
