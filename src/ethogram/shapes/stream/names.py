"""What generated source is made of: names, constants and functions of one program."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from ..evaluate import number, same
from ..history import attribute
from ..tree import Expr
from ..truth import above
from .captured import Captures, mean_of
from .numbers import divided, logarithm, root

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
