"""Conversations: one on each line, as an object with its turns in order.

`{"conversation_id": "c1", "turns": [{"speaker": "ann", "role": "user", "text": "...", "at": "..."}]}`
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadLine
from ..format import Head, Input, JsonAdapter, Record, adapter
from ..values import as_dict, as_dicts, name_of, time_of
from .jsonl import JsonLines

OWN_LABELS = frozenset(("id", "kind", "parent", "to", "depth"))
"""Labels that become fields, or repeat those."""
_ROLE_NAME = re.compile(
    r"(user|assistant|system|human|bot|ai|model|agent|customer|operator|participant|person|speaker|player"
    r"|persuader|persuadee|commenter|mturk[a-z_ ]*|[abc])[ _-]?\d*",
    re.IGNORECASE,
)


@adapter("conversations")
class Conversations(JsonAdapter):
    """Objects with `turns`, of which each has a `speaker`, or a `role` alone."""

    def matches(self, head: Head) -> bool:
        turns = as_dicts(head.first.get("turns"))
        return not head.is_array and any("speaker" in turn or "role" in turn for turn in turns)

    def read(self, file: Input) -> Iterator[Record]:
        """Yield an event for each turn, at the line of its conversation."""
        for number, value, column in JsonLines().read(file):
            if isinstance(value, str):
                yield number, value, column
            else:
                file.ledger.see(value, ("labels",))
                yield from ((number, line, 0) for line in _event_lines(value, number))


def _event_lines(conversation: Mapping[str, Any], number: int) -> Iterator[dict[str, Any] | str]:
    """Yield the event lines of a conversation, or what is wrong with it."""
    turns = conversation.get("turns")
    if not isinstance(turns, list):
        yield "a conversation needs its turns as a list"
        return
    thread = name_of(conversation.get("conversation_id", conversation.get("id"))) or f"line {number}"
    submolt = as_dict(conversation.get("labels")).get("submolt")
    spoken = [(turn, _speaker(turn)) for turn in turns]
    roles = {speaker: turn.get("role") for turn, speaker in spoken if speaker is not None}
    others = dict(zip(roles, reversed(roles), strict=True)) if len(roles) == 2 else {}
    speakers: dict[str, str] = {}
    for place, (turn, speaker) in enumerate(spoken):
        try:
            if speaker is None:
                raise BadLine("expected an object with a speaker")
            line = _event_line(turn, speaker, thread, place)
        except BadLine as bad:
            yield f"turn {place + 1} of {thread:.60}: {bad.message}"
            continue
        if isinstance(submolt, str):
            line["attributes"]["place"] = submolt
        target = speakers.get(line.get("reply_to", "")) or others.get(speaker)
        if "target" not in line and target is not None and target != speaker:
            line["target"] = subject_of(target, roles.get(target), thread)
        speakers[line["id"]] = speaker
        yield line


def _speaker(turn: Any) -> str | None:
    speaker = turn.get("speaker", turn.get("role")) if isinstance(turn, dict) else None
    return speaker if isinstance(speaker, str) else None


def subject_of(speaker: str, role: Any, thread: str) -> str:
    """Return the subject of a speaker. A mere role, such as `user`, is somebody else in each conversation.

    >>> subject_of("ann", "user", "c1"), subject_of("Person 2", None, "c1")
    ('ann', 'c1/Person 2')
    """
    # Agents of a network have names of their own, whatever these look like.
    is_role = speaker == role or (role != "agent" and _ROLE_NAME.fullmatch(speaker) is not None)
    return f"{thread}/{speaker}" if is_role else speaker


def _event_line(turn: Mapping[str, Any], speaker: str, thread: str, place: int) -> dict[str, Any]:
    labels, role = as_dict(turn.get("labels")), turn.get("role")
    line: dict[str, Any] = {
        "id": name_of(turn.get("id", labels.get("id"))) or f"{thread}/{place}",
        "subject": subject_of(speaker, role, thread),
        "thread": thread,
        "kind": name_of(labels.get("kind")) or "message",
    }
    attributes = {
        key: value
        for key, value in labels.items()
        if key not in OWN_LABELS and isinstance(value, (str, int, float))
    }
    if isinstance(role, str):
        attributes["role"] = role
    at, clock = time_of(turn.get("at"), "at")
    if at is not None:
        line["at"] = at
    elif clock is not None:
        attributes["clock"] = clock
    for key, field in (("to", "target"), ("parent", "reply_to")):
        if key in labels and (name := name_of(labels[key])):
            line[field] = name
    # Whatever it is, it is checked like the text of any event.
    if text := turn.get("text", turn.get("content")):
        line["text"] = text
    line["attributes"] = attributes
    return line
