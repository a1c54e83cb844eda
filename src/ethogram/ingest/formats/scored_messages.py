"""Messages with the scores of an evaluator beside them: traits by name, and a list of indicators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadLine
from ..format import Head, Input, JsonAdapter, Record, adapter
from ..values import need
from .jsonl import JsonLines

KEYS = frozenset({"message_id", "traits", "indicators"})
"""Keys of every message of this format that no event line has."""
NAMES = ("subject", "target", "thread", "session", "reply_to", "kind", "at")
TAKEN = frozenset({*KEYS, *NAMES, "text", "preview"})


@adapter("scored_messages")
class ScoredMessages(JsonAdapter):
    """JSON lines of `message_id`, `subject`, `at`, `text`, `traits` by name and a list of `indicators`.

    A trait is {name: score}, an indicator {id, confidence}; its reading is the highest confidence. Keys that
    an event does not have become attributes. Where the text is missing, `preview` stands for it.
    """

    def matches(self, head: Head) -> bool:
        return not head.is_array and head.first.keys() >= KEYS

    def read(self, file: Input) -> Iterator[Record]:
        for line, value, column in JsonLines().read(file):
            try:
                yield line, _event_line(value) if isinstance(value, dict) else value, column
            except BadLine as bad:
                yield line, bad.message, 0


def _event_line(message: Mapping[str, Any]) -> dict[str, Any]:
    if "message_id" not in message:
        raise BadLine("a scored message needs a message_id")
    traits = need(message.get("traits") or {}, dict, "traits")
    confidences: dict[str, float] = {}
    for indicator in need(message.get("indicators") or [], list, "indicators"):
        name, value = (
            indicator.get(key) if isinstance(indicator, dict) else None for key in ("id", "confidence")
        )
        if not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, int | float):
            raise BadLine("an indicator needs an id and a confidence, a number from 0 to 1")
        key = name.replace("-", "_")
        confidences[key] = max(value, confidences.get(key, 0.0))
    text = message.get("text")
    return {
        **{name: message[name] for name in NAMES if message.get(name) is not None},
        "id": message["message_id"],
        "text": message.get("preview") if text is None else text,
        "attributes": {
            key: value for key, value in message.items() if key not in TAKEN and value is not None
        },
        "readings": {**traits, **confidences},
    }
