"""Turns of conversations from files and streams."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from ...chat.records import ROLES
from ...errors import BadEvents, BadUsage, Fault
from ...ingest import read_events
from ...ingest.chat_messages import is_message
from ...ingest.collector import check_time
from ...ingest.documents import Broken, documents
from ...ingest.errors import Unreadable
from ...ingest.event_parser import replace_broken
from ...ingest.format import HEAD_RECORDS, Input, parse_cut
from ...ingest.formats.conversations import subject_of
from ...ingest.reader import InputFile, OpenFile, open_file
from ...ingest.streams import BOM, GZIP, too_blank
from ...ingest.values import name_of, text_of, time_of
from ...models import Event, parse_time
from ...models.limits import Limits

TURN = '{"role": "user", "text": "..."}'
TALK = f'{{"conversation_id": "c1", "turns": [{TURN}]}}'
EXPECTED = f"{TURN} is a turn, {TALK} a conversation"
PLAIN = frozenset(("", ".txt", ".md", ".log", ".chat"))  # endings of files that may hold plain lines
LONGEST = 1 << 20  # bytes of the first line of a stream that decide how it is read
NO_TURN = f"no conversation: no event has a text. {EXPECTED}; in plain text each line is a turn"
ALL_USERS = (
    "no message has a role such as assistant: each was read as a user's. `ethogram analyze` is for agents"
)
_SPOKEN = re.compile(rf"({'|'.join(ROLES)})\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn of one conversation."""

    thread: str
    subject: str
    role: str
    text: str
    at: datetime | None = None


def first_value(head: bytes) -> Any:
    """The value that JSON starts with, which may be cut off; None where it is no JSON.

    >>> first_value(b'{"turns": [{"role": "us')
    {'turns': [{'role': 'us'}]}
    """
    return parse_cut(head.removeprefix(BOM).decode("utf-8", "ignore").lstrip())


def is_spoken(row: Any) -> bool:
    """Whether a row has a speaker or role and a text: a turn, or an event if it has a subject."""
    if not isinstance(row, dict) or "turns" in row:
        return False
    return _speaks(row) and isinstance(row.get("text", row.get("content")), str)


def is_turn(row: Any) -> bool:
    """Whether a row is a turn: a speaker or role and a text, and no subject of an event.

    >>> is_turn({"role": "user", "text": "hi"}), is_turn({"speaker": "ann", "content": "hi"})
    (True, True)
    >>> is_turn({"turns": []}), is_turn({"subject": "ann", "role": "user", "text": "hi"})
    (False, False)
    """
    return is_spoken(row) and "subject" not in row


def is_talk(value: Any) -> bool:
    """Whether a value is a conversation, or a list of them or of turns, that is read here.

    Messages of OpenAI and Anthropic have readers of their own, which know tool calls.

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
    """The role of a turn: by its role where that is known, else by its speaker, else user.

    >>> role_of({"role": "AI"}), role_of({"speaker": "bot"}), role_of({"speaker": "ann", "role": "player"})
    ('assistant', 'assistant', 'user')
    """
    names = (str(row.get(key) or "").lower() for key in ("role", "speaker"))
    return next((ROLES[name] for name in names if name in ROLES), "user")


def speaker_of(row: Mapping[str, Any]) -> str | None:
    """The subject of a single turn: its speaker, where that is a person's name."""
    speaker = name_of(row.get("speaker")) or name_of(row.get("subject"))
    return None if speaker is None or speaker.lower() in ROLES or role_of(row) != "user" else speaker


def document_turns(file: Input, name: str, latest: datetime | None = None) -> Iterator[ChatTurn | Fault]:
    """The turns of a file of conversations or of a list of turns, or what is wrong with them.

    `name` is the id of a conversation without one, with a number from the second on.
    """
    for number, (line, document, column) in enumerate(documents(file), start=1):
        where = Fault(file.name, line, 0, "")
        if isinstance(document, Broken):
            yield Fault(file.name, line, column, str(document))
        elif is_turn(document):
            yield _checked(document, name, speaker_of(document), where, latest)
        elif isinstance(document, dict) and is_talk(document):
            yield from _talk(document, name if number == 1 else f"{name}/{number}", where, latest)
        else:
            yield replace(where, message=f"neither turn nor conversation: {EXPECTED}")


