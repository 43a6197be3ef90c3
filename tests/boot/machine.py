# SPDX-License-Identifier: GPL-2.0-only
"""A machine with a disk and an SSD, in QEMU, whose root volume may be cached.

The parts are made once: a root file system, and for each initramfs generator an image with
hearth's modules and one with the kernel's own. A Machine is a pair of disks with these parts on
them. boot() starts it with commands for guest/run, and the test can cut its power at any time.
Boot.text() has the output of the commands, and Boot.console() has that of the kernel and the
initramfs.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tree as trees
from volumegroup import VolumeGroup

sys.path.insert(0, str(trees.TOP / "tests/lib"))
import hearthguest  # noqa: E402

HERE = trees.TOP / "tests/boot/guest"
GENERATORS = ["dracut", "initramfs-tools"]
BOOT_SECONDS = 240 * hearthguest.SLACK
ROOT_MIB, HOME_MIB = 512, 128
DISK_MIB, SSD_MIB = 704, 192
KERNEL_WORDS = "ro root=/dev/vg/root rd.lvm.lv=vg/root rd.retry=20"

# The kernel modules that a machine like this one needs.
MODULES = """crypto lib arch fs/ext4 fs/jbd2 fs/mbcache.ko drivers/md drivers/block/virtio_blk.ko
drivers/block/loop.ko drivers/virtio"""
# Systemd units that would disturb the tests.
MASKED = """timers.target getty.target systemd-firstboot.service systemd-random-seed.service
ldconfig.service e2scrub_reap.service"""

# Compressed, because dracut unpacks the image again at shutdown, and skips an uncompressed one as
# if it were the early archive before it.
DRACUT_IMAGE = "--force --no-early-microcode --compress \"zstd -q -1 -T0\""
DRACUT = f"{DRACUT_IMAGE} --no-hostonly"

MAKE_IMAGES = f"""
set -e
kernel=$1
depmod $kernel
mkinitramfs -o /tmp/share/initramfs-tools-$2 $kernel
dracut {DRACUT} /tmp/share/dracut-$2 $kernel
"""


def make_guest(view, version):
    """Debian with hearth, prepared for the boot tests."""
    stock = hearthguest.BUILD / "kernel/lib/modules" / version
    modules = view.upper / "usr/lib/modules" / version
    for part in MODULES.split():
        (modules / "kernel" / part).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", stock / "kernel" / part, modules / "kernel" / part], check=True)
    for index in stock.glob("modules.[bo]*"):
        shutil.copy(index, modules)
    (modules / "updates").mkdir()
    for module in (trees.TOP / "dm-target").glob("*.ko"):
        shutil.copy(module, modules / "updates")
    subprocess.run(["make", "-s", "-C", trees.TOP, "install-boot", f"DESTDIR={view.upper}"], check=True)

    for source, target in [
        (hearthguest.BUILD / f"kernel/boot/config-{version}", f"boot/config-{version}"),
        (HERE / "run", "usr/lib/boot-test/run"),
        (hearthguest.BUILD / "tools/filesload", "usr/bin/filesload"),
        (HERE / "boot-test.service", "etc/systemd/system/boot-test.service"),
        (HERE / "boot-test.target", "etc/systemd/system/default.target"),
        (HERE / "fstab", "etc/fstab"),
    ]:
        (view.upper / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, view.upper / target)
    (view.upper / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    for unit in MASKED.split():
        (view.upper / "etc/systemd/system" / unit).symlink_to("/dev/null")


class Parts:
    """The kernel, the initramfs images, and a machine's disks with an uncached root volume."""

    def __init__(self, place):
        self.place = place
        self.version = hearthguest.kver()
        self.own_kernel = hearthguest.image(self.version)
        subprocess.run(["make", "-s", "-C", trees.TOP / "tests/crash", "../../build/tools/filesload"], check=True)
        guest = trees.Tree(place / "guest", [trees.guest_base()])
        make_guest(guest, self.version)
        self.guest = guest
        self.make_images(guest, "hearth")
        # dracut's shutdown unpacks the image again.
        shutil.copy(self.image("dracut"), guest.upper / f"boot/initrd.img-{self.version}")
        self.make_disks(guest)

    def image(self, generator, engine="hearth"):
        if engine == "stock" and not (self.place / "stock").exists():
            stock = self.guest.copy(self.place / "stock")
            stock.run(f"rm -r /lib/modules/{self.version}/updates")
            self.make_images(stock, "stock")
        return self.place / f"{generator}-{engine}"

    def kernel(self, engine="hearth"):
        return self.place / "vmlinuz-other" if engine == "other" else self.own_kernel

    def add_other(self, tree):
        """The engine "other": the kernel tree.other, with its package's initramfs and with one by
        dracut.
        """
        tree.run(f"dracut {DRACUT} --drivers '{trees.DRIVERS}' /tmp/share/dracut-other {tree.other}")
        shutil.move(tree.share / "dracut-other", self.image("dracut", "other"))
        tree.run(f"cp -L /boot/initrd.img-{tree.other} /tmp/share/image")
        tree.run(f"cp -L /boot/vmlinuz-{tree.other} /tmp/share/kernel")
        shutil.move(tree.share / "image", self.image("initramfs-tools", "other"))
        shutil.move(tree.share / "kernel", self.kernel("other"))

    def make_images(self, tree, engine):
        tree.run(f"bash -c '{MAKE_IMAGES}' sh {self.version} {engine}")
        for generator in GENERATORS:
            shutil.move(tree.share / f"{generator}-{engine}", self.place / f"{generator}-{engine}")

    def make_disks(self, guest):
        self.disks = self.place / "disks"
        self.disks.mkdir()
        guest.image(self.place / "root.img", ROOT_MIB)
        empty = self.place / "home.img"
        subprocess.run(["mke2fs", "-q", "-t", "ext4", empty, f"{HOME_MIB}M"], check=True)
        with opened(self.disks, create=True) as vg:
            for volume, mib in (("root", ROOT_MIB), ("home", HOME_MIB)):
                vg.lvm("lvcreate", "-an", "-Zn", "-Wn", "-L", f"{mib}M", "-n", volume, vg.name, vg.loops["disk"])
                device, first, _ = vg.place(volume)
                subprocess.run(
                    ["dd", f"if={self.place / volume}.img", f"of={device}", "bs=1M", f"seek={first >> 20}",
                     "conv=sparse,notrunc", "status=none"],
                    check=True,
                )


