"""Statistics: distributions, intervals, rank tests, isotonic regression, noisy-or.

Only the standard library: live rules run in a hook's process, which has no time to import NumPy. Odds are
whole numbers, rounded once at the end, so that neither order nor ties change the last digit.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

SCALE = 1 << 60
Odds = tuple[int, int]
"""For and against, as whole numbers of any length."""


def either(parts: Iterable[float]) -> float:
    """The probability of at least one of several independent events: 1 - product of (1 - part); 0 for none.

    >>> either([0.5, 0.5]), either([0.3]), either([])
    (0.75, 0.3, 0.0)
    """
    return chance(odds(parts))


def odds(parts: Iterable[float]) -> Odds:
    """The odds of at least one of several independent events.

    >>> chance(multiplied(odds([0.5]), [3.0]))
    0.75
    """
    left, whole = 1, 1
    for part in parts:
        left *= SCALE - _whole(part)
        whole *= SCALE
    return whole - left, left


def multiplied(record: Odds, factors: Iterable[float]) -> Odds:
    """Odds times factors, each of which is above 0."""
    for_, against = record
    for factor in factors:
        for_, against = for_ * _whole(factor), against * SCALE
    return for_, against


def chance(record: Odds) -> float:
    """The probability of odds. Python divides whole numbers exactly, then rounds once."""
    return record[0] / sum(record)


def _whole(value: float) -> int:
    """A number in steps of 2^-60."""
    return int(value * SCALE)


Interval = tuple[float, float]
"""Lower and upper end, both included."""
MAX_SURPRISE = 12.0
Z95 = 1.959964
"""Standard deviations within which 95 % of a normal distribution lies."""
_MIN_DISPERSION = 1e-9
"""Below this a negative binomial counts as Poisson."""


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function: P(X <= x) for X ~ Beta(a, b).

    Lentz's continued fraction, which converges in about twenty steps also for large a and b.

    >>> round(beta_cdf(0.3, 2, 5), 6)
    0.579825
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction converges fast on this side only.
    if x < (a + 1) / (a + b + 2):
        return min(1.0, front * _beta_fraction(x, a, b) / a)
    return max(0.0, 1 - front * _beta_fraction(1 - x, b, a) / b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 2000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / _nonzero(1 + step * d), _nonzero(1 + step / c)
            value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x at which `beta_cdf(x, a, b)` is p, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if beta_cdf(middle, a, b) < p else (low, middle)
    return (low + high) / 2


def normal_tail(z: float) -> float:
    """P(Z >= z) of the standard normal distribution."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def student_t_two_sided(t: float, df: float) -> float:
    """P(|T| >= |t|) of Student's t with df degrees of freedom.

    >>> round(student_t_two_sided(2.228, 10), 3)
    0.05
    """
    return beta_cdf(df / (df + t * t), df / 2, 0.5)


def student_t_tail_approx(t: float, df: float) -> float:
    """P(T >= t) of Student's t by Wallace's (1959) normal approximation, good to a few percent.

    The limits of `away_surprise` were set with it, so it stays until they are set again.
    """
    z = (8 * df + 1) / (8 * df + 3) * math.sqrt(df * math.log1p(t * t / df))
    return normal_tail(math.copysign(z, t))


def student_t_critical(df: float) -> float:
    """The t that |T| exceeds in 5 % of all cases.

    >>> [round(student_t_critical(df), 2) for df in (1, 9, 1000)]
    [12.71, 2.26, 1.96]
    """
    outside = beta_quantile(0.05, df / 2, 0.5)
    return math.sqrt(df * (1 - outside) / outside)


def count_at_most(count: int, mean: float, dispersion: float) -> float:
    """P(X <= count) of a negative binomial with variance mean + dispersion * mean**2.

    That is a Poisson count whose rate is gamma distributed with shape 1 / dispersion; at 0 it is Poisson.

    >>> round(count_at_most(2, 10, 0), 4), round(count_at_most(2, 10, 0.5), 4)
    (0.0028, 0.1319)
    """
    if count < 0:
        return 0.0
    if mean <= 0:
        return 1.0
    if dispersion <= _MIN_DISPERSION:
        return _poisson_at_most(count, mean)
    scale = mean * dispersion
    if count == 0:
        return math.exp(-math.log1p(scale) / dispersion)
    return beta_cdf(1 / (1 + scale), 1 / dispersion, count + 1.0)


def count_at_least(count: int, mean: float, dispersion: float) -> float:
    """P(X >= count) of the same distribution.

    >>> round(count_at_least(3, 10, 0), 4), round(count_at_least(3, 10, 0.5), 4)
    (0.9972, 0.8681)
    """
    if count <= 0:
        return 1.0
    if mean <= 0:
        return 0.0
    if dispersion <= _MIN_DISPERSION:
        return _poisson_at_least(count, mean)
    scale = mean * dispersion
    return beta_cdf(scale / (1 + scale), float(count), 1 / dispersion)


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


