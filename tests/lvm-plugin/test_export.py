# SPDX-License-Identifier: GPL-2.0-only
"""hearth export: the format, the figures, the file, the units, the alerts and the dashboard."""

import json
import os
import re
import subprocess
import time

import pytest

from fake import BIN, BUCKETS, COUNTERS, HERE, LATENCIES
from programs import need
from prometheus import parse

TOP = HERE.parents[1]


# The labels that all metrics of a cache have.
OF = {"cache": "vg/lv", "vg": "vg", "lv": "lv", "device": "dm-4"}


@pytest.fixture(autouse=True)
def node(dm):
    dm.device("253:0", "dm-4", "vg-lv")


def value(metrics, name, **labels):
    labels = OF | labels
    return metrics[name][1][tuple(labels.items())]


def test_figures(dm):
    n = dm.cache()
    m = parse(dm.out("export"))
    assert value(m, "hearth_cache_used_bytes") == 16 << 20
    assert value(m, "hearth_cache_dirty_bytes") == 4 << 20
    assert value(m, "hearth_cache_size_bytes") == 32 << 20
    assert value(m, "hearth_cache_volume_bytes") == 128 << 20
    assert value(m, "hearth_cache_hits_total", op="read") == n["read_hits"]
    assert value(m, "hearth_cache_misses_total", op="write") == n["write_misses"]
    for reason in ("cold", "stream", "limit", "policy", "busy", "rate", "share", "no_slot", "race"):
        assert value(m, "hearth_cache_bypasses_total", reason=reason) == n[f"bypass_{reason}"]
    assert value(m, "hearth_cache_written_bytes_total") == 512 * n["cache_sectors_written"]
    assert value(m, "hearth_cache_errors_total", kind="origin") == n["origin_errors"]
    for name in ("promotions", "demotions", "writebacks", "invalidations", "commits", "intents"):
        assert value(m, f"hearth_cache_{name}_total") == n[name]
    assert value(m, "hearth_cache_retired_blocks") == n["retired_blocks"]
    assert value(m, "hearth_cache_intents_held") == 3
    assert value(m, "hearth_volume_bytes_total", op="read") == 2000 * 512
    assert value(m, "hearth_volume_seconds_total", op="write") == .08
    assert value(m, "hearth_cache_healthy") == 1
    assert value(m, "hearth_device_busy_seconds_total", role="volume") == .07
    assert value(m, "hearth_device_queue_seconds_total", role="volume") == .13
    assert value(m, "hearth_device_requests_total", role="ssd", op="read") == 80
    assert value(m, "hearth_device_bytes_total", role="ssd", op="write") == 2000 * 512
    assert value(m, "hearth_device_bytes_total", role="origin", op="read") == 400 * 512
    assert value(m, "hearth_device_busy_seconds_total", role="ssd") == 0


def test_devices_and_versions(dm):
    dm.cache(check="needs_check")
    dm.write("sys/module/dm_cache/version", "0.1.9\n")
    dm.device("253:1", "dm-1", "vg-fast_cpool_cdata", ["259:0"])
    dm.device("253:3", "dm-3", "vg-lv_corig", ["8:16"])
    dm.device("259:0", "nvme0n1")
    dm.device("8:16", "sdb")
    m = parse(dm.out("export"))
    assert value(m, "hearth_cache_info", mode="writeback", table_mode="writeback", policy="heat",
                 table_policy="smq", health="good", engine="hearth", version="0.1.9", ssd="dm-1",
                 ssd_disks="/dev/nvme0n1", origin="dm-3", origin_disks="/dev/sdb", ssd_transport="local",
                 origin_transport="local", lock_type="none") == 1
    assert value(m, "hearth_cache_needs_check") == value(m, "hearth_cache_writes_back") == 1
    version = dm.out("--version").split()[1]
    assert m["hearth_build_info"][1] == {(("version", version),): 1}
    assert abs(m["hearth_export_time_seconds"][1][()] - time.time()) < 60


def test_lock_type(dm):
    """Only lvmlockd is asked, because LVM's own commands read disks."""
    dm.cache()
    dm.command("lvmlockctl", "printf '\\nVG other lock_type=dlm abc\\nVG vg lock_type=sanlock def\\nLS sanlock lvm\\n'")
    assert 'lock_type="none"' in dm.out("export")
    dm.write("run/lvm/lvmlockd.socket", "")
    assert 'lock_type="sanlock"' in dm.out("export")
    dm.command("lvmlockctl", "exit 1")
    assert 'lock_type="none"' in dm.out("export")


