"""The page of one detection: its evidence in the thread, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from ...app.judging import verdicts as judging
from ...app.readings import scored_events
from ...app.traces import trace
from ...ingest.batch import sequence_of
from ...models import Detection, Event, Verdict, parse_time
from ...models.detection import base_pattern
from ...report import charts, wording
from ...signals.chat import role_of
from ...store.records import Who
from ...store.windows import sample, window
from ..html import Part, part, render
from ..inbox import TRIAGE, Triage, inbox, triage_of
from ..routes import CanRead, Running, person_of
from ..state import Service
from .inbox import NEWS

router = APIRouter(include_in_schema=False)
AROUND = 2
"""Events shown before and after each piece of evidence."""
MEASURED = 2_000
"""Events of a subject that are measured for a page; of more, some are drawn with the readings they have."""
DRAWN = 600
Period = tuple[datetime, datetime]
CHANGES = {
    "new": "Detected",
    "risen": "Severity rose",
    "closed": "Ended",
    "withdrawn": "Withdrawn: the events no longer show it",
    "superseded": "Replaced by a newer detection",
    "found again": "Detected again",
}


class Row(NamedTuple):
    """An event of the thread: `step` where it is evidence, `gap` events left out before it (-1: some)."""

    event: Event
    step: str
    readings: str
    anchor: str
    gap: int


class Moment(NamedTuple):
    """Something that happened to a detection."""

    at: datetime
    what: str
    why: str = ""


@router.get("/detections/{id}")
def detection_page(request: Request, service: Running, key: CanRead, id: Part) -> Response:  # noqa: A002
    """One detection: evidence in its thread, and what was decided."""
    detection = judging.find_detection(service.store, id)
    service.note_look(key, "detection", detection.subject)
    triage = triage_of(id, service.store.note(TRIAGE, id))
    rows = thread_of(service, detection)
    timed = all(row.event.timed for row in rows)
    news = [item for item in inbox(service.store, person_of(key)) if item.state in NEWS]
    return render(
        request,
        "detection.html",
        d=detection,
        base=base_pattern(detection.pattern),
        triage=triage,
        period=wording.span(detection.opened_at, detection.closed_at, timed=timed),
        sure=wording.sureness(detection),
        chart=chart_of(service, (detection.source, detection.subject), [detection], around(detection)),
        thread=rows,
        where=place_of(detection, rows),
        has_text=not rows or any(row.event.text or row.event.attributes.get("command") for row in rows),
        moments=moments_of(service.store.history(id), service.store.verdicts(id), triage),
        next=next((item.detection for item in news if item.detection.id != id), None),
        left=len(news),
    )


def place_of(detection: Detection, rows: Sequence[Row]) -> tuple[str, str] | None:
    """The name and address of the run or conversation in which a detection lies."""
    if detection.thread is None:
        return None
    path = f"{part(detection.source)}/{part(detection.thread)}"
    if any(row.event.kind == "action" for row in rows):
        return "whole run", f"/runs/{path}"
    if any(role_of(row.event.attributes) or "risk" in row.event.readings for row in rows):
        return "whole conversation", f"/chats/{path}"
    return None


def moments_of(
    changes: Sequence[dict[str, Any]], verdicts: Sequence[Verdict], triage: Triage
) -> list[Moment]:
    """What happened to a detection, oldest first, in words."""
    moments = []
    for change in changes:
        words = CHANGES.get(change["change"], change["change"])
        moments.append(Moment(parse_time(change["as_of"]), f"{words}, severity {change['severity']}"))
    for verdict in verdicts:
        word = verdict.verdict.replace("_", " ").capitalize()
        moments.append(Moment(verdict.at, f"{word} by {wording.clean(verdict.by, 60)}", verdict.why))
    if triage.at is not None:
        parts = []
        if triage.muted:
            until = (
                f" until its severity rises above {triage.severity}" if triage.muted == "escalates" else ""
            )
            parts.append(f"Muted{until}")
        if triage.assigned:
            parts.append(f"Assigned to {wording.clean(triage.assigned, 60)}")
        by = f" by {wording.clean(triage.by, 60)}"
        moments.append(Moment(triage.at, f"{'; '.join(parts) or 'Noted'}{by}", triage.note))
    return sorted(moments, key=lambda moment: moment.at)


# --- the thread -----------------------------------------------------------------------------


def thread_of(service: Service, detection: Detection) -> list[Row]:
    """The evidence with what was said around it."""
    shown = {
        evidence.event: (index, evidence)
        for index, evidence in charts.shown_evidence(detection, charts.rows_for(1))
    }
    own = window(service.store, (detection.source, detection.subject), most=0)
    if own.total > MEASURED:
        return list(_near_rows(detection, _neighbours(service, detection), shown, exact=False))
    every = service.store.columns([(detection.source, detection.subject)], mates=True)
    if len(every) > 20 * MEASURED:
        return list(_near_rows(detection, _neighbours(service, detection), shown, exact=False))
    threads = {event.thread for event in every if event.id in shown}

    def belongs(event: Event) -> bool:
        is_near = event.subject == detection.subject or (event.thread is not None and event.thread in threads)
        return event.source == detection.source and (event.id in shown or is_near)

    return list(_near_rows(detection, [event for event in every if belongs(event)], shown, exact=True))


def _neighbours(service: Service, detection: Detection) -> list[Event]:
    """Of a long history, only the events before and after each piece of evidence."""
    who = (detection.source, detection.subject)
    events: dict[str, Event] = {}
    for _, evidence in charts.shown_evidence(detection, charts.rows_for(1)):
        before = window(service.store, who, until=evidence.at, most=AROUND + 1)
        after = window(service.store, who, since=evidence.at, most=AROUND + 1, oldest=True)
        events |= {event.id: event for event in (*before.events, *after.events)}
    return sorted(events.values(), key=lambda event: event.order)


def _near_rows(
    detection: Detection, events: Sequence[Event], shown: dict[str, Any], *, exact: bool
) -> Iterator[Row]:
    near: set[int] = set()
    for place, event in enumerate(events):
        if event.id in shown:
            near |= set(range(max(0, place - AROUND), min(len(events), place + AROUND + 1)))
    last = -1
    for place in sorted(near):
        event = events[place]
        index, evidence = shown.get(event.id, (0, None))
        anchor = f"{charts.detection_anchor(detection)}-{index}" if evidence else f"event-{place}"
        step = evidence.step if evidence else ""
        readings = wording.pairs_text(evidence.readings) if evidence else ""
        gap = place - last - 1 if exact else -1 if evidence and event.id == detection.first_event else 0
        yield Row(event, step, readings, anchor, gap)
        last = place


# --- the chart ------------------------------------------------------------------------------


def around(detection: Detection) -> Period:
    """The period of a detection with its evidence, and a sixth of it before and after."""
    times = [detection.opened_at, *(evidence.at for evidence in detection.evidence)]
    times.append(detection.closed_at or detection.detected_at)
    room = (max(times) - min(times)) / 6
    return min(times) - room, max(times) + room


def chart_of(
    service: Service, who: Who, detections: Sequence[Detection], period: Period, page: str = ""
) -> Markup:
    """The ethogram of one subject: lanes, readings, evidence. Of many events, some are drawn."""
    since, until = period
    total = window(service.store, who, since=since, until=until, most=0).total
    if total > MEASURED:
        events = sample(service.store, who, since, until, DRAWN)
        note = f"{len(events):,} of {total:,} events are drawn."
    else:
        found = {base_pattern(detection.pattern) for detection in detections}
        programs = [item for item in service.library.programs if base_pattern(item.name) in found]
        own = window(service.store, who, since=since, until=until, most=MEASURED)
        events, note = list(scored_events(own.events, programs, service.settings)[0]), ""
    shown = [item for item in detections if charts.overlaps(item, period)]
    if not shown and not events:
        return Markup("")
    traces = trace(shown, sequence_of(events), until) if shown else charts.quiet_traces(who, events)
    return charts.card(who, shown, traces, until, charts.rows_for(len(shown)), 0, period, note, page)
