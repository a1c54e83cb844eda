"""Expressions to functions of (history, position, chain). None is absent or unknown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ..language.ast import (
    And,
    AnyOf,
    Arithmetic,
    Attribute,
    Compare,
    Cover,
    Difference,
    Elapsed,
    Expr,
    Function,
    Indicator,
    Known,
    Measure,
    Member,
    Negative,
    Not,
    Number,
    Or,
    OrElse,
    Result,
    Signal,
    StepCount,
    StepMean,
    StepValue,
    Text,
)
from ..language.history import CAP, History, attribute
from ..language.three_valued import above, at_least, both, either, equal
from ..models import Value
from .values import finite

Chain = Mapping[str, Any]
"""Positions matched by each step so far, oldest first; results of the shape under '.name'."""

Read = Callable[[History, int, Chain], Any]
NO_CHAIN: Chain = {}


@lru_cache(maxsize=4096)
def reader(expr: Expr, cap: int = CAP) -> Read:
    """A function that reads the expression at a position of a history."""
    match expr:
        case Number() | Text():
            value = expr.value
            return lambda history, at, chain: value
        case Signal():
            return _signal(expr.name)
        case Indicator():
            return _indicator(expr.name)
        case Attribute():
            name = expr.name
            return lambda history, at, chain: attribute(history.events[at], name)
        case Elapsed():
            return _elapsed(expr.name)
        case StepValue() | StepCount() | StepMean():
            return _step(expr, cap)
        case Result():
            name = expr.name
            return lambda history, at, chain: chain.get("." + name)
        case Negative() | Arithmetic() | Function():
            return _arithmetic(expr, cap)
        case Compare() | Member():
            return _comparison(expr, cap)
        case Measure() | Cover() | Difference():
            from .aggregates import measure_reader

            return measure_reader(expr, cap)
        case _:
            return _logic(expr, cap)


def _signal(name: str) -> Read:
    def read(history: History, at: int, chain: Chain) -> Value | None:
        return history.events[at].readings.get(name)

    return read


def _indicator(name: str) -> Read:
    def read(history: History, at: int, chain: Chain) -> Value | None:
        value = history.events[at].readings.get(name)
        if value is None and history.evaluated[at]:
            return 0.0
        return value

    return read


def _elapsed(name: str) -> Read:
    def gap(history: History, at: int, chain: Chain) -> float | None:
        if at == 0 or not history.timed:
            return None
        return (history.times[at] - history.times[at - 1]) / 1e6

    def age(history: History, at: int, chain: Chain) -> float | None:
        return (history.times[at] - history.times[0]) / 1e6 if history.timed else None

    return gap if name == "gap" else age


def _step(expr: StepValue | StepCount | StepMean, cap: int) -> Read:
    step = expr.step
    if isinstance(expr, StepCount):
        return lambda history, at, chain: float(len(chain.get(step, ())))
    of = reader(expr.of, cap)
    if isinstance(expr, StepValue):

        def value(history: History, at: int, chain: Chain) -> Any:
            matched = chain.get(step)
            return of(history, matched[-1], NO_CHAIN) if matched else None

        return value

    def mean(history: History, at: int, chain: Chain) -> float | None:
        found = [number(of(history, i, NO_CHAIN)) for i in chain.get(step, ())]
        known = [x for x in found if x is not None]
        return math.fsum(known) / len(known) if known else None

    return mean


def number(value: Any) -> float | None:
    """The value if it is a number; a category where a number is due is absent."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


_OPERATIONS: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / (0.0 if equal(b, 0.0) else b),
    "abs": abs,
    "min": min,
    "max": max,
    "log": lambda x: math.log(x if above(x, 0.0) else 0.0),
    "sqrt": lambda x: math.sqrt(0.0 if equal(x, 0.0) else x),
    "clip": lambda x, low, high: min(max(x, low), high),
    "negative": lambda x: -x,
}


def _arithmetic(expr: Negative | Arithmetic | Function, cap: int) -> Read:
    match expr:
        case Negative():
            operation, parts = _OPERATIONS["negative"], (expr.of,)
        case Arithmetic():
            operation, parts = _OPERATIONS[expr.op], (expr.left, expr.right)  # type: ignore[assignment]
        case Function():
            operation, parts = _OPERATIONS[expr.name], expr.args  # type: ignore[assignment]
    readers = [reader(part, cap) for part in parts]

    def read(history: History, at: int, chain: Chain) -> float | None:
        values = []
        for item in readers:
            value = number(item(history, at, chain))
            if value is None:
                return None
            values.append(value)
        return finite(lambda: operation(*values))

    return read


_ORDERED: dict[str, Callable[[float, float], bool]] = {
    ">": above,
    "<": lambda a, b: above(b, a),
    ">=": at_least,
    "<=": lambda a, b: at_least(b, a),
}


def same(a: Value, b: Value) -> bool:
    """Whether two values are equal: categories exactly, numbers up to rounding."""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return equal(a, b)


def _comparison(expr: Compare | Member, cap: int) -> Read:
    if isinstance(expr, Member):
        of = reader(expr.of, cap)
        pairs = [Compare("==", expr.of, option) for option in expr.options]
        inside = [_comparison(pair, cap) for pair in pairs]

        def member(history: History, at: int, chain: Chain) -> bool | None:
            if of(history, at, chain) is None:
                return None
            found = either(item(history, at, chain) for item in inside)
            return found if found is None or not expr.negated else not found

        return member
    left, right, op = reader(expr.left, cap), reader(expr.right, cap), expr.op

    def equality(history: History, at: int, chain: Chain) -> bool | None:
        a, b = left(history, at, chain), right(history, at, chain)
        if a is None or b is None:
            return None
        return same(a, b) == (op == "==")

    if op in ("==", "!="):
        return equality
    compare = _ORDERED[op]

    def order(history: History, at: int, chain: Chain) -> bool | None:
        a, b = number(left(history, at, chain)), number(right(history, at, chain))
        return None if a is None or b is None else compare(a, b)

    return order


def _logic(expr: Expr, cap: int) -> Read:
    match expr:
        case And() | Or():
            items = [reader(item, cap) for item in expr.items]
            join = both if isinstance(expr, And) else either
            return lambda history, at, chain: join(item(history, at, chain) for item in items)
        case AnyOf():
            items = [reader(Compare(">", item, Number(0.0)), cap) for item in expr.items]
            return lambda history, at, chain: either(item(history, at, chain) for item in items)
        case Not():
            of = reader(expr.of, cap)

            def negation(history: History, at: int, chain: Chain) -> bool | None:
                truth = of(history, at, chain)
                return None if truth is None else not truth

            return negation
        case Known():
            of = reader(expr.of, cap)
            return lambda history, at, chain: of(history, at, chain) is not None
        case OrElse():
            of, default = reader(expr.of, cap), reader(expr.default, cap)

            def first_known(history: History, at: int, chain: Chain) -> Any:
                value = of(history, at, chain)
                return default(history, at, chain) if value is None else value

            return first_known
    raise TypeError(f"no meaning for {type(expr).__name__}")
