"""OpenTelemetry: spans of agents as JSON, by the GenAI conventions or those of OpenInference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .adapter import Adapter, Input, Record, adapter
from .documents import Broken, dict_of, documents, list_of
from .heads import look
from .otel_trace import Trace
from .spans import Span, at_path, is_span, spans_in

THREADS = ("gen_ai.conversation.id", "session.id")


@adapter("otel")
class OtelSpans(Adapter):
    """OTLP (`resourceSpans`), or objects with a trace id, a span id and a name; nested or on lines."""

    def recognises(self, head: bytes, name: str) -> bool:
        return any(map(_has_spans, look(head).objects))

    def read(self, file: Input) -> Iterator[Record]:
        """The events of each trace: calls and results of tools, and what went into and came out of models."""
        traces: dict[str, list[tuple[int, Span]]] = {}
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
                continue
            for span in spans_in(told):
                if isinstance(span, str):
                    yield line, span, 0
                else:
                    traces.setdefault(span.trace, []).append((line, span))
        for name, spans in traces.items():
            yield from Trace(_thread(spans) or name, name, spans, file).records()


def _has_spans(told: Mapping[str, Any]) -> bool:
    if "resourceSpans" in told or "resource_spans" in told or is_span(told) or _has_logs(told):
        return True
    inner = list_of(told.get("spans")) or list_of(told.get("data"))
    return bool(inner) and is_span(inner[0])


def _has_logs(told: Mapping[str, Any]) -> bool:
    """Whether these are log records with at least one of a model call; others are no business of ours."""
    scopes = [
        scope for one in list_of(told.get("resourceLogs")) for scope in list_of(dict_of(one).get("scopeLogs"))
    ]
    records = [record for scope in scopes for record in list_of(dict_of(scope).get("logRecords"))]
    return any(map(is_span, records))


def _thread(spans: list[tuple[int, Span]]) -> str | None:
    """The conversation that a trace is part of."""
    for _, span in spans:
        for key in THREADS:
            if isinstance(found := at_path(span.attributes, key), str) and found:
                return found
    return None
