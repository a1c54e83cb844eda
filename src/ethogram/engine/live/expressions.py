"""Expressions to closures: `read(event, at, history)` gives a value or truth; None is absent or unknown.

`event` is the event at position `at` of the history. Closures keep no state of their own, so one serves every
history and both the live engine and whoever reads a full history (`explain`, evidence, sweeps).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ...language import ast
from ...language.ast import Expr
from ...language.history import FIELDS, attribute
from ...language.program import Program
from ...language.three_valued import above, equal
from ...language.visitor import children
from ...models.event import Event, Value, is_evaluated, millionths
from ..aggregates import mean
from ..history import NO_CHAIN, Chain, History
from ..match import MOST_TEXT

Read = Callable[[Event, int, History], Any]


@lru_cache(maxsize=4096)
def reader(expr: Expr) -> Read:
    """A function that reads the expression."""
    match expr:
        case ast.Number() | ast.Text():
            value = expr.value
            return lambda event, at, history: value
        case ast.Signal():
            name = expr.name
            return lambda event, at, history: event.readings.get(name)
        case ast.Indicator():
            return _indicator(expr.name)
        case ast.Attribute():
            return _attribute(expr.name)
        case ast.Elapsed():
            return _gap if expr.name == "gap" else _age
        case ast.StepValue() | ast.StepCount() | ast.StepMean():
            return _step(expr)
        case ast.Result():
            name = expr.name
            return lambda event, at, history: history.results.get(name)
        case ast.Negative() | ast.Arithmetic() | ast.Function():
            return _arithmetic(expr)
        case ast.Compare():
            return _compare(expr)
        case ast.Member():
            return _member(expr)
        case ast.Measure() | ast.Cover() | ast.Difference():
            from .aggregates import aggregate_reader

            return aggregate_reader(expr)
        case _:
            return _logic(expr)


@lru_cache(maxsize=4096)
def holds(expr: Expr) -> Read:
    """A function whose result is true where a condition is; false and unknown are both not."""
    if isinstance(expr, ast.And):
        items = [holds(item) for item in cheapest_first(expr.items)]

        def all_hold(event: Event, at: int, history: History) -> bool:
            for item in items:  # noqa: SIM110 (`all` over so few takes twice as long)
                if not item(event, at, history):
                    return False
            return True

        return all_hold
    if isinstance(expr, ast.AnyOf):
        names = [item.name for item in expr.items]

        def any_above(event: Event, at: int, history: History) -> bool:
            readings: Mapping[str, Any] = event.readings
            for name in names:
                value = readings.get(name)
                if value is not None and value.__class__ is not str and above(value, 0.0):
                    return True
            return False

        return any_above
    return reader(expr)


def read_at(expr: Expr, history: History, at: int, chain: Chain = NO_CHAIN) -> Any:
    """The expression at a position of a history that still has the event."""
    history.chain = chain
    return reader(expr)(history.events[at - history.base], at, history)


def number(value: Any) -> float | None:
    """The value if it is a number; a category where a number is due is absent."""
    return value if isinstance(value, (int, float)) else None


def cheapest_first(items: tuple[Expr, ...]) -> list[Expr]:
    """Conditions in an order that decides soonest; the truth of `and` and `or` does not depend on it."""
    return sorted(items, key=_cost)


def _cost(expr: Expr) -> int:
    # A contrast looks at more than any other aggregate.
    own = 200 if isinstance(expr, ast.Difference) else 50 if isinstance(expr, (ast.Measure, ast.Cover)) else 1
    return own + sum(map(_cost, children(expr)))


# Values at one event.


def _indicator(name: str) -> Read:
    def read(event: Event, at: int, history: History) -> Value | None:
        value = event.readings.get(name)
        return 0.0 if value is None and is_evaluated(event.readings) else value

    return read


def _attribute(name: str) -> Read:
    if name in FIELDS:
        return lambda event, at, history: attribute(event, name)

    def read(event: Event, at: int, history: History) -> Value | None:
        if name in event.attributes or name in event.readings:
            return attribute(event, name)
        return None

    return read


def _gap(event: Event, at: int, history: History) -> float | None:
    i = at - history.base
    return (history.times[i] - history.times[i - 1]) / 1e6 if i > 0 and history.timed else None


def _age(event: Event, at: int, history: History) -> float | None:
    return (history.times[at - history.base] - history.first_us) / 1e6 if history.timed else None


def _step(expr: ast.StepValue | ast.StepCount | ast.StepMean) -> Read:
    step = expr.step
    if isinstance(expr, ast.StepCount):
        return lambda event, at, history: float(len(history.chain.get(step, ())))
    of = expr.of

    def last(event: Event, at: int, history: History) -> Any:
        matched = history.chain.get(step)
        return matched[-1].values[of] if matched else None

    def average(event: Event, at: int, history: History) -> float | None:
        values = [number(seen.values[of]) for seen in history.chain.get(step, ())]
        known = [millionths(x) for x in values if x is not None]
        return mean(len(known), sum(known)) if known else None

    return last if isinstance(expr, ast.StepValue) else average


# Arithmetic.

OPERATIONS: Mapping[str, Callable[..., float]] = {
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


def _arithmetic(expr: ast.Negative | ast.Arithmetic | ast.Function) -> Read:
    parts: tuple[Expr, ...]
    match expr:
        case ast.Negative():
            name, parts = "negative", (expr.of,)
        case ast.Arithmetic():
            name, parts = expr.op, (expr.left, expr.right)
        case ast.Function():
            name, parts = expr.name, expr.args
    operation, readers = OPERATIONS[name], [reader(part) for part in parts]

    def read(event: Event, at: int, history: History) -> float | None:
        values = []
        for item in readers:
            value = item(event, at, history)
            if value is None or value.__class__ is str:
                return None
            values.append(value)
        try:
            result = operation(*values)
        except (ZeroDivisionError, OverflowError, ValueError):
            return None
        return result if math.isfinite(result) else None

    return read


# Comparisons.


_ORDERED: Mapping[str, Callable[[float, float], bool]] = {
    ">": above,
    "<": lambda a, b: above(b, a),
    ">=": lambda a, b: not above(b, a),
    "<=": lambda a, b: not above(a, b),
}


def same(a: Value, b: Value) -> bool:
    """Whether two values are equal: categories exactly, numbers up to rounding."""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return equal(a, b)


def compare(op: str, a: Value, b: Value) -> bool | None:
    """Two values compared; None where one is a category and they are not to be told apart only."""
    if op in ("==", "!="):
        return same(a, b) is (op == "==")
    return None if isinstance(a, str) or isinstance(b, str) else _ORDERED[op](a, b)


def _compare(expr: ast.Compare) -> Read:
    left, right, op = reader(expr.left), reader(expr.right), expr.op
    if op in ("==", "!="):
        wanted = op == "=="

        def equality(event: Event, at: int, history: History) -> bool | None:
            a = left(event, at, history)
            if a is None:
                return None
            b = right(event, at, history)
            return None if b is None else (a == b or same(a, b)) is wanted

        return equality
    ordered = _ORDERED[op]
    if isinstance(expr.right, ast.Number):
        limit = float(expr.right.value)

        def constant(event: Event, at: int, history: History) -> bool | None:
            a = left(event, at, history)
            return None if a is None or a.__class__ is str else ordered(a, limit)

        return constant

    def order(event: Event, at: int, history: History) -> bool | None:
        a = left(event, at, history)
        if a is None or a.__class__ is str:
            return None
        b = right(event, at, history)
        return None if b is None or b.__class__ is str else ordered(a, b)

    return order


def _member(expr: ast.Member) -> Read:
    of, options = reader(expr.of), [reader(option) for option in expr.options]
    negated = expr.negated

    def member(event: Event, at: int, history: History) -> bool | None:
        value = of(event, at, history)
        if value is None:
            return None
        unknown = False
        for option in options:
            other = option(event, at, history)
            if other is None:
                unknown = True
            elif same(value, other):
                return not negated
        return None if unknown else negated

    return member


# Kleene's logic.


def _logic(expr: Expr) -> Read:
    match expr:
        case ast.And() | ast.Or():
            return _joined([reader(item) for item in cheapest_first(expr.items)], isinstance(expr, ast.Or))
        case ast.AnyOf():
            return _joined([reader(ast.Compare(">", item, ast.Number(0.0))) for item in expr.items], True)
        case ast.Not():
            of = reader(expr.of)

            def negation(event: Event, at: int, history: History) -> bool | None:
                truth: bool | None = of(event, at, history)
                return None if truth is None else not truth

            return negation
        case ast.Known():
            of = reader(expr.of)
            return lambda event, at, history: of(event, at, history) is not None
        case ast.OrElse():
            of, default = reader(expr.of), reader(expr.default)

            def first_known(event: Event, at: int, history: History) -> Any:
                value = of(event, at, history)
                return default(event, at, history) if value is None else value

            return first_known
    raise TypeError(f"no meaning for {type(expr).__name__}")


def _joined(items: list[Read], decisive: bool) -> Read:
    """`or` where true is decisive, `and` where false is."""

    def read(event: Event, at: int, history: History) -> bool | None:
        unknown = False
        for item in items:
            truth: bool | None = item(event, at, history)
            if truth is decisive:
                return decisive
            if truth is None:
                unknown = True
        return None if unknown else not decisive

    return read


# Confidence, severity, details and explanation at one position.


class Judge:
    """Reads a program's confidence, severity, details and explanation; steps through `history.chain`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._confidence = None if program.confidence is None else reader(program.confidence)
        severities = program.severities
        self._severities = [(name, None if item is None else holds(item)) for name, item in severities]

    def confidence(self, event: Event, at: int, history: History) -> float:
        """0..1, rounded to six decimals; absent is 0."""
        value = None if self._confidence is None else number(self._confidence(event, at, history))
        return 0.0 if value is None else round(min(1.0, max(0.0, value)), 6)

    def severity(self, event: Event, at: int, history: History) -> str:
        """The highest severity whose condition holds, else the lowest listed."""
        for name, condition in reversed(self._severities):
            if condition is None or condition(event, at, history):
                return name
        return self._severities[0][0]

    def details(self, event: Event, at: int, history: History) -> dict[str, Any]:
        """The pattern's own named values, numbers rounded to six decimals; absent ones are None."""
        from ...language.templates import rounded  # a hook has no use for it

        return {name: rounded(reader(expr)(event, at, history)) for name, expr in self.program.details}

    def explanation(self, event: Event, at: int, history: History) -> str:
        """The explanation with its holes filled, or the title where the pattern has none."""
        from ...language.templates import write_within

        pieces = []
        for piece in self.program.explanation:
            if isinstance(piece, ast.Slot):
                value = reader(piece.of)(event, at, history)
                pieces.append(write_within(value, piece.form, MOST_TEXT))
            else:
                pieces.append(piece)
        return "".join(pieces) or f"{event.subject}: {self.program.title}."
