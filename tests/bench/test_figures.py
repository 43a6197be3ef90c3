# SPDX-License-Identifier: GPL-2.0-only
"""How hit ratios over time are worked out from samples."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from figures import hit_ratios  # noqa: E402


def samples(*requests, every=.25, start=100.):
    """Samples at equal distances, from the (hits, misses) between them."""
    hits = misses = 0
    yield start, hits, misses
    for number, (more_hits, more_misses) in enumerate(requests, 1):
        hits, misses = hits + more_hits, misses + more_misses
        yield start + number * every, hits, misses


def test_hit_ratios_start_with_the_first_request():
    warming = [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0)]
    at_once = list(hit_ratios(list(samples(*warming))))
    later = list(hit_ratios(list(samples(*[(0, 0)] * 9, *warming))))
    assert at_once == later == [(1., 6 / 16), (1.25, 10 / 16)]


def test_hit_ratios_span_a_second_at_least():
    assert list(hit_ratios(list(samples((1, 1), (1, 3), every=.75)))) == [(1.5, 2 / 6)]
    assert list(hit_ratios(list(samples((1, 1), (1, 3), (2, 2), every=3)))) == [
        (3., .5), (6., .25), (9., .5)]


@pytest.mark.parametrize("requests", [[], [(0, 0)] * 8])
def test_no_hit_ratios_without_requests(requests):
    assert not list(hit_ratios(list(samples(*requests))))
