"""Inspect: evaluation logs, as .eval (a ZIP of samples) or .json (one object)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .adapter import Adapter, Input, Record, adapter
from .documents import Broken, dict_of, documents, list_of, need, text_at
from .heads import look
from .inspect_sample import tell_sample
from .run_values import plain, run_name
from .runs import Run
from .zips import ZIP, members

INSIDE = (b"_journal/", b"header.json", b"samples/", b"summaries.json")


@adapter("inspect")
class InspectLog(Adapter):
    """A ZIP with `header.json` and `samples/`, or an object with `eval`, `plan` and `samples`."""

    suffixes = (".eval",)

    def recognises(self, head: bytes, name: str) -> bool:
        if head.startswith(ZIP):
            return head[30:].startswith(INSIDE)
        first = look(head).first
        evaluated = dict_of(first.get("eval"))
        return "task" in evaluated and ("run_id" in evaluated or "model" in evaluated) and "version" in first

    def read(self, file: Input) -> Iterator[Record]:
        """The events of each sample, which is a run; in a ZIP, samples count as lines."""
        if not file.head.startswith(ZIP):
            for line, told, column in documents(file):
                if isinstance(told, Broken):
                    yield line, str(told), column
                else:
                    yield from _log(told, line, file)
            return
        model: Any = None
        for number, (name, told) in enumerate(members(file, _is_wanted), 1):
            if isinstance(told, Broken):
                yield number, f"{name}: {told}", 0
            elif name.startswith("samples/"):
                yield from _sample(told, number, file, model)
            else:
                model = dict_of(dict_of(told).get("eval")).get("model")


def _is_wanted(name: str) -> bool:
    # The start of the journal is there also where a run was broken off before its header was written.
    return name == "_journal/start.json" or (name.startswith("samples/") and name.endswith(".json"))


def _log(told: Any, line: int, file: Input) -> Iterator[Record]:
    if not isinstance(told, dict):
        yield line, "a log is an object {...}", 0
        return
    samples = told.get("samples")
    if samples is not None and not isinstance(samples, list):
        yield line, "samples must be a list", 0
    for one in list_of(samples):
        yield from _sample(one, line, file, dict_of(told.get("eval")).get("model"))


def _sample(told: Any, line: int, file: Input, model: Any) -> Iterator[Record]:
    sample = dict_of(told)
    name = "-".join(one for key in ("id", "epoch") if (one := plain(sample.get(key))))
    run = Run(f"{run_name(file.name)}/{name or line}", file)
    run.tell(line, lambda one: tell_sample(run, need(one, dict, "a sample")), told)
    run.facts(model=model if isinstance(model, str) else None, labels=_labels(sample))
    yield from run.records()


def _labels(sample: Mapping[str, Any]) -> dict[str, Any] | None:
    scores = {key: dict_of(one).get("value") for key, one in dict_of(sample.get("scores")).items()}
    found = {
        "scores": scores or None,
        "limit": text_at(sample.get("limit"), "type"),
        "error": text_at(sample.get("error"), "message"),
    }
    return {key: value for key, value in found.items() if value is not None} or None
