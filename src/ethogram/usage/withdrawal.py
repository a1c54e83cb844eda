"""Withdrawal: whether a person has gone quiet or writes far less, and at which close of a day that will be.

The newest days are measured against the quietest stretches and the usual weeks before. The outlook gives what
measuring at every close would give. Days that are over cannot change, so it is worked out once a day with how
many messages of today each coming close will be a quiet one; in a silence only the days since the last
message count, which have none.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from operator import mul, sub
from typing import NamedTuple

from ..models.slotted import dataclass, replace
from ..stats import count_at_most, largest_surprising_count, mean_where_zero_surprises, surprise_of
from .baseline import Daily
from .clock import WEEK
from .cohort import Cohort
from .finding import Finding, insufficient
from .settings import Settings

SPANS = (2, 3, 4, 5, 7, 10, 14, 21, 28)
"""Days over which a person may have become quiet, beside those since the last message."""
LONGEST = 365
"""Days ahead that are predicted."""
FIRST_STRENGTH, FULL_STRENGTH, FULL_DAYS = 0.6, 1.0, 28
"""Strength of a silence when it is first reported, and from so many days later on."""


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
class Span:
    """The newest days of a person: how many, their messages, and what they are measured by.

    `amount` messages were expected, and at most `quiet` (-1: none) count as quiet and `few` as few, which is
    never less. `is_mean`: by usual weeks, not by the quietest stretch.
    """

    days: int
    seen: int
    amount: float
    spread: float
    quiet: int
    few: int
    is_mean: bool

    @property
    def surprise(self) -> float:
        """-log10 of the chance of so few."""
        return surprise_of(count_at_most(self.seen, self.amount, self.spread))


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


def below_quietest(
    past: Past, end: int, days: int, settings: Settings, *, is_open: bool = False
) -> Span | None:
    """The days from `end` on by the quietest stretch in the four weeks before; None: too little is known or
    was expected. `is_open`: they are not over, and None where they can be neither quiet nor few any more.

    A person who writes on one day of the week has not gone quiet by missing it once. It suits people who come
    in bursts, for whom mean and deviation promise too much.
    """
    length = min(days, WEEK)
    least = least_stretch(past, end, length, settings)
    if least is None or least[1] * days < settings.visits_least * length:
        return None
    amount, seen = least[0] * days / length, past.seen(end, past.days)
    if amount < min(settings.few_least, settings.expected_least) or (is_open and seen >= amount / 2):
        return None
    few = math.ceil(amount * settings.few_share) - 1 if amount >= settings.few_least else -1
    is_enough = amount >= settings.expected_least
    quiet = _surprising_count(settings.quiet_limit, amount, settings.quiet_spread) if is_enough else -1
    return Span(days, seen, amount, settings.quiet_spread, quiet, max(few, quiet), False)


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


def below_usual(
    past: Past, end: int, days: int, week: UsualWeek, settings: Settings, *, is_open: bool = False
) -> Span | None:
    """The days from `end` on by usual weeks; None: too few were expected. `is_open`: as in `below_quietest`.

    Of a week at least, since a weekend is not a week. It suits people whose weeks are alike.
    """
    amount, limit, seen = week.amount * days / WEEK, settings.usual_limit, past.seen(end, past.days)
    if days < WEEK or amount < settings.usual_least or week.visits * days < settings.visits_least * WEEK:
        return None
    # Exact limits take long, and most days are far from theirs.
    if is_open and (
        2 * seen + 2 > amount
        or mean_where_zero_surprises(limit, week.spread) > amount
        or count_at_most(seen + 1, amount, week.spread) > 10.0**-limit
    ):
        return None
    quiet = min(int(amount / 2), largest_surprising_count(limit, amount, week.spread))
    return Span(days, seen, amount, week.spread, quiet, quiet, True)


def silent_days(past: Past) -> int:
    """Days at the end without a message."""
    return past.days - bisect_left(past.sums, past.sums[-1])


def measure_spans(past: Past, cohort: Cohort, settings: Settings) -> list[Span]:
    """Measure the newest days in every way that applies; none: too little is known or was expected.

    The days are those since the last message, and longer spans.
    """
    spans: list[Span] = []
    silent = silent_days(past)
    last = past.days - silent
    # A pause as long as one in the month before is not withdrawal.
    is_known = 0 < silent <= past.longest_pause(last - settings.quiet_back, last)
    for days in (*([silent] if silent >= SPANS[0] else ()), *(days for days in SPANS if days > silent)):
        end = past.days - days
        if end < settings.quiet_known:
            break
        week = usual_week(past, end, cohort, settings) if days >= WEEK else None
        measured = (
            below_quietest(past, end, days, settings),
            None if week is None else below_usual(past, end, days, week, settings),
        )
        spans += [replace(span, quiet=-1) if is_known else span for span in measured if span is not None]
    return spans


def is_quiet(spans: Iterable[Span]) -> bool:
    """Whether the person counts as gone quiet (severity medium)."""
    return any(span.seen <= span.quiet for span in spans)


def is_fewer(spans: Iterable[Span]) -> bool:
    """Whether the person counts as one with few messages (severity low)."""
    return any(span.seen <= span.few for span in spans)


# --- outlook --------------------------------------------------------------------------------


class Close(NamedTuple):
    """The most messages of today with which a coming close is one of a quiet person (-1: none).

    It is measured over `days`, of which those before today had `seen` messages where `amount` were expected.
    """

    most: int
    days: int
    seen: int
    amount: float


class Outlook(NamedTuple):
    """What the days before today say of each coming close, for quiet and for few messages.

    `stretches`, for lengths of 2 to 7 days: the messages before today of the stretch that ends today, and
    those of the quietest other one; then the same two of days with any. `weeks`: sum, sum of squares and
    number of the weeks before the one that ends today, and their days with any. `pause`: the longest pause of
    the month before in days; a silence no longer than that says nothing.
    """

    quiet: tuple[Close, ...] = ()
    fewer: tuple[Close, ...] = ()
    stretches: tuple[tuple[int, int, int, int], ...] = ()
    weeks: tuple[int, int, int, int] = (0, 0, 0, 0)
    pause: int = 0


class Due(NamedTuple):
    """Days after today that close before the person counts as quiet; then they wrote `seen` messages in
    `days` days, where `amount` were expected."""

    after: int
    days: int
    seen: int
    amount: float


def make_outlook(past: Past, settings: Settings) -> Outlook:
    """Return what to expect of a person with these days before today; empty where too little is known."""
    days = past.days + 1
    if days < settings.quiet_known:
        return Outlook()
    stretches = []
    for length in range(SPANS[0], WEEK + 1):
        first = max(0, days - length)
        least, visits = least_stretch(past, days, length, settings, is_open=True) or (-1, -1)
        stretches.append((past.seen(first, past.days), least, past.visits.seen(first, past.days), visits))
    count, end = min(days, settings.usual_back) // WEEK - 1, days - WEEK
    weeks = past.stretches(end, WEEK, count)
    visits = past.visits.seen(end - count * WEEK, end) if weeks else 0
    pause = past.longest_pause(days - settings.quiet_back, past.days)
    sums = (sum(weeks), sum(week * week for week in weeks), len(weeks), visits)
    return Outlook(stretches=tuple(stretches), weeks=sums, pause=pause)


def add_closes(outlook: Outlook, past: Past, closes: int, cohort: Cohort, settings: Settings) -> Outlook:
    """The outlook with so many closes, today's the first, measured by the spans that hold today."""
    quiet, fewer = ([Close(-1, 0, 0, 0.0)] * closes for _ in range(2))
    today = past.days

    def note(end: int, span: Span | None) -> None:
        if span is not None:
            after, seen = end + span.days - today - 1, span.seen
            quiet[after] = max(quiet[after], Close(span.quiet - seen, span.days, seen, span.amount))
            fewer[after] = max(fewer[after], Close(span.few - seen, span.days, seen, span.amount))

    for days in SPANS[: SPANS.index(WEEK)]:
        for after in range(min(days, closes)):
            end = today + 1 + after - days
            note(end, below_quietest(past, end, days, settings, is_open=True))
    # No expectation exceeds the busiest week, and the further back a span goes, the more it saw.
    most = past.busiest(WEEK) * SPANS[-1] / WEEK
    for end in range(today, max(settings.quiet_known, today + 1 - SPANS[-1]) - 1, -1):
        if most < min(settings.few_least, settings.usual_least) or 2 * past.seen(end, today) > most:
            break
        week = usual_week(past, end, cohort, settings)
        for days in SPANS[SPANS.index(WEEK) :]:
            if 0 <= end + days - today - 1 < min(days, closes):
                note(end, below_quietest(past, end, days, settings, is_open=True))
                if week is not None:
                    note(end, below_usual(past, end, days, week, settings, is_open=True))
    return outlook._replace(quiet=tuple(quiet), fewer=tuple(fewer))


