"""LangChain: dumped messages, in any of the three forms it writes, alone or in the state of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..chat_messages import tool_calls
from ..format import Head, Input, adapter
from ..transcript import ToolCall, Transcript, TranscriptAdapter, run_name
from ..values import as_dict, as_list, as_name, block_texts, join_texts, need, text_at, text_of, token_usage

KINDS = frozenset(("human", "ai", "tool", "system", "function", "chat", "AIMessageChunk", "remove"))
CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "ToolMessage": "tool",
    "SystemMessage": "system",
    "FunctionMessage": "tool",
}
DEBUG = frozenset(("task", "task_result", "checkpoint"))


@adapter("langchain")
class LangChain(TranscriptAdapter):
    """Messages with a `type` of human, ai or tool; constructors (`lc`) of them; or states that hold them."""

    def matches(self, head: Head) -> bool:
        # Others have records of the type `system` too; a conversation has somebody who answers.
        records = (item for record in head.objects for item in (record, *_messages_inside(record)))
        messages = (record for record in records if _is_message(record) and "uuid" not in record)
        return any(_kind_and_fields(message)[0] != "system" for message in messages)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield the one run; a state that repeats the messages before adds only what is new."""
        run = LangChainTranscript(run_name(file.name), file)
        for line, document in documents:
            inner = [] if _is_message(document) else _messages_inside(document)
            run.add_records(line, inner if inner or _is_debug(document) else [document])
        yield run


def _kind_and_fields(record: Any) -> tuple[str | None, Mapping[str, Any]]:
    """Return type and fields of a message in any form."""
    message = as_dict(record)
    if message.get("type") == "constructor" and as_list(message.get("id")):
        name = message["id"][-1]
        return CLASSES.get(name) if isinstance(name, str) else None, as_dict(message.get("kwargs"))
    fields = message["data"] if isinstance(message.get("data"), dict) else message
    return text_at(message, "type"), fields


def _is_message(record: Any) -> bool:
    kind, fields = _kind_and_fields(record)
    return kind in KINDS and "content" in fields


def _messages_inside(record: Any) -> list[Any]:
    """Return the messages of a state, of a step of a graph, or of what a graph streams about either."""
    if isinstance(record, list):  # (mode, record) or (place, mode, record)
        return _messages_inside(record[-1]) if record else []
    state = as_dict(record)
    if _is_debug(state):
        return _messages_inside({key: state["payload"].get(key) for key in ("values", "input", "result")})
    if messages := _messages(state.get("messages")):
        return messages
    return [message for inner in state.values() for message in _messages(as_dict(inner).get("messages"))]


def _is_debug(record: Any) -> bool:
    """Return whether a graph reports a task here: the state it was given, or its result."""
    return text_at(record, "type") in DEBUG and isinstance(as_dict(record).get("payload"), dict)


def _messages(value: Any) -> list[Any]:
    """Return the messages under a key; a single one is a list of one."""
    return [value] if _is_message(value) else as_list(value)


class LangChainTranscript(Transcript):
    """Messages, each added once."""

    def __init__(self, thread: str, file: Input) -> None:
        super().__init__(thread, file)
        self._seen: set[str] = set()

    def add(self, record: Any) -> None:
        kind, message = _kind_and_fields(need(record, dict, "a message"))
        if (message_id := as_name(message.get("id"))) is not None:
            if message_id in self._seen:
                self.ignore()
                return
            self._seen.add(message_id)
        if kind in ("ai", "AIMessageChunk"):
            self._turn(message, message_id)
        elif kind in ("tool", "function"):
            call_id = as_name(message.get("tool_call_id"))
            if call_id is None or not self.has_result(call_id):  # a graph gives it an id only after streaming
                failed = message.get("status") == "error"
                text, tool = text_of(message.get("content")), message.get("name")
                self.result(text, call_id=call_id, tool=tool, error=failed)
        elif kind in ("human", "system"):
            self.message("user" if kind == "human" else "system", text_of(message.get("content")))
        elif kind == "remove":
            self.ignore()
        else:
            self.unknown(kind)

    def _turn(self, message: Mapping[str, Any], message_id: str | None) -> None:
        items = [*as_list(message.get("tool_calls")), *as_list(message.get("invalid_tool_calls"))]
        calls = [ToolCall.of(call, "name", "args") for call in items]
        if not calls:
            calls = tool_calls({"tool_calls": as_dict(message.get("additional_kwargs")).get("tool_calls")})
        meta, content = as_dict(message.get("response_metadata")), message.get("content")
        parts = as_list(content)
        thoughts = [block_texts(parts, "thinking", "thinking")]
        thoughts += [
            text_of(as_dict(part).get("summary")) for part in parts if text_at(part, "type") == "reasoning"
        ]
        if isinstance(content, list):  # calls are there too, in the provider's own form
            content = [part for part in content if text_at(part, "type") in (None, "text", "output_text")]
        self.turn(
            text_of(content),
            calls,
            subject=text_at(message, "name"),
            thought=join_texts(thoughts),
            message_id=message_id,
            usage=token_usage(message.get("usage_metadata") or meta.get("token_usage") or meta.get("usage")),
            model=text_at(meta, "model_name", "model"),
        )
