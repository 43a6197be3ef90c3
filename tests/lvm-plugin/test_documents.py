# SPDX-License-Identifier: GPL-2.0-only
"""The parts of documents that programs write: README.md's screen, ten figures, docs/performance.md."""

import functools
import json
import re
import sys
from pathlib import Path

import pytest

from fake import COUNTERS, LATENCIES
from test_status import shift_history

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/bench"))
import figures  # noqa: E402

GIB = 1 << 30
MADE_UP = {
    "name": "vg-data", "mode": "writeback", "used": 1551120, "total": 1638400, "data": 1635200, "dirty": 12044,
    "length": 2 * (1 << 40) // 512,
    "core": "22 migration_threshold 2048 promote_ahead 384 max_promote_mbps 0 "
            "max_promote_share 50 fail_open 1 max_intents 32768 dirty_high 50 dirty_low 45 "
            "dirty_limit 100 writeback_idle 2 absorb 0",
    "settings": "10 read_level 2 write_level 2 full_write_level 2 seq_cutoff 64 seq_again 1",
}


class Cache:
    """A cache's counters, and the times of its requests to the devices."""

    def __init__(self, dm):
        self.dm = dm
        self.count = dict.fromkeys(COUNTERS, 0)
        self.latency = {}
        self.io = {"io": [0] * 11, "fast_io": [0] * 11, "origin_io": [0] * 11}
        dm.write("sys/module/dm_cache/version", "0.2.0\n")
        dm.device("253:0", "dm-4", "vg-data")
        dm.device("253:1", "dm-1", "vg-fast_cpool_cdata", ["259:0"])
        dm.device("253:3", "dm-3", "vg-data_corig", ["8:16"])
        dm.device("259:0", "nvme0n1")
        dm.device("8:16", "sdb")

    def add(self, io, more=None, **counters):
        """io has requests and milliseconds of each device, more its sectors and the times it was busy."""
        for name, n in counters.items():
            self.count[name] += n
        for device, amounts in (more or {}).items():
            for place, n in zip((2, 6, 9, 10), amounts, strict=True):
                self.io[device][place] += n
        for device, (reads, read_ms, writes, write_ms) in io.items():
            for place, n in ((0, reads), (3, read_ms), (4, writes), (7, write_ms)):
                self.io[device][place] += n

    def screen(self):
        self.dm.cache(**MADE_UP, stats=self.count, latency=self.latency, **self.io)
        return self.dm.out("status", "vg/data")


def timed(kind, nr, us):
    return {f"timed_{kind}": nr, f"{kind}_ns": nr * us * 1000}


UNITS = {"": 1, "k": 1e3, "M": 1e6, "us": 1, "ms": 1e3}
OF_A_DEVICE = re.compile(r"^    (volume|SSD|origin) +(.*)\n", re.M)


def rates(screen):
    """The numbers of the table of devices, and what one in the last digit is."""
    words = " ".join(row[1] for row in OF_A_DEVICE.findall(screen)).split()
    for number, unit in (re.fullmatch(r"([0-9.]+)([a-zM]*)", word).groups() for word in words):
        yield float(number) * UNITS[unit], (.1 if "." in number else 1) * UNITS[unit]


def without_rates(screen):
    return OF_A_DEVICE.sub(r"\1\n", screen)


