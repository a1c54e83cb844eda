"""The subject's own clock: the local time of an event, summer time included.

A zone's name comes from the event, so from strangers. It is only ever looked up among the known
names and never becomes part of a path.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from ..records import Event
from .define import Unmeasured
from .options import Options

NOT_PLACES = frozenset({"localtime", "Factory"})
"""In the list of names, but they say where the machine is, or nothing."""


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
