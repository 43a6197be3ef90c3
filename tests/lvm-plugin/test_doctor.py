# SPDX-License-Identifier: GPL-2.0-only
"""hearth doctor: a sound machine, and machines with one fault each."""

import errno
import functools
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from fake import BIN, HERE, RAID1, Fake

RELEASE = os.uname().release
OURS = f"/usr/lib/modules/{RELEASE}/updates/dm-cache.ko"
STOCK = f"/usr/lib/modules/{RELEASE}/kernel/drivers/md/dm-cache.ko"


def modules(dm, core="updates", smq="updates"):
    dm.write(f"lib/modules/{RELEASE}/modules.dep", f"""kernel/drivers/md/dm-cache-other.ko:
{core}/dm-cache.ko: kernel/drivers/md/dm-bufio.ko
{smq}/dm-cache-smq.ko: {core}/dm-cache.ko
""")


def slave(dm, upper, lower, name=None):
    dm.write(f"sys/dev/block/{upper}/slaves/{lower.replace(':', '-')}/dev", lower + "\n")
    if name:
        dm.write(f"sys/dev/block/{lower}/dm/name", name + "\n")


def mounts(dm, root="8:1", boot="8:2"):
    dm.write("proc/self/mountinfo",
             f"20 1 {root} / / rw,relatime shared:1 - ext4 /dev/x rw\n" +
             (f"30 20 {boot} / /boot rw,relatime - ext4 /dev/y rw\n" if boot else ""))


def tools(dm, check="1.1.0", lvm="2.03.40"):
    dm.command("cache_check", f"echo {check}")
    dm.command("lvm", f"echo '  LVM version:     {lvm}(2) (2026-01-01)'")


@pytest.fixture
def sound(dm):
    """The cache is on two mirrored SSDs, / is elsewhere."""
    modules(dm)
    mounts(dm)
    tools(dm)
    healthy(dm)
    return dm


def healthy(dm, **kw):
    dm.cache(stats={"cache_read_errors": 0, "cache_write_errors": 0, "origin_errors": 0,
                    "retired_blocks": 0} | kw.pop("stats", {}), **kw)
    for device in ("253:1", "253:2"):
        slave(dm, device, device + "0", "vg-fast_rimage_0")
        dm.mirror(device)


def findings(dm, code=6):
    found = dm.json("doctor", schema="doctor", code=code)["findings"]
    for f in found:
        check_remedy(f["remedy"])
    return found


# ---- Remedies: what stands in quotes is a command to paste

COMMAND = re.compile(r"(?<!\w)'([^']+)'(?!\w)")
LVM_PLUGIN = HERE.parents[1] / "lvm-plugin"
LVM = ("lvchange", "lvconvert", "lvm", "vgchange")
# Debian's packages lvm2, kmod, dmsetup, initramfs-tools, dracut and dkms have these; echo is the shell's.
DEBIAN = (*LVM, "depmod", "dkms", "dmsetup", "dracut", "echo", "modprobe", "update-initramfs")


@functools.cache
def help_of(*command):
    """Returns what the command says of its options."""
    r = subprocess.run(command, text=True, capture_output=True, check=True,
                       env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin"})
    return r.stdout + r.stderr


def check_command(command):
    """Checks that a shell takes it, that there is such a command, and that it has these options."""
    subprocess.run(["bash", "-n"], input=command, text=True, check=True)
    name, *words = shlex.split(command)
    options = [word.split("=")[0] for word in words if word.startswith("--")]
    if name == "hearth":
        known = help_of(BIN / "fake/hearth", words[0], "--help")
    elif name == "make":
        known = (HERE.parents[1] / "Makefile").read_text()
        options = [f"{words[0]}:"]
    elif name == "lvm":
        known = help_of("lvm", "help")
        options = words[:1]
    else:
        assert name in DEBIAN, command
        known = help_of(name, "--longhelp") if name in LVM else command
    # A volume or a device has to be named.
    least = 2 if name in ("hearth", "dmsetup") else name in LVM
    assert len([word for word in words if not word.startswith("-")]) >= least, command
    for option in options:
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", known), f"{command}: {option}"


@functools.cache
def check_remedy(remedy):
    """Checks that every command in it can be pasted, and that nothing is left for the reader to guess."""
    beside = COMMAND.sub("", remedy)
    for command in COMMAND.findall(remedy):
        check_command(command)
        for placeholder in re.findall(r"\b[A-Z]{2,}\b(?!=)", command):
            assert f"where {placeholder} is " in beside, remedy
    assert "CACHE" not in remedy
    # No command stands outside of quotes.
    assert not re.search(rf"\b({'|'.join(DEBIAN)}) +[-\d/]", beside), remedy


def only(dm, level, ident):
    """Checks that one finding is not fine, and returns its text."""
    other = [f for f in findings(dm, 6 if level in ("warning", "problem") else 0)
             if f["level"] != "fine"]
    assert [(f["level"], f["id"]) for f in other] == [(level, ident)], other
    if level != "note":
        assert other[0]["remedy"]
    return other[0]["text"]


def test_sound(sound: Fake):
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    text = sound.out("doctor")
    assert "fine     system: hearth is loaded for kernel" in text
    assert "fine     vg/lv: in good health" in text


def test_for_people(sound):
    healthy(sound, health="bypass-unfenced", rw="ro")
    text = sound.out("doctor", code=6)
    assert text.startswith("problem  vg/lv: bypass-unfenced")
    assert "\n         -> " in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("version,core,smq,level,ident", [
    ("2.3.0", "updates", "updates", "problem", "module-loaded"),
    ("2.3.0", "kernel/drivers/md", "kernel/drivers/md", "warning", "module-installed"),
    ("2.100.0", "kernel/drivers/md", "kernel/drivers/md", "problem", "module-installed"),
    ("2.100.0", "updates", "kernel/drivers/md", "problem", "modules-mixed"),
    (None, "updates/dkms", "updates/dkms", None, None),
    (None, "kernel/drivers/md", "kernel/drivers/md", "warning", "module-installed"),
])
def test_modules(sound, version, core, smq, level, ident):
    if version:
        sound.write("version", version)
    else:
        (sound.path / "version").unlink()
        sound.write("names", "")
    modules(sound, core, smq)
    if level:
        only(sound, level, ident)
    else:
        assert {f["level"] for f in findings(sound, 0)} == {"fine"}


def test_modules_of_another_version_than_the_commands(sound):
    version = sound.out("--version").split()[1]
    sound.write("sys/module/dm_cache/version", f"{version}\n")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    sound.write("sys/module/dm_cache/version", "0.1.0\n")
    assert f"hearth 0.1.0 is loaded, and the commands are those of hearth {version}" in \
        only(sound, "warning", "module-version")


def smart(passed=True, critical=0, spare=100, used=1):
    return json.dumps({"smartctl": {"exit_status": 0}, "smart_status": {"passed": passed},
                       "nvme_smart_health_information_log": {
                           "critical_warning": critical, "available_spare": spare,
                           "available_spare_threshold": 10, "percentage_used": used}})


@pytest.mark.parametrize("said,code,level,ident", [
    (smart(), 0, None, None), (smart(used=89), 0, None, None), (smart(used=90), 0, "warning", "ssd-worn"),
    (smart(spare=10), 0, "warning", "ssd-spare"), (smart(critical=4), 0, "problem", "ssd-fails"),
    # smartctl's exit code says it, too.
    (smart(passed=False), 8, "problem", "ssd-fails"),
    # A SATA disk has none of NVMe's numbers; a disk that cannot be opened has nothing; no JSON at all.
    ('{"smart_status": {"passed": true}}', 0, None, None),
    ('{"smart_status": {"passed": false}}', 24, "problem", "ssd-fails"),
    ('{"smartctl": {"exit_status": 2}, "smart_status": {"passed": false}}', 2, None, None),
    ("[]", 0, None, None), ("smartctl 6.6", 0, None, None)])
def test_the_ssd_by_smart(sound, said, code, level, ident):
    sound.device("253:10", "nvme0n1")
    sound.write("said", said)
    sound.command("smartctl", f'[ "${{!#}}" = /dev/nvme0n1 ] && cat {sound.path}/said; exit {code}')
    if level:
        assert "/dev/nvme0n1" in only(sound, level, ident)
    else:
        assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    sound.command("smartctl", "exit 127")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}


