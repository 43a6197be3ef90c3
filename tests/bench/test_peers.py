# SPDX-License-Identifier: GPL-2.0-only
"""The peers' table: what a guest's results become, and when a limit counts as missed."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import figures  # noqa: E402
import peers  # noqa: E402


def direction(ios=0, iops=0.0, request_bytes=4096, tails=None):
    return {"total_ios": ios, "iops": iops, "io_bytes": ios * request_bytes,
            "clat_ns": {"percentile": tails} if tails else {}}


def fio_job(name="j", *, read=None, write=None, mixed=None, sync=None):
    found = {"jobname": name, "read": read or direction(), "write": write or direction()}
    if mixed:
        found["mixed"] = mixed
    if sync:
        found["sync"] = sync
    return found


class Bench:
    """A directory of results, as a guest leaves it."""

    def __init__(self, place):
        self.place = place

    def job(self, case, engine, *jobs, part="job"):
        path = self.place / f"peers-{case}-{engine}-{part}.json"
        path.write_text(json.dumps({"jobs": list(jobs)}))

    def rates(self, case, part="job", **rates):
        for engine, rate in rates.items():
            self.job(case, engine, fio_job(write=direction(1000, rate)), part=part)

    def say(self, case, engine, **values):
        with open(self.place / f"peers-{case}-{engine}.figures", "a") as file:
            for what, value in values.items():
                file.write(f"peers-{case}-{engine}-{what.replace('_', '-')} {value}\n")

    def table(self):
        return peers.Table(figures.Results(self.place))

    def cell(self, row, engine, part=None):
        return self.table().cell(peers.ROWS[row], engine, part)

    def held(self, row):
        """The figures of one row by their names behind the row's words."""
        row = peers.ROWS[row]
        found = [figure for promise in row.promises for figure in promise(self.table(), row)]
        return {figure.name.partition(": ")[2]: figure for figure in found}


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


# ---- Cells ----

def test_what_was_not_measured_is_none(bench):
    cell = bench.cell("zipf", "hearth")
    assert [cell.rate(), cell.seconds(), cell.tail_ms(99), cell.ssd_bytes(), cell.flushes(),
            cell.disk_ms(), cell.hit_ratio()] == [None] * 7


def test_a_broken_file_is_not_measured(bench):
    (bench.place / "peers-zipf-hearth-job.json").write_text('{"jobs": [')
    assert bench.cell("zipf", "hearth").rate() is None


def test_tails_are_milliseconds(bench):
    tails = {"50.000000": 20000, "99.000000": 500000, "99.900000": 12000000}
    bench.job("zipf", "stock", fio_job(read=direction(10, 5.0, tails=tails)))
    cell = bench.cell("zipf", "stock")
    assert [cell.tail_ms(p) for p in (50, 99, 99.9)] == [0.02, 0.5, 12]
    assert cell.rate() == 5


def test_a_mix_counts_reads_and_writes(bench):
    bench.job("mix-105", "hearth", fio_job(read=direction(700, 70.0), write=direction(300, 30.0),
                                           mixed=direction(1000, 100.0, tails={"50.000000": 1e6})))
    bench.say("mix-105", "hearth", job_meta_sectors=0, job_ssd_sectors=2400, job_meta_flushes=1,
              job_ssd_flushes=4, job_disk_ns=5e9, job_disk_reads=100)
    cell = bench.cell("mix-105", "hearth")
    assert cell.rate() == 100
    assert cell.tail_ms(50) == 1
    assert cell.ssd_bytes() == 2400 * 512 / (300 * 4096), "only what users wrote counts"
    assert cell.flushes() == 5
    assert cell.disk_ms() == 5
    assert cell.hit_ratio() == 0.9


def test_reads_alone_are_the_users_bytes(bench):
    bench.job("zipf", "hearth", fio_job(read=direction(1000, 10.0)))
    bench.say("zipf", "hearth", job_meta_sectors=8, job_ssd_sectors=792)
    assert bench.cell("zipf", "hearth").ssd_bytes() == 800 * 512 / (1000 * 4096)


def test_an_fsync_is_what_the_user_waits_for(bench):
    sync = {"total_ios": 100, "lat_ns": {"percentile": {"99.000000": 3000000}}}
    bench.job("fsync-half-1", "hearth",
              fio_job(write=direction(100, 1.0, tails={"99.000000": 20000}), sync=sync))
    assert bench.cell("fsync-half-1", "hearth").tail_ms(99) == 3


def test_two_jobs_are_told_apart(bench):
    bench.job("four", "bcache", fio_job("w", write=direction(900, 90.0)),
              fio_job("r", read=direction(100, 10.0)))
    bench.say("four", "bcache", job_meta_sectors=0, job_ssd_sectors=7200, job_disk_ns=1e9)
    assert bench.cell("four", "bcache").rate() == 90
    assert bench.cell("four-reader", "bcache").rate() == 10
    assert bench.cell("four", "bcache").ssd_bytes() == 1
    assert bench.cell("four", "bcache").disk_ms() == 1, "of both jobs' I/Os"


