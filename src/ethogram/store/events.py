"""Read events, sources and subjects."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, groupby
from typing import Any

from sqlalchemy import Connection, Select, and_, or_, select

from ..ingest.batch import EventSequence
from ..models import Event, Reading, micros, moment
from . import schema
from .records import Source, SubjectRow, Who
from .rows import COLUMNS, event_of, reading_of, reading_values
from .sql import READ_AHEAD, Sql, in_pieces, insert_rows, run

EVENTS, SUBJECTS, SOURCES = schema.events.c, schema.subjects.c, schema.sources.c
FIELDS = [schema.events.c[name] for name in schema.EVENT_FIELDS]
ROW = ", ".join(f"e.{name}" for name in COLUMNS)
LAST = 2**63 - 1
"""The latest time a row can have."""
NO_SCORERS: Mapping[str, str] = {}
ORDER = (EVENTS.at_us, EVENTS.seq, EVENTS.id)


class Events(Sql):
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
        query = _query(until) if ordered else _query(until).order_by(None)
        if with_text:
            query = query.where(EVENTS.text.is_not(None))
        if subjects is None:
            yield from self._events(query, scorers)
            return
        for piece in in_pieces(list(subjects)):
            yield from self._events(query.where(_are(piece)), scorers)

    def columns(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        mates: bool = False,
        without: Collection[str] = (),
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> EventSequence:
        """Events of all or some subjects in order, as columns where that is possible. `until` is included.

        `mates` adds the events of others in the threads of these subjects. Stored readings of our own signals
        that `without` names are left out; steps of a run without their texts get another kind. `scorers` are
        those of `events`.
        """
        from .columns import columns_of

        every = "SELECT u.key, o.name, u.name FROM subjects u JOIN sources o ON o.key = u.source"
        query = f"SELECT {ROW} FROM events e WHERE e.at_us <= :until AND "
        limit = LAST if until is None else micros(until)
        with self.reading() as connection:
            whose = {key: (source, name) for key, source, name in run(connection, every).all()}
            conditions = ["1 = 1"]
            if subjects is not None:
                wanted = set(subjects)
                keys = [key for key, who in whose.items() if who in wanted]
                conditions = [_of_subjects(piece, mates=mates) for piece in in_pieces(keys)]
            pieces = (run(connection, query + where, until=limit).all() for where in conditions)
            rows = list({row[0]: row for row in chain.from_iterable(pieces)}.values())
            own = None if subjects is None else [row[0] for row in rows]
            measured = measured_readings(connection, own, without)
        return columns_of(rows, whose, self.sources(), measured, without, scorers)

    def sources(self) -> dict[str, Source]:
        """Every source by name."""
        with self.reading() as connection:
            rows = run(connection, "SELECT name, timed, next_seq, kinds FROM sources ORDER BY name").all()
            return {
                name: Source(name, bool(timed), seq, json.loads(kinds)) for name, timed, seq, kinds in rows
            }

    def subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects with events, by source and name; `name` and `source` select."""
        query = subject_query()
        if name is not None:
            query = query.where(SUBJECTS.name == name)
        if source is not None:
            query = query.where(SOURCES.name == source)
        with self.reading() as connection:
            return subject_rows(connection, query.order_by(SOURCES.name, SUBJECTS.name))

    def add_readings(self, event: tuple[str, str], readings: Iterable[Reading]) -> int:
        """Add or replace readings of the event (source, id); return how many."""
        rows = [reading_values(reading) for reading in readings]
        find = """SELECT e.key FROM events e JOIN sources o ON o.key = e.source
          WHERE o.name = :source AND e.id = :id"""
        drop = "DELETE FROM readings WHERE event = :key AND signal = :signal AND scorer = :scorer"
        with self.writing() as connection:
            key = run(connection, find, source=event[0], id=event[1]).scalar()
            if key is None:
                return 0
            for signal, _, _, scorer, _ in rows:
                run(connection, drop, key=key, signal=signal, scorer=scorer)
            insert_rows(connection, schema.readings, [(key, *row) for row in rows])
        return len(rows)

    def _events(self, query: Select[Any], scorers: Mapping[str, str]) -> Iterator[Event]:
        with self.reading() as connection:
            rows = connection.execution_options(yield_per=READ_AHEAD).execute(query)
            for batch in rows.partitions():
                measured = measured_readings(connection, [row[0] for row in batch])
                for key, source, subject, *row in batch:
                    yield event_of(source, subject, tuple(row), measured.get(key, ()), scorers)


def _of_subjects(keys: Sequence[int], *, mates: bool) -> str:
    """The condition that an event is of one of these subjects, or in a thread of one."""
    own = f"subject IN ({', '.join(map(str, keys))})"
    if not mates:
        return f"e.{own}"
    threads = f"SELECT DISTINCT source, thread FROM events WHERE {own} AND thread IS NOT NULL"
    return f"(e.{own} OR (e.source, e.thread) IN ({threads}))"


def _query(until: datetime | None) -> Select[Any]:
    query = (
        select(EVENTS.key, SOURCES.name, SUBJECTS.name, *FIELDS)
        .join(schema.subjects, SUBJECTS.key == EVENTS.subject)
        .join(schema.sources, SOURCES.key == EVENTS.source)
        .order_by(*ORDER)
    )
    return query if until is None else query.where(EVENTS.at_us <= micros(until))


def _are(subjects: Sequence[Who]) -> Any:
    """The condition that a row is of one of these subjects; by source, since most stores have one."""
    by_source = groupby(sorted(subjects), key=lambda who: who[0])
    return or_(
        *(
            and_(SOURCES.name == source, SUBJECTS.name.in_([name for _, name in group]))
            for source, group in by_source
        )
    )


def measured_readings(
    connection: Connection, keys: Sequence[int] | None, without: Collection[str] = ()
) -> dict[int, list[Reading]]:
    """Readings of the table `readings` by event, of some events or all, but not our own of these signals."""
    record: dict[int, list[Reading]] = {}
    if not run(connection, "SELECT EXISTS (SELECT 1 FROM readings)").scalar():
        return record
    names = {f"n{number}": name for number, name in enumerate(without)}
    own = "substr(scorer, 1, length(signal) + 1) = signal || '@'"
    ours = f"signal IN ({', '.join(f':{name}' for name in names)}) AND {own}" if names else "1 = 0"
    query = f"""SELECT event, signal, number, text, scorer, width FROM readings
      WHERE NOT ({ours}) AND """
    conditions = ["1 = 1"]
    if keys is not None:
        conditions = [f"event IN ({', '.join(map(str, piece))})" for piece in in_pieces(keys)]
    for where in conditions:
        for event, *row in run(connection, query + where, **names).all():
            record.setdefault(event, []).append(reading_of(*row))
    return record


def subject_query() -> Select[Any]:
    """Subjects with events, as subject_rows reads them."""
    subject = SUBJECTS
    return (
        select(SOURCES.name, subject.name, subject.events, subject.first_us, subject.last_us, subject.changed)
        .select_from(schema.subjects)
        .join(schema.sources, SOURCES.key == SUBJECTS.source)
        .where(SUBJECTS.events > 0)
    )


def subject_rows(connection: Connection, query: Select[Any]) -> list[SubjectRow]:
    return [
        SubjectRow(source, name, events, moment(first), moment(last), changed)
        for source, name, events, first, last, changed in connection.execute(query)
    ]
