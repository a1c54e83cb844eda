"""Assessment of a subject or run: detections, combinations, risk and recommendations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..models import Detection, rank
from ..models.detection import base_pattern
from ..models.record import Record
from ..models.slotted import dataclass, field
from .scoring import (
    PLACES,
    ActiveDetection,
    Composition,
    RiskContext,
    RiskWeights,
    WhatIf,
    active_detections,
    compose_active,
    what_if,
)

if TYPE_CHECKING:
    from ..fields import Name, Ratio, RiskMode, Rung, Severity, Urgency

URGENCIES = {"now": 0.5, "soon": 0.2, "later": 0.05, "watch": 0.0}
"""Urgency -> lowest risk that the detection alone causes; most urgent first."""
DEFAULT_RECOMMENDATION = "Look at the events that made it before you decide anything."
CRITICAL_RUNG = "ask"
"""Where critical detections enter the ladder."""


@dataclass(frozen=True, slots=True)
class Intervention(Record):
    """A rung of the ladder that was used, and its effect: stopped, went_on, allowed, declined, ended or
    open.
    """

    rung: str
    effect: str = "open"


@dataclass(frozen=True, slots=True)
class LadderPosition(Record):
    """The next rung (None after the last), the enabled rungs from the mildest, and interventions so far."""

    next: Rung | None
    rungs: tuple[Rung, ...]
    given: tuple[Intervention, ...] = ()


def ladder_position(
    rungs: Sequence[str], interventions: Sequence[Intervention], severity: str
) -> LadderPosition:
    """Where the responses to a pattern of this severity stand; the highest rung used decides.

    >>> ladder = ("nudge", "remind", "ask")
    >>> [ladder_position(ladder, used, "high").next for used in ([], [Intervention("nudge")])]
    ['nudge', 'remind']
    >>> [ladder_position(ladder, used, "critical").next for used in ([], [Intervention("ask")])]
    ['ask', None]
    """
    place = 1 + max((rungs.index(item.rung) for item in interventions if item.rung in rungs), default=-1)
    if severity == "critical" and CRITICAL_RUNG in rungs:
        place = max(place, rungs.index(CRITICAL_RUNG))
    return LadderPosition(rungs[place] if place < len(rungs) else None, tuple(rungs), tuple(interventions))


@dataclass(frozen=True, slots=True)
class ResponseHistory:
    """Enabled rungs, interventions so far by pattern, and actions of the subject by detection id."""

    rungs: tuple[str, ...] = ()
    interventions: Mapping[str, Sequence[Intervention]] = field(default_factory=dict)
    actions: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recommendation(Record):
    """What to do about one pattern.

    `less` is how much the risk would fall without its most important detection, `tried` what the subject did
    about it, `ladder` where interventions stand.
    """

    pattern: Name
    title: str
    severity: Severity
    urgency: Urgency
    text: Name
    less: Ratio
    detections: tuple[Name, ...]
    tried: tuple[str, ...] = ()
    ladder: LadderPosition | None = None


@dataclass(frozen=True, slots=True)
class Assessment(Record):
    """A run or a subject: patterns, risk, and what to do.

    Only detections that count are in it: not those of shadow patterns, nor false alarms.
    """

    RECORD = "assessment"
    JSON = (
        "source subject thread as_of overall_risk mode composition without individual_patterns "
        "combined_patterns recommendations"
    )
    FLAT = ("composition",)

    individual_patterns: tuple[Detection, ...]
    combined_patterns: tuple[Detection, ...]
    overall_risk: Ratio
    recommendations: tuple[Recommendation, ...]
    """`less` is how much the risk would fall without the most important detection, `tried` what the agent did
    about it, `ladder` the rungs that are on, given and next."""
    composition: Composition
    without: tuple[WhatIf, ...]
    """The risk without each detection and what stands on it."""
    source: str = "input"
    subject: str = ""
    thread: str | None = None
    """The run; null where it is all a subject did."""

    @property
    def as_of(self) -> datetime:
        """The moment it is about."""
        return self.composition.as_of

    @property
    def mode(self) -> RiskMode:
        """The risk as a severity; see `Composition`."""
        return self.composition.mode


def assess(
    detections: Sequence[Detection],
    *,
    as_of: datetime,
    weights: RiskWeights | None = None,
    context: RiskContext | None = None,
    responses: ResponseHistory | None = None,
    source: str = "input",
    subject: str = "",
    thread: str | None = None,
) -> Assessment:
    """The assessment of one subject or run at a moment."""
    weights, context = weights or RiskWeights(), context or RiskContext()
    active = active_detections(detections, as_of, weights, context)
    composition = compose_active(active, as_of, weights)
    without = what_if(active, composition, detections, weights)
    less = {item.detection: item.less for item in without}
    return Assessment(
        individual_patterns=tuple(item.detection for item in active if not item.detection.parts),
        combined_patterns=tuple(item.detection for item in active if item.detection.parts),
        overall_risk=composition.value,
        recommendations=_recommendations(active, less, weights, responses or ResponseHistory()),
        composition=composition,
        without=without,
        source=source,
        subject=subject,
        thread=thread,
    )


def _recommendations(
    active: Sequence[ActiveDetection],
    less: Mapping[str, float],
    weights: RiskWeights,
    responses: ResponseHistory,
) -> tuple[Recommendation, ...]:
    """One for each pattern: by urgency, then severity, then effect on the risk."""
    by_pattern: dict[str, list[ActiveDetection]] = {}
    for item in active:
        by_pattern.setdefault(base_pattern(item.detection.pattern), []).append(item)
    order = list(URGENCIES)
    return tuple(
        sorted(
            (_recommendation(pattern, own, less, weights, responses) for pattern, own in by_pattern.items()),
            key=lambda item: (order.index(item.urgency), -rank(item.severity), -item.less, item.pattern),
        )
    )


def _recommendation(
    pattern: str,
    active: Sequence[ActiveDetection],
    less: Mapping[str, float],
    weights: RiskWeights,
    responses: ResponseHistory,
) -> Recommendation:
    detections = [item.detection for item in active]
    # The whole sequence goes before its early part, which is named pattern@step.
    worst = max(
        detections, key=lambda item: (rank(item.severity), "@" not in item.pattern, item.confidence, item.id)
    )
    names = dict.fromkeys((pattern, *(item.pattern for item in detections)))
    interventions = [item for name in names for item in responses.interventions.get(name, ())]
    actions = (action for item in detections for action in responses.actions.get(item.id, ()))
    return Recommendation(
        pattern,
        worst.title or pattern,
        worst.severity,
        urgency(max(max(item.contribution(weights), item.floor(weights)) for item in active)),
        worst.recommendation or DEFAULT_RECOMMENDATION,
        round(max(less.get(item.id, 0.0) for item in detections), PLACES),
        tuple(item.id for item in detections),
        tuple(dict.fromkeys(actions)),
        ladder_position(responses.rungs, interventions, worst.severity) if responses.rungs else None,
    )


def urgency(risk: float) -> str:
    """The urgency of a detection that alone causes this risk.

    >>> urgency(0.6), urgency(0.3), urgency(0.01)
    ('now', 'soon', 'watch')
    """
    return next(name for name, lowest in URGENCIES.items() if risk >= lowest)
