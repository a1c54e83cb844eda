"""Rows of planted changes: cases of one kind, and how many draws were left out of them, so that it is told.

A day that moves into the night may come to little: a day of fourteen hours has only three of them there. So
changes to the night stand in two rows: however little it came to, and those that raise the share of the night
by NIGHT_RISE or more, with how many draws that left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from .validate_usage_people import People

NIGHT_RISE = 0.3
"""By how much the share of the night rises at least in the second row of a change to it."""
MOST_EACH = 5
"""Cases of one person in a row at most."""
TURNS = 25
"""How often everybody is drawn in a row at most, where a change must come to so much."""


@dataclass(frozen=True, slots=True)
class Case:
    """One planted change. `control` is the same history without it; both end at `stop`.

    `expected` is how many events the measure promised for the period, `start` to `start` + `days`; `reached`
    is what the change came to (plant_usage_change.py).
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
    kept: list[Case] = []
    drawn, each = 0, Counter[str]()
    for _ in range(MOST_EACH if rise is None else TURNS):
        again = []
        for who in rng.sample(left, len(left)):
            if len(kept) == draws:
                break
            case = draw_one(who, rng)
            if case is None:
                continue
            drawn += 1
            if is_enough(case, rise):
                kept.append(case)
                each[who] += 1
            if each[who] < MOST_EACH:
                again.append(who)
        left = again
    return Row(*name, tuple(kept), drawn, drawn - len(kept))


def is_enough(case: Case, rise: float | None) -> bool:
    """Whether the change came to anything, and to so much."""
    return case.times != case.control and (rise is None or (case.reached or 0.0) >= rise)
