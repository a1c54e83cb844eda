"""Which histories a condition can be judged in at all."""

from __future__ import annotations

import numpy as np

from ..tree import And, Compare, Expr, Not, Number, Or, Signal
from .columns import Ints, Mask
from .cost import cost
from .evaluate import At

NONE: Ints = np.empty(0, np.int64)


def unjudged(at: At, condition: Expr) -> Ints:
    """Numbers of the histories in which a condition is nowhere true or false."""
    if always_known(at, condition) or not at.size:
        return NONE
    known = _any(at, at.holds(condition))
    items = condition.items if isinstance(condition, And) else (condition,)
    for item in sorted(items, key=cost):
        if known.all():
            return NONE
        known = _further(at, item, known)
    return np.flatnonzero(~known)


def _further(at: At, item: Expr, known: Mask) -> Mask:
    """The histories known so far, and those in which one more item is false somewhere."""
    if cost(item) == 0:
        return known | _any(at, at.fails(item))
    asked = ~known[at.arranged.which]
    out = np.zeros(at.size, bool)
    out[asked] = at.some(asked).fails(item)
    return known | _any(at, out)


def _any(at: At, mask: Mask) -> Mask:
    """The histories in which a mask is set somewhere."""
    return np.logical_or.reduceat(mask, at.arranged.starts)


def always_known(at: At, expr: Expr) -> bool:
    """Whether a condition is true or false at every position, as far as can be seen at once."""
    match expr:
        case Compare(left=Signal() as signal, right=Number()) if expr.op not in ("==", "!="):
            column = at.arranged.column("reading", signal.name).num
            return column is not None and not bool(np.isnan(column).any())
        case And() | Or():
            return all(always_known(at, item) for item in expr.items)
        case Not():
            return always_known(at, expr.of)
    return False
