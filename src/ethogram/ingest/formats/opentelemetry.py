"""OpenTelemetry: spans of agents as JSON, by the GenAI conventions or OpenInference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from ...models import EPOCH
from ..documents import Broken, dict_of, documents, list_of, one_of, text_at
from ..errors import BadLine
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import AGENT, Call, Run, moment_of, number, plain, seconds, text_of, words

# Spans: what OpenTelemetry exporters write, in the one form that the rest reads.

DEEPEST = 200
DETAILS = "gen_ai.client.inference.operation.details"
"""The log record in which a model call is told where its content is not written into the span."""
STARTS = (
    *("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "timestamp", "timeUnixNano"),
    *("observed_timestamp", "observedTimeUnixNano"),
)


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


def is_span(value: Any) -> bool:
    """Whether an object looks like a span."""
    item = dict_of(value)
    named = ("span_id" in item or "spanId" in item) and ("trace_id" in item or "traceId" in item)
    context = dict_of(item.get("context"))
    return (named or "span_id" in context) and (
        "name" in item or "span_name" in item or _event_name(item) == DETAILS
    )


def _event_name(record: Mapping[str, Any]) -> str | None:
    return text_at(record, "event_name", "eventName")


def spans_in(value: Any, depth: int = 0) -> Iterator[Span | str]:
    """Every span in a value, those nested in others included; text says what is wrong with one."""
    item = dict_of(value)
    if depth > DEEPEST:
        yield f"spans nested deeper than {DEEPEST}"
        return
    boxes = (
        *("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "child_spans", "data"),
        *("resourceLogs", "scopeLogs", "logRecords"),
    )
    if is_span(item):
        try:
            yield _span(item)
        except BadLine as bad:
            yield f"span {plain(item.get('span_id', item.get('spanId')))}: {bad.message}"
    elif not any(key in item for key in boxes):
        yield "neither a span nor an object with spans"
    for key in boxes:
        for inner in list_of(item.get(key)):
            yield from spans_in(inner, depth + 1)


def _span(record: Mapping[str, Any]) -> Span:
    context = dict_of(record.get("context"))
    start = _time(record, *STARTS)
    end = _time(record, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
    if end is None and start is not None and (lasted := seconds(record.get("duration"))) is not None:
        end = start + timedelta(seconds=min(lasted, 1e9))
    given = next((record[key] for key in ("attributes", "span_attributes") if key in record), None)
    kind = text_at(record, "span_kind")
    attributes = nested(given)
    if kind and kind.isupper() and "openinference" not in attributes:  # Phoenix keeps it apart
        attributes["openinference"] = {"span": {"kind": kind}}
    return Span(
        plain(record.get("traceId", record.get("trace_id", context.get("trace_id")))) or "trace",
        plain(record.get("spanId", record.get("span_id", context.get("span_id")))) or "",
        plain(record.get("parentSpanId", record.get("parent_span_id", record.get("parent_id")))),
        text_at(record, "name", "span_name") or _event_name(record) or "",
        start,
        end,
        attributes,
        tuple(event for event in list_of(record.get("events")) if isinstance(event, dict)),
        _error(record),
    )


def _time(record: Mapping[str, Any], *keys: str) -> datetime | None:
    for key in keys:
        if (given := record.get(key)) in (None, ""):
            continue
        if "ano" in key and (nanos := plain(given)) is not None and nanos.isdigit() and len(nanos) < 20:
            return EPOCH + timedelta(microseconds=int(nanos) // 1000)
        return moment_of(given)
    return None


def _error(record: Mapping[str, Any]) -> str | bool | None:
    status = dict_of(record.get("status"))
    code = str(status.get("code", status.get("status_code", record.get("status_code"))))
    if code.upper() not in ("2", "ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR"):
        return None
    return text_at(status, "message", "description") or text_at(record, "status_message") or True


def nested(given: Any) -> dict[str, Any]:
    """Attributes nested by the dots in their names, whether given as an object or as OTLP's list of pairs.

    >>> nested({"a.b": 1, "a.c.0": 2}), nested([{"key": "a", "value": {"intValue": "3"}}])
    ({'a': {'b': 1, 'c': {'0': 2}}}, {'a': 3})
    """
    if isinstance(given, list):
        given = {str(dict_of(item).get("key")): _value(dict_of(item).get("value")) for item in given}
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
        return [_value(item, depth + 1) for item in list_of(dict_of(inner).get("values"))]
    if kind == "kvlistValue":
        pairs = map(dict_of, list_of(dict_of(inner).get("values")))
        return {str(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
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
        if isinstance(value := at_path(span.attributes, key), str) and value:
            return {"tool": "TOOL", "agent": "AGENT", "task": "CHAIN", "workflow": "CHAIN"}.get(value, value)
    return None


# What went into a model and came out of it, by the conventions that spans follow.

INPUTS = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt")
OUTPUTS = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
THOUGHTS = ("reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class Said:
    """What a model answered: its words, its thoughts and its calls."""

    text: str
    thought: str
    calls: list[Call]


def input_messages(span: Span) -> list[dict[str, Any]]:
    """The messages a model was given, each with role, content and (of tools) tool_call_id."""
    records: list[dict[str, Any]] = []
    value = at_path(span.attributes, "gen_ai.system_instructions")
    if value is not None and (said := text_of(listed(value) or value)):
        records.append({"role": "system", "content": said})
    for message in _messages(span, INPUTS):
        records.extend(_given(message))
    for event in span.events:
        name = text_at(event, "name") or ""
        if name.startswith("gen_ai.") and name.endswith(".message"):
            body = nested(event.get("attributes"))
            role = text_at(body, "role") or name.split(".")[1]
            records.append({"role": role, "content": body.get("content"), "tool_call_id": body.get("id")})
    return records


def _given(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    role = text_at(record, "role") or "user"
    results = [part for part in _parts(record) if part.get("type") == "tool_call_response"]
    given = [
        {
            "role": "tool",
            "content": part.get("response", part.get("result")),
            "tool_call_id": part.get("id"),
        }
        for part in results
    ]
    if not results or _text(record):  # somebody may say something beside what the tools gave
        said = {"role": role, "content": _text(record), "tool_call_id": record.get("tool_call_id")}
        given.append(said)
    return given


def output_of(span: Span) -> Said | None:
    """What a model answered in one span; None where it does not tell.

    Some write each piece of one answer (a thought, words, each call) as a message: they are one.
    """
    answered = _messages(span, OUTPUTS)
    for event in span.events:
        if text_at(event, "name") == "gen_ai.choice":
            body = nested(event.get("attributes"))
            answered.append(dict_of(body.get("message")) or body)
    if not answered and (value := at_path(span.attributes, "output.value")) is not None:
        answered = [{"content": value}]
    calls = [call for item in answered for call in _calls(item)]
    text, thought = _joined(map(_text, answered)), _joined(map(_thought, answered))
    return Said(text, thought, calls) if text or thought or calls else None


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text.strip())


def _messages(span: Span, paths: tuple[str, ...]) -> list[dict[str, Any]]:
    for path in paths:
        if values := listed(at_path(span.attributes, path)):
            return [dict_of(dict_of(item).get("message", item)) for item in values]
    return []


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict_of(item) for item in list_of(message.get("parts"))]


def _text(message: Mapping[str, Any]) -> str:
    if parts := _parts(message):
        return "\n".join(text_of(part.get("content")) for part in parts if part.get("type") == "text")
    if contents := _contents(message):
        return text_of(
            [content for content in contents if content.get("type") not in (*THOUGHTS, "tool_use")]
        )
    return text_of(message.get("content"))


def _thought(message: Mapping[str, Any]) -> str:
    told = [part.get("content") for part in _parts(message) if part.get("type") in THOUGHTS]
    told += [content.get("text") for content in _contents(message) if content.get("type") in THOUGHTS]
    return _joined(text_of(item) for item in told)


def _contents(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict_of(dict_of(item).get("message_content", item)) for item in listed(message.get("contents"))]


def _calls(message: Mapping[str, Any]) -> list[Call]:
    calls = [
        Call(part.get("name"), part.get("arguments"), part.get("id"))
        for part in _parts(message)
        if part.get("type") == "tool_call"
    ]
    for item in map(dict_of, listed(message.get("tool_calls"))):
        told = dict_of(item.get("tool_call", item))
        inner = dict_of(told.get("function")) or told
        calls.append(Call(inner.get("name"), inner.get("arguments"), told.get("id")))
    return calls


def usage(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens a span says it used."""
    gen_ai = dict_of(at_path(attributes, "gen_ai.usage"))
    counts = dict_of(at_path(attributes, "llm.token_count"))
    found = {
        "input_tokens": number(gen_ai, "input_tokens", "prompt_tokens") or number(counts, "prompt"),
        "output_tokens": number(gen_ai, "output_tokens", "completion_tokens") or number(counts, "completion"),
        "tokens": number(counts, "total"),
        "cost": number(dict_of(at_path(attributes, "llm.cost")), "total"),
    }
    if found["tokens"] is None and (found["input_tokens"] or found["output_tokens"]):
        found["tokens"] = (found["input_tokens"] or 0) + (found["output_tokens"] or 0)
    return {key: value for key, value in found.items() if value is not None}


