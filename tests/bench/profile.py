#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Shows where the instructions of a hit go: profile.py [CASE]

QEMU translates one instruction at a time and logs each, while fio in the guest reads from a
cache whose blocks are all resident. The program prints the instructions per I/O by function (the
mean of everything between two calls of the block layer's submit_bio() by fio), the functions
that the cache calls, and its atomic instructions, which show its locks and the cache lines that
it shares.

The cases are randread, randwrite and randmiss; absorb and absorb-16, small writes that miss, at
depth 1 and 16; line, such writes one after the other; whole, writes of whole blocks that miss; and
fsync, a small write and its fsync, for which the mean is of everything between two calls of the
block layer's fsync. For the last five, PROFILE_STACK=ssd or writecache does the same to that stack,
to compare.
PROFILE_MB says how many megabytes of QEMU's log are enough.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from bisect import bisect_right
from collections import Counter

import bench
import hearthguest

OUT = bench.RESULTS / "profile"
ENOUGH = int(os.environ.get("PROFILE_MB", "250")) * 1_000_000  # bytes of log
STACK = os.environ.get("PROFILE_STACK", "hearth")


def monitor(path, *commands):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(str(path))
        for command in commands:
            s.sendall(command.encode() + b"\n")
            time.sleep(0.3)
            s.recv(65536)


def record(rw):
    version = hearthguest.kver()
    bench.build_disk(version)
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    hearthguest.prepare_modules(version)
    hearthguest.prepare_tools()
    hearthguest.prepare_hot_files()
    control = OUT / "monitor"
    if rw == "fsync":
        (OUT / "fsync").touch()
    command = [
        "vng", "--run", str(bench.BUILD / f"kernel/boot/vmlinuz-{version}"),
        "--disable-kvm", "--cpus", "1", "--memory", "3G",
        "--append", "nokaslr panic_on_oops=1 init_on_alloc=0",
        f"--qemu-opts=-icount shift=0,sleep=off -monitor unix:{control},server,nowait -D {OUT}/log",
        f"--rwdir={OUT}", "--",
        f"HEARTH_TOP={bench.TOP} BENCH_IOS=1000 PROFILE_RW={rw} PROFILE_STACK={STACK} "
        f"bash {bench.HERE}/guest/main.sh {OUT} profile",
    ]
    env = dict(os.environ, PATH=f"{bench.BUILD}/venv/bin:{os.environ['PATH']}:/sbin:/usr/sbin")
    guest = subprocess.Popen(command, cwd=bench.TOP, env=env, stdin=subprocess.DEVNULL,
                             stdout=open(OUT / "console", "w"), stderr=subprocess.STDOUT,
                             start_new_session=True)
    try:
        while not (OUT / "profile.begin").exists():
            if guest.poll() is not None:
                sys.exit(f"the guest ended: see {OUT}")
            time.sleep(0.2)
        monitor(control, "singlestep on", "log exec,nochain")
        (OUT / "profile.go").touch()
        log = OUT / "log"
        while not log.exists() or log.stat().st_size < ENOUGH:
            time.sleep(0.1)
    finally:
        if guest.poll() is None:
            os.killpg(guest.pid, signal.SIGKILL)
            guest.wait()


def symbols():
    table = []
    for line in (OUT / "profile.symbols").read_text().splitlines():
        address, kind, name, *module = line.split()
        if kind in "tTwW":
            table.append((int(address, 16), name + "".join(module)))
    table.sort()
    return [a for a, _ in table], [n for _, n in table]


def locked_instructions():
    """The modules' atomic instructions, as (function, offset in it)."""
    found = set()
    for module in bench.TOP.glob("dm-target/*.ko"):
        out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", module],
                             stdout=subprocess.PIPE, check=True).stdout.decode()
        for line in out.splitlines():
            if match := re.match(r"([0-9a-f]+) <(.*)>:", line):
                start, name = int(match[1], 16), match[2]
            elif match := re.match(r"\s+([0-9a-f]+):\s+lock ", line):
                found.add((name, int(match[1], 16) - start))
    return found


def instructions():
    """Addresses, in order."""
    with open(OUT / "log", errors="replace") as log:
        for line in log:
            if match := re.match(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/", line):
                yield int(match[1], 16)


def is_ours(name):
    return name.endswith(("[dm_cache]", "[dm_cache_smq]"))


class Profile:
    """The instructions between two calls of submit_bio() by fio."""

    def __init__(self):
        self.ios = 0
        self.functions, self.calls, self.atomics = Counter(), Counter(), Counter()
        starts, names = symbols()
        begins = {name: at for at, name in zip(starts, names, strict=True)}
        begin = begins["blkdev_fsync" if (OUT / "fsync").exists() else "submit_bio"]
        locked = locked_instructions()
        pending = before = None
        for pc in instructions():
            if pc == begin:
                for event in pending or ():
                    event[0][event[1]] += 1
                self.ios += pending is not None
                pending = []
            if pending is None:
                continue
            if pc < 0xffff800000000000:
                pending.append((self.functions, "user space"))
                continue
            at = bisect_right(starts, pc) - 1
            name = names[at]
            pending.append((self.functions, name))
            if is_ours(name):
                plain = name.partition("[")[0]
                if (plain, pc - starts[at]) in locked:
                    pending.append((self.atomics, plain))
            elif before and is_ours(before) and pc == starts[at]:
                pending.append((self.calls, name))
            before = name

    def show(self, title, counter, most=None):
        print(title)
        for name, n in counter.most_common(most):
            print(f"{n / self.ios:8.1f}  {name}")


def main():
    rw = sys.argv[1] if len(sys.argv) > 1 else "randread"
    if rw != "again":
        record(rw)
    profile = Profile()
    if not profile.ios:
        sys.exit(f"no I/O was seen: see {OUT}")
    print(f"{profile.ios} I/Os, {sum(profile.functions.values()) / profile.ios:.0f} instructions each")
    profile.show("Instructions:", profile.functions, int(os.environ.get("TOP", "90")))
    profile.show("Functions that dm-cache and its policy call:", profile.calls)
    profile.show("Atomic instructions in them:", profile.atomics)


if __name__ == "__main__":
    main()
