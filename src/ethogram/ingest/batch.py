"""Batch: events in order with the faults of their files; limits of input."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from ..errors import Fault
from ..models import INPUT_SCORER, Event, is_evaluated
from ..models.slotted import dataclass, field, replace

Key = tuple[str, str]
"""Source and id of an event."""
Drop = Callable[[str, str], bool]
"""Whether readings of a signal by a scorer do not count."""
ReadAtOnce = Callable[
    ["EventSequence", Collection[str], Collection[str]], Mapping[str, tuple[Sequence[Any], str]] | None
]
"""Called with the events, the names of their fields and of their readings; returns new readings of all events
and their scorer by name, None where events must be changed one by one."""
RowsAbout = Callable[[Mapping[str, Sequence[Any]], Collection[str], int], Iterable[int]]
"""Called with the columns of fields, the names of readings and the number of events."""
Unknown = dict[str, tuple[int, tuple[datetime, int, str]]]
"""How often a name has a reading, and the order of the first event that has it."""


class EventCollection(Collection[Event]):
    """Events whose fields can be read without making Event objects, where those do not exist yet."""

    __slots__ = ()

    def values(self, *names: str) -> Iterator[Any]:
        """Yield the fields with these names of each event: the value of one name, tuples of several."""
        return map(attrgetter(*names), self)

    def values_of(self, whose: Collection[tuple[str, str]], *names: str) -> Iterator[Any]:
        """Yield the same of the events of some subjects, each named by its source and name."""
        raise NotImplementedError

    def counts(self, *names: str) -> Counter[Any]:
        """Return how many events have each value of these fields, in order of the first; see `values`."""
        return Counter(self.values(*names))

    def count_subjects(self) -> int:
        """Return how many subjects have events, each in its source."""
        return len(set(self.values("source", "subject")))

    def has(self, name: str) -> bool:
        """Whether any event has a value in this field."""
        return any(value is not None for value in self.values(name))

    def reading_names(self) -> set[str]:
        """Return the signals that any event has a reading of."""
        return {name for event in self for name in event.readings}

    def untimed_sources(self) -> set[str]:
        """Return the sources whose events have no times of their own."""
        return {source for source, timed in self.counts("source", "timed") if not timed}

    def by_key(self, keys: Mapping[Key, datetime]) -> dict[Key, Event]:
        """Return the events with these keys, each at its time."""
        return {(event.source, event.id): event for event in self if (event.source, event.id) in keys}


class EventSequence(EventCollection, Sequence[Event]):
    """Events in order: objects, unless a class that has columns overrides what is written here."""

    __slots__ = ()

    def column_names(self) -> Collection[str] | None:
        """Return the fields that any event has where there are columns, None where there are objects."""
        return None

    def take(self, rows: Sequence[int]) -> EventSequence:
        """Return the events of some rows, in the order of the rows."""
        return EventList(self[row] for row in rows)

    def until(self, at: datetime) -> EventSequence:
        """Return the events up to a time."""
        return EventList(event for event in self if event.at <= at)

    def values_of(self, whose: Collection[tuple[str, str]], *names: str) -> Iterator[Any]:
        return self.of_subjects(whose).values(*names)

    def of_subjects(self, whose: Collection[tuple[str, str]]) -> EventSequence:
        """Return the events of some subjects, each named by its source and name."""
        rows = [row for row, who in enumerate(self.values("source", "subject")) if who in whose]
        return self if len(rows) == len(self) else self.take(rows)

    def mapped(
        self, change: Callable[[Event], Event], rows_about: RowsAbout, at_once: ReadAtOnce | None = None
    ) -> EventSequence:
        """Return the events as `change` returns them.

        Columns take the readings of `at_once` instead, or make only the events that `rows_about` names.
        """
        return EventList(map(change, self))

    def without_readings(
        self, drop: Drop, *, only_named: bool
    ) -> tuple[EventSequence, Counter[tuple[str, str]]]:
        """Return the events without some readings, and how many of each (signal, scorer) were dropped.

        `only_named`: readings whose scorer is not named stay.
        """
        dropped: Counter[tuple[str, str]] = Counter()
        events = (
            event if only_named and not event.scorers else without_readings(event, drop, dropped)
            for event in self
        )
        return EventList(events), dropped

    def has_readings(self) -> Iterable[bool]:
        """Return for each event whether it has a reading."""
        return (bool(event.readings) for event in self)

    def with_readings_of(self, rows: Sequence[int]) -> EventSequence:
        """Return the events with the readings of the events in these rows instead of their own."""
        return EventList(with_readings_of(event, self[row]) for event, row in zip(self, rows, strict=True))

    def unknown_readings(self, known: Collection[str], most: int) -> Unknown:
        """Return the first names of readings that are not known."""
        result: Unknown = {}
        names = set(known)
        for event in self:
            for name in sorted(event.readings.keys() - names):
                if name in result:
                    result[name] = (result[name][0] + 1, result[name][1])
                elif len(result) < most:
                    result[name] = (1, event.order)
        return result


class EventList(tuple[Event, ...], EventSequence):
    """Event objects in order."""

    __slots__ = ()


def without_readings(event: Event, drop: Drop, dropped: Counter[tuple[str, str]]) -> Event:
    """Return the event without the readings to drop, and count them."""
    scorers = event.scorers
    gone = [(name, by) for name in event.readings if drop(name, by := scorers.get(name, INPUT_SCORER))]
    if not gone:
        return event
    dropped.update(gone)
    names = dict(gone)
    left = {name: value for name, value in event.readings.items() if name not in names}
    return event.read_as(left, {name: by for name, by in scorers.items() if name not in names})


def with_readings_of(event: Event, other: Event) -> Event:
    """Return the event with the readings of another instead of its own."""
    return replace(event, readings=other.readings, scorers=other.scorers, widths=other.widths)


def sequence_of(events: Iterable[Event]) -> EventSequence:
    """Return the events as a sequence of events; they must be in order."""
    return events if isinstance(events, EventSequence) else EventList(events)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that was read: a Batch in memory, or an OnDisk.

    `timed` is true where every event has a time of its own. `repeated` counts events that came again with the
    same content. `skipped` counts what was left out on purpose, by what it was, and `not_events` names the
    first files of it. `strays` counts the cells of table columns that look like misspelt signals.
    """

    events: EventCollection
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
        """Whether any event has a text."""
        return self.events.has("text") and any(self.events.values("text"))

    @property
    def has_scores(self) -> bool:
        """Whether any event came with scores of its message."""
        return is_evaluated(dict.fromkeys(self.events.reading_names()))


@dataclass(frozen=True, slots=True)
class Batch(Gathered):
    """Everything that was read, with the events in memory and in order."""

    events: EventSequence

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", sequence_of(self.events))


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
