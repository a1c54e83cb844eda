"""Turns of conversations from a file or a stream: plain lines, a turn a line as JSON, or any known format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import BadEvents, BadUsage, Fault
from ..ingest import read_events
from ..records import Event, parse_time

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
    "model": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Words for who speaks, and what they come to; anybody else is a user."""
_SPOKEN = re.compile(rf"({'|'.join(ROLES)})\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
PLAIN = frozenset(("", ".txt", ".md", ".log", ".chat"))
"""Endings of files that may hold plain lines."""
LONGEST = 1 << 20
"""Characters of a line that are read; a turn of more is no turn of a conversation."""
SPOKEN_KINDS = frozenset(("message", "event"))


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of one conversation."""

    thread: str
    subject: str
    role: str
    text: str
    at: datetime | None = None


def read_said(path: str, stdin: BinaryIO | None = None) -> Iterator[Said]:
    """The turns in a file; `-` is `stdin`, of which each line is given as it comes.

    BadEvents tells every line of a file that is no turn, and the first of a stream.
    """
    if path == "-":
        if stdin is None:
            raise BadUsage("-: standard input is closed; send a conversation into it, or name a file")
        return _streamed(stdin)
    with open(path, "rb") as file:
        head = _head(file)
        if not _by_line(head, Path(path).suffix.lower()):
            return iter(of_events(read_events([path]).events))
        found = list(lines_said(chain([head], file), Path(path).stem, path))
    if faults := [one for one in found if isinstance(one, Fault)]:
        raise BadEvents(faults)
    return iter([one for one in found if isinstance(one, Said)])


def _streamed(stdin: BinaryIO) -> Iterator[Said]:
    head = _head(stdin)
    if not _by_line(head, ""):
        yield from of_events(read_events(["-"], stdin=BytesIO(head + stdin.read())).events)
        return
    for one in lines_said(chain([head], stdin), "conversation", "-"):
        if isinstance(one, Fault):
            raise BadEvents([one])
        yield one


def _head(file: BinaryIO) -> bytes:
    """The file up to and with its first line that is not empty."""
    head = b""
    while line := file.readline(LONGEST):
        head += line
        if line.strip():
            break
    return head


def _by_line(head: bytes, suffix: str) -> bool:
    """Whether every line is a turn."""
    first = head.strip().removeprefix(b"\xef\xbb\xbf")
    if not first.startswith((b"{", b"[")):
        return suffix in PLAIN
    try:
        return is_turn(json.loads(first))
    except (ValueError, RecursionError):
        return False


def is_turn(row: Any) -> bool:
    """Whether this is a turn by itself: a role, a text, and nobody named as the subject of an event.

    >>> is_turn({"role": "user", "text": "hi"}), is_turn({"turns": []})
    (True, False)
    """
    if not isinstance(row, dict) or not isinstance(row.get("role"), str) or "subject" in row:
        return False
    return isinstance(row.get("text", row.get("content")), str)


def lines_said(lines: Iterable[bytes], thread: str, path: str) -> Iterator[Said | Fault]:
    """The turn of each line that is not empty, or what is wrong with it. The first line may be several."""
    number = 0
    for several in lines:
        for raw in several.splitlines() or [b""]:
            number += 1
            line = raw.decode("utf-8", "replace").strip("\ufeff \t\r\n")
            if line:
                try:
                    yield _said(line, thread)
                except ValueError as error:
                    yield Fault(path, number, 0, str(error))


def _said(line: str, thread: str) -> Said:
    if not line.startswith("{"):
        spoken = _SPOKEN.fullmatch(line)
        role, text = (ROLES[spoken[1].lower()], spoken[2]) if spoken else ("user", line)
        return Said(thread, "user", role, text)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("no JSON object") from None
    if not is_turn(row):
        raise ValueError('no turn: {"role": "user", "text": "..."} is one')
    at = row.get("at")
    if at is not None and not isinstance(at, str):
        raise ValueError("at must be a time such as 2026-01-05T12:00:00Z")
    role = ROLES.get(row["role"].lower(), "user")
    return Said(thread, "user", role, row.get("text", row.get("content")), parse_time(at) if at else None)


def of_events(events: Iterable[Event]) -> Iterator[Said]:
    """The turns that events are; actions, results and what has no text are none."""
    for event in events:
        if event.text is None or event.kind not in SPOKEN_KINDS:
            continue
        given = event.attributes.get("role", event.subject)
        role = ROLES.get(str(given).lower(), "user")
        thread = event.thread or event.subject
        yield Said(thread, event.subject, role, event.text, event.at if event.timed else None)
