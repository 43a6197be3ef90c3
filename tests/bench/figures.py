# SPDX-License-Identifier: GPL-2.0-only
"""Turns the benchmarks' results into figures, compares them with their limits, and writes the page.

A limit is the project's promise. A figure without a limit is only reported.
"""

import datetime
import json
import os
import re
import statistics
import subprocess
from itertools import pairwise
from pathlib import Path

QUICK = os.environ.get("BENCH_QUICK") == "1"

SECTIONS = []
_figures_of = {}
_table_of = {}


def section(name, table):
    """Registers a function that yields the figures of a section."""
    def register(function):
        SECTIONS.append(name)
        _figures_of[name] = function
        _table_of[name] = table
        return function
    return register


class Figure:
    def __init__(self, name, value, unit, most=None, least=None):
        self.name, self.value, self.unit = name, value, unit
        self.most, self.least = most, least
        self.limit = most if most is not None else least

    def good(self):
        if self.value is None:
            return False
        return self.value <= self.most if self.most is not None else self.value >= self.least

    def limit_text(self):
        if self.limit is None:
            return ""
        return f"{'<=' if self.most is not None else '>='} {show(self.limit)}"

    def __str__(self):
        return f"{self.name}: {show(self.value)} {self.unit} ({self.limit_text()})"


def show(value):
    if value is None:
        return "not measured"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.0f}"


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

    def p99(self, name):
        job = self.job(name)
        return job["clat_ns"]["percentile"]["99.000000"] if job else None

    def mean(self, name):
        job = self.job(name)
        return job["clat_ns"]["mean"] if job else None


def ratio(a, b):
    return a / b if a is not None and b else None


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


def hit_ratios(path):
    """(seconds since the start, hit ratio since the last sample)"""
    lines = [list(map(float, line.split())) for line in path.read_text().splitlines()]
    for before, after in pairwise(lines):
        hits, misses = after[1] - before[1], after[2] - before[2]
        if hits + misses:
            yield after[0] - lines[0][0], hits / (hits + misses)


def steady(ratios):
    last = [r for t, r in ratios if t > 0.8 * ratios[-1][0]]
    return sum(last) / len(last)


@section("warm", "Warm-up on the disk, zipf(1.1) over twice the cache")
def warm_figures(results):
    for name, words in (("first", "first set"), ("moved", "another set after it")):
        times, level = {}, {}
        try:
            for engine in ("stock", "hearth"):
                times[engine] = list(hit_ratios(results.dir / f"warm-{engine}-{name}.samples"))
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


# The results that the sources of tests/bench/published/ state, as far as they are known here.
PUBLISHED = {
    "sysbench-rndwr-fsync": "15.5 times faster with a cache",
}
# A cache cannot speed these up.
STREAMS = ("dd-1m", "hdparm-sequential", "hdparm-cached")


@section("published", "Published tests, on the disk")
def published_figures(results):
    names = sorted(p.stem for p in (Path(__file__).parent / "published").glob("*.fio"))
    for name in names:
        if name.startswith("onepass"):
            continue
        bare = results.both(f"published-uncached-{name}")
        said = f" (source: {PUBLISHED[name]})" if PUBLISHED.get(name) else ""
        yield Figure(f"{name}: uncached{said}", bare, "I/Os per second")
        for engine in ("stock", "hearth"):
            held = engine == "hearth" and name in STREAMS
            yield Figure(f"{name}: {engine}, of uncached",
                         ratio(results.both(f"published-{engine}-{name}"), bare), "",
                         least=0.95 if held else None)
    for engine in ("stock", "hearth"):
        job = f"published-{engine}-cachecade-warm"
        yield Figure(f"cachecade-warm: {engine}, p99 of the mean",
                     ratio(results.p99(job), results.mean(job)), "",
                     most=1.2 if engine == "hearth" else None)
        for size, least in (("block", 0.45), ("4k", 0.48)):
            yield Figure(f"onepass-{size}: {engine}, hit ratio (LRU: {0.15 if size == 'block' else 0.48})",
                         results.said.get(f"onepass-{engine}-{size}"), "",
                         least=least if engine == "hearth" else None)


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
    return "\n".join(lines) + "\n\n"
