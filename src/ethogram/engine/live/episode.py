"""Episode: a match of a pattern in a history, with all that a detection says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...language.program import Program
from ...models import Event, Value
from .buffer import Mark


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode of a program in a history; times are microseconds.

    `fired` is the event at which it fired or opened (a silence: the event before). `evidence` is
    (step, event) in the order it is listed. `closed_at` is None while it is open.
    """

    program: Program
    source: str
    key: tuple[Value, ...]
    fired: Mark | Event
    first: str
    last: str
    last_at: int
    count: int
    severity: str
    confidence: float
    fired_confidence: float
    opened_at: int
    detected_at: int
    closed_at: int | None
    evidence: tuple[tuple[str, Mark | Event], ...]
    details: Mapping[str, Any]
    explanation: str


class Change(NamedTuple):
    """Something to tell: `what` is opened, rose or closed. A sequence closes as it opens: closed, once."""

    what: str
    episode: Episode


OPENED, ROSE, CLOSED = "opened", "rose", "closed"
