"""Batch: events in order with the faults of their files; limits of input."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..errors import Fault
from ..models import Event

# What reading gives: events in order, and what else there is to say of the files they were in.


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that was read.

    `timed` is true where every event has a time of its own. `repeated` counts events that came again with the
    same content. `skipped` counts what was left out on purpose, by what it was, and `not_events` names the
    first files of it. `strays` counts the cells of table columns that look like misspelt signals.
    """

    events: tuple[Event, ...]
    bad: tuple[Fault, ...] = ()
    bad_count: int = 0
    repeated: int = 0
    timed: bool = True
    files: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    not_events: tuple[str, ...] = ()
    strays: Mapping[str, int] = field(default_factory=dict)


class Gathered(Protocol):
    """A Batch, or the same with its events on disk."""

    @property
    def events(self) -> Collection[Event]: ...
    @property
    def bad(self) -> tuple[Fault, ...]: ...
    @property
    def bad_count(self) -> int: ...
    @property
    def repeated(self) -> int: ...
    @property
    def timed(self) -> bool: ...
    @property
    def skipped(self) -> Mapping[str, int]: ...
    @property
    def not_events(self) -> tuple[str, ...]: ...
    @property
    def strays(self) -> Mapping[str, int]: ...


class Place(NamedTuple):
    """A line of a file; `file` is the file's position among those read, so that places sort as read."""

    file: int
    line: int
    path: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


# Faults: all of them counted, the first by place kept to be told.

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
