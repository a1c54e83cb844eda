"""The JSON API: events in; detections, subjects and patterns out; verdicts, mutes, learning, removal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from ..app.findings import find_page
from ..app.judging import verdicts as judging
from ..app.judging.accuracy import accuracies
from ..app.judging.learning import judged_patterns, learn_pattern, learning_record
from ..app.judging.risk import newest, risk_record, subject_risk, subject_risks
from ..app.live.receiver import Ingested
from ..app.stored_events import note_looks
from ..app.subject import find_subject, subject_context
from ..config.settings import learning_in
from ..errors import BadUsage
from ..fields import InputStruct, one_of
from ..models import format_time, parse_time
from ..models.severity import SEVERITIES
from .audit import actions_of
from .inbox import MAX_TEXT, MUTES, decide, inbox, look
from .keys import ApiKey
from .patterns import pattern_record, pattern_rows
from .request_checks import Refused, body_of, json_response
from .routes import TIME, CanAdmin, CanIngest, CanJudge, CanRead, Limit, Offset, Running, Text, person_of
from .state import Service

router = APIRouter(prefix="/v1")
MANY = 64 * 1024
"""Bytes of a JSON body that is not of events."""
Time = Annotated[str | None, Query(min_length=1, max_length=60, json_schema_extra={"format": "date-time"})]
Severity = Annotated[str | None, Query(pattern=f"^({'|'.join(SEVERITIES)})$")]


# --- in -------------------------------------------------------------------------------------


@router.post("/events")
async def add_events(
    request: Request,
    service: Running,
    key: CanIngest,
    source: Annotated[str, Query(min_length=1, max_length=200)] = "input",
    skip_bad: bool = False,
) -> Response:
    """Store events in any format that files may have. Whatever is acknowledged is stored.

    Events are known by their id: sending one again changes nothing. Nothing of a request with a bad event is
    stored, unless `skip_bad`.
    """
    body = await body_of(request, service.options.body_bytes)
    return json_response((await ingest(service, body, source=source, skip_bad=skip_bad)).to_dict())


async def ingest(service: Service, body: bytes, *, source: str, skip_bad: bool = False) -> Ingested:
    """Store the events of a body, and say how many are new; on return they are stored."""
    now = service.now()
    received = await run_in_threadpool(
        service.intake.read, body, service.writer.kinds, source=source, now=now, skip_bad=skip_bad
    )
    added = await asyncio.wrap_future(service.writer.submit(received, now))
    repeated = added.repeated + received.repeated
    return Ingested(added.added, repeated, dict(received.skipped), received.faults, received.notes)


# --- detections -----------------------------------------------------------------------------


@router.get("/detections")
def list_detections(
    service: Running,
    key: CanRead,
    pattern: Text = None,
    subject: Text = None,
    source: Text = None,
    severity: Severity = None,
    since: Time = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Standing detections, the newest first."""
    page = find_page(
        service.store,
        pattern=pattern,
        subject=subject,
        source=source,
        severity=severity,
        since=None if since is None else moment(since, "since"),
        limit=limit,
        offset=offset,
        settings=service.settings,
    )
    service.note_look(key, "detections")
    return json_response({"total": page.total, "detections": [item.to_dict() for item in page.detections]})


def moment(text: str, name: str) -> datetime:
    """The time of a parameter; BadUsage where it is none."""
    try:
        return parse_time(text)
    except ValueError as error:
        raise BadUsage(f"{name}: {error}") from None


@router.get("/detections/{id}")
def show_detection(service: Running, key: CanRead, id: str) -> Response:  # noqa: A002
    """One detection with its changes and verdicts."""
    detection = judging.find_detection(service.store, id)
    service.note_look(key, "detection", detection.subject)
    record: dict[str, Any] = detection.to_dict()
    record["changes"] = service.store.history(id)
    record["verdicts"] = [verdict.to_dict() for verdict in service.store.verdicts(id)]
    return json_response(record)


