"""Detections, each stored once, with all its changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from ..models import Detection, format_time, moment
from . import schema
from .records import Change, SweptDetection, Who
from .rows import detection_of, detection_values
from .sql import Sql, in_pieces, run

DETECTIONS, CHANGES = schema.detections.c, schema.changes.c


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
                detection_of(record, state=state)
                for query in queries
                for record, state in connection.execute(query)
            ]
        return sorted(detections, key=lambda item: item.order)

    def unreported(self) -> list[Change]:
        """Changes that were not reported yet, oldest first."""
        query = (
            select(CHANGES.key, CHANGES.change, CHANGES.as_of_us, DETECTIONS.record, DETECTIONS.state)
            .join(schema.detections, DETECTIONS.id == CHANGES.detection)
            .where(CHANGES.told == 0)
            .order_by(CHANGES.key)
        )
        with self.reading() as connection:
            return [
                Change(key, change, moment(at), detection_of(record, state=state))
                for key, change, at, record, state in connection.execute(query).all()
            ]

    def mark_reported(self, changes: Iterable[int]) -> None:
        """Mark changes as reported."""
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
    is_reported = int(swept.part or detection.status == "shadow")
    connection.execute(schema.changes.insert().values(told=is_reported, **row))
