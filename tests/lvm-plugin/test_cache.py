# SPDX-License-Identifier: GPL-2.0-only
"""hearth cache: the commands, their order, and runs that end early."""

import pytest

from test_replace import MIB, Lvm

GIB = 1 << 30
METADATA = 8 * MIB
ATTACH = "lvconvert -qq -y --type cache --cachepool vg/lv_cache --cachemode writethrough vg/lv"


def create(size, block=65536, metadata=METADATA):
    return (f"lvcreate -qq -y -n lv_cache -L {size}b --type cache-pool --chunksize {block}b "
            f"--poolmetadatasize {metadata}b vg /dev/new")


@pytest.fixture
def lvm(dm):
    """vg/lv is a plain volume on /dev/disk, and /dev/new a bare SSD of 101 MiB."""
    dm.cache(dirty=0, mode="writethrough", features="2 metadata2 writethrough")
    lvm = Lvm(dm)
    (dm.path / "bin/lvchange").symlink_to((dm.path / "bin/lvs").resolve())
    lvm.state["lvs"] = {"vg/lv": {"segtype": "linear", "lv_active": "active", "devices": "/dev/disk(0)"}}
    lvm.state["vgs"] = {"vg": {"vg_extent_size": 4 * MIB}}
    lvm.no_pv()
    return lvm


def test_all_of_a_bare_ssd(dm, lvm):
    r = dm.json("cache", "vg/lv", "/dev/new", schema="cache")
    # 101 MiB, of which LVM keeps one, the metadata takes 8, and its spare as much.
    assert r == {"name": "vg/lv", "complete": True, "device": "/dev/new",
                 "cache_bytes": 84 * MIB, "block_bytes": 65536, "metadata_bytes": METADATA}
    assert dm.log() == ["vgextend -qq vg /dev/new", create(84 * MIB), ATTACH]


def test_what_is_given(dm, lvm):
    dm.cache(listing=2, dirty=0, mode="writeonly")
    said = dm.run("cache", "vg/lv", "/dev/new", "--size", .03125, "--blocksize", 128, "--mode", "writeonly")
    assert "warning: blocks will be dirty on a cache device that is not mirrored" in said.stderr
    assert said.stdout == ("vg/lv: cached by 32 MiB on /dev/new, in blocks of 128 KiB, with 8 MiB of metadata, "
                           "in writeonly\n")
    assert dm.log()[:3] == ["vgextend -qq vg /dev/new", create(32 * MIB, 131072), ATTACH]
    assert dm.log()[3:] == ["lvchange -qq -y --cachemode writeback -- vg/lv", "message vg-lv mode writeonly"]


def test_writeback_comes_with_the_write_log(dm, lvm):
    settings = "6 read_level 2 seq_cutoff 64 absorb {}".format
    dm.cache(dirty=0, mode="writethrough", features="2 metadata2 writethrough", settings=settings(0))
    dm.cache(listing=2, dirty=0, mode="writeback", settings=settings(1))
    said = dm.run("cache", "vg/lv", "/dev/new", "--size", .03125, "--mode", "writeback")
    assert "'hearth set vg/lv absorb=off' ends that" in said.stderr
    assert dm.log()[3:] == ["message vg-lv absorb 1", "lvchange -qq -y --cachemode writeback -- vg/lv"]


