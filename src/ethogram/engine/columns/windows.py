"""Windows: which events an aggregate reads, for all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...language.aggregates import MEASURES
from ...language.ast import Cover, Difference, Duration, Events, Expr, Measure, Signal, Window
from .expressions import Reader
from .histories import Histories, group_codes
from .numbers import counts, in_window, millionths_of, pieces, prefix
from .table import FITS, Column, Floats, Ints, Mask

FEW = 4
"""Sums over windows are taken from those up to every position, unless these are so many times as many."""


class Ranges:
    """The windows of some rows as ranges [low, high) of positions, after step 4 of docs/language.md.

    `at` are the positions of the rows and `now` the times they look back from. `cut` is where windows began
    after step 3, and `whole` marks those that `duration`, the shortest in `last`, alone decided.
    """

    def __init__(self, reader: Reader, window: Window) -> None:
        here = reader.histories
        self.histories = here.whole if window.over_subject else here
        self.at = here.in_whole(reader.positions) if window.over_subject else reader.positions
        self.every = reader.rows is None and self.histories is here
        self.cap, self.window = reader.cap, window
        self.duration: int | None = None
        self.whole: Mask | None = None
        # All of a history up to here: nothing has to be looked up.
        self.so_far = (
            self.every
            and not (window.skip or window.last or window.since is not None or window.keep is not None)
            and here.longest <= reader.cap
        )
        self.now: Ints = self.histories.times if self.every else self.histories.times[self.at]
        if isinstance(window.skip, Duration):
            self.now = self.now - window.skip.us
        if not self.so_far:
            self._cut(reader)

    def _cut(self, reader: Reader) -> None:
        here, window, at = self.histories, self.window, self.at
        start = here.start if self.every else here.start_of(at)
        end = at + 1
        if isinstance(window.skip, Events):
            end = end - window.skip.n
        elif isinstance(window.skip, Duration):
            end = np.minimum(end, after(here, at, window.skip.us))
        low = start if window.keep is not None else np.maximum(start, at + 1 - self.cap)
        end = np.maximum(end, low)
        for limit in window.last:
            if isinstance(limit, Events):
                low = np.maximum(low, end - limit.n)
        durations = [limit.us for limit in window.last if isinstance(limit, Duration)]
        if durations and here.timed:
            self.duration = shortest = min(durations)
            back = shortest + (window.skip.us if isinstance(window.skip, Duration) else 0)
            inside = np.minimum(after(here, at, back), end)
            self.whole = inside >= low
            low = np.maximum(low, inside)
        self.cut: Ints = low
        self.high: Ints = np.maximum(end, low)
        if window.since is not None:
            newest = latest(reader.over(here), window.since)[self.high]
            low = np.where((newest >= low) & (self.high > low), newest + 1, low)
        self.low: Ints = low

    def __getattr__(self, name: str) -> Any:
        if name not in ("low", "cut", "high"):
            raise AttributeError(name)
        self.low = self.cut = self.histories.start
        self.high = self.at + 1
        return getattr(self, name)

    def over(self, sums: Any) -> Any:
        """The differences of prefix sums over the windows."""
        if self.so_far:
            out = np.repeat(sums[self.histories.starts], self.histories.lengths)
            return np.subtract(sums[1:], out, out=out)
        return sums[self.high] - sums[self.low]


def after(here: Histories, at: Ints, back: int) -> Ints:
    """The first position of the same history whose time is later than `back` before each position's."""
    times = here.times
    first, last = times[here.starts], times[here.ends - 1]
    longest = int((last - first).max(initial=0))
    back = min(back, longest + 1)
    # Histories are laid end to end on one line, so far apart that no look back reaches the one before.
    room = last - first + (longest + 2)
    if len(room) * (2 * longest + 2) < FITS:
        base = np.cumsum(room) - room
        line = times - np.repeat(first - base, here.lengths)
        ints: Ints = np.searchsorted(line, line[at] - back, "right")
        return ints
    out = np.empty(len(at), np.int64)
    which = here.number_of(at)
    for number in np.unique(which).tolist():
        start, rows = here.starts[number], which == number
        own = times[start : here.ends[number]]
        out[rows] = start + np.searchsorted(own, times[at[rows]] - back, "right")
    return out


