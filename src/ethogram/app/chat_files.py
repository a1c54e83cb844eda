"""Turns of conversations from files and streams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import BadEvents, BadUsage, Fault
from ..ingest import read_events
from ..ingest.chat_messages import is_message
from ..ingest.collector import check_time
from ..ingest.documents import Broken, documents
from ..ingest.errors import Unreadable
from ..ingest.event_parser import replace_broken
from ..ingest.format import Input, parse_cut
from ..ingest.formats.conversations import subject_of
from ..ingest.reader import InputFile, OpenFile, open_file
from ..ingest.streams import BOM, GZIP, too_blank
from ..ingest.values import name_of, text_of, time_of
from ..models import Event, parse_time
from ..models.limits import Limits

# Turns and conversations as JSON: what is one, who speaks in it, and what is wrong with what is none.

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
    "model": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Words for who speaks, and what they come to; anybody else is a user."""
TURN = '{"role": "user", "text": "..."}'
TALK = f'{{"conversation_id": "c1", "turns": [{TURN}]}}'
RIGHT = f"{TURN} is a turn, {TALK} a conversation"  # what would have been right
WITH_TURNS = ("turns", "messages")


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of one conversation."""

    thread: str
    subject: str
    role: str
    text: str
    at: datetime | None = None


def first_value(head: bytes) -> Any:
    """The value that JSON begins with, as far as it is there; None where it is no JSON.

    >>> first_value(b'{"turns": [{"role": "us')
    {'turns': [{'role': 'us'}]}
    """
    return parse_cut(head.removeprefix(BOM).decode("utf-8", "ignore").lstrip())


def is_turn(row: Any) -> bool:
    """Whether this is a turn by itself: who speaks, a text, and nobody named as the subject of an event.

    >>> is_turn({"role": "user", "text": "hi"}), is_turn({"speaker": "ann", "content": "hi"})
    (True, True)
    >>> is_turn({"turns": []}), is_turn({"subject": "ann", "role": "user", "text": "hi"})
    (False, False)
    """
    if not isinstance(row, dict) or "subject" in row or "turns" in row:
        return False
    return _speaks(row) and isinstance(row.get("text", row.get("content")), str)


def is_talk(value: Any) -> bool:
    """Whether this is a conversation, or a list of them or of turns, that is read here.

    Messages as OpenAI and Anthropic write them have readers of their own, which know calls of tools.

    >>> is_talk({"turns": []}), is_talk({"messages": [{"role": "user", "content": "hi"}]})
    (True, False)
    """
    if isinstance(value, list):
        return bool(value) and (is_talk(value[0]) or _is_plain(value[0]))
    if not isinstance(value, dict):
        return False
    messages = value.get("messages")
    return "turns" in value or (isinstance(messages, list) and bool(messages) and _is_plain(messages[0]))


def _is_plain(row: Any) -> bool:
    return is_turn(row) and not is_message(row)


def _speaks(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("role"), str) or name_of(row.get("speaker")) is not None


def role_of(row: Mapping[str, Any]) -> str:
    """Who speaks: by the role where it is a known one, else by the speaker, else a user.

    >>> role_of({"role": "AI"}), role_of({"speaker": "bot"}), role_of({"speaker": "ann", "role": "player"})
    ('assistant', 'assistant', 'user')
    """
    told = (str(row.get(key) or "").lower() for key in ("role", "speaker"))
    return next((ROLES[item] for item in told if item in ROLES), "user")


def speaker_of(row: Mapping[str, Any]) -> str:
    """Whose conversation a turn by itself is part of: who speaks, where that is a person's name."""
    speaker = name_of(row.get("speaker")) or "user"
    return "user" if speaker.lower() in ROLES or role_of(row) != "user" else speaker


def talks_said(file: Input, name: str, latest: datetime | None = None) -> Iterator[Said | Fault]:
    """The turns of a file of conversations, or of a list of turns; in place of one, what is wrong with it.

    `name` is the conversation's where it has none of its own; of several, with their number. A turn dated
    after `latest` is wrong.
    """
    for number, (line, told, column) in enumerate(documents(file), start=1):
        if isinstance(told, Broken):
            yield Fault(file.name, line, column, str(told))
        elif is_turn(told):
            yield _checked(told, name, speaker_of(told), Fault(file.name, line, 0, ""), latest)
        elif isinstance(told, dict) and is_talk(told):
            called = name if number == 1 else f"{name}/{number}"
            yield from _talk(told, called, Fault(file.name, line, 0, ""), latest)
        else:
            yield Fault(file.name, line, 0, f"neither turn nor conversation: {RIGHT}")


