"""Anthropic Messages API: messages of content blocks, as an array, a request or a log of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..format import Head, Input, adapter
from ..request_log import Exchange, exchange_runs
from ..transcript import ToolCall, Transcript, TranscriptAdapter
from ..values import as_dict, as_list, as_name, block_texts, need, text_at, text_of, token_usage

CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
OWN = frozenset((*CALLS, "tool_result", "thinking", "redacted_thinking"))
"""Types of blocks that nobody else writes."""
TEXTS = frozenset(("text", "image", "document"))


@adapter("anthropic_messages")
class AnthropicMessages(TranscriptAdapter):
    """Messages whose `content` has blocks such as tool_use, tool_result or thinking."""

    has_own_texts = True

    def matches(self, head: Head) -> bool:
        # A transcript holds such messages too, each inside a line of its own.
        return has_blocks(head.objects) and "message" not in head.first and "steps" not in head.first

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        return exchange_runs(BlockTranscript, _exchange, file, documents)


def has_blocks(records: Iterable[Any], depth: int = 0) -> bool:
    """Return whether messages, or the records that hold them, have blocks that only Anthropic's have."""
    for record in map(as_dict, records):
        content = record.get("content")
        if record.get("type") == "message" and "stop_reason" in record and isinstance(content, list):
            return True
        if "role" in record and any(text_at(block, "type") in OWN for block in as_list(content)):
            return True
        inner = [record[key] for key in ("request", "response") if isinstance(record.get(key), dict)]
        if depth < 2 and (has_blocks(as_list(record.get("messages")), 2) or has_blocks(inner, depth + 1)):
            return True
    return False


class BlockTranscript(Transcript):
    """A run whose records are messages of content blocks."""

    def add(self, record: Any) -> None:
        message = need(record, dict, "a message")
        role, content = message.get("role"), message.get("content")
        at = message.get("timestamp", message.get("created_at"))
        if role not in ("user", "assistant", "system"):
            self.unknown(role)
            return
        if not isinstance(content, str):
            need(content, list, "content")
        if role == "assistant":
            self._turn(message, at)
        for block in map(as_dict, as_list(content)):
            kind, inner = text_at(block, "type"), block.get("content")
            # The caller's tools give tool_result, those that run on the server one of their own.
            if kind is not None and kind.endswith("tool_result"):
                failed = block.get("is_error") is True or (text_at(inner, "type") or "").endswith("_error")
                self.result(text_of(inner), call_id=block.get("tool_use_id"), error=failed, at=at)
            elif kind not in OWN | TEXTS:
                self.unknown(kind)
        if role != "assistant":
            blocks = [block for block in as_list(content) if text_at(block, "type") in TEXTS]
            self.message(str(role), content if isinstance(content, str) else text_of(blocks), at=at)

    def _turn(self, message: Mapping[str, Any], at: Any) -> None:
        content = message.get("content")
        self.turn(
            content if isinstance(content, str) else block_texts(content, "text", "text"),
            [
                ToolCall.of(block, "name", "input")
                for block in as_list(content)
                if text_at(block, "type") in CALLS
            ],
            thought=block_texts(content, "thinking", "thinking"),
            at=at,
            message_id=text_at(message, "id"),
            usage=token_usage(message.get("usage")),
            model=text_at(message, "model"),
        )


def _exchange(document: Mapping[str, Any]) -> Exchange:
    request = as_dict(document.get("request")) or document
    system, response = request.get("system"), document.get("response")
    before = [] if system is None else [{"role": "system", "content": as_list(system) or text_of(system)}]
    answers = [] if response is None else [response]
    is_request = bool(answers) or "request" in document
    return Exchange(as_name(document.get("id")), before, request.get("messages"), answers, is_request)
