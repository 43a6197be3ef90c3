# SPDX-License-Identifier: GPL-2.0-only
"""hearth bench: the load that fio gets, the commands, what is left, and the figures."""

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from test_replace import MIB, Lvm

# fio's terse line, as fio 3.33 prints it; reads at 11428/s, writes at 5714/s, in 175 and 350 ms
SIDE = "{};{};{};{};2;12083;15.0;283.5;0;12537;239.3;1050.4;" + \
    "50.000000%={};99.000000%={};99.900000%={};" + "0%=0;" * 17 + \
    "3;12539;254.4;1089.6;0;0;0.000000%;0.000000;0.000000"
TERSE = "3;fio-3.33;replay;0;0;" + SIDE.format(7984, 45622, 11428, 175, 48, 5210, 12517) + ";" + \
    SIDE.format(3988, 22788, 5714, 350, 260, 10814, 11994) + ";0.0%;0.0%;0;0;7"
CREATE = "lvcreate -qq -y -Wn -n hearth_bench --addtag hearth_bench -L {}b vg /dev/disk"
POOL = ("lvcreate -qq -y -n hearth_bench_cache --addtag hearth_bench --type cache-pool --poolmetadataspare n -L {}b "
        "--chunksize 65536b --poolmetadatasize {}b vg /dev/new")
ATTACH = ("lvconvert -qq -y --type cache --poolmetadataspare n --cachepool vg/hearth_bench_cache --cachemode {} "
          "vg/hearth_bench")
REMOVE = "lvremove -qq -y vg/hearth_bench"
FIO = """[ "$1" != --version ] || exit 0
for a; do case $a in --read_iolog=*) log=${a#*=} ;; --output=*) out=${a#*=} ;; esac; done
echo "fio $*" | sed "s|$HEARTH_FAKE||g" >>"$HEARTH_FAKE/log"
cp "$log" "$HEARTH_FAKE/replayed"
echo "fio: a warning" >"$out"
echo '""" + TERSE + """' >>"$out"
"""


@pytest.fixture
def lvm(dm):
    """vg/lv is a plain volume of 128 MiB on /dev/disk, and /dev/new an SSD in its group."""
    lvm = Lvm(dm)
    (dm.path / "bin/lvremove").symlink_to((dm.path / "bin/lvs").resolve())
    lvm.state["lvs"] = {"vg/lv": {"segtype": "linear", "lv_active": "active", "lv_size": 128 * MIB,
                                  "devices": "/dev/disk(0)"}}
    lvm.state["pvs"]["/dev/disk"] = {"vg_name": "vg", "pv_free": 200 * MIB}
    lvm.save()
    dm.command("fio", FIO)
    return lvm


@pytest.fixture
def trace(dm, lvm):
    """A log of fio's, which is one of the formats that advise reads."""
    return dm.write("load.log", f"fio version 2 iolog\nv add\nv open\nv read 4096 4096\nv write {64 * MIB} 8192\n"
                    f"v read {100 * MIB} 4096\nv read 4096 4096\nv close\n")


def left(lvm):
    return sorted(name for name in lvm.load()["lvs"] if "bench" in name)


