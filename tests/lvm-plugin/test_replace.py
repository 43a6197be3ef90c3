# SPDX-License-Identifier: GPL-2.0-only
"""hearth replace-ssd: the state of the cache after a whole run, and after one that ends early."""

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
                     "pvcreate", "wipefs"):
            (dm.path / "bin" / name).symlink_to(HERE / "lvm-fake.py")
        self.new = dm.write("new", "")
        with self.new.open("wb") as f:
            f.truncate(100 * MIB)
        self.devices(("/dev/disk", "8:0", 200), ("/dev/old", "8:16", 100), ("/dev/new", "8:32", 101),
                     (self.new.resolve(), "8:48", 100))
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

    def devices(self, *devices):
        """Takes block devices: path, number, size in MiB, and "busy" if a program has claimed it."""
        self.dm.write("devices", "".join(
            f"{path} {number} {mib * MIB} {' '.join(busy)}\n" for path, number, mib, *busy in devices))

    def no_pv(self, device="/dev/new"):
        del self.state["pvs"][device]
        self.save()

    def cached_by(self):
        return self.load()["lvs"].get("vg/fast_cpool_cdata", {}).get("devices")

    def record(self):
        return (self.dm.path / "var/lib/hearth/replace-vg:lv").exists()


@pytest.fixture
def lvm(dm):
    dm.cache(dirty=0)
    return Lvm(dm)


def refused(dm, *args, code=1):
    """Checks that it refuses and says what the volume is now; returns the line with the reason."""
    lines = dm.run("replace-ssd", *args, code=code).stderr.splitlines()
    assert len(lines) == 2 and all(line.startswith("hearth: ") for line in lines), lines
    assert "vg/lv: its cache is as it was, on " in lines[1], lines
    return lines[0]


AS_IT_WAS = "hearth: vg/lv: its cache is as it was, on /dev/old, in writeback"


def test_a_living_ssd(dm, lvm):
    r = dm.json("replace-ssd", "vg/lv", "/dev/new", schema="replace")
    assert r == {"name": "vg/lv", "complete": True, "from": "/dev/old", "to": "/dev/new",
                 "cache_bytes": 32 * MIB}
    assert dm.log() == ["lvconvert -qq --uncache -- vg/lv", f"{CREATE} /dev/new", ATTACH,
                        "vgreduce -qq vg /dev/old", *OWN]
    assert not lvm.record()


def test_a_mode_of_hearths_own_comes_back(dm, lvm):
    dm.cache(dirty=0, mode="writeonly")
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    assert "--cachemode writeback" in dm.log()[2]
    assert dm.log()[4:] == [*OWN, "message vg-lv mode writeonly"]


def test_every_setting_of_the_target_comes_back(dm, lvm):
    settings = {f"a_setting_of_the_target_{i}": 1000000 + i for i in range(40)}
    dm.cache(dirty=0, settings=f"{2 * len(settings)} " + " ".join(f"{k} {v}" for k, v in settings.items()))
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    assert dm.log()[4:] == [f"message vg-lv {k} {v}" for k, v in settings.items()]


def test_a_device_that_is_no_pv_yet(dm, lvm):
    lvm.no_pv()
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    assert dm.log()[:2] == ["vgextend -qq vg /dev/new", "lvconvert -qq --uncache -- vg/lv"]
    assert lvm.cached_by() == "/dev/new(0)"


def test_the_group_does_not_take_it(dm, lvm):
    lvm.no_pv()
    lvm.save(refuse="vgextend")
    r = dm.run("replace-ssd", "vg/lv", "/dev/new", code=1)
    assert r.stderr.splitlines() == ["  vgextend refuses", AS_IT_WAS]
    assert dm.log() == [] and not lvm.record()


def test_too_small_once_lvm_has_it(dm, lvm):
    lvm.no_pv()
    lvm.save(extended=39 * MIB)
    lines = dm.run("replace-ssd", "vg/lv", "/dev/new", code=1).stderr.splitlines()
    assert "39 MiB is free" in lines[0] and "needs 40 MiB" in lines[0]
    assert lines[1] == AS_IT_WAS + "; /dev/new is in the volume group"
    assert dm.log() == ["vgextend -qq vg /dev/new"] and not lvm.record()


