"""Windows as ranges of positions, with prefix sums and tables of extremes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...language.aggregates import MEASURES
from ...language.ast import Duration, Events, Expr, Limits, Measure, Signal, Window
from .blocks import Arranged, group_codes
from .numbers import ULP
from .table import Floats, Ints, Mask, Values

if TYPE_CHECKING:
    from .expressions import At


# Windows as ranges of positions, in the order of the cuts of docs/language.md.


@dataclass(frozen=True, slots=True)
class Ranges:
    """For each row asked about: its position, the window [low, high) after step 4, and what rates need.

    `cut` is where the window began after step 3, `whole` where its duration alone decided that, `start` the
    first position of its history, and `duration` the shortest one in `last`.
    """

    at: Ints
    now: Ints
    start: Ints
    cut: Ints
    low: Ints
    high: Ints
    whole: Mask | None
    duration: int | None


def ranges(at: At, window: Window) -> Ranges:
    """The windows of all rows, by positions of the arrangement (of the whole subject with over=subject)."""
    here, positions = at.arranged, at.positions
    if window.over_subject:
        here, positions = here.whole, here.in_whole(positions)
    every = at.rows is None and not window.over_subject
    start = here.start if every else here.start_of(positions)
    now, end = here.times if every else here.times[positions], positions + 1
    if isinstance(window.skip, Events):
        end = end - window.skip.n
    elif isinstance(window.skip, Duration):
        now = now - window.skip.us
        end = np.minimum(end, until(here, positions, window.skip.us))
    first = start if window.keep is not None else np.maximum(start, positions + 1 - at.cap)
    end = np.maximum(end, first)
    skipped = window.skip.us if isinstance(window.skip, Duration) else 0
    low, whole, duration = _last(here, positions, skipped, first, end, window.last)
    cut, high = low, np.maximum(end, low)
    if window.since is not None:
        newest = latest(at, here, window.since)[high]
        low = np.where((newest >= low) & (high > low), newest + 1, low)
    return Ranges(positions, now, start, cut, low, high, whole, duration)


def _last(
    here: Arranged, positions: Ints, skipped: int, first: Ints, end: Ints, limits: Limits
) -> tuple[Ints, Mask | None, int | None]:
    """Where `last` begins, where the duration alone decided, and that duration."""
    counts = [limit.n for limit in limits if isinstance(limit, Events)]
    durations = [limit.us for limit in limits if isinstance(limit, Duration)]
    if not here.timed and counts:
        durations = []
    for n in counts:
        first = np.maximum(first, end - n)
    if not durations:
        return first, None, None
    duration = min(durations)
    inside = np.minimum(until(here, positions, skipped + duration), end)
    return np.maximum(first, inside), inside >= first, duration


def until(here: Arranged, positions: Ints, back: int) -> Ints:
    """The first position of the same history whose time is later than `back` before each position's."""
    times = here.times
    first, last = times[here.starts], times[here.ends - 1]
    longest = int((last - first).max(initial=0))
    back = min(back, longest + 1)
    # Histories are laid end to end on one line, so far apart that no look back reaches the one before.
    room = last - first + (longest + 2)
    if len(room) * (2 * longest + 2) >= 2**62:
        return _until_one_by_one(here, positions, back)
    base = np.cumsum(room) - room
    line = times - np.repeat(first - base, here.ends - here.starts)
    ints: Ints = np.searchsorted(line, line[positions] - back, "right")
    return ints


def _until_one_by_one(here: Arranged, positions: Ints, back: int) -> Ints:
    out = np.empty(len(positions), np.int64)
    which = here.number_of(positions)
    for number in np.unique(which):
        start, end, rows = here.starts[number], here.ends[number], which == number
        times = here.times[start:end]
        out[rows] = start + np.searchsorted(times, here.times[positions[rows]] - back, "right")
    return out


