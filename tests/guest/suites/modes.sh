# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The modes that lvm2 does not know, writearound and writeonly. The tests set them by
# message on volumes that lvm2 made, and lvm2 still shows the mode that it set itself.

# cached_in_mode MODE OWN_MODE pool|vol [format1]
cached_in_mode() {
	standard_vg
	LV_MIB=96 cached_lv "$3" "$1" "${@:4}"
	no_promotion_limits vg-lv
	message vg-lv mode "$2"
	mode_is "$1" "$2"
}

# mode_is MODE OWN_MODE: lvm2 and the status line show MODE, and the engine runs
# OWN_MODE.
mode_is() {
	lvs_is cache_mode="$1" lv_health_status=
	assert_match "$(stat_of vg-lv features)" "(^| )$1( |\$)" "mode in the status line"
	assert_eq "$(message vg-lv stats | head -n1)" "mode $2" "mode that runs"
}

reactivate() {
	udevadm settle
	lvchange -an vg/lv
	lvchange -ay vg/lv
}

# promoted COMMAND...: sets COUNT to the number of blocks that the command promoted.
promoted() {
	counted promotions "$@"
}

#@ hearth-only slow timeout=120 on=pool,vol,pool:format1
test_writearound_by_message() {
	cached_in_mode writethrough writearound "$@"
	# udev's own reads promote some blocks.
	promoted write_data /dev/vg/lv 1 0 16
	assert_le "$COUNT" 40 "promotions by writes"
	assert_ge "$(counter vg-lv write_misses)" 200 "write misses"
	warm vg-lv 4
	counted write_hits write_data /dev/vg/lv 2 0 4
	assert_ge "$COUNT" 48 "writes of what is cached"
	check_data /dev/vg/lv 2 0 4
	reactivate
	mode_is writethrough writearound
	assert_ge "$(stat_of vg-lv used)" 48 "used after activation"
	promoted write_data /dev/vg/lv 3 32 16
	assert_le "$COUNT" 40 "promotions by writes after activation"
	message vg-lv mode table
	mode_is writethrough writethrough
	promoted write_data /dev/vg/lv 4 64 16
	assert_ge "$COUNT" 100 "promotions by writes in writethrough"
	lvconvert -y --splitcache vg/lv
	check_data /dev/vg/lv 2 0 4
	check_data /dev/vg/lv 1 4 12
	check_data /dev/vg/lv 3 32 16
	check_data /dev/vg/lv 4 64 16
}

#@ hearth-only slow timeout=120 on=pool,vol,pool:format1
test_writeonly_by_message() {
	cached_in_mode writeback writeonly "$@"
	stays_dirty vg-lv
	promoted write_data /dev/vg/lv 1 0 12
	assert_ge "$COUNT" 150 "promotions by writes"
	assert_ge "$(stat_of vg-lv dirty)" 64 dirty
	promoted reads 32 8 8m
	assert_eq "$COUNT" 0 "promotions by reads"
	counted read_hits reads 0 12 2m
	assert_ge "$COUNT" 256 "hits of what was written"
	reactivate
	mode_is writeback writeonly
	promoted reads 32 8 8m
	assert_eq "$COUNT" 0 "promotions by reads after activation"
	promoted write_data /dev/vg/lv 2 64 4
	assert_ge "$COUNT" 32 "promotions by writes after activation"
	message vg-lv mode table
	mode_is writeback writeback
	promoted reads 32 8 8m
	assert_ge "$COUNT" 64 "promotions by reads in writeback"
	lvconvert -y --uncache vg/lv
	check_data /dev/vg/lv 1 0 12
	check_data /dev/vg/lv 2 64 4
}

# lvm2 changes its own mode below the mode of the message. The engine does not use the
# message's mode while the two do not fit together.
#@ hearth-only fast timeout=120
test_own_mode_and_lvchange() {
	cached_in_mode writethrough writearound pool
	write_data /dev/vg/lv 1 0 16
	lvchange -y --cachemode writeback vg/lv
	mode_is writeback writeback
	refused "'writearound' is not possible over writeback" message vg-lv mode writearound
	mode_is writeback writeback
	write_data /dev/vg/lv 2 0 8
	lvchange -y --cachemode writethrough vg/lv
	mode_is writethrough writearound
	lvchange -y --cachesettings migration_threshold=4096 vg/lv
	mode_is writethrough writearound
	check_data /dev/vg/lv 2 0 8
	check_data /dev/vg/lv 1 8 8
}

# A session of stock discards the mode that a message set.
#@ hearth-only slow timeout=180
test_stock_forgets_the_own_mode() {
	cached_in_mode writeback writeonly pool
	write_data /dev/vg/lv 1 0 16
	lvchange -an vg/lv
	load_engine stock
	lvchange -ay vg/lv
	check_data /dev/vg/lv 1 0 16
	write_data /dev/vg/lv 2 0 8
	lvchange -an vg/lv
	load_engine hearth
	lvchange -ay vg/lv
	mode_is writeback writeback
	check_data /dev/vg/lv 2 0 8
	check_data /dev/vg/lv 1 8 8
}
