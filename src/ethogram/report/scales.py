"""Scales: where a moment stands on the time axis, and which moments to write under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from ..models import micros, moment
from ..models.timestamps import SECOND

DAY = 86_400
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
DAYS = (1, 2, 4, 7, 14)
MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ABOUT = 6
"""Ticks on an axis, at most."""
MARGIN = 1.5
"""Percent of the width left free on both sides, so that a mark at the end is whole."""


@dataclass(frozen=True, slots=True)
class Axis:
    """From the first to the last moment, in microseconds; untimed ones are numbers of events."""

    start: int
    end: int
    timed: bool = True

    def place(self, at: datetime) -> float:
        """Percent of the width."""
        share = (micros(at) - self.start) / (self.end - self.start)
        return MARGIN + (100 - 2 * MARGIN) * min(max(share, 0.0), 1.0)


def axis_of(moments: list[datetime], *, timed: bool = True) -> Axis:
    """The axis on which all of these have their place; one moment alone stands in the middle."""
    start, end = micros(min(moments)), micros(max(moments))
    room = (60 if timed else 1) * SECOND if start == end else 0
    return Axis(start - room, end + room, timed)


def ticks(axis: Axis) -> list[tuple[float, str]]:
    """(percent, words) of the moments to write, at most ABOUT of them.

    >>> from datetime import timedelta
    >>> first = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    >>> [words for _, words in ticks(axis_of([first, first + timedelta(days=4)]))]
    ['3 Mar', '4 Mar', '5 Mar', '6 Mar']
    """
    if not axis.timed:
        return list(_numbers(axis))
    seconds = (axis.end - axis.start) / SECOND
    for step in STEPS:
        if seconds / step <= ABOUT:
            return [(axis.place(moment(at)), _clock(moment(at), step)) for at in _even(axis, step * SECOND)]
    for days in DAYS:
        if seconds / (days * DAY) <= ABOUT:
            found = _even(axis, days * DAY * SECOND)
            return [(axis.place(moment(at)), _day(moment(at))) for at in found]
    return list(_months(axis))


def _even(axis: Axis, step: int) -> Iterator[int]:
    yield from range(-(-axis.start // step) * step, axis.end + 1, step)


def _numbers(axis: Axis) -> Iterator[tuple[float, str]]:
    count = (axis.end - axis.start) / SECOND
    step = next(
        one * 10**power for power in range(12) for one in (1, 2, 5) if count / (one * 10**power) <= ABOUT
    )
    # Numbers count from 1, times from 0: so they read 10, 20, 30 and not 11, 21, 31.
    for at in _even(Axis(axis.start + SECOND, axis.end + SECOND), step * SECOND):
        yield axis.place(moment(at - SECOND)), f"no. {at // SECOND}"


def _months(axis: Axis) -> Iterator[tuple[float, str]]:
    first, last = (12 * moment(at).year + moment(at).month - 1 for at in (axis.start, axis.end))
    step = next((one for one in MONTH_STEPS if (last - first) / one <= ABOUT), MONTH_STEPS[-1])
    for month in range(-(-first // step) * step, last + 1, step):
        if month < 12:
            continue
        at = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
        if micros(at) >= axis.start:
            yield axis.place(at), str(at.year) if step >= 12 else f"{MONTHS[at.month - 1]} {at.year}"


def _clock(at: datetime, step: int) -> str:
    if at.hour == at.minute == at.second == 0:
        return _day(at)
    return at.strftime("%H:%M:%S" if step < 60 else "%H:%M")


def _day(at: datetime) -> str:
    return f"{at.day} {MONTHS[at.month - 1]}"
