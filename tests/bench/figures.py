# SPDX-License-Identifier: GPL-2.0-only
"""Turns the benchmarks' results into figures, compares them with their limits, and writes the page.
"""

import datetime
import json
import math
import os
import re
import statistics
import subprocess
from pathlib import Path

import peers
import published
from measured import Figure, ratio, show

QUICK = os.environ.get("BENCH_QUICK") == "1"
ROWS = os.environ.get("BENCH_ROWS", "").split()  # of the sections absorb and published; none: all

SECTIONS = []  # in the order of the page
GOALS = []  # sections that run only when they are named: the engine does not meet them yet
_figures_of = {}
_table_of = {}


def section(name, table, among=SECTIONS):
    """Registers a function that yields the figures of a section."""
    def register(function):
        among.append(name)
        _figures_of[name] = function
        _table_of[name] = table
        return function
    return register


class Results:
    """The files of one run."""

    def __init__(self, directory):
        self.dir = Path(directory)
        self.said = {}
        for path in sorted(self.dir.glob("*.figures")):
            for line in path.read_text().splitlines():
                name, value = line.split()
                self.said[name] = float(value)

    def job(self, name):
        path = self.dir / f"{name}.json"
        try:
            job = json.loads(path.read_text())["jobs"][-1]
        except (OSError, ValueError, KeyError):
            return None
        return job["read"] if job["read"]["total_ios"] else job["write"]

    def both(self, name):
        """Reads and writes of a job, per second."""
        path = self.dir / f"{name}.json"
        try:
            job = json.loads(path.read_text())["jobs"][-1]
        except (OSError, ValueError, KeyError):
            return None
        return job["read"]["iops"] + job["write"]["iops"]

    def iops(self, name):
        job = self.job(name)
        return job["iops"] if job else None

    def p99(self, name, percentile="99.000000"):
        job = self.job(name)
        return job["clat_ns"]["percentile"][percentile] if job else None

    def p999(self, name):
        return self.p99(name, "99.900000")

    def longest(self, name):
        job = self.job(name)
        return job["clat_ns"]["max"] if job else None

    def mean(self, name):
        job = self.job(name)
        return job["clat_ns"]["mean"] if job else None


def times(a, b):
    return a * b if a is not None and b is not None else None


def minus(a, b):
    return a - b if a is not None and b is not None else None


# ---- The hit path ----

HIT_STACKS = {
    "ssd": "the SSD", "linear": "dm-linear", "stock": "stock dm-cache",
    "hearth": "hearth",
}
HIT_HOW = ("aio-16",) if QUICK else ("aio-1", "aio-16", "uring-16")


def hit_ns(results, stack, rw, how):
    """Instructions per I/O: the time of an I/O, because the CPU is the limit here."""
    iops = results.iops(f"hit-{stack}-{rw}-{how}")
    return 1e9 / iops if iops else None


def hit_cost(results, stack, rw, how):
    """The cost of the cache's layer alone: without the linear device below it."""
    return minus(hit_ns(results, stack, rw, how), hit_ns(results, "linear", rw, how))


@section("hit", "Hit path")
def hit_figures(results):
    unit = "instructions"
    for how in HIT_HOW:
        yield Figure(f"read hit, {how}", hit_cost(results, "hearth", "read", how), unit, most=2220)
        yield Figure(f"write hit on a dirty block, {how}",
                     hit_cost(results, "hearth", "write", how), unit, most=2215)
        yield Figure(f"read miss bypassed, {how}",
                     hit_cost(results, "hearth-miss", "read", how), unit, most=2420)
        yield Figure(f"writethrough write hit, {how}",
                     hit_cost(results, "hearth-wt", "write", how), unit,
                     most=hit_cost(results, "stock-wt", "write", how))
        for stack, name in (("stock", "stock's "), ("writecache", "dm-writecache's "),
                            ("bcache", "bcache's "), ("linear", "dm-linear's ")):
            for rw in ("read", "write"):
                cost = (hit_cost(results, stack, rw, how) if stack != "linear" else
                        minus(hit_ns(results, "linear", rw, how), hit_ns(results, "ssd", rw, how)))
                yield Figure(f"{name}{rw} hit, {how}", cost, unit)


