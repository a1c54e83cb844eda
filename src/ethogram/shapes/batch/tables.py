"""Tables over readings from which any window is read in a step or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrange import group_codes
from .columns import Floats, Ints, Values
from .numbers import ULP
from .ranges import Readings

Wide = np.longdouble
_EPS = float(np.finfo(Wide).eps)


class Sums:
    """Prefix sums in the widest float there is; `err` bounds the error of every sum read from them.

    One value so large that the others drown in it makes the error infinite: then the plain reader is asked.
    """

    def __init__(self, values: Floats) -> None:
        self.before = np.zeros(len(values) + 1, Wide)
        np.cumsum(values, dtype=Wide, out=self.before[1:])
        # Each addition rounds by at most half a unit of the sum so far.
        largest = max(float(self.before.max()), -float(self.before.min()))
        bound = 2 * _EPS * len(values) * largest
        self.err = bound if np.isfinite(bound) else np.inf

    def over(self, a: Ints, b: Ints) -> tuple[Floats, float]:
        """The sums from a up to, not including, b; and how far they may be off."""
        found = (self.before[b] - self.before[a]).astype(np.float64)
        return found, self.err + ULP * float(np.abs(found).max(initial=0.0))


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
