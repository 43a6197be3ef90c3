#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmarks in a guest and judges their results.

bench.py run [SECTION...]    measures, and writes docs/performance.md and also the ten
                             figures in README.md (summary.py)
bench.py check [SECTION...]  measures, and fails when a figure misses its limit
bench.py show [SECTION...]   prints the last run's figures, with limits and without
bench.py table               writes the page anew from the last run's results

With BENCH_QUICK=1 the guest measures only hearth, with the shortest form of each section.
BENCH_IOS is the number of I/Os of each job of the hit path. fio counts milliseconds: one is 3
instructions per I/O with the default of 300000, and 33 with 30000. BENCH_ROWS chooses rows of the
section absorb, by the names in tests/bench/guest/absorb.sh: BENCH_ROWS='depth-1 fsync-1'.

The section peers does the same work on all engines. BENCH_ROWS chooses rows by the names in
tests/bench/peers.py, BENCH_ENGINES engines, and BENCH_QUICK=1 makes each job a quarter as long. The
results of rows and engines that a run leaves out stay. With BENCH_MISSING=1 a run leaves out what has
results, and with BENCH_MINUTES=N it ends after so many minutes, and keeps what was measured by then.
With OPENCAS=DIR, the built tree of Open CAS, Open CAS is an engine as well.