def latest(at: At, here: Arranged, condition: Expr) -> Ints:
    """For each end of a range, the newest position before it that meets a condition, or -1."""
    token = ("latest", condition, at.cap)
    if token not in here.memo:
        from .expressions import At as Reader

        held = Reader(here, at.cap).holds(condition)
        marks = np.where(held, np.arange(here.size), -1)
        here.memo[token] = (
            np.concatenate(([-1], np.maximum.accumulate(marks))) if here.size else np.array([-1])
        )
    ints: Ints = here.memo[token]
    return ints


@dataclass(frozen=True, slots=True)
class Readings:
    """What a measure counts, one after another: steps 5 and 6 of a window.

    `before[p]` is how many of them lie before position p (None: one at every position). `num` and `code`
    are their values, or `true` where the measure is of a condition; `at` their positions.
    """

    before: Ints | None
    at: Ints
    num: Floats | None = None
    code: np.ndarray | None = None
    true: Mask | None = None

    def bounds(self, result: Ranges, keep: int | None) -> tuple[Ints, Ints]:
        """The ranges in terms of readings."""
        high = result.high if self.before is None else self.before[result.high]
        if keep is None:
            return (result.low if self.before is None else self.before[result.low]), high
        start = result.start if self.before is None else self.before[result.start]
        return np.maximum(start, high - keep), high


def readings(at: At, of: Expr, window: Window, numeric: bool, condition: bool) -> Readings:
    """The readings of a measure over the whole arrangement; measures of the same thing share them."""
    here = at.arranged.whole if window.over_subject else at.arranged
    token = ("readings", of, window.where, numeric, condition, at.cap)
    if token not in here.memo:
        here.memo[token] = _readings(at, here, of, window.where, numeric, condition)
    result: Readings = here.memo[token]
    return result


def _readings(
    at: At, here: Arranged, of: Expr, where: Expr | None, numeric: bool, condition: bool
) -> Readings:
    from .expressions import At as Reader

    read = Reader(here, at.cap)
    true: Mask | None = None
    valid: Mask | None
    values = Values(None, None)
    if condition:
        true = read.holds(of)
        valid = true | read.fails(of)
    else:
        values = read._as_value(of)
        values = Values(values.num, None) if numeric else values
        full = isinstance(of, Signal) and here.is_full(of.name)
        valid = None if full else values.present(here.size)
    if where is not None:
        held = read.holds(where)
        valid = held if valid is None else valid & held
    if valid is None or valid.all():
        return Readings(None, np.arange(here.size), values.num, values.code, true)
    kept = np.flatnonzero(valid)
    values = values.at(kept)
    before = np.concatenate(([0], np.cumsum(valid)))
    return Readings(before, kept, values.num, values.code, None if true is None else true[kept])


# Tables over readings from which any window is read in a step or two.

BITS = 62
"""What a sum of whole numbers may take of 63."""


class Sums:
    """Prefix sums of whole multiples of a unit, so that no sum rounds; `err` bounds the error per value.

    A window's error grows with its own length alone, not with what came before it. One value so large that
    the others drown in it makes the unit large: then the plain reader is asked.
    """

    def __init__(self, values: Floats, valid: Mask | None = None, largest: float | None = None) -> None:
        largest = highest(values) if largest is None else largest
        room = BITS - (len(values) + 1).bit_length() - math.frexp(largest)[1] if largest < np.inf else -BITS
        room = min(room, 1000)
        whole = np.empty(len(values) + 1, np.int64)
        whole[0] = 0
        # The product is exact, a power of two; what is cut off is less than a unit.
        np.multiply(values, math.ldexp(1.0, room), out=whole[1:], casting="unsafe")
        if valid is not None:
            whole[1:] *= valid
        self.before = np.add.accumulate(whole, out=whole)
        self.scale = math.ldexp(1.0, -room)
        # Besides what was cut off, a sum is rounded once when it becomes a float.
        self.err = self.scale + ULP * largest if largest < np.inf else np.inf

    def over(self, a: Ints, b: Ints) -> Floats:
        """The sums from a up to, not including, b."""
        floats: Floats = (self.before[b] - self.before[a]) * self.scale
        return floats

    def so_far(self, starts: Ints, lengths: Ints) -> Floats:
        """The sums from the start of each history up to and including each position."""
        sums = np.repeat(self.before[starts], lengths)
        np.subtract(self.before[1:], sums, out=sums)
        floats: Floats = sums * self.scale
        return floats


