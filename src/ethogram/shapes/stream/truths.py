"""Conditions as Python source: whether an expression is true, and whether it is false."""

from __future__ import annotations

from ..tree import (
    And,
    AnyOf,
    Compare,
    Difference,
    Expr,
    Indicator,
    Known,
    Member,
    Not,
    Number,
    Or,
    Text,
)
from .names import Names

LOGICAL = (And, AnyOf, Compare, Known, Member, Not, Or)
MIRRORED = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}


class Truths(Names):
    """Writes conditions. Unknown is neither true nor false."""

    def _true(self, expr: Expr) -> str:
        match expr:
            case And():
                return f"({' and '.join(self._not_false(item) for item in expr.items)})"
            case Or():
                return f"({' or '.join(self.true(item) for item in expr.items)})"
            case AnyOf():
                found = " or ".join(self.true(_found(item)) for item in expr.items)
                return f"(not {self.lacks(expr.items)} and ({found}))"
            case Not() if isinstance(expr.of, LOGICAL):
                return self.false(expr.of)
            case Not():
                a = self._fresh("t")
                return f"(({a} := {self.value(expr.of)}) is not None and not {a})"
            case Known():
                return f"({self.value(expr.of)} is not None)"
            case Compare():
                checks, truth = self._compare(expr)
                return f"({' and '.join([*self._near(expr), *checks, truth])})"
            case Member():
                return self._member(expr, wanted=not expr.negated)
        return f"({self.value(expr)} is True)"

    def _false(self, expr: Expr) -> str:
        match expr:
            case And():
                return f"({' or '.join(self.false(item) for item in expr.items)})"
            case Or():
                return f"({' and '.join(self._not_true(item) for item in expr.items)})"
            case AnyOf():
                found = " and ".join(self.false(_found(item)) for item in expr.items)
                return f"(S.evaluated if {self.lacks(expr.items)} else ({found}))"
            case Not() if isinstance(expr.of, LOGICAL):
                return self.true(expr.of)
            case Not():
                a = self._fresh("t")
                return f"(({a} := {self.value(expr.of)}) is not None and bool({a}))"
            case Known():
                return f"({self.value(expr.of)} is None)"
            case Compare():
                return self.true(Compare(MIRRORED[expr.op], expr.left, expr.right))
            case Member():
                return self._member(expr, wanted=expr.negated)
        return f"({self.value(expr)} is False)"

    def lacks(self, items: tuple[Indicator, ...]) -> str:
        """Whether an event carries none of these indicators: then all are 0, or all absent."""
        return f"S.event.readings.keys().isdisjoint({self.constant(tuple(item.name for item in items))})"

    def _not_false(self, expr: Expr) -> str:
        """Neither false nor unknown, which for a condition is true."""
        if isinstance(expr, LOGICAL):
            return self.true(expr)
        a = self._fresh("t")
        return f"(({a} := {self.value(expr)}) is not None and {a} is not False)"

    def _not_true(self, expr: Expr) -> str:
        if isinstance(expr, LOGICAL):
            return self.false(expr)
        a = self._fresh("t")
        return f"(({a} := {self.value(expr)}) is not None and {a} is not True)"

    def _compare(self, expr: Compare) -> tuple[list[str], str]:
        """What must be known, and the comparison of the names it then has."""
        read = self.value if expr.op in ("==", "!=") else self.number
        names, checks = [], []
        for part in (expr.left, expr.right):
            constant = isinstance(part, Number) or (isinstance(part, Text) and read == self.value)
            text = read(part)
            name = text if constant else self._fresh("t")
            names.append(name)
            if not constant:
                checks.append(f"({name} := {text}) is not None")
        a, b = names
        has_text = isinstance(expr.right, Text) or isinstance(expr.left, Text)
        return checks, self.comparison(expr.op, a, b, has_text)

    def comparison(self, op: str, a: str, b: str, has_text: bool) -> str:
        """The comparison of two values that are known."""
        return _comparison(op, a, b, has_text)

    def _near(self, expr: Compare) -> list[str]:
        """A look at running sums first, where a contrast must reach a limit (distance.py)."""
        if expr.op != ">=" or not isinstance(expr.left, Difference) or not isinstance(expr.right, Number):
            return []
        k = self.measures.setdefault(expr.left, len(self.measures))
        return [f"(memo[{k}] is not U or not far{k}(S, {self.constant(expr.right.value)}))"]

    def _member(self, expr: Member, *, wanted: bool) -> str:
        a = self._fresh("t")
        if all(isinstance(option, Text) for option in expr.options):
            words = tuple(option.value for option in expr.options if isinstance(option, Text))
            options = self.constant(words)
            inside = f"{a} in {options}" if wanted else f"{a} not in {options}"
            return f"(({a} := {self.value(expr.of)}) is not None and {inside})"
        pairs = [Compare("==", expr.of, option) for option in expr.options]
        each = [self.true(pair) if wanted else self.false(pair) for pair in pairs]
        join = " or " if wanted else " and "
        return f"({self.value(expr.of)} is not None and ({join.join(each)}))"


def _comparison(op: str, a: str, b: str, is_text: bool) -> str:
    """The plain comparison first: it decides all but near ties, which `above` looks at."""
    match op:
        case ">":
            return f"({a} > {b} and above({a}, {b}))"
        case "<":
            return f"({b} > {a} and above({b}, {a}))"
        case ">=":
            return f"({a} >= {b} or not above({b}, {a}))"
        case "<=":
            return f"({b} >= {a} or not above({a}, {b}))"
    equality = f"{a} == {b}" if is_text else f"({a} == {b} or same({a}, {b}))"
    return f"({equality})" if op == "==" else f"(not ({equality}))"


def _found(item: Indicator) -> Compare:
    return Compare(">", item, Number(0.0))
