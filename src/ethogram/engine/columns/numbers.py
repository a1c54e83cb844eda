"""Numbers in columns: fixed point, and comparison with the tolerance of the language."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...language.three_valued import TOLERANCE, above
from ...models.event import millionths
from .table import FITS, Floats, Ints, Mask, fixed

_LARGEST = 1e15
"""Numbers from here on have no decimals."""
_ROUND = 6755399441055744.0
"""1.5 * 2**52: adding it rounds a number below 2**51 to an integer in the lowest bits."""
_ROUND_BITS = int(np.float64(_ROUND).view(np.int64))


def in_window(x: Floats) -> Floats:
    """Numbers rounded to six decimals, as windows round what they read."""
    rounded: Floats = fixed(x, _LARGEST)
    return rounded


def millionths_of(x: Floats, largest: float, valid: Mask | None = None) -> Any:
    """Numbers of at most that size as integers of millionths, 0 where they are not valid.

    Python integers where int64 has no room. Numbers that are not valid may be absent.
    """
    if largest * 1e6 >= FITS:
        marks = [True] * len(x) if valid is None else valid.tolist()
        whole = [millionths(value) if mark else 0 for value, mark in zip(x.tolist(), marks, strict=True)]
        return np.array([*whole, None], object)[:-1]
    if largest * 1e6 < 2**51:
        rounded = x * 1e6
        rounded += _ROUND
        out: Any = rounded.view(np.int64)
        out -= _ROUND_BITS
    else:
        out = np.rint(x * 1e6).astype(np.int64)
    if valid is not None:
        # Faster than np.where; absent values may hold any bits.
        out *= valid
    return out


def as_floats(whole: Any) -> Floats:
    """Integers as floats, the nearest; NaN where they are too large for any."""
    if whole.dtype != object:
        floats: Floats = whole.astype(np.float64)
        return floats
    return np.array([_float(value) for value in whole], np.float64)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.nan


def above_array(a: Any, b: Any) -> Mask:
    """The language's a > b, row by row; false where one is absent."""
    out: Mask = a > b + TOLERANCE * np.maximum(np.maximum(1.0, np.abs(a)), np.abs(b))
    return out


@lru_cache(maxsize=4096)
def lowest_above(c: float, rounded: bool = True) -> float:
    """The lowest float that is above a number: `x >= lowest_above(c)` is `above(x, c)`.

    With `rounded` false, the lowest that is above it once it is rounded to six decimals.

    >>> above(lowest_above(0.5), 0.5), above(math.nextafter(lowest_above(0.5), 0), 0.5)
    (True, False)
    """
    return _lowest(lambda x: above(x, c), c) if rounded else _lowest(lambda x: above(_fixed(x), c), c)


@lru_cache(maxsize=4096)
def highest_below(c: float, rounded: bool = True) -> float:
    """The highest float that a number is above: `x <= highest_below(c)` is `above(c, x)`."""
    return -lowest_above(-c, rounded)


def _fixed(x: float) -> float:
    return round(x * 1e6) / 1e6 if abs(x) < 1e9 else x


def _lowest(holds: Callable[[float], bool], c: float) -> float:
    """The lowest float near a number at which a condition that never turns false again holds."""
    size = max(1.0, abs(c))
    low, high = c - 2e-6 * size, c + 2e-6 * size
    if not holds(high):
        return math.inf
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def side(op: str, x: Floats, c: float, wanted: bool, rounded: bool = True) -> Mask:
    """Where `x op c` is true (or, not wanted, false); absent numbers are neither."""
    out: Mask
    if c != c:
        return np.zeros(len(x), bool)
    if op in (">", "<="):
        edge = lowest_above(c, rounded)
        out = x >= edge if (op == ">") == wanted else x < edge
    else:
        edge = highest_below(c, rounded)
        out = x <= edge if (op == "<") == wanted else x > edge
    return out


def between(x: Floats, c: float, rounded: bool = True) -> Mask:
    """Where numbers equal another one up to the tolerance."""
    out: Mask = x < lowest_above(c, rounded)
    out &= x > highest_below(c, rounded)
    return out


def prefix(values: Any) -> Any:
    """Sums of all values before each position and before the end. int64 sums wrap around: differences are
    right wherever they have room."""
    out = np.empty(len(values) + 1, values.dtype if values.dtype == object else np.int64)
    out[0] = 0
    np.add.accumulate(values, out=out[1:], dtype=out.dtype)
    return out


def counts(mask: Mask) -> Any:
    """How many are set before each position and before the end."""
    out = np.empty(len(mask) + 1, np.int32)
    out[0] = 0
    np.cumsum(mask, out=out[1:], dtype=np.int32)
    return out


def pieces(starts: Ints, lengths: Ints) -> Ints:
    """The positions of some ranges, one after another."""
    begins = np.cumsum(lengths) - lengths
    out: Ints = np.arange(int(lengths.sum())) + np.repeat(starts - begins, lengths)
    return out
