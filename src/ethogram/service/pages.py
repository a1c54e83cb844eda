"""Pages of the dashboard: inbox, one detection, subjects; logging in and deciding by plain forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from ..app.explain import Question
from ..app.explain import why as explain
from ..app.judging import verdicts as judging
from ..app.judging.risk import newest, subject_risk, subject_risks
from ..app.readings import scored_events
from ..app.subject import find_subject, subject_context
from ..app.traces import trace
from ..ingest import Batch
from ..ingest.batch import EventList, EventSequence
from ..models import Detection, Event
from ..models.detection import base_pattern
from ..report import charts, wording
from ..report.explain import heading, why_lines
from ..report.wording import plural
from .api import MANY, VerdictBody, save_verdict
from .guard import COOKIE, Refused, body_of
from .html import STATIC, back, render, static
from .inbox import TRIAGE, InboxItem, decide, inbox, item_of, last_look, look, triage_of
from .keys import ROLES
from .routes import CanJudge, CanRead, Offset, Running, person_of, service_of
from .state import Service

router = APIRouter(include_in_schema=False)
AROUND = 2
"""Events shown before and after each piece of evidence."""
MOST_ROWS = 200
PAGE = 100
GROUPS = (
    ("Since your last look", ("escalating", "regressed", "new")),
    ("Ongoing", ("ongoing",)),
    ("Judged", ("judged",)),
    ("Muted", ("muted",)),
)


@router.get("/static/{name}")
def file(name: str) -> Response:
    """A style or script of ours."""
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(static(name), media_type=STATIC[name], headers=headers)


# --- keys -----------------------------------------------------------------------------------


@router.get("/login")
def login_page(request: Request) -> Response:
    return render(request, "login.html", wrong=False)


@router.post("/login")
async def login(request: Request) -> Response:
    """Keep the key in a cookie that no script can read and no other site can send."""
    form = await form_of(request)
    key = service_of(request).keys.find(form.get("key", ""))
    if key is None or "read" not in ROLES[key.role]:
        return render(request, "login.html", wrong=True, status=401)
    answer = RedirectResponse("/", 303)
    secure = service_of(request).options.url.startswith("https://")
    answer.set_cookie(
        COOKIE, form["key"], httponly=True, samesite="strict", secure=secure, max_age=30 * 86400
    )
    return answer


@router.post("/logout")
def logout() -> Response:
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a plain form."""
    body = await body_of(request, MANY)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise Refused(400, "bad_request", "the form cannot be read") from None


# --- inbox ----------------------------------------------------------------------------------


@router.get("/")
def inbox_page(request: Request, service: Running, key: CanRead) -> Response:
    """What is new, ranked."""
    person = person_of(key)
    service.note_look(key, "inbox")
    items = inbox(service.store, person)
    fresh = [item for item in items if item.state in GROUPS[0][1]]
    seen = last_look(service.store, person)
    return render(
        request,
        "inbox.html",
        items=items,
        heading=f"{plural(len(fresh), 'detection')} to decide" if fresh else "Nothing new",
        where="You have not looked before."
        if seen is None
        else f"You last looked at {wording.stamp(seen)} UTC.",
        groups=[(title, [item for item in items if item.state in states]) for title, states in GROUPS],
    )


@router.post("/seen")
def seen(request: Request, service: Running, key: CanRead) -> Response:
    look(service.store, person_of(key), service.now())
    return back(request)


# --- one detection --------------------------------------------------------------------------


class Row(NamedTuple):
    """An event of the thread: `step` where it is evidence, `gap` events left out before it."""

    event: Event
    step: str
    readings: str
    anchor: str
    gap: int


@router.get("/detections/{id}")
def detection_page(request: Request, service: Running, key: CanRead, id: str) -> Response:  # noqa: A002
    """One detection: evidence in its thread, and what was decided."""
    detection = judging.find_detection(service.store, id)
    service.note_look(key, "detection", detection.subject)
    events = events_of(service, (detection.source, detection.subject), mates=True)
    rows = list(thread_rows(detection, events))
    untimed = not all(row.event.timed for row in rows)
    return render(
        request,
        "detection.html",
        d=detection,
        base=base_pattern(detection.pattern),
        triage=triage_of(id, service.store.note(TRIAGE, id)),
        period=wording.span(detection.opened_at, detection.closed_at, timed=not untimed),
        chart=chart_of([detection], events, service),
        thread=rows,
        has_text=any(row.event.text for row in rows),
        changes=service.store.history(id),
        verdicts=service.store.verdicts(id),
    )


def events_of(service: Service, who: tuple[str, str], *, mates: bool = False) -> EventSequence:
    """The events of a subject as patterns see them."""
    stored = service.store.columns([who], mates=mates)
    scored, _, _ = scored_events(stored, service.library.programs, service.settings)
    return scored


