# SPDX-License-Identifier: GPL-2.0-only
"""hearth iostat: rates since the activation and of intervals, for people and scripts."""

import json
import re
import time

import pytest

from fake import COUNTERS, LATENCIES, schema_of, valid

ZERO = dict.fromkeys(COUNTERS, 0)
BEFORE = (0,) * 11
# reads, merged, sectors, ms; writes, merged, sectors, ms; under way, busy ms, sum of ms
AFTER = (400, 0, 8000, 800, 100, 0, 1000, 400, 3, 50, 900)


def two_looks(dm):
    """The second look finds 500 requests more."""
    dm.cache(stats=ZERO, io=BEFORE, fast_io=BEFORE, origin_io=BEFORE)
    dm.cache(listing=2, io=AFTER, fast_io=AFTER, origin_io=BEFORE,
             stats=ZERO | {"read_hits": 30, "read_misses": 10, "write_hits": 1, "write_misses": 4,
                           "promotions": 4, "demotions": 2, "writebacks": 6, "bypass_cold": 5, "bypass_stream": 3},
             latency={"read_misses": {13: 98, 14: 2}})
    for number, io in (("253:0", BEFORE), ("253:1", BEFORE), ("253:3", BEFORE)):
        dm.write(f"sys/dev/block/{number}/stat", " ".join(map(str, io)))


def look_later(dm, *args):
    """Runs iostat with one interval; the kernel's counters grow while it waits."""
    two_looks(dm)
    with dm.start("iostat", *args) as p:
        first = p.stdout.readline()
        for number in "253:0", "253:1":
            dm.write(f"sys/dev/block/{number}/stat", " ".join(map(str, AFTER)))
        return first, p.stdout.read()


def test_rates(dm):
    first, rest = look_later(dm, "--json", "1", "2")
    schema = schema_of("iostat")
    first, second = json.loads(first), json.loads(rest)
    valid(first, schema)
    valid(second, schema)
    assert first["since_activation"] and not second["since_activation"]
    c, = second["caches"]
    s = c["seconds"]
    assert s >= 1
    volume, ssd, origin = c["volume"], c["cache_device"], c["origin"]
    assert volume["reads_per_second"] * s == pytest.approx(400, rel=1e-3)
    assert volume["writes_per_second"] * s == pytest.approx(100, rel=1e-3)
    assert volume["read_bytes_per_second"] * s == pytest.approx(8000 * 512, rel=1e-3)
    assert volume["write_bytes_per_second"] * s == pytest.approx(1000 * 512, rel=1e-3)
    assert volume["request_bytes"] == pytest.approx(9000 * 512 / 500, rel=1e-3)
    assert volume["read_ms"] == 2 and volume["write_ms"] == 4
    assert volume["util"] * s == pytest.approx(.05, rel=1e-3)
    assert volume["depth"] * s == pytest.approx(.9, rel=1e-3)
    assert ssd == volume and origin["reads_per_second"] == origin["util"] == 0 and origin["read_ms"] is None
    assert c["hit_ratio"] == pytest.approx(31 / 45, rel=1e-5) and c["read_hit_ratio"] == .75
    assert list(c["latency"]) == LATENCIES
    times = c["latency"]["read_misses"]
    assert times["requests"] == 100 and times["p50_ms"] == pytest.approx(8.388608 * (1 + 50 / 98), rel=1e-5)
    assert times["p99_ms"] == pytest.approx(16.777216 * 1.5, rel=1e-5) and c["latency"]["read_hits"]["p50_ms"] is None
    assert c["promotions_per_second"] * s == pytest.approx(4, rel=1e-3)
    assert c["demotions_per_second"] * s == pytest.approx(2, rel=1e-3)
    assert c["writebacks_per_second"] * s == pytest.approx(6, rel=1e-3)
    assert c["bypasses_per_second"] * s == pytest.approx(8, rel=1e-3)