def latest(reader: Reader, condition: Expr) -> Ints:
    """For each end of a range, the newest position before it that meets a condition, or -1."""

    def make() -> Ints:
        marks = np.where(reader.holds(condition), np.arange(reader.size), -1)
        return np.maximum.accumulate(np.append(-1, marks))

    newest: Ints = reader.histories.once(("latest", condition, reader.cap), make)
    return newest


def window_value(reader: Reader, of: Expr) -> Column:
    """What an aggregate reads at an event, numbers rounded to six decimals."""
    column = reader.value(of)
    if isinstance(of, Signal) or column.num is None:
        return column
    return Column(in_window(column.num), column.code)


class Selection:
    """The readings of an aggregate in its windows: steps 5 to 7.

    `reader` is at all positions. `valid` marks those that have a reading and meet `where`, None where all
    do. Readings are a `column`, or the mask `true` where the aggregate takes a condition. For a cover an
    event has a reading if one of its indicators is known.
    """

    def __init__(self, reader: Reader, expr: Measure | Cover | Difference) -> None:
        window = self.window = expr.window
        self.of = expr.items if isinstance(expr, Cover) else expr.of
        self.numeric = not isinstance(expr, Measure) or MEASURES[expr.name].of == "number"
        self.condition = isinstance(expr, Measure) and expr.condition
        self.ranges = Ranges(reader, window)
        self.histories = self.ranges.histories
        self.reader = reader.over(self.histories)
        self.token = (self.of, window.where, self.numeric, self.condition, reader.cap)
        self.valid: Mask | None = self.once("valid", self._valid)
        if window.keep is not None:
            self._keep(window.keep)

    def once(self, what: str, make: Callable[[], Any]) -> Any:
        """Something made once for all aggregates of the same readings."""
        return self.histories.once((what, *self.token), make)

    def _valid(self) -> Mask | None:
        of, where = self.of, self.window.where
        valid: Mask | None = None
        if isinstance(of, tuple):
            valid = np.zeros(self.size, bool)
            for item in of:
                num = self.reader.value(item).num
                valid |= False if num is None else num == num
        elif self.condition:
            valid = self.reader.known(of)
        elif not (isinstance(of, Signal) and self.histories.extent(of.name)[0]):
            column = self._as_it_came()
            valid = (Column(column.num) if self.numeric else column).known(self.size)
        if where is not None:
            held = self.reader.holds(where)
            valid = held if valid is None else valid & held
        return valid

    def _keep(self, keep: int) -> None:
        """Begin each window at the oldest of the newest readings it keeps."""
        ranges, first, last = self.ranges, self.first, self.last
        oldest = np.maximum(first, last - keep)
        at = self.at
        if len(at):
            ranges.low = np.where(last > oldest, at[np.minimum(oldest, len(at) - 1)], ranges.high)
        ranges.cut = ranges.low
        for name in ("first", "last", "n"):
            self.__dict__.pop(name, None)

    @cached_property
    def column(self) -> Column:
        """The readings at all positions, numbers rounded to six decimals."""

        def make() -> Column:
            assert not isinstance(self.of, tuple)
            return window_value(self.reader, self.of)

        column: Column = self.once("column", make)
        return column

    def _as_it_came(self) -> Column:
        """The readings at all positions: numbers are rounded when they become millionths."""
        if isinstance(self.of, Signal):
            return self.histories.column("reading", self.of.name)
        return self.column

    @property
    def size(self) -> int:
        return self.reader.size

    @cached_property
    def true(self) -> Mask:
        assert not isinstance(self.of, tuple)
        return self.reader.holds(self.of)

    @cached_property
    def n(self) -> Ints:
        """How many readings each window has."""
        if self.valid is None:
            if self.ranges.so_far:
                here = self.histories
                return here.so_far
            return self.ranges.high - self.ranges.low
        ints: Ints = self.ranges.over(self.before)
        return ints

    @property
    def trues(self) -> Ints:
        """How many are true, or where the aggregate takes values, how many there are."""
        if not self.condition:
            return self.n
        ints: Ints = self.ranges.over(self.true_before)
        return ints

    @property
    def true_before(self) -> Ints:
        """How many true ones lie before each position."""
        ints: Ints = self.once(
            "trues", lambda: counts(self.true if self.valid is None else self.true & self.valid)
        )
        return ints

    @property
    def before(self) -> Any:
        """How many readings lie before each position."""
        valid = self.valid
        return self.once("before", lambda: np.arange(self.size + 1) if valid is None else counts(valid))

    # Readings one after another.

    @property
    def at(self) -> Any:
        """The positions of the readings."""
        valid = self.valid
        return self.once("at", lambda: np.arange(self.size) if valid is None else np.flatnonzero(valid))

    @cached_property
    def first(self) -> Ints:
        """For each window the number of its first reading."""
        return self.ranges.low if self.valid is None else self.before[self.ranges.low]

    @cached_property
    def last(self) -> Ints:
        """For each window the number of the reading after its last."""
        return self.ranges.high if self.valid is None else self.before[self.ranges.high]

    @property
    def readings(self) -> Column:
        """The values of the readings, one after another."""
        if self.valid is None:
            return self.column
        column: Column = self.once("readings", lambda: self.column.at(self.at))
        return column

    @property
    def tokens(self) -> Any:
        """The readings as integers: millionths of numbers, or a number for each different value."""
        if self.numeric:
            whole, valid = self.whole, self.valid
            return whole if valid is None else self.once("tokens", lambda: whole[valid])
        return self.once("tokens", lambda: group_codes(self.readings, len(self.at)))

    # Sums of millionths over the windows.

    @property
    def numbers(self) -> Floats:
        """The readings at all positions as numbers, whether they count or not."""
        num = self._as_it_came().num
        return np.zeros(self.size) if num is None else num

    @property
    def largest(self) -> float:
        """The largest size of a reading, or more."""
        if isinstance(self.of, Signal):
            return self.histories.extent(self.of.name)[1]
        value: float = self.once("largest", lambda: Column(self.numbers).extent()[1])
        return value

    @cached_property
    def widest(self) -> int:
        """The largest number of readings in a window, or more."""
        return self.histories.longest if self.ranges.so_far else int(self.n.max(initial=0))

    @property
    def whole(self) -> Any:
        """The readings at all positions in millionths, 0 where there is none that counts."""
        return self.once("whole", lambda: millionths_of(self.numbers, self.largest, self.valid))

    def sums(self, what: str, factor: float) -> Any:
        """The sum of x ("s"), of x² ("q") or of k·x ("t", k = 0..n-1) over each window, in millionths.

        `factor` times the largest sum must have room in an int64, or Python integers are used.
        """
        widest = self.widest
        size = self.largest * 1e6 * widest * {"s": 1.0, "q": self.largest * 1e6, "t": widest}[what]
        exact = size * factor < FITS
        token = f"{what}{exact}"
        low, high = self.ranges.low, self.ranges.high
        if self._few and (token, *self.token) not in self.histories.memo:
            ends = np.cumsum(high - low)
            sums = self._prefix(what, exact, pieces(low, high - low))
            value = sums[ends] - sums[ends - (high - low)]
        else:
            value = self.ranges.over(self.once(token, lambda: self._prefix(what, exact)))
        if what == "t":
            value = value - self.first * self.sums("s", factor * widest)
        return value

    @cached_property
    def _few(self) -> bool:
        """Whether all windows together have so few events that sums up to every position cost more."""
        ranges = self.ranges
        return not ranges.every and FEW * int((ranges.high - ranges.low).sum()) < self.size

    def _prefix(self, what: str, exact: bool, at: Ints | None = None) -> Any:
        """The sums before each position and before the end, of all positions or of some."""
        if at is None:
            whole, numbers = self.whole, self.before[:-1] if what == "t" else None
        else:
            valid = None if self.valid is None else self.valid[at]
            whole = millionths_of(self.numbers[at], self.largest, valid)
            numbers = at if valid is None else self.before[at]
        if not exact:
            whole = whole.astype(object)
        if what == "q":
            whole = whole * whole
        elif what == "t":
            whole = whole * numbers
        return prefix(whole)
