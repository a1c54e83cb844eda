"""Weighing: the numbers by which detections make up a risk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ..records import LEVELS, Detection

DAY = 86_400_000_000
"""Microseconds of a day."""
WEIGHTS: Mapping[str, float] = MappingProxyType({"low": 0.1, "medium": 0.3, "high": 0.6, "critical": 0.9})

SHADOW = frozenset(("test", "retired"))
"""Statuses of patterns whose detections do not count."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """What each level weighs, how fast it fades, and what combinations and critical ones add.

    Durations are microseconds. Each limit that is checked here is what a promise rests on: a graver level
    never weighs less, a combination never lowers the odds, and everything fades.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    half_life: int = 7 * DAY
    half_lives: Mapping[str, int] = field(default_factory=dict)
    """Another half-life for a cause."""
    multipliers: Mapping[str, float] = field(default_factory=dict)
    """Combination -> what it multiplies the odds by, when new and certain."""
    floor: float = 0.5
    """Below this the risk does not fall at once after a certain critical detection; 0: no floor."""
    floor_half_life: int = 30 * DAY
    shadow: frozenset[str] = SHADOW
    """Detections of patterns of this status are there to be looked at, and do not count."""

    def __post_init__(self) -> None:
        told = [self.weights.get(level, math.nan) for level in LEVELS]
        if not all(0 <= one <= 1 for one in (*told, self.floor)):
            raise ValueError(f"weights of {', '.join(LEVELS)} and the floor lie between 0 and 1")
        if sorted(told) != told:
            raise ValueError("a graver level cannot weigh less than a lighter one")
        if not all(1 <= one < math.inf for one in self.multipliers.values()):
            raise ValueError("a multiplier is 1 or more: two things together are never less than one of them")
        if min(self.half_life, self.floor_half_life, *self.half_lives.values()) <= 0:
            raise ValueError("a half-life is longer than nothing")

    def fades(self, cause: str) -> int:
        """The half-life of a cause."""
        return self.half_lives.get(cause, self.half_life)

    def multiplier(self, pattern: str) -> float:
        """What a pattern multiplies the odds by; 1 for all but combinations."""
        return self.multipliers.get(base(pattern), 1.0)


def base(pattern: str) -> str:
    """The name in the library of what may be one of several programs of a file.

    >>> base("resource_spiral.tokens"), base("love_bombing@3")
    ('resource_spiral', 'love_bombing')
    """
    return pattern.partition("@")[0].partition(".")[0]


def cause_of(detection: Detection) -> str:
    """The cause a detection counts under: where its pattern names none, the pattern is its own."""
    return detection.cause or base(detection.pattern)
