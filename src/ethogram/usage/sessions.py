"""Sessions of a person, read from a summary, and the pauses between them."""

from __future__ import annotations

from ..models.slotted import dataclass
from .clock import HALF_HOUR, day_start
from .settings import Settings
from .summary import MARKED, Summary, raw_stretches, recent_days

LONG_PAUSE = 12
"""A named session ends after so many times the pause that ends others: a name may stand for a whole app."""


@dataclass(slots=True)
class Session:
    """One session: seconds since 1970 of its first and last event, how many, and the last one's flags.

    `measured` events had a length; `octaves` is the sum of theirs (see LENGTH_STEPS).
    """

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


def read_sessions(state: Summary, as_of: float, settings: Settings, *, by_name: bool = True) -> list[Session]:
    """The sessions begun by `as_of`, the one that ended last at the end.

    Exact where `inactivity` is 30 minutes: a half-hour holds no longer pause. Shorter pauses cannot be seen.
    Named sessions end with their name, or at a pause of hours. Without `by_name`, spans of the person's own
    activity, whatever its session.
    """
    latest: dict[int, Session] = {}
    sessions: list[Session] = []
    for half_hour, name, first, last, events, measured, octaves, flags in raw_stretches(state):
        start, end = half_hour * HALF_HOUR + first, half_hour * HALF_HOUR + last
        if start > as_of or not (by_name or events):
            continue
        name = name if by_name else 0
        session = latest.get(name)
        if session is None or start - session.end > settings.inactivity * (LONG_PAUSE if name else 1):
            latest[name] = Session(start, end, events, measured, octaves, flags, name)
            sessions.append(latest[name])
            continue
        session.start, session.end = min(session.start, start), max(session.end, end)
        session.events += events
        session.measured += measured
        session.octaves += octaves
        session.flags = flags
    return sorted(sessions, key=lambda session: (session.end, session.start, session.name))


def is_closed(session: Session, as_of: float, settings: Settings) -> bool:
    """Whether nothing more can belong to a session."""
    return as_of - session.end > settings.inactivity or bool(session.flags & MARKED)


def old_pauses(state: Summary, before: float) -> list[float]:
    """Seconds of every pause of an hour or more that ended before a moment, to the half-hour.

    Read from the table of days, so of the newest 70.
    """
    pauses: list[float] = []
    last: int | None = None
    for day in recent_days(state):
        left = day.active
        while left:
            slot = (left & -left).bit_length() - 1
            left &= left - 1
            at = day_start(day.day, state.ahead) + slot * HALF_HOUR
            if at >= before:
                return pauses
            if last is not None and at - last > 2 * HALF_HOUR:
                pauses.append(float(at - last))
            last = at
    return pauses
