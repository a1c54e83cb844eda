"""Turns of conversations from a file or a stream: plain lines, a turn a line as JSON, or any known format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from ..errors import BadEvents, BadUsage, Fault
from ..ingest import read_events
from ..ingest.adapter import Input
from ..ingest.errors import Unreadable
from ..ingest.files import Found, Opened, opened
from ..ingest.limits import Limits
from ..ingest.streams import GZIP, too_blank
from ..ingest.strict_json import BOM
from ..records import Event
from .chat_talks import (
    RIGHT,
    ROLES,
    TURN,
    Said,
    first_value,
    is_talk,
    is_turn,
    said_of,
    speaker_of,
    talks_said,
)

_SPOKEN = re.compile(rf"({'|'.join(ROLES)})\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
PLAIN = frozenset(("", ".txt", ".md", ".log", ".chat"))
"""Endings of files that may hold plain lines."""
LONGEST = 1 << 20
"""Bytes of the first line of a stream that are looked at before all of it is read at once."""
SPOKEN_KINDS = frozenset(("message", "event"))
NO_TURN = f"nothing was said: there is no turn in this input. {RIGHT}; in plain text each line is a turn"


def read_said(path: str, stdin: BinaryIO | None = None, latest: datetime | None = None) -> Iterator[Said]:
    """The turns in a file; `-` is `stdin`, of which each line is given as it comes.

    BadEvents tells every line of a file that is no turn, and the first of a stream; and that there is no
    turn at all. A turn dated after `latest` is none.
    """
    if path == "-" and stdin is None:
        raise BadUsage("-: standard input is closed; send a conversation into it, or name a file")
    return some(
        _streamed(stdin, latest) if path == "-" and stdin is not None else iter(_of_file(path, latest)), path
    )


def some(said: Iterator[Said], path: str) -> Iterator[Said]:
    """The same turns; BadEvents where there is none."""
    first = next(said, None)
    if first is None:
        raise BadEvents([Fault(path, 0, 0, NO_TURN)])
    yield first
    yield from said


def _streamed(stdin: BinaryIO, latest: datetime | None) -> Iterator[Said]:
    head = _head(stdin)
    if head.startswith(GZIP) or not _by_line(head, ""):
        yield from _of_file("-", latest, BytesIO(head + stdin.read()))
        return
    try:
        for one in lines_said(chain([head], stdin), "conversation", "-", latest):
            if isinstance(one, Fault):
                raise BadEvents([one])
            yield one
    except Unreadable as error:
        raise BadEvents([Fault("-", 0, 0, str(error))]) from None


def _of_file(path: str, latest: datetime | None, stdin: BinaryIO | None = None) -> Iterable[Said]:
    """All turns of a file, unpacked where it is compressed."""
    try:
        with opened(Found(path, named=True), stdin, Limits()) as file:
            found = _ours(file, path, latest)
    except Unreadable as error:
        raise BadEvents([Fault(path, 0, 0, str(error))]) from None
    if found is None:
        if stdin is not None:
            stdin.seek(0)
        return of_events(_events(path, stdin, latest))
    if faults := [one for one in found if isinstance(one, Fault)]:
        raise BadEvents(faults)
    return [one for one in found if isinstance(one, Said)]


def _events(path: str, stdin: BinaryIO | None, latest: datetime | None) -> Iterable[Event]:
    try:
        return read_events([path], stdin=stdin, latest=latest).events
    except BadEvents as bad:
        # What is wrong as an event helps nobody who meant a conversation.
        raise BadEvents(
            [*bad.faults, Fault(path, 0, 0, f"no conversation: {RIGHT}")], more=bad.more
        ) from None


def _ours(file: Opened, path: str, latest: datetime | None) -> list[Said | Fault] | None:
    """The turns of a form that is read here, or what is wrong with them; None for other formats."""
    inner = Path(path.removesuffix(".gz"))
    name = "conversation" if path == "-" else inner.stem
    if _by_line(file.head, inner.suffix.lower() if path != "-" else ""):
        return list(_first_faults(lines_said(file.stream, name, path, latest)))
    first = first_value(file.head)
    if is_talk(first) or is_turn(first):
        file_input = Input(path, file.stream, file.head, {}, Limits())
        return list(_first_faults(talks_said(file_input, name, latest)))
    return None


def _first_faults(found: Iterable[Said | Fault]) -> Iterator[Said | Fault]:
    """The same up to the fault after which no more are looked for: nothing is scored where there is one."""
    faults = 0
    for one in found:
        yield one
        faults += isinstance(one, Fault)
        if faults > Limits().bad:
            return


def _head(file: BinaryIO) -> bytes:
    """The file up to and with its first line that is not empty."""
    head = b""
    while line := file.readline(LONGEST):
        head += line
        if line.strip():
            break
    return head


def _by_line(head: bytes, suffix: str) -> bool:
    """Whether every line is a turn. Of a first line that is not there whole, what is there must do."""
    start = head.strip(b"\r\n\t ").removeprefix(BOM)
    if not start.startswith((b"{", b"[")):
        return suffix in PLAIN
    first, end, _ = head.lstrip().removeprefix(BOM).partition(b"\n")
    try:
        return is_turn(json.loads(first) if end else first_value(first))
    except (ValueError, RecursionError):
        return False


def lines_said(
    lines: Iterable[bytes], thread: str, path: str, latest: datetime | None = None
) -> Iterator[Said | Fault]:
    """The turn of each line that is not empty, or what is wrong with it. The first line may be several.

    Unreadable where next to nothing but blank lines comes.
    """
    number = blank = 0
    for several in lines:
        if several.isspace():
            blank += 1
            if 2 * blank > Limits().blank + number:
                raise too_blank(Limits())
        for raw in several.splitlines() or [b""]:
            number += 1
            line = raw.decode("utf-8", "replace").strip("\ufeff \t\r\n")
            if line:
                try:
                    yield _said(line, thread, latest)
                except ValueError as error:
                    yield Fault(path, number, 0, str(error))


def _said(line: str, thread: str, latest: datetime | None) -> Said:
    if not line.startswith("{"):
        spoken = _SPOKEN.fullmatch(line)
        role, text = (ROLES[spoken[1].lower()], spoken[2]) if spoken else ("user", line)
        return Said(thread, "user", role, text)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("no JSON object") from None
    if not is_turn(row):
        raise ValueError(f"no turn: {TURN} is one")
    return said_of(row, thread, speaker_of(row), latest)


def of_events(events: Iterable[Event]) -> Iterator[Said]:
    """The turns that events are; actions, results and what has no text are none."""
    for event in events:
        if event.text is None or event.kind not in SPOKEN_KINDS:
            continue
        given = event.attributes.get("role", event.subject)
        role = ROLES.get(str(given).lower(), "user")
        thread = event.thread or event.subject
        yield Said(thread, event.subject, role, event.text, event.at if event.timed else None)
