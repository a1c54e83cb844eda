"""OpenTelemetry: a detection is a log record `gen_ai.evaluation.result`, sent as OTLP/HTTP in JSON.

The conventions for generative AI are still in development: `ATTRIBUTES` is the only place that names them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from time import sleep as wait
from typing import Any
from urllib.parse import unquote

import ethogram

from ...errors import BadUsage
from ...models import EPOCH, parse_time, stable_hash
from ...remote.posting import Poster
from .base import Record, exporter, place_of, post_json, score_of, session_of

EVENT = "gen_ai.evaluation.result"
ATTRIBUTES = {
    "name": "gen_ai.evaluation.name",
    "score": "gen_ai.evaluation.score.value",
    "label": "gen_ai.evaluation.score.label",
    "explanation": "gen_ai.evaluation.explanation",
    "session": "gen_ai.conversation.id",
    "uid": "log.record.uid",
    "detection": "ethogram.detection.id",
    "subject": "ethogram.subject",
    "state": "ethogram.detection.state",
}
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
LEVELS = {"low": (9, "INFO"), "medium": (13, "WARN"), "high": (17, "ERROR"), "critical": (17, "ERROR")}
"""Severity of a detection -> severity number and text of a log record."""


@exporter("otel")
class OpenTelemetry:
    """Log records over OTLP/HTTP. Servers add each, so equal ones carry an equal `log.record.uid`."""

    def __init__(self, url: str, *, sleep: Callable[[float], None] = wait) -> None:
        self._poster = Poster("otel", url, headers_of(os.environ.get(HEADERS, "")), sleep=sleep)
        self._path = "" if self._poster.url.endswith("/v1/logs") else "/v1/logs"

    def send(self, record: Record) -> str:
        """Send one log record."""
        scope = {"name": "ethogram", "version": ethogram.__version__}
        logs = {"scope": scope, "logRecords": [log_record(record)]}
        resource = {"attributes": attributes_of({"service.name": "ethogram"})}
        body = {"resourceLogs": [{"resource": resource, "scopeLogs": [logs]}]}
        posted = post_json(self._poster, self._path, body, HEADERS)
        if not posted.why and is_rejected(posted.body):
            return "the server rejected the log record"
        return posted.why


def is_rejected(answer: bytes) -> bool:
    """Whether an answer in JSON, with HTTP 200, says that records were not taken.

    >>> is_rejected(b'{"partialSuccess": {"rejectedLogRecords": "1"}}')
    True
    """
    body = json.loads(answer or b"{}")
    partial = body.get("partialSuccess") if isinstance(body, dict) else None
    return isinstance(partial, dict) and str(partial.get("rejectedLogRecords") or 0) != "0"


def log_record(record: Record) -> dict[str, Any]:
    """The log record of a detection, in the JSON form of OTLP."""
    score, label = score_of(record)
    values = {
        "name": record["pattern"],
        "score": float(score),
        "label": label,
        "explanation": record["explanation"],
        "session": session_of(record),
        "uid": stable_hash("log", record["id"], label, score, record["explanation"])[:32],
        "detection": record["id"],
        "subject": record["subject"],
        "state": record["state"],
    }
    number, text = LEVELS[record["severity"]]
    result: dict[str, Any] = {
        "eventName": EVENT,
        "severityNumber": number,
        "severityText": text,
        "body": {"stringValue": record["explanation"]},
        "attributes": attributes_of({ATTRIBUTES[name]: value for name, value in values.items()}),
    }
    at = parse_time(record["detected_at"]) if record.get("detected_at") else EPOCH
    # Events of a source without times count the seconds from 1970.
    if at.year > EPOCH.year:
        result["timeUnixNano"] = nanoseconds(at)
    place = place_of(record.get("last_event") or "")
    return result if place is None else {**result, "traceId": place.trace, "spanId": place.span}


def attributes_of(values: Mapping[str, str | float | None]) -> list[dict[str, Any]]:
    """Attributes in the JSON form of OTLP; None is left out."""
    return [
        {"key": key, "value": {"doubleValue" if isinstance(value, float) else "stringValue": value}}
        for key, value in values.items()
        if value is not None
    ]


def nanoseconds(at: datetime) -> str:
    """Nanoseconds since 1970, as JSON writes 64 bits.

    >>> from datetime import UTC
    >>> nanoseconds(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    '1000005000'
    """
    return str((at - EPOCH) // timedelta(microseconds=1) * 1000)


def headers_of(text: str) -> dict[str, str]:
    """The headers of OTEL_EXPORTER_OTLP_HEADERS: `name=value`, with commas between and values quoted.

    >>> headers_of("x-api-key=a%20b,tenant=1")
    {'x-api-key': 'a b', 'tenant': '1'}
    """
    headers: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if (
            not equals
            or not name.replace("-", "").isalnum()
            or not value.isascii()
            or not value.isprintable()
        ):
            raise BadUsage(f"otel: {HEADERS} is invalid: expected NAME=VALUE,NAME=VALUE")
        headers[name] = value
    return headers
