"""Forum dumps: posts with their comments and replies nested in them, or each message on its own.

`{"id": "p1", "author": "ann", "content": "...", "created_at": "...", "comments": [{"id": "c1", ...}]}`
`{"id": "c1", "parent": "p1", "author": "bob", "content": "...", "created_at": "..."}`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadLine, shown
from ..format import Head, Input, JsonAdapter, Record, Skipped, adapter
from ..messages import FIELDS
from ..streams import BOM
from ..values import as_list, name_of, need, time_of
from .json_array import JsonArray
from .jsonl import JsonLines

TEXTS = ("content", "body", "selftext")
TIMES = ("created_at", "created_utc", "published_at")
NESTED = ("comments", "replies", "children")
ATTRIBUTES = ("title", "score", "submolt", "subreddit", "edited_at")
DELETED = frozenset(("[deleted]", "[removed]"))
MOST_DEPTH = 200


@adapter("forum")
class Forum(JsonAdapter):
    """Objects with an `author`, a `content` (or `body`) and a `created_at` (or `created_utc`)."""

    def matches(self, head: Head) -> bool:
        first = head.first
        if "author" not in first or "id" not in first or "subject" in first:
            return False
        return any(key in first for key in TEXTS) and any(key in first for key in TIMES)

    def read(self, file: Input) -> Iterator[Record]:
        """Yield an event for each post, comment and reply, and for each later edit and deletion."""
        is_array = file.head.removeprefix(BOM).lstrip().startswith(b"[")
        messages = _Messages()
        for number, value, column in (JsonArray() if is_array else JsonLines()).read(file):
            if isinstance(value, str):
                yield number, value, column
            else:
                file.ledger.see([value])
                yield from ((number, line, 0) for line in messages.event_lines(value, None, 0))


class _Messages:
    """Thread, author, text and number of edits of each message, as far as the file has been read."""

    def __init__(self) -> None:
        self.threads: dict[str, str] = {}
        self.authors: dict[str, str] = {}
        self.texts: dict[str, int] = {}
        self.edits: dict[str, int] = {}

    def event_lines(self, message: Mapping[str, Any], parent: str | None, depth: int) -> Iterator[Any]:
        """Yield the event lines of a message and of all nested in it, or what is wrong with them."""
        if "subject" in message and "author" not in message:
            yield dict(message)  # an ordinary event among the messages
            return
        if depth > MOST_DEPTH:
            yield f"replies nested deeper than {MOST_DEPTH}"
            return
        if (id_ := name_of(message.get("id"))) is None:
            yield "a message needs an id"
            return
        if "author" not in message:
            yield f"message {shown(id_)} needs an author (null where it is deleted)"
            return
        parent = parent or _parent_id(_named(message, "reply_to"))
        named = name_of(message.get("thread", message.get("thread_id")))
        self.threads.setdefault(id_, named or (self.threads.get(parent, parent) if parent else id_))
        try:
            yield from self._event(message, id_, parent)
        except BadLine as bad:
            yield f"message {shown(id_)}: {bad.message}"
        for key in NESTED:
            for child in as_list(message.get(key)):
                if isinstance(child, Mapping):
                    yield from self.event_lines(child, id_, depth + 1)
                else:
                    yield f"{key} of {shown(id_)} must hold messages {{...}}"

    def _event(self, message: Mapping[str, Any], id_: str, parent: str | None) -> Iterator[Any]:
        author, text = name_of(message.get("author")), _text(message)
        is_deleted, known = bool(message.get("deleted")) or text in DELETED, self.authors.get(id_)
        if author is None or author in DELETED:
            author = known
        elif known not in (None, author):
            raise BadLine(f"the id is that of a message by {shown(known)} before")
        if author is None:
            yield Skipped("a message whose author is gone")
            return
        line = self._line(message, id_, parent, author)
        if known is None:
            self.authors[id_] = author
            line["kind"] = "deletion" if is_deleted else "comment" if parent else "post"
        elif not is_deleted and self.texts[id_] == hash(text):
            return  # nothing new
        else:
            self.edits[id_] = self.edits.get(id_, 0) + 1
            line["id"] = f"{id_}@{'deleted' if is_deleted else self.edits[id_]}"
            line["kind"], line["reply_to"] = ("deletion" if is_deleted else "edit"), id_
            if (at := _time(message, ("edited_at", "deleted_at"))) is not None:
                line["at"] = at
        self.texts[id_] = hash(text)
        if not is_deleted and text:
            line["text"] = text
        yield line

    def _line(self, message: Mapping[str, Any], id_: str, parent: str | None, author: str) -> dict[str, Any]:
        line: dict[str, Any] = {"id": id_, "subject": author, "thread": self.threads[id_]}
        line["attributes"] = {
            key: message[key]
            for key in ATTRIBUTES
            if isinstance(message.get(key), str | int | float) and message[key] != ""
        }
        if (at := _time(message, TIMES)) is not None:
            line["at"] = at
        target = _named(message, "target")
        if parent is not None:
            line["reply_to"] = parent
            target = target or self.authors.get(parent)
        if target not in (None, author):
            line["target"] = target
        return line


def _text(message: Mapping[str, Any]) -> str | None:
    key = next((key for key in TEXTS if message.get(key) is not None), None)
    return need(message[key], str, key) if key is not None else None


def _time(message: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """Return the first time under these keys; `true` only marks an edit."""
    for key in keys:
        if (value := message.get(key)) is not None and not isinstance(value, bool):
            at, clock = time_of(value, key)
            if clock is not None:
                raise BadLine(f"{key}: {shown(clock)} has no date")
            return at
    return None


def _named(message: Mapping[str, Any], field: str) -> str | None:
    """Return the name under one of the usual keys of a field."""
    return next((name for key in FIELDS[field] if (name := name_of(message.get(key)))), None)


def _parent_id(name: str | None) -> str | None:
    """Return a parent's id without the prefix that marks posts and comments (t3_abc)."""
    return name[3:] if name is not None and name[:3] in ("t1_", "t3_") else name
