# SPDX-License-Identifier: GPL-2.0-only
"""hearth advise: its curve, compared with the simulator's, and the sums beside it."""

import bz2
import errno
import gzip
import json
import lzma
import os
import random
import re
import stat
import struct
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest

from fake import BIN, HERE

SIM = HERE.parents[1] / "build/simulator/sim"
BLOCK = 65536
DAY = 86400 * 10 ** 6
FACTORS = (.25, .5, 1, 2, 4, 8)
TRACES = os.environ.get("HEARTH_TRACES", "")


@pytest.fixture(autouse=True)
def sanitizers(monkeypatch):
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")


def write_trace(path, requests):
    """Writes requests (time in µs, offset, length, write) in the simulator's own format."""
    path.write_bytes(b"".join(struct.pack("<QQII", *r) for r in requests))
    return path


def skewed(nr, blocks, seed=1):
    """Makes requests of popular and of cold blocks, and a stream now and then."""
    rng = random.Random(seed)
    requests, stream = [], 0
    for i in range(nr):
        if rng.random() < .1:
            stream = stream + BLOCK if rng.random() < .95 else rng.randrange(blocks) * BLOCK
            requests.append((1000 * i, stream, BLOCK, 0))
            continue
        block = int(blocks * rng.random() ** 4)
        requests.append((1000 * i, block * BLOCK + 4096 * rng.randrange(8),
                         4096 * rng.randint(1, 6), int(rng.random() < .3)))
    return requests


@pytest.fixture(scope="module")
def simulator():
    subprocess.run(["make", "-s", "-C", HERE.parents[1] / "simulator"], check=True)

    def run(trace, policy, sizes):
        r = subprocess.run([SIM, "--tsv", "-p", policy, "-c", ",".join(map(str, sizes)),
                            trace], text=True, capture_output=True, check=True)
        head, *rows = [line.split("\t") for line in r.stdout.splitlines()]
        return [dict(zip(head, row, strict=True)) for row in rows]

    return run


def errors(dm, simulator, trace, blocks, *args):
    """Returns the largest errors of hits and of disk time, and the share that was sampled."""
    told = dm.json("advise", *args, "--size", blocks * BLOCK / 2 ** 30, trace, schema="advise")
    exact = simulator(trace, told["policy"], [int(f * blocks) for f in FACTORS])
    lru = simulator(trace, "LRU", [int(f * blocks) for f in FACTORS])
    assert [r["factor"] for r in told["sizes"]] == list(FACTORS)
    assert len(exact) == len(lru) == len(FACTORS)
    both = list(zip(exact, told["sizes"], strict=True))
    hits = max(abs(float(e["HR"]) - r["hit_ratio"]) for e, r in both)
    time = max(abs(max(0, float(e["OTf"])) - r["disk_time_saved"]) for e, r in both)
    return hits, time, told["sampled"]


@pytest.mark.parametrize("policy", ["heat", "lru"])
def test_without_sampling_it_is_the_simulator(dm, tmp_path, simulator, policy):
    trace = write_trace(tmp_path / "t.bin", skewed(20000, 3000))
    hits, time, sampled = errors(dm, simulator, trace, 128, "--policy", policy)
    assert (sampled, hits, time) == (1, pytest.approx(0, abs=1e-5), pytest.approx(0, abs=1e-5))


def test_error_of_sampling(dm, tmp_path, simulator):
    trace = write_trace(tmp_path / "t.bin", skewed(150000, 80000))
    hits, _, sampled = errors(dm, simulator, trace, 2048, "--sample", 8192)
    assert .05 < sampled < .3
    assert hits <= .02


@pytest.mark.skipif(not TRACES, reason="HEARTH_TRACES does not name real traces")
@pytest.mark.parametrize("name,blocks,sample", [
    ("cp_vscsi", 1937, 16384), ("arc_P12", 2951, 24000), ("arc_P3", 1049, 8192),
    ("arc_OLTP", 1168, 8192), ("diskmon_sys1", 1397, 8192), ("hadoop_e9", 57508, 32768)])
def test_error_on_real_traces(dm, simulator, name, blocks, sample):
    hits, time, sampled = errors(dm, simulator, Path(TRACES) / f"{name}.bin.zst", blocks,
                                 "--sample", sample)
    print(f"{name}: sampled {sampled:.2f}, hits off by {hits:.4f}, disk time by {time:.4f}")
    assert sampled < 1
    assert hits <= .02


