"""Spread: a pattern in one subject, contact, then a pattern in others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from ..records import Detection, Event, micros, moment
from ..shapes.program import Program
from ..shapes.tree import Spread
from .combine import SEEN, assemble, parts_meant

Contacts = dict[tuple[str, str, str], list[datetime]]
"""Times of events between two subjects of a source, both ways, in order."""


def contacts(events: Sequence[Event]) -> Contacts:
    """When any two subjects met: one targeted the other, or replied to it. Events must be in order."""
    found: Contacts = {}
    authors = {(event.source, event.id): event.subject for event in events}
    for event in events:
        answered = authors.get((event.source, event.reply_to)) if event.reply_to else None
        for other in {event.target, answered} - {None, event.subject}:
            for pair in ((event.subject, other), (other, event.subject)):
                found.setdefault((event.source, str(pair[0]), str(pair[1])), []).append(event.at)
    return found


def spread(
    program: Program, detections: Sequence[Detection], met: Contacts, as_of: datetime
) -> list[Detection]:
    """One detection for each start from which enough other subjects were reached."""
    body = program.body
    assert isinstance(body, Spread)
    seen = [d for d in sorted(detections, key=lambda d: d.order) if d.state in SEEN]
    starts = [d for d in seen if parts_meant((body.first,), d.pattern)]
    ends = [d for d in seen if parts_meant((body.then,), d.pattern)]
    found = [_from(program, body, start, ends, met, as_of) for start in starts]
    return [one for one in found if one is not None]


def _from(
    program: Program, body: Spread, start: Detection, ends: list[Detection], met: Contacts, as_of: datetime
) -> Detection | None:
    reached: dict[str, Detection] = {}
    for end in ends:
        is_new = end.source == start.source and end.subject not in (start.subject, *reached)
        if is_new and _connected(body, start, end, met):
            reached[end.subject] = end
    if len(reached) < body.at_least:
        return None
    until = moment(micros(start.detected_at) + body.within)
    return reached_detection(program, body, start, reached.values(), until if as_of > until else None)


def reached_detection(
    program: Program, body: Spread, start: Detection, reached: Iterable[Detection], closed: datetime | None
) -> Detection:
    """The detection of a start from which these were reached; open while `closed` is None."""
    others = sorted(reached, key=lambda d: d.order)
    parts = [(body.first, start), *((body.then, other) for other in others)]
    made = assemble(program, body.multiplier, parts, last=start)
    then = assemble(program, body.multiplier, parts[: 1 + body.at_least], last=start)
    return replace(
        made,
        state="opened" if closed is None else "closed",
        detected_at=others[body.at_least - 1].detected_at,
        closed_at=closed,
        count=len(others),
        fired_event=then.last_event,
        fired_confidence=then.confidence,
    )


def _connected(body: Spread, start: Detection, end: Detection, met: Contacts) -> bool:
    if not start.detected_at < end.detected_at:
        return False
    if micros(end.detected_at) - micros(start.detected_at) > body.within:
        return False
    times = met.get((start.source, start.subject, end.subject), [])
    at = bisect_left(times, start.detected_at)
    return at < len(times) and times[at] <= end.detected_at
