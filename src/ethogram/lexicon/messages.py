"""Messages as others write them: who, and what, under any of the usual names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import BadUsage

AUTHORS = (
    *("subject", "author", "agent", "agent_id", "speaker", "sender"),
    *("from", "user", "user_id", "username", "name", "role"),
)
TEXTS = ("text", "content", "body", "message")


def author_key(message: Mapping[str, Any]) -> str | None:
    """The key that holds who wrote a message; None where there is none."""
    return next((key for key in AUTHORS if message.get(key) not in (None, "")), None)


def text_key(message: Mapping[str, Any]) -> str | None:
    """The key that holds what a message says; None where there is none."""
    return next((key for key in TEXTS if message.get(key) is not None), None)


def author_and_text(message: Mapping[str, Any], place: str = "message") -> tuple[str, str | None]:
    """Who wrote a message and what it says; BadUsage, naming the place, where nobody did.

    >>> author_and_text({"role": "user", "content": "Hello."}), author_and_text({"author": {"name": "ann"}})
    (('user', 'Hello.'), ('ann', None))
    """
    key = author_key(message)
    if key is None:
        keys = ", ".join(map(repr, message)) or "none"
        raise BadUsage(f"{place}: no author: expected one of {', '.join(AUTHORS)}; its keys: {keys:.200}")
    author, text = message[key], message.get(text_key(message) or "text")
    if isinstance(author, Mapping):
        author = next((author[name] for name in ("name", "username", "id") if author.get(name)), "")
    if isinstance(text, list):  # parts, as model servers write them
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in text)
        text = "\n".join(part for part in parts if isinstance(part, str))
    if text is not None and not isinstance(text, str):
        raise BadUsage(f"{place}: {text_key(message)} is {type(text).__name__}: expected a text")
    return str(author), text
