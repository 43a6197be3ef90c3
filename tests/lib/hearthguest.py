# SPDX-License-Identifier: GPL-2.0-only
"""Boots a kernel in QEMU and runs named shell tests in it; Debian's kernel by default.

One boot serves many tests. The guest writes events, and a log for each test, to a
directory that it shares with the host. So the host sees when the guest panics or
hangs, and fails the test that was running; the other tests go on in a new guest.
"""

import contextlib
import fcntl
import functools
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
HERE = TOP / "tests/guest"
SUITES = HERE / "suites"
# HEARTH_KERNEL names a directory of build/, laid out as Debian's package. A kernel other
# than that of scripts/setup has its objects and hearth's modules for it in there as well.
KERNEL = os.environ.get("HEARTH_KERNEL", "kernel")
OURS = TOP if KERNEL == "kernel" else BUILD / KERNEL / "hearth"
MODS = BUILD / ("mods" if KERNEL == "kernel" else f"{KERNEL}/mods")
# How many times slower than Debian's kernel this kernel is.
SLOWER = 5 if KERNEL == "debug-kernel" else 1
# With HEARTH_USER=trixie, the next Debian release's programs go before this machine's.
USER = os.environ.get("HEARTH_USER")
SEED = int(os.environ.get("HEARTH_SEED", "1"))
# The limits suit an idle machine; this factor is for a busy one.
SLACK = int(os.environ.get("HEARTH_SLACK", "3")) * SLOWER
BOOT_SECONDS = 80 * SLACK
# Minutes for a test that is tagged "minutes": the soak.
MINUTES = int(os.environ.get("HEARTH_MINUTES", "30"))
# A guest waits for timers half of the time, so three keep two cores busy.
GUESTS = int(os.environ.get("HEARTH_GUESTS", "3"))
CLEANUP_SECONDS = 120 * SLOWER
# More words for the kernel's command line.
APPEND = os.environ.get("HEARTH_APPEND", "")
# Without ERMS the kernel and libc copy and clear memory by words, because QEMU emulates
# "rep movsb" and "rep stosb" byte by byte: clearing is six times as fast.
CPU = "max,-erms"
# virtme-ng's seven serial ports have 390 queues. QEMU polls them all whenever a timer of
# the guest fires, unless the guest's CPU itself does the work that it would otherwise
# have notified another thread of.
NO_NOTIFIERS = "-global virtio-serial-pci.ioeventfd=off -global virtio-9p-pci.ioeventfd=off"
# norandmaps: QEMU translates a program anew for each address at which it is loaded. A
# program starts in a third of the time if its address is always the same.
CHEAPER = "norandmaps"
# A guest with one CPU takes half to three quarters of the host's time of one with two,
# because two CPUs wait for each other's locks and QEMU makes each of their accesses
# atomic. So only the tests tagged "smp" have two CPUs in make test; in make test-full
# all have two. HEARTH_SMP=tagged or HEARTH_SMP=all says otherwise.
FULL = os.environ.get("HEARTH_SET") == "all" or KERNEL != "kernel"
ALL_SMP = os.environ.get("HEARTH_SMP", "all" if FULL else "tagged") == "all"

HEADER = re.compile(r"^#@ *(.*)\ntest_(\w+)\(\)", re.M)


class Test:
    """One test_NAME function of a suite, called with a variant's words."""

    def __init__(self, suite, name, line, tags, timeout, variant):
        self.suite, self.name, self.line = suite, name, line
        self.tags, self.variant = tags, variant
        self.label = "-".join([name, *variant])
        self.id = f"{suite.stem}.{self.label}"
        self.timeout = timeout * SLACK
        self.cpus = 2 if ALL_SMP or "smp" in tags else 1


def expand(variants):
    """Yields the variants of an option. "0..3" means 0,1,2,3."""
    for variant in filter(None, variants.split(",")):
        first, dots, last = variant.partition("..")
        if dots:
            yield from map(str, range(int(first), int(last) + 1))
        else:
            yield variant


def variants_of(suite, name, line, words):
    """Yields the tests that a #@ line makes of the function below it."""
    tags = {w for w in words if "=" not in w}
    options = dict(w.split("=", 1) for w in words if "=" in w)
    timeout = int(options.get("timeout", 120)) + 60 * MINUTES * ("minutes" in tags)
    slow_tags = tags - {"fast"} | {"slow"}
    if not {"on", "slow"} & set(options):
        yield Test(suite, name, line, tags, timeout, [])
    for option, tags_of_set in (("on", tags), ("slow", slow_tags)):
        for variant in expand(options.get(option, "")):
            yield Test(suite, name, line, tags_of_set, timeout, variant.split(":"))


