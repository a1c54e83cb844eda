"""Measures over all windows at once: from prefix sums, tables of extremes and runs.

What is rare or complicated is asked of the plain reader, row by row, and only where it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..measure import HOUR
from ..tree import Cover, Difference, Expr, Measure
from ..walk import needs_time
from .columns import Floats, Ints, Mask, Values
from .cost import INEXACT, PREFIX
from .cover import cover
from .difference import difference
from .few import Few, few
from .look import WILD, Look
from .numbers import ULP, Num
from .pieces import as_floats
from .slices import most_frequent, sliced
from .so_far import SoFar, is_so_far
from .surprise import surprise_count
from .tables import extremes, run_starts

if TYPE_CHECKING:
    from .evaluate import At

Windows = Look | SoFar | Few


def number_measure(at: At, expr: Measure | Cover | Difference) -> Num:
    """A measure that gives a number, at the rows asked about."""
    if needs_time(expr) and not at.arranged.timed:
        return Num(np.nan)
    if isinstance(expr, Cover) and expr.window.keep is None and not at.exact:
        return cover(at, expr)
    if isinstance(expr, Difference) and not at.exact:
        found = difference(at, expr)
        if found is not None:
            return found
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
        found = _COMPUTE[expr.name](look)
        if expr.window.at_least:
            found = Num(_hidden(found.x, look.n < expr.window.at_least), found.err, found.doubt)
    return found


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
        found = once(at, expr, lambda asked: most_frequent(Look(asked, expr)))
        some &= found == found
        pick = np.where(some, found, 0).astype(np.intp)
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
    found: Floats = values[positions]
    return found


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
    one, err1 = look.sums("centred", lambda values: values - middle)
    two, err2 = look.sums("squares", lambda values: _squares(values, middle))
    one /= look.counts
    two /= look.counts
    one *= one
    two -= one
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
        kept: Ints = look.shared("kept", lambda: np.flatnonzero(true))
        before: Ints = look.shared("trues", lambda: np.concatenate(([0], np.cumsum(true))))
        a, b, at = before[a], before[b], at[kept]
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
