"""Shelf: what a tracker asks of the place where people are kept, in memory or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from .audit import Look
from .coarse import Keeping
from .pseudonym import NAME_BYTES, Keys, Pseudonym
from .seen import Seen
from .summary import Summary
from .telling import Episode

Who = bytes | Pseudonym
"""A person: the name by the first key alone (see Keys.base), or the name that the store has."""
Batch = Sequence[tuple[bytes, Seen]]
"""Names by the first key with one event each."""
IDS = 64
"""Ids of a person's events that are remembered where the events themselves are not."""


class Person(NamedTuple):
    """Who is kept under a name: the summary, and what was told about them."""

    name: bytes
    state: Summary
    told: tuple[Episode, ...]


class KeptEvent(NamedTuple):
    """One event as a file keeps it. `ahead`: seconds that the own clock was ahead of UTC, if known."""

    at: int
    length: int | None
    flags: int
    session: bytes | None
    ahead: int | None


class Gone(NamedTuple):
    """What was removed. `clean` is false where another program kept old pages from going."""

    people: int
    events: int
    clean: bool


class Shelf(Protocol):
    """Everything that is acknowledged by returning is kept. Names are hashes; times are arguments."""

    keys: Keys
    keeping: Keeping

    def add(self, batch: Batch, now: float, mark: tuple[bytes, int] | None = None) -> int: ...
    def done(self, base: bytes) -> int: ...
    def name(self, who: Who) -> bytes: ...
    def person(self, who: Who) -> Person | None: ...
    def people(self, whom: Sequence[Who] | None = None) -> Iterator[Person]: ...
    def tell(self, rows: Iterable[tuple[bytes, Sequence[Episode]]], looks: Iterable[Look]) -> None: ...
    def looks(self, name: bytes | None = None) -> Iterator[Look]: ...
    def events(self, name: bytes) -> Iterator[KeptEvent]: ...
    def tidy(self, now: float) -> Gone: ...
    def check_whole(self) -> None: ...
    def purge(self, name: bytes | None, before: int | None) -> Gone: ...
    def counts(self) -> dict[str, int]: ...
    def begin_anew(self) -> None: ...
    def close(self) -> None: ...


def has_id(ids: bytes, one: bytes) -> bool:
    """Whether an id is among those remembered.

    >>> has_id(b"a" * 16 + b"b" * 16, b"b" * 16), has_id(b"a" * 16 + b"b" * 16, b"a" * 8 + b"b" * 8)
    (True, False)
    """
    at = ids.find(one)
    while at >= 0 and at % NAME_BYTES:
        at = ids.find(one, at + 1)
    return at >= 0


def with_id(ids: bytes, one: bytes) -> bytes:
    """The newest ids with one more."""
    return (ids + one)[-IDS * NAME_BYTES :]