def predict(
    outlook: Outlook, today: int, cohort: Cohort, settings: Settings
) -> tuple[Due | None, Due | None]:
    """When the person will count as quiet, and as one with few messages, if today has so many (one or more)
    and no more come; None: not for a year."""
    bar = max(settings.expected_least, mean_where_zero_surprises(settings.quiet_limit, settings.quiet_spread))
    few_bar = min(bar, settings.few_least)
    return (
        _soonest(outlook, outlook.quiet, today, bar, outlook.pause, cohort, settings),
        _soonest(outlook, outlook.fewer, today, few_bar, 0, cohort, settings),
    )


def _soonest(
    outlook: Outlook,
    closes: tuple[Close, ...],
    today: int,
    bar: float,
    pause: int,
    cohort: Cohort,
    settings: Settings,
) -> Due | None:
    """The soonest close by silent days alone, or by the spans that hold today."""
    soonest = _by_weeks(outlook, today, pause, cohort, settings)
    by_stretches = _by_stretches(outlook, today, bar, pause, settings)
    if soonest is None or (by_stretches is not None and by_stretches.after < soonest.after):
        soonest = by_stretches
    for after, (most, days, seen, amount) in enumerate(closes):
        if soonest is not None and after >= soonest.after:
            break
        if today <= most and not 0 < after <= pause:
            return Due(after, days, seen + today, amount)
    return soonest


