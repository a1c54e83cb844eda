"""Tables: what each column of a CSV or Parquet file says about an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import did_you_mean
from ..lexicon.messages import AUTHORS, TEXTS
from ..models import TRAITS, is_indicator_name
from ..models.slotted import dataclass, field
from .errors import BadLine, shown, type_name
from .event_parser import FIELDS, signal_name
from .messages import FIELDS as MESSAGE_FIELDS
from .messages import TIMES
from .streams import parse
from .values import words

OTHER_NAMES = {"subject": AUTHORS[:-2], "text": TEXTS, "at": TIMES, **MESSAGE_FIELDS}
"""Fields of an event, and what else their columns are called; a mere role or name is no subject."""
READINGS, ATTRIBUTES = "readings", "attributes"
OBJECTS = (READINGS, ATTRIBUTES)
MOST_COLUMNS = 2_000
"""Several times as many as an event may have readings and attributes."""
USAGE = words(
    "id seq source subject at session length emotional closing ended_abruptly time_zone role is_user"
)
"""Columns about the use of a service: who was there when, and nothing of what was said."""


@dataclass(frozen=True, slots=True)
class Column:
    """Where the cells of a column go: into `readings`, into `attributes`, or ('') a field of the event."""

    place: str
    name: str


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a table. `strays` are attributes whose names are near to that of a signal, by place."""

    columns: tuple[Column, ...]
    strays: Mapping[int, str] = field(default_factory=dict)
    kind: str | None = None

    @classmethod
    def of(cls, header: Sequence[str], kinds: Mapping[str, str]) -> Table:
        """Return the table with this header; BadLine where it is no header of events.

        >>> Table.of(["subject", "at", "readings.length"], {}).kind
        'usage'
        """
        names = usual_names(header)
        if "subject" not in names:
            near = next((name for name in names if did_you_mean(name, ["subject"])), "")
            hint = f" (there is {shown(near)})" if near else f"; the columns are {shown(', '.join(names))}"
            raise BadLine(f"a table of events needs a column 'subject'{hint}")
        if len(names) > MOST_COLUMNS:
            raise BadLine(f"{len(names):,} columns: expected at most {MOST_COLUMNS:,}")
        columns = tuple(_column(number, name, kinds) for number, name in enumerate(names, 1))
        counts = Counter(columns)
        if twice := [name for name, column in zip(names, columns, strict=True) if counts[column] > 1]:
            raise BadLine(f"duplicate column {shown(twice[-1])}")
        strays = {
            place: name
            for place, name in enumerate(names)
            if columns[place] == Column(ATTRIBUTES, name) and did_you_mean(name, kinds)
        }
        # A table that names no kind holds usage where it only says who was there when.
        only_usage = "at" in names and {column.name for column in columns} <= USAGE
        return cls(columns, strays, "usage" if only_usage else None)

    def event_line(self, values: Iterable[Any]) -> dict[str, Any]:
        """Return the event line of a row; None means that the row has nothing in that column."""
        line: dict[str, Any] = {} if self.kind is None else {"kind": self.kind}
        for column, value in zip(self.columns, values, strict=True):
            if value is None:
                continue
            if column.place:
                _put(line.setdefault(column.place, {}), column.name, value)
            elif column.name in OBJECTS:
                inner = line.setdefault(column.name, {})
                for name, item in _pairs(column.name, value):
                    _put(inner, signal_name(name) if column.name == READINGS else name, item)
            else:
                line[column.name] = value
        return line


def usual_names(header: Sequence[str]) -> list[str]:
    """The names of columns; where none is the subject, those of messages and logs under our own names.

    >>> usual_names(["author", "content", "created_at", "score"])
    ['subject', 'text', 'at', 'score']
    """
    names = [name.strip() for name in header]
    if "subject" in names:
        return names
    ours: dict[str, str] = {}
    for field_name, others in OTHER_NAMES.items():
        if field_name not in names and (own := next((name for name in others if name in names), None)):
            ours[own] = field_name
    return [ours.get(name, name) for name in names]


def _column(number: int, name: str, kinds: Mapping[str, str]) -> Column:
    if name in FIELDS:
        return Column("", name)
    place, dot, rest = name.partition(".")
    if dot and place in OBJECTS and rest:
        return Column(place, signal_name(rest) if place == READINGS else rest)
    if not name:
        raise BadLine(f"column {number} has no name (pandas writes one like this without index=False)")
    signal = signal_name(name)
    # Predictable from the header alone: what the cells hold never decides.
    if signal in kinds or signal in TRAITS or is_indicator_name(signal):
        return Column(READINGS, signal)
    return Column(ATTRIBUTES, name)


def _put(inner: dict[str, Any], name: str, value: Any) -> None:
    if name in inner:
        raise BadLine(f"duplicate key {shown(name)}")
    inner[name] = value


def _pairs(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    """Return the pairs of a cell that holds an object: as such, as JSON text, or as Arrow's list of pairs."""
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
