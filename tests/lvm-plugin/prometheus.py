# SPDX-License-Identifier: GPL-2.0-only
"""A strict reader of Prometheus' text format 0.0.4. As in promtool check metrics, a
counter must end in _total and must have a help text."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")


def parse(text):
    """Returns {name: (type, {labels: value})}."""
    assert text.endswith("\n")
    metrics, name, kind = {}, None, None
    for line in text[:-1].split("\n"):
        if m := re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line):
            name, kind = m[1], None
            assert name not in metrics, f"{name} comes twice"
            continue
        if m := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram)", line):
            assert m[1] == name, f"{line}: after the help of {name}"
            kind = m[2]
            assert (kind == "counter") == name.endswith("_total"), name
            metrics[name] = (kind, {})
            continue
        m = SAMPLE.fullmatch(line)
        assert m, f"not the format: {line}"
        if kind == "histogram":
            assert m[1] in (f"{name}_bucket", f"{name}_sum", f"{name}_count"), line
            metrics.setdefault(m[1], (kind, {}))
        else:
            assert m[1] == name and kind, f"{line}: among the samples of {name}"
        labels = tuple(re.findall(LABEL, m[2] or ""))
        keys = [k for k, _ in labels]
        assert len(set(keys)) == len(keys), f"{line}: a label twice"
        samples = metrics[m[1]][1]
        assert labels not in samples, f"{line}: twice"
        samples[labels] = float(m[m.lastindex])
    return {name: m for name, m in metrics.items() if m[0] != "histogram" or m[1]}
