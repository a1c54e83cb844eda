"""Scores put together: the parts of the behavioural score, and behaviour with what was said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .finding import Finding

CAUSES = {
    "spike": ("activity", 0.15),
    "drop": ("activity", 0.20),
    "withdrawal": ("activity", 0.40),
    "return_after_absence": ("activity", 0.05),
    "late_night": ("nights", 0.10),
    "session_length_trend": ("sessions", 0.10),
    "message_length_change": ("lengths", 0.05),
    "abrupt_termination": ("broken_off", 0.20),
}
"""Cause and weight of each signal. Of one cause the strongest counts, so that withdrawal, which always comes
with a drop, weighs as both would; a change of message length weighs as the weakest."""

WEIGHTS = {"text": 0.40, "voice": 0.25, "behaviour": 0.20, "image": 0.15}
CRISIS = 0.9
"""What an explicit statement of crisis gives at least."""


def behavioural_score(findings: Iterable[Finding]) -> tuple[float, dict[str, float]]:
    """The aggregate 0..1 with its parts by cause: 1 - product of (1 - part), scaled so that all at full
    give 1."""
    parts: dict[str, float] = {}
    for one in findings:
        if one.name in CAUSES and one.level != "none":
            cause, weight = CAUSES[one.name]
            parts[cause] = max(parts.get(cause, 0.0), weight * one.strength)
    most: dict[str, float] = {}
    for cause, weight in CAUSES.values():
        most[cause] = max(most.get(cause, 0.0), weight)
    return round(_either(parts.values()) / _either(most.values()), 6), parts


def _either(parts: Iterable[float]) -> float:
    none = 1.0
    for part in parts:
        none *= 1 - part
    return 1 - none


@dataclass(frozen=True, slots=True)
class Fused:
    """A score 0..1, the weights that made it (of what was present, adding up to 1), and whether crisis was
    said."""

    score: float
    weights: Mapping[str, float]
    is_crisis: bool


def fuse(
    scores: Mapping[str, float | None],
    *,
    weights: Mapping[str, float] = WEIGHTS,
    explicit_crisis: float | None = None,
) -> Fused | None:
    """Content scores and behaviour as one, weighed over what is present; None where nothing is.

    `explicit_crisis` is how sure it is (0..1) that the person said so; it is never averaged away.

    >>> fuse({"text": 0.8, "behaviour": 0.2}).score
    0.6
    """
    unknown = sorted(set(scores) - set(weights))
    if unknown:
        raise ValueError(f"no weight for {', '.join(unknown)}; there are {', '.join(weights)}")
    present = {name: value for name, value in scores.items() if value is not None and weights[name] > 0}
    bad = [name for name, value in present.items() if not 0 <= value <= 1]
    if bad:
        raise ValueError(f"scores are 0 to 1; not so: {', '.join(bad)}")
    total = sum(weights[name] for name in present)
    floor = 0.0 if explicit_crisis is None else max(0.0, min(1.0, explicit_crisis))
    if not present and not floor:
        return None
    shares = {name: weights[name] / total for name in present}
    mean = sum(shares[name] * value for name, value in present.items())
    # As sure as the statement is, so high is the score at least.
    crisis = max(floor, CRISIS) if floor >= 0.5 else floor
    return Fused(round(max(mean, crisis), 6), shares, floor >= 0.5)
