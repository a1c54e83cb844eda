"""Fixed limits: what formulas with fixed constants say of the same people at the same moments.

Five messages an hour until twenty are known, then the rate of the last week; a spike at twice that,
withdrawal below half of it in the last hour, late night wherever the last event lies from two to five,
sessions longer by a third, and a return wherever there was a pause of two days. They are the trivial answer
to compare with.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from benchmarks.quality.usage_people import NIGHT, hour_of_day
from ethogram.usage.clock import DAY

HOUR = 3_600
A_WEEK_APART = 7 * DAY
DEFAULT_RATE = 5.0
REBASE = 20
KEPT = 500


def fixed_limits(times: Sequence[int], zone: str | None, as_of: int) -> frozenset[str]:
    """What is on at a moment, from the times up to it (in order)."""
    known = bisect_right(times, as_of)
    if not known:
        return frozenset()
    change = _change(times, known, as_of)
    first, second = _halves(times, known)
    on = {
        "spike": change > 0.5,
        "withdrawal": change < -0.5,
        "late_night": NIGHT[0] <= int(hour_of_day(times[known - 1], zone)) < NIGHT[1],
        "session_length_trend": known >= 10 and second > 1.3 * first,
        "return_after_absence": _is_back(times, known, as_of),
    }
    return frozenset(name for name, is_on in on.items() if is_on)


def fixed_episodes(times: Sequence[int], zone: str | None, moments: Sequence[int]) -> list[tuple[str, int]]:
    """Name and moment of each opening; over when a week has passed without it, as with any other."""
    last: dict[str, int] = {}
    out = []
    for as_of in moments:
        for name in sorted(fixed_limits(times, zone, as_of)):
            if name not in last or as_of - last[name] > A_WEEK_APART:
                out.append((name, as_of))
            last[name] = as_of
    return out


def _change(times: Sequence[int], known: int, as_of: int) -> float:
    """How far the last hour is from the usual rate, from -1 to 1."""
    if known < 3:
        return 0.0
    recent = known - max(bisect_right(times, as_of - HOUR, 0, known), known - KEPT)
    ratio = recent / _usual(times, known)
    return max(-1.0, ratio - 1) if ratio < 1 else min(1.0, (ratio - 1) / 2)


def _usual(times: Sequence[int], known: int) -> float:
    """Events an hour of the last week, taken anew at every twentieth event."""
    base = known - known % REBASE
    if not base:
        return DEFAULT_RATE
    newest = times[base - 1]
    begin = bisect_right(times, newest - A_WEEK_APART, 0, base)
    hours = (newest - times[begin]) / HOUR
    return (base - begin) / hours if hours > 0 else float(base - begin)


def _halves(times: Sequence[int], known: int) -> tuple[int, int]:
    """Seconds that the older and the newer half of the events span."""
    middle = known // 2
    return times[max(0, middle - 1)] - times[0], times[known - 1] - times[middle]


def _is_back(times: Sequence[int], known: int, as_of: int) -> bool:
    """Whether the newest event that is an hour old, the last ten left out, is two days old."""
    older = bisect_left(times, as_of - HOUR, 0, max(0, known - 10))
    return older > 0 and as_of - times[older - 1] >= 48 * HOUR
