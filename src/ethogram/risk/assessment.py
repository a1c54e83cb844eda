"""Assess: patterns, combinations, the risk they make up, and what to do about it, the most urgent first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from ..models import Detection, rank
from ..models.detection import base_pattern
from ..models.record import Record
from .scoring import (
    PLACES,
    Composition,
    Counted,
    Given,
    Known,
    Position,
    Weighing,
    WhatIf,
    alone,
    composed,
    counted,
    position,
    what_if,
)

if TYPE_CHECKING:
    from ..fields import Name, Ratio, RiskMode, Severity, Urgency


URGENCIES = (("now", 0.5), ("soon", 0.2), ("later", 0.05), ("watch", 0.0))
"""How urgent something is, by how high a risk its detection alone would make."""
LOOK = "Look at the events that made it before you decide anything."
"""What to do where a pattern does not say."""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done about things already.

    `rungs` is the ladder that holds here, from the mildest, () where there is none. `given` are the rungs
    taken, by pattern; `actions` what else the subject itself tried, by the id of a detection.
    """

    rungs: tuple[str, ...] = ()
    given: Mapping[str, Sequence[Given]] = field(default_factory=dict)
    actions: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recommendation(Record):
    """What to do about one pattern; `less` is how much the risk would fall without its gravest detection.

    `tried` is what the subject did about it by itself, `ladder` where the responses to it stand.
    """

    pattern: Name
    title: str
    severity: Severity
    urgency: Urgency
    text: Name
    less: Ratio
    detections: tuple[Name, ...]
    tried: tuple[str, ...] = ()
    ladder: Position | None = None


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
    composition: Composition
    without: tuple[WhatIf, ...]
    """The risk without each detection and what stands on it."""
    source: str = "input"
    subject: str = ""
    thread: str | None = None
    """The run; null where it is all a subject did."""

    @property
    def as_of(self) -> datetime:
        """The moment of the question."""
        return self.composition.as_of

    @property
    def mode(self) -> RiskMode:
        """The risk in a word; see `Composition`."""
        return self.composition.mode


def assess(
    detections: Sequence[Detection],
    *,
    as_of: datetime,
    weighing: Weighing | None = None,
    known: Known | None = None,
    done: Done | None = None,
    source: str = "input",
    subject: str = "",
    thread: str | None = None,
) -> Assessment:
    """The assessment of the detections of one subject or run at a moment."""
    weighing, known, done = weighing or Weighing(), known or Known(), done or Done()
    every = counted(detections, as_of, weighing, known)
    fewer = what_if(detections, as_of=as_of, weighing=weighing, known=known)
    result = [item.detection for item in every]
    whole = composed(every, as_of, weighing)
    return Assessment(
        tuple(item for item in result if not item.parts),
        tuple(item for item in result if item.parts),
        whole.value,
        recommendations(every, {item.detection: item.less for item in fewer}, weighing, done),
        whole,
        fewer,
        source,
        subject,
        thread,
    )


def recommendations(
    every: Sequence[Counted], less: Mapping[str, float], weighing: Weighing, done: Done
) -> tuple[Recommendation, ...]:
    """One for each pattern: the most urgent first, then the gravest, then what matters most.

    What the early part of a sequence recommends is left out where the whole was found.
    """
    by: dict[str, list[Counted]] = {}
    for item in every:
        by.setdefault(base_pattern(item.detection.pattern), []).append(item)
    out = [_recommendation(pattern, own, less, weighing, done) for pattern, own in by.items()]
    order = [name for name, _ in URGENCIES]
    return tuple(
        sorted(
            out, key=lambda item: (order.index(item.urgency), -rank(item.severity), -item.less, item.pattern)
        )
    )


def _recommendation(
    pattern: str, own: Sequence[Counted], less: Mapping[str, float], weighing: Weighing, done: Done
) -> Recommendation:
    ones = [item.detection for item in own]
    gravest = max(
        ones, key=lambda item: (rank(item.severity), "@" not in item.pattern, item.confidence, item.id)
    )
    steps = [step for name in dict.fromkeys((pattern, *(item.pattern for item in ones)))
             for step in done.given.get(name, ())]  # fmt: skip
    return Recommendation(
        pattern,
        gravest.title or pattern,
        gravest.severity,
        urgency(max(alone(item, weighing) for item in own)),
        gravest.recommendation or LOOK,
        round(max(less.get(item.id, 0.0) for item in ones), PLACES),
        tuple(item.id for item in ones),
        tuple(dict.fromkeys(action for item in ones for action in done.actions.get(item.id, ()))),
        position(done.rungs, steps, gravest.severity) if done.rungs else None,
    )


def urgency(part: float) -> str:
    """How urgent something is that alone would make the risk this much.

    >>> urgency(0.6), urgency(0.3), urgency(0.01)
    ('now', 'soon', 'watch')
    """
    return next(name for name, least in URGENCIES if part >= least)