# Model calls told once, though several programs may have recorded the same one.

MODEL = frozenset(("LLM", "chat", "text_completion", "generate_content", "completion"))
Placed = tuple[int, Span]
"""The line of a span, and the span."""


def once(spans: Sequence[Placed]) -> list[Placed]:
    """The spans without those that tell a model call again.

    A library and the program around it may each record a call: one span inside the other, or two with the
    same id of the answer. That with the content counts, and of two that have it (or have not) the outer one.
    """
    whole = with_logged(spans)
    models = [span for _, span in whole if kind_of(span) in MODEL]
    dropped = _inside(models) | _same_answer(models)
    return [(line, span) for line, span in whole if span.id not in dropped or kind_of(span) not in MODEL]


def _inside(models: Sequence[Span]) -> set[str]:
    outer = {span.id: span for span in models}
    inner = [(outer[span.parent], span) for span in models if span.parent in outer and span.id != span.parent]
    ids = {around.id for around, span in inner if _tells(span)}
    return {
        around.id if around.id in ids and not _tells(around) else span.id
        for around, span in inner
        if _tells(around) or around.id in ids or usage(around.attributes)
    }


def _same_answer(models: Sequence[Span]) -> set[str]:
    first: dict[Any, Span] = {}
    dropped: set[str] = set()
    for span in models:
        answer = at_path(span.attributes, "gen_ai.response.id")
        if not isinstance(answer, str):
            continue
        other = first.setdefault(answer, span)
        if other is not span:
            kept, other = (span, other) if _tells(span) and not _tells(other) else (other, span)
            first[answer] = kept
            dropped.add(other.id)
    return dropped


