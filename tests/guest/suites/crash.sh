# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Power cuts: recordings that are replayed to many instants (tests/crash).

# What crashtest needs: the disks, no udev (which looks at every new table),
# checkers, and a way to change engines. Undone when the test ends.
crash_ready() {
	udevadm settle
	udevadm control --exit
	trap crash_over EXIT
	[ -e /dev/crashdisk ] || insmod "$TOP/build/tools/crashdisk-$(uname -r).ko"
	cp "$TOP/build/tools/crashtest" "$T/"
	echo ". $TOP/tests/guest/guest/lib.sh && load_engine \"\$1\"" >"$T/engine"
	export CRASH_ENGINE="bash $T/engine"
	export CRASH_TOOLS=/usr/sbin
	[ ! -d "$TOP/build/trixie/bin" ] || CRASH_TOOLS+=" $TOP/build/trixie/bin"
	CRASH_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
	export CRASH_DIR
	cd "$T" || exit
}

crash_over() {
	set +e
	rmmod crashdisk
	/lib/systemd/systemd-udevd --daemon
}

# cuts SEED ROUNDS CUTS LOOKS STOCK: crashtest's arguments; the seed is added
# to the run's own.
cuts() {
	local seed=$((${HEARTH_SEED:-1} * 1000 + $1))
	shift
	crash_ready
	./crashtest "$seed" "$@"
}

# Eight seeds in a row go through all scripts of recordings.
#@ hearth-only fast timeout=60 on=0..7
test_cuts() {
	cuts "$1" 1 19 60 0
}

#@ hearth-only fast timeout=60
test_cuts_opened_by_stock() {
	cuts 100 1 4 40 3
}

#@ hearth-only timeout=300 slow=200..239
test_many_cuts() {
	cuts "$1" 1 50 200 3
}