def _by_stretches(outlook: Outlook, today: int, bar: float, pause: int, settings: Settings) -> Due | None:
    """After how many silent days so much was missed by the quietest stretches, the shortest first.

    A stretch of less than a week speaks for its own length only.
    """
    for days, (tail, other, visits, other_visits) in enumerate(outlook.stretches, SPANS[0]):
        least, visited = min(other, tail + today), min(other_visits, visits + 1)
        if least <= 0:
            continue
        if days == WEEK:
            return _after_weeks(bar, least, visited, pause, settings)
        if least >= bar and visited >= settings.visits_least and days > pause:
            return Due(days, days, 0, float(least))
    return None


def _by_weeks(outlook: Outlook, today: int, pause: int, cohort: Cohort, settings: Settings) -> Due | None:
    """After how many silent days so much was missed by usual weeks."""
    total, squares, count, visits = outlook.weeks
    if count < 1:
        return None
    tail, _, tail_visits, _ = outlook.stretches[-1]
    newest = tail + today
    total, squares, count = total + newest, squares + newest * newest, count + 1
    spread = week_spread(total, squares, count, cohort, settings)
    bar = max(settings.usual_least, mean_where_zero_surprises(settings.usual_limit, spread))
    return _after_weeks(bar, total / count, (visits + tail_visits + 1) / count, pause, settings)


def _after_weeks(bar: float, amount: float, visits: float, pause: int, settings: Settings) -> Due | None:
    """After how many silent days `bar` messages were missed, where a week has so many, on so many days."""
    weeks = max(bar / amount, settings.visits_least / visits)
    if weeks > LONGEST / WEEK:
        return None
    after = max(WEEK, pause + 1, math.ceil(weeks * WEEK - 1e-9))
    return Due(after, after, 0, amount * after / WEEK) if after <= LONGEST else None


