"""Withdrawal: whether a person has gone quiet, over as many days as several sessions were to be expected
in."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from operator import mul, sub

from .chance import at_most, most_below, surprise_of
from .cohort import Cohort
from .settings import Settings

SPANS = (2, 3, 4, 5, 7, 10, 14, 21, 28)
"""Days over which a person may have become quiet, beside those since the last message."""
WEEK = 7


@dataclass(frozen=True, slots=True)
class Measure:
    """What some days are measured by: so many messages, and the most with which the days count as quiet (-1:
    none do) and as few, which is never less."""

    amount: float
    spread: float
    quiet: int
    few: int
    is_mean: bool


@dataclass(frozen=True, slots=True)
class Span:
    """The newest days of a person: how many days, how many messages they had, and what that is measured
    by."""

    days: int
    seen: int
    measure: Measure

    @property
    def surprise(self) -> float:
        """-log10 of the chance of so few."""
        return surprise_of(at_most(self.seen, self.measure.amount, self.measure.spread))


class Past:
    """Messages of consecutive days, oldest first, and of every stretch of them."""

    def __init__(self, events: Iterable[int]) -> None:
        self.sums = list(accumulate(events, initial=0))
        self.days = len(self.sums) - 1
        self._stretches: dict[int, list[int]] = {}

    @cached_property
    def visits(self) -> Past:
        """The same of days on which there was anything: 1 each."""
        return Past(int(before < after) for before, after in pairwise(self.sums))

    def seen(self, first: int, end: int) -> int:
        """Messages from a day on and before another, counted from 0.

        >>> Past([2, 0, 5]).seen(1, 3)
        5
        """
        return self.sums[end] - self.sums[first]

    def stretches(self, end: int, length: int, count: int) -> list[int]:
        """So many stretches of so many days, newest first, the newest of which ends before day `end`.

        >>> Past([1, 2, 3, 4, 5]).stretches(5, 2, 2)
        [9, 5]
        """
        known, last = self._all(length), end - length
        return known[last : None if last < count * length else last - count * length : -length]

    def least(self, first: int, end: int, length: int) -> int:
        """Messages of the quietest stretch of so many days, of all from a day on and before another.

        >>> Past([1, 2, 0, 0, 5]).least(0, 5, 2)
        0
        """
        return min(self._all(length)[max(0, first) : end - length + 1])

    def longest_pause(self, first: int, end: int) -> int:
        """The most days in a row without a message, from a day on and before another.

        >>> Past([1, 0, 0, 2, 0]).longest_pause(0, 5)
        2
        """
        longest = run = 0
        for day in range(max(0, first), end):
            run = run + 1 if self.sums[day] == self.sums[day + 1] else 0
            longest = max(longest, run)
        return longest

    def busiest(self, length: int) -> int:
        """Messages of the busiest stretch of so many days; 0 where there is none."""
        return max(self._all(length), default=0)

    def _all(self, length: int) -> list[int]:
        known = self._stretches.get(length)
        if known is None:
            known = self._stretches[length] = list(map(sub, self.sums[length:], self.sums))
        return known


def quietest(past: Past, end: int, span: int, settings: Settings) -> float | None:
    """Messages to be expected of so many days by the quietest stretch in the four weeks before a day.

    None where too little is known, or where hardly a visit was to be expected: whoever writes much on one day
    of the week has not gone quiet by missing it once. It is for people who come in bursts, of whom mean and
    deviation promise too much.
    """
    if span < WEEK:
        found = least_stretch(past, end, span, settings)
        return None if found is None or found[1] < settings.visits_least else float(found[0])
    week = least_stretch(past, end, WEEK, settings)
    if week is None or week[1] * span < settings.visits_least * WEEK:
        return None
    return week[0] * span / WEEK


def least_stretch(past: Past, end: int, length: int, settings: Settings) -> tuple[int, int] | None:
    """The fewest messages, and the fewest days with any, of stretches of so many days in the four weeks
    before a day; None: too few are known.

    Of weeks, those that follow one another: each has every day of the week. Of shorter stretches all,
    wherever they begin, so that no rhythm of a week is ever unusual.
    """
    back = min(end, settings.quiet_back)
    if end < settings.quiet_known or back // length < 3 + (length < WEEK):
        return None
    if length < WEEK:
        return past.least(end - back, end, length), past.visits.least(end - back, end, length)
    count = back // length
    return min(past.stretches(end, length, count)), min(past.visits.stretches(end, length, count))


def below_quietest(amount: float, settings: Settings) -> Measure | None:
    """How few is quiet and how few is few, where the quietest stretch had so many; None: too little was to be
    expected."""
    if amount < min(settings.few_least, settings.expected_least):
        return None
    few = math.ceil(amount * settings.few_share) - 1 if amount >= settings.few_least else -1
    is_enough = amount >= settings.expected_least
    quiet = _most(settings.quiet_limit, amount, settings.quiet_spread) if is_enough else -1
    return Measure(amount, settings.quiet_spread, quiet, max(few, quiet), False)


def usual(past: Past, end: int, cohort: Cohort, settings: Settings) -> tuple[float, float, float] | None:
    """Messages of a usual week in the six before a day, their squared relative spread, and the days with any;
    None: unknown."""
    count = min(end, settings.usual_back) // WEEK
    if end < settings.quiet_known or count < 2:
        return None
    weeks = past.stretches(end, WEEK, count)
    total = sum(weeks)
    if total <= 0:
        return None
    spread = spread_of(total, sum(map(mul, weeks, weeks)), count, cohort, settings)
    return total / count, spread, past.visits.seen(end - count * WEEK, end) / count


def spread_of(total: int, squares: int, count: int, cohort: Cohort, settings: Settings) -> float:
    """Squared relative spread of the rate, of so many weeks with this sum and sum of squares.

    Gamma-Poisson: shrunk to the cohort's, which counts as one week; and the mean is known only as well as so
    many weeks tell it.
    """
    mean = total / count
    variance = (count * squares - total * total) / (count * (count - 1))
    own = max(0.0, (variance - mean) / (mean * mean))
    spread = (cohort.week_spread + (count - 1) * own) / count
    return spread * (1 + 1 / count) + 1 / (mean * count) + settings.drift_least


def below_usual(week: tuple[float, float, float], span: int, settings: Settings) -> Measure | None:
    """How few is quiet against usual weeks; None: too little was to be expected.

    A week at least, since a weekend is not a week. It is for people whose weeks are alike.
    """
    amount, spread = week[0] * span / WEEK, week[1]
    if span < WEEK or amount < settings.usual_least or week[2] * span < settings.visits_least * WEEK:
        return None
    quiet = min(int(amount / 2), most_below(settings.usual_limit, amount, spread))
    return Measure(amount, spread, quiet, quiet, True)


@lru_cache(maxsize=4096)
def _most(surprise: float, mean: float, spread: float) -> int:
    return most_below(surprise, mean, spread)


def silent_days(past: Past) -> int:
    """Days at the end without a message."""
    return past.days - bisect_left(past.sums, past.sums[-1])


def spans_of(silent: int) -> list[int]:
    """The spans that are looked at after so many silent days: these days, and longer ones.

    >>> spans_of(0)[:3], spans_of(6)
    ([2, 3, 4], [6, 7, 10, 14, 21, 28])
    """
    own = [silent] if silent >= SPANS[0] else []
    return own + [span for span in SPANS if span > silent]


def look(past: Past, cohort: Cohort, settings: Settings) -> list[Span]:
    """The newest days by every measure that applies; none: too little is known or was to be expected."""
    found: list[Span] = []
    silent = silent_days(past)
    last = past.days - silent
    # Who has paused for as long in the month before is not gone quiet by pausing again.
    is_known = 0 < silent <= past.longest_pause(last - settings.quiet_back, last)
    for span in spans_of(silent):
        end = past.days - span
        if end < settings.quiet_known:
            break
        least = quietest(past, end, span, settings)
        week = usual(past, end, cohort, settings) if span >= WEEK else None
        tried = (
            None if least is None else below_quietest(least, settings),
            None if week is None else below_usual(week, span, settings),
        )
        known = [one for one in tried if one is not None]
        known = [replace(one, quiet=-1) for one in known] if is_known else known
        found += [Span(span, past.seen(end, past.days), one) for one in known]
    return found


def is_quiet(spans: Iterable[Span]) -> bool:
    """Whether so little is to be told to a human."""
    return any(one.seen <= one.measure.quiet for one in spans)


def is_fewer(spans: Iterable[Span]) -> bool:
    """Whether it is worth knowing together with other things."""
    return any(one.seen <= one.measure.few for one in spans)
