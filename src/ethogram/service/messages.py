"""Messages of chat APIs as turns, known by their hashes."""

from __future__ import annotations

import base64
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


class ChatIdentity(NamedTuple):
    """What makes a conversation one's own: another in any of these is another conversation."""

    owner: str | None
    """The name of the API key that told it; None without keys."""
    source: str
    subject: str | None
    """None where nobody said who speaks to the assistant."""
    name: str | None
    """Its id as the program calls it; None where its messages alone tell it from others."""

    def root(self) -> bytes:
        """What the first message is hashed with."""
        return _digest(list(self))

    def earlier_root(self) -> bytes:
        """What it was hashed with before conversations had an owner."""
        return _digest([self.name, None if self.name else self.subject])

    def ids(self) -> list[str]:
        """Ids for a named conversation in the store: it has the first that is free or its own.

        >>> bob, eve = (ChatIdentity(None, "proxy", subject, "c1") for subject in ("bob", "eve"))
        >>> bob.ids()[0], bob.ids()[1] == eve.ids()[1], bob.ids()[2] == eve.ids()[2]
        ('c1', True, False)
        """
        owned, own = [self.owner, self.source], [self.owner, self.source, self.subject]
        return [self.name or "", f"{self.name}@{_short(owned)}", f"{self.name}@{_short(own)}"]


def _digest(parts: Sequence[str | None]) -> bytes:
    return blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def _short(parts: Sequence[str | None]) -> str:
    """Ten letters for a name; 60 bits, so that nobody finds other parts with the same."""
    return base64.urlsafe_b64encode(_digest(parts)).decode()[:10]