def test_three_passes(dm, lvm, trace):
    r = dm.json("bench", "vg/lv", trace, "/dev/new", "--size", .03125, schema="bench")
    fio = ("fio --name=replay --replay_no_stall=1 --ioengine=libaio --direct=1 --iodepth=8 --output-format=terse "
           "--terse-version=3 --percentile_list=50:99:99.9 --read_iolog=/var/lib/hearth/bench.log "
           "--output=/var/lib/hearth/bench.fio --runtime=600")
    assert dm.log() == [CREATE.format(104 * MIB), fio, POOL.format(32 * MIB, 8 * MIB), ATTACH.format("writethrough"),
                        fio, fio, REMOVE]
    assert (dm.path / "replayed").read_text() == (
        "fio version 2 iolog\n/dev/vg/hearth_bench add\n/dev/vg/hearth_bench open\n"
        f"/dev/vg/hearth_bench read 4096 4096\n/dev/vg/hearth_bench write {64 * MIB} 8192\n"
        f"/dev/vg/hearth_bench read {100 * MIB} 4096\n/dev/vg/hearth_bench read 4096 4096\n"
        "/dev/vg/hearth_bench close\n")
    assert left(lvm) == [] and not list((dm.path / "var/lib/hearth").glob("bench*"))
    assert (r["requests"], r["scratch_bytes"], r["folded"]) == (4, 104 * MIB, False)
    assert (r["device"], r["disks"], r["cache_bytes"], r["mode"]) == \
        ("/dev/new", "/dev/disk", 32 * MIB, "writethrough")
    assert [p["name"] for p in r["passes"]] == ["uncached", "cold", "warm"]
    assert r["passes"][0] == {
        "name": "uncached", "seconds": .35,
        "reads": {"requests_per_second": 11428, "bytes_per_second": pytest.approx(45622 * 1024, rel=1e-5),
                  "p50_ms": .048, "p99_ms": 5.21, "p999_ms": 12.517},
        "writes": {"requests_per_second": 5714, "bytes_per_second": pytest.approx(22788 * 1024, rel=1e-5),
                   "p50_ms": .26, "p99_ms": 10.814, "p999_ms": 11.994}}


def test_for_people(dm, lvm, trace):
    text = dm.out("bench", "vg/lv", trace, "/dev/new", "--size", .03125, "--mode", "writeback", "--minutes", ".5")
    lines = text.splitlines()
    assert lines[0] == "vg/lv: 4 requests on 104 MiB of /dev/disk,"
    assert lines[1] == "cached by 32 MiB on /dev/new, in writeback"
    assert lines[4].split() == ["uncached", "0.3", "11k", "48us", "5.2ms", "13ms", "5.7k", "260us", "11ms", "12ms"] or \
        lines[4].split()[1] == "0.4"
    assert max(map(len, lines)) < 80
    assert ATTACH.format("writeback") in dm.log() and any("--runtime=30" in line for line in dm.log())


def test_dry_run(dm, lvm, trace):
    said = dm.out("bench", "vg/lv", trace, "/dev/new", "--size", .03125, "--dry-run").splitlines()
    pass_of = "fio, {}: 4 requests to /dev/vg/hearth_bench"
    assert said == [CREATE.format(104 * MIB), pass_of.format("uncached"), POOL.format(32 * MIB, 8 * MIB),
                    ATTACH.format("writethrough"), pass_of.format("cold"), pass_of.format("warm"), REMOVE]
    assert dm.log() == []


def test_sizes_are_those_of_the_cache(dm, lvm, trace):
    """A cached volume has its origin's disks, and its cache's device, size and blocks."""
    dm.cache(dirty=0)
    dm.device("253:1", "dm-1", "vg-fast_cpool_cdata", ["8:32"])
    dm.device("8:32", "new")
    lvm.state["lvs"] |= {"vg/lv": {"segtype": "cache", "origin": "[lv_corig]", "lv_size": 128 * MIB,
                                   "devices": "lv_corig(0)"},
                         "vg/lv_corig": {"devices": "/dev/disk(0)"}}
    lvm.save()
    said = dm.out("bench", "vg/lv", trace, "--dry-run")
    assert CREATE.format(104 * MIB) in said and POOL.format(32 * MIB, 8 * MIB) in said


def test_the_disks_of_all_segments(dm, lvm, trace):
    """The names of many disks are longer than a name of LVM's."""
    disks = [f"/dev/mapper/a_disk_with_a_long_name_{i}" for i in range(12)]
    lvm.state["lvs"]["vg/lv"]["devices"] = [f"{disk}(0)" for disk in disks[:-1]] + [f"{disks[0]}(9),{disks[-1]}(0)"]
    lvm.state["pvs"] |= {disk: {"vg_name": "vg", "pv_free": 9 * MIB} for disk in disks}
    lvm.save()
    r = dm.json("bench", "vg/lv", trace, "/dev/new", "--size", .03125, schema="bench")
    assert r["disks"] == ",".join(disks) and not r["folded"]
    assert dm.log()[0].endswith(" vg " + " ".join(disks))
    lvm.state["lvs"]["vg/lv"]["devices"] = ["/dev/disk(0)", "lv_rimage_0(0),lv_rimage_1(0)"]
    lvm.save()
    assert "on disks alone" in dm.complaint(1, "bench", "vg/lv", trace, "/dev/new")


