"""Withdrawal: whether a person has gone quiet or writes far less, and when that will be due."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from operator import mul, sub
from typing import NamedTuple

from ..stats import count_at_most, largest_surprising_count, mean_where_zero_surprises, surprise_of
from .baseline import Cohort, Daily
from .finding import Finding, insufficient
from .settings import Settings

# Withdrawal: whether a person has gone quiet, over as many days as several sessions were to be expected
# in.

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
        return surprise_of(count_at_most(self.seen, self.measure.amount, self.measure.spread))


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
        numbers = least_stretch(past, end, span, settings)
        return None if numbers is None or numbers[1] < settings.visits_least else float(numbers[0])
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
    quiet = min(int(amount / 2), largest_surprising_count(settings.usual_limit, amount, spread))
    return Measure(amount, spread, quiet, quiet, True)


@lru_cache(maxsize=4096)
def _most(surprise: float, mean: float, spread: float) -> int:
    return largest_surprising_count(surprise, mean, spread)


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
    spans: list[Span] = []
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
        known = [item for item in tried if item is not None]
        known = [replace(item, quiet=-1) for item in known] if is_known else known
        spans += [Span(span, past.seen(end, past.days), item) for item in known]
    return spans


def is_quiet(spans: Iterable[Span]) -> bool:
    """Whether so little is to be told to a human."""
    return any(span.seen <= span.measure.quiet for span in spans)


def is_fewer(spans: Iterable[Span]) -> bool:
    """Whether it is worth knowing together with other things."""
    return any(span.seen <= span.measure.few for span in spans)


# Outlook: at the close of which day a person will count as gone quiet, if nothing more comes.
#
# It is what asking at every close of a day would give, told beforehand. Days that are over cannot change, so
# of each coming close is known, once a day, with how many messages of today it will be a quiet one; and in
# a silence only the days since the last message count, which have none.

LONGEST = 365
"""Days ahead that are looked at."""


class Close(NamedTuple):
    """The most messages of today with which a coming close is one of a quiet person (-1: none), told over so
    many days, of which those before today had so many messages, where so many were to be expected."""

    most: int
    days: int
    seen: int
    amount: float


class Outlook(NamedTuple):
    """What the days before today make of each coming close, for quiet and for few messages.

    `stretches` are, for lengths of 2 to 7 days, the messages of the stretch that ends today as far as they
    are older than today, and those of the quietest other one; then the same two of days with any messages.
    `weeks` are sum, sum of squares and number of the weeks before the one that ends today, and
    their days with any. `pause` is the longest pause of the month before in days: a silence no
    longer than that says nothing.
    """

    quiet: tuple[Close, ...] = ()
    fewer: tuple[Close, ...] = ()
    stretches: tuple[tuple[int, int, int, int], ...] = ()
    weeks: tuple[int, int, int, int] = (0, 0, 0, 0)
    pause: int = 0


class Ahead(NamedTuple):
    """So many days after today close before the person counts as quiet; then they wrote `seen` messages in
    `days` days, where `amount` were to be expected."""

    after: int
    days: int
    seen: int
    amount: float


NO_CLOSE = Close(-1, 0, 0, 0.0)
NOTHING = Outlook()


def outlook(past: Past, settings: Settings) -> Outlook:
    """What is ahead of a person with these days before today, as far as silence alone tells it."""
    if past.days + 1 < settings.quiet_known:
        return NOTHING
    stretches = []
    for length in range(SPANS[0], WEEK + 1):
        first = max(0, past.days - length + 1)
        tails = past.seen(first, past.days), past.visits.seen(first, past.days)
        others = _least_other(past, length, settings)
        stretches.append((tails[0], others[0], tails[1], others[1]))
    # The week that ends today is of today too; here are those before it.
    count, end = min(past.days + 1, settings.usual_back) // WEEK - 1, past.days + 1 - WEEK
    weeks = past.stretches(end, WEEK, count)
    visits = past.visits.seen(end - count * WEEK, end) if weeks else 0
    squares = sum(week * week for week in weeks)
    pause = past.longest_pause(past.days + 1 - settings.quiet_back, past.days)
    return Outlook(stretches=tuple(stretches), weeks=(sum(weeks), squares, len(weeks), visits), pause=pause)


def with_closes(of: Outlook, past: Past, closes: int, cohort: Cohort, settings: Settings) -> Outlook:
    """The outlook with so many closes looked at, today's the first: by the spans that hold today."""
    quiet, fewer = [NO_CLOSE] * closes, [NO_CLOSE] * closes
    today = past.days
    for span in SPANS[: SPANS.index(WEEK)]:
        for after in range(min(span, closes)):
            end = today + 1 + after - span
            least = quietest(past, end, span, settings)
            if least is not None and least >= settings.few_least:
                _note(quiet, fewer, after, span, past.seen(end, today), least, settings)
    # Nothing is measured by more than the busiest week, and the further back a span goes, the more it saw.
    most = past.busiest(WEEK) * SPANS[-1] / WEEK
    for end in range(today, max(settings.quiet_known, today + 1 - SPANS[-1]) - 1, -1):
        if most < min(settings.few_least, settings.usual_least) or 2 * past.seen(end, today) > most:
            break
        _note_weeks(quiet, fewer, past, end, cohort, settings)
    return of._replace(quiet=tuple(quiet), fewer=tuple(fewer))


