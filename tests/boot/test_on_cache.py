# SPDX-License-Identifier: GPL-2.0-only
"""hearth-on-cache, on a made-up sysfs and dmsetup, because the machine has no device mapper."""

import os
import stat
import subprocess

import pytest

import tree

SCRIPT = tree.TOP / "boot/hearth-on-cache"

# No device here has these numbers, and the script opens none.
NUMBERS = {
    name: f"240:{minor}"
    for minor, name in enumerate(
        "disk disk1 ssd cached corig cdata cmeta plain crypt pool thin md md1 back fs".split(), 1
    )
}

TABLES = {
    "cached": "0 409600 cache 240:7 240:6 240:5 128 2 metadata2 writethrough smq 0",
    "back": "0 409600 cache 240:7 240:6 240:5 128 2 metadata2 writeback smq 2 migration_threshold 4096",
    "fs": "0 409600 linear 240:14 0",
    "corig": "0 409600 linear 240:2 2048",
    "cdata": "0 102400 linear 240:3 2048",
    "cmeta": "0 8192 linear 240:3 104448",
    # This is no cache, although its name begins like one.
    "plain": "0 409600 linear 240:2 411648 cache ",
    "crypt": "0 409568 crypt aes-xts-plain64 :64:logon:x 0 240:4 32",
    "pool": "0 409600 thin-pool 240:8 240:4 128 0 1 skip_block_zeroing",
    "thin": "0 409600 thin 240:10 1",
}

BELOW = {
    "cached": ["corig", "cdata", "cmeta"],
    "corig": ["disk1"],
    "cdata": ["ssd"],
    "cmeta": ["ssd"],
    "plain": ["disk1"],
    "back": ["corig", "cdata", "cmeta"],
    "fs": ["back"],
    "crypt": ["cached"],
    "pool": ["plain", "cached"],
    "thin": ["pool"],
    "md": ["thin"],
}

# LVM made these; cryptsetup or a user made the others.
LVM = ["cached", "corig", "cdata", "cmeta", "plain", "pool", "thin", "back"]

PARTITIONS = {"disk1": "disk", "md1": "md"}


@pytest.fixture
def machine(tmp_path):
    sys, dev, bin = tmp_path / "sys", tmp_path / "dev", tmp_path / "bin"
    for d in (sys / "dev/block", sys / "devices", dev, bin):
        d.mkdir(parents=True)
    for name, number in NUMBERS.items():
        place = sys / "devices" / PARTITIONS.get(name, "") / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "dev").write_text(number + "\n")
        (sys / "dev/block" / number).symlink_to(place)
        major, minor = map(int, number.split(":"))
        os.mknod(dev / name, stat.S_IFBLK | 0o600, os.makedev(major, minor))
    for name, below in BELOW.items():
        slaves = sys / "devices" / name / "slaves"
        slaves.mkdir()
        for b in below:
            (slaves / b).symlink_to((sys / "dev/block" / NUMBERS[b]).resolve())
    for name in TABLES:
        (sys / "devices" / name / "dm").mkdir()
        (sys / "devices" / name / "dm/uuid").write_text("LVM-abc\n" if name in LVM else "CRYPT-LVM-abc\n")
    cases = "\n".join(f'{NUMBERS[n].split(":")[1]}) echo "{t}" ;;' for n, t in TABLES.items())
    dmsetup = bin / "dmsetup"
    dmsetup.write_text('#!/bin/sh\n[ "$1 $2 $3 $4" = "table -j 240 -m" ] || exit 1\n'
                       f'case $5 in\n{cases}\n*) exit 1 ;;\nesac\n')
    dmsetup.chmod(0o755)
    return tmp_path


def ask(machine, *names, options=()):
    env = {"PATH": f"{machine}/bin:{os.environ['PATH']}", "HEARTH_SYSFS": str(machine / "sys")}
    devices = [str(machine / "dev" / n) for n in names]
    done = subprocess.run([SCRIPT, *options, *devices], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, [os.path.basename(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", ["cached", "crypt", "pool", "thin", "md", "md1"])
def test_on_a_cache(machine, name):
    assert ask(machine, name) == (0, [name])


@pytest.mark.parametrize("name", ["disk", "disk1", "ssd", "corig", "cdata", "plain"])
def test_not_on_a_cache(machine, name):
    assert ask(machine, name) == (1, [])


def test_only_writeback(machine):
    assert ask(machine, "cached", "thin", "back", "fs", options=["-w"]) == (0, ["back", "fs"])
    assert ask(machine, "cached", "corig", options=["-w"]) == (1, [])


def test_all_that_could_have_a_cache(machine):
    assert ask(machine, "plain", "crypt", "fs", "md1", options=["-l"]) == (0, ["plain", "crypt", "fs", "md1"])
    assert ask(machine, "disk", "disk1", "ssd", options=["-l"]) == (1, [])


def test_several(machine):
    assert ask(machine, "plain", "thin", "disk", "cached") == (0, ["thin", "cached"])
    assert ask(machine, "plain", "disk") == (1, [])
    assert ask(machine) == (1, [])


def test_what_is_not_a_block_device_is_passed_over(machine):
    (machine / "dev/file").touch()
    assert ask(machine, "file", "absent") == (1, [])
    assert ask(machine, "file", "absent", "cached") == (0, ["cached"])
