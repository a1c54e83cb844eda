"""Query stored detections, newest first; save detections that no sweep has made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select

from ..models import SEVERITIES, Detection, micros, moment, rank
from ..models.detection import STANDING
from . import schema
from .events import SOURCES, SUBJECTS
from .records import SubjectRow, SweptDetection
from .rows import stored_detection
from .sql import Sql, run
from .verdicts import DETECTIONS, save_detection


class Findings(Sql):
    """Detections as a list to page through, and their subjects."""

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
        conditions: list[Any] = [
            DETECTIONS.part == 0, DETECTIONS.status != "shadow", DETECTIONS.state.in_(STANDING)
        ]  # fmt: skip
        if patterns:
            conditions.append(DETECTIONS.pattern.in_(sorted(set(patterns))))
        if subject is not None:
            conditions.append(DETECTIONS.subject == subject)
        if source is not None:
            conditions.append(DETECTIONS.source == source)
        if severity is not None:
            conditions.append(DETECTIONS.severity.in_(SEVERITIES[rank(severity) :]))
        if since is not None:
            conditions.append(DETECTIONS.detected_us >= micros(since))
        query: Select[Any] = select(DETECTIONS.record, DETECTIONS.state).where(*conditions)
        query = query.order_by(DETECTIONS.detected_us.desc(), DETECTIONS.id).limit(limit).offset(offset)
        with self.reading() as connection:
            total = connection.execute(select(func.count()).where(*conditions)).scalar() or 0
            rows = connection.execute(query).all()
        return [stored_detection(record, state=state) for record, state in rows], total

    def detected_patterns(self) -> list[str]:
        """The patterns of stored detections, sorted."""
        with self.reading() as connection:
            return list(run(connection, "SELECT DISTINCT pattern FROM detections ORDER BY 1").scalars().all())

    def save_found(
        self, changes: Iterable[tuple[str, Detection]], as_of: datetime, *, reported: bool = False
    ) -> None:
        """Save detections that were made outside a sweep, each with its change, in one commit.

        Unless `reported`, the next sweep reports the changes.
        """
        told = "UPDATE changes SET told = 1 WHERE detection = :id"
        with self.writing() as connection:
            for change, detection in changes:
                save_detection(connection, change, SweptDetection(detection), micros(as_of))
                if reported:
                    run(connection, told, id=detection.id)

    def detected_subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects that have standing detections and no events, by source and name.

        Their times are those of the detections.
        """
        known = (
            select(SUBJECTS.key)
            .join(schema.sources, SOURCES.key == SUBJECTS.source)
            .where(
                SOURCES.name == DETECTIONS.source, SUBJECTS.name == DETECTIONS.subject, SUBJECTS.events > 0
            )
        )
        query = (
            select(
                DETECTIONS.source,
                DETECTIONS.subject,
                func.min(DETECTIONS.opened_us),
                func.max(DETECTIONS.detected_us),
            )
            .where(DETECTIONS.state.in_(STANDING), DETECTIONS.part == 0, ~known.exists())
            .group_by(DETECTIONS.source, DETECTIONS.subject)
            .order_by(DETECTIONS.source, DETECTIONS.subject)
        )
        if name is not None:
            query = query.where(DETECTIONS.subject == name)
        if source is not None:
            query = query.where(DETECTIONS.source == source)
        with self.reading() as connection:
            return [
                SubjectRow(where, who, 0, moment(first), moment(last), 0)
                for where, who, first, last in connection.execute(query).all()
            ]
