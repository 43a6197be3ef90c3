# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A volume group that two hosts share by lvmlockd and sanlock, with the cache on a shared
# SSD. The guest is both hosts. Each has its own configuration of LVM, its own lock daemons
# and its own names of the disks. They have one kernel, so only one can have the volume
# active at a time; that is what the locks are for.

# host N COMMAND...: runs it as on host N
host() {
	local n=$1
	shift
	LVM_SYSTEM_DIR=/run/host$n SANLOCK_RUN_DIR=/run/host$n \
		LVM_LVMLOCKD_PIDFILE=/run/host$n/lvmlockd.pid \
		LVM_LVMLOCKD_SOCKET="$(socket_of "$n")" "$@"
}

# hearth looks for it at its usual place.
socket_of() {
	if [ "$1" = 1 ]; then echo /run/lvm/lvmlockd.socket; else echo "/run/host$1/lvmlockd.socket"; fi
}

# I/O timeouts of 2 s instead of 10 s, and no watchdog
start_host() {
	local n=$1 disk
	for disk in LOCKS DISK SSD; do
		dmsetup create "host${n}_$disk" --table "0 $(sectors "${!disk}") linear ${!disk} 0"
	done
	mkdir -p "/run/host$n" /run/lvm
	sed -e "s#filter = .*#filter = [ \"a|^/dev/mapper/host${n}_|\", \"r|.*|\" ] hints = \"none\"#" \
		-e 's#^\s*global {#& use_lvmlockd = 1#' \
		"$LVM_SYSTEM_DIR/lvm.conf" >"/run/host$n/lvm.conf"
	echo "local { host_id = $n }" >"/run/host$n/lvmlocal.conf"
	host "$n" sanlock daemon -w 0 -l 0 -U root -G root -o 2 -e "host$n"
	host "$n" lvmlockd -g sanlock --host-id "$n" --sanlock-timeout 2 --adopt-file "/run/host$n/adopt"
	until_true 30 host "$n" lvmlockctl --info
	# LVM looks for this file only.
	touch /run/lvmlockd.pid
}

kill_daemons() {
	local pidfile
	for pidfile in "/run/host$1/sanlock.pid" "/run/host$1/lvmlockd.pid"; do
		[ ! -e "$pidfile" ] || kill -9 "$(cat "$pidfile")" || true
		rm -f "$pidfile"
	done
	rm -f "$(socket_of "$1")"
}

# Also when the test has failed: nobody else could remove what the locks protect.
hosts_go() {
	kill_daemons 1
	kill_daemons 2
	remove_all_devices pass || true
	rm -rf /run/host1 /run/host2 /run/lvmlockd.pid
}

# shared_cache: vg/data of 128 MiB in writeback, which no host has active
shared_cache() {
	[ -z "$HEARTH_PROGRAMS" ] || skip "lvmlockd is of Debian 12, and so must LVM be"
	cluster_programs
	device LOCKS 264 disk
	device DISK 256 disk
	device SSD 128 ssd
	trap hosts_go EXIT
	start_host 1
	start_host 2
	# The leases take 256 MiB.
	host 1 vgcreate --shared --locktype sanlock vg /dev/mapper/host1_LOCKS
	host 1 vgextend vg /dev/mapper/host1_{DISK,SSD}
	host 1 lvcreate -qq -y -an -n data -L 128M vg /dev/mapper/host1_DISK
	host 1 lvcreate -qq -y -an --type cache-pool -n fast -L 64M -c 64k vg /dev/mapper/host1_SSD
	host 1 lvconvert -y --type cache --cachemode writeback --cachepool vg/fast vg/data
	host 2 vgchange --lock-start vg
}

# fills_with_dirty SEED: more than 500 blocks are dirty.
fills_with_dirty() {
	stays_dirty vg-data
	if is_stock; then
		warm vg-data 56 720
	else
		no_promotion_limits vg-data
		every_write_comes_in vg-data
	fi
	write_data /dev/vg/data "$1" 0 56
	assert_ge "$(stat_of vg-data dirty)" 500 "dirty blocks"
}

refused_to_host_2() {
	must_fail host 2 "$@"
	any_line -i lock "$T/said" || fail "it was not the lock that refused: $*"
}

# One host has the volume. The other host is refused what it may not do, until the first gives the
# volume away, with all that is in the cache.
#@ slow timeout=300
test_one_host_at_a_time() {
	local hearth=$TOP/build/lvm-plugin/hearth used dirty
	shared_cache
	host 1 lvchange -aey vg/data
	fills_with_dirty 1
	refused_to_host_2 lvchange -aey vg/data
	any_line "LV locked by other host" "$T/said" || fail "it does not say which lock"
	refused_to_host_2 lvremove -f vg/data
	refused_to_host_2 lvconvert -y --uncache vg/data
	refused_to_host_2 lvconvert -y --splitcache vg/data
	must_fail host 1 lvchange -asy vg/data
	if ! is_stock; then
		host 1 "$hearth" export | any_line 'hearth_cache_info{.*lock_type="sanlock"' ||
			fail "hearth export does not name the locks"
		host 1 "$hearth" set vg/data mode=writethrough
		assert_match "$(stat_of vg-data features)" writethrough features
		host 1 "$hearth" set vg/data mode=writeback
		fills_with_dirty 1
	fi
	used=$(stat_of vg-data used) dirty=$(stat_of vg-data dirty)
	host 1 lvchange -an vg/data
	host 2 lvchange -aey vg/data
	stays_dirty vg-data
	must_fail host 1 lvchange -aey vg/data
	assert_ge "$(stat_of vg-data used)" "$used" "resident blocks"
	# The kernel's own target writes back whenever nobody waits.
	if is_stock; then dirty=$((dirty / 2)); else dirty=$((dirty * 95 / 100)); fi
	assert_ge "$(stat_of vg-data dirty)" "$dirty" "dirty blocks"
	check_data /dev/vg/data 1 0 56
	host 2 lvchange -an vg/data
}
