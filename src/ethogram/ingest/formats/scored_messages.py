"""Messages with the scores of an evaluator beside them: traits by name, and a list of indicators found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadLine
from ..format import Adapter, Input, Record, adapter
from ..streams import BOM, decode, parse
from .jsonl import JsonLines

KEYS = frozenset({"message_id", "traits", "indicators"})
"""What no event line has, and every message of this format."""
NAMES = ("subject", "target", "thread", "session", "reply_to", "kind", "at")
TAKEN = frozenset({"message_id", "traits", "indicators", "text", "preview", *NAMES})


@adapter("scored_messages")
class ScoredMessages(Adapter):
    """JSON lines of `message_id`, `subject`, `at`, `text`, `traits` by name and a list of `indicators`.

    A trait is {name: score}, an indicator {id, confidence}; its reading is the confidence, the highest where
    it was found twice. Keys that an event does not have become attributes. Where the text is missing,
    `preview` stands for it.
    """

    def recognises(self, head: bytes, name: str) -> bool:
        first = head.removeprefix(BOM).lstrip().partition(b"\n")[0]
        # Most files are something else: looking for the words costs less than reading the line.
        if not first.startswith(b"{") or any(key.encode() not in first for key in KEYS):
            return False
        try:
            value = parse(decode(first))
        except BadLine:
            return False
        return isinstance(value, dict) and value.keys() >= KEYS

    def read(self, file: Input) -> Iterator[Record]:
        """One record for each message, at its line."""
        for line, value, column in JsonLines().read(file):
            yield (line, value, column) if isinstance(value, str) else (line, *_event_line(value))


def _event_line(message: Mapping[str, Any]) -> tuple[dict[str, Any] | str, int]:
    if "message_id" not in message:
        return "a scored message needs a message_id", 0
    traits, indicators = message.get("traits") or {}, message.get("indicators") or []
    if not isinstance(traits, Mapping):
        return "traits must be an object: {name: score}", 0
    if not isinstance(indicators, list):
        return "indicators must be a list of {id, confidence}", 0
    try:
        record = _confidences(indicators)
    except ValueError as error:
        return str(error), 0
    line = {name: message[name] for name in NAMES if message.get(name) is not None}
    text = message.get("text")
    return line | {
        "id": message["message_id"],
        "text": message.get("preview") if text is None else text,
        "attributes": {
            key: value for key, value in message.items() if key not in TAKEN and value is not None
        },
        "readings": {**traits, **record},
    }, 0


def _confidences(indicators: list[Any]) -> dict[str, float]:
    """Indicator to its highest confidence; ValueError says what is wrong with one."""
    record: dict[str, float] = {}
    for indicator in indicators:
        name = indicator.get("id") if isinstance(indicator, Mapping) else None
        value = indicator.get("confidence") if isinstance(indicator, Mapping) else None
        if not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError("an indicator needs an id and a confidence, a number from 0 to 1")
        key = name.replace("-", "_")
        record[key] = max(value, record.get(key, 0.0))
    return record
