# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A private SSD before an origin on the network. The guest is the target and the initiator
# of NVMe over TCP and of iSCSI, over its loopback: the kernel's targets, the kernel's
# initiators. The target exports FAR_DISK, which the guest's LVM must not see: a test writes
# to it what another host would.
#
# A transport T has these functions:
#
#   T_exports          makes the target of $FAR_DISK
#   T_attach           logs in; nobody gives up for ten minutes
#   T_disk             prints the disk's name, if there is a disk
#   T_lose, T_find     the target is away, and is back
#   T_gives_up SECONDS requests fail when the target has been away for so long
#   T_detach           takes all of it down, as far as it is there

# --- NVMe over TCP -------------------------------------------------------------------

NQN=nqn.2026-11.org.hearth:origin
NVMET=/sys/kernel/config/nvmet

nvme_exports() {
	local namespace=$NVMET/subsystems/$NQN/namespaces/1 path
	modprobe -a nvmet nvmet-tcp nvme-tcp
	mkdir "$NVMET/subsystems/$NQN"
	echo 1 >"$NVMET/subsystems/$NQN/attr_allow_any_host"
	mkdir "$namespace"
	echo -n "$FAR_DISK" >"$namespace/device_path"
	echo 1 >"$namespace/enable"
	for path in 1 2; do
		mkdir $NVMET/ports/$path
		echo tcp >$NVMET/ports/$path/addr_trtype
		echo ipv4 >$NVMET/ports/$path/addr_adrfam
		echo 127.0.0.$path >$NVMET/ports/$path/addr_traddr
		echo 4420 >$NVMET/ports/$path/addr_trsvcid
		nvme_path_up $path
	done
}

nvme_path_up() {
	ln -s "$NVMET/subsystems/$NQN" "$NVMET/ports/$1/subsystems/"
}

nvme_path_down() {
	rm -f "$NVMET/ports/$1/subsystems/$NQN"
}

nvme_attach() {
	local path
	for path in 1 2; do
		echo "transport=tcp,traddr=127.0.0.$path,trsvcid=4420,nqn=$NQN,reconnect_delay=1,ctrl_loss_tmo=600" \
			>/dev/nvme-fabrics
	done
}

nvme_disk() {
	local disk
	for disk in /sys/block/nvme*; do
		# The disk of each path is hidden.
		[ ! -e "$disk/hidden" ] || [ "$(cat "$disk/hidden")" = 1 ] || basename "$disk"
	done
}

nvme_lose() {
	nvme_path_down 1
	nvme_path_down 2
	until_true 30 nvme_live_paths 0
}

nvme_find() {
	nvme_path_up 1
	nvme_path_up 2
}

# nvme_live_paths NUMBER: so many of the paths work.
nvme_live_paths() {
	[ "$(cat /sys/class/nvme/nvme*/state | grep -cx live)" = "$1" ]
}

nvme_gives_up() {
	echo "$1" | tee /sys/class/nvme/nvme*/ctrl_loss_tmo
}

nvme_detach() {
	local path
	# lockdep complains of the kernel's own NVMe target when a controller goes.
	dmesg_known nvmet_tcp_release_queue_work
	for path in /sys/class/nvme/nvme*; do
		[ ! -e "$path" ] || echo 1 >"$path/delete_controller"
	done
	for path in 1 2; do
		nvme_path_down $path
		[ ! -d $NVMET/ports/$path ] || rmdir $NVMET/ports/$path
	done
	[ ! -d "$NVMET/subsystems/$NQN" ] || rmdir "$NVMET/subsystems/$NQN/namespaces/1" "$NVMET/subsystems/$NQN"
}

# --- iSCSI ---------------------------------------------------------------------------

IQN=iqn.2026-11.org.hearth:origin
LIO=/sys/kernel/config/target
PORTAL=127.0.0.1:3260

