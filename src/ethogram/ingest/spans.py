"""Spans: what OpenTelemetry exporters write, in the one form that the rest reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .documents import dict_of, list_of, one_of, text_at
from .errors import BadLine
from .run_told import moment_of
from .run_values import plain, seconds

NANOS = 1_000_000_000
DEEPEST = 200
DETAILS = "gen_ai.client.inference.operation.details"
"""The log record in which a model call is told where its content is not written into the span."""
STARTS = (
    *("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "timestamp", "timeUnixNano"),
    *("observed_timestamp", "observedTimeUnixNano"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """One span. `attributes` are nested by the dots in their names; `error` is text, true or None."""

    trace: str
    id: str
    parent: str | None
    name: str
    start: datetime | None
    end: datetime | None
    attributes: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]
    error: str | bool | None

    @property
    def duration(self) -> float | None:
        """Seconds from its start to its end."""
        if self.start is None or self.end is None:
            return None
        return max(0.0, (self.end - self.start).total_seconds())


def is_span(told: Any) -> bool:
    """Whether an object looks like a span."""
    one = dict_of(told)
    named = ("span_id" in one or "spanId" in one) and ("trace_id" in one or "traceId" in one)
    context = dict_of(one.get("context"))
    return (named or "span_id" in context) and (
        "name" in one or "span_name" in one or _event_name(one) == DETAILS
    )


def _event_name(one: Mapping[str, Any]) -> str | None:
    return text_at(one, "event_name", "eventName")


def spans_in(told: Any, depth: int = 0) -> Iterator[Span | str]:
    """Every span in a value, those nested in others included; text says what is wrong with one."""
    one = dict_of(told)
    if depth > DEEPEST:
        yield f"spans nested deeper than {DEEPEST}"
        return
    boxes = (
        *("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "child_spans", "data"),
        *("resourceLogs", "scopeLogs", "logRecords"),
    )
    if is_span(one):
        try:
            yield _span(one)
        except BadLine as bad:
            yield f"span {plain(one.get('span_id', one.get('spanId')))}: {bad.message}"
    elif not any(key in one for key in boxes):
        yield "neither a span nor an object with spans"
    for key in boxes:
        for inner in list_of(one.get(key)):
            yield from spans_in(inner, depth + 1)


def _span(one: Mapping[str, Any]) -> Span:
    context = dict_of(one.get("context"))
    start = _time(one, *STARTS)
    end = _time(one, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
    if end is None and start is not None and (lasted := seconds(one.get("duration"))) is not None:
        end = start + timedelta(seconds=min(lasted, 1e9))
    given = next((one[key] for key in ("attributes", "span_attributes") if key in one), None)
    kind = text_at(one, "span_kind")
    attributes = nested(given)
    if kind and kind.isupper() and "openinference" not in attributes:  # Phoenix keeps it apart
        attributes["openinference"] = {"span": {"kind": kind}}
    return Span(
        plain(one.get("traceId", one.get("trace_id", context.get("trace_id")))) or "trace",
        plain(one.get("spanId", one.get("span_id", context.get("span_id")))) or "",
        plain(one.get("parentSpanId", one.get("parent_span_id", one.get("parent_id")))),
        text_at(one, "name", "span_name") or _event_name(one) or "",
        start,
        end,
        attributes,
        tuple(event for event in list_of(one.get("events")) if isinstance(event, dict)),
        _error(one),
    )


def _time(one: Mapping[str, Any], *keys: str) -> datetime | None:
    for key in keys:
        if (given := one.get(key)) in (None, ""):
            continue
        if "ano" in key and (nanos := plain(given)) is not None and nanos.isdigit() and len(nanos) < 20:
            return _EPOCH + timedelta(microseconds=int(nanos) // 1000)
        return moment_of(given)
    return None


def _error(one: Mapping[str, Any]) -> str | bool | None:
    status = dict_of(one.get("status"))
    code = str(status.get("code", status.get("status_code", one.get("status_code"))))
    if code.upper() not in ("2", "ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR"):
        return None
    return text_at(status, "message", "description") or text_at(one, "status_message") or True


def nested(given: Any) -> dict[str, Any]:
    """Attributes nested by the dots in their names, whether given as an object or as OTLP's list of pairs.

    >>> nested({"a.b": 1, "a.c.0": 2}), nested([{"key": "a", "value": {"intValue": "3"}}])
    ({'a': {'b': 1, 'c': {'0': 2}}}, {'a': 3})
    """
    if isinstance(given, list):
        given = {str(dict_of(one).get("key")): _value(dict_of(one).get("value")) for one in given}
    out: dict[str, Any] = {}
    for key, value in dict_of(given).items():
        box, parts = out, key.split(".")[:DEEPEST]
        for part in parts[:-1]:
            inner = box.get(part)
            if not isinstance(inner, dict):
                inner = box[part] = {} if inner is None else {"": inner}
            box = inner
        last = box.get(parts[-1])
        if isinstance(last, dict) and isinstance(value, dict):
            last.update(value)
        else:
            box[parts[-1]] = value if last is None else {**dict_of(last), "": value}
    return out


def _value(value: Any, depth: int = 0) -> Any:
    """A value as OTLP's JSON wraps it."""
    told = dict_of(value)
    if len(told) != 1 or depth > DEEPEST:
        return value
    kind, inner = next(iter(told.items()))
    if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdigit() and len(inner) < 20:
        return int(inner)
    if kind == "arrayValue":
        return [_value(one, depth + 1) for one in list_of(dict_of(inner).get("values"))]
    if kind == "kvlistValue":
        pairs = map(dict_of, list_of(dict_of(inner).get("values")))
        return {str(one.get("key")): _value(one.get("value"), depth + 1) for one in pairs}
    return inner if kind in ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue") else value


def at_path(attributes: Any, path: str) -> Any:
    """What stands under a dotted name in nested attributes; None where nothing does."""
    found = attributes
    for part in path.split("."):
        found = dict_of(found).get(part)
    return found.get("") if isinstance(found, dict) and "" in found else found


def listed(value: Any) -> list[Any]:
    """A list, whether given as one, as JSON text, or as an object with the places as names."""
    if isinstance(value, str):
        try:
            value = one_of(value)
        except BadLine:
            return []
    if isinstance(value, dict):
        places = sorted((key for key in value if key.isdecimal() and len(key) < 9), key=int)
        return [value[key] for key in places]
    return list_of(value)


def kind_of(span: Span) -> str | None:
    """What a span is, in the words of either convention; None where it is no part of an agent."""
    for key in ("openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind"):
        if isinstance(found := at_path(span.attributes, key), str) and found:
            return {"tool": "TOOL", "agent": "AGENT", "task": "CHAIN", "workflow": "CHAIN"}.get(found, found)
    return None
