# SPDX-License-Identifier: GPL-2.0-only
"""hearth monitor, and the rules by which dmeventd's plugin writes to the log."""

import errno
import subprocess
import time

import pytest

from fake import BIN, HERE

TOP = HERE.parents[1]
DEFAULTS = "10 80 90 1800 50 300 ''"


class Feed:
    """Collects status lines; told() feeds them to the rules and returns the notices."""

    def __init__(self, path):
        self.conf = path / "monitor.conf"
        self.lines = []
        self.counters = {}

    def look(self, when, status=None, health="good", features="2 metadata2 writeback", used=256,
             dirty=0, meta=20, rw="rw", check="-", hits=0, misses=0, **counters):
        line = status or (f"8 {meta}/100 128 {used}/512 {hits} {misses} 0 0 0 0 {dirty} {features} "
                          f"2 migration_threshold 2048 smq 0 {rw} {check} ")
        stats = [f"health {health}", *(f"{k} {v}" for k, v in counters.items())]
        self.lines.append(f"{when}|{line}|{';'.join(stats) if not status else ''}")
        return self

    def told(self):
        r = subprocess.run([BIN / "fake/monitor-feed", self.conf], input="".join(line + "\n" for line in self.lines),
                           text=True, capture_output=True, check=True)
        first, *rest = r.stdout.splitlines()
        self.read = first
        return rest


@pytest.fixture
def feed(tmp_path):
    return Feed(tmp_path)


def test_nothing_to_tell(feed):
    for i in range(100):
        feed.look(i * 10, hits=i * 100, misses=i * 10)
    assert feed.told() == []
    assert feed.read == f"conf 0: {DEFAULTS}"


def test_health_begins_changes_and_is_over(feed):
    feed.look(1).look(2, health="holding").look(3, health="holding")
    feed.look(4, health="bypass").look(5).look(6)
    assert [" ".join(t.split()[:4]).rstrip(":") for t in feed.told()] == [
        "2 health begins holding", "4 health begins bypass", "5 health over in"]


def test_the_origin_was_written_without_the_cache(feed):
    feed.look(1, origin="changed").look(2, origin="changed").look(3, origin="same").look(4, origin="unchecked")
    told = feed.told()
    assert [t.split()[:3] for t in told] == [["1", "origin-changed", "begins"], ["3", "origin-changed", "over"]]
    assert "which began empty" in told[0]


def test_sick_from_the_start(feed):
    feed.look(1, health="cache-device-failed", rw="ro", check="needs_check")
    told = feed.told()
    assert len(told) == 2
    assert told[0].startswith("1 health begins cache-device-failed: the cache device has failed")
    assert told[1].startswith("1 needs-check begins")


@pytest.mark.parametrize("line", ["Fail", "Error"])
def test_the_kernels_own_failure(feed, line):
    feed.look(1).look(2, status=line).look(3, status=line).look(4)
    assert [t.split()[:3] for t in feed.told()] == [
        ["2", "health", "begins"], ["4", "health", "over"]]


def test_an_unreadable_line_is_no_news(feed):
    feed.look(1, health="holding").look(2, status="8 1/2 3").look(3, health="holding")
    assert [t.split()[:2] for t in feed.told()] == [["1", "health"], ["2", "unreadable"]]


def test_errors_of_the_ssd(feed):
    feed.look(0).look(10, cache_write_errors=1).look(20, cache_write_errors=5)
    feed.look(3000, cache_write_errors=6).look(6500, cache_write_errors=6)
    feed.look(6700, cache_write_errors=6).look(6800, cache_write_errors=6, origin_errors=1)
    assert [t.split()[:3] for t in feed.told()] == [
        ["10", "cache-device-errors", "begins"], ["6700", "cache-device-errors", "over"],
        ["6800", "origin-errors", "begins"]]


