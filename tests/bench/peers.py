# SPDX-License-Identifier: GPL-2.0-only
"""The same work on hearth and on its peers: what runs, what it is called, and what hearth promises.

A case is what a guest does on one engine. A row of the table is one part of a case, with limits.
The file turns cases into a plan for the guest (guest/peers.sh), and the guest's results into cells,
figures with limits, and the tables of docs/performance.md. It must not know how a guest does a step.
"""

import json
import math
import os
import textwrap

from measured import Figure, ratio, show

QUICK = os.environ.get("BENCH_QUICK") == "1"
CHOSEN_ROWS = os.environ.get("BENCH_ROWS", "").split()        # none: all
CHOSEN_ENGINES = os.environ.get("BENCH_ENGINES", "").split()  # none: all
OPENCAS = os.environ.get("OPENCAS", "")

SSD_MIB = 256
SHARE = 0.99  # of a peer's figure that hearth has to reach, unless a row says otherwise


# ---- Engines ----

class Engine:
    """A cache, or a device alone. guest/stacks.sh makes it by its key."""

    key = words = ""
    peer = True          # hearth may not be behind it
    least_bytes = 512    # of a request
    most_mib = math.inf  # of the data of a case
    drains = True

    def runs(self, case):
        """Can it do the case at all?"""
        return (case.request_bytes >= self.least_bytes and case.data_mib <= self.most_mib and
                (self.drains or not case.drains))


class Hearth(Engine):
    key = words = "hearth"
    peer = False


class Stock(Engine):
    key, words = "stock", "stock dm-cache"


class Bcache(Engine):
    key = words = "bcache"


class Writecache(Engine):
    key, words = "writecache", "dm-writecache"
    least_bytes = 4096


class OpenCas(Engine):
    key, words = "opencas", "Open CAS"
    least_bytes = 4096
    drains = False  # nobody has built that yet


class Ssd(Engine):
    key, words = "ssd", "the SSD alone"
    peer = drains = False
    most_mib = SSD_MIB


class Disk(Engine):
    key, words = "disk", "the disk alone"
    peer = drains = False


ENGINES = (Hearth(), Stock(), Bcache(), Writecache(), *((OpenCas(),) if OPENCAS else ()), Ssd(),
           Disk())
PEERS = tuple(engine.key for engine in ENGINES if engine.peer)


# ---- Cases ----

def job(part, options, *, ios=None, seconds=None, counted=True):
    """A step: a job of fio. It ends after so many I/Os of each of its processes, or so many seconds,
    a quarter of both if the run is quick."""
    less = 4 if QUICK else 1
    words = ["counted" if counted else "job", part, "--group_reporting", "--unified_rw_reporting=both"]
    if seconds is not None:
        words.append(f"--runtime={max(seconds // less, 1)}")
    words.append("--time_based" if ios is None else f"--number_ios={ios // less}")
    return " ".join([*words, options])


def prepared(part, options):
    """A step: a job of fio that always runs to its end."""
    return f"job {part} {options}"


class Case:
    """steps: what is done between making and removing a stack; a word stands for a step that makes
    the stack itself. devices: one of guest/peers.sh's sets. data_mib: all that is read or written."""

    def __init__(self, name, steps, *, devices="far", data_mib=0, request_bytes=4096, drains=False):
        self.name, self.devices = name, devices
        self.steps = [steps] if isinstance(steps, str) else ["make", *steps]
        self.data_mib, self.request_bytes, self.drains = data_mib, request_bytes, drains

    def plan(self, engine):
        return [f"{self.name} {engine.key} {step}"
                for step in [f"devices {self.devices}", *self.steps, "remove"]]


def whole_set(size):
    """Writes a set in whole blocks, each once."""
    return prepared("set", f"--rw=randwrite --bs=64k --norandommap=0 --iodepth=8 --size={size}")


