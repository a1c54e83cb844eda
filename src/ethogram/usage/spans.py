"""The newest days of a person, measured against the quietest stretches and the usual weeks before."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from operator import mul, sub
from typing import NamedTuple

from ..models.slotted import dataclass, replace
from ..stats import count_at_most, largest_surprising_count, surprise_of
from .clock import WEEK
from .cohort import Cohort
from .settings import Settings

SPANS = (2, 3, 4, 5, 7, 10, 14, 21, 28)
"""Days over which a person may have become quiet, beside those since the last message."""


class Past:
    """Messages of consecutive days, oldest first, and of every stretch of them."""

    def __init__(self, events: Iterable[int]) -> None:
        self.sums = list(accumulate(events, initial=0))
        self.days = len(self.sums) - 1
        self._stretches: dict[int, list[int]] = {}

    @cached_property
    def visits(self) -> Past:
        """The same with 1 for each day that had any messages."""
        return Past(int(before < after) for before, after in pairwise(self.sums))

    def seen(self, first: int, end: int) -> int:
        """Messages from a day on and before another, counted from 0.

        >>> Past([2, 0, 5]).seen(1, 3)
        5
        """
        return self.sums[end] - self.sums[first]

    def stretches(self, end: int, length: int, count: int) -> list[int]:
        """Messages of the `count` stretches of `length` days before day `end`, newest first.

        >>> Past([1, 2, 3, 4, 5]).stretches(5, 2, 2)
        [9, 5]
        """
        known, last = self._all(length), end - length
        return known[last : None if last < count * length else last - count * length : -length]

    def least(self, first: int, end: int, length: int) -> int:
        """Messages of the quietest stretch of `length` days, of all from a day on and before another.

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
        """Messages of the busiest stretch of `length` days; 0 where there is none."""
        return max(self._all(length), default=0)

    def _all(self, length: int) -> list[int]:
        known = self._stretches.get(length)
        if known is None:
            known = self._stretches[length] = list(map(sub, self.sums[length:], self.sums))
        return known


@dataclass(frozen=True, slots=True)
class Measure:
    """An expected number of messages, and the most with which days count as quiet (-1: none do) and as few,
    which is never less."""

    amount: float
    spread: float
    quiet: int
    few: int
    is_mean: bool


@dataclass(frozen=True, slots=True)
class Span:
    """The newest days of a person: how many, their messages, and what they are measured by."""

    days: int
    seen: int
    measure: Measure

    @property
    def surprise(self) -> float:
        """-log10 of the chance of so few."""
        return surprise_of(count_at_most(self.seen, self.measure.amount, self.measure.spread))


def least_stretch(
    past: Past, end: int, length: int, settings: Settings, *, is_open: bool = False
) -> tuple[int, int] | None:
    """The fewest messages, and the fewest days with any, of stretches of `length` days in the four weeks
    before a day; None: too few are known.

    Of weeks, those that follow one another: each has every day of the week. Of shorter stretches all,
    wherever they begin, so that no weekly rhythm is ever unusual. `is_open`: without the newest stretch,
    whose last day is not over.
    """
    back = min(end, settings.quiet_back)
    if end < settings.quiet_known or back // length < 3 + (length < WEEK):
        return None
    if length < WEEK:
        first, last = end - back, end - is_open
        return past.least(first, last, length), past.visits.least(first, last, length)
    last, count = end - length * is_open, back // length - is_open
    return min(past.stretches(last, length, count)), min(past.visits.stretches(last, length, count))


def quietest(past: Past, end: int, span: int, settings: Settings) -> float | None:
    """Messages expected of `span` days by the quietest stretch in the four weeks before a day.

    None where too little is known, or where hardly a visit was expected: a person who writes on one day of
    the week has not gone quiet by missing it once. It suits people who come in bursts, for whom mean and
    deviation promise too much.
    """
    length = min(span, WEEK)
    least = least_stretch(past, end, length, settings)
    if least is None or least[1] * span < settings.visits_least * length:
        return None
    return least[0] * span / length