def test_errors_after_a_reload_count_from_zero(feed):
    feed.look(0, cache_read_errors=9).look(4000, cache_read_errors=9)
    feed.look(4010, cache_read_errors=0).look(4020, cache_read_errors=1)
    assert [t.split()[0] + t.split()[2] for t in feed.told()] == ["0begins", "4000over", "4020begins"]


def test_metadata(feed):
    feed.look(1, meta=79).look(2, meta=80).look(3, meta=99).look(4, meta=10)
    assert [t.split()[:3] for t in feed.told()] == [
        ["2", "metadata-full", "begins"], ["4", "metadata-full", "over"]]


def test_dirty_for_long(feed):
    feed.look(100, dirty=500).look(1899, dirty=500).look(1901, dirty=500).look(1911, dirty=500)
    feed.look(1921, dirty=400).look(1931, dirty=500).look(3000, dirty=500)
    assert [t.split()[:3] for t in feed.told()] == [
        ["1901", "dirty", "begins"], ["1921", "dirty", "over"]]


def test_dirty_but_draining(feed):
    """In writethrough dirty blocks are on their way to the origin anyway, so no notice comes."""
    for when in range(0, 5000, 100):
        feed.look(when, dirty=512, features="1 writethrough")
    assert feed.told() == []


def traffic(feed, shares, accesses=10000, period=300):
    """Feeds a period of requests for each hit ratio."""
    hits = misses = 0
    for i, share in enumerate(shares):
        feed.look(i * period, hits=hits, misses=misses)
        hits += int(accesses * share)
        misses += accesses - int(accesses * share)
    feed.look(len(shares) * period, hits=hits, misses=misses)


def test_hits_fall_and_come_back(feed):
    traffic(feed, [.9] * 5 + [.8, .3, .2, .5, .85, .9])
    assert [t.split()[:3] for t in feed.told()] == [
        ["2100", "hits-fell", "begins"], ["3000", "hits-fell", "over"]]


def test_a_shorter_period(feed):
    feed.conf.write_text("hits_seconds = 20\n")
    traffic(feed, [.9] * 5 + [.3] * 2, period=20)
    assert [t.split()[:3] for t in feed.told()] == [["120", "hits-fell", "begins"]]


def test_a_cold_cache_is_not_a_fall(feed):
    traffic(feed, [.5, .1, .05, .2, .4, .6, .8, .9])
    assert feed.told() == []


def test_an_idle_night_is_not_a_fall(feed):
    traffic(feed, [.9] * 6)
    hits, misses = 54000, 6000
    for i in range(100):
        feed.look(1800 + i * 300, hits=hits, misses=misses + i * 5)
    assert feed.told() == []


def test_a_new_load_becomes_usual(feed):
    traffic(feed, [.9] * 12 + [.3] * 400)
    assert [t.split()[2] for t in feed.told()] == ["begins", "over"]


def test_conf(feed):
    feed.conf.write_text("# remark\n\n interval=3\nmetadata_percent = 0\ndirty_percent=50 \n"
                         "dirty_seconds = 0\nhits_percent =0\nhits_seconds=60\ncommand = /bin/tell me\n")
    feed.look(1, meta=100, dirty=300)
    assert [t.split()[:2] for t in feed.told()] == [["1", "dirty"]]
    assert feed.read == "conf 0: 3 0 50 0 0 60 '/bin/tell me'"


def test_conf_in_sections_is_none_of_ours(feed):
    feed.conf.write_text("interval = 3\n[other]\ninterval = 4\n")
    feed.told()
    assert feed.read == f"conf 3: {DEFAULTS.replace('10', '3', 1)}"


@pytest.mark.parametrize("line", [
    f"command=/{'x' * 300}",
    "interval", "interval=0", "interval=x", "interval=-1", "dirty_percent=101", "nonsense=1",
    "command=tell", "hits_percent=5%", "hits_seconds=0"])
def test_conf_with_a_bad_line(feed, line):
    feed.conf.write_text(f"\n{line}\nmetadata_percent=30\n")
    feed.told()
    assert feed.read == f"conf 2: {DEFAULTS.replace('80', '30', 1)}"


