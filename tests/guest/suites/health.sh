# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The metadata device of a volume fails while dirty data is in the cache: what
# lvs, the status line and the log say, and that nothing is lost.

# sick_lv SECTOR pool|vol [format1]: a cached LV with dirty blocks in its cache,
# whose metadata refuses writes from that sector on. META becomes the name of
# the metadata's device.
sick_lv() {
	modprobe dm-flakey
	standard_vg
	META=vg-fast_cpool_cmeta
	[ "$2" = pool ] || META=vg-fast_cvol-cmeta
	cached_lv "$2" writeback "${@:3}"
	write_data /dev/vg/lv 1 0 24
	fails_from "$1" >"$T/table"
	dmsetup load "$META" "$T/table"
	# One block at a time goes home, so that some are dirty in the end.
	message vg-lv migration_threshold 0
	write_data /dev/vg/lv 1 0 24
	dmsetup suspend --noflush --nolockfs "$META"
	dmsetup resume "$META"
}

# The metadata's table, with writes failing from sector $1 on; reads do not.
fails_from() {
	local length dev offset
	read -r _ length _ dev offset < <(dmsetup table "$META")
	[ "$1" = 0 ] || echo "0 $1 linear $dev $offset"
	echo "$1 $((length - $1)) flakey $dev $((offset + $1)) 0 3600 1 error_writes"
}

is_read_only() {
	[ "$(stat_of vg-lv rw)" = ro ]
}

# Writes to what is not in the cache, which has to be mapped, until that fails.
provoke() {
	local i
	for i in 64 68 72 76; do
		write_data /dev/vg/lv 9 $i 4 || true
		if until_true 3 is_read_only; then return; fi
	done
	fail "the metadata's failure was not noticed"
}

# Bit 1 of the flags in the superblock.
needs_check_on_disk() {
	local flags
	flags=$(dd if="/dev/mapper/$META" bs=4k count=1 iflag=direct status=none | od -An -tu4 -j4 -N4)
	[ $((flags & 2)) != 0 ]
}

data_is_all_there() {
	check_data /dev/vg/lv 1 0 24
}

# says_sick NEEDS_CHECK ATTRIBUTES LVS_WORD: what was dirty goes home, and then lvs
# and the status agree.
says_sick() {
	until_true 30 all_clean vg-lv || fail "$(stat_of vg-lv dirty) blocks still dirty"
	check_data /dev/mapper/vg-lv_corig 1 0 24
	read_status vg-lv
	assert_eq "${ST[rw]} ${ST[needs_check]}" "ro $1" "end of the status"
	if [[ ${ST[line]} =~ Fail|Error ]]; then
		fail "lvm2 would take this for a cache without dirty data: ${ST[line]}"
	fi
	lvs_is lv_health_status=metadata_read_only lv_check_needed="$3" lv_attr="$2" \
		cache_mode=writeback cache_total_blocks="${ST[total]}" \
		cache_dirty_blocks="${ST[dirty]}" cache_used_blocks="${ST[used]}"
}

# The volume is taken down and comes back well, checked by lvm2 on the way.
recovers() {
	lvchange -an vg/lv
	lvchange -ay vg/lv
	is_well
}

is_well() {
	read_status vg-lv
	assert_eq "${ST[rw]} ${ST[needs_check]}" "rw -" "end of the status"
	lvs_is lv_health_status= lv_check_needed= lv_attr=Cwi-a-C---
	data_is_all_there
	message vg-lv migration_threshold 2048
	write_data /dev/vg/lv 2 24 4
	lvconvert -y --uncache vg/lv
	data_is_all_there
	check_data /dev/vg/lv 2 24 4
}

# Changes cannot be committed, but the superblock can still say so.
goes_sick() {
	sick_lv 8 "$@"
	provoke
	kernel_said 'switching to read-only mode'
	says_sick needs_check Cwi-c-C-M- "check needed"
	needs_check_on_disk || fail "NEEDS_CHECK is not on the disk"
	data_is_all_there
}

#@ hearth-only fast timeout=90 on=pool slow=vol,pool:format1
test_metadata_write_errors() {
	goes_sick "$@"
	recovers
}

# Without lvm2's check in between, NEEDS_CHECK stays and nothing is written.
#@ hearth-only timeout=90 slow=pool,vol
test_needs_check_outlives_activation() {
	local unchecked=(--config 'global/cache_check_executable=""')
	goes_sick "$@"
	lvchange -an "${unchecked[@]}" vg/lv
	lvchange -ay "${unchecked[@]}" vg/lv
	kernel_said 'NEEDS_CHECK is set, read-only until it was checked'
	says_sick needs_check Cwi-c-C-M- "check needed"
	refused 'the cache has failed' message vg-lv migration_threshold 4096
	data_is_all_there
	lvchange -an "${unchecked[@]}" vg/lv
	lvchange -ay vg/lv
	is_well
}

# 0.9.0's cache_repair loses the dirty bits of format 2.
#@ hearth-only fast timeout=120
test_repair_after_metadata_write_errors() {
	goes_sick pool format1
	lvchange -an --config 'global/cache_check_executable=""' vg/lv
	lvconvert -y --repair vg/lv
	lvchange -ay vg/lv
	remove_old_metadata
	is_well
}

# Not even the superblock can be written.
#@ hearth-only fast timeout=90 on=vol slow=pool
test_metadata_device_refuses_all_writes() {
	sick_lv 0 "$1"
	provoke
	kernel_said 'could not record that it needs a check'
	says_sick - Cwi-a-C-M- ""
	data_is_all_there
	recovers
}
