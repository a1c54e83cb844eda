"""The examples in a pattern file: short histories, turned into events."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ..language.fields import FieldReader
from ..language.history import FIELDS
from ..language.vocabulary import Vocabulary
from ..language.yaml_source import Fields, Items, Node, Scalar, plain
from ..models import EPOCH, SEVERITIES, Event, is_indicator_name, parse_time
from ..models.slotted import dataclass, field
from ..models.timestamps import SECOND, parse_duration

START = EPOCH + timedelta(days=365 * 50 + 12)
"""Examples begin at the start of 2020, unless their events say otherwise."""

KEYS = ("story", "at", "severity", "every", "as_of", "events", "timed")
EVENT_KEYS = ("id", "at", "readings", "attributes", "text", *FIELDS)
MAX_EVENTS = 2000


@dataclass(frozen=True, slots=True)
class Example:
    """A history that must fire or stay quiet; `at` is the position of the event it fires at, from 1."""

    story: str
    fires: bool
    events: tuple[Event, ...]
    at: int | None = None
    severity: str | None = None
    as_of: datetime | None = None
    line: int = 0
    column: int = 0


@dataclass(slots=True)
class Names:
    """Names of readings and attributes in examples, with the kind of their values and their positions."""

    readings: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    places: dict[str, Scalar] = field(default_factory=dict)


def names_in(node: Node | None, vocabulary: Vocabulary) -> Names:
    """Every reading and attribute named in the examples, with the kind of its values."""
    names = Names()
    for _, example in example_nodes(node):
        for key, value in example.entries:
            if key.text in (*KEYS, *FIELDS):
                continue
            target = names.attributes if key.text in vocabulary.attributes else names.readings
            _add(names, target, key, plain(value))
        for event in _event_nodes(example):
            for group, target in (("readings", names.readings), ("attributes", names.attributes)):
                inner = event.get(group)
                for key, value in inner.entries if isinstance(inner, Fields) else ():
                    _add(names, target, key, plain(value))
    return names


def _add(names: Names, target: dict[str, str], key: Scalar, value: Any) -> None:
    kinds = {_kind(item) for item in (value if isinstance(value, list) else [value])} - {None}
    kind = kinds.pop() if len(kinds) == 1 else "any"
    known = target.get(key.text)
    target[key.text] = str(kind) if known in (None, kind) else "any"
    names.places.setdefault(key.text, key)


def _kind(value: Any) -> str | None:
    if value is None:
        return None
    return "category" if isinstance(value, str) else "number" if isinstance(value, (int, float)) else "any"


def example_nodes(node: Node | None) -> list[tuple[bool, Fields]]:
    """(fires, example) for every example that is a mapping."""
    if not isinstance(node, Fields):
        return []
    out = []
    for name in ("fires", "quiet"):
        group = node.get(name)
        if isinstance(group, Items):
            out += [(name == "fires", item) for item in group.items if isinstance(item, Fields)]
    return out


def _event_nodes(example: Fields) -> list[Fields]:
    events = example.get("events")
    return [item for item in events.items if isinstance(item, Fields)] if isinstance(events, Items) else []


def read_examples(read: FieldReader, node: Node | None, vocabulary: Vocabulary) -> tuple[Example, ...]:
    """The examples of a file; faults go to `read`."""
    if not isinstance(node, Fields):
        if node is not None:
            read.fault(node, "examples takes fires: and quiet:, each a list")
        return ()
    read.known_keys(node, ("fires", "quiet"), "examples")
    for name in ("fires", "quiet"):
        group = node.get(name)
        if not isinstance(group, Items):
            read.fault(group or node, f"examples needs {name}: with a list of examples")
        for item in group.items if isinstance(group, Items) else ():
            if not isinstance(item, Fields):
                read.fault(item, "an example takes a story and values by name")
    examples = tuple(_example(read, fires, item, vocabulary) for fires, item in example_nodes(node))
    if not any(item.fires for item in examples) and not read.faults:
        read.fault(node, "examples needs at least 1 under fires:")
    if sum(not item.fires for item in examples) < 2 and not read.faults:
        read.fault(node, "examples needs at least 2 under quiet:, the nearest innocent ones")
    return examples


def _example(read: FieldReader, fires: bool, node: Fields, vocabulary: Vocabulary) -> Example:
    story = read.text(node.get("story"), "story")
    if not story:
        read.fault(node, "an example needs a story: one line that says what happens")
    if not fires and (extra := node.get("at") or node.get("severity")) is not None:
        read.fault(extra, "a quiet example has no at: or severity:")
    if (many := node.get("events")) is not None:
        read.known_keys(node, KEYS, "an example with events")
        events = _whole_events(read, many, vocabulary)
    else:
        events = _series(read, node, vocabulary)
    at = _position(read, node.get("at"), len(events))
    severity = node.get("severity")
    if severity is not None and read.text(severity, "severity") not in SEVERITIES:
        read.fault(severity, f"severity is one of {', '.join(SEVERITIES)}")
    return Example(
        story,
        fires,
        events,
        at,
        None if severity is None else read.text(severity, "severity"),
        _as_of(read, node.get("as_of"), events),
        node.line,
        node.column,
    )


def _position(read: FieldReader, node: Node | None, events: int) -> int | None:
    if node is None or not events:
        return None
    value = node.value if isinstance(node, Scalar) else None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= events:
        read.fault(node, f"at is the position of the firing event, from 1 to {events}")
        return None
    return value


def _as_of(read: FieldReader, node: Node | None, events: tuple[Event, ...]) -> datetime | None:
    if node is None or not events:
        return None
    text = read.text(node, "as_of")
    newest = max(event.at for event in events)
    try:
        return newest + timedelta(microseconds=parse_duration(text))
    except ValueError:
        pass
    try:
        return parse_time(text)
    except ValueError:
        read.fault(node, "as_of is how long after the last event to ask, such as 3d")
        return None


def _series(read: FieldReader, node: Fields, vocabulary: Vocabulary) -> tuple[Event, ...]:
    """The events of an example with one list of values per name."""
    columns = {key: plain(value) for key, value in node.entries if key.text not in KEYS}
    lengths = {len(value) for value in columns.values() if isinstance(value, list)}
    if len(lengths) > 1:
        lists = ", ".join(f"{key.text} {len(v)}" for key, v in columns.items() if isinstance(v, list))
        read.fault(node, f"the lists of an example have the same length, not {lists}")
        return ()
    if not lengths:
        read.fault(node, "an example needs values by signal: compassion: [0.8, 0.7], or events:")
        return ()
    count = lengths.pop()
    if count > MAX_EVENTS:
        read.fault(node, f"an example has at most {MAX_EVENTS} events")
        return ()
    every = 60 * SECOND
    if (spacing := node.get("every")) is not None:
        every = read.duration(spacing, "every") or every
    timed = plain(node.get("timed")) if node.get("timed") is not None else True
    if not isinstance(timed, bool):
        read.fault(node.get("timed") or node, "timed takes true or false")
        timed = True
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, value in columns.items():
        _fill(read, key, rows, value if isinstance(value, list) else [value] * count, vocabulary)
    step = every if timed else SECOND
    start = START if timed else EPOCH
    return tuple(
        Event(
            id=f"e{i + 1}",
            at=start + timedelta(microseconds=step * i),
            seq=i,
            timed=timed,
            **{"subject": "sam", "source": "example", **row},
        )
        for i, row in enumerate(rows)
    )


def _fill(
    read: FieldReader, key: Scalar, rows: list[dict[str, Any]], values: list[Any], vocabulary: Vocabulary
) -> None:
    """Put a column of values into the rows; a row without a value stays as it is."""
    cells = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
    if key.text in FIELDS:
        for row, value in cells:
            row[key.text] = str(value)
    elif key.text in vocabulary.attributes:
        for row, value in cells:
            row.setdefault("attributes", {})[key.text] = value
    else:
        kind, name = vocabulary.signals.get(key.text, "any"), _reading_name(key.text)
        for row, value in cells:
            row.setdefault("readings", {})[name] = _reading(read, key, value, kind)


def _reading_name(name: str) -> str:
    folded = name.replace("-", "_")
    return folded if is_indicator_name(folded) else name


def _reading(read: FieldReader, place: Node, value: Any, kind: str = "any") -> float | str:
    if isinstance(value, str):
        if kind == "number":
            read.fault(place, f"expected a number, not {value[:40]!r}")
        return value
    if kind == "category":
        read.fault(place, f"expected a category, not {value!r}")
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    read.fault(place, "a reading is a number or a word; null where it was not measured")
    return 0.0


def _whole_events(read: FieldReader, node: Node, vocabulary: Vocabulary) -> tuple[Event, ...]:
    """The events of an example that lists them one by one."""
    if not isinstance(node, Items) or not node.items or len(node.items) > MAX_EVENTS:
        read.fault(node, f"events takes a list of 1 to {MAX_EVENTS} events")
        return ()
    events = []
    for i, item in enumerate(node.items):
        if not isinstance(item, Fields):
            read.fault(item, "an event takes its fields by name")
            continue
        read.known_keys(item, EVENT_KEYS, "an event")
        events.append(_whole_event(read, item, i, vocabulary))
    return tuple(events)


def _whole_event(read: FieldReader, node: Fields, index: int, vocabulary: Vocabulary) -> Event:
    fields = {name: str(plain(value)) for name in FIELDS if (value := node.get(name)) is not None}
    text = node.get("text")
    return Event(
        id=read.text(node.get("id"), "id") or f"e{index + 1}",
        at=_event_time(read, node.get("at"), index),
        seq=index,
        text=None if text is None else read.text(text, "text"),
        readings={
            _reading_name(key): _reading(read, node, value, vocabulary.signals.get(key, "any"))
            for key, value in _mapping(read, node.get("readings"), "readings").items()
            if value is not None
        },
        attributes=_mapping(read, node.get("attributes"), "attributes"),
        **{"subject": "sam", "source": "example", **fields},  # type: ignore[arg-type]
    )


def _mapping(read: FieldReader, node: Node | None, what: str) -> Mapping[str, Any]:
    if node is None:
        return {}
    if not isinstance(node, Fields):
        read.fault(node, f"{what} takes values by name")
        return {}
    record: Mapping[str, Any] = plain(node)
    return record


def _event_time(read: FieldReader, node: Node | None, index: int) -> datetime:
    if node is None:
        return START + timedelta(minutes=index)
    value = plain(node)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 5_000_000:
        return START + timedelta(minutes=value)
    try:
        if isinstance(value, str):
            return parse_time(value)
    except ValueError as fault:
        read.fault(node, str(fault))
        return START
    read.fault(node, "at is a number of minutes from the start, or a time such as 2026-11-15T03:10:00Z")
    return START
