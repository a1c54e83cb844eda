"""Detection: a match of a pattern in a history, with its evidence and confidence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from .event import Value, stable_hash
from .record import Record
from .redaction import mask, masked
from .slotted import dataclass, field

if TYPE_CHECKING:
    from ..fields import Count, Moment, Name, Ordinal, Ratio, Severity, State, Status


STATES = ("opened", "closed", "withdrawn", "superseded")
STANDING = ("opened", "closed")
"""States of detections that count; withdrawn and superseded ones do not."""
TIMES = ("opened_at", "detected_at", "closed_at", "last_at")
"""Fields that hold a time."""
TUPLES = ("confirms", "parts")
"""Fields that hold names; JSON has lists."""


@dataclass(frozen=True, slots=True)
class Evidence(Record):
    """An event that counted, the step it counted for, and the readings that made it count."""

    OMITTED = ("excerpt",)

    step: str
    event: str
    at: Moment
    readings: Mapping[str, Value]
    excerpt: str | None = None
    """What the event says, masked; only where it was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; categories are masked."""
        return {
            **Record.to_dict(self),
            "readings": {name: masked(value) for name, value in self.readings.items()},
        }


@dataclass(frozen=True, slots=True)
class StepRange(Record):
    """Steps of one agent in one run, counted from 1."""

    first: Ordinal
    detected: Ordinal
    """The first at which it could have been known."""
    last: Ordinal


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection(Record):
    """A pattern matched in a history, with its evidence: an episode that opens and may close."""

    RECORD = "detection"
    HIDDEN = ("fired_event", "fired_confidence")
    OMITTED = ("steps", "probability", "muted", "muted_by_untrusted", "change")

    id: Name
    """The same behaviour found again has the same id."""
    pattern: Name
    title: str = ""
    version: str
    """A hash of what the pattern means."""
    status: Status = "stable"
    state: State
    source: str = "input"
    subject: Name
    target: str | None
    thread: str | None
    history: Mapping[str, Value] = field(default_factory=dict)
    """Whose history it is, field by field."""
    severity: Severity
    confidence: Ratio
    cause: str = ""
    """Detections of one cause count once in risk."""
    opened_at: Moment
    """Null where the source has no times, like the other times; `steps` says where it lies then."""
    detected_at: Moment
    closed_at: datetime | None
    """When it ended; null while it is open."""
    first_event: str
    last_event: str
    last_at: datetime | None = None
    """When its last event was; null in records kept before this was recorded."""
    steps: StepRange | None = None
    """Where it lies in a run of an agent; only in the output of an analysis."""
    count: Count
    evidence: tuple[Evidence, ...]
    details: Mapping[str, Any]
    """The pattern's own values."""
    confirms: tuple[Name, ...]
    """Indicators that it turns into findings."""
    parts: tuple[Name, ...] = ()
    """Ids of combined detections."""
    scorer: str
    explanation: str
    recommendation: str
    probability: Ratio | None = None
    """The confidence calibrated by verdicts; only where there are any."""
    muted: Name | None = None
    """The entry that mutes it; only where it was asked for."""
    muted_by_untrusted: Literal[True] | None = None
    """That entry is from a file nobody has reviewed, so --fail-on counts the detection."""
    change: str | None = None
    """What became of it since the last sweep; only in the output of one."""
    fired_event: str = ""
    """The event at which it fired or opened (a silence: the event before): combinations go by this."""
    fired_confidence: float = 0.0
    """The confidence when it was detected; an episode's own may rise later."""

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        """The sort key of detections in output."""
        return (self.detected_at, self.subject, self.pattern, self.id)

    @property
    def held_at(self) -> datetime:
        """When it last held: at its last event (else the newest evidence), or when detected."""
        seen = [item.at for item in self.evidence] if self.last_at is None else [self.last_at]
        return max([self.detected_at, *seen])

    def to_dict(self, *, timed: bool = True) -> dict[str, Any]:
        """The JSON form; secrets and personal data in details and explanation are masked.

        Where its source has no times (`timed` is false), all times are null.
        """
        record = Record.to_dict(self)
        if not timed:
            record |= dict.fromkeys(TIMES)
            record["evidence"] = [{**item, "at": None} for item in record["evidence"]]
        return {
            **record,
            "details": {name: masked(value) for name, value in self.details.items()},
            # Names that the record has anyway need no mask.
            "explanation": mask(
                self.explanation, keep=filter(None, (self.subject, self.target, self.thread))
            ),
        }


def detection_id(pattern: str, source: str, key: tuple[Value, ...], fired_at: str) -> str:
    """The id of a detection: the same behaviour detected again has the same id.

    `fired_at` is the id of the event at which it fired or opened, or of the last part of a combination.
    """
    return stable_hash("detection", pattern, source, list(key), fired_at)[:20]


def base_pattern(name: str) -> str:
    """The pattern file that a program comes from, by the program's name.

    >>> base_pattern("resource_spiral.tokens"), base_pattern("love_bombing@3")
    ('resource_spiral', 'love_bombing')
    """
    return name.partition("@")[0].partition(".")[0]
