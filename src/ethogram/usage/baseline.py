"""Baseline: what a person's own habit and the cohort make likely."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import BadConfig, BadUsage
from ..stats import count_at_least, count_at_most, surprise_of
from .clock import DAY, day_of, night_slots
from .cohort_table import COHORTS, LEAST_PEOPLE, Cohort, read_cohort
from .sessions import old_pauses, read_sessions
from .settings import Settings
from .summary import DAYS, LENGTH_STEPS, Summary, read_days, recent_days

# Cohort: what is usual among the people of a service; a table with a version, never whoever is in the input.
#
# It fills in where a person's own past is short, and weighs as much as the given number of days or pauses.

__all__ = ["COHORTS", "Cohort", "find_cohort", "learn_cohort"]

FIGURES = (
    "events_a_day",
    "active_a_day",
    "events_spread",
    "active_spread",
    "night_share",
    "log_pause",
    "log_pause_spread",
    "session_minutes",
    "message_length",
)
"""What is learnt. The weights stay as they are in version 1, and so does the spread of weeks: the middle
person's weeks are more alike than most people's, and would raise false alarms of going quiet."""
LEAST = {
    "events_a_day": 0.001,
    "active_a_day": 0.001,
    "night_share": 0.005,
    "log_pause_spread": 0.1,
    "week_spread": 0.1,
}
"""What a figure is at least: with a share of 0 a first night would be impossible, not rare."""


def find_cohort(number: int | str | Path) -> Cohort:
    """The table of a shipped version, or the one in a file; BadConfig says what there is.

    >>> find_cohort(1).source
    'plain habits, written by hand'
    """
    text = str(number)
    if text.isdecimal():
        if int(text) in COHORTS:
            return COHORTS[int(text)]
        known = ", ".join(map(str, COHORTS))
        raise BadConfig(f"usage.cohort: there is no version {text:.20}; there are {known}, or name a file")
    return read_cohort(Path(text))


def learn_cohort(
    people: Iterable[Summary], version: int, source: str, settings: Settings, date: str = ""
) -> Cohort:
    """A new version of the table: the middle person of those with three weeks and thirty events.

    Figures are rounded to two places that count, so that the middle person's own cannot be read off. What
    fewer than twenty people tell (lengths of messages, say) stays as in version 1, and so do all weights.
    Raises BadUsage where fewer than twenty people are known so well.
    """
    known = [person for person in people if person.events >= 30 and person.newest - person.first >= 21 * DAY]
    if len(known) < LEAST_PEOPLE:
        raise BadUsage(
            f"a cohort takes at least {LEAST_PEOPLE} people with three weeks and 30 events, "
            f"so that no figure is one person's; here are {len(known)}"
        )
    rows = [_habits(item, settings) for item in known]
    learnt = {name: _middle(name, [row[k] for row in rows]) for k, name in enumerate(FIGURES)}
    figures = {name: value for name, value in learnt.items() if value is not None}
    return replace(COHORTS[1], version=version, source=source, date=date, people=len(known), **figures)


def _middle(name: str, column: Sequence[float | None]) -> float | None:
    """The median of those who tell it, rounded; None where they are too few."""
    told = [item for item in column if item is not None]
    if len(told) < LEAST_PEOPLE:
        return None
    return max(LEAST.get(name, 0.0), float(f"{statistics.median(told):.2g}"))


def _habits(state: Summary, settings: Settings) -> tuple[float | None, ...]:
    """One person's figures, in the order of FIGURES; None: they do not tell it."""
    days = recent_days(state)
    span = days[-1].day - max(days[0].day, day_of(state.first, state.ahead)) + 1
    night = night_slots(settings.night)
    active = [day.active.bit_count() for day in days]
    nights = sum((day.active & night).bit_count() for day in days)
    logs = [math.log(pause) for pause in old_pauses(state, state.newest + 1)]
    sessions = read_sessions(state, state.newest, settings)
    measured = sum(session.measured for session in sessions)
    octaves = sum(session.octaves for session in sessions) / LENGTH_STEPS
    return (
        sum(day.events for day in days) / span,
        sum(active) / span,
        _extra([day.events for day in days], span),
        _extra(active, span),
        nights / sum(active),
        statistics.fmean(logs) if logs else None,
        statistics.pstdev(logs) if len(logs) > 1 else None,
        statistics.median(session.minutes for session in sessions),
        2 ** (octaves / measured) - 1 if measured else None,
    )


def _extra(counts: list[int], span: int) -> float:
    """Squared relative spread beyond Poisson; days without anything are not in `counts`."""
    mean = sum(counts) / span
    variance = sum(count * count for count in counts) / span - mean * mean
    return max(0.0, (variance - mean) / (mean * mean))


