"""Anthropic's messages: roles user and assistant, and a content of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .documents import dict_of, list_of, need, text_at
from .run_values import text_of, texts, usage_of
from .runs import Call, Run

CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
OWN = frozenset((*CALLS, "tool_result", "thinking", "redacted_thinking"))
"""Types of blocks that nobody else writes."""
TEXTS = frozenset(("text", "image", "document"))


def has_blocks(told: Iterable[Any], depth: int = 0) -> bool:
    """Whether messages, or what holds them, have blocks that only Anthropic's have."""
    for one in told:
        record = dict_of(one)
        content = record.get("content")
        if record.get("type") == "message" and "stop_reason" in record and isinstance(content, list):
            return True
        if "role" in record and any(_kind(block) in OWN for block in list_of(content)):
            return True
        inner = [record[key] for key in ("request", "response") if isinstance(record.get(key), dict)]
        if depth < 2 and (has_blocks(list_of(record.get("messages")), 2) or has_blocks(inner, depth + 1)):
            return True
    return False


def _kind(block: Any) -> str | None:
    return text_at(block, "type")


def is_result(kind: str | None) -> bool:
    """Whether a block holds what a tool gave: the caller's, or one of those that run on the server."""
    return kind is not None and kind.endswith("tool_result")


def tell_blocks(run: Run, record: Any) -> None:
    """Tell a run one message."""
    message = need(record, dict, "a message")
    role, content = message.get("role"), message.get("content")
    at = message.get("timestamp", message.get("created_at"))
    if role not in ("user", "assistant", "system"):
        run.unknown(role)
        return
    if not isinstance(content, str):
        need(content, list, "content")
    if role == "assistant":
        _assistant(run, message, at)
    for block in map(dict_of, list_of(content)):
        if is_result(kind := _kind(block)):
            run.result(
                text_of(block.get("content")),
                call_id=block.get("tool_use_id"),
                error=block.get("is_error") is True or (_kind(block.get("content")) or "").endswith("_error"),
                at=at,
            )
        elif kind not in OWN | TEXTS:
            run.unknown(kind)
    if role != "assistant":
        kept = [one for one in list_of(content) if _kind(one) in TEXTS]
        run.message(str(role), content if isinstance(content, str) else text_of(kept), at=at)


def _assistant(run: Run, message: Mapping[str, Any], at: Any) -> None:
    content = message.get("content")
    run.turn(
        content if isinstance(content, str) else texts(content, "text", "text"),
        [
            Call(one.get("name"), one.get("input"), one.get("id"))
            for one in map(dict_of, list_of(content))
            if _kind(one) in CALLS
        ],
        thought=texts(content, "thinking", "thinking"),
        at=at,
        name=text_at(message, "id"),
        usage=usage_of(message.get("usage")),
        model=text_at(message, "model"),
    )
