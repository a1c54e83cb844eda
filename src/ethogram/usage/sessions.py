"""Sessions of a person, read from a summary, and the pauses between them."""

from __future__ import annotations

from dataclasses import dataclass

from .clock import DAY, HALF_HOUR, MORNING
from .settings import Settings
from .summary import MARKED, Summary, raw_stretches, recent_days


@dataclass(frozen=True, slots=True)
class Session:
    """One session: seconds since 1970 of its first and last event, how many, and the last one's flags."""

    start: int
    end: int
    events: int
    measured: int
    octaves: int
    flags: int
    name: int

    @property
    def minutes(self) -> float:
        """From the first event to the last."""
        return (self.end - self.start) / 60


LONG_PAUSE = 12
"""So many times the pause that ends a session ends a named one too: a name may stand for a whole app."""


def read_sessions(state: Summary, as_of: float, settings: Settings) -> list[Session]:
    """The sessions begun by `as_of`, that which ended last at the end, from the half-hours that are kept.

    Exact where the pause is 30 minutes: inside a half-hour there is no longer one. A shorter pause than that
    cannot be told. Named sessions are cut by name, and at a pause of hours.
    """
    under_way: dict[int, list[int]] = {}
    numberses: list[list[int]] = []
    for half_hour, name, first, last, events, measured, octaves, flags in raw_stretches(state):
        begin = half_hour * HALF_HOUR
        if begin + first > as_of:
            continue
        before = under_way.get(name)
        pause = settings.inactivity * (LONG_PAUSE if name else 1)
        if before is None or begin + first - before[1] > pause:
            under_way[name] = [begin + first, begin + last, events, measured, octaves, flags, name]
            numberses.append(under_way[name])
            continue
        before[1] = max(before[1], begin + last)
        before[2] += events
        before[3] += measured
        before[4] += octaves
        before[5] = flags
    return [Session(*item) for item in sorted(numberses, key=lambda entry: (entry[1], entry[0], entry[6]))]


def activity(state: Summary, as_of: float, settings: Settings) -> list[tuple[int, int]]:
    """First and last moment of every stretch of the person's own activity, cut at pauses alone, oldest first.

    What sessions are called does not matter here: an absence is one under any name.
    """
    numberses: list[tuple[int, int]] = []
    for half_hour, _, first, last, events, *_ in raw_stretches(state):
        begin, end = half_hour * HALF_HOUR + first, half_hour * HALF_HOUR + last
        if not events or begin > as_of:
            continue
        if numberses and begin - numberses[-1][1] <= settings.inactivity:
            numberses[-1] = (min(begin, numberses[-1][0]), max(end, numberses[-1][1]))
        else:
            numberses.append((begin, end))
    return numberses


def is_closed(session: Session, as_of: float, settings: Settings) -> bool:
    """Whether nothing more can belong to it, as far as the clock tells."""
    return as_of - session.end > settings.inactivity or bool(session.flags & MARKED)


def old_pauses(state: Summary, before: float) -> list[float]:
    """Seconds of every pause of an hour or more between active half-hours that ended before a moment.

    From the table of days, so to the half-hour, and of the newest seventy days.
    """
    pauses: list[float] = []
    last: int | None = None
    for day in recent_days(state):
        left = day.active
        while left:
            slot = (left & -left).bit_length() - 1
            left &= left - 1
            at = day.day * DAY + MORNING + slot * HALF_HOUR - state.ahead
            if at >= before:
                return pauses
            if last is not None and at - last > 2 * HALF_HOUR:
                pauses.append(float(at - last))
            last = at
    return pauses
