"""Look: the windows of a measure, and the readings in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..measures import MEASURES
from ..tree import Measure
from .columns import Floats, Ints
from .ranges import Ranges, Readings, ranges, readings
from .tables import Sums, highest

if TYPE_CHECKING:
    from .evaluate import At

WILD = 1e100


class Look:
    """The windows of a measure and its readings in them: from the a-th up to, not including, the b-th."""

    def __init__(self, at: At, expr: Measure) -> None:
        window = expr.window
        numeric = MEASURES[expr.name].of == "number" and not expr.condition
        self.expr, self.at = expr, at
        self.here = at.arranged.whole if window.over_subject else at.arranged
        self.ranges: Ranges = ranges(at, window)
        self.read: Readings = readings(at, expr.of, window, numeric, expr.condition)
        self.token = (expr.of, window.where, numeric, expr.condition, at.cap)
        self.a, self.b = self.read.bounds(self.ranges, window.keep)
        self.n = self.b - self.a

    def shared(self, what: str, make: Callable[[], Any]) -> Any:
        """Something made once for all measures of the same readings."""
        memo, token = self.here.memo, (what, *self.token)
        if token not in memo:
            memo[token] = make()
        return memo[token]

    @property
    def largest(self) -> float:
        """The largest size of a reading."""
        found: float = self.shared("largest", lambda: highest(self.values))
        return found

    @property
    def has_numbers(self) -> bool:
        return self.read.num is not None

    @property
    def values(self) -> Floats:
        return np.empty(0) if self.read.num is None else self.read.num

    @property
    def middle(self) -> float:
        """About the mean of all readings: a point from which their distances are small."""
        found: float = self.shared("middle", lambda: float(np.mean(self.values)) if len(self.values) else 0.0)
        return found

    @cached_property
    def widest(self) -> int:
        return int(self.n.max(initial=0))

    @cached_property
    def counts(self) -> Floats:
        """How many readings each window has, as floats."""
        return self.n.astype(np.float64)

    def sums(self, what: str, make: Callable[[Floats], Floats]) -> tuple[Floats, float]:
        """The sums of something made of each value over the windows, and the error per value summed."""
        found: Sums = self.shared(what, lambda: Sums(make(self.values)))
        return found.over(self.a, self.b), found.err

    def total(self) -> tuple[Floats, float]:
        return self.sums("sum", _same)

    def moments(self) -> tuple[Floats, float, float]:
        """The sums of value times place in the window, from 0; the error per value; the largest factor."""
        order: Ints = self.shared("order", self._order)
        total, err1 = self.total()
        found, err2 = self.sums("moments", lambda values: values * order)
        first = order[np.minimum(self.a, max(len(order) - 1, 0))] if len(order) else np.zeros(len(self.a))
        farthest = float(np.abs(first).max(initial=0.0))
        return found - first * total, err2 + farthest * err1, farthest

    def _order(self) -> Ints:
        """Each reading's number within its history."""
        start = self.here.start[self.read.at]
        first = start if self.read.before is None else self.read.before[start]
        return np.arange(len(self.read.at)) - first

    def trues(self) -> Ints:
        """How many are true, or with a value how many there are."""
        true = self.read.true
        if true is None:
            return self.n
        before: Ints = self.shared("trues", lambda: np.concatenate(([0], np.cumsum(true))))
        return before[self.b] - before[self.a]


def _same(values: Floats) -> Floats:
    return values
