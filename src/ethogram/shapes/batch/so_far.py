"""SoFar: the windows that hold all of a history up to here, at every position. No window is looked up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tree import Measure, Signal
from .columns import Floats, Ints, Mask, Values
from .tables import Sums, highest

if TYPE_CHECKING:
    from .evaluate import At

KNOWN = frozenset(("count", "share", "sum", "mean", "usual", "std", "rise"))
"""The measures that need no more of a window than sums."""


def is_so_far(at: At, expr: Measure) -> bool:
    """Whether a measure is asked at every position, of all that came before it and of sums alone."""
    window = expr.window
    return (
        expr.name in KNOWN
        and at.rows is None
        and not at.exact
        and not (window.skip or window.last or window.keep or window.since or window.over_subject)
        and int(at.arranged.lengths.max(initial=0)) <= at.cap
    )


class SoFar:
    """What `Look` gives, for these windows. `valid` are the positions that count, None where all do."""

    def __init__(self, at: At, expr: Measure) -> None:
        self.at, self.expr, self.here = at, expr, at.arranged
        self.numeric = expr.name != "count"
        self.token = ("so far", expr.of, expr.window.where, self.numeric, expr.condition, at.cap)
        self.valid: Mask | None
        self.num: Floats | None
        self.true: Mask | None
        self.valid, self.num, self.true = self.shared("dense", self._dense)

    def shared(self, what: str, make: Callable[[], Any]) -> Any:
        """Something made once for all measures of the same readings."""
        memo, token = self.here.memo, (what, *self.token)
        if token not in memo:
            memo[token] = make()
        return memo[token]

    def _dense(self) -> tuple[Mask | None, Floats | None, Mask | None]:
        of, where = self.expr.of, self.expr.window.where
        valid: Mask | None = None
        num: Floats | None = None
        true: Mask | None = None
        if self.expr.condition:
            true = self.at.holds(of)
            valid = true | self.at.fails(of)
        elif self.is_full:
            num = self.at._as_value(of).num
        else:
            values = self.at._as_value(of)
            num = values.num
            valid = (Values(num, None) if self.numeric else values).present(self.here.size)
        if where is not None:
            held = self.at.holds(where)
            valid = held if valid is None else valid & held
        return valid, num, true

    def _counts(self, valid: Mask | None) -> Ints:
        """How many have come so far."""
        starts, lengths, size = self.here.starts, self.here.lengths, self.here.size
        if valid is None:
            out = np.repeat(1 - starts, lengths)
            out += np.arange(size)
            return out
        before: Any = np.empty(size + 1, np.int32)
        before[0] = 0
        np.cumsum(valid, out=before[1:], dtype=np.int32)
        found: Ints = before[1:] - np.repeat(before[starts], lengths)
        return found

    @property
    def largest(self) -> float:
        """The largest size of a reading."""
        found: float = self.shared("largest", self._largest)
        return found

    def _largest(self) -> float:
        of = self.expr.of
        if isinstance(of, Signal) and self.here.index is None:
            facts = self.here.block.facts(of.name)
            if facts is not None:
                return max(facts[1], -facts[0])
        return highest(self.values)

    @property
    def has_numbers(self) -> bool:
        return self.num is not None

    @property
    def values(self) -> Floats:
        return np.empty(0) if self.num is None else self.num

    @property
    def middle(self) -> float:
        """About the mean of all readings: a point from which their distances are small."""
        found: float = self.shared("middle", self._middle)
        return found

    def _middle(self) -> float:
        of = self.expr.of
        facts = self.here.block.facts(of.name) if isinstance(of, Signal) else None
        return _middle(self.values) if facts is None else facts[2]

    @property
    def widest(self) -> int:
        return int(self.here.lengths.max(initial=0))

    @property
    def n(self) -> Ints:
        """How many readings each window has."""
        found: Ints = self.shared("n", lambda: self._counts(self.valid))
        return found

    @property
    def is_full(self) -> bool:
        """Whether there is a number at every position, counted or not."""
        of = self.expr.of
        return isinstance(of, Signal) and self.here.is_full(of.name)

    @property
    def counts(self) -> Floats:
        """How many readings each window has, as floats."""
        found: Floats = self.shared("counts", lambda: self.n.astype(np.float64))
        return found

    def sums(self, what: str, make: Callable[[Floats], Floats]) -> tuple[Floats, float]:
        """The sums of something made of each value over the windows, and the error per value summed."""
        known = self.largest if what == "sum" else None
        found: Sums = self.shared(what, lambda: Sums(make(self.values), self.valid, known))
        return found.so_far(self.here.starts, self.here.lengths), found.err

    def total(self) -> tuple[Floats, float]:
        return self.sums("sum", lambda values: values)

    def moments(self) -> tuple[Floats, float, float]:
        """The sums of value times place in the window, from 0; the error per value; the largest factor."""
        found, err = self.sums("moments", lambda values: values * (self.counts - 1))
        return found, err, 0.0

    def trues(self) -> Ints:
        """How many are true, or with a value how many there are."""
        return self.n if self.true is None else self.shared("trues", lambda: self._counts(self._held()))

    def _held(self) -> Mask | None:
        return self.true if self.valid is None or self.true is None else self.true & self.valid


def _middle(values: Floats) -> float:
    found = float(values.mean()) if len(values) else 0.0
    if found != found:
        kept = values[values == values]
        found = float(kept.mean()) if len(kept) else 0.0
    return found
