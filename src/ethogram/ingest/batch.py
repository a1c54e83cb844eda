"""What reading gives: events in order, and what else there is to say of the files they were in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..errors import Fault
from ..records import Event


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
