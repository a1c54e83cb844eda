"""tau-bench: an array of trials, each with the messages between a user, an agent and its tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..chat_messages import ChatTranscript
from ..format import Head, Input, adapter
from ..transcript import Transcript, TranscriptAdapter, run_name
from ..values import as_dict, as_list, as_name, text_at


@adapter("tau_bench")
class TauBench(TranscriptAdapter):
    """Objects with a `traj` of messages and a `task_id` or `reward`."""

    beside = frozenset(("info",))

    def matches(self, head: Head) -> bool:
        first = head.first
        has_messages = all("role" in as_dict(message) for message in as_list(first.get("traj")))
        is_trial = "traj" in first and ("task_id" in first or "reward" in first) and has_messages
        return is_trial or first.keys() >= {"task_id", "reward", "trial"}

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        for line, document in documents:
            trial = as_dict(document)
            numbers = [number for key in ("task_id", "trial") if (number := as_name(trial.get(key)))]
            run = ChatTranscript(f"{run_name(file.name)}/{'-'.join(numbers) or f'line {line}'}", file)
            run.errors_in_text = True
            reward = trial.get("reward")
            run.set_metadata(
                task=text_at(as_dict(trial.get("info")).get("task"), "instruction"),
                labels={"reward": reward} if isinstance(reward, int | float) else None,
            )
            run.add_list(line, trial, "traj")
            yield run