NO_NULL = msgspec.Meta(pattern=r"^[^\u0000]*$")
Note = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class VerdictBody(InputStruct, forbid_unknown_fields=True):
    """A judgement of a detection."""

    verdict: Annotated[str, one_of("confirmed", "false_alarm")]
    why: str = ""
    blind: bool = False


class TriageBody(InputStruct, forbid_unknown_fields=True):
    """What is decided about a detection; what is left out stays as it is."""

    muted: Annotated[str, one_of(*MUTES)] | msgspec.UnsetType = msgspec.UNSET
    assigned: Note | msgspec.UnsetType = msgspec.UNSET
    note: Note | msgspec.UnsetType = msgspec.UNSET


async def read_json(request: Request, kind: Any) -> Any:
    """The JSON body as a record; Refused where it is none."""
    body = await body_of(request, MANY)
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise Refused(400, "bad_request", f"invalid body: {error}") from None


@router.post("/detections/{id}/verdict")
async def judge(request: Request, service: Running, key: CanJudge, id: str) -> Response:  # noqa: A002
    """Judge a detection: {"verdict": "confirmed" | "false_alarm", "why": ""}."""
    body: VerdictBody = await read_json(request, VerdictBody)
    saved = await run_in_threadpool(save_verdict, service, key, id, body)
    return json_response(saved.to_dict())


def save_verdict(service: Service, key: ApiKey | None, id: str, body: VerdictBody) -> Any:  # noqa: A002
    """Check and save a verdict on a detection."""
    at = service.now()
    given = judging.VerdictInput(body.verdict, person_of(key), at, id, body.why, body.blind)
    checked = judging.check_verdict(service.store, given, service.settings, now=at)
    judging.save_verdicts(service.store, [checked])
    service.metrics.verdicts.labels(checked.verdict).inc()
    service.note_action(key, checked.verdict, id)
    return checked


@router.post("/detections/{id}/triage")
async def triage(request: Request, service: Running, key: CanJudge, id: str) -> Response:  # noqa: A002
    """Mute (forever, or until it escalates), assign or annotate a detection."""
    body: TriageBody = await read_json(request, TriageBody)
    changes = {
        name: value for name, value in msgspec.structs.asdict(body).items() if value is not msgspec.UNSET
    }

    return json_response((await run_in_threadpool(save_triage, service, key, id, changes)).to_dict())


def save_triage(service: Service, key: ApiKey | None, id: str, changes: Mapping[Any, str]) -> Any:  # noqa: A002
    """Save what was decided about a detection."""
    detection = judging.find_detection(service.store, id)
    saved = decide(service.store, detection, person_of(key), service.now(), **changes)
    service.note_action(key, "triage", id)
    return saved


@router.get("/inbox")
def show_inbox(service: Running, key: CanRead, limit: Limit = 100) -> Response:
    """What changed since you looked, ranked; then what goes on, was judged, and is muted."""
    service.note_look(key, "inbox")
    items = inbox(service.store, person_of(key), limit=limit)
    return json_response({"items": [item.to_dict() for item in items]})


@router.post("/inbox/seen")
def seen(service: Running, key: CanRead) -> Response:
    """Note that you have seen everything up to now."""
    now = service.now()
    look(service.store, person_of(key), now)
    return json_response({"at": format_time(now)})


# --- subjects -------------------------------------------------------------------------------


