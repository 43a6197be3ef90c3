# SPDX-License-Identifier: GPL-2.0-only
"""tests/guest/guest/lib.sh: the wait for udev, with a fake udevadm; reports that are known."""

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

# The first wait ends as udevd ended one in a run of CI; PING is the exit code of the ping.
UDEVADM = """#!/bin/sh
echo "$1" >>"$CALLS"
[ "$1" = settle ] || exit "$PING"
[ "$(grep -c settle "$CALLS")" -gt 1 ] || { echo "Broken pipe" >&2; exit 1; }
"""


def settle(tmp_path, ping):
    """Calls udevadm settle as a guest test does; returns its end and the calls that it made."""
    program = tmp_path / "udevadm"
    program.write_text(UDEVADM)
    program.chmod(0o755)
    calls = tmp_path / "calls"
    env = dict(os.environ, HEARTH_TOP=str(TOP), HEARTH_PROGRAMS=str(tmp_path), CALLS=str(calls),
               PING=str(ping))
    script = ". tests/guest/guest/lib.sh; udevadm settle; echo settled"
    done = subprocess.run(["bash", "-euc", script], cwd=TOP, env=env, text=True,
                          capture_output=True, timeout=60, check=False)
    return done, calls.read_text().split()


def test_a_wait_that_udevd_cut_off_is_tried_again(tmp_path):
    done, calls = settle(tmp_path, ping=0)
    assert done.returncode == 0
    assert done.stdout == "settled\n"
    assert calls == ["settle", "control", "settle"]


@pytest.mark.parametrize("ping", [1, 2])
def test_a_udevd_that_is_gone_is_named(tmp_path, ping):
    done, calls = settle(tmp_path, ping)
    assert done.returncode == 1
    assert "FAILED: udevd is gone" in done.stderr
    assert calls == ["settle", "control"]


# A report of lockdep's ends with its call trace; one of KASAN's has more lines after it.
KNOWN = """[    2.0] ======================
[    2.0] WARNING: possible circular locking dependency detected
[    2.1]        nvmet_tcp_release_queue_work+0x305/0x1060 [nvmet_tcp]
[    2.2]  </TASK>
"""
UNKNOWN = """[    3.0] ======================
[    3.0] BUG: KASAN: use-after-free in cache_map
[    3.2]  </TASK>
[    3.3] Allocated by task 1:
[    3.4] ======================
"""
NEWS = "[    1.0] nvme nvme0: Removing ctrl\n"


@pytest.mark.parametrize("log, left", [
    (NEWS, NEWS),
    (NEWS + KNOWN + NEWS, NEWS + NEWS),
    (UNKNOWN + KNOWN + UNKNOWN, UNKNOWN + UNKNOWN),
    (KNOWN + UNKNOWN, UNKNOWN),
    (UNKNOWN.replace("[    3.2]  </TASK>\n", "") + NEWS, None),
])
def test_a_known_report_is_left_out(tmp_path, log, left):
    script = """. tests/guest/guest/lib.sh
        T=$1; [ -z "$2" ] || dmesg_known "$2"; without_known_reports"""
    env = dict(os.environ, HEARTH_TOP=str(TOP), HEARTH_PROGRAMS="")

    def filtered(known):
        return subprocess.run(["bash", "-euc", script, "-", str(tmp_path), known], cwd=TOP, env=env,
                              text=True, input=log, capture_output=True, timeout=60,
                              check=True).stdout

    assert filtered("") == log
    assert filtered("another") == log
    # Both names are known from here on.
    assert filtered("nvmet_tcp_release_queue_work") == (log if left is None else left)
