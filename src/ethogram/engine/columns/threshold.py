"""Thresholds over all histories of a block: where episodes open and close."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...language.ast import Expr, Number
from ...language.program import Program, ThresholdProgram
from ..grading import Judge
from .expressions import At, exactly, sayable
from .numbers import ULP
from .table import Floats, Ints
from .windows import Pieces

# Thresholds over all histories of a block: where episodes open and close.


def episodes(body: ThresholdProgram, at: At) -> tuple[Ints, Ints]:
    """The positions at which episodes open, and those at which they close (-1: still open)."""
    arranged, opens = at.arranged, np.flatnonzero(at.holds(body.when))
    if not len(opens):
        return opens, opens
    clears = _clears(body, at, opens)
    opens = opens[~np.isin(opens, clears, assume_unique=True)]
    moves = np.concatenate((opens, clears))
    order = np.argsort(moves, kind="stable")
    moves, up = moves[order], order < len(opens)
    was_up = np.zeros(len(moves), bool)
    # The first move of a history finds nothing open.
    was_up[1:] = up[:-1] & (arranged.start_of(moves[1:]) <= moves[:-1])
    opened, closed = moves[up & ~was_up], moves[~up & was_up]
    return opened, _closings(at, opened, closed)


def _clears(body: ThresholdProgram, at: At, opens: Ints) -> Ints:
    """Where it closes if it is open, in the histories in which it opens somewhere: only there it can be."""
    if body.stays and body.clears is None:
        return opens[:0]
    numbers = np.unique(at.arranged.number_of(opens))
    rows = Pieces(at.arranged.starts[numbers], at.arranged.ends[numbers]).at
    some = At(at.arranged, at.cap, rows)
    ints: Ints = rows[some.fails(body.when) if body.clears is None else some.holds(body.clears)]
    return ints


def _closings(at: At, opened: Ints, closed: Ints) -> Ints:
    """For each opening the closing that follows it in its history, or -1."""
    if not len(closed):
        return np.full(len(opened), -1)
    k = np.searchsorted(closed, opened)
    found = closed[np.minimum(k, len(closed) - 1)]
    mine = (k < len(closed)) & (at.arranged.start_of(found) <= opened)
    return np.where(mine, found, -1)


# How sure and how grave, for many rows at once; the same to the last of the six places that count.

PLACES = 1e6
Chains = Callable[[int], dict[str, list[int]]]
"""The positions each step matched, for the k-th row asked about."""


class Judges:
    """Reads a program's confidence and severity at rows, in columns where it can."""

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

    def severity(self) -> Ints:
        """The number of the highest severity whose condition holds, in the order they are listed."""
        out = np.zeros(self.at.size, np.int64)
        for k, (_, condition) in enumerate(self.program.severities):
            if condition is None:
                out[:] = k
            elif self._in_columns(condition):
                out[self.at.holds(condition)] = k
            else:
                return np.array([self._plain_severity(k) for k in range(self.at.size)], np.int64)
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

    def _plain_severity(self, k: int) -> int:
        number, here, chain = self._place(k)
        name = self.judge.severity(self.at.arranged.history(number), here, chain)
        return [item for item, _ in self.program.severities].index(name)
