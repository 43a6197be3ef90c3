# SPDX-License-Identifier: GPL-2.0-only
"""hearth set: which changes go to lvm2 and which to the target, and in what order."""

import errno
import os
import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]

PRESET_KEYS = ("14 read_level 2 write_level 2 full_write_level 2 seq_cutoff 64 seq_again 1"
               " max_promote_share 50 promote_ahead 384")
# By this modprobe finds the policy that has a setting; it is no policy's name.
SETTING_ALIAS = re.search(r'CACHE_SETTING_ALIAS_PREFIX\s+"(.+)"',
                          (TOP / "dm-target/cache-policy.h").read_text())[1]
LVCHANGE = 'echo "lvchange $*" >>"$HEARTH_FAKE/log"'


@pytest.fixture
def lv(dm):
    dm.command("lvchange", LVCHANGE)
    dm.cache()
    return dm


def test_setting_goes_by_message(lv):
    lv.cache(listing=2, settings="4 read_level 3 seq_cutoff 64")
    assert lv.out("set", "vg/lv", "read_level=3") == ""
    assert lv.log() == ["message vg-lv read_level 3"]


def test_json(lv):
    lv.cache(listing=2, settings="4 read_level 3 seq_cutoff 64")
    assert lv.json("set", "vg/lv", "read_level=3", schema="set") == {
        "name": "vg/lv", "mode": "writeback", "policy": "smq", "preset": "",
        "settings": {"migration_threshold": 2048, "read_level": 3, "seq_cutoff": 64}}


def test_lvm_is_told_what_it_knows(lv):
    lv.cache(listing=2, mode="writethrough", features="2 metadata2 writethrough",
             core="2 migration_threshold 4096")
    lv.run("set", "vg/lv", "mode=writethrough", "migration_threshold=4096")
    assert lv.log() == ["lvchange -qq -y --cachemode writethrough --cachesettings "
                        "migration_threshold=4096 -- vg/lv"]


def test_what_is_in_the_table_goes_there_again(lv):
    lv.cache(table_args="2 read_level 1")
    lv.cache(listing=2, settings="4 read_level 3 seq_cutoff 64")
    lv.run("set", "vg/lv", "read_level=3")
    assert lv.log() == ["lvchange -qq -y --cachesettings read_level=3 -- vg/lv"]


def test_own_mode_over_another_of_lvm(lv):
    lv.cache(listing=2, mode="writearound", features="2 metadata2 writethrough")
    lv.run("set", "vg/lv", "mode=writearound")
    assert lv.log() == ["lvchange -qq -y --cachemode writethrough -- vg/lv",
                        "message vg-lv mode writearound"]


def test_own_mode_is_taken_back(lv):
    lv.cache(mode="writeonly")
    lv.cache(listing=2, mode="writeback")
    lv.run("set", "vg/lv", "mode=writeback")
    assert lv.log() == ["message vg-lv mode table"]


def test_policy_and_its_note(lv):
    lv.cache(listing=2, policy="heat")
    r = lv.run("set", "vg/lv", "policy=lru", code=1)
    assert "without hearth's modules no kernel" in r.stderr
    assert "the policy is still heat" in r.stderr
    assert lv.log() == ["lvchange -qq -y --cachepolicy lru -- vg/lv"]
    assert lv.run("set", "vg/lv", "policy=heat").stderr.count("note") == 1


def test_preset_and_what_overrides_it(lv):
    lv.cache(settings=PRESET_KEYS)
    lv.write("sys/dev/block/253:3/queue/rotational", "0\n")
    after = ("14 read_level 5 write_level 1 full_write_level 2 seq_cutoff 0 seq_again 1"
             " max_promote_share 50 promote_ahead 384")
    lv.cache(listing=2, settings=after)
    lv.run("set", "vg/lv", "--preset", "database", "read_level=5")
    assert lv.log() == [f"message vg-lv {m}" for m in (
        "read_level 5", "write_level 1", "full_write_level 2", "seq_cutoff 0",
        "seq_again 1", "max_promote_share 50", "promote_ahead 384")]
    lv.write("sys/dev/block/253:3/queue/rotational", "1\n")
    lv.cache(listing=2, settings=after.replace("seq_cutoff 0", "seq_cutoff 64"))
    lv.run("set", "vg/lv", "--preset", "database", "read_level=5")
    assert "message vg-lv seq_cutoff 64" in lv.log()


