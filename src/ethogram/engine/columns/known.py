"""Which histories a condition can be judged in at all."""

from __future__ import annotations

import numpy as np

from ...language.ast import And, Compare, Expr, Measure, Not, Number, Or, Signal
from .blocks import Arranged
from .expressions import At, cost
from .table import Ints, Mask
from .windows import Pieces, SoFar, is_so_far

NONE: Ints = np.empty(0, np.int64)


def unjudged(at: At, condition: Expr) -> Ints:
    """Numbers of the histories in which a condition is nowhere true or false."""
    if not at.size or known_at_start(at, condition):
        return NONE
    known = known_at_end(at, condition)
    if known is not None and known.all():
        return NONE
    known = _any(at, at.holds(condition)) if known is None else known | _any(at, at.holds(condition))
    items = condition.items if isinstance(condition, And) else (condition,)
    for item in sorted(items, key=cost):
        if known.all():
            return NONE
        known = _further(at, item, known)
    return np.flatnonzero(~known)


def known_at_end(at: At, expr: Expr) -> Mask | None:
    """Histories at whose last event a condition is surely known, from counts alone; None where unsure."""
    match expr:
        case And() | Or():
            known = np.ones(len(at.arranged.starts), bool)
            for item in expr.items:
                part = known_at_end(at, item)
                if part is None:
                    return None
                known &= part
            return known
        case Compare(left=Measure() as measure, right=Number()) if expr.op not in ("==", "!="):
            if not is_so_far(at, measure) or measure.name not in _LEAST:
                return None
            windows = SoFar(at, measure)
            need = max(_LEAST[measure.name], measure.window.at_least)
            if windows.valid is None:
                return at.arranged.lengths >= need
            return enough(windows.valid, at.arranged, need)
    return None


def enough(mask: Mask, arranged: Arranged, need: int) -> Mask:
    """Histories in which a mask is set at least so often; their first events mostly show it."""
    starts, lengths = arranged.starts, arranged.lengths
    soon = min(max(SOON, 4 * need), int(lengths.max(initial=1)))
    place = np.arange(soon)
    rows = starts[:, None] + np.minimum(place, lengths[:, None] - 1)
    n = (mask[rows] & (place < lengths[:, None])).sum(axis=1)
    left = np.flatnonzero((n < need) & (lengths > soon))
    if len(left):
        rest = Pieces(starts[left], arranged.ends[left])
        n[left] = rest.count(mask[rest.at])
    result: Mask = n >= need
    return result


SOON = 16
_LEAST = {"mean": 1, "std": 1, "rise": 2, "share": 1, "count": 0, "sum": 0}
"""How many readings a measure needs to have a value."""


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


def known_at_start(at: At, expr: Expr) -> bool:
    """Whether a condition on readings alone is true or false at the first event of every history."""
    match expr:
        case Compare(left=Signal() as signal, right=Number()) if expr.op not in ("==", "!="):
            column = at.arranged.column("reading", signal.name).num
            return column is not None and not bool(np.isnan(column[at.arranged.starts]).any())
        case And() | Or():
            return all(known_at_start(at, item) for item in expr.items)
        case Not():
            return known_at_start(at, expr.of)
    return False
