"""How sure and how grave, for many rows at once; the same to the last of the six places that count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..judge import Judge
from ..program import Program
from ..tree import Expr, Number
from .columns import Floats, Ints
from .cost import sayable
from .evaluate import At, exactly
from .numbers import ULP

PLACES = 1e6
Chains = Callable[[int], dict[str, list[int]]]
"""The positions each step matched, for the k-th row asked about."""


class Judges:
    """Reads a program's confidence and level at rows, in columns where it can."""

    def __init__(self, program: Program, at: At, chains: Chains | None = None) -> None:
        self.program, self.at, self.chains = program, at, chains
        self.judge = Judge(program, at.cap)

    def confidence(self) -> Floats:
        """0..1, rounded; absent is 0."""
        expr, at = self.program.confidence, self.at
        if expr is None:
            return np.zeros(at.size)
        if isinstance(expr, Number):
            return np.full(at.size, round(min(1.0, max(0.0, float(expr.value))), 6))
        if not self._in_columns(expr):
            return np.array([self._plain(k) for k in range(at.size)])
        found = At(at.arranged, at.cap, at.positions, at.chain, fresh=True).number(expr)
        x = np.broadcast_to(np.asarray(found.x, np.float64), (at.size,))
        x = np.minimum(np.maximum(np.where(np.isnan(x), 0.0, x), 0.0), 1.0)
        scaled = x * PLACES
        whole = np.rint(scaled)
        # Halfway between two, rounding is left to Python, which looks at all digits.
        unsure = np.abs(np.abs(scaled - whole) - 0.5) <= PLACES * (found.err + 8 * ULP)
        if found.doubt is not None:
            unsure |= found.doubt
        out: Floats = whole / PLACES
        if unsure.any():
            sure = exactly(at.some(unsure, exact=True), expr)
            out[unsure] = [0.0 if x != x else round(min(1.0, max(0.0, x)), 6) for x in sure.tolist()]
        return out

    def level(self) -> Ints:
        """The number of the highest level whose condition holds, in the order they are listed."""
        out = np.zeros(self.at.size, np.int64)
        for k, (_, condition) in enumerate(self.program.levels):
            if condition is None:
                out[:] = k
            elif self._in_columns(condition):
                out[self.at.holds(condition)] = k
            else:
                return np.array([self._plain_level(k) for k in range(self.at.size)], np.int64)
        return out

    def _in_columns(self, expr: Expr) -> bool:
        return sayable(expr) and not self.at.arranged.block.columns.is_odd(expr)

    def _place(self, k: int) -> tuple[int, int, dict[str, list[int]]]:
        position = int(self.at.positions[k])
        number = int(self.at.arranged.number_of(np.array([position]))[0])
        start = int(self.at.arranged.starts[number])
        return number, position - start, self.chains(k) if self.chains else {}

    def _plain(self, k: int) -> float:
        number, here, chain = self._place(k)
        return self.judge.confidence(self.at.arranged.history(number), here, chain)

    def _plain_level(self, k: int) -> int:
        number, here, chain = self._place(k)
        name = self.judge.level(self.at.arranged.history(number), here, chain)
        return [one for one, _ in self.program.levels].index(name)
