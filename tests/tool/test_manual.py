# SPDX-License-Identifier: GPL-2.0-only
"""The manual page, --help and bash's completion know the same subcommands,
options and exit codes."""

import re
import shutil
import subprocess

import pytest

from fake import BIN, HERE

TOP = HERE.parents[1]
PAGE = TOP / "man/hearth.8"


def subcommands(dm):
    return re.findall(r"^  ([\w-]+) ", dm.out("--help"), re.M)


def options(dm, sub):
    return re.findall(r"^  (--[\w-]+)", dm.out(sub, "--help"), re.M)


def page():
    return PAGE.read_text().replace("\\-", "-")


def test_every_subcommand(dm):
    for sub in subcommands(dm):
        assert f"hearth {sub}" in page()
        for option in options(dm, sub):
            assert option in page(), f"{sub} {option}"
    named = set(re.findall(r"^\.SS .*", page(), re.M))
    for sub in re.findall(r"hearth ([\w-]+)", " ".join(named)):
        assert sub in subcommands(dm), f"{sub} is only in the manual"


def test_help_fits_80_columns(dm):
    for args in [[]] + [[sub] for sub in subcommands(dm)]:
        assert max(map(len, dm.out(*args, "--help").splitlines())) <= 80


def test_exit_codes():
    header = (TOP / "lvm-plugin/hearth.h").read_text()
    codes = re.findall(r"EXIT_\w+ = (\d+)", header)
    documented = page().split(".SH EXIT STATUS")[1].split(".SH")[0]
    assert re.findall(r"^\.B (\d+)$", documented, re.M) == codes


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
def test_pages_render():
    r = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *sorted(TOP.glob("man/*.[0-9]"))],
                       capture_output=True, text=True, check=False)
    assert r.returncode == 0 and not r.stdout, r.stdout + r.stderr


def test_completion(dm):
    script = TOP / "lvm-plugin/hearth.bash"

    def complete(*words):
        line = " ".join(words)
        r = subprocess.run(
            ["bash", "-c", f'. "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hearth;'
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash", *words],
            capture_output=True, text=True, check=False, env=dm.environment())
        assert not r.stderr, f"{line}: {r.stderr}"
        return set(r.stdout.split())

    dm.cache()
    (dm.path / "bin/hearth").symlink_to(BIN / "fake/hearth")
    assert complete("hearth", "") >= set(subcommands(dm))
    for sub in subcommands(dm):
        assert complete("hearth", sub, "--") >= set(options(dm, sub)), sub
    assert complete("hearth", "status", "v") == {"vg/lv"}
    assert complete("hearth", "set", "vg/lv", "mo") == {"mode="}
    assert "low-wear" in complete("hearth", "set", "--preset", "lo")
