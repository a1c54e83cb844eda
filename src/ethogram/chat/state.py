"""The state of a conversation: bounded whatever its length, and plain JSON on demand."""

from __future__ import annotations

from typing import Any

import msgspec

from ..models.slotted import dataclass, field
from .accumulation import Belief, Load, Manner, Stretch
from .escalation import Chain, Ladder
from .memory import ConversationMemory, Topic
from .records import Mode
from .refusals import LastRequest, Refused
from .repetition import Piece

VERSION = 1
LEVELS = 12


@dataclass(frozen=True, slots=True)
class State:
    """All that a turn needs to know of the turns before it."""

    turns: int = 0
    user_turns: int = 0
    last_at: float | None = None
    last_user_at: float | None = None
    risk: float = 0.0
    mode: Mode = Mode.SAFE
    levels: tuple[float, ...] = ()
    adds: tuple[tuple[str, float], ...] = ()
    baselines: tuple[tuple[str, float], ...] = ()
    load: Load = field(default_factory=Load)
    ladder: Ladder = field(default_factory=Ladder)
    chains: tuple[Chain, ...] = ()
    refused: tuple[Refused, ...] = ()
    asked: LastRequest = field(default_factory=LastRequest)
    pieces: tuple[Piece, ...] = ()
    belief: Belief = field(default_factory=Belief)
    manner: Manner = field(default_factory=Manner)
    memory: ConversationMemory = field(default_factory=ConversationMemory)
    stretch: Stretch = field(default_factory=Stretch)


def to_json(state: State) -> dict[str, Any]:
    """The state as JSON's own types; `from_json` returns an equal one."""
    return {"version": VERSION, "state": msgspec.json.decode(msgspec.json.encode(state))}


def from_json(data: dict[str, Any]) -> State:
    """The state that `to_json` was given; ValueError for another version or a damaged state."""
    if data.get("version") != VERSION:
        raise ValueError(f"state of version {data.get('version')!r}; this program reads {VERSION}")
    try:
        return msgspec.convert(data["state"], State)
    except msgspec.ValidationError as error:
        raise ValueError(f"damaged state: {error}") from None


def begin(topics: tuple[Topic, ...] = ()) -> State:
    """The state of a new conversation; `topics` are risky ones of the subject's earlier conversations."""
    # They were met long enough ago that meeting one is a return.
    return State(
        memory=ConversationMemory(
            topics=tuple(Topic(topic.words, 0.8 * topic.risk, -100) for topic in topics)
        )
    )
