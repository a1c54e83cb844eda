"""Faults: all of them counted, the first by place kept to be told."""

from __future__ import annotations

from bisect import insort

from ..errors import Fault
from .batch import Place

Told = tuple[Place, int, str]
"""Place, column and message."""
LONGEST = 1_000
"""Characters of a message: libraries repeat what they could not read at any length."""


class Faults:
    """What is wrong with lines, found in any order."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self.first: list[Told] = []
        self._most = most

    def add(self, place: Place, message: str, column: int = 0) -> None:
        """Count a fault, and keep it if it is among the first by place."""
        self.count += 1
        cut = message if len(message) <= LONGEST else message[:LONGEST] + "..."
        cut = cut.encode("utf-8", "backslashreplace").decode()  # half surrogate pairs cannot be printed
        insort(self.first, (place, column, cut))
        del self.first[self._most :]

    def add_all(self, others: Faults) -> None:
        """The faults of others, too."""
        for place, column, message in others.first:
            self.add(place, message, column)
        self.count += others.count - len(others.first)

    def told(self) -> tuple[Fault, ...]:
        """Those that were kept."""
        return tuple(Fault(place.path, place.line, column, text) for place, column, text in self.first)
