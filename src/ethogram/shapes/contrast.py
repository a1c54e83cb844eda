"""Contrast: do two groups of readings differ, by how much, and how surely."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..records import Value
from .evaluate import NO_CHAIN, number, reader
from .history import History
from .measure import holds, selector
from .statistics import welch
from .tree import Difference

Readings = list[tuple[float, Value | None]]
"""Values with the stratum each is in; None where that is not known."""


def sides(expr: Difference, cap: int) -> Callable[[History, int], tuple[Readings, Readings]]:
    """A function that gives the readings on each side of the window."""
    select, of = selector(expr.window, cap), reader(expr.of, cap)
    where, against = holds(expr.where, cap), holds(expr.against, cap)
    stratum = reader(expr.within_each, cap) if expr.within_each is not None else None
    assert where is not None
    assert against is not None

    def read(history: History, at: int) -> tuple[Readings, Readings]:
        history, at, seen = select(history, at)
        first: Readings = []
        second: Readings = []
        for i in seen.left:
            value = number(of(history, i, NO_CHAIN))
            group = None if stratum is None else stratum(history, i, NO_CHAIN)
            if value is None:
                continue
            if where(history, i):
                first.append((value, group))
            if against(history, i):
                second.append((value, group))
        return first, second

    return read


def difference_reader(expr: Difference, cap: int) -> Callable[[History, int], float | None]:
    """A function that reads one number of the contrast."""
    read_sides = sides(expr, cap)

    def read(history: History, at: int) -> float | None:
        first, second = read_sides(history, at)
        plain_first, plain_second = [x for x, _ in first], [x for x, _ in second]
        a, b = plain_first, plain_second
        if expr.within_each is not None:
            a, b = _level_strata(first, second)
        if expr.name == "n_where":
            return float(len(a))
        if expr.name == "n_against":
            return float(len(b))
        if min(len(a), len(b)) < max(2, expr.at_least):
            return None
        if expr.name == "plain_difference":
            a, b = plain_first, plain_second
        if expr.name == "t":
            return welch(b, a)
        return math.fsum(a) / len(a) - math.fsum(b) / len(b)

    return read


def _level_strata(first: Readings, second: Readings) -> tuple[list[float], list[float]]:
    """Readings minus the midpoint of their stratum's two means; strata lacking a side are dropped."""
    groups = {group for _, group in first} & {group for _, group in second}
    middle = {group: (_mean(first, group) + _mean(second, group)) / 2 for group in groups - {None}}
    return (
        [x - middle[group] for x, group in first if group in middle],
        [x - middle[group] for x, group in second if group in middle],
    )


def _mean(readings: Readings, group: Value | None) -> float:
    values = [x for x, one in readings if one == group]
    return math.fsum(values) / len(values)