@pytest.mark.parametrize("kw,level,ident", [
    ({"health": "read-only", "rw": "ro"}, "problem", "health"),
    ({"health": "cache-device-failed", "rw": "ro"}, "problem", "health"),
    ({"health": "holding", "rw": "ro"}, "problem", "health"),
    ({"check": "needs_check"}, "problem", "needs-check"),
    ({"suspended": 1}, "problem", "suspended"),
    ({"stats": {"origin_errors": 1}}, "warning", "device-errors"),
    ({"stats": {"retired_blocks": 1}}, "warning", "device-errors"),
    ({"policy": "lru"}, "note", "policy"),
    ({"log": "drains"}, "note", "write-log"),
    ({"total": 100000}, "note", "metadata-small"),
])
def test_cache(sound, kw, level, ident):
    healthy(sound, **kw)
    only(sound, level, ident)


@pytest.mark.parametrize("device,file,value,ident", [
    ("253:1", "queue/rotational", 1, "rotational"),
    ("253:1", "queue/logical_block_size", 4096, "sector-size"),
    ("253:1", "alignment_offset", 3584, "alignment"),
    ("253:3", "alignment_offset", 512, "alignment"),
])
def test_devices(sound, device, file, value, ident):
    sound.write(f"sys/dev/block/{device}/{file}", f"{value}\n")
    only(sound, "warning", ident)


def test_metadata_full(sound):
    healthy(sound)
    dev = sound.path / "vg-lv.dev"
    dev.write_text(dev.read_text().replace("status 8 20/2048", "status 8 2000/2048"))
    assert "98% of the metadata" in only(sound, "warning", "metadata-full")


LINEAR = "0 2048 linear 8:16 2048\n"


def test_redundancy(sound):
    sound.write("tables/253:1", LINEAR)
    only(sound, "warning", "single-ssd")
    healthy(sound, features="2 metadata2 writethrough", mode="writethrough")
    sound.write("tables/253:1", LINEAR)
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    healthy(sound)
    sound.write("tables/253:2", LINEAR)
    only(sound, "warning", "single-metadata")


@pytest.mark.parametrize("table, is_redundant", [
    ("0 2048 raid raid0 3 0 region_size 1024 2 253:20 253:21 253:22 253:23\n", False),
    ("0 2048 raid raid0 1 128 2 - 253:21 - 253:23\n", False),
    ("0 2048 raid raid0_meta 1 128 2 253:20 253:21 253:22 253:23\n", False),
    ("0 2048 striped 2 128 253:21 0 253:23 0\n", False),
    (RAID1, True),
    ("0 2048 raid raid10 3 128 raid10_copies 2 2 253:20 253:21 253:22 253:23\n", True),
    ("0 2048 raid raid4 1 128 3 - 253:21 - 253:23 - 253:25\n", True),
    ("0 2048 raid raid5_ls 1 128 3 - 253:21 - 253:23 - 253:25\n", True),
    ("0 2048 raid raid6_zr 1 128 5 - 253:21 - 253:23 - 253:25 - 253:27 - 253:29\n", True),
    ("0 2048 mirror core 1 1024 2 253:21 0 253:23 0\n", True),
    # LVM puts a longer volume together of several targets.
    (RAID1 + "2048 2048 linear 8:16 2048\n", False), ("", False)])
def test_redundancy_by_the_table_of_dm(sound, table, is_redundant):
    sound.write("tables/253:1", table)
    if is_redundant:
        assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    else:
        only(sound, "warning", "single-ssd")


def ssd_on(dm, *disks):
    """Puts the cache device on these, and makes it no RAID of its own."""
    for leg in (dm.path / "sys/dev/block/253:1/slaves").iterdir():
        (leg / "dev").unlink(missing_ok=True)
    dm.write("tables/253:1", LINEAR)
    for disk in disks:
        slave(dm, "253:1", disk)


@pytest.mark.parametrize("level, is_redundant", [
    ("raid0", False), ("linear", False), ("container", False), ("", False),
    ("raid1", True), ("raid10", True), ("raid4", True), ("raid5", True), ("raid6", True)])
def test_redundancy_by_the_level_of_md(sound, level, is_redundant):
    ssd_on(sound, "9:0")
    sound.write("sys/dev/block/9:0/md/level", f"{level}\n")
    if is_redundant:
        assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    else:
        only(sound, "warning", "single-ssd")


def test_redundancy_of_nested_devices(sound):
    """RAID 0 outlives the loss of a disk if each of its legs does. A partition is on its array."""
    ssd_on(sound, "259:3")
    sound.partition("259:3", "9:0")
    sound.write("sys/dev/block/9:0/md/level", "raid0\n")
    for leg in ("253:30", "253:31"):
        slave(sound, "9:0", leg, f"vg-leg{leg[-1]}")
        sound.write(f"tables/{leg}", RAID1)
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    sound.write("tables/253:31", LINEAR)
    only(sound, "warning", "single-ssd")
    sound.write("sys/dev/block/9:0/md/level", "raid1\n")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}


def test_a_volume_on_two_disks_of_which_one_is_a_mirror(sound):
    sound.write("sys/dev/block/9:0/md/level", "raid1\n")
    ssd_on(sound, "9:0")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    ssd_on(sound, "9:0", "8:16")
    only(sound, "warning", "single-ssd")