def _tells(span: Span) -> bool:
    return output_of(span) is not None


def with_logged(spans: Sequence[Placed]) -> list[Placed]:
    """The spans, and log records of model calls: what a record tells goes to its span, where that is here."""
    records = {span.id: span for _, span in spans if span.name == DETAILS}
    own = [(line, span) for line, span in spans if span.name != DETAILS]
    known = {span.id for _, span in own}
    joined = [
        (line, _otel_once_joined(span, records[span.id]) if span.id in records else span)
        for line, span in own
    ]
    return joined + [(line, span) for line, span in spans if span.name == DETAILS and span.id not in known]


def _otel_once_joined(span: Span, record: Span) -> Span:
    """A span with the GenAI attributes that only its log record has."""
    told = {**dict_of(record.attributes.get("gen_ai")), **dict_of(span.attributes.get("gen_ai"))}
    return replace(span, attributes={**span.attributes, "gen_ai": told})


# One trace: its spans, put in the order in which things happened.

TOOL = frozenset(("TOOL", "execute_tool", "RETRIEVER", "retrieval"))
AGENTS = frozenset(("AGENT", "invoke_agent"))
SILENT = words(
    "CHAIN EMBEDDING RERANKER GUARDRAIL EVALUATOR PROMPT UNKNOWN embeddings create_agent invoke_workflow "
    "plan create_memory search_memory update_memory delete_memory"
)
PYTHON = "python"
_STEP = re.compile(r"Step \d+")
_CODE = re.compile(r"```(?:py|python)?[ \t]*\n(.*?)(?:```|<end_code>|$)", re.DOTALL)


