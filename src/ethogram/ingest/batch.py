"""Batch: events in order with the faults of their files; limits of input."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

from ..errors import Fault
from ..models import Event
from ..models.slotted import dataclass, field


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that was read: a Batch in memory, or an OnDisk.

    `timed` is true where every event has a time of its own. `repeated` counts events that came again with the
    same content. `skipped` counts what was left out on purpose, by what it was, and `not_events` names the
    first files of it. `strays` counts the cells of table columns that look like misspelt signals.
    """

    events: Collection[Event]
    bad: tuple[Fault, ...] = ()
    bad_count: int = 0
    repeated: int = 0
    timed: bool = True
    files: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    not_events: tuple[str, ...] = ()
    strays: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_text(self) -> bool:
        """Whether any event has a text; columns answer without making events."""
        if isinstance(self.events, ColumnarEvents):
            return any(self.events.fields.get("text", ()))
        return any(event.text for event in self.events)


class ColumnarEvents(Sequence[Event]):
    """Events of one source whose fields can be read without making Event objects.

    `fields` has the columns of fields that any event has.
    """

    __slots__ = ()
    source: str
    timed: bool
    fields: dict[str, Sequence[Any]]

    def event(self, row: int) -> Event:
        """Return the event of a row."""
        raise NotImplementedError

    @overload
    def __getitem__(self, row: int) -> Event: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Event]: ...
    def __getitem__(self, row: int | slice) -> Event | Sequence[Event]:
        if isinstance(row, slice):
            return [self.event(number) for number in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return self.event(row % len(self))

    def __iter__(self) -> Iterator[Event]:
        return map(self.event, range(len(self)))

    def rows_of(self, ids: Collection[str]) -> list[int]:
        """Return the rows of the events with these ids, in order."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Batch(Gathered):
    """Everything that was read, with the events in memory and in order."""

    events: Sequence[Event]


class Place(NamedTuple):
    """A line of a file; `file` is the file's position among those read, so that places sort as read."""

    file: int
    line: int
    path: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


PlacedFault = tuple[Place, int, str]
"""Place, column and message."""
LONGEST = 1_000
"""Characters of a message: libraries repeat what they could not read at any length."""


class Faults:
    """Faults of lines, added in any order: all are counted, the first `most` by place are kept."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self.first: list[PlacedFault] = []
        self._most = most

    def add(self, place: Place, message: str, column: int = 0) -> None:
        """Count a fault, and keep it if it is among the first by place."""
        self.count += 1
        message = message if len(message) <= LONGEST else message[:LONGEST] + "..."
        message = message.encode("utf-8", "backslashreplace").decode()  # lone surrogates cannot be printed
        insort(self.first, (place, column, message))
        del self.first[self._most :]

    def add_all(self, others: Faults) -> None:
        """Add the faults of others."""
        for place, column, message in others.first:
            self.add(place, message, column)
        self.count += others.count - len(others.first)

    def as_tuple(self) -> tuple[Fault, ...]:
        """Return the first faults by place."""
        return tuple(Fault(place.path, place.line, column, text) for place, column, text in self.first)
