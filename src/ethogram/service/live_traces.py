"""Traces and sessions of which a part comes with each request, as events that do not depend on the parts."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from io import BytesIO
from typing import Any, NamedTuple

from ..ingest.format import Input, Record
from ..ingest.formats.claude_code_otlp import SessionLogs, log_name
from ..ingest.formats.opentelemetry import THREADS, PlacedSpan, TraceTranscript, is_span, nested, spans_in
from ..ingest.transcript import ASKING, UNTIMED, Transcript
from ..ingest.values import as_dict, as_dicts, as_name
from ..models import format_time
from ..models.limits import Limits

MOST_RUNS = 2_000
MOST_BYTES = 64 * 2**20
"""Runs in memory, and bytes of the requests they came with; parts of others are read by themselves."""
UNNAMED = "unknown_service"
CLAUDE_CODE = "claude-code"
"""The source of its log records."""


class Part(NamedTuple):
    """What a request has of one trace or session."""

    key: str
    agent: str | None
    """The name of the service, for agents without one."""
    items: list[Any]


class LiveRun:
    """A trace or session so far."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.seen: set[str] = set()
        self.bytes = 0


class LiveRuns:
    """Traces and sessions that are under way. Safe for several threads."""

    def __init__(self, limits: Limits) -> None:
        self._file = Input("body", BytesIO(), b"", {}, limits)
        self._runs: OrderedDict[str, LiveRun] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def spans(self, document: Any, size: int, now: datetime) -> tuple[list[Record], list[str]]:
        """The new events of spans, and what is wrong with others."""
        parts: dict[str, Part] = {}
        faults: list[str] = []
        for resource in as_dicts(as_dict(document).get("resourceSpans")):
            for scope in as_dicts(resource.get("scopeSpans")):
                _sort_spans(as_dicts(scope.get("spans")), _service(resource), parts, faults)
        return self._told(parts.values(), size, now), faults

    def logs(self, document: Any, size: int, now: datetime) -> tuple[list[Record], list[str]]:
        """The new events of log records: Claude Code's, and those of model calls; others do not count."""
        parts: dict[str, Part] = {}
        sessions: dict[str, Part] = {}
        faults: list[str] = []
        for resource in as_dicts(as_dict(document).get("resourceLogs")):
            service = _service(resource)
            for scope in as_dicts(resource.get("scopeLogs")):
                for log in as_dicts(scope.get("logRecords")):
                    if name := log_name(log):
                        fields = nested(log.get("attributes"))
                        session = as_name(as_dict(fields.get("session")).get("id")) or "session"
                        part = sessions.setdefault(session, Part(session, service, []))
                        part.items.append((name, fields))
                    elif is_span(log):
                        _sort_spans([log], service, parts, faults)
        return [
            *self._told(parts.values(), size, now),
            *self._told(sessions.values(), size, now, is_log=True),
        ], faults

    def forget(self, records: Iterable[Record]) -> None:
        """Drop the runs of events that could not be written, so that they count when they are sent again."""
        threads = {line["thread"] for _, line, _ in records if isinstance(line, dict)}
        with self._lock:
            for key, run in list(self._runs.items()):
                if run.transcript.thread in threads:
                    self._drop(key)

    def _told(self, parts: Iterable[Part], size: int, now: datetime, *, is_log: bool = False) -> list[Record]:
        parts = list(parts)
        records: list[Record] = []
        with self._lock:
            for part in parts:
                key = f"{'log' if is_log else 'trace'} {part.key}"
                run = self._runs.get(key)
                if run is None:
                    run = self._runs[key] = LiveRun(self._begun(part, is_log=is_log))
                self._runs.move_to_end(key)
                records += _log_events(run, part) if is_log else _span_events(run, part)
                run.bytes += size // len(parts)
                self._bytes += size // len(parts)
            while self._runs and (len(self._runs) > MOST_RUNS or self._bytes > MOST_BYTES):
                self._drop(next(iter(self._runs)))
        return [
            (line, _timed(value, now) if isinstance(value, dict) else value, 0) for line, value, _ in records
        ]

    def _begun(self, part: Part, *, is_log: bool) -> Transcript:
        if is_log:
            session = SessionLogs(part.key, self._file)
            session.agent = part.agent or session.agent
            return session
        spans: list[PlacedSpan] = part.items
        threads = (span.text(key) for _, span in spans for key in THREADS)
        trace = TraceTranscript(next(filter(None, threads), part.key), part.key, spans, self._file)
        if not trace.has_agents:
            trace.agent = part.agent or trace.agent
        return trace

    def _drop(self, key: str) -> None:
        self._bytes -= self._runs.pop(key).bytes


def _sort_spans(
    items: Iterable[Mapping[str, Any]], service: str | None, parts: dict[str, Part], faults: list[str]
) -> None:
    for item in items:
        for span in spans_in(item):
            if isinstance(span, str):
                faults.append(span)
            else:
                parts.setdefault(span.trace, Part(span.trace, service, [])).items.append((1, span))


def _service(resource: Mapping[str, Any]) -> str | None:
    attributes = nested(as_dict(resource.get("resource")).get("attributes"))
    name = as_name(as_dict(attributes.get("service")).get("name"))
    return None if name is None or name.startswith(UNNAMED) else name


def _span_events(run: LiveRun, part: Part) -> Iterator[Record]:
    """The events that the spans of a part add; each span counts once."""
    trace = run.transcript
    assert isinstance(trace, TraceTranscript)
    new = [(line, span) for line, span in part.items if span.id not in run.seen]
    if run.seen:
        trace.extend(new)
    run.seen.update(span.id for _, span in new)
    for line, value, column in [*trace.records()] if new else []:
        yield line, _named(value, trace.prefix) if isinstance(value, dict) else value, column


def _named(event: dict[str, Any], prefix: str) -> dict[str, Any]:
    """An event with an id that does not count events: what was said to a model is known by its text."""
    attributes = event["attributes"]
    if event["kind"] != "message" or attributes.get("role") not in ASKING:
        return event
    moment = str(event.get("at")) if "error" in attributes else ""
    content = "\x00".join((attributes["role"], moment, event["text"]))
    return {**event, "id": f"{prefix}/{hashlib.sha256(content.encode()).hexdigest()[:16]}"}


def _log_events(run: LiveRun, part: Part) -> Iterator[Record]:
    """The events that the log records of a part add; each has its number in the session."""
    session = run.transcript
    for name, fields in part.items:
        number = as_name(as_dict(fields.get("event")).get("sequence"))
        if number is not None and number in run.seen:
            continue
        run.seen.add(number or "")
        before = len(session.events)
        session.add_records(1, [(name, fields)])
        for count, event in enumerate(session.events[before:]):
            own = f"{part.key}/{number}" + (f"#{count + 1}" if count else "")
            named = {**event, "id": own} if number is not None else event
            yield 1, {**named, "source": CLAUDE_CODE}, 0


def _timed(event: dict[str, Any], now: datetime) -> dict[str, Any]:
    """An event that happened now where it has no time."""
    if "at" in event:
        return event
    kept = {key: value for key, value in event.items() if (key, value) != ("source", UNTIMED)}
    return {**kept, "at": format_time(now)}
