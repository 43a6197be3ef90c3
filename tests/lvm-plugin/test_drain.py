# SPDX-License-Identifier: GPL-2.0-only
"""hearth drain, split and uncache: which commands they run, what they watch and restore."""

import errno
import json
import re
import signal
import struct
import subprocess
import time

import pytest

from fake import BIN
from test_replace import Lvm

# A command of lvm2 that takes 1.2 seconds, and ends early when it is interrupted.
SLOW = """
trap 'echo interrupted >>"$HEARTH_FAKE/log"; kill $!; exit 5' INT
sleep 1.2 &
echo "${0##*/} $*" >>"$HEARTH_FAKE/log"
wait $!
"""
# The same, but it lasts until it is interrupted.
ENDLESS = SLOW.replace("sleep 1.2", "sleep 60")


@pytest.fixture
def lv(dm):
    for name in ("lvchange", "lvconvert"):
        dm.command(name, SLOW)
    dm.cache(dirty=64)
    for i in range(2, 30):
        dm.cache(listing=i, dirty=max(0, 64 - 32 * (i - 1)))
    return dm


def test_drain(lv):
    r = lv.json("drain", "vg/lv", schema="drain")
    assert r["complete"] and r["action"] == "drained"
    assert r["written_back_bytes"] == 64 << 16 and r["dirty_bytes"] == 0
    assert lv.log() == ["lvchange -qq -y --cachemode writethrough -- vg/lv",
                        "lvchange -qq -y --cachemode writeback -- vg/lv"]


def test_drain_and_stay(lv):
    text = lv.out("drain", "--stay", "vg/lv")
    assert text.startswith("vg/lv: drained; 4 MiB written back in")
    assert lv.log() == ["lvchange -qq -y --cachemode writethrough -- vg/lv"]


def test_drain_of_a_writethrough_cache_only_looks(dm):
    dm.cache(dirty=0, features="1 writethrough", mode="writethrough")
    assert "0 B dirty" in dm.out("drain", "vg/lv")
    assert dm.log() == []


