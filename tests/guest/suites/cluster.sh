# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Programs that make and use caches on many machines run fixed command lines. These tests
# run the lines as the programs do: of LINSTOR 3e9306a9d (CacheLayer.java,
# DmSetupUtils.java) and of TopoLVM 83e3dcee (lvmd).

# linstor_table FEATURES POLICY: the table that LINSTOR makes. Its blocks have 4096
# sectors, because it writes the 4096 bytes that it means into the table as they are.
linstor_table() {
	echo "0 $(sectors "$SLOW") cache $META $FAST $SLOW 4096 $1 $2 0"
}

# linstor_flushes ID: LINSTOR's suspendIo(), before it takes a snapshot. It waits for an
# event for at most ten seconds at a time. Sets WAITED to the times that none came.
linstor_flushes() {
	local id=$1 size event dirty
	size=$(sectors "$SLOW")
	WAITED=0
	dmsetup reload "$id" --table "$(linstor_table 0 cleaner)"
	dmsetup resume "/dev/mapper/$id"
	dmsetup message "$id" 0 migration_threshold "$size"
	while :; do
		event=$(dmsetup info -c -o events --noheadings "/dev/mapper/$id")
		dirty=$(dmsetup status "$id" | awk '$3 == "cache" { print $14 }')
		if [ "$dirty" = 0 ]; then break; fi
		timeout 10 dmsetup wait "$id" "$((event))" || WAITED=$((WAITED + 1))
		assert_le $WAITED 12 "waits in vain: $dirty blocks are dirty"
	done
	dmsetup suspend "/dev/mapper/$id"
}

# linstor_goes_on ID: its resumeIo()
linstor_goes_on() {
	dmsetup reload "$1" --table "$(linstor_table "1 writeback" smq)"
	dmsetup resume "/dev/mapper/$1"
}

# A snapshot of the origin has all that was written, and the cache goes on as it was.
#@ slow timeout=180
test_linstor_flushes_for_a_snapshot() {
	local id=linstor_cache_pvc_00000
	by_hand_devices 64 128
	dmsetup create $id --table "$(linstor_table "1 writeback" smq)"
	# These two lines are not LINSTOR's.
	warm $id 16 6
	stays_dirty $id
	write_data /dev/mapper/$id 1 0 16
	assert_ge "$(stat_of $id dirty)" 4 "dirty blocks"
	linstor_flushes $id
	echo "waits without an event: $WAITED"
	check_data "$SLOW" 1 0 16
	linstor_goes_on $id
	assert_ge "$(stat_of $id used)" 6 "blocks that are still cached"
	assert_match "$(stat_of $id features)" writeback features
	check_data /dev/mapper/$id 1 0 16
	write_data /dev/mapper/$id 2 0 16
	check_data /dev/mapper/$id 2 0 16
	linstor_flushes $id
	check_data "$SLOW" 2 0 16
	linstor_goes_on $id
	command dmsetup remove --retry $id
	check_data "$SLOW" 2 0 16
}

# The tag keeps origins off the SSD, and tells lvcreate where caches go. TopoLVM gives
# sizes in bytes, and the options come from its class of devices.
#@ slow timeout=180
test_topolvm_makes_grows_and_removes() {
	standard_vg 512 96
	pvchange --addtag ssd "$SSD"
	lvcreate -n pvc1 -L 104857600b -W y -y --addtag topolvm.io/device-class=hdd \
		--type cache --cachedevice @ssd --cachesize 32m vg
	assert_eq "$(field segtype vg/pvc1)" cache "type"
	assert_eq "$(field devices vg/pvc1_corig | sed 's/(.*//')" "$DISK" "the origin's device"
	assert_eq "$(field cache_mode vg/pvc1)" writethrough mode
	warm vg-pvc1 8
	write_data /dev/vg/pvc1 1 0 16
	lvresize -f -L 150994944b vg/pvc1
	assert_eq "$(sectors /dev/vg/pvc1)" $((150994944 / 512)) "sectors of the volume"
	check_data /dev/vg/pvc1 1 0 16
	write_data /dev/vg/pvc1 2 120 16
	check_data /dev/vg/pvc1 2 120 16
	# The same with the option for dirty blocks. --cachemode is refused beside --cachedevice.
	must_fail lvcreate -n pvc2 -L 67108864b -W y -y --type cache --cachedevice @ssd --cachesize 16m \
		--cachemode writeback vg
	lvcreate -n pvc2 -L 67108864b -W y -y --type cache --cachedevice @ssd --cachesize 16m \
		--config 'allocation/cache_mode="writeback"' vg
	assert_eq "$(field cache_mode vg/pvc2)" writeback mode
	write_data /dev/vg/pvc2 3 0 8
	check_data /dev/vg/pvc2 3 0 8
	lvremove -f vg/pvc2
	lvremove -f vg/pvc1
	assert_eq "$(lvs --noheadings -a vg | wc -l)" 0 "volumes that are left"
}

# scsi_disk: the name of scsi_debug's disk, sda say; none while there is no disk.
scsi_disk() {
	local path
	for path in /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*; do
		[ ! -e "$path" ] || basename "$path"
	done
}

has_scsi_disk() {
	[ -n "$(scsi_disk)" ]
}

# A network disk that was lost and comes back has another name, and the table holds on to
# the old one. So does a SCSI disk that is deleted while it is open.
#@ slow hearth-only timeout=180
test_an_origin_comes_back_under_another_name() {
	local old new dirty host
	modprobe sd_mod
	modprobe scsi_debug dev_size_mb=256 delay=0
	until_true 30 has_scsi_disk
	old=$(scsi_disk)
	host=$(basename "$(readlink -f "/sys/block/$old/device/../..")")
	device SSD 96 ssd
	vgcreate -y vg "/dev/$old" "$SSD"
	DISK=/dev/$old cached_lv pool writeback
	warm vg-lv 8
	stays_dirty vg-lv
	write_data /dev/vg/lv 1 0 8
	dirty=$(stat_of vg-lv dirty)
	assert_ge "$dirty" 64 "dirty blocks"
	echo 1 >"/sys/block/$old/device/delete"
	must_fail dd if=/dev/vg/lv of=/dev/null bs=64k skip=1600 count=1 iflag=direct
	doctor_says "of the origin is gone: hits go on" || fail "doctor says nothing of it"
	echo "- - -" >"/sys/class/scsi_host/$host/scan"
	until_true 30 has_scsi_disk
	udevadm settle
	new=$(scsi_disk)
	[ "$new" != "$old" ] || fail "the disk has its old name"
	must_fail dd if=/dev/vg/lv of=/dev/null bs=64k skip=1600 count=1 iflag=direct
	doctor_says "lvchange --refresh vg/lv" || fail "doctor does not say what helps"
	lvchange --refresh vg/lv
	dd if=/dev/vg/lv of=/dev/null bs=64k skip=1600 count=1 iflag=direct status=none
	if doctor_says "of the origin is gone"; then fail "doctor still says so"; fi
	# There may be more: at the suspend nothing could be flushed to the origin that was
	# gone, so durable dirty bits of clean blocks stayed.
	assert_ge "$(stat_of vg-lv dirty)" "$dirty" "dirty blocks"
	check_data /dev/vg/lv 1 0 8
	lvconvert -y --uncache vg/lv
	check_data /dev/vg/lv 1 0 8
	vgchange -an vg
	vgremove -y -ff vg
	# udev looks at the disk once more.
	until_true 20 modprobe -r scsi_debug || fail "scsi_debug is in use"
}
