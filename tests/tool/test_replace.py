# SPDX-License-Identifier: GPL-2.0-only
"""hearth replace-ssd: what becomes of the cache, and what of a run that ends early."""

import json
import re

import pytest

from fake import HERE

MIB = 1 << 20
OWN = ["message vg-lv read_level 2", "message vg-lv seq_cutoff 64"]
CREATE = (f"lvcreate -qq -y -n fast -L {32 * MIB}b --type cache-pool --chunksize 65536b "
          f"--poolmetadatasize {8 * MIB}b vg")
ATTACH = ("lvconvert -qq -y --type cache --cachepool vg/fast --cachemode writeback "
          "--cachepolicy smq --cachesettings a=1 --cachesettings b=2 vg/lv")


class Lvm:
    def __init__(self, dm):
        self.dm = dm
        for name in ("lvs", "pvs", "lvconvert", "lvcreate", "vgextend", "vgreduce", "vgs",
                     "pvcreate"):
            (dm.path / "bin" / name).symlink_to(HERE / "lvm-fake.py")
        self.new = dm.write("new", "")
        with self.new.open("wb") as f:
            f.truncate(100 * MIB)
        self.state = {
            "lvs": {
                "vg/lv": {"segtype": "cache", "pool_lv": "[fast_cpool]", "origin": "[lv_corig]",
                          "cache_mode": "writeback", "cache_policy": "smq",
                          "cache_settings": "a=1,b=2", "cache_metadata_format": 2},
                "vg/lv_corig": {"segtype": "linear", "lv_health_status": "", "devices": "/dev/disk(0)"},
                "vg/fast_cpool": {"segtype": "cache-pool", "lv_size": 32 * MIB,
                                  "lv_metadata_size": 8 * MIB, "chunk_size": 65536,
                                  "data_lv": "[fast_cpool_cdata]"},
                "vg/fast_cpool_cdata": {"devices": "/dev/old(0)"},
            },
            "pvs": {"/dev/old": {"vg_name": "vg", "pv_free": 0, "pv_used": 40 * MIB},
                    "/dev/new": {"vg_name": "vg", "pv_free": 100 * MIB, "pv_used": 0}},
        }
        self.save()

    def save(self, **kw):
        self.state.update(kw)
        self.dm.write("lvm.json", json.dumps(self.state))

    def load(self):
        self.state = json.loads((self.dm.path / "lvm.json").read_text())
        return self.state

    def cached_by(self):
        return self.load()["lvs"].get("vg/fast_cpool_cdata", {}).get("devices")

    def record(self):
        return (self.dm.path / "var/lib/hearth/replace-vg-lv").exists()


@pytest.fixture
def lvm(dm):
    dm.cache(dirty=0)
    return Lvm(dm)


def test_a_living_ssd(dm, lvm):
    r = dm.json("replace-ssd", "vg/lv", "/dev/new", schema="replace")
    assert r == {"name": "vg/lv", "complete": True, "from": "/dev/old", "to": "/dev/new",
                 "cache_bytes": 32 * MIB}
    assert dm.log() == ["lvconvert -qq --uncache -- vg/lv", "vgreduce -qq vg /dev/old",
                        f"{CREATE} /dev/new", ATTACH, *OWN]
    assert not lvm.record()


def test_a_mode_of_hearths_own_comes_back(dm, lvm):
    dm.cache(dirty=0, mode="writeonly")
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    assert "--cachemode writeback" in dm.log()[3]
    assert dm.log()[4:] == ["message vg-lv mode writeonly", *OWN]


def test_a_device_that_is_no_pv_yet(dm, lvm):
    del lvm.state["pvs"]["/dev/new"]
    lvm.save()
    assert "0 B is free" in dm.complaint(1, "replace-ssd", "vg/lv", "/dev/nothing")
    assert dm.log() == [] and not lvm.record()


@pytest.mark.parametrize("how", ["die", "die_after"])
@pytest.mark.parametrize("where", ["lvconvert", "vgreduce", "lvcreate"])
def test_killed_and_run_again(dm, lvm, how, where):
    lvm.save(**{how: where})
    dm.run("replace-ssd", "vg/lv", "/dev/new", code=-9)
    assert lvm.record()
    lvm.load()
    lvm.save(die=None, die_after=None)
    dm.cache(dirty=0)
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    assert lvm.cached_by() == "/dev/new(0)" and not lvm.record()
    assert [line.split()[0] for line in dm.log()].count("lvcreate") == 1
    assert dm.log()[-2:] == OWN and dm.log()[-3] == ATTACH


def test_killed_before_the_settings(dm, lvm):
    dm.write("refuse", "read_level 2")
    dm.run("replace-ssd", "vg/lv", "/dev/new", code=1)
    assert lvm.cached_by() == "/dev/new(0)" and lvm.record()
    (dm.path / "refuse").unlink()
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    assert dm.log()[-2:] == OWN and not lvm.record()


