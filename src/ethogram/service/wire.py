"""Chat APIs on the wire: the answer in a response, a refusal and an error in the form of each."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from ..ingest.values import as_dict, as_dicts, as_list, text_at, text_of
from ..models import format_time

LONGEST_ANSWER = 4 * 2**20
"""Bytes of an answer that are read; what is longer passes, and its turn is left out."""
LONGEST_NAME = 512
OPENAI, OLLAMA, ANTHROPIC = "openai", "ollama", "anthropic"
CHAT_PATHS = {
    "/v1/chat/completions": OPENAI,
    "/chat/completions": OPENAI,
    "/api/chat": OLLAMA,
    "/v1/messages": ANTHROPIC,
}
NOT_SCORED_PATHS = frozenset({
    "/v1/responses", "/responses", "/v1/completions", "/completions", "/api/generate",
})  # fmt: skip
"""Other APIs by which a model is asked; what passes there is not scored."""
TOOLS = ("tool_use", "tool_result")
"""Blocks of Anthropic's messages."""


def messages_of(api: str, fields: Mapping[str, Any]) -> list[Any]:
    """The messages of a request in OpenAI's form; of Anthropic's blocks, texts and ids of tool calls."""
    messages = as_list(fields.get("messages"))
    if api != ANTHROPIC:
        return messages
    plain = []
    for message in as_dicts(messages):
        blocks = as_dicts(message.get("content"))
        tools = [block for block in blocks if block.get("type") in TOOLS]
        calls = [{"id": text_at(block, "id", "tool_use_id")} for block in tools]
        is_result = any(block["type"] == TOOLS[1] for block in tools)
        content = message.get("content")
        text = content if isinstance(content, str) else _joined(blocks)
        role = "tool" if is_result and not text else message.get("role")
        plain.append({"role": role, "content": text, "tool_calls": calls})
    return plain


def subject_of(api: str, fields: Mapping[str, Any]) -> str | None:
    """Who asks, where a request says so; of a longer name the beginning."""
    if api == ANTHROPIC:
        name = text_at(as_dict(fields.get("metadata")), "user_id")
    else:
        name = text_at(dict(fields), "safety_identifier", "user")
    return name and name[:LONGEST_NAME]


def _joined(blocks: list[dict[str, Any]]) -> str:
    return "".join(text_at(block, "text") or "" for block in blocks if block.get("type") == "text")


