# SPDX-License-Identifier: GPL-2.0-only
"""hearth origin: what it shows, and how the target is told which of both is right."""

import signal
import time

import pytest

PARAMETER = "sys/module/dm_cache/parameters/keep"
KNOWN = "LVM-" + "v" * 32 + "l" * 32

# Answers for the volumes vg/lv, which is cached, vg/tp, whose data are, and vg/plain.
LVS = """
case "$*" in
*vg_uuid*vg/lv|*vg_uuid*vg/tp_tdata)
    echo "  vvvvvv-vvvv-vvvv-vvvv-vvvv-vvvv-vvvvvv|llllll-llll-llll-llll-llll-llll-llllll" ;;
*segtype*vg/lv) echo "  cache|" ;;
*lv_live_table*vg/lv) echo "  " ;;
*segtype*vg/tp) echo "  thin-pool|" ;;
*segtype*vg/tp_tdata) echo "  cache|" ;;
*segtype*vg/plain) echo "  linear|active" ;;
*) exit 5 ;;
esac
"""


@pytest.fixture
def lv(dm):
    """The volumes are not active; lvchange logs what the target has been told."""
    dm.command("lvs", LVS)
    dm.command("lvchange", f'echo "lvchange $*; $(cat "$HEARTH_FAKE/{PARAMETER}")" >>"$HEARTH_FAKE/log"')
    dm.command("modprobe", 'echo "modprobe $*" >>"$HEARTH_FAKE/log"')
    dm.write(PARAMETER, "\n")
    return dm


def activates(dm, state="cache-kept"):
    """From here on lvchange makes the cache vg/lv, as far as the command can tell."""
    dm.cache("made", origin=state)
    names = (dm.path / "names").read_text().replace("made", "vg-lv")
    for part in ("dev", "stats"):
        (dm.path / f"made.{part}").rename(dm.path / f"vg-lv.{part}")
    dm.write("names", "")
    dm.write("later", names)
    script = (dm.path / "bin/lvchange").read_text()
    dm.command("lvchange", script.split("\n", 1)[1] + 'cp "$HEARTH_FAKE/later" "$HEARTH_FAKE/names"')


@pytest.mark.parametrize("state", ["same", "unchecked", "changed", "cache-kept", "origin-kept"])
def test_what_was_found(dm, state):
    dm.cache(origin=state)
    assert dm.json("origin", "vg/lv", schema="origin") == {"name": "vg/lv", "origin": state}
    assert dm.out("origin", "/dev/vg/lv").startswith("vg/lv: ")


def test_a_target_that_compares_nothing(dm):
    dm.cache(origin=None)
    assert "compares nothing" in dm.complaint(5, "origin", "vg/lv")


@pytest.mark.parametrize("keep", ["cache", "origin"])
def test_keep(lv, keep):
    activates(lv, f"{keep}-kept")
    r = lv.run("origin", "vg/lv", "--keep", keep, "--yes", "--json")
    assert f'"{keep}-kept"' in r.stdout
    assert "lost" in r.stderr and "check the file system" in r.stderr
    assert lv.log() == [f"lvchange -qq -ay -- vg/lv; {keep}:{KNOWN}"]
    assert (lv.path / PARAMETER).read_text() == "\n"


def test_it_asks(lv):
    activates(lv)
    for reply in ("", "n\n", "\n"):
        r = lv.run("origin", "vg/lv", "--keep", "cache", code=1, input=reply)
        assert "[y/N]" in r.stderr
    assert lv.log() == []
    lv.run("origin", "vg/lv", "--keep", "cache", input="y\n")
    assert len(lv.log()) == 1


def test_a_thin_pool(lv):
    """The pool's data are cached, and the pool is what can be activated."""
    lv.run("origin", "vg/tp", "--keep", "cache", "--yes", code=3)
    assert lv.log() == [f"lvchange -qq -ay -- vg/tp; cache:{KNOWN}"]


def test_made_by_hand(lv):
    r = lv.run("origin", "stack", "--keep", "origin", "--yes")
    assert "make stack again" in r.stderr
    assert (lv.path / PARAMETER).read_text() == "origin:stack\n"
    assert lv.log() == []


