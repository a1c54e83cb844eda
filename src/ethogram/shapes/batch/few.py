"""Few: the windows of a measure at some positions, read one by one. Nothing is worked out for the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..tree import Measure, Signal
from .columns import Floats, Ints, Mask
from .ranges import Ranges, ranges
from .so_far import KNOWN
from .tables import Pieces, highest

if TYPE_CHECKING:
    from .evaluate import At

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
        from .evaluate import At as Reader

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
