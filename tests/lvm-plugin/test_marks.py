# SPDX-License-Identifier: GPL-2.0-only
"""hearth mark, status --since, and the record of counters in /var/lib/hearth/counters."""

import errno
import os
import re
import resource
import signal
import time

import pytest

from fake import COUNTERS

ZERO = dict.fromkeys(COUNTERS, 0)


def record(dm, name="vg-lv"):
    return dm.path / f"var/lib/hearth/counters/{name}"


def ages(dm, seconds):
    """Makes what is kept older: the lines of the record, and the file."""
    file = record(dm)
    text = re.sub(r"^at (\d+)", lambda m: f"at {int(m[1]) - int(seconds)}", file.read_text(), flags=re.M)
    head, rest = text.split("\n", 1)
    words = head.split(" ")
    words[3] = f"{float(words[3]) - seconds:.3f}"
    file.write_text(" ".join(words) + "\n" + rest)
    mark = dm.path / "var/lib/hearth/marks/then"
    if mark.exists():
        mark.write_text(mark.read_text().replace(head.split(" ")[3], words[3]))
    is_old(dm)


def is_old(dm):
    """Five minutes have passed since the last line."""
    os.utime(record(dm), (time.time() - 301,) * 2)


def counts(dm, since="then"):
    c, = dm.json("status", "--since", since, "vg/lv", schema="status")["caches"]
    return c["counters"], c


def test_mark_of_a_volume_made_anew(dm):
    """The record of a volume that had the same name may be younger than five minutes."""
    dm.cache()
    dm.out("mark", "before")
    file = record(dm)
    head, rest = file.read_text().split("\n", 1)
    file.write_text(head + "0\n" + rest)     # another UUID
    assert dm.out("mark", "then") == ""
    assert file.read_text().split("\n", 1)[0].split(" ")[4:] == head.split(" ")[4:]


def test_since_a_mark(dm):
    before = dm.cache(stats={"promotions": 100}, io=(100, 0, 2000, 50, 40, 0, 1000, 80, 0, 70, 130))
    assert dm.out("mark", "then") == ""
    dm.cache(stats={"promotions": 107, "read_hits": before["read_hits"] + 90,
                    "read_misses": before["read_misses"] + 10},
             io=(110, 0, 2100, 60, 40, 0, 1000, 80, 0, 70, 130))
    n, c = counts(dm)
    assert {k: v for k, v in n.items() if v} == {"promotions": 7, "read_hits": 90, "read_misses": 10}
    assert c["volume_io"]["reads"] == 10 and c["cache_device_io"]["reads"] == 0
    assert c["hit_ratio"] == pytest.approx(.9)
    assert c["since"]["mark"] == "then" and 0 <= c["since"]["seconds"] < 60
    assert c["used_blocks"] == 256
    assert dm.out("status", "--since", "then", "-o", "promotions,hit_percent", "--noheadings").split() == ["7", "90.00"]
    text = dm.out("status", "--since", "then")
    assert re.search(r"^  since       then, ", text, re.M)
    assert "reads 90.0% of 100, writes none" in text and "7 promoted" in text
    # The mark stays as it is.
    assert counts(dm)[0] == n
    # Without it, all is as it was.
    c, = dm.json("status", schema="status")["caches"]
    assert c["counters"]["promotions"] == 107 and "since" not in c


def test_counts_go_on_over_restarts(dm):
    hits = {"read_hits": 5000}
    dm.cache(stats=ZERO | hits | {"promotions": 1000}, io=(500,) * 11)
    dm.out("mark", "then")
    is_old(dm)
    dm.cache(stats=ZERO | {"read_hits": 5100, "promotions": 1010}, io=(600,) * 11)
    dm.out("status")
    is_old(dm)
    # A restart: all but hits and misses begin at zero.
    dm.cache(stats=ZERO | {"read_hits": 5200, "promotions": 4}, io=(7,) * 11, fast_io=(0,) * 8, origin_io=(0,) * 8)
    n, c = counts(dm)
    assert n["read_hits"] == 200 and n["promotions"] == 14
    assert c["volume_io"]["reads"] == 107
    dm.out("status")
    is_old(dm)
    dm.cache(stats=ZERO | {"read_hits": 5300, "promotions": 5}, io=(8,) * 11, fast_io=(0,) * 8, origin_io=(0,) * 8)
    assert counts(dm)[0]["promotions"] == 15
    # And another one, in which a crash set the metadata's counters back.
    dm.out("status")
    is_old(dm)
    dm.cache(stats=ZERO | {"read_hits": 5290, "promotions": 1}, io=(1,) * 11, fast_io=(0,) * 8, origin_io=(0,) * 8)
    n, c = counts(dm)
    assert n["read_hits"] == 300 and n["promotions"] == 16 and c["volume_io"]["reads"] == 109
    dm.out("status")
    dm.cache(stats=ZERO | {"read_hits": 5295, "promotions": 1}, io=(1,) * 11, fast_io=(0,) * 8, origin_io=(0,) * 8)
    assert counts(dm)[0]["read_hits"] == 305


