"""Levels: how grave a detection is. An order, not words to sort by the alphabet."""

from __future__ import annotations

LEVELS: tuple[str, ...] = ("low", "medium", "high", "critical")


def rank(level: str) -> int:
    """Position in the order of gravity, from 0.

    >>> rank("critical") > rank("medium")
    True
    """
    return LEVELS.index(level)


def highest(*levels: str) -> str:
    """The gravest of these."""
    return max(levels, key=rank)
