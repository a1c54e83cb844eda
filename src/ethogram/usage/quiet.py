"""Withdrawal: whether a person has gone quiet, over as many days as several sessions were to be expected
in."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import mul, sub

from .chance import at_most, most_below, surprise_of
from .cohort import Cohort
from .finding import Finding, insufficient
from .habit import Daily
from .settings import Settings

SPANS = (2, 3, 4, 5, 7, 10, 14, 21, 28)
"""Days over which a person may have become quiet, beside those since the last message."""
WEEK = 7


@dataclass(frozen=True, slots=True)
class Measure:
    """What some days are measured by: so many messages, and the most with which the days count as quiet (-1:
    none do) and as few."""

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

    def busiest(self, length: int) -> int:
        """Messages of the busiest stretch of so many days; 0 where there is none."""
        return max(self._all(length), default=0)

    def _all(self, length: int) -> list[int]:
        known = self._stretches.get(length)
        if known is None:
            known = self._stretches[length] = list(map(sub, self.sums[length:], self.sums))
        return known


def quietest(past: Past, end: int, span: int, settings: Settings) -> float | None:
    """Messages of the quietest stretch of so many days in the four weeks before a day (of a week, scaled).

    None where too little is known. It is for people who come in bursts, of whom mean and deviation promise
    too much. Weekends need no table of their own, since every week has one.
    """
    length = min(span, WEEK)
    count = min(end, settings.quiet_back) // length
    if end < settings.quiet_known or count < 3 + (length < WEEK):
        return None
    return min(past.stretches(end, length, count)) * span / length


def below_quietest(amount: float, settings: Settings) -> Measure | None:
    """How few is quiet and how few is few, where the quietest stretch had so many; None: too little was to be
    expected."""
    if amount < min(settings.few_least, settings.expected_least):
        return None
    few = math.ceil(amount * settings.few_share) - 1 if amount >= settings.few_least else -1
    is_enough = amount >= settings.expected_least
    quiet = _most(settings.quiet_limit, amount, settings.quiet_spread) if is_enough else -1
    return Measure(amount, settings.quiet_spread, quiet, few, False)


def usual(past: Past, end: int, cohort: Cohort, settings: Settings) -> tuple[float, float] | None:
    """Messages of a usual week in the six before a day, and their squared relative spread; None: unknown."""
    count = min(end, settings.usual_back) // WEEK
    if end < settings.quiet_known or count < 2:
        return None
    weeks = past.stretches(end, WEEK, count)
    total = sum(weeks)
    if total <= 0:
        return None
    return total / count, spread_of(total, sum(map(mul, weeks, weeks)), count, cohort, settings)


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


def below_usual(week: tuple[float, float], span: int, settings: Settings) -> Measure | None:
    """How few is quiet against usual weeks; None: too little was to be expected.

    A week at least, since a weekend is not a week. It is for people whose weeks are alike.
    """
    amount, spread = week[0] * span / WEEK, week[1]
    if span < WEEK or amount < settings.usual_least:
        return None
    quiet = min(int(amount / 2), most_below(settings.usual_limit, amount, spread))
    return Measure(amount, spread, quiet, -1, True)


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
    for span in spans_of(silent_days(past)):
        end = past.days - span
        if end < settings.quiet_known:
            break
        least = quietest(past, end, span, settings)
        week = usual(past, end, cohort, settings) if span >= WEEK else None
        tried = (
            None if least is None else below_quietest(least, settings),
            None if week is None else below_usual(week, span, settings),
        )
        found += [Span(span, past.seen(end, past.days), one) for one in tried if one is not None]
    return found


def is_quiet(spans: Iterable[Span]) -> bool:
    """Whether so little is to be told to a human."""
    return any(one.seen <= one.measure.quiet for one in spans)


def is_fewer(spans: Iterable[Span]) -> bool:
    """Whether it is worth knowing together with other things."""
    return any(one.seen <= max(one.measure.few, one.measure.quiet) for one in spans)


def clearest(spans: Iterable[Span]) -> Span:
    """Of several, the one that says most: quiet before few, then the most surprising."""
    return max(
        spans,
        key=lambda one: (one.seen <= one.measure.quiet, one.seen <= one.measure.few, one.surprise, one.days),
    )


def withdrawal(days: Daily, cohort: Cohort, settings: Settings) -> tuple[Finding, Finding]:
    """withdrawal and drop: gone quiet, of level medium, and fewer messages, of level low.

    Gone quiet is far below the quietest stretch of the month, or far below weeks that were alike; fewer is
    less than half of the quietest stretch.
    """
    spans = look(Past(days.events), cohort, settings)
    if not spans:
        need = f"{settings.quiet_known} days of history, and regular use before the newest days"
        return insufficient("withdrawal", need), insufficient("drop", need)
    worst = clearest(spans)
    details = {"days": float(worst.days), "seen": float(worst.seen), "measure": worst.measure.amount}
    by = "usual are" if worst.measure.is_mean else "the quietest such stretch of the month before had"
    told = f"{worst.seen} messages in the last {worst.days} days; {by} {worst.measure.amount:.0f}"
    quiet, fewer = is_quiet(spans), is_fewer(spans)
    strength = min(1.0, 0.5 + worst.surprise / 12)
    return (
        Finding(
            "withdrawal", "ok", float(quiet), "medium" if quiet else "none", strength * quiet,
            f"{'Gone quiet' if quiet else 'Nothing unusual'}: {told}.", details,
        ),
        Finding(
            "drop", "ok", -float(fewer), "low" if fewer else "none", strength * fewer,
            f"{'Far fewer' if fewer else 'Nothing unusual'}: {told}.", details,
        ),
    )  # fmt: skip
