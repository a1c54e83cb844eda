"""Expressions as Python source: what a condition or value asks of one event, written out.

Every expression has up to four readings: its value (None: absent or unknown), its value as a number, and
whether it is true or false. Asking only for what is needed lets Python's `and` and `or` stop early, which
changes nothing, since reading has no effect.

In the source: S is the history (rows.py), g gives a reading, C what each step captured, L all of it.
"""

from __future__ import annotations

from ..history import FIELDS
from ..tree import (
    Arithmetic,
    Attribute,
    Compare,
    Cover,
    Difference,
    Elapsed,
    Expr,
    Function,
    Indicator,
    Measure,
    Negative,
    Number,
    OrElse,
    Result,
    Signal,
    StepCount,
    StepMean,
    StepValue,
    Text,
)
from .truths import LOGICAL, Truths

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