def test_dry_run(dm, lvm):
    lvm.devices(("/dev/disk", "8:0", 200), ("/dev/new", "8:32", 200 << 10))
    said = dm.out("cache", "vg/lv", "/dev/new", "--size", 100, "--mode", "writeback", "--preset", "database",
                  "--dry-run").splitlines()
    # More than a million blocks of 64 KiB are too many for LVM.
    metadata = -(-(4 * MIB + 44 * 100 * GIB // 131072) // (4 * MIB)) * 4 * MIB
    assert said == ["vgextend -qq vg /dev/new", create(100 * GIB, 131072, metadata), ATTACH,
                    "hearth set --preset database vg/lv mode=writeback"]
    assert dm.log() == []


def test_the_old_name_of_blocksize(dm, lvm):
    said = [dm.out("cache", "vg/lv", "/dev/new", name, 128, "--dry-run") for name in ("--block", "--blocksize")]
    assert said[0] == said[1] and "--chunksize 131072b" in said[0]


@pytest.mark.parametrize("step, left", [("vgextend", 3), ("lvcreate", 2), ("lvconvert", 1)])
@pytest.mark.parametrize("how", ["refuse", "die", "die_after"])
def test_the_same_command_goes_on(dm, lvm, step, left, how):
    """Each step fails, or hearth is killed before or after it; the second run does what is left."""
    dm.cache(listing=2, dirty=0, mode="writearound", features="2 metadata2 writethrough")
    lvm.save(**{how: step})
    args = ("cache", "vg/lv", "/dev/new", "--size", .03125, "--mode", "writearound")
    assert dm.run(*args, code=None).returncode != 0
    done = len(dm.log())
    lvm.load()
    lvm.state.pop(how)
    lvm.save()
    dm.out(*args)
    steps = [line.split()[0] for line in dm.log()]
    assert steps[:3] == ["vgextend", "lvcreate", "lvconvert"] and steps.count(step) == 1
    assert len(steps) - done >= left - (how == "die_after")
    assert dm.log()[-1] == "message vg-lv mode writearound"


def test_another_device_than_before(dm, lvm):
    lvm.save(refuse="lvconvert")
    dm.run("cache", "vg/lv", "/dev/new", code=1)
    lvm.load()["pvs"]["/dev/old"] = {"vg_name": "vg", "pv_free": 100 * MIB, "pv_used": 0}
    lvm.save(refuse="none")
    assert "made vg/lv_cache on /dev/new; name that device" in dm.complaint(1, "cache", "vg/lv", "/dev/old")
    dm.out("cache", "vg/lv", "/dev/new")
    assert dm.log()[-1] == ATTACH


def test_refused(dm, lvm):
    assert "no such volume" in dm.complaint(3, "cache", "vg/none", "/dev/new")
    assert "must be VG/LV" in dm.complaint(2, "cache", "lv", "/dev/new")
    assert "_cache_cpool_cdata" in dm.complaint(2, "cache", "vg/" + 107 * "l", "/dev/new")
    assert "no such volume" in dm.complaint(3, "cache", "vg/" + 106 * "l", "/dev/new")
    assert "no mode 'fast'" in dm.complaint(2, "cache", "vg/lv", "/dev/new", "--mode", "fast")
    assert "No such file" in dm.complaint(1, "cache", "vg/lv", "/dev/nosuch")
    assert "the volume itself is on this disk" in dm.complaint(1, "cache", "vg/lv", "/dev/disk")
    assert "multiple of 32" in dm.complaint(2, "cache", "vg/lv", "/dev/new", "--blocksize", 33)
    assert "more than LVM's million" in dm.complaint(2, "cache", "vg/lv", "/dev/new", "--size", 100, "--blocksize", 64)
    assert "the cache needs" in dm.complaint(1, "cache", "vg/lv", "/dev/new", "--size", 1)
    dm.write("sys/dev/block/8:32/queue/rotational", "1\n")
    assert "rotating" in dm.complaint(1, "cache", "vg/lv", "/dev/new")
    dm.write("sys/dev/block/8:32/queue/rotational", "0\n")
    lvm.save(signatures={"/dev/new": "ext4"})
    assert "it holds something already (ext4)" in dm.complaint(1, "cache", "vg/lv", "/dev/new")
    assert dm.log() == []


def test_a_volume_that_is_cached(dm, lvm):
    dm.out("cache", "vg/lv", "/dev/new")
    done = dm.log()
    # The command has done its work already.
    assert dm.out("cache", "vg/lv", "/dev/new") == "vg/lv: it is cached already, by vg/lv_cache on /dev/new\n"
    assert dm.json("cache", "vg/lv", "/dev/new", schema="cache")["cache_bytes"] == 84 * MIB
    lvm.load()["pvs"]["/dev/old"] = {"vg_name": "vg", "pv_free": 100 * MIB, "pv_used": 0}
    lvm.save()
    assert "cached already, by vg/lv_cache" in dm.complaint(1, "cache", "vg/lv", "/dev/old")
    assert dm.log() == done


def test_lvm_is_asked_once_what_there_is(dm, lvm):
    (dm.path / "real").mkdir()
    (dm.path / "bin/lvs").rename(dm.path / "real/lvs")
    dm.command("lvs", f'echo "$*" >>"{dm.path}/asked"; exec "{dm.path}/real/lvs" "$@"')
    for _ in "made", "cached already":
        (dm.path / "asked").unlink(missing_ok=True)
        dm.out("cache", "vg/lv", "/dev/new")
        asked = (dm.path / "asked").read_text().splitlines()
        assert len([line for line in asked if "segtype" in line]) == 1, asked
    assert len(asked) == 1


@pytest.mark.parametrize("size", [[], ["--size", ".0625"]])
def test_the_lvcreate_of_a_killed_run_ends_meanwhile(dm, lvm, size):
    """The first look at the volumes does not show the pool, and then there is no room for another."""
    lvm.save(refuse="lvconvert")
    dm.run("cache", "vg/lv", "/dev/new", *size, code=1)
    lvm.load()["pvs"]["/dev/new"]["pv_free"] = 0
    lvm.save(refuse="none")
    (dm.path / "real").mkdir()
    (dm.path / "bin/lvs").rename(dm.path / "real/lvs")
    dm.command("lvs", f"""case "$*" in *segtype*) ;; *) exec "{dm.path}/real/lvs" "$@";; esac
"{dm.path}/real/lvs" "$@" |
    if [ -e "{dm.path}/looked" ]; then cat; else touch "{dm.path}/looked"; grep -v lv_cache; fi""")
    dm.out("cache", "vg/lv", "/dev/new", *size)
    assert dm.log()[-1] == ATTACH and (dm.path / "looked").exists()


def test_what_a_killed_lvcreate_left(dm, lvm):
    lvm.state["lvs"]["vg/lv_cache"] = {"segtype": "linear", "devices": "/dev/new(0)"}
    lvm.save()
    assert "if an interrupted run left it: 'lvremove vg/lv_cache'" in dm.complaint(1, "cache", "vg/lv", "/dev/new")
    assert dm.log() == []
