"""Chat messages: system, user, assistant and tool, as OpenAI writes them and many others do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .documents import dict_of, list_of, need, text_at
from .transcript import Call, Run, text_of, texts, usage_of

ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
FAILED = re.compile(r"\s*(Error|Traceback \(most recent call last\))\b")


def is_message(value: Any) -> bool:
    """Whether this is a chat message: a role that is known, and a content or calls.

    >>> is_message({"role": "user", "content": "hi"}), is_message({"role": "user"})
    (True, False)
    """
    item = dict_of(value)
    if (
        not isinstance(item.get("role"), str)
        or item["role"] not in ROLES
        or ("type" in item and "data" in item)
    ):
        return False
    return isinstance(item.get("content"), str | list) or "tool_calls" in item or "function_call" in item


def calls_of(message: Mapping[str, Any]) -> list[Call]:
    """The calls of an assistant's message; the arguments may be JSON text or an object."""
    found = []
    for item in list_of(message.get("tool_calls")):
        told = need(item, dict, "a tool call")
        inner = dict_of(told.get("function") if "function" in told else told.get("custom"))
        name = inner.get("name", told.get("name"))
        arguments = next(
            (box[key] for box in (inner, told) for key in ("arguments", "input") if key in box), None
        )
        found.append(Call(name, arguments, told.get("id")))
    if isinstance(old := message.get("function_call"), dict):
        found.append(Call(old.get("name"), old.get("arguments")))
    return found


def tell_message(run: Run, record: Any, *, errors: bool = False, **facts: Any) -> None:
    """Tell a run one chat message. With `errors`, a result that begins with "Error" is one that failed."""
    message = need(record, dict, "a message")
    role, content = message.get("role"), message.get("content")
    usage = usage_of(message.get("usage"))
    given = {"at": message.get("timestamp", message.get("created_at")), **facts}
    if role == "assistant":
        run.turn(
            text_of(content) or text_at(message, "refusal"),
            calls_of(message),
            thought=text_at(message, "reasoning_content", "reasoning")
            or texts(content, "thinking", "thinking"),
            usage=usage,
            name=text_at(message, "id"),
            model=text_at(message, "model"),
            **given,
        )
    elif role in ("tool", "function"):
        said = text_of(content)
        run.result(
            said,
            call_id=message.get("tool_call_id"),
            tool=message.get("name"),
            error=message.get("is_error") is True or (errors and FAILED.match(said) is not None),
            **given,
        )
    elif role in ("user", "system", "developer"):
        run.message("system" if role == "developer" else str(role), text_of(content), **given)
    else:
        run.unknown(role)
