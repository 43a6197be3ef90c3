# SPDX-License-Identifier: GPL-2.0-only
"""The lists of counters and settings, and the texts that repeat them."""

import re
from pathlib import Path

import pytest

from fake import COUNTERS

TOP = Path(__file__).resolve().parents[2]
SETTING = re.compile(r"SETTING\((\w+), \"([^\"]*)\", ([^,]+), ([^,]+), ([^,]+),\s*\\?\s*\"")
CONSTANTS = {"U32_MAX": 2**32 - 1, "1 << 20": 1 << 20}
POLICIES = ("heat", "clock", "nhit")


def number(text):
    """Returns a value of a list, which may be one of the list's own constants."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text.isdigit():
        return int(text)
    heat = (TOP / "policies/heat-settings.h").read_text()
    return int(re.search(rf"#define {text}\s+(\d+)", heat)[1])


def settings(path):
    """Returns key, unit, default, least and most of each setting in a list."""
    found = SETTING.findall((TOP / path).read_text())
    return [(key, unit, number(default), number(least), number(most))
            for key, unit, default, least, most in found]


CORE = settings("dm-target/cache-setting-list.h")
OF_POLICIES = {(name, row[0]): row for name in POLICIES
               for row in settings(f"policies/{name}-settings.h")}


def words_of(page):
    """Returns a manual page without its requests."""
    text = (TOP / "man" / page).read_text().replace("\\-", "-")
    return " ".join(re.sub(r"^\.[A-Z]+ ?", "", text, flags=re.M).split())


def test_there_are_lists():
    assert len(COUNTERS) == len(set(COUNTERS)) == 34
    assert len(CORE) == 10
    assert len(OF_POLICIES) == 7


@pytest.mark.parametrize("row", CORE, ids=lambda row: row[0])
def test_manual_has_the_targets_settings(row):
    key, _, default, least, most = row
    # Two settings may share an entry: ".BR dirty_high " and " dirty_low".
    text = (TOP / "man/hearth-target.8").read_text()
    entry = re.search(rf"\.TP\n\.BR? (?:\w+ \" and \" )?{key}\b.*?\n(.*?)\n\.(?:TP|SH)", text, re.S)[1]
    if (least, most) == (0, 1):
        return
    assert re.search(rf"\b{least}\s+to\s+{most}\b", entry), entry
    if key != "max_intents":
        assert re.search(rf"\b{default}\b[^:]*\sunless\s+given", entry), entry


@pytest.mark.parametrize("row", OF_POLICIES.values(), ids=lambda row: row[0])
def test_manual_has_the_policies_settings(row):
    key, _, default, least, most = row
    text = (TOP / "man/hearth-policies.7").read_text()
    entry = text.split(f".BR {key} \" (", 1)[1].split("\n", 1)[0]
    assert f"{least} to {most}," in entry or f"{least} or {most}," in entry
    assert f"default {default}" in entry


def test_policies_manual_names_the_targets_settings():
    ignored = words_of("hearth-policies.7").split("Accepted and ignored", 1)[1]
    for key, *_ in CORE:
        assert re.search(rf"\b{key}\b", ignored.split("belong to the target", 1)[0]), key


def test_manual_has_the_counters():
    entry = words_of("hearth-target.8")
    # The page names a range of counters by its ends, and describes the errors.
    between = {"read_misses", "write_hits", "timed_read_misses", "timed_write_hits",
               "read_misses_ns", "write_hits_ns", "cache_read_errors", "cache_write_errors",
               "origin_errors"}
    assert between < set(COUNTERS)
    for name in COUNTERS:
        assert name in between or re.search(rf"\b{name}\b", entry), name


def test_completion_has_all_settings():
    text = (TOP / "lvm-plugin/hearth.bash").read_text()
    words = re.search(r'_hearth_settings="([^"]*)"', text)[1].split()
    keys = [row[0] for row in CORE] + [row[0] for row in OF_POLICIES.values()]
    assert sorted(words) == sorted(["mode=", "policy="] + [f"{key}=" for key in keys])


def test_the_engine_has_the_keys_of_all_lists_of_policies():
    shipped = (TOP / "policies/shipped-keys.h").read_text()
    for path in (TOP / "policies").glob("*-settings.h"):
        assert f'#include "{path.name}"' in shipped
        for macro in re.findall(r"#define (\w+_SETTINGS?)\(SETTING\)", path.read_text()):
            assert f"{macro}(CACHE_SETTING_NAME)" in shipped
