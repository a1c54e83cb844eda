"""The result of one usage signal, for programs and as a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..models.record import Record, decimals
from ..models.slotted import dataclass, field
from ..stats import MAX_SURPRISE

if TYPE_CHECKING:
    from ..fields import UsageSeverity, UsageStatus


SEVERITIES = ("none", "low", "medium")


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """The result of one signal. `severity` is none where nothing is unusual or too little is known.

    `value` is the signal's own number (0 where insufficient), `strength` 0..1 how far beyond ordinary it is.
    """

    JSON = "status value severity sentence details"
    DECIMALS = decimals(6, "value", "details")

    name: str
    status: UsageStatus
    value: float
    severity: UsageSeverity
    strength: float
    sentence: str
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        """Whether there was enough data."""
        return self.status == "ok"


def ordinary(name: str, sentence: str) -> Finding:
    """A finding that nothing is unusual."""
    return Finding(name, "ok", 0.0, "none", 0.0, sentence)


def insufficient(name: str, need: str) -> Finding:
    """A finding that there is too little data."""
    return Finding(name, "insufficient", 0.0, "none", 0.0, f"Too little is known: {need}.")


def grade(surprise: float, low: float, medium: float) -> tuple[str, float]:
    """Severity and strength of a surprise: strength is 0 at none, half at low, 1 at twice medium."""
    if surprise < low:
        return "none", 0.0
    strength = min(1.0, 0.5 + 0.5 * (surprise - low) / max(1e-9, 2 * medium - low))
    return ("medium" if surprise >= medium else "low"), strength


def weekly_surprise(surprise: float, days: float) -> float:
    """A surprise over a stretch of 1 to 28 days, corrected for how many such stretches a week holds.

    >>> weekly_surprise(3.0, 0.7), weekly_surprise(3.0, 7)
    (2.154901959985743, 3.0)
    """
    return min(MAX_SURPRISE, max(0.0, surprise - math.log10(7 / min(28.0, max(1.0, days)))))