def highest(values: Floats) -> float:
    """The largest size of a number among values, 0 where there is none."""
    if not len(values):
        return 0.0
    high, low = float(values.max()), float(values.min())
    if high != high or low != low:
        high, low = float(np.fmax.reduce(values)), float(np.fmin.reduce(values))
    found = max(high, -low)
    return found if found == found else 0.0


class Pieces:
    """A few windows, one after another: `at` their members, `place` the number of each in its window."""

    def __init__(self, a: Ints, b: Ints) -> None:
        self.lengths = b - a
        self.some = np.flatnonzero(self.lengths)
        length = self.lengths[self.some]
        self.begins = np.cumsum(length) - length
        self.place = np.arange(int(length.sum())) - np.repeat(self.begins, length)
        self.at = self.place + np.repeat(a[self.some], length)
        self.widest = int(length.max(initial=0))

    def sums(self, values: Floats) -> tuple[Floats, float]:
        """The sum of each window, from a value for each of its members; and its error per value."""
        out = np.zeros(len(self.lengths))
        if len(self.some):
            out[self.some] = np.add.reduceat(values, self.begins)
        return out, 2 * ULP * self.widest * highest(values)

    def count(self, mask: Mask) -> Ints:
        """How many members of each window a mask marks."""
        out = np.zeros(len(self.lengths), np.int64)
        if len(self.some):
            out[self.some] = np.add.reduceat(mask, self.begins, dtype=np.int64)
        return out

    def places(self, mask: Mask) -> Ints:
        """The number of each marked member among those of its window."""
        so_far = np.cumsum(mask)
        before = so_far[self.begins] - mask[self.begins]
        out: Ints = so_far - 1 - np.repeat(before, self.lengths[self.some])
        return out


def extremes(
    values: Floats, a: Ints, b: Ints, lowest: bool, widest: int, shared: Callable[[str, Any], Any]
) -> Floats:
    """The smallest (or largest) value of each range; NaN for an empty one.

    Severity k of the table holds the extreme of the 2^k values from each place on; two overlapping pieces
    cover any range.
    """
    join = np.minimum if lowest else np.maximum
    out = np.full(len(a), np.nan)
    n = b - a
    level, table, k = 1, values, 0
    while True:
        mine = np.flatnonzero((n >= level) & (n < 2 * level))
        if len(mine):
            out[mine] = join(table[a[mine]], table[b[mine] - level])
        if 2 * level > widest:
            return out
        before = table
        table = shared(f"{'min' if lowest else 'max'}{k}", lambda t=before, w=level: join(t[:-w], t[w:]))
        level, k = 2 * level, k + 1


def run_starts(read: Readings) -> Ints:
    """For each reading, where the run of equal values that it ends began. Runs may cross histories."""
    size = len(read.at)
    new = np.ones(size, bool)
    if read.code is None and read.num is not None:
        new[1:] = read.num[1:] != read.num[:-1]
    else:
        codes = group_codes(Values(read.num, read.code), size)
        new[1:] = codes[1:] != codes[:-1]
    return np.maximum.accumulate(np.where(new, np.arange(size), 0))


# Look: the windows of a measure, and the readings in them.

WILD = 1e100


