"""Verdict: a later judgement of a detection, or of its absence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .timestamps import format_time

VERDICTS = ("confirmed", "false_alarm", "missed", "correct_silence")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who judged what, when and why.

    `confirmed` and `false_alarm` name a detection; `missed` and `correct_silence` name the pattern,
    subject and stretch of events in which nothing was detected.
    """

    verdict: str
    by: str
    at: datetime
    pattern: str
    version: str = ""
    detection: str | None = None
    subject: str | None = None
    first_event: str | None = None
    last_event: str | None = None
    why: str = ""
    blind: bool = False
    """Whether the judge could not see what others had said of it."""
    source: str = ""
    """Whose subject and events are meant; names are per source."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is not one of {', '.join(VERDICTS)}")
        if self.verdict in ("confirmed", "false_alarm") and self.detection is None:
            raise ValueError(f"a verdict of {self.verdict} names the detection it judges")
        if self.verdict in ("missed", "correct_silence") and self.subject is None:
            raise ValueError(f"a verdict of {self.verdict} names the subject it is about")

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "record": "verdict",
            "verdict": self.verdict,
            "by": self.by,
            "at": format_time(self.at),
            "pattern": self.pattern,
            "version": self.version,
            "detection": self.detection,
            "subject": self.subject,
            "first_event": self.first_event,
            "last_event": self.last_event,
            "why": self.why,
            "blind": self.blind,
            "source": self.source,
        }