REAL_TIME = ("smp",)  # need two CPUs


@section("smp", "Gain of read hits from a second CPU (not in virtual time)")
def smp_figures(results):
    for stack, name in HIT_STACKS.items():
        speed = []
        for jobs in (1, 2):
            runs = [results.iops(f"smp-{stack}-{jobs}-{run}") for run in (1, 2, 3, 4, 5)]
            speed.append(None if None in runs else statistics.median(runs))
        yield Figure(f"{name}: I/Os per second of two jobs, of one job", ratio(speed[1], speed[0]), "")


# ---- The disk ----

@section("writeback", "Write-back of 4,000 blocks to the disk")
def writeback_figures(results):
    said = results.said.get
    floor, ours, stock = (said(f"writeback-drain-{w}") for w in ("floor", "hearth", "stock"))
    yield Figure("the model's floor, in origin order", floor, "s")
    yield Figure("stock dm-cache", stock, "s")
    yield Figure("hearth", ours, "s")
    yield Figure("hearth, of the floor", ratio(ours, floor), "", most=1.1)
    yield Figure("hearth, of stock's time", ratio(ours, stock), "", most=0.5)
    for depth in (1, 16):
        for engine in ("stock", "hearth"):
            jobs = [f"writeback-{engine}-{when}-{depth}" for when in ("draining", "idle")]
            limits = ({"most": 1.5}, {"least": 0.9}) if engine == "hearth" else ({}, {})
            yield Figure(f"{engine}: p99 of hits while it drains, of idle, depth {depth}",
                         ratio(*map(results.p99, jobs)), "", **limits[0])
            yield Figure(f"{engine}: throughput of hits while it drains, of idle, depth {depth}",
                         ratio(*map(results.iops, jobs)), "", **limits[1])


@section("firstwrite", "First writes to clean blocks")
def firstwrite_figures(results):
    for slots in (4096, 16384):
        for depth in (1, 16):
            for engine in ("stock", "hearth"):
                name = f"{engine}-{slots}-{depth}"
                at = f"{engine}, {slots:,} blocks, depth {depth}"
                hold = engine == "hearth" and depth == 16
                yield Figure(f"{at}: throughput, of read hits",
                             ratio(results.iops(f"firstwrite-{name}-write"),
                                   results.iops(f"firstwrite-{name}-read")), "",
                             least=0.9 if hold else None)
                if engine == "hearth":
                    commits = results.said.get(f"firstwrite-{name}-commits")
                    yield Figure(f"{at}: commits per 1,000", ratio(commits, 4), "")
                sectors = results.said.get(f"firstwrite-{name}-sectors")
                yield Figure(f"{at}: metadata written per 1,000", ratio(sectors, 8), "KiB")


def hit_ratios(samples):
    """Yields (seconds since the first request, hit ratio of about the last second).

    A sample is (seconds, hits, misses). The samples before the first request are left
    out because the reader may take seconds to start.
    """
    idle = sum(sample[1:] == samples[0][1:] for sample in samples)
    samples = samples[idle - 1:]
    begin = 0
    for end, (now, hits, misses) in enumerate(samples):
        while begin + 1 < end and now - samples[begin + 1][0] >= 1:
            begin += 1
        then, *before = samples[begin]
        requests = hits + misses - sum(before)
        if requests and now - then >= 1:
            yield now - samples[0][0], (hits - before[0]) / requests


def steady(ratios):
    last = [r for t, r in ratios if t > 0.8 * ratios[-1][0]]
    return sum(last) / len(last)


