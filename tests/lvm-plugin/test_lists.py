# SPDX-License-Identifier: GPL-2.0-only
"""The lists of settings and counters, and what is made from them: manual pages, help, completion."""

import re
import shutil
import subprocess

import pytest

from fake import COUNTERS, HERE, lists

TOP = HERE.parents[1]
OWNERS = sorted({setting.owner for setting in lists.SETTINGS})
PAGES = {"target": "hearth-target.8"}


def page(top, name):
    """Makes a manual page of a tree and returns it."""
    subprocess.run(["make", "-s", f"build/man/{name}"], cwd=top, check=True)
    return (top / "build/man" / name).read_text().replace("\\-", "-")


@pytest.fixture(scope="module", params=lists.SETTINGS, ids=lambda s: f"{s.owner}-{s.key}")
def setting(request):
    return request.param


def names_in_source(path, macro):
    return re.findall(rf"^\t{macro}\((?:\w+, )?([a-z_]+),", (TOP / path).read_text(), re.M)


def test_the_lists_have_what_the_headers_have():
    """Another way to read the headers finds the same names, in the same order."""
    assert names_in_source("dm-target/cache-counters.h", "(?:PLAIN|GROUPED)") == COUNTERS
    keys = {owner: [s.key for s in lists.SETTINGS if s.owner == owner] for owner in OWNERS}
    assert keys.pop("target") == names_in_source("dm-target/cache-setting-list.h", "SETTING")
    clock = names_in_source("policies/clock-settings.h", "SETTING")
    assert keys.pop("lru") == clock
    assert keys.pop("nhit") == names_in_source("policies/nhit-settings.h", "SETTING") + clock
    assert sorted(keys.pop("heat")) == sorted(names_in_source("policies/heat-settings.h", "SETTING") + clock)
    assert not keys


def test_values_are_numbers():
    named = {(s.owner, s.key): s for s in lists.SETTINGS}
    assert named["target", "migration_threshold"][2:6] == ("sectors", 2048, 0, 2**32 - 1)
    assert named["heat", "read_level"][2:6] == ("", 2, 0, 5)
    assert named["lru", "seq_cutoff"][2:6] == ("KiB", 64, 0, 1 << 20)


def entry(text, key):
    return re.search(rf"^\.BR {key} \"(.*)\"\n(.*\n(?:(?!\.TP|\.S).*\n)*)", text, re.M)


def test_manual_has_the_setting(setting):
    text = page(TOP, PAGES.get(setting.owner, "hearth-policies.7"))
    if setting.owner != "target":
        text = text.split(f"\n.SS {setting.owner}\n", 1)[1].split(".SS", 1)[0]
    limits, explained = entry(text, setting.key).groups()
    least, most = re.search(r"(\d+) (?:to|or) (\d+)", limits).groups()
    assert (int(least), int(most)) == (setting.least, setting.most)
    # A default outside of the limits stands for one that is computed.
    assert (f"default {setting.default}" in limits) == (setting.default >= setting.least)
    assert len(explained) > 20


def test_manual_has_the_counters():
    stats = page(TOP, "hearth-target.8").split("\n.B stats\n", 1)[1].split(".B policy_stats", 1)[0]
    assert re.findall(r"^\.TP\n\.B (\w+)$", stats, re.M) == \
        ["mode", "health", "origin", *COUNTERS, "intents_held", "free_slots", "data_slots", "log"]
    assert re.findall(r"\blatency_\w+", stats) == [f"latency_{name}" for name in lists.LATENCIES]
    of_log = re.findall(r"\blog_\w+", stats.split("\n.B log\n", 1)[1])
    assert len(of_log) == 5
    source = (TOP / "dm-target/cache-status.c").read_text()
    for name in ("mode", "health", "intents_held", "free_slots", "data_slots", "log", *of_log):
        assert f'DMEMIT("{name} %' in source


def test_policies_manual_names_the_targets_settings():
    ignored = page(TOP, "hearth-policies.7").split("Accepted and ignored", 1)[1].split("belong to the target", 1)[0]
    for s in lists.SETTINGS:
        assert (s.owner == "target") == bool(re.search(rf"\b{s.key}\b", ignored)), s.key


def made(tmp_path, template, listed="setting\ttarget\tkey\tsectors\t0\t1\t9\thelp - 'x'\n"):
    (tmp_path / "lists").write_text(listed)
    (tmp_path / "page.in").write_text(template)
    return subprocess.run(["awk", "-f", TOP / "scripts/man-page", tmp_path / "lists", tmp_path / "page.in"],
                          capture_output=True, text=True, check=False)


def test_a_setting_without_a_text_has_its_help(tmp_path):
    done = made(tmp_path, '.SH A\n.\\" @settings target\n.\\" @end\n')
    assert done.stdout.splitlines()[1:] == [".SH A", ".TP", '.BR key " (sectors, 1 to 9)"', "Help \\- 'x'."]
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("template, fault", [
    ("@settings target\n.\\\" @about kye\ntext\n.\\\" @end", "target has no setting kye"),
    ("@settings none\n.\\\" @end", "no settings of none"),
    ("@settings target\ntext\n.\\\" @end", "a text in a list that is about no setting"),
    ("@settings target", "no @end"),
    ("@setings target", "no such part"),
])
def test_a_wrong_template_is_refused(tmp_path, template, fault):
    done = made(tmp_path, f'.\\" {template}\n')
    assert done.returncode == 1 and done.stderr.endswith(f": {fault}\n")