def _note_weeks(
    quiet: list[Close], fewer: list[Close], past: Past, end: int, cohort: Cohort, settings: Settings
) -> None:
    """Note what the weeks before a day make of the closes that lie a week or more after it."""
    week = usual(past, end, cohort, settings)
    seen, today = past.seen(end, past.days), past.days
    for span in SPANS[SPANS.index(WEEK) :]:
        after = end + span - today - 1
        if not 0 <= after < min(span, len(quiet)):
            continue
        amount = quietest(past, end, span, settings)
        if amount is not None and amount >= settings.few_least:
            _note(quiet, fewer, after, span, seen, amount, settings)
        if week is not None and (close := _by_usual(week, span, seen, settings)):
            quiet[after], fewer[after] = max(quiet[after], close), max(fewer[after], close)


def _note(
    quiet: list[Close],
    fewer: list[Close],
    after: int,
    span: int,
    seen: int,
    amount: float,
    settings: Settings,
) -> None:
    # What has had half of it already can be neither quiet nor few.
    if seen < amount / 2 and (measure := below_quietest(amount, settings)):
        quiet[after] = max(quiet[after], Close(measure.quiet - seen, span, seen, amount))
        fewer[after] = max(fewer[after], Close(measure.few - seen, span, seen, amount))


def _by_usual(week: tuple[float, float, float], span: int, seen: int, settings: Settings) -> Close | None:
    amount, spread = week[0] * span / WEEK, week[1]
    # Exact limits take long, and most days are far from theirs.
    if 2 * seen + 2 > amount or mean_where_zero_surprises(settings.usual_limit, spread) > amount:
        return None
    if count_at_most(seen + 1, amount, spread) > 10.0**-settings.usual_limit:
        return None
    measure = below_usual(week, span, settings)
    return None if measure is None else Close(measure.quiet - seen, span, seen, measure.amount)


def _least_other(past: Past, length: int, settings: Settings) -> tuple[int, int]:
    """The fewest messages, and the fewest days with any, of the stretches beside the one that ends today; -1:
    too few are known."""
    days = past.days + 1
    back = min(days, settings.quiet_back)
    if back // length < 3 + (length < WEEK):
        return -1, -1
    if length < WEEK:
        first = days - back
        return past.least(first, past.days, length), past.visits.least(first, past.days, length)
    end, count = days - length, back // length - 1
    return min(past.stretches(end, length, count)), min(past.visits.stretches(end, length, count))