def test_the_mirror_of_a_pvmove_is_no_redundancy(sound):
    ssd_on(sound, "253:30")
    sound.device("253:30", "dm-30", "vg-pvmove0", below=["8:16", "8:32"])
    sound.write("tables/253:30", "0 2048 mirror core 1 1024 2 8:16 0 8:32 0 1 handle_errors\n")
    only(sound, "warning", "single-ssd")


def test_tools(sound):
    tools(sound, check="0.9.0")
    only(sound, "warning", "cache-repair")
    sound.command("cache_check", "exit 127")
    only(sound, "warning", "cache-check")
    tools(sound, lvm="2.03.16")
    healthy(sound, policy="mq")
    only(sound, "note", "lvm-cachevol")
    sound.command("lvm", "exit 127")
    healthy(sound)
    only(sound, "note", "lvm")


@pytest.fixture
def cached_root(sound):
    """/ is a volume on the cache; the initramfs holds our module."""
    mounts(sound, root="253:7")
    slave(sound, "253:7", "253:0")
    sound.write(f"boot/initrd.img-{RELEASE}", "")
    sound.command("lsinitramfs", f"echo etc/x; echo {STOCK}; echo {OURS}")
    return sound


def test_cached_root(cached_root):
    assert {f["level"] for f in findings(cached_root, 0)} == {"fine"}
    cached_root.command("lsinitramfs", f"echo {STOCK}")
    only(cached_root, "warning", "initramfs")
    cached_root.command("lsinitramfs", "echo etc/x")
    assert "will not start" in only(cached_root, "problem", "initramfs")
    # The machine has dracut's tool instead of Debian's.
    cached_root.command("lsinitramfs", "exit 1")
    cached_root.command("lsinitrd", f"echo 'drwxr-xr-x 1 {OURS}'")
    assert {f["level"] for f in findings(cached_root, 0)} == {"fine"}
    cached_root.command("lsinitrd", "exit 1")
    assert "cannot be listed" in only(cached_root, "note", "initramfs")


def test_cached_root_of_btrfs(cached_root):
    """The kernel gives btrfs a number of its own, so the name of the device tells."""
    cached_root.write("proc/self/mountinfo",
                      "20 1 0:31 /@ / rw,relatime shared:1 - btrfs /dev/mapper/vg-lv rw,subvol=/@\n"
                      "21 20 0:32 / /proc rw - proc proc rw\n")
    cached_root.write("devices", "/dev/mapper/vg-lv 253:7 1000\n")
    assert [f["id"] for f in findings(cached_root) if f["level"] == "problem"] == ["boot"]
    cached_root.command("lsinitramfs", "echo etc/x")
    assert {f["id"] for f in findings(cached_root) if f["level"] == "problem"} == {"boot", "initramfs"}


def test_image_older_than_the_module(cached_root):
    """Nobody built the image anew when hearth was updated."""
    module = cached_root.write(f"lib/modules/{RELEASE}/updates/dm-cache.ko", "")
    image = cached_root.path / f"boot/initrd.img-{RELEASE}"
    os.utime(module, (1000, 1000))
    assert {f["level"] for f in findings(cached_root, 0)} == {"fine"}
    os.utime(image, (999, 999))
    assert "is older than hearth's module" in only(cached_root, "warning", "initramfs")


def test_images_of_other_kernels(cached_root):
    other = "4.19.0-3-amd64"
    ours, stock = OURS.replace(RELEASE, other), STOCK.replace(RELEASE, other)
    listing = cached_root.write("listing-of-other", ours)
    cached_root.command("lsinitramfs", f"""case $1 in *{other}) cat '{listing}' ;; *) echo {OURS} ;; esac""")
    cached_root.write(f"lib/modules/{other}/kernel/x", "")
    # A kernel without an image is none that starts.
    assert {f["level"] for f in findings(cached_root, 0)} == {"fine"}
    image = cached_root.write(f"boot/initrd.img-{other}", "")
    assert {f["level"] for f in findings(cached_root, 0)} == {"fine"}
    listing.write_text("etc/x")
    assert "this kernel will not start" in only(cached_root, "warning", "initramfs")
    # Without hearth for that kernel its image cannot hold more than the kernel's own.
    listing.write_text(stock)
    assert {f["level"] for f in findings(cached_root, 0)} == {"fine"}
    cached_root.write(f"lib/modules/{other}/modules.dep", "updates/dm-cache.ko:\n")
    assert "hearth is installed for this kernel" in only(cached_root, "warning", "initramfs")
    listing.write_text(ours)
    module = cached_root.write(f"lib/modules/{other}/updates/dm-cache.ko", "")
    os.utime(module, (1000, 1000))
    os.utime(image, (999, 999))
    assert "is older than hearth's module" in only(cached_root, "warning", "initramfs")
    cached_root.write("usr/share/initramfs-tools/hooks/hearth", "").chmod(0o755)
    helper(cached_root, "update-initramfs", f"touch '{image}'")
    cached_root.run("doctor", "--fix", "--yes")
    assert ran(cached_root) == [f"update-initramfs -u -k {other}"]


def test_cached_boot(cached_root):
    mounts(cached_root, root="253:7", boot=None)
    only(cached_root, "problem", "boot")
    mounts(cached_root, root="8:1", boot="253:0")
    only(cached_root, "problem", "boot")


def test_policy_of_a_cached_root(cached_root):
    healthy(cached_root, policy="heat")
    assert {f["id"] for f in findings(cached_root) if f["level"] != "fine"} == \
        {"root-policy", "policy"}


# ---- --fix


def ran(dm):
    return (dm.path / "ran").read_text().splitlines() if (dm.path / "ran").exists() else []


def helper(dm, name, does="true"):
    """Makes a command of the system that logs its arguments."""
    dm.command(name, f'echo {name} "$@" >>"{dm.path}/ran"\n{does}')


@pytest.fixture
def stale_image(cached_root):
    """The initramfs holds the kernel's own module until update-initramfs makes a new one."""
    listing = cached_root.write("listing", STOCK)
    cached_root.command("lsinitramfs", f"cat '{listing}'")
    cached_root.write("usr/share/initramfs-tools/hooks/hearth", "").chmod(0o755)
    helper(cached_root, "update-initramfs", f"echo {OURS} >'{listing}'")
    return cached_root


def test_fix_asks_first(stale_image):
    for answer in ("", "n\n", "\n"):
        r = stale_image.run("doctor", "--fix", code=6, input=answer)
        assert "holds the kernel's own dm-cache" in r.stderr
        assert "update-initramfs -u: do this? [y/N]" in r.stderr
        assert ran(stale_image) == []
    r = stale_image.run("doctor", "--fix", input="y\n")
    assert ran(stale_image) == [f"update-initramfs -u -k {RELEASE}"]
    assert "     holds hearth" in r.stdout and "the kernel's own" not in r.stdout


