"""Limits of the usage signals, with the reason for each value."""

from __future__ import annotations

from ..models.slotted import dataclass
from .clock import HOUR


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the signals. `*_low` and `*_medium` are surprises: -log10 of the chance of as much."""

    inactivity: int = 1_800
    """Seconds of pause that end a session; a pause of exactly that length does not."""
    night: tuple[int, int] = (2, 5)
    """Hours on the person's own clock; the second is not included."""
    absence: int = 48 * HOUR
    """Seconds that an absence takes at least."""
    trend: tuple[float, float] = (0.7, 1.3)
    """Ratio of typical session lengths below and above which sessions are called shorter and longer."""

    known_days: int = 6
    """Closed days before the tested ones that every habit needs."""
    known_events: int = 10
    known_pauses: int = 4
    known_sessions: int = 8
    weeks_for_weekdays: int = 4
    """Whole weeks of history from which weekdays are told apart."""
    half_life: float = 14.0
    """Days after which a past day counts half; a hard edge at seven days would make a habit jump."""
    correlation: float = 0.6
    """The variance of a mean over n days falls as n ** -correlation (1: independent days)."""
    drift: float = 0.1
    """Squared relative change of a person's rate that is ordinary from month to month."""

    change_low: float = 3.0
    spike_medium: float = 5.0
    quiet_limit: float = 1.6
    quiet_spread: float = 0.5
    """Squared relative spread allowed even below the quietest stretch: people do break their own records."""
    visits_least: int = 2
    """Days with messages that must have been expected: missing one day is not withdrawal."""
    expected_least: float = 8.0
    """Messages that must have been expected by the quietest stretch before: several sessions, not one."""
    quiet_back: int = 28
    """Days before the tested ones in which the quietest stretch is searched."""
    few_least: float = 5.0
    """`expected_least` for few messages (severity low)."""
    few_share: float = 0.5
    """Share of the quietest stretch before below which messages are few."""
    usual_limit: float = 2.3
    usual_back: int = 42
    usual_least: float = 6.0
    drift_least: float = 0.02
    quiet_known: int = 14
    """Days of history that must lie before the tested ones."""
    night_low: float = 1.5
    night_medium: float = 2.0
    night_rise: float = 0.2
    """Rise of the share at night over that before, at least."""
    hours_share: float = 0.5
    """Share of the newest activity at hours that were never used before, at least."""
    hours_low: float = 1.5
    hours_medium: float = 2.0
    zone_confidence: float = 0.6
    """Confidence from which an inferred time zone is used."""
    trend_minutes: float = 1.0
    trend_minutes_medium: float = 3.0
    """Minutes of change at least, at all and for severity medium."""
    trend_low: float = 1.0
    """For longer sessions; shorter ones are common and say less, so they take `trend_shorter`."""
    trend_shorter: float = 2.5
    trend_medium: float = 1.95
    length_low: float = 2.0
    length_medium: float = 3.0
    length_factor: float = 2.0
    return_low: float = 2.2
    return_known: float = 1.0
    return_missed: float = 7.0
    """Severity low: a pause of surprise `return_low`, or one of `return_known` in which so many messages were
    missed by the pace of the quietest week before."""
    return_medium: float = 1.7
    """log10 of (1 + messages missed) x (pause / longest pause before)."""
    return_longer: float = 1.1
    """An unusual absence is at least so many times the longest pause of the four weeks before: a weekend is
    as long as the one before it."""
    return_much_longer: float = 1.5
    """The same for severity medium, which also takes so many times `absence`."""
    recent_sessions: int = 8
    """Sessions whose messages are compared with those before, at most."""
    broken_off_days: float = 7.0
    """Days for which a session that broke off is reported, unless the person came back."""
