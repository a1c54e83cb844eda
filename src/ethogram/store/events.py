"""Read events, sources and subjects; add readings to events."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ..models import Event, Reading, micros, moment
from .kinds import KINDS, Row
from .records import NO_SCORERS, Source, SubjectRow, Who
from .row_store import READ_AHEAD, Condition, Reader, RowStore, atomic, by_source, in_pieces
from .rows import COLUMNS, event_of, reading_of, reading_values

if TYPE_CHECKING:
    from ..ingest.batch import EventSequence

ORDER = ("at_us", "seq", "id")
"""The order of a history."""
AT, SEQ, ID = (KINDS["events"].names.index(name) for name in ORDER)


class Events(RowStore):
    """Events, sources and subjects."""

    def events(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        ordered: bool = True,
        with_text: bool = False,
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> Iterator[Event]:
        """Events of all or some subjects in the order (at, seq, id), read in batches. `until` is included.

        Subjects are read a few hundred at a time; only within these the order holds. Not `ordered`: unsorted.
        `with_text`: only events with a text. `scorers`: signal (or '*') to the scorer whose readings come
        before all others.
        """
        bounds: list[Condition] = [] if until is None else [("at_us", "<=", micros(until))]
        if with_text:
            bounds.append(("text", "!=", None))
        for piece in [None] if subjects is None else in_pieces(list(subjects)):
            with self.snapshot() as view:
                histories = [
                    view.rows("events", where, order=ORDER if ordered else ())
                    for where in _of_subjects(piece, bounds)
                ]
                rows = merge(*histories, key=_order) if ordered else chain.from_iterable(histories)
                while batch := list(islice(rows, READ_AHEAD)):
                    yield from events_of(view, batch, scorers)

    def columns(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        mates: bool = False,
        without: Collection[str] = (),
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> EventSequence:
        """The events that `events` gives, all in order, as columns where that is possible.

        `mates` adds the events of others in the threads (of the same source) of these subjects. Stored
        readings of our own signals that `without` names are left out; steps of a run without their texts get
        another kind.
        """
        from .columns import columns_of, row_columns

        bounds: list[Condition] = [] if until is None else [("at_us", "<=", micros(until))]
        wheres = list(_of_subjects(subjects, bounds))
        names = ("key", "source", "subject", *COLUMNS[2:])
        rows: dict[int, Row] = {}
        numbers: dict[Who, int] = {}
        with self.snapshot() as view:
            if mates and subjects is not None:
                wheres += [[*where, *bounds] for where in _threads_of(view, wheres)]
            for where in wheres:
                for key, source, subject, *row in view.rows("events", where, columns=names):
                    rows[key] = (key, numbers.setdefault((source, subject), len(numbers)), *row)
            measured = measured_readings(view, None if subjects is None else list(rows), without)
        whose = {number: who for who, number in numbers.items()}
        columns = row_columns(list(rows.values()))
        return columns_of(columns, whose, self.sources(), measured, without, scorers)

    def sources(self) -> dict[str, Source]:
        """Every source by name."""
        with self.snapshot() as view:
            return {
                name: Source(name, bool(timed), next_seq, json.loads(kinds))
                for name, timed, next_seq, kinds in view.rows("sources", order=("name",))
            }

    def subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects with events, by source and name; `name` and `source` select.

        `SubjectRow.changed` is the arrival number of the newest event: it grows with every event of the
        subject, late ones too, and is never given twice in a store, even after a purge.
        """
        chosen: list[Condition] = [] if name is None else [("name", "=", name)]
        if source is not None:
            chosen.append(("source", "=", source))
        with self.snapshot() as view:
            return [subject_of(row) for row in view.rows("subjects", chosen, order=("source", "name"))]

    @atomic
    def add_readings(self, event: tuple[str, str], readings: Iterable[Reading]) -> int:
        """Add or replace readings of the event (source, id) by (signal, scorer); return how many.

        0 where there is no such event. What came with an event wins over readings added later.
        """
        where = [("source", "=", event[0]), ("id", "=", event[1])]
        for (key,) in self.rows("events", where, columns=("key",), limit=1):
            rows = [reading_row(key, reading) for reading in readings]
            self.write("readings", rows)
            return len(rows)
        return 0


def _order(row: Row) -> Row:
    """What a row of an event is sorted by, in a history."""
    return row[AT], row[SEQ], row[ID]


def events_of(view: Reader, rows: Sequence[Row], scorers: Mapping[str, str] = NO_SCORERS) -> list[Event]:
    """The events of rows, with all readings."""
    measured = measured_readings(view, [row[0] for row in rows])
    return [
        event_of(source, subject, tuple(row), measured.get(key, ()), scorers)
        for key, source, subject, *row in rows
    ]


def measured_readings(
    view: Reader, keys: Sequence[int] | None, without: Collection[str] = ()
) -> dict[int, list[Reading]]:
    """Readings that were added to some events, or to all, but not our own of the signals `without`."""
    found: dict[int, list[Reading]] = {}
    if next(view.rows("readings", columns=("event",), limit=1), None) is None:
        return found
    order = ("event", "signal", "scorer")
    wheres: list[list[Condition]] = [[]]
    if keys is not None:
        wheres = [[("event", "in", list(piece))] for piece in in_pieces(keys)]
    for where in wheres:
        for event, signal, number, text, scorer, width in view.rows("readings", where, order=order):
            if not (signal in without and scorer.startswith(f"{signal}@")):
                found.setdefault(event, []).append(reading_of(signal, number, text, scorer, width))
    return found


def reading_row(key: int, reading: Reading) -> Row:
    """The row of a reading that is added to an event."""
    return (key, *reading_values(reading))


def subject_of(row: Row) -> SubjectRow:
    """The subject of a row."""
    source, name, events, first, last, changed = row
    return SubjectRow(source, name, events, moment(first), moment(last), changed)


def _of_subjects(subjects: Iterable[Who] | None, bounds: Sequence[Condition]) -> Iterator[list[Condition]]:
    """Conditions for the events of these subjects, or of all."""
    if subjects is None:
        yield list(bounds)
        return
    for source, names in by_source(subjects):
        yield [("source", "=", source), ("subject", "in", names), *bounds]


def _threads_of(view: Reader, wheres: Sequence[Sequence[Condition]]) -> Iterator[list[Condition]]:
    """Conditions for the events in the threads of events that meet others."""
    threads: dict[str, set[str]] = {}
    for where in wheres:
        for source, thread, *_ in view.groups(
            "events", ("source", "thread"), [*where, ("thread", "!=", None)]
        ):
            threads.setdefault(source, set()).add(thread)
    for source, names in threads.items():
        for piece in in_pieces(sorted(names)):
            yield [("source", "=", source), ("thread", "in", list(piece))]


def highest(view: Reader, kind: str, column: str, where: Sequence[Any] = ()) -> Any:
    """The highest value of a column; None where there is none."""
    wanted = [*where, (column, "!=", None)]
    for (value,) in view.rows(kind, wanted, columns=(column,), order=(f"-{column}",), limit=1):
        return value
    return None