def _talk(
    record: Mapping[str, Any], name: str, where: Fault, latest: datetime | None
) -> Iterator[ChatTurn | Fault]:
    turns = record["turns"] if "turns" in record else record.get("messages")
    thread = name_of(record.get("conversation_id")) or name_of(record.get("id")) or name
    if not isinstance(turns, list):
        yield replace(where, message=f"turns must be a list: {TALK} is a conversation")
        return
    subject = name_of(record.get("subject")) or _subject(turns, thread)
    for number, turn in enumerate(turns, start=1):
        if not isinstance(turn, dict) or not _speaks(turn):
            yield replace(where, message=f"turn {number} of {thread:.80} is none: {TURN} is one")
        # A turn without a text, as of a tool call, is skipped; an empty text is one, as in JSON lines.
        elif turn.get("text", turn.get("content")) is not None and not turn.get("tool_calls"):
            yield _checked(turn, thread, subject, where, latest, f"turn {number} of {thread:.80}: ")


def _subject(turns: list[Any], thread: str) -> str | None:
    """The first speaker who is not on the assistant's side."""
    for turn in turns:
        if isinstance(turn, dict) and role_of(turn) == "user" and (speaker := name_of(turn.get("speaker"))):
            return subject_of(speaker, turn.get("role"), thread)
    return None


def _checked(
    row: Mapping[str, Any],
    thread: str,
    subject: str | None,
    where: Fault,
    latest: datetime | None,
    which: str = "",
) -> ChatTurn | Fault:
    try:
        return turn_of(row, thread, subject, latest)
    except ValueError as error:
        return replace(where, message=f"{which}{error}")


def turn_of(
    row: Mapping[str, Any], thread: str, subject: str | None = None, latest: datetime | None = None
) -> ChatTurn:
    """The turn in a row, of `thread` unless it names its own; ValueError for a bad text or time.

    Without a subject it is by somebody of this conversation alone.
    """
    text = row.get("text") or row.get("content") or ""
    if isinstance(text, list):
        text = text_of(text)
    if not isinstance(text, str):
        raise ValueError(f"text must be text: {TURN} is a turn")
    time, _ = time_of(row.get("at"))
    at = parse_time(time) if time else None
    check_time(at, latest)
    thread = name_of(row.get("conversation_id")) or name_of(row.get("thread")) or thread
    subject = subject or f"{thread}/user"
    return ChatTurn(replace_broken(thread), replace_broken(subject), role_of(row), replace_broken(text), at)


