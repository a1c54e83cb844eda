"""Messages in Python, under any of the usual names, as event lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import BadUsage
from ..lexicon.messages import TEXTS, author_and_text, author_key
from .errors import BadLine
from .values import name_of, time_of

FIELDS = {
    "id": ("id", "message_id"),
    "thread": ("thread", "thread_id", "conversation_id", "channel"),
    "reply_to": ("reply_to", "parent", "parent_id", "in_reply_to"),
    "target": ("target", "to", "recipient", "receiver"),
}
TIMES = ("at", "created_at", "timestamp", "time", "created_utc", "date", "ts", "event_time")
KEPT = ("kind", "source", "session", "seq", "readings", "attributes")


def event_line(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event line of a message; the line itself where it has a subject, or nobody wrote it.

    What has no place of its own is an attribute. BadLine where a field cannot be read.

    >>> event_line({"author": "ann", "content": "Hello.", "score": 3})
    {'subject': 'ann', 'text': 'Hello.', 'attributes': {'score': 3}}
    """
    if "subject" in line or (own := author_key(line)) is None:
        return line
    try:
        author, text = author_and_text(line)
    except BadUsage as error:
        raise BadLine(str(error)) from None
    out: dict[str, Any] = {"subject": author}
    if text is not None:
        out["text"] = text
    for field, keys in FIELDS.items():
        if (name := next((found for key in keys if (found := name_of(line.get(key)))), None)) is not None:
            out[field] = name
    for key in TIMES:
        if line.get(key) is not None:
            at, _ = time_of(line[key], key)
            if at is not None:
                out["at"] = at
            break
    read = {own, *TEXTS, *TIMES, *(key for keys in FIELDS.values() for key in keys), *KEPT}
    more = {
        key: value for key, value in line.items() if key not in read and isinstance(value, str | int | float)
    }
    out |= {key: line[key] for key in KEPT if line.get(key) is not None}
    if more:
        out["attributes"] = {**more, **(out.get("attributes") or {})}
    return out