def thread_rows(detection: Detection, events: Sequence[Event]) -> Iterator[Row]:
    """The evidence with what was said around it."""
    proof = {evidence.event: (index, evidence) for index, evidence in enumerate(detection.evidence)}
    threads = {event.thread for event in events if event.id in proof}

    def belongs(event: Event) -> bool:
        is_near = event.subject == detection.subject or (event.thread is not None and event.thread in threads)
        return event.source == detection.source and (event.id in proof or is_near)

    mine = [event for event in events if belongs(event)]
    near: set[int] = set()
    for place, event in enumerate(mine):
        if event.id in proof:
            near |= set(range(max(0, place - AROUND), min(len(mine), place + AROUND + 1)))
    last = -1
    for place in sorted(near)[:MOST_ROWS]:
        event = mine[place]
        index, evidence = proof.get(event.id, (0, None))
        anchor = f"{charts.detection_anchor(detection)}-{index}" if evidence else f"event-{place}"
        step = evidence.step if evidence else ""
        readings = wording.pairs_text(evidence.readings) if evidence else ""
        yield Row(event, step, readings, anchor, place - last - 1)
        last = place


def chart_of(detections: Sequence[Detection], events: EventSequence, service: Service) -> Markup:
    """The ethogram of one subject: lanes, readings, evidence."""
    if not detections:
        return Markup("")
    at = newest(service.store)
    who = (detections[0].source, detections[0].subject)
    own = events.of_subjects([who])
    return charts.card(who, detections, trace(detections, own, at), at, charts.rows_for(len(detections)), 0)


@router.post("/detections/{id}/verdict")
async def judge(request: Request, service: Running, key: CanJudge, id: str) -> Response:  # noqa: A002
    form = await form_of(request)
    body = VerdictBody(form.get("verdict", ""), form.get("why", ""))
    await run_in_threadpool(save_verdict, service, person_of(key), id, body)
    return back(request)


@router.post("/detections/{id}/triage")
async def triage(request: Request, service: Running, key: CanJudge, id: str) -> Response:  # noqa: A002
    form = await form_of(request)
    changes = {name: form[name] for name in ("muted", "assigned", "note") if name in form}

    def save() -> Any:
        detection = judging.find_detection(service.store, id)
        return decide(service.store, detection, person_of(key), service.now(), **changes)

    await run_in_threadpool(save)
    return back(request)


# --- subjects -------------------------------------------------------------------------------


@router.get("/subjects")
def subjects_page(request: Request, service: Running, key: CanRead, offset: Offset = 0) -> Response:
    """Subjects by risk."""
    service.note_look(key, "risk")
    risks = subject_risks(service.store, settings=service.settings)
    more = offset + PAGE if offset + PAGE < len(risks) else None
    return render(request, "subjects.html", risks=risks[offset : offset + PAGE], total=len(risks), next=more)


@router.get("/subjects/{source}/{name}")
def subject_page(request: Request, service: Running, key: CanRead, source: str, name: str) -> Response:
    """One subject over time."""
    row = find_subject(service.store, name, source)
    service.note_look(key, "subject", name)
    at = newest(service.store)
    context = subject_context(
        service.store, source, name, at, library=service.library, settings=service.settings
    )
    risk = subject_risk(service.store, name, source=source, as_of=at, settings=service.settings)
    composition = risk.composition
    found = {base_pattern(item.pattern) for item in context.detections}
    return render(
        request,
        "subject.html",
        context=context,
        risk=composition.risk(name, source=source),
        items=list(items_of(service, person_of(key), context.detections)),
        chart=chart_of(context.detections, events_of(service, row.who), service),
        quiet=[(file.name, file.title) for file in service.library if file.name not in found],
    )


def items_of(service: Service, person: str, detections: Sequence[Detection]) -> Iterator[InboxItem]:
    """Detections as the inbox shows them."""
    seen = last_look(service.store, person)
    for detection in wording.ranked(detections):
        note = service.store.note(TRIAGE, detection.id)
        verdicts = service.store.verdicts(detection.id)
        yield item_of(detection, service.store.history(detection.id), note, verdicts, seen)


@router.get("/subjects/{source}/{name}/why/{pattern}")
def why_page(
    request: Request, service: Running, key: CanRead, source: str, name: str, pattern: str
) -> Response:
    """Why a pattern is quiet for a subject."""
    row = find_subject(service.store, name, source)
    if pattern not in service.library.chosen:
        raise Refused(404, "not_found", f"no pattern {pattern!r:.80} is on")
    service.note_look(key, "subject", name)
    stored = service.store.columns([row.who], mates=True)
    programs = [item for item in service.library.programs if base_pattern(item.name) == pattern]
    batch = Batch(stored if isinstance(stored, EventSequence) else EventList(stored), timed=True)
    answers = explain(Question(name), service.library, batch, programs=programs, settings=service.settings)
    shown = [{"heading": heading(item), "text": "\n".join(why_lines(item))} for item in answers]
    title = service.library.files[pattern].title
    return render(request, "why.html", source=source, name=name, pattern=pattern, title=title, answers=shown)
