"""Detections as they change: server-sent events that continue where a client stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from ..errors import StoreFailed
from ..models.slotted import replace
from ..store.records import Change
from .request_checks import Refused
from .routes import CanRead, Running
from .state import Service

router = APIRouter(prefix="/v1")
ALIVE = 15
"""Seconds after which a line says that the stream is alive."""
WAITING = 1_000
"""Changes that wait for a slow client before it is cut off; it comes back and continues."""
PAGE = 1_000


@router.get("/detections/stream", response_class=StreamingResponse)
async def stream(
    request: Request,
    service: Running,
    key: CanRead,
    after: Annotated[int | None, Query(ge=0, description="The id of the last change that was seen.")] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Changes of detections as server-sent events: from now on, or all after one."""
    if after is None and last_event_id:
        if not last_event_id.isdecimal() or len(last_event_id) > 18:
            raise Refused(400, "bad_request", "invalid Last-Event-ID: expected the id of a change")
        after = int(last_event_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        changes(request, service, after), media_type="text/event-stream", headers=headers
    )


async def changes(request: Request, service: Service, after: int | None) -> AsyncIterator[bytes]:
    """The lines of the stream; it listens before it reads, so that nothing falls between."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Change | None] = asyncio.Queue(WAITING)

    def put(change: Change | None) -> None:
        # A client that cannot keep up is cut off: None ends the stream.
        while queue.full():
            queue.get_nowait()
            change = None
        queue.put_nowait(change)

    def tell(change: Change) -> None:
        loop.call_soon_threadsafe(put, change)

    end = service.listen(tell)
    try:
        yield b"retry: 2000\n\n"
        last = after or 0
        while after is not None:
            try:
                page = await run_in_threadpool(service.store.changes, last, PAGE)
            except StoreFailed as error:
                service.store_failed(error)
                return  # the client comes back and continues
            for change in page:
                last = change.key
                yield line_of(change)
            if len(page) < PAGE:
                break
        quiet = 0
        while not await request.is_disconnected() and not service.is_closing:
            try:
                async with asyncio.timeout(1):
                    item = await queue.get()
            except TimeoutError:
                quiet += 1
                if quiet % ALIVE == 0:
                    yield b": alive\n\n"
                continue
            if item is None:
                return
            if item.key > last:
                last = item.key
                yield line_of(item)
    finally:
        end()


def line_of(change: Change) -> bytes:
    """One server-sent event: JSON on a single line, so that no text can break out of it."""
    record = replace(change.detection, change=change.change).to_dict()
    return b"id: %d\nevent: detection\ndata: %b\n\n" % (change.key, msgspec.json.encode(record))
