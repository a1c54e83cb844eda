"""Run records: one run on each line, as an object with its steps in order.

`{"run_id": "r1", "task": "...", "steps": [{"i": 0, "actor": "agent", "kind": "tool_call", ...}]}`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..format import Head, Input, adapter
from ..transcript import AGENT, ToolCall, Transcript, TranscriptAdapter
from ..values import (
    as_dict,
    as_list,
    as_name,
    need,
    number_at,
    recorded_text,
    seconds_of,
    text_at,
    text_of,
    token_usage,
)

ATTRIBUTES = ("at", "labels", "path", "cwd", "exit_code", "name")
ENVIRONMENT = frozenset(("tool", "env", "environment"))
"""Actors that only return results."""
ROLES = frozenset(("user", "system"))
TOKENS = frozenset(("tokens_in", "tokens_out"))


@adapter("run_records")
class RunRecords(TranscriptAdapter):
    """Objects with a `run_id` and `steps`, of which each has an `actor`."""

    beside = frozenset(("labels",))

    def matches(self, head: Head) -> bool:
        steps = as_list(head.first.get("steps"))
        return head.first.keys() >= {"run_id", "steps"} and (not steps or "actor" in as_dict(steps[0]))

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        for line, document in documents:
            record = as_dict(document)
            run = StepTranscript(as_name(record.get("run_id")) or f"line {line}", file)
            meta = as_dict(record.get("meta"))
            run.set_metadata(
                **{key: record.get(key) for key in ("task", "label", "labels")},
                **{key: meta.get(key) for key in ("model", "cwd", "agent")},
            )
            run.add_list(line, {"steps": _with_thoughts(record.get("steps"))}, "steps")
            yield run


def _with_thoughts(steps: Any) -> Any:
    """Return each step with its thought: a message of the same actor right before a call."""
    if not isinstance(steps, list):
        return steps
    out: list[tuple[Any, Mapping[str, Any]]] = []
    for step in steps:
        before = as_dict(out[-1][0]) if out else {}
        if (
            as_dict(step).get("kind") == "tool_call"
            and before.get("kind") == "message"
            and isinstance(before.get("text"), str)
            and before.get("actor") == step.get("actor")
        ):
            out[-1] = (step, before)
        else:
            out.append((step, {}))
    return out


class StepTranscript(Transcript):
    """The steps of one run."""

    def add(self, record: Any) -> None:
        """Add one step, which comes with its thought."""
        step, thought = need(record[0], dict, "a step"), record[1]
        kind, who, text = step.get("kind"), text_at(step, "actor") or AGENT, text_of(step.get("text"))
        attributes: dict[str, Any] = {"step": number_at(step, "i")}
        attributes |= {key: step[key] for key in ATTRIBUTES if key in step}
        attributes["duration"] = seconds_of(step.get("duration"))
        if kind == "tool_call":
            attributes |= {"thought_step": number_at(thought, "i"), "thought_labels": thought.get("labels")}
            attributes |= {"message_id": text_at(step, "name"), "name": None}
            call = ToolCall.of(step, "tool", "args", "call_id")
            self.turn(
                text_at(thought, "text"), [call], subject=who, usage=_usage(step, thought), **attributes
            )
        elif kind == "tool_result":
            length = number_at(step, "text_len")  # where the record holds only part of the result
            if length is not None and length > len(text):
                attributes["result_length"] = length
            self.result(
                recorded_text(step.get("text")),
                call_id=step.get("call_id"),
                tool=step.get("tool"),
                error=step.get("error"),
                subject=None if who in ENVIRONMENT else who,
                **attributes,
            )
        elif kind in ("message", "agent_start", "system"):
            role, subject = (who, None) if who in ROLES else ("assistant", who)
            self.message(role, text, subject=subject, **attributes, **_usage(step, thought))
        elif kind == "condensation":
            self.condensation(text, subject=who, **attributes)
        else:
            self.unknown(kind)


def _usage(step: Mapping[str, Any], thought: Mapping[str, Any]) -> dict[str, Any]:
    if TOKENS.isdisjoint(step) and TOKENS.isdisjoint(thought):
        return {}

    def tokens(key: str) -> Any:
        own = number_at(step, key)
        return own if own is not None else number_at(thought, key)

    return token_usage({"input_tokens": tokens("tokens_in"), "output_tokens": tokens("tokens_out")})