def reboot(dm, boot):
    """The kernel draws a new boot ID, and what /run had is gone."""
    dm.write("proc/sys/kernel/random/boot_id", f"{boot:08}-0000-4000-8000-000000000000\n")
    for file in (dm.path / "run/hearth").glob("*"):
        file.unlink()


def test_a_restart_after_which_no_counter_is_lower(dm):
    """The machine did more before anybody looked than in the whole time before. The boot ID tells."""
    reboot(dm, 1)
    dm.cache(stats=ZERO, io=(0,) * 11)
    dm.out("mark", "then")
    dm.cache(stats=ZERO | {"read_hits": 60, "promotions": 10}, io=(100,) * 11, latency={"read_hits": {3: 4}})
    ages(dm, 3000)
    dm.out("status")
    ages(dm, 600)
    reboot(dm, 2)
    # Hits and misses are in the metadata, which outlive the restart.
    dm.cache(stats=ZERO | {"read_hits": 70, "promotions": 50}, io=(300,) * 11, latency={"read_hits": {3: 9}})
    for _ in range(2):      # what is read of the record, and what was written there
        for since in "then", "begin", "1h":
            n, c = counts(dm, since)
            assert n["read_hits"] == 70 and n["promotions"] == 60 and c["volume_io"]["reads"] == 400, since
        hour = dm.json("status", schema="status")["caches"][0]["last_hour"]
        assert hour["seconds"] == pytest.approx(3600, abs=5)
        assert hour["latency"]["read_hits"]["requests"] == 13
        is_old(dm)
        dm.out("status")


def test_the_hour_reaches_back_over_a_restart(dm):
    """The history in /run has 40 minutes, which stand for an hour only if nothing is nearer to it."""
    dm.cache(stats=ZERO)
    dm.out("status")
    ages(dm, 1200)
    reboot(dm, 2)
    dm.cache(stats=ZERO | {"read_misses": 20})
    dm.out("status")
    ages(dm, 2400)
    history = dm.path / "run/hearth/vg-lv"
    history.write_text(re.sub(r"^([\d.]+)", lambda m: str(float(m[1]) - 2400), history.read_text(), flags=re.M))
    dm.cache(stats=ZERO | {"read_misses": 20, "read_hits": 20})
    c, = dm.json("status", schema="status")["caches"]
    assert c["last_hour"]["seconds"] == pytest.approx(3600, abs=5)
    assert c["last_hour"]["hit_ratio"] == .5


def test_only_the_ssd_is_new(dm):
    dm.cache(fast_io=(100,) * 11)
    dm.out("mark", "then")
    dm.cache(fast_io=(3,) * 11)
    c = counts(dm)[1]
    assert c["cache_device_io"]["reads"] == 3
    assert c["volume_io"]["reads"] == c["origin_io"]["reads"] == 0


