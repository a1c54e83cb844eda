"""Steady people: each person's own sessions and hours, at an even pace.

Sessions are drawn from the person's own (their form and time of day), as many a day as Poisson gives at the
pace of their busiest four weeks. Says what is found of people who have a habit, which many real people have
not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from random import Random

from ..usage.clock import DAY, MORNING, day_of, offset
from .plant_usage import ABSENCES, LEAST, LENGTHS, MONTH, made
from .plant_usage_change import CHANGES
from .plant_usage_row import Case, Row, halved, rises, row
from .validate_usage_found import morning_of
from .validate_usage_people import LEAST_EVENTS, People, sessions_of

STEADY = "steady"
WEEKS_BEFORE = 10
LEAST_LEFT = 3
"""Events that chance must have left in the period before it is changed."""


def steady_rows(
    people: People, zone: str | None, seed: str, draws: int, changes: Iterable[str] = CHANGES
) -> Iterator[Row]:
    """Rows of each change, of half of the draws."""
    for change in changes:
        for rise in rises(change):
            name = (change, STEADY, "mean", rise)
            one = partial(_case, people, change, zone)
            yield row(name, people, halved(draws), Random(f"{seed}/{name}"), one)


def steady_people(people: People, zone: str | None, seed: str) -> People:
    """For each person fourteen steady weeks without any change; those with thirty events."""
    rng = Random(seed)
    made_up = {who: steady(times, (WEEKS_BEFORE + 4) * 7, zone, rng) for who, times in people.items()}
    return {who: times for who, times in made_up.items() if len(times) >= LEAST_EVENTS}


def _case(people: People, change: str, zone: str | None, who: str, rng: Random) -> Case | None:
    times = people[who]
    days = rng.randint(*ABSENCES) if change == "absence" else rng.choice(LENGTHS)
    length = WEEKS_BEFORE * 7
    first = day_of(times[0], offset(times[0], zone))
    history = steady(times, length + days + 7, zone, rng)
    start, end = morning_of(first + length, zone), morning_of(first + length + days, zone)
    begins, ends = bisect_left(history, start), bisect_left(history, end)
    before, inside, after = history[:begins], history[begins:ends], history[ends:][:3]
    expected = len(before) / length * days
    if expected < LEAST or len(inside) < LEAST_LEFT or not after:
        return None
    about = (who, change, STEADY, "mean", start, days)
    return made(about, expected, (before, inside, after), end, zone, rng)


def steady(times: Sequence[int], days: int, zone: str | None, rng: Random) -> list[int]:
    """So many days of a person's own sessions, from the day of their first event on."""
    sessions = sessions_of(times)
    starts = [one[0] for one in sessions]
    pace = max(bisect_left(starts, at + MONTH * DAY) - k for k, at in enumerate(starts)) / MONTH
    first = day_of(times[0], offset(times[0], zone))
    out: list[int] = []
    for day in range(first, first + days):
        for _ in range(poisson(pace, rng)):
            form = rng.choice(sessions)
            into = (form[0] + offset(form[0], zone) - MORNING) % DAY
            begin = morning_of(day, zone) + into
            out += [begin + at - form[0] for at in form]
    return sorted(out)


def poisson(mean: float, rng: Random) -> int:
    """A number by chance that is `mean` on average.

    >>> poisson(0.0, Random(1))
    0
    """
    limit, count, product = math.exp(-mean), 0, rng.random()
    while product > limit:
        count, product = count + 1, product * rng.random()
    return count
