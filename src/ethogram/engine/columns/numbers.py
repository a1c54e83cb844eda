"""Computed columns: numbers with a bound on their error, and comparison with tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...language.three_valued import TOLERANCE, above
from .table import Floats, Ints, Mask, Values

# Computed columns: numbers with a bound on their error, and comparison with the page's tolerance.

ULP = 2.3e-16
CACHED = 32_768


@dataclass(frozen=True, slots=True)
class Num:
    """Numbers, NaN where absent. `x` is one float where all are the same.

    `err` bounds how far they may be from what the plain readers give (0: the same to the last bit); where
    `doubt` is set nothing is promised. Both make a comparison ask the plain reader where it could matter.
    """

    x: Floats | float
    err: float = 0.0
    doubt: Mask | None = None

    @property
    def exact(self) -> bool:
        return self.err == 0.0 and self.doubt is None


def joined(*doubts: Mask | None) -> Mask | None:
    """Where any doubts."""
    result = [doubt for doubt in doubts if doubt is not None]
    if not result:
        return None
    out = result[0]
    for item in result[1:]:
        out = out | item
    return out


def above_array(a: Floats | float, b: Floats | float) -> Mask:
    """`truth.above`, row by row; false where one is absent."""
    out: Mask = a > b + TOLERANCE * np.maximum(np.maximum(1.0, np.abs(a)), np.abs(b))
    return out


def near(a: Num, b: Num) -> Mask | None:
    """Where the error could turn a comparison; None where it cannot."""
    err = a.err + b.err
    doubt = joined(a.doubt, b.doubt)
    if err == 0.0:
        return doubt
    if isinstance(b.x, float) and not isinstance(a.x, float):
        return joined(_near_constant(a.x, b.x, err), doubt)
    size = np.maximum(np.maximum(1.0, np.abs(a.x)), np.abs(b.x))
    edge = np.abs(np.abs(np.asarray(a.x) - b.x) - TOLERANCE * size) <= err + 8 * ULP * size
    return joined(edge, doubt)


def equal_to(x: Floats, c: float) -> Mask:
    """`truth.equal` with one number; false where it is absent."""
    out = np.empty(len(x), bool)
    high, low = lowest_above(c), highest_below(c)
    # A cache's worth at a time, since each is looked at twice.
    for k in range(0, len(x), CACHED):
        some, part = x[k : k + CACHED], out[k : k + CACHED]
        np.less(some, high, out=part)
        part &= some > low
    return out


def _near_constant(x: Floats, c: float, err: float) -> Mask | None:
    """The same against one number, looking closely only at what is not far from it."""
    size = max(1.0, abs(c))
    reach = 1.001 * (TOLERANCE * size + err + 8 * ULP * size)
    found = (x >= c - reach) & (x <= c + reach)
    close = np.flatnonzero(found) if found.any() else ()
    if not len(close):
        return None
    sizes, apart = np.maximum(size, np.abs(x[close])), np.abs(x[close] - c)
    found[close] = np.abs(apart - TOLERANCE * sizes) <= err + 8 * ULP * sizes
    return found


@lru_cache(maxsize=4096)
def lowest_above(c: float) -> float:
    """The lowest float that is above a number: `x >= lowest_above(c)` is `above(x, c)`.

    >>> above(lowest_above(0.5), 0.5), above(math.nextafter(lowest_above(0.5), 0), 0.5)
    (True, False)
    """
    low, high = c, c + 2 * TOLERANCE * max(1.0, abs(c))
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if above(middle, c) else (middle, high)
    return high if above(high, c) else math.inf


@lru_cache(maxsize=4096)
def highest_below(c: float) -> float:
    """The highest float that a number is above: `x <= highest_below(c)` is `above(c, x)`.

    >>> above(0.5, highest_below(0.5)), above(0.5, math.nextafter(highest_below(0.5), 1))
    (True, False)
    """
    return -lowest_above(-c)


# Small things done to computed columns.


def as_floats(values: list[Any]) -> Floats:
    """Python numbers as floats, anything else as NaN."""
    plain = [x if isinstance(x, (int, float)) and not isinstance(x, bool) else np.nan for x in values]
    return np.array(plain, np.float64)


def step_mean(values: Floats, exact: bool) -> Num:
    """The mean of the known values of each column."""
    known = values == values
    n = known.sum(axis=0)
    if exact:
        each = [column[column == column].tolist() for column in values.T]
        return Num(np.array([math.fsum(item) / len(item) if item else np.nan for item in each]))
    x = np.where(known, values, 0.0).sum(axis=0) / np.where(n > 0, n, np.nan)
    return Num(x, ULP * (len(values) + 1) * float(np.nanmax(np.abs(values), initial=0.0)))


def only_where(mask: Mask, values: Values) -> Values:
    num = None if values.num is None else np.where(mask, values.num, np.nan)
    return Values(num, None if values.code is None else np.where(mask, values.code, -1))


def gather(value: Any, rows: Ints) -> Any:
    if isinstance(value, Num):
        x = value.x if isinstance(value.x, float) else value.x[rows]
        return Num(x, value.err, None if value.doubt is None else value.doubt[rows])
    return value.at(rows) if isinstance(value, Values) else value[rows]


def first_known(first: Values, other: Values, size: int) -> Values:
    known = first.present(size)
    nums = [np.full(size, np.nan) if item.num is None else item.num for item in (first, other)]
    codes = [np.full(size, -1, np.int32) if item.code is None else item.code for item in (first, other)]
    return Values(np.where(known, *nums), np.where(known, *codes))
