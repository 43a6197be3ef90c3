#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Shows that the cuts can fail: mutants.py [NAME...].

Breaks one rule of the engine at a time, and says whether the cuts notice it. Each rule takes a
minute or two.

The recordings have no device that fails, and none whose content somebody else has changed. The
rules for such devices are broken one at a time as well, and the guest test that is named with each
has to notice that.

The program also breaks the rules of hearth-metadata repair, one at a time. Its unit tests have
to notice that, which takes half a minute for each.
"""

import contextlib
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
# for rules of the write log, whose names begin with "log-"; the first two discard whole blocks
LOG_SEEDS = "1304 1307 1300 1306 1301"

# name: file, the code as it is (once in the file), and the code that breaks the rule
MUTANTS = {
    "no-flush-before-commit": (
        "dm-target/cache-commit.c",
        "if (g.needs_flush || g.nr_swept) {",
        "if (!c) {"),
    "origin-not-flushed": (
        "dm-target/cache-flush.c",
        "submit_flush(&origin, c->dev.origin,",
        "submit_flush(&origin, c->dev.fast,"),
    "cache-not-flushed": (
        "dm-target/cache-flush.c",
        "submit_flush(&fast, c->dev.fast,",
        "submit_flush(&fast, c->dev.origin,"),
    "users-flush-not-of-cache": (
        "dm-target/cache-bio.h",
        "bio_set_dev(bio, fast ? c->dev.fast : c->dev.origin);",
        "bio_set_dev(bio, c->dev.origin);"),
    "users-flush-not-of-origin": (
        "dm-target/cache-bio.h",
        "bio_set_dev(bio, fast ? c->dev.fast : c->dev.origin);",
        "bio_set_dev(bio, c->dev.fast);"),
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
        "if (!cache_bypassed(c) && !discard_wait(c, bio, d))",
        "if (!c)"),
    "superblock-before-its-blocks": (
        "persistent-data/pd-transaction.c",
        "return r ? r : pd_device_flush(tm->dev);",
        "return r;"),
    # W1 to W14 of docs/write-log.md
    "log-used-before-its-flag": (
        "dm-target/cache-log-state.c",
        "r = commit_flag(log->c, true);",
        "r = 0;"),
    "log-flag-cleared-too-early": (
        "dm-target/cache-log-state.c",
        "if (!is_empty(log))\n\t\treturn false;\n\t/* The last block",
        "if (!is_empty(log) && !commit_flag(log->c, false))\n\t\treturn false;\n\t/* The last block"),
    "log-record-before-its-data": (
        "dm-target/cache-log-ring.c",
        "r = first ? cache_flush_fast(log->c) : 0;",
        "r = 0;"),
    "log-record-beside-its-data": (
        "dm-target/cache-log-io.c",
        "if (w->durable)\n\t\tbio->bi_opf |= REQ_FUA;\n\telse\n\t\tbio->bi_opf &= ~REQ_FUA;",
        "bio->bi_opf &= ~REQ_FUA;"),
    "log-flush-of-an-earlier-batch": (
        "write-log/log-ring.c",
        "if (log_keeps(W2_BATCH))\n\t\tring->flushed = false;",
        ""),
    "log-flush-left-out": (
        "dm-target/cache-log-ring.c",
        "if (beside)\n\t\tr = cache_flush_fast(log->c);",
        "if (beside)\n\t\tr = 0;"),
    "log-flush-before-records": (
        "dm-target/cache-log-ring.c",
        "if (!ring_is_well(log))\n\t\treturn LOG_PASSES;\n\tswitch (",
        "if (log)\n\t\treturn LOG_PASSES;\n\tswitch ("),
    "log-fua-write-not-recorded": (
        "dm-target/cache-log-io.c",
        "cb->logged.fua = bio->bi_opf & REQ_FUA;",
        "cb->logged.fua = false;"),
    "log-home-without-flush": (
        "dm-target/cache-log-home.c",
        "if (cache_flush_origin(log->c)) {",
        "if (!log) {"),
    "log-promotion-beside-it": (
        "dm-target/cache-gate.c",
        "if (r || !log_has(c, block))",
        "if (r || c)"),
    "log-keeps-what-is-discarded": (
        "dm-target/cache-discard.c",
        "if (unlikely(READ_ONCE(c->log)) && !cache_log_discard(c, bio))",
        "if (!c)"),
    "log-not-read-in-transit": (
        "dm-target/cache-io.c",
        "answer = cache_log_read(c, bio, cb, worker);\n\tif (answer != LOG_PASSES)\n\t\treturn answer;\n\tslot =",
        "slot ="),
    "log-into-cache-clean": (
        "dm-target/cache-log-move.c",
        "m->op.kind = COMMIT_MAP_DIRTY;",
        "m->op.kind = COMMIT_MAP_CLEAN;"),
    "log-into-cache-beside-writes": (
        "dm-target/cache-log-move.c",
        "while (log_index_writes(&m->log->ix, m->block))",
        "while (!m)"),
    "log-gone-before-its-mapping": (
        "dm-target/cache-log-move.c",
        "commit_mappings(log);\n\tgone = leave(log) && end_segments(log);",
        "gone = leave(log);\n\tcommit_mappings(log);\n\tgone = gone && end_segments(log);"),
    "log-goes-home-though-mapped": (
        "dm-target/cache-log-load.c",
        "if (!slot_has_block(slot_word(s)) ||\n\t\t    !log_index_has",
        "if (slot_word(s) ||\n\t\t    !log_index_has"),
}

# The same for rules about devices that fail, or whose content somebody else has changed. The
# last words are the suite and the test that has to notice that.
SUITE_MUTANTS = {
    "home-without-flush": (
        "dm-target/cache-commit.c",
        "case COMMIT_HOME:\n\t\treturn FLUSH_ORIGIN;",
        "case COMMIT_HOME:\n\t\treturn 0;",
        "faults blocks_are_home_durably"),
    "home-forgets-that-the-disk-says-dirty": (
        "dm-target/cache-writeback.c",
        "says_clean ? clear_marks : clear_dirty);",
        "says_clean ? clear_marks : clear_marks);",
        "faults dead_metadata_lets_all_go_home"),
    "home-by-an-unchecked-mapping": (
        "dm-target/cache-degrade.c",
        "!c->degrade.unchecked;",
        "true;",
        "health needs_check_outlives_activation pool"),
    # This test reads what is stale before it asks what the check has found.
    "origin-not-checked": (
        "dm-target/cache-load.c",
        "r = cache_check_origin(c, t, before);",
        "r = c ? 0 : cache_check_origin(c, t, before);",
        "origin the_first_block_changed"),
    # Nothing is compared until the next table, so users hit before.
    "origin-checked-after-the-first-hit": (
        "dm-target/cache-belongs.c",
        "c->checked.put_off = t->mode == MODE_PASSTHROUGH;",
        "c->checked.put_off = !before;",
        "origin the_first_block_changed"),
    "origin-dirty-not-asked": (
        "dm-target/cache-belongs.c",
        "return !c->settings.through;",
        "return false;",
        "origin dirty_blocks_refuse"),
    "origin-log-not-asked": (
        "dm-target/cache-belongs.c",
        "if (cache_log_nr_blocks(c))",
        "if (!c)",
        "origin write_log_is_dirty cache"),
    "origin-fence-not-durable": (
        "dm-target/cache-load.c",
        "r = cmd_needs_check(c->md.cmd) ? stay_read_only(c) :\n\t\t\t\t\t\t cmd_commit(c->md.cmd, true);",
        "r = cmd_needs_check(c->md.cmd) ? stay_read_only(c) :\n\t\t\t\t\t\t 0;",
        "origin void_is_durable"),
    "origin-blocks-written-last-not-noted": (
        "dm-target/cache-intents.c",
        "if (word & SLOT_TOUCHED)",
        "if (!c)",
        "origin three_blocks_changed writethrough"),
    "stocks-crash-believed-clean": (
        "metadata/cache-metadata.c",
        "cmd->opened_clean = flags & CMD_SB_CLEAN_SHUTDOWN;",
        "cmd->opened_clean = flags | CMD_SB_CLEAN_SHUTDOWN;",
        "interchange power_cut_on_stock_leaves_all_dirty"),
    "log-flush-waits-for-no-early-record": (
        "dm-target/cache-log-ring.c",
        "runs = smp_load_acquire(&log->recorder.batch_runs);",
        "runs = false;",
        "absorb flush_waits_for_an_early_record written"),
    "flush-left-out-after-a-hit": (
        "dm-target/cache-io.c",
        "cache_note_hit(&c->flushes.fast, bio);",
        "",
        "ops flush_goes_where_it_is_needed"),
    "flush-left-out-after-a-miss": (
        "dm-target/cache-end.c",
        "cache_note_write(&c->flushes.origin, bio);\n\t\tend_gated(",
        "end_gated(",
        "ops flush_goes_where_it_is_needed"),
    "flush-left-out-after-an-uncached-write": (
        "dm-target/cache-io.c",
        "cb->kind = BIO_ORIGIN_WRITE;\n\tfor (;;)",
        "for (;;)",
        "faults bypassed_writes_are_flushed"),
    "flush-left-out-after-a-discard": (
        "dm-target/cache-end.c",
        "cache_note_write(&c->flushes.origin, bio);\n\t\tcache_gate_leave_discard",
        "cache_gate_leave_discard",
        "ops flush_goes_where_it_is_needed"),
    "flush-of-the-disk-left-out-after-a-write-to-both": (
        "dm-target/cache-both.c",
        "cache_note_hit(&c->flushes.origin, bio);",
        "",
        "ops flush_goes_where_it_is_needed"),
    "flush-of-the-ssd-left-out-after-a-write-to-both": (
        "dm-target/cache-both.c",
        "cache_note_hit(&c->flushes.fast, bio);",
        "",
        "ops flush_goes_where_it_is_needed"),
    # When an engine is built anew, old records are written over what has gone home.
    "log-failed-but-not-forgotten": (
        "dm-target/cache-log-state.c",
        "if (commit_flag(log->c, false)) {\n\t\tset_state(log, CACHE_LOG_UNKNOWN);\n\t\treturn;\n\t}\n",
        "",
        "absorb ring_fails_beside_a_block_that_stays"),
}

# The same for the repair.
REPAIR_MUTANTS = {
    "uncertain-dirty-bit-is-clean": (
        "tools/metadata-repair.c",
        "return !(state & SALVAGE_DIRTY_CERTAIN) || state & SALVAGE_DIRTY;",
        "return state & SALVAGE_DIRTY;"),
    "unclean-stop-believed": (
        "tools/metadata-salvage.c",
        "if (s->clean)\n\t\treturn;",
        "if (s)\n\t\treturn;"),
    "free-leaf-used": (
        "tools/metadata-salvage.c",
        "if (rd->counted[nr] == COUNTED_FREE) {",
        "if (!rd) {"),
    "two-blocks-for-one": (
        "tools/metadata-salvage.c",
        "if (all[i].oblock == all[i - 1].oblock) {",
        "if (!all) {"),
    "rest-of-stale-leaf-used": (
        "tools/metadata-salvage.c",
        "for (u32 i = first; i < end; i++)\n\t\ts->state[i] &= ~gone;",
        "s->state[cblock] &= ~gone;"),
    "lost-not-named": (
        "tools/metadata-repair.c",
        "return !(state & SALVAGE_CERTAIN) && !(state & SALVAGE_DIRTY_CERTAIN);",
        "return !(state & SALVAGE_CERTAIN) && !state;"),
    "older-mapping-believed": (
        "tools/metadata-scan.c",
        "sc->agreed[i] = DISAGREED;",
        "sc->agreed[i] = e;"),
    "damage-beside-lost-superblock": (
        "tools/metadata-scan.c",
        "if (!valid)",
        "if (!sc)"),
    "unfinished-output-is-metadata": (
        "tools/metadata-repair.c",
        "return h->below.write(h->below.ctx, block, data);\n\tmemcpy(h->superblock, data, PD_BLOCK_SIZE);\n\treturn 0;",
        "return h->below.write(h->below.ctx, block, data);\n\tmemcpy(h->superblock, data, PD_BLOCK_SIZE);\n"
        "\treturn h->below.write(h->below.ctx, block, data);"),
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
    for seed in $2; do
        timeout {limit} ./crashtest $seed 1 12 80 0 >>{work}/$1.log 2>&1
        command dmsetup remove_all
        grep -q FAILED {work}/$1.log && break
    done
}}
"""


