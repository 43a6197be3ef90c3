#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs in the guest: main.sh OUT SECTION... Each section is the function bench_SECTION
# of SECTION.sh. OUT has its results, and OUT/SECTION.ok exists if the section came to
# its end.
set -uo pipefail
exec 3>&- 4>&- 5>&- </dev/null

export OUT=$1 HEARTH_ENGINE=hearth
shift
here=$(dirname "$0")
# shellcheck source=tests/guest/guest/lib.sh
. "$HEARTH_TOP/tests/guest/guest/lib.sh"
# shellcheck source=tests/bench/guest/lib.sh
. "$here/lib.sh"

guest_init || exit 1
export SECTION
for SECTION; do
	rm -rf "$T" && mkdir -p "$T"
	(
		set -e
		# shellcheck disable=SC1090
		. "$here/$SECTION.sh"
		"bench_$SECTION"
		touch "$OUT/$SECTION.ok"
	) >"$OUT/$SECTION.log" 2>&1
	(clean_up fail && remove_disk) >>"$OUT/$SECTION.log" 2>&1
done
dmesg >"$OUT/dmesg"
