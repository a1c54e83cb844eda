"""What steps capture: the values that are asked of a matched event after it has passed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..evaluate import number
from ..tree import Expr

Captured = tuple[Any, ...]
"""The values of a step's expressions at one of its matched events."""


class Captures:
    """Which expressions each step captures; they are gathered while the program is written."""

    def __init__(self, steps: Sequence[str]) -> None:
        self.steps = tuple(steps)
        self.wanted: list[dict[Expr, int]] = [{} for _ in self.steps]

    def step(self, name: str) -> int | None:
        """The number of a step, or None where the program has no such step."""
        return self.steps.index(name) if name in self.steps else None

    def slot(self, name: str, of: Expr) -> int:
        """Where in what the step captured the value of an expression is."""
        wanted = self.wanted[self.steps.index(name)]
        return wanted.setdefault(of, len(wanted))


def mean_of(captured: Sequence[Captured], slot: int) -> float | None:
    """The mean of a captured value over events; those where it is absent or no number left out.

    >>> mean_of([(1.0,), (None,), (2.0,)], 0)
    1.5
    """
    known = [x for one in captured if (x := number(one[slot])) is not None]
    return math.fsum(known) / len(known) if known else None
