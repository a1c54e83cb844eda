"""Events as columns: an Event is made only where it is asked for."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from itertools import chain, count, islice, repeat
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..models import INPUT_SCORER, Event, Value, default_id, micros, moment
from .batch import (
    Drop,
    EventList,
    EventSequence,
    Key,
    ReadAtOnce,
    RowsAbout,
    Unknown,
    with_readings_of,
    without_readings,
)
from .event_parser import content_of

Column = Sequence[Any]
THIN = 4
"""A signal is held by its events where fewer than one in so many have it, and there are MANY_SIGNALS."""
MANY_SIGNALS = 32
FIELDS = (
    *("id", "at", "subject", "seq", "source", "timed", "target", "reply_to", "thread", "session"),
    *("kind", "text", "attributes"),
)
"""The fields of an Event in order, up to its readings; without `received_at`, which no input has."""
EVERY = slice(None)
AT_ONCE = 256
"""Events made together where all are read one after the other."""

# The C library returns the memory of a freed array to the system, and the next array pays for fresh pages,
# unless one as large was freed before. It learns so from the first of these for which it asks the system, and
# 32 MB is the most it learns. Nothing is written to them, so they cost nothing.
with suppress(MemoryError):
    [np.empty(2**25 - 2**13, np.uint8) for _ in range(4)]


class Sparse:
    """The numbers of a signal that few events have: `rows`, in order, and their values."""

    __slots__ = ("rows", "size", "values")

    def __init__(self, rows: NDArray[np.int64], values: NDArray[np.float64], size: int) -> None:
        self.rows, self.values, self.size = rows, values, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, row: int) -> float:
        place = int(np.searchsorted(self.rows, row))
        return float(self.values[place]) if place < len(self.rows) and self.rows[place] == row else math.nan

    def dense(self) -> NDArray[np.float64]:
        """Return the values of all rows, NaN where there is none."""
        out = np.full(self.size, np.nan)
        out[self.rows] = self.values
        return out

    def moved(self, places: NDArray[np.int64], size: int) -> Sparse:
        """Return the column after rows have moved to other places, -1 for those that are left out."""
        rows = places[self.rows]
        order = np.argsort(rows, kind="stable")
        order = order[np.searchsorted(rows[order], 0) :]
        return Sparse(rows[order], self.values[order], size)


Readings = NDArray[np.float64] | list[str | None] | Sparse
"""The values of one signal: numbers with NaN, or categories with None, where there is none."""


def thinned(column: Readings) -> Readings:
    """Return the column by its rows, where few have a number."""
    if not isinstance(column, np.ndarray):
        return column
    rows = rows_with(column)
    return Sparse(rows, column[rows], len(column)) if THIN * len(rows) < len(column) else column


class Coded(Sequence[str | None]):
    """A column of texts in which each text is there once: `words`, and the number of the word in each row.

    >>> list(Coded(np.array([1, 0, -1]), ["a", "b"]))
    ['b', 'a', None]
    """

    __slots__ = ("codes", "words")

    def __init__(self, codes: NDArray[np.integer[Any]], words: Sequence[str]) -> None:
        self.codes, self.words = codes, words

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> str | None: ...
    @overload
    def __getitem__(self, row: slice | NDArray[np.int64]) -> Coded: ...
    def __getitem__(self, row: int | slice | NDArray[np.int64]) -> str | Coded | None:
        if not isinstance(row, int):
            return Coded(self.codes[row], self.words)
        code = int(self.codes[row])
        return self.words[code] if code >= 0 else None

    def __iter__(self) -> Iterator[str | None]:
        # A list is read faster than words that are decoded when they are read.
        words = list(self.words) if THIN * len(self) > len(self.words) else self.words
        return (None if code < 0 else words[code] for code in self.codes.tolist())

    def count(self, value: object) -> int:
        if value is None:
            return int(np.count_nonzero(self.codes < 0))
        return sum(own == value for own in self)


def coded(values: Sequence[str | None]) -> Coded:
    """Return the column with each text once."""
    if isinstance(values, Coded):
        return values
    numbers: dict[str | None, int] = defaultdict(count().__next__, {None: -1})
    codes = np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))
    return Coded(codes, [text for text in numbers if text is not None])


class ContentIds(Sequence[str]):
    """The ids of some rows of events, made of what the events came with, where they are read."""

    __slots__ = ("events", "rows")

    def __init__(self, events: EventColumns, rows: NDArray[np.int64]) -> None:
        self.events, self.rows = events, rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice | NDArray[np.int64]) -> ContentIds: ...
    def __getitem__(self, row: int | slice | NDArray[np.int64]) -> str | ContentIds:
        if isinstance(row, int):
            return self.events.ids_of(self.rows[row : row + 1])[0]
        return ContentIds(self.events, self.rows[row])

    def __iter__(self) -> Iterator[str]:
        return iter(self.events.ids_of(self.rows))


class EventColumns(EventSequence):
    """Events in order, as columns; an Event is made when it is asked for.

    Fields that no event has are missing from `fields`; `source` is there where events have several.
    `measured` has the events that were given further readings, by row; `scorers` says who measured the
    readings of a name that did not come with the events.
    """

    __slots__ = (
        "_thin",
        "fields",
        "ids",
        "measured",
        "readings",
        "scorers",
        "seq",
        "source",
        "timed",
        "times",
    )

    def __init__(
        self,
        source: str,
        times: NDArray[np.int64],
        seq: NDArray[np.int64],
        ids: Sequence[str | None] | None,
        fields: dict[str, Column],
        readings: dict[str, Readings],
        *,
        timed: bool | NDArray[np.bool_],
        measured: Mapping[int, Event] | None = None,
        scorers: Mapping[str, str] | None = None,
    ) -> None:
        self.source, self.times, self.seq, self.ids = source, times, seq, ids
        self.fields, self.readings, self.timed = fields, readings, timed
        self.measured, self.scorers = measured or {}, scorers or {}
        self._thin: _ByRow | None = None

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, row: int) -> Event: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Event]: ...
    def __getitem__(self, row: int | slice) -> Event | Sequence[Event]:
        if isinstance(row, slice):
            return self.events(range(*row.indices(len(self))))
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return self.event(row % len(self))

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(map(self.events, self._parts()))

    def values(self, *names: str) -> Iterator[Any]:
        columns = [self._values(name, EVERY) for name in names]
        return iter(columns[0]) if len(columns) == 1 else zip(*columns, strict=True)

    def counts(self, *names: str) -> Counter[Any]:
        present = [name for name in names if name in self.fields]
        coded = [column for name in present if isinstance(column := self.fields[name], Coded)]
        if len(coded) < len(present) or "at" in names or "id" in names or not len(self):
            return super().counts(*names)
        codes = np.zeros(len(self), np.int64)
        for column in coded:
            codes = codes * (len(column.words) + 1) + column.codes + 1
        if len(coded) > 1:
            codes = np.unique(codes, return_inverse=True)[1]
        count = np.bincount(codes)
        first = np.zeros(len(count), np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        seen = np.flatnonzero(count)
        seen = seen[np.argsort(first[seen])]
        result: Counter[Any] = Counter()
        bare = copy(self)
        bare.fields, bare.readings, bare.measured = dict(zip(present, coded, strict=True)), {}, {}
        for value, n in zip(bare.take(first[seen]).values(*names), count[seen].tolist(), strict=True):
            result[value] += n
        return result

    def count_subjects(self) -> int:
        subjects = self.fields.get("subject")
        if "source" in self.fields or not isinstance(subjects, Coded):
            return super().count_subjects()
        return int(np.count_nonzero(np.bincount(subjects.codes)))

    def has(self, name: str) -> bool:
        return name in self.fields

    def column_names(self) -> Collection[str]:
        return self.fields

    def _values(self, name: str, rows: NDArray[np.int64] | slice) -> Iterable[Any]:
        """Return the values of a field in some rows; at least so many where all are the same."""
        if name in ("at", "seq"):
            numbers: list[int] = (self.times if name == "at" else self.seq)[rows].tolist()
            return map(moment, numbers) if name == "at" else numbers
        if name == "id":
            parts = self._parts() if isinstance(rows, slice) else [rows]
            return chain.from_iterable(map(self.ids_of, parts))
        if name == "timed":
            timed = self.timed
            return repeat(timed, len(self)) if isinstance(timed, bool) else map(bool, timed[rows])
        absent = {"kind": "event", "source": self.source, "attributes": {}}.get(name)
        if name not in self.fields:
            return repeat(absent, len(self))
        column: Column = taken(self.fields[name], rows)
        return column if absent is None else (absent if value is None else value for value in column)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> EventColumns:
        """Return the events of some rows, each there once at most."""
        at = np.asarray(rows, np.int64)
        measured = {}
        if self.measured:
            measured = {
                row: self.measured[old] for row, old in enumerate(at.tolist()) if old in self.measured
            }
        return EventColumns(
            self.source,
            self.times[at],
            self.seq[at],
            None if self.ids is None else taken(self.ids, at),
            {name: taken(column, at) for name, column in self.fields.items()},
            self._moved_readings(at),
            timed=taken(self.timed, at) if isinstance(self.timed, np.ndarray) else self.timed,
            measured=measured,
            scorers=self.scorers,
        )

    def of_subjects(self, whose: Collection[tuple[str, str]]) -> EventSequence:
        subjects = self.fields["subject"]
        if "source" in self.fields or not isinstance(subjects, Coded):
            return super().of_subjects(whose)
        wanted = np.array([(self.source, word) in whose for word in subjects.words], bool)
        return self.take(np.flatnonzero(wanted[subjects.codes]))

    def until(self, at: datetime) -> EventColumns:
        rows = int(np.searchsorted(self.times, micros(at), "right"))
        return self if rows == len(self) else self.take(range(rows))

    def mapped(
        self, change: Callable[[Event], Event], rows_about: RowsAbout, at_once: ReadAtOnce | None = None
    ) -> EventSequence:
        added = None if at_once is None or self.measured else at_once(self, self.fields, self.readings)
        if added is not None:
            readings: dict[str, Readings] = {
                name: list(values) if str in set(map(type, values)) else np.array(values, np.float64)
                for name, (values, _) in added.items()
            }
            readings = {name: column for name, column in readings.items() if len(rows_with(column))}
            if not readings:
                return self
            events = self._with({**self.readings, **readings}, {})
            events.scorers = {**self.scorers, **{name: added[name][1] for name in readings}}
            return events
        changed = dict(self.measured)
        rows = iter(rows_about(self.fields, self.readings, len(self)))
        while part := list(islice(rows, AT_ONCE)):
            for row, event in zip(part, self.events(part), strict=True):
                if (result := change(event)) is not event:
                    changed[row] = result
        events = self._with(self.readings, changed)
        # Where most events were made, the columns of the others are of no use.
        return EventList(events) if 2 * len(changed) > len(self) else events

    def without_readings(
        self, drop: Drop, *, only_named: bool
    ) -> tuple[EventColumns, Counter[tuple[str, str]]]:
        dropped: Counter[tuple[str, str]] = Counter()
        measured = {row: without_readings(event, drop, dropped) for row, event in self.measured.items()}
        readings = self.readings
        by = {name: self.scorers.get(name, INPUT_SCORER) for name in readings}
        gone = {
            name
            for name, scorer in by.items()
            if not (only_named and scorer == INPUT_SCORER) and drop(name, scorer)
        }
        for name in gone:
            rows = rows_with(readings[name])
            dropped[name, by[name]] += len(set(rows.tolist()) - measured.keys())
        if gone:
            readings = {name: column for name, column in readings.items() if name not in gone}
        return self._with(readings, measured), Counter({key: n for key, n in dropped.items() if n})

    def reading_names(self) -> set[str]:
        own = {name for name, column in self.readings.items() if len(rows_with(column))}
        return own.union(*(event.readings for event in self.measured.values()))

    def has_readings(self) -> Iterable[bool]:
        known = np.zeros(len(self), bool)
        for column in self.readings.values():
            known[rows_with(column)] = True
        for row, event in self.measured.items():
            known[row] = bool(event.readings)
        return map(bool, known)

    def with_readings_of(self, rows: Sequence[int]) -> EventColumns:
        at = np.asarray(rows, np.int64)
        changed = (own for own, row in enumerate(rows) if own in self.measured or row in self.measured)
        measured = {row: with_readings_of(self.event(row), self.event(rows[row])) for row in changed}
        return self._with(self._moved_readings(at), measured)

    def _moved_readings(self, rows: NDArray[np.int64]) -> dict[str, Readings]:
        """Return the readings of some rows, each there once at most."""
        places = places_of(rows, len(self))
        return {
            name: column.moved(places, len(rows)) if isinstance(column, Sparse) else taken(column, rows)
            for name, column in self.readings.items()
        }

    def unknown_readings(self, known: Collection[str], most: int) -> Unknown:
        first: list[tuple[int, str, int]] = []
        for name in set(self.readings) - set(known):
            rows = rows_with(self.readings[name])
            if len(rows):
                first.append((int(rows[0]), name, len(rows)))
        return {name: (count, self.event(row).order) for row, name, count in sorted(first)[:most]}

    def _with(self, readings: dict[str, Readings], measured: Mapping[int, Event]) -> EventColumns:
        result = copy(self)
        made = isinstance(self.ids, ContentIds)
        if readings is not self.readings and not made and (self.ids is None or None in self.ids):
            # An id made of content is that of the content as it was.
            result.ids = ContentIds(self, np.arange(len(self)))
        result.readings, result.measured = readings, measured
        result._thin = None
        return result

    def event(self, row: int) -> Event:
        """Return the event of a row."""
        return self.events([row])[0]

    def events(
        self, rows: Sequence[int] | NDArray[np.int64], names: Collection[str] | None = None
    ) -> list[Event]:
        """Return the events of some rows; with `names` they need not have other readings than those."""
        at = np.asarray(rows, np.int64)
        if self.measured:
            measured = [self.measured.get(row) for row in at.tolist()]
            others = iter(self._made(at[[event is None for event in measured]], names))
            return [next(others) if event is None else event for event in measured]
        return self._made(at, names)

    def _made(self, at: NDArray[np.int64], names: Collection[str] | None) -> list[Event]:
        readings = self.readings_of(at, names)
        columns = [self._values(name, at) for name in FIELDS]
        columns.insert(FIELDS.index("timed") + 1, repeat(None))  # received_at
        scorers: Iterable[dict[str, str]] = repeat({})
        if self.scorers:
            scorers = (
                {name: scorer for name, scorer in self.scorers.items() if name in own} for own in readings
            )
        return list(map(Event, *columns, readings, scorers))

    def readings_of(
        self, rows: NDArray[np.int64], names: Collection[str] | None = None
    ) -> list[dict[str, Value]]:
        """Return the readings of some rows, all or those with some names."""
        columns = {
            name: taken(column, rows)
            for name, column in self.readings.items()
            if not isinstance(column, Sparse) and (names is None or name in names)
        }
        lists = [own.tolist() if isinstance(own, np.ndarray) else own for own in columns.values()]
        cells = zip(*lists, strict=True) if lists else repeat((), len(rows))
        out = [
            {
                name: value
                for name, value in zip(columns, row, strict=True)
                if not (value is None or value != value)
            }
            for row in cells
        ]
        if self._thin is None:
            self._thin = _by_row(
                {name: own for name, own in self.readings.items() if isinstance(own, Sparse)}
            )
        thin, places, of, numbers = self._thin
        if thin:
            first, last = (np.searchsorted(places, rows, side).tolist() for side in ("left", "right"))
            for own, start, end in zip(out, first, last, strict=True):
                for place in range(start, end):
                    if names is None or thin[of[place]] in names:
                        own[thin[of[place]]] = float(numbers[place])
        return out

    def ids_of(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the ids of some rows; an event without its own gets it from its place and content."""
        if isinstance(self.ids, ContentIds):
            return list(self.ids[rows])
        own: list[Any] = [None] * len(rows) if self.ids is None else taken(self.ids, rows)
        lacking = [place for place, known in enumerate(own) if known is None]
        if not lacking:
            return own
        at = rows[lacking]
        columns = {name: list(taken(column, at)) for name, column in self.fields.items()}
        numbers = zip(lacking, self.times[at].tolist(), self.seq[at].tolist(), strict=True)
        for k, ((place, us, seq), readings) in enumerate(zip(numbers, self.readings_of(at), strict=True)):
            fields = {name: column[k] for name, column in columns.items() if column[k] is not None}
            if self.timed is True:
                fields["at"] = moment(us)
            if readings:
                fields["readings"] = readings
            own[place] = default_id(self.source, seq, content_of(fields))
        return own

    def _parts(self) -> Iterator[NDArray[np.int64]]:
        """All rows, so many at once that what is made of them stays small."""
        every = np.arange(len(self))
        return (every[start : start + AT_ONCE] for start in range(0, len(self), AT_ONCE))

    def by_key(self, keys: Mapping[Key, datetime]) -> dict[Key, Event]:
        times = np.array(sorted(map(micros, keys.values())), np.int64)
        place = np.minimum(np.searchsorted(times, self.times), len(times) - 1)
        rows = np.flatnonzero(times[place] == self.times) if len(times) else times
        events = self.events(rows)
        return {(event.source, event.id): event for event in events if (event.source, event.id) in keys}


