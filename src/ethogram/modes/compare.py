"""Comparing: what was kept of a subject with what is found now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..detections.combine import SEEN
from ..records import Detection, micros, rank
from ..shapes.program import Program


def compare(
    kept: Iterable[Detection],
    found: Iterable[Detection],
    programs: Sequence[Program],
    purged_before: int | None = None,
) -> Iterator[tuple[str, Detection]]:
    """Each change with the detection as it is now; '' for one that only grew.

    What is no longer found was undone by late events (withdrawn) or by another version of the pattern
    (superseded). What began before events were purged cannot be found again, and stays as it was.
    """
    versions = {program.name: program.version for program in programs}
    before = {one.id: one for one in kept}
    now = {one.id: one for one in found}
    for one in now.values():
        yield from ((change, one) for change in changes_of(before.get(one.id), one))
    for one in before.values():
        if one.id in now or one.state not in SEEN:
            continue
        if purged_before is not None and micros(one.opened_at) < purged_before:
            continue
        state = "withdrawn" if one.version == versions.get(one.pattern) else "superseded"
        yield state, replace(one, state=state)


def changes_of(before: Detection | None, now: Detection) -> list[str]:
    """What happened to a detection, '' where it only grew, nothing where it is the same."""
    if before is None:
        return ["new"]
    if before.state not in SEEN:
        return ["found again"]
    changes = []
    if rank(now.level) > rank(before.level):
        changes.append("risen")
    if before.state == "opened" and now.state == "closed":
        changes.append("closed")
    if not changes and before.to_dict() != now.to_dict():
        changes.append("")
    return changes