# Habit: what a person's closed days make likely for the days after them.

LONGEST = 365


@dataclass(frozen=True, slots=True)
class Daily:
    """Numbers of consecutive closed days, oldest first; `first` is the first one's number."""

    first: int
    events: tuple[int, ...]
    active: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.events)


def closed_days(state: Summary, first: int, today: int) -> Daily:
    """Every day from the person's first (or the oldest kept) to yesterday, days without anything included.

    Of a silence of more than a year, its first year.
    """
    rows = list(read_days(state))
    begin = max(first, rows[-1].day - DAYS + 1) if rows else today
    today = min(today, begin + DAYS + LONGEST)
    length = max(0, today - begin)
    events, active = [0] * length, [0] * length
    for row in rows:
        if begin <= row.day < today:
            events[row.day - begin] = row.events
            active[row.day - begin] = row.active.bit_count()
    return Daily(begin, tuple(events), tuple(active))


@dataclass(frozen=True, slots=True)
class Expected:
    """What was to be expected of a number of days: its mean, and the squared relative spread of the rate."""

    mean: float
    spread: float

    def much(self, count: int) -> float:
        """-log10 of the chance of so much or more; 0 where no more came than was to be expected."""
        return surprise_of(count_at_least(count, self.mean, self.spread)) if count > self.mean else 0.0

    def change(self, count: int) -> float:
        """How far from the middle of such days, to either side: 0 in the middle, and the more the higher.

        -log10 of twice the chance of being so far out on that side, where a day just like this one counts
        half: so one event more is a small step everywhere.

        >>> [round(Expected(20, 0.0).change(count), 1) for count in (5, 18, 20, 22, 40)]
        [-4.1, -0.2, 0.0, 0.2, 4.1]
        """
        law = self.mean, self.spread
        up = (count_at_least(count, *law) + count_at_least(count + 1, *law)) / 2
        down = (count_at_most(count, *law) + count_at_most(count - 1, *law)) / 2
        return surprise_of(2 * up) if up < down else -surprise_of(2 * down)


def expect(
    past: Sequence[int],
    weekdays: Sequence[float],
    prior: tuple[float, float, float, float],
    settings: Settings,
) -> Expected:
    """What a past leads to expect of as many days as `weekdays` has factors.

    Gamma-Poisson: own days, of which older ones weigh less, and the cohort's as `prior` (mean a day, weight
    in days, spread, weight of the spread). The spread is that of single days, averaged over the days foretold
    and, since the rate itself is only estimated, over those it was estimated from; and the drift of habits.
    Against the cohort's spread the own one weighs as the number of equal days that would tell as much.
    """
    mean0, days0, spread0, spread_days0 = prior
    weights = [0.5 ** ((len(past) - i) / settings.half_life) for i in range(len(past))]
    known = sum(weights)
    total = sum(w * x for w, x in zip(weights, past, strict=True))
    mean = (days0 * mean0 + total) / (days0 + known)
    off = sum(w * (x - mean) ** 2 for w, x in zip(weights, past, strict=True)) / max(known, 1e-9)
    own = max(0.0, (off - mean) / (mean * mean)) if mean > 0 else 0.0
    alike = known * known / max(sum(w * w for w in weights), 1e-9)
    spread = (spread_days0 * spread0 + alike * own) / (spread_days0 + alike)
    n = len(weekdays)
    averaged = spread * (n**-settings.correlation + (known + days0) ** -settings.correlation)
    estimated = 1 / max(1.0, total)
    return Expected(max(1e-3, mean * sum(weekdays)), averaged + estimated + settings.drift)


def weekday_factors(days: Daily, test: range, settings: Settings) -> list[float]:
    """How the days of `test` compare with the average day, told from active half-hours; 1 without enough
    weeks.

    Shrunk to 1 with the weight of two weeks' worth of an average weekday.
    """
    past = days.active[: test.start]
    weeks = len(past) // 7
    total = sum(past)
    if weeks < settings.weeks_for_weekdays or total < 5 * weeks:
        return [1.0] * len(test)
    usual = total / len(past)
    by_weekday: list[list[int]] = [[] for _ in range(7)]
    for i, count in enumerate(past):
        by_weekday[(days.first + i) % 7].append(count)
    weight = 2.0
    factors = [(weight * usual + sum(counts)) / ((weight + len(counts)) * usual) for counts in by_weekday]
    return [factors[(days.first + i) % 7] for i in test]


def events_prior(cohort: Cohort) -> tuple[float, float, float, float]:
    """The cohort's number of events a day, as `expect` takes it."""
    return cohort.events_a_day, cohort.days, cohort.events_spread, cohort.spread_days
