"""ATIF, the Agent Trajectory Interchange Format: an object with `steps`, as many agents write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..documents import Broken, dict_of, documents, list_of, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import AGENT, Call, Run, number, run_name, text_of, usage_of

TERMINAL = "terminal"
"""The tool of an agent that writes its commands into its messages, and has only observations."""


@adapter("atif")
class Atif(Adapter):
    """An object whose `schema_version` begins with ATIF."""

    def recognises(self, head: bytes, name: str) -> bool:
        return any((text_at(item, "schema_version") or "").startswith("ATIF") for item in look(head).objects)

    def read(self, file: Input) -> Iterator[Record]:
        """A message, or actions and their results, for each step; a compaction where a step says so."""
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif not isinstance(told, dict) or not isinstance(told.get("steps"), list):
                yield line, "a trajectory needs its steps as a list", 0
            else:
                yield from _run(told, line, file)


def _run(record: Mapping[str, Any], line: int, file: Input) -> Iterator[Record]:
    name, agent = run_name(file.name), dict_of(record.get("agent"))
    thread = text_at(record, "session_id", "trajectory_id") or name
    # Parts of one session lie in files of their own.
    run = Run(thread, file, agent=text_at(agent, "name") or AGENT, prefix=f"{thread}/{name}")
    model = text_at(agent, "model_name")
    for step in record["steps"]:
        run.tell(line, lambda item: _step(run, item, model), step)
    yield from run.records()


def _step(run: Run, record: Any, model: str | None) -> None:
    step = need(record, dict, "a step")
    source, text, at = step.get("source"), text_of(step.get("message")), step.get("timestamp")
    if _is_compaction(step):
        run.condensation(text, at=at)
    elif source == "agent":
        _agent(run, step, text, model)
    elif source in ("user", "system"):
        run.message(str(source), text, at=at)
        _results(run, step)
    else:
        run.unknown(source)


def _agent(run: Run, step: Mapping[str, Any], text: str, model: str | None) -> None:
    calls = [
        Call(item.get("function_name"), item.get("arguments"), item.get("tool_call_id"))
        for item in map(dict_of, list_of(step.get("tool_calls")))
    ]
    seen = _observed(step)
    if not calls and seen:
        calls = [Call(TERMINAL, {"input": text})]
        text = ""
    metrics = dict_of(step.get("metrics"))
    run.turn(
        text,
        calls,
        at=step.get("timestamp"),
        thought=text_at(step, "reasoning_content"),
        usage=usage_of(metrics, cost=number(metrics, "cost_usd")),
        model=text_at(step, "model_name") or model,
    )
    _results(run, step)


def _results(run: Run, step: Mapping[str, Any]) -> None:
    for item in _observed(step):
        run.result(text_of(item.get("content")), call_id=item.get("source_call_id"), at=step.get("timestamp"))


def _observed(step: Mapping[str, Any]) -> list[dict[str, Any]]:
    results = list_of(dict_of(step.get("observation")).get("results"))
    return [item for item in map(dict_of, results) if "content" in item]


def _is_compaction(step: Mapping[str, Any]) -> bool:
    extra = dict_of(step.get("extra"))
    return text_at(extra.get("context_management"), "type") == "compaction"