def test_the_screen(dm):
    c = Cache(dm)
    c.io["io"][2] = 360 * GIB // 512  # sectors read, which stand for those written as well
    c.add({"io": (9000000, 9800000, 2290000, 2300000),
           "fast_io": (8123004, 900000, 2200000, 150000),
           "origin_io": (911202, 8700000, 280326, 2500000)},
          read_hits=8123004, read_misses=911202, write_hits=2102880, write_misses=190114,
          promotions=118230, demotions=16212, writebacks=90212, invalidations=113,
          bypass_cold=611902, bypass_stream=201133, bypass_busy=311,
          cache_sectors_written=42 * GIB // 512,
          **timed("read_hits", 126000, 118), **timed("write_hits", 33000, 64),
          **timed("read_misses", 14000, 9700), **timed("write_misses", 3000, 10400))
    c.latency = {kind: {} for kind in LATENCIES}
    c.screen()
    shift_history(dm, 59 * 60, "vg-data")
    c.io["io"][2] += 19 * GIB // 512
    c.add({"io": (440000, 350000, 102000, 90000), "fast_io": (417000, 48000, 100000, 7000),
           "origin_io": (31200, 290000, 9674, 90000)},
          read_hits=410220, read_misses=31200, write_hits=98000, write_misses=4100,
          promotions=4100, bypass_cold=20000, cache_sectors_written=2 * GIB // 512)
    c.screen()
    shift_history(dm, 60, "vg-data")
    c.add({"io": (7412, 5000, 1741, 800), "fast_io": (7010, 800, 2000, 150),
           "origin_io": (402, 4000, 51, 500)},
          {"io": (246200, 50600, 5100, 5800), "fast_io": (238400, 61900, 880, 950),
           "origin_io": (25900, 6500, 4300, 4500)},
          read_hits=7010, read_misses=402, write_hits=1690, write_misses=51,
          cache_sectors_written=40000, **timed("read_hits", 110, 118),
          **timed("write_hits", 26, 64), **timed("read_misses", 6, 9900))
    c.latency |= {"read_hits": {5: 20, 6: 60, 7: 27, 8: 2, 12: 1}, "write_hits": {4: 12, 5: 12, 6: 2},
                  "read_misses": {12: 3, 13: 3}, "cache_flushes": {8: 40, 9: 2}, "origin_flushes": {12: 30, 13: 12}}
    screen = c.screen()
    shown = (TOP / "README.md").read_text().split("    # hearth status vg/data\n", 1)[1]
    shown = "".join(line[4:] + "\n" for line in shown.split("\n\n", 1)[0].splitlines())
    assert without_rates(shown) == without_rates(screen)
    # The time that passes between two looks makes the rates a little smaller.
    for (ours, last_digit), (theirs, _) in zip(rates(shown), rates(screen), strict=True):
        assert theirs == pytest.approx(ours, rel=.03, abs=1.01 * last_digit)


def sections(text):
    """Returns the generated tables, by section."""
    return figures.parts(text.split("<!-- generated by make bench -->")[1].split("<!-- end -->")[0])


def test_a_section_that_was_not_measured_stays(tmp_path):
    text = (TOP / "docs/performance.md").read_text()
    (tmp_path / "fill.figures").write_text(
        "fill-stock-read 300\nfill-stock-promoted 100\n"
        "fill-hearth-read 104\nfill-hearth-promoted 100\n")
    before = sections(text)
    after = figures.parts(figures.page(tmp_path, "6.1", text))
    assert "hearth: origin bytes per promoted byte | 1.04 |  | <= 1.02 | **missed** |" in \
        after.pop("Origin bytes that a promotion reads")
    del before["Origin bytes that a promotion reads"]
    assert figures.PEERS_TITLE in before
    assert len(before) == len(figures.SECTIONS) - 1 + len([figures.PEERS_TITLE])
    # The page continues after the last section.
    assert {name: part.split("<!-- end -->")[0].strip() for name, part in after.items()} == before


def absorb_job(directory, stack, rate):
    (directory / f"absorb-{stack}-depth-1.json").write_text(json.dumps({"jobs": [{
        "read": {"total_ios": 0}, "write": {"total_ios": 1000, "io_bytes": 4096000, "iops": rate}}]}))


def absorb_goals(directory, monkeypatch, row):
    monkeypatch.setattr(figures, "ROWS", [row])
    return {f.name.partition(": ")[2]: f for f in figures.all_figures(directory, ["absorb"])
            if f.limit is not None}


def test_a_goal_is_the_highest_share_of_its_peers(tmp_path, monkeypatch):
    for stack, rate in (("ssd", 20000), ("writecache", 19000), ("bcache", 5000), ("stock", 50000),
                        ("hearth", 18050)):
        absorb_job(tmp_path, stack, rate)
    # 9,000 sectors of data and metadata for 8,000 of the user's; 8,400 once it has rested
    (tmp_path / "absorb.figures").write_text(
        "absorb-hearth-depth-1-meta-sectors 500\nabsorb-hearth-depth-1-ssd-sectors 8500\n"
        "absorb-hearth-depth-1-rest-sectors 8400\n")
    goals = absorb_goals(tmp_path, monkeypatch, "depth-1")
    assert [(f.value, f.limit, f.good()) for f in goals.values()] == \
        [(18050, 18050, True), (1.125, 1.1, False), (1.05, 1.1, True)]
    absorb_job(tmp_path, "bcache", 18051)
    assert not absorb_goals(tmp_path, monkeypatch, "depth-1")["hearth"].good()


def test_a_goal_without_its_peer_is_not_met(tmp_path, monkeypatch):
    absorb_job(tmp_path, "hearth", 1e9)
    absorb_job(tmp_path, "ssd", 20000)
    absorb_job(tmp_path, "bcache", 5000)
    goal = absorb_goals(tmp_path, monkeypatch, "depth-1")["hearth"]
    assert not goal.good()
    assert goal.limit_text() == "a peer was not measured"
    (tmp_path / "absorb.figures").write_text("absorb-drain-hearth 0.1\nabsorb-drain-floor 20\n")
    assert not absorb_goals(tmp_path, monkeypatch, "home")["hearth"].good()
    (tmp_path / "absorb.figures").write_text(
        "absorb-drain-hearth 8.9\nabsorb-drain-floor 20\nabsorb-drain-stock 18\n")
    assert absorb_goals(tmp_path, monkeypatch, "home")["hearth"].good()


def test_goals_are_measured_only_when_they_are_named():
    assert figures.GOALS == ["absorb", "peers"]
    assert not set(figures.GOALS) & set(figures.SECTIONS)


TEXTS = [*TOP.glob("*.md"), *TOP.glob("docs/*.md"), *TOP.glob("man/*.[78]*")]


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_no_text_sends_anybody_to_an_unsafe_repair(text):
    """Which program is safe, or that the command repairs something else, stands close to the command."""
    lines = text.read_text().splitlines()
    for i, line in enumerate(lines):
        if "lvconvert --repair" in line:
            near = " ".join(lines[max(0, i - 12):i + 9])
            assert re.search("hearth-cache-repair|repair mirrors", near), f"{text.name}:{i + 1}"


# ---- Kernel messages ----

SOURCES = [path for part in ("dm-target", "metadata", "slots", "write-log", "persistent-data")
           for path in sorted((TOP / part).glob("*.[ch]")) if not path.name.endswith(".mod.c")]
LITERALS = r'((?:"(?:[^"\\\n]|\\.)*"\s*)+)'
# A call that logs, or refuses a table; and a text that has a name, because two calls log it.
MESSAGE = re.compile(rf"\b(?:(?:DM(?:ERR|WARN|INFO|CRIT)(?:_LIMIT)?|os_err)\(\s*"
                     rf"|refuse\((?:p->)?t,\s*|static const char \w+\[\] = ){LITERALS}")
# Messages without words of their own are left out.
NO_WORDS = {
    "%s": "the text is made elsewhere: refuse() of cache-table.c, in_use of cache-engine.c, and "
          "cache_tunable_parse(), whose texts give the range of the setting",
}
# The rows of these tables begin with messages.
MESSAGE_PAGES = ("docs/administration.md", "docs/troubleshooting.md")
ENOUGH = 3  # words in common; a message with fewer words has all of them in common


def messages_of(text):
    """The formats of a source's kernel messages."""
    for match in MESSAGE.finditer(text):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match[1]))