def test_preset_on_a_partition_of_an_ssd(lv):
    """A partition has no queue/; its disk has."""
    lv.cache(settings=PRESET_KEYS)
    lv.write("sys/dev/block/8:16/queue/rotational", "0\n")
    lv.partition("253:3", "8:16")
    assert "seq_cutoff 0" in lv.out("set", "vg/lv", "--dry-run", "--preset", "database")
    lv.write("sys/dev/block/8:16/queue/rotational", "1\n")
    assert "seq_cutoff 64" in lv.out("set", "vg/lv", "--dry-run", "--preset", "database")


@pytest.mark.parametrize("name", ["general", "database", "read-mostly", "streaming", "low-wear"])
def test_presets_name_the_same_keys(lv, name):
    lv.cache(settings=PRESET_KEYS)
    lv.run("set", "vg/lv", "--preset", name, code=None)
    keys = {line.split()[2] for line in lv.log() if line.startswith("message")} - {"mode"}
    assert keys == {"read_level", "write_level", "full_write_level", "seq_cutoff",
                    "seq_again", "max_promote_share", "promote_ahead"}


def test_by_hand(dm):
    dm.cache("c", lvm=False, table_args="2 read_level 1", features="2 metadata2 writeback")
    dm.cache("c", listing=2, lvm=False, policy="lru", mode="writearound",
             features="2 metadata2 writethrough")
    r = dm.run("set", "c", "policy=lru", "mode=writearound")
    assert dm.log() == [
        "table c cache 253:2 253:1 253:3 128 2 metadata2 writethrough lru 2 read_level 1",
        "message c mode writearound"]
    assert "at boot still has the former table" in r.stderr


def test_by_hand_without_features(dm):
    dm.cache("c", lvm=False, table="253:2 253:1 253:3 128 0 default 0",
             features="1 writethrough", mode="writethrough")
    dm.cache("c", listing=2, lvm=False, mode="writeback", features="1 writeback")
    dm.run("set", "c", "mode=writeback")
    assert dm.log() == ["table c cache 253:2 253:1 253:3 128 1 writeback default 0"]


def test_by_hand_and_refused(dm):
    dm.cache("c", lvm=False)
    dm.write("refuse-table", f"{errno.EINVAL}")
    why = dm.complaint(1, "set", "c", "mode=writethrough")
    assert "was refused: Invalid argument" in why and "suspended" not in why


def test_by_hand_and_not_resumed(dm):
    """All I/O to the device waits then, so the complaint says how to go on."""
    dm.cache("c", lvm=False)
    dm.write("refuse-table", f"{errno.EIO} suspended")
    first, how, back = dm.run("set", "c", "mode=writethrough", code=1).stderr.splitlines()[:3]
    assert first.startswith("hearth: c: it is suspended, and all I/O to it waits, because its new table ")
    assert "writethrough smq 0' does not resume: Input/output error" in first
    assert "see dmesg" in how and "'dmsetup resume c'" in how
    assert ("'dmsetup reload c --table \"0 262144 cache 253:2 253:1 253:3 128 2 metadata2 writeback smq 0\"'"
            in back) and "'dmsetup resume c'" in back


def test_by_hand_and_resumed_at_the_second_attempt(dm):
    """The first resume failed, and dm_replace() returns its error. The new table runs."""
    dm.cache("c", lvm=False)
    dm.cache("c", listing=2, lvm=False, mode="writethrough", features="2 metadata2 writethrough")
    dm.write("refuse-table", f"{errno.EIO} resumed")
    assert "refused" not in dm.run("set", "c", "mode=writethrough").stderr


def test_several_targets(dm):
    dm.cache("c", lvm=False, alone=0)
    assert "more than one target" in dm.complaint(1, "set", "c", "mode=writethrough")