def beta_binomial_at_least(hits: float, trials: float, a: float, b: float) -> float:
    """P(at least `hits` in `trials`) where the success rate is Beta(a, b).

    Trials are rounded to a whole number and hits scaled with them; both may be fractions.
    """
    n = max(1, round(trials))
    k = math.ceil(hits * n / max(trials, 1e-9) - 1e-9)
    if k <= 0:
        return 1.0
    base = math.lgamma(n + 1) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.lgamma(n + a + b)
    total = 0.0
    for i in range(k, n + 1):
        total += math.exp(
            base + math.lgamma(i + a) + math.lgamma(n - i + b) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
        )
    return min(1.0, total)


def surprise_of(p: float) -> float:
    """-log10 of a probability, from 0 to 12.

    >>> surprise_of(0.001)
    3.0
    """
    return min(MAX_SURPRISE, max(0.0, -math.log10(max(p, 1e-12)))) + 0.0


def largest_surprising_count(bar: float, mean: float, dispersion: float) -> int:
    """The largest count whose lower tail is at least this surprising; -1 where none is.

    >>> [largest_surprising_count(1.75, mean, 0.5) for mean in (12, 14, 100)]
    [-1, 0, 8]
    """
    p = 10.0**-bar
    if count_at_most(0, mean, dispersion) > p:
        return -1
    low, high = 0, 1
    while count_at_most(high, mean, dispersion) <= p:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if count_at_most(middle, mean, dispersion) <= p:
            low = middle
        else:
            high = middle
    return low


@lru_cache(maxsize=1024)
def mean_where_zero_surprises(bar: float, dispersion: float) -> float:
    """The smallest mean for which a count of 0 is this surprising.

    >>> round(mean_where_zero_surprises(1.75, 0.5), 3), round(mean_where_zero_surprises(3, 0), 3)
    (12.998, 6.908)
    """
    needed = bar * math.log(10)
    if dispersion <= _MIN_DISPERSION:
        return needed
    return math.inf if needed * dispersion > 700 else math.expm1(needed * dispersion) / dispersion


def wilson(hits: float, trials: float) -> Interval:
    """Wilson's 95 % interval of a share; (0, 1) for no trials.

    >>> [round(end, 3) for end in wilson(100, 200)], wilson(0, 0)
    ([0.431, 0.569], (0.0, 1.0))
    """
    if trials <= 0:
        return 0.0, 1.0
    share, z2 = hits / trials, Z95 * Z95
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z95 / (1 + z2 / trials) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


def clopper_pearson_low(hits: int, trials: int, alpha: float = 0.025) -> float:
    """The lower end of the exact interval of a share; wrong in at most `alpha` of all cases.

    It also holds for the mean of shares that differ from trial to trial, unlike Wilson's.

    >>> round(clopper_pearson_low(8, 10), 3), clopper_pearson_low(0, 10)
    (0.444, 0.0)
    """
    return 0.0 if hits <= 0 else beta_quantile(alpha, hits, trials - hits + 1)


def clopper_pearson_high(hits: int, trials: int, alpha: float = 0.025) -> float:
    """The upper end of that interval.

    >>> round(clopper_pearson_high(8, 10), 3), clopper_pearson_high(10, 10)
    (0.975, 1.0)
    """
    return 1.0 if hits >= trials else beta_quantile(1 - alpha, hits + 1, trials - hits)


def rank_sum_z(before: Sequence[float], after: Sequence[float]) -> float:
    """z of the Wilcoxon rank-sum test, with ties and continuity correction; positive where later is larger.

    0 where nothing differs.

    >>> round(rank_sum_z([1, 2, 3, 4], [5, 6, 7, 8]), 2)
    2.17
    """
    n, m = len(before), len(after)
    past, total = sorted(before), n + m
    ties = sum(count**3 - count for count in Counter([*before, *after]).values())
    wins = sum(bisect_left(past, value) + bisect_right(past, value) for value in after) / 2
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 0.0
    off = wins - n * m / 2
    return math.copysign(max(0.0, abs(off) - 0.5), off) / math.sqrt(variance)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, with mean ranks for ties; None where either does not vary.

    >>> spearman([1, 2, 3], [10, 20, 15])
    0.5
    >>> spearman([1, 1], [1, 2]) is None
    True
    """
    x, y = _centred_ranks(first), _centred_ranks(second)
    size = math.sqrt(math.fsum(a * a for a in x) * math.fsum(b * b for b in y))
    return round(math.fsum(a * b for a, b in zip(x, y, strict=True)) / size, 12) if size else None


def _centred_ranks(values: Sequence[float]) -> list[float]:
    """Ranks minus their mean; equal values share the mean of their ranks."""
    ordered = sorted(values)
    n = len(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) - n) / 2 for value in values]


def isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-decreasing values nearest to these by weighted squares (pool adjacent violators).

    >>> isotonic([1, 3, 2], [1, 1, 1])
    [1.0, 2.5, 2.5]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        block = (float(value), float(weight), 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, total, size = blocks.pop()
            joined = total + block[1]
            block = ((mean * total + block[0] * block[1]) / joined, joined, size + block[2])
        blocks.append(block)
    return [mean for mean, _, size in blocks for _ in range(size)]
