"""OpenAI chat: messages with roles, as an array, under `messages`, or with the answers in `choices`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..chat_messages import ChatTranscript, is_message
from ..format import Head, Input, adapter
from ..request_log import Exchange, exchange_runs
from ..transcript import Transcript, TranscriptAdapter
from ..values import as_dict, as_list, as_name, text_at, without_none
from .anthropic import has_blocks
from .swe_agent import is_mini_trajectory

NAMES = ("id", "conversation_id", "session_id", "run_id", "request_id")


@adapter("openai_chat")
class OpenAiChat(TranscriptAdapter):
    """Messages with `role` and `content` or `tool_calls`; not those of Anthropic, which hold blocks."""

    def matches(self, head: Head) -> bool:
        objects, first = head.objects, head.first
        if not objects or has_blocks(objects) or is_mini_trajectory(first):
            return False
        if "choices" in first and text_at(first, "object") == "chat.completion":
            return True
        if isinstance(messages := _messages(first), list):
            return bool(messages) and all(map(is_message, messages))
        # Messages on their own: every object is one, so that no other record is taken for it.
        return all(map(is_message, objects)) and not any("subject" in record for record in objects)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        return exchange_runs(CompletionTranscript, _exchange, file, documents)


class CompletionTranscript(ChatTranscript):
    """A run of chat messages and completions."""

    def add(self, record: Any) -> None:
        completion = as_dict(record)
        for message in _answers(completion) if "choices" in completion else [record]:
            super().add(message)


def _messages(document: Mapping[str, Any]) -> Any:
    return document.get("messages", as_dict(document.get("request")).get("messages"))


def _exchange(document: Mapping[str, Any]) -> Exchange:
    completion = as_dict(document.get("response")) or document
    return Exchange(
        next((name for key in NAMES if (name := as_name(document.get(key)))), None),
        [],
        _messages(document),
        _answers(completion),
        is_request="request" in document or "choices" in completion,
    )


def _answers(completion: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the first answer of a completion: the others were not taken."""
    fields = without_none(
        usage=completion.get("usage"), model=completion.get("model"), created_at=completion.get("created")
    )
    return [
        {"role": "assistant", **fields, **as_dict(as_dict(choice).get("message"))}
        for choice in as_list(completion.get("choices"))[:1]
    ]
