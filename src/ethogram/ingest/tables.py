"""Tables: what each column of a CSV or Parquet file says about an event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import did_you_mean
from ..models import TRAITS, is_indicator_name
from .errors import BadLine, shown, type_name
from .event_parser import FIELDS, signal_name
from .streams import parse

READINGS, ATTRIBUTES = "readings", "attributes"
OBJECTS = (READINGS, ATTRIBUTES)
MOST_COLUMNS = 2_000
"""Several times as many as an event may have readings and attributes."""


USAGE = frozenset(
    {"id", "seq", "source", "subject", "at", "session", "length", "emotional", "closing", "ended_abruptly"}
    | {"time_zone", "role", "is_user"}
)
"""What a table tells that is about the use of a service: who was there when, and nothing of what was said."""


@dataclass(frozen=True, slots=True)
class Column:
    """Where the cells of a column go: into `readings`, into `attributes`, or ('') a field of the event."""

    place: str
    name: str


def columns_of(header: Sequence[str], kinds: Mapping[str, str]) -> tuple[Column, ...]:
    """What each column is; BadLine where the header cannot be that of an event table."""
    names = [name.strip() for name in header]
    if "subject" not in names:
        near = next((name for name in names if did_you_mean(name, ["subject"])), "")
        hint = f" (there is {shown(near)})" if near else f"; the columns are {shown(', '.join(names))}"
        raise BadLine(f"a table of events needs a column 'subject'{hint}")
    if len(names) > MOST_COLUMNS:
        raise BadLine(f"{len(names):,} columns: expected at most {MOST_COLUMNS:,}")
    columns = tuple(_column(number, name, kinds) for number, name in enumerate(names, 1))
    seen: set[Column] = set()
    for name, column in zip(names, columns, strict=True):
        if column in seen:
            raise BadLine(f"the column {shown(name)} is given twice")
        seen.add(column)
    return columns


def kind_of(columns: Iterable[Column]) -> str | None:
    """The kind of event that a table holds which names none: 'usage' where it says only who was there when.

    >>> kind_of([Column("", "subject"), Column("", "at"), Column("readings", "length")])
    'usage'
    """
    names = {column.name for column in columns}
    return "usage" if "at" in names and names <= USAGE else None


def _column(number: int, name: str, kinds: Mapping[str, str]) -> Column:
    if name in FIELDS:
        return Column("", name)
    place, dot, rest = name.partition(".")
    if dot and place in OBJECTS and rest:
        return Column(place, signal_name(rest) if place == READINGS else rest)
    if not name:
        raise BadLine(f"column {number} has no name (pandas writes such a one unless told index=False)")
    signal = signal_name(name)
    # Predictable from the header alone: what the cells hold never decides.
    if signal in kinds or signal in TRAITS or is_indicator_name(signal):
        return Column(READINGS, signal)
    return Column(ATTRIBUTES, name)


def strays_of(
    header: Sequence[str], columns: Sequence[Column], kinds: Mapping[str, str]
) -> tuple[tuple[int, str], ...]:
    """Place and name of each column kept as an attribute, unasked, whose name is near to that of a signal."""
    return tuple(
        (place, column.name)
        for place, (name, column) in enumerate(zip(header, columns, strict=True))
        if column == Column(ATTRIBUTES, name.strip()) and did_you_mean(column.name, kinds)
    )


def line_of(columns: Iterable[Column], values: Iterable[Any]) -> dict[str, Any]:
    """The event line a row says; None means that the row has nothing in that column."""
    line: dict[str, Any] = {}
    for column, value in zip(columns, values, strict=True):
        if value is None:
            continue
        if column.place:
            _put(line.setdefault(column.place, {}), column.name, value)
        elif column.name in OBJECTS:
            inner = line.setdefault(column.name, {})
            for name, item in _object(column.name, value):
                _put(inner, signal_name(name) if column.name == READINGS else name, item)
        else:
            line[column.name] = value
    return line


def _put(inner: dict[str, Any], name: str, value: Any) -> None:
    if name in inner:
        raise BadLine(f"{shown(name)} is given twice")
    inner[name] = value


def _object(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    """The pairs of a cell that holds an object: as such, as JSON text, or as Arrow's list of pairs."""
    inner = parse(value) if isinstance(value, str) else value
    if isinstance(inner, Mapping):
        pairs = list(inner.items())
    elif inner is value and isinstance(value, list) and all(isinstance(item, tuple) for item in value):
        pairs = value
    else:
        raise BadLine(f"{name} must be an object, not {type_name(inner)}")
    if not all(isinstance(key, str) for key, _ in pairs):
        raise BadLine(f"{name} has a key that is not text")
    return pairs