def test_the_conf_that_is_installed_holds_the_defaults(feed):
    text = (TOP / "lvm-plugin/dmeventd/monitor.conf").read_text()
    feed.conf.write_text(text)
    feed.told()
    assert feed.read == f"conf 0: {DEFAULTS}"
    feed.conf.write_text("\n".join(line[1:] for line in text.splitlines() if line[:2] != "# "))
    feed.told()
    assert feed.read.startswith(f"conf 0: {DEFAULTS.rsplit(' ', 1)[0]}")


# ---- The subcommand


def test_register_and_list(dm):
    dm.cache()
    assert dm.out("monitor") == "vg/lv: not monitored\n"
    assert dm.out("monitor", "--register", "vg/lv") == "vg/lv: monitored\n"
    assert dm.log() == ["monitor vg-lv 10"]
    assert dm.json("monitor", schema="monitor") == {"caches": [{"name": "vg/lv", "monitored": True}]}
    assert dm.out("monitor", "--unregister") == "vg/lv: not monitored\n"
    assert dm.log() == ["monitor vg-lv 10", "monitor vg-lv 0"]


def test_register_again_takes_the_new_interval(dm):
    dm.cache()
    dm.out("monitor", "--register")
    dm.write("etc/hearth/monitor.conf", "interval = 60\n")
    dm.out("monitor", "--register")
    assert dm.log()[-2:] == ["monitor vg-lv 0", "monitor vg-lv 60"]


def test_for_udev(dm):
    dm.cache()
    for _ in range(2):
        assert dm.out("monitor", "--quiet", "--register", "vg-lv") == ""
    assert dm.log() == ["monitor vg-lv 10"]
    # The new table is no cache's, so the volume is no longer watched.
    (dm.path / "vg-lv.dev").write_text("uuid LVM-abc\n")
    assert dm.out("monitor", "--quiet", "--register", "vg-lv") == ""
    assert dm.log()[1:] == ["monitor vg-lv 0"]
    assert dm.out("monitor", "--quiet", "--register", "vg-lv") == ""
    assert dm.out("monitor", "--quiet", "--register", "gone") == ""
    assert len(dm.log()) == 2


@pytest.mark.parametrize("error,why", [
    (61, "UUID"), (2, "libdevmapper-event-hearth.so"), (112, "dm-event.socket"), (5, "Input/output")])
def test_what_is_in_the_way(dm, error, why):
    dm.cache()
    dm.write("no-dmeventd", str(error))
    assert why in dm.complaint(1, "monitor", "--register")
    if error != 61:
        assert why in dm.complaint(1, "monitor", "--quiet", "--register", "vg-lv")


@pytest.mark.parametrize("error, why", [
    (errno.EACCES, "only root may talk to device-mapper"), (errno.ENOMEM, "Cannot allocate memory")])
def test_udev_is_told_if_the_device_cannot_be_asked(dm, error, why):
    dm.cache()
    dm.write("look-error", f"{error}")
    assert why in dm.complaint(4, "monitor", "--quiet", "--register", "vg-lv")
    assert dm.log() == []
    # It is gone, which is no failure.
    dm.write("look-error", f"{errno.ENXIO}")
    assert dm.out("monitor", "--quiet", "--register", "vg-lv") == ""


def test_usage(dm):
    dm.complaint(2, "monitor", "--register", "--unregister")
    dm.complaint(2, "monitor", "--quiet")
    dm.complaint(3, "monitor", "nothing")


# ---- The plugin, with a stand-in for dmeventd and the kernel