def test_several_caches_and_strange_names(dm):
    dm.cache()
    dm.cache('by"hand\\x', lvm=False, devno="253:9", health="bypass", rw="ro")
    m = parse(dm.out("export"))
    assert m["hearth_cache_healthy"][1] == {
        tuple(OF.items()): 1,
        (("cache", 'by\\"hand\\\\x'), ("vg", ""), ("lv", ""), ("device", "253:9")): 0}


def test_stock_target(dm):
    dm.write("version", "2.3.0")
    n = dm.cache()
    m = parse(dm.out("export"))
    assert value(m, "hearth_cache_promotions_total") == n["promotions"]
    assert m["hearth_cache_bypasses_total"][1] == {}


def test_no_cache_and_no_device_mapper(dm):
    m = parse(dm.out("export"))
    assert {name for name, (_, samples) in m.items() if samples} == \
        {"hearth_build_info", "hearth_export_time_seconds"}
    assert dm.run("export", code=4, env={"HEARTH_FAKE_ERROR": "19"}).stdout == ""


def test_file(dm, tmp_path):
    dm.cache()
    file = dm.write("out/hearth.prom", "old")
    before = os.stat(file).st_ino
    assert dm.out("export", "--file", file) == ""
    assert parse(file.read_text()) and os.stat(file).st_ino != before
    assert oct(file.stat().st_mode)[-3:] == "644"
    assert os.listdir(file.parent) == ["hearth.prom"]
    # hearth leaves the file as it was if device-mapper does not answer.
    text = file.read_text()
    dm.run("export", "--file", file, code=4, env={"HEARTH_FAKE_ERROR": "19"})
    assert file.read_text() == text
    assert "No such file" in dm.complaint(1, "export", "--file", tmp_path / "none/hearth.prom")


def run_promtool(*args, text=None):
    r = subprocess.run([need("promtool"), *map(str, args)], input=text, text=True, capture_output=True, check=False)
    assert r.returncode == 0, r.stdout + r.stderr


def test_prometheus_takes_it(dm):
    dm.cache()
    dm.cache('by"hand\\x', lvm=False, devno="253:9")
    run_promtool("check", "metrics", text=dm.out("export"))


def test_rules(dm):
    """promtool runs the alerts; they ask for metrics that there are, and each is tested."""
    rules = TOP / "contrib/prometheus-rules.yml"
    text, tests = rules.read_text(), (HERE / "rules-test.yml").read_text()
    dm.cache()
    asked = set(re.findall(r"\bhearth_\w+", text))
    assert asked and asked <= set(parse(dm.out("export")))
    for alert in re.findall(r"- alert: (\w+)", text):
        assert re.search(rf"alertname: {alert}\n +exp_alerts:", tests), alert
        assert re.search(rf"alertname: {alert}}}\n", tests), f"{alert}: no test that it is silent"
    run_promtool("check", "rules", rules)
    run_promtool("test", "rules", HERE / "rules-test.yml")


@pytest.fixture
def units(dm, tmp_path):
    """Where systemd takes the units that make install puts there."""
    subprocess.run(["make", "-s", "-C", TOP / "lvm-plugin", "install-units", f"DESTDIR={tmp_path}",
                    f"sbindir={dm.path}/bin"], check=True)
    (dm.path / "bin/hearth").symlink_to(BIN / "fake/hearth")
    return tmp_path / "usr/lib/systemd/system"


@pytest.mark.needs("systemd-analyze")
def test_systemd_takes_the_units(units):
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", *units.iterdir()], text=True,
                       capture_output=True, check=False)
    assert r.returncode == 0 and "hearth" not in r.stderr, r.stderr


def test_units(dm, units):
    """There are two, and their command works."""
    assert sorted(os.listdir(units)) == ["hearth-export.service", "hearth-export.timer"]
    service = (units / "hearth-export.service").read_text()
    command = re.search(r"^ExecStart=(.*)", service, re.M)[1].split()
    assert command[:3] == [f"{dm.path}/bin/hearth", "export", "--file"]
    # The service does nothing where no collector reads the file.
    assert f"ConditionPathIsDirectory={os.path.dirname(command[3])}\n" in service
    dm.cache()
    (dm.path / "out").mkdir()
    dm.run(*command[1:3], dm.path / "out/hearth.prom")
    parse((dm.path / "out/hearth.prom").read_text())


