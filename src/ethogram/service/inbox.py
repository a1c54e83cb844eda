"""The inbox: what is new since a person looked, in the order in which it should be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from ..errors import BadUsage
from ..fields import Name, RecordStruct, one_of
from ..models import Detection, Verdict, format_time, parse_time, rank
from ..store.records import Store

TRIAGE, LOOK = "triage", "look"
"""Kinds of notes: what was decided about a detection, and when somebody last looked."""
STATES = ("new", "ongoing", "escalating", "regressed", "muted", "judged")
_ORDER = {"escalating": 0, "regressed": 0, "new": 0, "ongoing": 1, "judged": 2, "muted": 3}
MAX_TEXT = 2_000
MUTES = ("", "forever", "escalates")


class Triage(RecordStruct):
    """What people decided about a detection, apart from verdicts."""

    RECORD = "triage"

    detection: Name
    muted: Annotated[str, one_of(*MUTES)] = ""
    """Hidden for ever, or until its severity rises; empty: shown."""
    severity: str = ""
    """Its severity when it was muted."""
    assigned: str = ""
    note: str = ""
    by: str = ""
    at: datetime | None = None


class InboxItem(RecordStruct):
    """A detection in the inbox: its state since the last look, and what was decided."""

    RECORD = "inbox_item"

    state: Annotated[str, one_of(*STATES)]
    changed_at: datetime
    detection: Detection
    triage: Triage
    verdicts: tuple[Verdict, ...] = ()


def decide(store: Store, detection: Detection, by: str, at: datetime, **changes: str) -> Triage:
    """Change what is noted about a detection: `muted`, `assigned`, `note`."""
    if changes.get("muted", "") not in MUTES:
        raise BadUsage(f"invalid mute {changes['muted']!r:.40}: expected forever, escalates or nothing")
    if any(len(text) > MAX_TEXT for text in changes.values()):
        raise BadUsage(f"a note has at most {MAX_TEXT:,} characters")
    values: dict[str, Any] = {**(store.note(TRIAGE, detection.id) or {}), **changes}
    values |= {"severity": detection.severity, "by": by, "at": format_time(at)}
    store.put_note(TRIAGE, detection.id, values, at)
    return triage_of(detection.id, values)


def triage_of(detection: str, values: Mapping[str, Any] | None) -> Triage:
    """The triage of a note; an empty one without a note."""
    if values is None:
        return Triage(detection)
    texts = {name: str(values.get(name, "")) for name in ("muted", "severity", "assigned", "note", "by")}
    return Triage(detection, **texts, at=parse_time(values["at"]))


def look(store: Store, person: str, at: datetime) -> None:
    """Note that a person has seen the inbox as of a time."""
    store.put_note(LOOK, person, {"at": format_time(at)}, at)


def last_look(store: Store, person: str) -> datetime | None:
    """When a person last looked, or None."""
    note = store.note(LOOK, person)
    return None if note is None else parse_time(note["at"])


def inbox(store: Store, person: str, *, limit: int = 500) -> list[InboxItem]:
    """The newest standing detections, ranked: what changed since the last look first, by severity."""
    seen = last_look(store, person)
    detections, _ = store.find_detections(limit=limit)
    ids = [item.id for item in detections]
    notes, histories = store.notes(TRIAGE, ids), store.histories(ids)
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in store.verdicts(detections=ids):
        verdicts.setdefault(str(verdict.detection), []).append(verdict)
    items = [
        item_of(item, histories.get(item.id, ()), notes.get(item.id), verdicts.get(item.id, ()), seen)
        for item in detections
    ]
    return sorted(items, key=_rank)


def _rank(item: InboxItem) -> tuple[int, int, float]:
    return (_ORDER[item.state], -rank(item.detection.severity), -item.changed_at.timestamp())


def item_of(
    detection: Detection,
    changes: Sequence[Mapping[str, Any]],
    note: Mapping[str, Any] | None,
    verdicts: Sequence[Verdict],
    seen: datetime | None,
) -> InboxItem:
    """The place of one detection in the inbox of somebody who looked last at `seen`."""
    triage = triage_of(detection.id, note)
    last = changes[-1] if changes else None
    changed_at = parse_time(last["as_of"]) if last else detection.detected_at
    is_news = seen is None or changed_at > seen
    state = "ongoing"
    if triage.muted == "forever" or (
        triage.muted == "escalates" and rank(detection.severity) <= rank(triage.severity)
    ):
        state = "muted"
    elif verdicts and verdicts[-1].at >= changed_at:
        state = "judged"
    elif is_news:
        word = "new" if last is None else str(last["change"])
        state = {"risen": "escalating", "found again": "regressed", "new": "new"}.get(word, "ongoing")
        if state == "new" and verdicts:
            state = "regressed"
    return InboxItem(state, changed_at, detection, triage, tuple(verdicts))