iscsi_exports() {
	local group=$LIO/iscsi/$IQN/tpgt_1 attribute
	cluster_programs
	modprobe -a target_core_mod target_core_file iscsi_target_mod iscsi_tcp sd_mod
	mkdir -p $LIO/core/fileio_0/disk
	# fileio, because iblock would open the device for itself alone
	echo "fd_dev_name=$FAR_DISK,fd_dev_size=$(blockdev --getsize64 "$FAR_DISK"),fd_buffered_io=1" >$LIO/core/fileio_0/disk/control
	echo hearth-origin >$LIO/core/fileio_0/disk/wwn/vpd_unit_serial
	echo 1 >$LIO/core/fileio_0/disk/enable
	[ -d $LIO/iscsi ] || mkdir $LIO/iscsi
	mkdir -p "$group/lun/lun_0"
	ln -s $LIO/core/fileio_0/disk "$group/lun/lun_0/disk"
	for attribute in authentication=0 demo_mode_write_protect=0 generate_node_acls=1; do
		echo ${attribute#*=} >"$group/attrib/${attribute%=*}"
	done
	iscsi_find
}

iscsi_find() {
	mkdir "$LIO/iscsi/$IQN/tpgt_1/np/$PORTAL"
	echo 1 >"$LIO/iscsi/$IQN/tpgt_1/enable"
}

# The portal goes first, because a login that the target refuses would be the last.
iscsi_lose() {
	rmdir "$LIO/iscsi/$IQN/tpgt_1/np/$PORTAL"
	echo 0 >"$LIO/iscsi/$IQN/tpgt_1/enable"
	until_true 30 iscsi_is_away
}

iscsi_is_away() {
	! any_line -x LOGGED_IN /sys/class/iscsi_session/session*/state
}

iscsi_attach() {
	rm -rf /etc/iscsi/nodes
	echo "InitiatorName=$IQN:initiator" >/etc/iscsi/initiatorname.iscsi
	pgrep -x iscsid || iscsid
	iscsi_node -o new
	iscsi_node -o update -n node.session.timeo.replacement_timeout -v 600
	iscsi_node --login
}

iscsi_node() {
	iscsiadm -m node -T "$IQN" -p $PORTAL "$@"
}

iscsi_disk() {
	local disk
	for disk in /sys/class/iscsi_session/session*/device/target*/*/block/*; do
		[ ! -e "$disk" ] || basename "$disk"
	done
}

iscsi_gives_up() {
	echo "$1" | tee /sys/class/iscsi_session/session*/recovery_tmo
}

iscsi_detach() {
	local group=$LIO/iscsi/$IQN/tpgt_1
	[ ! -d /etc/iscsi/nodes ] || iscsi_node --logout || true
	if [ -d "$group" ]; then
		echo 0 >"$group/enable"
		[ ! -d "$group/np/$PORTAL" ] || rmdir "$group/np/$PORTAL"
		rm -f "$group/lun/lun_0/disk"
		rmdir "$group/lun/lun_0" "$group" "$LIO/iscsi/$IQN"
	fi
	[ ! -d $LIO/core/fileio_0 ] || rmdir $LIO/core/fileio_0/disk $LIO/core/fileio_0
	! pgrep -x iscsid || iscsiadm -k 0
}

# --- the cache -----------------------------------------------------------------------

has_disk() {
	[ -n "$("${TRANSPORT}_disk")" ]
}

# Before the guest cleans up, which would wait for requests to the target.
network_goes() {
	"${TRANSPORT}_gives_up" 1 || true
	remove_all_devices pass || true
	"${TRANSPORT}_detach"
}

# network_cache TRANSPORT: vg/lv in writeback, its origin on DISK, which is reached by the
# transport. The first 16 MiB are seed 1's, and all their blocks are dirty; of stock's, most.
network_cache() {
	TRANSPORT=$1
	busybox ip link set lo up
	device FAR_DISK 256 disk
	device SSD 96 ssd
	trap network_goes EXIT
	"${TRANSPORT}_exports"
	"${TRANSPORT}_attach"
	until_true 60 has_disk
	DISK=/dev/$("${TRANSPORT}_disk")
	until_true 30 test -b "$DISK"
	udevadm settle
	vgcreate -y vg "$DISK" "$SSD"
	FIRST_MIB=$(pvs --noheadings --nosuffix --units m -o pe_start "$DISK" | sed 's/ *\([0-9]*\).*/\1/')
	cached_lv pool writeback
	fills_with_dirty 1
}

# fills_with_dirty SEED: the first 16 MiB. Stock brings in what is read often.
fills_with_dirty() {
	local want=256
	stays_dirty vg-lv
	if is_stock; then
		want=96
		warm vg-lv 16
	else
		no_promotion_limits vg-lv
		every_write_comes_in vg-lv
	fi
	write_data /dev/vg/lv "$1" 0 16
	DIRTY=$(stat_of vg-lv dirty)
	assert_ge "$DIRTY" $want "dirty blocks"
}

# misses BLOCK: reads a block that is not in the cache, if it is the first time.
misses() {
	dd if=/dev/vg/lv of=/dev/null bs=64k skip="$1" count=1 iflag=direct status=none
}

# Hits go on: reads, and writes to blocks that are dirty already.
hits_go_on() {
	local block
	for ((block = 0; block < 256; block += 32)); do
		timeout 20 dd if=/dev/vg/lv of="$T/block" bs=64k skip=$block count=1 iflag=direct status=none ||
			fail "a read of block $block"
		timeout 20 dd if="$T/block" of=/dev/vg/lv bs=64k seek=$block count=1 oflag=direct status=none ||
			fail "a write of block $block"
	done
}

goes_clean() {
	if is_stock; then
		message vg-lv migration_threshold 2048
	else
		message vg-lv writeback_idle 1
	fi
	until_true 120 all_clean vg-lv
}

# The volume's first 16 MiB are where the other hosts look for them, from LVM's first extent on,
# whose place depends on what the disk says of itself.
origin_has_it_all() {
	cmp -n $((16 << 20)) <(dd if=/dev/vg/lv bs=1M count=16 iflag=direct status=none) \
		<(dd if="$FAR_DISK" bs=1M skip="$FIRST_MIB" count=16 iflag=direct status=none)
}

# --- tests ---------------------------------------------------------------------------

# Nothing is lost, and nothing fails. A second path hides the loss of the first.
#@ slow hearth-only timeout=240 on=nvme,iscsi
test_the_target_is_back_in_time() {
	local miss
	network_cache "$1"
	"$TOP/build/lvm-plugin/hearth" export | any_line 'hearth_cache_info{.*origin_transport="'"$1" ||
		fail "hearth export does not name the transport"
	doctor_says "vg/lv: blocks are dirty on an SSD of this machine" || fail "doctor says nothing of the SSD"
	doctor_says "other hosts reach its devices by $1" || fail "doctor says nothing of the volume group"
	if [ "$1" = nvme ]; then
		nvme_path_down 1
		until_true 30 nvme_live_paths 1
		misses 1000
		nvme_path_up 1
		until_true 60 nvme_live_paths 2
	fi
	"$1_lose"
	misses 1600 &
	miss=$!
	hits_go_on
	kill -0 $miss || fail "a miss did not wait for the target"
	"$1_find"
	wait $miss || fail "a miss failed, though the target was back in time"
	check_data /dev/vg/lv 1 0 16
	goes_clean
	origin_has_it_all
	assert_match "$(stat_of vg-lv features)" writeback features
	assert_eq "$(stat_of vg-lv rw)" rw "the metadata"
}

# nvme_heals: the disk has another name now, which doctor sees.
nvme_heals() {
	local new
	doctor_says "of the origin is gone: hits go on" || fail "doctor says nothing of it"
	nvme_find
	nvme_attach
	until_true 60 has_disk
	new=/dev/$(nvme_disk)
	udevadm settle
	[ "$new" != "$DISK" ] || fail "the disk has its old name"
	must_fail misses 1200
	doctor_says "lvchange --refresh vg/lv" || fail "doctor does not say what helps"
	lvchange --refresh vg/lv
	misses 1200
}

# iscsi_heals: a session that is back has its old disk.
iscsi_heals() {
	iscsi_find
	until_true 120 misses 1200 || fail "misses still fail"
}

# Misses fail and hits go on. Dirty blocks stay, and go home when the target is back.
#@ slow hearth-only timeout=300 on=nvme,iscsi
test_the_target_is_back_too_late() {
	network_cache "$1"
	"$1_gives_up" 2
	"$1_lose"
	must_fail misses 1600
	hits_go_on
	assert_ge "$(stat_of vg-lv dirty)" "$DIRTY" "dirty blocks while the target was away"
	"$1_heals"
	assert_ge "$(stat_of vg-lv dirty)" "$DIRTY" "dirty blocks when the target was back"
	if doctor_says "of the origin is gone"; then fail "doctor still says so"; fi
	check_data /dev/vg/lv 1 0 16
	goes_clean
	origin_has_it_all
}

# another_host_writes: 8 MiB of the volume, past the cache.
another_host_writes() {
	dd if=/dev/urandom of="$FAR_DISK" bs=1M seek="$FIRST_MIB" count=8 oflag=direct status=none
}

# The next activation notices it. Stock would read what is no longer there.
#@ slow timeout=240 on=nvme
test_another_host_writes_the_origin() {
	network_cache "$1"
	goes_clean
	vgchange -an vg
	another_host_writes
	vgchange -ay vg
	if is_stock; then
		check_data /dev/vg/lv 1 1 4
		return
	fi
	dmesg_allow "$ORIGIN_ALARM"
	origin_has_it_all
	kernel_said 'vg-lv: the origin was written without the cache: starting with an empty cache'
	doctor_says "vg/lv: the origin was written without the cache" ||
		fail "doctor says nothing of it"
	fills_with_dirty 2
	goes_clean
	stays_dirty vg-lv
	write_data /dev/vg/lv 3 8 8
	assert_ge "$(stat_of vg-lv dirty)" 32 "dirty blocks"
	vgchange -an vg
	another_host_writes
	refused 'blocks are dirty: refused' lvchange -ay vg/lv
	vgchange -an vg
	doctor_says "vg/lv: it was refused" || fail "doctor does not find the refused volume"
	"$TOP/build/lvm-plugin/hearth" origin vg/lv --keep origin --yes
	origin_has_it_all
}

# With queue_if_no_path requests wait for a path, as long as it takes.
# shellcheck disable=SC2034
#@ slow timeout=120
test_multipath_queues() {
	local path miss
	device PATH1 64 disk
	device META 8 ram
	device FAST 16 ssd
	zero "$META" 1
	modprobe -a dm-multipath dm-service-time
	path=$(lsblk -dno MAJ:MIN "$PATH1" | tr -d ' ')
	# By bios, because a multipath by requests calls null_blk, which sleeps when it keeps
	# data, where nothing may sleep.
	dmsetup create paths --table "0 $(sectors "$PATH1") multipath 3 queue_if_no_path queue_mode bio 0 1 1 service-time 0 1 1 $path 1"
	trap 'message paths fail_if_no_path' EXIT
	SLOW=/dev/mapper/paths
	by_hand c 128 "metadata2 writeback"
	warm c 8
	stays_dirty c
	write_data /dev/mapper/c 1 0 8
	assert_ge "$(stat_of c dirty)" 32 "dirty blocks"
	# A read of udev's that waits for the path would hold the device's inode lock, for which
	# every dd waits.
	udevadm settle
	message paths fail_path "$path"
	dd if=/dev/mapper/c of=/dev/null bs=64k skip=640 count=1 iflag=direct status=none &
	miss=$!
	timeout 20 dd if=/dev/mapper/c of=/dev/null bs=64k count=64 iflag=direct status=none || fail "hits wait, too"
	kill -0 $miss || fail "a miss did not wait for a path"
	message paths reinstate_path "$path"
	wait $miss || fail "a miss failed"
	check_data /dev/mapper/c 1 0 8
	dmsetup remove c
	by_hand c 128 "metadata2 writeback" "cleaner 0"
	until_true 60 all_clean c
	check_data "$PATH1" 1 0 8
}
