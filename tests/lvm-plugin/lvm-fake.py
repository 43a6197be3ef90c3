#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stands for lvm2, as far as hearth replace-ssd, cache, uncache and bench use it, with the volume vg/lv,
and scratch volumes of bench: the reports and commands work on $HEARTH_FAKE/lvm.json. "refuse" in that
file names a command that fails, "refuse_after" one that fails because another command did its work
meanwhile, "die" one that is killed before it acts, "die_after" one that is killed after it, "die_within"
an lvconvert that is killed when the cache is off and still there, "wait_within" one that waits for Ctrl-C
then. "lvs_fails" is the exit status of a list of all volumes.
A name may be followed by words of the command's line: "lvconvert --cachepool"."""

import json
import os
import signal
import sys
from pathlib import Path

FILE = Path(os.environ["HEARTH_FAKE"]) / "lvm.json"
state = json.loads(FILE.read_text())
name, said = Path(sys.argv[0]).name, sys.argv[1:]
args = [state.get("aliases", {}).get(a, a) for a in said]


def is_named(key):
    """Tells whether the file names this command under the key."""
    command, *words = (state.get(key) or "none").split()
    return command == name and set(words) <= set(args)


def kill_hearth():
    os.kill(os.getppid(), signal.SIGKILL)
    sys.exit(1)


def segments(row):
    """The lines of a volume: devices may be a list, with an entry for each segment."""
    devices = row.get("devices", "")
    return [row | {"devices": d} for d in (devices if isinstance(devices, list) else [devices])]


def report(kind):
    if "-S" in args:
        print(state["missing"])
        return
    fields = args[args.index("-o") + 1].split(",")
    rows = {name: {"vg_name": name.split("/")[0], "lv_name": name.split("/")[-1]} | row
            for name, row in state[kind].items()}
    if "--" in args:
        rows = {name: row for name, row in rows.items() if args[-1] in (name, kind == "lvs" and row["vg_name"])}
        if not rows:
            sys.exit(5)
    for row in rows.values():
        for segment in segments(row) if "devices" in fields else [row]:
            print("  " + "|".join(str(segment.get(f, "")) for f in fields))
    if "--" not in args:
        sys.exit(state.get("lvs_fails", 0))


def value(option):
    return args[args.index(option) + 1]


def uncache():
    if is_named("die_within") or is_named("wait_within") or "--splitcache" in args:
        for suffix in ("_cpool", "_cvol"):
            if left := state["lvs"].get(f"vg/fast{suffix}"):
                state["lvs"]["vg/fast"] = left
    for lv in ("vg/fast_cpool", "vg/fast_cpool_cdata", "vg/fast_cvol"):
        state["lvs"].pop(lv, None)
    state["lvs"]["vg/lv"] = {"segtype": "linear", "lv_active": "active"}
    # Its device is none of type cache until a cache is attached again.
    (FILE.parent / "names").rename(FILE.parent / "names.off")
    (FILE.parent / "names").touch()
    for pv in state["pvs"].values():
        pv["pv_used"] = 0


def lvconvert():
    if "--uncache" in args or "--splitcache" in args:
        return uncache()
    pool = value("--cachepool")
    fast = state["lvs"].pop(pool)
    state["lvs"].pop(f"{pool}_cdata", None)
    hidden = pool.split("/")[1] + "_cpool"
    if (off := FILE.parent / "names.off").exists():
        off.rename(FILE.parent / "names")
    if args[-1] != "vg/lv":
        state["lvs"][args[-1]] |= {"segtype": "cache", "pool_lv": f"[{hidden}]"}
        return
    state["lvs"]["vg/lv"] = {
        "segtype": "cache", "pool_lv": f"[{hidden}]", "origin": "[lv_corig]",
        "cache_mode": value("--cachemode"),
        "cache_policy": value("--cachepolicy") if "--cachepolicy" in args else "smq",
        "cache_settings": ",".join(args[i + 1] for i, a in enumerate(args) if a == "--cachesettings"),
        "cache_metadata_format": 2}
    state["lvs"][f"vg/{hidden}"] = fast
    state["lvs"][f"vg/{hidden}_cdata"] = {"devices": fast["devices"]}


def lvcreate():
    pool = value("-n")
    tags = {"lv_tags": value("--addtag")} if "--addtag" in args else {}
    if "--type" not in args:
        state["lvs"][f"vg/{pool}"] = {"segtype": "linear", "devices": args[-1] + "(0)", **tags}
        return
    state["lvs"][f"vg/{pool}"] = {
        "segtype": "cache-pool", "lv_size": value("-L")[:-1], "data_lv": f"[{pool}_cpool_cdata]",
        "lv_metadata_size": 8 << 20, "chunk_size": value("--chunksize")[:-1],
        "devices": args[-1] + "(0)", **tags}
    state["lvs"][f"vg/{pool}_cdata"] = {"devices": args[-1] + "(0)"}


def lvchange():
    pass


def lvremove():
    if args[-1] not in state["lvs"]:
        sys.exit(5)
    # With its cache, and with what LVM hides.
    for name in [n for n in state["lvs"] if n.startswith(args[-1])]:
        del state["lvs"][name]


def pvcreate():
    if "--uuid" not in args:
        state["pvs"][args[-1]] = {"vg_name": "", "pv_free": 0, "pv_used": 0}


def vgextend():
    if "--restoremissing" in args:
        return
    state["pvs"][args[-1]] = {"vg_name": "vg", "pv_free": state.get("extended", 100 << 20), "pv_used": 0}


def vgreduce():
    if args[-1] in state["pvs"]:
        state["pvs"][args[-1]]["vg_name"] = ""


if name in ("lvs", "pvs", "vgs"):
    report(name)
elif name == "wipefs":
    print(state.get("signatures", {}).get(args[-1], ""), end="")
else:
    if is_named("refuse"):
        print(f"  {name} refuses", file=sys.stderr)
        sys.exit(5)
    if is_named("die"):
        kill_hearth()
    if is_named("wait_within"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    with (FILE.parent / "log").open("a") as log:
        print(name, *said, file=log)
    globals()[name]()
    FILE.write_text(json.dumps(state))
    if is_named("die_after") or is_named("die_within"):
        kill_hearth()
    if is_named("wait_within"):
        signal.sigwait([signal.SIGINT])
        sys.exit(5)
    if is_named("refuse_after"):
        sys.exit(5)