@pytest.mark.skipif(os.getuid() or not os.path.exists("/lib/systemd/systemd"), reason="needs root and systemd")
def test_the_timer_of_a_real_systemd(dm, tmp_path):
    subprocess.run(["make", "-s", "-C", TOP / "lvm-plugin", "install-units", f"DESTDIR={tmp_path}",
                    f"sbindir={dm.path}/bin"], check=True)
    units = tmp_path / "usr/lib/systemd/system"
    # The rest of a machine, and a minute that is shorter.
    for unit in ("sysinit", "basic", "shutdown", "timers"):
        (units / f"{unit}.target").write_text("[Unit]\nDefaultDependencies=no\n")
    (units / "timers.target.wants").mkdir()
    (units / "timers.target.wants/hearth-export.timer").symlink_to("../hearth-export.timer")
    (units / "hearth-export.timer.d").mkdir()
    (units / "hearth-export.timer.d/test.conf").write_text(
        "[Timer]\nOnBootSec=1\nOnUnitActiveSec=1\nAccuracySec=100ms\n")
    dm.cache()
    dm.command("hearth", f"export HEARTH_FAKE={dm.path} ASAN_OPTIONS=detect_leaks=0\nexec {BIN}/fake/hearth \"$@\"")
    metrics = dm.path / "metrics"
    metrics.mkdir()
    with subprocess.Popen([TOP / "tests/lib/systemd", units, "timers.target", metrics,
                           "/var/lib/prometheus/node-exporter"]) as systemd:
        written = set()
        end = time.monotonic() + 60
        while len(written) < 3 and time.monotonic() < end and systemd.poll() is None:
            if (metrics / "hearth.prom").exists():
                written.add((metrics / "hearth.prom").stat().st_mtime_ns)
            time.sleep(.2)
        systemd.kill()
    assert len(written) == 3
    assert "hearth_cache_used_bytes" in parse((metrics / "hearth.prom").read_text())


def test_dashboard_asks_for_all_that_there_is(dm):
    dm.cache()
    metrics = parse(dm.out("export"))
    board = json.loads((TOP / "contrib/grafana-hearth.json").read_text())
    asked = set()
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            asked |= set(re.findall(r"hearth_\w+", target["expr"]))
            for label in re.findall(r'[{,](\w+)=~?"', target["expr"]):
                assert label in ("cache", "op", "reason", "kind", "role")
    assert asked == set(metrics)
    boxes = [p["gridPos"] for p in board["panels"]]
    cells = [(x, y) for b in boxes for x in range(b["x"], b["x"] + b["w"])
             for y in range(b["y"], b["y"] + b["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert len({p["id"] for p in board["panels"]}) == len(board["panels"])


def test_histograms(dm):
    """The buckets add up, and Prometheus computes from them what hearth does."""
    n = dm.cache(latency={"read_hits": {0: 5, 5: 3, 23: 2}})
    m = parse(dm.out("export"))
    buckets = m["hearth_cache_request_seconds_bucket"][1]
    for kind in LATENCIES:
        label = kind.replace("hits", "hit").replace("misses", "miss").replace("flushes", "flush")
        own = [(dict(labels)["le"], v) for labels, v in buckets.items() if dict(labels)["kind"] == label]
        limits = [float(le) for le, _ in own]
        assert limits == sorted(limits) and limits[0] == 2.048e-6 and own[-1][0] == "+Inf" and len(own) == BUCKETS
        timed = 10 if kind == "read_hits" else n[f"timed_{kind}"]
        assert own[-1][1] == value(m, "hearth_cache_request_seconds_count", kind=label) == timed
        assert value(m, "hearth_cache_request_seconds_sum", kind=label) == pytest.approx(n[f"{kind}_ns"] / 1e9)
        if kind == "read_hits":
            assert [v for _, v in own] == [5] * 5 + [8] * 18 + [10]


def test_all_counters_are_exported(dm):
    n = dm.cache()
    values = {v for _, samples in parse(dm.out("export")).values() for v in samples.values()}
    lost = [c for c in COUNTERS if not values & {n[c], 512 * n[c], n[c] / 1e9}]
    assert not lost
