"""All usage signals of one person at one moment, and which of them are new."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..models import moment
from ..models.slotted import dataclass, field
from .absence import abrupt_termination, return_after_absence
from .baseline import closed_days, frequency
from .clock import DAY, day_of
from .cohort import COHORTS, Cohort
from .finding import SEVERITIES, Finding
from .fusion import CAUSES, behavioural_score
from .hours import hours_change
from .night import late_night
from .sessions import is_closed, read_sessions
from .settings import Settings
from .summary import EMPTY, Summary, count_of
from .trends import message_length, session_trend
from .withdrawal import withdrawal

if TYPE_CHECKING:
    from .records import SignalValues


DEFAULTS = Settings()
TRENDS = {0.0: "stable", 1.0: "increasing", -1.0: "decreasing"}
OVER = 7 * DAY
"""Seconds without a finding after which the same finding is news again."""


@dataclass(frozen=True, slots=True)
class UsageSignals:
    """The eight signals and frequency_change by name, the score 0..1 and its parts by cause.

    `cohort` is the version of the table that filled in where the person's own past was short. `is_known` is
    false where nothing was ever recorded of the person.
    """

    findings: Mapping[str, Finding]
    score: float
    parts: Mapping[str, float]
    cohort: int
    is_known: bool = True

    @property
    def status(self) -> str:
        """ok where at least one habit was known, or something was found.

        abrupt_termination takes no habit: that nothing broke off says nothing about habits.
        """
        is_ok = any(
            finding.is_ok and (name != "abrupt_termination" or finding.severity != "none")
            for name, finding in self.findings.items()
        )
        return "ok" if is_ok else "insufficient"

    @property
    def for_fusion(self) -> float | None:
        """The score as `fuse` takes it: None where too little is known, which is not 0."""
        return self.score if self.status == "ok" else None

    def at_severity(self, severity: str = "medium") -> list[Finding]:
        """The findings at this severity or above."""
        lowest = SEVERITIES.index(severity)
        return [item for item in self.findings.values() if SEVERITIES.index(item.severity) >= lowest]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: seven plain fields, and each signal with its status and sentence."""
        return self.values().to_dict()

    def values(self) -> SignalValues:
        """The same as a record."""
        from .records import SignalValues

        findings = self.findings
        return SignalValues(
            frequency_change=findings["frequency_change"].value,
            is_late_night=findings["late_night"].severity != "none",
            session_length_trend=TRENDS[findings["session_length_trend"].value],
            withdrawal_detected=findings["withdrawal"].severity != "none",
            return_after_absence=findings["return_after_absence"].severity != "none",
            abrupt_termination=findings["abrupt_termination"].severity != "none",
            behavioral_score=self.score,
            status=self.status,
            parts=self.parts,
            cohort=self.cohort,
            signals=findings,
        )


def signals(
    state: Summary, as_of: float, *, cohort: Cohort = COHORTS[1], settings: Settings = DEFAULTS
) -> UsageSignals:
    """Compute every signal of a person at a moment, against their own past.

    Use a moment at or after the newest event: of an earlier one only what the summary still has is known.
    """
    today = day_of(as_of, state.ahead)
    is_here = bool(state.events) and day_of(state.newest, state.ahead) >= today
    days = closed_days(state, today)
    sessions = read_sessions(state, as_of, settings)
    # A session that is only a mark of the service has no length.
    closed = [session for session in sessions if session.events and is_closed(session, as_of, settings)]
    findings = (
        *frequency(days, cohort, settings, count_of(state, today)),
        *withdrawal(days, cohort, settings, is_here=is_here),
        late_night(state, today, cohort, settings),
        hours_change(state, today, settings),
        session_trend(closed, as_of, settings),
        return_after_absence(state, as_of, cohort, settings),
        abrupt_termination(sessions, as_of, settings),
        message_length(closed, settings),
    )
    score, parts = behavioural_score(findings)
    by_name = {finding.name: finding for finding in findings}
    return UsageSignals(by_name, score, parts, cohort.version, is_known=bool(state.events))


@dataclass(slots=True)
class Looked:
    """How many people a sweep looked at, and for how many of them each signal could not be judged."""

    people: int = 0
    not_judged: Counter[str] = field(default_factory=Counter)

    def add(self, current: UsageSignals) -> None:
        """Count one person."""
        self.people += 1
        self.not_judged.update(name for name in CAUSES if not current.findings[name].is_ok)


# --- news -----------------------------------------------------------------------------------


class Episode(NamedTuple):
    """A reported finding: since when, its severity (an index into SEVERITIES), and when it last held."""

    signal: int
    opened: int
    severity: int
    last: int


@dataclass(frozen=True, slots=True)
class News:
    """A person with something new: their name in the store, and the id where the caller gave it.

    `findings` are those that are new or have risen; `signals` is everything at that moment.
    """

    person: str
    subject: str | None
    as_of: float
    findings: tuple[Finding, ...]
    signals: UsageSignals

    @property
    def severity(self) -> str:
        """The highest severity of the findings."""
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index, default="none")

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        from .records import NewsFinding, UsageNews

        return UsageNews(
            person=self.person,
            subject=self.subject,
            as_of=moment(int(self.as_of * 1_000_000)),
            severity=self.severity,
            behavioral_score=self.signals.score,
            findings=[
                NewsFinding(finding.name, finding.severity, finding.sentence) for finding in self.findings
            ],
        ).to_dict()


@lru_cache(maxsize=256)
def signal_code(name: str) -> int:
    """The number that a store has for a signal."""
    return zlib.crc32(name.encode())


@lru_cache(maxsize=1)
def signal_names() -> Mapping[int, str]:
    """The signals by their numbers."""
    return {signal_code(name): name for name in signals(EMPTY, 0.0).findings}


def news_of(
    usage_signals: UsageSignals, episodes: Iterable[Episode], as_of: float, last_event: float = math.inf
) -> tuple[tuple[Finding, ...], list[Episode]]:
    """The findings that were not reported yet, and the episodes that hold now.

    A finding is news when it opens, when its severity rises, and after more than a week without it. That week
    takes somebody who looks at least weekly; for a person without an event since the report (`last_event` is
    their newest) the same finding is the same change.
    """
    newest = {episode.signal: episode for episode in sorted(episodes, key=lambda item: item.opened)}
    now = int(as_of)
    new: list[Finding] = []
    current: list[Episode] = []
    for finding in usage_signals.at_severity("low"):
        code, severity = signal_code(finding.name), SEVERITIES.index(finding.severity)
        before = newest.get(code)
        if before is None or (now - before.last > OVER and last_event > before.last):
            new.append(finding)
            current.append(Episode(code, now, severity, now))
            continue
        if severity > before.severity:
            new.append(finding)
        last = max(before.last, now)
        current.append(Episode(code, before.opened, max(severity, before.severity), last))
    return tuple(new), current
