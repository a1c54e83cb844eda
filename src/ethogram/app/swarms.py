"""Swarms: detections of one text by many subjects, as one detection with its members."""

from __future__ import annotations

from collections.abc import Iterable

from ..models import Detection
from ..models.slotted import replace

MEMBERS = "members"
"""The detail that names all who took part so far, the first one first."""
FIRST = 5
"""Names that tell one swarm from another."""


def swarms(detections: Iterable[Detection]) -> list[Detection]:
    """The detections, with those of one swarm as one: where it was first seen, with all of its evidence.

    What it says is what the newest of them says, which knows all members.
    """
    kept: list[Detection] = []
    groups: dict[tuple[str, str, str], list[Detection]] = {}
    for item in detections:
        members = item.details.get(MEMBERS)
        if isinstance(members, str):
            first = ", ".join(members.split(", ")[:FIRST])
            groups.setdefault((item.pattern, item.source, first), []).append(item)
        else:
            kept.append(item)
    kept += (_joined(group) for group in groups.values())
    return sorted(kept, key=lambda item: item.order)


def _joined(group: list[Detection]) -> Detection:
    if len(group) == 1:
        return group[0]
    first = min(group, key=lambda item: (item.detected_at, item.order))
    last = max(group, key=lambda item: (len(str(item.details[MEMBERS])), item.detected_at, item.order))
    evidence = {row.event: row for item in group for row in item.evidence}
    return replace(
        first,
        severity=last.severity,
        confidence=last.confidence,
        details=last.details,
        explanation=last.explanation,
        last_event=last.last_event,
        count=len(evidence),
        evidence=tuple(sorted(evidence.values(), key=lambda row: (row.at, row.event))),
    )
