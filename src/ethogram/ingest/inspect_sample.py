"""One sample of an Inspect log: its messages, with times, usage and agents from its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .documents import dict_of, list_of, need, text_at
from .run_values import number, text_of, texts, usage_of
from .runs import AGENT, Call, Run

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
        run.tell(run.line, lambda one: _message(run, one, notes), message)
    for event in notes.unseen():
        run.tell(run.line, lambda one: _unseen(run, one, notes), event)
    for at in notes.compactions:
        run.condensation(None, at=at)


class Notes:
    """What the events of a sample say of its messages."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        events = list_of(sample.get("events")) or list_of(dict_of(sample.get("transcript")).get("events"))
        self.attached = dict_of(sample.get("attachments")) or dict_of(
            dict_of(sample.get("transcript")).get("content")
        )
        told = [one for one in events if isinstance(one, dict)]
        self.tools = {
            one["id"]: one for one in told if one.get("event") == "tool" and isinstance(one.get("id"), str)
        }
        self.models = [one for one in told if one.get("event") == "model"]
        self.compactions = [one.get("timestamp") for one in told if one.get("event") == "compaction"]
        self.start = next((one.get("timestamp") for one in told), None)
        self.seen: set[str] = set()
        self._by_name = {name: one for one in self.models for name in _names(_said(one))}

    def model_of(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """The event in which a message was made; nothing where that cannot be told."""
        found = (self._by_name[name] for name in _names(message) if name in self._by_name)
        return next(found, {})

    def unseen(self) -> list[Mapping[str, Any]]:
        """Calls that ended after the last message."""
        return [one for name, one in self.tools.items() if name not in self.seen]

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
    calls = [text_at(one, "id") for one in list_of(message.get("tool_calls"))]
    yield from (one for one in (text_at(message, "id"), *calls) if one)
    if said := text_of(message.get("content")):
        yield f"said {said}"


def _message(run: Run, record: Any, notes: Notes) -> None:
    message = need(record, dict, "a message")
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        event = notes.model_of(message) if message.get("source") != "input" else {}
        output = dict_of(event.get("output"))
        calls = [
            Call(one.get("function"), one.get("arguments"), one.get("id"))
            for one in map(dict_of, list_of(message.get("tool_calls")))
        ]
        run.turn(
            notes.text([one for one in content if dict_of(one).get("type") != "reasoning"])
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
