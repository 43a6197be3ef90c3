# SPDX-License-Identifier: GPL-2.0-only
"""hearth top: rates, tables for pipes and files, the screen of a terminal."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from fake import BIN, COUNTERS, schema_of, valid

ZERO = dict.fromkeys(COUNTERS, 0)


def objects(text):
    """Returns the JSON values that follow one another in the text."""
    decoder, found = json.JSONDecoder(), []
    while text.strip():
        value, end = decoder.raw_decode(text.lstrip())
        found.append(value)
        text = text.lstrip()[end:]
    return found


def test_rates(dm):
    dm.cache(stats=ZERO)
    dm.cache(listing=3, stats=ZERO | {"read_hits": 30, "read_misses": 10, "promotions": 4,
                                        "cache_sectors_written": 6})
    first, second = objects(dm.out("top", "--json", "--interval", "0.5", "--count", "2"))
    schema = schema_of("top")
    valid(first, schema)
    valid(second, schema)
    assert first["seconds"] is None and first["caches"][0]["reads_per_second"] is None
    c = second["caches"][0]
    assert .5 <= second["seconds"] < 10
    assert c["reads_per_second"] * second["seconds"] == pytest.approx(40, rel=1e-3)
    assert c["promotions_per_second"] * second["seconds"] == pytest.approx(4, rel=1e-3)
    assert c["ssd_bytes_per_second"] * second["seconds"] == pytest.approx(3072, rel=1e-3)
    assert c["read_hit_ratio"] == .75 and c["write_hit_ratio"] is None
    assert c["used"] == .5 and c["dirty"] == .25
    assert c["volume"]["reads_per_second"] == 0 and c["latency"]["read_hits"]["p99_ms"] is None


def test_json_lines(dm):
    dm.cache(stats=ZERO)
    lines = dm.out("top", "--json", "--interval", "0.1", "--count", "3").splitlines()
    assert len(lines) == 3
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", json.loads(line)["time"])


def test_arguments_as_iostat_has_them(dm):
    for name, number in (("vg-lv", "253:0"), ("vg-two", "253:8"), ("other-lv", "253:9")):
        dm.cache(name, devno=number)

    def names(*args):
        return [[c["name"] for c in json.loads(line)["caches"]] for line in dm.out("top", "--json", *args).splitlines()]

    assert names("vg/two", "0.1", "2") == [["vg/two"]] * 2
    assert names("vg", "0.1", "1") == [["vg/lv", "vg/two"]]
    assert names("0.1", "2") == [["other/lv", "vg/lv", "vg/two"]] * 2
    assert "no cache of that name" in dm.complaint(3, "top", "none")
    assert "INTERVAL 0:" in dm.complaint(2, "top", "vg", "0")
    assert "COUNT x:" in dm.complaint(2, "top", "1", "x")


def test_sorting(dm):
    for i, (name, reads, promotions) in enumerate((("a", 5, 0), ("b", 50, 3), ("c", 0, 9))):
        dm.cache(name, lvm=False, devno=f"253:{i + 20}", stats=ZERO)
        dm.cache(name, lvm=False, devno=f"253:{i + 20}", listing=3,
                 stats=ZERO | {"read_hits": reads, "promotions": promotions})

    def names(column):
        line = dm.out("top", "--json", "--sort", column, "0.1", "1")
        return "".join(c["name"] for c in json.loads(line)["caches"])

    assert (names("name"), names("reads"), names("promotions")) == ("abc", "bac", "cba")
    # The hit ratio of c is not known.
    assert names("read-hits") == "abc"
    assert "there are name used" in dm.complaint(2, "top", "--sort", "size")


def test_table_fits_80_columns(dm):
    huge = dict.fromkeys(COUNTERS, 10 ** 15)
    for name in ("a" * 100, "b"):
        dm.cache(name, lvm=False, stats=ZERO, health="read-only", rw="ro", check="needs_check")
        dm.cache(name, listing=3, lvm=False, stats=huge, health="read-only", rw="ro", check="needs_check")
    lines = dm.out("top", "--interval", "0.2", "--count", "2").splitlines()
    assert sum(line.startswith("CACHE") for line in lines) == 2
    assert sum("^ read-only, needs check" in line for line in lines) == 4
    assert max(map(len, lines)) <= 80
    assert len({len(line) for line in lines if line[0] in "Cab"}) == 1


def test_one_cache_in_full(dm):
    """The devices and the times of requests follow a cache that is alone; the whole fits a small terminal."""
    dm.cache(stats=ZERO)
    dm.cache(listing=3, stats=ZERO | {"timed_read_misses": 100, "read_misses_ns": 10 ** 9},
             latency={"read_misses": {12: 98, 14: 2}})
    lines = dm.out("top", "0.1", "1").splitlines()
    assert len(lines) <= 22 and max(map(len, lines)) <= 80
    table = {line[:15].strip(): line[15:].split() for line in lines}
    assert table["read misses"] == ["100", "10ms", "6.3ms", "25ms", "33ms"]
    assert table["absorbed"] == ["0", "-", "-", "-", "-"]
    for device in "volume", "SSD", "origin":
        assert len(table[device]) == 9
    dm.cache("vg-two", devno="253:9")
    assert "read misses" not in dm.out("top", "0.1", "1")
    dm.write("version", "2.3.0")
    assert "read misses" not in dm.out("top", "vg/lv", "0.1", "1")


def test_no_cache(dm):
    assert "no cache is active" in dm.out("top", "--count", "1")


@pytest.mark.parametrize("args", [("--interval", "0"), ("--interval", "x"), ("--count", "0")])
def test_bad_input(dm, args):
    assert "must be a number" in dm.complaint(2, "top", *args)


def screen(dm, keys, lines=24):
    """Runs top on a terminal until it ends; returns exit code, output and the terminal's modes."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 80, 0, 0))
    p = subprocess.Popen([BIN / "fake/hearth", "top", "--interval", "30"],
                         env=dm.environment(TERM="xterm"), stdin=terminal, stdout=terminal)
    drawn, limit = b"", time.monotonic() + 20
    while b"CACHE" not in drawn and time.monotonic() < limit:
        if select.select([main], [], [], 1)[0]:
            drawn += os.read(main, 65536)
    os.write(main, keys)
    p.wait(timeout=20)
    while select.select([main], [], [], .2)[0]:
        drawn += os.read(main, 65536)
    modes = termios.tcgetattr(terminal)[3]
    os.close(main)
    os.close(terminal)
    return p.returncode, drawn.decode(), modes


