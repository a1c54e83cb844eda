"""Aggregates over all windows at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...language.ast import Compare, Cover, Difference, Expr, Measure, Number, Signal
from ...language.visitor import needs_time
from ...models.timestamps import HOUR
from ..aggregates import Selected, _surprise, _value, count_surprise
from ..values import top
from ..window import View
from .blocks import group_codes
from .contrast import difference
from .expressions import INEXACT, PREFIX
from .numbers import ULP, Num, as_floats
from .table import Floats, Ints, Mask, Values
from .windows import (
    KNOWN,
    WILD,
    Look,
    Pieces,
    Ranges,
    SoFar,
    extremes,
    highest,
    is_so_far,
    ranges,
    run_starts,
    until,
)

if TYPE_CHECKING:
    from .expressions import At


# Cover over all windows at once: which indicators of a set were found in each, by their counts.


def cover(at: At, expr: Cover) -> Num:
    """The weights of the indicators found in each window, added up."""
    from .expressions import At as Reader

    window = expr.window
    here = at.arranged.whole if window.over_subject else at.arranged
    read, found = Reader(here, at.cap), ranges(at, window)
    kept = None if window.where is None else read.holds(window.where)
    x: Floats = np.zeros(at.size)
    for item, weight in zip(expr.items, expr.weights, strict=True):
        held = read.holds(Compare(">", item, Number(0.0)))
        held = held if kept is None else held & kept
        if weight and held.any():
            marks = _before(held)
            x += weight * (marks[found.high] > marks[found.low])
    if window.at_least:
        known = _before(_known(read, expr.items, kept))
        x[known[found.high] - known[found.low] < window.at_least] = np.nan
    size = sum(map(abs, expr.weights))
    return Num(x, 2 * ULP * len(expr.weights) * size if len(expr.weights) > 1 else 0.0)


def _known(read: At, items: tuple[Expr, ...], mask: Mask | None) -> Mask:
    """Where one of the indicators is known."""
    out = np.zeros(read.size, bool)
    for item in items:
        num = read.value(item).num
        if num is not None:
            out |= num == num
    return out if mask is None else out & mask


def _before(mask: Mask) -> Ints:
    """How many are set before each position, and before the end."""
    return np.concatenate(([0], np.cumsum(mask)))


# Few: the windows of a measure at some positions, read one by one. Nothing is worked out for the others.

SHARE = 2
"""Windows that together hold less than one in so many positions are read one by one."""

SHORT = 4096
"""Windows up to this length may be summed in order without losing too many places."""


def few(at: At, expr: Measure) -> Few | None:
    """The windows, where there are few and they are short."""
    if at.rows is None or at.exact or expr.name not in KNOWN or expr.window.keep is not None:
        return None
    # Even windows of one event would be too many.
    if SHARE * at.size > at.arranged.size:
        return None
    found = ranges(at, expr.window)
    n = found.high - found.low
    if SHARE * int(n.sum()) > at.arranged.size or int(n.max(initial=0)) > SHORT:
        return None
    return Few(at, expr, found)


class Few:
    """What `Look` gives, for such windows. `valid` are the positions that count, None where all do."""

    def __init__(self, at: At, expr: Measure, found: Ranges) -> None:
        from .expressions import At as Reader

        self.at, self.expr = at, expr
        here = at.arranged.whole if expr.window.over_subject else at.arranged
        self.pieces = Pieces(found.low, found.high)
        read = Reader(here, at.cap, self.pieces.at)
        self.true: Mask | None = None
        self.num: Floats | None = None
        self.valid: Mask | None = None
        if expr.condition:
            self.true = read.holds(expr.of)
            self.valid = self.true | read.fails(expr.of)
        else:
            values = read._as_value(expr.of)
            self.num = values.num
            if not (isinstance(expr.of, Signal) and here.is_full(expr.of.name)):
                self.valid = values.present(read.size) if expr.name == "count" else _numbers(values.num, read)
        if expr.window.where is not None:
            held = read.holds(expr.window.where)
            self.valid = held if self.valid is None else self.valid & held

    @cached_property
    def n(self) -> Ints:
        """How many readings each window has."""
        return self.pieces.lengths if self.valid is None else self.pieces.count(self.valid)

    @cached_property
    def counts(self) -> Floats:
        """The same as floats."""
        return self.n.astype(np.float64)

    @property
    def has_numbers(self) -> bool:
        return self.num is not None

    @cached_property
    def values(self) -> Floats:
        """The values that count; 0 for others."""
        if self.num is None:
            return np.empty(0)
        return self.num if self.valid is None else np.where(self.valid, self.num, 0.0)

    @cached_property
    def largest(self) -> float:
        """The largest size of a reading."""
        return highest(self.values)

    @cached_property
    def middle(self) -> float:
        """About the mean of all readings: a point from which their distances are small."""
        return float(self.values.mean()) if len(self.values) else 0.0

    @property
    def widest(self) -> int:
        return self.pieces.widest

    def sums(self, what: str, make: Callable[[Floats], Floats]) -> tuple[Floats, float]:
        """The sums of something made of each value over the windows, and the error per value summed."""
        made = make(self.values)
        return self.pieces.sums(made if self.valid is None else np.where(self.valid, made, 0.0))

    def total(self) -> tuple[Floats, float]:
        return self.pieces.sums(self.values)

    def moments(self) -> tuple[Floats, float, float]:
        """The sums of value times place in the window, from 0; the error per value; the largest factor."""
        place = self.pieces.place if self.valid is None else self.pieces.places(self.valid)
        return *self.pieces.sums(self.values * place), 0.0

    def trues(self) -> Ints:
        """How many are true, or with a value how many there are."""
        if self.true is None:
            return self.n
        return self.pieces.count(self.true if self.valid is None else self.true & self.valid)


def _numbers(num: Floats | None, read: At) -> Mask:
    return np.zeros(read.size, bool) if num is None else num == num


# Measures that need the list of values: the plain functions on slices of a column, window by window.


def sliced(at: Any, look: Look) -> Floats:
    """What the plain reader gives at each row asked about."""
    expr, n = look.expr, look.n
    out = np.full(len(n), np.nan)
    rows = np.flatnonzero(n >= max(0, expr.window.at_least))
    values, times = look.shared("array", lambda: _array(look)), _times(look)
    # A list is quicker to cut, but to make one of everything for a few short windows is not.
    if int(n[rows].sum()) > len(values):
        values = look.shared("list", values.tolist)
    here = _here(at, look) if expr.name == "surprise" else None
    bounds = zip(rows.tolist(), look.a[rows].tolist(), look.b[rows].tolist(), strict=True)
    now = look.ranges.now.tolist() if expr.name == "fading" else None
    for k, a, b in bounds:
        part = values[a:b] if isinstance(values, list) else values[a:b].tolist()
        if here is not None:
            value = _surprise(_selected(part), None if here[k] != here[k] else here[k], expr)
        elif now is not None:
            value = _faded(expr, part, times[a:b], now[k])
        else:
            value = _value(expr, _selected(part))
        if value is not None:
            out[k] = value
    return out


def most_frequent(look: Look) -> Floats:
    """Which reading of each window is the newest with its most frequent value; absent where there is none."""
    values: list[Any] = look.shared("list", lambda: look.shared("array", lambda: _array(look)).tolist())
    times = (look.expr.option("times") or (1.0,))[0]
    out = np.full(len(look.n), np.nan)
    for k, (a, b) in enumerate(zip(look.a.tolist(), look.b.tolist(), strict=True)):
        part = values[a:b]
        most = top(part, times)
        if most is not None:
            out[k] = b - 1 - part[::-1].index(most)
    return out


def _array(look: Look) -> Any:
    """All readings; where there are texts, numbers stand for values, which are then only told apart."""
    read = look.read
    if read.code is not None:
        return group_codes(Values(read.num, read.code), len(read.at))
    return np.empty(0) if read.num is None else read.num


def _times(look: Look) -> list[int]:
    times: list[int] = look.here.times[look.read.at].tolist() if look.expr.name == "fading" else []
    return times


def _here(at: Any, look: Look) -> list[float]:
    """The value at each row itself."""
    from .expressions import At, exactly

    values: list[float] = exactly(At(look.here, at.cap, look.ranges.at), look.expr.of).tolist()
    return values


_NO_VIEW = View(0, (), (), None)


def _selected(values: list[Any]) -> Selected:
    """Values alone, for measures that ask for nothing else."""
    return None, 0, _NO_VIEW, [], values  # type: ignore[return-value]


class _Clock:
    """Just enough of a history to ask for times."""

    def __init__(self, times: list[int]) -> None:
        self.times = times


def _faded(expr: Measure, values: list[Any], times: list[int], now: int) -> float | None:
    result: Any = (_Clock(times), 0, View(now, (), (), None), list(range(len(values))), values)
    value: float | None = _value(expr, result)
    return value


# surprise_count over all windows at once: the counts in columns, what they mean one by one.


def surprise_count(at: At, expr: Measure) -> Floats:
    """What the plain reader gives at each row asked about."""
    from .expressions import At as Reader

    here, positions = at.arranged, at.positions
    span, last = (int((expr.option(name) or (0,))[0]) for name in ("span", "last"))
    k, h = expr.option("prior") or (0.0, 0.0)
    before = np.concatenate(([0], np.cumsum(Reader(here, at.cap).holds(expr.of))))
    times, now = here.times, here.times[positions]
    first = here.start_of(positions)
    oldest = np.maximum(first, positions + 1 - at.cap)
    # Windows are (now - span, now] and (now - span - last, now - span], cut to the newest events.
    turn = np.maximum(until(here, positions, span), oldest)
    past = np.maximum(until(here, positions, span + last), oldest)
    counts = (before[positions + 1] - before[turn]).tolist()
    shapes = (before[turn] - before[np.minimum(past, turn)]).tolist()
    start = np.maximum(now - span - last, times[oldest])
    rates = (np.maximum(0, now - span - start) / HOUR).tolist()
    unknown = ((oldest > first) & (times[oldest] > now - span)).tolist()
    found = (
        None if cut else count_surprise(count, k + shape, h + rate, span / HOUR)
        for count, shape, rate, cut in zip(counts, shapes, rates, unknown, strict=True)
    )
    return np.array([np.nan if value is None else value for value in found], np.float64)


# Measures over all windows at once: from prefix sums, tables of extremes and runs.
#
# What is rare or complicated is asked of the plain reader, row by row, and only where it is needed.

Windows = Look | SoFar | Few


def number_measure(at: At, expr: Measure | Cover | Difference) -> Num:
    """A measure that gives a number, at the rows asked about."""
    if needs_time(expr) and not at.arranged.timed:
        return Num(np.nan)
    if isinstance(expr, Cover) and expr.window.keep is None and not at.exact:
        return cover(at, expr)
    if isinstance(expr, Difference) and not at.exact:
        num = difference(at, expr)
        if num is not None:
            return num
    if not isinstance(expr, Measure):
        return Num(once(at, expr, lambda some: as_floats(some.plain(expr))))
    if expr.name == "surprise_count":
        return Num(once(at, expr, lambda some: surprise_count(some, expr)))
    if expr.name in ("rate", "span") and not at.arranged.timed:
        return Num(np.nan)
    look = windows(at, expr)
    if expr.name not in PREFIX or (expr.name in INEXACT and (at.exact or look.largest > WILD)):
        return Num(once(at, expr, lambda some: sliced(some, Look(some, expr))))
    with np.errstate(all="ignore"):
        num = _COMPUTE[expr.name](look)
        if expr.window.at_least:
            num = Num(_hidden(num.x, look.n < expr.window.at_least), num.err, num.doubt)
    return num


def windows(at: At, expr: Measure) -> Windows:
    """The windows of a measure at the rows asked about."""
    return SoFar(at, expr) if is_so_far(at, expr) else few(at, expr) or Look(at, expr)


def _hidden(x: Floats | float, mask: Mask) -> Floats:
    """Absent where a mask says so."""
    out = np.broadcast_to(x, mask.shape).copy() if isinstance(x, float) or not x.flags.writeable else x
    np.copyto(out, np.nan, where=mask)
    return out


def value_measure(at: At, expr: Measure) -> Values:
    """`top`, `oldest` and `newest`, which may give texts."""
    if needs_time(expr) and not at.arranged.timed:
        return Values(None, None)
    look = Look(at, expr)
    some = (look.n > 0) & (look.n >= expr.window.at_least)
    read = look.read
    if not len(read.at):
        return Values(None, None)
    pick = look.a if expr.name == "oldest" else look.b - 1
    if expr.name == "top":
        floats = once(at, expr, lambda asked: most_frequent(Look(asked, expr)))
        some &= floats == floats
        pick = np.where(some, floats, 0).astype(np.intp)
    pick = np.where(some, pick, 0)
    num = None if read.num is None else np.where(some, read.num[pick], np.nan)
    return Values(num, None if read.code is None else np.where(some, read.code[pick], -1))


def once(at: At, expr: Expr, compute: Callable[[At], Floats]) -> Floats:
    """What a costly measure gives; each position is asked about once."""
    memo, token = at.arranged.memo, ("once", expr, at.cap)
    if token not in memo:
        memo[token] = (np.full(at.arranged.size, np.nan), np.zeros(at.arranged.size, bool))
    values, done = memo[token]
    positions = at.positions
    new = ~done[positions]
    if new.any():
        asked = at.some(new)
        asked.chain = None
        values[asked.positions] = compute(asked)
        done[asked.positions] = True
    floats: Floats = values[positions]
    return floats


def _count(look: Windows) -> Num:
    return Num(look.trues().astype(np.float64))


def _share(look: Windows) -> Num:
    return Num(look.trues() / look.n)


def _sum(look: Windows) -> Num:
    if not look.has_numbers:
        return Num(np.zeros(len(look.n)))
    total, err = look.total()
    return Num(total, err * look.widest)


def _mean(look: Windows) -> Num:
    if not look.has_numbers:
        return Num(np.full(len(look.n), np.nan))
    total, err = look.total()
    total /= look.counts
    return Num(total, err + ULP * look.largest)


def _usual(look: Windows) -> Num:
    m, n0 = look.expr.option("prior") or (0.0, 0.0)
    total, err = look.total() if look.has_numbers else (np.zeros(len(look.n)), 0.0)
    weight = n0 + look.n
    known = weight != 0
    smallest = float(np.abs(weight[known]).min(initial=1.0))
    x = (n0 * m + total) / np.where(known, weight, np.nan)
    size = abs(n0 * m) + look.widest * look.largest
    return Num(x, (err * look.widest + 4 * ULP * size) / smallest)


def _std(look: Windows) -> Num:
    if not look.has_numbers:
        return Num(np.full(len(look.n), np.nan))
    # About their middle, so that squares do not swallow the spread.
    middle = look.middle
    item, err1 = look.sums("centred", lambda values: values - middle)
    two, err2 = look.sums("squares", lambda values: _squares(values, middle))
    item /= look.counts
    two /= look.counts
    item *= item
    two -= item
    size = look.largest + abs(middle)
    err = err2 + 2 * size * err1 + err1 * err1 + 8 * ULP * size * size
    # Under a root a small variance is not to be trusted; and equal values have no spread at all.
    edge = max(1e3 * err, 1e-6 * size * size)
    close = (two < edge) & (look.n >= max(1, look.expr.window.at_least))
    np.maximum(two, 0.0, out=two)
    x = np.sqrt(two, out=two)
    return Num(x, err / math.sqrt(edge) if err else 0.0, _spread(look, x, close) if close.any() else None)


def _squares(values: Floats, middle: float) -> Floats:
    out = values - middle
    out *= out
    return out


def _spread(look: Windows, x: Floats, close: Mask) -> Mask | None:
    """Set 0 where the values of a window are equal; gives where they are not."""
    inner = Look(look.at.some(close), look.expr)
    some = (inner.n > 1) & (_equal_since(inner) > inner.a)
    at = np.flatnonzero(close)
    x[at[~some]] = 0.0
    close[at] = some
    return close if some.any() else None


def _equal_since(look: Look) -> Ints:
    """For each window, where the run of equal readings at its end began."""
    if not len(look.read.at):
        return look.a
    starts: Ints = look.shared("runs", lambda: run_starts(look.read))
    return starts[np.maximum(look.b - 1, 0)]


def _extreme(look: Look) -> Num:
    if look.read.num is None or not len(look.read.num):
        return Num(np.full(len(look.n), np.nan))
    lowest = look.expr.name == "min"
    widest = int(look.n.max(initial=0))
    return Num(extremes(look.values, look.a, look.b, lowest, widest, look.shared))


def _run(look: Look) -> Num:
    length = look.b - np.maximum(_equal_since(look), look.a)
    return Num(np.where(look.n > 0, length, 0).astype(np.float64))


def _rise(look: Windows) -> Num:
    if not look.has_numbers:
        return Num(np.full(len(look.n), np.nan))
    n = look.counts
    total, err1 = look.total()
    moment, err2, farthest = look.moments()
    x = (moment - total * ((n - 1) / 2)) * (12 / (n * (n + 1)))
    err = 6 * (err1 + err2) + 32 * ULP * (farthest + 1.0) * look.largest
    return Num(_hidden(x, look.n < 2), err)


def _rate(look: Look) -> Num:
    found, count, times = look.ranges, look.trues(), look.here.times
    oldest = found.cut
    if look.expr.window.keep is not None and len(look.read.at):
        oldest = look.read.at[np.minimum(look.a, len(look.read.at) - 1)]
    hours = (found.now - times[np.minimum(oldest, len(times) - 1)]) / HOUR
    x = _where((look.n > 0) & (hours > 0), count / hours)
    if found.whole is not None and found.duration is not None:
        x = np.where(found.whole, count / (found.duration / HOUR), x)
    return Num(x)


def _span(look: Look) -> Num:
    true, at, a, b = look.read.true, look.read.at, look.a, look.b
    if true is not None:
        ints: Ints = look.shared("kept", lambda: np.flatnonzero(true))
        before: Ints = look.shared("trues", lambda: np.concatenate(([0], np.cumsum(true))))
        a, b, at = before[a], before[b], at[ints]
    if not len(at):
        return Num(np.full(len(a), np.nan))
    times = look.here.times[at]
    x = (times[np.maximum(b - 1, 0)] - times[np.minimum(a, len(at) - 1)]) / 1e6
    return Num(_where(b > a, x))


def _where(known: Any, x: Floats) -> Floats:
    return np.where(known, x, np.nan)


_COMPUTE: dict[str, Callable[[Any], Num]] = {
    "count": _count,
    "share": _share,
    "sum": _sum,
    "mean": _mean,
    "usual": _usual,
    "std": _std,
    "min": _extreme,
    "max": _extreme,
    "run": _run,
    "rise": _rise,
    "rate": _rate,
    "span": _span,
}
