"""The JSON API: events in, detections, subjects and patterns out."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ..models import Detection, rank
from ..models.severity import SEVERITIES
from .guard import Refused, body_of, json_response, requires
from .keys import ApiKey
from .state import Service

router = APIRouter(prefix="/v1")
CanIngest = Annotated[ApiKey | None, Depends(requires("ingest"))]
CanRead = Annotated[ApiKey | None, Depends(requires("read"))]
Limit = Annotated[int, Query(ge=1, le=1000, description="The most records of a page.")]
After = Annotated[str, Query(description="The id of the last record of the page before.", max_length=200)]


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Running = Annotated[Service, Depends(service_of)]


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
    now = service.now()
    received = await run_in_threadpool(
        service.intake.read, body, service.writer.kinds, source=source, now=now, skip_bad=skip_bad
    )
    added = await asyncio.wrap_future(service.writer.submit(received, now))
    return json_response(
        {
            "record": "ingested",
            "added": added.added,
            "repeated": added.repeated + received.repeated,
            "skipped": dict(received.skipped),
            "faults": [fault.to_dict() for fault in received.faults],
        }
    )


@router.get("/detections")
def list_detections(
    service: Running,
    key: CanRead,
    pattern: str | None = None,
    subject: str | None = None,
    severity: Annotated[str | None, Query(pattern=f"^({'|'.join(SEVERITIES)})$")] = None,
    state: Annotated[str | None, Query(pattern="^(opened|closed|withdrawn|superseded)$")] = None,
    limit: Limit = 100,
    after: After = "",
) -> Response:
    """Detections, the newest first."""
    found = service.store.detections(
        patterns=None if pattern is None else [pattern],
        states=None if state is None else [state],
        parts=False,
    )
    kept = [
        item
        for item in found
        if item.status != "shadow"
        and (subject is None or item.subject == subject)
        and (severity is None or rank(item.severity) >= rank(severity))
    ]
    kept.sort(key=lambda item: (item.detected_at, item.id), reverse=True)
    return page(kept, limit, after)


def page(items: list[Detection], limit: int, after: str) -> Response:
    """One page of records, and the id to ask for the next one with."""
    start = 0
    if after:
        ids = [item.id for item in items]
        if after not in ids:
            raise Refused(404, "not_found", f"no detection {after!r:.80} to go on from")
        start = ids.index(after) + 1
    shown = items[start : start + limit]
    more = shown[-1].id if start + limit < len(items) else None
    return json_response({"detections": [item.to_dict() for item in shown], "next": more})


@router.get("/detections/{id}")
def show_detection(service: Running, key: CanRead, id: str) -> Response:  # noqa: A002
    """One detection with its changes and verdicts."""
    found = service.store.detections(ids=[id])
    if not found:
        raise Refused(404, "not_found", f"no detection {id!r:.80}")
    record: dict[str, Any] = found[0].to_dict()
    record["changes"] = service.store.history(id)
    record["verdicts"] = [verdict.to_dict() for verdict in service.store.verdicts(id)]
    return json_response(record)
