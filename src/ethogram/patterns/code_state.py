"""State and results of patterns in code, as plain JSON data of a bounded size."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import EthogramError
from ..models import Event, micros, moment
from .code_patterns import PREFIX, Match, State

MAX_STATE = 64 * 1024
"""Characters of JSON that the state of one history may take."""
MAX_DETAIL = 200
"""Characters of a text in details."""
MAX_ITEMS = 20
MAX_DEPTH = 4
MAX_TEXT = 2_000
"""Characters of a text or an attribute in a window."""
MAX_VALUES = 8_000
"""Characters of all attributes of an event together, and of all its readings."""
MAX_WINDOW = 48_000
"""Characters of all events of a window together; the present event always stays."""
FIELDS = ("subject", "source", "target", "reply_to", "thread", "session", "kind", "text")
ID = 1
"""Position of an event's id in its row."""


def frozen(value: Any) -> Any:
    """Plain data as it is after a restart: lists are tuples, keys are texts. TypeError for anything else.

    >>> frozen({"a": [1, (2, None)]})
    {'a': (1, (2, None))}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: frozen(item) for key, item in value.items()}
    raise TypeError(f"{value!r:.60} is not plain JSON data")


def checked_state(name: str, state: Any, event: Event) -> Any:
    """The state that a pattern returned, as it is saved; EthogramError where it is not plain or too large."""
    try:
        plain = frozen(state)
        if (size := length(plain)) <= MAX_STATE:
            return plain
        message = f"{size:,} characters of JSON; keep it within {MAX_STATE:,}"
    except TypeError as error:
        message = str(error)
    except RecursionError:
        message = "it is nested too deep"
    raise EthogramError(f"pattern {name!r}, state after event {event.id!r:.80}: {message}")


def length(plain: Any) -> int:
    """How many characters plain data takes as JSON.

    >>> length({"a": (1, "bc")})
    14
    """
    return len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def match_text(match: Match, needs: tuple[str, ...]) -> str:
    """Details, evidence and explanation of a match as JSON, each of a bounded size."""
    evidence = [
        [item.id, micros(item.at), {name: item.readings[name] for name in needs if name in item.readings}]
        for item in list(match.evidence)[-MAX_ITEMS:]
    ]
    record = {
        "details": shortened(match.details),
        "evidence": evidence,
        "explanation": match.explanation[: 2 * MAX_DETAIL],
    }
    return json.dumps(record, sort_keys=True)


def shortened(value: Any, depth: int = 0) -> Any:
    """Details of a bounded size: long texts and lists are cut, and what lies too deep is None.

    Sets become sorted lists, numbers that are not finite None; TypeError for what is not plain data.

    >>> shortened({"a": ["x" * 300] * 30})["a"] == ["x" * 200] * 20
    True
    """
    if isinstance(value, str):
        return value[:MAX_DETAIL]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if depth >= MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        entries = list(value.items())[:MAX_ITEMS]
        if wrong := [name for name, _ in entries if not isinstance(name, (str, int, float))]:
            raise TypeError(f"a key is a text, not {wrong[0]!r:.60}")
        return {str(name)[:MAX_DETAIL]: shortened(item, depth + 1) for name, item in entries}
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)):
        return [shortened(item, depth + 1) for item in value[:MAX_ITEMS]]
    raise TypeError(f"{value!r:.60} is not plain JSON data")


class Window:
    """A function of the newest events of a history, as a step whose state is these events."""

    def __init__(self, function: Callable[[Sequence[Event]], Match | None], size: int) -> None:
        self.function, self.size = function, size

    def step(self, event: Event, state: State) -> tuple[Match | None, State]:
        """The match at an event, and the events within the bounds."""
        rows = (*state, row_of(event))[-self.size :]
        total, first = 0, len(rows) - 1
        for index in range(len(rows) - 1, -1, -1):
            total += rows[index][0]
            if total > MAX_WINDOW:
                break
            first = index
        rows = rows[first:]
        return self.function(tuple(event_of(row) for row in rows)), rows


def row_of(event: Event) -> tuple[Any, ...]:
    """An event as plain data: its length, id, time, order, fields, attributes and readings."""
    fields = tuple(_short(getattr(event, name)) for name in FIELDS)
    attributes = _within({str(name): _plain(value) for name, value in event.attributes.items()})
    own = {name: _short(value) for name, value in event.readings.items() if not name.startswith(PREFIX)}
    row = (event.id, micros(event.at), event.seq, event.timed, fields, attributes, _within(own))
    return (length(row), *row)


def event_of(row: Sequence[Any]) -> Event:
    """The event that `row_of` made a row of."""
    _, name, at, seq, timed, values, attributes, readings = row
    fields: dict[str, Any] = dict(zip(FIELDS, values, strict=True))
    return Event(
        id=name, at=moment(at), seq=seq, timed=timed, attributes=attributes, readings=readings, **fields
    )


def _within(values: Mapping[str, Any]) -> dict[str, Any]:
    """As many of the values, from the first on, as fit in MAX_VALUES."""
    out, left = {}, MAX_VALUES
    for name, value in values.items():
        left -= len(name) + length(value)
        if left < 0:
            break
        out[name] = value
    return out


def _short(value: Any) -> Any:
    return value[:MAX_TEXT] if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """An attribute as plain data: nested data that is too long as the start of its JSON."""
    if value is None or isinstance(value, (bool, int, str)):
        return _short(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple, Mapping)):
        text = json.dumps(value, default=str, allow_nan=True)
        is_plain = len(text) <= MAX_TEXT and "NaN" not in text and "Infinity" not in text
        return frozen(json.loads(text)) if is_plain else text[:MAX_TEXT]
    return str(value)[:MAX_TEXT]
