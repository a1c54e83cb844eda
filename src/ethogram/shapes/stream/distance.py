"""Whether a contrast is far below its limit, from running sums: most events then need no exact look.

Sums that are added to and taken from drift by rounding; so they only ever say "far", with a margin many
times larger, and are made anew now and then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..tree import Difference, Events
from .pick import Columns
from .rows import Rows

MARGIN = 1e-6
ANEW = 1024


class Sums:
    """Counts and sums of both sides in each stratum, for the newest rows up to the n-th event."""

    __slots__ = ("added", "far", "few", "largest", "limit", "n", "strata")

    def __init__(self) -> None:
        self.n = -1
        self.far = self.few = False
        self.limit = math.nan
        self.added = 0
        self.largest = 1.0
        self.strata: dict[Any, list[float]] = {}


class Distance(NamedTuple):
    """Two questions about a contrast: whether it is far below a limit, and, after that was asked at an
    event, whether there are too few readings for it to have a value there."""

    far: Callable[[Rows, float], bool]
    few: Callable[[Rows], bool]


def distance_of(expr: Difference, columns: Columns) -> Distance | None:
    """What is known without an exact look, or None where nothing is."""
    window = expr.window
    counts = [limit.n for limit in window.last if isinstance(limit, Events)]
    is_plain = len(counts) == len(window.last) == 1 and window.skip is None and window.since is None
    if not is_plain or window.where is not None or expr.name != "difference":
        return None
    where = columns.column("number", expr.of, expr.where)
    against = columns.column("number", expr.of, expr.against)
    stratum = None if expr.within_each is None else columns.column("value", expr.within_each)
    size, fewest, slot = min(counts[0], columns.cap), max(2, expr.at_least), where

    def put(sums: Sums, rows: Rows, i: int, sign: int) -> bool:
        a, b = rows.columns[where][i], rows.columns[against][i]
        if a is None and b is None:
            return False
        group = 0 if stratum is None else rows.columns[stratum][i]
        if group is None:
            return False
        one = sums.strata.setdefault(group, [0, 0.0, 0, 0.0])
        for k, x in ((0, a), (2, b)):
            if x is not None:
                one[k] += sign
                one[k + 1] += sign * x
                sums.largest = max(sums.largest, abs(x))
        if not one[0] and not one[2]:
            del sums.strata[group]
        return True

    def far(rows: Rows, limit: float) -> bool:
        sums: Sums | None = rows.distances.get(slot)
        if sums is not None and sums.n == rows.n and sums.limit == limit:
            return sums.far
        length = len(rows.times)
        if sums is None or sums.n != rows.n - 1 or sums.added >= ANEW or (rows.n > size and length <= size):
            sums = rows.distances[slot] = Sums()
            for i in range(max(0, length - size), length):
                put(sums, rows, i, 1)
        else:
            moved = put(sums, rows, length - 1, 1)
            if length > size:
                moved = put(sums, rows, length - size - 1, -1) or moved
            sums.added += 1
            if not moved and sums.limit == limit:
                sums.n = rows.n
                return sums.far
        sums.n, sums.limit = rows.n, limit
        sums.far = _is_far(sums, fewest, limit)
        return sums.far

    def few(rows: Rows) -> bool:
        sums: Sums | None = rows.distances.get(slot)
        return sums is not None and sums.n == rows.n and sums.few

    return Distance(far, few)


def _is_far(sums: Sums, fewest: int, limit: float) -> bool:
    many_a = many_b = 0.0
    left_a = left_b = 0.0
    for count_a, sum_a, count_b, sum_b in sums.strata.values():
        if count_a and count_b:
            middle = (sum_a / count_a + sum_b / count_b) / 2
            many_a += count_a
            many_b += count_b
            left_a += sum_a - count_a * middle
            left_b += sum_b - count_b * middle
    sums.few = many_a < fewest or many_b < fewest
    if sums.few:
        return True
    return left_a / many_a - left_b / many_b < limit - MARGIN * sums.largest