def test_reads_and_writes_are_told_apart(dm, tmp_path):
    """The trace reads two blocks again and again, and writes new ones."""
    requests = []
    for i in range(4000):
        requests.append((1000 * i, (i % 2) * 2 ** 40, 4096, 0))
        requests.append((1000 * i + 500, (2 * i + 2) * 10 * BLOCK, 4096, 1))
    trace = write_trace(tmp_path / "t.bin", requests)
    told = dm.json("advise", "--size", .002, "--policy", "lru", trace, schema="advise")
    for row in told["sizes"][2:]:
        assert row["read_hit_ratio"] > .99 and .49 < row["hit_ratio"] < .51
        assert row["ram_read_hit_ratio"] > .99


def test_sums(dm, tmp_path):
    """In three days the trace reads ten blocks every day, and five new ones each day."""
    requests = []
    for day in range(3):
        blocks = list(range(10)) + list(range(100 + 5 * day, 105 + 5 * day))
        requests += [(day * DAY + 1000 * i, b * BLOCK, 8192, int(b >= 100))
                     for i, b in enumerate(blocks + blocks[:10])]
    requests.append((3 * DAY + 1, 0, 4096, 0))
    told = dm.json("advise", write_trace(tmp_path / "t.bin", requests), schema="advise")
    assert (told["requests"], told["writes"]) == (76, 15)
    assert told["bytes_written"] == 15 * 8192
    assert told["touched_bytes"] == 25 * BLOCK
    assert told["touched_bytes_a_day"] == 15 * BLOCK
    assert told["touched_bytes_a_month"] is None
    assert told["seconds"] == pytest.approx(3 * 86400, rel=1e-4)
    row = told["sizes"][-1]
    assert row["drive_writes_per_day"] == pytest.approx(
        row["ssd_bytes_per_user_byte"] * told["bytes"] / 3 / row["ssd_bytes"], rel=1e-2)


def test_without_times(dm, tmp_path):
    trace = write_trace(tmp_path / "t.bin", [(i, *r[1:]) for i, r in enumerate(skewed(2000, 300))])
    told = dm.json("advise", trace, schema="advise")
    assert told["seconds"] is None and told["sizes"][0]["drive_writes_per_day"] is None
    assert "a day" not in dm.out("advise", trace)


def warnings(told):
    """Returns the warnings, without the one about the recording's length."""
    return [w for w in told["warnings"] if w["id"] != "short-recording"]


def test_a_short_recording_says_so(dm, tmp_path):
    requests = skewed(2000, 300)
    short = dm.json("advise", write_trace(tmp_path / "s.bin", requests), schema="advise")
    assert [w["id"] for w in short["warnings"]] == ["short-recording"]
    long = [(2000 * t, *rest) for t, *rest in requests]
    assert not dm.json("advise", write_trace(tmp_path / "l.bin", long), schema="advise")["warnings"]


def uniform(nr, blocks, writes, step=1000):
    """Makes requests of all blocks alike, a share of them writes."""
    rng = random.Random(7)
    return [(step * i, rng.randrange(blocks) * BLOCK, 4096, int(rng.random() < writes)) for i in range(nr)]


def verdict(dm, *args):
    told = dm.json("advise", *args, schema="advise")
    lines = dm.out("advise", *args).split("\nverdict     ")[1].split("\n\n")[0].splitlines()
    assert max(map(len, lines)) <= 68
    return told["verdict"], told["confidence"], lines


def test_verdict_worth_it(dm, tmp_path):
    trace = write_trace(tmp_path / "t.bin", uniform(20000, 500, .7))
    name, confidence, lines = verdict(dm, "--size", 500 / 16384, trace)
    assert (name, confidence) == ("cache", "low")
    assert lines[0].startswith("worth it: 31.2 MiB of SSD save ")
    assert lines[1:3] == ["            hearth cache VG/LV DEVICE --size 0.0305", "confidence  low: 20 s were recorded"]
    # The same load over two hours, and over two days.
    for step, expected in ((360000, "fair"), (8640000, "good")):
        trace = write_trace(tmp_path / "t.bin", uniform(20000, 500, .7, step))
        assert verdict(dm, "--size", 500 / 16384, trace)[1] == expected


def test_verdict_not_worth_it(dm, tmp_path):
    once = [(1000 * i, (i * 7919 % 20000) * BLOCK, 4096, 0) for i in range(20000)]
    name, _, lines = verdict(dm, write_trace(tmp_path / "t.bin", once))
    assert name == "none" and lines[0].endswith("MiB would save 0.0% of the disk's time")
    assert "hearth cache" not in "".join(lines)


