#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The ten figures at the top of docs/performance.md and README.md, and their picture.

summary.py write  takes the figures from the tables of docs/performance.md, and
                  writes them between the marks of both pages, and performance.svg
summary.py check  fails when that would change a file

bench.py calls it after it has written the tables. The program measures nothing and owns no
number: every figure is a cell of a table in docs/performance.md.
"""

import math
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "docs/performance.md"
README = TOP / "README.md"
PICTURE = TOP / "docs/performance.svg"
BEGIN, END = "<!-- ten figures -->", "<!-- end of ten figures -->"

ENGINES = ("hearth", "stock dm-cache", "bcache", "dm-writecache")
COLOURS = ("#d1495b", "#5f6b6d", "#0b6e99", "#edae49")
LESS, MORE = "less is better", "more is better"


class Row:
    """One of the ten: where the engines' figures stand, in the order of ENGINES.

    A cell is the name of a row in a table of the section; None is not measured.
    In a table with a column for each engine, one name stands for all of them.
    """

    def __init__(self, words, unit, better, section, cells):
        self.words, self.unit, self.better = words, unit, better
        self.section, self.cells = section, cells


def hit(rw, ours, how):
    return (f"{ours}, {how}", f"stock's {rw} hit, {how}", f"bcache's {rw} hit, {how}",
            f"dm-writecache's {rw} hit, {how}")


PEERS = "Small and whole writes, beside the peers"
MIXED = "Reads, mixed load and a database, beside the peers"
ROWS = (
    Row("read hit, 4 KiB, depth 1", "instructions", LESS, "Hit path",
        hit("read", "read hit", "aio-1")),
    Row("write hit on a dirty block, depth 16", "instructions", LESS, "Hit path",
        hit("write", "write hit on a dirty block", "aio-16")),
    Row("OLTP mix, 8 jobs: I/Os per second", "times uncached", MORE, "Published tests, on the disk",
        ("oltp-8: hearth, of uncached", "oltp-8: stock, of uncached", None, None)),
    Row("a new cache hits 76 % of zipf requests after", "seconds", LESS,
        "Warm-up on the disk, zipf(1.1) over twice the cache",
        ("first set: hearth, time to 0.76", "first set: stock, time to 0.76", None, None)),
    Row("4,000 random dirty blocks are on the disk after", "seconds", LESS,
        "Write-back of 4,000 blocks to the disk", ("hearth", "stock dm-cache", None, None)),
    Row("memory for a block, 16 million blocks", "bytes", LESS, "Scale: all blocks in use",
        ("16 million blocks, hearth: memory per block", "16 million blocks, stock: memory per block",
         None, None)),
    Row("zipf(1.1) reads over twice the cache", "reads/s", MORE, MIXED,
        "zipf(1.1) reads over twice the cache"),
    Row("random 4 KiB writes that miss, depth 16", "writes/s", MORE, PEERS,
        "4 KiB at random over half of an empty cache, depth 16"),
    Row("64 KiB writes into an empty cache, depth 8", "writes/s", MORE, PEERS,
        "64 KiB at random into an empty cache, depth 8"),
    Row("PostgreSQL within the cache, 8 clients", "transactions/s", MORE, MIXED,
        "pgbench, 8 clients, 20 s, data and log within the cache"),
)


def tables(text):
    """{section: {row: {column: cell}}} of a page."""
    found, section, header = {}, None, None
    for line in text.splitlines():
        title = re.match(r"#+ (.*)", line)
        if title:
            section, header = title[1].strip(), None
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if header is None:
                header = cells
            elif not set(line) <= set("|-: "):
                found.setdefault(section, {})[cells[0]] = dict(zip(header, cells, strict=True))
        else:
            header = None
    return found


def cells_of(row, page):
    rows = page[row.section]
    if isinstance(row.cells, str):
        return [rows[row.cells][engine] for engine in ENGINES]
    return [rows[name]["measured"] if name else "" for name in row.cells]


def number(cell):
    """The first number of a cell, or None."""
    found = re.search(r"\d[\d,]*(?:\.\d+)?", cell)
    return float(found[0].replace(",", "")) if found else None


def best(row, values):
    return (min if row.better == LESS else max)(v for v in values if v is not None)


def anchor(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def table(page, where):
    """The best figure of a row is bold; hearth's is italic if it is not the best."""
    lines = ["| figure | " + " | ".join(ENGINES) + " | |",
             "|---|" + "---:|" * len(ENGINES) + "---|"]
    for row in ROWS:
        cells = cells_of(row, page)
        values = [number(cell) for cell in cells]
        first = best(row, values)
        shown = []
        for i, (cell, value) in enumerate(zip(cells, values, strict=True)):
            mark = "" if value is None else "**" if value == first else "*" if i == 0 else ""
            shown.append(f"{mark}{cell}{mark}")
        lines.append(f"| {row.words} ({row.unit}; {row.better}) | " + " | ".join(shown) +
                     f" | [table]({where}#{anchor(row.section)}) |")
    return "\n".join(lines)


def gain(row, value, stock):
    """How many times as good as stock the value is."""
    return stock / value if row.better == LESS else value / stock


def picture(page):
    left, right, top, step = 346, 890, 64, 26
    low, high = 1 / 25, 50

    def x(times):
        return left + (right - left) * math.log(times / low) / math.log(high / low)

    bottom = top + step * len(ROWS)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="910" height="{bottom + 40}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="14" y="22" font-size="15">How many times as good as the kernel\'s own '
           'dm-cache (right is better)</text>']
    for i, (engine, colour) in enumerate(zip(ENGINES, COLOURS, strict=True)):
        out.append(f'<circle cx="{left + 6 + 140 * i}" cy="40" r="5" fill="{colour}"/>'
                   f'<text x="{left + 16 + 140 * i}" y="44">{engine}</text>')
    for times, words in ((1 / 20, "1/20"), (1 / 10, "1/10"), (1 / 4, "1/4"), (1, "1"), (4, "4"),
                         (10, "10"), (40, "40")):
        line = "#888" if times == 1 else "#ddd"
        out.append(f'<path d="M{x(times):.1f} {top - 8}V{bottom}" stroke="{line}"/>'
                   f'<text x="{x(times):.1f}" y="{bottom + 18}" text-anchor="middle">{words}</text>')
    for i, row in enumerate(ROWS):
        y = top + step * i + 8
        values = [number(cell) for cell in cells_of(row, page)]
        out.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{row.words}</text>')
        # hearth comes last, because later circles hide earlier ones.
        for j in range(len(ENGINES) - 1, -1, -1):
            if values[j] is not None:
                at = x(gain(row, values[j], values[1]))
                out.append(f'<circle cx="{at:.1f}" cy="{y}" r="5" fill="{COLOURS[j]}"/>')
    return "\n".join(out + ["</svg>", ""])


def between(text, new):
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{new}\n{END}{rest.split(END)[1]}"


def everything():
    """{path: the text that the file should have}"""
    text = PAGE.read_text()
    page = tables(text)
    return {
        PAGE: between(text, table(page, "")),
        README: between(README.read_text(), table(page, "docs/performance.md")),
        PICTURE: picture(page),
    }


def write():
    for path, text in everything().items():
        path.write_text(text)


def check():
    stale = [path for path, text in everything().items()
             if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(TOP)}: its ten figures are not those of docs/performance.md; "
              "run tests/bench/summary.py write")
    return 1 if stale else 0


def main():
    if sys.argv[1:] == ["write"]:
        return write()
    if sys.argv[1:] == ["check"]:
        return check()
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
