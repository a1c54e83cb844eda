"""What a service may set: how much each signal counts, and how quickly risk is forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .accumulation import HALF_LIFE_S
from .records import Signal


@dataclass(frozen=True, slots=True)
class Tuning:
    """`weights` multiply what signals add to the risk, 1 where nothing is said; `half_life_s` is the time
    after which half of what adds up is forgotten."""

    weights: Mapping[str, float] = field(default_factory=dict)
    half_life_s: float = HALF_LIFE_S

    def weighed(self, signals: tuple[Signal, ...]) -> tuple[Signal, ...]:
        """The signals, each adding as much as it is to."""
        if not self.weights:
            return signals
        return tuple(
            replace(one, adds=min(1.0, one.adds * self.weights.get(one.name, 1.0))) for one in signals
        )


PLAIN = Tuning()
