"""Risk of a subject, composed from its detections.

    risk = 1 - product over causes of (1 - max of weight(severity) * confidence * 2^(-age / half_life))

The odds of that are multiplied by the factors of combinations, and the result is raised to the floor of
critical detections. Every step is monotonic, so that a new detection never lowers the risk, a false alarm
never raises it, and it only falls with time:

- of one cause, combination or floor only the largest contribution counts;
- a multiplier is at least 1 and decays to 1;
- a combination counts under its own cause like any detection, whether or not its parts are known. If it were
  only a multiplier where they are known, a part that becomes known could lower the risk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from ..models import SEVERITIES, Detection, Risk, Verdict, micros
from ..models.constants import SEVERITY_WEIGHTS
from ..models.detection import STANDING, base_pattern
from ..models.record import Record, decimals
from ..models.slotted import dataclass, field
from ..models.timestamps import DAY
from ..stats import chance, multiplied, odds
from .verdicts import balances

if TYPE_CHECKING:
    from ..fields import FactorValue, Name, Ratio, RiskMode

SHADOW = frozenset(("shadow", "retired"))
"""Statuses of patterns whose detections do not count."""
PLACES = 6
"""Decimals of a risk."""


@dataclass(frozen=True, slots=True)
class RiskWeights:
    """Weights of severities, half-lives, multipliers and the floor. Durations are microseconds.

    The checks guarantee the monotonicity described in the module docstring.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: SEVERITY_WEIGHTS)
    half_life: int = 7 * DAY
    half_lives: Mapping[str, int] = field(default_factory=dict)
    """Half-lives of single causes."""
    multipliers: Mapping[str, float] = field(default_factory=dict)
    """Combination -> factor of the odds when it is new and certain."""
    floor: float = 0.5
    """Minimum risk right after a certain critical detection; 0: no floor."""
    floor_half_life: int = 30 * DAY
    shadow: frozenset[str] = SHADOW

    def __post_init__(self) -> None:
        weights = [self.weights.get(severity, math.nan) for severity in SEVERITIES]
        if not all(0 <= weight <= 1 for weight in (*weights, self.floor)):
            raise ValueError(f"weights of {', '.join(SEVERITIES)} and the floor must be between 0 and 1")
        if sorted(weights) != weights:
            raise ValueError("the weight of a severity must not be below that of a lower severity")
        if not all(1 <= multiplier < math.inf for multiplier in self.multipliers.values()):
            raise ValueError("a multiplier must be 1 or more")
        if min(self.half_life, self.floor_half_life, *self.half_lives.values()) <= 0:
            raise ValueError("a half-life must be longer than 0")

    def half_life_of(self, cause: str) -> int:
        return self.half_lives.get(cause, self.half_life)

    def multiplier(self, pattern: str) -> float:
        """The factor of the odds for a pattern; 1 for all but combinations."""
        return self.multipliers.get(base_pattern(pattern), 1.0)


@dataclass(frozen=True, slots=True)
class RiskContext:
    """Verdicts and other knowledge about detections, always as of now.

    All verdicts apply whatever moment the risk is computed for: a false alarm was one from the beginning.
    `untimed` are sources without times, whose detections do not decay. `calibrate` returns the probability
    that a detection is right. `settled` is the outcome of verdicts that were removed: above 0 confirmed,
    below 0 false alarm.
    """

    verdicts: tuple[Verdict, ...] = ()
    untimed: frozenset[str] = frozenset()
    calibrate: Callable[[Detection], float] | None = None
    settled: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActiveDetection:
    """A detection that counts: its confidence after verdicts and its age in microseconds.

    The age counts from when the episode last held. Its closing does not matter: an end is no reason for the
    risk to rise, and an episode that stays open because its run ended still decays.
    """

    detection: Detection
    confidence: float
    age: int

    @property
    def cause(self) -> str:
        """The cause it counts under: the pattern itself where it names none."""
        return self.detection.cause or base_pattern(self.detection.pattern)

    @property
    def is_critical(self) -> bool:
        return self.detection.severity == "critical"

    def contribution(self, weights: RiskWeights) -> float:
        """What it adds under its cause: weight * confidence, decayed."""
        weight = weights.weights[self.detection.severity]
        return self._decayed(weight, weights.half_life_of(self.cause))

    def factor(self, weights: RiskWeights) -> float:
        """What it multiplies the odds by as a combination; decays to 1."""
        excess = weights.multiplier(self.detection.pattern) - 1
        return 1 + self._decayed(excess, weights.half_life_of(self.cause))

    def floor(self, weights: RiskWeights) -> float:
        """The minimum risk that a critical detection causes."""
        return self._decayed(weights.floor, weights.floor_half_life) if self.is_critical else 0.0

    def _decayed(self, value: float, half_life: int) -> float:
        return value * self.confidence * math.exp2(-self.age / half_life)


