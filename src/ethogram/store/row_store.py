"""The contract of a store: a small transactional store of rows, and of nothing that ethogram does with them.

A store of one's own derives from `ethogram.store.Store` and has these methods; all rules (purge, verdicts,
sweeps, imports, ...) are written once above them. `ethogram.testing.check_store` checks every promise.

A condition is a tuple of column, operator and value; conditions are joined by "and". The operators are
`=`, `!=`, `<`, `<=`, `>`, `>=`, `in` (a list, possibly long) and `contains` (a part of a text; upper and
lower case differ). None is equal to None; it is neither less nor greater than anything. For `contains` the
column may be a tuple of columns, any of which may have it.
An order is names of columns, each with `-` before it for the highest first; texts are ordered by code points,
and None may come first or last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from .kinds import Row

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S", bound="RowStore")
Condition = tuple[str | tuple[str, ...], str, Any]
Where = Sequence[Condition]
READ_AHEAD = 2000
"""Rows of a batch that is read, about."""
MAX_VALUES = 500
"""Values that are looked for at once."""


class Reader(ABC):
    """What reads rows of kinds (see kinds.py)."""

    @abstractmethod
    def rows(
        self,
        kind: str,
        where: Where = (),
        *,
        columns: Sequence[str] | None = None,
        order: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[Row]:
        """The rows of a kind that meet all conditions, with these `columns` or all.

        Filters, order and limit are the database's. Rows are read in batches; where the database can, as of
        one moment.
        """

    @abstractmethod
    def groups(
        self,
        kind: str,
        by: Sequence[str],
        where: Where = (),
        *,
        low: str | None = None,
        high: str | None = None,
        order: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[Row]:
        """The distinct values of `by`, with how many rows have them, the lowest `low` and the highest `high`.

        Each is a tuple of the values, the count, and the lowest and highest, None where not asked for. In the
        order of `by` unless `order` says another; there `count`, `low` and `high` are columns too.
        """

    @abstractmethod
    def count(self, kind: str, where: Where = (), *, by: Sequence[str] = ()) -> int:
        """How many rows meet all conditions; with `by`, how many distinct values of these columns."""


class RowStore(Reader):
    """A store of rows. Any thread may call its methods."""

    url: str
    """The address as messages show it: never with a password."""
    address: str
    """What opens it again, with the password."""
    version: int = 1
    """The version of its tables."""
    max_events: int | None = None
    """Events that one transaction can write at most, where there is a limit."""
    has_snapshots: bool = True
    """Whether `snapshot` reads as of one moment; False where the database cannot."""

    # --- transactions -----------------------------------------------------------------------

    @abstractmethod
    def transact(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; all that it writes is stored when this returns, or nothing of it.

        Nobody else writes meanwhile; `work` reads what it wrote. Inside another `transact` of the thread it
        is part of that. A store may call `work` again where its connection broke before the commit.
        """

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Reader]:
        """Read in one transaction until the end of the block, as of one moment where the database can.

        Inside `transact` it sees what that wrote.

        Errors of the database are raised as `StoreFailed`, which names the store and says what to do, and
        those of reading a damaged row inside the block too.
        """

    # --- rows -------------------------------------------------------------------------------

    @abstractmethod
    def write(self, kind: str, rows: Iterable[Row]) -> None:
        """Add rows, or replace those that have the same key, each with all columns of the kind.

        The source of a subject, and the subject of an event or of `swept`, are there before. `append` is for
        new events.
        """

    @abstractmethod
    def append(self, events: Sequence[Row]) -> list[int]:
        """Add rows of events, and return the positions of those whose source has their id already.

        These are not added. No two of the call have the same source and id, and all keys are new.
        """

    @abstractmethod
    def delete(self, kind: str, where: Where = ()) -> int:
        """Remove the rows that meet all conditions, and return how many. Readings go with their events."""

    # --- the store as a whole ---------------------------------------------------------------

    @abstractmethod
    def close(self) -> None:
        """Release connections. A closed store is not used again."""

    def settle(self) -> None:
        """Make commits survive a loss of power, where they do not already; others may write meanwhile."""

    def scrub(self) -> bool:
        """Leave no copy of removed rows behind; False where another program or a full disk prevents it."""
        return True

    def check_integrity(self) -> None:
        """Raise EthogramError where the store is damaged, before anything is removed from it."""

    def size(self) -> int:
        """Bytes on disk; 0 where nobody knows."""
        return 0


def atomic(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Run a method of a store in a transaction: all that it writes, or nothing."""

    @wraps(method)
    def in_transaction(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.transact(lambda: method(self, *args, **kwargs))

    return in_transaction


def in_pieces(items: Sequence[Any], size: int = MAX_VALUES) -> Iterator[Sequence[Any]]:
    """The items, at most so many at a time.

    >>> list(in_pieces([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]


def by_source(subjects: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """The names of subjects by their source, in order, at most so many at a time as can be looked for."""
    names: dict[str, list[str]] = {}
    for source, name in sorted(set(subjects)):
        names.setdefault(source, []).append(name)
    for source, own in names.items():
        for piece in in_pieces(own):
            yield source, list(piece)