The guest has one CPU and counts its time in instructions (QEMU's -icount). An instruction is a
nanosecond, so two runs agree, and the throughput shows the CPU's share of an I/O. The effects of
two CPUs on each other need another guest, with a real clock. The sections are
tests/bench/guest/*.sh.
"""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
BUILD = TOP / "build"
sys.path.insert(0, str(TOP / "tests/lib"))
sys.path.insert(0, str(HERE))
import figures  # noqa: E402
import hearthguest  # noqa: E402
import peers  # noqa: E402
import summary  # noqa: E402

RESULTS = BUILD / "bench"
# QEMU's clock: an instruction is a nanosecond, and nobody waits for the host's clock.
VIRTUAL = "-icount shift=0,sleep=off"
MINUTES = float(os.environ.get("BENCH_MINUTES", "0"))  # of the host; 0: as many as it takes
MISSING = os.environ.get("BENCH_MISSING") == "1"


def build_disk(version):
    kdir = os.environ.get("KDIR", f"/lib/modules/{version}/build")
    subprocess.run(
        ["make", "-s", "-C", kdir, f"M={HERE / 'disk'}", "modules"],
        check=True, stdout=subprocess.DEVNULL,
    )
    (BUILD / "tools").mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["cc", "-O2", "-Wall", "-static", "-o", BUILD / "tools/disk-floor",
         HERE / "disk/disk-floor.c"],
        check=True,
    )


def make_image(name, blocks, sectors=64, every=1):
    """Metadata of a cache of so many blocks, all in use and clean, of every so many of the origin."""
    path = BUILD / "bench-images" / name
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    with open(part, "wb") as image:
        image.truncate((16 + 20 * blocks // 1000000) << 20)
    xml = path.with_suffix(".xml")  # cache_restore takes regular files only
    numbers = ["seq", "0", str(every), str((blocks - 1) * every)]
    with open(xml, "wb") as out, subprocess.Popen(numbers, stdout=subprocess.PIPE) as blocks_of:
        subprocess.run(["awk", "-f", TOP / "tests/lib/cache-xml.awk", "-v", f"block={sectors}",
                        "-v", f"slots={blocks}", "-v", "hints=1"],
                       stdin=blocks_of.stdout, stdout=out, check=True)
    subprocess.run(["/usr/sbin/cache_restore", "-q", "--metadata-version", "2",
                    "-i", xml, "-o", part], check=True)
    xml.unlink()
    part.rename(path)


def make_images(sections):
    for million in (1, 4, 16) if "scale" in sections else ():
        make_image(str(million), million * 1000000)
    if "origin" in sections:
        # 100 GiB in blocks of 64 KiB, from everywhere on 2 TiB
        make_image("origin", 100 << 14, sectors=128, every=20)


def boot(sections, ios):
    """Runs the sections; RESULTS has their results afterwards."""
    real = [s for s in sections if s in figures.REAL_TIME]
    virtual = [s for s in sections if s not in figures.REAL_TIME and s != "peers"]
    if virtual:
        boot_guest(virtual, ios, "--cpus", "1", f"--qemu-opts={VIRTUAL}")
    if "peers" in sections:
        boot_peers(ios)
    if real:
        boot_guest(real, ios, "--cpus", "2")


def clear(section):
    """Removes a section's results, except those of the peers' cases."""
    for old in RESULTS.glob(f"{section}.*" if section == "peers" else f"{section}[.-]*"):
        if old.name != "peers.plan":
            old.unlink()


def peers_name(case, engine):
    return f"peers-{case.name}-{engine.key}"


def prepare_peers():
    """Writes the guest's plan, and returns its cases. The results of others stay."""
    cases = [(case, engine) for case, engine in peers.chosen_cases()
             if not (MISSING and (RESULTS / f"{peers_name(case, engine)}.stamp").exists())]
    for case, engine in cases:
        for old in RESULTS.glob(f"{peers_name(case, engine)}[.-]*"):
            old.unlink()
    plan = [line for case, engine in cases for line in case.plan(engine)]
    (RESULTS / "peers.plan").write_text("".join(f"{line}\n" for line in plan))
    return cases


def keep_peers(cases):
    """Stamps the cases that came to their end, and removes what others left."""
    for case, engine in cases:
        name = peers_name(case, engine)
        if (RESULTS / f"{name}.ok").exists():
            length = ", each job a quarter as long" if figures.QUICK else ""
            (RESULTS / f"{name}.stamp").write_text(f"{figures.stamp()}{length}\n")
            continue
        begun = list(RESULTS.glob(f"{name}[.-]*"))
        if begun:
            print(f"the case {case.name} did not end on {engine.words}")
        for old in begun:
            old.unlink()


def boot_peers(ios):
    """In cases with files the devices keep data, and without ERMS copying them takes the CPU an eighth
    as long. The other options save the host's time alone."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    cases = prepare_peers()
    if cases:
        boot_guest(["peers"], ios, "--cpus", "1", "--append", hearthguest.CHEAPER,
                   f"--qemu-opts={VIRTUAL} -cpu {hearthguest.CPU} {hearthguest.NO_NOTIFIERS}")
    keep_peers(cases)


def run_guest(command, env):
    """Waits for the guest, or takes its power away when its time is over."""
    with open(RESULTS / "console", "w") as console:
        guest = subprocess.Popen(command, cwd=TOP, env=env, stdin=subprocess.DEVNULL, stdout=console,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            guest.wait(60 * MINUTES if MINUTES else None)
        except subprocess.TimeoutExpired:
            print(f"the guest was ended after {MINUTES:g} minutes")
        finally:
            if guest.poll() is None:
                os.killpg(guest.pid, signal.SIGKILL)
                guest.wait()


def boot_guest(sections, ios, *options):
    version = hearthguest.kver()
    quick = "BENCH_QUICK=1 BENCH_ENGINES=hearth" if figures.QUICK else ""
    build_disk(version)
    RESULTS.mkdir(parents=True, exist_ok=True)
    make_images(sections)
    for section in sections:
        clear(section)
        (RESULTS / f"{section}.stamp").write_text(figures.stamp() + "\n")
    # Guest tests may run at the same time, because this guest's clock counts only instructions.
    # udev's timeout is long, because the clock runs ahead while the guest waits for the host.
    with open(BUILD / "bench.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        hearthguest.prepare_modules(version)
        hearthguest.prepare_tools()
        hearthguest.prepare_hot_files()
        command = [
            "vng", "--run", str(BUILD / f"kernel/boot/vmlinuz-{version}"),
            "--disable-kvm", "--memory", "3G", *options,
            "--append", "panic_on_oops=1 init_on_alloc=0 udev.event_timeout=1000000",
            f"--rwdir={RESULTS}",
            "--",
            f"HEARTH_TOP={TOP} BENCH_IOS={ios} {quick} BENCH_ROWS={','.join(figures.ROWS)} "
            f"OPENCAS={peers.OPENCAS} "
            f"bash {HERE}/guest/main.sh {RESULTS} "
            + " ".join(sections),
        ]
        env = dict(os.environ, PATH=f"{BUILD}/venv/bin:{os.environ['PATH']}:/sbin:/usr/sbin")
        run_guest(command, env)


def failed_sections(sections):
    failed = [s for s in sections if not (RESULTS / f"{s}.ok").exists() and not (MINUTES and s == "peers")]
    for section in failed:
        log = RESULTS / f"{section}.log"
        text = log.read_text(errors="replace") if log.exists() else "it never began"
        print(f"section {section} did not end:", *text.splitlines()[-20:], sep="\n  ")
    return failed


def check(sections):
    boot(sections, ios=os.environ.get("BENCH_IOS", "300000"))
    failed = failed_sections(sections)
    good = bad = 0
    for figure in figures.all_figures(RESULTS, sections):
        if figure.limit is None:
            continue
        good += figure.good()
        bad += not figure.good()
        print(f"{figure.verdict():7} {figure}")
    print(f"{good} passed, {bad + len(failed)} failed")
    return 1 if bad or failed or not good else 0


def show(sections):
    for figure in figures.all_figures(RESULTS, sections):
        print(f"{figure.verdict():7} {figure}")


def run(sections):
    boot(sections, ios=os.environ.get("BENCH_IOS", "300000"))
    failed = failed_sections(sections)
    write_page()
    return 1 if failed else 0


def write_page():
    page = TOP / "docs/performance.md"
    begin, end = "<!-- generated by make bench -->", "<!-- end -->"
    head, _, rest = page.read_text().partition(begin)
    before, _, tail = rest.partition(end)
    table = figures.page(RESULTS, hearthguest.kver(), before)
    page.write_text(f"{head}{begin}\n{table}{end}{tail}")
    summary.write()


def main():
    what, *sections = sys.argv[1:] or ["help"]
    if what == "run":
        return run(sections or figures.SECTIONS)
    if what == "check":
        return check(sections or figures.SECTIONS)
    if what == "show":
        return show(sections or figures.SECTIONS)
    if what == "table":
        return write_page()
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
