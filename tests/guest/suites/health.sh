# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A volume's metadata device fails while the cache holds dirty data. The tests check
# lvs, the status line and the log, and that no data is lost.

# sick_lv SECTOR pool|vol [format1]: makes a cached LV with dirty blocks, whose metadata
# device refuses writes from SECTOR on. META is set to the name of the metadata device.
sick_lv() {
	modprobe dm-flakey
	standard_vg
	META=vg-fast_cpool_cmeta
	[ "$2" = pool ] || META=vg-fast_cvol-cmeta
	cached_lv "$2" writeback "${@:3}"
	write_data /dev/vg/lv 1 0 24
	fails_from "$1" >"$T/table"
	dmsetup load "$META" "$T/table"
	# The cache writes one block back at a time, so that some are still dirty at the
	# end.
	message vg-lv migration_threshold 0
	write_data /dev/vg/lv 1 0 24
	dmsetup suspend --noflush --nolockfs "$META"
	dmsetup resume "$META"
}

# fails_from SECTOR: writes to the metadata device fail from SECTOR on; reads work.
fails_from() {
	local length dev offset
	read -r _ length _ dev offset < <(dmsetup table "$META")
	[ "$1" = 0 ] || echo "0 $1 linear $dev $offset"
	echo "$1 $((length - $1)) flakey $dev $((offset + $1)) 0 3600 1 error_writes"
}

is_read_only() {
	[ "$(stat_of vg-lv rw)" = ro ]
}

# Writes to blocks that are not cached, which the cache has to map, until that fails.
provoke() {
	local i
	for i in 64 68 72 76; do
		write_data /dev/vg/lv 9 $i 4 || true
		if until_true 3 is_read_only; then return; fi
	done
	fail "the engine did not notice the metadata's failure"
}

# Reads bit 1 of the flags in the superblock.
needs_check_on_disk() {
	local flags
	flags=$(dd if="/dev/mapper/$META" bs=4k count=1 iflag=direct status=none | od -An -tu4 -j4 -N4)
	[ $((flags & 2)) != 0 ]
}

data_is_all_there() {
	check_data /dev/vg/lv 1 0 24
}

# says_sick NEEDS_CHECK ATTRIBUTES LVS_WORD: waits until the dirty blocks are written
# back; then lvs and the status must agree.
says_sick() {
	until_true 30 all_clean vg-lv || fail "$(stat_of vg-lv dirty) blocks still dirty"
	check_data /dev/mapper/vg-lv_corig 1 0 24
	looks_sick "$@"
}

looks_sick() {
	read_status vg-lv
	assert_eq "${ST[rw]} ${ST[needs_check]}" "ro $1" "end of the status"
	if [[ ${ST[line]} =~ Fail|Error ]]; then
		fail "lvm2 would take this for a cache without dirty data: ${ST[line]}"
	fi
	lvs_is lv_health_status=metadata_read_only lv_check_needed="$3" lv_attr="$2" \
		cache_mode=writeback cache_total_blocks="${ST[total]}" \
		cache_dirty_blocks="${ST[dirty]}" cache_used_blocks="${ST[used]}"
}

# Deactivates the volume and activates it on a working device; lvm2 checks the metadata
# on the way.
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

# The engine cannot commit changes, but it can still set the flag in the superblock.
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

# gets_table TABLE: gives the volume another table.
gets_table() {
	dmsetup load vg-lv --table "$1"
	dmsetup suspend vg-lv
	dmsetup resume vg-lv
}

# A drain of unchecked metadata never ends, so the log says what to do.
unchecked_is_not_drained() {
	local table
	table=$(dmsetup table vg-lv)
	if kernel_log | grep 'however long a drain waits'; then fail "logged without a drain"; fi
	gets_table "$(sed -E 's/ (smq|mq|default) .*/ cleaner 0/' <<<"$table")"
	assert_eq "$(stat_of vg-lv policy)" cleaner policy
	assert_eq "$(kernel_said 'nothing is written back, however long a drain waits')" 1 "messages"
	sleep 2
	gets_table "$table"
}

# A table that ends before a dirty block leaves it out; the metadata keeps it.
unchecked_keeps_what_is_past_the_end() {
	local table
	table=$(dmsetup table vg-lv)
	gets_table "0 8192 ${table#* * }"
	kernel_said 'past the end of the table are left out.*not checked, and calls [1-9][0-9]* of them dirty'
	gets_table "$table"
}

# While the volume is suspended, its metadata is replaced by sound metadata in which
# nothing is dirty. Even an unchecked engine refuses it.
unchecked_is_not_forgotten() {
	device KEPT 8 ram
	device CLEAN 8 ram
	dmsetup suspend vg-lv
	dd if="/dev/mapper/$META" of="$KEPT" bs=1M iflag=direct oflag=direct status=none
	cache_dump "$KEPT" | sed 's/dirty="true"/dirty="false"/' >"$T/clean.xml"
	cache_restore -i "$T/clean.xml" -o "$CLEAN"
	dd if="$CLEAN" of="/dev/mapper/$META" bs=1M iflag=direct oflag=direct status=none
	refused 'does not have [0-9]+ blocks that are dirty' dmsetup resume vg-lv
	dd if="$KEPT" of="/dev/mapper/$META" bs=1M iflag=direct oflag=direct status=none
	dmsetup resume vg-lv
}

# lvm2 does not check the metadata in between, so NEEDS_CHECK stays. The engine writes
# neither the metadata, nor home what they call dirty.
#@ hearth-only fast timeout=90 on=pool slow=vol
test_needs_check_outlives_activation() {
	local unchecked=(--config 'global/cache_check_executable=""') dirty
	goes_sick "$@"
	dmsetup suspend vg-lv
	dmsetup resume vg-lv
	says_sick needs_check Cwi-c-C-M- "check needed"
	lvchange -an "${unchecked[@]}" vg/lv
	lvchange -ay "${unchecked[@]}" vg/lv
	kernel_said 'NEEDS_CHECK is set, read-only until it was checked'
	kernel_said 'blocks are dirty, and stay so until it was checked'
	dirty=$(stat_of vg-lv dirty)
	assert_ge "$dirty" 1 "dirty blocks"
	looks_sick needs_check Cwi-c-C-M- "check needed"
	dmsetup suspend vg-lv
	dmsetup resume vg-lv
	unchecked_is_not_drained
	unchecked_keeps_what_is_past_the_end
	unchecked_is_not_forgotten
	sleep 3
	assert_eq "$(stat_of vg-lv dirty)" "$dirty" "dirty blocks after 3 s"
	assert_eq "$(counter vg-lv writebacks)" 0 "blocks that went home"
	refused 'the cache has failed' message vg-lv migration_threshold 4096
	data_is_all_there
	lvchange -an "${unchecked[@]}" vg/lv
	lvchange -ay vg/lv
	is_well
}

# cache_repair 0.9.0 loses the dirty bits of format 2.
#@ hearth-only slow timeout=120
test_repair_after_metadata_write_errors() {
	goes_sick pool format1
	lvchange -an --config 'global/cache_check_executable=""' vg/lv
	lvconvert -y --repair vg/lv
	lvchange -ay vg/lv
	remove_old_metadata
	is_well
}

# The device refuses every write, even of the superblock.
#@ hearth-only slow timeout=90 on=vol,pool
test_metadata_device_refuses_all_writes() {
	sick_lv 0 "$1"
	provoke
	kernel_said 'could not record that it needs a check'
	says_sick - Cwi-a-C-M- ""
	data_is_all_there
	recovers
}
