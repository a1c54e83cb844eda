"""Whether sessions, or messages, have become longer or shorter."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from ..stats import normal_tail, rank_sum_z, surprise_of
from .clock import DAY, WEEK
from .finding import Finding, grade, insufficient, weekly_surprise
from .sessions import Session
from .settings import Settings
from .summary import LENGTH_STEPS

STEADY = 1.0
"""Minutes added to session lengths before they are compared, so that no ratio is infinite."""
SIZES = (6, 10)
"""How many of the newest sessions are compared with those before; more where a week had more."""
LOOKS = 2.0
"""Independent looks that repeated daily looks at one stretch of sessions are worth, beside one for each size.
Counted on simulated people whose sessions never change, with half a session to eight a day."""


class Trend(NamedTuple):
    """Newest sessions against those before: surprise a week (positive: longer, negative: shorter, 0: no
    relevant change), how many they are, and typical minutes now and before."""

    surprise: float
    recent: int
    minutes: float
    minutes_before: float


def trend_of(closed: Sequence[Session], as_of: float, settings: Settings) -> Trend | None:
    """Compare the newest closed sessions with those before by rank; None: too few are known.

    A session's length is its minutes and its messages, with equal weight.
    """
    if len(closed) < 2 * SIZES[0]:
        return None
    week = sum(session.end > closed[-1].end - WEEK * DAY for session in closed)
    sizes = sorted({max(size, min(week, len(closed) // 2)) for size in SIZES if 2 * size <= len(closed)})
    tests = ((*_surprise(closed, size, len(sizes), as_of), size) for size in sizes)
    surprise, z, recent = max(tests, key=lambda test: test[0])
    before, after = _typical(closed[:-recent]), _typical(closed[-recent:])
    shorter, longer = settings.trend
    is_change = (after / before > longer and z > 0) or (after / before < shorter and z < 0)
    is_change = is_change and abs(after - before) >= settings.trend_minutes
    signed = math.copysign(surprise, z) if is_change else 0.0
    return Trend(signed, recent, after - STEADY, before - STEADY)


def _surprise(closed: Sequence[Session], recent: int, sizes: int, as_of: float) -> tuple[float, float]:
    """Surprise a week, and z, corrected for repeated looks and for several sizes."""
    past, now = closed[:-recent], closed[-recent:]
    by_minutes = rank_sum_z([item.minutes for item in past], [item.minutes for item in now])
    by_events = rank_sum_z([float(item.events) for item in past], [float(item.events) for item in now])
    z = (by_minutes + by_events) / 2
    chance = min(1.0, (sizes + LOOKS) * normal_tail(abs(z)))
    return weekly_surprise(surprise_of(chance), (as_of - now[0].end) / DAY), z


def _typical(sessions: Sequence[Session]) -> float:
    """Mean of the middle half in minutes, plus STEADY: robust, and it sees how many are zero."""
    ordered = sorted(session.minutes for session in sessions)
    cut = len(ordered) // 4
    return statistics.fmean(ordered[cut : len(ordered) - cut]) + STEADY


def session_trend(closed: Sequence[Session], as_of: float, settings: Settings) -> Finding:
    """Whether the newest closed sessions are longer or shorter than those before.

    Shorter sessions take more and are at most of severity low: most people's sessions are short already.
    """
    name, trend = "session_length_trend", trend_of(closed, as_of, settings)
    if trend is None:
        return insufficient(name, f"it needs {2 * SIZES[0]} closed sessions")
    if trend.surprise >= 0:
        is_medium = trend.minutes - trend.minutes_before >= settings.trend_minutes_medium
        medium = settings.trend_medium if is_medium else math.inf
        severity, strength = grade(trend.surprise, settings.trend_low, medium)
    else:
        severity, strength = grade(-trend.surprise, settings.trend_shorter, math.inf)
    value = 0.0 if severity == "none" else math.copysign(1.0, trend.surprise)
    word = {0.0: "stable", 1.0: "increasing", -1.0: "decreasing"}[value]
    now, before = _minutes(trend.minutes), _minutes(trend.minutes_before)
    text = f"Sessions are {word}: the last {trend.recent} typically took {now}, those before {before}."
    details = {
        "surprise": trend.surprise,
        "minutes": trend.minutes,
        "minutes_before": trend.minutes_before,
    }
    return Finding(name, "ok", value, severity, strength, text, details)


def _minutes(count: float) -> str:
    return f"{count:.0f} {'minute' if round(count) == 1 else 'minutes'}"


class Shift(NamedTuple):
    """Newest messages against those before: surprise (positive: longer, negative: shorter, 0: no relevant
    change), and typical characters now and before."""

    surprise: float
    length: float
    length_before: float


def shift_of(closed: Sequence[Session], settings: Settings) -> Shift | None:
    """Compare the typical message of the newest sessions with those before; None: too little is known."""
    octaves = [item.octaves / LENGTH_STEPS / item.measured for item in closed if item.measured]
    if len(octaves) < settings.known_sessions:
        return None
    recent = max(3, min(settings.recent_sessions, len(octaves) // 3))
    past, now = octaves[:-recent], octaves[-recent:]
    before, after = statistics.median(past), statistics.median(now)
    surprise = 0.0
    if abs(after - before) >= math.log2(settings.length_factor):
        surprise = math.copysign(surprise_of(normal_tail(abs(rank_sum_z(past, now)))), after - before)
    return Shift(surprise, 2**after - 1, 2**before - 1)


def message_length(closed: Sequence[Session], settings: Settings) -> Finding:
    """Whether messages have become much longer or shorter; `value` is the change in octaves."""
    name, shift = "message_length_change", shift_of(closed, settings)
    if shift is None:
        return insufficient(name, f"it needs {settings.known_sessions} sessions with lengths of messages")
    severity, strength = grade(abs(shift.surprise), settings.length_low, settings.length_medium)
    octaves = math.log2((1 + shift.length) / (1 + shift.length_before))
    change = f"Messages are {'longer' if octaves > 0 else 'shorter'}"
    word = "Nothing unusual" if severity == "none" else change
    text = f"{word}: typically {shift.length:.0f} characters, before {shift.length_before:.0f}."
    details = {"octaves": octaves, "length": shift.length, "length_before": shift.length_before}
    return Finding(name, "ok", octaves, severity, strength, text, details)
