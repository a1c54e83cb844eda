"""Coming back after an absence, and breaking off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..stats import student_t_tail_approx, surprise_of
from .baseline import Cohort, Daily, closed_days
from .clock import DAY, HOUR, day_of
from .finding import Finding, insufficient
from .sessions import Session, activity, is_closed, old_pauses
from .settings import Settings
from .summary import CLOSING, EMOTIONAL, MARKED, Summary, known_before
from .withdrawal import Past, is_quiet, look

WEEK = 7
CURRENT = DAY
"""Seconds after its end for which a session is what the person is doing now."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A pause before a session: its seconds, how surprising it is for this person, how many times as long it
    is as the longest of the four weeks before, the messages missed by the measure of their quietest week
    before, log10 of (1 + missed) x that ratio, and the seconds of a usual pause."""

    pause: float
    surprise: float
    ratio: float
    missed: float
    weight: float
    usual: float


def absence_before(
    state: Summary, start: float, pause: float, cohort: Cohort, settings: Settings
) -> Absence | None:
    """What is to be said of the pause before a session that began at `start`; None: too few are known.

    By what was known before that day: who comes back after months is measured by the weeks before they left.
    """
    known = known_before(state, day_of(int(start), state.ahead))
    pauses = old_pauses(known, start - DAY // 2)
    if len(pauses) < settings.known_pauses:
        return None
    surprise = _oddity(math.log(max(1.0, pause)), [math.log(pause) for pause in pauses], cohort)
    away = day_of(int(start - pause), state.ahead)
    missed = _quietest_week(_days_before(known, start), away) / WEEK * pause / DAY
    ratio = max(1.0, pause) / max(_latest(pauses))
    weight = math.log10((1 + missed) * ratio)
    return Absence(pause, surprise, ratio, missed, weight, sorted(pauses)[len(pauses) // 2])


def is_unusual(absence: Absence, settings: Settings) -> bool:
    """Whether it is of severity low: longer than any pause of the month, weekends among them, and very long
    for this person, or long and much was missed."""
    return (
        absence.pause >= settings.absence
        and absence.ratio >= settings.return_longer
        and (
            absence.surprise >= settings.return_low
            or (absence.surprise >= settings.return_known and absence.missed >= settings.return_missed)
        )
    )


def is_heavy(absence: Absence, settings: Settings) -> bool:
    """Whether it is of severity medium: unusual, half as long again as an absence is at least and as any
    pause of the month was, and much was missed."""
    return (
        is_unusual(absence, settings)
        and absence.pause >= settings.return_much_longer * settings.absence
        and absence.ratio >= settings.return_much_longer
        and absence.surprise >= settings.return_low
        and absence.weight >= settings.return_medium
    )


def return_after_absence(state: Summary, as_of: float, cohort: Cohort, settings: Settings) -> Finding:
    """Whether the pause before the current session was two days or more and unusual for this person.

    Severity low: longer than their pauses make likely. Severity medium: much longer than any, and much was
    missed by the measure of their quietest week, and nobody was told while it lasted. No return without
    somebody who is there: who is away is absent.
    """
    name = "return_after_absence"
    stretches = activity(state, as_of, settings)
    if len(stretches) < 2:
        return insufficient(name, "no session before the current one")
    current = _current(stretches)
    start = stretches[current][0]
    pause = start - stretches[current - 1][1] if current else 0
    absence = absence_before(state, start, pause, cohort, settings)
    if absence is None:
        return insufficient(name, f"{settings.known_pauses} earlier pauses between sessions")
    if as_of - stretches[-1][1] > CURRENT:
        return Finding(name, "ok", 0.0, "none", 0.0, "Not here now.")
    severity, strength = "none", 0.0
    if is_heavy(absence, settings):
        # Who was told that this person had gone quiet need not be told of the same absence again.
        before = _days_before(known_before(state, day_of(start, state.ahead)), start)
        is_told = is_quiet(look(Past(before.events), cohort, settings))
        severity, strength = ("low", 0.5) if is_told else ("medium", 1.0)
    elif is_unusual(absence, settings):
        severity, strength = "low", min(0.9, 0.4 + absence.surprise / 10)
    usual = absence.usual / HOUR
    text = f"{pause / DAY:.1f} days away, where {usual:.0f} hours are usual"
    word = "Nothing unusual" if severity == "none" else "Return after absence"
    details = {"days_away": pause / DAY, "usual_hours": usual, "missed": absence.missed}
    return Finding(name, "ok", float(severity != "none"), severity, strength, f"{word}: {text}.", details)


def _quietest_week(days: Daily, away: int) -> int:
    """Messages in the quietest of the four weeks that ended with the day `away`; 0 where two are not
    known."""
    end = away - days.first + 1
    weeks = [
        sum(days.events[last - WEEK : last]) for last in range(end, max(WEEK, end - 4 * WEEK + 1) - 1, -WEEK)
    ]
    return min(weeks) if len(weeks) >= 2 else 0


def _days_before(known: Summary, start: float) -> Daily:
    """Every closed day before a session."""
    return closed_days(known, day_of(known.first, known.ahead), day_of(int(start), known.ahead))


def _latest(pauses: Sequence[float]) -> list[float]:
    """The pauses of the last four weeks before, at least one."""
    values: list[float] = []
    for pause in reversed(pauses):
        values.append(pause)
        if sum(values) > 4 * WEEK * DAY:
            break
    return values


def _current(stretches: Sequence[tuple[int, int]]) -> int:
    """The first stretch of the last day's: an absence is still the news after lunch."""
    first = len(stretches) - 1
    while first > 0 and stretches[first - 1][1] > stretches[-1][1] - CURRENT:
        first -= 1
    return first


def _oddity(value: float, past: Sequence[float], cohort: Cohort) -> float:
    """Surprise of a value so large: Student's t against the person's own, shrunk to the cohort's."""
    n0, m, s = cohort.pauses, cohort.log_pause, cohort.log_pause_spread
    n = n0 + len(past)
    mean = (n0 * m + sum(past)) / n
    off = n0 * s * s + sum((x - mean) ** 2 for x in past) + n0 * (m - mean) ** 2
    return surprise_of(student_t_tail_approx((value - mean) / math.sqrt(off / n * (1 + 1 / n)), n))


def abrupt_termination(sessions: Sequence[Session], as_of: float, settings: Settings) -> Finding:
    """Whether the newest session ended by time-out on an emotional message of the person, or is marked so.

    Any later message of the person without feeling counts as a closing turn, and so does one said to be one;
    and who writes after the mark did not break off.
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
