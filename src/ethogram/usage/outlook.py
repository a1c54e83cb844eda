"""Outlook: at the close of which day a person will count as gone quiet, if nothing more comes.

It is what asking at every close of a day would give, told beforehand. Days that are over cannot change, so
of each coming close is known, once a day, with how many messages of today it will be a quiet one; and in
a silence only the days since the last message count, which have none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .chance import at_most, least_surprising
from .cohort import Cohort
from .quiet import SPANS, WEEK, Past, below_quietest, below_usual, quietest, spread_of, usual
from .settings import Settings

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
    squares = sum(one * one for one in weeks)
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
        if week is not None and (one := _by_usual(week, span, seen, settings)):
            quiet[after], fewer[after] = max(quiet[after], one), max(fewer[after], one)


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
    if seen < amount / 2 and (one := below_quietest(amount, settings)):
        quiet[after] = max(quiet[after], Close(one.quiet - seen, span, seen, amount))
        fewer[after] = max(fewer[after], Close(one.few - seen, span, seen, amount))


def _by_usual(week: tuple[float, float, float], span: int, seen: int, settings: Settings) -> Close | None:
    amount, spread = week[0] * span / WEEK, week[1]
    # Exact limits take long, and most days are far from theirs.
    if 2 * seen + 2 > amount or least_surprising(settings.usual_limit, spread) > amount:
        return None
    if at_most(seen + 1, amount, spread) > 10.0**-settings.usual_limit:
        return None
    one = below_usual(week, span, settings)
    return None if one is None else Close(one.quiet - seen, span, seen, one.amount)


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
    bar = max(settings.expected_least, least_surprising(settings.quiet_limit, settings.quiet_spread))
    quiet = _soonest(of, today, bar, of.pause, settings)
    quiet = _sooner(quiet, _by_weeks(of, today, of.pause, cohort, settings))
    fewer = _soonest(of, today, min(bar, settings.few_least), 0, settings)
    return quiet, _sooner(fewer, _by_weeks(of, today, 0, cohort, settings))


def _soonest(of: Outlook, today: int, bar: float, pause: int, settings: Settings) -> Ahead | None:
    """After how many silent days so much was missed by the quietest stretches, the shortest first."""
    for days, (tail, other, visits, other_visits) in enumerate(of.stretches, 2):
        least, visited = min(other, tail + today), min(other_visits, visits + 1)
        if least > 0 and (found := _first(days, bar, least, visited, pause, settings)):
            return found
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
    bar = max(settings.usual_least, least_surprising(settings.usual_limit, spread))
    if bar / mean > LONGEST / WEEK:
        return None
    after = max(WEEK, pause + 1, _weeks(bar, mean), _weeks(settings.visits_least, visited))
    return Ahead(after, after, 0, mean * after / WEEK) if after <= LONGEST else None


def _sooner(one: Ahead | None, other: Ahead | None) -> Ahead | None:
    if one is None or other is None:
        return one or other
    return one if one.after < other.after else other