@pytest.mark.parametrize("pair,why", [
    ("read_level", "not KEY=VALUE"), ("=3", "no such key"), ("a b=3", "no such key"),
    ("read_level=three", "whole number"), ("read_level=-1", "whole number"),
    ("read_level=", "whole number"), ("read_level=inf", "whole number"), ("read_level=1k", "a unit that suits"),
    ("promote_ahead=100b", "no whole number in"), ("writeback_idle=1k", "a unit that suits"),
    ("promote_ahead=1" + "0" * 30, "too large"), ("promote_ahead=1e30m", "no whole number in"),
    ("max_intents=default", "depends on the cache's size"), ("trigger=5 %", "a unit that suits"),
    ("mode=fast", "no such mode"), ("policy=a b", "no such policy"),
    ("policy=--help", "no such policy"),
])
def test_bad_input(lv, pair, why):
    assert why in lv.complaint(2, "set", "vg/lv", pair)
    assert lv.log() == []


def test_nothing_to_set(lv):
    assert "KEY=VALUE or --preset" in lv.complaint(2, "set", "vg/lv")
    assert "no preset 'x'; 'hearth set --help' lists them" in lv.complaint(2, "set", "vg/lv", "--preset", "x")
    assert re.search(r"^Presets: +general database read-mostly streaming low-wear$",
                     lv.out("set", "--help"), re.M)


def test_refused(lv):
    lv.write("refuse", "read_level 9\n")
    assert "read_level=9 was refused" in lv.complaint(1, "set", "vg/lv", "read_level=9")
    lv.command("lvchange", "echo 'no lock' >&2; exit 5")
    r = lv.run("set", "vg/lv", "mode=writethrough", code=1)
    assert r.stderr == "no lock\n"


KMSG = "3,1,1,-;device-mapper: cache: {}\n"


@pytest.mark.parametrize("said", ["read_level: 9 is not in 0..5", "unknown message or setting 'read_level'",
                                  "setting read_level could not be stored: error -28",
                                  "message 'read_level': the cache has failed and takes no settings",
                                  "bad config value for read_level: 9"])
def test_the_reason_is_of_this_setting(lv, said):
    """Another cache may fail meanwhile, before the line or after it."""
    other = KMSG.format("write log: read_level stays; absorb: 1 is not in 0..0")
    lv.write("refuse", "read_level 9\n")
    lv.write("dev/kmsg", KMSG.format("read_level: an older one"))
    lv.write("kmsg-then", other + KMSG.format(said) + other)
    assert lv.complaint(1, "set", "vg/lv", "read_level=9").endswith(f"was refused: {said}\n")
    lv.write("kmsg-then", other)
    assert lv.complaint(1, "set", "vg/lv", "read_level=9").endswith(f"was refused: {os.strerror(errno.EINVAL)}\n")


def test_unknown_to_the_policy(lv):
    for more in ([], ["read_level=1"], ["read_level=1", "mode=writethrough"]):
        assert "visits is not a setting of the policy smq" in lv.complaint(
            1, "set", "vg/lv", *more, "visits=3")
    assert lv.log() == []


def test_what_was_set_before_a_refusal_is_put_back(lv):
    lv.write("refuse", "seq_cutoff 9\n")
    lv.cache(listing=2, settings="4 read_level 1 seq_cutoff 64")
    assert "seq_cutoff=9 was refused" in lv.complaint(
        1, "set", "vg/lv", "read_level=1", "seq_cutoff=9", "mode=writethrough")
    assert lv.log() == ["message vg-lv read_level 1", "message vg-lv seq_cutoff 9",
                        "message vg-lv read_level 2"]


def test_what_was_set_before_lvm_refuses_is_put_back(lv):
    lv.command("lvchange", "echo 'no lock' >&2; exit 5")
    lv.cache(listing=2, settings="4 read_level 1 seq_cutoff 64")
    r = lv.run("set", "vg/lv", "read_level=1", "mode=writethrough", code=1)
    assert r.stderr == "no lock\n"
    assert lv.log() == ["message vg-lv read_level 1", "message vg-lv read_level 2"]


