# SPDX-License-Identifier: GPL-2.0-only
"""hearth-leave, which the packages run before they are removed: what keeps them, and what does not."""

import subprocess
from pathlib import Path

import pytest

LEAVE = Path(__file__).parents[2] / "lvm-plugin/hearth-leave"


@pytest.fixture
def machine(dm):
    """The process 1 has the same root; hearth exits as the file "code" says."""
    dm.command("stat", "echo 1:2")
    dm.command("hearth", 'echo "$*" >>"$HEARTH_FAKE/log"; echo "vg/lv is not active" >&2\n'
               'exit $(cat "$HEARTH_FAKE/code")')
    return dm


def leave(dm, code, **env):
    dm.write("code", f"{code}\n")
    return subprocess.run([LEAVE], env=dm.environment(**env), text=True, capture_output=True, check=False)


def test_all_is_settled(machine):
    assert leave(machine, 0).returncode == 0
    assert machine.log() == ["settle --all"]


@pytest.mark.parametrize("code, why", [(1, "the volumes named above"), (130, "interrupted")])
def test_the_package_stays(machine, code, why):
    r = leave(machine, code)
    assert r.returncode == 1 and r.stderr.startswith("vg/lv is not active\n")
    assert why in r.stderr and "HEARTH_FORCE_REMOVE=1" in r.stderr


@pytest.mark.parametrize("code", [2, 4, 127])
def test_a_broken_package_can_be_removed(machine, code):
    """A usage error of another version, no device-mapper to be had, no command."""
    assert leave(machine, code).returncode == 0


def test_force(machine):
    assert leave(machine, 1, HEARTH_FORCE_REMOVE="1").returncode == 0
    assert machine.log() == []
    assert leave(machine, 1, HEARTH_FORCE_REMOVE="").returncode == 1


@pytest.mark.parametrize("other", ['[ "$4" = / ] && echo 1:2 || echo 1:3', '[ "$4" = / ] && echo 1:2 || exit 1'])
def test_in_a_chroot_nothing_is_settled(machine, other):
    machine.command("stat", other)
    assert leave(machine, 1).returncode == 0
    assert machine.log() == []
