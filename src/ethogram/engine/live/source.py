"""Expressions as Python source."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite, log, sqrt
from types import CodeType, FunctionType
from typing import Any

from ...language.ast import (
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
from ...language.history import FIELDS, attribute
from ...language.three_valued import TOLERANCE, above
from ..evaluate import number, same

# What steps capture: the values that are asked of a matched event after it has passed.

Captured = tuple[Any, ...]
"""The values of a step's expressions at one of its matched events."""


class Captures:
    """Which expressions each step captures; they are gathered while the program is written."""

    def __init__(self, steps: Sequence[str]) -> None:
        self.steps = tuple(steps)
        self.wanted: list[dict[Expr, int]] = [{} for _ in self.steps]

    def step(self, name: str) -> int | None:
        """The number of a step, or None where the program has no such step."""
        return self.steps.index(name) if name in self.steps else None

    def slot(self, name: str, of: Expr) -> int:
        """Where in what the step captured the value of an expression is."""
        wanted = self.wanted[self.steps.index(name)]
        return wanted.setdefault(of, len(wanted))


def mean_of(captured: Sequence[Captured], slot: int) -> float | None:
    """The mean of a captured value over events; those where it is absent or no number left out.

    >>> mean_of([(1.0,), (None,), (2.0,)], 0)
    1.5
    """
    known = [x for item in captured if (x := number(item[slot])) is not None]
    return math.fsum(known) / len(known) if known else None


# Arithmetic that may have no result: None then.


def divided(a: float, b: float) -> float | None:
    """a / b; None for b equal to 0.

    >>> divided(1.0, 4.0), divided(1.0, 1e-12)
    (0.25, None)
    """
    if -TOLERANCE <= b <= TOLERANCE:  # equal(b, 0.0)
        return None
    value = a / b
    return value if isfinite(value) else None


def logarithm(x: float) -> float | None:
    """ln x; None where x is not above 0."""
    return log(x) if TOLERANCE < x < inf else None  # above(x, 0.0)


def root(x: float) -> float | None:
    """The square root; None of a negative number."""
    if x < -TOLERANCE or not isfinite(x):
        return None
    return sqrt(x) if x > TOLERANCE else 0.0  # equal(x, 0.0)


# What generated source is made of: names, constants and functions of one program.

DEEPEST = 12
"""Python takes some hundred brackets in each other; deeper expressions become functions of their own."""
UNSET: Any = object()
"""Stands for a measure that was not asked for at this event."""


class Names(ABC):
    """The functions of one program. `measures` are those its expressions read, in order."""

    def __init__(self, captures: Captures) -> None:
        self.captures = captures
        self.measures: dict[Expr, int] = {}
        self.names: dict[str, Any] = {
            "above": above, "same": same, "num": number, "att": attribute, "mean_of": mean_of,
            "divided": divided, "logarithm": logarithm, "root": root, "inf": math.inf, "U": UNSET,
        }  # fmt: skip
        self.lines: list[str] = []
        self._constants: dict[tuple[type, Any], str] = {}
        self._count = 0
        self._depth = 0

    # Names.

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def constant(self, value: Any) -> str:
        """The name under which the source finds a value."""
        key = (type(value), value)
        if key not in self._constants:
            self._constants[key] = name = self._fresh("K")
            self.names[name] = value
        return self._constants[key]

    def function(self, expression: str) -> str:
        """The name of a new function that gives the expression."""
        name = self._fresh("f")
        self.lines += [f"def {name}(S, C, L):", " g = S.get; memo = S.memo", f" return {expression}"]
        return name

    # The four readings.

    def value(self, expr: Expr) -> str:
        return self._inside(self._value, expr)

    def number(self, expr: Expr) -> str:
        return self._inside(self._number, expr)

    def true(self, expr: Expr) -> str:
        return self._inside(self._true, expr)

    def false(self, expr: Expr) -> str:
        return self._inside(self._false, expr)

    def _inside(self, write: Any, expr: Expr) -> str:
        self._depth += 1
        depth, self._depth = self._depth, self._depth % DEEPEST
        text: str = write(expr)
        if depth >= DEEPEST:
            text = f"{self.function(text)}(S, C, L)"
        self._depth = depth - 1
        return text

    @abstractmethod
    def _value(self, expr: Expr) -> str: ...

    @abstractmethod
    def _number(self, expr: Expr) -> str: ...

    @abstractmethod
    def _true(self, expr: Expr) -> str: ...

    @abstractmethod
    def _false(self, expr: Expr) -> str: ...


# Conditions as Python source: whether an expression is true, and whether it is false.

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


# Expressions as Python source: what a condition or value asks of one event, written out.
#
# Every expression has up to four readings: its value (None: absent or unknown), its value as a number, and
# whether it is true or false. Asking only for what is needed lets Python's `and` and `or` stop early, which
# changes nothing, since reading has no effect.
#
# In the source: S is the history (rows.py), g gives a reading, C what each step captured, L all of it.

