# SPDX-License-Identifier: GPL-2.0-only
"""The contents of images by dracut and initramfs-tools, and the images that the hooks refuse to
make.
"""

import re

import pytest

import tree as trees

DKMS = "updates/dkms"
POLICIES = ["smq", "lru", "nhit", "cleaner"]
UNPACKED = "/unpacked"
ON_CACHE = "/usr/lib/hearth/hearth-on-cache"
LVM_CONF = "/etc/lvm/lvm.conf"


def image(tree):
    """The file that the boot loader loads."""
    return f"/boot/initrd.img-{tree.kernel()}"


def dracut(tree, options):
    return tree.run(f"dracut --force {options} {image(tree)} {tree.kernel()}", check=False)


class Dracut:
    # The modules that every image needs; the others are the distribution's business.
    few = '-m "bash base rootfs-block udev-rules dm lvm {}" --no-compress --no-early-microcode'

    def __init__(self, tree):
        self.tree = tree

    def make(self, asked=True, options="--no-hostonly"):
        few = self.few.format("hearth" if asked else "")
        return dracut(self.tree, f"{few} {options}")

    def listing(self):
        return self.tree.out(f"lsinitrd {image(self.tree)}")

    # dracut 112 and later make several archives.
    unpack = f"cd {UNPACKED} && lsinitrd --unpack {{image}}"
    helpers = ["/sbin/hearth-degraded", "/sbin/hearth-origin"]
    # Older dracut has the hooks in /lib/dracut/hooks, and 106 and later in /var/lib/dracut/hooks.
    hooks = [
        f"dracut/hooks/{hook}.sh"
        for hook in (
            "initqueue/timeout/60-hearth-timeout",
            "emergency/60-hearth-emergency",
            "pre-trigger/10-hearth-answer",
            "pre-pivot/60-hearth-forget",
        )
    ] + [f"systemd/system/{unit}.service.d/hearth.conf" for unit in ("emergency", "rescue", "dracut-emergency")]


class InitramfsTools:
    def __init__(self, tree):
        self.tree = tree

    def make(self, asked=True, options=None):
        if asked:
            self.tree.write("/etc/initramfs-tools/conf.d/hearth", "HEARTH=yes\n")
        return self.tree.run(f"update-initramfs -u -k {self.tree.kernel()}", check=False)

    def listing(self):
        return self.tree.out(f"lsinitramfs {image(self.tree)}")

    unpack = f"unmkinitramfs {{image}} {UNPACKED}"
    helpers = ["/usr/lib/hearth/hearth-degraded", "/usr/lib/hearth/hearth-origin"]
    hooks = [f"scripts/{when}/hearth" for when in ("init-top", "local-block", "local-bottom", "panic")]


@pytest.fixture(params=[Dracut, InitramfsTools], ids=["dracut", "initramfs-tools"])
def generator(request, system):
    return request.param(system)


def made(result):
    code, out = result
    assert code == 0, out
    return out


def refused(generator, text):
    """The hook refuses to make an image, gives the reason in one line, and the old image stays."""
    tree = generator.tree
    before = checksum(tree)
    code, out = generator.make()
    assert code != 0, out
    assert any("hearth" in line and text in line for line in out.splitlines()), out
    assert checksum(tree) == before


def checksum(tree):
    return tree.out(f"sha256sum {image(tree)}")


def unpack(generator):
    tree = generator.tree
    if not tree.exists(UNPACKED):
        tree.run(f"mkdir {UNPACKED} && {generator.unpack.format(image=image(tree))} && mkdir -p {UNPACKED}/run")


def loaded(generator, *names):
    """The files in the image that modprobe loads, without the suffix of a compression."""
    unpack(generator)
    # The test calls the host's modprobe, because the image's may be busybox's.
    show = f"modprobe -d {UNPACKED} -S {generator.tree.kernel()} --show-depends"
    out = generator.tree.out(f"for m in {' '.join(names)}; do {show} $m | tail -n 1; done")
    return [re.sub(r"\.(xz|zst|gz)$", "", line.split()[1]).removeprefix(UNPACKED) for line in out.splitlines()]


def inside(generator, command):
    unpack(generator)
    return generator.tree.run(f"LC_ALL=C chroot {UNPACKED} {command}", check=False)


