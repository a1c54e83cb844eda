"""Severities, in order."""

from __future__ import annotations

SEVERITIES: tuple[str, ...] = ("low", "medium", "high", "critical")


def rank(severity: str) -> int:
    """Position in the order of gravity, from 0.

    >>> rank("critical") > rank("medium")
    True
    """
    return SEVERITIES.index(severity)


def highest(*severities: str) -> str:
    """The gravest of these."""
    return max(severities, key=rank)
