"""OpenAI chat: messages with roles, as an array, under `messages`, or with the answers in `choices`.

Also ShareGPT, and exports of chatgpt.com (`mapping`) and claude.ai, whose messages are turned into these.
"""

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

NAMES = ("id", "conversation_id", "session_id", "run_id", "request_id", "uuid")
EXPORTS = (("conversations", "from", "value"), ("chat_messages", "sender", "text"))
"""Messages in ShareGPT and in exports of claude.ai: the keys of their list, the speaker and the text."""
SPEAKERS = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "observation": "tool"}


@adapter("openai_chat")
class OpenAiChat(TranscriptAdapter):
    """Messages with `role` and `content` or `tool_calls`; not those of Anthropic, which hold blocks."""

    def matches(self, head: Head) -> bool:
        objects, first = head.objects, _usual(head.first)
        if not objects or has_blocks(objects) or is_mini_trajectory(first):
            return False
        if "choices" in first and text_at(first, "object") == "chat.completion":
            return True
        if isinstance(messages := _messages(first), list):
            return bool(messages) and all(map(is_message, messages))
        # Messages on their own: every object is one, so that no other record is taken for it.
        return all(map(is_message, objects)) and not any("subject" in record for record in objects)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        usual = ((line, _usual(document)) for line, document in documents)
        return exchange_runs(CompletionTranscript, _exchange, file, usual)


class CompletionTranscript(ChatTranscript):
    """A run of chat messages and completions."""

    def add(self, record: Any) -> None:
        completion = as_dict(record)
        for message in _answers(completion) if "choices" in completion else [record]:
            super().add(message)


def _messages(document: Mapping[str, Any]) -> Any:
    return document.get("messages", as_dict(document.get("request")).get("messages"))


def _usual(document: Any) -> Any:
    """Return an exported conversation with its messages under `messages`; anything else as it is."""
    export = as_dict(document)
    if isinstance(nodes := export.get("mapping"), dict):
        return {**export, "messages": list(_path(nodes, as_name(export.get("current_node"))))}
    for key, role, text in EXPORTS:
        if isinstance(turns := export.get(key), list):
            turns = [
                _message(turn, turn.get(role), turn.get(text)) for turn in turns if isinstance(turn, dict)
            ]
            return {**export, "messages": turns}
    return document


def _path(nodes: dict[str, Any], last: str | None) -> Iterator[dict[str, Any]]:
    """Yield the messages of a tree of edits that lead to the last one."""
    path: dict[str, dict[str, Any]] = {}
    place = last if last in nodes else next(reversed(nodes), None)
    while place is not None and place in nodes and place not in path:
        path[place] = as_dict(nodes[place])
        place = as_name(path[place].get("parent"))
    for node in reversed(path.values()):
        fields = as_dict(node.get("message"))
        parts = [part for part in as_list(as_dict(fields.get("content")).get("parts")) if part]
        if parts:
            at, role = fields.get("create_time"), as_dict(fields.get("author")).get("role")
            yield _message({"created_at": at}, role, parts)


def _message(fields: Mapping[str, Any], role: Any, content: Any) -> dict[str, Any]:
    return {**fields, "role": SPEAKERS.get(role, role) if isinstance(role, str) else role, "content": content}


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