def test_a_long_answer_answers_one_question(stale_image):
    tools(stale_image, check="0.9.0")
    ours(stale_image)
    r = stale_image.run("doctor", "--fix", code=6, input="n" + 14 * "o" + "y\n",
                        env={"LVM_SYSTEM_DIR": ""})
    assert r.stderr.count("[y/N]") == 2
    assert ran(stale_image) == [] and not (stale_image.path / "etc/lvm").exists()


def test_without_fix_nothing_is_done(stale_image):
    found = {f["id"]: f["fix"] for f in findings(stale_image)}
    assert found["initramfs"] == "update-initramfs -u" and found["module-installed"] == ""
    assert ran(stale_image) == []
    assert "goes with --fix" in stale_image.complaint(2, "doctor", "--yes")


def test_fix_that_did_not_help(stale_image):
    """doctor looks again after a fix, and reports what it finds then."""
    helper(stale_image, "update-initramfs")
    assert "kernel's own dm-cache" in stale_image.run("doctor", "--fix", "--yes", code=6).stdout
    helper(stale_image, "update-initramfs", "exit 3")
    assert "exit status 3" in stale_image.run("doctor", "--fix", "--yes", code=1).stderr


def test_no_image_is_built_without_the_hook(stale_image):
    (stale_image.path / "usr/share/initramfs-tools/hooks/hearth").unlink()
    assert "do this" not in stale_image.run("doctor", "--fix", code=6).stderr


def test_fix_by_dracut(stale_image):
    stale_image.command("lsinitramfs", "exit 1")
    stale_image.command("lsinitrd", f"cat '{stale_image.path}/listing'")
    stale_image.write("usr/lib/dracut/modules.d/90hearth/module-setup.sh", "").chmod(0o755)
    helper(stale_image, "dracut", f"echo {OURS} >'{stale_image.path}/listing'")
    stale_image.run("doctor", "--fix", "--yes")
    assert ran(stale_image) == [f"dracut --force --kver {RELEASE}"]


def test_fix_loads_the_right_module(sound):
    """doctor loads the module only while no cache is active, because an active cache holds the old one."""
    sound.write("version", "2.3.0")
    assert "do this" not in sound.run("doctor", "--fix", code=6).stderr
    sound.write("names", "")
    helper(sound, "modprobe", f"echo 2.100.0 >'{sound.path}/version'")
    assert "hearth is loaded" in sound.out("doctor", "--fix", "--yes")
    assert ran(sound) == ["modprobe -r dm-cache-smq dm-cache", "modprobe dm-cache"]
    sound.write("version", "2.3.0")
    helper(sound, "modprobe", "exit 1")
    sound.run("doctor", "--fix", "--yes", code=1)
    assert len(ran(sound)) == 3, "what cannot be unloaded is not loaded over"


def test_fix_modules_dep(sound):
    modules(sound, "kernel/drivers/md", "kernel/drivers/md")
    sound.write(f"lib/modules/{RELEASE}/updates/dkms/dm-cache.ko.xz", "")
    only(sound, "problem", "modules-dep")
    dep = f"{sound.path}/lib/modules/{RELEASE}/modules.dep"
    helper(sound, "depmod", f"sed -i s,kernel/drivers/md,updates/dkms, '{dep}'")
    assert "hearth is loaded" in sound.out("doctor", "--fix", "--yes")
    assert ran(sound) == [f"depmod -a {RELEASE}"]


def test_fix_policy_of_a_cached_root(cached_root):
    healthy(cached_root, policy="heat")
    helper(cached_root, "lvchange", f"sed -i 's/ heat / smq /' '{cached_root.path}/vg-lv.dev'")
    cached_root.run("doctor", "--fix", "--yes")
    assert ran(cached_root) == ["lvchange -y --cachepolicy smq -- vg/lv"]


def ours(dm):
    dm.write("usr/sbin/hearth-cache-repair", "#!/bin/sh\n").chmod(0o755)


def test_fix_has_lvm_repair_with_hearth(sound):
    """The real lvmconfig reads the file that doctor writes."""
    tools(sound, check="0.9.0")
    ours(sound)
    conf = sound.write("etc/lvm/lvm.conf", 'global { cache_repair_executable = "/usr/sbin/cache_repair" }\n')
    local = conf.parent / "lvmlocal.conf"
    env = {"LVM_SYSTEM_DIR": str(conf.parent), "PATH": f"{sound.path}/bin:{os.environ['PATH']}:/usr/sbin"}
    sound.run("doctor", code=6, env=env)
    assert not (conf.parent / "lvmlocal.conf").exists()
    out = sound.out("doctor", "--fix", "--yes", env=env)
    assert "LVM repairs metadata with hearth-cache-repair" in out
    sound.out("doctor", env=env)
    assert set(conf.parent.iterdir()) == {conf, local}
    # doctor replaces only the same setting, and leaves a copy of the old file.
    before = '# mine\nlocal { extra_system_ids = [] }\nglobal/cache_repair_executable = "/bin/false"\n'
    local.write_text(before)
    notes = [f for f in json.loads(sound.out("doctor", "--json", env=env))["findings"] if f["level"] == "note"]
    assert [f["id"] for f in notes] == ["cache-repair"] and "hearth-cache-repair" in notes[0]["fix"]
    sound.out("doctor", "--fix", "--yes", env=env)
    assert local.read_text().startswith("# mine\nlocal { extra_system_ids = [] }\n")
    assert "/bin/false" not in local.read_text()
    assert (conf.parent / "lvmlocal.conf.before-hearth").read_text() == before
    # doctor does not change a setting that is written in another form.
    local.write_text('global {\n\tcache_repair_executable = ""\n}\n')
    done = sound.run("doctor", "--fix", "--yes", code=1, env=env)
    assert "change that to" in done.stderr and local.read_text().count("cache_repair") == 1
    # Without the variable doctor writes to lvm2's default directory.
    local.unlink()
    sound.run("doctor", "--fix", "--yes", code=6, env={"LVM_SYSTEM_DIR": "", "PATH": f"{sound.path}/bin"})
    assert local.read_text().count('"/usr/sbin/hearth-cache-repair"') == 1


def test_the_directory_of_the_configuration_may_have_a_long_name(sound):
    tools(sound, check="0.9.0")
    ours(sound)
    local = sound.path.joinpath(*(letter * 200 for letter in "abcd"), "lvmlocal.conf")
    local.parent.mkdir(parents=True)
    sound.run("doctor", "--fix", "--yes", code=6,
              env={"LVM_SYSTEM_DIR": str(local.parent), "PATH": f"{sound.path}/bin"})
    assert '"/usr/sbin/hearth-cache-repair"' in local.read_text()
    assert list(local.parent.iterdir()) == [local]


