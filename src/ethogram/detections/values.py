"""Expressions of combinations: they see the confidences of their parts, and no events."""

from __future__ import annotations

from typing import Any

from ..records import EPOCH, Event
from ..shapes.evaluate import number, reader
from ..shapes.history import History
from ..shapes.tree import Attribute, Expr

Values = dict[str, Any]


def _read(expr: Expr, values: Values) -> Any:
    # An empty event stands in for the one that a combination does not have.
    subject, target, thread = (values.get(name) for name in ("subject", "target", "thread"))
    event = Event("", EPOCH, str(subject or ""), target=target, thread=thread)
    history = History((), "", True, [event], [0], [False])
    return reader(expr)(history, 0, {"." + name: value for name, value in values.items()})


def read_confidence(expr: Expr, values: Values) -> float:
    """0..1; absent is 0."""
    value = number(_read(expr, values))
    return 0.0 if value is None else round(min(1.0, max(0.0, value)), 6)


def read_level(levels: tuple[tuple[str, Expr | None], ...], values: Values) -> str:
    """The highest level whose condition holds, else the lowest listed."""
    for name, condition in reversed(levels):
        if condition is None or _read(condition, values) is True:
            return name
    return levels[0][0]


def read_details(details: tuple[tuple[str, Expr], ...], values: Values) -> dict[str, Any]:
    """The named values, rounded to 6 places."""
    found = {name: _read(expr, values) for name, expr in details}
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in found.items()}


def read_slot(expr: Expr, values: Values) -> Any:
    """A value for the explanation."""
    if isinstance(expr, Attribute) and expr.name in values:
        return values[expr.name]
    return _read(expr, values)
