# SPDX-License-Identifier: GPL-2.0-only
"""hearth report: the page, and what a browser makes of it."""

import html
import json
import math
import re
import resource
import subprocess
import time

import pytest

from fake import BUCKETS, COUNTERS, HERE, LATENCIES, schema_of, valid
from programs import find
from test_advise import pages_of, trace_pages
from test_marks import is_old, record

TOP = HERE.parents[1]
SMART = json.dumps({
    "model_name": "A<b>SSD", "smart_status": {"passed": True}, "power_on_time": {"hours": 4321},
    "nvme_smart_health_information_log": {
        "percentage_used": 93, "available_spare": 100, "available_spare_threshold": 10,
        "data_units_written": 2000000, "media_errors": 0}})
LINES = 288


def a_day(dm):
    """A cache with a day of counters, which rise and fall as a working day does."""
    zero = dict.fromkeys(COUNTERS, 0)
    dm.cache(stats=zero, io=(0,) * 11, fast_io=(0,) * 11, origin_io=(0,) * 11)
    dm.out("status")
    head, base, *_ = record(dm).read_text().splitlines()
    base = " ".join(["base", *["0"] * (len(base.split()) - 1)])
    at = {name: i for i, name in enumerate(COUNTERS)}
    count = [0] * (len(COUNTERS) + 24 + len(LATENCIES) * BUCKETS)
    first_bucket = len(COUNTERS) + 24
    lines = []
    now = int(time.time())
    for i in range(LINES):
        load = 1.2 + math.sin(i / LINES * 2 * math.pi)
        hits = .5 + .4 * i / LINES
        for name, n in (("read_hits", 9000 * load * hits), ("read_misses", 9000 * load * (1 - hits)),
                        ("write_hits", 3000 * load), ("write_misses", 500 * load), ("promotions", 300 * load),
                        ("demotions", 200 * load), ("writebacks", 250 * load), ("bypass_cold", 900 * load),
                        ("bypass_stream", 300), ("cache_sectors_written", 200000 * load)):
            count[at[name]] += int(n)
        for device, reads in enumerate((9000 * load, 9000 * load * hits, 9000 * load * (1 - hits))):
            first = len(COUNTERS) + 8 * device
            for j, n in enumerate((reads, reads * 16, reads * (2, .2, 7)[device], 3000, 48000, 9000,
                                   (150000, 60000, 240000)[device] * load / 2.2, 200000)):
                count[first + j] += int(n)
        # A read hit takes 0.1 to 0.3 ms, and 4 ms in the middle of the day; a miss takes 8 ms.
        for kind, bucket, n in (("read_hits", 6, 100), ("read_hits", 7, 40),
                                ("read_hits", 11, 30 if LINES // 3 < i < LINES // 2 else 0), ("read_misses", 12, 50)):
            count[first_bucket + LATENCIES.index(kind) * BUCKETS + bucket] += n
        lines.append(f"at {now - 300 * (LINES - i)} 400 {int(60 * load)} " + " ".join(map(str, count)))
    record(dm).write_text("\n".join([head, base, *lines, ""]))
    is_old(dm)
    stats = {name: count[at[name]] for name in COUNTERS}
    devices = [count[len(COUNTERS) + 8 * i:][:8] for i in range(3)]
    io = [(d[0], 0, d[1], d[2], d[3], 0, d[4], d[5], 0, d[6], d[7]) for d in devices]
    latency = {kind: dict(enumerate(count[first_bucket + i * BUCKETS:][:BUCKETS])) for i, kind in enumerate(LATENCIES)}
    dm.cache(used=400, dirty=60, stats=stats, latency=latency, io=io[0], fast_io=io[1], origin_io=io[2])
    dm.device("253:0", "dm-4", "vg-lv")
    dm.device("253:1", "dm-1", "vg-fast_cpool_cdata", ["259:0"])
    dm.device("253:3", "dm-3", "vg-lv_corig", ["8:16"])
    dm.device("259:0", "nvme0n1")
    dm.device("8:16", "sdb")
    dm.command("smartctl", f"[ \"${{!#}}\" = /dev/nvme0n1 ] && echo '{SMART}'")


def page_of(dm, *args):
    file = dm.path / "page.html"
    assert dm.out("report", "-o", file, *args) == ""
    return file


def data_of(file):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read_text(), re.S)[1])


def trace(dm):
    lines = ["fio version 2 iolog", "/dev/x add", "/dev/x open"]
    lines += [f"/dev/x read {i * i % 700 * 65536} 4096" for i in range(2000)]
    return dm.write("log", "\n".join(lines) + "\n")


