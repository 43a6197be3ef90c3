# SPDX-License-Identifier: GPL-2.0-only
"""README.md's screen is what hearth prints; its ten figures are docs/performance.md's."""

import subprocess
from pathlib import Path

from fake import COUNTERS
from test_status import shift_history

TOP = Path(__file__).resolve().parents[2]
GIB = 1 << 30
MADE_UP = {
    "name": "vg-data", "mode": "writeback", "used": 1551120, "total": 1638400, "dirty": 12044,
    "length": 2 * (1 << 40) // 512,
    "core": "20 migration_threshold 2048 promote_ahead 384 max_promote_mbps 0 "
            "max_promote_share 50 fail_open 1 max_intents 32768 dirty_high 50 dirty_low 45 "
            "dirty_limit 100 writeback_idle 2",
    "settings": "10 read_level 2 write_level 2 full_write_level 2 seq_cutoff 64 seq_again 1",
}


class Cache:
    """Counters that rise, and times that requests to the devices take."""

    def __init__(self, dm):
        self.dm = dm
        self.count = dict.fromkeys(COUNTERS, 0)
        self.io = {"io": [0] * 8, "fast_io": [0] * 8, "origin_io": [0] * 8}

    def add(self, io, **counters):
        for name, n in counters.items():
            self.count[name] += n
        for device, (reads, read_ms, writes, write_ms) in io.items():
            for place, n in ((0, reads), (3, read_ms), (4, writes), (7, write_ms)):
                self.io[device][place] += n

    def screen(self):
        self.dm.cache(**MADE_UP, stats=self.count, **self.io)
        return self.dm.out("status", "vg/data")


def timed(kind, nr, us):
    return {f"timed_{kind}": nr, f"{kind}_ns": nr * us * 1000}


def test_the_screen(dm):
    c = Cache(dm)
    c.io["io"][2] = 360 * GIB // 512  # that users read, or wrote
    c.add({"io": (9000000, 9800000, 2290000, 2300000),
           "fast_io": (8123004, 900000, 2200000, 150000),
           "origin_io": (911202, 8700000, 280326, 2500000)},
          read_hits=8123004, read_misses=911202, write_hits=2102880, write_misses=190114,
          promotions=118230, demotions=16212, writebacks=90212, invalidations=113,
          bypass_cold=611902, bypass_stream=201133, bypass_busy=311,
          cache_sectors_written=42 * GIB // 512,
          **timed("read_hits", 126000, 118), **timed("write_hits", 33000, 64),
          **timed("read_misses", 14000, 9700), **timed("write_misses", 3000, 10400))
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
          read_hits=7010, read_misses=402, write_hits=1690, write_misses=51,
          cache_sectors_written=40000, **timed("read_hits", 110, 118),
          **timed("write_hits", 26, 64), **timed("read_misses", 6, 9900))
    screen = c.screen()
    shown = (TOP / "README.md").read_text().split("    # hearth status vg/data\n", 1)[1]
    shown = "".join(line[4:] + "\n" for line in shown.split("\n\n", 1)[0].splitlines())
    assert shown == screen


def test_the_ten_figures():
    checked = subprocess.run([TOP / "tests/bench/summary.py", "check"], text=True,
                             capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
