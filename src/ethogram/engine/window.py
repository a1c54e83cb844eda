"""Windows: which events a measure looks at, in the order of the cuts of docs/language.md."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from ..language.ast import Duration, Events, Limits, Window
from ..language.history import History
from ..models.slotted import dataclass

Holds = Callable[[History, int], bool]


@dataclass(frozen=True, slots=True)
class View:
    """Positions left after skip and last (`cut`), then after since and where (`left`).

    `whole_duration` is the duration in `last` in microseconds, where no cap and no count of events has
    left out an event inside it; else None.
    """

    now: int
    cut: Sequence[int]
    left: Sequence[int]
    whole_duration: int | None


def view(
    history: History, at: int, window: Window, since: Holds | None, where: Holds | None, cap: int
) -> View:
    """The window at position `at`.

    With keep, `where` is left to the caller, who walks back only until enough are found.
    """
    times, now, end = history.times, history.times[at], at + 1
    if isinstance(window.skip, Events):
        end -= window.skip.n
    elif isinstance(window.skip, Duration):
        now -= window.skip.us
        end = bisect_right(times, now, 0, end)
    start = 0 if window.keep is not None else max(0, at + 1 - cap)
    start, whole = _last(history, start, max(end, start), now, window.last)
    cut = range(start, max(end, start))
    left: Sequence[int] = cut
    if since is not None:
        newest = next((i for i in reversed(cut) if since(history, i)), None)
        left = cut if newest is None else range(newest + 1, cut.stop)
    if where is not None and window.keep is None:
        left = [i for i in left if where(history, i)]
    return View(now, cut, left, whole)


def _last(history: History, start: int, end: int, now: int, limits: Limits) -> tuple[int, int | None]:
    """The first position that `last` leaves, and the duration if it alone decided."""
    counts = [limit.n for limit in limits if isinstance(limit, Events)]
    durations = [limit.us for limit in limits if isinstance(limit, Duration)]
    if not history.timed and counts:
        durations = []
    first = max([start, *(end - n for n in counts)])
    if not durations:
        return first, None
    duration = min(durations)
    inside = bisect_right(history.times, now - duration, 0, end)
    return max(first, inside), (duration if inside >= first else None)