def read_turns(
    path: str,
    stdin: BinaryIO | None = None,
    latest: datetime | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Iterator[ChatTurn]:
    """The turns in a file; `-` is `stdin`, whose turns come as they are read.

    BadEvents lists every bad line of a file, or the first of a stream, and is raised for events without a
    text. `warn` hears of messages of which none has a role. A turn dated after `latest` is bad.
    """
    if path != "-":
        return iter(_of_file(path, latest, warn))
    if stdin is not None:
        return _streamed(stdin, latest, warn)
    raise BadUsage("-: standard input is closed: send a conversation into it, or name a file")


def _streamed(stdin: BinaryIO, latest: datetime | None, warn: Callable[[str], None]) -> Iterator[ChatTurn]:
    head = _head(stdin)
    if head.startswith(GZIP) or not _by_line(head, ""):
        yield from _of_file("-", latest, warn, BytesIO(head + stdin.read()))
        return
    try:
        for item in line_turns(chain([head], stdin), "conversation", "-", latest):
            if isinstance(item, Fault):
                raise BadEvents([item])
            yield item
    except Unreadable as error:
        raise BadEvents([Fault("-", 0, 0, str(error))]) from None


def _of_file(
    path: str, latest: datetime | None, warn: Callable[[str], None], stdin: BinaryIO | None = None
) -> Iterable[ChatTurn]:
    """All turns of a file, which may be compressed."""
    try:
        with open_file(InputFile(path, named=True), stdin, Limits()) as file:
            turns = _ours(file, path, latest)
    except Unreadable as error:
        raise BadEvents([Fault(path, 0, 0, str(error))]) from None
    if turns is None:
        if stdin is not None:
            stdin.seek(0)
        try:
            events = read_events([path], stdin=stdin, latest=latest).events
        except BadEvents as bad:
            hint = Fault(path, 0, 0, f"no conversation: {EXPECTED}")
            raise BadEvents([*bad.faults, hint], more=bad.more) from None
        messages = list(of_events(events))
        if len(events) and not messages:
            raise BadEvents([Fault(path, 0, 0, NO_TURN)])
        speakers = {(event.thread, event.subject) for event in events if event.text}
        is_shared = len(speakers) > len({thread for thread, _ in speakers})
        if is_shared and all(turn.role == "user" for turn in messages):
            warn(f"{path}: {ALL_USERS}")
        return messages
    if faults := [item for item in turns if isinstance(item, Fault)]:
        raise BadEvents(faults)
    return [item for item in turns if isinstance(item, ChatTurn)]


def _ours(file: OpenFile, path: str, latest: datetime | None) -> list[ChatTurn | Fault] | None:
    """The turns of a format that is read here, and its faults; None for other formats."""
    inner = Path(path.removesuffix(".gz"))
    name = "conversation" if path == "-" else inner.stem
    if _by_line(file.head, inner.suffix.lower() if path != "-" else ""):
        return list(_first_faults(line_turns(file.stream, name, path, latest)))
    first = first_value(file.head)
    if is_talk(first) or is_turn(first):
        file_input = Input(path, file.stream, file.head, {}, Limits())
        return list(_first_faults(document_turns(file_input, name, latest)))
    return None


def _first_faults(turns: Iterable[ChatTurn | Fault]) -> Iterator[ChatTurn | Fault]:
    """The turns up to the fault after which reading stops."""
    faults = 0
    for item in turns:
        yield item
        faults += isinstance(item, Fault)
        if faults > Limits().bad:
            return


def _head(file: BinaryIO) -> bytes:
    """The start of a file, up to and including its first line that is not blank."""
    head = b""
    while line := file.readline(LONGEST):
        head += line
        if line.strip():
            break
    return head


def _by_line(head: bytes, suffix: str) -> bool:
    """Whether every line is a turn, by the first lines or the part of one in `head`.

    A turn may have a subject where others have none; where all have one, they are events.
    """
    start = head.strip(b"\r\n\t ").removeprefix(BOM)
    if not start.startswith((b"{", b"[")):
        return suffix in PLAIN
    first, end, rest = head.lstrip().removeprefix(BOM).partition(b"\n")
    try:
        row = json.loads(first) if end else first_value(first)
    except (ValueError, RecursionError):
        return False
    others = map(_parsed, rest.split(b"\n", HEAD_RECORDS)[:HEAD_RECORDS])
    return is_turn(row) or (is_spoken(row) and any(map(is_turn, others)))


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def line_turns(
    lines: Iterable[bytes], thread: str, path: str, latest: datetime | None = None
) -> Iterator[ChatTurn | Fault]:
    """The turn of each line that is not blank, or what is wrong with it; the first item may be several lines.

    Unreadable where nearly all lines are blank, or it is no text.
    """
    number = blank = 0
    for several in lines:
        if b"\0" in several:
            raise Unreadable("not text in UTF-8 (it holds zero bytes, as UTF-16 does): convert it first")
        if several.isspace():
            blank += 1
            if 2 * blank > Limits().blank + number:
                raise too_blank(Limits())
        for raw in several.splitlines() or [b""]:
            number += 1
            line = raw.decode("utf-8", "replace").strip("\ufeff \t\r\n")
            if line:
                try:
                    yield _line_turn(line, thread, latest)
                except ValueError as error:
                    yield Fault(path, number, 0, str(error))


def _line_turn(line: str, thread: str, latest: datetime | None) -> ChatTurn:
    if not line.startswith("{"):
        spoken = _SPOKEN.fullmatch(line)
        role, text = (ROLES[spoken[1].lower()], spoken[2]) if spoken else ("user", line)
        return ChatTurn(thread, f"{thread}/user", role, text)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("no JSON object") from None
    if not is_spoken(row):
        raise ValueError(f"no turn: {TURN} is one")
    return turn_of(row, thread, speaker_of(row), latest)


def of_events(events: Iterable[Event]) -> Iterator[ChatTurn]:
    """The turns among events: messages with a text."""
    for event in events:
        if event.text is not None and event.kind in ("message", "event"):
            role = ROLES.get(str(event.attributes.get("role", event.subject)).lower(), "user")
            at = event.at if event.timed else None
            yield ChatTurn(event.thread or event.subject, event.subject, role, event.text, at)
