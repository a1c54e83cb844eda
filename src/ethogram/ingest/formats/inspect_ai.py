"""Inspect: evaluation logs, as .eval (a ZIP of samples) or .json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..documents import ZIP, Broken, dict_of, documents, list_of, members, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import AGENT, Call, Run, number, plain, run_name, text_of, texts, usage_of

# One sample of an Inspect log: its messages, with times, usage and agents from its events.

ATTACHED = ("attachment://", "tc://")


def tell_sample(run: Run, sample: dict[str, Any]) -> None:
    """Tell a run the messages of a sample.

    The messages are what the model saw last: whole, and in order. Events say when each was made, and hold
    the results that came too late to be seen.
    """
    notes = Notes(sample)
    messages = sample.get("messages")
    if messages is not None:
        need(messages, list, "messages")
    for message in list_of(messages):
        run.tell(run.line, lambda item: _message(run, item, notes), message)
    for event in notes.unseen():
        run.tell(run.line, lambda item: _unseen(run, item, notes), event)
    for at in notes.compactions:
        run.condensation(None, at=at)


class Notes:
    """What the events of a sample say of its messages."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        events = list_of(sample.get("events")) or list_of(dict_of(sample.get("transcript")).get("events"))
        self.attached = dict_of(sample.get("attachments")) or dict_of(
            dict_of(sample.get("transcript")).get("content")
        )
        record = [event for event in events if isinstance(event, dict)]
        self.tools = {
            item["id"]: item
            for item in record
            if item.get("event") == "tool" and isinstance(item.get("id"), str)
        }
        self.models = [item for item in record if item.get("event") == "model"]
        self.compactions = [item.get("timestamp") for item in record if item.get("event") == "compaction"]
        self.start = next((item.get("timestamp") for item in record), None)
        self.seen: set[str] = set()
        self._by_name = {name: model for model in self.models for name in _names(_said(model))}

    def model_of(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """The event in which a message was made; nothing where that cannot be told."""
        found = (self._by_name[name] for name in _names(message) if name in self._by_name)
        return next(found, {})

    def unseen(self) -> list[Mapping[str, Any]]:
        """Calls that ended after the last message."""
        return [tool for name, tool in self.tools.items() if name not in self.seen]

    def text(self, content: Any) -> str:
        """The text of a content; what stands apart is fetched."""
        said = text_of(content)
        if said.startswith(ATTACHED):
            found = self.attached.get(said.partition("://")[2])
            return found if isinstance(found, str) else said
        return said


def _said(event: Mapping[str, Any]) -> dict[str, Any]:
    """The message a model event ended with."""
    choices = list_of(dict_of(event.get("output")).get("choices"))
    return dict_of(dict_of(choices[0]).get("message")) if choices else {}


def _names(message: Mapping[str, Any]) -> Iterator[str]:
    """What a message is known by: its id, those of its calls, or else its words."""
    calls = [text_at(item, "id") for item in list_of(message.get("tool_calls"))]
    yield from (call for call in (text_at(message, "id"), *calls) if call)
    if said := text_of(message.get("content")):
        yield f"said {said}"


def _message(run: Run, record: Any, notes: Notes) -> None:
    message = need(record, dict, "a message")
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        event = notes.model_of(message) if message.get("source") != "input" else {}
        output = dict_of(event.get("output"))
        calls = [
            Call(item.get("function"), item.get("arguments"), item.get("id"))
            for item in map(dict_of, list_of(message.get("tool_calls")))
        ]
        run.turn(
            notes.text([item for item in content if dict_of(item).get("type") != "reasoning"])
            if isinstance(content, list)
            else notes.text(content),
            calls,
            at=event.get("completed") or event.get("timestamp"),
            thought=texts(content, "reasoning", "reasoning"),
            usage=usage_of(output.get("usage")),
            model=text_at(message, "model") or text_at(output, "model"),
            name=text_at(message, "id"),
        )
    elif role == "tool":
        _result(run, message, notes)
    elif role in ("user", "system"):
        run.message(str(role), notes.text(content), at=notes.start if not notes.seen else None)
    else:
        run.unknown(role)


def _result(run: Run, message: Mapping[str, Any], notes: Notes) -> None:
    call_id = message.get("tool_call_id")
    event: Mapping[str, Any] = {}
    if isinstance(call_id, str):
        event = notes.tools.get(call_id, {})
        notes.seen.add(call_id)
    error = dict_of(message.get("error"))
    run.result(
        notes.text(message.get("content")),
        call_id=call_id,
        tool=message.get("function"),
        error=(text_at(error, "message") or text_at(error, "type")) if error else None,
        error_type=text_at(error, "type"),
        at=event.get("completed") or event.get("timestamp"),
        duration=number(event, "working_time"),
    )


def _unseen(run: Run, event: Mapping[str, Any], notes: Notes) -> None:
    error = dict_of(event.get("error"))
    name = text_at(event, "agent")
    run.ensure_call(
        Call(event.get("function"), event.get("arguments"), event.get("id")),
        at=event.get("timestamp"),
        **({"subject": f"{AGENT}/{name}", "parent": AGENT} if name else {}),
    )
    run.result(
        notes.text(event.get("result")),
        call_id=event.get("id"),
        error=(text_at(error, "message") or text_at(error, "type")) if error else None,
        at=event.get("completed") or event.get("timestamp"),
    )


# Inspect: evaluation logs, as .eval (a ZIP of samples) or .json (one object).

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
        for index, (name, told) in enumerate(members(file, _is_wanted), 1):
            if isinstance(told, Broken):
                yield index, f"{name}: {told}", 0
            elif name.startswith("samples/"):
                yield from _sample(told, index, file, model)
            else:
                model = dict_of(dict_of(told).get("eval")).get("model")


def _is_wanted(name: str) -> bool:
    # The start of the journal is there also where a run was broken off before its header was written.
    return name == "_journal/start.json" or (name.startswith("samples/") and name.endswith(".json"))


def _log(value: Any, line: int, file: Input) -> Iterator[Record]:
    if not isinstance(value, dict):
        yield line, "a log is an object {...}", 0
        return
    samples = value.get("samples")
    if samples is not None and not isinstance(samples, list):
        yield line, "samples must be a list", 0
    for item in list_of(samples):
        yield from _sample(item, line, file, dict_of(value.get("eval")).get("model"))


def _sample(value: Any, line: int, file: Input, model: Any) -> Iterator[Record]:
    sample = dict_of(value)
    name = "-".join(item for key in ("id", "epoch") if (item := plain(sample.get(key))))
    run = Run(f"{run_name(file.name)}/{name or line}", file)
    run.tell(line, lambda item: tell_sample(run, need(item, dict, "a sample")), value)
    run.facts(model=model if isinstance(model, str) else None, labels=_labels(sample))
    yield from run.records()


def _labels(sample: Mapping[str, Any]) -> dict[str, Any] | None:
    scores = {key: dict_of(item).get("value") for key, item in dict_of(sample.get("scores")).items()}
    found = {
        "scores": scores or None,
        "limit": text_at(sample.get("limit"), "type"),
        "error": text_at(sample.get("error"), "message"),
    }
    return {key: value for key, value in found.items() if value is not None} or None
