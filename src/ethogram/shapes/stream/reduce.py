"""Expressions as they are for events with given readings: what is absent there is put in place.

Most events carry few of the readings a pattern set names, so most conditions come down to a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ..history import FIELDS
from ..tree import (
    And,
    AnyOf,
    Arithmetic,
    Attribute,
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
    Result,
    Signal,
    Text,
)
from .captured import Captures
from .code import functions
from .source import Writer

ABSENT: Expr = Result("absent")
"""A value that is absent, or a condition that is unknown."""
TRUE: Expr = Known(Number(0.0))
FALSE: Expr = Known(ABSENT)
CONSTANT = (Number, Text)


class Carried(NamedTuple):
    """What events of one kind carry: these readings, attributes or none, and whether they are evaluated."""

    names: frozenset[str]
    attributes: bool
    evaluated: bool

    def reduce(self, expr: Expr) -> Expr:
        """The same value and truth at every such event, with less to read."""
        match expr:
            case Signal():
                return expr if expr.name in self.names else ABSENT
            case Indicator():
                lacking = Number(0.0) if self.evaluated else ABSENT
                return expr if expr.name in self.names else lacking
            case Attribute():
                is_there = self.attributes or expr.name in FIELDS or expr.name in self.names
                return expr if is_there else ABSENT
            case Negative() | Arithmetic() | Function() | Compare():
                return self._plain(expr)
            case Member():
                return self._member(expr)
            case OrElse():
                of = self.reduce(expr.of)
                if of == ABSENT:
                    return self.reduce(expr.default)
                return of if isinstance(of, CONSTANT) else OrElse(of, self.reduce(expr.default))
            case Known():
                of = self.reduce(expr.of)
                if of == ABSENT:
                    return FALSE
                return TRUE if isinstance(of, CONSTANT) or of in (TRUE, FALSE) else Known(of)
            case AnyOf():
                return self.reduce(Or(tuple(Compare(">", item, Number(0.0)) for item in expr.items)))
            case And() | Or() | Not():
                return self._logic(expr)
        return expr

    def _plain(self, expr: Negative | Arithmetic | Function | Compare) -> Expr:
        made: Expr
        match expr:
            case Negative():
                parts: tuple[Expr, ...] = (self.reduce(expr.of),)
                made = Negative(parts[0])
            case Function():
                parts = tuple(map(self.reduce, expr.args))
                made = Function(expr.name, parts)
            case Arithmetic():
                parts = (self.reduce(expr.left), self.reduce(expr.right))
                made = Arithmetic(expr.op, *parts)
            case Compare():
                parts = (self.reduce(expr.left), self.reduce(expr.right))
                made = Compare(expr.op, *parts)
        if ABSENT in parts:
            return ABSENT
        return _computed(made) if all(isinstance(part, CONSTANT) for part in parts) else made

    def _member(self, expr: Member) -> Expr:
        of = self.reduce(expr.of)
        if of == ABSENT:
            return ABSENT
        made = Member(of, tuple(map(self.reduce, expr.options)), expr.negated)
        return _computed(made) if all(isinstance(one, CONSTANT) for one in (of, *made.options)) else made

    def _logic(self, expr: And | Or | Not) -> Expr:
        if isinstance(expr, Not):
            of = self.reduce(expr.of)
            swapped = {TRUE: FALSE, FALSE: TRUE, ABSENT: ABSENT}
            return swapped.get(of, Not(of)) if of in swapped else Not(of)
        decides, neutral = (FALSE, TRUE) if isinstance(expr, And) else (TRUE, FALSE)
        items = [one for one in dict.fromkeys(map(self.reduce, expr.items)) if one != neutral]
        if decides in items:
            return decides
        if not items:
            return neutral
        if items == [ABSENT]:
            return ABSENT
        return type(expr)(tuple(items))


@lru_cache(maxsize=4096)
def _computed(expr: Expr) -> Expr:
    """What an expression of constants comes to."""
    writer = Writer(Captures(()))
    name = writer.function(writer.value(expr))
    read: Callable[..., object] = functions("\n".join(writer.lines), writer.names)[name]
    value = read(_NOWHERE, (), ())
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return Text(value) if isinstance(value, str) else Number(float(value))  # type: ignore[arg-type]


class _Nowhere:
    get = memo = None


_NOWHERE = _Nowhere()
