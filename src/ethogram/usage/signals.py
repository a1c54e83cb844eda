"""Signals: the whole answer about one person at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .clock import day_of
from .cohort import COHORTS, Cohort
from .finding import Finding
from .frequency import frequency
from .fusion import behavioural_score
from .gone import withdrawal
from .habit import closed_days
from .lengths import message_length, session_trend
from .nights import late_night
from .returns import abrupt_termination, return_after_absence
from .sessions import is_closed, read_sessions
from .settings import Settings
from .summary import Summary

PLAIN = Settings()
PLAINEST = "abrupt_termination"
"""The signal that takes no habit."""
TRENDS = {0.0: "stable", 1.0: "increasing", -1.0: "decreasing"}


@dataclass(frozen=True, slots=True)
class UsageSignals:
    """The eight signals and frequency_change by name, the score 0..1 and its parts by cause.

    `cohort` is the version of the table that filled in where the person's own past was short.
    """

    findings: Mapping[str, Finding]
    score: float
    parts: Mapping[str, float]
    cohort: int

    @property
    def status(self) -> str:
        """ok where at least one habit could be told, or something was found.

        That a talk was not broken off is known of anybody, and says nothing of habits.
        """
        found = self.findings.items()
        is_ok = any(one.is_ok and (name != PLAINEST or one.level != "none") for name, one in found)
        return "ok" if is_ok else "insufficient"

    @property
    def for_fusion(self) -> float | None:
        """The score as `fuse` takes it: None where too little is known, which is not 0."""
        return self.score if self.status == "ok" else None

    def at_level(self, level: str = "medium") -> list[Finding]:
        """The findings at this level or above."""
        order = ("none", "low", "medium")
        return [one for one in self.findings.values() if order.index(one.level) >= order.index(level)]

    def to_dict(self) -> dict[str, Any]:
        """The seven plain fields, and with each signal its status and sentence."""
        found = self.findings
        return {
            "frequency_change": found["frequency_change"].value,
            "is_late_night": found["late_night"].level != "none",
            "session_length_trend": TRENDS[found["session_length_trend"].value],
            "withdrawal_detected": found["withdrawal"].level != "none",
            "return_after_absence": found["return_after_absence"].level != "none",
            "abrupt_termination": found["abrupt_termination"].level != "none",
            "behavioral_score": self.score,
            "status": self.status,
            "parts": dict(self.parts),
            "cohort": self.cohort,
            "signals": {
                name: {
                    "status": one.status,
                    "value": round(one.value, 6),
                    "level": one.level,
                    "sentence": one.sentence,
                    "details": {key: round(value, 6) for key, value in one.details.items()},
                }
                for name, one in found.items()
            },
        }


def signals(
    state: Summary, as_of: float, *, cohort: Cohort = COHORTS[1], settings: Settings = PLAIN
) -> UsageSignals:
    """What is unusual about a person at a moment, against their own past; all quiet where nothing is known.

    Ask at or after the newest event recorded: of an earlier moment only what is kept can be told.
    """
    first, today = day_of(state.first, state.ahead), day_of(int(as_of), state.ahead)
    newest = day_of(state.newest, state.ahead)
    days = closed_days(state, first, today if state.events else first)
    sessions = read_sessions(state, as_of, settings)
    # A mark that came when nobody was there is no session to be measured by.
    closed = [one for one in sessions if one.events and is_closed(one, as_of, settings)]
    found = (
        *frequency(days, cohort, settings),
        *withdrawal(days, cohort, settings, is_here=bool(state.events) and newest >= today),
        late_night(state, today, cohort, settings),
        session_trend(closed, as_of, settings),
        return_after_absence(state, as_of, cohort, settings),
        abrupt_termination(sessions, as_of, settings),
        message_length(closed, settings),
    )
    score, parts = behavioural_score(found)
    return UsageSignals({one.name: one for one in found}, score, parts, cohort.version)