@section("warm", "Warm-up on the disk, zipf(1.1) over twice the cache")
def warm_figures(results):
    for name, words in (("first", "first set"), ("moved", "another set after it")):
        times, level = {}, {}
        try:
            for engine in ("stock", "hearth"):
                text = (results.dir / f"warm-{engine}-{name}.samples").read_text()
                samples = [tuple(map(float, line.split())) for line in text.splitlines()]
                times[engine] = list(hit_ratios(samples))
                level[engine] = steady(times[engine])
        except (OSError, IndexError, ZeroDivisionError):
            continue
        goal = 0.9 * min(level.values())
        reached = {
            engine: next((t for t, r in times[engine] if r >= goal), None)
            for engine in times
        }
        for engine in ("stock", "hearth"):
            yield Figure(f"{words}: {engine}'s steady hit ratio", level[engine], "")
            yield Figure(f"{words}: {engine}, time to {goal:.2f}", reached[engine], "s")
        yield Figure(f"{words}: hearth's time, of stock's",
                     ratio(reached["hearth"], reached["stock"]), "", most=1 / 3)


@section("fill", "Origin bytes that a promotion reads")
def fill_figures(results):
    for engine in ("stock", "hearth"):
        read, promoted = (results.said.get(f"fill-{engine}-{w}") for w in ("read", "promoted"))
        yield Figure(f"{engine}: origin bytes per promoted byte", ratio(read, promoted), "",
                     most=1.02 if engine == "hearth" else None)


def stream_speed(results, name):
    """The median of the copies of one name."""
    said = [results.said[f"stream-{name}-{place}"] for place in range(10)
            if f"stream-{name}-{place}" in results.said]
    return statistics.median(said) if said else None


@section("stream", "Copy between two writethrough volumes on one disk, median of five (a published test: 20 MB/s)")
def stream_figures(results):
    bare = stream_speed(results, "uncached")
    yield Figure("uncached", bare, "MB/s")
    for engine in ("stock", "hearth"):
        for state, words in (("empty", "into empty caches"), ("again", "the same again"),
                             ("full", "into full caches")):
            speed = stream_speed(results, f"{engine}-{state}")
            yield Figure(f"{engine}, {words}", speed, "MB/s")
            yield Figure(f"{engine}, {words}, of uncached", ratio(speed, bare), "",
                         least=0.95 if engine == "hearth" else None)
    bare = results.said.get("stream-uncached-over")
    yield Figure("uncached, writing pages through the page cache", bare, "MB/s")
    for engine in ("stock", "hearth"):
        yield Figure(f"{engine}, writing cached blocks, of uncached",
                     ratio(results.said.get(f"stream-{engine}-over"), bare), "")


@section("grep", "Searching a copied tree")
def grep_figures(results):
    said = results.said.get
    ssd = said("grep-ssd-second-seconds")
    for passed in ("first", "second"):
        for stack in ("uncached", "stock-writeback", "stock-writethrough", "hearth-writeback",
                      "hearth-writethrough", "ssd"):
            name = {"uncached": "the disk", "ssd": "the SSD"}.get(stack, stack.replace("-", ", "))
            seconds = said(f"grep-{stack}-{passed}-seconds")
            yield Figure(f"{passed} pass: {name}", seconds, "s")
            if "-" in stack and passed == "second":
                yield Figure(f"second pass: {name}, of the SSD's speed", ratio(ssd, seconds), "",
                             least=0.9 if stack.startswith("hearth") else None)


@section("fsync", "Metadata traffic of 1,000 writes with an fsync after each")
def fsync_figures(results):
    for what, words in (("clean", "resident clean blocks"), ("dirty", "dirty blocks"),
                        ("miss", "misses")):
        for engine in ("stock", "hearth"):
            sectors = results.said.get(f"fsync-{engine}-{what}-meta-sectors")
            yield Figure(f"{words}, {engine}: metadata written", ratio(sectors, 2), "KiB")
            for what_is, where in (("meta", "metadata device"), ("ssd", "SSD")):
                yield Figure(f"{words}, {engine}: flushes of the {where}",
                             results.said.get(f"fsync-{engine}-{what}-{what_is}-flushes"), "")
            yield Figure(f"{words}, {engine}: writes per second",
                         results.iops(f"fsync-{engine}-{what}"), "/s")


