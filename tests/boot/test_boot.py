# SPDX-License-Identifier: GPL-2.0-only
"""Machines that boot from a cached volume, with both initramfs generators.

Plain lvm2 attaches the cache to root and /home while they are mounted. Every test begins with
the disks after that and a reboot.
"""

import re
import subprocess

import pytest

import machine as machines
import tree as trees

PLACE = trees.BUILD / "machines"
VERSION = trees.VERSION
TOOL = trees.TOP / "build/tools/hearth-metadata"

# generator, kind of cache, mode: every generator meets both kinds and both modes
WRITETHROUGH = [("dracut", "pool", "writethrough"), ("initramfs-tools", "vol", "writethrough")]
WRITEBACK = [("dracut", "vol", "writeback"), ("initramfs-tools", "pool", "writeback")]
METADATA = {"pool": "fastroot_cpool_cmeta", "vol": "fastroot_cvol"}

ATTACH = """
report
write 3
attach {kind} {mode} root 96
attach {kind} {mode} home 24
read_all; read_all
write 5
report
"""

REPLACE = """
wipefs -a /dev/disk/by-id/virtio-ssd
vgextend vg /dev/disk/by-id/virtio-ssd
attach pool writethrough root 96
"""


@pytest.fixture(scope="session")
def parts():
    subprocess.run(["rm", "-rf", PLACE], check=True)
    return machines.Parts(PLACE)


class Attached:
    """A machine on which a cache was attached to the mounted root, and which was then rebooted."""

    def __init__(self, parts, generator, kind, mode):
        self.generator, self.kind, self.mode = generator, kind, mode
        self.machine = machines.Machine(parts, generator, PLACE / f"{generator}-{mode}")
        self.boot = self.machine.run(ATTACH.format(kind=kind, mode=mode))


made = {}


@pytest.fixture
def attached(request, parts):
    """One of WRITETHROUGH or WRITEBACK, and a machine of the test's own that continues it."""
    if request.param not in made:
        made[request.param] = Attached(parts, *request.param)
    return made[request.param]


@pytest.fixture
def machine(request, attached):
    copy = attached.machine.copy(PLACE / re.sub(r"\W+", "-", request.node.name))
    yield copy
    # The outputs stay.
    copy.scrap()


def every(attachments):
    return pytest.mark.parametrize("attached", attachments, indirect=True, ids=["-".join(a) for a in attachments])


def on_cache(boot, attached, report=-1):
    assert boot.mounted() == ("vg-root", "vg-home")
    for name in ("root", "home"):
        volume = boot.volume(name, report)
        assert (volume.kind, volume.mode) == ("cache", attached.mode), name


def acknowledged(boot):
    newest = {}
    for file, sequence in boot.numbers("ACK"):
        newest[file] = max(sequence, newest.get(file, 0))
    return newest


def has_all(boot, newest):
    have = dict(boot.numbers("HAVE"))
    lost = {f: (have.get(f), s) for f, s in newest.items() if have.get(f, 0) < s}
    assert newest and not lost


def stored_hits(attached, machine):
    """Read hits in the metadata of root's cache, in which cache_check finds no fault. The kernel
    stores them only when it closes the cache.
    """
    with machine.volume(METADATA[attached.kind]) as device:
        subprocess.run(["cache_check", "-q", device], check=True)
        out = subprocess.run([TOOL, "info", device], check=True, stdout=subprocess.PIPE).stdout.decode()
    return int(re.search(r"^reads (\d+) hits", out, re.M)[1])