class Look:
    """The windows of a measure and its readings in them: from the a-th up to, not including, the b-th."""

    def __init__(self, at: At, expr: Measure) -> None:
        window = expr.window
        numeric = MEASURES[expr.name].of == "number" and not expr.condition
        self.expr, self.at = expr, at
        self.here = at.arranged.whole if window.over_subject else at.arranged
        self.ranges: Ranges = ranges(at, window)
        self.read: Readings = readings(at, expr.of, window, numeric, expr.condition)
        self.token = (expr.of, window.where, numeric, expr.condition, at.cap)
        self.a, self.b = self.read.bounds(self.ranges, window.keep)
        self.n = self.b - self.a

    def shared(self, what: str, make: Callable[[], Any]) -> Any:
        """Something made once for all measures of the same readings."""
        memo, token = self.here.memo, (what, *self.token)
        if token not in memo:
            memo[token] = make()
        return memo[token]

    @property
    def largest(self) -> float:
        """The largest size of a reading."""
        value: float = self.shared("largest", lambda: highest(self.values))
        return value

    @property
    def has_numbers(self) -> bool:
        return self.read.num is not None

    @property
    def values(self) -> Floats:
        return np.empty(0) if self.read.num is None else self.read.num

    @property
    def middle(self) -> float:
        """About the mean of all readings: a point from which their distances are small."""
        value: float = self.shared("middle", lambda: float(np.mean(self.values)) if len(self.values) else 0.0)
        return value

    @cached_property
    def widest(self) -> int:
        return int(self.n.max(initial=0))

    @cached_property
    def counts(self) -> Floats:
        """How many readings each window has, as floats."""
        return self.n.astype(np.float64)

    def sums(self, what: str, make: Callable[[Floats], Floats]) -> tuple[Floats, float]:
        """The sums of something made of each value over the windows, and the error per value summed."""
        sums: Sums = self.shared(what, lambda: Sums(make(self.values)))
        return sums.over(self.a, self.b), sums.err

    def total(self) -> tuple[Floats, float]:
        return self.sums("sum", _same)

    def moments(self) -> tuple[Floats, float, float]:
        """The sums of value times place in the window, from 0; the error per value; the largest factor."""
        order: Ints = self.shared("order", self._order)
        total, err1 = self.total()
        found, err2 = self.sums("moments", lambda values: values * order)
        first = order[np.minimum(self.a, max(len(order) - 1, 0))] if len(order) else np.zeros(len(self.a))
        farthest = float(np.abs(first).max(initial=0.0))
        return found - first * total, err2 + farthest * err1, farthest

    def _order(self) -> Ints:
        """Each reading's number within its history."""
        start = self.here.start[self.read.at]
        first = start if self.read.before is None else self.read.before[start]
        return np.arange(len(self.read.at)) - first

    def trues(self) -> Ints:
        """How many are true, or with a value how many there are."""
        true = self.read.true
        if true is None:
            return self.n
        before: Ints = self.shared("trues", lambda: np.concatenate(([0], np.cumsum(true))))
        return before[self.b] - before[self.a]


def _same(values: Floats) -> Floats:
    return values


# SoFar: the windows that hold all of a history up to here, at every position. No window is looked up.

KNOWN = frozenset(("count", "share", "sum", "mean", "usual", "std", "rise"))
"""The measures that need no more of a window than sums."""


def is_so_far(at: At, expr: Measure) -> bool:
    """Whether a measure is asked at every position, of all that came before it and of sums alone."""
    window = expr.window
    return (
        expr.name in KNOWN
        and at.rows is None
        and not at.exact
        and not (window.skip or window.last or window.keep or window.since or window.over_subject)
        and int(at.arranged.lengths.max(initial=0)) <= at.cap
    )


