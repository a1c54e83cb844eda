"""One trace: its spans, put in the order in which things happened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..records import EPOCH
from .adapter import Input, Record
from .documents import dict_of, text_at
from .otel_messages import input_messages, output_messages, usage
from .run_values import number, text_of, words
from .runs import AGENT, Call, Run
from .spans import Span, at_path

MODEL = frozenset(("LLM", "chat", "text_completion", "generate_content", "completion"))
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
        self.spans = {span.id: span for _, span in spans}
        self.run = Run(thread, file, prefix=name)
        self.top = next((self._agent(span) for _, span in spans if kind_of(span) in AGENTS), AGENT)
        self.run.agent = self.top
        self._heard: set[str] = set()
        self._todo: list[tuple[int, tuple[datetime, int, int], Callable[[], None]]] = []
        for line, span in spans:
            self._plan(line, span)

    def records(self) -> Iterator[Record]:
        """The events, in order."""
        for line, _, act in sorted(self._todo, key=lambda one: one[1]):
            self.run.tell(line, lambda told: told(), act)
        yield from self.run.records()

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
        return next((one for one in named if isinstance(one, str) and one), called or AGENT)

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
                if (call_id := text_at(told, "tool_call_id")) and not self.run.has_result(call_id):
                    self.run.result(text, call_id=call_id, at=span.start)
            elif role in ("user", "system", "human", "developer") and key not in self._heard:
                self._heard.add(key)
                self.run.message("user" if role in ("user", "human") else "system", text, at=span.start)

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
        for message in output_messages(span):
            text, calls = message
            above = self.spans.get(span.parent or "")
            if not calls and above is not None and is_step(above):
                calls = [Call(PYTHON, _code(text), above.id)]
            # Also heard: the next span hands it to the model again.
            self.run.turn(text, calls, at=span.end or span.start, usage=counted, **facts, **self._who(span))
            counted = {}
        if span.error is not None:
            self.run.message("system", f"model call failed: {span.error}", at=span.end, error=span.error)

    def _call(self, span: Span) -> None:
        attributes = span.attributes
        arguments = _first(attributes, "gen_ai.tool.call.arguments", "input.value", "tool.parameters")
        call = Call(_tool(span), arguments, at_path(attributes, "gen_ai.tool.call.id"))
        self.run.ensure_call(call, at=span.start, **self._who(span))

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


def kind_of(span: Span) -> str | None:
    """What a span is, in the words of either convention; None where it is no part of an agent."""
    for key in ("openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind"):
        if isinstance(found := at_path(span.attributes, key), str) and found:
            return {"tool": "TOOL", "agent": "AGENT", "task": "CHAIN", "workflow": "CHAIN"}.get(found, found)
    return None


def is_step(span: Span) -> bool:
    """Whether this is a step of an agent that writes code, as smolagents calls it."""
    return kind_of(span) == "CHAIN" and _STEP.fullmatch(span.name) is not None


def _tool(span: Span) -> str:
    named = _first(span.attributes, "gen_ai.tool.name", "tool.name", "traceloop.entity.name")
    return named if isinstance(named, str) else span.name.removeprefix("execute_tool ") or "unknown"


def _first(attributes: Mapping[str, Any], *paths: str) -> Any:
    found = (at_path(attributes, path) for path in paths)
    return next((one for one in found if one is not None), None)


def _code(text: str) -> dict[str, str]:
    found = _CODE.search(text)
    return {"code": found[1].strip()} if found else {"input": text}
