"""Swarms: detections of texts that many subjects share, as one detection with its members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter

from ..models import Detection, rank
from ..models.detection import STANDING
from ..models.slotted import replace
from ..store.records import Change, Store

MEMBERS = "members"
"""The detail that names all who took part so far, the first one first."""
COMMON = 3
"""Members in common that make two texts those of one swarm."""


def swarms(detections: Iterable[Detection]) -> list[Detection]:
    """The detections, with those of one swarm as one: where it was first seen, with all of its evidence.

    What it says is what the newest of them says, which knows all members.
    """
    every = list(detections)
    kept = [item for item in every if not is_shared(item)]
    kept += (_joined(group) for group in grouped(item for item in every if is_shared(item)))
    return sorted(kept, key=lambda item: item.order)


def once_per_swarm(changes: Sequence[Change], store: Store) -> tuple[list[Change], list[Change]]:
    """The changes with one for each swarm, and those that are reported with another or were reported before.

    A store keeps a detection for each member. A swarm that was reported is reported again where its severity
    has risen, not for each further member.
    """
    changed = {change.detection.id for change in changes if is_shared(change.detection)}
    if not changed:
        return list(changes), []
    patterns = sorted({change.detection.pattern for change in changes if is_shared(change.detection)})
    stored = store.detections(patterns=patterns, states=STANDING, parts=False)
    swarm_of: dict[str, Detection] = {}
    risen: set[str] = set()
    for group in grouped(item for item in stored if is_shared(item)):
        whole = _joined(group)
        swarm_of |= dict.fromkeys((item.id for item in group), whole)
        before = [rank(item.severity) for item in group if item.id not in changed]
        if whole.id not in changed and before and rank(whole.severity) > max(before):
            risen.add(whole.id)
    reported: list[Change] = []
    folded: list[Change] = []
    for change in changes:
        swarm = swarm_of.get(change.detection.id)
        if swarm is None:
            reported.append(change)
        elif swarm.id == change.detection.id:
            reported.append(replace(change, detection=swarm))
        elif swarm.id in risen:
            risen.discard(swarm.id)
            reported.append(replace(change, change="risen", detection=swarm))
        else:
            folded.append(change)
    return reported, folded


def is_shared(detection: Detection) -> bool:
    """Whether a detection names members."""
    return isinstance(detection.details.get(MEMBERS), str)


def grouped(detections: Iterable[Detection]) -> list[list[Detection]]:
    """Group detections that name members by swarm."""
    groups: dict[int, tuple[set[str], list[tuple[int, Detection]]]] = {}
    groups_of: defaultdict[tuple[str, str], defaultdict[str, set[int]]] = defaultdict(
        lambda: defaultdict(set)
    )
    for number, detection in enumerate(detections):
        members = {*detection.details[MEMBERS].split(", "), detection.subject}
        groups_with = groups_of[detection.pattern, detection.source]
        # Whoever has COMMON of the members has one of these: those of the most groups need not be asked.
        near = set[int]().union(*sorted(map(groups_with.__getitem__, members), key=len)[: 1 - COMMON])
        own = [group for group in near if len(groups[group][0] & members) >= COMMON]

        largest = max(own, key=lambda group: sum(map(len, groups[group])), default=number)
        names, items = groups.setdefault(largest, (set(), []))
        items.append((number, detection))
        for group in own:
            if group != largest:
                other_names, other_items = groups.pop(group)
                for name in other_names:
                    groups_with[name].remove(group)
                members |= other_names
                items += other_items
        for name in members - names:
            groups_with[name].add(largest)
        names |= members
    return [[detection for _, detection in sorted(items, key=itemgetter(0))] for _, items in groups.values()]


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
