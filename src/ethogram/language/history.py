"""Which history of a program an event belongs to."""

from __future__ import annotations

from typing import Any

from ..models import Event, Value, is_evaluated
from .program import Program

CAP = 512
"""Windows are cut from so many of the newest events, so that state is bounded."""

FIELDS = ("kind", "source", "subject", "target", "thread", "session", "reply_to")


def attribute(event: Event, name: str) -> Value | None:
    """A field or attribute as a value that can be compared; None where it is absent.

    What is said to nobody in particular is said to the thread: its name stands in for the target.
    """
    if name in FIELDS:
        value: Any = getattr(event, name)
        if value is None and name == "target":
            value = event.thread
    else:
        value = event.attributes.get(name)
        if value is None:
            value = event.readings.get(name)
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        return float(value)
    return value if isinstance(value, str) else None


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
