"""Verdict: a later judgement of a detection, or of its absence."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from .record import Record
from .slotted import dataclass

if TYPE_CHECKING:
    from ..fields import Name, VerdictWord


VERDICTS = ("confirmed", "false_alarm", "missed", "correct_silence")


@dataclass(frozen=True, slots=True)
class Verdict(Record):
    """A person's judgement of a detection, or of its absence.

    `confirmed` and `false_alarm` name a detection; `missed` and `correct_silence` name the pattern,
    subject and stretch of events in which nothing was detected.
    """

    RECORD = "verdict"

    verdict: VerdictWord
    by: str
    at: datetime
    pattern: Name
    version: str = ""
    detection: str | None = None
    subject: str | None = None
    first_event: str | None = None
    """Of a missed or correct_silence: the span it is about."""
    last_event: str | None = None
    why: str = ""
    blind: bool = False
    """Whether the judge could not see what others had said of it."""
    source: str = ""
    """Whose subject and events are meant; names are per source."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"invalid verdict {self.verdict!r}: expected {', '.join(VERDICTS)}")
        if self.verdict in ("confirmed", "false_alarm") and self.detection is None:
            raise ValueError(f"a verdict of {self.verdict} needs a detection")
        if self.verdict in ("missed", "correct_silence") and self.subject is None:
            raise ValueError(f"a verdict of {self.verdict} needs a subject")
