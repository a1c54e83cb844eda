"""Which history of a program an event belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..models import Event, Value, is_evaluated
from .program import Program

CAP = 512
"""Windows are cut from so many of the newest events, so that state is bounded."""

FIELDS = ("kind", "source", "subject", "target", "thread", "session", "reply_to")
EXCHANGE = "exchange"
"""A key of histories that is no field: the thread of an event or, without one, its target."""


def attribute(event: Event, name: str) -> Value | None:
    """A field or attribute as a value that can be compared; None where it is absent.

    What is said to nobody in particular is said to the thread: its name stands in for the target.
    """
    if name in FIELDS:
        value: Any = getattr(event, name)
        if value is None and name == "target":
            value = event.thread
    elif name == EXCHANGE:
        value = event.target if event.thread is None else event.thread
    else:
        value = event.attributes.get(name)
        if value is None:
            value = event.readings.get(name)
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        return float(value)
    return value if isinstance(value, str) else None


def is_in(history: Mapping[str, Value], event: Event) -> bool:
    """Whether an event has the values by which a history is grouped. Its source is not looked at."""
    return all(attribute(event, name) == value for name, value in history.items())


def common_fields(first: Event, last: Event) -> dict[str, Value | None]:
    """The fields that have the same value at both ends of a stretch of events, None where both lack it."""
    values = {name: attribute(first, name) for name in FIELDS}
    return {name: value for name, value in values.items() if attribute(last, name) == value}


def may_hold(history: Mapping[str, Value | None], fields: Mapping[str, Value | None]) -> bool:
    """Whether a stretch of events with these common fields may lie in a history: no field contradicts it."""
    return all(fields.get(name, value) == value for name, value in history.items())


def key_of(program: Program, event: Event) -> tuple[Value, ...] | None:
    """The values of the program's `group_by` fields on an event, or None where one is lacking."""
    values: list[Value] = []
    for name in program.group_by:
        value = attribute(event, name)
        if value is None:
            return None
        values.append(value)
    return tuple(values)


def belongs(program: Program, event: Event) -> bool:
    """Whether an event carries a reading that the program's shape names."""
    if not program.signals and not program.evaluated:
        return True
    if any(name in event.readings for name in program.signals):
        return True
    return program.evaluated and is_evaluated(event.readings)
