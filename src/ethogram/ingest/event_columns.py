"""Events as columns: an Event is made only where it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..models import Event, Value, default_id, micros, moment
from .batch import ColumnarEvents
from .event_parser import content_of

Column = Sequence[Any]
Readings = NDArray[np.float64] | list[str | None]
"""The values of one signal: numbers with NaN, or categories with None, where there is none."""


class Coded(Sequence[str | None]):
    """A column of texts in which each text is there once: `words`, and the number of the word in each row.

    >>> list(Coded(np.array([1, 0, -1]), ["a", "b"]))
    ['b', 'a', None]
    """

    __slots__ = ("codes", "words")

    def __init__(self, codes: NDArray[np.integer[Any]], words: list[str]) -> None:
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
        words = [*self.words, None]  # -1 is the last
        return (words[code] for code in self.codes.tolist())

    def count(self, value: object) -> int:
        if value is None:
            return int(np.count_nonzero(self.codes < 0))
        return sum(own == value for own in self)


class EventColumns(ColumnarEvents):
    """Events of one source in order, as columns; an Event is made when it is asked for.

    Fields that no event has are missing from `fields`.
    """

    __slots__ = ("_made", "fields", "ids", "readings", "seq", "source", "timed", "times")

    def __init__(
        self,
        source: str,
        times: NDArray[np.int64],
        seq: NDArray[np.int64],
        ids: list[str | None] | None,
        fields: dict[str, Column],
        readings: dict[str, Readings],
        *,
        timed: bool,
    ) -> None:
        self.source, self.times, self.seq, self.ids = source, times, seq, ids
        self.fields, self.readings, self.timed = fields, readings, timed
        self._made: dict[str, int] = {}
        """Rows of ids that were made of content."""

    def __len__(self) -> int:
        return len(self.times)

    def until(self, at: datetime) -> EventColumns:
        """Return the events up to a time."""
        rows = int(np.searchsorted(self.times, micros(at), "right"))
        if rows == len(self):
            return self
        return EventColumns(
            self.source,
            self.times[:rows],
            self.seq[:rows],
            None if self.ids is None else self.ids[:rows],
            {name: column[:rows] for name, column in self.fields.items()},
            {name: column[:rows] for name, column in self.readings.items()},
            timed=self.timed,
        )

    def event(self, row: int) -> Event:
        """Return the event of a row."""
        fields = {name: column[row] for name, column in self.fields.items() if column[row] is not None}
        at = moment(int(self.times[row]))
        return Event(
            self.id_of(row), at, fields["subject"], int(self.seq[row]), self.source, self.timed, None,
            fields.get("target"), fields.get("reply_to"), fields.get("thread"), fields.get("session"),
            fields.get("kind", "event"), fields.get("text"), fields.get("attributes", {}),
            self.readings_of(row),
        )  # fmt: skip

    def readings_of(self, row: int) -> dict[str, Value]:
        """Return the readings of a row."""
        out: dict[str, Value] = {}
        for name, column in self.readings.items():
            value = column[row]
            if isinstance(value, str):
                out[name] = value
            elif value is not None and value == value:
                out[name] = float(value)
        return out

    def id_of(self, row: int) -> str:
        """Return the id of the event in a row; one without its own gets it from its place and content."""
        own = None if self.ids is None else self.ids[row]
        if own is not None:
            return own
        fields = {name: column[row] for name, column in self.fields.items() if column[row] is not None}
        if self.timed:
            fields["at"] = moment(int(self.times[row]))
        if readings := self.readings_of(row):
            fields["readings"] = readings
        made = default_id(self.source, int(self.seq[row]), content_of(fields))
        self._made[made] = row
        return made

    def rows_of(self, ids: Collection[str]) -> list[int]:
        """Return the rows of the events with these ids, in order."""
        if self.ids is not None:
            rows = [row for row, own in enumerate(self.ids) if own in ids]
            if len(rows) == len(ids):
                return rows
        if any(name not in self._made for name in ids):
            return [row for row in range(len(self)) if self.id_of(row) in ids]
        return sorted(self._made[name] for name in ids)


class MeasuredLines(ColumnarEvents):
    """Event lines of which some were given further readings: `measured` has those, by row."""

    __slots__ = ("fields", "lines", "measured", "source", "timed")

    def __init__(self, lines: EventColumns, measured: dict[int, Event]) -> None:
        self.lines, self.measured = lines, measured
        self.source, self.fields, self.timed = lines.source, lines.fields, lines.timed

    def __len__(self) -> int:
        return len(self.lines)

    def event(self, row: int) -> Event:
        return self.measured.get(row) or self.lines.event(row)

    def rows_of(self, ids: Collection[str]) -> list[int]:
        return self.lines.rows_of(ids)


def strange_names(
    events: ColumnarEvents, known: Collection[str], most: int
) -> dict[str, tuple[int, tuple[datetime, int, str]]]:
    """Return how often each of the first unknown names has a reading, and the order of its first event."""
    lines = events.lines if isinstance(events, MeasuredLines) else events
    assert isinstance(lines, EventColumns)
    first: list[tuple[int, str, int]] = []
    for name in set(lines.readings) - set(known):
        rows = np.flatnonzero([value is not None and value == value for value in lines.readings[name]])
        if len(rows):
            first.append((int(rows[0]), name, len(rows)))
    return {name: (count, lines.event(row).order) for row, name, count in sorted(first)[:most]}


def in_order(events: EventColumns) -> EventColumns:
    times, seq = events.times, events.seq
    later = (times[1:] > times[:-1]) | ((times[1:] == times[:-1]) & (seq[1:] > seq[:-1]))
    if later.all():
        return events
    order = np.lexsort((seq, times))
    times, seq = times[order], seq[order]
    rows = order.tolist()
    ties = (times[1:] == times[:-1]) & (seq[1:] == seq[:-1])
    if ties.any():
        rows.sort(key=lambda row: (int(events.times[row]), int(events.seq[row]), events.id_of(row)))
        order = np.array(rows)
    ids = events.ids
    return EventColumns(
        events.source,
        times,
        seq,
        None if ids is None else [ids[row] for row in rows],
        {
            name: column[order] if isinstance(column, Coded) else [column[row] for row in rows]
            for name, column in events.fields.items()
        },
        {
            name: column[order] if isinstance(column, np.ndarray) else [column[row] for row in rows]
            for name, column in events.readings.items()
        },
        timed=events.timed,
    )
