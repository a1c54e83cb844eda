"""Aggregates over the rows of a history."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, repeat
from operator import mul, sub
from typing import Any, NamedTuple

from ...language import three_valued
from ...language.ast import Cover, Difference, Events, Measure
from ...models.timestamps import HOUR
from .. import values as st
from ..aggregates import _PLAIN, Readings, _checked, _level_strata, _surprise, _value, count_surprise
from ..values import Numbers, welch
from .buffer import Columns, Compute, Cut, Rows, cutter, kind_of, picker, slicer
from .source import LOGICAL

# The same numbers as statistics.py, to the last bit, with more of the work left to Python itself.


@lru_cache(maxsize=1024)
def _weights(n: int) -> tuple[float, ...]:
    middle = (n - 1) / 2
    return tuple(i - middle for i in range(n))


def rise(values: Numbers) -> float | None:
    """How much the fitted line rises over the values."""
    n = len(values)
    if n < 2:
        return None
    return math.fsum(map(mul, _weights(n), values)) / (n * (n * n - 1) / 12) * (n - 1)


def tau(values: Numbers) -> float | None:
    """Kendall's tau-b against the order of time; 0 where all are equal."""
    n = len(values)
    if n < 2:
        return None
    score, ordered = 0, [values[0]]
    for k in range(1, n):
        x = values[k]
        below = bisect_left(ordered, x)
        above = bisect_right(ordered, x)
        score += below + above - k
        ordered.insert(above, x)
    pairs, tied = n * (n - 1) / 2, 0.0
    if len(set(values)) < n:
        tied = sum(c * (c - 1) / 2 for c in Counter(values).values())
    return 0.0 if tied == pairs else score / math.sqrt(pairs * (pairs - tied))


def excess(values: Numbers, over: float) -> float | None:
    """Largest sum of x - over among the ends of the values, not below 0."""
    if not values:
        return None
    sums: list[float] = list(accumulate(map(sub, reversed(values), repeat(over))))
    return max(0.0, max(sums))


def top_count(values: Sequence[Any]) -> float:
    """How often the most frequent value occurs."""
    different = set(values)
    if len(different) > 8:
        return float(max(Counter(values).values(), default=0))
    return float(max(map(list(values).count, different), default=0))


def legs(values: Numbers, by: float) -> list[float]:
    """Sizes of the legs between turning points, the one under way included."""
    if not values:
        return []
    low = high = values[0]
    sizes: list[float] = []
    start, extreme, up = 0.0, 0.0, None
    for x in values:
        if up is None:
            low = x if x < low else low
            high = x if x > high else high
            if x - low >= by or not three_valued.above(by, x - low):
                start, extreme, up = low, x, True
            elif high - x >= by or not three_valued.above(by, high - x):
                start, extreme, up = high, x, False
        elif x > extreme if up else x < extreme:
            extreme = x
        elif (back := abs(extreme - x)) >= by or not three_valued.above(by, back):
            sizes.append(abs(extreme - start))
            start, extreme, up = extreme, x, not up
    return sizes if up is None else [*sizes, abs(extreme - start)]


def swings(values: Numbers, by: float) -> float:
    """How many legs there are besides the first."""
    return float(max(0, len(legs(values, by)) - 1))


def swing_growth(values: Numbers, by: float) -> float | None:
    """The size of the last leg over that of the first."""
    sizes = legs(values, by)
    return sizes[-1] / sizes[0] if len(sizes) >= 2 and sizes[0] else None


MEASURES: dict[str, Callable[[Any], Any]] = {"rise": rise, "tau": tau, "top_count": top_count}


# surprise_count over rows: how unusual the number of events in the newest span is.


def spanned(rows: Rows, column: int, cap: int, span: int) -> list[int]:
    """The rows in the span of a surprise_count at which its condition is true."""
    seen, now = rows.columns[column], rows.us
    oldest = max(0, len(rows.times) - cap)
    first = bisect_right(rows.times, now - span, oldest)
    return [i for i in range(first, len(rows.times)) if seen[i] is True]


def surprise_count_of(expr: Measure, columns: Columns) -> Compute:
    """A function that gives how unusual the count is, as a signed -log10."""
    column, cap = columns.column("true", expr.of), columns.cap
    span, last = int((expr.option("span") or (0,))[0]), int((expr.option("last") or (0,))[0])
    k, h = expr.option("prior") or (0.0, 0.0)

    def compute(rows: Rows) -> float | None:
        if not rows.timed:
            return None
        times, now, seen = rows.times, rows.us, rows.columns[column]
        oldest = max(0, len(times) - cap)
        if rows.n > cap and times[oldest] > now - span:
            return None
        border = bisect_right(times, now - span, oldest)
        far = bisect_right(times, now - span - last, oldest)
        count, past = seen[border:].count(True), seen[far:border].count(True)
        start = max(now - span - last, times[oldest])
        shape, rate = k + past, h + max(0, now - span - start) / HOUR
        return count_surprise(count, shape, rate, span / HOUR)

    return compute


