"""The page of one detection: its evidence in the thread, and what became of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from ...app.judging import verdicts as judging
from ...app.readings import scored_events
from ...app.traces import trace
from ...ingest.batch import sequence_of
from ...language.history import FIELDS, is_in
from ...language.program import Program
from ...models import Detection, Event, Verdict, parse_time
from ...models.detection import base_pattern
from ...models.slotted import replace
from ...report import charts, wording
from ...report.svg import join
from ...signals.chat import role_of
from ...store.records import Who
from ...store.windows import sample, thread_events, window
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
    rows, elsewhere = surroundings_of(service, detection)
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
        elsewhere=elsewhere,
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


class Surroundings(NamedTuple):
    """The rows of a detection's history and threads, and what its subject did elsewhere at the time."""

    rows: list[Row]
    elsewhere: list[Event]


def surroundings_of(service: Service, detection: Detection) -> Surroundings:
    """The evidence with what was done and said around it, and apart from it what belongs to other threads.

    Around it is its history, with what others said in the threads of the evidence: steps of another run of
    the same agent are neither.
    """
    shown = {
        evidence.event: (index, evidence)
        for index, evidence in charts.shown_evidence(detection, charts.rows_for(1))
    }
    events, exact = _events_near(service, detection, shown)
    threads = {event.thread for event in events if event.id in shown and event.thread is not None}
    history = {event.id for event in _grouped(service, detection, events)}
    inside = [
        event for event in events if event.id in shown or event.id in history or event.thread in threads
    ]
    own = [event for event in events if event.id in shown or event.subject == detection.subject]
    known = {event.id for event in inside}
    elsewhere = [own[place] for place in _near(own, shown) if own[place].id not in known]
    return Surroundings(list(_near_rows(detection, inside, shown, exact=exact)), elsewhere)


def _grouped(service: Service, detection: Detection, events: Sequence[Event]) -> Iterator[Event]:
    """The events of a detection's history. They are measured only where a measured signal groups it."""
    measured: Iterable[Event] = events
    if not detection.history.keys() <= set(FIELDS):
        measured = scored_events(events, _programs(service, [detection]), service.settings)[0]
    return (event for event in measured if is_in(detection.history, event))


def _events_near(service: Service, detection: Detection, shown: Collection[str]) -> tuple[list[Event], bool]:
    """Events of a detection's subject and its threads, in order; whether that is all of them.

    Of a long history, the whole thread if it is in one, else only the events around each piece of evidence.
    """
    who = (detection.source, detection.subject)
    if window(service.store, who, most=0).total <= MEASURED:
        every = service.store.columns([who], mates=True)
        if len(every) <= 20 * MEASURED:
            return [event for event in every if event.source == detection.source], True
    events = {event.id: event for event in _neighbours(service, detection)}
    thread: list[Event] = []
    if detection.thread is not None:
        thread = thread_events(service.store, [(detection.source, detection.thread)])
        events |= {event.id: event for event in thread}
    is_whole = set(shown) <= {event.id for event in thread}
    return sorted(events.values(), key=lambda event: event.order), is_whole


def _neighbours(service: Service, detection: Detection) -> Iterator[Event]:
    """The subject's events before and after each piece of evidence."""
    who = (detection.source, detection.subject)
    for _, evidence in charts.shown_evidence(detection, charts.rows_for(1)):
        yield from window(service.store, who, until=evidence.at, most=AROUND + 1).events
        yield from window(service.store, who, since=evidence.at, most=AROUND + 1, oldest=True).events


def _near(events: Sequence[Event], shown: Collection[str]) -> list[int]:
    """The places of the evidence and of the events around each piece of it."""
    near: set[int] = set()
    for place, event in enumerate(events):
        if event.id in shown:
            near |= set(range(max(0, place - AROUND), min(len(events), place + AROUND + 1)))
    return sorted(near)


def _near_rows(
    detection: Detection, events: Sequence[Event], shown: dict[str, Any], *, exact: bool
) -> Iterator[Row]:
    last = -1
    for place in _near(events, shown):
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
    """The ethogram of each history of a subject that has detections: lanes, readings, evidence.

    With `page`, the address of the page of a detection without its id, events of no such history get a card
    of their own. Of many events, some are drawn.
    """
    since, until = period
    shown = [item for item in detections if charts.overlaps(item, period)]
    threads = {item.thread for item in detections}
    thread = next(iter(threads)) if len(threads) == 1 and not page else None
    total = window(service.store, who, since=since, until=until, most=0).total
    note = ""
    if total > MEASURED and thread is not None:
        every = thread_events(service.store, [(who[0], thread)])
        events = [event for event in every if event.subject == who[1] and since <= event.at <= until]
        total = len(events)
    elif total > MEASURED:
        events = sample(service.store, who, since, until, DRAWN)
        note = f"{len(events):,} of {total:,} events are drawn."
    else:
        events = window(service.store, who, since=since, until=until, most=MEASURED).events
    if total <= MEASURED:
        events = list(scored_events(events, _programs(service, detections), service.settings)[0])
    if not shown:
        return (
            charts.card(who, [], charts.quiet_traces(who, events), until, 0, 0, period, note)
            if events
            else Markup("")
        )
    traces, rows = trace(shown, sequence_of(events), until), charts.rows_for(len(shown))
    groups = charts.by_history(shown)
    cards = [
        charts.card(who, own, traces, until, rows, 0, period, note, page)
        for own in groups[: charts.HISTORIES]
    ]
    cards += charts.others(groups[charts.HISTORIES :])
    rest = [event for event in events if not any(is_in(own[0].history, event) for own in groups)]
    if page and rest:
        quiet = replace(charts.quiet_traces(who, rest), lines=())
        title = f"{wording.clean(who[1], 80)}: all other events"
        cards.append(charts.card(who, [], quiet, until, 0, 0, period, note, title=title))
    return join(cards)


def _programs(service: Service, detections: Iterable[Detection]) -> list[Program]:
    """The programs of the patterns of some detections."""
    names = {base_pattern(detection.pattern) for detection in detections}
    return [item for item in service.library.programs if base_pattern(item.name) in names]
