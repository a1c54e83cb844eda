"""Windows over rows: which of the newest rows a measure looks at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from ..tree import Duration, Events, Window
from .rows import Rows

Cut = tuple[int, int, int, int | None]
"""First row and row after the last, now, and the duration of `last` where it alone decided (View)."""


def cutter(window: Window, cap: int) -> Callable[[Rows], Cut]:
    """A function that gives the rows left by cap, skip and last."""
    counts = [limit.n for limit in window.last if isinstance(limit, Events)]
    durations = [limit.us for limit in window.last if isinstance(limit, Duration)]
    back = window.skip.us if isinstance(window.skip, Duration) else 0
    skip = window.skip.n if isinstance(window.skip, Events) else 0
    most = min(counts, default=None)
    duration = min(durations, default=None)

    def newest(rows: Rows) -> Cut:
        rows_now = len(rows.times)
        start = max(0, rows_now - cap)
        end = rows_now - skip
        if end < start:
            end = start
        first = end - most if most is not None else start
        return (first if first > start else start), end, rows.us, None

    if duration is None and not back:
        return newest

    def cut(rows: Rows) -> Cut:
        times = rows.times
        rows_now = len(times)
        end, now = rows_now - skip, rows.us - back
        if back:
            end = bisect_right(times, now, 0, rows_now)
        start = rows_now - cap if rows_now > cap else 0
        end = max(end, start)
        first = start if most is None else max(start, end - most)
        if duration is None or (not rows.timed and most is not None):
            return first, end, now, None
        inside = bisect_right(times, now - duration, 0, end)
        if inside >= first:
            return inside, end, now, duration
        return first, end, now, None

    return cut


def rows_needed(window: Window, cap: int) -> int:
    """How many of the newest rows a window may look at; 0 with keep, which has a list of its own."""
    if window.keep is not None:
        return 0
    counts = [limit.n for limit in window.last if isinstance(limit, Events)]
    if not counts or isinstance(window.skip, Duration):
        return cap
    return min(cap, min(counts) + (window.skip.n if window.skip is not None else 0))
