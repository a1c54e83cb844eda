"""How much a person writes: the last closed day, and whether they have gone quiet."""

from __future__ import annotations

from .cohort import Cohort
from .finding import Finding, graded, insufficient
from .habit import Daily, events_prior, expect, weekday_factors
from .settings import Settings

SPANS = (2, 3, 4, 5, 7, 10, 14, 21, 28)
"""Days over which a person may have gone quiet."""
WEEK = 7
STRETCHES = 4
"""Stretches before, of which the quietest is the measure."""


def is_known(past: Daily, settings: Settings) -> bool:
    """Whether days are enough to speak of a habit."""
    return len(past) >= settings.known_days and sum(past.events) >= settings.known_events


def _before(days: Daily, length: int) -> Daily:
    return Daily(days.first, days.events[:length], days.active[:length])


def frequency(days: Daily, cohort: Cohort, settings: Settings) -> tuple[Finding, Finding, Finding]:
    """frequency_change of the last closed day, with the spike and the drop it may be."""
    past = _before(days, len(days) - 1)
    if len(days) < 1 or not is_known(past, settings):
        need = f"{settings.known_days} closed days with {settings.known_events} events before the last one"
        names = ("frequency_change", "spike", "drop")
        return insufficient(names[0], need), insufficient(names[1], need), insufficient(names[2], need)
    weekdays = weekday_factors(days, range(len(past), len(days)), settings)
    usual = expect(past.events, weekdays, events_prior(cohort), settings)
    seen = days.events[-1]
    surprise = usual.surprise(seen)
    value = max(-1.0, min(1.0, surprise / 3))
    details = {"surprise": surprise, "seen": float(seen), "expected": usual.mean}
    told = f"{seen} on the last whole day, where {usual.mean:.1f} were to be expected"
    up, up_strength = graded(surprise, settings.change_low, settings.spike_medium)
    down, down_strength = graded(-surprise, settings.change_low, 1e9)
    return (
        Finding("frequency_change", "ok", value, "none", abs(value), f"Messages: {told}.", details),
        Finding(
            "spike", "ok", max(0.0, value), up, up_strength, _say(up, "Far more than usual", told), details
        ),
        Finding("drop", "ok", min(0.0, value), down, down_strength, _say(down, "Far fewer", told), details),
    )


def _say(level: str, unusual: str, told: str) -> str:
    return f"{unusual if level != 'none' else 'Nothing unusual'}: {told}."
