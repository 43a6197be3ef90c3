# SPDX-License-Identifier: GPL-2.0-only
"""A directory that stands for device-mapper, and a way to run the command on it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema

HERE = Path(__file__).resolve().parent
BIN = Path(os.environ.get("HEARTH_BIN", HERE.parents[1] / "build/lvm-plugin-test"))

sys.path.insert(0, str(HERE.parents[1] / "tests/lib"))
import lists  # noqa: E402

COUNTERS = [counter.name for counter in lists.COUNTERS]
LATENCIES = lists.LATENCIES
BUCKETS = 24
# As dmsetup prints it.
RAID1 = "0 2048 raid raid1 3 0 region_size 4096 2 253:20 253:21 253:22 253:23\n"


class Fake:
    """The directory that a test fills; dm-fake.c describes its files."""

    def __init__(self, path):
        self.path = path
        self.names = []
        self.write("names", "")
        self.write("version", "2.100.0")
        (path / "run").mkdir()
        (path / "bin").mkdir()
        (path / "var/lib").mkdir(parents=True)

    def write(self, name, text):
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def command(self, name, script):
        """Writes a command of the system that goes before those of PATH."""
        self.write(f"bin/{name}", f"#!/bin/bash\n{script}\n").chmod(0o755)

    def cache(self, name="vg-lv", listing=None, **kw):
        """Makes a cache of 512 blocks of 64 KiB; keywords replace parts of its status.

        latency has the buckets of each kind, {bucket: requests}. Without them all timed requests of the kind
        are in the bucket of 33 to 66 us.
        """
        v = {
            "lvm": True, "devno": "253:0", "mode": "writeback", "policy": "smq",
            "used": 256, "total": 512, "data": 480, "dirty": 64, "rw": "rw", "check": "-",
            "features": "2 metadata2 writeback", "table_args": "0", "length": 262144,
            "core": "2 migration_threshold 2048", "settings": "4 read_level 2 seq_cutoff 64",
            "suspended": 0, "start": 0, "alone": 1, "health": "good", "origin": "same",
            "stats": {}, "latency": {}, "log": None, "segments": 0,
            "io": (100, 0, 2000, 50, 40, 0, 1000, 80, 0, 70, 130),
            "fast_io": (80, 0, 1600, 8, 60, 0, 2000, 12),
            "origin_io": (20, 0, 400, 42, 30, 0, 900, 75),
        }
        v.update(kw)
        counters = {c: i * 11 for i, c in enumerate(COUNTERS, 1)} | v["stats"]
        line = (f"8 20/2048 128 {v['used']}/{v['total']} {counters['read_hits']} "
                f"{counters['read_misses']} {counters['write_hits']} "
                f"{counters['write_misses']} {counters['demotions']} "
                f"{counters['promotions']} {v['dirty']} {v['features']} {v['core']} "
                f"{v['policy']} {v['settings']} {v['rw']} {v['check']} ")
        table = (f"253:2 253:1 253:3 128 {v['features']} {v['policy']} {v['table_args']}")
        nth = f".{listing}" if listing else ""
        self.write(f"{name}.dev{nth}", "\n".join([
            f"uuid {'LVM-abc' if v['lvm'] else 'other'}", f"devno {v['devno']}",
            f"suspended {v['suspended']}", f"start {v['start']}", f"alone {v['alone']}",
            f"length {v['length']}", f"table {v.get('table', table)}",
            f"status {v.get('status', line)}", ""]))
        self.write(f"{name}.stats{nth}", "".join(
            [f"mode {v['mode']}\n", f"health {v['health']}\n"] +
            ([f"origin {v['origin']}\n"] if v["origin"] else []) +
            [f"{k} {n}\n" for k, n in counters.items()] +
            ["intents_held 3\n", "free_slots 9\n"] +
            ([f"data_slots {v['data']}\n"] if v["data"] else []) +
            [self.histogram(k, v["latency"].get(k, {5: counters[f"timed_{k}"]})) for k in LATENCIES] +
            ([f"log {v['log']}\nlog_segments {v['segments']}\nlog_blocks 7\n"] if v["log"] else [])))
        for devno, io in ((v["devno"], "io"), ("253:1", "fast_io"), ("253:3", "origin_io")):
            self.write(f"sys/dev/block/{devno}/stat", " ".join(map(str, v[io])))
        if name not in self.names:
            self.names.append(name)
        self.write("names", "".join(n + "\n" for n in self.names))
        return counters

    @staticmethod
    def histogram(kind, buckets):
        return " ".join([f"latency_{kind}", *(str(buckets.get(i, 0)) for i in range(BUCKETS))]) + "\n"

    def device(self, number, node, name=None, below=()):
        """Gives a block device its node, its name if it is one of LVM's, and the devices below it."""
        self.write(f"sys/dev/block/{number}/uevent", f"DEVTYPE=disk\nDEVNAME={node}\n")
        if name:
            self.write(f"sys/dev/block/{number}/dm/name", f"{name}\n")
            self.write(f"sys/dev/block/{number}/dm/uuid", "LVM-abc\n")
        for i, lower in enumerate(below):
            self.write(f"sys/dev/block/{number}/slaves/s{i}/dev", f"{lower}\n")

    def partition(self, number, disk):
        """Makes a block device a partition of another one, in whose directory /sys has it."""
        devices = self.path / "sys/dev/block"
        real = self.path / "sys/devices" / disk
        for name, place in ((disk, real), (number, real / number)):
            place.parent.mkdir(parents=True, exist_ok=True)
            if (devices / name).exists():
                (devices / name).rename(place)
            place.mkdir(exist_ok=True)
            (devices / name).symlink_to(place)
        self.write(f"sys/dev/block/{disk}/dev", f"{disk}\n")
        self.write(f"sys/dev/block/{number}/partition", "1\n")

    def mirror(self, number):
        """Makes a block device one of RAID 1, by device-mapper."""
        self.write(f"sys/dev/block/{number}/dm/name", "vg-fast\n")
        self.write(f"tables/{number}", RAID1)

    def environment(self, **kw):
        return {**os.environ, "HEARTH_FAKE": str(self.path),
                "PATH": f"{self.path}/bin:{os.environ['PATH']}",
                "ASAN_OPTIONS": "detect_leaks=0", **kw}

    def run(self, *args, code=0, env=None, **kw):
        r = subprocess.run([BIN / "fake/hearth", *map(str, args)], text=True, timeout=60,
                           capture_output=True, env=self.environment(**(env or {})),
                           check=False, **kw)
        assert code is None or r.returncode == code, f"{args}: exit {r.returncode}\n{r.stdout}{r.stderr}"
        return r

    def start(self, *args):
        return subprocess.Popen([BIN / "fake/hearth", *map(str, args)], text=True, stdout=subprocess.PIPE,
                                env=self.environment())

    def out(self, *args, **kw):
        return self.run(*args, **kw).stdout

    def complaint(self, code, *args, **kw):
        """Runs the command, which has to fail, and returns its one line of stderr."""
        r = self.run(*args, code=code, **kw)
        assert r.stderr.count("\n") == 1, r.stderr
        assert r.stderr.startswith("hearth: "), r.stderr
        return r.stderr

    def json(self, *args, schema, **kw):
        value = json.loads(self.out(*args, "--json", **kw))
        valid(value, schema_of(schema))
        return value

    def log(self):
        file = self.path / "log"
        return file.read_text().splitlines() if file.exists() else []


def schema_of(command):
    """Returns the product's schema of the output of `hearth COMMAND --json`."""
    return json.loads((HERE.parents[1] / f"lvm-plugin/schema/{command}.json").read_text())


def valid(value, schema):
    """Fails unless the value is as the schema says, and the schema as JSON Schema says."""
    jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)
