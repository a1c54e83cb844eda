"""Which readings a program cannot do without."""

from __future__ import annotations

from functools import reduce

from . import ast
from .ast import Expr
from .program import Program, SequenceProgram, ThresholdProgram
from .visitor import children, expressions, once_each

_ABSENT_WITHOUT = {
    *("mean", "min", "max", "std", "median", "share", "newest", "oldest"),
    *("rise", "tau", "growth", "swing_growth", "jump", "excess"),
}
"""Measures that are absent where there is nothing to measure; others are 0, or what is usual."""
_NEVER_UNKNOWN = (ast.Known, ast.OrElse, ast.AnyOf)


@once_each
def required_signals(program: Program) -> frozenset[str]:
    """Signals without any reading of which the program's shape can hold nowhere."""
    match program.body:
        case SequenceProgram(places=places):
            return frozenset[str]().union(*(required(place.condition) for place in places))
        case ThresholdProgram(when=when):
            return required(when)
        case _:
            return frozenset()


@once_each
def wanted_signals(program: Program) -> frozenset[str]:
    """Signals whose absence may hide a match: those of the shape that nothing stands in for."""
    body = program.body
    outer = expressions(body.places if isinstance(body, SequenceProgram) else body)
    return frozenset[str]().union(*map(_wanted, outer))


def _wanted(expr: Expr) -> frozenset[str]:
    if isinstance(expr, ast.Known | ast.OrElse):
        return frozenset()
    own = frozenset({expr.name} if isinstance(expr, ast.Signal) else ())
    return own.union(*map(_wanted, children(expr)))


def required(expr: Expr) -> frozenset[str]:
    """Signals without any reading of which an expression is absent, unknown or a count of nothing.

    >>> sorted(required(ast.And((ast.Signal("a"), ast.OrElse(ast.Signal("b"), ast.Number(0.0))))))
    ['a']
    """
    match expr:
        case ast.Signal(name=name):
            return frozenset({name})
        case ast.Or(items=items):
            return reduce(frozenset.__and__, map(required, items))
        case ast.Measure(name=name, of=of) if name not in _ABSENT_WITHOUT:
            return frozenset()
        case ast.Difference(of=of):
            return required(of)
        case ast.Compare(op=">" | ">=", left=ast.Measure(name="count", of=of), right=ast.Number(value=least)):
            return required(of) if least > 0 else frozenset()
        case ast.Measure(of=of):
            return required(of)
    if isinstance(expr, _NEVER_UNKNOWN):
        return frozenset()
    return frozenset[str]().union(*map(required, children(expr)))