def ahead(of: Outlook, today: int, cohort: Cohort, settings: Settings) -> tuple[Ahead | None, Ahead | None]:
    """When the person will count as quiet, and as one with few messages, if today has so many (one or more)
    and no more come; None: not for a year."""
    quiet, fewer = _silence(of, today, cohort, settings)
    quiet = _sooner(_at_a_close(of.quiet, today, of.pause, quiet), quiet)
    fewer = _sooner(_at_a_close(of.fewer, today, 0, fewer), fewer)
    return quiet, fewer


def _at_a_close(closes: tuple[Close, ...], today: int, pause: int, before: Ahead | None) -> Ahead | None:
    end = len(closes) if before is None else min(len(closes), before.after)
    for after in range(end):
        most, days, seen, amount = closes[after]
        if today <= most and not 0 < after <= pause:
            return Ahead(after, days, seen + today, amount)
    return None


def _silence(
    of: Outlook, today: int, cohort: Cohort, settings: Settings
) -> tuple[Ahead | None, Ahead | None]:
    """After how many silent days these days themselves are enough, for quiet and for few."""
    bar = max(settings.expected_least, mean_where_zero_surprises(settings.quiet_limit, settings.quiet_spread))
    quiet = _soonest(of, today, bar, of.pause, settings)
    quiet = _sooner(quiet, _by_weeks(of, today, of.pause, cohort, settings))
    fewer = _soonest(of, today, min(bar, settings.few_least), 0, settings)
    return quiet, _sooner(fewer, _by_weeks(of, today, 0, cohort, settings))


def _soonest(of: Outlook, today: int, bar: float, pause: int, settings: Settings) -> Ahead | None:
    """After how many silent days so much was missed by the quietest stretches, the shortest first."""
    for days, (tail, other, visits, other_visits) in enumerate(of.stretches, 2):
        least, visited = min(other, tail + today), min(other_visits, visits + 1)
        if least > 0 and (result := _first(days, bar, least, visited, pause, settings)):
            return result
    return None


def _first(days: int, bar: float, least: int, visited: int, pause: int, settings: Settings) -> Ahead | None:
    """After how many silent days so much was missed, where the quietest stretch of `days` had `least`
    messages, and the one with fewest days that had any had so many of them.

    A stretch of less than a week speaks for its own length only.
    """
    if days < WEEK:
        is_enough = least >= bar and visited >= settings.visits_least and days > pause
        return Ahead(days, days, 0, float(least)) if is_enough else None
    after = max(WEEK, pause + 1, _weeks(bar, least), _weeks(settings.visits_least, visited))
    return Ahead(after, after, 0, least * after / WEEK) if after <= LONGEST else None


def _weeks(bar: float, least: float) -> int:
    """Days after which so much was missed, where a week has `least`."""
    return math.ceil(bar / least * WEEK - 1e-9)


def _by_weeks(of: Outlook, today: int, pause: int, cohort: Cohort, settings: Settings) -> Ahead | None:
    total, squares, count, visits = of.weeks
    if count < 1:
        return None
    newest = of.stretches[-1][0] + today
    total, squares, count = total + newest, squares + newest * newest, count + 1
    visited = (visits + of.stretches[-1][2] + 1) / count
    mean, spread = total / count, spread_of(total, squares, count, cohort, settings)
    bar = max(settings.usual_least, mean_where_zero_surprises(settings.usual_limit, spread))
    if bar / mean > LONGEST / WEEK:
        return None
    after = max(WEEK, pause + 1, _weeks(bar, mean), _weeks(settings.visits_least, visited))
    return Ahead(after, after, 0, mean * after / WEEK) if after <= LONGEST else None


def _sooner(item: Ahead | None, other: Ahead | None) -> Ahead | None:
    if item is None or other is None:
        return item or other
    return item if item.after < other.after else other


# Withdrawal, and fewer messages: what the closed days of a person say, as of the last close.

FIRST, LAST = 0.6, 1.0
"""The strength of a silence when it is first told, and from four weeks later on."""
FULL = 28


