# SPDX-License-Identifier: GPL-2.0-only
"""The programs that tests need and that are not part of every machine."""

import os
import shutil
from pathlib import Path

import pytest

# Other names that distributions have for them.
ALSO = {"chromium": "chromium-browser"}
BUILD = Path(__file__).resolve().parents[2] / "build"


def find(name):
    """Returns the program's path, or None. scripts/setup puts promtool and yamllint below build/."""
    for directory in "prometheus/usr/bin", "venv/bin":
        if (BUILD / directory / name).exists():
            return str(BUILD / directory / name)
    return shutil.which(name) or shutil.which(ALSO.get(name, name))


def need(name):
    """Returns the path of a program that scripts/setup installs.

    Where it is missing, the test fails if scripts/setup has been through, because nobody would notice that
    it is skipped. On other machines, such as a packager's, it is skipped."""
    path = find(name)
    if path:
        return path
    if os.environ.get("HEARTH_ALLOW_SKIPS") or not any(BUILD.glob(".setup-*")):
        pytest.skip(f"no {name}")
    pytest.fail(f"no {name}: scripts/setup --renew installs it; HEARTH_ALLOW_SKIPS=1 skips this test", pytrace=False)
