"""Sessions of a person, read from a summary, and the pauses between them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .clock import DAY, HALF_HOUR, MORNING
from .settings import Settings
from .summary import MARKED, Stretch, Summary, read_days, read_stretches


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


def read_sessions(state: Summary, as_of: float, settings: Settings) -> list[Session]:
    """The sessions begun by `as_of`, oldest first, from the half-hours that are kept.

    Exact where the pause is 30 minutes: inside a half-hour there is no longer one. A shorter pause than that
    cannot be told. Named sessions are cut by name.
    """
    under_way: dict[int, Session] = {}
    done: list[Session] = []
    for row in read_stretches(state):
        if row.half_hour * HALF_HOUR + row.first > as_of:
            continue
        before = under_way.get(row.session)
        if before is not None and _goes_on(before, row, settings):
            under_way[row.session] = _longer(before, row)
            continue
        if before is not None:
            done.append(before)
        begin = row.half_hour * HALF_HOUR
        under_way[row.session] = Session(
            begin + row.first, begin + row.last, row.events, row.measured, row.octaves, row.flags, row.session
        )
    return sorted([*done, *under_way.values()], key=lambda one: (one.start, one.end, one.name))


def _goes_on(before: Session, row: Stretch, settings: Settings) -> bool:
    return row.session != 0 or row.half_hour * HALF_HOUR + row.first - before.end <= settings.inactivity


def _longer(before: Session, row: Stretch) -> Session:
    return replace(
        before,
        end=max(before.end, row.half_hour * HALF_HOUR + row.last),
        events=before.events + row.events,
        measured=before.measured + row.measured,
        octaves=before.octaves + row.octaves,
        flags=row.flags | before.flags & MARKED,
    )


def is_closed(session: Session, as_of: float, settings: Settings) -> bool:
    """Whether nothing more can belong to it, as far as the clock tells."""
    return as_of - session.end > settings.inactivity or bool(session.flags & MARKED)


def old_pauses(state: Summary, before: float) -> list[float]:
    """Seconds of every pause of an hour or more between active half-hours that ended before a moment.

    From the table of days, so to the half-hour, and of the newest seventy days.
    """
    pauses: list[float] = []
    last: int | None = None
    for day in read_days(state):
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
