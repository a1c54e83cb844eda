"""Withdrawal: whether a person has gone quiet or writes far less, and at which close of a day that will be.

The outlook gives what measuring at every close would give. Days that are over cannot change, so it is worked
out once a day with how many messages of today each coming close will be a quiet one; in a silence only the
days since the last message count, which have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ..stats import count_at_most, mean_where_zero_surprises
from .baseline import Daily
from .clock import WEEK
from .cohort import Cohort
from .finding import Finding, insufficient
from .settings import Settings
from .spans import (
    SPANS,
    Measure,
    Past,
    Span,
    UsualWeek,
    below_quietest,
    below_usual,
    is_fewer,
    is_quiet,
    least_stretch,
    measure_spans,
    quietest,
    silent_days,
    usual_week,
    week_spread,
)

LONGEST = 365
"""Days ahead that are predicted."""
FIRST_STRENGTH, FULL_STRENGTH, FULL_DAYS = 0.6, 1.0, 28
"""Strength of a silence when it is first reported, and from so many days later on."""


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

    def note(end: int, span: int, measure: Measure | None) -> None:
        if measure is not None:
            after, seen = end + span - today - 1, past.seen(end, today)
            quiet[after] = max(quiet[after], Close(measure.quiet - seen, span, seen, measure.amount))
            fewer[after] = max(fewer[after], Close(measure.few - seen, span, seen, measure.amount))

    for span in SPANS[: SPANS.index(WEEK)]:
        for after in range(min(span, closes)):
            end = today + 1 + after - span
            note(end, span, _quietest_close(past, end, span, settings))
    # No measure exceeds the busiest week, and the further back a span goes, the more it saw.
    most = past.busiest(WEEK) * SPANS[-1] / WEEK
    for end in range(today, max(settings.quiet_known, today + 1 - SPANS[-1]) - 1, -1):
        if most < min(settings.few_least, settings.usual_least) or 2 * past.seen(end, today) > most:
            break
        week = usual_week(past, end, cohort, settings)
        for span in SPANS[SPANS.index(WEEK) :]:
            if 0 <= end + span - today - 1 < min(span, closes):
                note(end, span, _quietest_close(past, end, span, settings))
                if week is not None:
                    note(end, span, _usual_close(week, span, past.seen(end, today), settings))
    return outlook._replace(quiet=tuple(quiet), fewer=tuple(fewer))


def _quietest_close(past: Past, end: int, span: int, settings: Settings) -> Measure | None:
    amount = quietest(past, end, span, settings)
    # With half of it already seen, the days can be neither quiet nor few.
    if amount is None or amount < settings.few_least or past.seen(end, past.days) >= amount / 2:
        return None
    return below_quietest(amount, settings)


def _usual_close(week: UsualWeek, span: int, seen: int, settings: Settings) -> Measure | None:
    amount = week.amount * span / WEEK
    # Exact limits take long, and most days are far from theirs.
    if 2 * seen + 2 > amount or mean_where_zero_surprises(settings.usual_limit, week.spread) > amount:
        return None
    if count_at_most(seen + 1, amount, week.spread) > 10.0**-settings.usual_limit:
        return None
    return below_usual(week, span, settings)


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
        need = f"{settings.quiet_known} days of history, and regular use before the newest days"
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
        return span.seen <= span.measure.quiet, span.seen <= span.measure.few, span.surprise, span.days

    clearest = max(spans, key=clearness, default=None)
    if clearest is not None and (due is None or clearest.seen <= clearest.measure.quiet):
        days, seen, amount = clearest.days, clearest.seen, clearest.measure.amount
        if clearest.measure.is_mean:
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
    messages = "1 message" if seen == 1 else f"{seen} messages"
    details = {"days": float(days), "seen": float(seen), "measure": amount}
    return f"{messages} in the last {days} days; {by}", details
