"""Cohort: what is usual among the people of a service; a table with a version, never whoever is in the input.

It fills in where a person's own past is short, and weighs as much as the given number of days or pauses.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import BadConfig, BadUsage
from .clock import day_of, night_slots
from .cohort_table import COHORTS, LEAST_PEOPLE, Cohort, read_cohort
from .sessions import old_pauses, read_sessions
from .settings import DAY, Settings
from .summary import LENGTH_STEPS, Summary, recent_days

__all__ = ["COHORTS", "Cohort", "find_cohort", "learn_cohort"]

FIGURES = (
    "events_a_day",
    "active_a_day",
    "events_spread",
    "active_spread",
    "night_share",
    "log_pause",
    "log_pause_spread",
    "session_minutes",
    "message_length",
)
"""What is learnt. The weights stay as they are in version 1, and so does the spread of weeks: the middle
person's weeks are more alike than most people's, and would raise false alarms of going quiet."""
LEAST = {
    "events_a_day": 0.001,
    "active_a_day": 0.001,
    "night_share": 0.005,
    "log_pause_spread": 0.1,
    "week_spread": 0.1,
}
"""What a figure is at least: with a share of 0 a first night would be impossible, not rare."""


def find_cohort(asked: int | str | Path) -> Cohort:
    """The table of a shipped version, or the one in a file; BadConfig says what there is.

    >>> find_cohort(1).source
    'plain habits, written by hand'
    """
    text = str(asked)
    if text.isdecimal():
        if int(text) in COHORTS:
            return COHORTS[int(text)]
        known = ", ".join(map(str, COHORTS))
        raise BadConfig(f"usage.cohort: there is no version {text:.20}; there are {known}, or name a file")
    return read_cohort(Path(text))


def learn_cohort(
    people: Iterable[Summary], version: int, source: str, settings: Settings, date: str = ""
) -> Cohort:
    """A new version of the table: the middle person of those with three weeks and thirty events.

    Figures are rounded to two places that count, so that the middle person's own cannot be read off. What
    fewer than twenty people tell (lengths of messages, say) stays as in version 1, and so do all weights.
    Raises BadUsage where fewer than twenty people are known so well.
    """
    known = [one for one in people if one.events >= 30 and one.newest - one.first >= 21 * DAY]
    if len(known) < LEAST_PEOPLE:
        raise BadUsage(
            f"a cohort takes at least {LEAST_PEOPLE} people with three weeks and 30 events, "
            f"so that no figure is one person's; here are {len(known)}"
        )
    rows = [_habits(one, settings) for one in known]
    learnt = {name: _middle(name, [row[k] for row in rows]) for k, name in enumerate(FIGURES)}
    figures = {name: value for name, value in learnt.items() if value is not None}
    return replace(COHORTS[1], version=version, source=source, date=date, people=len(known), **figures)


def _middle(name: str, column: Sequence[float | None]) -> float | None:
    """The median of those who tell it, rounded; None where they are too few."""
    told = [one for one in column if one is not None]
    if len(told) < LEAST_PEOPLE:
        return None
    return max(LEAST.get(name, 0.0), float(f"{statistics.median(told):.2g}"))


def _habits(state: Summary, settings: Settings) -> tuple[float | None, ...]:
    """One person's figures, in the order of FIGURES; None: they do not tell it."""
    days = recent_days(state)
    span = days[-1].day - max(days[0].day, day_of(state.first, state.ahead)) + 1
    night = night_slots(settings.night)
    active = [one.active.bit_count() for one in days]
    nights = sum((one.active & night).bit_count() for one in days)
    logs = [math.log(pause) for pause in old_pauses(state, state.newest + 1)]
    sessions = read_sessions(state, state.newest, settings)
    measured = sum(one.measured for one in sessions)
    octaves = sum(one.octaves for one in sessions) / LENGTH_STEPS
    return (
        sum(one.events for one in days) / span,
        sum(active) / span,
        _extra([one.events for one in days], span),
        _extra(active, span),
        nights / sum(active),
        statistics.fmean(logs) if logs else None,
        statistics.pstdev(logs) if len(logs) > 1 else None,
        statistics.median(one.minutes for one in sessions),
        2 ** (octaves / measured) - 1 if measured else None,
    )


def _extra(counts: list[int], span: int) -> float:
    """Squared relative spread beyond Poisson; days without anything are not in `counts`."""
    mean = sum(counts) / span
    variance = sum(count * count for count in counts) / span - mean * mean
    return max(0.0, (variance - mean) / (mean * mean))
