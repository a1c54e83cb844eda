"""Changes planted in people's histories: until a moment a person's own, then a period that is changed.

"To be expected" is told in two ways, and by either it is ten events or more: by the quietest of the four
weeks before (what the person did in every one of them), or by their mean. The period itself must have had ten
too. Backgrounds: `real` changes what the person really did in the period; `habit` first draws each of its
days from the person's own four weeks before, so that the habit holds up to the change; `steady`
(plant_usage_steady.py) draws the whole history so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from random import Random

from ..usage.clock import DAY, day_of, offset
from .plant_usage_change import CHANGES, LATEST
from .validate_usage_found import morning_of
from .validate_usage_people import People, at_night

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
NIGHT_RISE = 0.3
"""By how much the share of the night rises in a change to it: a night person's day has nowhere to go."""


@dataclass(frozen=True, slots=True)
class Case:
    """One planted change. `control` is the same history without it; both end at `stop`.

    `expected` is how many events the measure promised for the period, `start` to `start` + `days`.
    """

    who: str
    change: str
    background: str
    measure: str
    start: int
    days: int
    stop: int
    expected: float
    times: tuple[int, ...]
    control: tuple[int, ...]


def planted(
    people: People, zone: str | None, seed: str, draws: int, changes: Iterable[str] = CHANGES
) -> Iterator[Case]:
    """Cases of each change, background and measure, `draws` at most; everybody once before anybody twice."""
    rng = Random(seed)
    for change, background, measure in product(changes, BACKGROUNDS, MEASURES):
        cases = (
            case
            for who in in_turn(people, draws, rng)
            if (case := draw(who, people[who], change, background, measure, zone, rng)) is not None
        )
        yield from islice(cases, draws)


def in_turn(people: People, draws: int, rng: Random) -> Iterator[str]:
    """Everybody in an order by chance; again as often as so many draws may need."""
    for _ in range(1 + draws // max(1, len(people))):
        yield from rng.sample(sorted(people), len(people))


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
        if background == "habit":
            inside = _like_before(before, begin, days, min(MONTH, begin - first), zone, rng)
            after = [end + rng.randint(0, LATEST)]
        else:
            inside = list(times[len(before) : bisect_left(times, end)])
            after = list(times[len(before) + len(inside) :][:3])
        if min(expected, len(inside)) < LEAST or len(before) < BEFORE or not after:
            continue
        about = (who, change, background, measure, start, days)
        case = made(about, expected, (before, inside, after), end, zone, rng)
        if case is not None:
            return case
    return None


def made(
    about: tuple[str, str, str, str, int, int],
    expected: float,
    parts: tuple[list[int], list[int], list[int]],
    end: int,
    zone: str | None,
    rng: Random,
) -> Case | None:
    """The case with its change made; None where a change to the night has nothing to move."""
    change = about[1]
    before, inside, after = parts
    changed = CHANGES[change](inside, before, zone, rng)
    if "night" in change and at_night(changed, zone) - at_night(inside, zone) < NIGHT_RISE:
        return None
    # Whoever was away is found when they come back, at the latest.
    tail = after if change == "absence" else []
    stop = after[0] + 1 if change == "absence" else end + 2
    times, control = sorted([*before, *changed, *tail]), [*before, *inside, *tail]
    return Case(*about, stop, expected, tuple(times), tuple(control))


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