def kernel_messages():
    found = {message: path.name for path in SOURCES for message in messages_of(path.read_text())}
    assert len(found) > 100
    return {message: name for message, name in found.items() if message not in NO_WORDS}


def documented(text):
    """The messages in the first cells of a page's tables."""
    cells = re.findall(r"^\| ((?:[^|`]|`[^`]*`)*) \|", text, re.M)
    return [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]


ANY, ONE = "any number of words", "one word"


def word_of(word):
    """A format has ONE for a number and ANY for a text; a document has one capital for ONE, and
    several, or dots, for ANY."""
    if re.search(r"%[^\w(]*s|…|\.\.\.", word) or re.fullmatch(r"\W*[A-Z]{2,}\W*", word):
        return ANY
    return ONE if "%" in word or re.fullmatch(r"\W*[A-Z]\W*", word) else word


def words_of(message):
    return tuple(word_of(word) for word in message.split())


def is_word(word):
    return word not in (ANY, ONE)


def in_common(a, b):
    """How many words two messages have in common, or -1 if they cannot be the same message."""
    @functools.cache
    def best(i, j):
        here, there = a[i:i + 1], b[j:j + 1]
        if not here and not there:
            return 0
        if ANY in here + there:
            # It ends, or takes a word of the other.
            return max(best(i + 1, j) if here else -1, best(i, j + 1) if there else -1)
        if not here or not there or not (here == there or ONE in here + there):
            return -1
        rest = best(i + 1, j + 1)
        return rest + (here == there and is_word(*here)) if rest >= 0 else -1

    return best(0, 0)


def is_same(message, text):
    a, b = words_of(message), words_of(text)
    return in_common(a, b) >= min(ENOUGH, sum(is_word(word) for word in a))


def undocumented(messages, texts):
    return [f"{name}: {message}" for message, name in messages.items()
            if not any(is_same(message, text) for text in texts)]


def test_every_kernel_message_is_in_a_document():
    texts = [text for page in MESSAGE_PAGES for text in documented((TOP / page).read_text())]
    assert not undocumented(kernel_messages(), texts)


def test_every_kernel_message_of_the_documents_is_in_the_sources():
    section = (TOP / "docs/administration.md").read_text().split("\n## Kernel messages\n")[1]
    messages = kernel_messages()
    texts = documented(section)
    assert len(texts) > 80
    assert not [text for text in texts if not any(is_same(message, text) for message in messages)]


@pytest.mark.parametrize(("message", "text", "same"), [
    ("write log: on, with a ring of %u blocks", "write log: on, with a ring of N blocks", True),
    ("write log: on, with a ring of %u blocks", "write log: …", False),
    ("metadata: %s", "metadata: …", True),
    ("metadata: %s failed: error %d", "metadata: …", False),
    ("%s: the cache is bypassed from now on, the origin is complete; %s", "…: the cache is bypassed …", True),
    ("flush of the %s device failed", "flush of the cache device failed", True),
    ("no memory to compare the cache", "no memory to compare the origin", False),
    ("write-back of block %llu failed: %s error; it stays", "write-back of block N failed: cache read error; …", True),
])
def test_a_message_is_found_in_its_row(message, text, same):
    assert is_same(message, text) == same
    page = f"| message | meaning |\n|---|---|\n| {text and f'`{text}`'} at activation | a `cell` |\n"
    assert bool(undocumented({message: "a.c"}, documented(page))) != same


def test_messages_are_found_in_a_source():
    assert list(messages_of('DMERR_LIMIT("one %s"\n\t    " more", x); refuse(p->t, "two");')) == ["one %s more", "two"]
