"""Timing signals: local hour, late night, sessions, reply gap."""

from __future__ import annotations

import math
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from ..models import Event, micros
from ..models.constants import NOT_PLACES
from .base import Unmeasured, short, signal
from .options import Options

# The subject's own clock: the local time of an event, summer time included.
#
# A zone's name comes from the event, so from strangers. It is only ever looked up among the known
# names and never becomes part of a path.


def local_time(event: Event, options: Options) -> datetime | Unmeasured | None:
    """The event's time on the subject's own clock, from its attribute `time_zone` or the default zone.

    None where no zone is known or the source has no times; Unmeasured where the zone's name means
    nothing: the default is not used in its place, since the subject does live somewhere else.

    >>> event = Event.sample(local="2026-07-01 03:10", zone="Europe/Paris")
    >>> local_time(event, Options())
    datetime.datetime(2026, 7, 1, 3, 10, tzinfo=zoneinfo.ZoneInfo(key='Europe/Paris'))
    """
    name = event.attributes.get("time_zone")
    if name is None or name == "":
        name = options.time_zone
    if name is None or not event.timed:
        return None
    if not isinstance(name, str) or not is_zone(name):
        return Unmeasured(f"unknown time zone {name!r:.60}")
    try:
        return event.at.astimezone(_zone(name))
    except OverflowError:
        return None  # within a day of the year 1 or 9999


def is_zone(name: str) -> bool:
    """Whether a name is that of a known IANA time zone.

    >>> is_zone("Asia/Kolkata"), is_zone("../../etc/passwd"), is_zone("localtime")
    (True, False, False)
    """
    return name in _names()


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(available_timezones()) - NOT_PLACES


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


@signal("local_hour", range=(0, 24))
def local_hour(event: Event, options: Options | None = None) -> float | Unmeasured | None:
    """Hours since midnight on the subject's own clock: 3.5 is half past three.

    What the clock shows, also on the two days a year with 23 or 25 hours. Absent where the subject's
    zone is not known.

    >>> local_hour(Event.sample(local="2026-11-15 03:30", zone="Asia/Tokyo"))
    3.5
    """
    local = local_time(event, options or Options())
    if not isinstance(local, datetime):
        return local
    return local.hour + local.minute / 60 + local.second / 3600


@signal("late_night", range=(0, 1))
def late_night(event: Event, options: Options | None = None) -> float | Unmeasured | None:
    """1.0 from two to five in the morning on the subject's own clock, else 0.0.

    Five o'clock itself is morning. Absent where the subject's zone is not known.

    >>> late_night(Event.sample(local="2026-11-15 03:10", zone="Asia/Tokyo"))
    1.0
    """
    # The subject's clock, since 03:00 on the server is mid-afternoon somewhere.
    local = local_time(event, options or Options())
    return float(2 <= local.hour < 5) if isinstance(local, datetime) else local


# Sessions: a subject's events cut where the subject paused for longer than `inactivity`.
#
# Where both an event and the session under way have a name (`event.session`), the names decide instead.

Place = tuple[int | None, str | None, int]
"""At an event: its time in microseconds (None: untimed), its session's name, its position from 1."""


def advance(before: Place | None, event: Event, inactivity: int) -> Place | None:
    """The place of an event in its session, given that of the subject's previous event.

    None where the source has no times and the event names no session.
    A pause of exactly `inactivity` microseconds is still inside the session.
    """
    name = None if event.session is None else short(event.session)
    at = micros(event.at) if event.timed else None
    if at is None and name is None:
        return None
    if before is None or _is_cut(before, at, name, inactivity):
        return (at, name, 1)
    return (at, name or before[1], before[2] + 1)


def _is_cut(before: Place, at: int | None, name: str | None, inactivity: int) -> bool:
    last, named, _ = before
    if name is not None and named is not None:
        return name != named
    return at is None or last is None or at - last > inactivity


@signal("session_start", range=(0, 1), needs=("session_position",))
def session_start(event: Event) -> float | None:
    """1.0 at the first event of a session, else 0.0; absent where its position is.

    >>> session_start(Event.sample(readings={"session_position": 1.0}))
    1.0
    """
    position = event.readings.get("session_position")
    return None if position is None else float(position == 1)


@signal("session_position", range=(1, math.inf))
class SessionPosition:
    """Position of the event in the subject's session, counted from 1."""

    scope = "subject"
    start: Place | None = None
    max_state_bytes = 1024

    def measure(
        self, event: Event, state: Place | None, options: Options
    ) -> tuple[float | None, Place | None]:
        place = advance(state, event, options.session_inactivity)
        return (None, state) if place is None else (float(place[2]), place)


# reply_gap: how long an answer took.

Spoken = tuple[str, int]
"""Who, and when in microseconds."""

ReplyState = tuple[Spoken, Spoken | None] | None
"""The thread's newest event, and its newest by anyone else: enough to know another's last one."""


@signal("reply_gap", range=(0, math.inf))
class ReplyGap:
    """Seconds since the newest earlier event of another subject in this thread; absent if there is none.

    Absent also outside a thread and where the source has no times.
    """

    scope = "thread"
    start: ReplyState = None
    max_state_bytes = 2048

    def measure(self, event: Event, state: ReplyState) -> tuple[float | None, ReplyState]:
        if not event.timed:
            return None, state
        who, at = short(event.subject), micros(event.at)
        if state is None:
            return None, ((who, at), None)
        newest, other = state
        previous = newest if newest[0] != who else other
        gap = None if previous is None or at < previous[1] else (at - previous[1]) / 1_000_000
        return gap, ((who, at), previous)
