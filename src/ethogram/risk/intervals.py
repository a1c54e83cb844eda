"""Intervals for a share of counts."""

from __future__ import annotations

import math

from ..usage.chance import share_below

Z = 1.959964
"""Standard deviations that hold 95 % of a normal law."""
Interval = tuple[float, float]


def wilson(found: float, of: float) -> Interval:
    """Wilson's interval of 95 % for a share; ends included, and 0 to 1 where there is nothing.

    >>> [round(end, 3) for end in wilson(100, 200)], wilson(0, 0)
    ([0.431, 0.569], (0.0, 1.0))
    """
    if of <= 0:
        return 0.0, 1.0
    share = found / of
    middle = (share + Z * Z / (2 * of)) / (1 + Z * Z / of)
    half = Z / (1 + Z * Z / of) * math.sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def at_least(found: int, of: int, miss: float = 0.025) -> float:
    """The lower end of the exact (Clopper-Pearson) interval, wrong in at most `miss` of all cases.

    It also holds for the mean of shares that differ from case to case, which Wilson's does not promise.

    >>> round(at_least(8, 10), 3), at_least(0, 10)
    (0.444, 0.0)
    """
    return 0.0 if found <= 0 else _quantile(miss, found, of - found + 1)


def at_most(found: int, of: int, miss: float = 0.025) -> float:
    """The upper end likewise.

    >>> round(at_most(8, 10), 3), at_most(10, 10)
    (0.975, 1.0)
    """
    return 1.0 if found >= of else _quantile(1 - miss, found + 1, of - found)


def student(free: float) -> float:
    """Standard errors that hold 95 % where the error itself is of few things: Student's law.

    >>> [round(student(free), 2) for free in (1, 9, 1000)]
    [12.71, 2.26, 1.96]
    """
    outside = _quantile(0.05, free / 2, 0.5)
    return math.sqrt(free * (1 - outside) / outside)


def _quantile(share: float, a: float, b: float) -> float:
    """Where a Beta(a, b) law has this share below; by halving, which cannot fail to converge."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if share_below(middle, a, b) < share else (low, middle)
    return (low + high) / 2
