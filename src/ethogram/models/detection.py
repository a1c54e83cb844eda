"""Detection: a pattern seen in a history, with its evidence and confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .event import Value, stable_hash
from .redaction import mask, masked
from .timestamps import format_time

STATES = ("opened", "closed", "withdrawn", "superseded")
STANDING = ("opened", "closed")
"""States of detections that count: withdrawn and superseded ones are as if they had not been."""
TIMES = ("opened_at", "detected_at", "closed_at", "last_at")
"""Fields that hold a time."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One event that counted, the step it counted for, and the readings that made it count."""

    step: str
    event: str
    at: datetime
    readings: Mapping[str, Value]
    excerpt: str | None = None
    """What the event says, masked; only where somebody asked for it."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; categories are masked, and `excerpt` is there only where there is one."""
        told = {
            "step": self.step,
            "event": self.event,
            "at": format_time(self.at),
            "readings": {name: masked(value) for name, value in self.readings.items()},
        }
        return told if self.excerpt is None else {**told, "excerpt": self.excerpt}


@dataclass(frozen=True, slots=True)
class Detection:
    """One episode. `closed_at` is None while it is open. `history` names whose it is, field by field."""

    id: str
    pattern: str
    version: str
    state: str
    subject: str
    target: str | None
    thread: str | None
    severity: str
    confidence: float
    opened_at: datetime
    detected_at: datetime
    closed_at: datetime | None
    first_event: str
    last_event: str
    count: int
    evidence: tuple[Evidence, ...]
    details: Mapping[str, Any]
    confirms: tuple[str, ...]
    scorer: str
    explanation: str
    recommendation: str
    source: str = "input"
    title: str = ""
    cause: str = ""
    status: str = "stable"
    history: Mapping[str, Value] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    fired_event: str = ""
    """The event at which it fired or opened (a silence: the event before): combinations go by this."""
    fired_confidence: float = 0.0
    """The confidence when it was detected; an episode's own may rise later."""
    last_at: datetime | None = None
    """When its last event was; None in records that were kept before this was told."""
    probability: float | None = None
    """What the confidence stands for by verdicts; filled where it is shown, never kept."""

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        """What detections are sorted by wherever they are listed."""
        return (self.detected_at, self.subject, self.pattern, self.id)

    @property
    def held_at(self) -> datetime:
        """When it was last seen to hold: at its last event, or when it was detected where that is later.

        That it closed says nothing here. Without `last_at` the newest evidence stands for it.
        """
        seen = [item.at for item in self.evidence] if self.last_at is None else [self.last_at]
        return max([self.detected_at, *seen])

    def _names(self) -> list[str]:
        """What the detection tells anyway, and need not be masked in its sentence."""
        return [name for name in (self.subject, self.target, self.thread) if name]

    def to_dict(self) -> dict[str, Any]:
        """The stable JSON form; field names are a promise (docs/records.md)."""
        told = {
            "record": "detection",
            "id": self.id,
            "pattern": self.pattern,
            "title": self.title,
            "version": self.version,
            "status": self.status,
            "state": self.state,
            "source": self.source,
            "subject": self.subject,
            "target": self.target,
            "thread": self.thread,
            "history": dict(self.history),
            "severity": self.severity,
            "confidence": self.confidence,
            "cause": self.cause,
            "opened_at": format_time(self.opened_at),
            "detected_at": format_time(self.detected_at),
            "closed_at": None if self.closed_at is None else format_time(self.closed_at),
            "first_event": self.first_event,
            "last_event": self.last_event,
            "last_at": None if self.last_at is None else format_time(self.last_at),
            "count": self.count,
            "evidence": [item.to_dict() for item in self.evidence],
            "details": {name: _masked(value) for name, value in self.details.items()},
            "confirms": list(self.confirms),
            "parts": list(self.parts),
            "scorer": self.scorer,
            "explanation": mask(self.explanation, keep=self._names()),
            "recommendation": self.recommendation,
        }
        return told if self.probability is None else {**told, "probability": self.probability}


def _masked(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_masked(item) for item in value]
    return masked(value)


def detection_id(pattern: str, source: str, key: tuple[Value, ...], fired_at: str) -> str:
    """The id of a detection: the same behaviour found again has the same id.

    `fired_at` is the id of the event at which it fired or opened, or of the last part of a combination.
    """
    return stable_hash("detection", pattern, source, list(key), fired_at)[:20]


def base_pattern(name: str) -> str:
    """The pattern file that a program comes from, by the program's name.

    >>> base_pattern("resource_spiral.tokens"), base_pattern("love_bombing@3")
    ('resource_spiral', 'love_bombing')
    """
    return name.partition("@")[0].partition(".")[0]
