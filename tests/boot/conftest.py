# SPDX-License-Identifier: GPL-2.0-only
"""Trees that the tests share: see tree.py. A run builds and installs the packages once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import tree as trees  # noqa: E402
from volumegroup import VolumeGroup  # noqa: E402

VIEWS = trees.BUILD / "views"


@pytest.fixture(autouse=True, scope="session")
def root():
    if os.geteuid() != 0:
        pytest.skip("needs root, for chroot, device nodes and loop devices")


@pytest.fixture(scope="session")
def bare(root):
    """Debian without hearth."""
    shutil.rmtree(VIEWS, ignore_errors=True)
    tree = trees.Tree(VIEWS / "bare", [trees.base()])
    # Only the kernel modules that hooks ask for, because these tests make many images.
    tree.write("/etc/initramfs-tools/conf.d/quick", "MODULES=list\nCOMPRESS=gzip\n")
    tree.write("/etc/initramfs-tools/modules", "\n".join([*trees.DRIVERS.split(), ""]))
    return tree


@pytest.fixture(scope="session")
def packages(bare):
    """A tree in which make deb has run, in an archive without .git; the packages are in
    /src/build/deb.
    """
    built = bare.copy(VIEWS / "packages")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=trees.TOP, stdout=subprocess.PIPE, check=True).stdout
    archive = built.share / "src.tar"
    subprocess.run(["tar", "-C", trees.TOP, "--null", "-T", "-", "-cf", archive], input=files, check=True)
    built.run(
        "mkdir /src && cd /src && tar -xf /tmp/share/src.tar && make deb"
        " >/src/deb.log 2>&1 || { tail -n 40 /src/deb.log; exit 1; }"
    )
    return built


@pytest.fixture(scope="session")
def installed(bare, packages):
    """Debian with both packages; install.log has the log of the installation."""
    packages.run("cp /src/build/deb/hearth_*.deb /src/build/deb/hearth-dkms_*.deb /tmp/share")
    tree = bare.copy(VIEWS / "installed")
    for deb in packages.share.glob("*.deb"):
        shutil.copy(deb, tree.share)
    tree.run(
        "dpkg -i /tmp/share/*.deb >/install.log 2>&1 ||"
        " { cat /install.log /var/lib/dkms/hearth/*/build/make.log; exit 1; }"
    )
    return tree


# In apt's own order. The scripts of the kernel's packages make the modules and the initramfs.
KERNEL_COMES = r"""
set -e
cp /tmp/share/resolv.conf /etc/resolv.conf
apt-get -q update
image=$(apt-cache pkgnames linux-image- | grep -E '^linux-image-[0-9.]+-[0-9]+-amd64$' |
    grep -vx "linux-image-$1" | sort -V | tail -n 1)
apt-get -q -y --no-install-recommends install "$image" "${image/image/headers}"
echo "${image#linux-image-}" >/tmp/share/other
"""


@pytest.fixture(scope="session")
def upgraded(installed):
    """Debian with both packages and another kernel, "other", which was installed after them."""
    tree = installed.copy(VIEWS / "upgraded")
    shutil.copy("/etc/resolv.conf", tree.share)
    (tree.share / "upgrade").write_text(KERNEL_COMES)
    tree.log = tree.run(f"bash /tmp/share/upgrade {installed.kernel()}")[1]
    tree.other = (tree.share / "other").read_text().strip()
    return tree


def view(request, of):
    tree = of.copy(VIEWS / request.node.name)
    request.addfinalizer(tree.remove)
    return tree


@pytest.fixture
def fresh(request, bare):
    """The test's own view of Debian without hearth."""
    return view(request, bare)


@pytest.fixture
def system(request, installed):
    """The test's own view of Debian with hearth."""
    return view(request, installed)


@pytest.fixture
def volumegroup(tmp_path):
    vg = VolumeGroup(tmp_path).create()
    yield vg
    vg.close()
