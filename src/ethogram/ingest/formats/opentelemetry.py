"""OpenTelemetry: spans of agents as JSON, by the GenAI conventions or OpenInference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ...models import EPOCH
from ...models.slotted import dataclass, replace
from ..chat_messages import tool_calls
from ..errors import BadLine
from ..format import Head, Input, Record, adapter
from ..transcript import AGENT, ToolCall, Transcript, TranscriptAdapter
from ..values import (
    as_dict,
    as_dicts,
    as_list,
    as_name,
    moment_of,
    number_at,
    parsed,
    recorded_text,
    seconds_of,
    text_at,
    text_of,
    without_none,
    words,
)

DEEPEST = 200
DETAILS = "gen_ai.client.inference.operation.details"
"""The log record of a model call whose content is not written into the span."""
STARTS = (
    *("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "timestamp", "timeUnixNano"),
    *("observed_timestamp", "observedTimeUnixNano"),
)
ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
CONTAINERS = (
    *("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "child_spans", "data"),
    *("resourceLogs", "scopeLogs", "logRecords"),
)
THREADS = ("gen_ai.conversation.id", "session.id")


@adapter("otel")
class OtelSpans(TranscriptAdapter):
    """OTLP (`resourceSpans`), or objects with a trace id, a span id and a name; nested or on lines."""

    beside = words(
        "resource scope logs links gen_ai.tool.description gen_ai.tool.definitions gen_ai.agent.description "
        "tool.description tool.parameters llm.invocation_parameters llm.tools"
    )

    def matches(self, head: Head) -> bool:
        return any(map(_has_spans, head.objects))

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield the run of each trace: calls and results of tools, and messages to and from models."""
        traces: dict[str, list[PlacedSpan]] = {}
        faults = Transcript("", file)
        for line, document in documents:
            faults.line = line
            for span in spans_in(document):
                if isinstance(span, str):
                    faults.fault(span)
                else:
                    traces.setdefault(span.trace, []).append((line, span))
        yield faults
        for trace, spans in traces.items():
            threads = (span.text(key) for _, span in spans for key in THREADS)
            yield TraceTranscript(next(filter(None, threads), trace), trace, spans, file)


def _has_spans(record: Mapping[str, Any]) -> bool:
    if "resourceSpans" in record or "resource_spans" in record or is_span(record):
        return True
    # Log records count where at least one is of a model call.
    scopes = [
        scope for log in as_dicts(record.get("resourceLogs")) for scope in as_dicts(log.get("scopeLogs"))
    ]
    if any(is_span(log) for scope in scopes for log in as_list(scope.get("logRecords"))):
        return True
    inner = as_list(record.get("spans")) or as_list(record.get("data"))
    return bool(inner) and is_span(inner[0])


# Spans in a common form.


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

    @property
    def kind(self) -> str | None:
        """What the span is, in the words of either convention; None where it is no part of an agent."""
        kind = self.text("openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind")
        return {"tool": "TOOL", "agent": "AGENT", "task": "CHAIN", "workflow": "CHAIN"}.get(kind or "", kind)

    @property
    def is_of_agent(self) -> bool:
        """Whether its name or an attribute is one that only spans of agents have, whatever its kind."""
        operation = self.name.partition(" ")[0]
        is_named = operation in MODEL or operation in TOOL or operation in AGENTS
        return is_named or not CONVENTIONS.isdisjoint(self.attributes)

    @property
    def is_code_step(self) -> bool:
        """Whether this is a step of an agent that writes code, as smolagents names it."""
        return self.kind == "CHAIN" and _STEP.fullmatch(self.name) is not None

    def get(self, *paths: str) -> Any:
        """Return the first attribute under these dotted names."""
        for path in paths:
            value: Any = self.attributes
            for part in path.split("."):
                value = as_dict(value).get(part)
            value = value.get("") if isinstance(value, dict) and "" in value else value
            if value is not None:
                return value
        return None

    def text(self, *paths: str) -> str | None:
        """Return the first attribute under these dotted names that is a text and not empty."""
        values = (self.get(path) for path in paths)
        return next((value for value in values if isinstance(value, str) and value), None)


