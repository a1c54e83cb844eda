"""Finding: what a runner hands over for each episode; detections/ makes a detection of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..language.history import History
from ..language.program import Program
from ..models import Value
from .evaluate import Chain


@dataclass(frozen=True, slots=True)
class Finding:
    """One episode of a program in a history; positions count in the history, times are microseconds.

    `fired` is where it fired or opened (a silence: the event before), `peak` where details are read,
    `chain` the positions matched by each step. `closed_at` is None while it is open.
    """

    program: Program
    history: History
    fired: int
    first: int
    last: int
    peak: int
    count: int
    severity: str
    confidence: float
    fired_confidence: float
    opened_at: int
    detected_at: int
    closed_at: int | None
    chain: Chain = field(default_factory=dict)


NO_TIMES = "the source has no times, and the pattern needs them"


@dataclass(frozen=True, slots=True)
class Insufficient:
    """A history about which a program cannot say yes or no."""

    program: Program
    source: str
    key: tuple[Value, ...]
    have: int
    need: int
    reason: str
