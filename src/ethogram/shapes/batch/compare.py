"""Comparisons of columns: where they are true, where false, and where rounding could turn them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..tree import Compare, Expr, Number, Signal
from .columns import Floats, Ints, Mask, Values
from .numbers import Num, above_array, equal_to, highest_below, joined, lowest_above, near

if TYPE_CHECKING:
    from .arranged import Arranged

Judged = tuple[Mask, Mask | None]
"""Where a comparison is as wanted, and where the plain reader must be asked."""

_MIRROR = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


def simple_mask(arranged: Arranged, expr: Expr, rows: Ints | None) -> Mask | None:
    """Where the reading of a signal lies on one side of a number; None for any other condition."""
    if (
        not isinstance(expr, Compare)
        or not isinstance(expr.left, Signal)
        or not isinstance(expr.right, Number)
    ):
        return None
    if expr.op not in _MIRROR:
        return None
    found, c = arranged.column("reading", expr.left.name).num, float(expr.right.value)
    if found is None or c != c:
        return np.zeros(arranged.size if rows is None else len(rows), bool)
    return _side(expr.op, found if rows is None else found[rows], c, True)


def order_masks(op: str, a: Num, b: Num, wanted: bool, size: int) -> Judged:
    """`a op b` is true (or, not wanted, false)."""
    if isinstance(a.x, float) and not isinstance(b.x, float):
        op, a, b = _MIRROR[op], b, a
    if isinstance(b.x, float) and not isinstance(a.x, float):
        return _with_constant(op, a, b, wanted)
    known = np.equal(a.x, a.x) & np.equal(b.x, b.x)
    # `a >= b` is not (b > a), so two of the four ask the other way round.
    over = above_array(a.x, b.x) if op in (">", "<=") else above_array(b.x, a.x)
    found = over if (op in (">", "<")) == wanted else ~over
    return np.broadcast_to(known & found, (size,)), near(a, b)


def _with_constant(op: str, a: Num, b: Num, wanted: bool) -> Judged:
    c = b.x
    assert isinstance(c, float)
    if c != c:
        return np.zeros(len(np.asarray(a.x)), bool), near(a, b)
    return _side(op, np.asarray(a.x), c, wanted), near(a, b)


def _side(op: str, x: Floats, c: float, wanted: bool) -> Mask:
    """Where numbers lie on one side of another, as wanted."""
    found: Mask
    if op in (">", "<="):
        edge = lowest_above(c)
        found = x >= edge if (op == ">") == wanted else x < edge
    else:
        edge = highest_below(c)
        found = x <= edge if (op == "<") == wanted else x > edge
    return found


def equal_masks(a: Values | Num, b: Values | Num, same: bool, size: int) -> Judged:
    """Both are known and equal (or, not `same`, known and different)."""
    first, second = _parts(a), _parts(b)
    numbers, unsure = _equal_numbers(first[0], second[0], size)
    equal = numbers
    if first[1] is not None and second[1] is not None:
        equal = equal | ((first[1] == second[1]) & (first[1] >= 0))
    if same:
        return equal, unsure
    known = _known(first, size) & _known(second, size)
    return known & ~equal, unsure


_Parts = tuple[Num | None, np.ndarray | None]


def _parts(side: Values | Num) -> _Parts:
    if isinstance(side, Num):
        return side, None
    return None if side.num is None else Num(side.num), side.code


def _known(parts: _Parts, size: int) -> Mask:
    out = np.zeros(size, bool)
    if parts[0] is not None:
        out |= np.equal(parts[0].x, parts[0].x)
    if parts[1] is not None:
        out |= parts[1] >= 0
    return out


def _equal_numbers(a: Num | None, b: Num | None, size: int) -> Judged:
    if a is None or b is None:
        doubts = [one.doubt for one in (a, b) if one is not None]
        return np.zeros(size, bool), joined(*doubts)
    for x, c in ((a.x, b.x), (b.x, a.x)):
        if isinstance(c, float) and not isinstance(x, float):
            return (equal_to(x, c) if c == c else np.zeros(size, bool)), near(a, b)
    found = ~above_array(a.x, b.x) & ~above_array(b.x, a.x) & np.equal(a.x, a.x) & np.equal(b.x, b.x)
    return np.broadcast_to(found, (size,)), near(a, b)
