# SPDX-License-Identifier: GPL-2.0-only
import subprocess
import time

import pytest

from fake import Fake
from programs import need


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(program, ...): the test runs programs that scripts/setup installs")


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            need(name)


@pytest.fixture
def dm(tmp_path):
    return Fake(tmp_path)


class Tmux:
    """A terminal of 80x24 that runs a command; screen() returns its text."""

    def __init__(self, dm):
        self.dm = dm
        self.socket = str(dm.path / "tmux")

    def run(self, *args):
        # tmux runs the command by $SHELL, or else by the user's login shell, which may be nologin.
        environment = self.dm.environment(TERM="xterm", SHELL="/bin/sh")
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *args], text=True,
                              capture_output=True, check=False, env=environment).stdout

    def start(self, command):
        self.run("new-session", "-d", "-x", "80", "-y", "24", "-s", "t", command)

    def type(self, keys):
        self.run("send-keys", "-t", "t", "-l", keys)

    def press(self, key):
        self.run("send-keys", "-t", "t", key)

    def screen(self):
        return self.run("capture-pane", "-p", "-t", "t")

    def flags(self, *names):
        """Returns flags of the pane, such as alternate_on and cursor_flag."""
        return self.run("display-message", "-p", "-t", "t", " ".join(f"#{{{n}}}" for n in names)).split()

    def wait_for(self, is_so):
        """Waits until is_so(screen). The limit only keeps a failing test from waiting for ever."""
        limit = time.monotonic() + 60
        while not is_so(self.screen()):
            assert time.monotonic() < limit, self.screen()
            time.sleep(.05)


@pytest.fixture
def tmux(dm):
    need("tmux")
    terminal = Tmux(dm)
    yield terminal
    terminal.run("kill-server")
