# SPDX-License-Identifier: GPL-2.0-only
"""Runs the built command on a real cache, in a guest. Checks every --json output by its
schema, export by Prometheus' format, and the outputs against each other.

Usage: real.py HEARTH VG/LV TRACE.  The volume is cached, in writeback; the script
drains it."""

import json
import os
import subprocess
import sys
from pathlib import Path

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


def words(*args):
    return out(*args, "--noheadings").split()


# The options of reports, and the names that stand for a cache.
group = volume.split("/")[0]
assert json.loads(out("status", "--reportformat", "json", "-o", "name,mode")) == {
    "report": [{"cache": [{"name": volume, "mode": cache["mode"]}]}]}
size = str(cache["block_bytes"])
assert words("status", "-o", "block_size", "--units", "b", "--nosuffix", "-S", f"vg={group}") == [size]
assert words("status", "-o", "name", "-S", "dirty_percent>100") == []
assert out("status", "-o", "name,lv", "-O", "-name", "--separator", ";", group).splitlines() == [
    "Cache;LV", ";".join((volume, volume.split("/")[1]))]
assert words("status", "-o", "name", f"{group}/fast") == [volume]
print("as lvs has them: the options of reports")

# The first look of iostat is since the activation: so many reads has the kernel counted.
look = json.loads(out("iostat", "--json", volume))
valid(look, schema_of("iostat"))
line, = look["caches"]
device = os.stat(f"/dev/{volume}").st_rdev
reads = int(Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()[0])
assert look["since_activation"] and reads
assert abs(line["volume"]["reads_per_second"] * line["seconds"] - reads) < 1, (line, reads)
assert out("iostat", "-H", "-p", volume).split("\t")[0] == volume
print("since the activation:", reads, "reads")

assert words("get", volume, "read_level", "-o", "value") == ["2"]
assert "read_level 4" in out("set", volume, "--dry-run", "read_level=4")
assert out("set", volume, "--dry-run", "migration_threshold=4MiB").split()[4] == "migration_threshold=8192"
assert words("get", volume, "read_level", "-o", "value") == ["2"]
said = out("doctor", "--nagios", codes=(0, 1, 2))
assert said.startswith("HEARTH ") and "|" not in said, said
checked("doctor", "doctor", codes=(0, 6))
checked("monitor", "monitor", volume)
assert checked("advise", "advise", "--cache", volume, trace)["warnings"]
assert checked("set", "set", volume, "read_level=3")["settings"]["read_level"] == 3
assert words("get", volume, "read_level", "-o", "value") == ["3"]
out("set", volume, "read_level=default")
assert words("get", volume, "read_level", "-o", "value") == ["2"]
assert checked("drain", "drain", volume)["complete"]
assert checked("drain", "split", volume)["action"] == "split"
