"""Cover over all windows at once: which indicators of a set were found in each, by their counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..tree import Compare, Cover, Expr, Number
from .columns import Floats, Ints, Mask
from .numbers import ULP, Num
from .ranges import ranges

if TYPE_CHECKING:
    from .evaluate import At


def cover(at: At, expr: Cover) -> Num:
    """The weights of the indicators found in each window, added up."""
    from .evaluate import At as Reader

    window = expr.window
    here = at.arranged.whole if window.over_subject else at.arranged
    read, found = Reader(here, at.cap), ranges(at, window)
    kept = None if window.where is None else read.holds(window.where)
    x: Floats = np.zeros(at.size)
    for item, weight in zip(expr.items, expr.weights, strict=True):
        held = read.holds(Compare(">", item, Number(0.0)))
        held = held if kept is None else held & kept
        if weight and held.any():
            marks = _before(held)
            x += weight * (marks[found.high] > marks[found.low])
    if window.at_least:
        known = _before(_known(read, expr.items, kept))
        x[known[found.high] - known[found.low] < window.at_least] = np.nan
    size = sum(map(abs, expr.weights))
    return Num(x, 2 * ULP * len(expr.weights) * size if len(expr.weights) > 1 else 0.0)


def _known(read: At, items: tuple[Expr, ...], kept: Mask | None) -> Mask:
    """Where one of the indicators is known."""
    out = np.zeros(read.size, bool)
    for item in items:
        num = read.value(item).num
        if num is not None:
            out |= num == num
    return out if kept is None else out & kept


def _before(mask: Mask) -> Ints:
    """How many are set before each position, and before the end."""
    return np.concatenate(([0], np.cumsum(mask)))