def test_a_day_and_five_minutes(dm):
    dm.cache(stats=ZERO)
    dm.out("status")
    ages(dm, 86100)
    dm.cache(stats=ZERO | {"read_hits": 30, "read_misses": 10})
    dm.out("status")
    ages(dm, 300)
    dm.cache(stats=ZERO | {"read_hits": 30, "read_misses": 30})
    # A restart took away what /run had.
    for file in (dm.path / "run/hearth").iterdir():
        file.unlink()
    c, = dm.json("status", schema="status")["caches"]
    assert c["last_day"]["hit_ratio"] == pytest.approx(.5)
    assert c["last_day"]["seconds"] == pytest.approx(86400, abs=5)
    assert c["last_five_minutes"]["hit_ratio"] == 0
    assert c["last_minute"]["seconds"] is None
    assert "24 h 0 min  reads 50.0% of 60" in dm.out("status")
    assert re.search(r"^ *5 min.* reads 0\.0% of 20,", dm.out("status"), re.M)
    shares = dm.out("status", "-o", "five_minute_hit_percent,day_hit_percent", "--noheadings")
    assert shares.split() == ["0.00", "50.00"]
    assert counts(dm, "1d")[0]["read_misses"] == counts(dm, "begin")[0]["read_misses"] == 30
    assert counts(dm, "5m")[0]["read_misses"] == 20
    assert "no counters of that time" in dm.complaint(1, "status", "--since", "7d")


def test_five_minutes_lie_between_two_lines(dm):
    dm.cache()
    for _ in range(3):
        dm.out("status")
    assert record(dm).read_text().count("\nat ") == 1
    is_old(dm)
    for _ in range(3):
        dm.out("export")
    assert record(dm).read_text().count("\nat ") == 2


def test_the_record_is_bounded(dm):
    dm.cache(stats=ZERO | {"promotions": 50000})
    dm.out("mark", "then")
    lines = record(dm).read_text().splitlines()
    values = lines[-1].split(" ")[4:]
    at = COUNTERS.index("promotions")
    lines = lines[:-1]
    for i in range(600):
        values[at] = str(50000 + i)
        lines.append(" ".join(["at", str(int(time.time()) - (600 - i) * 300), "256", "64", *values]))
    record(dm).write_text("\n".join(lines) + "\n")
    is_old(dm)
    dm.cache(stats=ZERO | {"promotions": 3})
    dm.out("status")
    assert 295 < record(dm).read_text().count("\nat ") < 305
    assert counts(dm)[0]["promotions"] == 602
    assert counts(dm, "1d")[0]["promotions"] == pytest.approx(290, abs=3)


def test_a_clock_that_was_wrong(dm):
    """Lines of the future go, and the record stays bounded."""
    dm.cache()
    dm.out("status")
    head, base, *lines = record(dm).read_text().splitlines()
    line = lines[-1].split(" ", 2)[2]
    future = [f"at {int(time.time()) + 86400 * 365 + 300 * i} {line}" for i in range(600)]
    record(dm).write_text("\n".join([head, base, *future, ""]))
    is_old(dm)
    dm.out("status")
    assert record(dm).read_text().count("\nat ") == 1
    assert counts(dm, "begin")[1]["since"]["seconds"] < 60


@pytest.mark.parametrize("spoil", [lambda t: t[:-20], lambda t: t + "at 17 nonsense\n",
                                   lambda t: t.replace("\nat ", "\nat x", 1)], ids=["cut", "nonsense", "first"])
def test_a_broken_record(dm, spoil):
    dm.cache()
    dm.out("mark", "then")
    is_old(dm)
    dm.cache(stats={"promotions": 1000})
    dm.out("status")
    record(dm).write_text(spoil(record(dm).read_text()))
    is_old(dm)
    dm.out("status")
    # The file is whole again, and goes on.
    is_old(dm)
    dm.cache(stats={"promotions": 1001})
    dm.out("status")
    lines = record(dm).read_text().splitlines()
    assert all(re.fullmatch(r"(base|at \d+)( \d+)+", line) for line in lines[1:])
    assert dm.run("status", "--since", "then", code=None).returncode in (0, 1)


def test_counters_that_are_not_known_are_not_kept(dm):
    dm.write("version", "2.3.0")
    dm.cache(status="Fail")
    dm.out("status")
    assert not record(dm).exists()
    assert "no counters are kept" in dm.complaint(1, "status", "--since", "begin")
    dm.write("version", "2.100.0")
    dm.cache()
    (dm.path / "vg-lv.stats").unlink()
    dm.out("status")
    assert not record(dm).exists()


