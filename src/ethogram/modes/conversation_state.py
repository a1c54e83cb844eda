"""Where a conversation stands after a turn, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..climb.records import Change, Mode, Outcome, Signal
from ..records import Detection


@dataclass(frozen=True, slots=True)
class ConversationState:
    """Where a conversation stands after a turn, and why.

    `risk` and `accumulated_risk` are 0..1; `signals` have a value, or None where they could not be measured,
    and a reason each; `detections` are those that opened, rose or closed with this turn; `raised` and
    `lowered` are what changed the risk since the turn before, the greatest first.
    """

    conversation: str
    subject: str
    turn: int
    role: str
    risk: float
    accumulated_risk: float
    mode: Mode
    signals: tuple[Signal, ...]
    detections: tuple[Detection, ...]
    raised: tuple[Change, ...]
    lowered: tuple[Change, ...]
    intents: Mapping[str, float]
    goal_directed: float

    @property
    def changes(self) -> tuple[Change, ...]:
        """What raised and what lowered the risk, the greatest first."""
        return tuple(sorted((*self.raised, *self.lowered), key=lambda one: (-abs(one.by), one.name)))

    @property
    def reason(self) -> str:
        """What adds most to the risk, in words."""
        most = max(self.signals, key=lambda one: one.adds, default=None)
        return most.reason if most is not None and most.adds > 0 else "nothing stands out"

    def signal(self, name: str) -> Signal:
        """The signal of that name; KeyError where there is none in this turn."""
        for one in self.signals:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON's own types."""
        return {
            "record": "conversation_state",
            "conversation": self.conversation,
            "subject": self.subject,
            "turn": self.turn,
            "role": self.role,
            "risk": round(self.risk, 6),
            "accumulated_risk": round(self.accumulated_risk, 6),
            "mode": self.mode.name,
            "signals": [_signal(one) for one in self.signals],
            "detections": [one.to_dict() for one in self.detections],
            "raised": [_change(one) for one in self.raised],
            "lowered": [_change(one) for one in self.lowered],
            "intents": {name: round(share, 6) for name, share in self.intents.items()},
            "goal_directed": round(self.goal_directed, 6),
        }


def state_of(
    conversation: str, subject: str, outcome: Outcome, found: tuple[Detection, ...]
) -> ConversationState:
    """The state that a turn's outcome and the detections it brought make up."""
    return ConversationState(
        conversation,
        subject,
        outcome.turn,
        outcome.role,
        outcome.risk,
        outcome.accumulated_risk,
        outcome.mode,
        outcome.signals,
        found,
        tuple(one for one in outcome.changes if one.by > 0),
        tuple(one for one in outcome.changes if one.by < 0),
        dict(outcome.intents),
        outcome.goal_directed,
    )


def _signal(one: Signal) -> dict[str, Any]:
    value = None if one.value is None else round(one.value, 6)
    told = {"name": one.name, "value": value, "adds": round(one.adds, 6), "usual": round(one.usual, 6)}
    return {**told, "category": one.category, "reason": one.reason}


def _change(one: Change) -> dict[str, Any]:
    return {"name": one.name, "by": round(one.by, 6), "reason": one.reason}