NEVER_NUMBERS = ("top", "oldest", "newest", "values")


class Writer(Truths):
    """Writes the functions of one program."""

    def _value(self, expr: Expr) -> str:
        match expr:
            case Number() | Text():
                return self.constant(expr.value)
            case Signal():
                return f"g({self.constant(expr.name)})"
            case Indicator():
                a, name = self._fresh("t"), self.constant(expr.name)
                return f"({a} if ({a} := g({name})) is not None or not S.evaluated else 0.0)"
            case Attribute():
                a, name = self._fresh("t"), self.constant(expr.name)
                if expr.name in FIELDS:
                    return f"att(S.event, {name})"
                return (
                    f"({a} if type({a} := S.event.attributes.get({name})) is str else att(S.event, {name}))"
                )
            case Elapsed():
                return "S.gap" if expr.name == "gap" else "S.age"
            case StepValue() | StepCount() | StepMean():
                return self._step(expr)
            case Result():
                return "S.deadline_text" if expr.name == "deadline" else "None"
            case OrElse():
                a = self._fresh("t")
                return f"({a} if ({a} := {self.value(expr.of)}) is not None else {self.value(expr.default)})"
            case Measure() | Cover() | Difference():
                k, a = self.measures.setdefault(expr, len(self.measures)), self._fresh("t")
                return f"({a} if ({a} := memo[{k}]) is not U else m{k}(S))"
            case Compare():
                checks, truth = self._compare(expr)
                return f"(({truth}) if {' and '.join(checks) or 'True'} else None)"
        if isinstance(expr, LOGICAL):
            return f"(True if {self.true(expr)} else False if {self.false(expr)} else None)"
        return self._number(expr)

    def _step(self, expr: StepValue | StepCount | StepMean) -> str:
        s = self.captures.step(expr.step)
        if isinstance(expr, StepCount):
            return "0.0" if s is None else f"float(len(L[{s}]))"
        if s is None:
            return "None"
        j, a = self.captures.slot(expr.step, expr.of), self._fresh("t")
        if isinstance(expr, StepMean):
            return f"mean_of(L[{s}], {j})"
        return f"(None if ({a} := C[{s}]) is None else {a}[{j}])"

    def _number(self, expr: Expr) -> str:
        match expr:
            case Number():
                return self.constant(expr.value)
            case Elapsed() | StepCount() | StepMean() | Cover() | Difference():
                return self._value(expr)
            case Measure() if expr.name not in NEVER_NUMBERS:
                return self._value(expr)
            case Negative():
                return self._arithmetic("-{}", (expr.of,))
            case Arithmetic():
                form = "divided({}, {})" if expr.op == "/" else f"{{}} {expr.op} {{}}"
                return self._arithmetic(form, (expr.left, expr.right), checked=expr.op != "/")
            case Function():
                return self._function(expr)
        a = self._fresh("t")
        return f"({a} if type({a} := {self._value(expr)}) is float else num({a}))"

    def _function(self, expr: Function) -> str:
        holes = ", ".join(["{}"] * len(expr.args))
        if expr.name in ("log", "sqrt"):
            name = "logarithm" if expr.name == "log" else "root"
            return self._arithmetic(f"{name}({holes})", expr.args, checked=False)
        form = "min(max({}, {}), {})" if expr.name == "clip" else f"{expr.name}({holes})"
        return self._arithmetic(form, expr.args)

    def _arithmetic(self, form: str, parts: tuple[Expr, ...], *, checked: bool = True) -> str:
        """A number of numbers: None where one is, and where the result is not finite."""
        names, absent = [], []
        for part in parts:
            text = self.number(part)
            name = text if isinstance(part, Number) else self._fresh("t")
            names.append(name)
            if not isinstance(part, Number):
                absent.append(f"({name} := {text}) is None")
        result = form.format(*names)
        if checked:
            x = self._fresh("t")
            result = f"{x} if -inf < ({x} := {result}) < inf else None"
        return f"(None if {' or '.join(absent)} else {result})" if absent else f"({result})"


# Functions of Python source that we wrote ourselves, from a program's tree.


def functions(source: str, names: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """The functions that a source defines, by name; they see `names` and each other.

    The source is never a user's text: source.py writes it from nodes, and what a user wrote (names of
    signals, categories) is only ever a value in `names`. Nothing of it runs here: the code of each
    function is taken out of the compiled module.

    >>> functions("def f(x):\\n    return x + K", {"K": 2})["f"](1)
    3
    """
    module = compile(source, "<ethogram stream>", "exec", dont_inherit=True)
    seen: dict[str, Any] = dict(names)
    found = {
        code.co_name: FunctionType(code, seen) for code in module.co_consts if isinstance(code, CodeType)
    }
    seen.update(found)
    return dict(found)
