"""Risk: where a subject (or a thread) stands now, and which detections make it up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .timestamps import format_time


@dataclass(frozen=True, slots=True)
class Risk:
    """A number from 0 to 1 at a moment, with the ids of the detections it is composed of."""

    subject: str
    as_of: datetime
    value: float
    mode: str = ""
    thread: str | None = None
    detections: tuple[str, ...] = ()
    source: str = "input"
    """Where the subject is from: the same name in another source is another subject."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"a risk lies between 0 and 1, not at {self.value}")

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "record": "risk",
            "source": self.source,
            "subject": self.subject,
            "thread": self.thread,
            "as_of": format_time(self.as_of),
            "value": self.value,
            "mode": self.mode,
            "detections": list(self.detections),
        }
