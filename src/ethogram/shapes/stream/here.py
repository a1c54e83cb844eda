"""Expressions as Python source for events of one kind: which readings they carry is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

from ...records import Value
from ..evaluate import number
from ..history import FIELDS
from ..tree import Attribute, Compare, Expr, Indicator, Number, Result, Signal
from ..truth import TOLERANCE
from .captured import Captures
from .reduce import ABSENT, CONSTANT, FALSE, TRUE, Carried
from .source import Writer

ORDERED = (">", ">=", "<", "<=")
NEAR = 1e-6
_TURNED = str.maketrans("<>", "><")


class TooDeep(Exception):
    """An expression that cannot be written in one piece."""


class Shared:
    """What all programs of one function refer to by name."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.numbers: set[int] = set()
        """The places of readings that are asked for as numbers; `floats`: with NaN for what is absent."""
        self.floats: set[int] = set()
        self.attributes: set[int] = set()
        self._constants: dict[tuple[type, Any], str] = {}

    def constant(self, value: Any) -> str:
        """The name under which the source finds a value."""
        name = self._constants.setdefault((type(value), value), f"K{len(self._constants)}")
        self.names[name] = value
        return name


class Here(Writer):
    """Writes expressions as they are at events of one kind, as part of a function for many programs.

    In the source: v0, v1, ... are the readings, n0, ... the same as numbers (None for what is none), f0, ...
    likewise with NaN, a0, ... as attributes; E is the event, and S the rows.
    """

    def __init__(
        self, captures: Captures, carried: Carried, places: Mapping[str, int], shared: Shared
    ) -> None:
        super().__init__(captures)
        self.carried, self.places, self.shared = carried, places, shared
        shared.names.update(self.names)

    def function(self, expression: str) -> str:
        raise TooDeep

    def constant(self, value: Any) -> str:
        return repr(value) if type(value) is float and isfinite(value) else self.shared.constant(value)

    def _value(self, expr: Expr) -> str:
        match expr:
            case Signal():
                return f"v{self.places[expr.name]}" if expr.name in self.places else "None"
            case Indicator():
                if expr.name not in self.places:
                    return "0.0" if self.carried.evaluated else "None"
                v = f"v{self.places[expr.name]}"
                return f"({v} if {v} is not None else 0.0)" if self.carried.evaluated else v
            case Attribute():
                a, name = self._fresh("t"), self.constant(expr.name)
                if expr.name in FIELDS:
                    return f"att(E, {name})"
                if not self.carried.attributes:
                    # Where there are no attributes, a reading of that name stands for one.
                    self.shared.attributes.add(self.places[expr.name])
                    return f"a{self.places[expr.name]}"
                return f"({a} if type({a} := E.attributes.get({name})) is str else att(E, {name}))"
            case Result() if expr == ABSENT:
                return "None"
        return super()._value(expr)

    def _number(self, expr: Expr) -> str:
        if isinstance(expr, Signal) and expr.name in self.places:
            place = self.places[expr.name]
            self.shared.numbers.add(place)
            return f"n{place}"
        return super()._number(expr)

    def _true(self, expr: Expr) -> str:
        if expr in (TRUE, FALSE) or isinstance(expr, CONSTANT):
            return str(expr == TRUE)
        return super()._true(expr)

    def _false(self, expr: Expr) -> str:
        if expr in (TRUE, FALSE) or isinstance(expr, CONSTANT):
            return str(expr == FALSE)
        return super()._false(expr)

    def _compare(self, expr: Compare) -> tuple[list[str], str]:
        left, right, op = expr.left, expr.right, expr.op
        if isinstance(left, Number):
            left, right, op = right, left, op.translate(_TURNED)
        match left, right:
            case Signal(name), Number(limit) if name in self.places and abs(limit) <= 1 and op in ORDERED:
                return self._small(self.places[name], op, limit)
        return super()._compare(expr)

    def comparison(self, op: str, a: str, b: str, has_text: bool) -> str:
        if op not in ("==", "!=") or has_text or not _is_small(b):
            return super().comparison(op, a, b, has_text)
        # Most values are far from the one that is asked for, and need no exact look.
        far = f"type({a}) is float and not {float(b) - NEAR!r} < {a} < {float(b) + NEAR!r}"
        equality = f"({a} == {b} or (not ({far}) and same({a}, {b})))"
        return equality if op == "==" else f"(not {equality})"

    def _small(self, place: int, op: str, b: float) -> tuple[list[str], str]:
        """The comparison with a number of size 1 at most: among such numbers the tolerance is fixed."""
        a = f"f{place}"
        self.shared.floats.add(place)
        higher = f"{a} > {b + TOLERANCE!r} and ({a} <= 1.0 or above({a}, {b!r}))"
        lower = f"{a} + {TOLERANCE!r} < {b!r} and ({a} >= -1.0 or above({b!r}, {a}))"
        if op in "><":
            # Absent is not a number here, which is neither higher nor lower than any.
            return [], f"({higher if op == '>' else lower})"
        self.shared.numbers.add(place)
        return [f"n{place} is not None"], f"(not ({lower if op == '>=' else higher}))"

    def lacks(self, items: tuple[Indicator, ...]) -> str:
        return str(self.carried.names.isdisjoint(item.name for item in items))


def float_of(found: Any) -> float:
    """A reading as a number; NaN for what is none."""
    value = number(found)
    return nan if value is None else value


def value_of(found: Any) -> Value | None:
    """A reading where an attribute is asked for: as a value that can be compared."""
    if isinstance(found, (bool, int, float)):
        return float(found)
    return found if isinstance(found, str) else None


def _is_small(text: str) -> bool:
    """Whether a source is that of a number of size 1 at most."""
    try:
        return abs(float(text)) <= 1
    except ValueError:
        return False