class Trace:
    """A trace being told: every start and end of a span is put in order first."""

    def __init__(self, thread: str, name: str, spans: Sequence[tuple[int, Span]], file: Input) -> None:
        spans = once(spans)
        self.spans = {span.id: span for _, span in spans}
        self.run = Run(thread, file, prefix=name)
        self.top = next((self._agent(span) for _, span in spans if kind_of(span) in AGENTS), AGENT)
        self.run.agent = self.top
        self._heard: set[str] = set()
        self._given: set[str] = set()
        self._spent: dict[str, Any] = {}
        self._todo: list[tuple[int, tuple[datetime, int, int], Callable[[], None]]] = []
        for line, span in spans:
            self._plan(line, span)

    def records(self) -> Iterator[Record]:
        """The events, in order."""
        for line, _, act in sorted(self._todo, key=lambda item: item[1]):
            self.run.tell(line, lambda told: told(), act)
        self._spend_rest()
        yield from self.run.records()

    def _spend_rest(self) -> None:
        """Tokens of a last answer that nobody recorded go to what the agent did last."""
        if self._spent and (last := self.run.last_act) is not None:
            self.run.add_to_last(_sum(last["attributes"], self._spent))

    def _plan(self, line: int, span: Span) -> None:
        kind = kind_of(span)
        if kind in MODEL:
            self._at(line, span.start, lambda: self._hear(span))
            self._at_end(line, span, lambda: self._say(span))
        elif kind in TOOL:
            self._at(line, span.start, lambda: self._call(span))
            self._at_end(line, span, lambda: self._result(span))
        elif is_step(span):
            self._at_end(line, span, lambda: self._step(span))
        elif kind in AGENTS:
            task = at_path(span.attributes, "input.value")
            self.run.facts(**({"task": text_of(task)} if task and "task" not in self._heard else {}))
            self._heard.add("task")
        elif kind is not None and kind not in SILENT:
            self._at(line, span.start, lambda: self.run.unknown(kind))

    def _at(self, line: int, at: datetime | None, act: Callable[[], None], *, end: bool = False) -> None:
        # A span without a time keeps its place among the others.
        last = self._todo[-1][1][0] if self._todo else EPOCH
        place = len(self._todo)
        # At one moment, what ends goes before what begins, and what is inside ends before what is around it.
        when = (at if at is not None else last, 0 if end else 1, -place if end else place)
        self._todo.append((line, when, act))

    def _at_end(self, line: int, span: Span, act: Callable[[], None]) -> None:
        lasted = span.end is not None and span.start is not None and span.end > span.start
        self._at(line, span.end or span.start, act, end=lasted)

    def _agent(self, span: Span) -> str:
        named = (
            at_path(span.attributes, key) for key in ("gen_ai.agent.name", "agent.name", "gen_ai.agent.id")
        )
        called = span.name.removeprefix("invoke_agent ").removesuffix(".run")
        return next((item for item in named if isinstance(item, str) and item), called or AGENT)

    def _who(self, span: Span) -> dict[str, Any]:
        """The agent that a span is part of; one inside another is its sub-agent."""
        names: list[str] = []
        seen: set[str] = set()
        above: Span | None = span
        while above is not None and above.id not in seen:
            seen.add(above.id)
            if kind_of(above) in AGENTS:
                names.append(self._agent(above))
            above = self.spans.get(above.parent or "")
        names.reverse()
        who: dict[str, Any] = {"subject": "/".join(names[:8]) or None, "id": span.id or None}
        if len(names) > 1:
            who["parent"] = "/".join(names[:8][:-1])
        return who

    def _hear(self, span: Span) -> None:
        """What a model is told and was not told before."""
        for message in input_messages(span):
            told = dict_of(message)
            role, text = text_at(told, "role"), text_of(told.get("content"))
            key = f"{role} {text}"
            if role == "tool":
                self._hear_result(text_at(told, "tool_call_id"), text, span)
            elif role in ("user", "system", "human", "developer") and key not in self._heard:
                self._heard.add(key)
                self.run.message("user" if role in ("user", "human") else "system", text, at=span.start)

    def _hear_result(self, call_id: str | None, text: str, span: Span) -> None:
        """What a tool gave, as the model was told; the span of the tool often does not say it."""
        if not call_id or call_id in self._given:
            return
        self._given.add(call_id)
        if self.run.has_result(call_id):
            self.run.fill_result(call_id, text)
        else:
            self.run.result(text, call_id=call_id, at=span.start)

    def _say(self, span: Span) -> None:
        model = at_path(span.attributes, "gen_ai.response.model") or at_path(
            span.attributes, "llm.model_name"
        )
        model = model or at_path(span.attributes, "gen_ai.request.model")
        facts: dict[str, Any] = {
            "model": model if isinstance(model, str) else None,
            "duration": span.duration,
        }
        counted = usage(span.attributes)
        if (text := output_of(span)) is not None:
            above = self.spans.get(span.parent or "")
            calls = text.calls
            if not calls and above is not None and is_step(above):
                calls = [Call(PYTHON, _code(text.text), above.id)]
            # Also heard: the next span hands it to the model again.
            at = span.end or span.start
            who = self._who(span)
            self.run.turn(text.text, calls, at=at, usage=counted, thought=text.thought, **facts, **who)
        elif span.error is None:
            # Programs record no content unless they are told to; what it took is known all the same.
            self._spent = _sum(self._spent, counted)
            self.run.skip("model calls without what was said: their content was not recorded")
        if span.error is not None:
            self.run.message("system", f"model call failed: {span.error}", at=span.end, error=span.error)

    def _call(self, span: Span) -> None:
        attributes = span.attributes
        arguments = _first(attributes, "gen_ai.tool.call.arguments", "input.value", "tool.parameters")
        call = Call(_tool(span), arguments, at_path(attributes, "gen_ai.tool.call.id"))
        told = len(self.run.events)
        self.run.ensure_call(call, at=span.start, **self._who(span))
        if self._spent and len(self.run.events) > told:
            self.run.add_to_last(self._spent)
            self._spent = {}

    def _result(self, span: Span) -> None:
        output = _first(span.attributes, "gen_ai.tool.call.result", "output.value")
        self.run.result(
            text_of(output),
            call_id=at_path(span.attributes, "gen_ai.tool.call.id"),
            tool=_tool(span),
            error=span.error,
            exit_code=number(span.attributes, "exit_code"),
            at=span.end or span.start,
            duration=span.duration,
            id=self._who(span)["id"],
        )

    def _step(self, span: Span) -> None:
        """A step of an agent that writes code: what its code gave."""
        self.run.ensure_call(Call(PYTHON, {}, span.id), at=span.start, **self._who(span))
        text = text_of(at_path(span.attributes, "output.value"))
        self.run.result(
            text, call_id=span.id, error=span.error, at=span.end, duration=span.duration, id=span.id
        )