def test_screen(dm):
    for i in range(9):
        dm.cache(f"vg-lv{i}", devno=f"253:{i + 20}")
    code, drawn, modes = screen(dm, b"q", lines=8)
    assert code == 0
    assert drawn.startswith("\033[?1049h") and "\033[?1049l" in drawn
    assert modes & termios.ICANON and modes & termios.ECHO
    assert "vg/lv4" in drawn and "vg/lv5" not in drawn and "and 4 more" in drawn


def test_in_tmux(dm, tmux):
    """There are more caches than lines of the terminal; q restores the old screen."""
    for i in range(30):
        dm.cache(f"vg-volume{i}", devno=f"253:{i + 20}", health="bypass" if i == 1 else "good")

    def lines_with(text):
        """Waits for the text. A line that the terminal has wrapped is one line."""
        tmux.wait_for(lambda screen: text in screen)
        shown = tmux.run("capture-pane", "-p", "-J", "-t", "t").split("\n")[:24]
        return [line.rstrip() for line in shown]

    tmux.start(f"echo before; {BIN}/fake/hearth top --interval 0.5; echo ended $?; cat")
    lines = lines_with("more")
    assert len(lines) == 24 and max(map(len, lines)) <= 80
    assert [line.startswith("CACHE") for line in lines[:3]].count(True) == 1
    rows = [line for line in lines if line.startswith("vg/volume")]
    assert len(rows) > 15 and any("^ bypass" in line for line in lines)
    assert f"and {30 - len(rows)} more" in "\n".join(lines)
    tmux.type("q")
    lines = lines_with("ended 0")
    assert lines[0] == "before" and not any("CACHE" in line for line in lines)


def test_screen_of_sick_caches(dm):
    """Each sick cache takes a second line, and nothing scrolls."""
    for i in range(9):
        dm.cache(f"vg-lv{i}", devno=f"253:{i + 20}", health="bypass")
    drawn = screen(dm, b"q", lines=8)[1].split("\033[?1049l")[0]
    assert drawn.count("^ bypass") == 2 and "and 7 more" in drawn
    assert drawn.count("\n") < 8