SUITE_GUEST = """
module=$(modinfo -F filename dm-cache)
mount --bind {work}/{name}.ko "$module"
load_engine hearth
modprobe -a dm-cache-lru dm-cache-nhit dm-cache-cleaner
echo "hearth-test: {name}" >/dev/kmsg
rm -rf $T && mkdir -p $T
timeout {limit} bash {top}/tests/guest/guest/one.sh run {top}/tests/guest/suites/{test} >{work}/{name}.log 2>&1
echo "exit status $?" >>{work}/{name}.log
(clean_up fail)
umount "$module"
"""


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=TOP)


def modules():
    run("make", "modules", f"-C{TREE}", f"KVER={kver()}")


def kver():
    out = subprocess.run([TOP / "scripts/kver"], stdout=subprocess.PIPE, check=True)
    return out.stdout.decode().strip()


def copy_tree(*more):
    shutil.rmtree(WORK, ignore_errors=True)
    TREE.mkdir(parents=True)
    for part in ("Makefile", "dkms.conf", "scripts", "dm-target", "policies", "metadata",
                 "persistent-data", "slots", "write-log", "os") + more:
        run("cp", "-a", TOP / part, TREE)


@contextlib.contextmanager
def broken(name, file, old, new):
    """The tree with one rule broken."""
    text = (TREE / file).read_text()
    if text.count(old) != 1:
        sys.exit(f"{name}: {text.count(old)} times in {file}: {old}")
    (TREE / file).write_text(text.replace(old, new))
    yield
    (TREE / file).write_text(text)


