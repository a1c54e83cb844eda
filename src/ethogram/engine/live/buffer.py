"""The newest events of one history as columns, and the windows over them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from ...language.ast import Duration, Events, Expr, Measure, Window
from ...models import Event, Value
from ..window import View

# Rows: the newest events of one history, as columns of what the measures ask of each.


class Mark(NamedTuple):
    """What is kept of an event that may become evidence: no text, no attributes."""

    id: str
    at: datetime
    us: int
    seq: int
    readings: Mapping[str, Value]
    scorers: Mapping[str, str]
    widths: Mapping[str, int]

    @property
    def order(self) -> tuple[int, int, str]:
        """What events of a history are sorted by."""
        return (self.us, self.seq, self.id)


class Kept(NamedTuple):
    """An event kept by `keep=n`, however far back."""

    position: int
    us: int
    value: Any
    mark: Mark


def _nothing(name: str) -> None:
    return None


class Rows:
    """The newest events of one history, and what is read at the one it stands at.

    `n` counts all events so far; lists hold the newest of them, the current one last. `whole` is the
    subject's own history, of which this is a part.
    """

    __slots__ = (
        "age", "columns", "deadline_text", "distances", "evaluated", "event", "first", "gap", "get", "kept",
        "marks", "memo", "n", "running", "timed", "times", "us", "whole",
    )  # fmt: skip

    def __init__(self, timed: bool, columns: int, kept: int, whole: Rows | None = None) -> None:
        self.timed = timed
        self.n = 0
        self.us = self.first = 0
        self.times: list[int] = []
        self.marks: list[Mark] = []
        self.columns: list[list[Any]] = [[] for _ in range(columns)]
        self.kept: list[list[Kept]] = [[] for _ in range(kept)]
        self.memo: list[Any] = []
        self.whole = whole
        self.gap: float | None = None
        self.age: float | None = None
        self.evaluated = False
        self.event: Any = None
        self.get: Callable[[str], Any] = _nothing
        self.deadline_text: str | None = None
        self.distances: dict[int, Any] = {}
        """What measures remember to save work; made anew where it is lacking, so it is not saved."""
        self.running: list[Any] = [-1]
        """What running.py adds up; likewise. The first is -1 where it is to be made anew."""


class Layout(NamedTuple):
    """How rows of a program are filled.

    `enter` (rows, event, mark, evaluated) moves a history on to its next event; `need` rows are kept, and
    no more than `most` (n + skip) of each list of kept values.
    """

    enter: Callable[[Rows, Event, Mark, bool], None]
    columns: int
    keeps: tuple[int, ...]
    need: int
    with_marks: bool
    wanted: tuple[tuple[str, Any, Any], ...] = ()
    """The columns: kind, expression, and where it counts."""
    kept: tuple[tuple[str, Any, Any, int], ...] = ()
    elapsed: bool = False
    """Whether gap or age are asked for."""


def trim(rows: Rows, need: int) -> None:
    """Forget all rows but the newest."""
    lists: list[list[Any]] = [rows.times, rows.marks, *rows.columns]
    for item in lists:
        del item[: max(0, len(item) - need)]


def keep(rows: Rows, slot: int, value: Any, most: int, mark: Mark) -> None:
    """Remember a value that `keep=n` may count, and no more than `most` (n + skip) of them."""
    kept = rows.kept[slot]
    kept.append(Kept(rows.n - 1, rows.us, value, mark))
    if len(kept) > most + 32:
        del kept[:-most]


# Windows over rows: which of the newest rows a measure looks at.

Cut = tuple[int, int, int, int | None]
"""First row and row after the last, now, and the duration of `last` where it alone decided (View)."""


def cutter(window: Window, cap: int) -> Callable[[Rows], Cut]:
    """A function that gives the rows left by cap, skip and last."""
    counts = [limit.n for limit in window.last if isinstance(limit, Events)]
    durations = [limit.us for limit in window.last if isinstance(limit, Duration)]
    back = window.skip.us if isinstance(window.skip, Duration) else 0
    skip = window.skip.n if isinstance(window.skip, Events) else 0
    most = min(counts, default=None)
    duration = min(durations, default=None)

    def newest(rows: Rows) -> Cut:
        rows_now = len(rows.times)
        start = max(0, rows_now - cap)
        end = rows_now - skip
        if end < start:
            end = start
        first = end - most if most is not None else start
        return (first if first > start else start), end, rows.us, None

    if duration is None and not back:
        return newest

    def cut(rows: Rows) -> Cut:
        times = rows.times
        rows_now = len(times)
        end, now = rows_now - skip, rows.us - back
        if back:
            end = bisect_right(times, now, 0, rows_now)
        start = rows_now - cap if rows_now > cap else 0
        end = max(end, start)
        first = start if most is None else max(start, end - most)
        if duration is None or (not rows.timed and most is not None):
            return first, end, now, None
        inside = bisect_right(times, now - duration, 0, end)
        if inside >= first:
            return inside, end, now, duration
        return first, end, now, None

    return cut


def rows_needed(window: Window, cap: int) -> int:
    """How many of the newest rows a window may look at; 0 with keep, which has a list of its own."""
    if window.keep is not None:
        return 0
    counts = [limit.n for limit in window.last if isinstance(limit, Events)]
    if not counts or isinstance(window.skip, Duration):
        return cap
    return min(cap, min(counts) + (window.skip.n if window.skip is not None else 0))


# Picking: the rows that a window leaves, and the values a measure counts in them.

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
    from ...language.aggregates import MEASURES

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
            kept = [item for item in kept[-most - skip :] if item.position < rows.n - skip]
        kept = kept[-most:] if most else []
        places = list(range(len(kept)))
        times = _Times([item.us for item in kept], rows.timed)
        view = View(rows.us, places, (), None)
        return Picked(times, view, places, [item.value for item in kept], [item.mark for item in kept])

    return pick
