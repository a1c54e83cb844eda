"""Forum dumps: posts with their comments and replies nested in them, or each message on its own.

`{"id": "p1", "author": "ann", "content": "...", "created_at": "...", "comments": [{"id": "c1", ...}]}`
`{"id": "c1", "parent": "p1", "author": "bob", "content": "...", "created_at": "..."}`
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadLine, shown, type_name
from ..format import Adapter, Input, Record, Skipped, adapter
from ..streams import BOM
from ..transcript import name_of, time_of
from .json_array import JsonArray
from .jsonl import JsonLines

TEXTS = ("content", "body", "selftext")
TIMES = ("created_at", "created_utc", "published_at")
PARENTS = ("parent", "parent_id", "in_reply_to")
NESTED = ("comments", "replies", "children")
GONE = frozenset(("[deleted]", "[removed]"))
MOST_DEPTH = 200
_LINES, _ARRAY = JsonLines(), JsonArray()


@adapter("forum")
class Forum(Adapter):
    """Objects with an `author`, a `content` (or `body`) and a `created_at` (or `created_utc`)."""

    def recognises(self, head: bytes, name: str) -> bool:
        start = head.removeprefix(BOM).lstrip()
        first = _first_object(start)
        return first is not None and _is_message(first)

    def read(self, file: Input) -> Iterator[Record]:
        """One event for each post, comment and reply; and for each later edit and deletion."""
        is_array = file.head.removeprefix(BOM).lstrip().startswith(b"[")
        seen = Seen()
        for number, told, column in (_ARRAY if is_array else _LINES).read(file):
            if isinstance(told, str):
                yield number, told, column
            else:
                yield from ((number, message, 0) for message in seen.messages(told, None, 0))


class Seen:
    """Which thread each message is in and who wrote it, as far as the file has been read."""

    def __init__(self) -> None:
        self.threads: dict[str, str] = {}
        self.authors: dict[str, str] = {}
        self.texts: dict[str, int] = {}
        self.edits: dict[str, int] = {}

    def messages(self, record: Mapping[str, Any], parent: str | None, depth: int) -> Iterator[Any]:
        """The event lines of a message and of all nested in it."""
        if "subject" in record and "author" not in record:
            # An ordinary event among the messages.
            yield dict(record)
            return
        if depth > MOST_DEPTH:
            yield f"replies nested deeper than {MOST_DEPTH}"
            return
        found = name_of(record.get("id"))
        if found is None:
            yield "a message needs an id"
            return
        if "author" not in record:
            yield f"message {shown(found)} needs an author (null where it is gone)"
            return
        above = parent or next((item for key in PARENTS if (item := _bare(record.get(key)))), None)
        thread = self.threads.get(above, above) if above else found
        self.threads.setdefault(found, thread)
        try:
            yield from self._event(record, found, above)
        except BadLine as bad:
            yield f"message {shown(found)}: {bad.message}"
        for key in NESTED:
            for child in _list(record.get(key)):
                if isinstance(child, Mapping):
                    yield from self.messages(child, found, depth + 1)
                else:
                    yield f"{key} of {shown(found)} holds what is no message"

    def _event(self, record: Mapping[str, Any], result: str, above: str | None) -> Iterator[Any]:
        author, text = name_of(record.get("author")), _first_text(record)
        gone = bool(record.get("deleted")) or text in GONE
        known = self.authors.get(result)
        if known is not None and author not in (None, known) and author not in GONE:
            raise BadLine(f"the id is that of a message by {shown(known)} before")
        author = known if author is None or author in GONE else author
        if author is None:
            yield Skipped("a message whose author is gone")
            return
        line = self._line(record, result, above, author)
        if known is not None:
            if not self._later(line, record, result, gone, text):
                return
        else:
            self.authors[result] = author
            self.texts[result] = hash(text)
            line["kind"] = "deletion" if gone else "comment" if above else "post"
        if not gone and text:
            line["text"] = text
        yield line

    def _later(
        self, line: dict[str, Any], record: Mapping[str, Any], result: str, gone: bool, text: str | None
    ) -> bool:
        """Make the line one of an edit or deletion of what was said; False where it says nothing new."""
        if not gone and self.texts[result] == hash(text):
            return False
        self.texts[result] = hash(text)
        self.edits[result] = self.edits.get(result, 0) + 1
        line["id"] = f"{result}@{'deleted' if gone else self.edits[result]}"
        line["kind"], line["reply_to"] = ("deletion" if gone else "edit"), result
        at = _time(record, ("edited_at", "deleted_at"))
        if at is not None:
            line["at"] = at
        return True

    def _line(self, record: Mapping[str, Any], text: str, above: str | None, author: str) -> dict[str, Any]:
        line: dict[str, Any] = {"id": text, "subject": author, "thread": self.threads[text]}
        line["attributes"] = {
            key: record[key]
            for key in ("title", "score", "submolt", "subreddit", "edited_at")
            if isinstance(record.get(key), str | int | float) and record[key] != ""
        }
        at = _time(record, TIMES)
        if at is not None:
            line["at"] = at
        if above is not None:
            line["reply_to"] = above
            target = self.authors.get(above)
            if target is not None and target != author:
                line["target"] = target
        return line


def _first_text(record: Mapping[str, Any]) -> str | None:
    for key in TEXTS:
        found = record.get(key)
        if isinstance(found, str):
            return found
        if found is not None:
            raise BadLine(f"{key} must be text, not {type_name(found)}")
    return None


def _time(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of some times that is there; an edit mark that is no time is none."""
    for key in names:
        if (given := record.get(key)) is not None and not isinstance(given, bool):
            try:
                at, clock = time_of(given)
            except BadLine as bad:
                raise BadLine(f"{key}: {bad.message}") from None
            if clock is not None:
                raise BadLine(f"{key}: {shown(clock)} has no date")
            return at
    return None


def _bare(value: Any) -> str | None:
    """A parent's id; a prefix that tells posts from comments (t3_abc) is not part of it."""
    found = name_of(value)
    return found[3:] if found is not None and found[:3] in ("t1_", "t3_") else found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_message(record: Mapping[str, Any]) -> bool:
    return (
        "author" in record
        and "id" in record
        and "subject" not in record
        and any(key in record for key in TEXTS)
        and any(key in record for key in TIMES)
    )


def _first_object(start: bytes) -> Mapping[str, Any] | None:
    """The first object of a file, as far as it can be read from the head."""
    text = start.decode("utf-8", "ignore").lstrip("[ \r\n\t")
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        # Longer than the head: its own fields mostly come before what is nested.
        value = _cut(text)
    return value if isinstance(value, Mapping) else None


def _cut(text: str) -> Any:
    at = min((place for key in NESTED if (place := text.find(f'"{key}"')) > 0), default=0)
    try:
        return json.loads(text[:at].rstrip(" ,\r\n\t") + "}")
    except ValueError:
        return None
