"""Habit: what a person's closed days make likely for the days after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .chance import at_least, at_most, surprise_of
from .cohort import Cohort
from .settings import Settings
from .summary import DAYS, Summary, read_days

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
        return surprise_of(at_least(count, self.mean, self.spread)) if count > self.mean else 0.0

    def change(self, count: int) -> float:
        """How far from the middle of such days, to either side: 0 in the middle, and the more the higher.

        -log10 of twice the chance of being so far out on that side, where a day just like this one counts
        half: so one event more is a small step everywhere.

        >>> [round(Expected(20, 0.0).change(count), 1) for count in (5, 18, 20, 22, 40)]
        [-4.1, -0.2, 0.0, 0.2, 4.1]
        """
        up, down = (
            (at_least(count, self.mean, self.spread) + at_least(count + 1, self.mean, self.spread)) / 2,
            (at_most(count, self.mean, self.spread) + at_most(count - 1, self.mean, self.spread)) / 2,
        )
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