def test_a_device_with_something_on_it(dm, lvm):
    lvm.no_pv()
    lvm.save(signatures={"/dev/new": "ext4\n"})
    why = refused(dm, "vg/lv", "/dev/new")
    assert "holds something already (ext4)" in why and "wipefs -a /dev/new" in why
    refused(dm, "--force", "vg/lv", "/dev/new")
    assert dm.log() == [] and not lvm.record()


def test_a_device_in_use(dm, lvm):
    lvm.no_pv()
    lvm.devices(("/dev/old", "8:16", 100), ("/dev/new", "8:32", 100, "busy"))
    assert "it is in use" in refused(dm, "vg/lv", "/dev/new")
    assert "it is in use" in refused(dm, "--force", "vg/lv", "/dev/new")
    assert dm.log() == [] and not lvm.record()


def test_a_device_of_another_group(dm, lvm):
    lvm.state["pvs"]["/dev/new"]["vg_name"] = "other"
    lvm.save()
    assert "belongs to the volume group other" in refused(dm, "vg/lv", "/dev/new")
    assert dm.log() == [] and not lvm.record()


def test_no_device(dm, lvm):
    assert refused(dm, "vg/lv", "/dev/nosuch") == "hearth: /dev/nosuch: No such file or directory"
    assert dm.log() == [] and not lvm.record()


def test_all_settings_of_lvms_come_back(dm, lvm):
    """LVM's list of them may be longer than a name."""
    settings = [f"a_setting_that_lvm_keeps_{i}={1000000 + i}" for i in range(48)]
    lvm.state["lvs"]["vg/lv"]["cache_settings"] = ",".join(settings)
    lvm.save()
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    attach = next(line for line in dm.log() if "--cachepool" in line)
    assert re.findall(r"--cachesettings (\S+)", attach) == settings


def test_more_settings_than_the_description_takes(dm, lvm):
    lvm.state["lvs"]["vg/lv"]["cache_settings"] = ",".join(f"setting_{i}=1" for i in range(65))
    lvm.save()
    complaint = dm.complaint(1, "replace-ssd", "vg/lv", "/dev/new")
    assert "more than 64 settings" in complaint and "nothing was changed" in complaint
    assert dm.log() == [] and not lvm.record()


@pytest.mark.parametrize("how", ["disk", "partition", "by LVM's word", "a later segment", "a mirror's later segment"])
def test_the_disk_that_the_volume_is_on(dm, lvm, how):
    """The origin 253:3 is on the disk 8:0 or on a partition of it."""
    slave = "8:1" if how == "partition" else "8:0"
    if how == "by LVM's word":
        dm.names.clear()
        dm.write("names", "")
        lvm.state["lvs"]["vg/lv_corig"]["devices"] = "lv_corig_rimage_0(0),lv_corig_rimage_1(0)"
        lvm.state["lvs"]["vg/lv_corig_rimage_0"] = {"devices": "/dev/another(0)"}
        lvm.state["lvs"]["vg/lv_corig_rimage_1"] = {"devices": "/dev/disk(7)"}
    elif "segment" in how:
        dm.names.clear()
        dm.write("names", "")
        lvm.state["lvs"]["vg/lv_corig"]["devices"] = segments = ["/dev/another(0)", "/dev/another(9)", "/dev/disk(7)"]
        if "mirror" in how:
            lvm.state["lvs"]["vg/lv_corig"]["devices"] = "[lv_corig_rimage_0](0),[lv_corig_rimage_1](0)"
            lvm.state["lvs"]["vg/lv_corig_rimage_0"] = {"devices": "/dev/third(0)"}
            lvm.state["lvs"]["vg/lv_corig_rimage_1"] = {"devices": segments}
    else:
        dm.write("sys/dev/block/253:3/slaves/below/dev", slave + "\n")
    if how == "partition":
        # The entries of /sys/dev/block are links into the tree of disks.
        dm.write("sys/devices/sda/dev", "8:0\n")
        dm.write("sys/devices/sda/sda1/partition", "1\n")
        (dm.path / "sys/dev/block/8:1").symlink_to("../../devices/sda/sda1")
        (dm.path / "sys/dev/block/8:0").symlink_to("../../devices/sda")
    lvm.state["pvs"]["/dev/disk"] = {"vg_name": "vg", "pv_free": 100 * MIB, "pv_used": 0}
    lvm.save()
    assert "the volume itself is on this disk" in refused(dm, "vg/lv", "/dev/disk")
    assert dm.log() == [] and not lvm.record()
    dm.out("replace-ssd", "--force", "vg/lv", "/dev/disk")
    assert lvm.cached_by() == "/dev/disk(0)"


