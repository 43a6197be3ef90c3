# SPDX-License-Identifier: GPL-2.0-only
"""Makes a pytest test of every test_* function of suites/*.sh.

With HEARTH_STOCK=1 the tests run against the kernel's own dm-cache. HEARTH_SET=all adds the slow
tests, HEARTH_GUESTS=N spreads the tests over N guests, and HEARTH_KERNEL=debug-kernel boots the
kernel of scripts/debug-kernel. With HEARTH_RESUME=DIR the run notes in DIR which tests have
passed, and does not run those again.
"""

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hearthguest  # noqa: E402

ENGINE = "stock" if os.environ.get("HEARTH_STOCK") == "1" else "hearth"
RESUME = os.environ.get("HEARTH_RESUME")


def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".sh" and file_path.parent == hearthguest.SUITES:
        return Suite.from_parent(parent, path=file_path)
    return None


class Suite(pytest.File):
    def collect(self):
        for test in hearthguest.discover(self.path):
            yield GuestTest.from_parent(self, name=test.label, test=test)


class GuestFailure(Exception):
    pass


class GuestTest(pytest.Item):
    def __init__(self, *, test, **kwargs):
        super().__init__(**kwargs)
        self.test = test
        for tag in ("stock-only", "hearth-only"):
            if tag in test.tags and tag != f"{ENGINE}-only":
                self.add_marker(pytest.mark.skip(reason=tag))
        if "debug-kernel" in test.tags and hearthguest.KERNEL != "debug-kernel":
            self.add_marker(pytest.mark.skip(reason="needs the kernel of make test-sanitize"))
        if self.already_passed():
            self.add_marker(pytest.mark.skip(reason="passed before, resumed"))

    def mark(self):
        return Path(RESUME) / f"{ENGINE}.{self.test.id}"

    def already_passed(self):
        return bool(RESUME) and self.mark().exists()

    def runtest(self):
        outcome, _, log = self.session.guest.result(self.test)
        if outcome == "skip":
            pytest.skip(log.strip().splitlines()[-1] if log.strip() else "skipped")
        if outcome != "pass":
            raise GuestFailure(log)
        if RESUME:
            self.mark().parent.mkdir(parents=True, exist_ok=True)
            self.mark().touch()

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, GuestFailure):
            lines = str(excinfo.value).splitlines()
            return "\n".join(lines[-150:])
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, self.test.line, f"{self.test.id} [{ENGINE}]"


def pytest_collection_modifyitems(config, items):
    if os.environ.get("HEARTH_SET") == "all" or config.option.keyword:
        return
    slow = [i for i in items if isinstance(i, GuestTest) and "slow" in i.test.tags]
    config.hook.pytest_deselected(items=slow)
    items[:] = [i for i in items if i not in slow]


def pytest_collection_finish(session):
    if session.config.option.collectonly:
        return
    tests = [
        i.test for i in session.items
        if isinstance(i, GuestTest) and not i.get_closest_marker("skip")
    ]
    session.guest = session.config.guests = hearthguest.Guests(tests, ENGINE)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_sessionfinish(session):
    if hasattr(session, "guest"):
        session.guest.stop()


def pytest_terminal_summary(terminalreporter, config):
    """Prints how long each test ran, because pytest knows only how long it waited for each."""
    seconds = config.guests.seconds() if hasattr(config, "guests") else {}
    if not seconds:
        return
    terminalreporter.section("seconds in the guests")
    for test in sorted(seconds, key=seconds.get, reverse=True):
        terminalreporter.write_line(f"{seconds[test]:5.0f} {test}")
    terminalreporter.write_line(f"{sum(seconds.values()):5.0f} in all")