def test_a_configuration_that_cannot_be_read_is_left_alone(sound):
    tools(sound, check="0.9.0")
    ours(sound)
    local = sound.write("etc/lvm/lvmlocal.conf", "")
    local.unlink()
    local.symlink_to(local.name)
    r = sound.run("doctor", "--fix", "--yes", code=1, env={"LVM_SYSTEM_DIR": "", "PATH": f"{sound.path}/bin"})
    assert f"{local}: {os.strerror(errno.ELOOP)}" in r.stderr
    assert list(local.parent.iterdir()) == [local] and local.is_symlink()


def test_repair_is_not_configured_if_it_is_not_there(sound):
    tools(sound, check="0.9.0")
    only(sound, "warning", "cache-repair")
    finding = next(f for f in findings(sound) if f["id"] == "cache-repair")
    assert finding["fix"] == "" and "hearth-cache-repair" in finding["remedy"]


@pytest.mark.parametrize("health", ["good", "read-only"])
def test_no_repair_is_advised_without_saying_by_what(sound, health):
    healthy(sound, check="needs_check", rw="ro", health=health)
    for finding in findings(sound):
        if "--repair" in finding["remedy"]:
            assert "hearth-cache-repair" in finding["remedy"] and "never with 0.9" in finding["remedy"]


def test_nothing_to_fix(sound):
    assert sound.run("doctor", "--fix").stderr == ""


def test_no_good_health_where_errors_are_counted(sound):
    healthy(sound, stats={"cache_read_errors": 253})
    assert [f["id"] for f in findings(sound) if f["subject"] == "vg/lv"] == ["device-errors"]


@pytest.mark.parametrize("error", [errno.ENODEV, errno.ENXIO, errno.ENOENT])
def test_without_device_mapper(sound, error):
    """After a start without any volume no module is loaded; all of the system is looked at, as elsewhere."""
    env = {"HEARTH_FAKE_ERROR": str(error)}
    found = sound.json("doctor", schema="doctor", code=6, env=env)["findings"]
    assert [f["id"] for f in found if f["level"] != "fine"] == ["device-mapper"]
    assert {"module-installed", "cache-check", "lvm"} <= {f["id"] for f in found}
    assert {f["subject"] for f in found} == {"system"}
    r = sound.run("doctor", code=6, env=env)
    assert "warning  system: this kernel has no device-mapper" in r.stdout and r.stderr == ""
    assert "fine     system: hearth will be loaded for kernel" in r.stdout
    assert sound.out("doctor", "--nagios", code=1, env=env).startswith("HEARTH WARNING: system: this kernel has no")
    # Its faults are found, too, and can be mended.
    modules(sound, "kernel/drivers/md", "kernel/drivers/md")
    sound.write(f"lib/modules/{RELEASE}/updates/dkms/dm-cache.ko.xz", "")
    dep = f"{sound.path}/lib/modules/{RELEASE}/modules.dep"
    helper(sound, "depmod", f"sed -i s,kernel/drivers/md,updates/dkms, '{dep}'")
    assert "hearth will be loaded" in sound.out("doctor", "--fix", "--yes", code=6, env=env)
    assert ran(sound) == [f"depmod -a {RELEASE}"]


def test_only_root_may_ask(sound):
    assert sound.complaint(4, "doctor", env={"HEARTH_FAKE_ERROR": str(errno.EACCES)}) == (
        "hearth: only root may talk to device-mapper\n")


@pytest.mark.parametrize("command, error, code", [
    ("status", errno.EACCES, 4), ("status", errno.ENODEV, 4), ("doctor", errno.EACCES, 4), ("doctor", errno.ENODEV, 6)])
def test_nothing_leaks_where_device_mapper_cannot_be_asked(sound, command, error, code):
    """AddressSanitizer ends a command that leaks with a code of its own."""
    sound.run(command, code=code, env={"HEARTH_FAKE_ERROR": str(error), "ASAN_OPTIONS": "detect_leaks=1"})


def kernel(dm, release, where="updates"):
    """A kernel is installed, with hearth or without it."""
    dm.write(f"lib/modules/{release}/kernel/x.ko", "")
    dm.write(f"lib/modules/{release}/modules.dep", f"{where}/dm-cache.ko:\n")


STOCKS = "kernel/drivers/md"


def test_kernels_without_hearth_while_the_log_is_in_use(sound):
    healthy(sound, log="on", segments=3)
    sound.command("grubby", "exit 1")
    kernel(sound, "6.1.0-9-amd64", STOCKS)
    kernel(sound, "6.1.0-10-amd64", STOCKS)
    kernel(sound, "6.1.0-11-amd64")
    # A directory that a removed kernel has left counts for nothing.
    sound.write("lib/modules/6.1.0-12-amd64/modules.dep", "kernel/drivers/md/dm-cache.ko:\n")
    text = only(sound, "note", "write-log")
    assert text.endswith("; these installed kernels have no hearth: 6.1.0-9-amd64, 6.1.0-10-amd64")
    healthy(sound, log="off")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}


def test_more_kernels_than_hearth_looks_at(sound):
    """The newest count, because one of them starts."""
    healthy(sound, log="on", segments=3)
    sound.command("grubby", "exit 1")
    for i in range(1, 41):
        kernel(sound, f"6.1.0-{i}-amd64", STOCKS if i in (1, 40) else "updates")
    found = {f["id"]: f["text"] for f in findings(sound)}
    assert found["write-log"].endswith("; these installed kernels have no hearth: 6.1.0-40-amd64")
    assert "will start with kernel 6.1.0-40-amd64" in found["default-kernel"]


def test_the_word_cache_within_a_name(dm):
    """A remedy's word CACHE stands for the cache, but not within the name of a device."""
    for name in "vg-CACHE", "CACHE-two", "CACHE.old":
        dm.cache(name, suspended=1, lvm=name.startswith("vg"))
    found = dm.json("doctor", schema="doctor", code=6)["findings"]
    remedies = [f["remedy"] for f in found if f["id"] == "suspended"]
    assert sorted(r.split("'")[1] for r in remedies) == [
        f"dmsetup resume {name}" for name in ("CACHE-two", "CACHE.old", "vg-CACHE")]


