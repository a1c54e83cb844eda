"""Changes of detections between two looks: new, risen, closed, withdrawn, superseded, found again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from ..language.program import Program
from ..models import Detection, micros, rank
from ..models.detection import STANDING
from ..models.slotted import replace
from ..store.records import Store


def compare(
    saved: Iterable[Detection],
    detections: Iterable[Detection],
    programs: Sequence[Program],
    purged_before: int | None = None,
) -> Iterator[tuple[str, Detection]]:
    """Each change with the detection as it is now; '' for one that only grew.

    A saved detection that is not among the new ones was undone by late events (withdrawn) or by another
    version of the pattern (superseded). One that began before events were purged stays as it was.
    """
    versions = {program.name: program.version for program in programs}
    before = {item.id: item for item in saved}
    now = {item.id: item for item in detections}
    for item in now.values():
        yield from ((change, item) for change in changes_of(before.get(item.id), item))
    for item in before.values():
        if item.id in now or item.state not in STANDING:
            continue
        if purged_before is not None and micros(item.opened_at) < purged_before:
            continue
        state = "withdrawn" if item.version == versions.get(item.pattern) else "superseded"
        yield state, replace(item, state=state)


def changes_of(before: Detection | None, now: Detection) -> list[str]:
    """What happened to a detection: '' where it only grew, nothing where it is the same."""
    if before is None:
        return ["new"]
    if before.state not in STANDING:
        return ["found again"]
    changes = []
    if rank(now.severity) > rank(before.severity):
        changes.append("risen")
    if before.state == "opened" and now.state == "closed":
        changes.append("closed")
    # Equal ones are known without their records, which masks and decimals may make equal too.
    if not changes and before != now and before.to_dict() != now.to_dict():
        changes.append("")
    return changes


def save_found(store: Store, detections: Sequence[Detection], at: datetime, *, timed: bool = True) -> None:
    """Save detections that were made outside a sweep; the next sweep reports what changed.

    Detections of a stream without times get the moment at which they were made.
    """
    shown = store.detections(ids=[item.id for item in detections], parts=False)
    before = {item.id: item for item in shown}
    changes: list[tuple[str, Detection]] = []
    for detection in detections:
        known = before.get(detection.id)
        item = detection if timed else _dated(detection, at, known)
        changes += [(change, item) for change in changes_of(known, item)]
    store.save_found(changes, at)


def _dated(detection: Detection, at: datetime, known: Detection | None) -> Detection:
    """The detection with the moment `at` in place of times that only count turns."""
    first = known or replace(detection, opened_at=at, detected_at=at)
    return replace(
        detection,
        opened_at=first.opened_at,
        detected_at=first.detected_at,
        closed_at=None if detection.closed_at is None else at,
        last_at=at,
        evidence=tuple(replace(item, at=at) for item in detection.evidence),
    )