def test_seconds_without_a_job(bench):
    bench.say("tree", "hearth", read_seconds=2.5, read_disk_ns=2e9)
    cell = bench.cell("tree-read", "hearth")
    assert (cell.seconds(), cell.disk_ms(), cell.rate()) == (2.5, 2000, None)


# ---- Limits ----

def test_hearth_has_to_reach_its_share_of_every_peer(bench):
    bench.rates("zipf", hearth=99.0, stock=100.0, bcache=50.0, writecache=1.0, ssd=1000.0, disk=1.0)
    figure = bench.held("zipf")["hearth"]
    assert figure.least == 99.0 and figure.good()
    bench.rates("zipf", hearth=98.9)
    assert not bench.held("zipf")["hearth"].good()


def test_a_share_of_its_own_for_an_engine(bench):
    bench.rates("write-half-1", hearth=90.0, stock=1.0, bcache=80.0, writecache=94.0, ssd=100.0)
    figure = bench.held("write-half-1")["hearth"]
    assert figure.least == 90.0, "0.9 of the SSD, because 0.95 of dm-writecache is less"
    assert figure.good()


def test_a_peer_without_a_figure_holds_the_limit_up(bench):
    bench.rates("zipf", hearth=99.0, stock=1.0, bcache=1.0)
    figure = bench.held("zipf")["hearth"]
    assert math.isinf(figure.limit) and not figure.good()
    assert figure.limit_text() == "a peer was not measured"
    assert peers.verdict_of(bench.table(), peers.ROWS["zipf"]) == "a peer was not measured"


def test_hearth_without_a_figure_misses(bench):
    bench.rates("zipf", stock=1.0, bcache=1.0, writecache=1.0)
    assert not bench.held("zipf")["hearth"].good()


def test_who_cannot_run_a_row_holds_nothing_up(bench):
    bench.rates("line-512", hearth=100.0, stock=90.0, bcache=80.0, ssd=110.0)
    assert bench.held("line-512")["hearth"].good(), "dm-writecache has sectors of 4 KiB"


def test_seconds_are_better_when_they_are_fewer(bench):
    for engine, seconds in (("hearth", 1.0), ("stock", 2.0), ("bcache", 3.0), ("writecache", 1.02)):
        bench.say("tree", engine, read_seconds=seconds)
    figure = bench.held("tree-read")["hearth"]
    assert figure.most == pytest.approx(1.02 / 0.99) and figure.good()


def test_a_drain_takes_half_of_two_peers_time(bench):
    for engine, seconds in (("hearth", 7.0), ("stock", 17.0), ("bcache", 13.0), ("writecache", 7.5)):
        bench.say("drain", engine, drain_seconds=seconds)
    for part, tail in (("beside", 130), ("idle", 100)):
        bench.job("drain", "hearth", fio_job(read=direction(10, 1.0, tails={"99.000000": tail})), part=part)
    held = bench.held("drain")
    assert held["hearth"].most == 6.5 and not held["hearth"].good()
    assert held["hearth, p99 of readers beside, of idle"].good()


@pytest.mark.parametrize(("reader", "good"), [(89.9, False), (90.0, True)])
def test_the_reader_beside_writers(bench, reader, good):
    """dm-writecache's reader is best. stock's counts as little as its writers do."""
    for engine, written, read in (("hearth", 1000.0, reader), ("stock", 499.0, 900.0),
                                  ("bcache", 500.0, 40.0), ("writecache", 900.0, 100.0)):
        bench.job("four", engine, fio_job("w", write=direction(10, written)),
                  fio_job("r", read=direction(10, read)))
    assert bench.held("four-reader")["hearth"].good() == good


def test_the_full_cache_is_nearly_as_fast_as_half_of_it(bench):
    bench.rates("mix-half", hearth=1000.0)
    bench.rates("mix-100", hearth=899.0, stock=880.0, bcache=5000.0)
    held = bench.held("mix-100")
    assert held["hearth"].good(), "only stock counts"
    assert not next(figure for name, figure in held.items() if name.startswith("hearth, of")).good()


def test_hits_survive_a_scan(bench):
    for part, reads in (("before", 0), ("after", 30)):
        bench.rates("scan", part=part, hearth=10.0)
        bench.say("scan", "hearth", **{f"{part}_disk_reads": reads})
    figure = bench.held("scan")["hearth, hit ratio, of that before"]
    assert figure.value == 0.97 and not figure.good()


def test_a_database_is_held_to_the_ssd_alone(bench):
    bench.say("pgbench-6", "ssd", job_rate=1000)
    bench.say("pgbench-6", "hearth", job_rate=960, job_worst_rate=890, job_p99_ms=20, job_agrees=1)
    held = bench.held("pgbench-6")
    assert held["hearth, of the SSD alone"].good()
    assert not held["hearth, the worst 5 s, of the SSD alone"].good()
    assert held["hearth, tables' sums agree"].good()