def test_mode_and_policy_are_put_back(lv):
    """A policy's settings can be sent only while that policy is in use."""
    lv.write("refuse", "visits 0\n")
    lv.cache(listing=2, policy="nhit", mode="writethrough", features="2 metadata2 writethrough",
             settings="2 visits 2")
    r = lv.run("set", "vg/lv", "policy=nhit", "mode=writethrough", "visits=0", code=1)
    assert "visits=0 was refused" in r.stderr and "could be put back" not in r.stderr
    assert lv.log() == [
        "lvchange -qq -y --cachepolicy nhit --cachemode writethrough -- vg/lv",
        "message vg-lv visits 0",
        "lvchange -qq -y --cachepolicy smq --cachemode writeback -- vg/lv",
        "message vg-lv read_level 2", "message vg-lv seq_cutoff 64"]


def test_what_cannot_be_put_back_is_said(lv):
    lv.write("refuse", "seq_cutoff 9\nread_level 2\n")
    lv.cache(listing=2, settings="4 read_level 1 seq_cutoff 64")
    r = lv.run("set", "vg/lv", "read_level=1", "seq_cutoff=9", code=1)
    assert r.stderr.splitlines()[-1] == (
        "hearth: vg/lv: not all of the changes before that could be put back; see 'hearth status vg/lv'")


@pytest.fixture
def modules(lv):
    """Makes modprobe's lists of modules, and a policy that was loaded without modprobe."""
    lib = f"lib/modules/{os.uname().release}"
    lv.write(f"{lib}/modules.dep", "updates/dm-cache.ko:\nupdates/dm-cache-smq.ko: updates/dm-cache.ko\n"
             "updates/dm-cache-lru.ko.xz: updates/dm-cache.ko\nkernel/drivers/md/dm-crypt.ko:\n")
    lv.write(f"{lib}/modules.alias", "alias dm-cache-heat dm_cache_smq\nalias dm-cache-mq dm_cache_smq\n"
             f"alias {SETTING_ALIAS}seq_cutoff dm_cache_lru\n")
    lv.write("sys/module/dm_cache_mine/refcnt", "0")
    return lv


def test_no_such_policy(modules):
    assert modules.complaint(2, "set", "vg/lv", "policy=nosuch", "read_level=1") == (
        "hearth: no policy 'nosuch'; there are: heat, lru, mine, mq, smq\n")
    assert modules.log() == []


@pytest.mark.parametrize("name", ["heat", "lru", "mine"])
def test_a_policy_that_there_is(modules, name):
    modules.cache(listing=2, policy=name)
    modules.run("set", "vg/lv", f"policy={name}")
    assert modules.log() == [f"lvchange -qq -y --cachepolicy {name} -- vg/lv"]


def test_stock_target(lv):
    lv.write("version", "2.3.0")
    assert "does not know read_level" in lv.complaint(5, "set", "vg/lv", "read_level=3")
    assert "does not know writearound" in lv.complaint(5, "set", "vg/lv", "mode=writearound")
    assert lv.log() == []


ALL_KEYS = ("26 read_level 2 seq_cutoff 64 promote_ahead 384 max_promote_mbps 0 max_promote_share 50 fail_open 1 "
            "max_intents 32768 dirty_high 50 dirty_low 45 dirty_limit 100 writeback_idle 2 trigger 80 other 7")


@pytest.mark.parametrize("pair, number", [
    ("promote_ahead=1M", 2048), ("promote_ahead=64k", 128), ("promote_ahead=384", 384), ("promote_ahead=1.5MiB", 3072),
    ("promote_ahead=10s", 10), ("seq_cutoff=1m", 1024), ("max_intents=1G", 16384), ("max_promote_mbps=1G", 1000),
    ("max_promote_mbps=20MB/s", 20), ("writeback_idle=5min", 300), ("writeback_idle=2h", 7200), ("dirty_high=30%", 30),
    ("trigger=30%", 30), ("fail_open=off", 0), ("fail_open=on", 1), ("read_level=default", 2),
    ("dirty_low=default", 45),
    ("promote_ahead=default", 384), ("migration_threshold=1m", 2048), ("other=9", 9),
])
def test_values_with_units(lv, pair, number):
    lv.cache(settings=ALL_KEYS)
    key = pair.split("=")[0]
    done = lv.out("set", "vg/lv", "--dry-run", pair)
    if key == "migration_threshold":
        assert done == f"lvchange -qq -y --cachesettings migration_threshold={number} -- vg/lv\n"
    else:
        assert done == f"dmsetup message vg-lv 0 {key} {number}\n"
    assert lv.log() == []