def build(names):
    copy_tree()
    for name in names:
        with broken(name, *(MUTANTS | SUITE_MUTANTS)[name][:3]):
            modules()
            shutil.copy(TREE / "dm-target/dm-cache.ko", WORK / f"{name}.ko")


def in_guest(script):
    with open(WORK / "guest.log", "a") as log:
        subprocess.run([TOP / "tests/guest/vm", "--share", WORK, script], check=False,
                       stdout=log, stderr=subprocess.STDOUT)


def test(names):
    guest = GUEST.format(top=TOP, work=WORK, limit=LIMIT)
    for name in names:
        seeds = LOG_SEEDS if name.startswith("log-") else SEEDS
        guest += f"test_mutant {name} '{seeds}'\n"
    in_guest(guest)
    said = [report(name) for name in names]
    return all(said)


def report(name):
    """Says which recording has noticed the broken rule, and prints its first fault."""
    path = WORK / f"{name}.log"
    log = path.read_text(errors="replace") if path.exists() else ""
    recordings = len(re.findall(r"^seed", log, re.M))
    if "\nFAILED" not in log:
        print(f"{name}: NOT NOTICED in {recordings} recordings")
        return False
    first = re.search(r"^  (?!\d)(.*)$", log, re.M)
    print(f"{name}: noticed in recording {recordings}: {first[1] if first else '?'}")
    return True


