"""Measures over rows: each reads slices of columns, so that most of the work is done by Python itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import statistics as st
from ..measure import _PLAIN, _checked, _surprise, _value
from ..tree import Measure
from . import quick
from .pick import Columns, Compute, kind_of, picker, slicer
from .rows import Rows
from .surprise import surprise_count_of
from .truths import LOGICAL


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
        return lambda values: _checked(quick.excess(values, over))
    if expr.name in ("swings", "swing_growth"):
        by = (expr.option("by") or (0.0,))[0]
        of = quick.swings if expr.name == "swings" else quick.swing_growth
        return lambda values: _checked(of(values, by))
    plain = quick.MEASURES.get(expr.name) or _PLAIN[expr.name]
    return lambda values: _checked(plain(values))