def test_default_of_seq_cutoff_is_by_the_origin(lv):
    for rotational, number in ((0, 0), (1, 64)):
        lv.write("sys/dev/block/253:3/queue/rotational", f"{rotational}\n")
        assert lv.out("set", "vg/lv", "--dry-run", "seq_cutoff=default").endswith(f" {number}\n")


def test_dry_run_of_all_kinds(lv):
    assert lv.out("set", "vg/lv", "--dry-run", "mode=writearound", "read_level=3") == (
        "dmsetup message vg-lv 0 read_level 3\n"
        "lvchange -qq -y --cachemode writethrough -- vg/lv\n"
        "dmsetup message vg-lv 0 mode writearound\n")
    assert "is not a setting" in lv.complaint(1, "set", "vg/lv", "--dry-run", "visits=3")
    lv.cache("c", lvm=False, devno="253:9")
    assert lv.out("set", "c", "--dry-run", "mode=writethrough") == (
        "dmsetup reload c --table '0 262144 cache 253:2 253:1 253:3 128 2 metadata2 writethrough smq 0'\n"
        "dmsetup suspend c\ndmsetup resume c\n")
    assert lv.log() == []


def test_a_single_ssd_is_warned_of(lv):
    def said(*pairs, preset=()):
        return lv.run("set", "vg/lv", "--dry-run", *preset, *pairs).stderr

    assert said("mode=writeback") == ""  # it is so already
    lv.cache(mode="writethrough", features="2 metadata2 writethrough", settings=PRESET_KEYS)
    for mode in "writeback", "writeonly":
        assert "warning: blocks will be dirty on a cache device that is not mirrored" in said(f"mode={mode}")
    assert "warning" in said(preset=("--preset", "database"))
    assert said("mode=writearound") == said("read_level=1") == ""
    lv.mirror("253:1")
    assert said("mode=writeback") == ""


WRITETHROUGH = {"mode": "writethrough", "features": "2 metadata2 writethrough"}
TO_WRITEBACK = "lvchange -qq -y --cachemode writeback -- vg/lv"


def settings(absorb):
    return f"6 read_level 2 seq_cutoff 64 absorb {absorb}"


def test_writeback_turns_the_write_log_on(lv):
    lv.cache(**WRITETHROUGH, settings=settings(0))
    lv.cache(listing=2, settings=settings(1))
    lv.mirror("253:1")
    why = lv.complaint(0, "set", "vg/lv", "mode=writeback")
    assert "absorb=on" in why and "'hearth set vg/lv absorb=off' ends that" in why
    assert "stock dm-cache refuses the volume until 'hearth settle vg/lv'" in why
    assert lv.log() == ["message vg-lv absorb 1", TO_WRITEBACK]


def test_writeback_with_absorb_as_the_user_says(lv):
    lv.cache(**WRITETHROUGH, settings=settings(0))
    for word in "off", "0":
        assert "absorb 0" in lv.out("set", "vg/lv", "--dry-run", "mode=writeback", f"absorb={word}")
    assert "absorb 1" in lv.out("set", "vg/lv", "--dry-run", "absorb=on")
    for word in "25%", "yes":
        why = lv.complaint(2, "set", "vg/lv", "mode=writeback", f"absorb={word}")
        assert "must be on or off" in why
    assert lv.log() == []


