# SPDX-License-Identifier: GPL-2.0-only
"""The published tests: what each source measured, and what hearth promises for the same job.

A job runs on the disk alone, on each engine with a new cache, on hearth with a cache that is full of
other data, and on the SSD alone where a source compares with it. The jobs are in published/, the
guest's part is guest/published.sh.
"""

from measured import Figure, ratio

ENGINES = ("stock", "hearth")
# On a cache that is full of other data a job may lose so little against the disk alone.
FULL_LEAST = 0.95


class Job:
    """One job. Limits are of the uncached rate, unless their name says otherwise."""

    def __init__(self, name, source="", least=None, of_stock=None, of_ssd=None, latency=None):
        self.name = name
        self.source = source      # what the source's cache gave, of uncached
        self.least = least
        self.of_stock = of_stock
        self.of_ssd = of_ssd
        self.latency = latency    # the mean, at most

    @property
    def program(self):
        """The name of its fio job, which may run several times."""
        return self.name.removesuffix("-again").removesuffix("-third")

    def result(self, results, stack):
        return results.both(f"published-{stack}-{self.name}")

    def words(self):
        return f"{self.name} (source: {self.source})" if self.source else self.name

    def figures(self, results):
        # The disk alone remembers nothing between two runs.
        bare_name = self.program
        bare = results.both(f"published-uncached-{bare_name}")
        yield Figure(f"{self.words()}: uncached", bare, "I/Os per second")
        for engine in ENGINES:
            held = engine == "hearth"
            yield Figure(f"{self.name}: {engine}, of uncached", ratio(self.result(results, engine), bare),
                         "", least=self.least if held else None)
        yield Figure(f"{self.name}: hearth, its cache full of other data, of uncached",
                     ratio(self.result(results, "hearth-full"), bare), "",
                     least=FULL_LEAST)
        yield from self.compared(results, bare_name)

    def compared(self, results, bare_name):
        if self.of_stock:
            yield Figure(f"{self.name}: hearth, of stock",
                         ratio(self.result(results, "hearth"), self.result(results, "stock")), "",
                         least=self.of_stock)
        if self.of_ssd:
            yield Figure(f"{self.name}: hearth, of the SSD alone",
                         ratio(self.result(results, "hearth"), self.result(results, "ssd")), "",
                         least=self.of_ssd)
        if self.latency:
            means = [results.mean(f"published-{stack}") for stack in
                     (f"hearth-{self.name}", f"uncached-{bare_name}")]
            yield Figure(f"{self.name}: hearth, mean latency, of uncached", ratio(*means), "",
                         most=self.latency)


def lines():
    """flashcache's sequential jobs. A read is the second of two over what was written."""
    for size in ("quarter", "half", "full"):
        yield Job(f"line-{size}-write", "as the SSD alone", of_ssd=0.9)
        yield Job(f"line-{size}-read-again", "as the SSD alone", of_ssd=0.9)
    yield Job("line-twice-write", "1.36", least=1.5)
    yield Job("line-twice-read-again", "1.36", least=1.5)


JOBS = (
    Job("dd-1m", "1.83", least=1.83, of_stock=1),
    Job("dd-1m-read", "3.9", least=3.9),
    Job("dd-512", "3.6"),
    Job("hdparm-sequential"),
    # hdparm reads for three seconds. The second run reads what the first has read, and then
    # goes on, so it is not more than twice as fast. From the third run on a cache can have
    # all that it reads, as the source's had.
    Job("hdparm-sequential-again", least=2),
    Job("hdparm-sequential-third", "2.16", least=2.16),
    # It reads memory. No block device can change it.
    Job("hdparm-cached", "1.25", least=0.99),
    Job("ioping"),
    Job("ioping-again", "1.7 by latency", latency=1 / 1.7),
    Job("sysbench-rndrw", "70"),
    Job("sysbench-rndwr-fsync", "15.5"),
    Job("oltp-4"), Job("oltp-8"), Job("oltp-16"), Job("oltp-64"),
    Job("cachecade-cold"),
    Job("cachecade-warm"),
    Job("cachecade-write", "2.5", least=2.5, of_stock=1),
    Job("flashcache-quarter"), Job("flashcache-half"), Job("flashcache-full"),
    Job("flashcache-twice", "1.36", least=1.65),
    *lines(),
)


def tail_figures(results):
    for engine in ENGINES:
        job = f"published-{engine}-cachecade-warm"
        yield Figure(f"cachecade-warm: {engine}, p99 of the mean",
                     ratio(results.p99(job), results.mean(job)), "",
                     most=1.2 if engine == "hearth" else None)


def onepass_figures(results):
    """The hit ratio of one pass over twice the SSD, whose second half was in the cache."""
    for engine in ENGINES:
        for size, least, lru in (("block", 0.45, 0.15), ("4k", 0.48, 0.48)):
            yield Figure(f"onepass-{size}: {engine}, hit ratio (LRU: {lru})",
                         results.said.get(f"onepass-{engine}-{size}"), "",
                         least=least if engine == "hearth" else None)


def longest_figure(results):
    """The longest write of dd, which goes to the disk beside write-back when the cache is full."""
    longest = results.longest("published-hearth-dd-1m")
    yield Figure("dd-1m: hearth, longest write", longest and longest / 1e6, "ms", most=60)


OTHERS = {"cachecade-warm": tail_figures, "onepass": onepass_figures, "dd-1m": longest_figure}


def figures(results, rows):
    """rows are the names of jobs to judge; none: all."""
    for job in JOBS:
        if not rows or job.program in rows:
            yield from job.figures(results)
    for name, of_results in OTHERS.items():
        if not rows or name in rows:
            yield from of_results(results)
