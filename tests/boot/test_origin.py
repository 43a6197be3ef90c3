# SPDX-License-Identifier: GPL-2.0-only
"""hearth-origin, on a made-up command line, parameter and kernel log."""

import os
import subprocess

import pytest

import tree

SCRIPT = tree.TOP / "boot/hearth-origin"
LOG = """\
[ 4.1] device-mapper: cache: hearth: 512 blocks of 128 sectors, 9 resident, 4 dirty; memory 9 KiB, 27.75 bytes a block
[ 4.2] device-mapper: cache: vg-root: the origin was written without the cache, and 4 blocks are dirty: refused, until \
'hearth origin' says which is right; 3 of 32 blocks differ, the first is origin block 7
[ 4.3] device-mapper: cache: vg-home: the origin was written without the cache: starting with an empty cache; 3 of \
32 blocks differ, the first is origin block 7
"""


class Initramfs:
    """A directory that stands for /proc and /sys, with the commands of an initramfs."""

    def __init__(self, path):
        self.path = path
        self.parameter = path / "sys/module/dm_cache/parameters/keep"
        (path / "proc").mkdir()
        (path / "bin").mkdir()
        self.command("modprobe", f'mkdir -p "{self.parameter.parent}"; : >"{self.parameter}"')
        self.command("dmesg", f"cat <<'EOF'\n{LOG}EOF")
        self.boot("quiet root=/dev/vg/root")

    def command(self, name, script):
        file = self.path / "bin" / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def boot(self, line):
        (self.path / "proc/cmdline").write_text(line + "\n")

    def run(self, what, code=0):
        # Busybox's shell would run commands of its own in the place of those here.
        done = subprocess.run(
            ["dash", SCRIPT, what],
            env={
                "PATH": f"{self.path}/bin:{os.environ['PATH']}",
                "HEARTH_SYSFS": str(self.path / "sys"),
                "HEARTH_PROC": str(self.path / "proc"),
            },
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == code, done.stdout
        return done.stdout


@pytest.fixture
def initramfs(tmp_path):
    return Initramfs(tmp_path)


def test_the_smallest_shell_can_read_it():
    subprocess.run(["busybox", "sh", "-n", SCRIPT], check=True)


@pytest.mark.parametrize("line", ["quiet", "rd.hearth.origin quiet", "xrd.hearth.origin=cache", "rd.hearth.origin="])
def test_nothing_is_said(initramfs, line):
    initramfs.boot(line)
    assert initramfs.run("answer") == ""
    assert not initramfs.parameter.exists()


@pytest.mark.parametrize("answer", ["cache", "origin"])
def test_the_answer_holds_until_root_is_mounted(initramfs, answer):
    initramfs.boot(f"quiet rd.hearth.origin={answer} ro")
    assert initramfs.run("answer") == ""
    assert initramfs.parameter.read_text() == f"{answer}:*\n"
    assert initramfs.run("forget") == ""
    assert initramfs.parameter.read_text() == "\n"


def test_the_last_one_counts(initramfs):
    initramfs.boot("rd.hearth.origin=cache rd.hearth.origin=origin")
    initramfs.run("answer")
    assert initramfs.parameter.read_text() == "origin:*\n"


def test_neither(initramfs):
    initramfs.boot("rd.hearth.origin=ssd")
    assert "neither cache nor origin" in initramfs.run("answer", code=1)
    assert not initramfs.parameter.exists()


def test_the_kernels_own_target(initramfs):
    initramfs.command("modprobe", "exit 0")
    initramfs.boot("rd.hearth.origin=cache")
    assert "the kernel's own" in initramfs.run("answer", code=1)
    assert initramfs.run("forget") == ""


def test_another_answer_is_not_forgotten(initramfs):
    """An administrator may have written one in the emergency shell."""
    initramfs.boot("quiet")
    initramfs.parameter.parent.mkdir(parents=True)
    initramfs.parameter.write_text("cache:vg-root\n")
    initramfs.run("forget")
    assert initramfs.parameter.read_text() == "cache:vg-root\n"


def test_report_names_the_volume_that_was_refused(initramfs):
    out = initramfs.run("report")
    assert "the origin of vg-root was written without its cache" in out
    assert "vg-home" not in out
    assert "rd.hearth.origin=origin or rd.hearth.origin=cache" in out
    assert "echo origin:vg-root > " in out


def test_nothing_to_report(initramfs):
    initramfs.command("dmesg", "echo '[ 1.0] other'")
    assert initramfs.run("report") == ""


@pytest.mark.parametrize("state, removed", [("Suspended", True), ("Active", False)])
def test_the_device_of_a_refused_volume_is_removed(initramfs, state, removed):
    """It stays suspended, and blkid would hang in it. A volume that was activated since stays."""
    initramfs.command("dmsetup", f'echo "$@" >>"{initramfs.path}/asked"; [ "$1" = remove ] || echo {state}')
    assert initramfs.run("remove") == ""
    asked = (initramfs.path / "asked").read_text()
    assert ("remove vg-root" in asked) == removed
    assert "vg-home" not in asked


def test_the_device_of_a_refused_volume_is_gone(initramfs):
    initramfs.command("dmsetup", 'echo "$1" >&2; exit 1')
    assert initramfs.run("remove") == ""


def test_usage(initramfs):
    assert "usage" in initramfs.run("elsewhere", code=2)
