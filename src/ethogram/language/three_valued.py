"""Comparison with a tolerance."""

from __future__ import annotations

FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
"""The comparison with its sides exchanged."""
TOLERANCE = 1e-9


def above(a: float, b: float) -> bool:
    """a > b by more than rounding.

    >>> above(0.1 + 0.2, 0.3), above(0.31, 0.3)
    (False, True)
    """
    # Most are not above at all.
    return a > b and a > b + TOLERANCE * max(1.0, abs(a), abs(b))


def at_least(a: float, b: float) -> bool:
    """Not b > a."""
    return not above(b, a)


def equal(a: float, b: float) -> bool:
    """Neither is above the other."""
    # Most that are equal are so to the last digit.
    return a == b or (not above(a, b) and not above(b, a))
