"""Silences live: the deadline after the newest event, and whether it has passed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...language.ast import Expr, Function, Number, OrElse
from ...language.program import Program, SilenceProgram
from ...language.three_valued import above
from ...language.visitor import MEASURES, expressions, walk
from ...models import format_time, moment
from .buffer import Mark, Rows
from .episode import Change, Episode
from .plan import Judge, Plan


@dataclass(slots=True)
class Read:
    """What is told of a silence, read at the event before it."""

    severity: str
    confidence: float
    details: dict[str, Any]
    explanation: str


class SilenceState:
    """What a silence remembers of one history. `deadline` is None where nothing is waited for.

    `is_early`: the deadline is not before this, and is worked out only if that much time passes.
    """

    __slots__ = ("asked", "before", "deadline", "is_early", "is_open", "known", "read")

    def __init__(self) -> None:
        self.deadline: int | None = None
        self.before: Mark | None = None
        self.is_early = False
        self.is_open = False
        self.read: Read | None = None
        self.asked = False
        self.known = False


class SilenceMachine:
    """Moves a silence's state on by one event."""

    def __init__(self, plan: Plan, body: SilenceProgram) -> None:
        self.plan, self.body, self.judge = plan, body, Judge(plan)
        self.longer, self.after = plan.must_ask("longer than"), plan.ask("after")
        # Rows stand still until the history's next event, so what is told is read only when it is told;
        # a subject's whole history may move on before that.
        program = plan.program
        told = (program.confidence, program.severities, program.details, program.explanation)
        self.at_once = plan.whole_layout is not None and any(
            isinstance(item, MEASURES) and item.window.over_subject
            for outer in expressions(told)
            for item in walk(outer)
        )

        lowest = lowest_of(body.longer_than)
        self.soonest = None if self.at_once or lowest <= 0 else math.floor(lowest * 1e6)

    def start(self) -> SilenceState:
        """The state of a history with no events."""
        return SilenceState()

    def step(self, state: SilenceState, rows: Rows, mark: Mark, subject: str) -> None:
        """Set the deadline after the event the rows stand at; what was open has been closed before."""
        state.deadline, state.read, state.is_open, state.before = None, None, False, mark
        state.is_early = False
        rows.deadline_text = None
        if rows.n < self.body.at_least:
            return
        if self.after is not None and not self.after(rows, self.plan.nothing, self.plan.none):
            return
        if self.soonest is not None and state.known:
            state.asked, state.is_early, state.deadline = True, True, mark.us + self.soonest
            return
        self._work_out(state, rows, mark)
        if self.at_once:
            self._read_now(state, rows, subject)

    def _read_now(self, state: SilenceState, rows: Rows, subject: str) -> None:
        if state.deadline is not None:
            state.read = self.read(state, rows, subject)

    def settle(self, state: SilenceState, rows: Rows) -> None:
        """Work the deadline out, if it was not; the rows still stand at the event before."""
        if state.is_early:
            assert state.before is not None
            state.is_early = False
            self._work_out(state, rows, state.before)

    def _work_out(self, state: SilenceState, rows: Rows, mark: Mark) -> None:
        state.deadline = None
        seconds = self.longer(rows, self.plan.nothing, self.plan.none)
        state.asked, state.known = True, state.known or seconds is not None
        if seconds is not None and not above(0.0, seconds):
            state.deadline = mark.us + max(0, round(seconds * 1e6))

    def read(self, state: SilenceState, rows: Rows, subject: str) -> Read:
        """What would be told, read where the rows stand: at the event before."""
        if state.read is not None:
            return state.read
        assert state.deadline is not None
        confidence = self.judge.confidence(rows)
        rows.deadline_text = format_time(moment(state.deadline))
        return Read(
            self.judge.severity(rows),
            confidence,
            self.judge.details(rows),
            self.judge.explanation(rows, subject),
        )

    def change(
        self, what: str, program: Program, source: str, key: Any, state: SilenceState, closed: int | None
    ) -> Change:
        """The silence as it is now."""
        mark, deadline, read = state.before, state.deadline, state.read
        assert mark is not None
        assert deadline is not None
        assert read is not None
        return Change(
            what,
            Episode(
                program, source, key,
                fired=mark,
                first=mark.id,
                last=mark.id,
                last_at=mark.us,
                count=1,
                severity=read.severity,
                confidence=read.confidence,
                fired_confidence=read.confidence,
                opened_at=deadline,
                detected_at=deadline,
                closed_at=closed,
                evidence=(("before", mark),),
                details=read.details,
                explanation=read.explanation,
            ),
        )  # fmt: skip


def lowest_of(expr: Expr) -> float:
    """The least that a value can be, where it is there at all; minus infinity where that is not clear."""
    match expr:
        case Number():
            return expr.value
        case Function(name="max"):
            return max(map(lowest_of, expr.args))
        case Function(name="min"):
            return min(map(lowest_of, expr.args))
        case OrElse():
            return min(lowest_of(expr.of), lowest_of(expr.default))
    return -math.inf