@section("scale", "Scale: all blocks in use")
def scale_figures(results):
    for million in (1, 4, 16):
        for engine in ("stock", "hearth"):
            at = f"{million} million blocks, {engine}"
            said = results.said.get
            yield Figure(f"{at}: activation", said(f"scale-{engine}-{million}-seconds"), "s")
            yield Figure(f"{at}: memory per block",
                         ratio(said(f"scale-{engine}-{million}-kib"), million * 1e6 / 1024), "bytes")
    for engine in ("stock", "hearth"):
        jobs = [results.job(f"scale-{engine}-{what}") for what in ("asked", "quiet")]
        worst = [j["clat_ns"]["max"] / 1000 if j else None for j in jobs]
        yield Figure(f"1 million blocks, {engine}: longest read while the status is polled",
                     worst[0], "us")
        yield Figure(f"1 million blocks, {engine}: longest read without polling", worst[1], "us")


@section("origin", "The origin check of a cache of 100 GiB at its activation")
def origin_figures(results):
    said = results.said.get
    for disk, words in (("4ms", "a disk that takes 4 ms for each request"),
                        ("seeks", "the disk, 2 TiB")):
        without, checked = (said(f"origin-{disk}-{what}-seconds") for what in ("0", "default"))
        yield Figure(f"{words}: activation without the check", without, "s")
        yield Figure(f"{words}: longer with it", minus(checked, without), "s", most=0.5)


@section("published", "Published tests, on the disk")
def published_figures(results):
    yield from published.figures(results, ROWS)


# ---- Small writes that miss ----

STACKS = {
    "ssd": "the SSD alone", "writecache": "dm-writecache", "bcache": "bcache",
    "stock": "stock dm-cache", "hearth": "hearth",
}


class WriteRow:
    """One job on the stacks. hearth's goal is the highest share of a peer's rate."""

    def __init__(self, name, words, goal, most_bytes=None, most_tail=None):
        self.name, self.words, self.goal = name, words, goal
        self.most_bytes = most_bytes  # of the SSD, for each byte of the user
        self.most_tail = most_tail    # ms, p99.9


HALF = "4 KiB at random over half of an empty cache"
WHOLE = "64 KiB at random into an empty cache"
WRITE_ROWS = (
    WriteRow("depth-1", f"{HALF}, depth 1", {"ssd": 0.9, "bcache": 1, "writecache": 0.95}, 1.1),
    WriteRow("depth-16", f"{HALF}, depth 16", {"ssd": 0.82, "bcache": 1, "writecache": 0.95}, 1.1),
    WriteRow("fsync-1", f"{HALF}, fsync after each, 1 job", {"bcache": 1.2, "writecache": 1.2}, 2.1),
    WriteRow("fsync-16", f"{HALF}, fsync after each, 16 jobs", {"bcache": 1.2, "writecache": 1.2},
             1.5),
    WriteRow("line-512", "512 bytes one after the other", {"ssd": 0.85, "bcache": 1, "stock": 1}),
    WriteRow("line-4k", "4 KiB one after the other",
             {"ssd": 0.85, "writecache": 1, "bcache": 1, "stock": 1}),
    WriteRow("line-512-fsync", "512 bytes one after the other, fsync after each",
             {"bcache": 1.2, "stock": 1.2}),
    WriteRow("line-4k-fsync", "4 KiB one after the other, fsync after each",
             {"writecache": 1.2, "bcache": 1.2, "stock": 1.2}),
    WriteRow("whole-8", f"{WHOLE}, depth 8", {"writecache": 0.9}, most_tail=5),
    WriteRow("whole-32", f"{WHOLE}, depth 32", {"writecache": 0.9}, most_tail=5),
)


# A goal that a missing value belongs to can't be met.
def highest(values):
    return math.inf if None in values else max(values)


def lowest(values):
    return -math.inf if None in values else min(values)


def best_peer(shares, rate):
    """The highest share of the peers' rates."""
    return highest([times(share, rate(peer)) for peer, share in shares.items()])


def written_bytes(results, name):
    """Bytes written to the SSD, with the metadata, for each byte of the user."""
    job = results.job(name)
    sectors = [results.said.get(f"{name}-{where}-sectors") for where in ("meta", "ssd")]
    return 512 * sum(sectors) / job["io_bytes"] if job and None not in sectors else None


def rest_bytes(results, name):
    """The same, with what was written while the volume was idle afterwards."""
    job = results.job(name)
    sectors = results.said.get(f"{name}-rest-sectors")
    return 512 * sectors / job["io_bytes"] if job and sectors is not None else None


