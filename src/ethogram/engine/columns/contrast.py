"""Contrast over all windows at once: counts, sums and squares of each side in each stratum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...language.ast import Difference
from ..values import LARGEST_T
from .blocks import Arranged, group_codes
from .numbers import ULP, Num
from .table import Floats, Ints, Mask
from .windows import WILD, Ranges, Sums, highest, ranges

if TYPE_CHECKING:
    from .expressions import At


MOST_STRATA = 32
"""With more strata in a block the plain reader is asked."""


@dataclass(slots=True)
class Side:
    """What a side has in each window: how many readings, their sum and that of their squares."""

    n: Floats
    sum: Floats
    squares: Floats

    def moved(self, by: Floats, mask: Mask) -> Side:
        """The same with `by` taken from each reading, and nothing where `kept` is not set."""
        squares = self.squares - 2 * by * self.sum + self.n * by * by
        return Side(
            np.where(mask, self.n, 0.0),
            np.where(mask, self.sum - self.n * by, 0.0),
            np.where(mask, squares, 0.0),
        )

    def add(self, other: Side) -> None:
        self.n += other.n
        self.sum += other.sum
        self.squares += other.squares

    @property
    def mean(self) -> Floats:
        return self.sum / self.n

    @property
    def error(self) -> Floats:
        """The sample variance over the count."""
        spread = np.maximum(self.squares - self.sum * self.sum / self.n, 0.0)
        floats: Floats = spread / (self.n - 1) / self.n
        return floats


def difference(at: At, expr: Difference) -> Num | None:
    """One number of the contrast; None where there are too many strata, or values too large."""
    here = at.arranged.whole if expr.window.over_subject else at.arranged
    tables = _tables(at, here, expr)
    if tables is None:
        return None
    found = ranges(at, expr.window)
    plain = (_empty(at.size), _empty(at.size))
    level = (_empty(at.size), _empty(at.size))
    for where, against in tables.strata:
        first, second = where.over(found), against.over(found)
        plain[0].add(first)
        plain[1].add(second)
        if expr.within_each is not None:
            both = (first.n > 0) & (second.n > 0)
            middle = np.where(both, (first.mean + second.mean) / 2, 0.0)
            level[0].add(first.moved(middle, both))
            level[1].add(second.moved(middle, both))
    if tables.without is not None:
        for side, extra in zip(plain, tables.without, strict=True):
            side.add(extra.over(found))
    a, b = plain if expr.within_each is None else level
    return _said(expr, a, b, plain, tables)


def _empty(size: int) -> Side:
    return Side(np.zeros(size), np.zeros(size), np.zeros(size))


def _said(expr: Difference, a: Side, b: Side, plain: tuple[Side, Side], tables: Tables) -> Num:
    if expr.name == "n_where":
        return Num(a.n)
    if expr.name == "n_against":
        return Num(b.n)
    enough = np.minimum(a.n, b.n) >= max(2, expr.at_least)
    if not enough.any():
        return Num(np.nan)
    if expr.name == "t":
        return _welch(a, b, enough, tables)
    first, second = plain if expr.name == "plain_difference" else (a, b)
    return Num(np.where(enough, first.mean - second.mean, np.nan), tables.err)


def _welch(a: Side, b: Side, enough: Mask, tables: Tables) -> Num:
    """Welch's t; what is near equal means, or has next to no spread, is left to the plain reader."""
    step = a.mean - b.mean
    error = a.error + b.error
    size = max(tables.largest, 1e-9)
    doubt = enough & (
        (np.abs(step) < 1e-6 * size)
        | (error < 1e-6 * size * size)
        | (error <= 1.001 * step * step / LARGEST_T**2)
    )
    sure = enough & ~doubt
    root = np.sqrt(np.where(sure, error, 1.0))
    x = np.where(sure, step / root, np.nan)
    x[doubt] = 0.0
    off = 2 * tables.err / root + np.abs(x) * tables.square_err / (root * root)
    err = float(off[sure].max(initial=0.0))
    return Num(x, err + 8 * ULP * highest(x), doubt if doubt.any() else None)


# --- tables of sums ---------------------------------------------------------------------------


class Table:
    """Sums of one side in one stratum, from which any window is read."""

    def __init__(self, values: Floats, mask: Mask, largest: float) -> None:
        self.count = np.concatenate(([0], np.cumsum(mask)))
        self.sums = Sums(values, mask, largest)
        self.squares = Sums(values * values, mask, largest * largest)

    def over(self, result: Ranges) -> Side:
        low, high = result.low, result.high
        n = (self.count[high] - self.count[low]).astype(np.float64)
        return Side(n, self.sums.over(low, high), self.squares.over(low, high))


@dataclass(frozen=True, slots=True)
class Tables:
    """The two sides in each stratum that has both, and what has no stratum or lacks a side."""

    strata: tuple[tuple[Table, Table], ...]
    without: tuple[Table, Table] | None
    largest: float
    err: float
    """How far a mean may be off."""
    square_err: float
    """How far a mean of squares may be off."""


def _tables(at: At, here: Arranged, expr: Difference) -> Tables | None:
    token = ("contrast", expr.of, expr.where, expr.against, expr.within_each, expr.window.where, at.cap)
    if token not in here.memo:
        here.memo[token] = _made(at, here, expr)
    tables: Tables | None = here.memo[token]
    return tables


def _made(at: At, here: Arranged, expr: Difference) -> Tables | None:
    from .expressions import At as Reader

    read = Reader(here, at.cap)
    number = read._as_value(expr.of).num
    values = np.full(here.size, np.nan) if number is None else number
    valid = values == values
    if expr.window.where is not None:
        valid = valid & read.holds(expr.window.where)
    first, second = valid & read.holds(expr.where), valid & read.holds(expr.against)
    used = first | second
    value = values[used]
    middle = float(value.mean()) if len(value) else 0.0
    values = np.where(used, values - middle, 0.0)
    largest = highest(values)
    if largest > WILD or expr.window.keep is not None:
        return None
    strata, rest = _strata(read, expr, first, second)
    if strata is None:
        return None
    tables = tuple((Table(values, first & s, largest), Table(values, second & s, largest)) for s in strata)
    without = None
    if rest is not None and (used & rest).any():
        without = Table(values, first & rest, largest), Table(values, second & rest, largest)
    # Each reading is cut off by a unit at most, moved by a mean and divided by the count.
    every = [table for pair in tables for table in pair] or [Table(values, first, largest)]
    err = 16 * (max(table.sums.err for table in every) + ULP * largest)
    square_err = max(table.squares.err for table in every)
    return Tables(tables, without, largest, err, 8 * (square_err + 4 * largest * err))


def _strata(read: At, expr: Difference, first: Mask, second: Mask) -> tuple[list[Any] | None, Mask | None]:
    """The strata with both sides as masks, and the mask of all else; None where there are too many."""
    if expr.within_each is None:
        return [True], None
    codes: Ints = group_codes(read._as_value(expr.within_each), read.size)
    both = np.intersect1d(codes[first], codes[second])
    both = both[both >= 0]
    if len(both) > MOST_STRATA:
        return None, None
    masks = [codes == code for code in both.tolist()]
    rest = ~np.isin(codes, both)
    return masks, rest
