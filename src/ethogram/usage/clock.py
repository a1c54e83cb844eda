"""A person's own clock: days that begin at five in the morning, and the half-hours in them.

A night belongs to the evening before it: a session from 23:50 to 00:40 lies in one day.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from ..errors import BadUsage, did_you_mean

HOUR = 3_600
DAY = 86_400
HALF_HOUR = 1_800
MORNING = 5 * 3_600
SLOTS = 48
WEEK = 7
"""Days of a week."""


@cache
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones() - {"localtime", "Factory"})


@lru_cache(maxsize=1024)
def find_zone(name: str) -> ZoneInfo:
    """Return the zone of a name; BadUsage where there is none. The name never becomes part of a path."""
    if name not in _zone_names():
        near = did_you_mean(name[:60], _zone_names()) or ": expected one such as Europe/Berlin"
        raise BadUsage(f"unknown time zone {name!r:.60}{near}")
    return ZoneInfo(name)


@lru_cache(maxsize=65_536)
def _offset(quarter: int, name: str) -> int:
    delta = datetime.fromtimestamp(quarter * 900, UTC).astimezone(find_zone(name)).utcoffset()
    return 0 if delta is None else int(delta.total_seconds())


def offset(at: int, zone: str | None) -> int:
    """Seconds that a zone's clock is ahead of UTC at a moment, summer time included; 0 without a zone.

    >>> offset(1_750_000_000, "Europe/Berlin"), offset(1_735_000_000, "Europe/Berlin")
    (7200, 3600)
    """
    # Zones change on quarter hours only, so a quarter hour can be cached.
    return 0 if zone is None else _offset(at // 900, zone)


def day_of(at: float, ahead: int) -> int:
    """Number of the day on the own clock, counted from 1970; it begins at five in the morning."""
    return (int(at) + ahead - MORNING) // DAY


def day_start(day: int, ahead: int) -> int:
    """Seconds since 1970 at which a day of the own clock begins."""
    return day * DAY + MORNING - ahead


def slot_of(at: int, ahead: int) -> int:
    """Half-hour of that day, 0 to 47."""
    return (at + ahead - MORNING) % DAY // HALF_HOUR


def hour_of(slot: int) -> float:
    """Hour on the clock at which a half-hour of the day begins.

    >>> hour_of(0), hour_of(47)
    (5.0, 4.5)
    """
    return (slot / 2 + 5) % 24


@lru_cache(maxsize=1024)
def night_slots(night: tuple[int, int], ahead: float = 0.0) -> int:
    """Mask of the half-hours at night, where the own clock is `ahead` hours of the recorded one.

    >>> bin(night_slots((2, 5))).count("1")
    6
    """
    begin, end = night
    width = (end - begin) % 24
    return sum(1 << slot for slot in range(SLOTS) if (hour_of(slot) + ahead - begin) % 24 < width)