def per_thousand(results, name, what):
    job = results.job(name)
    return ratio(results.said.get(f"{name}-{what}"), job["total_ios"] / 1000 if job else None)


def write_row(results, row):
    def rate(stack):
        return results.iops(f"absorb-{stack}-{row.name}")

    for stack, name in STACKS.items():
        job = f"absorb-{stack}-{row.name}"
        ours = stack == "hearth"
        if rate(stack) is None and not ours:
            continue
        at = f"{row.words}: {name}"
        yield Figure(at, rate(stack), "writes/s", least=best_peer(row.goal, rate) if ours else None)
        if row.most_bytes:
            yield Figure(f"{at}, SSD bytes per byte", written_bytes(results, job), "",
                         most=row.most_bytes if ours else None)
        if ours and row.name.startswith("depth"):
            # An idle volume's blocks go home, and should not be copied on the SSD for that.
            yield Figure(f"{at}, SSD bytes per byte once all has left the log",
                         rest_bytes(results, job), "", most=row.most_bytes)
        if row.most_tail:
            tail = ratio(results.p999(job), 1e6)
            yield Figure(f"{at}, p99.9", tail, "ms", most=row.most_tail if ours else None)
        if "fsync" in row.name:
            yield Figure(f"{at}, flushes of the SSD per 1,000", per_thousand(results, job, "ssd-flushes"),
                         "")
    if row.name.startswith("fsync"):
        job = f"absorb-hearth-{row.name}"
        yield Figure(f"{row.words}: hearth, of the SSD alone", ratio(rate("hearth"), rate("ssd")), "")
        yield Figure(f"{row.words}: hearth, metadata flushes per 1,000",
                     per_thousand(results, job, "meta-flushes"), "", most=4)
        yield Figure(f"{row.words}: hearth, metadata written per 1,000",
                     ratio(per_thousand(results, job, "meta-sectors"), 2), "KiB", most=60)


def twice_figures(results):
    """A job that --runtime ended early is taken on with the rate it had."""
    def seconds(stack):
        return ratio(100000, results.iops(f"absorb-{stack}-twice"))

    at = "4 KiB at random over twice the cache, depth 16, 100,000 acknowledged"
    peers = ("writecache", "bcache")
    for stack in peers:
        yield Figure(f"{at}: {STACKS[stack]}", seconds(stack), "s")
    yield Figure(f"{at}: hearth", seconds("hearth"), "s", most=lowest([seconds(s) for s in peers]))


def four_figures(results):
    def rate(stack):
        jobs = [results.job(f"absorb-{stack}-four-{part}") for part in ("first", "last")]
        return sum(job["total_ios"] for job in jobs) / 60 if None not in jobs else None

    at = "4 KiB at random over four caches, depth 16, 60 s"
    for stack in ("writecache", "bcache"):
        yield Figure(f"{at}: {STACKS[stack]}", rate(stack), "writes/s")
    yield Figure(f"{at}: hearth", rate("hearth"), "writes/s",
                 least=best_peer({"bcache": 1, "writecache": 0.9}, rate))
    for stack in ("writecache", "bcache", "hearth"):
        # Once the cache is full, as many are acknowledged as go home.
        last = f"absorb-{stack}-four-last"
        yield Figure(f"{at}: {STACKS[stack]}, the last 20 s", results.iops(last), "writes/s")
        tail = ratio(results.p999(last), 1e9)
        home = ratio(4 * 16, results.iops(last))
        yield Figure(f"{at}: {STACKS[stack]}, the last 20 s, p99.9", tail, "s",
                     most=None if stack != "hearth" else lowest([home]))
    beside, alone = (results.iops(f"absorb-hearth-four-{when}") for when in ("beside", "alone"))
    yield Figure(f"{at}: hearth, hits beside them, of hits alone", ratio(beside, alone), "", least=0.9)


