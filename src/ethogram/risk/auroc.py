"""AUROC: how often a target scores above what is none, with intervals by groups and a paired test.

By DeLong's components: each thing's own part in the area. Parts of one group are added before they are
squared, so that a group counts as one observation; with one thing a group that is DeLong's variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..usage.beta import share_below
from .intervals import Interval, student, wilson

Floats = NDArray[np.float64]
IMAGINED = 5
"""Things that a side is taken to have besides its own when it is asked how much it varies."""


@dataclass(frozen=True, slots=True)
class Area:
    """The area and its interval of 95 %; `parts` is what each thing adds to or takes from it."""

    value: float
    interval: Interval
    error: float
    parts: Floats


def auroc(scores: Sequence[float], true: Sequence[bool], group: Sequence[int]) -> Area | None:
    """The area, ties counted half; None where one of the two kinds is missing."""
    score, is_true = np.asarray(scores, dtype=float), np.asarray(true, dtype=bool)
    ours, others = np.sort(score[is_true]), np.sort(score[~is_true])
    if not len(ours) or not len(others):
        return None
    above = _share_below(others, score)
    parts = np.where(is_true, above, 1 - _share_below(ours, score))
    value = float(above[is_true].mean())
    parts = (parts - value) / np.where(is_true, len(ours), len(others))
    few = _lacking(value, above[is_true]) + _lacking(value, 1 - _share_below(ours, others))
    error = math.sqrt(_squares(parts, group) + few)
    fewer = min(len(ours), len(others))
    return Area(value, _interval(value, error, fewer, _free(is_true, group)), error, parts)


def _free(is_true: NDArray[np.bool_], group: Sequence[int]) -> float:
    """Of how many things the error is known: groups less one, and on the smaller side those imagined too."""
    every = np.asarray(group)
    sides = min(len(set(every[kind].tolist())) for kind in (is_true, ~is_true))
    return max(1.0, min(len(set(every.tolist())), sides + IMAGINED) - 1.0)


def _lacking(value: float, own: Floats) -> float:
    """What to add to the variance where a side has so few things that they vary less than they may.

    As if there were a few more that vary as Hanley and McNeil take things to: three things that happen to
    score alike do not make an area certain. With a hundred things it is next to nothing.
    """
    usual = min(value / (2 - value), 2 * value**2 / (1 + value)) - value**2
    seen = float(own.var(ddof=1)) if len(own) > 1 else 0.0
    return IMAGINED / (len(own) + IMAGINED) * max(0.0, usual - seen) / len(own)


def area_of(bad: Sequence[float] | Floats, good: Sequence[float] | Floats) -> float:
    """The area alone: the chance that one of the bad scores above one of the good; ties count half.

    >>> area_of([2, 3], [1, 2])
    0.875
    """
    return float(_share_below(np.sort(np.asarray(good, dtype=float)), np.asarray(bad, dtype=float)).mean())


def _share_below(of: Floats, score: Floats) -> Floats:
    """For each score the share of these (sorted) that lie below it, equal ones counted half."""
    ends = np.searchsorted(of, score, "left") + np.searchsorted(of, score, "right")
    return np.asarray(ends / (2 * len(of)), dtype=float)


def _squares(parts: Floats, group: Sequence[int]) -> float:
    sums = np.bincount(np.asarray(group), parts)
    n = len(sums)
    return float((sums**2).sum()) * n / (n - 1) if n > 1 else 0.25


def _interval(value: float, error: float, fewer: int, free: float) -> Interval:
    """On the scale of log odds, so that it stays inside 0 to 1.

    Where every target is above all the rest nothing varies; then what `fewer` successes in a row allow.
    """
    if value in (0.0, 1.0) or error == 0:
        return wilson(value * fewer, fewer)
    middle, half = math.log(value / (1 - value)), student(free) * error / (value * (1 - value))
    return _share(middle - half), _share(middle + half)


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """One number less another, on the same things: with its interval of 95 % and the chance of it by luck."""

    value: float
    interval: Interval
    p: float


def area_difference(one: Area, other: Area, group: Sequence[int]) -> Difference:
    """The first area less the second, on the same things in the same order (DeLong's paired test).

    By Student's law, for as many groups as there are.
    """
    value = one.value - other.value
    error = math.sqrt(_squares(one.parts - other.parts, group))
    groups = len(set(group))
    if not error:
        return unvaried(value, groups)
    free = max(1.0, groups - 1.0)
    p = share_below(free / (free + (value / error) ** 2), free / 2, 0.5)
    half = student(free) * error
    return Difference(value, (max(-1.0, value - half), min(1.0, value + half)), p)


def unvaried(value: float, groups: int) -> Difference:
    """A difference that is the same in every group, which so many groups make no more certain than that.

    As many heads in a row have the chance p, and Wilson's interval says how much of it may be left, or how
    much there may be where none was seen.

    >>> unvaried(-0.5, 4).p, [round(end, 2) for end in unvaried(0.0, 4).interval]
    (0.125, [-0.49, 0.49])
    """
    if not value:
        most = wilson(0, groups)[1]
        return Difference(value, (-most, most), 1.0)
    low, high = sorted((value, value * wilson(groups, groups)[0]))
    return Difference(value, (low, high), min(1.0, 2.0 ** (1 - groups)))