def test_a_larger_database_is_ahead_of_every_peer(bench):
    for engine, rate, tail in (("hearth", 105, 30), ("stock", 100, 40), ("bcache", 90, 30),
                               ("writecache", 99, 31)):
        bench.say("pgbench-20", engine, job_rate=rate, job_p99_ms=tail)
    held = bench.held("pgbench-20")
    assert held["hearth"].least == pytest.approx(105) and held["hearth"].good()
    assert held["hearth, p99"].most == 30 and held["hearth, p99"].good()
    assert not held["hearth, tables' sums agree"].good(), "nobody has compared them"


@pytest.mark.parametrize(("log", "rates"), [
    # client, number, microseconds, script, second, microsecond
    ("0 0 1000 0 100 0\n0 1 9000 0 101 0\n0 2 2000 0 106 0\n0 3 2000 0 107 500000\n", "0.4 0.4 9"),
])
def test_rates_of_transactions(tmp_path, log, rates):
    (tmp_path / "log").write_text(log)
    out = subprocess.run(["bash", "-c", f". {HERE}/guest/postgres.sh; pg_rates {tmp_path}/log 10"],
                         stdout=subprocess.PIPE, check=True)
    assert out.stdout.decode().strip() == rates


# ---- The plan ----

def test_every_row_has_a_case_and_a_limit():
    for row in peers.ROWS.values():
        assert row.promises or row.name == "mix-half", row.name


def test_each_case_and_engine_runs_once():
    cases = [(case.name, engine.key) for case, engine in peers.chosen_cases()]
    assert len(cases) == len(set(cases))
    assert {name for name, _ in cases} == set(peers.CASES)


def test_the_plan_begins_with_devices_and_ends_with_their_engine_gone():
    for case, engine in peers.chosen_cases():
        lines = [line.split()[2] for line in case.plan(engine)]
        assert lines[0] == "devices" and lines[-1] == "remove"


def test_one_row_on_one_engine(monkeypatch):
    monkeypatch.setattr(peers, "CHOSEN_ROWS", ["warm-read-1"])
    monkeypatch.setattr(peers, "CHOSEN_ENGINES", ["bcache"])
    assert [(case.name, engine.key) for case, engine in peers.chosen_cases()] == [("warm", "bcache")]


def test_a_row_that_is_not_there(monkeypatch):
    monkeypatch.setattr(peers, "CHOSEN_ROWS", ["warm-read-2"])
    with pytest.raises(SystemExit, match="no such rows: warm-read-2"):
        peers.chosen_rows()


def test_every_step_is_a_function_of_the_guest():
    guest = (HERE / "guest/peers.sh").read_text()
    lines = {line for case, engine in peers.chosen_cases() for line in case.plan(engine)}
    for line in lines:
        assert f"\npeers_{line.split()[2]}() {{" in guest, line


def test_a_quick_run_is_a_quarter():
    """The switch is read when the program starts."""
    said = subprocess.run(
        [sys.executable, "-c", "import peers; print(peers.job('job', '--rw=read', ios=400, seconds=8))"],
        cwd=HERE, env={"BENCH_QUICK": "1"}, stdout=subprocess.PIPE, check=True)
    assert said.stdout.decode().split()[-3:] == ["--runtime=2", "--number_ios=100", "--rw=read"]


# ---- The page ----

def test_the_page_shows_all_engines_and_what_was_missed(bench):
    bench.rates("zipf", hearth=98.0, stock=100.0, bcache=50.0, writecache=1.0, disk=1.0)
    (bench.place / "peers-zipf-hearth.stamp").write_text("2026-11-23, hearth abc\n")
    text = peers.page(figures.Results(bench.place))
    line = next(line for line in text.splitlines() if line.startswith("| zipf: "))
    assert line.split("|")[2:5] == [" 98 ", " 100 ", " 50 "]
    assert "**missed**: the rate 98 (>= 99)" in line
    assert "Measured 2026-11-23, hearth abc." in text
    assert "older figures](#beside-the-peers)): `write-half-1`, " in text.replace("\n", " ")
    assert "`zipf`" not in text
    columns = {line.count("|") for line in text.splitlines() if line.startswith("| zipf, ")}
    assert len(columns) == 1


def test_a_page_without_results(bench):
    assert peers.page(figures.Results(bench.place)) is None


def test_the_page_keeps_an_older_table(bench):
    before = f"\n### {figures.PEERS_TITLE}\n\nAn older table.\n\n"
    assert "An older table." in figures.page(bench.place, "6.1", before)
    assert figures.page(bench.place, "6.1", "").endswith(
        f"### {figures.PEERS_TITLE}\n\nNot measured in this run.\n\n")
