"""Assessment of a subject or run: detections, combinations, risk and recommendations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from ..models import Detection, format_time, rank
from ..models.detection import base_pattern
from .scoring import (
    DECIMALS,
    ActiveDetection,
    Composition,
    RiskContext,
    RiskWeights,
    WhatIf,
    active_detections,
    compose_active,
    what_if,
)

URGENCIES = {"now": 0.5, "soon": 0.2, "later": 0.05, "watch": 0.0}
"""Urgency -> lowest risk that the detection alone causes; most urgent first."""
DEFAULT_RECOMMENDATION = "Look at the events that made it before you decide anything."
CRITICAL_RUNG = "ask"
"""Where critical detections enter the ladder."""


@dataclass(frozen=True, slots=True)
class Intervention:
    """A rung of the ladder that was used, and its effect: stopped, went_on, allowed, declined, ended or
    open.
    """

    rung: str
    effect: str = "open"


@dataclass(frozen=True, slots=True)
class LadderPosition:
    """The next rung ('' after the last), the enabled rungs from the mildest, and the interventions so far."""

    next: str
    rungs: tuple[str, ...]
    interventions: tuple[Intervention, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        given = [asdict(intervention) for intervention in self.interventions]
        return {"next": self.next or None, "rungs": list(self.rungs), "given": given}


def ladder_position(
    rungs: Sequence[str], interventions: Sequence[Intervention], severity: str
) -> LadderPosition:
    """Where the responses to a pattern of this severity stand; the highest rung used decides.

    >>> ladder = ("nudge", "remind", "ask")
    >>> [ladder_position(ladder, used, "high").next for used in ([], [Intervention("nudge")])]
    ['nudge', 'remind']
    >>> [ladder_position(ladder, used, "critical").next for used in ([], [Intervention("ask")])]
    ['ask', '']
    """
    place = 1 + max((rungs.index(item.rung) for item in interventions if item.rung in rungs), default=-1)
    if severity == "critical" and CRITICAL_RUNG in rungs:
        place = max(place, rungs.index(CRITICAL_RUNG))
    return LadderPosition(rungs[place] if place < len(rungs) else "", tuple(rungs), tuple(interventions))


@dataclass(frozen=True, slots=True)
class ResponseHistory:
    """Enabled rungs, interventions so far by pattern, and actions of the subject by detection id."""

    rungs: tuple[str, ...] = ()
    interventions: Mapping[str, Sequence[Intervention]] = field(default_factory=dict)
    actions: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do about one pattern.

    `less` is how much the risk would fall without its most important detection, `tried` what the subject did
    about it, `ladder` where interventions stand.
    """

    pattern: str
    title: str
    severity: str
    urgency: str
    text: str
    less: float
    detections: tuple[str, ...]
    tried: tuple[str, ...] = ()
    ladder: LadderPosition | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            **{name: getattr(self, name) for name in self.__slots__},
            "detections": list(self.detections),
            "tried": list(self.tried),
            "ladder": None if self.ladder is None else self.ladder.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Assessment:
    """Where a run (`thread`) or a subject (`thread` is None) stands; only detections that count."""

    individual_patterns: tuple[Detection, ...]
    combined_patterns: tuple[Detection, ...]
    overall_risk: float
    recommendations: tuple[Recommendation, ...]
    composition: Composition
    without: tuple[WhatIf, ...]
    source: str = "input"
    subject: str = ""
    thread: str | None = None

    @property
    def as_of(self) -> datetime:
        """The moment it is about."""
        return self.composition.as_of

    @property
    def mode(self) -> str:
        """The risk as a severity; see `Composition`."""
        return self.composition.mode

    def to_dict(self) -> dict[str, Any]:
        """The stable JSON form (docs/records.md)."""
        return {
            "record": "assessment",
            "source": self.source,
            "subject": self.subject,
            "thread": self.thread,
            "as_of": format_time(self.as_of),
            "overall_risk": self.overall_risk,
            "mode": self.mode,
            **self.composition.to_dict(),
            "without": [item.to_dict() for item in self.without],
            "individual_patterns": [detection.to_dict() for detection in self.individual_patterns],
            "combined_patterns": [detection.to_dict() for detection in self.combined_patterns],
            "recommendations": [recommendation.to_dict() for recommendation in self.recommendations],
        }


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
    without = what_if(detections, as_of=as_of, weights=weights, context=context)
    composition = compose_active(active, as_of, weights)
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
        round(max(less.get(item.id, 0.0) for item in detections), DECIMALS),
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
