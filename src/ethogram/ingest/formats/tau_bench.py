"""tau-bench: an array of trials, each with the messages between a user, an agent and its tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..chat_messages import tell_message
from ..documents import Broken, dict_of, documents, list_of, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import Run, plain, run_name


@adapter("tau_bench")
class TauBench(Adapter):
    """Objects with a `traj` of messages and a `task_id` or `reward`."""

    def recognises(self, head: bytes, name: str) -> bool:
        first = look(head).first
        return _is_trial(first) or ("task_id" in first and "reward" in first and "trial" in first)

    def read(self, file: Input) -> Iterator[Record]:
        """The events of each trial. A result that begins with "Error" is one that failed."""
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif not isinstance(told, dict) or not isinstance(told.get("traj"), list):
                yield line, "a trial needs its traj as a list", 0
            else:
                yield from _trial(told, line, file)


def _is_trial(record: Mapping[str, Any]) -> bool:
    messages = list_of(record.get("traj"))
    return (
        "traj" in record
        and ("task_id" in record or "reward" in record)
        and all("role" in dict_of(m) for m in messages)
    )


def _trial(record: Mapping[str, Any], line: int, file: Input) -> Iterator[Record]:
    numbers = [item for key in ("task_id", "trial") if (item := plain(record.get(key))) is not None]
    run = Run("/".join([run_name(file.name), "-".join(numbers) or f"line {line}"]), file)
    info = dict_of(record.get("info"))
    reward = record.get("reward")
    run.facts(
        task=text_at(info.get("task"), "instruction"),
        labels={"reward": reward} if isinstance(reward, int | float) else None,
    )
    run.line = line
    for message in record["traj"]:
        run.tell(line, lambda item: tell_message(run, item, errors=True), message)
    yield from run.records()
