"""Routing: which programs an event can matter to, judged by the names of its readings alone.

A signal that is not there is absent, and an indicator that is not there reads 0 or is absent. That decides
most conditions without a look at a value: a sequence on `any(MAN_GASLIGHT, DEC_TRUTHMIX)` cannot begin at an
event with neither. What a condition can be is worked out once for each combination of names.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from ...language.ast import (
    And,
    AnyOf,
    Arithmetic,
    Compare,
    Expr,
    Function,
    Indicator,
    Known,
    Member,
    Negative,
    Not,
    Number,
    Or,
    OrElse,
    Signal,
    Text,
)
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from .expressions import OPERATIONS, compare

ANY = object()
"""A value that cannot be known from names."""
Truths = frozenset[bool | None]
EVERY: Truths = frozenset((True, False, None))


def may_begin(program: Program, names: AbstractSet[str], evaluated: bool) -> bool:
    """Whether something can begin at an event with these readings: a step, an episode, a wait."""
    match program.body:
        case SequenceProgram(places=places):
            return True in truths(places[0].condition, names, evaluated)
        case ThresholdProgram(when=when):
            return True in truths(when, names, evaluated)
        case SilenceProgram(longer_than=longer):
            return value(longer, names, evaluated) is not None
    return True


def truths(expr: Expr, names: AbstractSet[str], evaluated: bool) -> Truths:
    """What a condition can be; at least that."""
    match expr:
        case Compare(op, left, right):
            a, b = value(left, names, evaluated), value(right, names, evaluated)
            if a is None or b is None:
                return frozenset((None,))
            return EVERY if a is ANY or b is ANY else frozenset((compare(op, a, b),))
        case Member(of=of):
            return frozenset((None,)) if value(of, names, evaluated) is None else EVERY
        case Not(of):
            return frozenset(None if truth is None else not truth for truth in truths(of, names, evaluated))
        case And(items):
            return _joined([truths(item, names, evaluated) for item in items], False)
        case Or(items):
            return _joined([truths(item, names, evaluated) for item in items], True)
        case AnyOf(items):
            each = [truths(Compare(">", item, Number(0.0)), names, evaluated) for item in items]
            return _joined(each, True)
        case Known(of):
            result = value(of, names, evaluated)
            return frozenset((True, False)) if result is ANY else frozenset((result is not None,))
    return EVERY


def _joined(items: list[Truths], decisive: bool) -> Truths:
    can: set[bool | None] = set()
    if any(decisive in item for item in items):
        can.add(decisive)
    if all((not decisive) in item for item in items):
        can.add(not decisive)
    if any(None in item for item in items):
        can.add(None)
    return frozenset(can)


def value(expr: Expr, names: AbstractSet[str], evaluated: bool) -> Any:
    """A value that is certain, None where it is certainly absent, else ANY."""
    args: tuple[Expr, ...]
    match expr:
        case Number(literal) | Text(literal):
            return literal
        case Signal(name):
            return ANY if name in names else None
        case Indicator(name):
            return ANY if name in names else 0.0 if evaluated else None
        case OrElse(of, default):
            result = value(of, names, evaluated)
            return value(default, names, evaluated) if result is None else result
        case Negative(of):
            operation, args = "negative", (of,)
        case Arithmetic(op, left, right):
            operation, args = op, (left, right)
        case Function(name, arguments):
            operation, args = name, arguments
        case _:
            return ANY
    values = [value(arg, names, evaluated) for arg in args]
    if None in values:
        return None
    if ANY in values or not all(isinstance(value, (int, float)) for value in values):
        return ANY
    try:
        return OPERATIONS[operation](*values)
    except (ZeroDivisionError, OverflowError, ValueError):
        return ANY
