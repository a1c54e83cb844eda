"""Made-up people for the tests of usage: sessions on their own clock, in six zones, all from a seed."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from ethogram.usage import Summary, record
from sampling import seeds

DAY, HOUR, MINUTE = 86_400, 3_600, 60
VARIANTS = seeds(6, 30)
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/Los_Angeles",
    "Asia/Kolkata",
    "Pacific/Auckland",
    "America/St_Johns",
]
Event = tuple[float, dict[str, object]]


class Person:
    """A made-up person with a zone and a first day; `at` tells a moment on their own clock."""

    def __init__(self, variant: int) -> None:
        self.rng = random.Random(variant)
        self.zone = ZONES[variant % len(ZONES)]
        self.first = datetime(2026, 1, 5, tzinfo=UTC).toordinal() + self.rng.randint(0, 300)

    def at(self, day: int, hour: float) -> float:
        date = datetime.fromordinal(self.first + day).replace(tzinfo=ZoneInfo(self.zone))
        return date.timestamp() + hour * HOUR

    def session(self, day: int, hour: float, messages: int, minutes: float, **said: object) -> list[Event]:
        start = self.at(day, hour)
        gap = minutes * MINUTE / max(1, messages - 1)
        return [(start + i * gap, {"length": self.rng.randint(40, 160), **said}) for i in range(messages)]

    def know(self, events: list[Event]) -> Summary:
        state = Summary()
        for at, said in events:
            state = record(state, at, zone=self.zone, **said)  # type: ignore[arg-type]
        return state


def unzoned(events: list[Event]) -> Summary:
    """What is known of a person whose zone nobody tells."""
    state = Summary()
    for at, said in events:
        state = record(state, at, **said)  # type: ignore[arg-type]
    return state
