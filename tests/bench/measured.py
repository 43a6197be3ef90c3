# SPDX-License-Identifier: GPL-2.0-only
"""A figure with its limit, and the arithmetic of values that may be missing."""

import math


class Figure:
    """A limit is the project's promise. A figure without a limit is only reported."""

    def __init__(self, name, value, unit, most=None, least=None):
        self.name, self.value, self.unit = name, value, unit
        self.most, self.least = most, least
        self.limit = most if most is not None else least

    def good(self):
        if self.value is None:
            return False
        return self.value <= self.most if self.most is not None else self.value >= self.least

    def verdict(self):
        if self.limit is None:
            return ""
        return "ok" if self.good() else "MISSED"

    def limit_text(self):
        if self.limit is None:
            return ""
        if math.isinf(self.limit):
            return "a peer was not measured"
        return f"{'<=' if self.most is not None else '>='} {show(self.limit)}"

    def __str__(self):
        limit = f" ({self.limit_text()})" if self.limit is not None else ""
        return f"{self.name}: {show(self.value)} {self.unit}".rstrip() + limit


def show(value):
    if value is None:
        return "not measured"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.0f}"


def ratio(a, b):
    return a / b if a is not None and b else None