def origin_is_clean(machine):
    with machine.volume("root") as device:
        done = subprocess.run(["e2fsck", "-fn", device], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


@every(WRITETHROUGH + WRITEBACK)
def test_attached_to_the_mounted_root(attached):
    boot = attached.boot
    assert boot.volume("root", 0).kind == boot.volume("home", 0).kind == "linear"
    on_cache(boot, attached)
    assert boot.version() == VERSION
    for name in ("root", "home"):
        assert boot.volume(name).used > 0
        assert boot.volume(name).hits > 0


@every(WRITETHROUGH)
def test_boots_from_the_cache(attached, machine):
    """The one boot of each generator for which "make test" has time."""
    boot = machine.run("report\nverify")
    on_cache(boot, attached)
    assert boot.version() == VERSION
    assert all(resident > 0 for resident, _ in boot.started())
    assert boot.volume("root").hits > 0
    has_all(boot, acknowledged(attached.boot))


@every(WRITETHROUGH + WRITEBACK)
def test_reboot_power_cut_and_uncache(attached, machine):
    """The cache is warm after a clean reboot and after a power cut, and uncaching loses no data."""
    with machine.boot("report\nverify\necho READY\nwrite 0") as boot:
        boot.wait(lambda: "READY" in boot.text(), "was ready")
        on_cache(boot, attached)
        has_all(boot, acknowledged(attached.boot))
        print("after a reboot:", boot.started(), vars(boot.volume("root")))
        for resident, dirty in boot.started():
            assert resident > 0
            if (attached.generator, attached.mode) == ("dracut", "writethrough"):
                assert dirty == 0
        assert boot.volume("root").hits > 0
        boot.wait(lambda: len(boot.numbers("ACK")) > 30, "wrote 30 files")
        boot.power_off()
    written = acknowledged(attached.boot) | acknowledged(boot)

    uncache = "lvconvert -y --uncache vg/root\nlvconvert -y --uncache vg/home"
    again = machine.run(f"report\nverify\n{uncache}\nreport\nverify")
    on_cache(again, attached, 0)
    has_all(again, written)
    print("after a power cut:", again.started(), vars(again.volume("root", 0)))
    for resident, _dirty in again.started():
        assert resident > 0
    assert again.volume("root", 0).hits > 0

    plain = machine.run("report\nverify")
    assert plain.volume("root").kind == plain.volume("home").kind == "linear"
    assert plain.started() == []
    has_all(plain, written)
    origin_is_clean(machine)


@every([a for a in WRITETHROUGH + WRITEBACK if a[0] == "dracut"])
def test_dracut_closes_the_cache(attached):
    """dracut's shutdown leaves root and deactivates the volumes."""
    assert stored_hits(attached, attached.machine) >= attached.boot.volume("root").hits


@every([a for a in WRITETHROUGH + WRITEBACK if a[0] == "initramfs-tools"])
def test_nothing_closes_the_cache_with_initramfs_tools(attached):
    """The cache is left as by a power cut, and test_reboot_power_cut_and_uncache shows that this is
    harmless.
    """
    assert stored_hits(attached, attached.machine) < attached.boot.volume("root").hits


@every(WRITETHROUGH)
def test_ssd_is_missing(attached, machine):
    """The emergency shell names the commands, and rd.hearth.degraded runs them."""
    command = "lvm lvconvert -y --uncache vg/root && lvm vgreduce --removemissing vg; lvm vgchange -ay vg"
    with machine.boot("report", ssd=False) as boot:
        boot.wait(lambda: command in boot.console(), "named the command")
    assert machine.types() == {"root": "cache", "home": "cache"}

    boot = machine.run("report\nverify", ssd=False, options="rd.hearth.degraded")
    assert boot.volume("root").kind == boot.volume("home").kind == "linear"
    has_all(boot, acknowledged(attached.boot))
    # The volumes stay uncached, with the old SSD and without it, and the old SSD can be used as a
    # new one.
    again = machine.run("report\nverify", ssd=False)
    assert again.volume("root").kind == again.volume("home").kind == "linear"
    origin_is_clean(machine)
    again = machine.run("report\nverify" + REPLACE + "\nreport")
    assert again.volume("root", 0).kind == again.volume("home", 0).kind == "linear"
    assert again.volume("root").kind == "cache"
    assert machine.run("report\nverify").volume("root").kind == "cache"


@every(WRITEBACK)
def test_ssd_with_the_only_copy_is_missing(attached, machine):
    """rd.hearth.degraded leaves a writeback cache alone."""
    with machine.boot("report", ssd=False, options="rd.hearth.degraded") as boot:
        boot.wait(lambda: "may hold the only copy of some data (writeback)" in boot.console(), "warned")
    assert machine.types() == {"root": "cache", "home": "cache"}
    boot = machine.run("report\nverify")
    on_cache(boot, attached)
    has_all(boot, acknowledged(attached.boot))


# The disk alone has all data then, because nothing is dirty in writethrough.
CLEAN = """
lvchange -y --cachemode writethrough vg/root
report
"""

# Little is written, because the file system of a kept cache must still mount: the disk has older
# data of the blocks that found no free slot. So few blocks differ that a check of 32 might see no
# more than two.
CHANGE = """
lvchange -y --cachemode writeback vg/root
report
dmsetup message vg-root 0 max_intents 100
dmsetup message vg-root 0 origin_check 1024
touch /run/acks
timeout 0 filesload run /load /run/acks &
until [ "$(wc -l </run/acks)" -ge 40 ]; do sleep .1; done
kill $!
wait $! || true
cat /run/acks
write_back root
echo READY
write 0
"""


@every(WRITEBACK)
def test_the_disk_went_back_to_a_snapshot(attached, machine):
    """The emergency shell names the volume, and rd.hearth.origin lets it boot with either answer.
    With "origin" all files of the snapshot are there.

    Blocks are written and written back after the snapshot, because clean blocks alone are compared.
    A power cut leaves intents, and no block with an intent is compared; by default this cache is
    small enough to have one for nearly every block.
    """
    assert machine.run(CLEAN).volume("root").mode == "writethrough"
    snapshot = machine.place / "snapshot"
    with machine.volume("root_corig") as origin:
        subprocess.run(["cp", origin, snapshot], check=True)
    with machine.boot(CHANGE) as boot:
        boot.wait(lambda: "READY" in boot.text(), "written back")
        on_cache(boot, attached)
        boot.wait(lambda: boot.text().partition("READY")[2].count("ACK") > 10, "wrote 10 files more")
        boot.power_off()
    with machine.volume("root_corig") as origin:
        subprocess.run(["dd", f"if={snapshot}", f"of={origin}", "bs=1M", "conv=fsync", "status=none"], check=True)
    command = "Boot with rd.hearth.origin=origin or rd.hearth.origin=cache"
    with machine.boot("report") as boot:
        boot.wait(lambda: command in boot.console(), "named the command")
    assert "the origin of vg-root was written without its cache" in boot.console()

    # Guest tests of "hearth origin" look at the data. Files written without a slot are old here.
    kept = machine.copy(PLACE / f"{machine.place.name}-kept")
    boot = kept.run("report", options="rd.hearth.origin=cache")
    on_cache(boot, attached)
    assert "the cache is kept, as the administrator says" in boot.console()
    kept.scrap()

    keep = "cat /sys/module/dm_cache/parameters/keep"
    boot = machine.run(f"report\nverify\n{keep}", options="rd.hearth.origin=origin")
    on_cache(boot, attached)
    assert "the origin is kept, as the administrator says" in boot.console()
    has_all(boot, acknowledged(attached.boot))
    assert not re.search(r"^(cache|origin):", boot.text(), re.M)


@every(WRITEBACK)
def test_not_built_for_this_kernel(attached, machine):
    """The kernel's own modules open the same metadata, and hearth opens it after them."""
    boot = machine.run("report\nverify\nwrite 3", engine="stock")
    assert boot.version() == ""
    on_cache(boot, attached)
    written = acknowledged(attached.boot)
    has_all(boot, written)
    back = machine.run("report\nverify")
    assert back.version() == VERSION
    on_cache(back, attached)
    has_all(back, written | acknowledged(boot))
    assert all(resident > 0 for resident, _ in back.started())


HOST_ONLY = f"""
report
dracut {machines.DRACUT_IMAGE} --hostonly /boot/host-only $(uname -r)
attach pool writethrough root 96
read_all
report
"""


def test_host_only_image_from_before_the_cache(request, parts):
    """dracut made the image on this machine before it had a cache, and nothing makes another one."""
    machine = machines.Machine(parts, "dracut", PLACE / "host-only")
    request.addfinalizer(machine.scrap)
    boot = machine.run(HOST_ONLY)
    assert boot.volume("root", 0).kind == "linear"
    again = machine.run("report", image=machine.file_of_origin("/boot/host-only"))
    assert again.volume("root").kind == "cache"
    assert again.version() == VERSION


@pytest.fixture(scope="session")
def other(parts, upgraded):
    parts.add_other(upgraded)
    return upgraded.other


@every([WRITETHROUGH[0], WRITEBACK[1]])
def test_another_kernel_comes(attached, machine, other):
    """apt installed the kernel with hearth's packages present. DKMS built the modules, and its
    initramfs has them.
    """
    boot = machine.run("report\nverify", engine="other")
    assert boot.kernel() == other
    assert boot.version() == VERSION
    on_cache(boot, attached)
    assert all(resident > 0 for resident, _ in boot.started())
    has_all(boot, acknowledged(attached.boot))
