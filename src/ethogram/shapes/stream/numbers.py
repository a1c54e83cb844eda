"""Arithmetic that may have no result: None then."""

from __future__ import annotations

import math

from ..statistics import finite
from ..truth import above, equal


def divided(a: float, b: float) -> float | None:
    """a / b; None for b equal to 0.

    >>> divided(1.0, 4.0), divided(1.0, 1e-12)
    (0.25, None)
    """
    return finite(lambda: a / (0.0 if equal(b, 0.0) else b))


def logarithm(x: float) -> float | None:
    """ln x; None where x is not above 0."""
    return finite(lambda: math.log(x if above(x, 0.0) else 0.0))


def root(x: float) -> float | None:
    """The square root; None of a negative number."""
    return finite(lambda: math.sqrt(0.0 if equal(x, 0.0) else x))
