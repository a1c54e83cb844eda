"""Which events the measures of a level counted when it opened: its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..statistics import run, top
from ..tree import Cover, Difference, Expr, Measure
from .layout import Measures
from .pick import kind_of, picker, slicer
from .rows import Mark, Rows
from .surprise import spanned

MOST_COUNTED = 20
Counter = Callable[[Rows], list[Mark]]


def counted(counters: Iterable[Counter], rows: Rows, opened: Mark) -> tuple[Mark, ...]:
    """The newest 20 events before the opening one that a measure counted, in order."""
    limit = opened.order
    found = {mark.id: mark for count in counters for mark in count(rows) if mark.order < limit}
    return tuple(sorted(found.values(), key=lambda mark: mark.order)[-MOST_COUNTED:])


def counter(expr: Expr, measures: Measures) -> Counter:
    """A function that gives the events a measure counts where its history stands."""
    assert isinstance(expr, (Measure, Cover, Difference))
    columns = measures.columns_for(expr)
    find: Counter
    match expr:
        case Measure(name="surprise_count"):
            column = columns.column("true", expr.of)
            span = int((expr.option("span") or (0,))[0])

            def find(rows: Rows) -> list[Mark]:
                return [rows.marks[i] for i in spanned(rows, column, columns.cap, span)]

        case Measure():
            pick = picker(kind_of(expr), expr.of, expr.window, columns)

            def find(rows: Rows) -> list[Mark]:
                picked = pick(rows)
                return [picked.marks[i] for i in _wanted(expr, picked.positions, picked.values)]

        case Cover():
            pick = picker("found", expr.items, expr.window, columns)

            def find(rows: Rows) -> list[Mark]:
                picked = pick(rows)
                pairs = zip(picked.positions, picked.values, strict=True)
                return [picked.marks[i] for i, mask in pairs if mask]

        case Difference():
            find = _sides(expr, columns)
    over_subject = columns is measures.whole
    return lambda rows: find(rows.whole if over_subject and rows.whole is not None else rows)


def _wanted(measure: Measure, positions: list[int], values: list[Any]) -> list[int]:
    if measure.condition:
        return [i for i, value in zip(positions, values, strict=True) if value is True]
    if measure.name == "run":
        return positions[len(positions) - int(run(values)) :]
    if measure.name in ("top", "top_count"):
        most = top(values)
        return [i for i, value in zip(positions, values, strict=True) if value == most]
    return positions


def _sides(expr: Difference, columns: Any) -> Counter:
    where = columns.column("number", expr.of, expr.where)
    against = columns.column("number", expr.of, expr.against)
    allowed = None if expr.window.where is None else columns.column("true", expr.window.where)
    since = None if expr.window.since is None else columns.column("true", expr.window.since)
    left = slicer(expr.window, columns.cap, since)

    def find(rows: Rows) -> list[Mark]:
        first, end, _, _ = left(rows)
        sides = rows.columns[where], rows.columns[against]
        return [
            rows.marks[i]
            for i in range(first, end)
            if any(side[i] is not None for side in sides) and (allowed is None or rows.columns[allowed][i])
        ]

    return find