def test_an_image_has_what_a_cached_volume_needs(generator):
    generator.tree.write("/etc/modprobe.d/site.conf", "options dm_cache x=1\n")
    generator.tree.write("/etc/modprobe.d/other.conf", "options loop max_loop=9\n")
    made(generator.make())
    place = f"/lib/modules/{generator.tree.kernel()}/{DKMS}"
    modules = ["dm-cache", *(f"dm-cache-{p}" for p in POLICIES)]
    assert loaded(generator, *modules) == [f"{place}/{m}.ko" for m in modules]
    # Tables ask for the default policy by these names.
    assert loaded(generator, "dm-cache-mq", "dm-cache-default", "dm-cache-heat") == [f"{place}/dm-cache-smq.ko"] * 3
    # The tools run in the image, so it has their libraries.
    version = generator.tree.out("cache_check -V")
    for tool in ["cache_check", "cache_repair", "cache_dump", "cache_restore"]:
        code, out = inside(generator, f"/usr/sbin/{tool} -V")
        assert (code, out.strip()) == (0, version), tool
    code, out = inside(generator, f"{generator.helpers[0]} report")
    assert code == 0, out
    files = generator.listing()
    # dm-cache itself needs this module.
    assert "dm-bufio.ko" in files
    assert "etc/modprobe.d/site.conf" in files
    assert "etc/lvm/profile/cache-smq.profile" in files
    for file in generator.hooks + generator.helpers:
        assert file.lstrip("/") in files


# Metadata with a dirty block, which cache_repair 0.9 would lose.
METADATA = """<superblock uuid="" block_size="128" nr_cache_blocks="64" policy="smq" hint_width="4">
<mappings><mapping cache_block="7" origin_block="3" dirty="true"/></mappings></superblock>
"""


def test_metadata_can_be_repaired_in_the_image(generator):
    tree = generator.tree
    made(generator.make())
    unpack(generator)
    tree.write("/cache.xml", METADATA)
    tree.run(
        f"cd {UNPACKED}/run && truncate -s 1M in out && cache_restore --metadata-version 2 -i /cache.xml -o in"
    )
    # LVM's configuration has this name, and lvconvert --repair uses these words.
    code, out = inside(generator, '/usr/sbin/hearth-cache-repair -i /run/in -o /run/out ""')
    assert code == 0, out
    assert "dirty 1, lost 0" in out
    tree.run(f"cache_check {UNPACKED}/run/out")
    code, out = inside(generator, "/usr/sbin/hearth-metadata dump /run/out")
    assert (code, '<mapping cache_block="7" origin_block="3" dirty="true"/>' in out) == (0, True), out


def test_a_policy_of_somebody_else_is_there_too(generator):
    tree, kernel = generator.tree, generator.tree.kernel()
    tree.run(
        f"mkdir -p /lib/modules/{kernel}/extra && cd /lib/modules/{kernel}"
        f" && for f in {DKMS}/dm-cache-lru.ko*; do cp $f extra/dm-cache-mine.${{f#*.}}; done && depmod {kernel}"
    )
    made(generator.make())
    assert "extra/dm-cache-mine.ko" in generator.listing()


def test_the_checker_that_lvm_conf_names(generator):
    tree = generator.tree
    tree.write("/opt/check/my_check", "#!/bin/sh\nexec /usr/sbin/cache_check \"$@\"\n")
    tree.run("chmod 755 /opt/check/my_check")
    tree.write(LVM_CONF, 'global { cache_check_executable = "/opt/check/my_check" }\n')
    made(generator.make())
    code, out = inside(generator, "/opt/check/my_check -V")
    assert (code, out.strip()) == (0, tree.out("cache_check -V"))


def test_a_missing_checker_is_an_error(generator):
    generator.tree.run("rm /usr/sbin/cache_check")
    refused(generator, "/usr/sbin/cache_check")


def test_a_missing_checker_of_lvm_conf_is_an_error(generator):
    generator.tree.write(LVM_CONF, 'global { cache_check_executable = "/opt/check/my_check" }\n')
    refused(generator, "/opt/check/my_check")


def test_no_checker_is_wanted(generator):
    generator.tree.run("rm /usr/sbin/cache_check")
    generator.tree.write(LVM_CONF, 'global { cache_check_executable = "" }\n')
    made(generator.make())


def test_a_kernel_without_dm_cache_is_an_error(generator):
    kernel = generator.tree.kernel()
    generator.tree.run(f"find /lib/modules/{kernel}/ -name 'dm-cache*.ko*' -delete && depmod {kernel}")
    refused(generator, f"kernel {kernel} has no dm-cache")


def test_half_of_hearth_is_an_error(generator):
    """The image would have hearth's dm-cache with the kernel's dm-cache-smq, and the policy would
    not load.
    """
    kernel = generator.tree.kernel()
    generator.tree.run(f"rm /lib/modules/{kernel}/{DKMS}/dm-cache-smq.ko* && depmod {kernel}")
    refused(generator, "dm-cache-smq is not")


