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
        told = (one for record in look(head).objects for one in (record, *_inside(record)))
        found = [one for one in told if _is_message(one) and "uuid" not in one]
        return any(_plain_form(one)[0] != "system" for one in found)

    def read(self, file: Input) -> Iterator[Record]:
        """The events of one run; a state that repeats the messages before adds only what is new."""
        talk = Talk(run_name(file.name), file)
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif _is_message(told) or not ((inner := _inside(told)) or _is_debug(told)):
                talk.run.tell(line, talk.add, told)
            else:
                for one in inner:
                    talk.run.tell(line, talk.add, one)
        yield from talk.run.records()


def _plain_form(told: Any) -> tuple[str | None, Mapping[str, Any]]:
    """Type and fields of a message in any form."""
    one = dict_of(told)
    if one.get("type") == "constructor" and isinstance(one.get("id"), list) and one["id"]:
        name = one["id"][-1]
        return CLASSES.get(name) if isinstance(name, str) else None, dict_of(one.get("kwargs"))
    kind = text_at(one, "type")
    if isinstance(one.get("data"), dict):
        return kind, one["data"]
    return kind, one


def _is_message(told: Any) -> bool:
    kind, fields = _plain_form(told)
    return kind in KINDS and "content" in fields


def _inside(told: Any) -> list[Any]:
    """The messages of a state, of a step of a graph, or of what a graph streams about either."""
    if isinstance(told, list):  # (mode, what) or (place, mode, what)
        return _inside(told[-1]) if told else []
    one = dict_of(told)
    if _is_debug(one):
        return _inside({key: one["payload"].get(key) for key in ("values", "input", "result")})
    if found := _messages(one.get("messages")):
        return found
    return [inner for state in one.values() for inner in _messages(dict_of(state).get("messages"))]


def _is_debug(told: Any) -> bool:
    """Whether a graph tells of a task here: with the state it was given, or with what came of it."""
    return text_at(told, "type") in DEBUG and isinstance(dict_of(told).get("payload"), dict)


def _messages(told: Any) -> list[Any]:
    """Messages under a key; one by itself is a list of one."""
    return [told] if _is_message(told) else list_of(told)


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

    def _ai(self, told: Mapping[str, Any]) -> None:
        given = [*list_of(told.get("tool_calls")), *list_of(told.get("invalid_tool_calls"))]
        calls = [Call(one.get("name"), one.get("args"), one.get("id")) for one in map(dict_of, given)]
        if not calls:
            for one in map(dict_of, list_of(dict_of(told.get("additional_kwargs")).get("tool_calls"))):
                inner = dict_of(one.get("function"))
                calls.append(Call(inner.get("name"), inner.get("arguments"), one.get("id")))
        meta = dict_of(told.get("response_metadata"))
        content = told.get("content")
        if isinstance(content, list):  # calls stand there too, in the provider's own form
            content = [one for one in content if text_at(one, "type") in (None, "text", "output_text")]
        name = text_at(told, "name")
        self.run.turn(
            text_of(content),
            calls,
            subject=name,
            name=plain(told.get("id")),
            usage=usage_of(told.get("usage_metadata") or meta.get("token_usage") or meta.get("usage")),
            model=text_at(meta, "model_name", "model"),
        )
