"""Picking: the rows that a window leaves, and the values a measure counts in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ..tree import Expr, Measure, Window
from ..windows import View
from .rows import Mark, Rows
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