def test_not_built_for_this_kernel(generator):
    """The metadata is the same, so the kernel's own module opens it, and the machine boots."""
    generator.tree.run(f"dkms uninstall hearth/{trees.VERSION} --all")
    out = made(generator.make())
    assert "hearth: not built for kernel" in out
    place = f"/lib/modules/{generator.tree.kernel()}/kernel/drivers/md"
    assert loaded(generator, "dm-cache", "dm-cache-smq") == [f"{place}/dm-cache.ko", f"{place}/dm-cache-smq.ko"]


def stub(tree, code, writeback=1, lvm=1):
    """A hearth-on-cache that answers at once, and writes its arguments to /asked."""
    answers = f'case $1 in -w) exit {writeback} ;; -l) exit {lvm} ;; *) exit {code} ;; esac'
    tree.write(ON_CACHE, f'#!/bin/sh\necho "$@" >>/asked\n{answers}\n')
    tree.run(f"chmod 755 {ON_CACHE}")


HOSTONLY = "--hostonly --add-device /dev/loop0"
WITHOUT = "systemd systemd-initrd i18n kernel-modules kernel-modules-extra"
FOR_THIS_HOST = f'--no-compress --no-early-microcode {HOSTONLY} -o "{WITHOUT}"'


@pytest.mark.parametrize("on", ["cache", "lvm", "disk"])
def test_dracut_for_this_host(system, on):
    """A host-only image has hearth if the machine has a cache or can get one."""
    stub(system, 0 if on == "cache" else 1, lvm=0 if on == "lvm" else 1)
    made(dracut(system, FOR_THIS_HOST))
    assert "/dev/loop0" in system.out("cat /asked")
    assert ("hearth-degraded" in system.out(f"lsinitrd {image(system)}")) == (on != "disk")


@pytest.mark.parametrize(
    "lacks",
    ["rm /usr/sbin/cache_check", f"rm /lib/modules/*/{DKMS}/dm-cache-smq.ko* && depmod $(ls /lib/modules)"],
    ids=["checker", "half"],
)
def test_dracut_for_this_host_as_long_as_there_is_no_cache(system, lacks):
    """A machine that has no cache gets an image without hearth, and a warning."""
    stub(system, 1, lvm=0)
    system.run(lacks)
    assert "This machine boots from LVM" in made(dracut(system, FOR_THIS_HOST))
    assert "hearth-degraded" not in system.out(f"lsinitrd {image(system)}")


def test_dracut_for_this_host_when_asked(system):
    stub(system, 1)
    system.write("/etc/dracut.conf.d/hearth.conf", 'add_dracutmodules+=" hearth "\n')
    made(Dracut(system).make(asked=False, options=HOSTONLY))
    assert "dm-cache-lru.ko" in system.out(f"lsinitrd {image(system)}")


def test_dracut_for_any_host_without_being_asked(system):
    without = "systemd systemd-initrd i18n kernel-modules-extra drm"
    made(dracut(system, f'--no-hostonly --no-compress --no-early-microcode -o "{without}"'))
    assert f"{DKMS}/dm-cache.ko" in system.out(f"lsinitrd {image(system)}")


def test_initramfs_tools_on_a_cached_root(system):
    """A missing piece is an error if the machine needs it, and a warning if it does not."""
    generator = InitramfsTools(system)
    system.write("/etc/initramfs-tools/conf.d/resume", "RESUME=/dev/loop0\n")
    system.run("rm /usr/sbin/cache_check")
    stub(system, 1)
    out = made(generator.make(asked=False))
    assert "W: hearth: lvm2 checks a cache" in out
    assert "/dev/loop0" in system.out("cat /asked")
    before = checksum(system)
    stub(system, 0)
    code, out = generator.make(asked=False)
    assert code != 0
    assert "E: hearth: lvm2 checks a cache" in out
    assert checksum(system) == before


def test_initramfs_tools_hook_turned_off(system):
    generator = InitramfsTools(system)
    system.write("/etc/initramfs-tools/conf.d/hearth", "HEARTH=no\n")
    made(generator.make(asked=False))
    files = generator.listing()
    assert "dm-cache-lru.ko" not in files
    for helper in generator.helpers:
        assert helper.rsplit("/", 1)[1] not in files


@pytest.mark.parametrize("writeback", [True, False], ids=["writeback", "not"])
def test_boot_on_a_writeback_cache_is_warned_about(generator, writeback):
    stub(generator.tree, 1, 0 if writeback else 1)
    out = made(generator.make())
    assert ("/boot is on a volume with a writeback cache" in out) == writeback
