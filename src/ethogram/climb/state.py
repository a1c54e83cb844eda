"""The state of a conversation: frozen, bounded whatever its length, and plain JSON on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .accumulation import Load
from .after_refusal import Asked, Refused
from .behaviour import Manner
from .codec import from_plain, to_plain
from .intent import Belief
from .ladder import Ladder
from .memory import Memory, Topic
from .query import Chain
from .records import Mode
from .split import Pieces
from .stretch import Stretch

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
    asked: Asked = field(default_factory=Asked)
    pieces: Pieces = ()
    belief: Belief = field(default_factory=Belief)
    manner: Manner = field(default_factory=Manner)
    memory: Memory = field(default_factory=Memory)
    stretch: Stretch = field(default_factory=Stretch)


def to_json(state: State) -> dict[str, Any]:
    """The state as JSON's own types; `from_json` gives back an equal one."""
    return {"version": VERSION, "state": to_plain(state)}


def from_json(data: dict[str, Any]) -> State:
    """The state that `to_json` gave. ValueError for one of another version."""
    if data.get("version") != VERSION:
        raise ValueError(f"state of version {data.get('version')!r}; this program reads {VERSION}")
    return from_plain(State, data["state"])


def begin(topics: tuple[Topic, ...] = ()) -> State:
    """The state of a new conversation.

    `topics` are risky ones of the subject's earlier conversations, where kept.
    """
    # They were met before this conversation: far enough back that meeting one is a return.
    kept = tuple(Topic(one.words, 0.8 * one.risk, -100) for one in topics)
    return State(memory=Memory(topics=kept))