@pytest.mark.parametrize("how", ["newest", "boot/vmlinuz", "vmlinuz", "grubby"])
def test_default_kernel_without_hearth(sound, how):
    healthy(sound, log="on", segments=3)
    kernel(sound, "6.1.0-9-amd64", "updates/dkms" if how == "newest" else STOCKS)
    kernel(sound, "6.1.0-10-amd64", STOCKS if how == "newest" else "updates/dkms")
    default = "6.1.0-10-amd64" if how == "newest" else "6.1.0-9-amd64"
    sound.command("grubby", f"echo /boot/vmlinuz-{default}" if how == "grubby" else "exit 1")
    if "vmlinuz" in how:
        (sound.path / "boot").mkdir(exist_ok=True)
        (sound.path / how).symlink_to(f"boot/vmlinuz-{default}")
    warning = next(f for f in findings(sound) if f["level"] == "warning")
    assert warning["id"] == "default-kernel" and default in warning["text"]
    assert warning["remedy"] == (f"'make install KVER={default}' in hearth's sources, "
                                 "or 'hearth settle vg/lv' before the restart")
    version = sound.out("--version").split()[1]
    sound.write(f"usr/src/hearth-{version}/dkms.conf", "")
    warning = next(f for f in findings(sound) if f["level"] == "warning")
    assert warning["remedy"].startswith(f"'dkms install hearth/{version} -k {default}', or")
    # Without the flag every kernel opens the volume.
    healthy(sound, log="off")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}


def test_a_new_kernel(sound):
    """--kernel is for the hooks: what would this kernel refuse?"""
    new = "6.1.0-10-amd64"
    healthy(sound, log="on", segments=3)
    assert "no such kernel" in sound.complaint(2, "doctor", "--kernel", new)
    kernel(sound, new, STOCKS)
    said = sound.out("doctor", "--kernel", new, code=6)
    assert f"vg/lv: the machine may start with kernel {new}, which has no hearth" in " ".join(said.split())
    assert sound.out("doctor", "--kernel", new, "--quiet", code=6) == said
    kernel(sound, new, "updates/dkms")
    assert sound.out("doctor", "--kernel", new, "--quiet") == ""
    assert f"kernel {new} would open all active caches" in sound.out("doctor", "--kernel", new)
    kernel(sound, new, STOCKS)
    healthy(sound, log="off")
    assert sound.out("doctor", "--kernel", new, "--quiet") == ""
    healthy(sound, status="8 1/2 3")
    said = " ".join(sound.out("doctor", "--kernel", new, "--quiet", code=6).split())
    assert "the target's status makes no sense" in said and "would open" not in said
    assert "without --fix" in sound.complaint(2, "doctor", "--kernel", new, "--fix")
    assert "goes with --kernel" in sound.complaint(2, "doctor", "--quiet")


HOOKS = Path(__file__).parents[2] / "kernel-hooks"


@pytest.mark.parametrize("hook, words, asked", [
    ("hearth", ["6.1.0-10", "/boot/vmlinuz-6.1.0-10"], True),
    ("hearth", [], False),
    ("95-hearth.install", ["add", "6.1.0-10", "/boot/x/6.1.0-10"], True),
    ("95-hearth.install", ["remove", "6.1.0-10", "/boot/x/6.1.0-10"], False),
])
def test_hooks_of_new_kernels(dm, hook, words, asked):
    """A kernel can be installed whatever doctor says."""
    dm.command("hearth", 'echo "$*" >>"$HEARTH_FAKE/log"; echo refused; exit 6')
    r = subprocess.run([HOOKS / hook, *words], env=dm.environment(), text=True, capture_output=True, check=True)
    assert (r.stdout, r.stderr) == ("", "refused\n" if asked else "")
    assert dm.log() == (["doctor --kernel 6.1.0-10 --quiet"] if asked else [])


MISSES = {"write_hits": 300, "write_misses": 100, "timed_write_hits": 200, "write_hits_ns": 20_000_000,
          "timed_write_misses": 100, "write_misses_ns": 820_000_000}
SMALL = (100, 0, 2000, 50, 40, 0, 320, 80, 0, 70, 130)


def small_misses(dm, settings="2 absorb 0", stats=(), io=SMALL, **kw):
    healthy(dm, settings=settings, stats=MISSES | dict(stats), io=io, **kw)


def test_what_absorb_would_bring(sound):
    small_misses(sound)
    text = only(sound, "note", "absorb")
    assert "25% of its writes miss and take 8.2 ms" in text
    assert "4 KiB on the mean" in text and "those that hit, 0.10 ms" in text
    note = next(f for f in findings(sound, 0) if f["id"] == "absorb")
    assert note["remedy"] == "'hearth set vg/lv absorb=on'"
    sound.write("etc/fstab", "/dev/vg/lv /srv ext4 defaults 0 2\n")
    sound.write("devices", "/dev/vg/lv 253:0 99\n")
    note = next(f for f in findings(sound, 0) if f["id"] == "absorb")
    assert "every kernel must have hearth" in note["remedy"]
    small_misses(sound, stats={"timed_write_hits": 0})
    assert "as long as the SSD takes" in only(sound, "note", "absorb")


@pytest.mark.parametrize("kw", [
    {"settings": "2 absorb 1", "log": "off"},
    {"settings": "2 other 0"},
    {"mode": "writethrough", "features": "2 metadata2 writethrough"},
    {"stats": {"timed_write_misses": 99}},          # too few to say
    {"stats": {"write_misses": 10}},                # few miss
    {"stats": {"write_misses_ns": 90_000_000}},     # 0.9 ms
    {"stats": {"write_hits_ns": 600_000_000}},      # a hit takes 3 ms
    {"io": (100, 0, 2000, 50, 40, 0, 2560, 80, 0, 70, 130)},   # 32 KiB
])
def test_absorb_is_not_advised(sound, kw):
    small_misses(sound, **kw)
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}


def test_nagios(sound):
    assert sound.out("doctor", "--nagios") == "HEARTH OK: no fault found\n"
    # A warning, then a problem as well.
    healthy(sound, stats={"cache_read_errors": 3})
    said = sound.out("doctor", "--nagios", code=1).splitlines()
    assert said[0].startswith("HEARTH WARNING: vg/lv: ") and "3" in said[0] and len(said) == 2
    assert said[1].startswith("vg/lv: ") and "SMART" in said[1]
    healthy(sound, stats={"cache_read_errors": 3}, check="needs_check")
    said = sound.out("doctor", "--nagios", code=2).splitlines()
    assert said[0].startswith("HEARTH CRITICAL: vg/lv: the metadata is marked")
    assert said[0].count("; vg/lv: ") == 1 and len(said) == 3
    # A bar would begin the figures of a plugin.
    assert not any("|" in line for line in said)
    r = sound.run("doctor", "--nagios", code=3, env={"HEARTH_FAKE_ERROR": str(errno.EACCES)})
    assert r.stdout == "HEARTH UNKNOWN: the caches cannot be examined\n"
    assert "without --fix" in sound.complaint(2, "doctor", "--nagios", "--json")


REFUSED = "3,1,1,-;device-mapper: cache: {}: the origin was written without the cache, and 4 blocks are dirty: " \
    "refused, until 'hearth origin' says which is right; 3 of 32 blocks differ, the first is origin block 7\n"