# --- the signals ----------------------------------------------------------------------------


def withdrawal(
    days: Daily, cohort: Cohort, settings: Settings, *, is_here: bool = False
) -> tuple[Finding, Finding]:
    """withdrawal and drop: gone quiet, of severity medium, and fewer messages, of severity low.

    Withdrawal is far below the quietest stretch of the month, or far below weeks that were alike; fewer is
    less than half of the quietest stretch. Both last for as long as nothing comes; a person who is here today
    (`is_here`) is not gone.
    """
    past = Past(days.events)
    spans, silent = measure_spans(past, cohort, settings), silent_days(past)
    quiet, fewer = _since(days, silent, cohort, settings)
    if not spans and quiet is None and fewer is None:
        need = f"it needs {settings.quiet_known} days of history, and regular use before the newest days"
        return insufficient("withdrawal", need), insufficient("drop", need)
    gone, few = is_quiet(spans) or quiet is not None, is_fewer(spans) or fewer is not None
    text, details = _describe(spans, (quiet if gone else None) or fewer, silent)
    away = gone and not is_here
    here = "Here today. Before that: " if gone and is_here else ""
    return (
        Finding(
            "withdrawal", "ok", float(away), "medium" if away else "none", _strength(quiet, silent) * away,
            f"{here}{'Withdrawal' if gone else 'Nothing unusual'}: {text}.", details,
        ),
        Finding(
            "drop", "ok", -float(few), "low" if few else "none", _strength(fewer, silent) * few,
            f"{'Far fewer' if few else 'Nothing unusual'}: {text}.", details,
        ),
    )  # fmt: skip


def _since(days: Daily, silent: int, cohort: Cohort, settings: Settings) -> tuple[Due | None, Due | None]:
    """When the person began to count as quiet, and as one with few messages, in the silence that lasts.

    Measuring anew at every close could take back what was reported though nothing came.
    """
    last = len(days) - silent - 1
    if not silent or last < 0:
        return None, None
    before = Past(days.events[:last])
    outlook = add_closes(make_outlook(before, settings), before, SPANS[-1], cohort, settings)
    if not outlook.stretches:
        return None, None
    quiet, fewer = (
        due if due is not None and due.after <= silent else None
        for due in predict(outlook, days.events[last], cohort, settings)
    )
    return quiet, fewer


def _strength(due: Due | None, silent: int) -> float:
    """Full after four weeks, and never less for a longer silence."""
    lasted = 0 if due is None else silent - due.after
    return min(FULL_STRENGTH, FIRST_STRENGTH + (FULL_STRENGTH - FIRST_STRENGTH) * lasted / FULL_DAYS)


def _describe(spans: Iterable[Span], due: Due | None, silent: int) -> tuple[str, dict[str, float]]:
    """What was seen and what was expected, in words and as numbers."""

    def clearness(span: Span) -> tuple[bool, bool, float, int]:
        return span.seen <= span.quiet, span.seen <= span.few, span.surprise, span.days

    clearest = max(spans, key=clearness, default=None)
    if clearest is not None and (due is None or clearest.seen <= clearest.quiet):
        days, seen, amount = clearest.days, clearest.seen, clearest.amount
        if clearest.is_mean:
            by = f"by their usual weeks {amount:.0f} were to be expected"
        elif days < WEEK:
            by = f"the quietest {days} days of the month before had {amount:.0f}"
        else:
            by = f"at the pace of the quietest of the four weeks before it would have been {amount:.0f}"
    elif due is not None:
        days, seen, amount = due.days + silent - due.after, due.seen, due.amount
        by = f"by their habit {amount:.0f} were to be expected in {due.days}"
    else:
        return "nothing was looked at", {}
    active = "active once" if seen == 1 else f"active {seen} times"
    details = {"days": float(days), "seen": float(seen), "measure": amount}
    return f"{active} in the last {days} days; {by}", details
