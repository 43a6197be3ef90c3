#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Where the instructions of a hit go: profile.py [randread|randwrite|randmiss]

Boots the guest with QEMU translating one instruction at a time and logging
each, while fio reads from a cache whose blocks are all resident. Prints
instructions per I/O by function: everything between two entries of the
block layer's submit_bio() by fio, averaged.
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
ENOUGH = 250_000_000  # bytes of log


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
    command = [
        "vng", "--run", str(bench.BUILD / f"kernel/boot/vmlinuz-{version}"),
        "--disable-kvm", "--cpus", "1", "--memory", "3G",
        "--append", "nokaslr panic_on_oops=1",
        f"--qemu-opts=-icount shift=0,sleep=off -monitor unix:{control},server,nowait -D {OUT}/log",
        f"--rwdir={OUT}", "--",
        f"HEARTH_TOP={bench.TOP} BENCH_IOS=1000 PROFILE_RW={rw} "
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
        log = OUT / "log"
        while not log.exists() or log.stat().st_size < ENOUGH:
            time.sleep(0.1)
    finally:
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


def count():
    """Instructions by function, and entries of submit_bio by function fio."""
    starts, names = symbols()
    begin = dict(zip(names, starts))["submit_bio"]
    here, total, ios, pending = Counter(), Counter(), 0, None
    with open(OUT / "log", errors="replace") as log:
        for line in log:
            match = re.match(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/", line)
            if not match:
                continue
            pc = int(match[1], 16)
            if pc == begin:
                if pending is not None:
                    total.update(pending)
                    ios += 1
                pending = Counter()
            if pending is None:
                continue
            if pc < 0xffff800000000000:
                pending["user space"] += 1
            else:
                pending[names[bisect_right(starts, pc) - 1]] += 1
    return total, ios


def main():
    rw = sys.argv[1] if len(sys.argv) > 1 else "randread"
    if rw != "again":
        record(rw)
    total, ios = count()
    print(f"{ios} I/Os, {sum(total.values()) / ios:.0f} instructions each")
    for name, n in total.most_common(int(os.environ.get("TOP", "90"))):
        print(f"{n / ios:8.1f}  {name}")


if __name__ == "__main__":
    main()