def zipf_figures(results):
    ratios = {}
    for setting in (1, 0):
        hits, reads = (results.said.get(f"absorb-zipf-{setting}-{what}") for what in ("hits", "reads"))
        ratios[setting] = ratio(hits, reads)
        yield Figure(f"zipf reads beside 500 cold writes/s: hearth, absorb {setting}, hit ratio",
                     ratios[setting], "")
    yield Figure("zipf reads beside 500 cold writes/s: hit ratio, of that with absorb 0",
                 ratio(ratios[1], ratios[0]), "", least=0.97)


def home_figures(results):
    floor, stock, ours = (results.said.get(f"absorb-drain-{w}") for w in ("floor", "stock", "hearth"))
    at = "4,000 writes to 4,000 blocks go home"
    yield Figure(f"{at}: the model's floor for whole blocks", floor, "s")
    yield Figure(f"{at}: stock dm-cache, as many dirty blocks", stock, "s")
    yield Figure(f"{at}: hearth, home too early to be measured", results.said.get("absorb-home-early"),
                 "")
    yield Figure(f"{at}: hearth", ours, "s", most=lowest([times(0.45, floor), times(0.5, stock)]))


def tree_figures(results):
    stock, ours = (results.said.get(f"absorb-tree-{engine}-first-seconds")
                   for engine in ("stock", "hearth"))
    at = "first search of a copied tree, writeback"
    yield Figure(f"{at}: stock dm-cache", stock, "s")
    yield Figure(f"{at}: hearth", ours, "s", most=lowest([times(1.1, stock)]))


@section("absorb", "Small writes that miss, beside the peers", among=GOALS)
def absorb_figures(results):
    yield Figure("hearth's setting absorb (0: this engine does not absorb)",
                 results.said.get("absorb-setting"), "")
    for row in WRITE_ROWS:
        if not ROWS or row.name in ROWS:
            yield from write_row(results, row)
    for name, figures_of in (("twice", twice_figures), ("four", four_figures), ("zipf", zipf_figures),
                             ("home", home_figures), ("tree", tree_figures)):
        if not ROWS or name in ROWS:
            yield from figures_of(results)


PEERS_TITLE = "Everybody on the same work"


@section("peers", PEERS_TITLE, among=GOALS)
def peers_figures(results):
    yield from peers.figures(results)


# ---- All sections ----

def all_figures(directory, sections):
    results = Results(directory)
    for name in sections:
        yield from _figures_of[name](results)


def version_of(*command):
    try:
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError:
        return "none"
    return out.stdout.decode().splitlines()[0].strip()


def stamp():
    """The date and the version of a section's figures."""
    return f"{datetime.date.today()}, hearth {version_of('git', 'describe', '--always', '--dirty')}"


def parts(text):
    """The parts of a page by their headings of the third level."""
    return {part.partition("\n")[0]: part.partition("\n")[2].strip()
            for part in re.split(r"^### ", text, flags=re.M)[1:]}


def peers_part(results, before):
    """The peers' tables, which have a form of their own."""
    text = peers.page(results) or parts(before).get(PEERS_TITLE, "Not measured in this run.")
    return ["", f"### {PEERS_TITLE}", "", text]


def page(directory, kernel, before=""):
    """The tables. A section that this run has not measured keeps its old table."""
    lines = [
        "",
        f"Measured by `make bench`: guest kernel {kernel}, "
        f"{version_of('fio', '--version')}, "
        f"{version_of('qemu-system-x86_64', '--version').split('(')[0].strip()}.",
    ]
    results = Results(directory)
    for name in SECTIONS:
        rows = list(_figures_of[name](results))
        lines += ["", f"### {_table_of[name]}", ""]
        if all(f.value is None for f in rows):
            lines.append(parts(before).get(_table_of[name], "Not measured in this run."))
            continue
        said = directory / f"{name}.stamp"
        if said.exists():
            lines += [f"Measured {said.read_text().strip()}.", ""]
        lines += ["| figure | measured | unit | limit | |", "|---|---:|---|---|---|"]
        for f in rows:
            verdict = "" if f.limit is None else "met" if f.good() else "**missed**"
            lines.append(f"| {f.name} | {show(f.value)} | {f.unit} | {f.limit_text()} | {verdict} |")
    return "\n".join(lines + peers_part(results, before)) + "\n\n"
