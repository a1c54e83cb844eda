"""Messages, one object each: who wrote it, what it says, and where, under any of the usual names.

`{"author": "ann", "content": "...", "created_at": "...", "thread": "t1", "target": "bob"}`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...lexicon.messages import TEXTS
from ..errors import BadLine
from ..format import Head, Input, JsonAdapter, Record, adapter
from ..messages import event_line
from ..streams import BOM
from .forum import Forum
from .json_array import JsonArray
from .jsonl import JsonLines

AUTHORS = ("author", "sender", "speaker", "username")
"""Of the names for who wrote a message, those that records of other kinds hardly have."""
NOT_MESSAGES = ("subject", "role", "turns", "messages", "comments", "replies", "children")


@adapter("messages")
class Messages(JsonAdapter):
    """Objects with an `author` (or `sender`, `speaker`, `username`) and a text, which are no forum dump."""

    def matches(self, head: Head) -> bool:
        return bool(head.objects) and all(map(_is_message, head.objects)) and not Forum().matches(head)

    def read(self, file: Input) -> Iterator[Record]:
        is_array = file.head.removeprefix(BOM).lstrip().startswith(b"[")
        for line, value, column in (JsonArray() if is_array else JsonLines()).read(file):
            try:
                yield line, dict(event_line(value)) if isinstance(value, dict) else value, column
            except BadLine as bad:
                yield line, bad.message, 0


def _is_message(record: Mapping[str, Any]) -> bool:
    return (
        not any(key in record for key in NOT_MESSAGES)
        and any(record.get(key) for key in AUTHORS)
        and any(isinstance(record.get(key), str) for key in TEXTS)
    )
