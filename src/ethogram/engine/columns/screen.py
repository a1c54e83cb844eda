"""Screen: where a comparison of a measure may hold at all, from sums over pieces of histories.

A mean of all so far is above a number where the sum of (value - number) is above 0. That sum, anywhere in a
piece of a history, is at most the sum up to the piece and all that is positive in it. A spread is at most
that about any other point. So most pieces are ruled out without a look at their positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...language.ast import Compare, Measure, Number
from ...language.three_valued import FLIPPED, TOLERANCE
from .blocks import Arranged
from .numbers import ULP
from .table import Floats, Ints
from .windows import WILD, SoFar, is_so_far

if TYPE_CHECKING:
    from .expressions import At


PIECE = 32
"""Positions in a piece; the last of a history may be shorter."""

AT_ONCE = 1024
"""Pieces worked on at a time, so that they stay in the cache."""


def may_hold(at: At, expr: Compare) -> Ints | None:
    """The positions at which a comparison may hold; None where this cannot be told cheaply."""
    op, left, right = expr.op, expr.left, expr.right
    if isinstance(left, Number):
        op, left, right = FLIPPED.get(op, op), right, left
    if not isinstance(left, Measure) or not isinstance(right, Number) or op not in FLIPPED:
        return None
    if left.name != "mean" and not (left.name == "std" and op in (">", ">=") and right.value > 0):
        return None
    if not is_so_far(at, left) or ("number", left, at.cap) in at.arranged.memo:
        return None
    windows = SoFar(at, left)
    if not windows.has_numbers or windows.largest > WILD:
        return None
    excess = Excess(windows, left.name, op, right.value)
    return _positions(at.arranged, excess, max(1, left.window.at_least))


class Excess:
    """What each value adds to a sum that is above 0 where a comparison holds; and a little more."""

    def __init__(self, windows: SoFar, name: str, op: str, c: float) -> None:
        self.values, self.valid, self.full = windows.values, windows.valid, windows.is_full
        self.is_std, self.above = name == "std", op in (">", ">=")
        self.middle = windows.middle if self.is_std else 0.0
        size = windows.largest + abs(self.middle)
        size = size * size if self.is_std else size
        over = c * c - 2 * TOLERANCE * max(1.0, c) * (2 * c + 1) if self.is_std else c
        # More than tolerance and rounding could make of a mean.
        slack = 2 * TOLERANCE * max(1.0, abs(over), size) + 4 * ULP * windows.widest * (size + abs(over))
        self.edge = over - slack if self.above else over + slack

    def at(self, rows: slice | Ints) -> Floats:
        """For some positions."""
        values = self.values[rows]
        if self.is_std:
            out = values - self.middle
            out *= out
            out -= self.edge
        else:
            out = values - self.edge if self.above else self.edge - values
        if self.valid is not None:
            valid = self.valid[rows]
            if self.full:
                out *= valid
            else:
                # Absent values are no numbers, and 0 times those is none either.
                np.copyto(out, 0.0, where=~valid)
        return out


def _positions(arranged: Arranged, excess: Excess, least: int) -> Ints:
    """The positions where a running sum may be above 0, from the `least`-th of a history on."""
    starts, first, lengths = pieces(arranged, least)
    sums, up = _sums(excess, starts, arranged.size)
    # Of the first piece only the end counts: before it there are too few.
    up[first] = sums[first]
    before = np.cumsum(sums)
    before -= sums
    before -= np.repeat(before[first], np.diff(first, append=len(starts)))
    # Sums are summed across histories, so they are a little off.
    off = 1e-9 * max(1.0, float(np.abs(sums).max(initial=0.0)))
    kept = np.flatnonzero(before + up > -off)
    length = lengths[kept]
    begins = np.cumsum(length) - length
    out: Ints = np.arange(int(length.sum())) + np.repeat(starts[kept] - begins, length)
    if not len(out):
        return out
    # Within the pieces left, the running sum itself.
    added = excess.at(out)
    running = np.cumsum(added)
    running += np.repeat(before[kept] - (running[begins] - added[begins]), length)
    found = running > -off
    if least > 1:
        found &= out - np.repeat(arranged.start_of(starts[kept]), length) >= least - 1
    return out[found]


def _sums(excess: Excess, starts: Ints, size: int) -> tuple[Floats, Floats]:
    """The sum of each piece, and that of all that is positive in it."""
    sums, sizes = np.empty(len(starts)), np.empty(len(starts))
    for k in range(0, len(starts), AT_ONCE):
        some = starts[k : k + AT_ONCE]
        end = int(starts[k + AT_ONCE]) if k + AT_ONCE < len(starts) else size
        part = excess.at(slice(int(some[0]), end))
        np.add.reduceat(part, some - some[0], out=sums[k : k + AT_ONCE])
        np.abs(part, out=part)
        np.add.reduceat(part, some - some[0], out=sizes[k : k + AT_ONCE])
    sizes += sums
    sizes /= 2
    return sums, sizes


def pieces(arranged: Arranged, least: int) -> tuple[Ints, Ints, Ints]:
    """Where the pieces of all histories start, the number of each history's first, and their lengths.

    The first piece of a history has `least` positions.
    """
    token = ("pieces", least)
    if token not in arranged.memo:
        n = 1 + -(-np.maximum(arranged.lengths - least, 0) // PIECE)
        first = np.cumsum(n) - n
        starts = np.arange(int(n.sum())) * PIECE
        starts += np.repeat(arranged.starts - first * PIECE + (least - PIECE), n)
        starts[first] = arranged.starts
        arranged.memo[token] = (starts, first, np.diff(starts, append=arranged.size))
    intses: tuple[Ints, Ints, Ints] = arranged.memo[token]
    return intses
