"""Coming back after an absence, and breaking off."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .chance import student_above, surprise_of
from .clock import day_of
from .cohort import Cohort
from .finding import Finding, graded, insufficient
from .habit import Daily
from .quiet import withdrawal
from .sessions import Session, is_closed, old_pauses
from .settings import DAY, HOUR, Settings
from .summary import CLOSING, EMOTIONAL, MARKED, Summary

WEEK = 7
CURRENT = DAY
"""Seconds after its end for which a session is what the person is doing now."""


def return_after_absence(
    state: Summary, days: Daily, sessions: Sequence[Session], as_of: float, cohort: Cohort, settings: Settings
) -> Finding:
    """Whether the pause before the current session was two days or more and unusual for this person.

    Level low: longer than their pauses make likely. Level medium: longer than any, and much was missed by the
    measure of their quietest week, and nobody was told while it lasted. No return without somebody who is
    there: who is away is absent.
    """
    name = "return_after_absence"
    if len(sessions) < 2:
        return insufficient(name, "no session before the current one")
    if as_of - sessions[-1].end > CURRENT:
        return Finding(name, "ok", 0.0, "none", 0.0, "Not here now.")
    current = _current(sessions)
    pause = sessions[current].start - max(one.end for one in sessions[:current]) if current else 0
    pauses = old_pauses(state, sessions[current].start - DAY // 2)
    if len(pauses) < settings.known_pauses:
        return insufficient(name, f"{settings.known_pauses} earlier pauses between sessions")
    level, strength = "none", 0.0
    if pause >= settings.absence:
        surprise = _oddity(math.log(pause), [math.log(one) for one in pauses], cohort)
        level, strength = graded(surprise, settings.return_low, math.inf)
        today = day_of(sessions[current].start, state.ahead)
        away = day_of(sessions[current].start - pause, state.ahead)
        missed = _quietest_week(days, away) / WEEK * pause / DAY
        if math.log10((1 + missed) * pause / max(_latest(pauses))) >= settings.return_medium:
            # Who was told that this person had gone quiet need not be told of the same absence again.
            is_told = withdrawal(_until(days, today), cohort, settings).level == "medium"
            level, strength = ("low", 0.5) if is_told else ("medium", 1.0)
    usual = sorted(pauses)[len(pauses) // 2] / HOUR
    told = f"{pause / DAY:.1f} days away, where {usual:.0f} hours are usual"
    word = "Nothing unusual" if level == "none" else "Back after an unusual absence"
    details = {"days_away": pause / DAY, "usual_hours": usual}
    return Finding(name, "ok", float(level != "none"), level, strength, f"{word}: {told}.", details)


def _quietest_week(days: Daily, away: int) -> int:
    """Messages in the quietest of the four weeks that ended with the day `away`; 0 where two are not
    known."""
    end = away - days.first + 1
    weeks = [
        sum(days.events[last - WEEK : last]) for last in range(end, max(WEEK, end - 4 * WEEK + 1) - 1, -WEEK)
    ]
    return min(weeks) if len(weeks) >= 2 else 0


def _until(days: Daily, end: int) -> Daily:
    length = max(0, end - days.first)
    return Daily(days.first, days.events[:length], days.active[:length])


def _latest(pauses: Sequence[float]) -> list[float]:
    """The pauses of the last four weeks before, at least one."""
    kept: list[float] = []
    for pause in reversed(pauses):
        kept.append(pause)
        if sum(kept) > 4 * WEEK * DAY:
            break
    return kept


def _current(sessions: Sequence[Session]) -> int:
    """The first session of the last day's: an absence is still the news after lunch."""
    first = len(sessions) - 1
    while first > 0 and sessions[first - 1].end > sessions[-1].end - CURRENT:
        first -= 1
    return first


def _oddity(value: float, past: Sequence[float], cohort: Cohort) -> float:
    """Surprise of a value so large: Student's t against the person's own, shrunk to the cohort's."""
    n0, m, s = cohort.pauses, cohort.log_pause, cohort.log_pause_spread
    n = n0 + len(past)
    mean = (n0 * m + sum(past)) / n
    off = n0 * s * s + sum((x - mean) ** 2 for x in past) + n0 * (m - mean) ** 2
    return surprise_of(student_above((value - mean) / math.sqrt(off / n * (1 + 1 / n)), n))


def abrupt_termination(sessions: Sequence[Session], as_of: float, settings: Settings) -> Finding:
    """Whether the newest session ended by time-out on an emotional message of the person, or is marked so.

    Any later message of the person without feeling counts as a closing turn, and so does one said to be one.
    """
    name = "abrupt_termination"
    if not sessions:
        return insufficient(name, "no session")
    newest = sessions[-1]
    if not is_closed(newest, as_of, settings):
        return Finding(name, "ok", 0.0, "none", 0.0, "The session is still going on.")
    is_marked = bool(newest.flags & MARKED)
    is_emotional = bool(newest.flags & EMOTIONAL) and not newest.flags & CLOSING
    if as_of - newest.end > settings.broken_off_days * DAY or not (is_marked or is_emotional):
        return Finding(name, "ok", 0.0, "none", 0.0, "The last session ended in an ordinary way.")
    how = "the source says so" if is_marked else "the last message was full of feeling and nothing followed"
    return Finding(
        name, "ok", 1.0, "medium", 1.0 if is_marked else 0.8, f"The last session was broken off: {how}."
    )
