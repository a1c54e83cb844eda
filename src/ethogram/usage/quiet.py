"""Withdrawal: whether a person has gone quiet, over as many days as several sessions were to be expected
in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .chance import at_most, surprise_of
from .cohort import Cohort
from .finding import Finding, graded, insufficient
from .habit import Daily
from .settings import Settings

SPANS = (2, 3, 4, 5, 7, 10, 14, 21, 28)
"""Days over which a person may have gone quiet."""
WEEK = 7
LOW = 0.7
"""The part of a limit from which on the level is low."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """How quiet some days were: how many messages, what they are measured by, and how far that is to the
    limit.

    At 1 the limit is reached.
    """

    days: int
    seen: int
    measure: float
    reach: float
    is_mean: bool


def below_quietest(events: Sequence[int], span: int, settings: Settings) -> Quiet | None:
    """The last `span` days against the quietest stretch of as many in the four weeks before (of a week,
    scaled).

    None where too little was to be expected or is known. It is for people who come in bursts, of whom mean
    and deviation
    promise too much. Weekends need no table of their own, since every week has one.
    """
    past, length = len(events) - span, min(span, WEEK)
    count = min(past, settings.quiet_back) // length
    if past < settings.quiet_known or count < 3 + (length < WEEK):
        return None
    quietest = min(_sums(events, past, length, count)) * span / length
    if quietest < settings.expected_least:
        return None
    seen = sum(events[past:])
    surprise = surprise_of(at_most(seen, quietest, settings.quiet_spread)) if seen < quietest else 0.0
    return Quiet(span, seen, quietest, surprise / settings.quiet_limit, False)


def below_usual(events: Sequence[int], span: int, cohort: Cohort, settings: Settings) -> Quiet | None:
    """The last `span` days against the mean of the six weeks before, with the spread that these weeks had.

    A week at least, since a weekend is not a week. It is for people whose weeks are alike. Gamma-Poisson:
    the spread is shrunk to the cohort's, which counts as one
    week; the mean is known only as well as so many weeks tell it.
    """
    past = len(events) - span
    count = min(past, settings.usual_back) // WEEK
    if span < WEEK or past < settings.quiet_known or count < 2:
        return None
    weeks = _sums(events, past, WEEK, count)
    mean = sum(weeks) / count
    if mean * span / WEEK < settings.usual_least:
        return None
    variance = sum((week - mean) ** 2 for week in weeks) / (count - 1)
    own = max(0.0, (variance - mean) / (mean * mean))
    spread = (cohort.week_spread + (count - 1) * own) / count
    wide = spread * (1 + 1 / count) + 1 / (mean * count) + settings.drift_least
    seen, usual = sum(events[past:]), mean * span / WEEK
    surprise = surprise_of(at_most(seen, usual, wide)) if seen <= usual / 2 else 0.0
    return Quiet(span, seen, usual, surprise / settings.usual_limit, True)


def _sums(events: Sequence[int], end: int, length: int, count: int) -> list[int]:
    """Sums of so many stretches, the newest of which ends before `end`."""
    return [sum(events[last - length : last]) for last in range(end, end - count * length, -length)]


def withdrawal(days: Daily, cohort: Cohort, settings: Settings) -> Finding:
    """Gone quiet: below the quietest stretch of the month, or far below weeks that were alike."""
    silent = next((i for i, count in enumerate(reversed(days.events)) if count), len(days))
    spans = sorted({*SPANS, silent}) if silent > SPANS[-1] else SPANS
    tried = [
        quiet
        for span in spans
        for quiet in (
            below_quietest(days.events, span, settings),
            below_usual(days.events, span, cohort, settings),
        )
        if quiet is not None
    ]
    if not tried:
        need = f"{settings.quiet_known} days of history, and regular use before the newest days"
        return insufficient("withdrawal", need)
    worst = max(tried, key=lambda one: one.reach)
    level, strength = graded(worst.reach, LOW, 1.0)
    by = "usual are" if worst.is_mean else "the quietest such stretch of the month before had"
    word = "Nothing unusual" if level == "none" else "Gone quiet"
    text = f"{word}: {worst.seen} messages in the last {worst.days} days; {by} {worst.measure:.0f}."
    details = {
        "days": float(worst.days),
        "seen": float(worst.seen),
        "measure": worst.measure,
        "reach": worst.reach,
    }
    return Finding("withdrawal", "ok", float(level != "none"), level, strength, text, details)
