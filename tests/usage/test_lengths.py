"""Longer sessions: chance makes as few alarms as the limits promise, and trifles are none."""

from __future__ import annotations

import random

import pytest

from ethogram.usage import Settings
from ethogram.usage.sessions import Session
from ethogram.usage.trends import session_trend
from usage_people import DAY

SETTINGS = Settings()
WEEKS = 17


def steady(seed: int, a_day: int) -> list[Session]:
    """Somebody whose sessions are always alike: half of them a single message, others up to twelve."""
    rng, made = random.Random(seed), []
    for day in range(7 * WEEKS):
        for start in sorted(rng.uniform(0.3, 1.0) for _ in range(rng.randint(0, 2 * a_day))):
            events = 1 if rng.random() < 0.5 else rng.randint(1, 12)
            begin = int((day + start) * DAY)
            end = begin + sum(rng.randint(5, 240) for _ in range(events - 1))
            made.append(Session(begin, end, events, 0, 0, 0, 0))
    return made


def told(sessions: list[Session]) -> dict[str, int]:
    """How often a severity is told, asked at the first session of each day; within a week it is the same."""
    counts, newest = {"low": 0, "medium": 0}, {"low": -99, "medium": -99}
    for place, session in enumerate(sessions):
        day = session.start // DAY
        if place and sessions[place - 1].start // DAY == day:
            continue
        severity = session_trend(sessions[max(0, place - 64) : place], session.start, SETTINGS).severity
        for name in counts:
            if severity == name or severity == "medium":
                counts[name] += day - newest[name] > 7
                newest[name] = day
    return counts


def test_of_sessions_that_never_change_about_as_much_is_told_as_the_limits_promise():
    people = [(1, 40), (3, 30), (8, 12)]
    found = [told(steady(seed, a_day)) for a_day, count in people for seed in range(count)]
    weeks = len(found) * WEEKS
    # Half as much again: so many weeks do not tell it more exactly.
    assert sum(item["medium"] for item in found) / weeks < 1.5 * 10**-SETTINGS.trend_medium
    assert sum(item["low"] for item in found) / weeks < 1.5 * 10**-SETTINGS.trend_low


def lasting(minutes: list[float]) -> list[Session]:
    """One session a day, a message a minute."""
    return [
        Session(day * DAY, day * DAY + round(60 * long), 1 + round(long), 0, 0, 0, 0)
        for day, long in enumerate(minutes)
    ]


@pytest.mark.parametrize(
    ("before", "now", "severity"),
    [(0, 0.8, "none"), (0, 1, "low"), (2, 4.5, "low"), (2, 5, "medium"), (10, 20, "medium")],
)
def test_a_change_by_a_minute_is_low_and_by_three_minutes_may_be_medium(
    before: float, now: float, severity: str
):
    found = session_trend(lasting([before] * 30 + [now] * 10), 41 * DAY, SETTINGS)
    assert found.severity == severity


def test_one_minute_is_one_minute():
    found = session_trend(lasting([0] * 30 + [1] * 10), 41 * DAY, SETTINGS)
    assert (
        found.sentence
        == "Sessions are increasing: the last 10 typically took 1 minute, those before 0 minutes."
    )