def test_a_rotating_disk(dm, lvm):
    dm.write("sys/dev/block/8:32/queue/rotational", "1\n")
    assert "rotating disk" in refused(dm, "vg/lv", "/dev/new")
    assert dm.log() == [] and not lvm.record()
    dm.out("replace-ssd", "--force", "vg/lv", "/dev/new")
    assert lvm.cached_by() == "/dev/new(0)"


def test_other_names_of_a_device(dm, lvm):
    lvm.devices(("/dev/old", "8:16", 100), ("/dev/disk/by-id/old", "8:16", 100),
                ("/dev/new", "8:32", 100), ("/dev/disk/by-id/new", "8:32", 100))
    lvm.save(aliases={"/dev/disk/by-id/new": "/dev/new", "/dev/disk/by-id/old": "/dev/old"})
    already = "hearth: vg/lv: its cache is on that device already"
    assert dm.complaint(1, "replace-ssd", "vg/lv", "/dev/disk/by-id/old").strip() == already
    assert dm.log() == []
    dm.out("replace-ssd", "vg/lv", "/dev/disk/by-id/new")
    assert lvm.cached_by() == "/dev/new(0)"
    done = dm.log()
    for name in "/dev/new", "/dev/disk/by-id/new":
        assert dm.complaint(1, "replace-ssd", "vg/lv", name).strip() == already
    assert dm.log() == done and not lvm.record()


def test_a_volume_has_the_name(dm, lvm):
    """hearth refuses if a volume has the new cache's name, because LVM would wipe that volume."""
    lvm.state["lvs"]["vg/fast"] = {"segtype": "linear"}
    lvm.save()
    assert "a volume fast" in refused(dm, "vg/lv", "/dev/new")
    assert dm.log() == [] and not lvm.record()


@pytest.mark.parametrize("where,state", [
    ("lvcreate", "it is not cached now; the same command goes on from here"),
    ("lvconvert --cachepool", "it is not cached now; the same command goes on from here"),
    ("vgreduce", None)])
def test_what_it_is_after_a_failure(dm, lvm, where, state):
    lvm.save(refuse=where)
    r = dm.run("replace-ssd", "vg/lv", "/dev/new", code=1 if state else 0)
    said = r.stderr.splitlines()
    assert said[0] == f"  {where.split()[0]} refuses"
    if state:
        assert said[1:] == [f"hearth: vg/lv: {state}"]
        lvm.load()
        lvm.save(refuse=None)
        dm.out("replace-ssd", "vg/lv", "/dev/new")
    else:
        assert said[1:] == ["hearth: note: /dev/old stays in the volume group vg"]
    assert lvm.cached_by() == "/dev/new(0)" and not lvm.record()


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
    assert dm.log()[-2:] == OWN and dm.log()[-3] == "vgreduce -qq vg /dev/old"
    assert ATTACH in dm.log() and "/dev/old" not in [
        name for name, pv in lvm.state["pvs"].items() if pv["vg_name"]]


def test_killed_before_the_settings(dm, lvm):
    dm.write("refuse", "read_level 2")
    r = dm.run("replace-ssd", "vg/lv", "/dev/new", code=1)
    assert "it is cached by /dev/new now, in writeback; the same command" in r.stderr
    assert lvm.cached_by() == "/dev/new(0)" and lvm.record()
    (dm.path / "refuse").unlink()
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    assert dm.log()[-2:] == OWN and not lvm.record()


def test_refused_by_lvm_nothing_is_begun(dm, lvm):
    lvm.save(refuse="lvconvert")
    r = dm.run("replace-ssd", "vg/lv", "/dev/new", code=1)
    assert r.stderr.splitlines() == ["  lvconvert refuses",
                                     AS_IT_WAS + "; /dev/new is in the volume group"]
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


def test_a_dead_ssd_and_a_device_that_lvm_does_not_take(dm, lvm):
    """A group with a missing device takes no new one, so hearth runs pvcreate before anything else."""
    dead(lvm, "writethrough")
    lvm.no_pv()
    lvm.save(refuse="pvcreate")
    r = dm.run("replace-ssd", "vg/lv", "/dev/new", code=1)
    assert "its cache is as it was, on a device that is missing" in r.stderr
    assert dm.log() == []
    lvm.save(refuse=None)
    dm.run("replace-ssd", "vg/lv", "/dev/new")
    assert [line.split()[0] for line in dm.log()[:4]] == ["pvcreate", "lvconvert", "vgreduce", "vgextend"]
    assert lvm.cached_by() == "/dev/new(0)"


