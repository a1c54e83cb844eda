"""Chance: how often what was seen would be seen anyway. Surprises are -log10 of that, at most 12."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache

# The incomplete beta function, of which the chances of counts are made.


def share_below(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: chance that a Beta(a, b) share is below x.

    By its continued fraction (Lentz), which ends after some twenty steps also for large counts.

    >>> round(share_below(0.3, 2, 5), 6)
    0.579825
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction ends fast on this side only.
    if x < (a + 1) / (a + b + 2):
        return min(1.0, front * _fraction(x, a, b) / a)
    return max(0.0, 1 - front * _fraction(1 - x, b, a) / b)


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1000):
        step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / _apart(1 + step * d), _apart(1 + step / c)
        value *= d * c
        step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / _apart(1 + step * d), _apart(1 + step / c)
        value *= d * c
        if abs(d * c - 1) < 1e-13:
            break
    return value


def _apart(value: float) -> float:
    """The value, kept away from 0, by which is divided."""
    return value if abs(value) > 1e-300 else 1e-300


# Chance: how often what was seen would be seen anyway. Surprises are -log10 of that, at most 12.

MOST = 12.0
_NONE = 1e-9
"""A spread so small is none."""


def surprise_of(chance: float) -> float:
    """-log10 of a chance, from 0 to 12.

    >>> surprise_of(0.001)
    3.0
    """
    return min(MOST, max(0.0, -math.log10(max(chance, 1e-12)))) + 0.0


def a_week(surprise: float, days: float) -> float:
    """A surprise corrected for how many stretches of so many days a week holds (1 to 28 days): alarms are
    counted by week.

    >>> a_week(3.0, 0.7), a_week(3.0, 7)
    (2.154901959985743, 3.0)
    """
    return min(MOST, max(0.0, surprise - math.log10(7 / min(28.0, max(1.0, days)))))


def at_most(count: int, mean: float, spread: float) -> float:
    """Chance of at most `count` under a negative binomial of this mean, whose rate has squared relative
    `spread`.

    Spread 0 is Poisson.

    >>> round(at_most(2, 10, 0), 4), round(at_most(2, 10, 0.5), 4)
    (0.0028, 0.1319)
    """
    if count < 0:
        return 0.0
    if mean <= 0:
        return 1.0
    if spread <= _NONE:
        return _poisson_at_most(count, mean)
    wide = mean * spread
    if count == 0:
        return math.exp(-math.log1p(wide) / spread)
    return share_below(1 / (1 + wide), 1 / spread, count + 1.0)


def at_least(count: int, mean: float, spread: float) -> float:
    """Chance of at least `count` under the same.

    >>> round(at_least(3, 10, 0), 4), round(at_least(3, 10, 0.5), 4)
    (0.9972, 0.8681)
    """
    if count <= 0:
        return 1.0
    if mean <= 0:
        return 0.0
    if spread <= _NONE:
        return _poisson_at_least(count, mean)
    wide = mean * spread
    return share_below(wide / (1 + wide), float(count), 1 / spread)


def most_below(surprise: float, mean: float, spread: float) -> int:
    """The largest number so few that its chance is this surprising; -1 where none is.

    >>> most_below(1.75, 12, 0.5), most_below(1.75, 14, 0.5), most_below(1.75, 100, 0.5)
    (-1, 0, 8)
    """
    chance = 10.0**-surprise
    if at_most(0, mean, spread) > chance:
        return -1
    low, high = 0, 1
    while at_most(high, mean, spread) <= chance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if at_most(middle, mean, spread) <= chance:
            low = middle
        else:
            high = middle
    return low


@lru_cache(maxsize=1024)
def least_surprising(surprise: float, spread: float) -> float:
    """The mean from which on it is this surprising that nothing comes at all.

    >>> round(least_surprising(1.75, 0.5), 3), round(least_surprising(3, 0), 3)
    (12.998, 6.908)
    """
    nothing = surprise * math.log(10)
    if spread <= _NONE:
        return nothing
    return math.inf if nothing * spread > 700 else math.expm1(nothing * spread) / spread


def _poisson_at_most(count: int, mean: float) -> float:
    if count >= mean:
        return max(0.0, 1 - _poisson_at_least(count + 1, mean))
    total, k, term = 0.0, count, math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
    while k >= 0 and term > total * 1e-17:
        total += term
        term *= k / mean
        k -= 1
    return min(1.0, total)


def _poisson_at_least(count: int, mean: float) -> float:
    if count <= mean:
        return max(0.0, 1 - _poisson_at_most(count - 1, mean))
    total, k, term = 0.0, count, math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
    while term > total * 1e-17:
        total += term
        k += 1
        term *= mean / k
    return min(1.0, total)


def beta_at_least(hits: float, of: float, a: float, b: float) -> float:
    """Chance of at least `hits` in `of` where the share itself is Beta(a, b); hits and of may be fractions.

    By the normal law on the share, with continuity, where of is large; exact for whole numbers.
    """
    n, k = max(1, round(of)), math.ceil(hits * max(1, round(of)) / max(of, 1e-9) - 1e-9)
    if k <= 0:
        return 1.0
    base = math.lgamma(n + 1) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.lgamma(n + a + b)
    total = 0.0
    for i in range(k, n + 1):
        total += math.exp(
            base + math.lgamma(i + a) + math.lgamma(n - i + b) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
        )
    return min(1.0, total)


def above(z: float) -> float:
    """Chance that a standard normal value is above z."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def student_above(t: float, degrees: float) -> float:
    """Chance that Student's t is above `t`; a normal approximation good to a few percent (Wallace 1959)."""
    size = (8 * degrees + 1) / (8 * degrees + 3) * math.sqrt(degrees * math.log1p(t * t / degrees))
    return above(math.copysign(size, t))


def rank_change(before: Sequence[float], now: Sequence[float]) -> float:
    """Wilcoxon's z of the later values against the earlier ones, ties counted half; positive: later are
    larger.

    0 where nothing differs.

    >>> round(rank_change([1, 2, 3, 4], [5, 6, 7, 8]), 2)
    2.17
    """
    n, m = len(before), len(now)
    past, total = sorted(before), n + m
    ties = sum(count**3 - count for count in _counts(sorted([*before, *now])))
    wins = sum(bisect_left(past, one) + bisect_right(past, one) for one in now) / 2
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 0.0
    off = wins - n * m / 2
    return math.copysign(max(0.0, abs(off) - 0.5), off) / math.sqrt(variance)


def _counts(ordered: Sequence[float]) -> list[int]:
    counts: list[int] = []
    for i, value in enumerate(ordered):
        if i and value == ordered[i - 1]:
            counts[-1] += 1
        else:
            counts.append(1)
    return counts
