"""The course of a conversation: how far it went, when, and what its risk comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...chat.records import MODES
from ...chat.risk_model import together
from ...models.slotted import dataclass, field, replace

if TYPE_CHECKING:
    from .conversation import ConversationState

LEAST = 0.02  # smallest change of risk that is reported
WATCHED = MODES[1:]  # modes whose first turn is reported


@dataclass(frozen=True, slots=True)
class Course:
    """What the summary of a conversation needs of its turns.

    `first` and `patterns` have the first turn of each mode and pattern; `source` is the turn that the risk
    comes from, and its strongest signal.
    """

    users: int = 0
    highest_risk: float = 0.0
    first: Mapping[str, int] = field(default_factory=dict)
    patterns: Mapping[str, int] = field(default_factory=dict)
    not_measured: Mapping[str, int] = field(default_factory=dict)
    confirmation: str | None = None
    source: tuple[int, str] = (0, "")

    def after(self, state: ConversationState, before: float) -> Course:
        """The course after one more turn; `before` is the risk before it."""
        missed = dict(self.not_measured)
        if state.not_measured:
            missed[state.not_measured] = missed.get(state.not_measured, 0) + 1
        new = {item.pattern: state.turn for item in state.detections if item.pattern not in self.patterns}
        return replace(
            self,
            users=self.users + (state.role == "user"),
            highest_risk=max(self.highest_risk, state.risk),
            first={**dict.fromkeys(WATCHED[: state.mode], state.turn), **self.first},
            patterns={**self.patterns, **new},
            not_measured=missed,
            confirmation=state.confirmation or self.confirmation,
            source=(state.turn, strongest(state)) if is_own(state, before) else self.source,
        )

    def to_dict(self) -> dict[str, Any]:
        """The course as plain JSON data."""
        return {name: getattr(self, name) for name in self.__slots__} | {"source": list(self.source)}

    @classmethod
    def load(cls, saved: Mapping[str, Any]) -> Course:
        """The course of saved data; an empty one where a conversation was saved without."""
        turn, what = saved.get("source", (0, ""))
        return cls(**{**saved, "source": (turn, what)})


def is_own(state: ConversationState, before: float) -> bool:
    """Whether the risk comes from this turn: its signals amount to it, or it rose."""
    adds = {signal.name: signal.adds for signal in state.signals}
    own = max(adds.pop("standing", 0.0), together(adds.values()))
    return own >= state.risk - LEAST or state.risk >= before + LEAST


def strongest(state: ConversationState) -> str:
    """The signal that adds most, with its reason; '' where none adds anything."""
    most = max(state.signals, key=lambda signal: signal.adds, default=None)
    return "" if most is None or most.adds <= 0 else f"{most.name}: {most.reason}"
