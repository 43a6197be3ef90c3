#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs inside the guest. It runs every test of DIR/tests in turn, each in a process of
# its own with a time limit, and reads the kernel's log after each. The host appends
# lines to DIR/tests until it appends "end". The results go to DIR/events. The guest
# ends early, so that the host starts a fresh one, in two cases: cleaning up after a
# test failed, or the kernel has reported a mistake. The kernel may check less from then
# on (lockdep stops checking).
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

# Each write to the host's directory is a round trip, and a test's trace has thousands
# of lines. Therefore the trace goes to this file, which is copied to the host now and
# then, in case the guest dies.
log=/run/test.log

carry_log() {
	while sleep 5; do
		cp $log "$1"
	done
}

run_test() {
	local id=$1 suite=$2 limit=$3 carrier
	local began=$SECONDS code outcome=pass clean=0 usable=true
	shift 3
	event start "$id"
	# hearth doctor would find what an earlier test has provoked
	dmesg --clear
	echo "hearth-test: $id" >/dev/kmsg
	rm -rf "$T" && mkdir -p "$T"
	: >$log
	carry_log "$dir/logs/$id.log" &
	carrier=$!
	run_part "$limit" run "$suite" "$@" >$log 2>&1
	code=$?
	case $code in
	0) ;;
	77) outcome=skip ;;
	124 | 137) outcome=fail && echo "FAILED: took longer than $limit s" >>$log ;;
	*) outcome=fail ;;
	esac
	[ $outcome = fail ] && state_of_devices >>$log 2>&1
	[ $outcome = skip ] && cp $log $log.skip
	run_part $((80 * HEARTH_SLOWER)) clean "$outcome" >>$log 2>&1 || clean=$?
	[ $clean = 0 ] || outcome=fail
	[ $clean -lt 2 ] || usable=false
	dmesg_clean >>$log 2>&1 || outcome=fail usable=false
	[ $outcome = skip ] && cp $log.skip $log
	kill $carrier
	wait $carrier 2>/dev/null
	cp $log "$dir/logs/$id.log"
	event "done" "$id" $outcome $((SECONDS - began))
	$usable
}

# Reads the next line of DIR/tests, once the host has written it to its end.
next_test() {
	local piece line=
	until IFS= read -r -u 9 piece; do
		line+=$piece
		sleep 0.1
	done
	line+=$piece
	read -ra test <<<"$line"
	[ "$line" != end ]
}

guest_init || exit 1
event ready
while next_test; do
	run_test "${test[@]}" || break
done 9<"$dir/tests"
event end
