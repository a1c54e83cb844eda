"""Risk: where a subject (or a thread) stands now, and which detections make it up."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from .record import Record
from .slotted import dataclass

if TYPE_CHECKING:
    from ..fields import Name, Ratio, RiskMode


@dataclass(frozen=True, slots=True)
class Risk(Record):
    """Where a subject stands, and which detections make that up."""

    RECORD = "risk"
    JSON = "source subject thread as_of value mode detections"

    subject: str
    as_of: datetime
    value: Ratio
    mode: RiskMode = ""
    thread: str | None = None
    detections: tuple[Name, ...] = ()
    """Ids of those that count."""
    source: str = "input"

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"invalid risk {self.value}: expected a number from 0 to 1")