def test_data(dm):
    a_day(dm)
    file = page_of(dm, "vg/lv", "--trace", trace(dm))
    data = data_of(file)
    for command, part in (("status", "status"), ("doctor", "doctor"), ("advise", "advice")):
        valid(data[part], schema_of(command))
    assert data["smart"] == {"/dev/nvme0n1": json.loads(SMART)}
    # smartctl's exit code says that the disk fails; its words are wanted all the more.
    dm.command("smartctl", f"[ \"${{!#}}\" = /dev/nvme0n1 ] && echo '{SMART}'; exit 8")
    assert data_of(page_of(dm))["smart"] == data["smart"]
    kept = data["records"]["vg/lv"]
    assert len(kept["lines"]) >= LINES and all(len(line) == len(kept["names"]) + 3 for line in kept["lines"])
    assert len(set(kept["names"])) == len(kept["names"])
    assert kept["kinds"] == LATENCIES and len(kept["times"]) == len(kept["lines"]) - 1
    hits, misses = (LATENCIES.index(kind) for kind in ("read_hits", "read_misses"))
    # 100 requests of 66 to 131 us and 40 up to 262 us: the 70th, 138.6th and 139.86th of them.
    assert kept["times"][9][hits] == pytest.approx([.1114, .2575, .2617], rel=.001)
    # 170 requests; the 169.83th is among the 30 of 2.1 to 4.2 ms.
    assert kept["times"][LINES // 3 + 9][hits][2] == pytest.approx(4.182, rel=.001)
    assert kept["times"][9][misses] == pytest.approx([6.291, 8.347, 8.384], rel=.001)
    assert all(step[LATENCIES.index("absorbed")] == [None] * 3 for step in kept["times"])
    last = dict(zip(kept["names"], kept["lines"][-1][3:], strict=True))
    assert last["read_hits"] == data["status"]["caches"][0]["counters"]["read_hits"]
    assert last["ssd_reads"] == data["status"]["caches"][0]["cache_device_io"]["reads"]
    text = file.read_text()
    # A text of a device cannot become a part of the page, and no line of the template is left.
    assert "A<b>SSD" not in text and not re.search(r"^@\w+@$", text, re.M)
    # Nothing is loaded from anywhere.
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert not re.findall(r"(?:src|href)\s*=|@import|url\(", outside) and "sourceMappingURL" not in text


def test_no_history_and_no_smartctl(dm):
    dm.cache()
    dm.command("smartctl", "exit 127")
    data = data_of(page_of(dm))
    assert data["smart"] == {} and len(data["records"]["vg/lv"]["lines"]) >= 1
    assert data["advice"] is None and data["curve_from"] is None


LIVE = ("--live", "0.01")
# A pipe has room for so many events.
LOAD = [("R", i * i % 700 * 128, 8) for i in range(1000)]


def test_the_curve_of_requests_that_are_recorded_now(dm):
    """Without a trace by hand; with today's size among those of the curve."""
    dm.cache()
    trace_pages(dm, pages_of(LOAD))
    # All looks at the counters after the recording, so that the page has no old ones.
    dm.cache(listing=3, used=300)
    data = data_of(page_of(dm, *LIVE))
    valid(data["advice"], schema_of("advise"))
    assert data["curve_from"] == "live" and data["advice"]["requests"] == len(LOAD)
    assert 512 * 65536 in [size["ssd_bytes"] for size in data["advice"]["sizes"]]
    assert data["records"]["vg/lv"]["lines"][-1][1] == 300


def test_a_recording_with_nothing_in_it(dm):
    dm.cache()
    trace_pages(dm, [])
    file = dm.path / "page.html"
    assert "no requests in the" in dm.run("report", "-o", file, *LIVE).stderr
    data = data_of(file)
    assert data["curve_from"] == "live" and data["advice"] is None


def test_an_old_page_stays_while_a_new_one_is_recorded(dm):
    dm.cache()
    file = dm.write("page.html", "old")
    dm.complaint(2, "report", "-o", file, "--trace", "x", *LIVE)
    assert file.read_text() == "old"
    assert "No such file" in dm.complaint(1, "report", "-o", dm.path / "none/page.html", *LIVE)


def test_an_old_page_stays_if_the_new_one_cannot_be_written(dm):
    dm.cache()
    real = dm.write("real.html", "old")
    file = dm.path / "page.html"
    file.symlink_to(real)

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

    # Python ignores the signal of this limit, and the command shall do it, too, to see the error.
    complaint = dm.complaint(1, "report", "-o", file, preexec_fn=small_files, restore_signals=False)
    assert complaint == f"hearth: {file}: File too large\n"
    assert real.read_text() == "old" and not list(dm.path.glob(".*.html*"))
    real.chmod(0o604)
    dm.out("report", "-o", file)
    assert file.is_symlink() and data_of(real)["status"]
    # A web server reads it all the same.
    assert real.stat().st_mode & 0o7777 == 0o604
    dm.out("report", "-o", "page.html", cwd=dm.path)
    assert "</html>" in dm.out("report", "-o", "/dev/stdout")


@pytest.mark.parametrize("content", [None, ""])
def test_a_recording_that_gives_no_curve(dm, content):
    """The page is written without the curve, and the exit status tells it."""
    dm.cache()
    file, log = dm.path / "page.html", dm.path / "recording"
    if content is not None:
        log.write_text(content)
    assert str(log) in dm.complaint(1, "report", "-o", file, "--trace", log)
    data = data_of(file)
    assert data["advice"] is None and data["curve_from"] == str(log)


def test_refused(dm):
    dm.cache()
    assert "-o FILE" in dm.complaint(2, "report")
    assert "No such file" in dm.complaint(1, "report", "-o", dm.path / "none/page.html")
    dm.cache("vg-two", devno="253:9")
    for option in ("--trace", "x"), LIVE:
        assert f"{option[0]} is of one cache" in dm.complaint(2, "report", "-o", dm.path / "page.html", *option)
    assert "No space left" in dm.complaint(1, "report", "-o", "/dev/full")


def browse(file, *args):
    return subprocess.run([find("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                           f"--user-data-dir={file.parent}/chromium", "--window-size=1200,2600", "--hide-scrollbars",
                           "--virtual-time-budget=5000", *args, file.as_uri()],
                          text=True, capture_output=True, check=False, timeout=300)


@pytest.mark.needs("chromium")
def test_a_browser_draws_it(dm):
    """The pictures are drawn, without the network; the screenshot is kept in build/report.png."""
    a_day(dm)
    file = page_of(dm, "vg/lv", "--trace", trace(dm))
    offline = "--proxy-server=127.0.0.1:9"
    r = browse(file, offline, "--enable-logging=stderr", "--dump-dom")
    assert not re.findall(r"CONSOLE.*(?:Uncaught|Error).*", r.stderr), r.stderr
    text = html.unescape(re.sub(r"<script.*?</script>", "", r.stdout, flags=re.S))
    titles = re.findall(r"<h3>(.*?)</h3>", text)
    assert len(titles) == 12 and sum("took at most" in title for title in titles) == 3
    assert len(re.findall(r'<div class="legend">.*?read misses', text)) == 3 and "absorbed" not in text
    assert text.count("<canvas") >= 2 * len(titles), "a picture has not been drawn"
    assert "No picture" not in text
    assert len(re.findall(r'<div class="legend">.*?origin', text)) == 2
    seen = re.sub(r"<[^>]*>", " ", re.sub(r"<style.*?</style>", "", text, flags=re.S))
    for words in ("vg/lv", "vg/fast_cpool_cdata", "/dev/nvme0n1", "93%", "4321 h",
                  "hits of the last day", "advises", f"2000 requests of the recording {dm.path}/log",
                  "the line is today's 32.0 MiB"):
        assert words in seen, words
    day = data_of(file)["status"]["caches"][0]["last_day"]["hit_ratio"]
    assert f"{100 * day:.1f}%" in seen
    assert "built without Dygraphs" not in seen
    build = TOP / "build/report.png"
    browse(file, offline, f"--screenshot={build}")
    assert build.read_bytes().startswith(b"\x89PNG") and build.stat().st_size > 50000


def words_of(file):
    """The words that a reader of the page sees."""
    text = html.unescape(re.sub(r"<(script|style).*?</\1>", "", browse(file, "--dump-dom").stdout, flags=re.S))
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text))


