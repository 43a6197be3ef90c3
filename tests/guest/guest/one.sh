#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs one test of a suite (run SUITE NAME [WORD...]), or cleans up after it (clean
# OUTCOME). Exit codes of clean: 1 means that the test left something wrong, 2 means
# that this guest cannot run further tests.
set -euo pipefail
exec 9>&-
# shellcheck source=tests/guest/guest/lib.sh
. "$(dirname "$0")/lib.sh"

case $1 in
run)
	# shellcheck disable=SC1090
	. "$2"
	PS4='+ ${SECONDS}s ${BASH_SOURCE##*/}:${LINENO}: '
	set -x
	"test_$3" "${@:4}"
	;;
clean)
	clean_up "$2"
	;;
esac
