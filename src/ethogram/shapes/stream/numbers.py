"""Arithmetic that may have no result: None then."""

from __future__ import annotations

from math import inf, isfinite, log, sqrt

from ..truth import TOLERANCE


def divided(a: float, b: float) -> float | None:
    """a / b; None for b equal to 0.

    >>> divided(1.0, 4.0), divided(1.0, 1e-12)
    (0.25, None)
    """
    if -TOLERANCE <= b <= TOLERANCE:  # equal(b, 0.0)
        return None
    value = a / b
    return value if isfinite(value) else None


def logarithm(x: float) -> float | None:
    """ln x; None where x is not above 0."""
    return log(x) if TOLERANCE < x < inf else None  # above(x, 0.0)


def root(x: float) -> float | None:
    """The square root; None of a negative number."""
    if x < -TOLERANCE or not isfinite(x):
        return None
    return sqrt(x) if x > TOLERANCE else 0.0  # equal(x, 0.0)
