# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# DRBD 8.4, the kernel's. The guest is both nodes, A and B: a resource for each, and each
# is connected to the other's port of the loopback.

declare -A PORT=([A]=7001 [B]=7002) MINOR=([A]=1 [B]=2)

other_node() {
	if [ "$1" = A ]; then echo B; else echo A; fi
}

drbd() {
	/lib/drbd/drbdsetup-84 "$@"
}

load_drbd() {
	cluster_programs
	modprobe drbd usermode_helper=disabled
	busybox ip link set lo up
	trap drbd_goes EXIT
}

# If a cache is on top of DRBD, it goes first; if it is below, DRBD does.
drbd_goes() {
	remove_all_devices pass >/dev/null || true
	drbd down A || true
	drbd down B || true
	remove_all_devices pass || true
	rmmod drbd
}

# node_starts NODE DEVICE: attaches what the node has, and does not yet connect.
node_starts() {
	drbd new-resource "$1"
	drbd new-minor "$1" "${MINOR[$1]}" 0
	drbd attach "${MINOR[$1]}" "$2" "$2" internal
}

# make_node NODE DEVICE: the same, of a device that DRBD has not seen before.
make_node() {
	drbdmeta --force "${MINOR[$1]}" v08 "$2" internal create-md
	node_starts "$1" "$2"
}

addresses() {
	echo "ipv4:127.0.0.1:${PORT[$1]} ipv4:127.0.0.1:${PORT[$(other_node "$1")]}"
}

# node_connects NODE: protocol C, each write is on both nodes
node_connects() {
	# shellcheck disable=SC2046
	drbd connect "$1" $(addresses "$1") --protocol=C
}

node_disconnects() {
	# shellcheck disable=SC2046
	drbd disconnect $(addresses "$1") --force
}

both_are() {
	[ "$(drbd cstate "${MINOR[A]}") $(drbd cstate "${MINOR[B]}")" = "Connected Connected" ] &&
		[ "$(drbd dstate "${MINOR[A]}")" = UpToDate/UpToDate ]
}

both_connect() {
	node_connects A
	node_connects B
	until_true 60 both_are
}

# make_pair DEVICE_A DEVICE_B: empty disks, which need no first sync. A is primary.
make_pair() {
	make_node A "$1"
	make_node B "$2"
	node_connects A
	node_connects B
	until_true 30 is_connected
	drbd new-current-uuid --clear-bitmap "${MINOR[A]}"
	until_true 30 both_are
	drbd primary "${MINOR[A]}"
}

is_connected() {
	[ "$(drbd cstate "${MINOR[A]}")" = Connected ]
}

# node_devices NODE: META_NODE, FAST_NODE, SLOW_NODE
node_devices() {
	device "META_$1" 8 ram
	device "FAST_$1" 24 ssd
	device "SLOW_$1" 64 disk
	local meta=META_$1
	zero "${!meta}" 1
}

# node_cache NODE MODE [ORIGIN]: the node's cache, of the node's name
# shellcheck disable=SC2034
node_cache() {
	local meta=META_$1 fast=FAST_$1 slow=SLOW_$1
	META=${!meta} FAST=${!fast} SLOW=${3:-${!slow}}
	by_hand "$1" 128 "metadata2 $2"
	is_stock || every_write_comes_in "$1"
}

# copy_of NODE, back_to NODE: what the node's devices hold at one instant
copy_of() {
	local d
	for d in META FAST SLOW; do
		d=${d}_$1
		dd if="${!d}" of="$T/$d" bs=1M iflag=direct status=none
	done
}

back_to() {
	local d
	for d in META FAST SLOW; do
		d=${d}_$1
		dd if="$T/$d" of="${!d}" bs=1M oflag=direct status=none
	done
}

# The cache is below DRBD on both nodes, in writeback. The peer's cache is warm with what
# was written. A node whose power fails comes back with its dirty blocks, and DRBD sends it
# what it has missed, and nothing else.
#@ slow hearth-only timeout=240
test_below_drbd() {
	local hits misses
	load_drbd
	node_devices A
	node_devices B
	node_cache A writeback
	node_cache B writeback
	stays_dirty A
	stays_dirty B
	no_promotion_limits A
	no_promotion_limits B
	make_pair /dev/mapper/A /dev/mapper/B
	write_data /dev/drbd1 1 0 8
	assert_ge "$(stat_of A dirty)" 96 "dirty blocks of node A"
	assert_ge "$(stat_of B dirty)" 96 "dirty blocks of node B"
	# A's power fails
	dmsetup suspend --noflush A
	copy_of A
	node_disconnects B
	dmsetup resume A
	drbd down A
	command dmsetup remove --retry A
	back_to A
	drbd primary "${MINOR[B]}"
	hits=$(stat_of B read_hits) misses=$(stat_of B read_misses)
	check_data /dev/drbd2 1 0 8
	echo "of the peer: $(($(stat_of B read_hits) - hits)) hits, $(($(stat_of B read_misses) - misses)) misses"
	assert_ge $(($(stat_of B read_hits) - hits)) 120 "hits of the peer"
	assert_le $(($(stat_of B read_misses) - misses)) 8 "misses of the peer"
	write_data /dev/drbd2 2 2 2
	# and is back
	node_cache A writeback
	stays_dirty A
	assert_ge "$(stat_of A dirty)" 96 "dirty blocks of node A, when it is back"
	drbdmeta --force "${MINOR[A]}" v08 /dev/mapper/A internal apply-al
	node_starts A /dev/mapper/A
	both_connect
	drbd secondary "${MINOR[B]}"
	drbd primary "${MINOR[A]}"
	check_data /dev/drbd1 2 2 2
	check_data /dev/drbd1 1 0 2
	check_data /dev/drbd1 1 4 4
	drbd down A
	drbd down B
	drop_caches
	cmp -n $((60 << 20)) /dev/mapper/A /dev/mapper/B
}

# The cache is above DRBD on a private SSD, in writethrough. While the other node is
# primary, this node's cache becomes stale: the origin check sees it when the node has the
# volume again. Stock reads what is no longer there.
#@ slow timeout=240
test_above_drbd() {
	load_drbd
	node_devices A
	node_devices B
	make_pair "$SLOW_A" "$SLOW_B"
	node_cache A writethrough /dev/drbd1
	is_stock || "$TOP/build/lvm-plugin/hearth" export | any_line 'origin_transport="drbd"' ||
		fail "hearth export does not name the transport"
	write_data /dev/mapper/A 1 0 16
	warm A 8
	dmsetup remove A
	drbd secondary "${MINOR[A]}"
	drbd primary "${MINOR[B]}"
	node_cache B writethrough /dev/drbd2
	check_data /dev/mapper/B 1 0 16
	write_data /dev/mapper/B 2 0 8
	dmsetup remove B
	drbd secondary "${MINOR[B]}"
	drbd primary "${MINOR[A]}"
	node_cache A writethrough /dev/drbd1
	if is_stock; then
		check_data /dev/mapper/A 1 1 4
		return
	fi
	dmesg_allow "$ORIGIN_ALARM"
	check_data /dev/mapper/A 2 0 8
	check_data /dev/mapper/A 1 8 8
	kernel_said 'A: the origin was written without the cache: starting with an empty cache'
}
