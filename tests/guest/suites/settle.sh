# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A volume of LVM's whose write log is in use, and each way back to the kernel's own
# dm-cache ("stock"). Each test ends with stock, which reads every byte.

# shellcheck source=tests/guest/suites/tool.sh
. "${BASH_SOURCE%/*}/tool.sh"

# logged_lv pool|vol: makes vg/lv, has hearth set turn its write log on, and fills both.
logged_lv() {
	LV_MIB=48 standard_vg
	LV_MIB=48 cached_lv "$1" writethrough
	write_data /dev/vg/lv 1 0 4
	warm vg-lv 4
	stays_dirty vg-lv
	message vg-lv settle_seconds 0
	hearth set vg/lv mode=writeback 2>"$T/said"
	cat "$T/said"
	grep -q "'hearth set vg/lv absorb=off' ends that" "$T/said" || fail "hearth set did not say how absorb ends"
	fill_log 2
}

# fill_log SEED: some small writes hit, so that their blocks are dirty; others are absorbed.
fill_log() {
	until_true 60 log_is on
	RW=randwrite write_data /dev/vg/lv "$1" 3 3 4k
	assert_ge "$(counter vg-lv log_segments)" 8 "blocks of the log"
	sum_of /dev/vg/lv >"$T/before"
}

log_is() {
	[ "$(counter vg-lv log)" = "$1" ]
}

stock_reads_every_byte() {
	lvchange -an vg/lv
	load_engine stock
	lvchange -ay vg/lv
	assert_eq "$(sum_of /dev/vg/lv)" "$(cat "$T/before")" "the volume in stock"
	check_data /dev/vg/lv 1 0 3
}

# As the packages run it. The command is where the tests have built it.
leave() {
	PATH=$TOP/build/lvm-plugin:$PATH "$TOP/lvm-plugin/hearth-leave"
}

#@ fast hearth-only timeout=240
test_settle_and_removal_open_the_volume_to_stock() {
	logged_lv pool
	fails_with 0 'vg/lv: settled, the write log is empty .* of other blocks are still dirty in writeback' \
		hearth settle vg/lv
	log_is off
	assert_ge "$(stat_of vg-lv dirty)" 8 "blocks that stay dirty"
	stock_reads_every_byte

	lvchange -an vg/lv
	load_engine hearth
	lvchange -ay vg/lv
	hearth set vg/lv absorb=on
	fill_log 3
	fails_with 0 'vg/lv: settled' leave
	stock_reads_every_byte
}

# in_vg NAME: prints a number from LVM's description of the cache volume, in sectors.
in_vg() {
	sed -nE "s/^\s*$1 = ([0-9]+).*/\1/p" "$T/vg"
}

# writable PART...: activates hidden volumes as the manual page hearth-metadata(8) says.
writable() {
	local part
	for part in "$@"; do
		lvchange -y -ay "vg/$part"
		dmsetup table "vg-$part" | dmsetup load "vg-$part"
		dmsetup resume "vg-$part"
	done
}

# settle_stopped pool|vol
settle_stopped() {
	local part parts=(lv_corig fast_cpool_cdata fast_cpool_cmeta)
	local meta=vg-fast_cpool_cmeta data=vg-fast_cpool_cdata
	[ "$1" = pool ] || parts=(lv_corig fast_cvol)
	writable "${parts[@]}"
	if [ "$1" = vol ]; then
		vgcfgbackup -f "$T/vg" vg
		meta=meta data=data
		for part in meta data; do
			dmsetup create $part --table "0 $(in_vg ${part/meta/metadata}_len) linear \
				/dev/mapper/vg-fast_cvol $(in_vg ${part/meta/metadata}_start)"
		done
	fi
	"$TOP/build/tools/hearth-metadata" settle /dev/mapper/$meta /dev/mapper/$data /dev/mapper/vg-lv_corig
	udevadm settle
	# LVM leaves the last one behind when stock has refused the volume.
	[ "$1" = pool ] || dmsetup remove meta data vg-fast_cvol-cmeta
	lvchange -an "${parts[@]/#/vg/}"
}

# Stopped with a log the volume is refused by stock, is named, and keeps the packages,
# until hearth-metadata has settled it. The variant vol is slow, because only the place of
# the metadata differs.
#@ fast hearth-only timeout=240 on=pool slow=vol
test_stopped_with_a_log_is_named_and_settled() {
	logged_lv "$1"
	lvchange -an vg/lv
	fails_with 1 'vg/lv is not active, and its write log is in use' hearth settle --all
	fails_with 1 'not removed' leave
	load_engine stock
	dmesg_allow 'device-mapper: cache'
	must_fail lvchange -ay vg/lv
	lvchange -an vg/lv
	settle_stopped "$1"
	fails_with 0 '' hearth settle --all
	stock_reads_every_byte
}

# LVM's own commands empty the log on their way. Two variants are slow, because only what
# LVM does after the drain differs.
#@ fast hearth-only timeout=180 on=vol:uncache slow=pool:splitcache,pool:mode
test_leaving_the_cache_empties_the_log() {
	logged_lv "$1"
	case $2 in
	mode)
		hearth set vg/lv mode=writethrough
		assert_eq "$(told mode)/$(told dirty_blocks)" writethrough/0 "mode and dirty blocks"
		;;
	*)
		lvconvert -qq -y "--$2" vg/lv
		assert_eq "$(field segtype)" linear "type of the volume"
		;;
	esac
	stock_reads_every_byte
}
