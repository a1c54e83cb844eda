"""Screen: where a comparison of a measure may hold at all, from sums over pieces of histories.

A mean of all so far is above a number where the sum of (value - number) is above 0. That sum, anywhere in a
piece of a history, is at most the sum up to the piece and all that is positive in it. A spread is at most
that about any other point. So most pieces are ruled out without a look at their positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..tree import Compare, Measure, Number
from ..truth import TOLERANCE
from .arranged import Arranged
from .columns import Floats, Ints
from .numbers import ULP
from .so_far import SoFar, is_so_far

if TYPE_CHECKING:
    from .evaluate import At

PIECE = 16
"""Positions in a piece; the last of a history may be shorter."""

_MIRROR = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


def may_hold(at: At, expr: Compare) -> Ints | None:
    """The positions at which a comparison may hold; None where this cannot be told cheaply."""
    op, left, right = expr.op, expr.left, expr.right
    if isinstance(left, Number):
        op, left, right = _MIRROR.get(op, op), right, left
    if not isinstance(left, Measure) or not isinstance(right, Number) or op not in _MIRROR:
        return None
    if left.name != "mean" and not (left.name == "std" and op in (">", ">=") and right.value > 0):
        return None
    if not is_so_far(at, left) or ("number", left, at.cap) in at.arranged.memo:
        return None
    windows = SoFar(at, left)
    if not windows.has_numbers or windows.largest > 1e100:
        return None
    excess = _excess(windows, left.name, op, right.value)
    if windows.valid is not None:
        # Absent values are no numbers, and 0 times those is none either.
        excess = excess * windows.valid if windows.is_full else np.where(windows.valid, excess, 0.0)
    return _positions(at.arranged, excess, max(1, left.window.at_least))


def _excess(windows: SoFar, name: str, op: str, c: float) -> Floats:
    """What each value adds to a sum that is above 0 where the comparison holds, and a little more."""
    largest = windows.largest
    if name == "std":
        out = windows.values - windows.middle
        out *= out
        size = (largest + abs(windows.middle)) ** 2
        out -= c * c - _slack(windows, size, c * c) - 2 * TOLERANCE * max(1.0, c) * (2 * c + 1)
        return out
    slack = _slack(windows, largest, c)
    return windows.values - (c - slack) if op in (">", ">=") else (c + slack) - windows.values


def _slack(windows: SoFar, size: float, c: float) -> float:
    """More than tolerance and rounding could make of a mean."""
    top = max(1.0, abs(c), size)
    return 2 * TOLERANCE * top + 4 * ULP * windows.widest * (size + abs(c))


def _positions(arranged: Arranged, excess: Floats, least: int) -> Ints:
    """The positions in pieces where a running sum may be above 0, from the `least`-th of a history on."""
    starts, first, lengths = pieces(arranged, least)
    sums = np.add.reduceat(excess, starts)
    # What is positive, from the sizes: they are quicker to get than a maximum.
    up = (np.add.reduceat(np.abs(excess, out=excess), starts) + sums) / 2
    # Of the first piece only the end counts: before it there are too few.
    up[first] = sums[first]
    before = np.cumsum(sums)
    before -= sums
    before -= np.repeat(before[first], np.diff(first, append=len(starts)))
    # Sums of pieces are summed across histories, so they are a little off.
    kept = np.flatnonzero(before + up > -1e-9 * max(1.0, float(np.abs(sums).max(initial=0.0))))
    length = lengths[kept]
    begins = np.cumsum(length) - length
    out: Ints = np.arange(int(length.sum())) + np.repeat(starts[kept] - begins, length)
    return out if least == 1 else out[out - arranged.start[out] >= least - 1]


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
    found: tuple[Ints, Ints, Ints] = arranged.memo[token]
    return found
