# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# The stacks that are compared: every engine on META, FAST and SLOW, which have the same
# linear layers below all of them; the SSD alone; the disk alone. The sections absorb and
# peers source this file. It must not know which jobs run.

STACK_FROM=64g		# of a volume: jobs begin behind its head

# far_disk: makes SLOW, 1 TiB that forget what is written. Only their head keeps it, for
# superblocks.
far_disk() {
	disk $((1 << 20))
	device SLOW_HEAD 1 20000ns
	with_head slow "$SLOW_HEAD" "$DISK"
	SLOW=/dev/mapper/slow
}

plain_ssd() {
	META=$PLAIN_META SSD=$PLAIN_SSD FAST=/dev/mapper/plain
}

flushed_ssd() {
	META=$FLUSHED_META SSD=$FLUSHED_SSD FAST=/dev/mapper/flushed
}

# absorbs 0|1: whether hearth's cache c absorbs, unless the engine has no such setting.
absorbs() {
	local setting=$1
	dmsetup message c 0 absorb "$setting" || setting=0
	[ "$1" = 0 ] || figure absorb-setting "$setting"
	[ "$setting" = 0 ] || until_true 60 is_absorbing || fail "the write log is not on"
}

is_absorbing() {
	dmsetup message c 0 stats | any_line -x 'log on'
}

# make_stack STACK: makes the stack new, and sets DEV to it and AT to where the jobs
# begin. ALONE is what the SSD alone has, if that is more than FAST.
make_stack() {
	DEV=/dev/mapper/c AT=$STACK_FROM
	case $1 in
	ssd) DEV=${ALONE:-$FAST} AT=0 ;;
	disk) DEV=$SLOW ;;
	writecache) make_writecache ;;
	bcache) make_bcache; DEV=/dev/bcache0 ;;
	plain-bcache) plain_bcache; DEV=/dev/bcache0 ;;
	opencas) make_opencas; DEV=/dev/cas1-1 ;;
	stock) empty_cache stock writeback ;;
	hearth) empty_cache hearth writeback; absorbs 1 ;;
	*) fail "no such stack: $1" ;;
	esac
}

remove_stack() {
	case $1 in
	ssd | disk) ;;
	writecache) remove_writecache ;;
	bcache | plain-bcache) remove_bcache ;;
	opencas) remove_opencas ;;
	*) dmsetup remove c ;;
	esac
}

# OPENCAS is the built tree of Open CAS, which has one module or two, depending on its
# version. It takes only devices that have a link in /dev/disk/by-id, and udev makes one
# for each device-mapper device.
make_opencas() {
	local module
	zero "$FAST"
	for module in cas_disk cas_bd cas_cache; do
		[ ! -e "$OPENCAS/modules/$module/$module.ko" ] ||
			insmod "$OPENCAS/modules/$module/$module.ko"
	done
	casadm --start-cache --force --cache-id 1 --cache-mode wb \
		--cache-device "/dev/disk/by-id/dm-name-$(basename "$FAST")"
	casadm --add-core --cache-id 1 --core-id 1 \
		--core-device "/dev/disk/by-id/dm-name-$(basename "$SLOW")"
	udevadm settle
}

remove_opencas() {
	local module
	casadm --stop-cache --cache-id 1 --no-data-flush
	for module in cas_cache cas_bd cas_disk; do
		[ ! -e /sys/module/$module ] || rmmod $module
	done
}

casadm() {
	"$OPENCAS/casadm/casadm" "$@"
}

remove_devices() {
	remove_all_devices fail || fail "devices that can't be removed"
	remove_nullb
	remove_disk
}