@pytest.mark.parametrize("suspended", [0, 1])
def test_a_status_that_makes_no_sense(sound, suspended):
    """Nothing else is known of the cache then, so nothing else is said of it."""
    healthy(sound, status="8 1/2 3", suspended=suspended)
    sound.write("deps/253:3", "259:7\n")
    about = [(f["level"], f["id"]) for f in findings(sound) if f["subject"] == "vg/lv"]
    assert about == [("problem", "status-unknown")] + suspended * [("problem", "suspended")]


def test_a_status_that_makes_no_sense_on_a_cached_root(cached_root):
    healthy(cached_root, status="8 1/2 3")
    assert [f["id"] for f in findings(cached_root) if f["level"] != "fine"] == ["status-unknown"]


def test_an_origin_that_was_written_without_its_cache(sound):
    healthy(sound, origin="changed")
    assert [f["id"] for f in findings(sound) if f["level"] == "warning"] == ["origin-changed"]
    healthy(sound, core="4 migration_threshold 2048 origin_check 0", origin="unchecked")
    assert "origin-unchecked" in [f["id"] for f in findings(sound, code=0) if f["level"] == "note"]


def test_refused_caches(sound):
    """LVM's volume is named as LVM does. A cache that is active by now is in order."""
    sound.command("lvs", 'case "$*" in *vg/home) echo "  cache|";; *) exit 5;; esac')
    sound.write("dev/kmsg", "6,0,0,-;other\n"
                "6,0,0,-;another: refused, until 'hearth origin' (device-mapper: cache: says it)\n" +
                "".join(REFUSED.format(name) for name in ("vg-home", "vg-lv", "by-hand", "vg-home")))
    found = [f for f in findings(sound) if f["level"] == "problem"]
    assert [(f["id"], f["subject"]) for f in found] == [("origin-refused", "vg/home"), ("origin-refused", "by-hand")]
    assert "hearth origin vg/home --keep origin" in found[0]["remedy"]


@pytest.mark.parametrize("table", ["", "live table present"])
def test_refused_cache_below_a_snapshot(sound, table):
    """LVM leaves the cache behind, suspended, below a volume that is called active and has no table."""
    healthy(sound, suspended=1)
    sound.command("lvs", f"""case "$*" in
*segtype*vg/lv) echo "  cache|active";;
*lv_live_table*vg/lv) echo "  {table}";;
*) exit 5;;
esac""")
    sound.write("dev/kmsg", REFUSED.format("vg-lv"))
    expected, other = ("suspended", "origin-refused") if table else ("origin-refused", "suspended")
    ids = [f["id"] for f in findings(sound)]
    assert expected in ids and other not in ids


VGS = """\
case "$*" in
*missing*) echo "  {missing}";;
*lock_type*) echo "  {lock}|{owner}";;
esac
"""


def group(dm, missing=0, lock="", owner=""):
    dm.command("vgs", VGS.format(missing=missing, lock=lock, owner=owner))


def test_an_origin_that_came_back_under_another_name(sound):
    sound.write("deps/253:3", "253:9\n")
    sound.write("deps/253:9", "8:16\n259:7\n")
    sound.device("253:3", "dm-3", "vg-lv_corig")
    sound.device("253:9", "dm-9", "vg-lv_corig_rimage_0")
    sound.device("8:16", "sdb")
    group(sound)
    text = only(sound, "problem", "origin-renamed")
    assert "device 259:7 of the origin is gone" in text
    assert next(f for f in findings(sound) if f["id"] == "origin-renamed")["remedy"] == "'lvchange --refresh vg/lv'"
    group(sound, missing=1)
    assert "hits go on" in only(sound, "problem", "origin-gone")
    sound.device("259:7", "nvme0n2")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    # A device of a cache that was made by hand.
    (sound.path / "sys/dev/block/259:7/uevent").unlink()
    (sound.path / "sys/dev/block/259:7").rmdir()
    # Nothing is asked of a disk's table, because it has none.
    (sound.path / "sys/dev/block/253:3/dm/name").unlink()
    (sound.path / "sys/dev/block/253:3/dm/uuid").unlink()
    (sound.path / "sys/dev/block/253:3/dm").rmdir()
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    sound.device("253:3", "dm-3", "by-hand")
    healthy(sound, lvm=False)
    assert "origin-gone" in [f["id"] for f in findings(sound)]


def network(dm, kind, number="8:16"):
    """Makes a device that the kernel reaches in such a way, below the origin."""
    device = dm.path / "sys/dev/block" / number
    if kind in ("iscsi", "fc"):
        place = {"iscsi": "platform/host3/session1/target3:0:0", "fc": "pci0/host4/rport-4:0-1/target4:0:0"}[kind]
        real = dm.path / "sys/devices" / place / "3:0:0:0/block/sdb"
        real.mkdir(parents=True)
        device.parent.mkdir(parents=True, exist_ok=True)
        device.symlink_to(real)
    dm.device(number, {"rbd": "rbd0", "drbd": "drbd0", "nbd": "nbd0"}.get(kind, "sdb"))
    if kind.startswith("nvme-path-"):
        # The disk of a subsystem with two paths.
        for i in range(2):
            dm.write(f"sys/dev/block/{number}/device/nvme{i}/transport", kind[10:] + "\n")
        dm.write(f"sys/dev/block/{number}/device/nvme0n1/dev", number)
    elif kind.startswith("nvme-"):
        dm.write(f"sys/dev/block/{number}/device/transport", kind[5:] + "\n")
    slave(dm, "253:3", number)


@pytest.mark.parametrize("kind,transport", [
    ("nvme-tcp", "nvme-tcp"), ("nvme-path-tcp", "nvme-tcp"), ("nvme-path-rdma", "nvme-rdma"), ("iscsi", "iscsi"),
    ("fc", "fc"), ("rbd", "rbd"), ("nbd", "nbd"), ("drbd", "drbd"), ("nvme-pcie", None), ("nvme-path-pcie", None),
    ("sata", None)])
def test_writeback_on_a_private_ssd_over_a_network_origin(sound, kind, transport):
    network(sound, kind)
    group(sound, lock="sanlock")
    if transport:
        assert f"reached by {transport}:" in only(sound, "warning", "private-ssd")
        healthy(sound, features="2 metadata2 writethrough", mode="writethrough")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    assert f'origin_transport="{transport or "local"}"' in sound.out("export")


def test_an_ssd_that_other_hosts_reach_is_not_private(sound):
    network(sound, "iscsi")
    for ssd in ("253:1", "253:2"):
        sound.write(f"sys/dev/block/{ssd}0/device/transport", "tcp\n")
    group(sound, owner="host1")
    assert {f["level"] for f in findings(sound, 0)} == {"fine"}
    assert 'ssd_transport="nvme-tcp"' in sound.out("export")


