# SPDX-License-Identifier: GPL-2.0-only
"""hearth status, and every subcommand's message for bad input."""

import calendar
import json
import os
import random
import re
import subprocess
import time

import pytest

from fake import BIN, BUCKETS, COUNTERS, LATENCIES


def shift_history(dm, seconds, name="vg-lv"):
    """Makes the stored samples older by this many seconds."""
    file = dm.path / "run/hearth" / name
    lines = file.read_text().splitlines()
    moved = []
    for line in lines[1:]:
        when, rest = line.split(" ", 1)
        moved.append(f"{float(when) - seconds:.3f} {rest}")
    file.write_text("\n".join([lines[0], *moved, ""]))


def test_all_fields(dm):
    counters = dm.cache()
    told = dm.json("status", schema="status")
    assert abs(calendar.timegm(time.strptime(told["time"], "%Y-%m-%dT%H:%M:%SZ")) - time.time()) < 60
    c, = told["caches"]
    assert c["name"] == "vg/lv" and c["dm_name"] == "vg-lv" and c["lvm"]
    assert c["engine"] == "hearth" and c["health"] == "good"
    assert (c["mode"], c["table_mode"], c["policy"]) == ("writeback", "writeback", "smq")
    assert c["settings"] == {"migration_threshold": 2048, "read_level": 2, "seq_cutoff": 64}
    assert (c["used_blocks"], c["total_blocks"], c["dirty_blocks"]) == (256, 512, 64)
    assert c["data_blocks"] == 480
    assert c["block_bytes"] == 65536 and c["volume_bytes"] == 128 << 20
    assert c["metadata_format"] == 2
    assert (c["metadata_device"], c["cache_device"], c["origin_device"]) == \
        ("253:2", "253:1", "253:3")
    assert c["counters"] == counters
    assert c["intents_held"] == 3
    hits = counters["read_hits"] + counters["write_hits"]
    misses = counters["read_misses"] + counters["write_misses"]
    assert c["hit_ratio"] == pytest.approx(hits / (hits + misses), rel=1e-5)
    assert c["ssd_bytes_per_user_byte"] == \
        pytest.approx(counters["cache_sectors_written"] / 3000, rel=1e-5)
    assert c["volume_io"] == {"reads": 100, "read_sectors": 2000, "read_ms": 50,
                              "writes": 40, "write_sectors": 1000, "write_ms": 80,
                              "busy_ms": 70, "queue_ms": 130}
    assert list(c["latency"]) == LATENCIES and list(c["last_hour"]["latency"]) == LATENCIES
    for kind, times in c["latency"].items():
        n = counters[f"timed_{kind}"]
        # All are in the bucket of 2^15 to 2^16 ns.
        assert times == {"requests": n, "mean_ms": pytest.approx(counters[f"{kind}_ns"] / n / 1e6, rel=1e-5),
                         "p50_ms": pytest.approx(.049152), "p99_ms": pytest.approx(.0652083),
                         "p999_ms": pytest.approx(.0655032)}
    assert c["cache_device_io"]["read_ms"] == 8 and c["origin_io"]["writes"] == 30


def test_settings_without_effect_are_left_out(dm):
    dm.cache(policy="mq", settings="14 random_threshold 0 sequential_threshold 0 "
             "discard_promote_adjustment 0 read_promote_adjustment 0 "
             "write_promote_adjustment 0 read_level 2 seq_cutoff 64")
    c, = dm.json("status", schema="status")["caches"]
    assert c["policy"] == "mq"
    assert c["settings"] == {"migration_threshold": 2048, "read_level": 2, "seq_cutoff": 64}