def withdrawal(
    days: Daily, cohort: Cohort, settings: Settings, *, is_here: bool = False
) -> tuple[Finding, Finding]:
    """withdrawal and drop: gone quiet, of severity medium, and fewer messages, of severity low.

    Withdrawal is far below the quietest stretch of the month, or far below weeks that were alike; fewer is
    less than half of the quietest stretch. Once told, it lasts for as long as nothing comes, and who is here
    today (`is_here`) is not gone.
    """
    past = Past(days.events)
    spans = look(past, cohort, settings)
    quiet, fewer = _since(days, silent_days(past), cohort, settings)
    if not spans and quiet is None and fewer is None:
        need = f"{settings.quiet_known} days of history, and regular use before the newest days"
        return insufficient("withdrawal", need), insufficient("drop", need)
    silent = silent_days(past)
    gone, few = is_quiet(spans) or quiet is not None, is_fewer(spans) or fewer is not None
    said, details = _told(spans, (quiet if gone else None) or fewer, silent)
    away = gone and not is_here
    here = "Here today. Before that: " if gone and is_here else ""
    return (
        Finding(
            "withdrawal", "ok", float(away), "medium" if away else "none", _strength(quiet, silent) * away,
            f"{here}{'Withdrawal' if gone else 'Nothing unusual'}: {said}.", details,
        ),
        Finding(
            "drop", "ok", -float(few), "low" if few else "none", _strength(fewer, silent) * few,
            f"{'Far fewer' if few else 'Nothing unusual'}: {said}.", details,
        ),
    )  # fmt: skip


def _since(days: Daily, silent: int, cohort: Cohort, settings: Settings) -> tuple[Ahead | None, Ahead | None]:
    """When the person began to count as quiet, and as one with few messages, if that was in the silence that
    lasts; looking anew at every close could take back what was told though nothing came."""
    last = len(days) - silent - 1
    if not silent or last < 0:
        return None, None
    before = Past(days.events[:last])
    known = with_closes(outlook(before, settings), before, SPANS[-1], cohort, settings)
    if not known.stretches:
        return None, None
    quiet, fewer = ahead(known, days.events[last], cohort, settings)
    return _reached(quiet, silent), _reached(fewer, silent)


def _reached(result: Ahead | None, silent: int) -> Ahead | None:
    return result if result is not None and result.after <= silent else None


def _strength(result: Ahead | None, silent: int) -> float:
    """Full after four weeks, so that a longer silence never says less."""
    lasted = 0 if result is None else silent - result.after
    return min(LAST, FIRST + (LAST - FIRST) * lasted / FULL)


def _told(spans: Iterable[Span], result: Ahead | None, silent: int) -> tuple[str, dict[str, float]]:
    """What was seen and what was to be expected, in words and as numbers."""
    clear = max(
        spans,
        key=lambda span: (
            span.seen <= span.measure.quiet,
            span.seen <= span.measure.few,
            span.surprise,
            span.days,
        ),
        default=None,
    )
    if clear is not None and (result is None or clear.seen <= clear.measure.quiet):
        by = _by(clear.days, clear.measure.amount, is_mean=clear.measure.is_mean)
        details = {"days": float(clear.days), "seen": float(clear.seen), "measure": clear.measure.amount}
        return f"{_messages(clear.seen)} in the last {clear.days} days; {by}", details
    if result is None:
        return "nothing was looked at", {}
    days = result.days + silent - result.after
    details = {"days": float(days), "seen": float(result.seen), "measure": result.amount}
    by = f"by their habit {result.amount:.0f} were to be expected in {result.days}"
    return f"{_messages(result.seen)} in the last {days} days; {by}", details


def _by(days: int, amount: float, *, is_mean: bool) -> str:
    if is_mean:
        return f"by their usual weeks {amount:.0f} were to be expected"
    if days < WEEK:
        return f"the quietest {days} days of the month before had {amount:.0f}"
    return f"at the pace of the quietest of the four weeks before it would have been {amount:.0f}"


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