@pytest.mark.parametrize("kind,lock,owner,fault", [
    ("iscsi", "", "", True), ("iscsi", "none", "", True),
    ("iscsi", "sanlock", "", False), ("iscsi", "", "host1", False), ("drbd", "", "", False), ("sata", "", "", False)])
def test_a_group_that_is_neither_locked_nor_owned(sound, kind, lock, owner, fault):
    healthy(sound, features="2 metadata2 writethrough", mode="writethrough")
    network(sound, kind)
    group(sound, lock=lock, owner=owner)
    if fault:
        assert "neither a lock type nor a system ID" in only(sound, "warning", "shared-group")
        told, = (f for f in findings(sound) if f["id"] == "shared-group")
        assert told["subject"] == "vg"
        assert "vgchange --systemid ID vg', where ID is what 'lvm systemid' prints" in told["remedy"]
    else:
        assert {f["level"] for f in findings(sound, 0)} == {"fine"}


# ---- Each remedy that there is

def full_metadata(dm):
    dev = dm.path / "vg-lv.dev"
    dev.write_text(dev.read_text().replace("status 8 20/2048", "status 8 2000/2048"))


def smart_says(dm, **kw):
    dm.device("253:10", "nvme0n1")
    dm.write("said", smart(**kw))
    dm.command("smartctl", f"cat {dm.path}/said")


def on_a_network(dm, **kw):
    network(dm, "iscsi")
    group(dm, **kw)


def lost_origin(dm, missing):
    dm.write("deps/253:3", "259:7\n")
    dm.device("253:3", "dm-3", "vg-lv_corig")
    group(dm, missing=missing)


def refused_origin(dm):
    dm.command("lvs", 'echo "  cache|"')
    dm.write("dev/kmsg", REFUSED.format("vg-home"))


def starts_without_hearth(dm):
    healthy(dm, log="on", segments=3)
    kernel(dm, "6.1.0-9-amd64", STOCKS)
    dm.command("grubby", "echo /boot/vmlinuz-6.1.0-9-amd64")


def root_on_it(dm, boot="8:2", policy="smq"):
    healthy(dm, policy=policy)
    mounts(dm, root="253:0", boot=boot)
    dm.write(f"boot/initrd.img-{RELEASE}", "")
    dm.command("lsinitramfs", f"echo {STOCK}")


def untidy_modules(dm):
    modules(dm, STOCKS, STOCKS)
    dm.write(f"lib/modules/{RELEASE}/updates/dm-cache.ko", "")


SCENES = {
    "absorb": small_misses,
    "alignment": lambda dm: dm.write("sys/dev/block/253:1/alignment_offset", "512\n"),
    "boot": lambda dm: root_on_it(dm, boot=None),
    "cache-check": lambda dm: dm.command("cache_check", "exit 127"),
    "cache-repair": lambda dm: tools(dm, check="0.9.0"),
    "default-kernel": starts_without_hearth,
    "device-errors": lambda dm: healthy(dm, stats={"origin_errors": 1}),
    "device-mapper": lambda dm: dm.write("names", ""),
    "health": lambda dm: healthy(dm, health="holding", rw="ro"),
    "initramfs": root_on_it,
    "metadata-full": full_metadata,
    "module-installed": lambda dm: modules(dm, STOCKS, STOCKS),
    "module-loaded": lambda dm: dm.write("version", "2.3.0"),
    "module-version": lambda dm: dm.write("sys/module/dm_cache/version", "0.1.0\n"),
    "modules-dep": untidy_modules,
    "modules-mixed": lambda dm: modules(dm, "updates", STOCKS),
    "needs-check": lambda dm: healthy(dm, check="needs_check"),
    "origin-changed": lambda dm: healthy(dm, origin="changed"),
    "origin-gone": lambda dm: lost_origin(dm, missing=1),
    "origin-refused": refused_origin,
    "origin-renamed": lambda dm: lost_origin(dm, missing=0),
    "private-ssd": lambda dm: on_a_network(dm, owner="host1"),
    "root-policy": lambda dm: root_on_it(dm, policy="heat"),
    "rotational": lambda dm: dm.write("sys/dev/block/253:1/queue/rotational", "1\n"),
    "sector-size": lambda dm: dm.write("sys/dev/block/253:1/queue/logical_block_size", "4096\n"),
    "shared-group": on_a_network,
    "single-metadata": lambda dm: dm.write("tables/253:2", LINEAR),
    "single-ssd": lambda dm: dm.write("tables/253:1", LINEAR),
    "ssd-fails": lambda dm: smart_says(dm, critical=4),
    "ssd-spare": lambda dm: smart_says(dm, spare=10),
    "ssd-worn": lambda dm: smart_says(dm, used=90),
    "status-unknown": lambda dm: healthy(dm, status="8 1/2 3"),
    "suspended": lambda dm: healthy(dm, suspended=1),
}


def test_every_finding_with_a_remedy_has_a_scene():
    """Two more identifiers are variables: those about kernels."""
    idents = set()
    for file in LVM_PLUGIN.glob("doctor*.c"):
        idents |= set(re.findall(r'\bfound\(\w+, "([\w-]+)", [^,]+,\s*(?!NULL)\S', file.read_text()))
    assert len(idents) > 20 and idents <= set(SCENES), idents - set(SCENES)


@pytest.mark.parametrize("ident", SCENES)
def test_remedies_can_be_pasted(sound, monkeypatch, ident):
    """findings() checks each remedy that it reads; here, lines are not broken within a command either."""
    SCENES[ident](sound)
    if ident == "device-mapper":
        monkeypatch.setenv("HEARTH_FAKE_ERROR", str(errno.ENODEV))
    remedy, = {f["remedy"] for f in findings(sound, None) if f["id"] == ident}
    assert remedy
    lines = sound.out("doctor", code=None).splitlines()
    for command in COMMAND.findall(remedy):
        assert any(f"'{command}'" in line for line in lines), command


FAILURES = re.findall(r'^\t\{ "([\w-]+)",$', (LVM_PLUGIN / "failures.c").read_text(), re.M)


@pytest.mark.parametrize("health", FAILURES)
def test_remedies_of_each_state_can_be_pasted(sound, health):
    healthy(sound, health=health, rw="ro")
    told, = (f for f in findings(sound) if f["id"] == "health")
    assert told["text"].startswith(f"{health}: ") and told["remedy"]


def test_remedies_of_a_kernel_can_be_pasted(sound):
    starts_without_hearth(sound)
    told = sound.json("doctor", "--kernel", "6.1.0-9-amd64", schema="doctor", code=6)["findings"]
    assert [f["id"] for f in told] == ["kernel"]
    check_remedy(told[0]["remedy"])
