"""Swarms: detections of texts that many subjects share, as one detection with its members."""

from __future__ import annotations

from collections.abc import Iterable

from ..models import Detection
from ..models.slotted import replace

MEMBERS = "members"
"""The detail that names all who took part so far, the first one first."""
COMMON = 3
"""Members in common that make two texts those of one swarm."""


def swarms(detections: Iterable[Detection]) -> list[Detection]:
    """The detections, with those of one swarm as one: where it was first seen, with all of its evidence.

    What it says is what the newest of them says, which knows all members.
    """
    kept: list[Detection] = []
    groups: list[tuple[tuple[str, str], set[str], list[Detection]]] = []
    for item in detections:
        if not isinstance(item.details.get(MEMBERS), str):
            kept.append(item)
            continue
        kind, members = (item.pattern, item.source), {*item.details[MEMBERS].split(", "), item.subject}
        own = [group for group in groups if group[0] == kind and len(group[1] & members) >= COMMON]
        groups = [group for group in groups if group not in own]
        every = members.union(*(group[1] for group in own))
        groups.append((kind, every, [*(known for group in own for known in group[2]), item]))
    kept += (_joined(group) for _, _, group in groups)
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
