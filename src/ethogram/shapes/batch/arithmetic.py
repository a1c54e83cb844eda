"""Arithmetic on columns, with the same operations in the same order as the plain readers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..evaluate import _OPERATIONS
from ..statistics import finite
from ..tree import Arithmetic, Expr, Function, Negative
from .columns import Floats, Mask
from .numbers import ULP, Num, above_array, joined

if TYPE_CHECKING:
    from .evaluate import At

SMALL = 1e-3
"""An inexact number nearer to 0 than this may not be divided by: the plain reader is asked."""


def arithmetic(at: At, expr: Expr) -> Num:
    """The value of a negation, an operation or a function."""
    match expr:
        case Negative():
            name, args = "negative", [at.number(expr.of)]
        case Arithmetic():
            name, args = expr.op, [at.number(expr.left), at.number(expr.right)]
        case Function():
            name, args = expr.name, [at.number(one) for one in expr.args]
        case _:
            raise TypeError(f"{type(expr).__name__} is no arithmetic")
    if all(isinstance(one.x, float) and one.exact for one in args):
        return Num(_constant(name, [float(one.x) for one in args]))
    with np.errstate(all="ignore"):
        if name == "log" and at.exact:
            return Num(np.array([_constant(name, [x]) for x in np.asarray(args[0].x).tolist()]))
        x = _compute(name, [one.x for one in args])
        x = np.where(np.isfinite(x), x, np.nan)
        return _bounded(name, args, x)


def _constant(name: str, values: list[float]) -> float:
    found = None if any(map(math.isnan, values)) else finite(lambda: _OPERATIONS[name](*values))
    return math.nan if found is None else float(found)


def _compute(name: str, xs: list[Floats | float]) -> Floats:
    match name:
        case "negative":
            return -np.asarray(xs[0])
        case "+":
            return np.asarray(xs[0] + xs[1])
        case "-":
            return np.asarray(xs[0] - xs[1])
        case "*":
            return np.asarray(xs[0] * xs[1])
        case "/":
            return np.asarray(xs[0] / np.where(_is_zero(xs[1]), np.nan, xs[1]))
        case "abs":
            return np.abs(xs[0])
        case "min" | "max":
            return _extreme(name, xs)
        case "clip":
            return np.minimum(np.maximum(xs[0], xs[1]), xs[2])
        case "log":
            return np.log(np.where(above_array(xs[0], 0.0), xs[0], np.nan))
        case "sqrt":
            return np.sqrt(np.where(_is_zero(xs[0]), 0.0, xs[0]))
    raise TypeError(f"no operation {name!r}")


def _extreme(name: str, xs: list[Floats | float]) -> Floats:
    join = np.minimum if name == "min" else np.maximum
    out = np.asarray(xs[0])
    for x in xs[1:]:
        out = join(out, x)
    return out


def _is_zero(x: Floats | float) -> Mask:
    known: Mask = ~above_array(x, 0.0) & ~above_array(0.0, x) & np.equal(x, x)
    return known


def _bounded(name: str, args: list[Num], x: Floats) -> Num:
    """The result with its error; log is never exact, since NumPy's may differ in the last place."""
    doubt = joined(*(one.doubt for one in args))
    errs = [one.err for one in args]
    if name == "log":
        far = _near_zero(args[0], x) if errs[0] else None
        return Num(x, errs[0] / SMALL + 4 * ULP * _largest(x), joined(doubt, far))
    if not any(errs):
        return Num(x, 0.0, doubt)
    rounding = 4 * ULP * _largest(x)
    match name:
        case "*":
            err = errs[0] * _largest(args[1].x) + errs[1] * _largest(args[0].x) + errs[0] * errs[1]
        case "/":
            if errs[1]:
                doubt = joined(doubt, _near_zero(args[1], x))
                err = (errs[0] + errs[1] * _largest(x)) / (SMALL / 2)
            else:
                smallest = np.nanmin(np.abs(args[1].x), initial=np.inf)
                err = errs[0] / max(float(smallest), SMALL)
                doubt = joined(doubt, _near_zero(args[1], x))
        case "sqrt":
            doubt = joined(doubt, _near_zero(args[0], x))
            err = errs[0] / math.sqrt(SMALL)
        case "+" | "-":
            err = sum(errs)
        case _:
            err = max(errs)
    err += rounding
    return Num(x, err if math.isfinite(err) else math.inf, doubt)


def _near_zero(one: Num, like: Floats) -> Mask:
    """Where a number is too near 0, or below it, to be trusted under a division, logarithm or root."""
    small: Mask = np.abs(one.x) < SMALL
    return np.broadcast_to(small, like.shape)


def _largest(x: Floats | float) -> float:
    return float(np.nanmax(np.abs(x), initial=0.0))
