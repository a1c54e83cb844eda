"""Detections with all their changes; verdicts, counts that stay when they go, and attempts to learn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from ..models import Detection, Verdict, format_time, micros, moment
from ..risk.verdicts import Counts, Item, Slot, consensus_by_item, count_verdicts, item_of
from . import schema
from .records import Change, SweptDetection, Try, Who
from .rows import detection_values, encode, stored_detection
from .sql import Sql, in_pieces, run, run_many

ITEM = ("detection", "pattern", "source", "subject", "first_event", "last_event")
"""The columns that identify what is judged."""
FIELDS = ("verdict", "version", "why", *ITEM)
ADD = """INSERT INTO verdict_counts (pattern, version, source, month, percent, verdict, count)
  VALUES (:pattern, :version, :source, :month, :percent, :verdict, :count)
  ON CONFLICT (pattern, version, source, month, percent, verdict)
  DO UPDATE SET count = verdict_counts.count + excluded.count"""
DETECTIONS, CHANGES = schema.detections.c, schema.changes.c
COLUMNS = f"{', '.join(FIELDS)}, judge, at_us, blind, key"


class Detections(Sql):
    """Detections."""

    def detections(
        self,
        *,
        subjects: Iterable[Who] | None = None,
        sources: Iterable[str] | None = None,
        patterns: Iterable[str] | None = None,
        states: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        parts: bool = True,
    ) -> list[Detection]:
        """The current detections in output order. `parts`: also those that only combinations need."""
        query = select(DETECTIONS.record, DETECTIONS.state)
        filters = {DETECTIONS.source: sources, DETECTIONS.pattern: patterns, DETECTIONS.state: states}
        for column, values in filters.items():
            if values is not None:
                query = query.where(column.in_(sorted(set(values))))
        if not parts:
            query = query.where(DETECTIONS.part == 0)
        queries = [query]
        if subjects is not None:
            wanted: dict[str, list[str]] = {}
            for source, name in subjects:
                wanted.setdefault(source, []).append(name)
            queries = [
                query.where(DETECTIONS.source == source, DETECTIONS.subject.in_(piece))
                for source, names in wanted.items()
                for piece in in_pieces(names)
            ]
        if ids is not None:
            pieces = list(in_pieces(sorted(set(ids))))
            queries = [query.where(DETECTIONS.id.in_(piece)) for query in queries for piece in pieces]
        with self.reading() as connection:
            detections = [
                stored_detection(record, state=state)
                for query in queries
                for record, state in connection.execute(query)
            ]
        return sorted(detections, key=lambda item: item.order)

    def unreported(self) -> list[Change]:
        """Changes that were not reported yet, oldest first."""
        return self._changes(CHANGES.told == 0)

    def changes(self, after: int = 0, most: int = 1_000) -> list[Change]:
        """Changes with a key above `after`, oldest first, but not those of parts and shadow patterns."""
        shown = (DETECTIONS.part == 0, DETECTIONS.status != "shadow")
        return self._changes(CHANGES.key > after, *shown, most=most)

    def _changes(self, *where: Any, most: int | None = None) -> list[Change]:
        query = (
            select(CHANGES.key, CHANGES.change, CHANGES.as_of_us, DETECTIONS.record, DETECTIONS.state)
            .join(schema.detections, DETECTIONS.id == CHANGES.detection)
            .where(*where)
            .order_by(CHANGES.key)
            .limit(most)
        )
        with self.reading() as connection:
            return [
                Change(key, change, moment(at), stored_detection(record, state=state))
                for key, change, at, record, state in connection.execute(query).all()
            ]

    def mark_reported(self, changes: Iterable[int]) -> None:
        with self.writing() as connection:
            for piece in in_pieces(sorted(changes)):
                connection.execute(schema.changes.update().where(CHANGES.key.in_(piece)).values(told=1))

    def history(self, detection: str) -> list[dict[str, Any]]:
        """Every change of a detection as JSON, oldest first."""
        query = """SELECT change, as_of_us, state, severity, version, confidence FROM changes
          WHERE detection = :id ORDER BY key"""
        with self.reading() as connection:
            rows = run(connection, query, id=detection).mappings().all()
            return [{**row, "as_of": format_time(moment(row["as_of_us"]))} for row in rows]


def save_detection(connection: Connection, change: str, swept: SweptDetection, as_of_us: int) -> None:
    """Insert or replace a detection, and record the change if one is named.

    Changes of parts and of shadow patterns are never reported.
    """
    detection = swept.detection
    values = detection_values(detection, part=swept.part)
    columns = ", ".join(values)
    updates = ", ".join(f"{name} = excluded.{name}" for name in values if name != "id")
    names = ", ".join(f":{name}" for name in values)
    run(
        connection,
        f"INSERT INTO detections ({columns}) VALUES ({names}) ON CONFLICT (id) DO UPDATE SET {updates}",
        **values,
    )
    if not change:
        return
    row = {name: values[name] for name in ("state", "severity", "version", "confidence")}
    row |= {"detection": detection.id, "change": change, "as_of_us": as_of_us}
    # The column `told` is 1 where nothing is left to report.
    row["told"] = int(swept.part or detection.status == "shadow")
    names = ", ".join(f":{name}" for name in row)
    run(connection, f"INSERT INTO changes ({', '.join(row)}) VALUES ({names})", **row)


class Verdicts(Sql):
    """Verdicts on detections and silences."""

    def add_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Add all verdicts, or none."""
        rows = [verdict_values(verdict) for verdict in verdicts]
        with self.writing() as connection:
            if rows:
                connection.execute(schema.verdicts.insert(), rows)

    def verdicts(self, detection: str | None = None) -> list[Verdict]:
        """Verdicts, oldest first: all, or those of one detection."""
        where, values = ("", {}) if detection is None else ("WHERE detection = :id", {"id": detection})
        with self.reading() as connection:
            return _verdicts(connection, where, **values)

    def settle_verdicts(self, before: datetime) -> int:
        """Count and remove the verdicts on items last judged before a moment; return how many items."""
        with self.writing() as connection:
            record: dict[Item, list[tuple[int, int]]] = {}
            for row in run(connection, f"SELECT {COLUMNS} FROM verdicts").mappings().all():
                record.setdefault(item_of(verdict_of(row)), []).append((row["at_us"], row["key"]))
            # An item goes as a whole: half of its judges would make another standing.
            old = [[key for _, key in own] for own in record.values() if max(own)[0] < micros(before)]
            for piece in in_pieces(old):
                keys = ", ".join(str(key) for own in piece for key in own)
                settle_where(connection, f"key IN ({keys})", remember=True)
        return len(old)

    def settled(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """The verdicts on items whose earlier verdicts were counted and removed."""
        query = f"SELECT 1 FROM settled WHERE {' AND '.join(f'{name} = :{name}' for name in ITEM)}"
        with self.reading() as connection:
            return [
                verdict
                for verdict in verdicts
                if run(connection, query, **item_values(verdict)).scalar() is not None
            ]

    def settled_verdicts(self) -> dict[str, str]:
        """The joint verdict on detections whose verdicts were counted and removed, by their ids."""
        query = "SELECT detection, verdict FROM settled WHERE detection <> ''"
        with self.reading() as connection:
            return {str(item): str(verdict) for item, verdict in run(connection, query).all()}

    def has_verdicts(self) -> bool:
        """Whether there are verdicts or counts of removed ones."""
        query = "SELECT EXISTS (SELECT 1 FROM verdicts) OR EXISTS (SELECT 1 FROM verdict_counts)"
        with self.reading() as connection:
            return bool(run(connection, query).scalar())

    def verdict_counts(self) -> dict[Slot, Counts]:
        """The counts of removed verdicts."""
        query = "SELECT pattern, version, source, month, percent, verdict, count FROM verdict_counts"
        out: dict[Slot, Counts] = {}
        with self.reading() as connection:
            for *slot, verdict, count in run(connection, query).all():
                where = Slot(*slot)
                out[where] = out.get(where, Counts()) + Counts(**{verdict: count})
        return out

    def silence_ends(self) -> dict[Item, datetime]:
        """When each judged silence ends, where its last event is still stored."""
        with self.reading() as connection:
            return _ends(connection, _verdicts(connection, "WHERE detection IS NULL"))

    def add_try(self, item: Try) -> int:
        """Add an attempt to learn, and return its key."""
        insert = """INSERT INTO tries (at_us, pattern, version, data, record)
          VALUES (:at_us, :pattern, :version, :data, :record) RETURNING key"""
        values = {"pattern": item.pattern, "version": item.version, "data": item.data}
        with self.writing() as connection:
            result = run(connection, insert, at_us=micros(item.at), record=encode(item.record), **values)
            return int(result.scalar())

    def tries(self, pattern: str | None = None) -> list[Try]:
        """Attempts to learn, oldest first: all, or those about one pattern."""
        where, values = ("", {}) if pattern is None else ("WHERE pattern = :name", {"name": pattern})
        query = f"SELECT at_us, pattern, version, data, record, key FROM tries {where} ORDER BY key"
        with self.reading() as connection:
            return [
                Try(moment(at), name, version, data, json.loads(record), key)
                for at, name, version, data, record, key in run(connection, query, **values).all()
            ]


def settle_where(connection: Connection, where: str, *, remember: bool, **values: Any) -> None:
    """Count the items whose verdicts meet a condition, and remove the verdicts.

    `remember` records the items, so that none is counted twice when it is judged again.
    """
    going = _verdicts(connection, f"WHERE {where}", **values)
    ids = sorted({item.detection for item in going if item.detection is not None})
    untimed = run(connection, "SELECT name FROM sources WHERE timed = 0").scalars().all()
    counts = count_verdicts(
        going, _detections(connection, ids), ends=_ends(connection, going), untimed=untimed
    )
    rows = [
        {**{name: getattr(slot, name) for name in Slot.__slots__}, "verdict": verdict, "count": count}
        for slot, own in sorted(counts.items())
        for verdict in Counts.__slots__
        if (count := getattr(own, verdict))
    ]
    run_many(connection, ADD, rows)
    if remember:
        columns = (*ITEM, "verdict")
        names = ", ".join(f":{name}" for name in columns)
        insert = f"INSERT INTO settled ({', '.join(columns)}) VALUES ({names}) ON CONFLICT DO NOTHING"
        consensus = consensus_by_item(going)
        gone = {
            item_of(item): {**item_values(item), "verdict": consensus[item_of(item)].verdict}
            for item in going
        }
        run_many(connection, insert, list(gone.values()))
    run(connection, f"DELETE FROM verdicts WHERE {where}", **values)


def _ends(connection: Connection, verdicts: Iterable[Verdict]) -> dict[Item, datetime]:
    query = """SELECT max(e.at_us) FROM events e JOIN subjects u ON u.key = e.subject
      JOIN sources o ON o.key = u.source
      WHERE u.name = :subject AND e.id = :last_event AND :source IN ('', o.name)"""
    record: dict[Item, datetime] = {}
    for verdict in verdicts:
        item = item_of(verdict)
        if verdict.detection is None and item not in record:
            values = {"subject": verdict.subject, "last_event": verdict.last_event, "source": verdict.source}
            at = run(connection, query, **values).scalar()
            record |= {} if at is None else {item: moment(at)}
    return record


def _detections(connection: Connection, ids: Sequence[str]) -> list[Detection]:
    detections: list[Detection] = []
    for piece in in_pieces(ids):
        query = schema.detections.select().where(schema.detections.c.id.in_(piece))
        detections += [stored_detection(row["record"]) for row in connection.execute(query).mappings()]
    return detections


def _verdicts(connection: Connection, where: str, **values: Any) -> list[Verdict]:
    query = f"SELECT {COLUMNS} FROM verdicts {where} ORDER BY at_us, key"
    return [verdict_of(row) for row in run(connection, query, **values).mappings().all()]


def verdict_of(row: Any) -> Verdict:
    """The verdict of a row."""
    fields = {name: row[name] for name in FIELDS}
    return Verdict(by=row["judge"], at=moment(row["at_us"]), blind=bool(row["blind"]), **fields)


def verdict_values(verdict: Verdict) -> dict[str, Any]:
    """The columns of a verdict but its key."""
    fields = {name: getattr(verdict, name) for name in FIELDS}
    return {**fields, "judge": verdict.by, "at_us": micros(verdict.at), "blind": int(verdict.blind)}


def item_values(verdict: Verdict) -> dict[str, str]:
    """The columns of ITEM: a detection by its id alone, a silence by all but that."""
    if verdict.detection is not None:
        return {name: verdict.detection if name == "detection" else "" for name in ITEM}
    return {name: getattr(verdict, name) or "" for name in ITEM}