def _talk(
    record: Mapping[str, Any], name: str, where: Fault, latest: datetime | None
) -> Iterator[Said | Fault]:
    turns = next((record[key] for key in WITH_TURNS if key in record), None)
    thread = name_of(record.get("conversation_id")) or name_of(record.get("id")) or name
    if not isinstance(turns, list):
        yield Fault(where.path, where.line, 0, f"turns must be a list: {TALK} is a conversation")
        return
    subject = name_of(record.get("subject")) or _subject(turns, thread)
    for number, turn in enumerate(turns, start=1):
        if not isinstance(turn, dict) or not _speaks(turn):
            text = f"turn {number} of {thread:.80} is none: {TURN} is one"
            yield Fault(where.path, where.line, 0, text)
        # Where nothing was said, as with a call of a tool, there is no turn.
        elif turn.get("text") or turn.get("content"):
            yield _checked(turn, thread, subject, where, latest, f"turn {number} of {thread:.80}: ")


def _subject(turns: list[Any], thread: str) -> str:
    """Who is watched: the first speaker who is not the assistant's side."""
    for turn in turns:
        if isinstance(turn, dict) and role_of(turn) == "user" and (speaker := name_of(turn.get("speaker"))):
            return subject_of(speaker, turn.get("role"), thread)
    return "user"


def _checked(
    row: Mapping[str, Any], thread: str, subject: str, where: Fault, latest: datetime | None, which: str = ""
) -> Said | Fault:
    try:
        return said_of(row, thread, subject, latest)
    except ValueError as error:
        return Fault(where.path, where.line, 0, f"{which}{error}")


def said_of(
    row: Mapping[str, Any], thread: str, subject: str = "user", latest: datetime | None = None
) -> Said:
    """The turn; of the conversation it names, where it does.

    ValueError where its text or time is none, or the time lies after `latest`.
    """
    text = row.get("text") or row.get("content") or ""
    if isinstance(text, list):
        text = text_of(text)
    if not isinstance(text, str):
        raise ValueError(f"text must be text: {TURN} is a turn")
    told, _ = time_of(row.get("at"))
    at = parse_time(told) if told else None
    check_time(at, latest)
    thread = name_of(row.get("conversation_id")) or name_of(row.get("thread")) or thread
    return Said(replace_broken(thread), replace_broken(subject), role_of(row), replace_broken(text), at)


# Turns of conversations from a file or a stream: plain lines, a turn a line as JSON, or any known format.

_SPOKEN = re.compile(rf"({'|'.join(ROLES)})\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
PLAIN = frozenset(("", ".txt", ".md", ".log", ".chat"))  # endings of files that may hold plain lines
LONGEST = 1 << 20  # bytes of the first line of a stream that are looked at before all of it is read at once
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


def some(saids: Iterator[Said], path: str) -> Iterator[Said]:
    """The same turns; BadEvents where there is none."""
    first = next(saids, None)
    if first is None:
        raise BadEvents([Fault(path, 0, 0, NO_TURN)])
    yield first
    yield from saids


def _streamed(stdin: BinaryIO, latest: datetime | None) -> Iterator[Said]:
    head = _head(stdin)
    if head.startswith(GZIP) or not _by_line(head, ""):
        yield from _of_file("-", latest, BytesIO(head + stdin.read()))
        return
    try:
        for item in lines_said(chain([head], stdin), "conversation", "-", latest):
            if isinstance(item, Fault):
                raise BadEvents([item])
            yield item
    except Unreadable as error:
        raise BadEvents([Fault("-", 0, 0, str(error))]) from None


def _of_file(path: str, latest: datetime | None, stdin: BinaryIO | None = None) -> Iterable[Said]:
    """All turns of a file, unpacked where it is compressed."""
    try:
        with open_file(InputFile(path, named=True), stdin, Limits()) as file:
            saids = _ours(file, path, latest)
    except Unreadable as error:
        raise BadEvents([Fault(path, 0, 0, str(error))]) from None
    if saids is None:
        if stdin is not None:
            stdin.seek(0)
        return of_events(_events(path, stdin, latest))
    if faults := [item for item in saids if isinstance(item, Fault)]:
        raise BadEvents(faults)
    return [item for item in saids if isinstance(item, Said)]


def _events(path: str, stdin: BinaryIO | None, latest: datetime | None) -> Iterable[Event]:
    try:
        return read_events([path], stdin=stdin, latest=latest).events
    except BadEvents as bad:
        # What is wrong as an event helps nobody who meant a conversation.
        raise BadEvents(
            [*bad.faults, Fault(path, 0, 0, f"no conversation: {RIGHT}")], more=bad.more
        ) from None


def _ours(file: OpenFile, path: str, latest: datetime | None) -> list[Said | Fault] | None:
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


def _first_faults(saids: Iterable[Said | Fault]) -> Iterator[Said | Fault]:
    """The same up to the fault after which no more are looked for: nothing is scored where there is one."""
    faults = 0
    for item in saids:
        yield item
        faults += isinstance(item, Fault)
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
        value = event.attributes.get("role", event.subject)
        role = ROLES.get(str(value).lower(), "user")
        thread = event.thread or event.subject
        yield Said(thread, event.subject, role, event.text, event.at if event.timed else None)
