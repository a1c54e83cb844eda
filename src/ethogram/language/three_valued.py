"""Comparison with a tolerance, and Kleene's logic. None is unknown."""

from __future__ import annotations

from collections.abc import Iterable

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


def both(truths: Iterable[bool | None]) -> bool | None:
    """Kleene's and: false if one is false, unknown if one is unknown, else true."""
    out: bool | None = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            out = None
    return out


def either(truths: Iterable[bool | None]) -> bool | None:
    """Kleene's or: true if one is true, unknown if one is unknown, else false."""
    out: bool | None = False
    for truth in truths:
        if truth is True:
            return True
        if truth is None:
            out = None
    return out