def test_verdict_ram(dm, tmp_path):
    """Most blocks are read six times at once, and never again: RAM serves that, and an SSD comes too late."""
    rng = random.Random(1)
    soon = [(1000 * i, (rng.randrange(30) if rng.random() < .3 else 1000 + i // 6) * BLOCK, 4096, 0)
            for i in range(6000)]
    name, _, lines = verdict(dm, write_trace(tmp_path / "t.bin", soon))
    assert name == "ram" and re.match(r"RAM instead: [0-9.]+ MiB of it serve as many reads", lines[0]), lines
    # Where writes are most of the load, RAM does not help.
    soon = [(*r[:3], int(i % 20 < 12)) for i, r in enumerate(soon)]
    assert verdict(dm, write_trace(tmp_path / "t.bin", soon))[0] == "cache"


def test_verdict_of_a_volume_that_is_cached(dm, tmp_path):
    dm.cache()
    everywhere = write_trace(tmp_path / "t.bin", uniform(20000, 2048, .7))
    name, _, lines = verdict(dm, "--cache", "vg/lv", everywhere)
    assert name == "whole-volume" and lines[0] == "not worth it: put the whole volume on the SSD"
    part = write_trace(tmp_path / "t.bin", uniform(20000, 900, .7))
    assert verdict(dm, "--cache", "vg/lv", part)[2][1] == "            hearth replace-ssd vg/lv DEVICE --size 0.0625"
    assert verdict(dm, "--cache", "/dev/vg/lv", part)[2][1].split()[2] == "vg/lv"
    assert verdict(dm, "--cache", "vg-lv", part)[2][1].split()[2] == "VG/LV"
    part = write_trace(tmp_path / "t.bin", uniform(20000, 250, .7))
    assert verdict(dm, "--cache", "vg/lv", part)[2][1] == "            today's cache is large enough"


def test_no_size_above_the_volumes(dm, tmp_path):
    """The cache has 32 MiB, the volume 128 MiB."""
    dm.cache()
    trace = write_trace(tmp_path / "t.bin", skewed(2000, 300))
    told = dm.json("advise", "--cache", "vg/lv", trace, schema="advise")
    assert [r["factor"] for r in told["sizes"]] == [.25, .5, 1, 2, 4]
    told = dm.json("advise", "--cache", "vg/lv", "--size", 4, trace, schema="advise")
    assert [r["factor"] for r in told["sizes"]] == [.25]


def test_of_a_cache(dm, tmp_path):
    dm.cache()
    trace = write_trace(tmp_path / "t.bin", skewed(2000, 300))
    told = dm.json("advise", "--cache", "vg/lv", trace, schema="advise")
    assert told["sizes"][2]["ssd_bytes"] == 32 << 20 and told["block_bytes"] == BLOCK
    text = dm.out("advise", "--cache", "vg/lv", trace)
    assert "the rule of thumb, is 12.8 MiB" in text
    assert told["tenth_of_volume_bytes"] == pytest.approx(12.8 * 2 ** 20, rel=1e-5)
    assert told["advised_metadata_bytes"] == 4 * 2 ** 20 + 44 * told["advised_bytes"] // BLOCK
    assert max(map(len, text.splitlines())) <= 80


def test_warnings_about_the_cache_that_is_there(dm, tmp_path):
    names = "cache_read_errors cache_write_errors origin_errors retired_blocks"
    dm.cache(total=100000, stats=dict.fromkeys(names.split(), 0))
    dm.write("sys/dev/block/253:1/queue/rotational", "1\n")
    trace = write_trace(tmp_path / "t.bin", skewed(2000, 300))
    told = dm.json("advise", "--cache", "vg/lv", "--size", .03, trace, schema="advise")
    assert [(w["id"], w["subject"]) for w in warnings(told)] == [
        ("single-ssd", "vg/lv"), ("rotational", "vg/lv"), ("metadata-small", "vg/lv")]
    text = dm.out("advise", "--cache", "vg/lv", "--size", .03, trace)
    assert "\nwarning  vg/lv: blocks are dirty on a cache device that is not mirrored" in text
    assert max(map(len, text.splitlines())) <= 80
    assert not warnings(dm.json("advise", trace, schema="advise"))


def test_warning_about_the_blocks_that_are_advised(dm, tmp_path):
    trace = write_trace(tmp_path / "t.bin", skewed(2000, 300))
    args = "advise", "--blocksize", 32, trace
    for size, ids in ((100, []), (400, ["chunk-size"])):
        told = dm.json(*args, "--size", size, schema="advise")
        assert told["advised_bytes"] == size / 4 * 2 ** 30
        assert [w["id"] for w in warnings(told)] == ids
    assert "3.3 million blocks" in told["warnings"][0]["text"]


@pytest.mark.needs("gnuplot")
def test_drawing(dm, tmp_path):
    trace = write_trace(tmp_path / "t.bin", skewed(2000, 300))
    told = dm.json("advise", "--size", .01, "--svg", tmp_path / "a.svg", trace, schema="advise")
    root = xml.etree.ElementTree.parse(tmp_path / "a.svg").getroot()
    assert root.tag.endswith("svg")
    labels = ["".join(t.itertext()).strip() for t in root.iterfind(".//{*}text")]
    for row in told["sizes"]:
        assert labels.count(f"{row['ssd_bytes'] / 2 ** 20:.1f} MiB") == 2
    # There are two curves of misses, and one of the disk's time.
    assert labels.count("heat") == 1 and labels.count("RAM (LRU), of reads") == 1
    curves = [g for g in root.iterfind(".//{*}g") if "gnuplot_plot" in g.get("id", "")]
    assert sum(g.find(".//{*}path") is not None for g in curves) == 3
    assert sum(label.startswith("advised: ") for label in labels) == 2


def test_a_drawing_without_gnuplot(dm, tmp_path):
    trace = write_trace(tmp_path / "t.bin", skewed(2000, 300))
    dm.command("gnuplot", "exit 127")
    args = "advise", "--svg", tmp_path / "a.svg", trace
    assert dm.complaint(1, *args) == "hearth: gnuplot: No such file or directory\n"
    dm.command("gnuplot", "exit 1")
    assert dm.complaint(1, *args) == "hearth: gnuplot: Input/output error\n"


def test_a_drawing_that_cannot_be_written(dm, tmp_path):
    trace = write_trace(tmp_path / "t.bin", skewed(2000, 300))
    assert dm.complaint(1, "advise", "--svg", tmp_path / "no/a.svg", trace) == (
        f"hearth: {tmp_path}/no/a.svg: No such file or directory\n")


def blkparse(nr=700):
    return "".join(f"  8,0    0  {i + 1}  {i / 100:.9f}  77  Q   R {i % 90 * 128} + 8 [x]\n" for i in range(nr))


@pytest.mark.parametrize("name,module", [("gz", gzip), ("xz", lzma), ("bz2", bz2)])
def test_compressed(dm, name, module):
    """The first bytes of a file tell how it is compressed; its name does not matter."""
    for path in (f"t.blk.{name}", "t"):
        (dm.path / path).write_bytes(module.compress(blkparse().encode()))
        assert dm.json("advise", dm.path / path, schema="advise")["requests"] == 700
    whole = (dm.path / "t").read_bytes()
    (dm.path / "t").write_bytes(whole[:len(whole) // 2])
    why = dm.complaint(1, "advise", dm.path / "t")
    assert "t: after line" in why and "parse" not in why


@pytest.mark.needs("zstd")
def test_compressed_by_zstd(dm):
    whole = subprocess.run(["zstd", "-qc"], input=blkparse(30000).encode(), capture_output=True, check=True).stdout
    (dm.path / "t.zst").write_bytes(whole)
    # hearth does not run the program zstd.
    dm.command("zstd", "exit 1")
    assert dm.json("advise", dm.path / "t.zst", schema="advise")["requests"] == 30000
    (dm.path / "t.zst").write_bytes(whole[:len(whole) // 2])
    assert "after line" in dm.complaint(1, "advise", dm.path / "t.zst")


def test_standard_input(dm):
    assert dm.json("advise", "-", schema="advise", input=blkparse())["requests"] == 700
    assert "hearth: standard input: it is empty" in dm.complaint(1, "advise", "-", input="")


def test_what_is_no_recording(dm):
    iostat = "avg-cpu:  %user\n           3,21\n\nDevice  r/s  rkB/s\nsda  1.00  2.00\n"
    for content, why in (
            (iostat, "no requests in it: read as blkparse, of which no line is one"),
            ("\x7fELF\x02\x01", "it is not text; a recording is blkparse, bpftrace, fio, fiolog, spc, msr or bin"),
            ("", "it is empty")):
        assert dm.complaint(1, "advise", dm.write("t", content)) == f"hearth: {dm.path}/t: {why}\n"
    assert "it is a directory" in dm.complaint(1, "advise", dm.path)
    assert dm.complaint(1, "advise", "/none") == "hearth: /none: No such file or directory\n"
    assert dm.complaint(2, "advise", "--format", "foo", dm.write("t", blkparse())) == (
        "hearth: no format 'foo': blkparse, bpftrace, fio, fiolog, spc, msr or bin\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become someone else")
def test_a_recording_that_may_not_be_read(tmp_path):
    trace = write_trace(tmp_path / "t.bin", skewed(100, 10))
    trace.chmod(0)
    r = subprocess.run([BIN / "real/hearth", "advise", trace], text=True, capture_output=True,
                       user=65534, check=False)
    assert (r.returncode, r.stderr) == (1, f"hearth: {trace}: Permission denied\n")


def test_log_of_fio(dm, tmp_path):
    log = dm.write("t.iolog", "fio version 2 iolog\n/dev/x add\n/dev/x open\n" +
                   "".join(f"/dev/x read {i % 7 * BLOCK} 4096\n" for i in range(70)))
    assert dm.json("advise", log, schema="advise")["requests"] == 70


def test_log_of_bpftrace(dm):
    """Also one that tail cut, and without what is no read and no write."""
    lines = [f"{i * 10 ** 7} 265289731 {'WS' if i % 3 else 'RA'} {i % 90 * 128} 8\n" for i in range(700)]
    lines.insert(5, "77 265289731 D 0 8\n")
    for text in ("".join(lines), "Attaching 1 probe...\n" + "".join(lines) + "\n@start[1]: 5\n"):
        told = dm.json("advise", dm.write("t", text), schema="advise")
        assert (told["requests"], told["writes"]) == (700, 466)
        assert told["seconds"] == pytest.approx(6.99)


@pytest.mark.parametrize("args,code,why", [
    (("none.bin",), 1, "none.bin"), (("--blocksize", "48", "t.bin"), 2, "multiple of 32"),
    (("--policy", "magic", "t.bin"), 2, "magic"), (("--size", "0", "t.bin"), 2, "--size"),
    (("--format", "magic", "t.bin"), 2, "magic"), (("empty.bin",), 1, "empty.bin"),
    (("--cache", "vg/none", "t.bin"), 3, "vg/none"),
])
def test_bad_input(dm, tmp_path, args, code, why):
    dm.command("lvs", "exit 5")
    write_trace(tmp_path / "t.bin", skewed(100, 10))
    write_trace(tmp_path / "empty.bin", [])
    r = dm.run("advise", *args, code=code, cwd=tmp_path)
    assert why in r.stderr and r.stdout == ""


def test_the_built_command_needs_no_device_mapper(tmp_path):
    trace = write_trace(tmp_path / "t.bin", skewed(2000, 300))
    r = subprocess.run([BIN / "real/hearth", "advise", trace], text=True, capture_output=True,
                       check=False)
    assert r.returncode == 0 and "policy      heat" in r.stdout, r.stderr


INSTANCE = "sys/kernel/tracing/instances/hearth-253-0"
EVENT_ID = 1234
PAGE = 4096
# As a kernel of Debian 12 has them.
HEADER_PAGE = """\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
FORMAT = f"""\
name: block_bio_queue
ID: {EVENT_ID}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[8];\toffset:28;\tsize:8;\tsigned:0;
\tfield:char comm[16];\toffset:36;\tsize:16;\tsigned:0;

print fmt: "%llu + %u", (unsigned long long)REC->sector, REC->nr_sector
"""


def event(delta, op, sector, sectors):
    """An event of a ring buffer, so many ns after the one before it."""
    data = struct.pack("<HBBiI4xQI8s16s", EVENT_ID, 0, 0, 77, 253 << 20, sector, sectors, op.encode(), b"fio")
    return struct.pack("<I", len(data) // 4 | delta << 5) + data


def ring_page(when, events, missed=0):
    """A page of a ring buffer. The kernel says after the events how many were lost before them."""
    data = b"".join(events)
    tail = struct.pack("<Q", missed) if missed else b""
    flags = 3 << 30 if missed else 0
    return (struct.pack("<QQ", when, len(data) | flags) + data + tail).ljust(PAGE, b"\0")


def trace_pages(dm, *cpus):
    """Makes the files of tracefs that the command uses, for the cache vg/lv; each CPU has some pages.

    libtracefs wants the files of as many CPUs as the machine has.
    """
    for name in ("buffer_size_kb", "tracing_on", "events/block/block_bio_queue/filter",
                 "events/block/block_bio_queue/enable"):
        dm.write(f"{INSTANCE}/{name}", "")
    tracing = dm.path / "sys/kernel/tracing"
    more = [[]] * (os.sysconf("SC_NPROCESSORS_CONF") - len(cpus))
    for cpu, pages in enumerate([*cpus, *more]):
        (tracing / f"per_cpu/cpu{cpu}").mkdir(parents=True)
        directory = dm.path / INSTANCE / f"per_cpu/cpu{cpu}"
        directory.mkdir(parents=True)
        # A pipe, because a trace can be read once. It stays open, because a trace has no end.
        os.mkfifo(directory / "trace_pipe_raw")
        os.write(os.open(directory / "trace_pipe_raw", os.O_RDWR), b"".join(pages))
    for name, text in (("header_page", HEADER_PAGE), ("block/enable", ""), ("block/block_bio_queue/format", FORMAT)):
        dm.write(f"sys/kernel/tracing/events/{name}", text)
    return dm.path / INSTANCE


def pages_of(requests, missed=0):
    """Pages with requests (op, sector, sectors) that are 1 ms apart."""
    pages, room = [], (PAGE - 24) // len(event(0, "R", 0, 8))
    for i in range(0, len(requests), room):
        events = [event(1000000 if j else 0, *r) for j, r in enumerate(requests[i:i + room])]
        pages.append(ring_page(10 ** 9 + i * 1000000, events, missed if not i else 0))
    return pages


def test_live(dm):
    dm.cache()
    requests = [("R", 0, 128), ("WS", 128, 8), ("R", 0, 128), ("RA", 256, 8)] * 50
    requests[10:10] = [("FWS", 0, 0), ("D", 0, 2048)]
    base = trace_pages(dm, pages_of(requests, missed=7))
    r = dm.run("advise", "--live", "vg/lv", "--minutes", "0.01", "--json")
    assert "7 requests came too fast" in r.stderr
    v = json.loads(r.stdout)
    # The requests of half a second do not show the load of a day.
    assert .5 < v["seconds"] < 10 and v["warnings"][-1]["id"] == "short-recording"
    assert v["requests"] == 200 and v["block_bytes"] == 65536 and v["volume_bytes"] == pytest.approx(2 ** 27, rel=1e-5)
    assert v["writes"] == 50 and v["bytes_written"] == 50 * 4096 and v["touched_bytes"] == 3 * 65536
    assert (base / "events/block/block_bio_queue/filter").read_text() == f"dev == {253 << 20}"
    assert (base / "events/block/block_bio_queue/enable").read_text() == "0"


def test_live_where_events_cannot_be_recorded(dm):
    dm.cache()
    trace_pages(dm, [])
    (dm.path / INSTANCE / "events/block/block_bio_queue/filter").unlink()
    why = dm.complaint(1, "advise", "--live", "vg/lv", "--minutes", ".01", "--json")
    assert why.startswith("hearth: the event block_bio_queue cannot be recorded")


def test_live_of_nothing(dm):
    dm.cache()
    trace_pages(dm, [])
    why = dm.complaint(1, "advise", "--live", "vg/lv", "--minutes", ".01", "--json")
    assert re.fullmatch(r"hearth: vg/lv: no requests in the \d+(\.\d)? s that were recorded\n", why), why
    assert "not active" in dm.complaint(3, "advise", "--live", "vg/none", "--json")
    dm.complaint(2, "advise")
    dm.complaint(2, "advise", "--live", "vg/lv", "file")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a device node")
def test_live_of_a_disk_in_a_kernel_without_device_mapper(dm):
    """A newcomer records a plain disk before any module is loaded. The node has no device."""
    disk = dm.path / "disk"
    os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(253, 0))
    trace_pages(dm, pages_of([("R", i % 4 * 128, 8) for i in range(200)]))
    r = dm.run("advise", "--live", disk, "--minutes", ".01", "--json",
               env={"HEARTH_FAKE_ERROR": str(errno.ENODEV)})
    assert json.loads(r.stdout)["requests"] == 200


def test_live_in_a_kernel_without_device_mapper(dm):
    """--live takes any block device."""
    without = {"HEARTH_FAKE_ERROR": str(errno.ENODEV)}
    why = dm.complaint(3, "advise", "--live", "/dev/none", "--json", env=without)
    assert why == "hearth: /dev/none: no such volume, or not active\n"
    assert "no device-mapper" in dm.complaint(4, "advise", "--live", "/dev/none", "--cache", "c", env=without)
