"""OTLP/HTTP in: spans and log records of agents, as JSON and protobuf."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Request
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs_pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_pb
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ..ingest.format import Record
from ..ingest.values import as_dict, as_dicts
from ..models.limits import Limits
from .keys import ApiKey
from .live_traces import LiveRuns
from .request_checks import body_of, json_response, requires
from .state import Service

router = APIRouter(prefix="/v1")
CanIngest = Annotated[ApiKey | None, Depends(requires("ingest"))]
SOURCE = "otel"
PROTOBUF = "application/x-protobuf"
IDS = ("traceId", "spanId", "parentSpanId")
INVALID = 3
"""The code of gRPC for a request that is malformed."""


@router.post("/traces")
async def add_spans(request: Request, key: CanIngest) -> Response:
    """Spans of agents by the GenAI conventions or OpenInference; others are accepted and left out."""
    return await _export(
        request, trace_pb.ExportTraceServiceRequest, trace_pb.ExportTraceServiceResponse, "rejected_spans"
    )


@router.post("/logs")
async def add_logs(request: Request, key: CanIngest) -> Response:
    """Log records of Claude Code, and those of model calls; others are accepted and left out."""
    return await _export(
        request, logs_pb.ExportLogsServiceRequest, logs_pb.ExportLogsServiceResponse, "rejected_log_records"
    )


async def _export(
    request: Request, request_type: Callable[[], Message], answer_type: Callable[[], Any], rejected: str
) -> Response:
    service: Service = request.app.state.service
    runs: LiveRuns = request.app.state.live_runs
    is_protobuf = request.headers.get("content-type", "").partition(";")[0].strip() == PROTOBUF
    body = await body_of(request, service.options.body_bytes)
    service.writer.check_room()
    now = service.now()
    try:
        document = await run_in_threadpool(_protobuf if is_protobuf else _json, body, request_type)
    except ValueError as error:
        return _status(str(error), is_protobuf)
    is_log = rejected == "rejected_log_records"
    records, faults = await run_in_threadpool(runs.logs if is_log else runs.spans, document, len(body), now)
    try:
        faults += await _written(service, records, now)
    except BaseException:
        runs.forget(records)
        raise
    answer = answer_type()
    if faults:
        setattr(answer.partial_success, rejected, len(faults))
        answer.partial_success.error_message = "; ".join(faults[:5])[:1000]
    if is_protobuf:
        return Response(answer.SerializeToString(), media_type=PROTOBUF)
    return json_response(MessageToDict(answer))


async def _written(service: Service, records: list[Record], now: datetime) -> list[str]:
    """Write events; returns what was wrong with those that are left out."""

    def read() -> Any:
        return service.intake.collect(records, service.writer.kinds, source=SOURCE, now=now, skip_bad=True)

    received = await run_in_threadpool(read)
    if received.staged:
        await asyncio.wrap_future(service.writer.submit(received, now))
    return [fault.message for fault in received.faults]


def _json(body: bytes, _: Callable[[], Message]) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"the body is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ValueError("the body is not an object of OTLP")
    return document


def _protobuf(body: bytes, request_type: Callable[[], Message]) -> dict[str, Any]:
    """A message in OTLP's form of JSON, in which ids are hexadecimal."""
    message = request_type()
    try:
        message.ParseFromString(body)
    except DecodeError:
        raise ValueError("the body is not a protobuf message of OTLP") from None
    document: dict[str, Any] = MessageToDict(message)
    for kind, scopes, items in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for resource in as_dicts(document.get(kind)):
            for scope in as_dicts(resource.get(scopes)):
                for item in as_dicts(scope.get(items)):
                    item |= {key: base64.b64decode(item[key]).hex() for key in IDS if key in as_dict(item)}
    return document


def _status(message: str, is_protobuf: bool) -> Response:
    """A malformed request: google.rpc.Status, as OTLP answers it."""
    if not is_protobuf:
        return json_response({"code": INVALID, "message": message}, 400)
    text = message.encode()[:120]
    return Response(bytes((8, INVALID, 18, len(text))) + text, 400, media_type=PROTOBUF)


def live_runs(service: Service) -> LiveRuns:
    """The traces and sessions under way of a service."""
    return LiveRuns(Limits(**service.settings.limits))
