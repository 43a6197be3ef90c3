# SPDX-License-Identifier: GPL-2.0-only
"""hearth verify: which messages it sends, what it adds up, and when it gives way."""

import json
import signal
import subprocess
import time

import pytest

from fake import BIN

FIELDS = ("equal", "skipped", "unreadable", "differ", "dropped")


def reply(dm, first, next_slot, drop=False, slot=None, block=None, total=512, **counts):
    """The target's answer to one message."""
    text = f"next {next_slot}\ntotal {total}\n"
    text += "".join(f"{field} {counts.get(field, 0)}\n" for field in FIELDS)
    if slot is not None:
        text += f"slot {slot}\nblock {block}\n"
    dm.write(f"vg-lv.verify {first}{' drop' if drop else ''}", text)


@pytest.fixture
def lv(dm):
    dm.cache()
    return dm


def sent(dm):
    return [line.split(" ", 2)[2] for line in dm.log()]


def test_all_are_equal(lv):
    reply(lv, 0, 200, equal=150, skipped=50)
    reply(lv, 200, 512, equal=300, skipped=12)
    r = lv.json("verify", "vg/lv", schema="verify")
    assert (r["complete"], r["equal_blocks"], r["skipped_blocks"]) == (True, 450, 62)
    assert r["different"] == []
    assert sent(lv) == ["verify 0", "verify 200"]
    assert "450 blocks are equal, 0 differ" in lv.out("verify", "vg/lv")


def test_one_differs(lv):
    reply(lv, 0, 8, equal=7, differ=1, slot=7, block=4321)
    reply(lv, 8, 512, equal=500, skipped=3, unreadable=1)
    r = lv.run("verify", "vg/lv", code=6)
    assert "origin block 4321 differs from cache block 7" in r.stdout
    assert "507 blocks are equal, 1 differ" in r.stdout
    assert "1 cannot be read" in r.stdout
    assert "--repair" in r.stdout
    r = json.loads(lv.run("verify", "vg/lv", "--json", code=6).stdout)
    assert r["different"] == [{"cache_block": 7, "origin_block": 4321}]


def test_repair(lv):
    reply(lv, 0, 8, drop=True, equal=7, differ=1, dropped=1, slot=7, block=4321)
    reply(lv, 8, 512, drop=True, equal=504)
    assert "1 differ, of which 1 have left the cache" in lv.out("verify", "vg/lv", "--repair")
    assert sent(lv) == ["verify 0 drop", "verify 8 drop"]


def test_a_block_that_could_not_be_dropped(lv):
    reply(lv, 0, 512, drop=True, equal=511, differ=1, slot=7, block=4321)
    lv.run("verify", "vg/lv", "--repair", code=6)


def test_many_differ(lv):
    for slot in range(30):
        reply(lv, slot, slot + 1 if slot < 29 else 512, differ=1, slot=slot, block=100 + slot)
    r = lv.run("verify", "vg/lv", code=6)
    assert r.stdout.count("differs from") == 20
    assert "and 10 others" in r.stdout


def test_a_sample(lv):
    for slot in range(512):
        reply(lv, slot, min(slot + 8, 512), equal=min(8, 512 - slot))
    r = lv.json("verify", "vg/lv", "--sample", 20, schema="verify")
    assert 20 <= r["equal_blocks"] < 28
    assert 3 <= len(sent(lv)) <= 20


def test_a_sample_of_all_blocks_misses_none(lv):
    lv.cache(used=100)
    reply(lv, 0, 512, equal=99, differ=1, slot=40, block=103)
    assert "cache block 40" in lv.run("verify", "vg/lv", "--sample", 100, code=6).stdout
    assert sent(lv) == ["verify 0"]


def test_a_sample_of_a_cache_without_clean_blocks_ends(lv):
    for slot in range(512):
        reply(lv, slot, 512, skipped=512 - slot)
    r = lv.json("verify", "vg/lv", "--sample", 20, schema="verify")
    assert r["equal_blocks"] == 0


def test_it_gives_way_to_users(lv):
    """The counters of the volume's requests do not change here, and it takes no pause."""
    for slot in range(100):
        reply(lv, slot, slot + 1 if slot < 99 else 512, equal=1)
    began = time.monotonic()
    lv.out("verify", "vg/lv")
    assert time.monotonic() - began < 30


def test_progress(lv):
    reply(lv, 0, 512, equal=512)
    assert lv.run("verify", "vg/lv").stderr == ""


def test_interrupted(lv):
    # The target makes no progress, as while a table is being suspended.
    reply(lv, 0, 0)
    p = subprocess.Popen([BIN / "fake/hearth", "verify", "vg/lv"], text=True, env=lv.environment(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    limit = time.monotonic() + 20
    while not lv.log() and time.monotonic() < limit:
        time.sleep(.05)
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=30)
    assert p.returncode == 130
    assert "stopped; 0 blocks are equal" in out


def test_interrupted_while_the_volume_is_suspended(lv):
    reply(lv, 0, 200, equal=150)
    lv.write("busy", "verify 200\n")
    p = subprocess.Popen([BIN / "fake/hearth", "verify", "vg/lv"], text=True, env=lv.environment(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    limit = time.monotonic() + 20
    while len(lv.log()) < 2 and time.monotonic() < limit:
        time.sleep(.05)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    assert p.returncode == 130 and err == ""
    assert "stopped; 150 blocks are equal" in out


def test_a_sample_of_a_cache_that_has_failed(lv):
    lv.cache(status="Fail")
    assert "has failed" in lv.complaint(5, "verify", "vg/lv", "--sample", 20)


def test_a_target_that_does_not_verify(lv):
    lv.write("refuse", "verify 0\n")
    assert "does not verify" in lv.complaint(5, "verify", "vg/lv")
    assert lv.complaint(3, "verify", "vg/none")
    assert lv.run("verify", "vg/lv", "--sample", 0, code=2)
