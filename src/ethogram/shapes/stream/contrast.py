"""Contrast over rows: the two sides are two columns, and its five numbers are computed together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..contrast import Readings, _level_strata
from ..statistics import welch
from ..tree import Difference
from .pick import Columns, slicer
from .rows import Rows

Sides = tuple[list[float], list[float], list[float], list[float]]
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
