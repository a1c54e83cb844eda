"""Routing: which programs an event can matter to, judged by names of readings and attributes alone.

A signal that is not there is absent, and an indicator that is not there reads 0 or is absent. That decides
most conditions without a look at a value: a sequence on `any(MAN_GASLIGHT, DEC_TRUTHMIX)` cannot begin at an
event with neither, and a mean of what was never measured is absent. What a condition can be is worked out
once for each combination of names.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from ...language import ast
from ...language.ast import Expr
from ...language.history import FIELDS
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...models.event import Event, is_evaluated
from ..aggregates import AGGREGATES
from ..history import History
from .expressions import OPERATIONS, compare, reader

ANY = object()
"""A value that cannot be known from names."""
NOTHING = Event("", datetime(1970, 1, 1, tzinfo=UTC), "")
Truths = frozenset[bool | None]
EVERY: Truths = frozenset((True, False, None))


class Names(NamedTuple):
    """Names of readings and attributes of one event or of several, and whether those were evaluated; None
    where some were, or where names may be any."""

    names: frozenset[str] | None
    evaluated: bool | None

    @classmethod
    def of(cls, event: Event, relevant: frozenset[str]) -> Names:
        """Those of one event that matter."""
        return cls(relevant.intersection((*event.readings, *event.attributes)), is_evaluated(event.readings))

    def joined(self, other: Names) -> Names:
        """The names of both."""
        if self.names is None or other.names is None:
            return ANYTHING
        evaluated = self.evaluated if self.evaluated is other.evaluated else None
        return Names(self.names | other.names, evaluated)


ANYTHING = Names(None, None)


class Here(NamedTuple):
    """What is known of an event: its names, those of its whole history, and whether the history has times."""

    own: Names
    ever: Names = ANYTHING
    timed: bool = True

    def may_have(self, name: str) -> bool:
        """Whether the event may have a reading or attribute."""
        return self.own.names is None or name in self.own.names


def prospects(program: Program, here: Here) -> tuple[bool, bool]:
    """Whether something can begin at an event (a step, an episode, a wait), and whether what decides on it is
    certainly unknown."""
    match program.body:
        case SequenceProgram(places=places):
            can = truths(places[0].condition, here)
        case ThresholdProgram(when=when):
            can = truths(when, here)
        case SilenceProgram(longer_than=longer, after=after):
            absent = value(longer, here) is None
            return not absent, absent and after is not None and True not in truths(after, here)
        case _:
            return True, False
    return True in can, can == {None}


def truths(expr: Expr, here: Here) -> Truths:
    """What a condition can be; at least that."""
    match expr:
        case ast.Compare(op, left, right):
            a, b = value(left, here), value(right, here)
            if a is None or b is None:
                return frozenset((None,))
            return EVERY if a is ANY or b is ANY else frozenset((compare(op, a, b),))
        case ast.Member(of=of):
            return frozenset((None,)) if value(of, here) is None else EVERY
        case ast.Not(of):
            return frozenset(None if truth is None else not truth for truth in truths(of, here))
        case ast.And(items):
            return _joined([truths(item, here) for item in items], False)
        case ast.Or(items):
            return _joined([truths(item, here) for item in items], True)
        case ast.AnyOf(items):
            each = [truths(ast.Compare(">", item, ast.Number(0.0)), here) for item in items]
            return _joined(each, True)
        case ast.Known(of):
            result = value(of, here)
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


def value(expr: Expr, here: Here) -> Any:
    """A value that is certain, None where it is certainly absent, else ANY."""
    args: tuple[Expr, ...]
    match expr:
        case ast.Number(literal) | ast.Text(literal):
            return literal
        case ast.Signal(name):
            return ANY if here.may_have(name) else None
        case ast.Indicator(name):
            if here.may_have(name) or here.own.evaluated is None:
                return ANY
            return 0.0 if here.own.evaluated else None
        case ast.Attribute(name):
            return ANY if name in FIELDS or here.may_have(name) else None
        case ast.Measure() | ast.Cover() | ast.Difference():
            return _aggregate(expr, here)
        case ast.OrElse(of, default):
            result = value(of, here)
            return value(default, here) if result is None else result
        case ast.Negative(of):
            operation, args = "negative", (of,)
        case ast.Arithmetic(op, left, right):
            operation, args = op, (left, right)
        case ast.Function(name, arguments):
            operation, args = name, arguments
        case _:
            return ANY
    values = [value(arg, here) for arg in args]
    if None in values:
        return None
    if ANY in values or not all(isinstance(value, (int, float)) for value in values):
        return ANY
    try:
        return OPERATIONS[operation](*values)
    except (ZeroDivisionError, OverflowError, ValueError):
        return ANY


def _aggregate(expr: ast.Measure | ast.Cover | ast.Difference, here: Here) -> Any:
    """What an aggregate is where no event of the history has anything for it to count."""
    window, any_event = expr.window, Here(here.ever, here.ever, here.timed)
    if window.over_subject or (isinstance(expr, ast.Measure) and expr.name not in AGGREGATES):
        return ANY
    match expr:
        case ast.Cover(items=items):
            empty = window.at_least == 0 and not any(any_event.may_have(item.name) for item in items)
        case ast.Difference(of=of, where=where, against=against):
            sides = truths(where, any_event) | truths(against, any_event)
            empty = True not in sides or value(of, any_event) is None
        case ast.Measure(of=of, condition=condition):
            empty = truths(of, any_event) == {None} if condition else value(of, any_event) is None
    if not empty:
        return ANY
    history = History((), "", here.timed)
    history.add(NOTHING, 0)
    return reader(expr)(NOTHING, 0, history)
