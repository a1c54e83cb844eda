"""Measures over all windows at once: from prefix sums, tables of extremes and runs.

What is rare or complicated is asked of the plain reader, row by row, and only where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..measure import HOUR
from ..tree import Cover, Difference, Expr, Measure
from ..walk import needs_time
from .columns import Floats, Ints, Values
from .cost import INEXACT, PREFIX
from .look import Look
from .numbers import ULP, Num
from .pieces import as_floats
from .slices import sliced
from .tables import extremes, run_starts

if TYPE_CHECKING:
    from .evaluate import At


def number_measure(at: At, expr: Measure | Cover | Difference) -> Num:
    """A measure that gives a number, at the rows asked about."""
    if needs_time(expr) and not at.arranged.timed:
        return Num(np.nan)
    if not isinstance(expr, Measure) or expr.name == "surprise_count":
        return Num(once(at, expr, lambda some: as_floats(some.plain(expr))))
    if expr.name in ("rate", "span") and not at.arranged.timed:
        return Num(np.nan)
    look = Look(at, expr)
    if expr.name not in PREFIX or (expr.name in INEXACT and (at.exact or look.is_wild)):
        return Num(once(at, expr, lambda some: sliced(some, Look(some, expr))))
    with np.errstate(all="ignore"):
        found = _COMPUTE[expr.name](look)
        if expr.window.at_least:
            found = Num(np.where(look.n < expr.window.at_least, np.nan, found.x), found.err, found.doubt)
    return found


def value_measure(at: At, expr: Measure) -> Values:
    """`oldest` and `newest`, which may give texts."""
    if needs_time(expr) and not at.arranged.timed:
        return Values(None, None)
    look = Look(at, expr)
    some = (look.n > 0) & (look.n >= expr.window.at_least)
    pick = np.where(some, look.a if expr.name == "oldest" else look.b - 1, 0)
    read = look.read
    if not len(read.at):
        return Values(None, None)
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


def _count(look: Look) -> Num:
    return Num(look.trues().astype(np.float64))


def _share(look: Look) -> Num:
    return Num(_where(look.n > 0, look.trues() / look.n))


def _sum(look: Look) -> Num:
    if look.read.num is None:
        return Num(np.zeros(len(look.n)))
    total, err = look.total()
    return Num(total, err)


def _mean(look: Look) -> Num:
    total, err = look.total()
    return Num(_where(look.n > 0, total / look.n), err)


def _usual(look: Look) -> Num:
    m, n0 = look.expr.option("prior") or (0.0, 0.0)
    total, err = look.total()
    weight = n0 + look.n
    known = weight != 0
    smallest = float(np.abs(weight[known]).min(initial=1.0))
    x = (n0 * m + total) / np.where(known, weight, np.nan)
    size = abs(n0 * m) + float(np.abs(total).max(initial=0.0))
    return Num(x, (err + 4 * ULP * size) / smallest)


def _std(look: Look) -> Num:
    if look.read.num is None:
        return Num(np.full(len(look.n), np.nan))
    # About their middle, so that squares do not swallow the spread.
    middle: float = look.shared("middle", lambda: float(np.mean(look.values)) if len(look.values) else 0.0)
    one, err1 = look.sums("centred", lambda: look.values - middle)
    two, err2 = look.sums("squares", lambda: (look.values - middle) ** 2)
    mean = one / look.n
    variance = two / look.n - mean * mean
    largest = float(np.nanmax(np.abs(mean), initial=0.0))
    size = float(np.nanmax(np.abs(look.values), initial=0.0))
    err = err2 + 2 * largest * err1 + err1 * err1 + 8 * ULP * (largest + size) ** 2
    # One value, or equal ones, have no spread at all; under a root, a small one is not to be trusted.
    spread = (look.n > 1) & (_equal_since(look) > look.a)
    some = variance[spread]
    typical, smallest = (float(some.mean()), float(some.min())) if len(some) else (0.0, 0.0)
    edge = max(1e3 * err, 1e-4 * typical, smallest)
    x = np.where(spread, np.sqrt(np.maximum(variance, 0.0)), 0.0)
    return Num(_where(look.n > 0, x), err / np.sqrt(edge) if err else 0.0, (variance < edge) & spread)


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


def _rise(look: Look) -> Num:
    n, a = look.n, look.a
    if look.read.num is None:
        return Num(np.full(len(n), np.nan))
    order: Ints = look.shared("order", lambda: _order(look))
    total, err1 = look.total()
    moment, err2 = look.sums("moments", lambda: look.values * order)
    middle = (n - 1) / 2
    first = order[np.minimum(a, max(len(order) - 1, 0))] if len(order) else np.zeros(len(a))
    shift = first + middle
    spread = n * (n.astype(np.float64) * n - 1) / 12
    x = (moment - shift * total) / spread * (n - 1)
    farthest = float(np.abs(shift).max(initial=0.0))
    size = float(np.nanmax(np.abs(total), initial=0.0)) * farthest
    return Num(_where(n > 1, x), 2 * (err2 + farthest * err1) + 1e-15 * (size + 1.0))


def _order(look: Look) -> Ints:
    """Each reading's number within its history."""
    start = look.here.start[look.read.at]
    first = start if look.read.before is None else look.read.before[start]
    return np.arange(len(look.read.at)) - first


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


_COMPUTE: dict[str, Callable[[Look], Num]] = {
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
