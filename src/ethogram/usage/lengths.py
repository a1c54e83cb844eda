"""Whether sessions, or messages, have become longer or shorter."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from .chance import a_week, above, rank_change, surprise_of
from .finding import LEVELS, Finding, graded, insufficient
from .sessions import Session
from .settings import DAY, Settings
from .summary import LENGTH_STEPS

STEADY = 1.0
"""Minutes added to a session's length before lengths are compared, so that nothing is infinitely longer
than nothing."""


SIZES = (6, 10)
"""How many of the newest sessions are compared with those before; more where a week had more."""
WEEK = 7 * DAY


def session_trend(closed: Sequence[Session], as_of: float, settings: Settings) -> Finding:
    """Whether the newest closed sessions are longer or shorter than those before, by rank, so robustly.

    A session's length is told by its minutes and its messages, with equal say. Shorter sessions are at most
    of
    level low: most sessions of most people are short already.
    """
    if len(closed) < 2 * SIZES[0]:
        return insufficient("session_length_trend", f"{2 * SIZES[0]} closed sessions")
    week = sum(one.end > closed[-1].end - WEEK for one in closed)
    sizes = sorted({max(size, min(week, len(closed) // 2)) for size in SIZES if 2 * size <= len(closed)})
    found = ((_surprise(closed, size, as_of), size) for size in sizes)
    (surprise, z), recent = max(found, key=lambda one: one[0][0])
    before, after = _typical(closed[:-recent]), _typical(closed[-recent:])
    ratio = after / before
    shorter, longer = settings.trend
    is_change = (ratio > longer and z > 0) or (ratio < shorter and z < 0)
    level, strength = graded(surprise if is_change else 0.0, settings.trend_low, settings.trend_medium)
    if ratio < 1:
        level = min(level, "low", key=LEVELS.index)
    word = "stable" if level == "none" else "increasing" if ratio > 1 else "decreasing"
    told = f"the last {recent} took {after - STEADY:.0f} minutes where {before - STEADY:.0f} were usual"
    value = 0.0 if word == "stable" else math.copysign(1.0, ratio - 1)
    details = {"ratio": ratio, "z": z, "minutes": after - STEADY, "minutes_before": before - STEADY}
    return Finding(
        "session_length_trend", "ok", value, level, strength, f"Sessions are {word}: {told}.", details
    )


def _surprise(closed: Sequence[Session], recent: int, as_of: float) -> tuple[float, float]:
    """Surprise a week, and z: who has many sessions is looked at anew more often, and must not bear it."""
    past, now = closed[:-recent], closed[-recent:]
    by_minutes = rank_change([one.minutes for one in past], [one.minutes for one in now])
    by_events = rank_change([float(one.events) for one in past], [float(one.events) for one in now])
    z = (by_minutes + by_events) / 2
    return a_week(surprise_of(above(abs(z))), (as_of - now[0].end) / DAY), z


def _typical(sessions: Sequence[Session]) -> float:
    """The middle half's mean length in minutes, and a bit: a median that also tells many zeros apart."""
    ordered = sorted(one.minutes for one in sessions)
    cut = len(ordered) // 4
    return statistics.fmean(ordered[cut : len(ordered) - cut]) + STEADY


def message_length(closed: Sequence[Session], settings: Settings) -> Finding:
    """Whether messages have become much longer or shorter: the middle session's typical message."""
    octaves = [one.octaves / LENGTH_STEPS / one.measured for one in closed if one.measured]
    if len(octaves) < settings.known_sessions:
        return insufficient(
            "message_length_change", f"{settings.known_sessions} sessions with lengths of messages"
        )
    recent = max(3, min(settings.recent_sessions, len(octaves) // 3))
    past, now = octaves[:-recent], octaves[-recent:]
    shift = statistics.median(now) - statistics.median(past)
    surprise = surprise_of(above(abs(rank_change(past, now))))
    if abs(shift) < math.log2(settings.length_factor):
        surprise = 0.0
    level, strength = graded(surprise, settings.length_low, settings.length_medium)
    before, after = 2 ** statistics.median(past), 2 ** statistics.median(now)
    word = (
        "Nothing unusual"
        if level == "none"
        else "Messages are longer"
        if shift > 0
        else "Messages are shorter"
    )
    told = f"typically {after:.0f} characters, before {before:.0f}"
    return Finding(
        "message_length_change", "ok", shift, level, strength, f"{word}: {told}.", {"octaves": shift}
    )
