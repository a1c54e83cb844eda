"""Chat messages: system, user, assistant and tool, as OpenAI writes them and many others do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .transcript import ToolCall, Transcript
from .values import as_dict, as_list, block_texts, need, text_at, text_of, token_usage

ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
_FAILED = re.compile(r"\s*(Error|Traceback \(most recent call last\))\b")


def is_message(record: Any) -> bool:
    """Return whether this is a chat message: a known role, and a content or calls.

    >>> is_message({"role": "user", "content": "hi"}), is_message({"role": "user"})
    (True, False)
    """
    fields = as_dict(record)
    if text_at(fields, "role") not in ROLES or ("type" in fields and "data" in fields):
        return False
    return (
        isinstance(fields.get("content"), str | list) or "tool_calls" in fields or "function_call" in fields
    )


def tool_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """Return the calls of an assistant's message; the arguments may be JSON text or an object."""
    calls = []
    for item in as_list(message.get("tool_calls")):
        call = need(item, dict, "a tool call")
        inner = as_dict(call.get("function") if "function" in call else call.get("custom"))
        arguments = (
            fields[key] for fields in (inner, call) for key in ("arguments", "input") if key in fields
        )
        calls.append(ToolCall(inner.get("name", call.get("name")), next(arguments, None), call.get("id")))
    if isinstance(old := message.get("function_call"), dict):
        calls.append(ToolCall(old.get("name"), old.get("arguments")))
    return calls


class ChatTranscript(Transcript):
    """A run whose records are chat messages."""

    errors_in_text = False
    """True where a result that begins with "Error" is one that failed."""

    def add(self, record: Any) -> None:
        message = need(record, dict, "a message")
        role, content = message.get("role"), message.get("content")
        at = message.get("timestamp", message.get("created_at"))
        if role == "assistant":
            self.turn(
                text_of(content) or text_at(message, "refusal"),
                tool_calls(message),
                thought=text_at(message, "reasoning_content", "reasoning")
                or block_texts(content, "thinking", "thinking"),
                usage=token_usage(message.get("usage")),
                message_id=text_at(message, "id"),
                model=text_at(message, "model"),
                at=at,
            )
        elif role in ("tool", "function"):
            text = text_of(content)
            failed = self.errors_in_text and _FAILED.match(text) is not None
            self.result(
                text,
                call_id=message.get("tool_call_id"),
                tool=message.get("name"),
                error=message.get("is_error") is True or failed,
                at=at,
            )
        elif role in ("user", "system", "developer"):
            self.message("user" if role == "user" else "system", text_of(content), at=at)
        else:
            self.unknown(role)
