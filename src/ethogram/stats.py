"""Statistics: distributions, intervals, rank tests, isotonic regression, noisy-or."""

from __future__ import annotations

import math
from collections.abc import Iterable

# Chances put together: one code for the risk of subjects, of conversations and of people.
#
# All is done in whole numbers and rounded once at the end, so that neither order nor ties matter to the last
# digit, and a part that grows never makes the whole less.

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


# Tail probabilities, by hand because SciPy is too heavy a dependency for two functions.

_TINY = 1e-300


def student_two_sided(t: float, degrees: float) -> float:
    """P(|T| >= |t|) of Student's t.

    >>> round(student_two_sided(2.228, 10), 3)
    0.05
    """
    x = degrees / (degrees + t * t)
    return incomplete_beta(degrees / 2, 0.5, x)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(front) * _fraction(a, b, x) / a
    return 1.0 - math.exp(front) * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    out = d
    for m in range(1, 2000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + step * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + step / c
            c = c if abs(c) > _TINY else _TINY
            out *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return out


def negative_binomial_tails(count: int, shape: float, rate: float, exposure: float) -> tuple[float, float]:
    """P(X <= count) and P(X >= count) of a Poisson count whose rate is Gamma(shape, rate)."""
    success = rate / (rate + exposure)
    below = sum(_pmf(k, shape, success) for k in range(count))
    here = _pmf(count, shape, success)
    mean = shape * exposure / rate
    above, k = 0.0, count + 1
    while True:
        term = _pmf(k, shape, success)
        above += term
        k += 1
        if k > mean + 10 and term <= above * 1e-17:
            break
        if k - count > 200_000:
            above = max(above, 1.0 - below - here)
            break
    return min(1.0, below + here), min(1.0, here + above)


def _pmf(k: int, shape: float, success: float) -> float:
    log = math.lgamma(k + shape) - math.lgamma(k + 1) - math.lgamma(shape)
    return math.exp(log + shape * math.log(success) + k * math.log1p(-success))
