"""Chances put together: one code for the risk of subjects, of conversations and of people.

All is done in whole numbers and rounded once at the end, so that neither order nor ties matter to the last
digit, and a part that grows never makes the whole less.
"""

from __future__ import annotations

from collections.abc import Iterable

ONE = 1 << 60

Odds = tuple[int, int]
"""For and against, as whole numbers of any length."""


def either(parts: Iterable[float]) -> float:
    """How likely it is that at least one of several independent things is so: 1 - product of (1 - part).

    Parts are from 0 to 1. 0 where there are none.

    >>> either([0.5, 0.5]), either([0.3]), either([])
    (0.75, 0.3, 0.0)
    """
    return chance(odds(parts))


def odds(parts: Iterable[float]) -> Odds:
    """The odds of that, to be multiplied further.

    >>> chance(multiplied(odds([0.5]), [3.0]))
    0.75
    """
    left, whole = 1, 1
    for part in parts:
        left *= ONE - _whole(part)
        whole *= ONE
    return whole - left, left


def multiplied(told: Odds, factors: Iterable[float]) -> Odds:
    """Odds times factors, each of which is above 0."""
    for_, against = told
    for factor in factors:
        for_, against = for_ * _whole(factor), against * ONE
    return for_, against


def chance(told: Odds) -> float:
    """The chance that odds stand for. Python divides whole numbers exactly, then rounds once."""
    return told[0] / sum(told)


def _whole(value: float) -> int:
    """A number in steps of 2^-60: finer than anything that is told, and never the other way round."""
    return int(value * ONE)