def test_refused_by_lvm_nothing_is_begun(dm, lvm):
    lvm.save(refuse=True)
    dm.run("replace-ssd", "vg/lv", "/dev/new", code=1)
    assert lvm.cached_by() == "/dev/old(0)" and not lvm.record()


def dead(lvm, mode):
    lvm.state["lvs"]["vg/lv"]["cache_mode"] = mode
    lvm.state["lvs"]["vg/fast_cpool_cdata"]["devices"] = "[unknown](0)"
    lvm.dm.names.clear()
    lvm.dm.write("names", "")
    lvm.save()


def test_a_dead_ssd_in_writethrough(dm, lvm):
    dead(lvm, "writethrough")
    dm.run("replace-ssd", "vg/lv", "/dev/new")
    assert dm.log()[:2] == ["lvconvert -qq -y --uncache -- vg/lv", "vgreduce -qq --removemissing vg"]
    assert lvm.cached_by() == "/dev/new(0)"


def test_a_dead_ssd_in_writeback(dm, lvm):
    dead(lvm, "writeback")
    why = dm.complaint(1, "replace-ssd", "vg/lv", "/dev/new")
    assert "only copy of what was written" in why and "--force" in why
    assert dm.log() == [] and not lvm.record()
    lvm.state["vgs"] = {"vg": {"vg_extent_size": 4 * MIB}}
    lvm.state["lvs"]["vg/fast_cpool_cmeta"] = {"devices": "[unknown](2)"}
    lvm.state["missing"] = "  abc-def|1048576"
    lvm.save()
    assert "must not be a physical volume" in dm.complaint(
        1, "replace-ssd", "--force", "vg/lv", "/dev/new")
    with lvm.new.open("r+b") as f:
        f.write(b"x" * (20 * MIB))
    dm.run("replace-ssd", "--force", "vg/lv", lvm.new)
    assert dm.log() == [f"pvcreate -qq --uuid abc-def --norestorefile {lvm.new}",
                        f"vgextend -qq --restoremissing vg {lvm.new}"]
    data = lvm.new.read_bytes()
    assert data[9 * MIB - 1:9 * MIB] == b"x" and data[10 * MIB:10 * MIB + 1] == b"x"
    assert data[9 * MIB:10 * MIB] == bytes(MIB)


def test_a_dead_ssd_of_an_active_volume(dm, lvm):
    dead(lvm, "writeback")
    dm.cache(dirty=17)
    for force in ([], ["--force"]):
        why = dm.complaint(1, "replace-ssd", *force, "vg/lv", "/dev/new")
        assert "17 blocks that are nowhere else" in why
        assert "'lvchange -an vg/lv'" in why and "--force" in why
    assert dm.log() == [] and not lvm.record()


def test_an_ssd_that_fails_but_answers(dm, lvm):
    dm.cache(dirty=5, health="cache-device-failed", rw="ro")
    assert "cannot all be written back" in dm.complaint(1, "replace-ssd", "vg/lv", "/dev/new")
    assert "disconnect it" in dm.complaint(1, "replace-ssd", "--force", "vg/lv", "/dev/new")
    assert dm.log() == [] and not lvm.record()


@pytest.mark.parametrize("change,why", [
    (("vg/lv_corig", "lv_health_status", "partial"), "volume itself"),
    (("vg/fast_cpool_cdata", "devices", "fast_cpool_cdata_rimage_0(0),x(0)"), "mirror"),
    (("vg/fast_cpool_cdata", "devices", "/dev/new(0)"), "already"),
    (("vg/fast_cpool", "lv_size", 120 * MIB), "100 MiB is free.*needs 128 MiB; --size")])
def test_refused(dm, lvm, change, why):
    lvm.state["lvs"][change[0]][change[1]] = change[2]
    lvm.save()
    complaint = dm.complaint(1, "replace-ssd", "vg/lv", "/dev/new")
    assert re.search(why, complaint), complaint
    assert dm.log() == [] and not lvm.record()


def test_a_smaller_one(dm, lvm):
    dm.out("replace-ssd", "--size", ".015625", "vg/lv", "/dev/new")
    create = next(line for line in dm.log() if line.startswith("lvcreate"))
    assert f"-L {16 * MIB}b" in create and "--poolmetadatasize" not in create


def test_not_cached(dm, lvm):
    lvm.state["lvs"]["vg/lv"] = {"segtype": "linear"}
    lvm.save()
    assert "not cached" in dm.complaint(3, "replace-ssd", "vg/lv", "/dev/new")
    dm.complaint(2, "replace-ssd", "lv", "/dev/new")
