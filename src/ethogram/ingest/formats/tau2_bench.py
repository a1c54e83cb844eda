"""tau2-bench: results with simulations, in which a user and an agent both have tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..chat_messages import tool_calls
from ..format import Head, Input, adapter
from ..transcript import Transcript, TranscriptAdapter, run_name
from ..values import as_dict, as_dicts, as_name, need, number_at, text_at, text_of, token_usage


@adapter("tau2_bench")
class Tau2Bench(TranscriptAdapter):
    """One object with `info` about the agent and the environment, `tasks` and `simulations`."""

    beside = frozenset(("info", "tasks", "reward_info"))

    def matches(self, head: Head) -> bool:
        info = as_dict(head.first.get("info"))
        is_results = "simulations" in head.first or "tasks" in head.first
        return is_results and info.keys() >= {"agent_info", "environment_info"}

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        for line, document in documents:
            record = as_dict(document)
            tasks = {as_name(task.get("id")): task for task in as_dicts(record.get("tasks"))}
            simulations = as_dicts(record.get("simulations"))
            if not simulations:
                empty = Transcript("", file)
                empty.skip("results of tau2-bench without simulations")
                yield empty
            for number, simulation in enumerate(simulations):
                task, trial = as_name(simulation.get("task_id")), as_name(simulation.get("trial"))
                name = "-".join(part for part in (task, trial) if part) or str(number)
                run = Simulation(f"{run_name(file.name)}/{name}", file)
                reward = number_at(as_dict(simulation.get("reward_info")), "reward")
                reason = text_at(simulation, "termination_reason")
                labels = {"reward": reward, "termination_reason": reason}
                scenario = as_dict(as_dict(tasks.get(task)).get("user_scenario"))
                run.set_metadata(
                    task=text_of(scenario.get("instructions")) or None,
                    labels={key: value for key, value in labels.items() if value is not None} or None,
                    model=text_at(as_dict(as_dict(record.get("info")).get("agent_info")), "llm"),
                )
                run.add_list(line, simulation, "messages")
                yield run


class Simulation(Transcript):
    """The messages of one simulation."""

    def add(self, record: Any) -> None:
        message = need(record, dict, "a message")
        role, text, at = text_at(message, "role"), text_of(message.get("content")), message.get("timestamp")
        if role in ("assistant", "user"):
            calls = tool_calls(message)
            if role == "user" and not calls:
                self.message("user", text, at=at)
                return
            usage = token_usage(_usage(message), cost=number_at(message, "cost"))
            who = None if role == "assistant" else f"{self.thread}/user"
            self.turn(text, calls, at=at, usage=usage, subject=who)
        elif role == "tool":
            self.result(text, call_id=message.get("id"), at=at, error=message.get("error") is True)
        elif role == "system":
            self.message("system", text, at=at)
        else:
            self.unknown(role)


def _usage(message: dict[str, Any]) -> dict[str, Any]:
    usage = as_dict(message.get("usage"))
    tokens = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
    return {name: number_at(usage, other, name) for name, other in tokens.items()}