# Measures over rows: each reads slices of columns, so that most of the work is done by Python itself.


def compute_of(expr: Measure, columns: Columns) -> Compute:
    """A function that gives a measure's value at the row its history stands at."""
    if expr.name == "surprise_count":
        return surprise_count_of(expr, columns)
    if expr.window.keep is None and _is_fast(expr):
        return _fast(expr, columns)
    if expr.window.keep is None and expr.name == "span" and expr.condition and isinstance(expr.of, LOGICAL):
        return _span(expr, columns)
    pick, at_least = picker(kind_of(expr), expr.of, expr.window, columns), expr.window.at_least
    here = columns.column("number", expr.of) if expr.name == "surprise" else None

    def compute(rows: Rows) -> Any:
        if not rows.timed and expr.name in ("rate", "span", "fading"):
            return None
        picked = pick(rows)
        if len(picked.values) < at_least:
            return None
        found = (picked.rows, 0, picked.view, picked.positions, picked.values)
        if here is not None:
            return _surprise(found, rows.columns[here][-1], expr)
        return _value(expr, found)

    return compute


def _span(expr: Measure, columns: Columns) -> Compute:
    """Seconds from the oldest to the newest event that meets a condition."""
    window, at_least = expr.window, expr.window.at_least
    column = columns.column("value", expr.of, window.where)
    since = None if window.since is None else columns.column("true", window.since)
    left = slicer(window, columns.cap, since)

    def compute(rows: Rows) -> float | None:
        if not rows.timed:
            return None
        first, end, _, _ = left(rows)
        seen = rows.columns[column][first:end]
        if True not in seen or (at_least and len(seen) - seen.count(None) < at_least):
            return None
        oldest = first + seen.index(True)
        seen.reverse()
        return (rows.times[end - 1 - seen.index(True)] - rows.times[oldest]) / 1e6

    return compute


def _is_fast(expr: Measure) -> bool:
    if expr.condition:
        # What is only sometimes a condition could be 1.0, which Python takes for True.
        return expr.name in ("count", "share") and isinstance(expr.of, LOGICAL)
    return expr.name in _PLAIN or expr.name in ("usual", "count", "top", "excess", "swings", "swing_growth")


def _fast(expr: Measure, columns: Columns) -> Compute:
    """Measures that need only the values: a slice without what is absent."""
    window, at_least = expr.window, expr.window.at_least
    column = columns.column(kind_of(expr), expr.of, window.where)
    since = None if window.since is None else columns.column("true", window.since)
    left, value = slicer(window, columns.cap, since), _of_values(expr)

    def compute(rows: Rows) -> Any:
        first, end, _, _ = left(rows)
        seen = rows.columns[column][first:end]
        if None in seen:
            seen = [x for x in seen if x is not None]
        return None if len(seen) < at_least else value(seen)

    if at_least or expr.name not in ("sum", "mean", "usual"):
        return compute

    def added(rows: Rows) -> Any:
        first, end, _, _ = left(rows)
        seen = rows.columns[column][first:end]
        try:
            return value(seen)
        except TypeError:  # one of them is None, which cannot be added
            return value([x for x in seen if x is not None])

    return added


def _of_values(expr: Measure) -> Callable[[list[Any]], Any]:
    if expr.name == "count":
        return (lambda values: float(values.count(True))) if expr.condition else (lambda v: float(len(v)))
    if expr.name == "usual":
        m, n0 = expr.option("prior") or (0.0, 0.0)
        if n0 > 0:
            return lambda values: _checked((n0 * m + math.fsum(values)) / (n0 + len(values)))
        return lambda values: st.finite(lambda: (n0 * m + math.fsum(values)) / (n0 + len(values)))
    if expr.name == "share":
        return lambda values: values.count(True) / len(values) if values else None
    if expr.name == "top":
        times = (expr.option("times") or (1.0,))[0]
        return lambda values: st.top(values, times)
    if expr.name == "excess":
        over = (expr.option("over") or (0.0,))[0]
        return lambda values: _checked(excess(values, over))
    if expr.name in ("swings", "swing_growth"):
        by = (expr.option("by") or (0.0,))[0]
        of = swings if expr.name == "swings" else swing_growth
        return lambda values: _checked(of(values, by))
    plain = MEASURES.get(expr.name) or _PLAIN[expr.name]
    return lambda values: _checked(plain(values))


