# SPDX-License-Identifier: GPL-2.0-only
"""A Debian tree to install into, and cheap copies of it.

mmdebstrap makes the tree once under build/boot: a kernel with headers, lvm2, DKMS, both
initramfs generators, and the tools that build Debian packages. HEARTH_RELEASE names another
release than Debian 12, for its dracut, DKMS and lvm2. A Tree is a copy-on-write view of it
(overlayfs in a mount namespace of its own), and chroot runs commands in it. All of this needs
root. A second, smaller tree is the root of the guests that machine.py boots.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
VERSION = re.search(r'PACKAGE_VERSION="(.*)"', (TOP / "dkms.conf").read_text())[1]
BUILD = TOP / "build/boot"
RELEASE = os.environ.get("HEARTH_RELEASE", "bookworm")
PACKAGES = (
    "mount linux-image-amd64 linux-headers-amd64 kmod initramfs-tools dracut-core busybox zstd cpio file "
    "lvm2 dmsetup thin-provisioning-tools dkms build-essential debhelper dh-dkms "
    "libarchive-dev libdevmapper-dev libinih-dev libjs-dygraphs libjson-c-dev libtraceevent-dev libtracefs-dev "
    "lintian rpm git"
).split()
GUEST_PACKAGES = (
    "systemd-sysv udev kmod mount lvm2 dmsetup thin-provisioning-tools e2fsprogs "
    "initramfs-tools dracut-core busybox zstd cpio"
).split()
# The kernel modules with which a guest of machine.py boots.
DRIVERS = "virtio_pci virtio_blk ext4"

ENTER = r"""
set -e
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$UPPER,workdir=$WORK" "$ROOT"
mount -t proc proc "$ROOT/proc"
mount -t sysfs sysfs "$ROOT/sys"
mount --rbind /dev "$ROOT/dev"
mount -t tmpfs tmpfs "$ROOT/run"
mount -t tmpfs tmpfs "$ROOT/tmp"
mkdir -p "$ROOT/run/lock"
if [ -n "$SHARE" ]; then
	mkdir "$ROOT/tmp/share"
	mount --bind "$SHARE" "$ROOT/tmp/share"
fi
exec chroot "$ROOT" /bin/bash -c "$COMMAND"
"""


def made(name, packages, *options):
    """A tree of these packages, which is made only once."""
    tree, stamp = BUILD / name, BUILD / f"{name}.packages"
    want = " ".join(packages)
    if stamp.exists() and stamp.read_text() == want:
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    # A mirror may lag behind, so old indices are accepted. A mount namespace ends mmdebstrap's
    # mounts with it, because they must not be there when the tree is deleted.
    subprocess.run(
        ["unshare", "--mount", "mmdebstrap", "-q", "--mode=root", "--variant=apt", "--dpkgopt=force-unsafe-io",
         "--aptopt=Acquire::Check-Valid-Until \"false\"", *options, f"--include={','.join(packages)}", RELEASE, tree],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    stamp.write_text(want)
    return tree


def base():
    """The tree below all views, except the guests' view."""
    return made(RELEASE, PACKAGES)


def guest_base():
    """The guests' tree, without a kernel."""
    no_texts = [f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in ("doc", "man", "locale")]
    return made(f"{RELEASE}-guest", GUEST_PACKAGES, *no_texts)


class CommandFailed(Exception):
    pass


class Tree:
    """A view. Writes to it go to a directory of its own, which can be a layer below other views."""

    def __init__(self, place, lower):
        self.place, self.lower = Path(place), list(lower)
        self.upper, self.root = self.place / "upper", self.place / "root"
        for d in (self.upper, self.root, self.place / "work", self.place / "share"):
            d.mkdir(parents=True)
        self.share = self.place / "share"

    def copy(self, place):
        return Tree(place, [self.upper, *self.lower])

    def run(self, command, check=True):
        """Runs a shell command; /tmp/share is self.share. Returns (exit code, output)."""
        env = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            # The device-mapper here is that of the machine, whose caches are not to be settled.
            "HEARTH_FORCE_REMOVE": "1",
            "LOWER": ":".join(map(str, self.lower)),
            "UPPER": str(self.upper),
            "WORK": str(self.place / "work"),
            "ROOT": str(self.root),
            "SHARE": str(self.share),
            "COMMAND": command,
        }
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "bash", "-c", ENTER],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if check and done.returncode:
            raise CommandFailed(f"{command}\nexit {done.returncode}\n{done.stdout}")
        return done.returncode, done.stdout

    def out(self, command):
        return self.run(command)[1].strip()

    def exists(self, path):
        return self.run(f"test -e {shlex.quote(path)}", check=False)[0] == 0

    def write(self, path, text):
        (self.share / "in").write_text(text)
        self.run(f"mkdir -p $(dirname {path}) && cp /tmp/share/in {path}")

    def kernel(self):
        for lower in (self.upper, *self.lower):
            for modules in (lower / "lib/modules", lower / "usr/lib/modules"):
                if modules.is_dir() and not modules.parent.is_symlink():
                    return next(modules.iterdir()).name
        raise FileNotFoundError("no kernel")

    def files(self):
        """All files and directories, without those of other file systems."""
        skip = " -o ".join(f"-path {p}" for p in ("/proc", "/sys", "/dev", "/run", "/tmp"))
        return set(self.out(f"find / \\( {skip} \\) -prune -o -print").splitlines())

    def image(self, path, mib):
        """Makes an ext4 file system of the tree, without what is mounted in it."""
        script = (
            'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4"'
            ' && mke2fs -q -F -t ext4 -d "$4" "$5" "$6M"'
        )
        places = [":".join(map(str, self.lower)), self.upper, self.place / "work", self.root, path, str(mib)]
        subprocess.run(["unshare", "--mount", "bash", "-c", script, "image", *places], check=True)

    def remove(self):
        shutil.rmtree(self.place, ignore_errors=True)
