# SPDX-License-Identifier: GPL-2.0-only
"""Guests that are killed while they write.

The machine has a stock kernel, lvm2 in an initramfs of its own, and a disk and an SSD as files.
The test kills QEMU with SIGKILL at a moment that the seed chooses, and starts it again on the
same files. The volume must come up by itself, the file system must be clean, and every
acknowledged file must be there, whole.

HEARTH_KILLS is the number of kills of each mode (default: 3 of one mode; HEARTH_SET=all: 25 of
two), and HEARTH_SEED chooses their moments. With HEARTH_RESUME=DIR the test notes in DIR which
mode has passed, and skips it in a later run.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
HERE = TOP / "tests/crash"
sys.path.insert(0, str(TOP / "tests/lib"))
import hearthguest  # noqa: E402

WORK = TOP / "build/kills"
SEED = int(os.environ.get("HEARTH_SEED", "1"))
ALL = os.environ.get("HEARTH_SET") == "all"
KILLS = int(os.environ.get("HEARTH_KILLS", "25" if ALL else "3"))
MODES = ["writeback", "writethrough"] if ALL else ["writeback"]
UP_SECONDS = 120 * hearthguest.SLACK

PROGRAMS = ["lvm", "dmsetup", "mkfs.ext4", "e2fsck", "cache_check"]
# the kernel's own modules, and after them hearth's
MODULES = ["virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "dm-bufio", "libcrc32c"]
OURS = ["dm-cache.ko", "dm-cache-smq.ko"]
SEARCH = "/usr/sbin:/sbin:/usr/bin:/bin"

# SIGTERM ends the test as Ctrl-C does, so that the guest ends, too
signal.signal(signal.SIGTERM, signal.default_int_handler)


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def put(root, source, target=None, mode=None):
    to = root / str(target or source).lstrip("/")
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, to)
    if mode:
        to.chmod(mode)


def put_programs(root):
    for name in PROGRAMS:
        path = shutil.which(name, path=SEARCH)
        put(root, path)
        for library in set(re.findall(r"(/\S+) \(0x", output("ldd", path))):
            put(root, library)
    put(root, shutil.which("busybox", path=SEARCH), "/bin/busybox", 0o755)
    for applet in output("busybox", "--list").split():
        link = root / "bin" / applet
        if not link.exists() and not (root / "sbin" / applet).exists():
            link.symlink_to("busybox")


def put_modules(root, version):
    """Puts the modules, and those that they need, into the image, listed in the order of loading."""
    order = []
    for name in MODULES:
        lines = output("/sbin/modprobe", "-d", str(hearthguest.BUILD / "kernel"), "-S", version,
                       "--show-depends", name)
        order += [p for p in re.findall(r"^insmod (\S+)", lines, re.M) if p not in order]
    order += [TOP / "dm-target" / name for name in OURS]
    for path in order:
        put(root, path, "/modules.d/" + Path(path).name)
    (root / "modules").write_text("".join(f"/modules.d/{Path(p).name}\n" for p in order))


def build_initramfs(version):
    root = WORK / "root"
    shutil.rmtree(WORK, ignore_errors=True)
    root.mkdir(parents=True)
    put_programs(root)
    put_modules(root, version)
    put(root, HERE / "kills/init", "/init", 0o755)
    put(root, HERE / "kills/lvm.conf", "/etc/lvm/lvm.conf")
    put(root, TOP / "build/tools/filesload", "/bin/filesload", 0o755)
    image = WORK / "initramfs"
    with open(image, "wb") as out:
        names = subprocess.Popen(["find", "."], cwd=root, stdout=subprocess.PIPE)
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=root, check=True,
                       stdin=names.stdout, stdout=out, stderr=subprocess.DEVNULL)
        names.wait()
    return image


class Machine:
    """One machine; its power fails, and its disks stay."""

    def __init__(self, mode, kernel, initramfs):
        self.dir = WORK / mode
        self.dir.mkdir()
        self.mode, self.kernel, self.initramfs = mode, kernel, initramfs
        self.process = None
        self.boots = 0
        for name, mib in ("disk", 192), ("ssd", 48):
            with open(self.dir / name, "wb") as f:
                f.truncate(mib << 20)

    def power_on(self):
        self.boots += 1
        self.acks = self.dir / f"acks{self.boots}"
        self.console = self.dir / f"console{self.boots}"
        self.acks.touch()
        drives = [f"file={self.dir / name},if=virtio,format=raw" for name in ("disk", "ssd")]
        self.process = subprocess.Popen(
            hearthguest.qemu(self.kernel, self.initramfs, f"quiet panic=-1 kills_mode={self.mode}",
                             drives, [self.console, self.acks], memory=768, cpus=2),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def power_off(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.process = None

    def said(self, word):
        """Returns the complete lines of this boot that begin with word, as pairs of numbers."""
        text = self.acks.read_text(errors="replace").replace("\r", "")
        return [tuple(map(int, m)) for m in re.findall(rf"^{word} (\d+) (\d+)\n", text, re.M)]

    def fail(self, why):
        tail = self.console.read_text(errors="replace").splitlines()[-40:]
        stop = re.findall(r"^STOP .*", self.acks.read_text(errors="replace"), re.M)
        pytest.fail(f"{self.mode}, boot {self.boots}: {why} {stop}\n" + "\n".join(tail))

    def wait_until(self, true, what):
        limit = time.monotonic() + UP_SECONDS
        while not true():
            if self.process.poll() is not None:
                self.fail(f"the machine ended before it {what}")
            if time.monotonic() > limit:
                self.fail(f"the machine never {what}")
            time.sleep(0.1)

    def wait_for(self, word):
        self.wait_until(lambda: self.said(word), f"said {word}")


def check_acknowledged(machine, acknowledged):
    have = dict(machine.said("HAVE"))
    for file, sequence in acknowledged.items():
        if have.get(file, 0) < sequence:
            machine.fail(f"file {file}: {have.get(file)} found, {sequence} was acknowledged")


@pytest.fixture(scope="module")
def parts():
    version = hearthguest.kver()
    return TOP / f"build/kernel/boot/vmlinuz-{version}", build_initramfs(version)


class Tally:
    """The counts of acknowledgements and blocks over all boots of a machine."""

    def __init__(self):
        self.acknowledged = {}
        self.acks = self.used = self.dirty = 0

    def started(self, machine):
        """Checks a volume that is up: its files are verified, and the cache is still warm."""
        check_acknowledged(machine, self.acknowledged)
        used, dirty = machine.said("STATUS")[0]
        if self.used and not used:
            machine.fail("the cache is cold")
        self.used = used
        self.dirty += dirty

    def killed(self, machine):
        for file, sequence in machine.said("ACK"):
            self.acknowledged[file] = max(sequence, self.acknowledged.get(file, 0))
            self.acks += 1


def run_until_killed(machine, rng, tally, early):
    """Runs the machine and kills it. With early it does not even wait for the start."""
    machine.power_on()
    if early:
        time.sleep(rng.uniform(4, 12))
    else:
        machine.wait_for("RUNNING")
        tally.started(machine)
        acks = len(machine.said("ACK")) + rng.randint(10, 100)
        machine.wait_until(lambda: len(machine.said("ACK")) >= acks, f"acknowledged {acks} files")
        time.sleep(rng.uniform(0, 0.3))
    machine.power_off()
    tally.killed(machine)


@pytest.fixture
def mark(mode):
    """A file that tells a resumed run that this mode has passed."""
    resume = os.environ.get("HEARTH_RESUME")
    if not resume:
        return None
    path = Path(resume) / f"kills.{mode}"
    if path.exists():
        pytest.skip("passed before, resumed")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("mode", MODES)
def test_killed(mode, parts, mark):
    rng = random.Random(f"{SEED} {mode}")
    machine = Machine(mode, *parts)
    tally = Tally()
    try:
        for kill in range(KILLS):
            run_until_killed(machine, rng, tally, kill and rng.random() < 0.15)
            print(f"{mode}: kill {kill + 1} of {KILLS}, {tally.acks} files acknowledged", flush=True)
        machine.power_on()
        machine.wait_for("RUNNING")
        tally.started(machine)
    finally:
        machine.power_off()
    print(f"seed {SEED}, {mode}: {KILLS} kills, {tally.acks} files acknowledged, "
          f"{tally.dirty} blocks dirty at the starts")
    assert tally.acks > 20 * KILLS / 3, "the guests acknowledged too few files"
    if mode == "writeback":
        assert tally.dirty, "the cache was never dirty"
    if mark:
        mark.touch()