def device_table(text):
    """The lines about the volume, the SSD and the origin, and the one above them."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    at = next(i for i, line in enumerate(lines) if line.startswith("volume "))
    return lines[at - 1:at + 3]


def test_for_people(dm):
    dm.cache(mode="writeonly", stats={"bypass_cold": 1234, "bypass_stream": 0,
                                      "cache_read_errors": 7,
                                      "timed_write_hits": 0, "timed_absorbed": 0, "timed_cache_flushes": 0},
             latency={"read_hits": {5: 990, 8: 9, 10: 1}, "read_misses": {12: 2}, "write_misses": {13: 1},
                      "origin_flushes": {19: 1000, 23: 3}})
    text = dm.out("status", "vg/lv")
    assert "vg/lv  writeonly (the table says writeback), policy smq (heat), good" in text
    assert "used        16 MiB, 50.0%; 30 MiB may hold data; metadata" in text
    assert "4 MiB, 25.0% of what is used" in text
    assert "cold 1.2k" in text and "stream" not in text
    assert "cache_read_errors 7" in text
    assert "a hit       reads 49us/66us/524us (p50/p99/p99.9)\n" in text
    assert "a miss      reads 6.3ms/8.3ms/8.4ms  writes 13ms/17ms/17ms\n" in text
    assert "absorbed" not in text
    assert "a flush     origin 806ms/1.1s/8.6s\n" in text
    assert device_table(text) == [
        "on average r/s w/s rB/s wB/s size r w depth util%", "volume - - - - 11k 500us 2.0ms - -",
        "SSD - - - - 13k 100us 200us - -", "origin - - - - 13k 2.1ms 2.5ms - -"]
    assert "\033" not in text
    assert all(len(line) < 80 for line in text.splitlines())


def test_the_settings_that_somebody_changed(dm):
    """With all that a terminal of 24 lines has to hold."""
    core = ("20 migration_threshold 2048 promote_ahead 384 max_promote_mbps 0 max_promote_share 50 fail_open 1 "
            "max_intents 4096 dirty_high 50 dirty_low 45 dirty_limit 100 writeback_idle 2")
    policy = "10 read_level {} write_level 2 full_write_level 2 seq_cutoff 64 seq_again 1"
    no_errors = dict.fromkeys(("cache_read_errors", "cache_write_errors", "origin_errors", "retired_blocks"), 0)
    dm.cache(mode="writethrough", features="2 metadata2 writethrough", core=core, settings=policy.format(2),
             stats=no_errors)
    lines = dm.out("status").splitlines()
    assert lines[-1] == "  settings    preset general  max_intents=4096"
    # The last hour and day are not known, the prompt needs one more.
    assert len(lines) <= 24 - 2 - 1
    dm.cache(core=core, settings=policy.format(3))
    assert dm.out("status").splitlines()[-1] == "  settings    max_intents=4096  read_level=3"
    dm.cache(core="0", settings="0")
    assert dm.out("status").splitlines()[-1] == "  settings    those of a new cache"


def devices(dm):
    """Gives the devices of the fake cache names, as LVM does: a pool on an NVMe, an origin on two disks."""
    dm.device("253:0", "dm-0", "vg-lv")
    dm.device("253:1", "dm-1", "vg-fast_cpool_cdata", ["259:1"])
    dm.device("253:2", "dm-2", "vg-fast_cpool_cmeta", ["259:1"])
    dm.device("253:3", "dm-3", "vg-lv_corig", ["8:16", "8:32", "8:16"])
    dm.device("259:1", "nvme0n1p2")
    dm.device("8:16", "sdb")
    dm.device("8:32", "sdc")


def test_head_says_engine_and_devices(dm):
    dm.cache()
    devices(dm)
    dm.write("sys/module/dm_cache/version", "7.8.9\n")
    lines = dm.out("status").splitlines()
    assert lines[1:4] == ["  engine      hearth 7.8.9, device /dev/dm-0",
                          "  SSD         vg/fast_cpool_cdata on /dev/nvme0n1p2", lines[3]]
    name, disks = lines[3].split(" on ")
    assert name == "  origin      vg/lv_corig" and sorted(disks.split(",")) == ["/dev/sdb", "/dev/sdc"]
    c, = dm.json("status", schema="status")["caches"]
    assert c["engine_version"] == "7.8.9" and c["policy_code"] == "heat" and c["pool"] == "fast"
    assert c["volume_name"] == "vg/lv" and c["cache_device_name"] == "vg/fast_cpool_cdata"
    assert c["cache_device_disks"] == ["/dev/nvme0n1p2"]
    assert sorted(c["origin_device_disks"]) == ["/dev/sdb", "/dev/sdc"]
    dm.write("version", "2.3.0")
    text = dm.out("status")
    assert "  engine      the kernel's own dm-cache, target 2.3.0, device /dev/dm-0\n" in text
    assert "policy smq, good" in text


def test_disks_of_which_one_name_begins_with_another(dm):
    """Each disk is in the list once, in whatever order the directory of the kernel has them."""
    dm.cache()
    names = ["sdaaa", "sda", "sdaa"]
    dm.device("253:3", "dm-3", "vg-lv_corig", [f"8:{i}" for i in (0, 1, 2)] * 2)
    for i, name in enumerate(names):
        dm.device(f"8:{i}", name)
    c, = dm.json("status", schema="status")["caches"]
    assert sorted(c["origin_device_disks"]) == sorted(f"/dev/{name}" for name in names)


def columns(dm, *args):
    return [line.split() for line in dm.out("status", "--noheadings", *args).splitlines()]


def three(dm):
    dm.cache(stats={"read_hits": 9, "read_misses": 1, "write_hits": 0, "write_misses": 0})
    dm.cache("vg-two", devno="253:10", used=512, stats={"read_hits": 1, "read_misses": 1, "write_hits": 0,
                                                        "write_misses": 0})
    dm.cache("other-lv", devno="253:11", mode="passthrough", dirty=0,
             stats=dict.fromkeys(("read_hits", "read_misses", "write_hits", "write_misses"), 0))


def test_a_line_a_cache(dm):
    three(dm)
    devices(dm)
    lines = [line.split() for line in dm.out("status").splitlines()]
    assert lines[0] == "Cache Health Mode Policy Cache size Used% Dirty% Hit% SSD disks".split()
    assert lines[1:] == [
        ["other/lv", "good", "passthrough", "heat", "32.00m", "50.00", "0.00", "/dev/nvme0n1p2"],
        ["vg/lv", "good", "writeback", "heat", "32.00m", "50.00", "25.00", "90.00", "/dev/nvme0n1p2"],
        ["vg/two", "good", "writeback", "heat", "32.00m", "100.00", "12.50", "50.00", "/dev/nvme0n1p2"]]
    # One cache has a screen, whether it is named or the only one.
    assert dm.out("status", "vg/lv").startswith("vg/lv  writeback, ")
    assert dm.out("status", "other").startswith("other/lv  passthrough ")


def test_columns_order_and_selection(dm):
    three(dm)
    assert columns(dm, "-o", "name,dirty_size", "-O", "-name") == \
        [["vg/two", "4.00m"], ["vg/lv", "4.00m"], ["other/lv", "0"]]
    assert columns(dm, "-o", "name", "-O", "hit_percent", "vg") == [["vg/two"], ["vg/lv"]]
    assert columns(dm, "-o", "name", "-S", "vg=vg && hit_percent<80") == [["vg/two"]]
    assert columns(dm, "-o", "name", "-S", "used_size>20m") == [["vg/two"]]
    assert columns(dm, "-o", "+lv", "-S", "name=vg/lv")[0][-1] == "lv"
    assert columns(dm, "-o", "cache_size,used_size", "--units", "b", "--nosuffix", "vg/lv") == \
        [["33554432", "16777216"]]
    assert columns(dm, "-o", "cache_size", "--units", "M", "vg/lv") == [["33.55M"]]
    assert dm.out("status", "-o", "name,lv", "--separator", ";", "vg/lv") == "Cache;LV\nvg/lv;lv\n"
    # A column that is not known is empty, and so is the whole answer where nothing is selected.
    assert dm.out("status", "-o", "name,minute_hit_percent", "--separator", ";", "--noheadings", "vg/lv") == "vg/lv;\n"
    assert dm.out("status", "-S", "name=none") == ""


def test_report_as_json(dm):
    three(dm)
    report = json.loads(dm.out("status", "--reportformat", "json", "-o", "name,promotions", "vg"))
    assert report == {"report": [{"cache": [{"name": "vg/lv", "promotions": "55"},
                                            {"name": "vg/two", "promotions": "55"}]}]}


def test_room(dm):
    """How much of the cache may hold data, where the target says so."""
    dm.cache()
    assert columns(dm, "-o", "data_blocks,data_size", "--units", "k", "vg/lv") == [["480", "30720.00k"]]
    dm.cache(data=None)
    assert "may hold data" not in dm.out("status")
    assert "data_blocks" not in dm.json("status", schema="status")["caches"][0]
    assert columns(dm, "-o", "name,data_blocks,data_size", "vg/lv") == [["vg/lv"]]


def test_write_log_as_fields(dm):
    """The state of the write log and its part of the cache, where there is one."""
    dm.cache()
    assert "write_log" not in dm.json("status", schema="status")["caches"][0]
    assert columns(dm, "-o", "name,write_log,write_log_size", "vg/lv") == [["vg/lv"]]
    dm.cache(log="on", segments=3)
    cache = dm.json("status", schema="status")["caches"][0]
    assert (cache["write_log"], cache["write_log_bytes"]) == ("on", 3 * 65536)
    assert columns(dm, "-o", "write_log,write_log_size", "--units", "k", "vg/lv") == [["on", "192.00k"]]
    assert re.search(r"^hearth_cache_write_log_bytes\{.*\} 196608$", dm.out("export"), re.M)


def test_every_counter_is_a_column(dm):
    counters = dm.cache()
    names = dm.out("status", "-o", "help")
    for name in COUNTERS:
        assert f"\n  {name} " in names
    assert columns(dm, "-o", ",".join(COUNTERS)) == [[str(counters[name]) for name in COUNTERS]]
    dm.write("version", "2.3.0")
    assert dm.out("status", "-o", "read_hits,writebacks", "--separator", ";", "--noheadings") == \
        f"{counters['read_hits']};\n"


def test_percentiles_are_columns(dm):
    dm.cache(latency={"read_hits": {5: 990, 8: 9, 10: 1}, "absorbed": {}})
    percentiles = [f"{kind}_{p}_us" for kind in LATENCIES for p in ("p50", "p99", "p999")]
    names = dm.out("status", "-o", "help")
    assert all(f"\n  {name} " in names for name in percentiles)
    line = dm.out("status", "--noheadings", "--separator", ";", "-o", ",".join(percentiles)).strip().split(";")
    values = dict(zip(percentiles, line, strict=True))
    assert [values[f"read_hits_{p}_us"] for p in ("p50", "p99", "p999")] == ["49", "66", "524"]
    assert values["absorbed_p99_us"] == "" and values["origin_flushes_p50_us"] == "49"
    assert columns(dm, "-o", "name", "-S", "read_hits_p999_us>500") == [["vg/lv"]]
    assert dm.out("status", "-o", "name", "-S", "read_hits_p999_us>600") == ""
    dm.write("version", "2.3.0")
    assert dm.out("status", "-o", "read_hits_p99_us", "--noheadings").strip() == ""


def test_reports_that_make_no_sense(dm):
    dm.cache()
    assert "Unrecognised field: nosuch; 'help'" in dm.complaint(2, "status", "-o", "nosuch")
    assert "nosuch" in dm.complaint(2, "status", "-O", "nosuch")
    assert "'help' in its place" in dm.complaint(2, "status", "-S", "used_percent~~1")
    assert "there are h, b" in dm.complaint(2, "status", "--units", "q")
    assert "basic and json" in dm.complaint(2, "status", "--reportformat", "xml")
    assert "--reportformat json" in dm.complaint(2, "status", "--json", "-o", "name")
    assert "Selection operators" in dm.out("status", "-S", "help")


def test_names_of_groups_and_pools(dm):
    three(dm)
    devices(dm)
    assert len(dm.json("status", "vg", schema="status")["caches"]) == 2
    assert dm.json("status", "other", schema="status")["caches"][0]["name"] == "other/lv"
    assert {c["name"] for c in dm.json("status", "vg/fast", schema="status")["caches"]} == {"vg/lv", "vg/two"}
    assert "vg: has 2 caches" in dm.complaint(3, "set", "vg", "read_level=1")
    dm.run("set", "other", "read_level=2")
    assert dm.log() == ["message other-lv read_level 2"]
    for name in ("vg-fast_cdata", "vg-fast_cvol-cdata"):
        dm.write("sys/dev/block/253:1/dm/name", f"{name}\n")
        assert len(dm.json("status", "/dev/vg/fast", schema="status")["caches"]) == 2
    dm.command("lvs", "exit 5")
    assert "no such volume" in dm.complaint(3, "status", "vg/fas")
    assert "no cache of that name" in dm.complaint(3, "status", "v")


def test_windows(dm):
    zero = dict.fromkeys(COUNTERS, 0)
    dm.cache(stats=zero, io=(0,) * 8)
    c, = dm.json("status", schema="status")["caches"]
    assert c["last_minute"]["seconds"] is None and c["last_hour"]["hit_ratio"] is None
    shift_history(dm, 55 * 60)
    dm.cache(stats=zero | {"read_hits": 10, "read_misses": 30}, io=(0,) * 8)
    dm.json("status", schema="status")
    shift_history(dm, 50)
    dm.cache(stats=zero | {"read_hits": 90, "read_misses": 50, "cache_sectors_written": 8,
                           "timed_read_hits": 4, "read_hits_ns": 500000,
                           "timed_write_misses": 2, "write_misses_ns": 18000000},
             latency={"read_hits": {6: 3, 9: 1}},
             io=(4, 0, 16, 2, 0, 0, 0, 0))
    c, = dm.json("status", schema="status")["caches"]
    assert c["last_minute"]["seconds"] == pytest.approx(60, abs=11)
    assert c["last_minute"]["hit_ratio"] == pytest.approx(.8)
    assert c["last_minute"]["ssd_bytes_per_user_byte"] == pytest.approx(.5)
    assert c["last_minute"]["read_ms"] == pytest.approx(.5)
    assert c["last_minute"]["read_hit_ms"] == pytest.approx(.125)
    assert c["last_minute"]["write_miss_ms"] == pytest.approx(9)
    assert c["last_minute"]["latency"]["read_hits"]["requests"] == 4
    # Half of the four: two of the three that took 2^16 to 2^17 ns.
    assert c["last_minute"]["latency"]["read_hits"]["p50_ms"] == pytest.approx(.065536 * 5 / 3, rel=1e-5)
    assert c["last_minute"]["latency"]["read_misses"]["p99_ms"] is None
    assert c["last_minute"]["read_miss_ms"] is None and c["last_minute"]["write_hit_ms"] is None
    assert c["last_hour"]["seconds"] == pytest.approx(56 * 60, abs=30)
    assert c["last_hour"]["hit_ratio"] == pytest.approx(90 / 140, rel=1e-5)
    text = dm.out("status")
    assert "80.0% of 100" in text and "56 min" in text


def test_devices_at_work(dm):
    """The load of the last minute shows which of the two devices is the limit."""
    zero = (0,) * 11
    dm.cache(io=zero, fast_io=zero, origin_io=zero)
    dm.out("status")
    shift_history(dm, 60)
    dm.cache(io=(1200, 0, 9600, 600, 60, 0, 960, 60, 0, 30000, 60000),
             fast_io=(600, 0, 4800, 60, 120, 0, 1920, 24, 0, 6000, 6000),
             origin_io=(600, 0, 4800, 6000, 0, 0, 0, 0, 0, 57000, 120000))
    rows = [line.split() for line in device_table(dm.out("status"))]
    assert rows[0] == "lately r/s w/s rB/s wB/s size r w depth util%".split()
    assert [row[0] for row in rows[1:]] == ["volume", "SSD", "origin"] and all(len(row) == 10 for row in rows)
    assert [row[5:8] for row in rows[1:]] == [["4.3k", "500us", "1.0ms"], ["4.8k", "100us", "200us"],
                                              ["4.1k", "10ms", "-"]]
    assert all("-" not in row[1:5] + row[8:] for row in rows[1:])
    c, = dm.json("status", schema="status")["caches"]
    seconds, origin = c["last_minute"]["seconds"], c["last_minute"]["origin"]
    assert origin["util"] * seconds == pytest.approx(57, rel=1e-3)
    assert origin["depth"] * seconds == pytest.approx(120, rel=1e-3)
    assert origin["write_ms"] is None and c["last_minute"]["cache_device"]["read_ms"] == pytest.approx(.1)
    assert c["last_hour"]["volume"]["util"] is None
    # Since a mark that was set then, the same.
    dm.out("mark", "then")
    dm.cache(io=(1300, 0, 9600, 600, 60, 0, 960, 60, 0, 30000, 60000))
    assert device_table(dm.out("status", "--since", "then"))[0].startswith("since then r/s")


def test_windows_need_a_sample_of_that_age(dm):
    for age in (20, 100, 20 * 60):
        dm.cache()
        dm.out("status")
        shift_history(dm, age)
        c, = dm.json("status", schema="status")["caches"]
        assert c["last_minute"]["seconds"] is None and c["last_hour"]["seconds"] is None
        (dm.path / "run/hearth/vg-lv").unlink()


def test_history_of_another_life_is_dropped(dm):
    dm.cache()
    dm.out("status")
    shift_history(dm, 60)
    dm.cache(stats=dict.fromkeys(COUNTERS, 1))
    c, = dm.json("status", schema="status")["caches"]
    assert c["last_minute"]["seconds"] is None
    assert len((dm.path / "run/hearth/vg-lv").read_text().splitlines()) == 2


def test_history_is_bounded(dm):
    counters = " ".join(["0"] * (len(COUNTERS) + 24 + len(LATENCIES) * BUCKETS))
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    dm.cache()
    for step, nr, least, most in ((40, 126, 60, 70), (2, 4400, 1, 128)):
        lines = [f"{now - 5080 + step * i:.3f} {counters}" for i in range(nr)]
        dm.write("run/hearth/vg-lv", "\n".join(["hearth-history 5", *lines, ""]))
        dm.out("status")
        kept = (dm.path / "run/hearth/vg-lv").read_text().splitlines()[1:]
        assert least <= len(kept) <= most
    dm.write("run/hearth/vg-lv", "something else\n1 2 3")
    dm.out("status")


def test_stock_target(dm):
    dm.write("version", "2.3.0")
    counters = dm.cache(core="0", settings="0")
    c, = dm.json("status", schema="status")["caches"]
    assert c["engine"] == "kernel" and c["health"] == "good"
    assert c["counters"] == {name: counters[name] for name in COUNTERS[:6]}
    assert c["ssd_bytes_per_user_byte"] is None
    assert "passed by" not in dm.out("status")


def test_failed_and_unreadable(dm):
    dm.write("version", "2.3.0")
    dm.cache(status="Fail")
    c, = dm.json("status", schema="status")["caches"]
    assert c["health"] == "failed"
    dm.cache(status="8 20/2048 128 nonsense")
    r = dm.run("status")
    assert "cannot make sense" in r.stderr
    dm.cache(rw="ro", check="needs_check")
    text = dm.out("status")
    assert "read-only, needs check" in text


def test_names(dm):
    dm.cache()
    dm.cache("by_hand", lvm=False, devno="253:9")
    dm.cache("vg-pool_tdata", devno="253:10")
    dm.cache("my--vg-my--lv", devno="253:11")
    for name in ("vg/lv", "vg-lv", "/dev/vg/lv", "/dev/mapper/vg-lv"):
        assert dm.json("status", name, schema="status")["caches"][0]["name"] == "vg/lv"
    for name, found in (("by_hand", "by_hand"), ("vg/pool", "vg/pool_tdata"),
                        ("my-vg/my-lv", "my-vg/my-lv")):
        assert dm.json("status", name, schema="status")["caches"][0]["name"] == found
    assert len(dm.json("status", schema="status")["caches"]) == 4
    assert len(dm.out("status").splitlines()) == 5


def test_not_a_cache(dm):
    dm.command("lvs", """
        case ${!#} in
        vg/plain) echo '  linear|active' ;;
        vg/off) echo '  cache|' ;;
        *) exit 5 ;;
        esac""")
    assert "no such volume" in dm.complaint(3, "status", "vg/none")
    assert "its type is linear" in dm.complaint(3, "status", "vg/plain")
    assert "lvchange -ay vg/off" in dm.complaint(3, "status", "vg/off")
    assert "no cache of that name" in dm.complaint(3, "status", "nothing")
    assert dm.out("status") == "no cache is active\n"


def test_no_device_mapper(dm):
    assert "only root" in dm.complaint(4, "status", env={"HEARTH_FAKE_ERROR": "13"})
    assert "modprobe dm-mod" in dm.complaint(4, "status", env={"HEARTH_FAKE_ERROR": "19"})


OF_A_CACHE = [("status",), ("set", "{}", "read_level=1"), ("drain",), ("split",), ("uncache",),
              ("replace-ssd", "{}", "/dev/new"), ("monitor",), ("monitor", "--register"),
              ("advise", "--cache", "{}", "/dev/null"), ("advise", "--live", "{}")]


def of(args, name):
    return [a.format(name) for a in args] + [name] * (not any("{}" in a for a in args))


def test_write_log(dm):
    dm.cache(log="on", segments=48)
    assert "\n  write log   on, 3 MiB on the SSD\n" in dm.out("status", "vg/lv")
    dm.cache()
    assert "write log" not in dm.out("status", "vg/lv")


@pytest.mark.parametrize("args", OF_A_CACHE, ids=" ".join)
def test_one_clear_line(dm, args):
    """Each subcommand has one line for an unknown volume, one without a cache, no device-mapper, no root."""
    dm.command("lvs", '[ "${!#}" = vg/plain ] && echo "  linear|active" || exit 5')
    assert "vg/none" in dm.complaint(3, *of(args, "vg/none"))
    # advise can record a volume without a cache; this one has no device.
    assert "vg/plain" in dm.complaint(3, *of(args, "vg/plain"))
    if args[:2] == ("advise", "--live"):
        # It needs no device-mapper, but without one it finds no such volume.
        assert "no such volume" in dm.complaint(3, *of(args, "vg/lv"), env={"HEARTH_FAKE_ERROR": "19"})
    else:
        assert "modprobe dm-mod" in dm.complaint(4, *of(args, "vg/lv"), env={"HEARTH_FAKE_ERROR": "19"})
    assert "only root" in dm.complaint(4, *of(args, "vg/lv"), env={"HEARTH_FAKE_ERROR": "13"})


@pytest.mark.parametrize("args", [("top", "--count", "1"), ("export",), ("doctor",), ("status",),
                                  ("monitor",)], ids=" ".join)
def test_one_clear_line_of_all_caches(dm, args):
    if args == ("doctor",):
        # doctor continues without device-mapper, and makes that a finding.
        assert "modprobe dm-mod" in dm.run(*args, code=6, env={"HEARTH_FAKE_ERROR": "19"}).stdout
    else:
        assert "modprobe dm-mod" in dm.complaint(4, *args, env={"HEARTH_FAKE_ERROR": "19"})
    assert "only root" in dm.complaint(4, *args, env={"HEARTH_FAKE_ERROR": "13"})


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become someone else")
def test_not_root():
    r = subprocess.run([BIN / "real/hearth", "status"], text=True, capture_output=True,
                       user=65534, check=False)
    assert r.returncode == 4 and r.stderr == "hearth: only root may talk to device-mapper\n"


def test_usage(dm):
    assert "no subcommand 'stauts'" in dm.complaint(2, "stauts")
    assert "hearth status --help" in dm.run("status", "--nonsense", code=2).stderr
    assert "Usage" in dm.run("status", "a", "b", code=2).stderr
    assert "Usage" in dm.run(code=2).stderr
    assert "--json" in dm.out("status", "--help")
    assert dm.out("--version").startswith("hearth ")


def test_output_that_cannot_be_written(dm):
    dm.cache()
    with open("/dev/full", "w", encoding="ascii") as full:
        r = subprocess.run([BIN / "fake/hearth", "status"], stdout=full,
                           stderr=subprocess.PIPE, env=dm.environment(), check=False)
    assert r.returncode == 1


def spoilt(rng, line):
    """Returns the line with words lost, added, doubled or exchanged."""
    words = line.split(" ")
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(words))
        words[i:i + 1] = rng.choice([
            [], [words[i], "99999999999999999999"], ["-1"], ["x" * 300], ["1/"], [words[i]] * 2,
            ['"\\'], ["4294967296"], [words[i], words[i - 1]], [""]])
        words = words or [""]
    return " ".join(words)


def test_spoilt_lines(dm):
    """Whatever the target answers, status does not crash, and prints JSON."""
    rng = random.Random(7)
    dm.cache()
    device, stats = dm.path / "vg-lv.dev", dm.path / "vg-lv.stats"
    lines, counters = device.read_text().splitlines(), stats.read_text()
    for _ in range(40):
        said = [line.split(" ", 1) for line in lines]
        device.write_text("".join(
            f"{key} {spoilt(rng, words) if key in ('status', 'table') else words}\n"
            for key, words in said))
        stats.write_text(spoilt(rng, counters))
        json.loads(dm.out("status", "--json"))
        dm.out("status")