def test_an_advised_size(dm, lvm, trace):
    r = dm.json("bench", "vg/lv", trace, "/dev/new", schema="bench")
    assert 0 < r["cache_bytes"] <= 16 * MIB and r["block_bytes"] == 65536


def test_without_room_gaps_are_left_out(dm, lvm, trace):
    lvm.state["pvs"]["/dev/disk"]["pv_free"] = 50 * MIB
    lvm.save()
    r = dm.json("bench", "vg/lv", trace, "/dev/new", "--size", .03125, schema="bench")
    assert r["folded"] and r["scratch_bytes"] == 4 * MIB
    # Three MiB are touched, and keep their order.
    assert re.findall(r"(?:read|write) (\d+) (\d+)", (dm.path / "replayed").read_text()) == \
        [("4096", "4096"), (str(MIB), "8192"), (str(2 * MIB), "4096"), ("4096", "4096")]
    lvm.state["pvs"]["/dev/disk"]["pv_free"] = 3 * MIB
    lvm.save()
    assert "the load touches 4 MiB, and 3 MiB is free" in dm.complaint(1, "bench", "vg/lv", trace, "/dev/new")
    assert left(lvm) == []


@pytest.mark.parametrize("step", ["lvcreate --addtag", "lvcreate --type", "lvconvert"])
@pytest.mark.parametrize("how", ["refuse", "die", "die_after"])
def test_nothing_is_left(dm, lvm, trace, step, how):
    """A step that fails: the run cleans. A run that is killed: the next one says so, and cleans."""
    args = ("bench", "vg/lv", trace, "/dev/new", "--size", .03125)
    lvm.save(**{how: step})
    code = dm.run(*args, code=None).returncode
    assert code == (1 if how == "refuse" else -9)
    if how == "refuse":
        assert left(lvm) == []
        return
    stays = left(lvm)
    assert stays or (how, step) == ("die", "lvcreate --addtag")
    lvm.save(**{how: ""})
    said = dm.run(*args).stderr
    if stays:
        assert f"{stays[0]} is left from a run that was ended" in said
    assert left(lvm) == []


def test_fio_that_fails_or_is_missing(dm, lvm, trace):
    args = ("bench", "vg/lv", trace, "/dev/new", "--size", .03125)
    dm.command("fio", "exit 1")
    assert "not installed" in dm.complaint(1, *args)
    assert dm.log() == []
    dm.command("fio", '[ "$1" = --version ] || exit 1')
    dm.run(*args, code=1)
    assert left(lvm) == [] and dm.log()[-1] == REMOVE
    dm.command("fio", "exit 0")
    assert "says nothing" in dm.complaint(1, *args)
    assert left(lvm) == []


def test_the_log_cannot_be_written(dm, lvm, trace):
    log = dm.write("var/lib/hearth/bench.log", "")
    log.unlink()
    log.symlink_to("/dev/full")
    complaint = dm.complaint(1, "bench", "vg/lv", trace, "/dev/new", "--size", .03125)
    assert "bench.log: No space left on device" in complaint
    assert not log.is_symlink() and dm.log() == []


@contextlib.contextmanager
def terminated(dm, trace):
    """Starts bench, and ends it once its fio has started."""
    with dm.start("bench", "vg/lv", trace, "/dev/new", "--size", .03125) as p:
        limit = time.monotonic() + 60
        while not (dm.path / "started").exists():
            assert time.monotonic() < limit
            time.sleep(.05)
        p.terminate()
        yield p


