"""Turns and conversations as JSON: what is one, who speaks in it, and what is wrong with what is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import Fault
from ..ingest.adapter import Input
from ..ingest.chat import is_message
from ..ingest.conversations import subject_of
from ..ingest.documents import Broken, documents
from ..ingest.future import check_time
from ..ingest.heads import partial
from ..ingest.messages import name_of, time_of
from ..ingest.run_values import text_of
from ..ingest.strict_json import BOM
from ..ingest.values import mended
from ..records import parse_time

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
    "model": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Words for who speaks, and what they come to; anybody else is a user."""
TURN = '{"role": "user", "text": "..."}'
TALK = f'{{"conversation_id": "c1", "turns": [{TURN}]}}'
RIGHT = f"{TURN} is a turn, {TALK} a conversation"
"""What would have been right."""
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
    return partial(head.removeprefix(BOM).decode("utf-8", "ignore").lstrip())


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
    return next((ROLES[one] for one in told if one in ROLES), "user")


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
    told: Mapping[str, Any], name: str, where: Fault, latest: datetime | None
) -> Iterator[Said | Fault]:
    turns = next((told[key] for key in WITH_TURNS if key in told), None)
    thread = name_of(told.get("conversation_id")) or name_of(told.get("id")) or name
    if not isinstance(turns, list):
        yield Fault(where.path, where.line, 0, f"turns must be a list: {TALK} is a conversation")
        return
    subject = name_of(told.get("subject")) or _subject(turns, thread)
    for number, turn in enumerate(turns, start=1):
        if not isinstance(turn, dict) or not _speaks(turn):
            said = f"turn {number} of {thread:.80} is none: {TURN} is one"
            yield Fault(where.path, where.line, 0, said)
        # Where nothing was said, as with a call of a tool, there is no turn.
        elif turn.get("text") or turn.get("content"):
            yield _checked(turn, thread, subject, where, latest, f"turn {number} of {thread:.80}: ")


def _subject(turns: list[Any], thread: str) -> str:
    """Who is watched: the first speaker who is not the assistant's side."""
    for one in turns:
        if isinstance(one, dict) and role_of(one) == "user" and (speaker := name_of(one.get("speaker"))):
            return subject_of(speaker, one.get("role"), thread)
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
    return Said(mended(thread), mended(subject), role_of(row), mended(text), at)