@pytest.mark.needs("chromium")
def test_the_page_says_what_the_curve_is_made_from(dm):
    a_day(dm)
    words = words_of(page_of(dm))
    assert ("No curve: it needs a recording of the requests. This records them for an hour, and draws it: "
            "hearth report vg/lv --live 60 -o report.html") in words
    trace_pages(dm, pages_of(LOAD))
    words = words_of(page_of(dm, *LIVE))
    assert "hearth advise replayed 1000 requests to vg/lv that were recorded for this page, which took " in words
    assert "the line is today's 32.0 MiB" in words and "No curve" not in words
    file = dm.path / "page.html"
    dm.run("report", "-o", file, "--trace", dm.write("empty", ""), code=1)
    assert f"No curve: hearth advise made nothing of {dm.path}/empty. This records" in words_of(file)


@pytest.mark.needs("chromium")
def test_a_page_without_dygraphs_says_so(dm):
    made = subprocess.run(["make", "-s", "-C", TOP / "lvm-plugin", f"OUT={dm.path}/plain", f"DM={HERE}/dm-fake.c",
                           "DYGRAPHS=", "CPPFLAGS=", "LDFLAGS=", "CFLAGS=-O0", f"{dm.path}/plain/hearth"],
                          text=True, capture_output=True, check=True)
    assert "no Dygraphs" in made.stderr
    a_day(dm)
    file = dm.path / "page.html"
    subprocess.run([dm.path / "plain/hearth", "report", "-o", file], env=dm.environment(), check=True)
    text = re.sub(r"<script.*?</script>", "", browse(file, "--dump-dom").stdout, flags=re.S)
    assert "built without Dygraphs" in text and "No picture." in text and "<canvas" not in text
    assert "hits of the last day" in text
