"""Look: the windows of a measure, and the readings in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..measures import MEASURES
from ..tree import Measure
from .columns import Floats, Ints
from .ranges import Ranges, Readings, ranges, readings
from .tables import Sums

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
    def is_wild(self) -> bool:
        """Whether some value is so large that sums of others would drown in it."""
        found: bool = self.shared("wild", lambda: bool(np.abs(self.values).max(initial=0.0) > WILD))
        return found

    @property
    def values(self) -> Floats:
        return np.empty(0) if self.read.num is None else self.read.num

    def sums(self, what: str, make: Callable[[], Floats]) -> tuple[Floats, float]:
        """The sums of something over the windows, and the error of each."""
        found: Sums = self.shared(what, lambda: Sums(make()))
        return found.over(self.a, self.b)

    def total(self) -> tuple[Floats, float]:
        return self.sums("sum", lambda: self.values)

    def trues(self) -> Ints:
        """How many are true, or with a value how many there are."""
        true = self.read.true
        if true is None:
            return self.n
        before: Ints = self.shared("trues", lambda: np.concatenate(([0], np.cumsum(true))))
        return before[self.b] - before[self.a]
