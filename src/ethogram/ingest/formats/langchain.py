"""LangChain: dumped messages, in any of the three forms it writes, alone or in the state of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..documents import Broken, dict_of, documents, list_of, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import Call, Run, plain, run_name, text_of, usage_of

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
class LangChain(Adapter):
    """Messages with a `type` of human, ai or tool; constructors (`lc`) of them; or states that hold them."""

    def recognises(self, head: bytes, name: str) -> bool:
        # Others have records of the type `system` too; a talk has somebody who answers.
        told = (item for record in look(head).objects for item in (record, *_inside(record)))
        found = [item for item in told if _is_message(item) and "uuid" not in item]
        return any(_plain_form(item)[0] != "system" for item in found)

    def read(self, file: Input) -> Iterator[Record]:
        """The events of one run; a state that repeats the messages before adds only what is new."""
        talk = Talk(run_name(file.name), file)
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif _is_message(told) or not ((inner := _inside(told)) or _is_debug(told)):
                talk.run.tell(line, talk.add, told)
            else:
                for item in inner:
                    talk.run.tell(line, talk.add, item)
        yield from talk.run.records()


def _plain_form(value: Any) -> tuple[str | None, Mapping[str, Any]]:
    """Type and fields of a message in any form."""
    item = dict_of(value)
    if item.get("type") == "constructor" and isinstance(item.get("id"), list) and item["id"]:
        name = item["id"][-1]
        return CLASSES.get(name) if isinstance(name, str) else None, dict_of(item.get("kwargs"))
    kind = text_at(item, "type")
    if isinstance(item.get("data"), dict):
        return kind, item["data"]
    return kind, item


def _is_message(value: Any) -> bool:
    kind, fields = _plain_form(value)
    return kind in KINDS and "content" in fields


def _inside(value: Any) -> list[Any]:
    """The messages of a state, of a step of a graph, or of what a graph streams about either."""
    if isinstance(value, list):  # (mode, what) or (place, mode, what)
        return _inside(value[-1]) if value else []
    item = dict_of(value)
    if _is_debug(item):
        return _inside({key: item["payload"].get(key) for key in ("values", "input", "result")})
    if values := _messages(item.get("messages")):
        return values
    return [inner for state in item.values() for inner in _messages(dict_of(state).get("messages"))]


def _is_debug(value: Any) -> bool:
    """Whether a graph tells of a task here: with the state it was given, or with what came of it."""
    return text_at(value, "type") in DEBUG and isinstance(dict_of(value).get("payload"), dict)


def _messages(value: Any) -> list[Any]:
    """Messages under a key; one by itself is a list of one."""
    return [value] if _is_message(value) else list_of(value)


class Talk:
    """Messages as they are told, each once."""

    def __init__(self, thread: str, file: Input) -> None:
        self.run = Run(thread, file)
        self._told: set[str] = set()

    def add(self, record: Any) -> None:
        """Tell one message."""
        need(record, dict, "a message")
        kind, told = _plain_form(record)
        name = plain(told.get("id"))
        if name is not None and name in self._told:
            return
        self._told |= {name} if name is not None else set()
        if kind in ("ai", "AIMessageChunk"):
            self._ai(told)
        elif kind in ("tool", "function"):
            call_id = plain(told.get("tool_call_id"))
            if call_id is not None and self.run.has_result(call_id):
                return  # a graph gives a result its id only after it was streamed
            self.run.result(
                text_of(told.get("content")),
                call_id=call_id,
                tool=told.get("name"),
                error=told.get("status") == "error",
            )
        elif kind in ("human", "system"):
            self.run.message("user" if kind == "human" else "system", text_of(told.get("content")))
        elif kind != "remove":
            self.run.unknown(kind)

    def _ai(self, record: Mapping[str, Any]) -> None:
        given = [*list_of(record.get("tool_calls")), *list_of(record.get("invalid_tool_calls"))]
        calls = [Call(item.get("name"), item.get("args"), item.get("id")) for item in map(dict_of, given)]
        if not calls:
            for item in map(dict_of, list_of(dict_of(record.get("additional_kwargs")).get("tool_calls"))):
                inner = dict_of(item.get("function"))
                calls.append(Call(inner.get("name"), inner.get("arguments"), item.get("id")))
        meta = dict_of(record.get("response_metadata"))
        content = record.get("content")
        if isinstance(content, list):  # calls stand there too, in the provider's own form
            content = [item for item in content if text_at(item, "type") in (None, "text", "output_text")]
        name = text_at(record, "name")
        self.run.turn(
            text_of(content),
            calls,
            subject=name,
            name=plain(record.get("id")),
            usage=usage_of(record.get("usage_metadata") or meta.get("token_usage") or meta.get("usage")),
            model=text_at(meta, "model_name", "model"),
        )