def test_the_engine_has_the_keys_of_all_lists_of_policies():
    shipped = (TOP / "policies/shipped-keys.h").read_text()
    for path in (TOP / "policies").glob("*-settings.h"):
        assert f'#include "{path.name}"' in shipped
        for macro in re.findall(r"#define (\w+_SETTINGS?)\(SETTING\)", path.read_text()):
            assert f"{macro}(CACHE_SETTING_NAME)" in shipped


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A copy of the tree with one more line in a list of each kind, and the command made from it."""
    top = tmp_path_factory.mktemp("grown")
    for part in ("dm-target", "policies", "os", "persistent-data", "metadata", "simulator", "lvm-plugin", "man",
                 "scripts"):
        shutil.copytree(TOP / part, top / part, ignore=shutil.ignore_patterns("*.o", "*.ko", ".*", "*.mod*"))
    for name in ("Makefile", "dkms.conf"):
        shutil.copy(TOP / name, top)
    for name, line, more in (
            ("dm-target/cache-setting-list.h", "#define CACHE_SETTINGS(SETTING)",
             'SETTING(zz_dummy, "zebras", 7, 3, 1 << 4, "in a row, at most")'),
            ("policies/nhit-settings.h", "#define NHIT_SETTINGS(SETTING)",
             'SETTING(yy_dummy, "", 1, 0, 1, "1: yaks are promoted")'),
            ("dm-target/cache-counters.h", "#define CACHE_COUNTERS(PLAIN, GROUPED)",
             'PLAIN(XX_DUMMY, xx_dummy, "Oxen that were counted.") '
             'GROUPED(WW_ERRORS, ww_errors, "Requests that wolves ate.", ERRORS, "wolf")')):
        text = (top / name).read_text()
        assert text.count(line) == 1
        (top / name).write_text(re.sub(re.escape(line) + r"\s*\\\n", f"{line} \\\\\n\t{more} \\\\\n", text))
    subprocess.run(["make", "-s", "-C", "lvm-plugin", "OUT=../build", "CPPFLAGS=", "LDFLAGS=", "CFLAGS=-O0",
                    f"DM={HERE}/dm-fake.c", "../build/hearth"], cwd=top, check=True)
    return top


def test_a_new_setting_is_in_the_manual(grown):
    target, policies = (page(grown, name) for name in ("hearth-target.8", "hearth-policies.7"))
    assert '\n.BR zz_dummy " (zebras, 3 to 16, default 7)"\nIn a row, at most.\n' in target
    assert '\n.BR yy_dummy " (0 or 1, default 1)"\n1: yaks are promoted.\n' in policies.split(".SS nhit")[1]
    assert "zz_dummy" in policies.split("Accepted and ignored")[1]


def test_a_new_setting_is_in_help_and_completion(grown):
    path = f"{grown}/build:/usr/bin:/bin"
    text = subprocess.run(["hearth", "set", "--help"], env={"PATH": path}, text=True, stdout=subprocess.PIPE,
                          check=True).stdout
    assert re.search(r"^  zz_dummy= +\(zebras, 3 to 16, default 7\) in a row, at most$", text, re.M)
    assert re.search(r"^  yy_dummy= +\(0 or 1, default 1\) 1: yaks are promoted$", text.split("nhit:")[1], re.M)
    done = subprocess.run(
        ["bash", "-c", '. "$0"; COMP_WORDS=(hearth set vg/lv zz); COMP_CWORD=3; _hearth; echo "${COMPREPLY[@]}"',
         grown / "lvm-plugin/completion/hearth.bash"], env={"PATH": path}, text=True, capture_output=True, check=True)
    assert done.stdout == "zz_dummy=\n"


def test_a_new_counter_is_in_the_manual_and_exported(grown, dm):
    target = page(grown, "hearth-target.8")
    assert "\n.TP\n.B xx_dummy\nOxen that were counted.\n" in target
    assert "\n.TP\n.B ww_errors\nRequests that wolves ate.\n" in target
    dm.cache(stats={"xx_dummy": 71, "ww_errors": 73})
    text = subprocess.run([grown / "build/hearth", "export"], env=dm.environment(), text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    assert re.search(r"^hearth_cache_xx_dummy_total\{cache=\S* 71$", text, re.M)
    assert re.search(r'^hearth_cache_errors_total\{cache=\S*,kind="wolf"\} 73$', text, re.M)


def test_tests_know_a_new_setting(grown):
    settings, counters, _ = lists.lists(grown)
    assert ("target", "zz_dummy", "zebras", 7, 3, 16, "in a row, at most") in settings
    assert ("xx_dummy", "Oxen that were counted.") in counters
