"""The state of a conversation: bounded, plain data."""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from enum import IntEnum
from functools import cache
from typing import Any, TypeVar

from .accumulation import Belief, Load, Manner, Stretch
from .escalation import Chain, Ladder
from .memory import Memory, Topic
from .records import Mode
from .refusals import Asked, Refused
from .repetition import Pieces

# Frozen dataclasses to JSON's own types and back, by their annotations.

T = TypeVar("T")


_SIMPLE = frozenset((str, float, int, bool, type(None)))


def to_plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, enums as numbers; all else as it is."""
    # By the type itself, since this is done for every turn and asking what a value is takes most of the time.
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if kind is tuple:
        return [item if type(item) in _SIMPLE else to_plain(item) for item in value]
    if is_dataclass(kind):
        return {
            name: item if type(item := getattr(value, name)) in _SIMPLE else to_plain(item)
            for name in _names(kind)
        }
    return int(value) if isinstance(value, IntEnum) else value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def from_plain(kind: type[T], data: Any) -> T:
    """What `to_plain` was given, when it was of this kind.

    >>> from .accumulation import Load
    >>> from_plain(Load, to_plain(Load(heap=0.1))) == Load(heap=0.1)
    True
    """
    made: T = _read(kind, data)
    return made


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read(kind: Any, data: Any) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(**{name: _read(hints[name], value) for name, value in data.items()})
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_read(inner[0], item) for item in data)
        return tuple(_read(each, item) for each, item in zip(inner, data, strict=True))
    if origin in (types.UnionType, typing.Union):
        return None if data is None else _read(next(each for each in inner if each is not type(None)), data)
    if kind is float:
        return float(data)
    return kind(data) if isinstance(kind, type) and issubclass(kind, IntEnum) else data


# The state of a conversation: frozen, bounded whatever its length, and plain JSON on demand.

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
    kept = tuple(Topic(topic.words, 0.8 * topic.risk, -100) for topic in topics)
    return State(memory=Memory(topics=kept))