@router.get("/subjects")
def list_subjects(
    service: Running, key: CanRead, source: Text = None, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """Subjects with detections that count, by risk, the highest first."""
    service.note_look(key, "risk")
    risks = subject_risks(service.store, source=source, settings=service.settings)
    page = [risk.to_dict() for risk in risks[offset : offset + limit]]
    return json_response({"total": len(risks), "subjects": page})


@router.get("/subjects/{source}/{name}")
def show_subject(service: Running, key: CanRead, source: str, name: str) -> Response:
    """Where a subject stands: activity, readings, detections, risk."""
    row = find_subject(service.store, name, source)
    service.note_look(key, "subject", name)
    at = newest(service.store)
    context = subject_context(
        service.store, row.source, row.name, at, library=service.library, settings=service.settings
    )
    risk = subject_risk(service.store, name, source=source, as_of=at, settings=service.settings)
    return json_response({**context.to_dict(), "risk": risk_record(risk).to_dict()})


# --- patterns, learning ---------------------------------------------------------------------


@router.get("/patterns")
def list_patterns(service: Running, key: CanRead) -> Response:
    """Every pattern, and whether it is on."""
    return json_response({"patterns": pattern_rows(service)})


@router.get("/patterns/{name}")
def show_pattern(service: Running, key: CanRead, name: str) -> Response:
    """One pattern: meaning, accuracy by verdicts, its file."""
    return json_response(pattern_record(service, name))


@router.get("/accuracy")
def show_accuracy(service: Running, key: CanRead) -> Response:
    """How often each pattern was right, by verdicts."""
    least = learning_in(service.settings)["accuracy_minimum"]
    return json_response({"accuracy": [item.to_dict() for item in accuracies(service.store, minimum=least)]})


@router.post("/learning")
def propose(service: Running, key: CanAdmin) -> Response:
    """What each judged pattern would learn from its verdicts. Nothing is applied."""
    at, settings = service.now(), service.settings
    results = [learn_pattern(service.store, name, settings, at=at) for name in judged_patterns(service.store)]
    return json_response({"proposals": [learning_record(result).to_dict() for result in results]})


# --- administration -------------------------------------------------------------------------


class PurgeBody(InputStruct, forbid_unknown_fields=True):
    """What to remove for good."""

    subject: Annotated[str, NO_NULL] = ""
    source: Annotated[str, NO_NULL] = ""
    before: Annotated[str, TIME] | None = None
    redact: bool = False
    why: str = ""


BODIES = {
    "/v1/detections/{id}/verdict": VerdictBody,
    "/v1/detections/{id}/triage": TriageBody,
    "/v1/purge": PurgeBody,
}
"""Path to what is read there."""


@router.post("/purge")
async def purge(request: Request, service: Running, key: CanAdmin) -> Response:
    """Remove a subject, or what lies before a time, for good."""
    body: PurgeBody = await read_json(request, PurgeBody)
    if not body.subject and body.before is None:
        raise Refused(400, "bad_request", "nothing to purge: expected subject, before or both")
    before = None if body.before is None else moment(body.before, "before")
    whose = (body.source, body.subject) if body.source else body.subject or None

    def remove() -> Any:
        note_looks(service.store, "purge", [None], at=service.now(), who=person_of(key), why=body.why)
        removed = service.store.purge(subject=whose, before=before, redact=body.redact)
        # Not whom: that is gone for good.
        service.note_action(key, "purge", f"{removed.events} events, {removed.detections} detections")
        return removed

    desk = request.app.state.chat_desk
    desk.forget(body.subject)
    removed = await run_in_threadpool(remove)
    desk.forget(body.subject)  # what came meanwhile
    return json_response(removed.to_dict())


@router.get("/audit")
def show_audit(service: Running, key: CanAdmin, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Who judged, decided, exported, removed, and made or removed keys; the newest first."""
    actions = actions_of(service.store)
    page = [item.to_dict() for item in actions[offset : offset + limit]]
    return json_response({"total": len(actions), "actions": page})


@router.get("/export")
def export(service: Running, key: CanAdmin, source: Text = None, subject: Text = None) -> StreamingResponse:
    """All events as JSON lines, in order."""
    service.note_look(key, "export")
    service.note_action(key, "export")
    chosen = None
    if subject is not None or source is not None:
        chosen = [row.who for row in service.store.subjects(subject, source)]

    def lines() -> Iterator[bytes]:
        for event in service.store.events(chosen):
            yield msgspec.json.encode({"source": event.source, **event.to_dict()}) + b"\n"

    # The first line before the answer begins, so that a store that fails is no empty export.
    rest = lines()
    first = next(rest, b"")
    return StreamingResponse(chain([first], rest), media_type="application/x-ndjson")