def is_step(span: Span) -> bool:
    """Whether this is a step of an agent that writes code, as smolagents calls it."""
    return kind_of(span) == "CHAIN" and _STEP.fullmatch(span.name) is not None


def _tool(span: Span) -> str:
    named = _first(span.attributes, "gen_ai.tool.name", "tool.name", "traceloop.entity.name")
    return named if isinstance(named, str) else span.name.removeprefix("execute_tool ") or "unknown"


def _first(attributes: Mapping[str, Any], *paths: str) -> Any:
    found = (at_path(attributes, path) for path in paths)
    return next((item for item in found if item is not None), None)


def _sum(counts: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {key: (number(counts, key) or 0) + value for key, value in more.items()}


def _code(text: str) -> dict[str, str]:
    match = _CODE.search(text)
    return {"code": match[1].strip()} if match else {"input": text}


# OpenTelemetry: spans of agents as JSON, by the GenAI conventions or those of OpenInference.

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


def _has_spans(record: Mapping[str, Any]) -> bool:
    if "resourceSpans" in record or "resource_spans" in record or is_span(record) or _has_logs(record):
        return True
    inner = list_of(record.get("spans")) or list_of(record.get("data"))
    return bool(inner) and is_span(inner[0])


def _has_logs(told: Mapping[str, Any]) -> bool:
    """Whether these are log records with at least one of a model call; others are no business of ours."""
    scopes = [
        scope
        for item in list_of(told.get("resourceLogs"))
        for scope in list_of(dict_of(item).get("scopeLogs"))
    ]
    records = [record for scope in scopes for record in list_of(dict_of(scope).get("logRecords"))]
    return any(map(is_span, records))


def _thread(spans: list[tuple[int, Span]]) -> str | None:
    """The conversation that a trace is part of."""
    for _, span in spans:
        for key in THREADS:
            if isinstance(value := at_path(span.attributes, key), str) and value:
                return value
    return None
