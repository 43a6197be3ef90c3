# SPDX-License-Identifier: GPL-2.0-only
"""hearth export: the format, the figures, the file and the port."""

import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

from fake import BIN, COUNTERS, HERE
from prometheus import parse

TOP = HERE.parents[1]


def value(metrics, name, **labels):
    labels = {"cache": "vg/lv"} | labels
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
    assert value(m, "hearth_cache_info", mode="writeback", table_mode="writeback", policy="smq",
                 health="good", engine="hearth") == 1


def test_several_caches_and_strange_names(dm):
    dm.cache()
    dm.cache('by"hand\\x', lvm=False, devno="253:9", health="bypass", rw="ro")
    m = parse(dm.out("export"))
    assert m["hearth_cache_healthy"][1] == {
        (("cache", "vg/lv"),): 1, (("cache", 'by\\"hand\\\\x'),): 0}


def test_stock_target(dm):
    dm.write("version", "2.3.0")
    n = dm.cache()
    m = parse(dm.out("export"))
    assert value(m, "hearth_cache_promotions_total") == n["promotions"]
    assert m["hearth_cache_bypasses_total"][1] == {}


def test_no_cache_and_no_device_mapper(dm):
    assert all(not samples for _, samples in parse(dm.out("export")).values())
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


@pytest.fixture
def server(dm):
    dm.cache()
    p = subprocess.Popen([BIN / "fake/hearth", "export", "--listen", "0"], text=True,
                         env=dm.environment(), stdout=subprocess.PIPE)
    yield p.stdout.readline().strip()
    p.send_signal(signal.SIGTERM)
    assert p.wait(timeout=10) == 0


def test_port(dm, server):
    assert server.startswith("http://127.0.0.1:") and server.endswith("/metrics")
    for used in (1, 2):
        dm.cache(used=used)
        dm.cache(used=used, listing=used)
        with urllib.request.urlopen(server, timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert value(parse(answer.read().decode()), "hearth_cache_used_bytes") == used << 16
    for path, method, code in (("/other", "GET", 404), ("/metrics", "POST", 405)):
        request = urllib.request.Request(server.replace("/metrics", path), method=method)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)
        assert refused.value.code == code


def test_port_survives_rude_clients(server):
    address = ("127.0.0.1", int(re.search(r":(\d+)/", server)[1]))
    for data in (b"", b"\r\n\r\n", b"GET", b"x" * 10000, b"GET /metrics HTTP/1.1\r\n\r\n"):
        with socket.create_connection(address, timeout=10) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
    with urllib.request.urlopen(server, timeout=20) as answer:
        parse(answer.read().decode())


@pytest.mark.parametrize("address", ["0.0.0.0:9", "192.0.2.1:9", "x", "", ":9", "99999",
                                     "127.0.0.1:", "localhost:9", "-1"])
def test_port_is_of_the_loopback(dm, address):
    assert "must be a port" in dm.complaint(2, "export", f"--listen={address}")


def test_dashboard_asks_for_what_there_is(dm):
    dm.cache()
    metrics = parse(dm.out("export"))
    board = json.loads((TOP / "contrib/grafana-hearth.json").read_text())
    asked = set()
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            asked |= set(re.findall(r"hearth_\w+", target["expr"]))
            for label in re.findall(r'[{,](\w+)=~?"', target["expr"]):
                assert label in ("cache", "op", "reason", "kind")
    assert asked and asked <= set(metrics)
    assert {"hearth_cache_hits_total", "hearth_cache_dirty_bytes",
            "hearth_cache_written_bytes_total", "hearth_cache_bypasses_total"} <= asked
    boxes = [p["gridPos"] for p in board["panels"]]
    cells = [(x, y) for b in boxes for x in range(b["x"], b["x"] + b["w"])
             for y in range(b["y"], b["y"] + b["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert len({p["id"] for p in board["panels"]}) == len(board["panels"])


def test_all_counters_are_exported(dm):
    n = dm.cache()
    values = {v for _, samples in parse(dm.out("export")).values() for v in samples.values()}
    lost = [c for c in COUNTERS if not values & {n[c], 512 * n[c], n[c] / 1e9}]
    assert not lost