class SoFar:
    """What `Look` gives, for these windows. `valid` are the positions that count, None where all do."""

    def __init__(self, at: At, expr: Measure) -> None:
        self.at, self.expr, self.here = at, expr, at.arranged
        self.numeric = expr.name != "count"
        self.token = ("so far", expr.of, expr.window.where, self.numeric, expr.condition, at.cap)
        self.valid: Mask | None
        self.num: Floats | None
        self.true: Mask | None
        self.valid, self.num, self.true = self.shared("dense", self._dense)

    def shared(self, what: str, make: Callable[[], Any]) -> Any:
        """Something made once for all measures of the same readings."""
        memo, token = self.here.memo, (what, *self.token)
        if token not in memo:
            memo[token] = make()
        return memo[token]

    def _dense(self) -> tuple[Mask | None, Floats | None, Mask | None]:
        of, where = self.expr.of, self.expr.window.where
        valid: Mask | None = None
        num: Floats | None = None
        true: Mask | None = None
        if self.expr.condition:
            true = self.at.holds(of)
            valid = true | self.at.fails(of)
        elif self.is_full:
            num = self.at._as_value(of).num
        else:
            values = self.at._as_value(of)
            num = values.num
            valid = (Values(num, None) if self.numeric else values).present(self.here.size)
        if where is not None:
            held = self.at.holds(where)
            valid = held if valid is None else valid & held
        return valid, num, true

    def _counts(self, valid: Mask | None) -> Ints:
        """How many have come so far."""
        starts, lengths, size = self.here.starts, self.here.lengths, self.here.size
        if valid is None:
            out = np.repeat(1 - starts, lengths)
            out += np.arange(size)
            return out
        before: Any = np.empty(size + 1, np.int32)
        before[0] = 0
        np.cumsum(valid, out=before[1:], dtype=np.int32)
        ints: Ints = before[1:] - np.repeat(before[starts], lengths)
        return ints

    @property
    def largest(self) -> float:
        """The largest size of a reading."""
        value: float = self.shared("largest", self._largest)
        return value

    def _largest(self) -> float:
        of = self.expr.of
        if isinstance(of, Signal) and self.here.index is None:
            facts = self.here.block.facts(of.name)
            if facts is not None:
                return max(facts[1], -facts[0])
        return highest(self.values)

    @property
    def has_numbers(self) -> bool:
        return self.num is not None

    @property
    def values(self) -> Floats:
        return np.empty(0) if self.num is None else self.num

    @property
    def middle(self) -> float:
        """About the mean of all readings: a point from which their distances are small."""
        value: float = self.shared("middle", self._middle)
        return value

    def _middle(self) -> float:
        of = self.expr.of
        facts = self.here.block.facts(of.name) if isinstance(of, Signal) else None
        return _middle(self.values) if facts is None else facts[2]

    @property
    def widest(self) -> int:
        return int(self.here.lengths.max(initial=0))

    @property
    def n(self) -> Ints:
        """How many readings each window has."""
        ints: Ints = self.shared("n", lambda: self._counts(self.valid))
        return ints

    @property
    def is_full(self) -> bool:
        """Whether there is a number at every position, counted or not."""
        of = self.expr.of
        return isinstance(of, Signal) and self.here.is_full(of.name)

    @property
    def counts(self) -> Floats:
        """How many readings each window has, as floats."""
        floats: Floats = self.shared("counts", lambda: self.n.astype(np.float64))
        return floats

    def sums(self, what: str, make: Callable[[Floats], Floats]) -> tuple[Floats, float]:
        """The sums of something made of each value over the windows, and the error per value summed."""
        known = self.largest if what == "sum" else None
        sums: Sums = self.shared(what, lambda: Sums(make(self.values), self.valid, known))
        return sums.so_far(self.here.starts, self.here.lengths), sums.err

    def total(self) -> tuple[Floats, float]:
        return self.sums("sum", lambda values: values)

    def moments(self) -> tuple[Floats, float, float]:
        """The sums of value times place in the window, from 0; the error per value; the largest factor."""
        found, err = self.sums("moments", lambda values: values * (self.counts - 1))
        return found, err, 0.0

    def trues(self) -> Ints:
        """How many are true, or with a value how many there are."""
        return self.n if self.true is None else self.shared("trues", lambda: self._counts(self._held()))

    def _held(self) -> Mask | None:
        return self.true if self.valid is None or self.true is None else self.true & self.valid


def _middle(values: Floats) -> float:
    found = float(values.mean()) if len(values) else 0.0
    if found != found:
        value = values[values == values]
        found = float(value.mean()) if len(value) else 0.0
    return found