@pytest.mark.parametrize("mode", ["writethrough", "writearound", "passthrough"])
def test_other_modes_turn_the_write_log_off(lv, mode):
    lv.cache(settings=settings(1))
    r = lv.run("set", "vg/lv", "--dry-run", f"mode={mode}")
    assert r.stdout.startswith("dmsetup message vg-lv 0 absorb 0\n")
    assert "the write log is turned off as well" in r.stderr
    r = lv.run("set", "vg/lv", "--dry-run", "mode=writeonly")
    assert r.stdout == "dmsetup message vg-lv 0 mode writeonly\n" and "write log" not in r.stderr
    lv.cache(settings=settings(0))
    assert "absorb" not in lv.out("set", "vg/lv", "--dry-run", f"mode={mode}")


def test_writeback_of_an_engine_without_a_write_log(lv):
    lv.cache(**WRITETHROUGH)
    assert lv.out("set", "vg/lv", "--dry-run", "mode=writeback") == TO_WRITEBACK + "\n"


# File, its line, and the words for what needs the cache 253:0. 253:7 is a volume in a
# crypt device on it.
NEEDS = [
    ("proc/self/mounts", "/dev/mapper/root / ext4 rw 0 0", "/"),
    ("proc/self/mounts", "/dev/mapper/root /usr ext4 rw 0 0", "/usr"),
    ("etc/fstab", "/dev/vg/lv /srv ext4 defaults 0 2", "/srv, by /etc/fstab"),
    ("etc/fstab", 'UUID="12-ab" /a\\040b xfs defaults 0 2', "/a b, by /etc/fstab"),
    ("etc/fstab", "LABEL=my/data /srv ext4", "/srv, by /etc/fstab"),
    ("etc/fstab", "PARTUUID=77-01 none swap sw", "swap, by /etc/fstab"),
    ("etc/fstab", "/srv/x /y none bind", "/y, by /etc/fstab"),
    ("proc/swaps", "Filename Type Size Used Priority\n/dev/dm-7 partition 9 0 -2", "swap"),
    ("proc/swaps", "Filename Type Size Used Priority\n/srv/swap file 9 0 -2", "swap"),
    ("etc/crypttab", "secret /dev/vg/lv none luks", "secret, by /etc/crypttab"),
    ("etc/crypttab", "secret UUID=12-ab", "secret, by /etc/crypttab"),
    ("proc/cmdline", "quiet rd.lvm.lv=vg/lv", "the kernel's command line (rd.lvm.lv=vg/lv)"),
    ("proc/cmdline", "root=UUID=12-ab ro", "the kernel's command line (root=UUID=12-ab)"),
    ("proc/cmdline", "resume=/dev/dm-7", "the kernel's command line (resume=/dev/dm-7)"),
]


@pytest.fixture
def boots(lv):
    """A machine of which the cache vg/lv holds a volume that lies in a crypt device."""
    lv.cache(**WRITETHROUGH, settings=settings(0))
    lv.device("253:6", "dm-6", "luks", below=["253:0"])
    lv.device("253:7", "dm-7", "inner", below=["253:6"])
    lv.write("devices", "".join(f"{path} {number} 99 {what}\n" for path, number, what in [
        ("/dev/vg/lv", "253:0", ""), ("/dev/dm-7", "253:7", ""), ("/dev/mapper/root", "253:7", ""),
        ("/dev/disk/by-uuid/12-ab", "253:7", ""), ("/dev/disk/by-label/my\\x2fdata", "253:7", ""),
        ("/dev/disk/by-partuuid/77-01", "253:7", ""), ("/dev/sda1", "8:1", ""),
        ("/srv/swap", "0:0", "file"), ("/srv/x", "0:0", "file"), ("/home/swap", "0:0", "file")]))
    lv.write("proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\n"
             "/dev/dm-7 /srv ext4 rw 0 0\n")
    return lv


def said_of_writeback(dm):
    r = dm.run("set", "vg/lv", "--dry-run", "mode=writeback")
    assert ("absorb 1" in r.stdout) != ("absorb stays off" in r.stderr)
    return r.stderr


