"""Run records: one run on each line, as an object with its steps in order.

`{"run_id": "r1", "task": "...", "steps": [{"i": 0, "actor": "agent", "kind": "tool_call", ...}]}`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..documents import Broken, dict_of, documents, list_of, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import AGENT, Call, Run, number, plain, seconds, text_of, usage_of

KEPT = ("path", "cwd", "exit_code", "name")
NOT_WHO = frozenset(("tool", "env", "environment"))
"""Actors that only hand back results."""
ROLES = frozenset(("user", "system"))


@adapter("run_records")
class RunRecords(Adapter):
    """Objects with a `run_id` and `steps`, of which each has an `actor`."""

    def recognises(self, head: bytes, name: str) -> bool:
        first = look(head).first
        steps = list_of(first.get("steps"))
        return "run_id" in first and "steps" in first and (not steps or "actor" in dict_of(steps[0]))

    def read(self, file: Input) -> Iterator[Record]:
        """One event for each step; what an agent says right before a call is the thought of that call."""
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif not isinstance(told, dict) or not isinstance(told.get("steps"), list):
                yield line, "a run needs its steps as a list", 0
            else:
                yield from _run(told, line, file)


def _run(record: Mapping[str, Any], line: int, file: Input) -> Iterator[Record]:
    run = Run(plain(record.get("run_id")) or f"line {line}", file)
    run.line = line
    meta = dict_of(record.get("meta"))
    run.facts(
        **{key: record.get(key) for key in ("task", "label", "labels")},
        **{key: meta.get(key) for key in ("model", "cwd", "agent")},
    )
    steps = record["steps"]
    before: Mapping[str, Any] = {}
    for k, step in enumerate(steps):
        after = steps[k + 1] if k + 1 < len(steps) else None
        if _is_thought(step, after):
            before = step
            continue
        run.tell(line, lambda item, thought=before: _step(run, item, thought), step)  # type: ignore[misc]
        before = {}
    yield from run.records()


def _is_thought(step: Any, after: Any) -> bool:
    """Whether a step is what somebody says in the same breath as the call that follows."""
    item, next_ = dict_of(step), dict_of(after)
    return (
        item.get("kind") == "message"
        and next_.get("kind") == "tool_call"
        and isinstance(item.get("text"), str)
        and item.get("actor") == next_.get("actor")
    )


def _step(run: Run, record: Any, before: Mapping[str, Any]) -> None:
    step = need(record, dict, "a step")
    kind = step.get("kind")
    who = text_at(step, "actor") or AGENT
    facts: dict[str, Any] = {"at": step.get("at"), "step": number(step, "i"), "labels": step.get("labels")}
    facts |= {key: step.get(key) for key in KEPT} | {"duration": seconds(step.get("duration"))}
    text = text_of(step.get("text"))
    usage = usage_of(
        {"input_tokens": _tokens(step, before, "in"), "output_tokens": _tokens(step, before, "out")}
    )
    if kind == "tool_call":
        facts |= {"thought_step": number(before, "i"), "thought_labels": before.get("labels")}
        run.turn(
            text_at(before, "text"),
            [Call(step.get("tool"), step.get("args"), step.get("call_id"))],
            subject=who,
            usage=usage,
            **facts,
        )
    elif kind == "tool_result":
        run.result(
            text,
            call_id=step.get("call_id"),
            tool=step.get("tool"),
            error=step.get("error"),
            subject=None if who in NOT_WHO else who,
            **_length(step, text),
            **facts,
        )
    elif kind in ("message", "agent_start", "system"):
        role = who if who in ROLES else "assistant"
        run.message(role, text, subject=None if who in ROLES else who, **facts, **usage)
    elif kind == "condensation":
        run.condensation(text, subject=who, **facts)
    else:
        run.unknown(kind)


def _tokens(step: Mapping[str, Any], before: Mapping[str, Any], way: str) -> Any:
    found = number(step, f"tokens_{way}")
    return found if found is not None else number(before, f"tokens_{way}")


def _length(step: Mapping[str, Any], text: str) -> dict[str, Any]:
    """How long the result was, where the record holds only part of it."""
    length = number(step, "text_len")
    return {"result_length": length} if length is not None and length > len(text) else {}
