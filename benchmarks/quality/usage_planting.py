"""Changes planted in people's histories: until a moment a person's own, then a period that is changed.

"To be expected" is told in two ways, and by either it is ten events or more: by the quietest of the four
weeks before (what the person did in every one of them), or by their mean. The period itself must have had ten
too. Backgrounds: `real` changes what the person really did in the period; `habit` first draws each of its
days from the person's own four weeks before, so that the habit holds up to the change; `steady`
(`steady`) draws the whole history so.

Steady people: each person's own sessions and hours, at an even pace.

Sessions are drawn from the person's own (their form and time of day), as many a day as Poisson gives at the
pace of their busiest four weeks. Says what is found of people who have a habit, which many real people have
not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from random import Random

from benchmarks.quality.usage_changes import CHANGES, LATEST, Case, Row, halved, reached, rises, row
from benchmarks.quality.usage_people import LEAST_EVENTS, People, morning_of, sessions_of
from ethogram.usage.clock import DAY, MORNING, day_of, offset

BACKGROUNDS = ("real", "habit")
MEASURES = ("quietest", "mean")
LENGTHS = (7, 14, 21, 28)
ABSENCES = (3, 21)
MONTH = 28
TRIES = 25
LEAST = 10
"""Events that were to be expected, and that were there before the change was made."""
BEFORE = 20
"""Events before the change."""
FIRST_DAY = 15
"""Days of history before the change, at least."""
HALVED = ("stretched",)
"""Changes that get half of the draws, as do rows of steady people and rows with a rise."""
STEADY = "steady"
WEEKS_BEFORE = 10
LEAST_LEFT = 3
"""Events that chance must have left in the period before it is changed."""


def planted(
    people: People, zone: str | None, seed: str, draws: int, changes: Iterable[str] = CHANGES
) -> Iterator[Row]:
    """Rows of each change, background and measure, with `draws` cases at most."""
    for change, background, measure in product(changes, BACKGROUNDS, MEASURES):
        for rise in rises(change):
            name = (change, background, measure, rise)
            item = partial(_drawn, people, change, background, measure, zone)
            count = halved(draws) if rise is not None or change in HALVED else draws
            yield row(name, people, count, Random(f"{seed}/{name}"), item)


def _drawn(
    people: People, change: str, background: str, measure: str, zone: str | None, who: str, rng: Random
) -> Case | None:
    return draw(who, people[who], change, background, measure, zone, rng)


def draw(
    who: str, times: Sequence[int], change: str, background: str, measure: str, zone: str | None, rng: Random
) -> Case | None:
    """One case for a person; None where some tries found no period in which so much was to be expected."""
    for _ in range(TRIES):
        days = rng.randint(*ABSENCES) if change == "absence" else rng.choice(LENGTHS)
        first, last = day_of(times[0], offset(times[0], zone)), day_of(times[-1], offset(times[-1], zone))
        latest = last if background == "habit" else last - days
        if latest < first + FIRST_DAY:
            continue
        begin = rng.randint(first + FIRST_DAY, latest)
        start, end = morning_of(begin, zone), morning_of(begin + days, zone)
        before = list(times[: bisect_left(times, start)])
        expected = to_expect(before, start, days, measure)
        if expected < LEAST or len(before) < BEFORE:
            continue
        if background == "habit":
            inside = _like_before(before, begin, days, min(MONTH, begin - first), zone, rng)
            after = [end + rng.randint(0, LATEST)]
        else:
            inside = list(times[len(before) : bisect_left(times, end)])
            after = list(times[len(before) + len(inside) :][:3])
        if len(inside) < LEAST or not after:
            continue
        about = (who, change, background, measure, start, days)
        return made(about, expected, (before, inside, after), end, zone, rng)
    return None


def made(
    about: tuple[str, str, str, str, int, int],
    expected: float,
    parts: tuple[list[int], list[int], list[int]],
    end: int,
    zone: str | None,
    rng: Random,
) -> Case:
    """The case with its change made."""
    change = about[1]
    before, inside, after = parts
    changed = CHANGES[change](inside, before, zone, rng)
    # Whoever was away is found when they come back, at the latest.
    tail = after if change == "absence" else []
    stop = after[0] + 1 if change == "absence" else end + 2
    times, control = sorted([*before, *changed, *tail]), [*before, *inside, *tail]
    came_to = reached(change, inside, changed, zone)
    return Case(*about, stop, expected, tuple(times), tuple(control), came_to)


def to_expect(before: Sequence[int], start: int, days: int, measure: str) -> float:
    """How many events a period of so many days would have, by the four weeks before it.

    By the quietest week only where three weeks are known: else 0.
    """
    if not before:
        return 0.0
    if measure == "mean":
        back = max(before[0], start - MONTH * DAY)
        return (len(before) - bisect_left(before, back)) / max(1.0, (start - back) / DAY) * days
    ends = [start - 7 * DAY * k for k in range(5)]
    weeks = [
        bisect_left(before, end) - bisect_left(before, begin)
        for end, begin in pairwise(ends)
        if begin >= before[0] - DAY
    ]
    return min(weeks) / 7 * days if len(weeks) >= 3 else 0.0


def _like_before(
    before: Sequence[int], begin: int, days: int, span: int, zone: str | None, rng: Random
) -> list[int]:
    """A period whose days are drawn from so many days before it."""
    out: list[int] = []
    for day in range(begin, begin + days):
        pick = begin - rng.randint(1, span)
        low, high = morning_of(pick, zone), morning_of(pick + 1, zone)
        by = morning_of(day, zone) - low
        out += [at + by for at in before[bisect_left(before, low) : bisect_left(before, high)]]
    return sorted(out)


def steady_rows(
    people: People, zone: str | None, seed: str, draws: int, changes: Iterable[str] = CHANGES
) -> Iterator[Row]:
    """Rows of each change, of half of the draws."""
    for change in changes:
        for rise in rises(change):
            name = (change, STEADY, "mean", rise)
            item = partial(_case, people, change, zone)
            yield row(name, people, halved(draws), Random(f"{seed}/{name}"), item)


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
    starts = [session[0] for session in sessions]
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
