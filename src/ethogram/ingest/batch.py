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


# Limits: how large input may be before it is called a mistake or an attack.

FREE = 64 * 2**20
"""Bytes that a file may unpack to whatever its own size."""
FREE_RECORDS = 50_000
"""Records that a compressed file may hold whatever its size."""


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
    ratio: int = 500
    """Times its own size that a compressed file may unpack to, beyond `FREE` bytes."""
    density: int = 1
    """Records for each byte of a compressed file, beyond `FREE_RECORDS`."""
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
    blank: int = 1_000_000
    """Lines that say nothing that a file may have, beyond one for each that says something."""
    bad: int = 10_000
    """Bad records after which reading stops where there are more of them than good ones."""
    faults: int = 50
    """Bad lines kept to be shown; all are counted."""

    def most_unpacked(self, packed: int) -> int:
        """Bytes that a compressed file of so many bytes may unpack to.

        >>> Limits().most_unpacked(1_000) == FREE, Limits().most_unpacked(10 * 2**20) == 5000 * 2**20
        (True, False)
        """
        return min(self.unpacked, max(FREE, self.ratio * packed))


def over(limit: str, value: int, what: str) -> str:
    """The message for something over a limit: which one, and how to raise it.

    >>> over("name", 512, "subject is longer than 512 characters")
    'subject is longer than 512 characters (to raise it: limits: {name: ...} in ethogram.yaml)'
    """
    told = what.replace(str(value), f"{value:,}")
    return f"{told} (to raise it: limits: {{{limit}: ...}} in ethogram.yaml)"