PlacedSpan = tuple[int, Span]
"""The line of a span, and the span."""


def is_span(record: Any) -> bool:
    """Return whether an object looks like a span."""
    fields = as_dict(record)
    has_ids = ("span_id" in fields or "spanId" in fields) and ("trace_id" in fields or "traceId" in fields)
    has_name = "name" in fields or "span_name" in fields or _log_name(fields) == DETAILS
    return (has_ids or "span_id" in as_dict(fields.get("context"))) and has_name


def _log_name(fields: Mapping[str, Any]) -> str | None:
    return text_at(fields, "event_name", "eventName")


def spans_in(record: Any, depth: int = 0) -> Iterator[Span | str]:
    """Yield every span in a value, those nested in others included; a message in place of a bad one."""
    fields = as_dict(record)
    if depth > DEEPEST:
        yield f"spans nested deeper than {DEEPEST}"
        return
    if is_span(fields):
        try:
            yield _span(fields)
        except BadLine as bad:
            yield f"span {as_name(fields.get('span_id', fields.get('spanId')))}: {bad.message}"
    elif not any(key in fields for key in CONTAINERS):
        yield "neither a span nor an object with spans"
    for key in CONTAINERS:
        for inner in as_list(fields.get(key)):
            yield from spans_in(inner, depth + 1)


def _span(fields: Mapping[str, Any]) -> Span:
    context = as_dict(fields.get("context"))
    start, end = _time(fields, STARTS), _time(fields, ENDS)
    if end is None and start is not None and (seconds := seconds_of(fields.get("duration"))) is not None:
        end = start + timedelta(seconds=min(seconds, 1e9))
    attributes = nested(fields.get("attributes", fields.get("span_attributes")))
    kind = text_at(fields, "span_kind")
    if kind and kind.isupper() and "openinference" not in attributes:  # Phoenix has it apart
        attributes["openinference"] = {"span": {"kind": kind}}
    return Span(
        as_name(fields.get("traceId", fields.get("trace_id", context.get("trace_id")))) or "trace",
        as_name(fields.get("spanId", fields.get("span_id", context.get("span_id")))) or "",
        as_name(fields.get("parentSpanId", fields.get("parent_span_id", fields.get("parent_id")))),
        text_at(fields, "name", "span_name") or _log_name(fields) or "",
        start,
        end,
        attributes,
        tuple(as_dicts(fields.get("events"))),
        _error(fields),
    )


