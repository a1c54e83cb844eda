"""Detections with all their changes, as a set or as a list to page through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from ..models import SEVERITIES, Detection, format_time, micros, moment, rank
from ..models.detection import STANDING
from .kinds import KINDS, Row
from .numbers import next_numbers
from .records import Change, SubjectRow, SweptDetection, Who
from .row_store import Condition, Reader, RowStore, by_source, in_pieces
from .rows import detection_values, stored_detection

RECORD = ("record", "state")
SHOWN: tuple[Condition, ...] = (("part", "=", 0), ("status", "!=", "shadow"))
"""Detections that people see: not those of parts and shadow patterns."""
CHANGE = ("change", "as_of_us", "state", "severity", "version", "confidence")


class Detections(RowStore):
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
        where: list[Condition] = []
        for column, values in (("source", sources), ("pattern", patterns), ("state", states)):
            if values is not None:
                where.append((column, "in", sorted(set(values))))
        if not parts:
            where.append(("part", "=", 0))
        wheres: list[list[Condition]] = [where]
        if subjects is not None:
            wheres = [
                [*where, ("source", "=", source), ("subject", "in", names)]
                for source, names in by_source(subjects)
            ]
        if ids is not None:
            pieces = [list(piece) for piece in in_pieces(sorted(set(ids)))]
            wheres = [[*where, ("id", "in", piece)] for where in wheres for piece in pieces]
        with self.snapshot() as view:
            detections = [
                stored_detection(record, state=state)
                for where in wheres
                for record, state in view.rows("detections", where, columns=RECORD)
            ]
        return sorted(detections, key=lambda item: item.order)

    def parts_among(self, ids: Iterable[str]) -> set[str]:
        """Those of some detections, by id, whose patterns only combinations needed so far."""
        with self.snapshot() as view:
            return {
                name
                for piece in in_pieces(sorted(set(ids)))
                for (name,) in view.rows(
                    "detections", [("id", "in", list(piece)), ("part", "=", 1)], columns=("id",)
                )
            }

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
        where: list[Condition] = [*SHOWN, ("state", "in", list(STANDING))]
        if patterns:
            where.append(("pattern", "in", sorted(set(patterns))))
        where += [
            (column, "=", value)
            for column, value in (("subject", subject), ("source", source))
            if value is not None
        ]
        if severity is not None:
            where.append(("severity", "in", list(SEVERITIES[rank(severity) :])))
        if since is not None:
            where.append(("detected_us", ">=", micros(since)))
        with self.snapshot() as view:
            rows = view.rows(
                "detections", where, columns=RECORD, order=("-detected_us", "id"), limit=limit, offset=offset
            )
            found = [stored_detection(record, state=state) for record, state in rows]
            return found, view.count("detections", where)

    def detected_patterns(self) -> list[str]:
        """The patterns of stored detections, sorted."""
        return [pattern for pattern, *_ in self.groups("detections", ("pattern",))]

    def detected_subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects that have standing detections and no events, by source and name.

        Their times are those of the detections.
        """
        where: list[Condition] = [("state", "in", list(STANDING)), ("part", "=", 0)]
        where += [
            (column, "=", value)
            for column, value in (("subject", name), ("source", source))
            if value is not None
        ]
        with self.snapshot() as view:
            found = list(
                view.groups("detections", ("source", "subject"), where, low="opened_us", high="detected_us")
            )
            known = {
                (row[0], row[1])
                for own, names in by_source((row[0], row[1]) for row in found)
                for row in view.rows(
                    "subjects", [("source", "=", own), ("name", "in", names)], columns=("source", "name")
                )
            }
        return [
            SubjectRow(where_, who, 0, moment(first), moment(last), 0)
            for where_, who, _, first, last in found
            if (where_, who) not in known
        ]

    # --- changes ------------------------------------------------------------------------------

    def changes(self, after: int = 0, most: int = 1_000) -> list[Change]:
        """Changes with a key above `after`, oldest first, but not those of parts and shadow patterns."""
        shown: list[Change] = []
        with self.snapshot() as view:
            while len(shown) < most:
                rows = list(view.rows("changes", [("key", ">", after)], order=("key",), limit=most))
                if not rows:
                    break
                shown += changes_of(view, rows, SHOWN)
                after = rows[-1][0]
        return shown[:most]

    def unreported(self) -> list[Change]:
        """Changes that were not reported yet, oldest first; never those of parts and shadow patterns."""
        with self.snapshot() as view:
            return changes_of(view, list(view.rows("changes", [("told", "=", 0)], order=("key",))))

    def mark_reported(self, changes: Iterable[int]) -> None:
        """Record that the changes with these keys were reported."""
        keys = sorted(changes)
        self.transact(lambda: self._tell("key", keys))

    def _tell(self, column: str, values: Sequence[Any]) -> None:
        for piece in in_pieces(values):
            rows = self.rows("changes", [(column, "in", list(piece)), ("told", "=", 0)])
            self.write("changes", [(*row[:-1], 1) for row in rows])

    def history(self, detection: str) -> list[dict[str, Any]]:
        """Every change of a detection as JSON, oldest first."""
        return self.histories([detection]).get(detection, [])

    def histories(self, detections: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
        """Every change of some detections as JSON, oldest first, by their ids."""
        found: dict[str, list[dict[str, Any]]] = {}
        with self.snapshot() as view:
            for piece in in_pieces(sorted(set(detections))):
                where = [("detection", "in", list(piece))]
                for name, *row in view.rows("changes", where, columns=("detection", *CHANGE), order=("key",)):
                    record = dict(zip(CHANGE, row, strict=True))
                    record["as_of"] = format_time(moment(record["as_of_us"]))
                    found.setdefault(name, []).append(record)
        return found

    def save_found(
        self, changes: Iterable[tuple[str, Detection]], as_of: datetime, *, reported: bool = False
    ) -> None:
        """Save detections that were made outside a sweep, each with its change, in one commit.

        Unless `reported`, the next sweep reports the changes.
        """
        detections = [(change, SweptDetection(detection)) for change, detection in changes]

        def work() -> None:
            save_changes(self, detections, micros(as_of))
            if reported:
                self._tell("detection", [item.detection.id for _, item in detections])

        self.transact(work)


def changes_of(view: Reader, rows: Sequence[Row], where: Sequence[Condition] = ()) -> list[Change]:
    """The changes of rows, with their detections as they are now; only of those that meet the conditions."""
    ids = sorted({row[1] for row in rows})
    found = {
        name: (record, state)
        for piece in in_pieces(ids)
        for name, record, state in view.rows(
            "detections", [("id", "in", list(piece)), *where], columns=("id", *RECORD)
        )
    }
    return [
        Change(row[0], row[2], moment(row[3]), stored_detection(found[row[1]][0], state=found[row[1]][1]))
        for row in rows
        if row[1] in found
    ]


def save_changes(store: RowStore, detections: Iterable[tuple[str, SweptDetection]], as_of_us: int) -> None:
    """Add or replace detections, and record the change of each if one is named.

    Changes of parts and of shadow patterns are never reported.
    """
    rows: list[Row] = []
    changes: list[tuple[Any, ...]] = []
    names = KINDS["detections"].names
    for change, item in detections:
        values = detection_values(item.detection, part=item.part)
        rows.append(tuple(values[name] for name in names))
        if change:
            # The column `told` is 1 where nothing is left to report.
            told = int(item.part or item.detection.status == "shadow")
            own = (values[name] for name in ("state", "severity", "version", "confidence"))
            changes.append((item.detection.id, change, as_of_us, *own, told))
    if rows:
        store.write("detections", rows)
    if changes:
        numbers = next_numbers(store, "changes", len(changes))
        store.write("changes", [(number, *change) for number, change in zip(numbers, changes, strict=True)])