# Contrast over rows: the two sides are two columns, and its five numbers are computed together.

"""The two sides, and the two sides before strata were levelled."""


def difference_of(expr: Difference, columns: Columns) -> Callable[[Rows], float | None]:
    """A function that gives one number of the contrast."""
    window = expr.window
    where = columns.column("number", expr.of, expr.where)
    against = columns.column("number", expr.of, expr.against)
    allowed = None if window.where is None else columns.column("true", window.where)
    stratum = None if expr.within_each is None else columns.column("value", expr.within_each)
    since = None if window.since is None else columns.column("true", window.since)
    left, fewest = slicer(window, columns.cap, since), max(2, expr.at_least)

    def compute(rows: Rows) -> float | None:
        first, end, _, _ = left(rows)
        a, b = rows.columns[where][first:end], rows.columns[against][first:end]
        if expr.name not in ("n_where", "n_against") and (
            len(a) - a.count(None) < fewest or len(b) - b.count(None) < fewest
        ):
            return None
        groups = [None] * (end - first) if stratum is None else rows.columns[stratum][first:end]
        allow = [True] * (end - first) if allowed is None else rows.columns[allowed][first:end]
        return _number(expr, _readings(a, groups, allow), _readings(b, groups, allow), fewest)

    return compute


def _readings(side: list[Any], groups: list[Any], allow: list[bool]) -> Readings:
    return [(x, g) for x, g, ok in zip(side, groups, allow, strict=True) if ok and x is not None]


def _number(expr: Difference, first: Readings, second: Readings, fewest: int) -> float | None:
    plain_a, plain_b = [x for x, _ in first], [x for x, _ in second]
    a, b = (plain_a, plain_b) if expr.within_each is None else _level_strata(first, second)
    if expr.name == "n_where":
        return float(len(a))
    if expr.name == "n_against":
        return float(len(b))
    if min(len(a), len(b)) < fewest:
        return None
    if expr.name == "plain_difference":
        a, b = plain_a, plain_b
    if expr.name == "t":
        return welch(b, a)
    return math.fsum(a) / len(a) - math.fsum(b) / len(b)


# Cover over rows: which indicators of a set were seen.


def cover_of(expr: Cover, columns: Columns) -> Compute:
    """A function that gives the weight of the different indicators seen."""
    pick_kept = None
    if expr.window.keep is not None:
        pick_kept = picker("found", expr.items, expr.window, columns)
        column, left = 0, cutter(expr.window, columns.cap)
    else:
        column = columns.column("found", expr.items, expr.window.where)
        since = None if expr.window.since is None else columns.column("true", expr.window.since)
        left = slicer(expr.window, columns.cap, since)
    bits = [(1 << j, weight) for j, weight in enumerate(expr.weights)]
    if expr.window.keep is None and expr.window.at_least == 0 and expr.window.skip is None:
        return _last_seen(column, left, bits)

    def compute(rows: Rows) -> float | None:
        if pick_kept is not None:
            seen = pick_kept(rows).values
        else:
            first, end, _, _ = left(rows)
            seen = rows.columns[column][first:end]
        if expr.window.at_least and len(seen) - seen.count(None) < expr.window.at_least:
            return None
        together = 0
        for mask in set(seen):
            together |= mask or 0
        return math.fsum(weight for bit, weight in bits if together & bit)

    return compute


def _last_seen(column: int, left: Callable[[Rows], Cut], bits: list[tuple[int, float]]) -> Compute:
    """The weight of indicators seen in a window that ends here: each is in it if it was seen last in it."""

    def compute(rows: Rows) -> float:
        upto, last = rows.distances.get(column) or (0, dict[int, int]())
        length, seen = len(rows.times), rows.columns[column]
        past = rows.n - length
        for i in range(max(0, upto - past), length):
            if mask := seen[i]:
                for bit, _ in bits:
                    if mask & bit:
                        last[bit] = past + i
        rows.distances[column] = (rows.n, last)
        first = left(rows)[0] + past
        return math.fsum(weight for bit, weight in bits if last.get(bit, -1) >= first)

    return compute


# Whether a contrast is far below its limit, from running sums: most events then need no exact look.
#
# Sums that are added to and taken from drift by rounding; so they only ever say "far", with a margin many
# times larger, and are made anew now and then.

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
        item = sums.strata.setdefault(group, [0, 0.0, 0, 0.0])
        for k, x in ((0, a), (2, b)):
            if x is not None:
                item[k] += sign
                item[k + 1] += sign * x
                sums.largest = max(sums.largest, abs(x))
        if not item[0] and not item[2]:
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
