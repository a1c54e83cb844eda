"""A window of events as the state of a pattern in code: the newest ones, as plain data of a bounded size."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..library.in_code import PREFIX, Match, State
from ..records import Event, micros, moment
from .state import frozen, length

MOST_TEXT = 2_000
"""Characters of a text, and of what an attribute says, that a pattern sees."""
MOST_VALUES = 8_000
"""Characters of all attributes of an event together, and of all its readings."""
MOST_WINDOW = 48_000
"""Characters of all events of a window together; of longer ones fewer are kept, at least the present one."""
FIELDS = ("subject", "source", "target", "reply_to", "thread", "session", "kind", "text")


NAME = 1
"""Where the id of an event stands in its row."""


class Window:
    """A function of the newest events of a history, as a step with a state."""

    start: State = ()

    def __init__(self, function: Callable[[Sequence[Event]], Match | None], size: int) -> None:
        self.function, self.size = function, size

    def step(self, event: Event, state: State) -> tuple[Match | None, State]:
        """What the function says of the newest events, and those events."""
        rows = (*state, row_of(event))[-self.size :]
        total, first = 0, len(rows) - 1
        for place in range(len(rows) - 1, -1, -1):
            total += rows[place][0]
            if total > MOST_WINDOW:
                break
            first = place
        rows = rows[first:]
        return self.function(tuple(event_of(row) for row in rows)), rows


def row_of(event: Event) -> tuple[Any, ...]:
    """An event as plain data: its length, where it stands, its fields, attributes and readings."""
    given = tuple(_cut(getattr(event, name)) for name in FIELDS)
    attributes = _within({str(name): _plain(one) for name, one in event.attributes.items()})
    own = {name: _cut(one) for name, one in event.readings.items() if not name.startswith(PREFIX)}
    row = (event.id, micros(event.at), event.seq, event.timed, given, attributes, _within(own))
    return (length(row), *row)


def _within(values: Mapping[str, Any]) -> dict[str, Any]:
    """As many of the values, from the first on, as there is room for."""
    out, left = {}, MOST_VALUES
    for name, one in values.items():
        left -= len(name) + length(one)
        if left < 0:
            break
        out[name] = one
    return out


def event_of(row: Sequence[Any]) -> Event:
    """The event of a row. Everything in it is as `row_of` had it."""
    _, name, us, seq, timed, given, attributes, readings = row
    fields: dict[str, Any] = dict(zip(FIELDS, given, strict=True))
    return Event(
        id=name, at=moment(us), seq=seq, timed=timed, attributes=attributes, readings=readings, **fields
    )


def _cut(value: Any) -> Any:
    return value[:MOST_TEXT] if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """An attribute as plain data; one that says too much is cut, a nested one as its JSON."""
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, (list, tuple, Mapping)):
        text = json.dumps(value, default=str, allow_nan=True)
        is_plain = len(text) <= MOST_TEXT and "NaN" not in text and "Infinity" not in text
        return frozen(json.loads(text)) if is_plain else text[:MOST_TEXT]
    return str(value)[:MOST_TEXT]
