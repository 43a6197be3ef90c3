# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# A cache of 100 GiB, all in use, over 2 TiB: how much longer activation takes because some
# clean blocks are compared with the origin. The host made the metadata
# (build/bench-images/origin). No device keeps what is written, so all that is compared is
# zeros.

# origin_activates NAME POLICY: activates c, and reports the seconds.
origin_activates() {
	local began
	dd if="$HEARTH_TOP/build/bench-images/origin" of="$META" bs=1M oflag=direct status=none
	# dmsetup's files are read from the host before the measurement begins.
	command dmsetup version >/dev/null
	began=$(now)
	command dmsetup create --noudevsync c --table "0 $(sectors "$SLOW") cache \
		$META $FAST $SLOW 128 2 metadata2 writethrough $2"
	figure "origin-$1-seconds" "$(awk -v a="$began" -v b="$(now)" 'BEGIN { print b - a }')"
}

# origin_over DISK: with the check left out, and as it is by default
origin_over() {
	undisturbed origin_activates "$1-0" "default 2 origin_check 0"
	[ "$(counter c origin)" = unchecked ] || fail "something was compared"
	dmsetup remove c
	undisturbed origin_activates "$1-default" "default 0"
	[ "$(counter c origin)" = same ] || fail "nothing was compared"
	dmsetup remove c
}

bench_origin() {
	engine_is hearth || load_engine hearth
	device META 64 20000ns
	MEMORY_BACKED=0 device FAST 102400 20000ns
	MEMORY_BACKED=0 device SLOW 2097152 slow-disk
	origin_over 4ms
	disk 2097152
	SLOW=$DISK
	origin_over seeks
}
