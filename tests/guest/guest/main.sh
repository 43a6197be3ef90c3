#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the guest: every test of DIR/tests in turn, each in a process of
# its own with a time limit, with the kernel's log read after each. Tells the
# host through DIR/events. Ends early, for a fresh guest, if a test cannot be
# cleaned up after.
set -uo pipefail
exec 3>&- 4>&- 5>&- </dev/null

dir=$1
engine=$2
here=$(dirname "$0")
export HEARTH_ENGINE=$engine
# shellcheck source=tests/guest/guest/lib.sh
. "$here/lib.sh"

event() {
	echo "$*" >>"$dir/events"
}

run_part() {
	local limit=$1
	shift
	timeout -k 10 "$limit" bash "$here/one.sh" "$@"
}

run_test() {
	local id=$1 suite=$2 limit=$3 log=$dir/logs/$1.log
	local began=$SECONDS code outcome=pass clean=0
	shift 3
	event start "$id"
	echo "hearth-test: $id" >/dev/kmsg
	rm -rf "$T" && mkdir -p "$T"
	run_part "$limit" run "$suite" "$@" >"$log" 2>&1
	code=$?
	case $code in
	0) ;;
	77) outcome=skip ;;
	124 | 137) outcome=fail && echo "FAILED: took longer than $limit s" >>"$log" ;;
	*) outcome=fail ;;
	esac
	[ $outcome = fail ] && state_of_devices >>"$log" 2>&1
	[ $outcome = skip ] && mv "$log" "$log.skip"
	run_part $((80 * HEARTH_SLOWER)) clean "$outcome" >>"$log" 2>&1 || clean=$?
	[ $clean = 0 ] || outcome=fail
	if ! dmesg_clean >>"$log" 2>&1; then outcome=fail; fi
	[ $outcome = skip ] && mv "$log.skip" "$log"
	event "done" "$id" $outcome $((SECONDS - began))
	[ $clean -lt 2 ]
}

guest_init || exit 1
event ready
while read -r -u 9 -a test; do
	run_test "${test[@]}" || break
done 9<"$dir/tests"
event end
