"""What goes into and comes out of a turn."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from ..models.record import Record, decimals

if TYPE_CHECKING:
    from ..fields import Name, Ratio


# What goes in and comes out of a turn.


class Mode(IntEnum):
    """Where a conversation stands, from the risk at which each begins."""

    SAFE = 0
    CAUTIOUS = 1
    ELEVATED = 2
    SUSPECT = 3
    CRITICAL = 4
    UNSAFE = 5


MODES = tuple(mode.name for mode in Mode)


@dataclass(frozen=True, slots=True)
class Readings:
    """What an embedder measured of this turn, each None where it did not.

    - `level` closeness to what does harm against innocent look-alikes: at rest -0.7, alarming from 1
    - `refused` how like a refused request this turn is, 0..1
    - `paraphrase` how like an earlier turn of the same talk it is, 0..1; told, and used for nothing
    - `jump` how far it is from what was talked about, 0..1; told, and used for nothing

    `any_language`: the embedder is not of English alone.
    """

    level: float | None = None
    refused: float | None = None
    paraphrase: float | None = None
    jump: float | None = None
    any_language: bool = False


@dataclass(frozen=True, slots=True)
class Signal(Record):
    """One measure of a turn.

    `value` 0..1 or None where not measured, why in words, and what it adds to the risk.
    """

    JSON = "name value adds usual category reason"
    DECIMALS = decimals(6, "value", "adds", "usual")

    name: Name
    value: Ratio | None
    reason: str
    adds: Ratio = 0.0
    category: str | None = None
    usual: Ratio = 0.0


@dataclass(frozen=True, slots=True)
class Change(Record):
    """What a signal adds now compared with the turn before; below 0 where it lowers the risk."""

    DECIMALS = decimals(6, "by")

    name: Name
    by: float
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where the conversation stands after a turn, and why.

    `own` is the risk of this turn by itself, `severity` how bad the harm would be that it is about; `topic`
    and `stage` (an index of query.STAGES) of a question in a line of questions. All of a user's turns.
    """

    turn: int
    role: str
    risk: float
    accumulated_risk: float
    mode: Mode
    signals: tuple[Signal, ...]
    changes: tuple[Change, ...]
    intents: tuple[tuple[str, float], ...]
    goal_directed: float
    own: float = 0.0
    severity: float = 0.0
    topic: str | None = None
    stage: int | None = None

    def signal(self, name: str) -> Signal:
        """The signal of that name; KeyError where there is none."""
        for signal in self.signals:
            if signal.name == name:
                return signal
        raise KeyError(name)


def quiet(name: str, reason: str) -> Signal:
    """A signal that was measured and says nothing."""
    return Signal(name, 0.0, reason)


def unmeasured(name: str, reason: str) -> Signal:
    """A signal that could not be measured, which is not 0."""
    return Signal(name, None, reason)


# The names of the signals of a conversation. Nothing else, since the settings need only these.

SIGNALS = (
    "keywords", "request", "vehicle", "disguise", "ladder", "query_pattern", "after_refusal", "topic_return",
    "resampling", "split_request", "meaning", "standing", "drift", "topic_jump", "trajectory", "accumulation",
    "intent", "typing_speed", "response_time", "question_style", "topic_switching", "refusal", "compliance",
)  # fmt: skip
"""Every signal there is."""