def discover(suite):
    text = suite.read_text()
    tests = [
        test
        for m in HEADER.finditer(text)
        for test in variants_of(suite, m[2], text.count("\n", 0, m.start()) + 1, m[1].split())
    ]
    found = set(re.findall(r"^test_(\w+)\(\)", text, re.M))
    bare = found - {t.name for t in tests}
    if bare:
        raise ValueError(f"{suite.name}: no #@ line before {sorted(bare)}")
    return tests


def kver():
    if "KVER" in os.environ:
        return os.environ["KVER"]
    if KERNEL != "kernel":
        (image,) = (BUILD / KERNEL / "boot").glob("vmlinuz-*")
        return image.name.removeprefix("vmlinuz-")
    out = subprocess.run([TOP / "scripts/kver"], stdout=subprocess.PIPE, check=True)
    return out.stdout.decode().strip()


def image(version):
    return BUILD / KERNEL / f"boot/vmlinuz-{version}"


def one_at_a_time(function):
    """Runs a function in one process at a time, so that guests that start together make a thing once."""

    @functools.wraps(function)
    def alone(*args):
        with open(BUILD / "prepare.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return function(*args)

    return alone


@one_at_a_time
def prepare_modules(version):
    """Makes MODS: the kernel's modules and, under updates/, ours."""
    stock = BUILD / KERNEL / "lib/modules" / version
    if not (stock / "modules.dep").exists():
        raise RuntimeError(f"no kernel {version} in build/{KERNEL}: run scripts/setup")
    ours = sorted((OURS / "dm-target").glob("*.ko"))
    tree = MODS / "lib/modules" / version
    updates = tree / "updates"
    have = {p.name: p.read_bytes() for p in updates.glob("*.ko")}
    if tree.exists() and have == {p.name: p.read_bytes() for p in ours}:
        return
    shutil.rmtree(MODS, ignore_errors=True)
    tree.parent.mkdir(parents=True)
    subprocess.run(["cp", "-al", stock, tree], check=True)
    for generated in tree.glob("modules.*"):
        if not generated.name.startswith(("modules.builtin", "modules.order")):
            generated.unlink()
    updates.mkdir()
    for module in ours:
        shutil.copy(module, updates)
    subprocess.run(["/sbin/depmod", "-b", MODS, version], check=True)


def prepare_test_modules():
    """Builds in build/tools the kernel modules that tests load in the guest."""
    version = kver()
    objects = f"/lib/modules/{version}/build" if KERNEL == "kernel" else BUILD / KERNEL / "obj"
    place = BUILD / f"tools/kernel-{version}"
    for source in sorted((HERE / "kernel").glob("*.c")):
        module = BUILD / f"tools/{source.stem}-{version}.ko"
        if module.exists() and module.stat().st_mtime >= source.stat().st_mtime:
            continue
        shutil.copytree(HERE / "kernel", place, dirs_exist_ok=True)
        subprocess.run(
            ["make", "-s", "-C", objects, f"M={place}", "W=1", "modules"], check=True
        )
        shutil.copy(place / f"{source.stem}.ko", module)


@one_at_a_time
def prepare_tools():
    """Builds in build/tools the small static programs that tests use in the guest, and
    builds the command hearth."""
    (BUILD / "tools").mkdir(parents=True, exist_ok=True)
    for source in sorted((HERE / "tools").glob("*.c")):
        program = BUILD / "tools" / source.stem
        if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
            made = program.with_suffix(f".{os.getpid()}")
            subprocess.run(
                ["cc", "-O2", "-Wall", "-static", "-o", made, source], check=True
            )
            made.rename(program)
    kernel = [] if KERNEL == "kernel" else [f"KVER={kver()}", f"KDIR={BUILD / KERNEL}/obj"]
    subprocess.run(["make", "-s", "-C", TOP / "tests/crash", "tools", *kernel], check=True)
    subprocess.run(["make", "-s", "-C", TOP / "tests/fuzz", "tools"], check=True)
    subprocess.run(["make", "-s", "-C", TOP, "lists"], check=True)
    for programs in ["lvm-plugin", "tools"]:
        subprocess.run(["make", "-s", "-C", TOP / programs], check=True)
    prepare_test_modules()


HOT = """
awk basename bash blkdiscard blkid blockdev cache_check cache_dump cat chmod cmp
cp cut date dd df dirname dmesg dmsetup fio fsck.ext4 grep head ln ls lvm mkdir
mkfs.ext4 mkfs.xfs modinfo modprobe mount mv numfmt od readlink rm rmdir rmmod
sed sha256sum sleep sort sync tac tail timeout touch tr udevadm umount wc xargs
""".split()


@one_at_a_time
def prepare_hot_files():
    """Writes build/hot-files, the list of files that the guest copies to its memory. To
    run a program from the shared file system costs a tenth of a second each time."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    programs = [shutil.which(p, path=path) for p in HOT] + ["/lib/systemd/systemd-udevd"]
    programs = [p for p in programs if p and p.startswith(("/usr/", "/bin/", "/sbin/", "/lib/"))]
    out = subprocess.run(["ldd", *programs], stdout=subprocess.PIPE, check=False)
    libraries = re.findall(r"(/\S+) \(0x", out.stdout.decode())
    files = {os.path.realpath(p) for p in programs + libraries}
    files = {f for f in files if os.path.getsize(f) < 5_000_000}
    made = BUILD / "hot-files.new"
    made.write_text("".join(f"{f}\n" for f in sorted(files)))
    made.rename(BUILD / "hot-files")


@functools.cache
def kernel_parameters():
    """Tells the kernel the TSC's frequency, because the kernel distrusts the emulated
    TSC, and each reading of another clock leaves the emulation. On a busy host the
    kernel can neither measure the frequency nor pass its test of the timer."""
    prepare_tools()
    khz = subprocess.run([BUILD / "tools/tsckhz"], stdout=subprocess.PIPE, check=True)
    timer = f"no_timer_check tsc=reliable tsc_early_khz={khz.stdout.decode().strip()}"
    return f"panic_on_oops=1 log_buf_len=16M {timer} {CHEAPER} {APPEND}"


def environment():
    """Returns the variables that guest/lib.sh reads."""
    user = f"HEARTH_PROGRAMS={BUILD / USER / 'bin'} " if USER else ""
    return user + (
        f"HEARTH_TOP={TOP} HEARTH_SEED={SEED} HEARTH_MINUTES={MINUTES} "
        f"HEARTH_SLOWER={SLOWER} HEARTH_MODS={MODS} HEARTH_KERNEL={BUILD / KERNEL}"
    )


def qemu(kernel, initramfs, append, drives, ports, memory, cpus):
    """Returns the command that starts a machine with a disk image of its own instead of
    the host's files. drives are options of -drive, ports the files that its serial
    ports write to, memory is in MiB."""
    return [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", CPU, "-smp", str(cpus),
        "-m", str(memory), "-display", "none", "-no-reboot", "-nodefaults",
        "-kernel", str(kernel), "-initrd", str(initramfs),
        "-append", f"console=ttyS0 {kernel_parameters()} {append}",
        *(word for drive in drives for word in ("-drive", drive)),
        *(word for port in ports for word in ("-serial", f"file:{port}")),
    ]


class Guests:
    """Shares tests out to guests that run at the same time; result() returns the outcome
    of one test."""

    def __init__(self, tests, engine, count=GUESTS):
        runs = BUILD / "guest" / (engine if KERNEL == "kernel" else f"{engine}-{KERNEL}")
        shutil.rmtree(runs, ignore_errors=True)
        count = max(1, min(count, len(tests) // 8))
        self.waiting = list(tests)
        self.guests = [Guest(self.waiting, engine, runs / f"guest{i + 1}", 2 - i % 2) for i in range(count)]
        self.lock = open(BUILD / "guest.lock", "w")

    def result(self, test):
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        while not any(test.id in guest.results for guest in self.guests):
            self.step()
            time.sleep(0.1)
        if not self.waiting and not any(guest.todo for guest in self.guests):
            self.stop()
        return next(g.results[test.id] for g in self.guests if test.id in g.results)

    def step(self):
        for guest in self.guests:
            others = any(other.process for other in self.guests if other is not guest)
            guest.step(others)
        if all(guest.given_up for guest in self.guests):
            self.guests[-1].fail_all(self.waiting, "no guest boots")

    def seconds(self):
        """Returns how long each test took, clean-up included: {id: seconds}."""
        return {test: seconds for guest in self.guests for test, (_, seconds, _) in guest.results.items()}

    def stop(self):
        for guest in self.guests:
            guest.wait_end()
        fcntl.flock(self.lock, fcntl.LOCK_UN)


class Guest:
    """Takes waiting tests and runs them in one boot, as long as the guest lives and tests
    for its number of CPUs are waiting. The guest is given the next test while it runs
    one, so that it never idles and all guests end at about the same time."""

    AHEAD = 2

    def __init__(self, waiting, engine, runs, cpus, memory="3G"):
        self.waiting = waiting
        self.todo = []
        self.engine, self.memory = engine, memory
        self.cpus = cpus
        self.runs = runs
        self.version = kver()
        self.results = {}
        self.boots = 0
        self.process = None
        self.dir = None
        self.seen = 0
        self.running = None
        self.told_end = self.given_up = self.boot_failed = False
        self.runs.mkdir(parents=True)

    def boot(self):
        """Starts a guest for the tests that it has taken, or else for waiting ones."""
        if not self.todo and not self.fitting():
            self.cpus = self.waiting[0].cpus
        prepare_modules(self.version)
        prepare_tools()
        prepare_hot_files()
        self.boots += 1
        self.dir = self.runs / f"boot{self.boots}"
        (self.dir / "logs").mkdir(parents=True)
        # Runs a copy, so that editing a suite does not disturb a run.
        for part in ("guest", "suites"):
            shutil.copytree(HERE / part, self.dir / part)
        for file in ("events", "tests"):
            (self.dir / file).touch()
        self.seen, self.running, self.told_end = 0, None, False
        for test in self.todo:
            self.tell(test)
        command = [
            "vng", "--run", str(image(self.version)),
            "--disable-kvm", "--cpus", str(self.cpus), "--memory", self.memory,
            "--verbose", "--append", f"loglevel=5 {kernel_parameters()}",
            f"--rwdir={self.dir}", f"--qemu-opts=-cpu {CPU} {NO_NOTIFIERS}",
            "--",
            f"{environment()} bash {self.dir}/guest/main.sh {self.dir} {self.engine}",
        ]
        env = dict(os.environ, PATH=f"{BUILD}/venv/bin:{os.environ['PATH']}:/sbin:/usr/sbin")
        self.process = subprocess.Popen(
            command, cwd=TOP, env=env, stdin=subprocess.DEVNULL,
            stdout=open(self.dir / "console", "w"), stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.deadline = time.monotonic() + BOOT_SECONDS

    def tell(self, test):
        """Writes a line for guest/main.sh: a test, or that no more will come."""
        words = ["end"]
        if test:
            words = [test.id, f"{self.dir}/suites/{test.suite.name}", str(test.timeout), test.name, *test.variant]
        with open(self.dir / "tests", "a") as file:
            file.write(" ".join(words) + "\n")

    def fitting(self):
        return [test for test in self.waiting if test.cpus == self.cpus]

    def take(self):
        fitting = self.fitting()
        for test in fitting[:max(0, self.AHEAD - len(self.todo))]:
            self.waiting.remove(test)
            self.todo.append(test)
            self.tell(test)
        if not fitting and not self.told_end:
            self.told_end = True
            self.tell(None)

    def stop(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def console(self, lines=60):
        text = (self.dir / "console").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def log(self, test):
        path = self.dir / "logs" / f"{test.id}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def finish(self, test, outcome, seconds=0.0, text=None):
        self.results[test.id] = (outcome, seconds, self.log(test) if text is None else text)
        self.todo.remove(test)
        self.running = None

    def read_events(self):
        lines = (self.dir / "events").read_text(errors="replace").split("\n")[:-1]
        fresh, self.seen = lines[self.seen:], len(lines)
        tests = {t.id: t for t in self.todo}
        for line in fresh:
            word, *rest = line.split()
            if word == "ready":
                self.deadline = time.monotonic() + CLEANUP_SECONDS
            elif word == "start":
                self.running = tests[rest[0]]
                self.deadline = time.monotonic() + self.running.timeout + CLEANUP_SECONDS
            elif word == "done":
                self.deadline = time.monotonic() + CLEANUP_SECONDS
                self.finish(tests[rest[0]], rest[1], float(rest[2]))

    def lost(self, why):
        """The guest is gone: blames the running test, or the boot itself if it has
        failed before."""
        text = f"{why}\n--- console\n{self.console()}\n"
        if self.running:
            self.finish(self.running, "fail", text=self.log(self.running) + "\n" + text)
        elif self.seen == 0 and self.boot_failed:
            self.given_up = True
            self.fail_all(self.todo, "the guest did not boot\n" + text)
        self.boot_failed = self.seen == 0
        self.stop()

    def fail_all(self, tests, why):
        for test in list(tests):
            self.results[test.id] = ("fail", 0.0, why)
            tests.remove(test)

    def has_work(self, others):
        """Boots for tests of another number of CPUs only if enough of them wait."""
        if self.given_up or self.todo or self.fitting():
            return not self.given_up
        return len(self.waiting) > (self.AHEAD if others else 0)

    def step(self, others):
        """others says whether other guests are running."""
        if self.process is None and not self.has_work(others):
            return
        if self.process is None:
            self.boot()
        self.take()
        ended = self.process.poll() is not None
        self.read_events()
        if ended and self.told_end and not self.todo:
            self.stop()
        elif ended:
            self.lost("the guest ended")
        elif time.monotonic() > self.deadline:
            self.lost("the guest hangs")

    def wait_end(self):
        if self.process and self.told_end and not self.todo:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(30)
        self.stop()
