"""Conversations: one on each line, as an object with its turns in order.

`{"conversation_id": "c1", "turns": [{"speaker": "ann", "role": "user", "text": "...", "at": "..."}]}`
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadLine
from ..format import Adapter, Input, Record, adapter
from ..streams import BOM
from ..transcript import name_of, plain_labels, time_of
from .jsonl import JsonLines

_TURNS = re.compile(rb'"turns"\s*:\s*\[')
_WHO = re.compile(rb'"(?:speaker|role)"\s*:')
_PART = re.compile(
    r"(user|assistant|system|human|bot|ai|model|agent|customer|operator|participant|person|speaker|player"
    r"|persuader|persuadee|commenter|mturk[a-z_ ]*|[abc])[ _-]?\d*",
    re.IGNORECASE,
)
_LINES = JsonLines()


@adapter("conversations")
class Conversations(Adapter):
    """Objects with `turns`, of which each has a `speaker`, or a `role` alone."""

    def recognises(self, head: bytes, name: str) -> bool:
        start = head.removeprefix(BOM).lstrip()
        first = start.split(b"\n", 1)[0]
        return start.startswith(b"{") and _TURNS.search(first) is not None and _WHO.search(first) is not None

    def read(self, file: Input) -> Iterator[Record]:
        """One event for each turn, at the line of its conversation."""
        for number, told, column in _LINES.read(file):
            if isinstance(told, str):
                yield number, told, column
            else:
                yield from ((number, item, 0) for item in turns_of(told, number))


def turns_of(told: Mapping[str, Any], number: int) -> Iterator[dict[str, Any] | str]:
    """The event lines of a conversation, or what is wrong with it."""
    turns = told.get("turns")
    if not isinstance(turns, list):
        yield "a conversation needs its turns as a list"
        return
    thread = name_of(told.get("conversation_id", told.get("id"))) or f"line {number}"
    turns = [_spoken(turn) for turn in turns]
    roles = {
        turn["speaker"]: turn.get("role")
        for turn in turns
        if isinstance(turn, dict) and isinstance(turn.get("speaker"), str)
    }
    pair = set(roles)
    record: dict[str, str] = {}
    for k, turn in enumerate(turns):
        if not isinstance(turn, dict) or not isinstance(turn.get("speaker"), str):
            yield f"turn {k + 1} of {thread:.60} is no object with a speaker"
            continue
        try:
            line = _line(turn, thread, k, told)
        except BadLine as bad:
            yield f"turn {k + 1} of {thread:.60}: at: {bad.message}"
            continue
        others = pair - {turn["speaker"]}
        target = record.get(line.get("reply_to", "")) or (next(iter(others)) if len(pair) == 2 else None)
        if "target" not in line and target not in (None, turn["speaker"]):
            line["target"] = subject_of(str(target), roles.get(str(target)), thread)
        record[line["id"]] = turn["speaker"]
        yield line


def _spoken(turn: Any) -> Any:
    """A turn with who speaks; whoever has a role alone speaks in that."""
    if isinstance(turn, dict) and "speaker" not in turn and isinstance(turn.get("role"), str):
        return {**turn, "speaker": turn["role"]}
    return turn


def subject_of(speaker: str, role: Any, thread: str) -> str:
    """Who speaks. What is only a part in a conversation, such as `user`, is somebody else in the next one.

    >>> subject_of("ann", "user", "c1"), subject_of("Person 2", None, "c1")
    ('ann', 'c1/Person 2')
    """
    # Agents of a network have names of their own, whatever these look like.
    part = speaker == role or (role != "agent" and _PART.fullmatch(speaker) is not None)
    return f"{thread}/{speaker}" if part else speaker


def _line(turn: Mapping[str, Any], thread: str, k: int, record: Mapping[str, Any]) -> dict[str, Any]:
    labels = turn.get("labels") if isinstance(turn.get("labels"), dict) else {}
    assert isinstance(labels, dict)
    line: dict[str, Any] = {
        "id": name_of(turn.get("id", labels.get("id"))) or f"{thread}/{k}",
        "subject": subject_of(turn["speaker"], turn.get("role"), thread),
        "thread": thread,
        "kind": name_of(labels.get("kind")) or "message",
        "attributes": plain_labels(labels),
    }
    if isinstance(turn.get("role"), str):
        line["attributes"]["role"] = turn["role"]
    outer = record.get("labels")
    if isinstance(outer, dict) and isinstance(outer.get("submolt"), str):
        line["attributes"]["place"] = outer["submolt"]
    at, clock = time_of(turn.get("at"))
    if at is not None:
        line["at"] = at
    elif clock is not None:
        line["attributes"]["clock"] = clock
    for key, name in (("to", "target"), ("parent", "reply_to")):
        if found := name_of(labels.get(key)):
            line[name] = found
    # Whatever it is, it is checked like the text of any event.
    if text := turn.get("text", turn.get("content")):
        line["text"] = text
    return line
