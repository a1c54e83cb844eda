"""What goes into a turn, and what comes out."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ..models.record import Record, decimals
from ..models.slotted import dataclass

INTENTS = ("safe", "educational", "professional", "curious", "suspicious", "malicious")

if TYPE_CHECKING:
    from ..fields import Name, Ratio


ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
    "model": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
SIGNALS = (
    "keywords", "request", "vehicle", "disguise", "ladder", "query_pattern", "after_refusal", "topic_return",
    "resampling", "split_request", "meaning", "standing", "drift", "topic_jump", "trajectory", "accumulation",
    "intent", "typing_speed", "response_time", "question_style", "topic_switching", "refusal", "compliance",
)  # fmt: skip


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
    """What an embedder measured of this turn; None where it did not."""

    level: float | None = (
        None  # closeness to harm against innocent look-alikes: at rest -0.7, alarming from 1
    )
    refused: float | None = None  # similarity to a refused request, 0..1
    paraphrase: float | None = None  # similarity to an earlier turn, 0..1; not used for the risk
    jump: float | None = None  # distance from the topic so far, 0..1; not used for the risk
    any_language: bool = False  # the embedder knows other languages than English


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

    Of a user's turn: `own` is its risk by itself, `severity` that of the harm it is about; `topic` and
    `stage` (an index of escalation.STAGES) are of a question in a line of questions. `not_measured` is why
    nothing can be said of it.
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
    not_measured: str | None = None

    def signal(self, name: str) -> Signal:
        """The signal of that name; KeyError where there is none."""
        return signal_named(name, self.signals)


def signal_named(name: str, signals: tuple[Signal, ...]) -> Signal:
    """The signal of that name; KeyError where there is none."""
    for signal in signals:
        if signal.name == name:
            return signal
    raise KeyError(name)


def quiet(name: str, reason: str) -> Signal:
    """A signal of value 0."""
    return Signal(name, 0.0, reason)


def unmeasured(name: str, reason: str) -> Signal:
    """A signal that could not be measured, which is not the value 0."""
    return Signal(name, None, reason)
