"""Windows as ranges of positions, in the order of the cuts of docs/language.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..tree import Duration, Events, Expr, Limits, Signal, Window
from .arranged import Arranged
from .columns import Floats, Ints, Mask, Values

if TYPE_CHECKING:
    from .evaluate import At


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
    found: Ints = np.searchsorted(line, line[positions] - back, "right")
    return found


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
        from .evaluate import At as Reader

        held = Reader(here, at.cap).holds(condition)
        marks = np.where(held, np.arange(here.size), -1)
        here.memo[token] = (
            np.concatenate(([-1], np.maximum.accumulate(marks))) if here.size else np.array([-1])
        )
    found: Ints = here.memo[token]
    return found


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

    def bounds(self, found: Ranges, keep: int | None) -> tuple[Ints, Ints]:
        """The ranges in terms of readings."""
        high = found.high if self.before is None else self.before[found.high]
        if keep is None:
            return (found.low if self.before is None else self.before[found.low]), high
        start = found.start if self.before is None else self.before[found.start]
        return np.maximum(start, high - keep), high


def readings(at: At, of: Expr, window: Window, numeric: bool, condition: bool) -> Readings:
    """The readings of a measure over the whole arrangement; measures of the same thing share them."""
    here = at.arranged.whole if window.over_subject else at.arranged
    token = ("readings", of, window.where, numeric, condition, at.cap)
    if token not in here.memo:
        here.memo[token] = _readings(at, here, of, window.where, numeric, condition)
    found: Readings = here.memo[token]
    return found


def _readings(
    at: At, here: Arranged, of: Expr, where: Expr | None, numeric: bool, condition: bool
) -> Readings:
    from .evaluate import At as Reader

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