def test_a_dead_ssd_in_writeback(dm, lvm):
    dead(lvm, "writeback")
    why = refused(dm, "vg/lv", "/dev/new")
    assert "only copy of some data" in why and "--force" in why
    assert dm.log() == [] and not lvm.record()
    lvm.state["vgs"] = {"vg": {"vg_extent_size": 4 * MIB}}
    lvm.state["lvs"]["vg/fast_cpool_cmeta"] = {"devices": "[unknown](2)"}
    lvm.state["missing"] = f"  abc-def|{MIB}|{100 * MIB}"
    lvm.save()
    assert "must not be a physical volume" in refused(
        dm, "--force", "vg/lv", "/dev/new")
    assert "has 100 MiB, and must be as large as the missing device, which has 101 MiB" in refused(
        dm, "--force", "vg/lv", lvm.new)
    lvm.save(missing=f"  abc-def|{MIB}|{99 * MIB}")
    with lvm.new.open("r+b") as f:
        f.write(b"x" * (20 * MIB))
    dm.run("replace-ssd", "--force", "vg/lv", lvm.new)
    assert dm.log() == [f"pvcreate -qq --uuid abc-def --norestorefile {lvm.new}",
                        f"vgextend -qq --restoremissing vg {lvm.new}"]
    data = lvm.new.read_bytes()
    assert data[9 * MIB - 1:9 * MIB] == b"x" and data[10 * MIB:10 * MIB + 1] == b"x"
    assert data[9 * MIB:10 * MIB] == bytes(MIB)


def test_a_dead_ssd_without_the_metadata(dm, lvm):
    """Only zeros over the metadata keep LVM from writing the empty device's blocks back to the origin."""
    dead(lvm, "writeback")
    lvm.state["vgs"] = {"vg": {"vg_extent_size": 4 * MIB}}
    lvm.state["missing"] = f"  abc-def|{MIB}|{99 * MIB}"
    lvm.state["lvs"]["vg/fast_cpool_cmeta"] = {"devices": "/dev/another(2)"}
    lvm.save()
    assert "the metadata of its cache is not on the missing device" in refused(dm, "--force", "vg/lv", lvm.new)
    assert dm.log() == [] and not any(lvm.new.read_bytes())


def test_a_dead_ssd_of_an_active_volume(dm, lvm):
    dead(lvm, "writeback")
    dm.cache(dirty=17)
    for force in ([], ["--force"]):
        why = refused(dm, *force, "vg/lv", "/dev/new")
        assert "17 blocks that are nowhere else" in why
        assert "'lvchange -an vg/lv'" in why and "--force" in why
    assert dm.log() == [] and not lvm.record()


def test_an_ssd_that_fails_but_answers(dm, lvm):
    dm.cache(dirty=5, health="cache-device-failed", rw="ro")
    assert "cannot all be written back" in refused(dm, "vg/lv", "/dev/new")
    assert "disconnect it" in refused(dm, "--force", "vg/lv", "/dev/new")
    assert dm.log() == [] and not lvm.record()


@pytest.mark.parametrize("change,why", [
    (("vg/lv_corig", "lv_health_status", "partial"), "volume itself"),
    (("vg/fast_cpool_cdata", "devices", "fast_cpool_cdata_rimage_0(0),x(0)"), "mirror"),
    (("vg/fast_cpool_cdata", "devices", "/dev/new(0)"), "already"),
    (("vg/fast_cpool", "lv_size", 120 * MIB), "100 MiB is free.*needs 128 MiB; --size")])
def test_refused(dm, lvm, change, why):
    lvm.state["lvs"][change[0]][change[1]] = change[2]
    lvm.save()
    complaint = dm.run("replace-ssd", "vg/lv", "/dev/new", code=1).stderr.splitlines()[0]
    assert re.search(why, complaint), complaint
    assert dm.log() == [] and not lvm.record()