def test_long_names_are_told_apart(dm):
    for i in range(2):
        dm.cache(f"vg-a--volume--with--a--long--name{i}", devno=f"253:{i + 20}")
    text = dm.out("top", "--count", "1")
    assert "vg/a-vol~ong-name0 " in text and "vg/a-vol~ong-name1 " in text


def test_a_single_table_has_rates(dm):
    dm.cache(stats=ZERO)
    dm.cache(listing=3, stats=ZERO | {"read_hits": 30, "read_misses": 10})
    (only,) = objects(dm.out("top", "--json", "--interval", "0.5", "--count", "1"))
    assert only["seconds"] >= .5
    assert only["caches"][0]["reads_per_second"] * only["seconds"] == pytest.approx(40, rel=1e-3)
    assert "75.0" in dm.out("top", "--batch", "--interval", "0.2", "--count", "1")


def test_times(dm):
    dm.cache()
    lines = dm.out("top", "--batch", "-T", "u", "0.1", "2").splitlines()
    assert sum(line.isdigit() and abs(int(line) - time.time()) < 60 for line in lines) == 2 and lines[0].isdigit()
    assert "there are d and u" in dm.complaint(2, "top", "-T", "x")


def test_the_shell_gets_its_screen_back(dm, tmux):
    """Ctrl-Z restores the shell's screen, and fg the command's."""
    dm.cache(stats=ZERO)
    tmux.start("bash --norc --noprofile")
    tmux.type(f"PS1='ready: '; clear; {BIN}/fake/hearth top --interval 60\n")
    for command in "fg\n", None:
        tmux.wait_for(lambda screen: screen.startswith("CACHE") or "\nCACHE" in screen)
        assert tmux.flags("alternate_on", "cursor_flag") == ["1", "0"]
        tmux.press("C-z")
        tmux.wait_for(lambda screen: screen.rstrip().endswith("ready:"))
        assert tmux.flags("alternate_on", "cursor_flag") == ["0", "1"]
        if command:
            tmux.type("clear; " + command)


def many(dm, nr=30):
    for i in range(nr):
        dm.cache(f"vg-v{i:02}", devno=f"253:{i + 20}", used=512 - i)


def rows(screen):
    return re.findall(r"^vg/v(\d\d)", screen, re.M)


def test_scrolling(dm, tmux):
    many(dm)
    tmux.start(f"{BIN}/fake/hearth top 60")
    tmux.wait_for(lambda screen: "and 9 more\n" in screen)
    assert rows(tmux.screen()) == [f"{i:02}" for i in range(21)]
    for key, first in (("Down", 1), ("j", 2), ("Up", 1), ("NPage", 9), ("Down", 9), ("k", 8), ("PPage", 0),
                       ("End", 9), ("Home", 0), ("G", 9), ("g", 0)):
        tmux.press(key)
        tmux.wait_for(lambda screen: rows(screen)[:1] == [f"{first:02}"])  # noqa: B023
    tmux.press("Down")
    tmux.wait_for(lambda screen: "and 1 more above, 8 below" in screen)
    tmux.press("q")


def test_sorting_by_keys(dm, tmux):
    many(dm, 3)
    tmux.start(f"{BIN}/fake/hearth top 60")
    tmux.wait_for(lambda screen: rows(screen) == ["00", "01", "02"])
    tmux.press("r")
    tmux.wait_for(lambda screen: rows(screen) == ["02", "01", "00"])
    tmux.press("Right")  # by the used share
    tmux.wait_for(lambda screen: rows(screen) == ["02", "01", "00"])
    tmux.press("r")
    tmux.wait_for(lambda screen: rows(screen) == ["00", "01", "02"])
    tmux.press("Left")
    tmux.press("q")


def test_another_size_is_drawn_at_once(dm, tmux):
    many(dm)
    tmux.start(f"{BIN}/fake/hearth top 60")
    tmux.wait_for(lambda screen: "and 9 more\n" in screen)
    tmux.run("resize-window", "-t", "t", "-x", "80", "-y", "12")
    tmux.wait_for(lambda screen: "and 21 more\n" in screen)
    tmux.run("resize-window", "-t", "t", "-x", "80", "-y", "40")
    tmux.wait_for(lambda screen: len(rows(screen)) == 30)
    tmux.press("q")
