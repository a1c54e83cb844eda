"""Messages, one object each: who wrote it, what it says, and where, under any of the usual names.

`{"author": "ann", "content": "...", "created_at": "...", "thread": "t1", "target": "bob"}`
`{"role": "user", "text": "..."}`: a turn of a conversation with an assistant
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, TypeGuard

from ...lexicon.messages import TEXTS
from ..errors import BadLine
from ..format import Head, Input, JsonAdapter, Record, adapter
from ..messages import event_line
from ..streams import BOM
from .conversations import subject_of
from .forum import Forum
from .json_array import JsonArray
from .jsonl import JsonLines

AUTHORS = ("author", "sender", "speaker", "username", "user", "user_id", "from")
"""Of the names for who wrote a message, those that records of other kinds hardly have."""
NOT_MESSAGES = ("subject", "turns", "messages", "comments", "replies", "children")
OTHERS = {"user": "assistant", "assistant": "user"}
"""Roles, and whom they speak to."""


@adapter("messages")
class Messages(JsonAdapter):
    """Objects with an `author` (or `sender`, `speaker`, `user`, ...) and a text, which are no forum dump.

    Or turns: objects with a `role` and a `text`. They are of one conversation, named after the file, unless
    they name it; a mere role is somebody else in each.
    """

    def matches(self, head: Head) -> bool:
        return bool(head.objects) and all(map(_is_message, head.objects)) and not Forum().matches(head)

    def read(self, file: Input) -> Iterator[Record]:
        name = PurePath(file.name.removesuffix(".gz")).stem
        is_array = file.head.removeprefix(BOM).lstrip().startswith(b"[")
        for line, value, column in (JsonArray() if is_array else JsonLines()).read(file):
            try:
                yield line, _event_line(value, name) if isinstance(value, dict) else value, column
            except BadLine as bad:
                yield line, bad.message, 0


def _is_message(record: Mapping[str, Any]) -> bool:
    if any(key in record for key in NOT_MESSAGES):
        return False
    if "role" in record:
        return _is_role(record["role"]) and isinstance(record.get("text"), str)
    return any(record.get(key) for key in AUTHORS) and any(isinstance(record.get(key), str) for key in TEXTS)


def _is_role(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value in OTHERS


def _event_line(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    line, role = dict(event_line(record)), record.get("role")
    if not _is_role(role):
        return line
    thread = line.setdefault("thread", name)
    line["subject"] = subject_of(line["subject"], role, thread)
    line.setdefault("target", f"{thread}/{OTHERS[role]}")
    line.setdefault("kind", "message")
    line["attributes"] = {**line.get("attributes", {}), "role": role}
    return line