def test_another_volume_of_that_name(dm):
    dm.cache()
    dm.out("mark", "then")
    file = dm.path / "vg-lv.dev"
    file.write_text(file.read_text().replace("LVM-abc", "LVM-xyz"))
    is_old(dm)
    assert "no counters are kept" not in dm.complaint(1, "status", "--since", "then")
    assert "begun anew after mark 'then'" in dm.complaint(1, "status", "--since", "then")


def test_marks_of_several_caches(dm):
    dm.cache()
    dm.out("mark", "one")
    dm.cache("vg-two", devno="253:9")
    dm.out("mark", "then")
    dm.out("mark", "two", "vg/two")
    marks = dm.json("mark", schema="mark")["marks"]
    assert [(m["name"], m["caches"]) for m in marks] == \
        [("one", ["vg/lv"]), ("then", ["vg/lv", "vg/two"]), ("two", ["vg/two"])]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", marks[0]["time"])
    lines = dm.out("mark").splitlines()
    assert [line.split()[0] for line in lines] == ["one", "then", "two"]
    assert lines[1].endswith("vg/lv  vg/two")
    # The cache that the mark has is shown, and the other one is complained of.
    r = dm.run("status", "--since", "one", code=1)
    assert "vg/two: mark 'one' does not have it" in r.stderr and "vg/lv" in r.stdout
    assert dm.out("__complete", "status", "--since", "t").split() == ["then", "two"]
    assert dm.json("mark", "--delete", "one", schema="mark")["marks"][0]["name"] == "then"
    assert "no mark 'one'" in dm.complaint(1, "mark", "--delete", "one")
    # It is there, and cannot be removed.
    (dm.path / "var/lib/hearth/marks/one").mkdir()
    assert os.strerror(errno.EISDIR) in dm.complaint(1, "mark", "--delete", "one")
    for args in ([], ["then", "vg/lv"]):
        assert "--delete takes a mark" in dm.complaint(2, "mark", "--delete", *args)
    assert dm.json("mark", schema="mark")["marks"][0]["name"] == "then"
    assert "no mark 'one'" in dm.run("status", "--since", "one", code=1).stderr


@pytest.mark.parametrize("name", ["", "1d", "../x", "a/b", ".x", "x" * 66, "begin", "a b"])
def test_names_that_are_none(dm, name):
    dm.cache()
    assert "a mark's name" in dm.complaint(2, "mark", name)
    if name != "begin":
        assert dm.run("status", "--since", name, code=1).stderr


def test_no_place_to_keep_them(dm):
    dm.cache()
    dm.write("var/lib/hearth", "a file")
    dm.out("status")
    assert "lib/hearth" in dm.complaint(1, "mark", "then")


def test_no_cache_to_mark(dm):
    assert "no cache is active" in dm.complaint(3, "mark", "then")
    assert "no cache of that name" in dm.complaint(3, "mark", "then", "other")
    assert dm.out("mark") == ""


def test_all_may_read_the_directories(dm):
    dm.cache()
    (dm.path / "var/lib").rmdir()
    (dm.path / "var").rmdir()
    dm.out("mark", "then", umask=0o022)
    dm.out("status", umask=0o022)
    for name in ("var", "var/lib", "var/lib/hearth", "var/lib/hearth/counters", "var/lib/hearth/marks", "run/hearth"):
        assert (dm.path / name).stat().st_mode & 0o777 == 0o755, name


def full():
    """Runs in the command's process: no file of its grows beyond 99 bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99))


def test_a_full_disk(dm):
    """The old files stay as they are, and nothing else does."""
    dm.cache()
    dm.out("mark", "then")
    dm.out("status")
    kept = [dm.path / "var/lib/hearth/marks/then", dm.path / "run/hearth/vg-lv", record(dm)]
    old = [file.read_text() for file in kept]
    assert "then: File too large" in dm.complaint(1, "mark", "then", preexec_fn=full)
    # A record of another cache is begun anew.
    is_old(dm)
    record(dm).write_text(old[2].replace("LVM-abc", "LVM-old", 1))
    assert "not kept" in dm.complaint(1, "mark", "then", preexec_fn=full)
    dm.out("status", preexec_fn=full)
    old[2] = old[2].replace("LVM-abc", "LVM-old", 1)
    assert [file.read_text() for file in kept] == old
    for file in kept:
        assert list(file.parent.iterdir()) == [file]
