"""Measures over rows: each reads slices of columns, so that most of the work is done by Python itself."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from .. import statistics as st
from ..measure import _PLAIN, HOUR, _checked, _signed, _surprise, _value
from ..tails import negative_binomial_tails
from ..tree import Cover, Expr, Measure, Window
from ..truth import equal
from ..windows import View
from . import quick
from .rows import Mark, Rows
from .source import LOGICAL
from .window import Cut, cutter

Compute = Callable[[Rows], Any]


class Columns(Protocol):
    """Where the values of an expression are found; asked for while a program is laid out."""

    cap: int

    def column(self, kind: str, of: Any, where: Expr | None = None) -> int: ...

    def kept(self, kind: str, of: Any, where: Expr | None, most: int) -> int: ...


class Picked(NamedTuple):
    """What steps 1 to 6 of a window leave: rows (or places in a list of kept ones), and their values."""

    rows: Any
    view: View
    positions: list[int]
    values: list[Any]
    marks: list[Mark]


class _Times(NamedTuple):
    """Stands in for a history where kept values are read."""

    times: list[int]
    timed: bool


def kind_of(expr: Measure) -> str:
    """How a measure's values are stored: as numbers, or as they are."""
    from ..measures import MEASURES

    return "number" if MEASURES[expr.name].of == "number" and not expr.condition else "value"


def slicer(window: Window, cap: int, since: int | None) -> Callable[[Rows], Cut]:
    """A function that gives the rows left by cap, skip, last and since."""
    cut = cutter(window, cap)
    if since is None:
        return cut
    column = since

    def after(rows: Rows) -> Cut:
        first, end, now, whole = cut(rows)
        seen = rows.columns[column][first:end]
        seen.reverse()
        return (end - seen.index(True) if True in seen else first), end, now, whole

    return after


def picker(
    kind: str, of: Any, window: Window, columns: Columns, *, name: str = ""
) -> Callable[[Rows], Picked]:
    """A function that gives the rows and values a measure counts."""
    if window.keep is not None:
        return _kept_picker(kind, of, window, columns)
    where = columns.column(kind, of, window.where)
    since = None if window.since is None else columns.column("true", window.since)
    cut, left = cutter(window, columns.cap), slicer(window, columns.cap, since)

    def pick(rows: Rows) -> Picked:
        first, end, now, whole = left(rows)
        column = rows.columns[where]
        positions = [i for i in range(first, end) if column[i] is not None]
        oldest = cut(rows)[0] if since is not None else first
        view = View(now, range(oldest, end), (), whole)
        return Picked(rows, view, positions, [column[i] for i in positions], rows.marks)

    return pick


def _kept_picker(kind: str, of: Any, window: Window, columns: Columns) -> Callable[[Rows], Picked]:
    skip = getattr(window.skip, "n", 0)
    most = window.keep or 0
    slot = columns.kept(kind, of, window.where, most + skip)

    def pick(rows: Rows) -> Picked:
        kept = rows.kept[slot]
        if skip:
            kept = [one for one in kept[-most - skip :] if one.position < rows.n - skip]
        kept = kept[-most:] if most else []
        places = list(range(len(kept)))
        times = _Times([one.us for one in kept], rows.timed)
        view = View(rows.us, places, (), None)
        return Picked(times, view, places, [one.value for one in kept], [one.mark for one in kept])

    return pick


def compute_of(expr: Measure, columns: Columns) -> Compute:
    """A function that gives a measure's value at the row its history stands at."""
    if expr.name == "surprise_count":
        return _surprise_count(expr, columns)
    if expr.window.keep is None and _is_fast(expr):
        return _fast(expr, columns)
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


def _is_fast(expr: Measure) -> bool:
    if expr.condition:
        # What is only sometimes a condition could be 1.0, which Python takes for True.
        return expr.name in ("count", "share") and isinstance(expr.of, LOGICAL)
    return expr.name in _PLAIN or expr.name in ("usual", "count", "excess")


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
    if expr.name == "excess":
        over = (expr.option("over") or (0.0,))[0]
        return lambda values: _checked(quick.excess(values, over))
    plain = quick.MEASURES.get(expr.name) or _PLAIN[expr.name]
    return lambda values: _checked(plain(values))


def spanned(rows: Rows, column: int, cap: int, span: int) -> list[int]:
    """The rows in the span of a surprise_count at which its condition is true."""
    seen, now = rows.columns[column], rows.us
    oldest = max(0, len(rows.times) - cap)
    first = bisect_right(rows.times, now - span, oldest)
    return [i for i in range(first, len(rows.times)) if seen[i] is True]


def _surprise_count(expr: Measure, columns: Columns) -> Compute:
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
        if shape <= 0 or rate <= 0:
            return None
        exposure = span / HOUR
        below, upper = negative_binomial_tails(count, shape, rate, exposure)
        usual = shape * exposure / rate
        if equal(count, usual):
            return 0.0
        return _signed(count - usual, min(1.0, 2 * min(below, upper)))

    return compute


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