def twice_read(size):
    return prepared("again", f"--rw=randread --bs=64k --norandommap=0 --iodepth=8 --loops=2 --size={size}")


def random_writes(name, mib, jobs, fsync=False):
    options = f"--rw=randwrite --size={mib}m --iodepth=1 --numjobs={jobs}"
    ios = 20000
    if fsync:
        options, ios = f"{options} --fsync=1", 5000
    return Case(name, [job("job", options, ios=ios // jobs, seconds=20)], data_mib=mib)


def line(name, request_bytes, mib, fsync=False):
    """Writes one after the other."""
    return Case(name, [job("job", f"--rw=write --bs={request_bytes} --size={mib}m --iodepth=1"
                           + (" --fsync=1" if fsync else ""),
                           ios=3000 if fsync else 16000, seconds=10)],
                data_mib=mib, request_bytes=request_bytes)


def mix(name, size, data_mib):
    """70/30 over a set that was written in whole blocks before."""
    options = f"--rw=randrw --rwmixread=70 --iodepth=8 --size={size}"
    return Case(name, [whole_set(size), job("settle", options, seconds=12, counted=False),
                       job("job", options, seconds=8)], data_mib=data_mib)


def database(name, scale, seconds):
    """The SSD alone has room for any of them."""
    return Case(name, f"pgbench {scale} {seconds // 4 if QUICK else seconds}", devices="kept")


def warm_jobs():
    for rw in ("read", "write"):
        for depth in (1, 16):
            yield job(f"{rw}-{depth}", f"--rw=rand{rw} --iodepth={depth} --size=32m", ios=40000,
                      seconds=20)


HALF, TWICE, FOUR = SSD_MIB // 2, SSD_MIB * 2, SSD_MIB * 4
READ_SCANNED = "--rw=randread --iodepth=4 --size=64m"

CASES = {case.name: case for case in (
    *(random_writes(f"{kind}-{size}-{jobs}", mib, jobs, kind == "fsync")
      for kind in ("write", "fsync") for size, mib in (("half", HALF), ("twice", TWICE))
      for jobs in (1, 16)),
    line("line-512", 512, 64), line("line-4k", 4096, 64),
    line("line-512-fsync", 512, 64, True), line("line-4k-fsync", 4096, 64, True),
    *(Case(f"whole-{depth}", [job("job", f"--rw=randwrite --bs=64k --iodepth={depth} --size={SSD_MIB}m",
                                  ios=2000, seconds=10)], data_mib=SSD_MIB)
      for depth in (8, 32)),
    Case("four", [job("job", f"--size={FOUR}m --name=w --rw=randwrite --iodepth=16"
                      " --name=r --new_group --rw=randread --iodepth=1", seconds=60)], data_mib=FOUR),
    mix("mix-half", f"{HALF}m", HALF), mix("mix-100", "@DATA", SSD_MIB),
    mix("mix-105", f"{SSD_MIB * 105 // 100}m", SSD_MIB * 1.05),
    mix("mix-200", f"{TWICE}m", TWICE),
    Case("mix-200-cold", [job("job", f"--rw=randrw --rwmixread=70 --iodepth=8 --size={TWICE}m",
                              seconds=20)], data_mib=TWICE),
    Case("zipf", [job(part, f"--rw=randread --random_distribution=zipf:1.1 --iodepth=8 --size={TWICE}m",
                      seconds=20, counted=part == "job") for part in ("settle", "job")],
         data_mib=TWICE),
    Case("warm", [whole_set("32m"), twice_read("32m"), *warm_jobs()], data_mib=32),
    Case("scan", [whole_set("64m"), twice_read("64m"), job("before", READ_SCANNED, ios=40000, seconds=20),
                  prepared("scan", f"--rw=read --bs=1m --iodepth=4 --size={FOUR}m"),
                  job("after", READ_SCANNED, ios=40000, seconds=20)], data_mib=64),
    Case("drain", "drain", devices="wide", data_mib=SSD_MIB, drains=True),
    Case("boot", "boot", data_mib=TWICE),
    Case("tree", "tree", devices="kept", data_mib=240),
    database("pgbench-6", 6, 20), database("pgbench-20", 20, 60),
)}


# ---- Results ----

class Cell:
    """The figures of one engine in one part of a case. One that was not measured is None."""

    def __init__(self, said, directory, case, engine, part, job_name=None):
        self.said, self.dir, self.job_name = said, directory, job_name
        self.case = f"peers-{case}-{engine}"
        self.name = f"{self.case}-{part}"
        self.jobs = self._jobs()

    def _jobs(self):
        try:
            return json.loads((self.dir / f"{self.name}.json").read_text())["jobs"]
        except (OSError, ValueError, KeyError):
            return []

    def job(self):
        """The results of one job: of its reads and writes together, if it has both."""
        for found in self.jobs:
            if self.job_name in (None, found["jobname"]):
                kinds = [found[kind] for kind in ("mixed", "read", "write") if kind in found]
                return max(kinds, key=lambda kind: kind["total_ios"])
        return None

    def _total(self, kind, what):
        return sum(found[kind][what] for found in self.jobs if kind in found)

    def ios(self):
        return self._total("read", "total_ios") + self._total("write", "total_ios")

    def user_bytes(self):
        """As many as users wrote, or read if they wrote nothing."""
        return self._total("write", "io_bytes") or self._total("read", "io_bytes")

    def number(self, what):
        return self.said.get(f"{self.name}-{what}")

    def rate(self):
        found = self.job()
        return found["iops"] if found else None

    def seconds(self):
        return self.number("seconds")

    def tail_ms(self, percent):
        """A percentile of the latency; that of the fsync, where each write has one."""
        found = self.job()
        if not found:
            return None
        synced = [one["sync"] for one in self.jobs if one.get("sync", {}).get("total_ios")]
        times = synced[0]["lat_ns"] if synced else found["clat_ns"]
        at = times.get("percentile", {}).get(f"{percent:.6f}")
        return at / 1e6 if at is not None else None

    def ssd_bytes(self):
        """Bytes written to the SSD, with the metadata, for each of the users' bytes."""
        sectors = [self.number(f"{where}-sectors") for where in ("meta", "ssd")]
        return None if None in sectors else ratio(512 * sum(sectors), self.user_bytes())

    def flushes(self):
        """The SSD's flushes, with the metadata's, for 1,000 I/Os."""
        both = [self.number(f"{where}-flushes") for where in ("meta", "ssd")]
        return None if None in both else ratio(1000 * sum(both), self.ios())

    def disk_ms(self):
        """The disk's work for an I/O; for the whole part, where no I/Os are counted."""
        worked = self.number("disk-ns")
        if worked is None:
            return None
        return worked / 1e6 / self.ios() if self.jobs else worked / 1e6

    def hit_ratio(self):
        """The share of the I/Os for which the disk was not read."""
        reads = self.number("disk-reads")
        return None if reads is None or not self.ios() else 1 - reads / self.ios()


class Table:
    """The cells of all rows."""

    def __init__(self, results):
        self.results = results

    def cell(self, row, engine, part=None):
        return Cell(self.results.said, self.results.dir, row.case.name, engine, part or row.part,
                    row.job_name)

    def value(self, row, engine):
        return row.value(self.cell(row, engine))

    def engines_of(self, row):
        """The engines that a row wants, without those that nobody chose."""
        return [engine for engine in ENGINES if row.wants(engine)]


# ---- Hearth's promises ----

def best_of(values, more_is_better, missing):
    """The value that is to be reached. One that a missing value belongs to can't be reached."""
    if None in values or not values:
        return missing
    return max(values) if more_is_better else min(values)


def beats_peers(table, row):
    """hearth's value against a share of each peer's, and of each device that the row names."""
    shares = {engine.key: row.shares.get(engine.key, SHARE) for engine in table.engines_of(row)
              if engine.peer or engine.key in row.shares}
    ours = table.value(row, "hearth")
    if not shares:
        return
    if row.seconds:
        # A share of the speed is one of the time turned round.
        most = best_of([ratio(table.value(row, key), share) for key, share in shares.items()],
                       False, -math.inf)
        yield Figure(f"{row.words}: hearth", ours, row.unit, most=most)
    else:
        rates = {key: table.value(row, key) for key in shares}
        least = best_of([None if rates[key] is None else share * rates[key]
                         for key, share in shares.items()], True, math.inf)
        yield Figure(f"{row.words}: hearth", ours, row.unit, least=least)


def most_ssd_bytes(most):
    def promise(table, row):
        yield Figure(f"{row.words}: hearth, SSD bytes per byte",
                     table.cell(row, "hearth").ssd_bytes(), "", most=most)
    return promise


def most_tail(percent, most_ms):
    def promise(table, row):
        yield Figure(f"{row.words}: hearth, p{percent:g}", table.cell(row, "hearth").tail_ms(percent),
                     "ms", most=most_ms)
    return promise


def few_metadata_flushes(most):
    def promise(table, row):
        cell = table.cell(row, "hearth")
        flushes = cell.number("meta-flushes")
        yield Figure(f"{row.words}: hearth, metadata flushes per 1,000",
                     None if flushes is None else ratio(1000 * flushes, cell.ios()), "", most=most)
    return promise


def few_metadata_writes(table, row):
    """For 1,000 writes with an fsync each."""
    cell = table.cell(row, "hearth")
    sectors = cell.number("meta-sectors")
    yield from few_metadata_flushes(4)(table, row)
    yield Figure(f"{row.words}: hearth, metadata written per 1,000",
                 None if sectors is None else ratio(1000 * sectors / 2, cell.ios()), "KiB", most=60)


def reader_beside_writers(table, row):
    """The reader against those of the peers whose writers do at least half as much as hearth's."""
    writers = ROWS["four"]
    ours = table.value(writers, "hearth")
    rates = []
    for key in PEERS:
        written, read = table.value(writers, key), table.value(row, key)
        if None in (ours, written, read):
            rates.append(None)
        elif written >= ours / 2:
            rates.append(0.9 * read)
    if rates or ours is None:
        yield Figure(f"{row.words}: hearth", table.value(row, "hearth"), row.unit,
                     least=best_of(rates, True, math.inf))


def of_another_row(name, share):
    """At least such a share of hearth's own value in another row."""
    def promise(table, row):
        other = ROWS[name]
        value = ratio(table.value(row, "hearth"), table.value(other, "hearth"))
        yield Figure(f"{row.words}: hearth, of {other.words}", value, "", least=share)
    return promise


def of_the_disk(share):
    def promise(table, row):
        value = ratio(table.value(row, "hearth"), table.value(row, "disk"))
        yield Figure(f"{row.words}: hearth, of the disk alone", value, "", least=share)
    return promise


def keeps_hits(table, row):
    ratios = [table.cell(row, "hearth", part).hit_ratio() for part in ("after", "before")]
    yield Figure(f"{row.words}: hearth, hit ratio, of that before", ratio(*ratios), "", least=0.98)


def calm_readers(table, row):
    """Readers' p99 while the engine drains, of theirs when it has."""
    tails = [table.cell(row, "hearth", part).tail_ms(99) for part in ("beside", "idle")]
    yield Figure(f"{row.words}: hearth, p99 of readers beside, of idle", ratio(*tails), "", most=1.3)


def of_the_ssd(share, worst):
    """At least such a share of the SSD alone, and in no five seconds less than the other share."""
    def promise(table, row):
        alone = table.value(row, "ssd")
        yield Figure(f"{row.words}: hearth, of the SSD alone", ratio(table.value(row, "hearth"), alone),
                     "", least=share)
        yield Figure(f"{row.words}: hearth, the worst 5 s, of the SSD alone",
                     ratio(table.cell(row, "hearth").number("worst-rate"), alone), "", least=worst)
    return promise


def shortest_transactions(table, row):
    tails = [row.tail_ms(table.cell(row, key), 99) for key in PEERS]
    yield Figure(f"{row.words}: hearth, p99", row.tail_ms(table.cell(row, "hearth"), 99), "ms",
                 most=best_of(tails, False, -math.inf))


def sums_agree(table, row):
    """After a crash of the server."""
    yield Figure(f"{row.words}: hearth, tables' sums agree", table.cell(row, "hearth").number("agrees"),
                 "", least=1)


# ---- Rows ----

class Row:
    """A part of a case. shares: how much of an engine's rate hearth has to reach, where it is not
    SHARE; a device alone counts only if it is named. promises: what else hearth promises."""

    def __init__(self, name, words, case=None, part="job", *, shares=None, promises=(), seconds=False,
                 job_name=None, peers=PEERS, beats=beats_peers):
        self.name, self.words = name, words
        self.case, self.part, self.job_name = CASES[case or name], part, job_name
        self.shares, self.promises = shares or {}, (beats, *promises) if beats else promises
        self.seconds, self.peers = seconds, peers
        self.unit = "s" if seconds else "/s"

    def wants(self, engine):
        if engine.peer and engine.key not in self.peers:
            return False
        return engine.runs(self.case)

    def value(self, cell):
        return cell.seconds() if self.seconds else cell.rate()

    def tail_ms(self, cell, percent):
        return cell.tail_ms(percent)


OVER = {"half": "half of the cache", "twice": "twice the cache"}
JOBS = {1: "1 job", 16: "16 jobs"}


def write_rows():
    # The write log's goals beside single engines (shares) and alone.
    depth = {1: {"ssd": 0.9, "bcache": 1, "writecache": 0.95},
             16: {"ssd": 0.82, "bcache": 1, "writecache": 0.95}}
    synced = {"bcache": 1.2, "writecache": 1.2}
    for size, over in OVER.items():
        for jobs, by in JOBS.items():
            shares = depth[jobs] if size == "half" else {"bcache": 1, "writecache": 1}
            yield Row(f"write-{size}-{jobs}", f"4 KiB at random over {over}, {by}", shares=shares,
                      promises=[most_ssd_bytes(1.1)] if size == "half" else [])
    for size, over in OVER.items():
        for jobs, by in JOBS.items():
            promises = [most_ssd_bytes(2.1 if jobs == 1 else 1.5), few_metadata_writes]
            yield Row(f"fsync-{size}-{jobs}", f"4 KiB at random over {over}, an fsync after each, {by}",
                      shares=synced if size == "half" else {}, promises=promises if size == "half" else [])


def line_rows():
    for request, words in (("512", "512 bytes"), ("4k", "4 KiB")):
        yield Row(f"line-{request}", f"{words} one after the other",
                  shares={"ssd": 0.85, "stock": 1, "bcache": 1, "writecache": 1})
    for request, words in (("512", "512 bytes"), ("4k", "4 KiB")):
        yield Row(f"line-{request}-fsync", f"{words} one after the other, an fsync after each",
                  shares={"stock": 1.2, "bcache": 1.2, "writecache": 1.2})


def warm_rows():
    for rw in ("read", "write"):
        for depth in (1, 16):
            yield Row(f"warm-{rw}-{depth}", f"warm 4 KiB {rw}s at random, depth {depth}", "warm",
                      f"{rw}-{depth}")


def drain_seconds(cell):
    return cell.said.get(f"{cell.case}-drain-seconds")


class DrainRow(Row):
    def value(self, cell):
        return drain_seconds(cell)


class DatabaseRow(Row):
    """The guest counts the transactions, and their 99th percentile alone."""

    def value(self, cell):
        return cell.number("rate")

    def tail_ms(self, cell, percent):
        return cell.number(f"p{percent}-ms")


ROWS = {row.name: row for row in (
    *write_rows(),
    *line_rows(),
    *(Row(f"whole-{depth}", f"64 KiB at random into an empty cache, depth {depth}",
          shares={"writecache": 0.9},
          # A commit has two flushes and maps 128 blocks.  It was for some eight blocks
          # while the first second after a pause counted as idle.
          promises=[most_tail(99.9, 5), few_metadata_flushes(30)]) for depth in (8, 32)),
    Row("four", "4 KiB at random over four caches, depth 16, beside a reader", job_name="w",
        shares={"bcache": 1, "writecache": 0.9}),
    Row("four-reader", "the reader beside those writes, depth 1", "four", job_name="r",
        beats=reader_beside_writers),
    Row("mix-half", "70/30 of 4 KiB, depth 8, over half of the cache", beats=None),
    Row("mix-100", "70/30 over all that hearth's cache can hold", shares={"stock": 1},
        peers=("stock",), promises=[of_another_row("mix-half", 0.9)]),
    Row("mix-105", "70/30 over 1.05 times the cache", shares=dict.fromkeys(PEERS, 1)),
    Row("mix-200", "70/30 over twice the cache", shares=dict.fromkeys(PEERS, 1),
        promises=[most_ssd_bytes(3)]),
    Row("mix-200-cold", "70/30 over twice the cache, which was empty before", beats=None, promises=[of_the_disk(1.65)]),
    Row("zipf", "zipf(1.1) reads of 4 KiB over twice the cache, depth 8"),
    *warm_rows(),
    Row("scan", "warm reads of 4 KiB, depth 4, after a scan of four caches", part="after",
        promises=[keeps_hits]),
    DrainRow("drain", "4,000 random dirty blocks go home beside readers", part="drain", seconds=True,
             shares={"stock": 2, "bcache": 2, "writecache": 1}, promises=[calm_readers]),
    Row("boot-first", "all that a boot reads, in its order", "boot", "first", seconds=True),
    Row("boot-second", "the same boot again", "boot", "second", seconds=True),
    Row("tree-read", "reading a tree of files once", "tree", "read", seconds=True),
    Row("tree-copy", "copying the tree", "tree", "copy", seconds=True),
    Row("tree-search", "searching the copy", "tree", "search", seconds=True),
    DatabaseRow("pgbench-6", "PostgreSQL, 8 clients, 20 s, data and log within the cache", beats=None,
                promises=[of_the_ssd(0.95, 0.9), sums_agree]),
    DatabaseRow("pgbench-20", "PostgreSQL, 8 clients, 60 s, data and log 1.7 times the cache",
                shares=dict.fromkeys(PEERS, 1.05), promises=[shortest_transactions, sums_agree]),
)}


def chosen_rows():
    unknown = set(CHOSEN_ROWS) - set(ROWS)
    if unknown:
        raise SystemExit(f"no such rows: {' '.join(sorted(unknown))}; there are {' '.join(ROWS)}")
    return [row for row in ROWS.values() if not CHOSEN_ROWS or row.name in CHOSEN_ROWS]


def chosen_engines():
    unknown = set(CHOSEN_ENGINES) - {engine.key for engine in ENGINES}
    if unknown:
        raise SystemExit(f"no such engines: {' '.join(sorted(unknown))}; there are "
                         + " ".join(engine.key for engine in ENGINES))
    return [engine for engine in ENGINES if not CHOSEN_ENGINES or engine.key in CHOSEN_ENGINES]


def chosen_cases():
    """(case, engine) of all that the chosen rows need. Changing the devices costs most, then changing
    the engine."""
    rows = chosen_rows()
    cases = {row.case.name: row.case for row in rows}.values()
    for devices in ("far", "wide", "kept"):
        for engine in chosen_engines():
            for case in cases:
                if case.devices == devices and any(row.case is case and row.wants(engine) for row in rows):
                    yield case, engine


def figures(results):
    table = Table(results)
    for row in chosen_rows():
        for promise in row.promises:
            yield from promise(table, row)


# ---- The page ----

def verdict_of(table, row):
    held = [figure for promise in row.promises for figure in promise(table, row)]
    missed = [figure for figure in held if not figure.good()]
    if not held:
        return "no limit"
    if not missed:
        return "met"
    if any(figure.value is None or math.isinf(figure.limit) for figure in missed):
        return "a peer was not measured"
    return "**missed**: " + "; ".join(
        figure.name.partition(": ")[2].removeprefix("hearth, ").replace("hearth", "the rate", 1)
        + f" {show(figure.value)} ({figure.limit_text()})" for figure in missed)


def measured_rows(table):
    return [row for row in ROWS.values()
            if any(table.value(row, engine.key) is not None for engine in ENGINES)]


def left_out(table):
    """A sentence that names the rows of which nothing was measured. Older figures of some of them
    stand in the tables of another heading, which were measured by hand."""
    measured = measured_rows(table)
    names = [f"`{row.name}`" for row in ROWS.values() if row not in measured]
    if not names:
        return []
    return ["", textwrap.fill(
        "Not measured by `make bench S=peers` yet (some have [older figures](#beside-the-peers)): "
        f"{', '.join(names)}.", 100, break_on_hyphens=False)]


def overview(table):
    lines = ["| row; per second, or seconds (s) | " + " | ".join(engine.words for engine in ENGINES) + " | |",
             "|---|" + "---:|" * len(ENGINES) + "---|"]
    for row in measured_rows(table):
        cells = []
        for engine in ENGINES:
            value = table.value(row, engine.key)
            cells.append("" if value is None else show(value) + (" s" if row.seconds else ""))
        lines.append(f"| {row.name}: {row.words} | " + " | ".join(cells) + f" | {verdict_of(table, row)} |")
    return lines


COLUMNS = (
    ("p50, ms", lambda row, cell: row.tail_ms(cell, 50)),
    ("p99, ms", lambda row, cell: row.tail_ms(cell, 99)),
    ("p99.9, ms", lambda row, cell: row.tail_ms(cell, 99.9)),
    ("SSD bytes per byte", lambda row, cell: cell.ssd_bytes()),
    ("flushes per 1,000", lambda row, cell: cell.flushes()),
    ("disk, ms per I/O, or in all", lambda row, cell: cell.disk_ms()),
)


def details(table):
    lines = ["| row, engine | rate | " + " | ".join(words for words, _ in COLUMNS) + " |",
             "|---|" + "---:|" * (1 + len(COLUMNS))]
    for row in ROWS.values():
        for engine in ENGINES:
            cell = table.cell(row, engine.key)
            value = row.value(cell)
            if value is None:
                continue
            numbers = [column(row, cell) for _, column in COLUMNS]
            lines.append(f"| {row.name}, {engine.words} | {show(value)} {row.unit} | "
                         + " | ".join("" if number is None else show(number) for number in numbers) + " |")
    return lines


def stamps(results):
    """When hearth was measured, and which commit it was: several, if rows were run one by one."""
    found = {path.read_text().strip() for path in results.dir.glob("peers-*-hearth.stamp")}
    return sorted(found)


def page(results):
    """The text below the section's title, or None if nothing was measured."""
    table = Table(results)
    if all(table.value(row, "hearth") is None for row in ROWS.values()):
        return None
    return "\n".join([f"Measured {'; '.join(stamps(results))}.", "", *overview(table), *left_out(table), "",
                      "Latencies, bytes, flushes and the disk's work of the same rows:", "",
                      *details(table)])
