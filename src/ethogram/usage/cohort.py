"""Cohort: what is usual among the people of a service; a table with a version, never whoever is in the input.

It fills in where a person's own past is short, and weighs as much as the given number of days or pauses.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from .clock import day_of, night_slots
from .sessions import old_pauses
from .settings import Settings
from .summary import Summary, read_days


@dataclass(frozen=True, slots=True)
class Cohort:
    """Habits of a cohort, each with the weight it has against a person's own days."""

    version: int
    source: str
    events_a_day: float
    active_a_day: float
    """Half-hours of a day in which something was written."""
    days: float
    """The two above weigh as so many days of the person's own."""
    events_spread: float
    active_spread: float
    """Squared relative spread of a day's number, beyond Poisson."""
    spread_days: float
    week_spread: float
    """The same of a week's number of events; weighs as one week."""
    night_share: float
    night_weight: float
    """In active half-hours."""
    log_pause: float
    log_pause_spread: float
    pauses: float
    """Pauses between sessions: mean and deviation of ln(seconds), and their weight."""
    session_minutes: float
    message_length: float


COHORTS = {
    0: Cohort(
        0,
        "round numbers, to begin with",
        60.0,
        6.0,
        0.2,
        1.0,
        1.0,
        4.0,
        1.0,
        0.125,
        8.0,
        11.4,
        0.8,
        2.0,
        15.0,
        200.0,
    ),
    1: Cohort(
        1,
        "plain habits, written by hand",
        3.0,
        1.2,
        1.0,
        4.0,
        1.5,
        7.0,
        1.0,
        0.08,
        10.0,
        10.9,
        1.3,
        3.0,
        8.0,
        100.0,
    ),
}


def learn_cohort(people: Iterable[Summary], version: int, source: str, settings: Settings) -> Cohort:
    """A new version of the table: the middle person of those with three weeks and thirty events.

    Weights stay as they are in version 1. Raises ValueError where fewer than twenty people are known so well.
    """
    known = [one for one in people if one.events >= 30 and one.newest - one.first >= 21 * 86_400]
    if len(known) < 20:
        raise ValueError(
            f"a cohort takes at least 20 people with three weeks and 30 events; here are {len(known)}"
        )
    rows = [_habits(one, settings) for one in known]
    middle = [statistics.median(column) for column in zip(*rows, strict=True)]
    base = COHORTS[1]
    return Cohort(
        version, source, middle[0], middle[1], base.days, middle[2], middle[3], base.spread_days,
        base.week_spread,
        middle[4], base.night_weight, middle[5], middle[6], base.pauses, base.session_minutes,
        base.message_length,
    )  # fmt: skip


def _habits(state: Summary, settings: Settings) -> tuple[float, ...]:
    days = list(read_days(state))
    span = days[-1].day - max(days[0].day, day_of(state.first, state.ahead)) + 1
    night = night_slots(settings.night)
    active = [one.active.bit_count() for one in days]
    nights = sum((one.active & night).bit_count() for one in days)
    logs = [math.log(pause) for pause in old_pauses(state, state.newest + 1)] or [COHORTS[1].log_pause]
    return (
        sum(one.events for one in days) / span,
        sum(active) / span,
        _extra([one.events for one in days], span),
        _extra(active, span),
        nights / sum(active),
        statistics.fmean(logs),
        statistics.pstdev(logs) if len(logs) > 1 else COHORTS[1].log_pause_spread,
    )


def _extra(counts: list[int], span: int) -> float:
    """Squared relative spread beyond Poisson; days without anything are not in `counts`."""
    mean = sum(counts) / span
    variance = sum(count * count for count in counts) / span - mean * mean
    return max(0.0, (variance - mean) / (mean * mean))
