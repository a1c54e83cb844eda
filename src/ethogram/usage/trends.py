"""Whether sessions, or messages, have become longer or shorter."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ..stats import normal_tail, rank_sum_z, surprise_of
from .clock import DAY
from .finding import Finding, graded, insufficient, weekly_surprise
from .sessions import Session
from .settings import Settings
from .summary import LENGTH_STEPS

STEADY = 1.0
"""Minutes added to a session's length before lengths are compared, so that nothing is infinitely longer
than nothing."""


SIZES = (6, 10)
"""How many of the newest sessions are compared with those before; more where a week had more."""
LOOKS = 2.0
"""How many looks one stretch of sessions is worth beside one for each size, since it is looked at anew on
every day. Counted on made-up people whose sessions never change, with half a session to eight a day."""
WEEK = 7 * DAY


@dataclass(frozen=True, slots=True)
class Trend:
    """How the newest sessions compare: surprise a week (positive: longer, negative: shorter, 0: no change to
    speak of), how many they are, and typical minutes now and before."""

    surprise: float
    recent: int
    minutes: float
    minutes_before: float


def trend_of(closed: Sequence[Session], as_of: float, settings: Settings) -> Trend | None:
    """The newest closed sessions against those before, by rank, so robustly; None: too few are known.

    A session's length is told by its minutes and its messages, with equal say.
    """
    if len(closed) < 2 * SIZES[0]:
        return None
    week = sum(item.end > closed[-1].end - WEEK for item in closed)
    sizes = sorted({max(size, min(week, len(closed) // 2)) for size in SIZES if 2 * size <= len(closed)})
    found = ((_surprise(closed, size, len(sizes), as_of), size) for size in sizes)
    (surprise, z), recent = max(found, key=lambda item: item[0][0])
    before, after = _typical(closed[:-recent]), _typical(closed[-recent:])
    ratio = after / before
    shorter, longer = settings.trend
    is_change = (ratio > longer and z > 0) or (ratio < shorter and z < 0)
    is_change = is_change and abs(after - before) >= settings.trend_minutes
    signed = math.copysign(surprise, z) if is_change else 0.0
    return Trend(signed, recent, after - STEADY, before - STEADY)


def session_trend(closed: Sequence[Session], as_of: float, settings: Settings) -> Finding:
    """Whether the newest closed sessions are longer or shorter than those before.

    Shorter sessions take more, and are at most of severity low: most people's sessions are short already.
    """
    trend = trend_of(closed, as_of, settings)
    if trend is None:
        return insufficient("session_length_trend", f"{2 * SIZES[0]} closed sessions")
    if trend.surprise >= 0:
        is_much = trend.minutes - trend.minutes_before >= settings.trend_minutes_medium
        medium = settings.trend_medium if is_much else math.inf
        severity, strength = graded(trend.surprise, settings.trend_low, medium)
    else:
        severity, strength = graded(-trend.surprise, settings.trend_shorter, math.inf)
    word = "stable" if severity == "none" else "increasing" if trend.surprise > 0 else "decreasing"
    text = (
        f"the last {trend.recent} typically took {_minutes(trend.minutes)}, "
        f"those before {_minutes(trend.minutes_before)}"
    )
    value = {"stable": 0.0, "increasing": 1.0, "decreasing": -1.0}[word]
    details = {
        "surprise": trend.surprise,
        "minutes": trend.minutes,
        "minutes_before": trend.minutes_before,
    }
    return Finding(
        "session_length_trend", "ok", value, severity, strength, f"Sessions are {word}: {text}.", details
    )


def _surprise(closed: Sequence[Session], recent: int, sizes: int, as_of: float) -> tuple[float, float]:
    """Surprise a week, and z: who has many sessions is looked at anew more often, and must not bear it; nor
    who is looked at with more than one size."""
    past, now = closed[:-recent], closed[-recent:]
    by_minutes = rank_sum_z([item.minutes for item in past], [item.minutes for item in now])
    by_events = rank_sum_z([float(item.events) for item in past], [float(item.events) for item in now])
    z = (by_minutes + by_events) / 2
    chance = min(1.0, (sizes + LOOKS) * normal_tail(abs(z)))
    return weekly_surprise(surprise_of(chance), (as_of - now[0].end) / DAY), z


def _minutes(count: float) -> str:
    return f"{count:.0f} {'minute' if round(count) == 1 else 'minutes'}"


def _typical(sessions: Sequence[Session]) -> float:
    """The middle half's mean length in minutes, and a bit: a median that also tells many zeros apart."""
    ordered = sorted(session.minutes for session in sessions)
    cut = len(ordered) // 4
    return statistics.fmean(ordered[cut : len(ordered) - cut]) + STEADY


@dataclass(frozen=True, slots=True)
class Shift:
    """How the newest messages compare: surprise (positive: longer, negative: shorter, 0: no change to speak
    of), and typical characters now and before."""

    surprise: float
    length: float
    length_before: float


def shift_of(closed: Sequence[Session], settings: Settings) -> Shift | None:
    """The typical message of the newest sessions against those before; None: too little is known."""
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
    name = "message_length_change"
    shift = shift_of(closed, settings)
    if shift is None:
        return insufficient(name, f"{settings.known_sessions} sessions with lengths of messages")
    severity, strength = graded(abs(shift.surprise), settings.length_low, settings.length_medium)
    octaves = math.log2((1 + shift.length) / (1 + shift.length_before))
    word = (
        "Nothing unusual" if severity == "none" else f"Messages are {'longer' if octaves > 0 else 'shorter'}"
    )
    text = f"typically {shift.length:.0f} characters, before {shift.length_before:.0f}"
    details = {"octaves": octaves, "length": shift.length, "length_before": shift.length_before}
    return Finding(name, "ok", octaves, severity, strength, f"{word}: {text}.", details)
