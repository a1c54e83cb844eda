"""The person's own clock: days that begin at five in the morning, and half-hours in them.

A day begins at five since a night belongs to the evening before it: a talk from 23:50 to 00:40 is one day's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from ..errors import BadUsage, did_you_mean

HOUR = 3_600
DAY = 86_400
HALF_HOUR = 1_800
MORNING = 5 * 3_600
SLOTS = 48


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    # A name comes from strangers: it is only ever looked up, and never becomes part of a path.
    known = available_timezones() - {"localtime", "Factory"}
    if name not in known:
        raise BadUsage(f"unknown time zone {name!r:.60}{did_you_mean(name, known)}")
    return ZoneInfo(name)


@lru_cache(maxsize=65_536)
def _offset(quarter: int, name: str) -> int:
    found = datetime.fromtimestamp(quarter * 900, UTC).astimezone(_zone(name)).utcoffset()
    return 0 if found is None else int(found.total_seconds())


def offset(at: int, zone: str | None) -> int:
    """Seconds that the person's clock is ahead of UTC at a moment, summer time included; 0 without a zone.

    >>> offset(1_750_000_000, "Europe/Berlin"), offset(1_735_000_000, "Europe/Berlin")
    (7200, 3600)
    """
    # Zones change on quarter hours only, so that a quarter hour may be remembered.
    return 0 if zone is None else _offset(at // 900, zone)


def day_of(at: int, ahead: int) -> int:
    """Which day it is on the own clock, counted from 1970; it begins at five in the morning."""
    return (at + ahead - MORNING) // DAY


def slot_of(at: int, ahead: int) -> int:
    """Which half-hour of that day, 0 to 47."""
    return (at + ahead - MORNING) % DAY // HALF_HOUR


def hour_of(slot: int) -> float:
    """The hour on the clock at which a half-hour of the day begins.

    >>> hour_of(0), hour_of(47)
    (5.0, 4.5)
    """
    return (slot / 2 + 5) % 24


@lru_cache(maxsize=1024)
def night_slots(night: tuple[int, int], ahead: float = 0.0) -> int:
    """Mask of the half-hours that lie in the night, where clocks run `ahead` hours of the one recorded.

    >>> bin(night_slots((2, 5))).count("1")
    6
    """
    begin, end = night
    width = (end - begin) % 24
    return sum(1 << slot for slot in range(SLOTS) if (hour_of(slot) + ahead - begin) % 24 < width)


@dataclass(frozen=True, slots=True)
class Inferred:
    """A guess of how many hours the own clock is ahead of the recorded one, and how sure that is (0..1)."""

    hours: float
    confidence: float


SLEEP_CENTRE = 5.5
"""People are least active around half past five: the middle of the quietest seven hours in public chat."""
SLEEP_HOURS = 7
SUREST = 0.95
"""A guess is never as sure as what was told."""


def infer_zone(activity: Sequence[float], least: float = 40.0) -> Inferred:
    """Where the person lives, told from the quietest seven hours of 48 half-hours of activity (UTC days at
    five).

    Confidence is how much emptier these hours are than chance leaves them, times how much is known; `least`
    active half-hours are known well enough. A night-shift worker is told wrong, which is why an inferred zone
    serves only to compare a person with their own past.
    """
    total = sum(activity)
    if total <= 0:
        return Inferred(0.0, 0.0)
    width = SLEEP_HOURS * 2
    sums = [sum(activity[(start + i) % SLOTS] for i in range(width)) for start in range(SLOTS)]
    low = min(sums)
    # The middle of all starts that are as quiet, so that a long empty stretch is taken in its middle.
    start = _middle([i for i, value in enumerate(sums) if value <= low + 0.01 * total])
    centre = (hour_of(int(start) % SLOTS) + (start % 1) / 2 + SLEEP_HOURS / 2) % 24
    hours = (SLEEP_CENTRE - centre + 12) % 24 - 12
    emptiness = max(0.0, 1 - low / total / (SLEEP_HOURS / 24))
    return Inferred(round(hours), min(SUREST, emptiness * min(1.0, total / least)))


def _middle(places: Sequence[int]) -> float:
    """The middle of the longest run of places round the day."""
    result = set(places)
    runs = []
    for first in result:
        if (first - 1) % SLOTS not in result or len(result) == SLOTS:
            length = 0
            while (first + length) % SLOTS in result and length < SLOTS:
                length += 1
            runs.append((length, -first))
    length, first = max(runs)
    return (-first + (length - 1) / 2) % SLOTS
