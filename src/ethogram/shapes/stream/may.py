"""Whether a condition may be true at an event, as Python source that is cheap to run.

"No" is certain; "perhaps" is looked at exactly. Conditions of the event's own readings are written as they
are; a comparison with a measure is decided by what runs along with it (running.py), where something does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ..tree import (
    And,
    Arithmetic,
    Compare,
    Cover,
    Difference,
    Expr,
    Measure,
    Number,
    Or,
    StepCount,
    StepMean,
    StepValue,
    Text,
)
from ..walk import MEASURES, children, walk
from .captured import Captures
from .here import ORDERED, Here, Shared
from .reduce import ABSENT, CONSTANT, FALSE, TRUE, Carried
from .running import EACH, HEAD, bounds_of
from .truths import LOGICAL

TOLERATED = 1.1e-9


class Between(NamedTuple):
    """A number between two: `checks` must hold for it to be there at all. None: no end is known."""

    checks: list[str]
    low: str | None
    high: str | None


class Quick(Here):
    """Writes what can be said of one program without an exact look.

    What is known of measures: `runs` and `most` say where their sums run along, or only the most they may
    be; `newest` where the newest value is; `far` and `few` who knows of a contrast.
    """

    def __init__(
        self, captures: Captures, carried: Carried, places: Mapping[str, int], shared: Shared
    ) -> None:
        super().__init__(captures, carried, places, shared)
        self.runs: dict[Expr, tuple[str, int]] = {}
        self.most: dict[Expr, tuple[str, int]] = {}
        self.newest: dict[Expr, str] = {}
        self.far: dict[Expr, str] = {}
        self.few: dict[Difference, str] = {}

    def may(self, expr: Expr) -> str:
        """Source that is false only where the condition is not true; 'False', 'True' where that is clear."""
        expr = self.carried.reduce(expr)
        return self._may(expr)

    def _may(self, expr: Expr) -> str:
        if expr == TRUE:
            return "True"
        if expr in (FALSE, ABSENT):
            return "False"
        match expr:
            case And():
                return joined(
                    [self._may(item) for item in _cheapest_first(expr.items)], "and", "False", "True"
                )
            case Or():
                return joined(
                    [self._may(item) for item in _cheapest_first(expr.items)], "or", "True", "False"
                )
            case Number() | Text():
                return "True"
            case _ if not _looks_back(expr):
                # In a condition a number counts as true, but not where it stands alone.
                return self.true(expr) if isinstance(expr, LOGICAL) else f"({self.value(expr)} is not None)"
            case Compare() if expr.op in ORDERED:
                return self._reaches(expr)
        return "True"

    def knowable(self, expr: Expr) -> str:
        """Source that is false only where the condition is unknown."""
        expr = self.carried.reduce(expr)
        if expr in (TRUE, FALSE, ABSENT) or isinstance(expr, CONSTANT):
            return str(expr != ABSENT)
        if not _looks_back(expr):
            return f"({self.value(expr)} is not None)"
        match expr:
            case And() | Or():
                return joined([self.knowable(item) for item in expr.items], "or", "True", "False")
            case Compare():
                sides = [self._present(side) for side in (expr.left, expr.right)]
                return joined(sides, "and", "False", "True")
        return "True"

    def _present(self, expr: Expr) -> str:
        """Source that is false only where a value is absent."""
        match expr:
            case Difference():
                return next((f"(not {few}(S))" for one, few in self.few.items() if _alike(one, expr)), "True")
            case _ if expr == ABSENT:
                return "False"
            case _ if not _looks_back(expr):
                return "True" if isinstance(expr, (Number, Text)) else f"({self.value(expr)} is not None)"
            case Arithmetic() if expr.op in "+-":
                return joined([self._present(expr.left), self._present(expr.right)], "and", "False", "True")
            case Measure() if expr in self.runs:
                checks = bounds_of(expr, *self.runs[expr])[0]
                return f"({' and '.join(checks)})" if checks else "True"
        return "True"

    def _reaches(self, expr: Compare) -> str:
        if expr.op in ("<", "<="):
            return self._reaches(Compare(expr.op.replace("<", ">"), expr.right, expr.left))
        if expr.left in self.far and expr.op == ">=" and isinstance(expr.right, Number):
            return f"(not {self.far[expr.left]}(S, {self.constant(expr.right.value)}))"
        left, right = self._between(expr.left), self._between(expr.right)
        checks = [*left.checks, *right.checks]
        if left.high is not None and right.low is not None:
            low, is_constant = right.low, isinstance(expr.right, Number)
            if expr.op == ">":
                checks.append(f"not {left.high} < {low}")
            elif is_constant:
                limit = float(expr.right.value)  # type: ignore[union-attr]
                checks.append(f"not {left.high} < {limit - TOLERATED * max(1.0, abs(limit))!r}")
            else:
                checks.append(f"not above({low}, {left.high})")
        return f"({' and '.join(checks)})" if checks else "True"

    def _between(self, expr: Expr) -> Between:
        if isinstance(expr, Number):
            return Between([], self.constant(expr.value), self.constant(expr.value))
        if not _looks_back(expr):
            t = self._fresh("t")
            return Between([f"({t} := {self.number(expr)}) is not None"], t, t)
        match expr:
            case Arithmetic() if expr.op in "+-":
                a, b = self._between(expr.left), self._between(expr.right)
                low, high = (b.low, b.high) if expr.op == "+" else (b.high, b.low)
                return Between([*a.checks, *b.checks], _of(a.low, expr.op, low), _of(a.high, expr.op, high))
            case Cover() | Measure() if expr in self.most:
                name, k = self.most[expr]
                return Between([], None, f"{name}[{HEAD + EACH * k + 1}]")
            case Measure() if expr in self.runs:
                return Between(*bounds_of(expr, *self.runs[expr]))
            case Measure() if expr in self.newest and expr.name in ("max", "min"):
                x = self.newest[expr]
                ends = f"({x} if {x} is not None else {{}}inf)"
                return Between(
                    [], *((ends.format("-"), None) if expr.name == "max" else (None, ends.format("")))
                )
        return Between([], None, None)


def _of(a: str | None, op: str, b: str | None) -> str | None:
    return None if a is None or b is None else f"({a} {op} {b})"


def joined(texts: list[str], word: str, decides: str, neutral: str) -> str:
    """Sources joined by `and` or `or`, those that are clear beforehand left out."""
    if decides in texts:
        return decides
    left = [text for text in texts if text != neutral]
    return f"({f' {word} '.join(left)})" if left else neutral


def _cheapest_first(items: tuple[Expr, ...]) -> list[Expr]:
    """The contrast first, since it must see every event; then what is read at the event itself."""
    return sorted(items, key=lambda one: (not _contrasts(one), _looks_back(one)))


def _alike(one: Difference, other: Difference) -> bool:
    """Whether two numbers of a contrast are there at the same events."""
    counts = ("n_where", "n_against")
    return other.name not in counts and replace(one, name=other.name) == other


def _contrasts(expr: Expr) -> bool:
    return any(isinstance(one, Difference) for one in walk(expr))


def _looks_back(expr: Expr) -> bool:
    """Whether an expression asks for more than the event and what steps captured last."""
    if isinstance(expr, StepValue):
        return False  # what it asks for was captured
    return isinstance(expr, (*MEASURES, StepCount, StepMean)) or any(map(_looks_back, children(expr)))
