"""Changes of how a person uses a service: what a period would have been, changed.

Each takes the times inside the period, those before it, the zone and a source of chance, and gives the
times that take their place.

Rows of planted changes: cases of one kind, and how many draws were left out of them, so that it is told.

A day that moves into the night may come to little: a day of fourteen hours has only three of them there. So
changes to the night stand in two rows: however little it came to, and those that raise the share of the night
by NIGHT_RISE or more, with how many draws that left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from benchmarks.quality.usage_people import NIGHT, PAUSE, People, at_night, hour_of_day, sessions_of
from ethogram.usage.clock import DAY

Times = Sequence[int]
Change = Callable[[Times, Times, str | None, Random], list[int]]

KEPT = 0.2
"""The share that is left in a withdrawal."""
MOVED = 0.7
"""The share of sessions that move into the night, where not the whole day does."""
SHIFT_TO = 3.5
"""The hour to which the middle of a day moves."""
LONGER = ("twice_as_long", "twice_as_much", "stretched")
"""Changes of how long sessions are, told by their minutes."""
WANTED: Mapping[str, tuple[str, ...]] = {
    "fewer_sessions": ("withdrawal", "frequency_drop"),
    "fewer_events": ("withdrawal", "frequency_drop"),
    "night_shift": ("late_night_shift",),
    "into_night": ("late_night_shift",),
    "twice_as_long": ("session_length_trend",),
    "twice_as_much": ("session_length_trend",),
    "stretched": ("session_length_trend",),
    "absence": ("return_after_absence", "withdrawal", "frequency_drop"),
}
"""The patterns any of which is to find a change."""
LATEST = DAY
"""How long after the end of an absence somebody is back, where that is made up."""
NIGHT_RISE = 0.3
"""By how much the share of the night rises at least in the second row of a change to it."""
MOST_EACH = 5
"""Cases of one person in a row at most."""
TURNS = 25
"""How often everybody is drawn in a row at most, where a change must come to so much."""


def fewer_sessions(inside: Times, before: Times, zone: str | None, rng: Random) -> list[int]:
    """Every session stays with a chance of one in five."""
    return [at for item in sessions_of(inside) if rng.random() < KEPT for at in item]


def fewer_events(inside: Times, before: Times, zone: str | None, rng: Random) -> list[int]:
    """Every event stays with a chance of one in five."""
    return [at for at in inside if rng.random() < KEPT]


def night_shift(inside: Times, before: Times, zone: str | None, rng: Random) -> list[int]:
    """The whole day moves by as many hours as bring its middle to half past three in the night."""
    hours = (SHIFT_TO - middle_hour(before[-200:], zone) + 12) % 24 - 12
    return sorted(at + round(hours * 3_600) for at in inside)


def into_night(inside: Times, before: Times, zone: str | None, rng: Random) -> list[int]:
    """Seven of ten sessions move to some time from two to five in the nearest night."""
    out: list[int] = []
    for item in sessions_of(inside):
        hour, by = hour_of_day(item[0], zone), 0
        if rng.random() < MOVED and not NIGHT[0] <= hour < NIGHT[1]:
            by = round(((rng.uniform(2, 4.7) - hour + 12) % 24 - 12) * 3_600)
        out += [at + by for at in item]
    return sorted(out)


def twice_as_long(inside: Times, before: Times, zone: str | None, rng: Random) -> list[int]:
    """Every session goes through its own pauses once more: twice its minutes.

    A session of one message stays one message, since it has no minutes that could be doubled.

    >>> twice_as_long([0, 60, 200, 9000], [], None, Random(1))
    [0, 60, 200, 260, 400, 9000]
    """
    out: list[int] = []
    for item in sessions_of(inside):
        out += item
        out += [item[-1] + at - item[0] for at in item[1:]]
    return sorted(out)


def twice_as_much(inside: Times, before: Times, zone: str | None, rng: Random) -> list[int]:
    """Every session goes on, after a pause that the person has made before, with as many messages again.

    A session of one message becomes one of two, so that minutes are more than doubled for most people.

    >>> twice_as_much([0, 60, 9000], [0, 30], None, Random(1))
    [0, 60, 90, 150, 9000, 9030]
    """
    pauses = [b - a for item in sessions_of(before) for a, b in pairwise(item)] or [120]
    out: list[int] = []
    for item in sessions_of(inside):
        begin = item[-1] + max(1, rng.choice(pauses))
        out += [*item, *(begin + at - item[0] for at in item)]
    return sorted(out)


def stretched(inside: Times, before: Times, zone: str | None, rng: Random) -> list[int]:
    """The same messages over twice the time; no pause grows beyond what ends a session."""
    out: list[int] = []
    for item in sessions_of(inside):
        at = item[0]
        out.append(at)
        for a, b in pairwise(item):
            at += min(PAUSE, 2 * (b - a))
            out.append(at)
    return sorted(out)


def gone(inside: Times, before: Times, zone: str | None, rng: Random) -> list[int]:
    """Nothing at all."""
    return []


def middle_hour(times: Times, zone: str | None) -> float:
    """The middle of somebody's day, round the clock.

    >>> round(middle_hour([23 * 3600, 25 * 3600], None), 6) % 24
    0.0
    """
    angles = [(hour_of_day(at, zone)) / 24 * 2 * math.pi for at in times]
    angle = math.atan2(sum(map(math.sin, angles)), sum(map(math.cos, angles)))
    return angle / (2 * math.pi) * 24 % 24


def mean_minutes(times: Times) -> float:
    """The mean length of the sessions in minutes.

    >>> mean_minutes([0, 120, 9000])
    1.0
    """
    sessions = sessions_of(times)
    return sum(session[-1] - session[0] for session in sessions) / 60 / max(1, len(sessions))


def reached(change: str, inside: Times, changed: Times, zone: str | None) -> float | None:
    """What a change came to: the share of events left, by how much the share of the night rose, or how many
    times as long sessions are on average. None where nothing can be told: no session had any length.
    """
    if "night" in change:
        return at_night(changed, zone) - at_night(inside, zone)
    if change in LONGER:
        usual = mean_minutes(inside)
        return mean_minutes(changed) / usual if usual else None
    return len(changed) / len(inside) if inside else None


CHANGES: Mapping[str, Change] = {
    "fewer_sessions": fewer_sessions,
    "fewer_events": fewer_events,
    "night_shift": night_shift,
    "into_night": into_night,
    "twice_as_long": twice_as_long,
    "twice_as_much": twice_as_much,
    "stretched": stretched,
    "absence": gone,
}
"""Every change by name."""


@dataclass(frozen=True, slots=True)
class Case:
    """One planted change. `control` is the same history without it; both end at `stop`.

    `expected` is how many events the measure promised for the period, `start` to `start` + `days`; `reached`
    is what the change came to.
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
    reached: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Cases of one change, background and measure.

    `rise` is the least by which the share of the night rises; None: however little. `drawn` is how many
    changes were made, `too_small` how many of them were left out: they changed nothing, or less than `rise`.
    """

    change: str
    background: str
    measure: str
    rise: float | None
    cases: tuple[Case, ...]
    drawn: int
    too_small: int


Draw = Callable[[str, Random], Case | None]
"""One case of a person, by chance; None where there is none."""


def rises(change: str) -> tuple[float | None, ...]:
    """By how much the share of the night rises at least, row by row."""
    return (None, NIGHT_RISE) if "night" in change else (None,)


def halved(draws: int) -> int:
    """Half of the draws, but one at least."""
    return (draws + 1) // 2


def row(
    name: tuple[str, str, str, float | None], people: People, draws: int, rng: Random, draw_one: Draw
) -> Row:
    """A row of so many cases at most; everybody once before anybody twice, nobody more than MOST_EACH times.

    Whoever has no period to be changed is not asked again.
    """
    rise, left = name[-1], sorted(people)
    cases: list[Case] = []
    drawn, each = 0, Counter[str]()
    for _ in range(MOST_EACH if rise is None else TURNS):
        again = []
        for who in rng.sample(left, len(left)):
            if len(cases) == draws:
                break
            case = draw_one(who, rng)
            if case is None:
                continue
            drawn += 1
            if is_enough(case, rise):
                cases.append(case)
                each[who] += 1
            if each[who] < MOST_EACH:
                again.append(who)
        left = again
    return Row(*name, tuple(cases), drawn, drawn - len(cases))


def is_enough(case: Case, rise: float | None) -> bool:
    """Whether the change came to anything, and to so much."""
    return case.times != case.control and (rise is None or (case.reached or 0.0) >= rise)
