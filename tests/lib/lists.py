# SPDX-License-Identifier: GPL-2.0-only
"""The lists of settings, counters and histograms, as scripts/lists prints them. It must not know any of them."""

import subprocess
from collections import namedtuple
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]

Setting = namedtuple("Setting", "owner key unit default least most help")
Counter = namedtuple("Counter", "name help")


def lists(top):
    """Returns the settings, the counters and the names of the histograms of a tree."""
    text = subprocess.run([top / "scripts/lists"], text=True, stdout=subprocess.PIPE, check=True).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    settings = [Setting(*row[1:4], *map(int, row[4:7]), row[7]) for row in rows if row[0] == "setting"]
    counters = [Counter(*row[1:]) for row in rows if row[0] == "counter"]
    latencies = [row[1] for row in rows if row[0] == "latency"]
    assert len(settings) + len(counters) + len(latencies) == len(rows)
    return settings, counters, latencies


SETTINGS, COUNTERS, LATENCIES = lists(TOP)
