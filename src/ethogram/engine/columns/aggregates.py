"""Aggregates over all windows at once: sums by prefix sums, extremes by tables, the rest window by window.

The formulas are those of `engine/aggregates.py`; only how sums and slices are found is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...language.aggregates import options_of
from ...language.ast import Compare, Cover, Difference, Expr, Measure, Number
from ...language.visitor import needs_time
from ...models.timestamps import HOUR
from ..aggregates import (
    AGGREGATES,
    Sides,
    contrast,
    count_surprise,
    fading,
    rise,
    root,
    surprise,
    top,
)
from .expressions import Reader
from .histories import group_codes
from .numbers import as_floats, counts, prefix
from .table import Column, Floats, Ints, Mask
from .windows import Ranges, Selection, after, window_value

ROOT = 2.0**31
"""Integers below this have squares with room in an int64."""
ROWS_AT_ONCE = 1_000_000
"""Cells of a table of windows by strata that are held at a time."""


def number_aggregate(reader: Reader, expr: Measure | Cover | Difference) -> Floats | float:
    """An aggregate that gives a number, at the rows of a reader."""
    timed = reader.histories.timed
    if not timed and (needs_time(expr) or (isinstance(expr, Measure) and expr.name in ("rate", "span"))):
        return math.nan
    with np.errstate(all="ignore"):
        if isinstance(expr, Cover):
            return _cover(reader, expr)
        if isinstance(expr, Difference):
            return _difference(reader, expr)
        if expr.name in KERNELS:
            selection = Selection(reader, expr)
            x: Floats = KERNELS[expr.name](selection, expr)
            x[selection.n < expr.window.at_least] = np.nan
            return x
    if expr.name == "surprise_count":
        return per_row(reader, expr, lambda some: _surprise_count(some, expr))
    return per_row(reader, expr, lambda some: _sliced(some, expr))


def value_aggregate(reader: Reader, expr: Measure) -> Column:
    """`top`, `oldest` and `newest`, which may give texts."""
    if needs_time(expr) and not reader.histories.timed:
        return Column()
    if expr.name == "top":
        at = per_row(reader, expr, lambda some: _top(Selection(some, expr), expr))
        known, histories = at == at, Ranges(reader, expr.window).histories
    else:
        selection = Selection(reader, expr)
        known, histories = (selection.n > 0) & (selection.n >= expr.window.at_least), selection.histories
        pick = selection.first if expr.name == "oldest" else selection.last - 1
        at = np.full(reader.size, -1)
        at[known] = selection.at[pick[known]]
    column = window_value(Reader(histories, reader.cap, np.where(known, at, 0).astype(np.int64)), expr.of)
    num = None if column.num is None else np.where(known, column.num, np.nan)
    return Column(num, None if column.code is None else np.where(known, column.code, -1))


def newest_values(reader: Reader, expr: Measure) -> list[Any]:
    """`values`: for each row the newest different values; None where it is absent."""
    if needs_time(expr) and not reader.histories.timed:
        return [None] * reader.size
    selection = Selection(reader, expr)
    values = selection.readings.to_list(reader.histories.block.table.texts, len(selection.at))
    windows = zip(selection.first.tolist(), selection.last.tolist(), strict=True)
    formula = AGGREGATES["values"].formula
    return [
        formula(values[first:last], {}) if last - first >= expr.window.at_least else None
        for first, last in windows
    ]


def per_row(reader: Reader, expr: Expr, compute: Callable[[Reader], Floats]) -> Floats:
    """A costly aggregate at the rows of a reader; each position is computed once."""
    here = reader.histories

    def make() -> tuple[Floats, Mask]:
        return np.full(here.size, np.nan), np.zeros(here.size, bool)

    values, done = here.once(("per row", expr, reader.cap), make)
    at = reader.positions
    wanted = np.zeros(here.size, bool)
    wanted[at] = True
    missing = np.flatnonzero(wanted & ~done)
    if len(missing):
        values[missing] = compute(Reader(here, reader.cap, missing))
        done[missing] = True
    floats: Floats = values[at]
    return floats


# From sums.


def _from_sum(selection: Selection, expr: Measure) -> Floats:
    """An aggregate whose formula takes the count and the sum of the readings alone."""
    s = selection.trues if expr.name in ("count", "share") else as_floats(selection.sums("s", 1))
    options = options_of(expr)
    floats: Floats = AGGREGATES[expr.name].formula(selection.n, s, 0, 0, options)
    # Numbers of a pattern may be of any size.
    return np.where(np.isfinite(floats), floats, np.nan) if options else floats


def _std(selection: Selection, expr: Measure) -> Floats:
    n = selection.n.astype(np.int64, copy=False)
    # What has room in the end may wrap around on the way.
    room = selection.largest * 1e6 * selection.widest < ROOT
    s, q = (selection.sums(what, 0.0 if room else math.inf) for what in "sq")
    # In place: both are made for this, and new arrays would cost as much as the sums.
    q *= n
    s *= s
    q -= s
    if q.dtype == object:
        v: Floats = np.array([root(value) for value in q], np.float64)
    else:
        v = q.astype(np.float64)
        np.sqrt(v, out=v)
    v /= n * 1e6
    return v


def _rise(selection: Selection, expr: Measure) -> Floats:
    n = selection.n.astype(np.int64, copy=False)
    s, t = selection.sums("s", 16.0 * max(1, selection.widest)), selection.sums("t", 16.0)
    if s.dtype == object or t.dtype == object:
        s, t, n = s.astype(object), t.astype(object), n.astype(object)
        top_, below = 6 * (2 * t - (n - 1) * s), n * (n + 1)
        floats = as_floats(top_) / (as_floats(below) * 1e6)
    else:
        floats = rise(n, s, t)
    return np.where(selection.n > 1, floats, np.nan)


def _extreme(selection: Selection, expr: Measure) -> Floats:
    """The smallest (or largest) reading of each window.

    Table k holds the extreme of the 2^k readings from each on; two overlapping pieces cover any window.
    """
    n, first, last = selection.n, selection.first, selection.last
    out = np.full(len(n), np.nan)
    table = selection.readings.num
    if table is None or not len(table):
        return out
    join = np.minimum if expr.name == "min" else np.maximum
    width, widest = 1, int(n.max(initial=0))
    while True:
        mine = np.flatnonzero((n >= width) & (n < 2 * width))
        if len(mine):
            out[mine] = join(table[first[mine]], table[last[mine] - width])
        if 2 * width > widest:
            return out
        wider = join(table[:-width], table[width:])
        table, width = wider, 2 * width


def _run(selection: Selection, expr: Measure) -> Floats:
    tokens = selection.tokens
    if not len(tokens):
        return np.zeros(len(selection.n))

    def make() -> Ints:
        """For each reading where the run that it ends began; runs may cross histories."""
        new = np.append(True, tokens[1:] != tokens[:-1])
        return np.maximum.accumulate(np.where(new, np.arange(len(tokens)), 0))

    began = selection.once("runs", make)[np.maximum(selection.last - 1, 0)]
    return np.where(selection.n > 0, selection.last - np.maximum(began, selection.first), 0).astype(float)


def _rate(selection: Selection, expr: Measure) -> Floats:
    ranges, times = selection.ranges, selection.histories.times
    count = selection.trues
    hours = (ranges.now - times[np.minimum(ranges.cut, len(times) - 1)]) / HOUR
    x = np.where((selection.n > 0) & (hours > 0), count / hours, np.nan)
    if ranges.whole is not None and ranges.duration is not None:
        x = np.where(ranges.whole, count / (ranges.duration / HOUR), x)
    return x


def _span(selection: Selection, expr: Measure) -> Floats:
    first, last, at = selection.first, selection.last, selection.at
    if selection.condition:
        before = selection.true_before
        first, last = before[selection.ranges.low], before[selection.ranges.high]
        at = np.flatnonzero(selection.true if selection.valid is None else selection.true & selection.valid)
    if not len(at):
        return np.full(len(first), np.nan)
    times = selection.histories.times[at]
    x = (times[np.maximum(last - 1, 0)] - times[np.minimum(first, len(at) - 1)]) / 1e6
    return np.where(last > first, x, np.nan)


KERNELS: dict[str, Callable[[Selection, Measure], Floats]] = {
    **{name: _from_sum for name, aggregate in AGGREGATES.items() if aggregate.sums == "s"},
    "std": _std,
    "rise": _rise,
    "min": _extreme,
    "max": _extreme,
    "run": _run,
    "rate": _rate,
    "span": _span,
}
"""Aggregates that are computed for all windows at once."""


# Window by window.


def _sliced(reader: Reader, expr: Measure) -> Floats:
    """An aggregate of the list of values in each window, by its formula."""
    selection = Selection(reader, expr)
    if expr.name == "surprise":
        return _surprise(reader, expr, selection)
    rows = np.flatnonzero(selection.n >= expr.window.at_least)
    out = np.full(reader.size, np.nan)
    first, last = selection.first[rows].tolist(), selection.last[rows].tolist()
    tokens = selection.tokens
    # A list is quicker to cut, but not worth making for a few short windows.
    values = tokens.tolist() if int(selection.n[rows].sum()) > len(tokens) else tokens
    formula, options = AGGREGATES.get(expr.name), options_of(expr)
    if expr.name == "fading":
        half, now = options["half"][0], selection.ranges.now[rows].tolist()
        times = selection.histories.times[selection.at]
    for k, (row, a, b) in enumerate(zip(rows.tolist(), first, last, strict=True)):
        part = values[a:b] if isinstance(values, list) else values[a:b].tolist()
        try:
            if expr.name == "fading":
                x = fading(part, (now[k] - times[a:b]).tolist(), half)
            else:
                assert formula is not None
                x = formula.formula(part, options)
        except OverflowError:
            x = None
        if x is not None and math.isfinite(x):
            out[row] = x
    return out


def _surprise(reader: Reader, expr: Measure, selection: Selection) -> Floats:
    prior = options_of(expr)["prior"]
    here = Reader(selection.histories, reader.cap, selection.ranges.at).number(expr.of)
    xs = np.broadcast_to(here, (reader.size,)).tolist()
    n, s, q = selection.n.tolist(), selection.sums("s", 1).tolist(), selection.sums("q", 1).tolist()
    out = [
        surprise(x, count, total, squares, prior) if x == x and count >= expr.window.at_least else None
        for x, count, total, squares in zip(xs, n, s, q, strict=True)
    ]
    return np.array([math.nan if x is None else x for x in out], np.float64)


def _top(selection: Selection, expr: Measure) -> Floats:
    """For each window the position of the newest reading that has its most frequent value, or NaN."""
    tokens, times = selection.tokens.tolist(), options_of(expr)["times"][0]
    out = np.full(len(selection.n), np.nan)
    for row, (first, last) in enumerate(zip(selection.first.tolist(), selection.last.tolist(), strict=True)):
        part = tokens[first:last]
        most = top(part, times) if len(part) >= expr.window.at_least else None
        if most is not None:
            out[row] = last - 1 - part[::-1].index(most)
    some = out == out
    out[some] = selection.at[out[some].astype(np.int64)]
    return out


def _surprise_count(reader: Reader, expr: Measure) -> Floats:
    here, at = reader.histories, reader.positions
    options = options_of(expr)
    (span,), (last,), (k, h) = map(int, options["span"]), map(int, options["last"]), options["prior"]
    before = counts(reader.over(here).holds(expr.of))
    now, start, number = here.times[at], here.start_of(at), here.number_of(at)
    oldest = np.maximum(start, at + 1 - reader.cap)
    cut = at + 1 - start > reader.cap
    # Windows are (now - span, now] and (now - span - last, now - span], cut to the newest events.
    turn = np.maximum(after(here, at, span), oldest)
    past = np.minimum(np.maximum(after(here, at, span + last), oldest), turn)
    begin = np.maximum(now - span - last, np.where(cut, here.times[oldest], here.first_times[number]))
    hours = np.maximum(0, now - span - begin) / HOUR
    unknown = cut & (here.times[np.maximum(oldest - 1, 0)] > now - span)
    columns = (before[at + 1] - before[turn], before[turn] - before[past], hours, unknown)
    out = [
        None if absent else count_surprise(count, k + earlier, h + length, span / HOUR)
        for count, earlier, length, absent in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return np.array([math.nan if x is None else x for x in out], np.float64)


# Cover and contrast.


def _cover(reader: Reader, expr: Cover) -> Floats:
    """The weights of the indicators above 0 in each window, added up."""
    selection = Selection(reader, expr)
    marks: list[Mask] = []
    valid = True if selection.valid is None else selection.valid
    for item in expr.items:
        held = selection.reader.holds(Compare(">", item, Number(0.0))) & valid
        marks.append(selection.ranges.over(counts(held)) > 0 if held.any() else np.zeros(reader.size, bool))
    x = np.zeros(reader.size)
    for weight, seen in zip(expr.weights, marks, strict=True):
        x += weight * seen
    if not all((weight * 1024).is_integer() for weight in expr.weights):
        # What does not add up exactly is added exactly.
        several = np.flatnonzero(np.sum(marks, axis=0) > 2)
        for row in several.tolist():
            x[row] = math.fsum(w for w, seen in zip(expr.weights, marks, strict=True) if seen[row])
    x[selection.n < expr.window.at_least] = np.nan
    return x


def sides_of(selection: Selection, expr: Difference) -> tuple[Mask, Mask]:
    """The readings on each side of a contrast, at all positions of a selection."""
    sides = selection.reader.holds(expr.where), selection.reader.holds(expr.against)
    first, second = (side if selection.valid is None else side & selection.valid for side in sides)
    return first, second


class _Stratum:
    """Counts and sums of the two sides of a contrast in one stratum, from which windows are read."""

    def __init__(self, whole: Any, first: Mask, second: Mask) -> None:
        self.tables = [
            sums
            for mask in (first, second)
            for sums in (counts(mask), prefix(whole * mask), prefix(whole * whole * mask))
        ]

    def over(self, ranges: Ranges) -> list[Any]:
        """n, sum and sum of squares of the first side, then of the second."""
        return [ranges.over(table) for table in self.tables]


def _difference(reader: Reader, expr: Difference) -> Floats:
    """One number of a contrast."""
    ranges = Ranges(reader, expr.window)
    strata = _strata(reader.over(ranges.histories), expr)
    if len(strata) == 2 and expr.name != "t":
        return _two_means(expr, strata[1].over(ranges), strata[0].over(ranges))
    return per_row(reader, expr, lambda some: _contrasts(some, expr, strata))


def _two_means(expr: Difference, stratum: list[Any], everything: list[Any]) -> Floats:
    """A difference or a count where there is one stratum."""
    n1, s1, _, n2, s2, _ = stratum
    both = (n1 > 0) & (n2 > 0) if expr.within_each is not None else True
    if expr.name in ("n_where", "n_against"):
        return np.where(both, n1 if expr.name == "n_where" else n2, 0).astype(np.float64)
    enough = np.minimum(n1, n2) >= max(2, expr.at_least)
    if expr.name == "plain_difference":
        n1, s1, _, n2, s2, _ = everything
    n1, n2 = (np.maximum(n, 1).astype(s1.dtype) for n in (n1, n2))
    x = as_floats(s1 * n2 - s2 * n1) / (as_floats(n1 * n2) * 1e6)
    return np.where(enough, x, np.nan)


def _contrasts(reader: Reader, expr: Difference, strata: list[_Stratum]) -> Floats:
    """Row by row, some at a time where there are many strata."""
    out = np.full(reader.size, np.nan)
    step = max(1, ROWS_AT_ONCE // len(strata))
    for begin in range(0, reader.size, step):
        part = Reader(reader.histories, reader.cap, reader.positions[begin : begin + step])
        ranges = Ranges(part, expr.window)
        columns = [stratum.over(ranges) for stratum in strata]
        rows = _enough(columns, expr)
        sides = [[column[rows].tolist() for column in stratum] for stratum in columns]
        made = [[Sides(*row) for row in zip(*stratum, strict=True)] for stratum in sides]
        for row, (everything, *each) in zip((begin + rows).tolist(), zip(*made, strict=True), strict=True):
            strata_ = each if expr.within_each is not None else None
            x = contrast(expr.name, everything, strata_, expr.at_least)
            if x is not None:
                out[row] = x
    return out


def _enough(columns: list[list[Any]], expr: Difference) -> Ints:
    """The rows with as many readings on both sides as a contrast needs; all of them where it counts."""
    n1, n2 = columns[0][0], columns[0][3]
    if expr.name in ("n_where", "n_against"):
        return np.arange(len(n1))
    if expr.within_each is not None:
        sides = [(each[0], each[3], (each[0] > 0) & (each[3] > 0)) for each in columns[1:]]
        n1 = sum((first * both for first, _, both in sides), np.zeros(len(n1), np.int64))
        n2 = sum((second * both for _, second, both in sides), np.zeros(len(n2), np.int64))
    return np.flatnonzero(np.minimum(n1, n2) >= max(2, expr.at_least))


def _strata(reader: Reader, expr: Difference) -> list[_Stratum]:
    """Everything as one stratum, then each that has readings on both sides in some history."""

    def make() -> list[_Stratum]:
        selection = Selection(reader, expr)
        first, second = sides_of(selection, expr)
        whole = selection.whole
        # Products of a sum and a count, and squares, must have room.
        widest = min(reader.histories.longest, expr.window.keep or reader.cap)
        if selection.largest * 1e6 * max(1, widest) >= ROOT:
            whole = whole.astype(object)
        everything = _Stratum(whole, first, second)
        if expr.within_each is None:
            return [everything, everything]
        codes = group_codes(reader.value(expr.within_each), reader.size)
        number = _numbered(reader.histories.which, codes, first, second)
        local = range(int(number.max(initial=-1)) + 1)
        return [everything, *(_Stratum(whole, first & (number == k), second & (number == k)) for k in local)]

    token = ("strata", expr.of, expr.where, expr.against, expr.within_each, expr.window.where, reader.cap)
    strata: list[_Stratum] = reader.histories.once(token, make)
    return strata


def _numbered(which: Ints, codes: Ints, first: Mask, second: Mask) -> Ints:
    """The number of each position's stratum among those of its history that have both sides, else -1."""
    width = int(codes.max(initial=0)) + 1
    pairs = which * width + codes
    known = codes >= 0
    both = np.intersect1d(pairs[first & known], pairs[second & known])
    owner = both // width
    begins = np.searchsorted(owner, owner, "left")
    place = np.searchsorted(both, pairs)
    index = np.minimum(place, max(len(both) - 1, 0))
    if not len(both):
        return np.full(len(which), -1)
    return np.where(known & (both[index] == pairs), index - begins[index], -1)
