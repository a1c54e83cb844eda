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

from .intervals import Interval, Z, wilson

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
    return Area(value, _interval(value, error, min(len(ours), len(others))), error, parts)


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


def _interval(value: float, error: float, fewer: int) -> Interval:
    """On the scale of log odds, so that it stays inside 0 to 1.

    Where every target is above all the rest nothing varies; then what `fewer` successes in a row allow.
    """
    if value in (0.0, 1.0) or error == 0:
        return wilson(value * fewer, fewer)
    middle, half = math.log(value / (1 - value)), Z * error / (value * (1 - value))
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
    """The first area less the second, on the same things in the same order (DeLong's paired test)."""
    value = one.value - other.value
    error = math.sqrt(_squares(one.parts - other.parts, group))
    p = math.erfc(abs(value) / (error * math.sqrt(2))) if error else float(value == 0)
    return Difference(value, (value - Z * error, value + Z * error), p)
