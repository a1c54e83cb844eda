"""Conversations scored turn by turn: what is told of a turn, and of a conversation when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..records import Detection, format_time
from ..records.mask import mask
from .chat_reasons import is_own, strongest
from .chat_talks import Said
from .conversation import Conversation
from .conversation_state import ConversationState

WATCHED = ("CAUTIOUS", "ELEVATED", "SUSPECT", "CRITICAL", "UNSAFE")
"""Modes whose first turn is told."""
Make = Callable[[str, str], Conversation]
"""A new conversation, by its id and its subject."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A turn with where its conversation stands after it.

    `number` counts the turns of both sides, from 1; `before` is the risk before it; `found` are detections
    that were not told of this conversation before. `source` is the turn that the risk comes from and what it
    was: this one, or an earlier one where nothing new holds the risk up.
    """

    said: Said
    number: int
    state: ConversationState
    before: float
    found: tuple[Detection, ...]
    source: tuple[int, str] = (0, "")


@dataclass(slots=True)
class Followed:
    """A conversation so far, as it is summed up."""

    talk: Conversation
    subject: str
    risks: list[float] = field(default_factory=list)
    users: int = 0
    first: dict[str, int] = field(default_factory=dict)
    mode: str = "SAFE"
    patterns: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    source: tuple[int, str] = (0, "")


def follow(said: Iterable[Said], make: Make, followed: dict[str, Followed]) -> Iterator[Scored]:
    """Every turn as it comes, scored; `followed` is filled by conversation, in order of their beginning."""
    for one in said:
        kept = followed.get(one.thread)
        if kept is None:
            kept = followed[one.thread] = Followed(make(one.thread, one.subject), one.subject)
        state = kept.talk.turn(one.text, role=one.role, at=one.at)
        before = kept.risks[-1] if kept.risks else 0.0
        found = tuple(each for each in state.detections if each.id not in kept.told)
        _add(kept, one, state)
        if is_own(state, before):
            kept.source = (len(kept.risks), strongest(state))
        yield Scored(one, len(kept.risks), state, before, found, kept.source)


def _add(kept: Followed, one: Said, state: ConversationState) -> None:
    kept.risks.append(state.risk)
    kept.users += one.role == "user"
    kept.mode = state.mode.name
    if kept.mode in WATCHED:
        for name in WATCHED[: WATCHED.index(kept.mode) + 1]:
            kept.first.setdefault(name, len(kept.risks))
    for found in state.detections:
        kept.patterns.setdefault(found.pattern, len(kept.risks))
        kept.told.add(found.id)


def turn_record(one: Scored, *, excerpts: bool = False) -> dict[str, Any]:
    """A turn as JSON; with `excerpts` what was said, masked and cut."""
    told = {**one.state.to_dict(), "at": None if one.said.at is None else format_time(one.said.at)}
    return {**told, "excerpt": excerpt(one.said.text)} if excerpts else told


def summary_record(name: str, one: Followed) -> dict[str, Any]:
    """What became of a conversation."""
    modes = [mode for mode in WATCHED if mode in one.first]
    return {
        "record": "chat_summary",
        "conversation": name,
        "subject": one.subject,
        "turns": len(one.risks),
        "user_turns": one.users,
        "risk": round(one.risks[-1], 4),
        "mode": one.mode,
        "highest_risk": round(max(one.risks), 4),
        "highest_mode": modes[-1] if modes else "SAFE",
        "first": dict(one.first),
        "patterns": dict(one.patterns),
    }


def excerpt(text: str, most: int = 80) -> str:
    """The beginning of a text on one line, with secrets and personal data masked.

    >>> excerpt("write to ann@example.com")
    'write to [e-mail]'
    """
    flat = " ".join(mask(text[: 4 * most]).split())
    return flat if len(flat) <= most else flat[: most - 3] + "..."


def rises(first: Mapping[str, int]) -> list[tuple[str, int]]:
    """The modes that a conversation rose to, with the turn of each: of several at one turn the highest.

    >>> rises({"CAUTIOUS": 3, "ELEVATED": 3, "SUSPECT": 5})
    [('ELEVATED', 3), ('SUSPECT', 5)]
    """
    at = {turn: mode for mode, turn in sorted(first.items(), key=lambda one: WATCHED.index(one[0]))}
    return [(mode, turn) for turn, mode in at.items()]
