"""One trace: its spans, put in the order in which things happened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..records import EPOCH
from .adapter import Input, Record
from .documents import dict_of, text_at
from .otel_messages import input_messages, output_of, usage
from .otel_once import MODEL, once
from .run_values import number, text_of, words
from .runs import AGENT, Call, Run
from .spans import Span, at_path, kind_of

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
        for line, _, act in sorted(self._todo, key=lambda one: one[1]):
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
        if (said := output_of(span)) is not None:
            above = self.spans.get(span.parent or "")
            calls = said.calls
            if not calls and above is not None and is_step(above):
                calls = [Call(PYTHON, _code(said.text), above.id)]
            # Also heard: the next span hands it to the model again.
            at = span.end or span.start
            who = self._who(span)
            self.run.turn(said.text, calls, at=at, usage=counted, thought=said.thought, **facts, **who)
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
    return next((one for one in found if one is not None), None)


def _sum(counts: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {key: (number(counts, key) or 0) + value for key, value in more.items()}


def _code(text: str) -> dict[str, str]:
    found = _CODE.search(text)
    return {"code": found[1].strip()} if found else {"input": text}
