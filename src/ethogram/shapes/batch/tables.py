"""Tables over readings from which any window is read in a step or two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrange import group_codes
from .columns import Floats, Ints, Mask, Values
from .numbers import ULP
from .ranges import Readings

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
        found: Floats = (self.before[b] - self.before[a]) * self.scale
        return found

    def so_far(self, starts: Ints, lengths: Ints) -> Floats:
        """The sums from the start of each history up to and including each position."""
        sums = np.repeat(self.before[starts], lengths)
        np.subtract(self.before[1:], sums, out=sums)
        found: Floats = sums * self.scale
        return found


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

    Level k of the table holds the extreme of the 2^k values from each place on; two overlapping pieces
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