@pytest.fixture
def plugin(dm):
    dm.cache(dirty=0)
    (dm.path / "etc/hearth").mkdir(parents=True)
    dm.write("version", "2.100.0")
    tell = dm.write("tell", '#!/bin/sh\nfor w; do echo "$w"; done >>"$0.d"\n')
    tell.chmod(0o755)
    dm.write("etc/hearth/monitor.conf", f"command = {tell}\n")

    def run(events, answers=True, **cache):
        dm.cache(**{"dirty": 0, "stats": {"cache_read_errors": 0, "cache_write_errors": 0,
                                          "origin_errors": 0}, **cache})
        lines = dict(line.split(" ", 1) for line in (dm.path / "vg-lv.dev").read_text().splitlines())
        dm.write("status", lines["status"])
        dm.write("table", lines["table"])
        if answers:
            dm.write("stats", (dm.path / "vg-lv.stats").read_text())
        r = subprocess.run([BIN / "fake/plugin-host", dm.path], input=events, text=True,
                           capture_output=True, env=dm.environment(), timeout=60, check=True)
        return r.stderr

    return run


def told(dm, count):
    """Waits for the command, because the plugin does not, and returns its arguments."""
    file = dm.path / "tell.d"
    for _ in range(100):
        if file.exists() and len(file.read_text().splitlines()) >= count:
            break
        time.sleep(.1)
    return file.read_text().splitlines() if file.exists() else []


def test_the_plugin_notices_an_origin_that_is_gone(dm, plugin):
    """The table holds on to the old device until LVM has loaded another."""
    dm.write("deps/253:3", "259:7\n")
    dm.device("253:3", "dm-3", "vg-lv_corig")
    log = plugin("look\nlook\n")
    assert log.count("origin-gone: device 259:7 of the origin is gone") == 1
    assert "'lvchange --refresh vg/lv'" in log
    dm.device("259:7", "nvme0n1")
    assert "origin-gone" not in plugin("look\n")


def test_the_plugin_tells_log_and_command(dm, plugin):
    log = plugin("look\nlook\n", health="holding")
    assert log.count("hearth: vg/lv: health: holding: the metadata cannot be written") == 1
    assert "watching vg-lv" in log and "no longer watching vg-lv" in log
    lines = told(dm, 4)
    assert lines[:3] == ["vg/lv", "health", "begins"] and lines[3].startswith("holding: ")
    assert len(lines) == 4


def test_the_plugin_has_nothing_to_tell(dm, plugin):
    log = plugin("look\n" * 5)
    assert len(log.splitlines()) == 2 and not (dm.path / "tell.d").exists()


def test_the_plugin_keeps_counters_for_status(dm, plugin):
    plugin("look\n")
    head, *lines = (dm.path / "var/lib/hearth/counters/vg-lv").read_text().splitlines()
    assert head.endswith(" LVM-abc") and lines[-1].startswith("at ")
    lines = (dm.path / "run/hearth/vg-lv").read_text().splitlines()
    assert len(lines) == 2
    out = dm.json("status", schema="status")["caches"][0]
    kept = [int(n) for n in lines[1].split()[1:]]
    assert kept[:2] == [out["counters"]["read_hits"], out["counters"]["read_misses"]]
    # The file holds the samples of both programs; status did not begin a new one.
    assert len((dm.path / "run/hearth/vg-lv").read_text().splitlines()) >= 2


def test_the_plugin_is_told_of_a_bad_line_once(dm, plugin):
    dm.write("etc/hearth/monitor.conf", "interval = soon\n")
    assert plugin("look\n" * 4).count("line 1 makes no sense") == 1


def test_the_plugin_and_what_is_no_cache(dm, plugin):
    assert len(plugin("gone\nlook\ngone\n", health="bypass").splitlines()) == 3


def test_the_plugin_and_the_kernels_own_target(dm, plugin):
    """The plugin does not send it the message stats, because it would log an error."""
    dm.write("version", "2.2.0")
    assert len(plugin("look\n", health="bypass").splitlines()) == 2


def test_the_plugin_and_a_table_that_is_being_replaced(dm, plugin):
    """Before the table is resumed, its status line ends in "ro" and it answers no message."""
    assert len(plugin("look\n", answers=False, rw="ro").splitlines()) == 2
