"""Chance: how often what was seen would be seen anyway. Surprises are -log10 of that, at most 12."""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST = 12.0
_TINY = 1e-18


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
    return max(0.0, surprise - math.log10(7 / min(28.0, max(1.0, days))))


def at_most(count: int, mean: float, spread: float) -> float:
    """Chance of at most `count` under a negative binomial of this mean, whose rate has squared relative
    `spread`.

    Spread 0 is Poisson.

    >>> round(at_most(2, 10, 0), 4)
    0.0028
    """
    total, term = 0.0, math.exp(_log_none(mean, spread))
    if term < _TINY:
        return _summed(0, count, mean, spread)
    for k in range(count + 1):
        total += term
        term *= _ratio(k, mean, spread)
    return min(1.0, total)


def at_least(count: int, mean: float, spread: float) -> float:
    """Chance of at least `count` under the same.

    >>> round(at_least(3, 10, 0), 4)
    0.9972
    """
    if count <= mean:
        return max(0.0, 1 - at_most(count - 1, mean, spread)) if count > 0 else 1.0
    total, k, term = 0.0, count, math.exp(_log_chance(count, mean, spread))
    while term > total * 1e-12 + 1e-300 and k < count + 100_000:
        total += term
        term *= _ratio(k, mean, spread)
        k += 1
    return min(1.0, total)


def _log_none(mean: float, spread: float) -> float:
    return -mean if spread <= 1e-9 else -math.log1p(mean * spread) / spread


def _ratio(k: int, mean: float, spread: float) -> float:
    """How many times as likely k + 1 is as k."""
    return mean * (1 + spread * k) / ((k + 1) * (1 + spread * mean))


def _log_chance(k: int, mean: float, spread: float) -> float:
    if mean <= 0:
        return 0.0 if k == 0 else -math.inf
    if spread <= 1e-9:
        return k * math.log(mean) - mean - math.lgamma(k + 1)
    size = 1 / spread
    return (
        math.lgamma(k + size)
        - math.lgamma(size)
        - math.lgamma(k + 1)
        + k * math.log(mean / (mean + size))
        + size * math.log(size / (mean + size))
    )


def _summed(first: int, last: int, mean: float, spread: float) -> float:
    return min(1.0, sum(math.exp(_log_chance(k, mean, spread)) for k in range(first, last + 1)))


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
    both = sorted([*before, *now])
    total = n + m
    ties = sum(count**3 - count for count in _counts(both))
    wins = sum((b < a) + 0.5 * (a == b) for a in now for b in before)
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
