# SPDX-License-Identifier: GPL-2.0
"""hearth-degraded, on real LVM metadata with a device taken away."""

import subprocess

import tree

SCRIPT = tree.TOP / "boot/hearth-degraded"


def degraded(vg, what):
    # The shell of the smallest initramfs.
    done = subprocess.run(
        ["busybox", "sh", SCRIPT, what], env=vg.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


def make(vg):
    vg.cached("root", "writethrough")
    vg.cached("home", "writeback")
    vg.cached("pass", "passthrough")
    # The other way round: with the SSD gone, this one's origin is.
    vg.cached("odd", "writethrough", origin="pv1", cache="pv0")
    vg.cached("oddback", "writeback", origin="pv1", cache="pv0")
    vg.cached("whole", "writethrough", cache="pv0")
    vg.plain("data")
    vg.plain("gone", "pv1")
    return vg.write()


def lose(vg, disk):
    vg.unplug(disk)


def test_nothing_is_missing(volumegroup):
    make(volumegroup)
    assert degraded(volumegroup, "list") == (0, "")
    assert degraded(volumegroup, "report") == (0, "")
    before = volumegroup.types()
    assert degraded(volumegroup, "fix")[0] == 1
    assert volumegroup.types() == before


def test_only_a_writethrough_volume_with_its_origin_is_listed(volumegroup):
    lose(make(volumegroup), "ssd")
    assert degraded(volumegroup, "list") == (0, "vg/root\n")


def test_fix_takes_the_cache_off_that_one_and_touches_no_other(volumegroup):
    lose(make(volumegroup), "ssd")
    code, out = degraded(volumegroup, "fix")
    assert code == 0, out
    assert volumegroup.types() == {
        "root": "linear",
        "home": "cache",
        "pass": "cache",
        "odd": "cache",
        "oddback": "cache",
        "whole": "cache",
        "data": "linear",
        "gone": "linear",
    }
    # Once is enough.
    assert degraded(volumegroup, "fix")[0] == 1


def test_report_names_the_command_for_each(volumegroup):
    lose(make(volumegroup), "ssd")
    code, out = degraded(volumegroup, "report")
    assert code == 0
    assert "lvm lvconvert -y --uncache vg/root &&" in out
    assert "lvm lvconvert -y --uncache --force vg/home" in out
    assert "only copy of what was written (writeback)" in out
    assert "lvm lvconvert -y --uncache --force vg/pass" in out
    for odd in ("vg/odd ", "vg/oddback "):
        lines = [line for line in out.splitlines() if odd in line + " "]
        assert len(lines) == 1 and "Do not use --uncache" in lines[0]
    assert "vg/whole" not in out


def test_the_origins_are_gone(volumegroup):
    lose(make(volumegroup), "disk")
    assert degraded(volumegroup, "list") == (0, "vg/odd\n")
    code, out = degraded(volumegroup, "report")
    assert "would remove the volume" in next(line for line in out.splitlines() if "vg/root" in line)


def test_why_a_missing_origin_must_not_be_uncached(volumegroup):
    """What lvm2 does then: if this ever changes, the script can be simpler."""
    lose(make(volumegroup), "ssd")
    volumegroup.lvm("lvconvert", "-y", "--uncache", "vg/odd")
    assert "odd" not in volumegroup.types()
