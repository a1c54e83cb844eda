"""Return after an absence, and sessions that broke off."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..models.slotted import dataclass
from ..stats import student_t_tail_approx, surprise_of
from .baseline import closed_days
from .clock import DAY, HOUR, WEEK, day_of
from .cohort import Cohort
from .finding import Finding, insufficient, ordinary
from .sessions import Session, is_closed, old_pauses, read_sessions
from .settings import Settings
from .summary import CLOSING, EMOTIONAL, MARKED, Summary, known_before
from .withdrawal import Past, is_quiet, measure_spans

CURRENT = DAY
"""Seconds after its end for which a session is what the person is doing now."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A pause before a session in seconds, and how it compares with the person's own.

    `ratio` is to the longest pause of the four weeks before, `missed` the messages that the quietest week
    before would have had, `weight` log10 of (1 + missed) x ratio, `usual` the seconds of a usual pause.
    """

    pause: float
    surprise: float
    ratio: float
    missed: float
    weight: float
    usual: float


def absence_before(
    state: Summary, start: float, pause: float, cohort: Cohort, settings: Settings
) -> Absence | None:
    """Measure the pause before a session that began at `start`; None: too few pauses are known.

    Only what was known before that day counts: a return after months is measured by the weeks before.
    """
    known = known_before(state, day_of(start, state.ahead))
    pauses = old_pauses(known, start - DAY // 2)
    if len(pauses) < settings.known_pauses:
        return None
    surprise = _surprise(math.log(max(1.0, pause)), [math.log(earlier) for earlier in pauses], cohort)
    missed = _quietest_week(known, start, pause) / WEEK * pause / DAY
    ratio = max(1.0, pause) / _longest_recent(pauses)
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

    Severity medium only where the absence itself was not reported as withdrawal while it lasted. A person who
    is away now is absent and has not returned.
    """
    name = "return_after_absence"
    spans = read_sessions(state, as_of, settings, by_name=False)
    if len(spans) < 2:
        return insufficient(name, "no session before the current one")
    current = _current(spans)
    start = spans[current].start
    pause = start - spans[current - 1].end if current else 0
    absence = absence_before(state, start, pause, cohort, settings)
    if absence is None:
        return insufficient(name, f"it needs {settings.known_pauses} earlier pauses between sessions")
    if as_of - spans[-1].end > CURRENT:
        return ordinary(name, "Not here now.")
    severity, strength = "none", 0.0
    if is_heavy(absence, settings):
        today = day_of(start, state.ahead)
        before = Past(closed_days(known_before(state, today), today).events)
        was_reported = is_quiet(measure_spans(before, cohort, settings))
        severity, strength = ("low", 0.5) if was_reported else ("medium", 1.0)
    elif is_unusual(absence, settings):
        severity, strength = "low", min(0.9, 0.4 + absence.surprise / 10)
    usual = absence.usual / HOUR
    word = "Nothing unusual" if severity == "none" else "Return after absence"
    text = f"{word}: {pause / DAY:.1f} days away, where {usual:.0f} hours are usual."
    details = {"days_away": pause / DAY, "usual_hours": usual, "missed": absence.missed}
    return Finding(name, "ok", float(severity != "none"), severity, strength, text, details)


def _quietest_week(known: Summary, start: float, pause: float) -> int:
    """Messages in the quietest of the four weeks before a pause; 0 where two are not known."""
    days = closed_days(known, day_of(start, known.ahead))
    end = day_of(start - pause, known.ahead) - days.first + 1
    lasts = range(end, max(WEEK, end - 4 * WEEK + 1) - 1, -WEEK)
    weeks = [sum(days.events[last - WEEK : last]) for last in lasts]
    return min(weeks) if len(weeks) >= 2 else 0


def _longest_recent(pauses: Sequence[float]) -> float:
    """The longest pause of the last four weeks before, of at least one."""
    longest = total = 0.0
    for pause in reversed(pauses):
        longest, total = max(longest, pause), total + pause
        if total > 4 * WEEK * DAY:
            break
    return longest


def _current(spans: Sequence[Session]) -> int:
    """The first of the spans that end within CURRENT of the last one: all of them are one return."""
    first = len(spans) - 1
    while first > 0 and spans[first - 1].end > spans[-1].end - CURRENT:
        first -= 1
    return first


def _surprise(value: float, past: Sequence[float], cohort: Cohort) -> float:
    """Surprise of a value so large: Student's t against the person's own, shrunk to the cohort's."""
    n0, m, s = cohort.pauses, cohort.log_pause, cohort.log_pause_spread
    n = n0 + len(past)
    mean = (n0 * m + sum(past)) / n
    off = n0 * s * s + sum((x - mean) ** 2 for x in past) + n0 * (m - mean) ** 2
    return surprise_of(student_t_tail_approx((value - mean) / math.sqrt(off / n * (1 + 1 / n)), n))


def abrupt_termination(sessions: Sequence[Session], as_of: float, settings: Settings) -> Finding:
    """Whether the newest session timed out on an emotional message of the person, or is marked as broken off.

    A later message without emotion, or a closing one, ends the session in an ordinary way.
    """
    name = "abrupt_termination"
    if not sessions:
        return insufficient(name, "no session")
    newest = sessions[-1]
    if not is_closed(newest, as_of, settings):
        return ordinary(name, "The session is still going on.")
    is_marked = bool(newest.flags & MARKED)
    is_emotional = bool(newest.flags & EMOTIONAL) and not newest.flags & CLOSING
    if as_of - newest.end > settings.broken_off_days * DAY or not (is_marked or is_emotional):
        return ordinary(name, "The last session ended in an ordinary way.")
    reason = (
        "the source says so" if is_marked else "the last message was full of feeling and nothing followed"
    )
    text = f"The last session was broken off: {reason}."
    return Finding(name, "ok", 1.0, "medium", 1.0 if is_marked else 0.8, text)