def _time(fields: Mapping[str, Any], keys: Sequence[str]) -> datetime | None:
    key = next((key for key in keys if fields.get(key) not in (None, "")), None)
    if key is None:
        return None
    nanos = as_name(fields[key]) if "ano" in key else None
    if nanos is not None and nanos.isdigit() and len(nanos) < 20:
        return EPOCH + timedelta(microseconds=int(nanos) // 1000)
    return moment_of(fields[key])


def _error(fields: Mapping[str, Any]) -> str | bool | None:
    status = as_dict(fields.get("status"))
    code = str(status.get("code", status.get("status_code", fields.get("status_code"))))
    if code.upper() not in ("2", "ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR"):
        return None
    return text_at(status, "message", "description") or text_at(fields, "status_message") or True


def nested(attributes: Any) -> dict[str, Any]:
    """Return attributes nested by the dots in their names, from an object or from OTLP's list of pairs.

    >>> nested({"a.b": 1, "a.c.0": 2}), nested([{"key": "a", "value": {"intValue": "3"}}])
    ({'a': {'b': 1, 'c': {'0': 2}}}, {'a': 3})
    """
    if isinstance(attributes, list):
        pairs = map(as_dict, attributes)
        attributes = {str(pair.get("key")): _otlp_value(pair.get("value")) for pair in pairs}
    out: dict[str, Any] = {}
    for key, value in as_dict(attributes).items():
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
            box[parts[-1]] = value if last is None else {**as_dict(last), "": value}
    return out


def _otlp_value(value: Any, depth: int = 0) -> Any:
    """Return a value as OTLP's JSON wraps it, such as {"intValue": "3"}."""
    fields = as_dict(value)
    if len(fields) != 1 or depth > DEEPEST:
        return value
    kind, inner = next(iter(fields.items()))
    if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdigit() and len(inner) < 20:
        return int(inner)
    if kind == "arrayValue":
        return [_otlp_value(item, depth + 1) for item in as_list(as_dict(inner).get("values"))]
    if kind == "kvlistValue":
        pairs = map(as_dict, as_list(as_dict(inner).get("values")))
        return {str(pair.get("key")): _otlp_value(pair.get("value"), depth + 1) for pair in pairs}
    return inner if kind in ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue") else value


# Messages, by semantic convention.

INPUTS = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt")
OUTPUTS = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
THOUGHTS = ("reasoning", "thinking")


def input_messages(span: Span) -> list[dict[str, Any]]:
    """Return the messages a model was given, each with role, content and (of tools) tool_call_id."""
    messages: list[dict[str, Any]] = []
    system = span.get("gen_ai.system_instructions")
    if system is not None and (text := text_of(listed(system) or system)):
        messages.append({"role": "system", "content": text})
    for message in _messages(span, INPUTS):
        results = [part for part in _parts(message) if part.get("type") == "tool_call_response"]
        for part in results:
            result = part.get("response", part.get("result"))
            messages.append({"role": "tool", "content": result, "tool_call_id": part.get("id")})
        text, role = _text(message), text_at(message, "role") or "user"
        if not results or text:  # there may be a text beside the results
            messages.append({"role": role, "content": text, "tool_call_id": message.get("tool_call_id")})
    for event in span.events:
        name = text_at(event, "name") or ""
        if name.startswith("gen_ai.") and name.endswith(".message"):
            body = nested(event.get("attributes"))
            role = text_at(body, "role") or name.split(".")[1]
            messages.append({"role": role, "content": body.get("content"), "tool_call_id": body.get("id")})
    return messages


def output_of(span: Span) -> tuple[str, str, list[ToolCall]] | None:
    """Return text, thought and calls of a model's answer in one span; None where the span does not have it.

    Some write each piece of one answer (a thought, a text, each call) as a message: they are one.
    """
    messages = _messages(span, OUTPUTS)
    for event in span.events:
        if text_at(event, "name") == "gen_ai.choice":
            body = nested(event.get("attributes"))
            messages.append(as_dict(body.get("message")) or body)
    if not messages and (value := span.get("output.value")) is not None:
        messages = [{"content": value}]
    calls = [call for message in messages for call in _calls(message)]
    text, thought = _joined([*map(_text, messages)]), _joined([*map(_thought, messages)])
    return (text, thought, calls) if text or thought or calls else None


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(text for text in texts if text.strip())


def _messages(span: Span, paths: Sequence[str]) -> list[dict[str, Any]]:
    items = next((items for path in paths if (items := listed(span.get(path)))), [])
    return [as_dict(as_dict(item).get("message", item)) for item in items]


def listed(value: Any) -> list[Any]:
    """Return a list, whether given as one, as JSON text, or as an object with the places as names."""
    if isinstance(value, str):
        value = parsed(value)
    if isinstance(value, dict):
        places = sorted((key for key in value if key.isdecimal() and len(key) < 9), key=int)
        return [value[key] for key in places]
    return as_list(value)


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [as_dict(part) for part in as_list(message.get("parts"))]


def _contents(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    items = map(as_dict, listed(message.get("contents")))
    return [as_dict(item.get("message_content", item)) for item in items]


def _text(message: Mapping[str, Any]) -> str:
    if parts := _parts(message):
        return "\n".join(text_of(part.get("content")) for part in parts if part.get("type") == "text")
    if contents := _contents(message):
        return text_of([part for part in contents if part.get("type") not in (*THOUGHTS, "tool_use")])
    return text_of(message.get("content"))


def _thought(message: Mapping[str, Any]) -> str:
    thoughts = [part.get("content") for part in _parts(message) if part.get("type") in THOUGHTS]
    thoughts += [part.get("text") for part in _contents(message) if part.get("type") in THOUGHTS]
    return _joined([text_of(thought) for thought in thoughts])


def _calls(message: Mapping[str, Any]) -> list[ToolCall]:
    calls = [part for part in _parts(message) if part.get("type") == "tool_call"]
    calls += [
        as_dict(item.get("tool_call", item)) for item in map(as_dict, listed(message.get("tool_calls")))
    ]
    return tool_calls({"tool_calls": calls})


def usage(span: Span) -> dict[str, Any]:
    """Return the tokens a span used."""
    gen_ai, counts = span.get("gen_ai.usage"), span.get("llm.token_count")
    input_ = number_at(gen_ai, "input_tokens", "prompt_tokens") or number_at(counts, "prompt")
    output = number_at(gen_ai, "output_tokens", "completion_tokens") or number_at(counts, "completion")
    total = number_at(counts, "total")
    if total is None and (input_ or output):
        total = (input_ or 0) + (output or 0)
    cost = number_at(span.get("llm.cost"), "total")
    return without_none(input_tokens=input_, output_tokens=output, tokens=total, cost=cost)


# Deduplication: several instrumentations may record the same model call.

MODEL = frozenset(("LLM", "chat", "text_completion", "generate_content", "completion"))


def unique_calls(spans: Sequence[PlacedSpan]) -> list[PlacedSpan]:
    """Return the spans without those that repeat a model call.

    A library and the program around it may each record a call: one span inside the other, or two with the
    same response id. The one with the content counts, and of two that have it (or have not) the outer one.
    """
    spans = _with_log_records(spans)
    models = [span for _, span in spans if span.kind in MODEL]
    dropped = _repeated_inside(models) | _repeated_responses(models)
    return [(line, span) for line, span in spans if span.id not in dropped or span.kind not in MODEL]


def _repeated_inside(models: Sequence[Span]) -> set[str]:
    outer = {span.id: span for span in models}
    pairs = [(outer[span.parent], span) for span in models if span.parent in outer and span.id != span.parent]
    filled = {around.id for around, span in pairs if _has_output(span)}
    return {
        around.id if around.id in filled and not _has_output(around) else span.id
        for around, span in pairs
        if _has_output(around) or around.id in filled or usage(around)
    }


def _repeated_responses(models: Sequence[Span]) -> set[str]:
    first: dict[str, Span] = {}
    dropped: set[str] = set()
    for span in models:
        response = span.get("gen_ai.response.id")
        if not isinstance(response, str) or (other := first.setdefault(response, span)) is span:
            continue
        if _has_output(span) and not _has_output(other):
            first[response], span = span, other
        dropped.add(span.id)
    return dropped


def _has_output(span: Span) -> bool:
    return output_of(span) is not None


def _with_log_records(spans: Sequence[PlacedSpan]) -> list[PlacedSpan]:
    """Return the spans with the GenAI attributes of their log records, and log records without a span."""
    records = {span.id: as_dict(span.attributes.get("gen_ai")) for _, span in spans if span.name == DETAILS}
    known = {span.id for _, span in spans if span.name != DETAILS}
    joined: list[PlacedSpan] = []
    for line, span in spans:
        if span.name != DETAILS:
            if span.id in records:
                gen_ai = {**records[span.id], **as_dict(span.attributes.get("gen_ai"))}
                span = replace(span, attributes={**span.attributes, "gen_ai": gen_ai})
            joined.append((line, span))
    return joined + [(line, span) for line, span in spans if span.name == DETAILS and span.id not in known]


# One trace.

TOOL = frozenset(("TOOL", "execute_tool", "RETRIEVER", "retrieval"))
AGENTS = frozenset(("AGENT", "invoke_agent"))
SILENT = words(
    "CHAIN EMBEDDING RERANKER GUARDRAIL EVALUATOR PROMPT UNKNOWN embeddings create_agent invoke_workflow "
    "plan create_memory search_memory update_memory delete_memory"
)
CONVENTIONS = words("gen_ai llm openinference input output tool traceloop agent")
"""First parts of the names of attributes that a span of an agent has, whatever it is."""
PYTHON = "python"
_STEP = re.compile(r"Step \d+")
_CODE = re.compile(r"```(?:py|python)?[ \t]*\n(.*?)(?:```|<end_code>|$)", re.DOTALL)
ASKING = frozenset(("user", "system", "human", "developer"))
ANSWERS = frozenset(("assistant", "ai", "model"))
"""Roles of what a model said before: it is in the spans of its calls."""
NO_TEXT = "messages to a model without a text"
NO_KIND = "spans of agents that do not say of which kind they are"
NO_CONTENT = "model calls without what was said: their content was not recorded"


class TraceTranscript(Transcript):
    """The run of a trace: every start and end of a span, in the order of their times."""

    def __init__(self, thread: str, trace: str, spans: Sequence[PlacedSpan], file: Input) -> None:
        given, spans = spans, unique_calls(spans)
        agents = [span for _, span in spans if span.kind in AGENTS]
        super().__init__(thread, file, agent=_agent(agents[0]) if agents else AGENT, prefix=trace)
        self.has_agents = bool(agents)
        self._spans = {span.id: span for _, span in spans}
        self._inputs_seen: set[str] = set()
        self._results: set[str] = set()
        self._unspent: dict[str, Any] = {}
        self._actions: list[tuple[int, tuple[datetime, int, int], Callable[[], None]]] = []
        tasks = (span.get("input.value") for span in agents[:1])
        self.set_metadata(task=next((text_of(task) for task in tasks if task), None))
        for line, span in spans:
            self._plan(line, span)
        left = {span.id for _, span in spans}
        self.ignore(*(span.attributes for _, span in given if span.id not in left))

    def records(self) -> Iterator[Record]:
        """Yield the events, in order."""
        for line, _, act in sorted(self._actions, key=lambda action: action[1]):
            self.add_records(line, [act], lambda act: act())
        # Tokens of a last answer that nobody recorded go to what the agent did last.
        self.last_act.update(_sum(self.last_act, self._unspent))
        yield from super().records()

    def extend(self, spans: Sequence[PlacedSpan]) -> None:
        """Add spans that came later; `records` then yields only what they add.

        What was yielded stands: a model call around or beside one that is known is not told again, and the
        agents of earlier spans keep their names.
        """
        self._actions.clear()
        self._records.clear()
        models = [span for span in self._spans.values() if span.kind in MODEL]
        inside = {span.parent for span in models}
        responses = {span.text("gen_ai.response.id") for span in models} - {None}
        unknown = {span.parent for span in self._spans.values()} - self._spans.keys()
        for line, span in unique_calls(spans):
            if span.id in self._spans:
                continue
            if span.kind not in MODEL or not (
                span.id in inside or span.text("gen_ai.response.id") in responses
            ):
                self._plan(line, span)
            if span.id not in unknown:
                self._spans[span.id] = span

    def _plan(self, line: int, span: Span) -> None:
        kind = span.kind
        if kind in MODEL:
            self._schedule(line, span, lambda: self._model_input(span))
            self._schedule(line, span, lambda: self._model_output(span), at_end=True)
        elif kind in TOOL:
            self._schedule(line, span, lambda: self._tool_call(span))
            self._schedule(line, span, lambda: self._tool_result(span), at_end=True)
        elif span.is_code_step:
            self._schedule(line, span, lambda: self._code_step(span), at_end=True)
        elif kind is None and span.is_of_agent:
            self._schedule(line, span, lambda: self.skip(NO_KIND))
        elif kind is not None and kind not in SILENT and kind not in AGENTS:
            self._schedule(line, span, lambda: self.unknown(kind))
        if kind not in MODEL and kind not in TOOL and not span.is_code_step:
            self.ignore(span.attributes, span.events, span.error if span.attributes else None)

    def _schedule(self, line: int, span: Span, act: Callable[[], None], *, at_end: bool = False) -> None:
        at = (span.end or span.start) if at_end else span.start
        is_end = at_end and bool(span.duration)
        # A span without a time keeps its place among the others.
        last = self._actions[-1][1][0] if self._actions else EPOCH
        place = len(self._actions)
        # At one moment, ends come before starts, and what is inside ends before what is around it.
        order = (at if at is not None else last, 0 if is_end else 1, -place if is_end else place)
        self._actions.append((line, order, act))

    def _origin(self, span: Span) -> dict[str, Any]:
        """Return id and agent of a span; an agent inside another is its sub-agent."""
        names: list[str] = []
        seen: set[str] = set()
        above: Span | None = span
        while above is not None and above.id not in seen:
            seen.add(above.id)
            if above.kind in AGENTS:
                names.append(_agent(above))
            above = self._spans.get(above.parent or "")
        names = names[::-1][:8]
        parent = "/".join(names[:-1]) if len(names) > 1 else None
        return {"subject": "/".join(names) or None, "id": span.id or None, "parent": parent}

    def _model_input(self, span: Span) -> None:
        """Add the messages that are new to the model."""
        for message in input_messages(span):
            role, text = text_at(message, "role"), text_of(message.get("content"))
            key = f"{role} {text}"
            if role == "tool":
                self._seen_result(text_at(message, "tool_call_id"), text, span)
            elif role in ANSWERS or key in self._inputs_seen:
                continue
            elif role not in ASKING:
                self.unknown(f"message of {role}")
            elif not text.strip():
                self.skip(NO_TEXT)
            else:
                self.message("user" if role in ("user", "human") else "system", text, at=span.start)
            self._inputs_seen.add(key)

    def _seen_result(self, call_id: str | None, text: str, span: Span) -> None:
        """Add a result as the model saw it; the span of the tool often lacks it."""
        if not call_id or call_id in self._results:
            return
        self._results.add(call_id)
        if self.has_result(call_id):
            self.fill_result(call_id, text)
        else:
            self.result(text, call_id=call_id, at=span.start)

    def _model_output(self, span: Span) -> None:
        models = ("gen_ai.response.model", "llm.model_name", "gen_ai.request.model")
        model = next((model for path in models if (model := span.get(path))), None)
        if (output := output_of(span)) is not None:
            (text, thought, calls), above = output, self._spans.get(span.parent or "")
            if not calls and above is not None and above.is_code_step:
                code = _CODE.search(text)
                arguments = {"code": code[1].strip()} if code else {"input": text}
                calls = [ToolCall(PYTHON, arguments, above.id)]
            self.turn(
                text,
                calls,
                at=span.end or span.start,
                usage=usage(span),
                thought=thought,
                model=model if isinstance(model, str) else None,
                duration=span.duration,
                **self._origin(span),
            )
        elif span.error is None:
            # Programs record no content unless configured to; the tokens are known all the same.
            self._unspent = _sum(self._unspent, usage(span))
            self.skip(NO_CONTENT)
            self.ignore(span.attributes)
        if span.error is not None:
            self.message("system", f"model call failed: {span.error}", at=span.end, error=span.error)

    def _tool_call(self, span: Span) -> None:
        arguments = span.get("gen_ai.tool.call.arguments", "input.value", "tool.parameters")
        call = ToolCall(_tool(span), arguments, span.get("gen_ai.tool.call.id"))
        count = len(self.events)
        self.ensure_call(call, at=span.start, **self._origin(span))
        if len(self.events) > count:
            self.last_act.update(self._unspent)
            self._unspent = {}

    def _tool_result(self, span: Span) -> None:
        self.result(
            recorded_text(span.get("gen_ai.tool.call.result", "output.value")),
            call_id=span.get("gen_ai.tool.call.id"),
            tool=_tool(span),
            error=span.error,
            exit_code=number_at(span.attributes, "exit_code"),
            at=span.end or span.start,
            duration=span.duration,
            id=span.id or None,
        )

    def _code_step(self, span: Span) -> None:
        """Add the result of the code an agent wrote."""
        self.ensure_call(ToolCall(PYTHON, {}, span.id), at=span.start, **self._origin(span))
        self.result(
            recorded_text(span.get("output.value")),
            call_id=span.id,
            error=span.error,
            at=span.end,
            duration=span.duration,
            id=span.id,
        )


def _agent(span: Span) -> str:
    name = span.text("gen_ai.agent.name", "agent.name", "gen_ai.agent.id")
    return name or span.name.removeprefix("invoke_agent ").removesuffix(".run") or AGENT


def _tool(span: Span) -> str:
    name = span.get("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
    return name if isinstance(name, str) else span.name.removeprefix("execute_tool ") or "unknown"


def _sum(counts: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {key: (number_at(counts, key) or 0) + value for key, value in more.items()}