def test_lvm_fails(lv):
    lv.command("lvchange", "exit 5")
    r = lv.run("origin", "vg/lv", "--keep", "cache", "--yes", code=1)
    assert "did not activate" in r.stderr
    assert (lv.path / PARAMETER).read_text() == "\n"


def test_ctrl_c_takes_the_answer_back(lv):
    """lvchange gets the Ctrl-C as well."""
    lv.command("lvchange", """trap 'echo interrupted >>"$HEARTH_FAKE/log"; kill $!; exit 5' INT
echo lvchange >>"$HEARTH_FAKE/log"; sleep 60 & wait $!""")
    p = lv.start("origin", "vg/lv", "--keep", "cache", "--yes")
    limit = time.monotonic() + 20
    while not lv.log() and time.monotonic() < limit:
        time.sleep(.05)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=30)
    assert (lv.path / PARAMETER).read_text() == "\n"
    assert p.returncode == 130 and lv.log() == ["lvchange", "interrupted"]


def test_the_module_is_loaded_first(lv):
    (lv.path / PARAMETER).unlink()
    lv.command("modprobe", f'echo "modprobe $*" >>"$HEARTH_FAKE/log"; echo >"$HEARTH_FAKE/{PARAMETER}"')
    activates(lv)
    lv.run("origin", "vg/lv", "--keep", "cache", "--yes")
    assert lv.log()[0] == "modprobe -q dm-cache"


def test_the_kernels_own_target(lv):
    (lv.path / PARAMETER).unlink()
    r = lv.run("origin", "vg/lv", "--keep", "cache", "--yes", code=5)
    assert "compares nothing" in r.stderr
    assert lv.log() == ["modprobe -q dm-cache"]


def left_over(dm):
    """LVM has left the suspended cache of vg/lv behind, and does not remove it."""
    dm.cache(suspended=1, origin="cache-kept")
    dm.command("lvchange", f"""echo "lvchange $*; $(cat "$HEARTH_FAKE/{PARAMETER}")" >>"$HEARTH_FAKE/log"
case "$*" in
*-an*) echo "used by another device" >&2; exit 5 ;;
*) sed -i 's/suspended 1/suspended 0/' "$HEARTH_FAKE/vg-lv.dev"; echo vg-lv >"$HEARTH_FAKE/names" ;;
esac""")


def test_what_is_left_of_a_refused_volume_is_removed(lv):
    left_over(lv)
    r = lv.run("origin", "vg/lv", "--keep", "cache", "--yes")
    assert "another device" not in r.stderr
    assert lv.log() == ["lvchange -qq -an -- vg/lv; ", "remove vg-lv LVM-abc",
                        f"lvchange -qq -ay -- vg/lv; cache:{KNOWN}"]


def test_what_is_left_of_a_refused_volume_is_in_use(lv):
    left_over(lv)
    lv.write("holder", "")
    assert "vg-lv is left" in lv.run("origin", "vg/lv", "--keep", "cache", "--yes", code=1).stderr
    assert lv.log()[1:] == ["remove vg-lv LVM-abc"]
    assert (lv.path / PARAMETER).read_text() == "\n"


def test_a_suspended_volume_is_active(lv):
    """LVM suspends it while it changes something."""
    left_over(lv)
    lv.command("lvs", LVS.replace('echo "  "', 'echo "  live table present"'))
    assert "is active" in lv.complaint(1, "origin", "vg/lv", "--keep", "cache", "--yes")
    assert lv.log() == []


def test_refused(lv):
    assert "takes cache or origin" in lv.complaint(2, "origin", "vg/lv", "--keep", "both")
    assert "goes with --keep" in lv.complaint(2, "origin", "vg/lv", "--yes")
    assert "not cached" in lv.complaint(3, "origin", "vg/plain", "--keep", "cache")
    assert "no such volume" in lv.complaint(3, "origin", "vg/none", "--keep", "cache")
    lv.cache()
    assert "is active" in lv.complaint(1, "origin", "vg/lv", "--keep", "cache")
    assert lv.log() == []
    assert (lv.path / PARAMETER).read_text() == "\n"