@pytest.mark.parametrize("kind", ["pool", "cachevol"])
@pytest.mark.parametrize("devices", [["/dev/new(0)", "/dev/old(3)"], ["/dev/old(3)", "/dev/new(0)"],
                                     ["/dev/old(3)", "[unknown](0)"], "/dev/old(0),/dev/new(0)"])
def test_a_cache_on_several_devices(dm, lvm, kind, devices):
    """None of them is the one that the new device replaces, so the old cache stays on."""
    on_segments(lvm, kind, devices)
    names = [re.sub(r"\(.*", "", d) for d in ([devices] if isinstance(devices, str) else devices)]
    names = ["/dev/old", "/dev/new"] if isinstance(devices, str) else names
    complaint = dm.complaint(1, "replace-ssd", "vg/lv", "/dev/new")
    assert f"its cache is on several devices, {','.join(names)}, and" in complaint
    assert dm.log() == [] and not lvm.record()


def test_several_segments_on_one_device(dm, lvm):
    on_segments(lvm, "pool", ["/dev/old(0)", "/dev/old(9)"])
    r = dm.json("replace-ssd", "vg/lv", "/dev/new", schema="replace")
    assert r["from"] == "/dev/old" and "vgreduce -qq vg /dev/old" in dm.log()


def on_segments(lvm, kind, devices):
    lvs = lvm.state["lvs"]
    if kind == "pool":
        lvs["vg/fast_cpool_cdata"]["devices"] = devices
    else:
        del lvs["vg/fast_cpool"], lvs["vg/fast_cpool_cdata"]
        lvs["vg/lv"]["pool_lv"] = "[fast_cvol]"
        lvs["vg/fast_cvol"] = {"segtype": "linear", "lv_size": 40 * MIB, "devices": devices}
    lvm.save()


def test_all_may_read_the_directory_of_the_description(dm, lvm):
    """The first command on the machine may be this one."""
    (dm.path / "var/lib").rmdir()
    (dm.path / "var").rmdir()
    dm.out("replace-ssd", "vg/lv", "/dev/new", umask=0o022)
    for name in ("var", "var/lib", "var/lib/hearth"):
        assert (dm.path / name).stat().st_mode & 0o777 == 0o755, name


def test_the_description_of_a_volume_with_a_name_like_that(dm, lvm):
    other = dm.write("var/lib/hearth/replace-vg:lv.new", "name=fast\n")
    dm.out("replace-ssd", "vg/lv", "/dev/new")
    assert other.read_text() == "name=fast\n"


def test_the_description_of_another_volume_with_the_same_hyphens(dm, lvm):
    """vg-lv/x was taken off; vg/lv-x never had a cache."""
    lvm.state["lvs"] = {"vg-lv/x": {"segtype": "linear"}, "vg/lv-x": {"segtype": "linear"}}
    lvm.save()
    # With a hyphen in the place of the colon, both volumes would have one file.
    for name in ("replace-vg-lv:x", "replace-vg-lv-x"):
        dm.write(f"var/lib/hearth/{name}", "name=fast\nkind=pool\nbytes=33554432\nmode=writethrough\nfrom=/dev/old\n")
    assert "not cached" in dm.complaint(3, "replace-ssd", "vg/lv-x", "/dev/new")
    assert dm.log() == []


def test_a_smaller_one(dm, lvm):
    dm.out("replace-ssd", "--size", ".015625", "vg/lv", "/dev/new")
    create = next(line for line in dm.log() if line.startswith("lvcreate"))
    assert f"-L {16 * MIB}b" in create and "--poolmetadatasize" not in create


def test_not_cached(dm, lvm):
    lvm.state["lvs"]["vg/lv"] = {"segtype": "linear"}
    lvm.save()
    assert "not cached" in dm.complaint(3, "replace-ssd", "vg/lv", "/dev/new")
    dm.complaint(2, "replace-ssd", "lv", "/dev/new")


def test_names(dm, lvm):
    for name in ("lv", "/dev/vg/lv/x", "vg/" + 125 * "l"):
        assert "must be VG/LV" in dm.complaint(2, "replace-ssd", name, "/dev/new")
    # LVM's longest name of a volume that is cached leaves six bytes for _corig.
    assert "not cached" in dm.complaint(3, "replace-ssd", "vg/" + 118 * "l", "/dev/new")
    assert "vg/lv: its cache is as it was" in dm.run("replace-ssd", "/dev/vg/lv", "/dev/gone", code=1).stderr