class AnswerReader:
    """Reads an answer while it passes, whole or as a stream of pieces."""

    def __init__(self, api: str, content_type: str) -> None:
        self._api = api
        self._is_events = content_type.startswith("text/event-stream")
        self._is_lines = self._is_events or content_type.startswith("application/x-ndjson")
        self._rest = b""
        self._size = 0
        self._texts: list[str] = []
        self._calls: list[Any] = []
        self.is_whole = False
        """Whether the end of the answer was seen."""

    def feed(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > LONGEST_ANSWER:
            self._rest = b""
            return
        self._rest += piece
        if self._is_lines:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._line(line.strip())

    def close(self) -> tuple[str, list[Any]] | None:
        """The text and the tool calls; None where the answer is not complete, too long, or none."""
        if self._size > LONGEST_ANSWER:
            return None
        if self._is_lines:
            self._line(self._rest.strip())
        else:
            self._take(self._rest)
            self.is_whole = True
        text = "".join(self._texts)
        return (text, self._calls) if self.is_whole and (text or self._calls) else None

    def _line(self, line: bytes) -> None:
        if self._is_events:
            if not line.startswith(b"data:"):
                return
            line = line[5:].strip()
            if line == b"[DONE]":
                self.is_whole = True
                return
        if line:
            self._take(line)

    def _take(self, data: bytes) -> None:
        try:
            fields = as_dict(msgspec.json.decode(data))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return
        if self._api == ANTHROPIC:
            self._take_blocks(fields)
            return
        if self._api == OLLAMA:
            message = as_dict(fields.get("message"))
            self.is_whole = self.is_whole or fields.get("done") is True
        else:
            choices = [item for item in as_dicts(fields.get("choices")) if item.get("index", 0) == 0]
            choice = choices[0] if choices else {}
            message = as_dict(choice.get("delta") or choice.get("message"))
            self.is_whole = self.is_whole or choice.get("finish_reason") is not None
        self._texts.append(text_of(message.get("content")) or text_at(message, "refusal") or "")
        # A call in pieces has its id in the first.
        calls = as_list(message.get("tool_calls"))
        self._calls += [call for call in calls if self._api == OLLAMA or as_dict(call).get("id")]

    def _take_blocks(self, fields: dict[str, Any]) -> None:
        """A whole message of Anthropic's, or an event of its stream."""
        self.is_whole = self.is_whole or fields.get("type") == "message_stop"
        blocks = as_dicts(fields.get("content"))
        if (begun := as_dict(fields.get("content_block"))).get("type") == TOOLS[0]:
            blocks.append(begun)
        self._texts += [_joined(blocks), text_at(as_dict(fields.get("delta")), "text") or ""]
        self._calls += [{"id": text_at(block, "id")} for block in blocks if block.get("type") == TOOLS[0]]


def streams(api: str, fields: Mapping[str, Any]) -> bool:
    """Whether the answer is wanted as a stream; Ollama's is one unless it is declined."""
    return fields.get("stream", api == OLLAMA) is True


def refusal(api: str, fields: Mapping[str, Any], sentence: str) -> tuple[str, bytes]:
    """Content type and body of an answer that refuses, as a stream where one is wanted."""
    model = text_at(dict(fields), "model") or "ethogram"
    if api == OLLAMA:
        now = format_time(datetime.now(UTC))
        message = {"role": "assistant", "content": sentence}
        last = {"model": model, "created_at": now, "message": message, "done": True, "done_reason": "stop"}
        kind = "application/x-ndjson" if streams(api, fields) else "application/json"
        return kind, msgspec.json.encode(last) + b"\n"
    if api == ANTHROPIC:
        return _anthropic_refusal(model, sentence, is_stream=streams(api, fields))
    head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
    if not streams(api, fields):
        message = {"role": "assistant", "content": sentence}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "content_filter"}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        body = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return "application/json", msgspec.json.encode(body)
    deltas: list[tuple[dict[str, str], str | None]] = [
        ({"role": "assistant", "content": ""}, None),
        ({"content": sentence}, None),
        ({}, "content_filter"),
    ]
    events = [
        {
            **head,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
        for delta, reason in deltas
    ]
    lines = [b"data: " + msgspec.json.encode(event) + b"\n\n" for event in events]
    return "text/event-stream", b"".join([*lines, b"data: [DONE]\n\n"])


def _anthropic_refusal(model: str, sentence: str, *, is_stream: bool) -> tuple[str, bytes]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    end = {"stop_reason": "refusal", "stop_sequence": None}
    head = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": model}
    if not is_stream:
        content = [{"type": "text", "text": sentence}]
        return "application/json", msgspec.json.encode({**head, "content": content, **end, "usage": usage})
    begun: dict[str, Any] = {
        **head,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": sentence}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 0}},
        {"type": "message_stop"},
    ]
    lines = [f"event: {event['type']}\ndata: ".encode() + msgspec.json.encode(event) for event in events]
    return "text/event-stream", b"\n\n".join([*lines, b""])


def failure(api: str | None, code: str, message: str) -> bytes:
    """The body of an error in the form of an API."""
    if api == OLLAMA:
        return msgspec.json.encode({"error": message})
    if api == ANTHROPIC:
        return msgspec.json.encode({"type": "error", "error": {"type": code, "message": message}})
    error = {"message": message, "type": "ethogram", "param": None, "code": code}
    return msgspec.json.encode({"error": error})


def with_note(api: str, fields: Mapping[str, Any], note: str) -> bytes:
    """The body of a request whose system message, its own or a new one, ends with a note."""
    if api == ANTHROPIC:
        own = fields.get("system")
        if isinstance(own, list):
            system: Any = [*own, {"type": "text", "text": note}]
        else:
            system = f"{own}\n\n{note}" if isinstance(own, str) and own else note
        return msgspec.json.encode({**fields, "system": system})
    messages = list(as_list(fields.get("messages")))
    first = as_dict(messages[0]) if messages else {}
    if first.get("role") in ("system", "developer") and isinstance(first.get("content"), str):
        messages[0] = {**first, "content": f"{first['content']}\n\n{note}"}
    else:
        messages.insert(0, {"role": "system", "content": note})
    return msgspec.json.encode({**fields, "messages": messages})
