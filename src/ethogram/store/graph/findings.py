"""Detections of a graph as a list to page through, changes after one, and notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ...models import SEVERITIES, Detection, micros, moment, rank
from ...models.detection import STANDING
from ..records import Change, SubjectRow, SweptDetection
from ..rows import encode, stored_detection
from .connection import Graph, Transaction
from .records import change_rows, save_changes

SHOWN = "r.part = 0 AND r.status <> 'shadow'"


class Findings(Graph):
    """Detections, newest first, and their subjects."""

    def find_detections(
        self,
        *,
        patterns: Sequence[str] = (),
        subject: str | None = None,
        source: str | None = None,
        severity: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> tuple[list[Detection], int]:
        """Standing detections, newest first, and how many there are without `limit` and `offset`.

        `severity` is the lowest, `since` the earliest `detected_at`. Parts of combinations and detections of
        shadow patterns are left out.
        """
        match = f"""MATCH (s:Subject)-[r:EXHIBITS_PATTERN]->(p:Pattern)
          WHERE {SHOWN} AND r.episode IN $standing AND ($patterns IS NULL OR p.name IN $patterns)
            AND ($subject IS NULL OR s.id = $subject) AND ($source IS NULL OR s.source = $source)
            AND ($severities IS NULL OR r.severity IN $severities)
            AND ($since IS NULL OR r.detected_us >= $since)"""
        values = {
            "standing": list(STANDING),
            "patterns": sorted(set(patterns)) or None,
            "subject": subject,
            "source": source,
            "severities": None if severity is None else list(SEVERITIES[rank(severity) :]),
            "since": None if since is None else micros(since),
        }
        page = f"""{match} WITH r ORDER BY r.detected_us DESC, r.id SKIP $offset
          {"" if limit is None else "LIMIT $limit"} RETURN r.record, r.episode"""

        def work(tx: Transaction) -> tuple[list[Detection], int]:
            rows = tx.run(page, offset=offset, limit=limit, **values)
            total: int = tx.value(f"{match} RETURN count(r)", **values)
            return [stored_detection(record, state=state) for record, state in rows], total

        return self.read(work)

    def detected_patterns(self) -> list[str]:
        """The patterns of stored detections, sorted."""
        query = "MATCH (p:Pattern) WHERE ()-[:EXHIBITS_PATTERN]->(p) RETURN p.name ORDER BY p.name"
        return [name for (name,) in self.read(lambda tx: tx.run(query))]

    def save_found(
        self, changes: Iterable[tuple[str, Detection]], as_of: datetime, *, reported: bool = False
    ) -> None:
        """Save detections that were made outside a sweep, each with its change, in one commit.

        Unless `reported`, the next sweep reports the changes.
        """
        detections = [(change, SweptDetection(detection)) for change, detection in changes]
        ids = [item.detection.id for _, item in detections]

        def work(tx: Transaction) -> None:
            save_changes(tx, detections, micros(as_of))
            if reported:
                tx.run("UNWIND $ids AS id MATCH (c:Change {detection: id}) SET c.told = 1", ids=ids)

        self.write(work)

    def detected_subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects that have standing detections and no events, by source and name.

        Their times are those of the detections.
        """
        query = """MATCH (s:Subject)-[r:EXHIBITS_PATTERN]->()
          WHERE r.episode IN $standing AND r.part = 0 AND s.events = 0
            AND ($name IS NULL OR s.id = $name) AND ($source IS NULL OR s.source = $source)
          WITH s.source AS source, s.id AS name, min(r.opened_us) AS first, max(r.detected_us) AS last
          RETURN source, name, first, last ORDER BY source, name"""
        values = {"standing": list(STANDING), "name": name, "source": source}
        return [
            SubjectRow(where, who, 0, moment(first), moment(last), 0)
            for where, who, first, last in self.read(lambda tx: tx.run(query, **values))
        ]

    def changes(self, after: int = 0, most: int = 1_000) -> list[Change]:
        """Changes with a key above `after`, oldest first, but not those of parts and shadow patterns."""
        which = "MATCH (c:Change) WHERE c.key > $after"
        return self.read(lambda tx: change_rows(tx, which, f"WHERE {SHOWN}", after=after, most=most))


class Notes(Graph):
    """Records that are not derived from events."""

    def put_note(self, kind: str, key: str, record: Mapping[str, Any] | None, at: datetime) -> None:
        """Replace a record; None removes it."""
        save = "MERGE (n:Note {kind: $kind, key: $key}) SET n.at_us = $at, n.record = $record"
        drop = "MATCH (n:Note {kind: $kind, key: $key}) DELETE n"
        text = None if record is None else encode(dict(record))
        values = {"kind": kind, "key": key, "at": micros(at), "record": text}
        self.write(lambda tx: tx.run(drop if record is None else save, **values))

    def notes(self, kind: str) -> dict[str, dict[str, Any]]:
        """The records of a kind by key, oldest first."""
        query = "MATCH (n:Note {kind: $kind}) RETURN n.key, n.record ORDER BY n.at_us, n.key"
        rows = self.read(lambda tx: tx.run(query, kind=kind))
        return {key: json.loads(record) for key, record in rows}

    def note(self, kind: str, key: str) -> dict[str, Any] | None:
        """One record, or None."""
        query = "MATCH (n:Note {kind: $kind, key: $key}) RETURN n.record"
        record = self.read(lambda tx: tx.value(query, kind=kind, key=key))
        return None if record is None else json.loads(record)
