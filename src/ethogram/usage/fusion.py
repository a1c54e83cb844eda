"""Combined scores: the behavioural score of several findings, and behaviour with content scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..errors import BadUsage
from ..models.constants import FUSION_WEIGHTS
from ..models.record import Record, decimals
from ..models.slotted import dataclass
from ..stats import either
from .finding import Finding

if TYPE_CHECKING:
    from ..fields import Ratio


CAUSES = {
    "spike": ("activity", 0.15),
    "drop": ("activity", 0.20),
    "withdrawal": ("activity", 0.40),
    "return_after_absence": ("activity", 0.05),
    "late_night": ("nights", 0.10),
    "hours_change": ("nights", 0.10),
    "session_length_trend": ("sessions", 0.10),
    "message_length_change": ("lengths", 0.05),
    "abrupt_termination": ("broken_off", 0.20),
}
"""Cause and weight of each signal. Of one cause only the strongest counts, so withdrawal, which always comes
with a drop, has the weight of both."""
CRISIS = 0.9
"""The score of an explicit statement of crisis, at least."""
SURE = 0.5
"""Certainty from which a statement counts as made."""


def behavioural_score(findings: Iterable[Finding]) -> tuple[float, dict[str, float]]:
    """The score 0..1 and its parts by cause: 1 - product of (1 - part), scaled so that all at full give 1."""
    parts: dict[str, float] = {}
    highest: dict[str, float] = {}
    for cause, weight in CAUSES.values():
        highest[cause] = max(highest.get(cause, 0.0), weight)
    for finding in findings:
        if finding.name in CAUSES and finding.severity != "none":
            cause, weight = CAUSES[finding.name]
            parts[cause] = max(parts.get(cause, 0.0), weight * finding.strength)
    return round(either(parts.values()) / either(highest.values()), 6), parts


@dataclass(frozen=True, slots=True)
class Fused(Record):
    """One score 0..1 of several, or None where nothing is known.

    `weights` are those of the scores that were present and add up to 1; `absent` names the others;
    `is_crisis` is whether the person said so.
    """

    JSON = "score weights absent is_crisis sentence"
    DECIMALS = decimals(6, "weights")

    score: Ratio | None
    weights: Mapping[str, Ratio]
    absent: tuple[str, ...]
    is_crisis: bool

    @property
    def sentence(self) -> str:
        """What the score is made of."""
        if self.is_crisis:
            return "The person spoke of a crisis; no other score can lower that."
        if self.score is None:
            return "Nothing is known."
        if not self.weights:
            return "A statement that may speak of a crisis is all that is known."
        parts = ", ".join(f"{name} {share:.0%}" for name, share in self.weights.items())
        return f"Made of {parts}." + (f" Not known: {', '.join(self.absent)}." if self.absent else "")


def fuse(
    scores: Mapping[str, float | None],
    *,
    weights: Mapping[str, float] = FUSION_WEIGHTS,
    explicit_crisis: float | bool | None = None,
) -> Fused:
    """Combine content scores and behaviour, weighted over what is present (None: not known, which is not 0).

    `explicit_crisis` is the certainty (0..1) that the person said so. It is never averaged away: from one
    half on it gives at least 0.9, below that at least itself.

    >>> fuse({"text": 0.8, "behaviour": 0.2}).score, fuse({"text": 0.1}, explicit_crisis=True).score
    (0.6, 1.0)
    """
    _check(scores, weights)
    present = {
        name: float(value) for name, value in scores.items() if value is not None and weights[name] > 0
    }
    floor = 0.0 if explicit_crisis is None else _check_score("explicit_crisis", float(explicit_crisis))
    total = math.fsum(weights[name] for name in present)
    shares = {name: weights[name] / total for name in present}
    absent = tuple(name for name in weights if name not in present)
    crisis = max(floor, CRISIS) if floor >= SURE else floor
    if not present and not crisis:
        return Fused(None, {}, absent, False)
    mean = math.fsum(shares[name] * value for name, value in present.items())
    return Fused(round(min(1.0, max(mean, crisis)), 6), shares, absent, floor >= SURE)


def _check(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> None:
    if unknown := sorted(set(scores) - set(weights)):
        raise BadUsage(f"no weight for {', '.join(unknown)}: expected one of {', '.join(weights)}")
    for name, weight in weights.items():
        if not math.isfinite(weight) or weight < 0:
            raise BadUsage(f"the weight of {name} is {weight!r}: expected a number from 0 on")
    for name, value in scores.items():
        if value is not None:
            _check_score(name, value)


def _check_score(name: str, value: float) -> float:
    if not 0 <= value <= 1:  # also for NaN
        raise BadUsage(f"the score {name} is {value!r}: expected a number from 0 to 1")
    return value
