# SPDX-License-Identifier: GPL-2.0-only
"""hearth-degraded, on real LVM metadata with a device removed."""

import os
import re
import subprocess

import tree

SCRIPT = tree.TOP / "boot/hearth-degraded"


def degraded(vg, what):
    # The smallest initramfs has this shell.
    done = subprocess.run(
        ["busybox", "sh", SCRIPT, what], env=vg.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


def make(vg):
    vg.cached("root", "writethrough")
    vg.cached("home", "writeback")
    vg.cached("pass", "passthrough")
    # Here the devices are swapped, so the volume loses its origin with the SSD.
    vg.cached("odd", "writethrough", origin="pv1", cache="pv0")
    vg.cached("oddback", "writeback", origin="pv1", cache="pv0")
    vg.cached("whole", "writethrough", cache="pv0")
    vg.plain("data")
    vg.plain("gone", "pv1")
    return vg.write()


def lose(vg, disk):
    vg.unplug(disk)


def missing(vg):
    return int(vg.lvm("vgs", "--noheadings", "-o", "vg_missing_pv_count", vg.name).split()[-1])


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
    # Other volumes still need the SSD.
    assert missing(volumegroup) == 1
    # A second fix has nothing to do.
    assert degraded(volumegroup, "fix")[0] == 1


def test_fix_leaves_a_volume_group_that_misses_nothing(volumegroup):
    """LVM activates only a complete volume group by itself at the next boot."""
    volumegroup.cached("root", "writethrough")
    volumegroup.cached("home", "writethrough")
    lose(volumegroup.write(), "ssd")
    assert missing(volumegroup) == 1
    code, out = degraded(volumegroup, "fix")
    assert code == 0, out
    assert volumegroup.types() == {"root": "linear", "home": "linear"}
    assert missing(volumegroup) == 0


def test_report_names_the_command_for_each(volumegroup):
    lose(make(volumegroup), "ssd")
    code, out = degraded(volumegroup, "report")
    assert code == 0
    assert "lvm lvconvert -y --uncache vg/root &&" in out
    assert "--uncache vg/home" not in out and "--force vg/home" not in out
    assert "only copy of some data (writeback)" in out
    assert "lvm lvconvert -y --uncache --force vg/pass" in out
    for odd in ("vg/odd ", "vg/oddback "):
        lines = [line for line in out.splitlines() if odd in line + " "]
        assert len(lines) == 1 and "Do not use --uncache" in lines[0]
    assert "vg/whole" not in out


def test_what_the_report_says_works(volumegroup):
    lose(make(volumegroup), "ssd")
    for command in re.findall(r"^ +lvm (lvconvert .*) &&", degraded(volumegroup, "report")[1], re.M):
        volumegroup.lvm(*command.split())
    types = volumegroup.types()
    assert [types[name] for name in ("root", "pass")] == ["linear"] * 2
    assert [types[name] for name in ("home", "odd", "oddback", "whole")] == ["cache"] * 4


def test_another_device_in_place_of_a_lost_one(volumegroup):
    """The steps of hearth-root(7) for a writeback cache whose device is lost for good."""
    lose(make(volumegroup), "ssd")
    lost = volumegroup.lvm("pvs", "--noheadings", "-o", "pv_uuid", "-S", "pv_missing=1").split()[-1]
    (volumegroup.tmp / "ssd").write_bytes(b"")
    os.truncate(volumegroup.tmp / "ssd", 256 << 20)
    volumegroup.plug("ssd")
    volumegroup.configure()
    volumegroup.lvm("pvcreate", "--uuid", lost, "--norestorefile", volumegroup.loops["ssd"])
    # LVM has marked the device as missing only if another change was made without it.
    volumegroup.lvm("vgextend", "--restoremissing", "vg", volumegroup.loops["ssd"], check=False)
    assert degraded(volumegroup, "report") == (0, "")
    assert volumegroup.types()["home"] == "cache"


def test_the_origins_are_gone(volumegroup):
    lose(make(volumegroup), "disk")
    assert degraded(volumegroup, "list") == (0, "vg/odd\n")
    code, out = degraded(volumegroup, "report")
    assert "would remove the volume" in next(line for line in out.splitlines() if "vg/root" in line)


def test_why_a_missing_origin_must_not_be_uncached(volumegroup):
    """lvm2 removes such a volume. If this changes, the script can be simpler."""
    lose(make(volumegroup), "ssd")
    volumegroup.lvm("lvconvert", "-y", "--uncache", "vg/odd")
    assert "odd" not in volumegroup.types()