def test_ctrl_c(dm, lvm, trace):
    dm.command("fio", """[ "$1" != --version ] || exit 0
        touch "$HEARTH_FAKE/started"
        exec sleep 300""")
    with terminated(dm, trace) as p:
        assert p.wait(timeout=60) == 130
    assert left(lvm) == [] and dm.log()[-1] == REMOVE


def ticks(p):
    """Returns the CPU time of a process, without its children."""
    fields = Path(f"/proc/{p.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_fio_may_take_its_time_after_ctrl_c(dm, lvm, trace):
    """The command sleeps meanwhile."""
    dm.command("fio", """[ "$1" != --version ] || exit 0
        trap "" TERM
        touch "$HEARTH_FAKE/started"
        sleep 4""")
    with terminated(dm, trace) as p:
        before = ticks(p)
        time.sleep(2)
        used = ticks(p) - before
        assert p.wait(timeout=60) == 130
    assert used < .05 * os.sysconf("SC_CLK_TCK")
    assert left(lvm) == []


def test_a_volume_of_somebody_else_stays(dm, lvm, trace):
    lvm.state["lvs"]["vg/hearth_bench"] = {"segtype": "linear", "lv_tags": ""}
    lvm.save()
    assert "hearth has not made it" in dm.complaint(1, "bench", "vg/lv", trace, "/dev/new")
    assert left(lvm) == ["vg/hearth_bench"] and dm.log() == []


def test_refused(dm, lvm, trace):
    assert "no such volume" in dm.complaint(3, "bench", "vg/none", trace, "/dev/new")
    assert "must be VG/LV" in dm.complaint(2, "bench", "lv", trace)
    assert "name the DEVICE" in dm.complaint(2, "bench", "vg/lv", trace)
    assert "'vgextend vg /dev/bare'" in dm.complaint(1, "bench", "vg/lv", trace, "/dev/bare")
    assert "writethrough and writeback" in dm.complaint(2, "bench", "vg/lv", trace, "/dev/new", "--mode", "writeonly")
    assert "multiple of 32 KiB" in dm.complaint(2, "bench", "vg/lv", trace, "/dev/new", "--blocksize", 33)
    assert "100 MiB is free" in dm.complaint(1, "bench", "vg/lv", trace, "/dev/new", "--size", 1)
    assert "No such file" in dm.complaint(1, "bench", "vg/lv", dm.path / "none", "/dev/new")
    lvm.state["lvs"]["vg/lv"]["devices"] = "lv_rimage_0(0),lv_rimage_1(0)"
    lvm.save()
    assert "on disks alone" in dm.complaint(1, "bench", "vg/lv", trace, "/dev/new")
    assert dm.log() == []


@pytest.mark.needs("fio")
def test_the_real_fio_takes_the_load(dm, lvm, trace):
    """fio replays the log on a file in the volume's place, and its line is understood."""
    real, file = shutil.which("fio"), dm.path / "volume"
    with file.open("wb") as f:
        f.truncate(128 * MIB)
    dm.command("fio", f"""for a; do
            shift
            case $a in
            --direct=1) a=--direct=0 ;;
            --read_iolog=*) sed -i "s|/dev/vg/hearth_bench|{file}|" "${{a#*=}}" ;;
            esac
            set -- "$@" "$a"
        done
        exec {real} "$@" """)
    requests = "".join(f"v {'write' if i % 3 else 'read'} {i % 97 * 65536} 4096\n" for i in range(3000))
    trace.write_text(f"fio version 2 iolog\nv add\nv open\n{requests}v close\n")
    r = dm.json("bench", "vg/lv", trace, "/dev/new", "--size", .03125, schema="bench")
    for p in r["passes"]:
        assert p["seconds"] > 0 and p["reads"]["requests_per_second"] > 0 and p["writes"]["p99_ms"] > 0
        assert p["writes"]["p50_ms"] <= p["writes"]["p99_ms"] <= p["writes"]["p999_ms"]
    assert os.stat(file).st_blocks > 0
