"""Matches: where a program holds in a history, with the values read there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..language.ast import Difference, Expr
from ..language.program import Program, SequenceProgram, SilenceProgram
from ..language.visitor import MEASURES, walk
from ..models.event import Event, Value
from ..models.slotted import dataclass, field

OPENED, ROSE, CLOSED = "opened", "rose", "closed"
MOST_COUNTED = 20
"""Events that are listed as evidence of a threshold."""
MOST_TEXT = 200
"""Characters that a text takes in an explanation."""


@dataclass(frozen=True, slots=True)
class Match:
    """One episode of a program in a history; times are microseconds.

    `fired` is the event at which it fired or opened (a silence: the event before). `evidence` is
    (step, event) in the order it is listed. `closed_at` is None while it is open.
    """

    program: Program
    source: str
    key: tuple[Value, ...]
    fired: Event
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
    evidence: tuple[tuple[str, Event], ...]
    details: Mapping[str, Any]
    explanation: str


class Change(NamedTuple):
    """What happened to a match: opened, rose or closed. A sequence closes as it opens: closed, once."""

    what: str
    match: Match


NO_TIMES = "the source has no times, and the pattern needs them"


@dataclass(frozen=True, slots=True)
class Insufficient:
    """A history in which a program could not be judged."""

    program: Program
    source: str
    key: tuple[Value, ...]
    have: int
    need: int
    reason: str

    @property
    def order(self) -> tuple[str, str, tuple[str, ...]]:
        """Sort key: pattern, source, key of the history."""
        return self.program.name, self.source, tuple(map(str, self.key))


@dataclass(slots=True)
class Outcome:
    """What a run over events found. `checked` counts histories by program name."""

    matches: list[Match] = field(default_factory=list)
    insufficient: list[Insufficient] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)


def lacking(program: Program) -> tuple[int, str]:
    """How many readings a program needs at least, and what to say where it could not be judged."""
    match program.body:
        case SequenceProgram(places=places):
            step, condition = places[0].step, places[0].condition
            return readings_needed(condition), f"step '{step}' could not be judged anywhere"
        case SilenceProgram() as body:
            need = max(body.at_least, readings_needed(body.longer_than))
            return need, "too few events to know what is usual"
        case body:
            when: Expr = body.when  # type: ignore[union-attr]
            return readings_needed(when), "its condition could not be judged anywhere"


def readings_needed(expr: Expr) -> int:
    """The largest number of readings that an aggregate of a condition needs."""
    needs = [1]
    for item in walk(expr):
        if isinstance(item, Difference):
            needs.append(2 * max(2, item.at_least))
        elif isinstance(item, MEASURES):
            needs.append(item.window.at_least)
    return max(needs)
