"""What an exporter is: it sends detection records to one server, and sending one again changes nothing there.

An exporter is one class with `@exporter("name")` in a file of this folder, or an entry point
`ethogram.exporters` of another package.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import sleep as wait
from typing import Any, NamedTuple, Protocol

from ... import registry
from ...errors import BadUsage, Fault
from ...fields import Count, Name, RecordStruct
from ...models import SEVERITIES, parse_time
from ...models.detection import STANDING, STATES
from ...remote.address import key_variable
from ...remote.posting import Posted, Poster

Record = Mapping[str, Any]
"""A detection as JSON, as `ethogram analyze --json` writes it."""
_SPAN = re.compile(r"([0-9a-f]{32})/([0-9a-f]{16})(#\d+)?")
"""The id of an event that was read from a span of OpenTelemetry."""


class Exporter(Protocol):
    """Sends detections as scores to one server."""

    def __init__(self, url: str, *, sleep: Callable[[float], None] = wait) -> None:
        """Check the address and take keys from the environment; BadUsage where one is wrong."""

    def send(self, record: Record) -> str:
        """Send a detection; '' or why it was not delivered, in words that repeat nothing of it."""


def exporter(name: str) -> Callable[[type], type]:
    """Register an exporter: `@exporter("phoenix")`."""
    register: Callable[[type], type] = registry.exporters.register(name)
    return register


def make(name: str, url: str, *, sleep: Callable[[float], None] = wait) -> Exporter:
    """The exporter of a name for a server; BadUsage for an unknown name or a bad address."""
    made: Exporter = registry.exporters.get(name)(url, sleep=sleep)
    return made


def parse(text: str) -> tuple[str, str]:
    """The name and URL of `--export NAME=URL`.

    >>> parse("phoenix=http://localhost:6006")
    ('phoenix', 'http://localhost:6006')
    """
    name, equals, url = text.partition("=")
    if not (name and equals and url):
        raise BadUsage(
            f"invalid --export {name!r:.40}: expected NAME=URL, like phoenix=http://localhost:6006"
        )
    return name, url


# --- what a detection says ------------------------------------------------------------------


class Place(NamedTuple):
    """A span of a trace."""

    trace: str
    span: str


def place_of(event: str) -> Place | None:
    """The span that an event was read from; None for events of other formats.

    >>> place_of("0af7651916cd43dd8448eb211c80319c/b7ad6b7169203331#2").span
    'b7ad6b7169203331'
    """
    match = _SPAN.fullmatch(event)
    return Place(match[1], match[2]) if match else None


def places_of(record: Record) -> list[Place]:
    """The spans of its evidence, each once."""
    places = (place_of(item["event"]) for item in record["evidence"])
    return list(dict.fromkeys(place for place in places if place is not None))


def session_of(record: Record) -> str | None:
    """The session: the thread, else the subject; None where the thread is only a trace."""
    session: str = record["thread"] or record["subject"]
    return None if session in {place.trace for place in places_of(record)} else session


def score_of(record: Record) -> tuple[float, str]:
    """The confidence and the severity; 0 and its state for one that was withdrawn or superseded.

    >>> score_of({"state": "closed", "confidence": 0.8, "severity": "high"})
    (0.8, 'high')
    >>> score_of({"state": "withdrawn", "confidence": 0.8, "severity": "high"})
    (0.0, 'withdrawn')
    """
    if record["state"] in STANDING:
        return record["confidence"], record["severity"]
    return 0.0, record["state"]


def metadata_of(record: Record) -> dict[str, Any]:
    """What else a reader wants to know; nothing of texts."""
    names = ("title", "version", "state", "severity", "confidence", "source", "subject", "target", "thread")
    more = ("opened_at", "detected_at", "closed_at", "count", "recommendation")
    fields = {"detection": record["id"], **{name: record.get(name) for name in (*names, *more)}}
    return {name: value for name, value in fields.items() if value is not None}


# --- sending -------------------------------------------------------------------------------


PATIENCE = 3
"""Deliveries that may fail in a row before the rest is not tried."""


class Exported(RecordStruct):
    """What `export-scores` sent."""

    RECORD = "exported"

    to: Name
    sent: Count
    failed: Count
    """Detections that the server did not take."""
    left: Count
    """Detections that were not tried, since several before them failed."""


def send_all(
    name: str, to: Exporter, records: Sequence[Record], failed: Callable[[Record, str], None]
) -> Exported:
    """Send detections one by one; `failed` is called for each that was not delivered, with the reason."""
    sent = bad = in_a_row = 0
    for record in records:
        if in_a_row >= PATIENCE:
            break
        if why := to.send(record):
            failed(record, why)
            bad, in_a_row = bad + 1, in_a_row + 1
        else:
            sent, in_a_row = sent + 1, 0
    return Exported(to=name, sent=sent, failed=bad, left=len(records) - sent - bad)


def key_from(name: str, variable: str, *, needed: bool) -> str | None:
    """The key in a variable of the environment; None without one, if none is needed."""
    if not needed and not os.environ.get(variable):
        return None
    return os.environ[key_variable(name, None, True, False, variable) or variable]


def post_json(poster: Poster, path: str, body: Mapping[str, Any], keys: str) -> Posted:
    """Post an object. `keys` are the variables of the environment with the keys, for the error.

    An answer that is not JSON is a failure: it may be the page of a login.
    """
    posted = poster.post(json.dumps(body, ensure_ascii=True, allow_nan=False).encode(), path)
    if posted.why:
        hint = {401: f": check {keys}", 404: ": check the URL", 405: ": check the URL"}.get(posted.status, "")
        return posted._replace(why=posted.why + hint)
    try:
        json.loads(posted.body or b"{}")
    except (ValueError, RecursionError):
        return posted._replace(why="the answer is not JSON: check the URL")
    return posted


# --- records that were written to a file ----------------------------------------------------

_TEXTS = ("id", "pattern", "subject", "explanation")


def read_records(lines: Iterable[str], path: str) -> list[Record]:
    """The detections among JSON records, each id once and as last written; BadUsage carries all faults."""
    records: dict[str, Record] = {}
    faults: list[Fault] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("record"), str):
            faults.append(
                Fault(path, number, 0, "is not a record: expected those of ethogram analyze --json")
            )
        elif record["record"] == "detection" and (wrong := _wrong(record)):
            faults.append(Fault(path, number, 0, f"is not a valid detection: invalid {wrong}"))
        elif record["record"] == "detection":
            records[record["id"]] = record
    if faults:
        raise BadUsage(faults[:50], more=max(0, len(faults) - 50))
    return list(records.values())


def _is_time(value: Any) -> bool:
    try:
        return value is None or bool(parse_time(value))
    except (ValueError, TypeError, AttributeError):
        return False


def _wrong(record: Record) -> str:
    """The first field that is not as it must be; '' where all are."""
    confidence, evidence = record.get("confidence"), record.get("evidence")
    checks = {
        **{name: isinstance(record.get(name), str) and bool(record[name]) for name in _TEXTS},
        "thread": isinstance(record.get("thread"), str | None),
        "severity": record.get("severity") in SEVERITIES,
        "state": record.get("state") in STATES,
        "confidence": type(confidence) in (int, float) and 0 <= confidence <= 1,  # type: ignore[operator]
        "evidence": isinstance(evidence, list)
        and all(isinstance(item, dict) and isinstance(item.get("event"), str) for item in evidence),
        "detected_at": _is_time(record.get("detected_at")),
    }
    return next((name for name, right in checks.items() if not right), "")
