# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Loading, unloading, many caches, large caches. Nothing may be left behind.

#@ fast timeout=90
test_unload_and_load_again() {
	by_hand_devices
	by_hand c 128 writeback
	write_data /dev/mapper/c 1 0 8
	must_fail rmmod dm_cache
	dmsetup remove c
	unload_engine
	assert_eq "$(dmsetup targets | grep -c '^cache ')" 0 targets
	grep -E '^(dm_cache|hearth|dm_hearth)' /proc/slabinfo && fail "the modules have left slab caches behind"
	modprobe dm-cache-smq
	by_hand c 128 writeback
	check_data /dev/mapper/c 1 0 8
}

running_engine() {
	if [ -e /sys/module/dm_cache/version ]; then echo hearth; else echo stock; fi
}

# A package is installed, or removed, while a cache is in use. Then the test follows
# "Changing modules without a reboot" in docs/administration.md.
#@ hearth-only fast timeout=120 on=hearth:stock slow=stock:hearth
test_files_change_under_a_running_cache() {
	local used
	load_engine "$1"
	standard_vg
	cached_lv pool writeback
	write_data /dev/vg/lv 1 0 24
	install_engine "$2"
	write_data /dev/vg/lv 2 24 4
	check_data /dev/vg/lv 1 0 24
	must_fail modprobe -r dm-cache-smq dm-cache
	assert_match "$(cat "$T/said")" "in use" "what modprobe said"
	assert_eq "$(running_engine)" "$1" "module in use"
	used=$(stat_of vg-lv used)
	vgchange -an vg
	modprobe -r dm-cache-smq dm-cache
	vgchange -ay vg
	assert_eq "$(running_engine)" "$2" "module that came"
	assert_ge "$(stat_of vg-lv used)" "$used" "blocks taken over"
	check_data /dev/vg/lv 1 0 24
	check_data /dev/vg/lv 2 24 4
	lvconvert -y --uncache vg/lv
	check_data /dev/vg/lv 1 0 24
	check_data /dev/vg/lv 2 24 4
}

cycle() {
	by_hand c 128 writeback
	RW=randwrite write_data /dev/mapper/c 1 0 2 4k
	dmsetup remove c
}

#@ fast timeout=120
test_no_memory_is_left_behind() {
	local i before after
	by_hand_devices
	for ((i = 0; i < 4; i++)); do cycle; done
	before=$(kernel_memory)
	for ((i = 0; i < 15; i++)); do cycle; done
	after=$(kernel_memory)
	assert_le $((after - before)) 1500 "KiB kept by 15 caches"
}

#@ fast timeout=60
test_policy_is_loaded_on_demand() {
	is_stock && skip "stock has its policies in one module"
	by_hand_devices
	if [ -e /sys/module/dm_cache_lru ]; then rmmod dm_cache_lru; fi
	by_hand c 128 writeback "lru 0"
	[ -e /sys/module/dm_cache_lru ] || fail "dm-cache-lru was not loaded"
	must_fail rmmod dm_cache_lru
	dmsetup remove c
	rmmod dm_cache_lru
}

# asks_instead_of_modprobe: the kernel runs a script that only notes what it was
# asked for, in $T/asked, until modprobe_again.
asks_instead_of_modprobe() {
	MODPROBE=$(</proc/sys/kernel/modprobe)
	printf '#!/bin/sh\necho "$*" >>%s/asked\n' "$T" >"$T/modprobe"
	chmod +x "$T/modprobe"
	echo "$T/modprobe" >/proc/sys/kernel/modprobe
}

modprobe_again() {
	echo "$MODPROBE" >/proc/sys/kernel/modprobe
}

# lvm2 leaves the settings of the policy before in the table. They must not keep
# the volume from being activated, even where no module can be loaded.
#@ slow hearth-only timeout=60
test_settings_of_a_policy_that_is_not_loaded() {
	local r=0
	by_hand_devices
	modprobe -r dm-cache-smq dm-cache-nhit
	modprobe dm-cache-lru
	asks_instead_of_modprobe
	by_hand c 128 writeback "lru 6 read_level 1 visits 5 random_threshold 9" || r=$?
	modprobe_again
	modprobe dm-cache-smq
	assert_eq "$r" 0 "the table with settings of other policies"
	[ ! -e "$T/asked" ] || fail "the kernel ran modprobe $(<"$T/asked")"
	read_status c
	assert_eq "${ST[settings]}" "seq_cutoff 0" "settings of lru"
	message c visits 7
	refused "unknown message or setting 'nonesuch'" message c nonesuch 1
}

# A policy from elsewhere says by an alias which settings it has.
#@ slow hearth-only timeout=60
test_unknown_setting_in_a_table_asks_for_its_policy() {
	local r=0
	by_hand_devices
	modprobe dm-cache-lru
	asks_instead_of_modprobe
	by_hand c 128 writeback "lru 2 nonesuch 1" || r=$?
	modprobe_again
	[ "$r" != 0 ] || fail "a setting that no policy has was accepted"
	grep -q "hearth-setting-nonesuch" "$T/asked" || fail "modprobe was not asked for the setting"
}

# A suspend waits for a message, and a program may need what is being suspended.
#@ fast hearth-only timeout=60
test_message_runs_no_program() {
	local r=0
	by_hand_devices
	by_hand c 128 writeback "lru 0"
	asks_instead_of_modprobe
	message c nonesuch 1 || r=$?
	modprobe_again
	[ "$r" != 0 ] || fail "a setting that no policy has was accepted"
	[ ! -e "$T/asked" ] || fail "a message had the kernel run modprobe $(<"$T/asked")"
}

#@ slow timeout=1500
test_four_million_blocks() {
	local before after
	device META 256 ram
	zero "$META" 1
	device FAST 262208 ram
	device SLOW 524288 disk
	before=$(kernel_memory)
	by_hand c 128 writeback
	after=$(kernel_memory)
	assert_ge "$(stat_of c total)" 4194304 blocks
	echo "bytes a block: $(((after - before) * 1024 / 4194304))"
	is_stock || assert_le $(((after - before) * 1024 / 4194304)) 44 "bytes a block"
	write_data /dev/mapper/c 1 0 32
	write_data /dev/mapper/c 2 400000 32
	check_data /dev/mapper/c 1 0 32
	dmsetup remove c
	by_hand c 128 writeback
	check_data /dev/mapper/c 1 0 32
	check_data /dev/mapper/c 2 400000 32
	assert_ge "$(stat_of c used)" 1000 used
	# Here and not in the clean-up, which may take 80 seconds: stock takes minutes to write
	# the hints of so many blocks.
	dmsetup remove c
	cache_check "$META"
}