@contextlib.contextmanager
def opened(disks, create=False):
    """The volume group of a machine that is off, with no volume activated."""
    shutil.rmtree(disks / "lvm", ignore_errors=True)
    vg = VolumeGroup(disks)
    try:
        if create:
            vg.create(DISK_MIB, SSD_MIB)
        else:
            for disk in ("disk", "ssd"):
                vg.plug(disk)
            vg.configure()
        yield vg
    finally:
        vg.close()


class Machine:
    def __init__(self, parts, generator, place, disks=None):
        self.parts, self.generator, self.place = parts, generator, place
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        self.boots = 0
        for disk in ("disk", "ssd"):
            subprocess.run(["cp", "--sparse=always", (disks or parts.disks) / disk, place / disk], check=True)

    def copy(self, place):
        """Another machine with a copy of this machine's disks."""
        return Machine(self.parts, self.generator, place, self.place)

    def scrap(self):
        for disk in ("disk", "ssd"):
            (self.place / disk).unlink()

    @contextlib.contextmanager
    def boot(self, commands, engine="hearth", options="", ssd=True, image=None):
        """The power is on inside the with-block. guest/run has the commands."""
        self.boots += 1
        image = image or self.parts.image(self.generator, engine)
        boot = Boot(self, commands, self.parts.kernel(engine), image, options, ssd)
        try:
            yield boot
        finally:
            boot.power_off()

    def run(self, commands, **how):
        """Boots, runs the commands and shuts down. Returns the boot with their output."""
        with self.boot(commands, **how) as boot:
            boot.wait_end()
            return boot

    @contextlib.contextmanager
    def volume(self, name):
        """A volume as a block device, while the machine is off."""
        with opened(self.place) as vg:
            device, first, size = vg.place(name)
            out = subprocess.run(
                ["losetup", "--show", "-f", "-o", str(first), "--sizelimit", str(size), device],
                check=True, stdout=subprocess.PIPE,
            )
            loop = out.stdout.decode().strip()
            try:
                yield loop
            finally:
                subprocess.run(["losetup", "-d", loop], check=True)

    def file_of_origin(self, path):
        """Copies a file from the origin of root's cache, which has every write in writethrough."""
        copy = self.place / Path(path).name
        with self.volume("root_corig") as device:
            subprocess.run(["debugfs", "-R", f"dump {path} {copy}", device], check=True)
        return copy

    def types(self):
        with opened(self.place) as vg:
            return vg.types()