def active_detections(
    detections: Iterable[Detection], as_of: datetime, weights: RiskWeights, context: RiskContext
) -> list[ActiveDetection]:
    """Detections that count at a moment, in output order, each id once."""
    by_id = {item.id: item for item in sorted(detections, key=lambda item: (item.order, item.last_event))}
    balance = {**context.settled, **balances(context.verdicts)}
    active = []
    for detection in by_id.values():
        is_past = detection.state in STANDING and detection.detected_at <= as_of
        if not is_past or detection.status in weights.shadow or _is_undermined(detection, by_id, balance):
            continue
        confidence = _confidence(detection, balance.get(detection.id, 0), context)
        if confidence > 0:
            is_untimed = detection.source in context.untimed
            age = 0 if is_untimed else max(0, micros(as_of) - micros(detection.held_at))
            active.append(ActiveDetection(detection, confidence, age))
    return active


def _confidence(detection: Detection, balance: int, context: RiskContext) -> float:
    """1 if most judges confirm it, 0 if most reject it, else the calibrated confidence of its pattern.

    A further false alarm never raises this.
    """
    if balance:
        return float(balance > 0)
    return min(1.0, max(0.0, context.calibrate(detection) if context.calibrate else detection.confidence))


def _is_undermined(detection: Detection, by_id: Mapping[str, Detection], balance: Mapping[str, int]) -> bool:
    """Whether a part of a combination, at any depth, was rejected by judges or withdrawn."""
    pending, seen = list(detection.parts), {detection.id}
    while pending:
        part = pending.pop()
        if part in seen:
            continue
        seen.add(part)
        other = by_id.get(part)
        if balance.get(part, 0) < 0 or (other is not None and other.state not in STANDING):
            return True
        pending += other.parts if other is not None else ()
    return False


def combinations_by_part(detections: Iterable[Detection]) -> dict[str, list[str]]:
    """For each detection that is a part, the ids of the combinations made of it."""
    combinations: dict[str, list[str]] = {}
    for detection in detections:
        for part in detection.parts:
            combinations.setdefault(part, []).append(detection.id)
    return combinations


def with_dependents(detection: str, combinations: Mapping[str, Sequence[str]]) -> set[str]:
    """The ids of a detection and of all combinations that depend on it, at any depth.

    Other combinations that might have matched without it are not looked for.
    """
    ids, pending = {detection}, [detection]
    while pending:
        more = [other for other in combinations.get(pending.pop(), ()) if other not in ids]
        ids.update(more)
        pending += more
    return ids


@dataclass(frozen=True, slots=True)
class Contribution(Record):
    """The value of one cause, combination or floor, and the detection it comes from.

    `probability` is the confidence with which that detection counts.
    """

    JSON = "name detection value probability"
    DECIMALS = decimals(PLACES, "value", "probability")

    name: str
    value: Ratio
    detection: Name
    probability: Ratio
    """How sure its detection counts: by its pattern, or by verdicts."""


@dataclass(frozen=True, slots=True)
class Factor(Contribution):
    """What a combination multiplies the odds by."""

    value: FactorValue


Kind = TypeVar("Kind", bound=Contribution)


