"""The signals of one person at one moment, and which of them are new."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .absence import abrupt_termination, return_after_absence
from .activity import frequency
from .baseline import COHORTS, Cohort, closed_days
from .clock import DAY, day_of
from .finding import SEVERITIES, Finding
from .fusion import behavioural_score
from .night import late_night
from .sessions import is_closed, read_sessions
from .settings import Settings
from .summary import Summary
from .trends import message_length, session_trend
from .withdrawal import withdrawal

if TYPE_CHECKING:
    from .records import SignalValues


# Signals: the whole answer about one person at one moment.

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
        is_ok = any(item.is_ok and (name != PLAINEST or item.severity != "none") for name, item in found)
        return "ok" if is_ok else "insufficient"

    @property
    def for_fusion(self) -> float | None:
        """The score as `fuse` takes it: None where too little is known, which is not 0."""
        return self.score if self.status == "ok" else None

    def at_severity(self, severity: str = "medium") -> list[Finding]:
        """The findings at this severity or above."""
        order = ("none", "low", "medium")
        return [
            finding
            for finding in self.findings.values()
            if order.index(finding.severity) >= order.index(severity)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The seven plain fields, and with each signal its status and sentence."""
        return self.values().to_dict()

    def values(self) -> SignalValues:
        """The same as a record."""
        from .records import SignalValues, UsageSignal

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
            signals={
                name: UsageSignal(
                    status=item.status,
                    value=item.value,
                    severity=item.severity,
                    sentence=item.sentence,
                    details=item.details,
                )
                for name, item in findings.items()
            },
        )


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
    closed = [session for session in sessions if session.events and is_closed(session, as_of, settings)]
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
    return UsageSignals({item.name: item for item in found}, score, parts, cohort.version)


# Telling: which of a person's findings are news, so that each change is told once.

OVER = 7 * DAY
"""Seconds without a finding after which the same finding is news again."""


class Episode(NamedTuple):
    """A reported finding: since when, its severity (an index into SEVERITIES), and when it last held."""

    signal: int
    opened: int
    severity: int
    last: int


@dataclass(frozen=True, slots=True)
class News:
    """A person with something to tell: their name in the store, the id where the caller gave it, and what.

    `findings` are those that are new or have risen; `signals` is everything at that moment.
    """

    person: str
    subject: str | None
    as_of: float
    findings: tuple[Finding, ...]
    signals: UsageSignals

    @property
    def severity(self) -> str:
        """The highest of the findings' severities."""
        return max(
            (finding.severity for finding in self.findings), key=SEVERITIES.index, default=SEVERITIES[0]
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        from ..models import moment
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
def code_of(signal: str) -> int:
    """A signal as a number, which is how a store keeps it."""
    return zlib.crc32(signal.encode())


@lru_cache(maxsize=1)
def signal_names() -> Mapping[int, str]:
    """The signals by their numbers."""
    return {code_of(name): name for name in signals(Summary(), 0.0).findings}


def news_of(
    usage_signals: UsageSignals, episodes: Iterable[Episode], as_of: float, last_event: float = math.inf
) -> tuple[tuple[Finding, ...], list[Episode]]:
    """The findings that nobody was told of yet, and the episodes as they stand with them.

    What stays is not told again; what rises is; and what was away for more than a week is new. Whether it was
    away is known only where somebody looks at least weekly; but of a person who wrote nothing since it was
    told (`last_event`: when they last did), the same finding is the same change.
    """
    newest: dict[int, Episode] = {}
    for item in sorted(episodes, key=lambda item: item.opened):
        newest[item.signal] = item
    now, new, stand = int(as_of), [], []
    for finding in usage_signals.at_severity("low"):
        code, severity = code_of(finding.name), SEVERITIES.index(finding.severity)
        before = newest.get(code)
        is_same = before is not None and last_event <= before.last
        if before is None or (now - before.last > OVER and not is_same):
            new.append(finding)
            stand.append(Episode(code, now, severity, now))
            continue
        if severity > before.severity:
            new.append(finding)
        last = max(before.last, now)
        stand.append(Episode(code, before.opened, max(severity, before.severity), last))
    return tuple(new), stand
