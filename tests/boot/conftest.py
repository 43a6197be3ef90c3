# SPDX-License-Identifier: GPL-2.0
"""Trees that the tests share: see tree.py. The packages are built once a run, and installed once."""

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
    # Of the kernel's modules only what hooks ask for: images are made often here.
    tree.write("/etc/initramfs-tools/conf.d/quick", "MODULES=list\nCOMPRESS=gzip\n")
    return tree


@pytest.fixture(scope="session")
def packages(bare):
    """A tree in which make deb has run; they are in /src/build/deb."""
    built = bare.copy(VIEWS / "packages")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=trees.TOP, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-C", trees.TOP, "--null", "-T", "-", "-cf", built.share / "src.tar"], input=files, check=True)
    built.run(
        "mkdir /src && cd /src && tar -xf /tmp/share/src.tar && git init -q . && git add -A && make deb"
        " >/src/deb.log 2>&1 || { tail -n 40 /src/deb.log; exit 1; }"
    )
    return built


@pytest.fixture(scope="session")
def installed(bare, packages):
    """Debian with both packages. The log of the installation is in install.log."""
    packages.run("cp /src/build/deb/hearth_*.deb /src/build/deb/hearth-dkms_*.deb /tmp/share")
    tree = bare.copy(VIEWS / "installed")
    for deb in packages.share.glob("*.deb"):
        shutil.copy(deb, tree.share)
    tree.run("dpkg -i /tmp/share/*.deb >/install.log 2>&1 || { cat /install.log /var/lib/dkms/hearth/*/build/make.log; exit 1; }")
    return tree


def view(request, of):
    tree = of.copy(VIEWS / request.node.name)
    request.addfinalizer(tree.remove)
    return tree


@pytest.fixture
def fresh(request, bare):
    """A view of its own of Debian without hearth."""
    return view(request, bare)


@pytest.fixture
def system(request, installed):
    """A view of its own of Debian with hearth."""
    return view(request, installed)


@pytest.fixture
def volumegroup(tmp_path):
    vg = VolumeGroup(tmp_path).create()
    yield vg
    vg.close()
