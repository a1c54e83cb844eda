"""Messages of chat APIs as turns, known by their hashes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from ..app.chat.conversation import role_of
from ..errors import BadUsage
from ..ingest.values import as_dict, as_dicts, text_at, text_of


class Turn(NamedTuple):
    """One message: who, what, and the hash of both."""

    role: str
    text: str
    digest: bytes


def turns_of(messages: Iterable[Any]) -> list[Turn]:
    """The messages that are turns of a conversation: not those of the system, which may change any time."""
    turns = []
    for message in as_dicts(list(messages)):
        try:
            role = role_of(message.get("role"))
        except BadUsage:
            continue
        if role != "system":
            turns.append(turn_of(role, text_of(message.get("content")), message.get("tool_calls")))
    return turns


def turn_of(role: str, text: str, calls: Any = None) -> Turn:
    """One turn; blanks around its text do not count."""
    marks = [
        text_at(call, "id") or text_at(as_dict(call.get("function")), "name") or ""
        for call in as_dicts(calls)
    ]
    content = json.dumps([role, text.strip(), *marks]).encode()
    return Turn(role, text, blake2b(content, digest_size=16).digest())


def chained(root: bytes, turns: Sequence[Turn]) -> list[bytes]:
    """The key of each beginning: the hash of its last message with the key before."""
    keys, key = [], root
    for turn in turns:
        key = blake2b(key + turn.digest, digest_size=16).digest()
        keys.append(key)
    return keys


def root_of(name: str | None, subject: str | None) -> bytes:
    """What a first message is hashed with: conversations of two names or subjects are never one."""
    return blake2b(json.dumps([name, subject]).encode(), digest_size=16).digest()
