"""ATIF, the Agent Trajectory Interchange Format: an object with `steps`, as many agents write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..format import Head, Input, adapter
from ..transcript import AGENT, ToolCall, Transcript, TranscriptAdapter, run_name
from ..values import (
    as_dict,
    as_dicts,
    as_list,
    need,
    number_at,
    recorded_text,
    text_at,
    text_of,
    token_usage,
)

TERMINAL = "terminal"
"""The tool of an agent that writes its commands into its messages, and has only observations."""


@adapter("atif")
class Atif(TranscriptAdapter):
    """An object whose `schema_version` begins with ATIF."""

    beside = frozenset(("agent", "subagent_trajectory_ref"))

    def matches(self, head: Head) -> bool:
        return any((text_at(record, "schema_version") or "").startswith("ATIF") for record in head.objects)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        for line, document in documents:
            agent, name = as_dict(as_dict(document).get("agent")), run_name(file.name)
            thread = text_at(document, "session_id", "trajectory_id") or name
            # Parts of one session lie in files of their own.
            prefix = f"{thread}/{name}"
            run = AtifTranscript(thread, file, agent=text_at(agent, "name") or AGENT, prefix=prefix)
            run.model = text_at(agent, "model_name")
            run.add_list(line, document, "steps")
            yield run


class AtifTranscript(Transcript):
    """The steps of one trajectory."""

    model: str | None = None

    def add(self, record: Any) -> None:
        step = need(record, dict, "a step")
        source, text, at = step.get("source"), text_of(step.get("message")), step.get("timestamp")
        results = as_dicts(as_dict(step.get("observation")).get("results"))
        results = [result for result in results if "content" in result]
        if text_at(as_dict(step.get("extra")).get("context_management"), "type") == "compaction":
            self.condensation(text, at=at)
            return
        if source == "agent":
            self._turn(step, text, has_results=bool(results))
        elif source in ("user", "system"):
            self.message(str(source), text, at=at)
        else:
            self.unknown(source)
            return
        for result in results:
            self.result(recorded_text(result.get("content")), call_id=result.get("source_call_id"), at=at)

    def _turn(self, step: Mapping[str, Any], text: str, *, has_results: bool) -> None:
        items = as_list(step.get("tool_calls"))
        calls = [ToolCall.of(item, "function_name", "arguments", "tool_call_id") for item in items]
        if not calls and has_results:
            calls, text = [ToolCall(TERMINAL, {"input": text})], ""
        metrics = as_dict(step.get("metrics"))
        self.turn(
            text,
            calls,
            at=step.get("timestamp"),
            thought=text_at(step, "reasoning_content"),
            usage=token_usage(metrics, cost=number_at(metrics, "cost_usd")),
            model=text_at(step, "model_name") or self.model,
        )