class Boot:
    def __init__(self, machine, commands, kernel, image, options, ssd):
        name = machine.place / f"boot{machine.boots}"
        self.said, self.printed = name.with_suffix(".said"), name.with_suffix(".console")
        script = name.with_suffix(".script")
        # The text fills whole sectors, because a disk has whole sectors and the shell reads them
        # all.
        text = commands + "\n"
        script.write_text(text + "\n" * (-len(text) % 512))
        self.said.touch()
        self.printed.touch()
        drives = [("disk", machine.place / "disk", "off"), ("script", script, "on")]
        if ssd:
            drives.append(("ssd", machine.place / "ssd", "off"))
        command = hearthguest.qemu(
            kernel, image,
            f"{KERNEL_WORDS} {options}",
            [f"file={file},if=none,format=raw,readonly={readonly},id={name}" for name, file, readonly in drives],
            [self.printed, self.said],
            memory=1024, cpus=2 if hearthguest.ALL_SMP else 1,
        )
        for name, _, _ in drives:
            command += ["-device", f"virtio-blk-pci,drive={name},serial={name}"]
        self.began = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def text(self):
        return self.said.read_text(errors="replace")

    def console(self):
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.printed.read_text(errors="replace").replace("\r", ""))

    def fail(self, why):
        tail = "\n".join(self.console().splitlines()[-60:])
        pytest.fail(f"{self.said}: {why}\n--- said\n{self.text()[-3000:]}\n--- console\n{tail}")

    def wait(self, true, what):
        while not true():
            if self.process.poll() is not None and not true():
                self.fail(f"the machine ended before it {what}")
            if time.monotonic() - self.began > BOOT_SECONDS:
                self.fail(f"the machine never {what}")
            time.sleep(0.2)

    def wait_end(self):
        self.wait(lambda: self.process.poll() is not None, "went down")
        if not re.search("^EXIT 0$", self.text(), re.M):
            self.fail("the commands failed")

    def power_off(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def numbers(self, word):
        """The complete lines "WORD NUMBER NUMBER", in order."""
        return [tuple(map(int, m)) for m in re.findall(rf"^{word} (\d+) (\d+)\n", self.text(), re.M)]

    def mounted(self):
        """The names of the devices that root and /home stood on at the last report."""
        return re.findall(r"^MOUNTED (\S+) (\S+)$", self.text(), re.M)[-1]

    def started(self):
        """The number of (resident, dirty) blocks with which each cache started."""
        return [tuple(map(int, m)) for m in re.findall(r"^STARTED .* (\d+) resident, (\d+) dirty", self.text(), re.M)]

    def volume(self, name, report=-1):
        """A volume's line of lvs: type, mode, used, dirty, read hits, read misses."""
        found = re.findall(rf"^LV {name} +(.*)$", self.text(), re.M)
        words = found[report].split()
        return Volume(*words[:1], *words[1:2], *map(int, words[2:]))

    def kernel(self):
        return re.search(r"^KERNEL (.*)$", self.text(), re.M)[1]

    def version(self):
        """The version of the dm-cache in use, at the last report."""
        return re.findall(r"^VERSION (.*)$", self.text(), re.M)[-1]


class Volume:
    def __init__(self, kind, mode=None, used=0, dirty=0, hits=0, misses=0):
        self.kind, self.mode, self.used, self.dirty, self.hits, self.misses = kind, mode, used, dirty, hits, misses
