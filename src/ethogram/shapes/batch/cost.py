"""What kind of thing an expression gives, what it costs to read, and whether columns can say it at all."""

from __future__ import annotations

from functools import lru_cache

from ..tree import (
    And,
    AnyOf,
    Attribute,
    Compare,
    Cover,
    Difference,
    Expr,
    Indicator,
    Known,
    Measure,
    Member,
    Not,
    Or,
    OrElse,
    Result,
    Signal,
    StepMean,
    StepValue,
    Text,
)
from ..walk import children, walk

PREFIX = frozenset(
    (
        "count", "share", "sum", "mean", "min", "max", "std", "oldest", "newest", "run", "rise", "rate",
        "usual", "span",
    )
)  # fmt: skip
"""Measures worked out from prefix sums and the like: all positions at once."""

INEXACT = frozenset(("sum", "mean", "usual", "std", "rise"))
"""Those of them that may differ from the plain readers in the last places."""


@lru_cache(maxsize=4096)
def kind(expr: Expr) -> str:
    """truth, number, value (a number or a text), or none where columns cannot say it."""
    match expr:
        case Compare() | Member() | Not() | And() | Or() | AnyOf() | Known():
            return "truth"
        case Text() | Signal() | Indicator() | Attribute():
            return "value"
        case StepValue():
            return kind(expr.of)
        case Measure(name="top" | "oldest" | "newest"):
            return "truth" if expr.condition else "value"
        case OrElse():
            kinds = {kind(expr.of), kind(expr.default)}
            if "truth" in kinds:
                return "truth" if len(kinds) == 1 else "none"
            return "number" if kinds == {"number"} else "value"
        case Result() | Measure(name="values"):
            return "none"
    return "number"


@lru_cache(maxsize=4096)
def measures_in(expr: Expr) -> tuple[Expr, ...]:
    """The measures an expression is made of."""
    return tuple(one for one in walk(expr) if isinstance(one, (Measure, Cover, Difference)))


@lru_cache(maxsize=4096)
def cost(expr: Expr) -> int:
    """0 without measures, 1 with columnar ones, 2 where the plain reader must be asked row by row."""
    return max(
        (
            1 if isinstance(one, Measure) and one.name in PREFIX else 2
            for one in walk(expr)
            if isinstance(one, (Measure, Cover, Difference))
        ),
        default=0,
    )


@lru_cache(maxsize=4096)
def sayable(expr: Expr) -> bool:
    """Whether columns can say an expression: conditions stand only where conditions are due."""
    if any(kind(one) == "none" for one in walk(expr)):
        return False
    return all(_fits(one) for one in walk(expr))


def _fits(expr: Expr) -> bool:
    match expr:
        case Compare() | Member():
            return all(kind(one) != "truth" for one in children(expr))
        case And() | Or() | Not():
            return all(kind(one) == "truth" for one in children(expr))
        case StepMean():
            return kind(expr.of) != "truth"
        case Measure():
            return (kind(expr.of) == "truth") == expr.condition and kind(expr) != "truth"
    return True
