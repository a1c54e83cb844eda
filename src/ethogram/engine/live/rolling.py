"""Rolling windows: readings of a history as columns with running integer sums, and aggregates over them.

A column holds the readings of one expression, without those that `where` leaves out or that are absent. It is
read on demand (events in between are still in the history), and sums of a window are differences
of running sums: integers, so nothing drifts and any position can be queried.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from ...language.ast import (
    Cover,
    Difference,
    Duration,
    Elapsed,
    Events,
    Expr,
    Measure,
    Window,
)
from ...language.visitor import MEASURES, walk
from ...models.event import Event, millionths
from ..history import History
from .expressions import Read, holds, reader

HUGE = 1e308
"""Numbers beyond this are no readings."""

# Columns.


class Series:
    """What a column holds: the readings of an expression, where a condition holds.

    `sums`: the running sums kept, some of s, q and t. `keep`: so many readings are kept however old they are.
    `key`: identifies the series.
    """

    __slots__ = ("keep", "key", "read", "sums")

    def __init__(self, read: Read, sums: str = "", keep: int = 0, key: Any = None) -> None:
        self.read, self.sums, self.keep, self.key = read, sums, keep, key

    def column(self, history: History, end: int) -> Column:
        """The column of a history, read on up to a position."""
        column: Column | None = history.columns.get(self)
        if column is None:
            column = history.columns[self] = Column(self)
        if column.next < end:
            column.extend(history, end)
        return column


def converted(kind: str, of: Read, where: Expr | None) -> Read:
    """A function that gives a reading as a column holds it, or None where there is none.

    `kind`: number (millionths), value (any, numbers rounded), raw (any, as it is), truth, true (where a
    condition is true) or present (true where there is a reading).
    """

    def read(event: Event, at: int, history: History) -> Any:
        value = of(event, at, history)
        if value is None:
            return None
        if kind == "number":
            return None if value.__class__ is str or not -HUGE < value < HUGE else millionths(value)
        if kind == "value" and value.__class__ is float:
            return millionths(value) / 1e6 if -HUGE < value < HUGE else None
        if kind == "present":
            return True
        return None if kind == "true" and value is not True else value

    if where is None:
        return of if kind in ("raw", "truth") else read
    condition = holds(where)
    return lambda event, at, history: read(event, at, history) if condition(event, at, history) else None


class Column:
    """Readings in order. Running sums have one item more than there are readings."""

    __slots__ = ("events", "next", "positions", "q", "s", "series", "started", "t", "values")

    def __init__(self, series: Series) -> None:
        self.series, self.next, self.started = series, 0, 0
        self.positions: list[int] = []
        self.values: list[Any] = []
        self.events: list[Event] = []
        self.s, self.q, self.t = [0], [0], [0]

    def extend(self, history: History, end: int) -> None:
        """Read on up to a position."""
        read, base = self.series.read, history.base
        for position in range(self.next if self.next > base else base, end):
            event = history.events[position - base]
            value = read(event, position, history)
            if value is not None:
                self.add(position, value, event)
        self.next = end

    def add(self, position: int, value: Any, event: Event) -> None:
        """One reading more."""
        series = self.series
        sums = series.sums
        if sums:
            if sums == "st":
                self.t.append(self.t[-1] + (self.started + len(self.values)) * value)
            elif sums == "sq":
                self.q.append(self.q[-1] + value * value)
            self.s.append(self.s[-1] + value)
        self.positions.append(position)
        self.values.append(value)
        if series.keep:
            self.events.append(event)

    def catch_up(self, history: History) -> None:
        """Read events that are about to be dropped, where later windows may need them."""
        if self.series.keep:
            self.extend(history, history.n)

    def trim(self, base: int) -> None:
        """Drop readings before a position, apart from the newest `keep`."""
        cut = bisect_left(self.positions, base)
        if self.series.keep:
            cut = min(cut, max(0, len(self.positions) - self.series.keep))
        if cut:
            self.started += cut
            del self.positions[:cut], self.values[:cut], self.events[:cut]
            del self.s[:cut], self.q[:cut], self.t[:cut]

    def sums(self, lo: int, hi: int) -> tuple[int, int, int]:
        """The sums of x, x² and k·x (k from 0) over the readings lo to hi."""
        s = self.s[hi] - self.s[lo]
        names = self.series.sums
        if names == "s":
            return s, 0, 0
        if names == "sq":
            return s, self.q[hi] - self.q[lo], 0
        return s, 0, self.t[hi] - self.t[lo] - (self.started + lo) * s

    def event(self, history: History, index: int) -> Event:
        """The event of a reading."""
        return (
            self.events[index] if self.series.keep else history.events[self.positions[index] - history.base]
        )


# Windows.

Bounds = tuple[int, int, int, int, bool]
"""Start and end (exclusive) of a window, its *now*, its start before `since`, and whether its duration alone
decided where it starts."""


def bounds_of(window: Window) -> Callable[[History, int], Bounds]:
    """A function that cuts a window at a position, `where` and absent readings aside."""
    skip_events = window.skip.n if isinstance(window.skip, Events) else 0
    skip_us = window.skip.us if isinstance(window.skip, Duration) else 0
    count = min((limit.n for limit in window.last if isinstance(limit, Events)), default=0)
    duration = min((limit.us for limit in window.last if isinstance(limit, Duration)), default=0)
    keep = window.keep is not None
    since = None if window.since is None else Series(converted("true", reader(window.since), None))

    def bounds(history: History, at: int) -> Bounds:
        times, base, end = history.times, history.base, at + 1 - skip_events
        moment = times[at - base] - skip_us
        if skip_us:
            end = bisect_right(times, moment, 0, end - base) + base
        start = 0 if keep else max(0, at + 1 - history.cap)
        if count:
            start = max(start, end - count)
        end, whole = max(start, end), False
        if duration and (history.timed or not count):
            inside = bisect_right(times, moment - duration, 0, max(0, end - base)) + base
            start, whole = max(start, inside), inside >= start
        cut = start
        if since is not None:
            met = since.column(history, end).positions
            newest = bisect_left(met, end) - 1
            if newest >= 0 and met[newest] >= start:
                start = met[newest] + 1
        return start, end, moment, cut, whole

    return bounds


Seen = tuple["Column", int, int]
"""A column, and which of its readings are in a window: from, to."""


def viewer(series: Series, window: Window) -> Callable[[History, int], Seen]:
    """A function that gives the readings of a window."""
    keep, cut = window.keep, bounds_of(window)

    def view(history: History, at: int) -> Seen:
        start, end = cut(history, at)[:2]
        column = series.column(history, end)
        positions = column.positions
        hi = len(positions) if column.next <= end else bisect_left(positions, end)
        if keep is not None:
            return column, max(0, hi - keep), hi
        return column, min(hi, bisect_left(positions, start)), hi

    return view


def lookback(expr: Expr, cap: int) -> int:
    """How many of the newest events an expression may read, this one included where it reads others."""
    needs = [0]
    for item in walk(expr):
        if isinstance(item, Elapsed):
            needs.append(2)
        if isinstance(item, MEASURES):
            # One more where the event before the window matters: to its first gap, or to a rate, whose hours
            # depend on whether an event inside the duration was left out.
            more = any(isinstance(inner, Elapsed) for inner in walk(item))
            more = more or (isinstance(item, Measure) and item.name == "rate")
            needs.append(_reach(item, cap) + more)
    return max(needs)


def _reach(expr: Measure | Cover | Difference, cap: int) -> int:
    window = expr.window
    if isinstance(expr, Measure) and expr.name == "surprise_count":
        return cap + 1
    if window.keep is not None:
        return 1
    counts = [limit.n for limit in window.last if isinstance(limit, Events)]
    if not counts or isinstance(window.skip, Duration):
        return cap
    return min(cap, min(counts) + (window.skip.n if window.skip is not None else 0))
