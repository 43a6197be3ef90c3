# SPDX-License-Identifier: GPL-2.0-only
"""The LVM profiles: lvmconfig accepts them, and they agree with their manual page."""

import os
import re
import shutil
import subprocess

import pytest

from fake import BIN, HERE, lists

TOP = HERE.parents[1]
PROFILES = sorted((TOP / "lvm-plugin/profiles").glob("*.profile"))
MANUAL = (TOP / "man/hearth-profiles.7").read_text()
SETTINGS = {setting.key: setting for setting in lists.SETTINGS if setting.owner in ("target", "heat")}


@pytest.fixture
def lvmconfig(tmp_path):
    (tmp_path / "profile").mkdir()
    (tmp_path / "lvm.conf").write_text("")
    for file in PROFILES:
        shutil.copy(file, tmp_path / "profile")

    def run(name, *args):
        return subprocess.run(
            ["lvmconfig", "--metadataprofile", name, *args], text=True, check=False,
            capture_output=True, env={**os.environ, "LVM_SYSTEM_DIR": str(tmp_path),
                                      "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})

    run.directory = tmp_path / "profile"
    return run


@pytest.mark.parametrize("file", PROFILES, ids=lambda f: f.stem)
def test_profile(lvmconfig, file):
    r = lvmconfig(file.stem, "--validate")
    assert r.returncode == 0 and "configuration valid" in r.stdout, r.stdout + r.stderr
    text = lvmconfig(file.stem, "--mergedconfig", "allocation/cache_policy",
                     "allocation/cache_mode", "allocation/cache_settings").stdout
    policy = re.search(r'cache_policy="(\w+)"', text)[1]
    keys = dict(re.findall(r"^\s*(\w+)=(\d+)$", text, re.M))
    assert policy in ("smq", "heat")
    # With smq any kernel opens the cache. With heat only hearth does, so the profile warns.
    assert bool(keys) == (policy == "heat")
    assert ("Any kernel opens" in file.read_text()) == (policy == "smq")
    assert ("only hearth opens" in re.sub(r"\n# ", " ", file.read_text())) == (policy == "heat")
    described = MANUAL.split(f".B {file.stem}\n")[1].split(".TP")[0].split(".SH")[0]
    assert described.lower().startswith(re.search(r'cache_mode="(\w+)"', text)[1])
    assert re.search(rf"policy\n\.BR? {policy}\b", described)
    for key, value in keys.items():
        assert SETTINGS[key].least <= int(value) <= SETTINGS[key].most, key


def test_lvmconfig_can_refuse(lvmconfig):
    for text in ('allocation { cache_mod = "writeback" }', "allocation { cache_mode = 3 }"):
        (lvmconfig.directory / "bad.profile").write_text(text)
        assert lvmconfig("bad", "--validate").returncode != 0


def test_all_are_there():
    assert [f.stem for f in PROFILES] == [
        "hearth-database", "hearth-general", "hearth-low-wear", "hearth-read-mostly",
        "hearth-streaming"]


def test_installed_where_it_is_looked_for(tmp_path):
    """make install installs the programs in OUT, and make uninstall leaves no file behind."""
    def make(target):
        subprocess.run(["make", "-s", "-C", TOP / "lvm-plugin", target, f"DESTDIR={tmp_path}",
                        f"OUT={BIN}/real"], check=True)

    make("install")
    assert {f.name for f in (tmp_path / "etc/lvm/profile").iterdir()} == {f.name for f in PROFILES}
    assert os.access(tmp_path / "usr/sbin/hearth", os.X_OK)
    for path in ("usr/lib/hearth/libdevmapper-event-hearth.so", "etc/hearth/monitor.conf",
                 "usr/lib/udev/rules.d/96-hearth-monitor.rules"):
        assert (tmp_path / path).is_file(), path
    assert "/usr/sbin/hearth monitor" in \
        (tmp_path / "usr/lib/udev/rules.d/96-hearth-monitor.rules").read_text()
    make("uninstall")
    assert [f for f in tmp_path.rglob("*") if f.is_file()] == []