def test_suites(names):
    guest = ""
    for name in names:
        suite, test = SUITE_MUTANTS[name][3].split(" ", 1)
        guest += SUITE_GUEST.format(top=TOP, work=WORK, name=name, test=f"{suite}.sh {test}",
                                    limit=3 * LIMIT)
    in_guest(guest)
    said = [noticed_by_suite(name) for name in names]
    return all(said)


def noticed_by_suite(name):
    path = WORK / f"{name}.log"
    log = path.read_text(errors="replace") if path.exists() else ""
    status = re.search(r"^exit status (\d+)$", log, re.M)
    if not status or status[1] == "0":
        print(f"{name}: NOT NOTICED by {SUITE_MUTANTS[name][3]}")
        return False
    # Without a reason of its own, the test was ended by the last command that it traced.
    said = re.findall(r"^FAILED: (.*)$", log, re.M) or re.findall(r"^\++ (.*)$", log, re.M)
    print(f"{name}: noticed by {SUITE_MUTANTS[name][3]}: {said[-1]}")
    return True


def test_repair(names):
    copy_tree("tools", "tests")
    said = [noticed_by_unit(name) for name in names]
    return all(said)


def noticed_by_unit(name):
    """Says which of the repair's unit tests has noticed the broken rule."""
    where = next(TREE.glob("tests/*/test-repair.c")).parent
    program = TREE / "build/unit/test-repair"
    with broken(name, *REPAIR_MUTANTS[name]):
        run("make", f"-C{where}", f"../../{program.relative_to(TREE)}")
        test = subprocess.run([program], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env={**os.environ, "TOP": str(TREE)})
    failed = re.search(r"^\[  FAILED  \] (?!.*test)(\w+)", test.stdout, re.M)
    if not test.returncode or not failed:
        print(f"{name}: NOT NOTICED by {program.name}, exit status {test.returncode}")
        return False
    print(f"{name}: noticed by {failed[1]}")
    return True


def main():
    names = sys.argv[1:] or [*REPAIR_MUTANTS, *MUTANTS, *SUITE_MUTANTS]
    repair = [name for name in names if name in REPAIR_MUTANTS]
    suites = [name for name in names if name in SUITE_MUTANTS]
    engine = [name for name in names if name not in REPAIR_MUTANTS | SUITE_MUTANTS]
    good = not repair or test_repair(repair)
    if engine or suites:
        build(engine + suites)
    if engine:
        good = test(engine) and good
    if suites:
        good = test_suites(suites) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
