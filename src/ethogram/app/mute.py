"""Mute: what is known and need not be told is set apart after detection, and counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import translate
from functools import lru_cache
from typing import Any

from ..ingest.batch import EventCollection, EventList
from ..models import Detection, Event
from ..models.mute import Mute, Muting
from ..models.redaction import excerpt
from .result import Analysis

Events = Mapping[tuple[str, str], Event]
FACTS = {"path": ("path", "paths"), "command": ("command", "commands")}
"""Where an event or a detection's details may name what a criterion asks for."""


def mute(analysis: Analysis, entries: Sequence[Mute], events: Iterable[Event], now: datetime) -> Analysis:
    """The analysis without what an entry mutes at this moment; what was muted stands in its `muting`.

    `now` is the moment at which somebody reads it, not the moment of the question: an entry that ran out
    last week mutes nothing today, whatever time the events are from.
    """
    if not entries:
        return analysis
    known = evidence_events(analysis.detections, events) if ask_for_facts(entries) else {}
    detections: list[Detection] = []
    muted: list[tuple[Detection, str]] = []
    for detection in analysis.detections:
        entry = muted_by(entries, detection, known, now)
        if entry is None:
            detections.append(detection)
        else:
            muted.append((detection, entry.id))
    expired = frozenset(entry.id for entry in entries if entry.is_expired(now))
    return replace(
        analysis, detections=tuple(detections), muting=Muting(tuple(entries), expired, tuple(muted))
    )


def muted_by(entries: Iterable[Mute], detection: Detection, events: Events, now: datetime) -> Mute | None:
    """The first entry that mutes a detection at this moment."""
    active = (entry for entry in entries if not entry.is_expired(now))
    return next((entry for entry in active if mutes(entry, detection, events)), None)


def mutes(entry: Mute, detection: Detection, events: Events) -> bool:
    """Whether an entry, if it is active, mutes a detection: every criterion that is given must match.

    Subject and pattern are matched as they are; a pattern `loop` means `loop@2` and `loop.tokens` too. Of
    path and command there must be some in the evidence, and all of them must match, so that an entry for
    build/* never hides that something else was touched as well.
    """
    for name, glob in entry.criteria.items():
        if name == "subject":
            matched = matches(glob, detection.subject)
        elif name == "pattern":
            matched = any(matches(glob, each) for each in pattern_names(detection.pattern))
        else:
            result = list(facts(name, detection, events))
            matched = bool(result) and all(matches(glob, each) for each in result)
        if not matched:
            return False
    return True


def pattern_names(pattern: str) -> set[str]:
    """The name of a pattern, and those of the pattern it is a part of.

    >>> sorted(pattern_names("spiral.tokens@2"))
    ['spiral', 'spiral.tokens', 'spiral.tokens@2']
    """
    whole = pattern.partition("@")[0]
    return {pattern, whole, whole.partition(".")[0]}


def facts(name: str, detection: Detection, events: Events) -> Iterator[str]:
    """Every path or command that the evidence names: attributes and readings of its events, and details."""
    for evidence in detection.evidence:
        event = events.get((detection.source, evidence.event))
        for key in FACTS[name]:
            yield from _texts(evidence.readings.get(key))
            if event is not None:
                yield from _texts(event.attributes.get(key))
                yield from _texts(event.readings.get(key))
    for key in FACTS[name]:
        yield from _texts(detection.details.get(key))


def matches(glob: str, text: str) -> bool:
    """Whether a glob matches the whole text: * any characters, ? one, [abc] one of these; case counts.

    >>> matches("build/*", "build/a/b.txt"), matches("loop", "Loop")
    (True, False)
    """
    return _compiled(glob).match(text) is not None


def evidence_events(detections: Iterable[Detection], events: Iterable[Event]) -> dict[tuple[str, str], Event]:
    """The events that are evidence, by source and id."""
    wanted = {
        (detection.source, evidence.event): evidence.at
        for detection in detections
        for evidence in detection.evidence
    }
    if not wanted:
        return {}
    if not isinstance(events, EventCollection):
        events = EventList(event for event in events if (event.source, event.id) in wanted)
    return events.by_key(wanted)


def add_excerpts(detections: Sequence[Detection], events: Iterable[Event]) -> list[Detection]:
    """The detections with a masked excerpt on each piece of evidence whose event has a text."""
    if isinstance(events, EventCollection) and not events.has("text"):
        return list(detections)
    texts = {key: excerpt(event) for key, event in evidence_events(detections, events).items()}
    out = []
    for detection in detections:
        pairs = ((item, texts.get((detection.source, item.event))) for item in detection.evidence)
        evidence = tuple(replace(item, excerpt=text) for item, text in pairs)
        out.append(replace(detection, evidence=evidence))
    return out


def ask_for_facts(entries: Iterable[Mute]) -> bool:
    """Whether an entry asks for a path or a command, which only events have."""
    return any(name in FACTS for entry in entries for name in entry.criteria)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (item for item in value if isinstance(item, str))


@lru_cache(maxsize=1_000)
def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))