@pytest.mark.parametrize("file, line, what", NEEDS)
def test_absorb_stays_off_where_the_machine_needs_the_volume(boots, file, line, what):
    boots.write(file, line + "\n" + ("/dev/dm-7 /srv ext4 rw 0 0\n" if file.endswith("mounts") else ""))
    said = said_of_writeback(boots)
    assert f"this machine needs the volume to start ({what})" in said
    assert "'hearth set vg/lv absorb=on' turns absorb on" in said
    r = boots.run("set", "vg/lv", "--dry-run", "mode=writeback", "absorb=on")
    assert "absorb 1" in r.stdout and "absorb stays off" not in r.stderr


@pytest.mark.parametrize("file, line", [
    ("etc/fstab", "/dev/vg/lv /srv ext4 defaults,nofail 0 2\n/dev/dm-7 /b xfs noauto 0 0"),
    ("etc/fstab", "# /dev/vg/lv /srv ext4\n/dev/sda1 / ext4 defaults 0 1\nproc /proc proc defaults"),
    ("etc/fstab", "UUID=of-nothing /srv ext4 defaults 0 2\nnas:/x /x nfs defaults"),
    ("etc/fstab", "/home/swap none swap sw"),
    ("etc/crypttab", "secret /dev/vg/lv none luks,nofail\nother /dev/vg/lv none noauto"),
    ("proc/swaps", "Filename Type Size Used Priority\n/dev/sda1 partition 9 0 -2"),
    ("proc/cmdline", "root=/dev/sda1 rd.lvm.lv=other/lv splash=/dev/vg/lv"),
])
def test_absorb_is_on_where_the_machine_starts_without_the_volume(boots, file, line):
    boots.write(file, line + "\n")
    assert "absorb stays off" not in said_of_writeback(boots)


def test_get(lv):
    lv.cache(settings=ALL_KEYS, table_args="2 read_level 2", core="2 migration_threshold 4096")
    lines = lv.out("get", "vg/lv", "--separator", "|").splitlines()
    assert lines[:5] == ["Key|Value|Default|Unit", "mode|writeback|writethrough|", "policy|smq|smq|", "preset|||",
                         "migration_threshold|4096|2048|sectors"]
    assert "writeback_idle|2|2|seconds" in lines and "other|7||" in lines and "max_intents|32768||blocks" in lines
    assert lv.out("get", "vg/lv", "read_level", "-o", "value", "--noheadings").strip() == "2"
    assert lv.out("get", "vg/lv", "mode", "read_level", "dirty_low", "-o", "key,kept,min,max", "--noheadings",
                  "--separator", " ") == "mode table  \nread_level table 0 5\ndirty_low target 0 100\n"
    assert lv.out("get", "vg/lv", "-o", "key", "-S", "unit=sectors", "--noheadings").split() == \
        ["migration_threshold", "promote_ahead"]
    assert lv.json("get", "vg/lv", schema="set")["settings"]["migration_threshold"] == 4096
    assert "nosuch is not a setting of the policy smq" in lv.complaint(1, "get", "vg/lv", "nosuch")
    assert lv.log() == []


@pytest.mark.parametrize("name", ["general", "database", "read-mostly", "streaming", "low-wear"])
def test_preset_in_effect_is_shown(lv, name):
    """A preset is known by the settings that it has set."""
    lv.cache(settings=PRESET_KEYS)
    lv.run("set", "vg/lv", "--preset", name, code=None)
    values = dict(line.split()[2:] for line in lv.log() if line.startswith("message"))
    mode = {"general": "writethrough", "low-wear": "writethrough", "database": "writeback"}.get(name, "writearound")
    values.pop("mode", None)
    settings = f"{2 * len(values)} " + " ".join(f"{k} {v}" for k, v in values.items())
    for listing in None, 1, 2:
        lv.cache(listing=listing, settings=settings, mode=mode)
    assert f"\n  settings    preset {name}" in lv.out("status")
    assert lv.json("get", "vg/lv", schema="set")["preset"] == name
    lv.cache(listing=1, settings=settings.replace("read_level ", "read_level 4"), mode=mode)
    assert "preset " not in lv.out("status")