def taken(column: Any, rows: NDArray[np.int64] | slice) -> Any:
    """Return the values of some rows."""
    if isinstance(column, (Coded, ContentIds, np.ndarray)) or isinstance(rows, slice):
        return column[rows]
    return [column[row] for row in rows.tolist()]


_ByRow = tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Names of sparse columns; then, in order of rows, the rows, numbers of the names and values."""


def _by_row(columns: Mapping[str, Sparse]) -> _ByRow:
    none = np.empty(0, np.int64)
    rows = np.concatenate([none, *(own.rows for own in columns.values())])
    order = np.argsort(rows, kind="stable")
    of = np.repeat(np.arange(len(columns)), [len(own.rows) for own in columns.values()])
    values = np.concatenate([np.empty(0), *(own.values for own in columns.values())])
    return list(columns), rows[order], of[order], values[order]


def places_of(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return where each of `size` rows is among these, -1 where it is not."""
    places = np.full(size, -1)
    places[rows] = np.arange(len(rows))
    return places


def rows_with(column: Readings) -> NDArray[np.int64]:
    """Return the rows that have a reading."""
    if isinstance(column, Sparse):
        return column.rows
    if isinstance(column, np.ndarray):
        return np.flatnonzero(column == column)
    return np.flatnonzero([value is not None for value in column])


def in_order(events: EventColumns) -> EventColumns:
    times, seq = events.times, events.seq
    later = (times[1:] > times[:-1]) | ((times[1:] == times[:-1]) & (seq[1:] > seq[:-1]))
    if later.all():
        return events
    order = np.lexsort((seq, times))
    times, seq = times[order], seq[order]
    if ((times[1:] == times[:-1]) & (seq[1:] == seq[:-1])).any():
        ids = list(events.values("id"))
        rows = order.tolist()
        rows.sort(key=lambda row: (int(events.times[row]), int(events.seq[row]), ids[row]))
        order = np.array(rows)
    return events.take(order)
