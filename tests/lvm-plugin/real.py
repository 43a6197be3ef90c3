# SPDX-License-Identifier: GPL-2.0-only
"""Runs the built command on a real cache, in a guest. Checks every --json output by its
schema, export by Prometheus' format, and the outputs against each other.

Usage: real.py HEARTH VG/LV TRACE.  The volume is cached, in writeback; the script
drains it."""

import json
import subprocess
import sys

from fake import schema_of, valid
from prometheus import parse

hearth, volume, trace = sys.argv[1:]


def out(*args, codes=(0,)):
    r = subprocess.run([hearth, *args], text=True, stdout=subprocess.PIPE, check=False)
    assert r.returncode in codes, f"{args}: exit {r.returncode}"
    return r.stdout


def checked(schema, *args, **kw):
    value = json.loads(out(*args, "--json", **kw))
    valid(value, schema_of(schema))
    print("as the schema says:", *args)
    return value


cache, = checked("status", "status", volume)["caches"]
metrics = parse(out("export"))
for op in ("read", "write"):
    for what in ("hits", "misses"):
        sample, = [n for labels, n in metrics[f"hearth_cache_{what}_total"][1].items()
                   if {("cache", volume), ("op", op)} <= set(labels)]
        assert sample >= cache["counters"][f"{op}_{what}"]
size, = metrics["hearth_cache_size_bytes"][1].values()
assert size == cache["total_blocks"] * cache["block_bytes"]
print("as Prometheus' format has it: export,", len(metrics), "metrics")
top, = checked("top", "top", "--count", "1")["caches"]
assert top["name"] == volume and top["mode"] == cache["mode"]
checked("doctor", "doctor", codes=(0, 6))
checked("monitor", "monitor", volume)
assert checked("advise", "advise", "--cache", volume, trace)["warnings"]
assert checked("set", "set", volume, "read_level=3")["settings"]["read_level"] == 3
assert checked("drain", "drain", volume)["complete"]
assert checked("drain", "split", volume)["action"] == "split"
