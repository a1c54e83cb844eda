"""The incomplete beta function, of which the chances of counts are made."""

from __future__ import annotations

import math


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
