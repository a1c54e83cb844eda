"""Thresholds: closed, or open with the highest severity and confidence so far."""

from __future__ import annotations

from typing import Any

from ...language.program import Program, ThresholdProgram
from ...models.event import Event
from ...models.severity import rank
from ...models.slotted import dataclass
from ..history import History
from ..match import CLOSED, MOST_COUNTED, OPENED, ROSE, Change, Match
from .aggregates import counted
from .expressions import Judge, holds, reader


@dataclass(slots=True)
class Open:
    """An open episode. Details and explanation were read at the peak, evidence where it opened."""

    opened: Event
    opened_us: int
    evidence: tuple[Event, ...]
    fired_confidence: float
    confidence: float
    severity: str
    peak: Event
    peak_confidence: float
    details: dict[str, Any]
    explanation: str
    last: str
    last_us: int
    count: int = 1


class Threshold:
    """A threshold program: moves the state of a history (None or an open episode) on by one event."""

    def __init__(self, program: Program, body: ThresholdProgram) -> None:
        self.program, self.body, self.judge = program, body, Judge(program)
        self.when, self.holds = reader(body.when), holds(body.when)
        self.clears = None if body.clears is None else holds(body.clears)

    def step(self, k: int, event: Event, us: int, history: History) -> Change | None:
        """Move the k-th state of the history on by the newest event."""
        at, now = history.n - 1, history.states[k]
        if now is None:
            if self.opens(k, event, at, history):
                history.states[k] = now = self._open(event, us, at, history)
                return Change(OPENED, self.match(now, history, None))
            return None
        if self.closes(event, at, history):
            history.states[k] = None
            return Change(CLOSED, self.match(now, history, us))
        return (
            Change(ROSE, self.match(now, history, None))
            if self._extend(now, event, us, at, history)
            else None
        )

    def opens(self, k: int, event: Event, at: int, history: History) -> bool:
        """Whether a closed threshold opens at an event; notes whether its condition was known."""
        bit = 1 << k
        if not history.known & bit:
            truth = self.when(event, at, history)
            if truth is not None:
                history.known |= bit
            if truth is not True:
                return False
        elif not self.holds(event, at, history):
            return False
        return self.clears is None or not self.clears(event, at, history)

    def closes(self, event: Event, at: int, history: History) -> bool:
        """Whether an open threshold closes at an event."""
        if self.body.stays:
            return False
        if self.clears is None:
            return self.when(event, at, history) is False
        return bool(self.clears(event, at, history))

    def _open(self, event: Event, us: int, at: int, history: History) -> Open:
        judge = self.judge
        confidence = judge.confidence(event, at, history)
        return Open(
            opened=event,
            opened_us=us,
            evidence=evidence_of(self.body, history, at, event),
            fired_confidence=confidence,
            confidence=confidence,
            severity=judge.severity(event, at, history),
            peak=event,
            peak_confidence=confidence,
            details=judge.details(event, at, history),
            explanation=judge.explanation(event, at, history),
            last=event.id,
            last_us=us,
        )

    def _extend(self, now: Open, event: Event, us: int, at: int, history: History) -> bool:
        """Whether the severity rose with this further event of the episode."""
        judge = self.judge
        severity, confidence = judge.severity(event, at, history), judge.confidence(event, at, history)
        now.count += 1
        now.last, now.last_us = event.id, us
        now.confidence = max(now.confidence, confidence)
        height = rank(severity) - rank(now.severity)
        if height < 0 or (height == 0 and confidence < now.peak_confidence):
            return False
        now.severity, now.peak, now.peak_confidence = severity, event, confidence
        now.details = judge.details(event, at, history)
        now.explanation = judge.explanation(event, at, history)
        return height > 0

    def match(self, item: Open, history: History, closed: int | None) -> Match:
        """The episode as it is now."""
        evidence = [("counted", event) for event in item.evidence]
        evidence.append(("opened", item.opened))
        if item.peak.order != item.opened.order:
            evidence.append(("peak", item.peak))
        return Match(
            self.program,
            history.source,
            history.key,
            fired=item.opened,
            first=item.opened.id,
            last=item.last,
            last_at=item.last_us,
            count=item.count,
            severity=item.severity,
            confidence=item.confidence,
            fired_confidence=item.fired_confidence,
            opened_at=item.opened_us,
            detected_at=item.opened_us,
            closed_at=closed,
            evidence=tuple(evidence),
            details=item.details,
            explanation=item.explanation,
        )


def evidence_of(body: ThresholdProgram, history: History, at: int, opened: Event) -> tuple[Event, ...]:
    """The newest 20 events before the opening one that an aggregate of `when` counted, in order."""
    limit = opened.order
    events = {
        event.id: event
        for item in body.counted
        for event in counted(item, history, at)
        if event.order < limit
    }
    return tuple(sorted(events.values(), key=lambda event: event.order)[-MOST_COUNTED:])
