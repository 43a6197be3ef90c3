#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Can the cuts fail?  Breaks one rule of the engine at a time, and says whether
they notice: mutants.py [NAME...].  Needs a minute or two for each.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
WORK = TOP / "build/mutants"
TREE = WORK / "tree"
# seconds for a recording and its cuts
LIMIT = 40 * int(os.environ.get("HEARTH_SLACK", "3"))
SEEDS = "1006 1004 1001 1003 1011"

# name: file, the code as it is (once in the file), the code that breaks the rule,
# and how many cuts of each recording stock opens (the first is cut again): 0
MUTANTS = {
    "no-flush-before-commit": (
        "dm-target/cache-commit.c",
        "if (g.needs_flush || g.nr_swept) {",
        "if (!c) {"),
    "origin-not-flushed": (
        "dm-target/cache-commit.c",
        "submit_flush(&origin, c->origin,",
        "submit_flush(&origin, c->fast,"),
    "cache-not-flushed": (
        "dm-target/cache-commit.c",
        "submit_flush(&fast, c->fast,",
        "submit_flush(&fast, c->origin,"),
    "users-flush-not-of-cache": (
        "dm-target/cache-io.c",
        "bio_set_dev(bio, fast ? c->fast : c->origin);",
        "bio_set_dev(bio, c->origin);"),
    "users-flush-not-of-origin": (
        "dm-target/cache-io.c",
        "bio_set_dev(bio, fast ? c->fast : c->origin);",
        "bio_set_dev(bio, c->fast);"),
    "write-without-intent": (
        "dm-target/cache-io.c",
        "cache_commit_queue(c, &cb->op);",
        "intent_done(c, &cb->op, 0);"),
    "clean-though-written-again": (
        "dm-target/cache-writeback.c",
        "if (old & (SLOT_TOUCHED | SLOT_WRITER_MASK))",
        "if (old & SLOT_WRITER_MASK)"),
    "part-not-marked": (
        "dm-target/cache-io.c",
        "cache_bio_parts(c, bio, cb->block);",
        "SLOT_PARTS_MASK / 15;"),
    "intent-swept-under-writer": (
        "dm-target/cache-intents.c",
        "(word & (SLOT_DIRTY | SLOT_WRITER_MASK)))",
        "(word & SLOT_DIRTY))"),
    "intents-without-bound": (
        "dm-target/cache-intents.c",
        "if (spare + nr_new > READ_ONCE(c->limits.max_intents))",
        "if (!c)"),
    "promotion-beside-write": (
        "dm-target/cache-gate.c",
        "return atomic_read(&c->gate.writers[gate_of(block)]) ||\n",
        "return\n"),
    "overwrite-mapped-clean": (
        "dm-target/cache-fill.c",
        "fill->op.kind = fill->dirty ? COMMIT_MAP_DIRTY : COMMIT_MAP_CLEAN;",
        "fill->op.kind = COMMIT_MAP_CLEAN;"),
    "discard-does-not-wait": (
        "dm-target/cache-discard.c",
        "if (cache_bypassed(c) || discard_wait(c, bio, d))",
        "if (c || discard_wait(c, bio, d))"),
    "superblock-before-its-blocks": (
        "persistent-data/pd-transaction.c",
        "return r ? r : pd_device_flush(tm->dev);",
        "return r;"),
    "stocks-crash-believed-clean": (
        "metadata/cache-metadata.c",
        "cmd->opened_clean = flags & CMD_SB_CLEAN_SHUTDOWN;",
        "cmd->opened_clean = flags | CMD_SB_CLEAN_SHUTDOWN;",
        1),
}

GUEST = """
. {top}/tests/guest/suites/crash.sh
crash_ready
set +e
unset CRASH_TOOLS
export CRASH_DIR={work}
cat >>$T/engine <<'END'
[ "$1" = hearth ] || exit 0
unload_engine
insmod /run/mutant.ko
modprobe -a dm-cache-smq dm-cache-lru dm-cache-nhit dm-cache-cleaner
END
test_mutant() {{
    cp {work}/$1.ko /run/mutant.ko
    $CRASH_ENGINE hearth
    for seed in {seeds}; do
        timeout {limit} ./crashtest $seed 1 12 80 $2 >>{work}/$1.log 2>&1
        command dmsetup remove_all
        grep -q FAILED {work}/$1.log && break
    done
}}
"""


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=TOP)


def modules():
    run("make", "modules", f"-C{TREE}", f"KVER={kver()}")


def kver():
    out = subprocess.run([TOP / "scripts/kver"], stdout=subprocess.PIPE, check=True)
    return out.stdout.decode().strip()


def build(names):
    shutil.rmtree(WORK, ignore_errors=True)
    TREE.mkdir(parents=True)
    for part in "Makefile", "dkms.conf", "scripts", "dm-target", "policies", "metadata", "persistent-data", "os":
        run("cp", "-a", TOP / part, TREE)
    for name in names:
        file, old, new = MUTANTS[name][:3]
        text = (TREE / file).read_text()
        if text.count(old) != 1:
            sys.exit(f"{name}: {text.count(old)} times in {file}: {old}")
        (TREE / file).write_text(text.replace(old, new))
        modules()
        shutil.copy(TREE / "dm-target/dm-cache.ko", WORK / f"{name}.ko")
        (TREE / file).write_text(text)


def test(names):
    guest = GUEST.format(top=TOP, work=WORK, seeds=SEEDS, limit=LIMIT)
    guest += "".join(f"test_mutant {n} {(MUTANTS[n][3:] or [0])[0]}\n" for n in names)
    with open(WORK / "guest.log", "w") as log:
        subprocess.run([TOP / "tests/guest/vm", "--share", WORK, guest], check=False,
                       stdout=log, stderr=subprocess.STDOUT)
    said = [report(name) for name in names]
    return all(said)


def report(name):
    """Says in which of the recordings it was noticed, and by what at first."""
    path = WORK / f"{name}.log"
    log = path.read_text(errors="replace") if path.exists() else ""
    recordings = len(re.findall(r"^seed", log, re.M))
    if "\nFAILED" not in log:
        print(f"{name}: NOT NOTICED in {recordings} recordings")
        return False
    first = re.search(r"^  (?!\d)(.*)$", log, re.M)
    print(f"{name}: noticed in recording {recordings}: {first[1] if first else '?'}")
    return True


def main():
    names = sys.argv[1:] or list(MUTANTS)
    build(names)
    sys.exit(0 if test(names) else 1)


if __name__ == "__main__":
    main()
