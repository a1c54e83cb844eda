"""Limits: how large input may be before it is called a mistake or an attack."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Every limit of reading, to be raised by whoever has larger files.

    >>> Limits(events=10_000_000).events
    10000000
    """

    events: int = 5_000_000
    line: int = 1_000_000
    """Bytes of one line, row or array element."""
    unpacked: int = 4 * 2**30
    """Bytes one compressed file may unpack to."""
    whole: int = 256 * 2**20
    """Bytes of a file that has to be held in memory at once, such as a JSON array."""
    text: int = 200_000
    """Characters of `text` and of one attribute."""
    name: int = 512
    """Characters of ids, names and categories."""
    readings: int = 256
    attributes: int = 256
    depth: int = 32
    """Lists and objects inside each other, the line's own object included."""
    faults: int = 50
    """Bad lines kept to be shown; all are counted."""


def over(limit: str, value: int, what: str) -> str:
    """The message for something over a limit: which one, and how to raise it.

    >>> over("name", 512, "subject is longer than 512 characters")
    'subject is longer than 512 characters (to raise it: limits: {name: ...} in ethogram.yaml)'
    """
    told = what.replace(str(value), f"{value:,}")
    return f"{told} (to raise it: limits: {{{limit}: ...}} in ethogram.yaml)"
