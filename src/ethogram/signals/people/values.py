"""What is said of a person at one event: of the day so far, of the nights, of sessions, and of an absence."""

from __future__ import annotations

from collections.abc import Mapping

from ...usage.chance import at_least, surprise_of
from ...usage.cohort import Cohort
from ...usage.lengths import shift_of, trend_of
from ...usage.nights import nights_of
from ...usage.returns import absence_before
from ...usage.sessions import is_closed, read_sessions
from ...usage.settings import DAY, HOUR, Settings
from ...usage.summary import Summary, stretch_count
from ..define import Unmeasured


def of_the_day(usual: tuple[float, float], count: int) -> dict[str, float]:
    """How far today's messages so far are above those of a usual day; by its close, the day's own value."""
    mean, spread = usual
    # Twice a usual day is never far from ordinary, and less says nothing: the day is not over.
    surprise = surprise_of(at_least(count, mean, spread)) if count > 2 * mean else 0.0
    return {"busy_today": surprise, "messages_today": float(count), "usual_today": mean}


def of_the_night(
    summary: Summary, today: int, cohort: Cohort, settings: Settings
) -> Mapping[str, float | Unmeasured]:
    """The share of the newest closed days' activity that was at night, against that before."""
    found = nights_of(summary, today, cohort, settings)
    if isinstance(found, str):
        return {"night_shift": Unmeasured(found)} if found.startswith("the time zone") else {}
    return {
        "night_shift": found.surprise,
        "night_share": found.share,
        "night_share_before": found.share_before,
        "zone_confidence": found.confidence,
    }


def of_sessions(summary: Summary, now: int, settings: Settings) -> Mapping[str, float]:
    """What the closed sessions, and the messages in them, have become."""
    values: dict[str, float] = {}
    if stretch_count(summary) <= settings.known_sessions:
        return values
    closed = [one for one in read_sessions(summary, now, settings) if is_closed(one, now, settings)]
    if trend := trend_of(closed, now, settings):
        values["session_trend"] = trend.surprise
        values["session_minutes"] = trend.minutes
        values["session_minutes_before"] = trend.minutes_before
    if shift := shift_of(closed, settings):
        values["length_shift"] = shift.surprise
        values["length_now"] = shift.length
        values["length_before"] = shift.length_before
    return values


def of_an_absence(
    before: Summary, now: int, pause: int, cohort: Cohort, settings: Settings
) -> Mapping[str, float]:
    """The pause before a session, where it was an absence, by what was known `before` it."""
    found = absence_before(before, now, pause, cohort, settings)
    if found is None:
        return {}
    return {
        "away_surprise": found.surprise,
        "away_days": pause / DAY,
        "away_ratio": found.ratio,
        "away_missed": found.missed,
        "away_weight": found.weight,
        "away_usual_hours": found.usual / HOUR,
    }
