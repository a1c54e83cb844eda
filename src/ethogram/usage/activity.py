"""How much a person writes in a day, against what the days before make likely."""

from __future__ import annotations

from .baseline import Cohort, Daily, Expected, events_prior, expect, weekday_factors
from .finding import Finding, graded, insufficient
from .settings import Settings


def is_known(past: Daily, settings: Settings) -> bool:
    """Whether days are enough to speak of a habit."""
    return len(past) >= settings.known_days and sum(past.events) >= settings.known_events


def usual_day(past: Daily, cohort: Cohort, settings: Settings) -> Expected | None:
    """What is to be expected of the day after these, told by its weekday; None: too little is known."""
    if not is_known(past, settings):
        return None
    weekdays = weekday_factors(past, range(len(past), len(past) + 1), settings)
    return expect(past.events, weekdays, events_prior(cohort), settings)


def frequency(days: Daily, cohort: Cohort, settings: Settings) -> tuple[Finding, Finding]:
    """frequency_change of the last closed day (-1 to 1, 0 on the most ordinary day), and the spike it may be.

    A single day with little or nothing is never unusual by itself; `quiet.withdrawal` tells of several.
    """
    length = max(0, len(days) - 1)
    past = Daily(days.first, days.events[:length], days.active[:length])
    usual = usual_day(past, cohort, settings) if len(days) else None
    if usual is None:
        need = f"{settings.known_days} closed days with {settings.known_events} events before the last one"
        return insufficient("frequency_change", need), insufficient("spike", need)
    seen = days.events[-1]
    change, much = usual.change(seen), usual.much(seen)
    value = max(-1.0, min(1.0, change / 3))
    details = {"surprise": change, "seen": float(seen), "expected": usual.mean}
    text = f"{seen} on the last whole day, where {usual.mean:.1f} were to be expected"
    severity, strength = graded(much, settings.change_low, settings.spike_medium)
    word = "Nothing unusual" if severity == "none" else "Far more than usual"
    spike = {**details, "surprise": much}
    return (
        Finding("frequency_change", "ok", value, "none", abs(value), f"Messages: {text}.", details),
        Finding("spike", "ok", max(0.0, value), severity, strength, f"{word}: {text}.", spike),
    )
