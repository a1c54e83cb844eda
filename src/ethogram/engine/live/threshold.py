"""Thresholds live: closed, or open with the highest severity and confidence so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...language.ast import Cover, Difference, Expr, Measure
from ...language.program import Program, ThresholdProgram
from ...models import rank
from ..aggregates import MOST_COUNTED, counted_positions
from .aggregates import spanned
from .buffer import Mark, Rows, kind_of, picker, slicer
from .episode import CLOSED, OPENED, ROSE, Change, Episode
from .layout import Measures
from .plan import Judge, Plan

# Which events the measures of a threshold counted when it opened: its evidence.

Counter = Callable[[Rows], list[Mark]]


def counted(counters: Iterable[Counter], rows: Rows, opened: Mark) -> tuple[Mark, ...]:
    """The newest 20 events before the opening one that a measure counted, in order."""
    limit = opened.order
    found = {mark.id: mark for count in counters for mark in count(rows) if mark.order < limit}
    return tuple(sorted(found.values(), key=lambda mark: mark.order)[-MOST_COUNTED:])


def counter(expr: Expr, measures: Measures) -> Counter:
    """A function that gives the events a measure counts where its history stands."""
    assert isinstance(expr, (Measure, Cover, Difference))
    columns = measures.columns_for(expr)
    find: Counter
    match expr:
        case Measure(name="surprise_count"):
            column = columns.column("true", expr.of)
            span = int((expr.option("span") or (0,))[0])

            def find(rows: Rows) -> list[Mark]:
                return [rows.marks[i] for i in spanned(rows, column, columns.cap, span)]

        case Measure():
            pick = picker(kind_of(expr), expr.of, expr.window, columns)

            def find(rows: Rows) -> list[Mark]:
                picked = pick(rows)
                return [picked.marks[i] for i in counted_positions(expr, picked.positions, picked.values)]

        case Cover():
            pick = picker("found", expr.items, expr.window, columns)

            def find(rows: Rows) -> list[Mark]:
                picked = pick(rows)
                pairs = zip(picked.positions, picked.values, strict=True)
                return [picked.marks[i] for i, mask in pairs if mask]

        case Difference():
            find = _sides(expr, columns)
    over_subject = columns is measures.whole
    return lambda rows: find(rows.whole if over_subject and rows.whole is not None else rows)


def _sides(expr: Difference, columns: Any) -> Counter:
    where = columns.column("number", expr.of, expr.where)
    against = columns.column("number", expr.of, expr.against)
    allowed = None if expr.window.where is None else columns.column("true", expr.window.where)
    since = None if expr.window.since is None else columns.column("true", expr.window.since)
    left = slicer(expr.window, columns.cap, since)

    def find(rows: Rows) -> list[Mark]:
        first, end, _, _ = left(rows)
        sides = rows.columns[where], rows.columns[against]
        return [
            rows.marks[i]
            for i in range(first, end)
            if any(side[i] is not None for side in sides) and (allowed is None or rows.columns[allowed][i])
        ]

    return find


# Thresholds live: closed, or open with the highest severity and confidence so far.


@dataclass(slots=True)
class Open:
    """An open episode. Details and explanation were read at the peak, evidence where it opened."""

    opened: Mark
    evidence: tuple[Mark, ...]
    fired_confidence: float
    confidence: float
    severity: str
    peak: Mark
    peak_confidence: float
    details: dict[str, Any]
    explanation: str
    last: str
    last_at: int
    count: int = 1


class ThresholdState:
    """What a threshold remembers of one history, its rows apart."""

    __slots__ = ("known", "open")

    def __init__(self) -> None:
        self.open: Open | None = None
        self.known = False


class ThresholdMachine:
    """Moves a threshold's state on by one event."""

    def __init__(self, plan: Plan, body: ThresholdProgram) -> None:
        self.plan, self.body, self.judge = plan, body, Judge(plan)
        self.when, self.not_when = plan.must_ask("when"), plan.must_ask("not when")
        self.clears = plan.ask("clears")

    def start(self) -> ThresholdState:
        """The state of a history with no events."""
        return ThresholdState()

    def step(
        self, state: ThresholdState, rows: Rows, mark: Mark, subject: str
    ) -> tuple[str, Open, int | None] | None:
        """What this event changes: what it is, the episode, and when it closed."""
        nothing, none, now = self.plan.nothing, self.plan.none, state.open
        if now is None:
            if self.when(rows, nothing, none):
                state.known = True
                if self.clears is None or not self.clears(rows, nothing, none):
                    state.open = self._open(rows, mark, subject)
                    return OPENED, state.open, None
            elif not state.known:
                state.known = self.not_when(rows, nothing, none)
            return None
        if not self.body.stays:
            clears = self.clears or self.not_when
            if clears(rows, nothing, none):
                state.open = None
                return CLOSED, now, mark.us
        return (ROSE, now, None) if self._extend(now, rows, mark, subject) else None

    def _open(self, rows: Rows, mark: Mark, subject: str) -> Open:
        confidence = self.judge.confidence(rows)
        return Open(
            opened=mark,
            evidence=counted(self.plan.counted, rows, mark),
            fired_confidence=confidence,
            confidence=confidence,
            severity=self.judge.severity(rows),
            peak=mark,
            peak_confidence=confidence,
            details=self.judge.details(rows),
            explanation=self.judge.explanation(rows, subject),
            last=mark.id,
            last_at=mark.us,
        )

    def _extend(self, now: Open, rows: Rows, mark: Mark, subject: str) -> bool:
        """Whether the severity rose with this further event of the episode."""
        severity, confidence = self.judge.severity(rows), self.judge.confidence(rows)
        now.count += 1
        now.last, now.last_at = mark.id, mark.us
        now.confidence = max(now.confidence, confidence)
        height = rank(severity) - rank(now.severity)
        if height < 0 or (height == 0 and confidence < now.peak_confidence):
            return False
        now.severity, now.peak, now.peak_confidence = severity, mark, confidence
        now.details = self.judge.details(rows)
        now.explanation = self.judge.explanation(rows, subject)
        return height > 0

    def change(
        self, what: str, program: Program, source: str, key: Any, item: Open, closed: int | None
    ) -> Change:
        """The episode as it is now."""
        evidence = [("counted", mark) for mark in item.evidence]
        evidence.append(("opened", item.opened))
        if item.peak.order != item.opened.order:
            evidence.append(("peak", item.peak))
        return Change(
            what,
            Episode(
                program, source, key,
                fired=item.opened,
                first=item.opened.id,
                last=item.last,
                last_at=item.last_at,
                count=item.count,
                severity=item.severity,
                confidence=item.confidence,
                fired_confidence=item.fired_confidence,
                opened_at=item.opened.us,
                detected_at=item.opened.us,
                closed_at=closed,
                evidence=tuple(evidence),
                details=item.details,
                explanation=item.explanation,
            ),
        )  # fmt: skip