def below_quietest(amount: float, settings: Settings) -> Measure | None:
    """The measure by a quietest stretch with so many messages; None: too few were expected."""
    if amount < min(settings.few_least, settings.expected_least):
        return None
    few = math.ceil(amount * settings.few_share) - 1 if amount >= settings.few_least else -1
    is_enough = amount >= settings.expected_least
    quiet = _surprising_count(settings.quiet_limit, amount, settings.quiet_spread) if is_enough else -1
    return Measure(amount, settings.quiet_spread, quiet, max(few, quiet), False)


_surprising_count = lru_cache(maxsize=4096)(largest_surprising_count)


class UsualWeek(NamedTuple):
    """Messages of a usual week, their squared relative spread, and the days with any."""

    amount: float
    spread: float
    visits: float


def usual_week(past: Past, end: int, cohort: Cohort, settings: Settings) -> UsualWeek | None:
    """The usual week of the six before a day; None: unknown."""
    count = min(end, settings.usual_back) // WEEK
    if end < settings.quiet_known or count < 2:
        return None
    weeks = past.stretches(end, WEEK, count)
    total, squares = sum(weeks), sum(map(mul, weeks, weeks))
    if total <= 0:
        return None
    spread = week_spread(total, squares, count, cohort, settings)
    return UsualWeek(total / count, spread, past.visits.seen(end - count * WEEK, end) / count)


def week_spread(total: int, squares: int, count: int, cohort: Cohort, settings: Settings) -> float:
    """Squared relative spread of the rate, of so many weeks with this sum and sum of squares.

    Gamma-Poisson: shrunk to the cohort's, which counts as one week; and the mean is known only as well as so
    many weeks tell it.
    """
    mean = total / count
    variance = (count * squares - total * total) / (count * (count - 1))
    own = max(0.0, (variance - mean) / (mean * mean))
    spread = (cohort.week_spread + (count - 1) * own) / count
    return spread * (1 + 1 / count) + 1 / (mean * count) + settings.drift_least


def below_usual(week: UsualWeek, span: int, settings: Settings) -> Measure | None:
    """The measure by usual weeks; None: too few were expected.

    Of a week at least, since a weekend is not a week. It suits people whose weeks are alike.
    """
    amount = week.amount * span / WEEK
    if span < WEEK or amount < settings.usual_least or week.visits * span < settings.visits_least * WEEK:
        return None
    quiet = min(int(amount / 2), largest_surprising_count(settings.usual_limit, amount, week.spread))
    return Measure(amount, week.spread, quiet, quiet, True)


def silent_days(past: Past) -> int:
    """Days at the end without a message."""
    return past.days - bisect_left(past.sums, past.sums[-1])


def spans_of(silent: int) -> list[int]:
    """The spans that are measured after so many silent days: these days, and longer ones.

    >>> spans_of(0)[:3], spans_of(6)
    ([2, 3, 4], [6, 7, 10, 14, 21, 28])
    """
    own = [silent] if silent >= SPANS[0] else []
    return own + [span for span in SPANS if span > silent]


def measure_spans(past: Past, cohort: Cohort, settings: Settings) -> list[Span]:
    """Measure the newest days in every way that applies; none: too little is known or was expected."""
    spans: list[Span] = []
    silent = silent_days(past)
    last = past.days - silent
    # A pause as long as one in the month before is not withdrawal.
    is_known = 0 < silent <= past.longest_pause(last - settings.quiet_back, last)
    for span in spans_of(silent):
        end = past.days - span
        if end < settings.quiet_known:
            break
        least = quietest(past, end, span, settings)
        week = usual_week(past, end, cohort, settings) if span >= WEEK else None
        measures = (
            None if least is None else below_quietest(least, settings),
            None if week is None else below_usual(week, span, settings),
        )
        for measure in measures:
            if measure is not None:
                measure = replace(measure, quiet=-1) if is_known else measure
                spans.append(Span(span, past.seen(end, past.days), measure))
    return spans


def is_quiet(spans: Iterable[Span]) -> bool:
    """Whether the person counts as gone quiet (severity medium)."""
    return any(span.seen <= span.measure.quiet for span in spans)


def is_fewer(spans: Iterable[Span]) -> bool:
    """Whether the person counts as one with few messages (severity low)."""
    return any(span.seen <= span.measure.few for span in spans)