@dataclass(frozen=True, slots=True)
class Composition(Record):
    """A risk and its contributions, the largest first.

    `plain` is the risk of the causes alone. The value of a combination is its factor of the odds. `mode` is
    the highest severity of which a single new and certain detection would give this risk, '' below all.
    """

    JSON = "plain causes combinations floor"

    value: Ratio
    as_of: datetime
    plain: Ratio
    """What the causes alone make."""
    mode: RiskMode = ""
    causes: tuple[Contribution, ...] = ()
    """The largest of each cause, the largest first."""
    combinations: tuple[Factor, ...] = ()
    """What each multiplies the odds by."""
    floor: Contribution | None = None
    detections: tuple[str, ...] = ()

    def risk(self, subject: str, thread: str | None = None, source: str = "input") -> Risk:
        return Risk(subject, self.as_of, self.value, self.mode, thread, self.detections, source)


def compose(
    detections: Iterable[Detection],
    *,
    as_of: datetime,
    weights: RiskWeights | None = None,
    context: RiskContext | None = None,
) -> Composition:
    """The risk of one subject or thread at a moment; 0 without detections."""
    weights = weights or RiskWeights()
    return compose_active(
        active_detections(detections, as_of, weights, context or RiskContext()), as_of, weights
    )


def compose_active(active: Sequence[ActiveDetection], as_of: datetime, weights: RiskWeights) -> Composition:
    """The risk of detections that count, in output order."""
    causes = _largest(Contribution, ((item.cause, item.contribution(weights), item) for item in active))
    factors = ((base_pattern(item.detection.pattern), item.factor(weights), item) for item in active)
    combinations = _largest(Factor, (factor for factor in factors if factor[1] > 1))
    critical = (("floor", item.floor(weights), item) for item in active if item.is_critical)
    floors = _largest(Contribution, critical)
    plain = odds(cause.value for cause in causes)
    raised = chance(multiplied(plain, (combination.value for combination in combinations)))
    value = round(max([raised, *(floor.value for floor in floors)]), PLACES)
    return Composition(
        value=value,
        as_of=as_of,
        plain=round(chance(plain), PLACES),
        mode=mode_of(value, weights),
        causes=causes,
        combinations=combinations,
        floor=floors[0] if floors else None,
        detections=tuple(item.detection.id for item in active),
    )


def mode_of(value: float, weights: RiskWeights) -> str:
    """The highest severity whose weight the risk reaches, at the two decimals shown; '' for none.

    >>> mode_of(0.59, RiskWeights()), mode_of(0.599, RiskWeights()), mode_of(0.05, RiskWeights())
    ('medium', 'high', '')
    """
    reached = (level for level in reversed(SEVERITIES) if 0 < weights.weights[level] <= value + 0.005)
    return next(reached, "")


def _largest(kind: type[Kind], values: Iterable[tuple[str, float, ActiveDetection]]) -> tuple[Kind, ...]:
    """The largest value of each name, in falling order; of equal values the first detection."""
    best: dict[str, tuple[float, ActiveDetection]] = {}
    for name, value, item in values:
        if name not in best or value > best[name][0]:
            best[name] = (value, item)
    contributions = [
        kind(name, value, item.detection.id, item.confidence) for name, (value, item) in best.items()
    ]
    return tuple(sorted(contributions, key=lambda item: (-item.value, item.name)))


@dataclass(frozen=True, slots=True)
class WhatIf(Record):
    """The risk without one detection and its dependents, and how much lower it is."""

    detection: Name
    value: Ratio
    less: Ratio


def what_if(
    active: Sequence[ActiveDetection], now: Composition, detections: Iterable[Detection], weights: RiskWeights
) -> tuple[WhatIf, ...]:
    """The risk `now` without each detection that counts, the largest difference first."""
    largest = {
        item.detection for item in (*now.causes, *now.combinations, *([now.floor] if now.floor else []))
    }
    combinations = combinations_by_part(detections)
    results = []
    for item in active:
        removed = with_dependents(item.detection.id, combinations)
        value = now.value
        if not removed.isdisjoint(largest):  # else another detection is the largest everywhere
            left = [other for other in active if other.detection.id not in removed]
            value = compose_active(left, now.as_of, weights).value
        results.append(WhatIf(item.detection.id, value, round(now.value - value, PLACES)))
    return tuple(sorted(results, key=lambda result: (-result.less, result.detection)))