def test_first_line_is_since_the_activation(dm):
    """The age of the node of the device is that of the activation."""
    dm.cache(io=AFTER)
    c, = dm.json("iostat", schema="iostat")["caches"]
    assert c["seconds"] is None and c["volume"]["reads_per_second"] is None and c["volume"]["read_ms"] == 2
    dm.write("sys/dev/block/253:0/uevent", "DEVNAME=dm-0\n")
    dm.write("dev/dm-0", "")
    time.sleep(.2)
    c, = dm.json("iostat", schema="iostat")["caches"]
    assert .2 <= c["seconds"] < 60
    assert c["volume"]["reads_per_second"] * c["seconds"] == pytest.approx(400, rel=1e-3)
    assert c["promotions_per_second"] * c["seconds"] == pytest.approx(55, rel=1e-3)


def test_table(dm):
    dm.cache(io=AFTER)
    dm.cache("vg-two", devno="253:8", io=BEFORE)
    lines = [line.split() for line in dm.out("iostat").splitlines()]
    assert lines[0] == "Cache r/s w/s rB/s wB/s Hit% r_ms w_ms SSD util% Orig util%".split()
    assert lines[1][:8] == ["vg/lv", "-", "-", "-", "-", "40.00", "2.00", "4.00"]
    assert lines[2][:2] == ["vg/two", "-"] and lines[2][6:8] == ["-", "-"]
    assert max(map(len, dm.out("iostat").splitlines())) <= 80
    assert [line.split()[0] for line in dm.out("iostat", "-H", "-O", "-volume_read_ms").splitlines()] == \
        ["vg/two", "vg/lv"]


def test_for_scripts(dm):
    """-H has tabs and no headings, -p whole bytes; no column is empty."""
    _, rest = look_later(dm, "-Hp", "-o", "name,volume_reads,volume_read_bytes,origin_read_ms", "1", "2")
    name, reads, read_bytes, ms = rest.rstrip("\n").split("\t")
    assert name == "vg/lv" and 0 < float(reads) <= 400 and 0 < int(read_bytes) <= 8000 * 512 and ms == "-"


def test_percentiles_are_columns(dm):
    dm.cache(latency={"origin_flushes": {20: 1}})
    columns = ",".join(f"{kind}_{p}_us" for kind in ("read_hits", "origin_flushes") for p in ("p50", "p99", "p999"))
    values = dm.out("iostat", "-H", "-o", columns).split()
    assert values == ["49", "65", "66", "1610613", "2136746", "2146410"]


def test_times(dm):
    dm.cache()
    since, line = dm.out("iostat", "-T", "u", "-H").splitlines()
    assert abs(int(since) - time.time()) < 60 and line.startswith("vg/lv\t")
    date = dm.out("iostat", "-T", "d", env={"LC_ALL": "C"}).splitlines()[0]
    assert re.fullmatch(r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}", date)
    assert "there are d and u" in dm.complaint(2, "iostat", "-T", "x")


def test_the_first_line_can_be_left_out(dm):
    dm.cache()
    assert len(dm.out("iostat", "-yH", "0.1", "2").splitlines()) == 2
    looks = [json.loads(line) for line in dm.out("iostat", "-y", "--json", "0.1", "2").splitlines()]
    assert [look["since_activation"] for look in looks] == [False, False]
    assert "without an INTERVAL" in dm.complaint(2, "iostat", "-y")


def test_arguments(dm):
    dm.cache()
    dm.cache("vg-two", devno="253:8")
    dm.cache("by_hand", lvm=False, devno="253:9")
    assert len(dm.out("iostat", "-H", "vg").splitlines()) == 2
    assert len(dm.out("iostat", "-H", "by_hand", ".1", "2").splitlines()) == 2
    assert "no cache of that name" in dm.complaint(3, "iostat", "nosuch", "1")
    for args, why in ((("vg", "0"), "INTERVAL 0:"), (("vg", "1", "0"), "COUNT 0:"), (("1", "x"), "COUNT x:"),
                      (("1", "2", "3"), "3: one argument too many"), (("vg", "-1"), None)):
        said = dm.run("iostat", *args, code=2).stderr
        assert why is None or why in said


def test_a_cache_that_is_loaded_anew_has_no_rates(dm):
    dm.cache(io=AFTER)
    dm.cache(listing=2, stats=ZERO)
    second = json.loads(dm.out("iostat", "-y", "--json", "0.1", "1"))
    assert second["caches"][0]["promotions_per_second"] is None