def interrupted(dm, *args):
    """Runs hearth, and interrupts it as Ctrl-C would while its child is at work."""
    before = len(dm.log())
    p = subprocess.Popen([BIN / "fake/hearth", *args], text=True, env=dm.environment(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    limit = time.monotonic() + 20
    while len(dm.log()) == before and time.monotonic() < limit:
        time.sleep(.05)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    return p.returncode, out, err


def test_interrupted(lv):
    lv.command("lvchange", ENDLESS)
    for i in range(2, 30):
        lv.cache(listing=i, dirty=16)
    code, out, _ = interrupted(lv, "drain", "--json", "vg/lv")
    assert code == 130
    assert lv.log() == ["lvchange -qq -y --cachemode writethrough -- vg/lv", "interrupted"]
    assert not json.loads(out)["complete"]
    assert json.loads(out)["dirty_bytes"] == 16 << 16


def test_interrupted_too_late(lv):
    """lvm2 finishes in spite of the interrupt, so hearth restores the mode."""
    lv.command("lvchange", """trap '' INT; echo "lvchange $*" >>"$HEARTH_FAKE/log"; sleep 1""")
    code, out, _ = interrupted(lv, "drain", "vg/lv")
    assert code == 0 and "drained" in out
    assert lv.log() == ["lvchange -qq -y --cachemode writethrough -- vg/lv",
                        "lvchange -qq -y --cachemode writeback -- vg/lv"]


ABSORBS = "6 read_level 2 seq_cutoff 64 absorb 1"
SETTLED = "6 read_level 2 seq_cutoff 64 absorb 0"


def settling(dm, table="0", **last):
    """A cache whose write log gets empty from look to look; 64 other blocks stay dirty."""
    dm.cache(settings=ABSORBS, log="on", segments=48, dirty=64 + 48, table_args=table)
    for i in range(2, 30):
        left = max(0, 48 - 8 * i)
        state = {"table_args": table, "settings": SETTLED, "dirty": 64 + left,
                 "log": "drains" if i < 7 else "off", "segments": left}
        dm.cache(listing=i, **(state | (last if i >= 7 else {})))


def test_settle(dm):
    settling(dm)
    r = dm.json("settle", "vg/lv", schema="drain")
    assert r["complete"] and r["action"] == "settled"
    assert r["written_back_bytes"] == 48 << 16
    assert r["dirty_bytes"] == 64 << 16 and r["write_log_bytes"] == 0
    assert dm.log() == ["message vg-lv absorb 0"]


def test_settle_says_what_is_empty_and_what_is_dirty(dm):
    settling(dm)
    text = dm.out("settle", "vg/lv")
    assert re.fullmatch(r"vg/lv: settled, the write log is empty \(3 MiB in .*\); "
                        r"4 MiB of other blocks are still dirty in writeback\n", text), text


def test_settle_without_a_log(dm):
    dm.cache(dirty=0)
    text = dm.out("settle", "vg/lv")
    assert text.startswith("vg/lv: settled, the write log is empty (0 B in ")
    assert text.endswith("; no other block is dirty\n")
    assert dm.log() == []


def test_settle_a_setting_of_the_table(dm):
    """lvm2 would put absorb=1 there again."""
    settling(dm, table="2 absorb 1")
    dm.command("lvchange", """echo "lvchange $*" >>"$HEARTH_FAKE/log" """)
    dm.out("settle", "vg/lv")
    assert dm.log() == ["lvchange -qq -y --cachesettings absorb=0 -- vg/lv"]


def test_settle_with_a_failing_device(dm):
    settling(dm, log="failed", segments=8, health="cache-device-failed")
    why = dm.run("settle", "vg/lv", code=1).stderr
    assert "the write log cannot be emptied" in why


def is_lost(dm, look, how):
    """One look does not find the cache, or learns nothing of its write log; without stats, no later one does."""
    if how == "gone":
        dm.write(f"names.{look}", "")
    elif how == "no answer":
        dm.write(f"error.{look}", f"{errno.ENOMEM}\n")
    elif how == "unknown status":
        dm.cache(listing=look, status="8 1/2 3")
    else:
        (dm.path / "vg-lv.stats").unlink()
        for i in range(look, 30):
            (dm.path / f"vg-lv.stats.{i}").unlink()


@pytest.mark.parametrize("how", ["gone", "no answer", "unknown status", "no stats"])
def test_settle_does_not_call_a_log_empty_that_it_cannot_see(dm, how):
    settling(dm)
    is_lost(dm, 5, how)
    r = dm.run("settle", "vg/lv", code=1)
    assert r.stdout == "" and "it is not known whether its write log is empty" in r.stderr.splitlines()[-1]


def test_settle_all_fails_where_a_cache_cannot_be_read(dm):
    dm.command("lvs", "exit 0")
    dm.cache(status="8 1/2 3")
    r = dm.run("settle", "--all", code=1)
    assert r.stdout == "" and "it is not known whether its write log is empty" in r.stderr
    # The kernel's own target has no write log.
    dm.write("version", "2.2.0")
    assert dm.out("settle", "--all") == ""


def test_settle_interrupted(dm):
    settling(dm, log="drains", segments=8, dirty=72)
    code, out, _ = interrupted(dm, "settle", "vg/lv")
    assert code == 130 and re.search(r"the same command goes on from here; .* in the write log\n", out)
    assert dm.log() == ["message vg-lv absorb 0"]


def test_settle_all(dm):
    dm.cache("vg-a", devno="253:10", settings=ABSORBS, log="on", segments=4, dirty=4)
    dm.cache("vg-b", devno="253:11", settings=SETTLED, log="off", dirty=8)
    dm.cache("c", devno="253:12", lvm=False, settings=ABSORBS)
    for i in range(2, 30):
        dm.cache("vg-a", listing=i, devno="253:10", settings=SETTLED, dirty=0,
                 log="drains" if i < 5 else "off", segments=2 if i < 5 else 0)
        dm.cache("c", listing=i, devno="253:12", lvm=False, settings=SETTLED)
    dm.command("lvs", "exit 0")
    lines = dm.out("settle", "--all").splitlines()
    assert [line.split(",")[0] for line in lines] == ["vg/a: settled", "c: settled"]
    assert dm.log() == ["message vg-a absorb 0", "message c absorb 0"]


def test_settle_all_goes_on_after_a_failure(dm):
    dm.cache("vg-a", devno="253:10", settings=SETTLED, log="failed", segments=4, health="read-only")
    dm.cache("vg-b", devno="253:11", settings=SETTLED, log="drains")
    for i in range(3, 30):
        dm.cache("vg-b", listing=i, devno="253:11", settings=SETTLED, log="off")
    r = dm.run("settle", "--all", code=1)
    assert "vg/a: a device fails" in r.stderr and r.stdout.startswith("vg/b: settled")


def test_settle_waits_while_a_table_is_loaded(dm):
    """The target answers no message until its table is resumed, and its log is in use all the same."""
    dm.cache(settings=SETTLED, log="drains", segments=2)
    for i, log in ((3, "drains"), (4, "off"), (5, "off")):
        dm.cache(listing=i, settings=SETTLED, log=log)
    dm.write("vg-lv.stats.2", "never resumed\n")
    dm.write("vg-lv.stats.4", "never resumed\n")
    assert dm.out("settle", "vg/lv").startswith("vg/lv: settled")


def test_settle_all_where_there_is_none(dm):
    dm.command("lvs", "exit 0")
    assert dm.out("settle", "--all") == ""
    assert dm.out("settle", "--all", env={"HEARTH_FAKE_ERROR": str(errno.ENODEV)}) == ""
    for args in ([], ["--all", "vg/lv"], ["--all", "--json"]):
        assert "give a cache, or --all" in dm.complaint(2, "settle", *args)


def superblock(flag, magic=0x18C403):
    """The fields that tell a write log; cache-metadata-disk.h has all of them."""
    block = bytearray(4096)
    struct.pack_into("<Q", block, 32, magic)
    struct.pack_into("<I", block, 252, flag)
    return block


EXTENT = 1 << 20


@pytest.fixture
def stopped(dm):
    """Stopped caches whose metadata lie on /dev/old at the extents 1, 2 and 3, and active ones."""
    lvm = Lvm(dm)
    lvm.state["lvs"] = lvs = {
        "vg/plain": {"segtype": "linear", "lv_active": "active"},
        "vg/up": {"segtype": "cache", "lv_active": "active", "pool_lv": "[up_cpool]"},
        "vg/up_cpool": {"segtype": "cache-pool", "metadata_lv": "[up_cmeta]"},
        "vg/pool": {"segtype": "cache", "pool_lv": "[fast_cpool]"},
        "vg/fast_cpool": {"segtype": "cache-pool", "metadata_lv": "[fast_cpool_cmeta]"},
        "vg/fast_cpool_cmeta": {"segtype": "linear", "devices": "/dev/old(1)"},
        "vg/mirror": {"lv_name": "[mirror]", "segtype": "cache", "pool_lv": "[two_cpool]"},
        "vg/two_cpool": {"segtype": "cache-pool", "metadata_lv": "[two_cpool_cmeta]"},
        "vg/two_cpool_cmeta": {"segtype": "raid1", "devices": "two_rimage_0(0),two_rimage_1(0)"},
        "vg/two_rimage_0": {"segtype": "linear", "devices": "/dev/old(2)"},
        "vg/vol": {"segtype": "cache", "pool_lv": "[fast_cvol]"},
        "vg/fast_cvol": {"segtype": "linear", "devices": "/dev/old(3)"},
        "vg/gone": {"segtype": "cache", "pool_lv": "[gone_cvol]"},
        "vg/gone_cvol": {"segtype": "linear", "devices": "[unknown](0)"},
    }
    for row in lvs.values():
        row["vg_extent_size"] = EXTENT
    lvm.state["pvs"]["/dev/old"]["pe_start"] = 4096

    def holds(*blocks):
        with dm.write("dev/old", "").open("wb") as f:
            for extent, block in enumerate(blocks, 1):
                f.seek(4096 + extent * EXTENT)
                f.write(block)
    lvm.save()
    holds.lvm = lvm
    return holds


def test_settle_all_names_the_stopped_ones(dm, stopped):
    stopped(superblock(1), superblock(0), superblock(0))
    why = dm.complaint(1, "settle", "--all")
    assert why.startswith("hearth: vg/pool is not active, and its write log is in use: "
                          "'lvchange -ay vg/pool', then 'hearth settle vg/pool'")
    stopped(superblock(0), superblock(1), superblock(1))
    r = dm.run("settle", "--all", code=1)
    assert [line.split()[1] for line in r.stderr.splitlines()] == ["vg/mirror", "vg/vol"]
    # Bit 0 alone tells of a log, and only in a superblock.
    stopped(superblock(2), superblock(1, magic=1), superblock(0))
    assert dm.run("settle", "--all").stderr == ""


def test_settle_all_fails_if_lvs_does(dm, stopped):
    """A volume group may be locked, for example. The stopped caches that lvs lists are named all the same."""
    stopped(superblock(1), superblock(0), superblock(0))
    stopped.lvm.save(lvs_fails=5)
    r = dm.run("settle", "--all", code=1)
    named, failed = r.stderr.splitlines()
    assert named.startswith("hearth: vg/pool is not active, and its write log is in use")
    assert failed.startswith("hearth: lvs: exit status 5") and "stopped caches" in failed


def test_settle_all_without_lvm(dm):
    assert dm.out("settle", "--all", env={"PATH": f"{dm.path}/bin"}) == ""


def test_set_absorb_says_how_to_end_it(dm):
    dm.cache(settings=SETTLED)
    dm.cache(listing=2, settings=ABSORBS)
    why = dm.complaint(0, "set", "vg/lv", "absorb=1")
    assert "'hearth set vg/lv absorb=off' ends that" in why and "'hearth settle vg/lv'" in why


def test_by_hand(dm):
    dm.cache("c", lvm=False, dirty=64, table_args="2 read_level 1")
    for i in range(2, 9):
        dm.cache("c", listing=i, lvm=False, dirty=32 if i < 4 else 0)
    r = dm.json("drain", "c", schema="drain")
    assert r["complete"] and r["written_back_bytes"] == 64 << 16
    assert dm.log() == [
        "table c cache 253:2 253:1 253:3 128 2 metadata2 writethrough cleaner 0",
        "table c cache 253:2 253:1 253:3 128 2 metadata2 writeback smq 2 read_level 1"]


def test_by_hand_interrupted_puts_the_table_back(dm):
    dm.cache("c", lvm=False, dirty=64)
    code, out, _ = interrupted(dm, "drain", "c")
    assert code == 130 and "the same command goes on" in out
    assert [line.split()[-2:] for line in dm.log()] == [["cleaner", "0"], ["smq", "0"]]


CLEANER = "table c cache 253:2 253:1 253:3 128 2 metadata2 writethrough cleaner 0"
FORMER = "table c cache 253:2 253:1 253:3 128 2 metadata2 writeback smq 0"


@pytest.mark.parametrize("how, tables", [("gone", [CLEANER]), ("no answer", [CLEANER, FORMER]),
                                         ("unknown status", [CLEANER, FORMER])])
def test_by_hand_that_is_lost_meanwhile(dm, how, tables):
    """Another program may have put another table there, and then that table is left alone."""
    dm.cache("c", lvm=False, dirty=64)
    if how == "unknown status":
        dm.cache("c", listing=3, lvm=False, status="8 1/2 3")
    else:
        is_lost(dm, 3, how)
    r = dm.run("drain", "c", code=1)
    assert r.stdout == "" and "it is not known whether all its blocks are clean" in r.stderr.splitlines()[-1]
    assert dm.log() == tables


def test_by_hand_with_a_failing_device(dm):
    dm.cache("c", lvm=False, dirty=64)
    for i in range(3, 30):
        dm.cache("c", listing=i, lvm=False, dirty=32, health="cache-device-failed")
    r = dm.run("drain", "c", code=1)
    assert r.stdout == "" and "not all dirty blocks can be written back" in r.stderr
    assert dm.log() == [CLEANER, FORMER]


def test_by_hand_and_stay(dm):
    dm.cache("c", lvm=False, dirty=0)
    r = dm.run("drain", "--stay", "c")
    assert len(dm.log()) == 1 and "stays in writethrough" in r.stderr


@pytest.mark.parametrize("sub,option,word", [
    ("split", "--splitcache", "split"), ("uncache", "--uncache", "uncached")])
def test_detach(lv, sub, option, word):
    r = lv.json(sub, "vg/lv", schema="drain")
    assert r["complete"] and r["action"] == word and r["dirty_bytes"] == 0
    assert lv.log() == [f"lvconvert -qq {option} -- vg/lv"]


def test_detach_by_hand_says_how(dm):
    dm.cache("c", lvm=False, dirty=0)
    why = dm.complaint(1, "uncache", "c")
    assert "'0 262144 linear 253:3 0'" in why and "4 KiB of 253:2" in why


POOL = {"segtype": "cache-pool", "lv_uuid": "of-fast"}
LEFT_OVER = "lvremove -qq -y -- vg/fast"


@pytest.fixture
def lvm(dm):
    """vg/lv is cached by the pool vg/fast, and lvm-fake.py stands for lvm2."""
    dm.cache(dirty=0)
    dm.device("253:1", "dm-1", "vg-fast_cpool_cdata")
    lvm = Lvm(dm)
    (dm.path / "bin/lvremove").symlink_to((dm.path / "bin/lvs").resolve())
    lvm.state["lvs"]["vg/fast_cpool"] |= POOL
    lvm.save()
    return lvm


def killed(lvm, how, *args):
    """Runs hearth, which is killed at its lvconvert; afterwards nothing kills it."""
    lvm.save(**{how: "lvconvert"})
    lvm.dm.run(*args, code=-9)
    del lvm.load()[how]
    lvm.save()
    return lvm.dm.log()


def is_off(lvm, *left):
    """The volume is plain, only those other volumes are there, and the command leaves no file."""
    lvs = lvm.load()["lvs"]
    assert lvs["vg/lv"]["segtype"] == "linear" and set(lvs) == {"vg/lv", "vg/lv_corig", *left}
    notes = [file for file in (lvm.dm.path / "var/lib/hearth").glob("*") if file.is_file()]
    assert not notes, notes


@pytest.mark.parametrize("how, then", [("die", ["lvconvert -qq --uncache -- vg/lv"]), ("die_within", [LEFT_OVER]),
                                       ("die_after", [])])
def test_uncache_killed_and_run_again(dm, lvm, how, then):
    """It is killed before lvconvert acts, while the pool is off and still there, and after it."""
    done = len(killed(lvm, how, "uncache", "vg/lv"))
    r = dm.json("uncache", "vg/lv", schema="drain")
    assert r["name"] == "vg/lv" and r["complete"] and r["action"] == "uncached" and r["dirty_bytes"] == 0
    assert dm.log()[done:] == then
    is_off(lvm)
    # All is done, so there is nothing to go on with.
    assert "vg/lv: not cached" in dm.complaint(3, "uncache", "vg/lv")


@pytest.mark.parametrize("how", ["die", "die_after"])
def test_uncache_killed_where_it_removes_the_pool(dm, lvm, how):
    killed(lvm, "die_within", "uncache", "vg/lv")
    lvm.save(**{how: "lvremove"})
    dm.run("uncache", "vg/lv", code=-9)
    del lvm.load()[how]
    lvm.save()
    assert dm.out("uncache", "vg/lv").startswith("vg/lv: uncached; 0 B written back")
    assert dm.log().count(LEFT_OVER) == 1
    is_off(lvm)


@pytest.mark.parametrize("how", ["die", "die_after"])
def test_split_killed_and_run_again(dm, lvm, how):
    killed(lvm, how, "split", "vg/lv")
    assert dm.out("split", "vg/lv").startswith("vg/lv: split; 0 B written back")
    assert dm.log() == ["lvconvert -qq --splitcache -- vg/lv"]
    is_off(lvm, "vg/fast")


@pytest.mark.parametrize("other", [{"lv_uuid": "of-another"}, {"lv_parent": "other"}])
def test_uncache_removes_no_other_pool(dm, lvm, other):
    """Somebody made a pool of that name since, or has put the pool before another volume."""
    done = killed(lvm, "die_within", "uncache", "vg/lv")
    lvm.state["lvs"]["vg/fast"] |= other
    lvm.save()
    dm.out("uncache", "vg/lv")
    assert dm.log() == done
    is_off(lvm, "vg/fast")


def test_uncache_of_a_cachevol_names_what_is_left(dm, lvm):
    """A volume of that kind could hold somebody's data by now."""
    dm.device("253:1", "dm-1", "vg-fast_cvol-cdata")
    del lvm.state["lvs"]["vg/fast_cpool"], lvm.state["lvs"]["vg/fast_cpool_cdata"]
    lvm.state["lvs"]["vg/lv"]["pool_lv"] = "[fast_cvol]"
    lvm.state["lvs"]["vg/fast_cvol"] = {"segtype": "linear", "lv_uuid": "of-fast"}
    lvm.save()
    done = killed(lvm, "die_within", "uncache", "vg/lv")
    r = dm.run("uncache", "vg/lv")
    assert r.stderr == "hearth: note: vg/fast, which was the cache, is left; 'lvremove vg/fast' removes it\n"
    assert dm.log() == done
    is_off(lvm, "vg/fast")


def test_the_former_lvconvert_is_still_at_work(dm, lvm):
    """It outlives a hearth that is killed, and the lvconvert of the next one finds no cache any more."""
    lvm.save(refuse_after="lvconvert")
    assert dm.out("uncache", "vg/lv").startswith("vg/lv: uncached; ")
    is_off(lvm)


@pytest.mark.parametrize("sub, then", [("uncache", [LEFT_OVER]), ("split", [])])
def test_ctrl_c_after_the_cache_came_off(dm, lvm, sub, then):
    """lvconvert ends before it has removed the pool."""
    lvm.save(wait_within="lvconvert")
    code, out, _ = interrupted(dm, sub, "vg/lv")
    assert code == 0 and out.startswith(f"vg/lv: {sub}")
    assert dm.log()[1:] == then
    is_off(lvm, *([] if then else ["vg/fast"]))


def test_uncache_refused_is_forgotten(dm, lvm):
    lvm.save(refuse="lvconvert")
    dm.run("uncache", "vg/lv", code=1)
    notes = [file for file in (dm.path / "var/lib/hearth").glob("*") if file.is_file()]
    assert not notes and lvm.cached_by() == "/dev/old(0)"


@pytest.mark.parametrize("sub", ["drain", "split", "uncache"])
def test_not_what_would_lose_data(lv, sub):
    lv.cache(dirty=1, health="cache-device-failed", rw="ro")
    assert "cannot all be written back" in lv.complaint(1, sub, "vg/lv")
    assert lv.log() == []


@pytest.mark.parametrize("sub", ["drain", "split", "uncache"])
@pytest.mark.parametrize("status", ["Fail", "8 1/2 3"])
def test_not_if_the_status_tells_no_dirty_blocks(lv, sub, status):
    lv.cache(listing=1, status=status)
    r = lv.run(sub, "vg/lv", code=1)
    assert "its status does not say how many blocks are dirty" in r.stderr
    assert lv.log() == []


def test_failure_of_lvm(lv):
    lv.command("lvconvert", "echo '  Cannot.' >&2; exit 5")
    assert lv.run("split", "vg/lv", code=1).stderr == "  Cannot.\n"


def test_interrupted_when_nothing_is_dirty(lv):
    """Nothing is dirty any more, so drain has succeeded although LVM was interrupted."""
    lv.command("lvchange", ENDLESS)
    for i in range(2, 30):
        lv.cache(listing=i, dirty=0)
    code, out, _ = interrupted(lv, "drain", "vg/lv")
    assert code == 0 and out.startswith("vg/lv: drained; 4 MiB written back in"), out
    code, out, _ = interrupted(lv, "drain", "--stay", "vg/lv")
    assert code == 130 and "the same command goes on" in out


def test_progress_at_a_terminal(lv, tmux):
    """The line shows the percentage written back, and "finishing" once nothing is dirty."""
    lv.command("lvchange", """until [ -e "$HEARTH_FAKE/go-on" ]; do sleep .1; done""")
    for i in range(2, 200):
        lv.cache(listing=i, dirty=16 if i < 12 else 0)
    tmux.start(f"{BIN}/fake/hearth drain vg/lv; sleep 60")
    tmux.wait_for(lambda screen: "vg/lv: 1 MiB dirty, 75% done" in screen)
    tmux.wait_for(lambda screen: screen.strip() == "vg/lv: finishing")
    lv.write("go-on", "")
    tmux.wait_for(lambda screen: "vg/lv: drained; 4 MiB written back" in screen)
