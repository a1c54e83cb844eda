"""Shared by SQL stores: transactions on connections of a pool, and rows of kinds by statements."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from . import statements
from .base import Store
from .kinds import Row
from .pool import Pool
from .records import NO_SCORERS, Who
from .row_store import READ_AHEAD, Reader, Where
from .statements import Dialect

if TYPE_CHECKING:
    from ..ingest.batch import EventSequence

T = TypeVar("T")


class SqlReader(Reader):
    """Reads by one connection, inside its transaction."""

    def __init__(self, raw: Any, dialect: Dialect) -> None:
        self.raw, self.dialect = raw, dialect

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
        query = statements.select(self.dialect, kind, where, columns, order, limit, offset)
        return self._stream(query) if is_large(kind, where, limit) else iter(self._all(query))

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
        query = statements.group(self.dialect, kind, by, where, low, high, order, limit, offset)
        return self._stream(query) if is_large(kind, where, limit) else iter(self._all(query))

    def count(self, kind: str, where: Where = (), *, by: Sequence[str] = ()) -> int:
        text, values = statements.count(self.dialect, kind, where, by)
        number: int = self.raw.execute(text, values).fetchone()[0]
        return number

    def run(self, text: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query of the tables themselves."""
        found: list[Row] = self.raw.execute(self.dialect.text(text), values).fetchall()
        return found

    def _all(self, statement: statements.Statement) -> list[Row]:
        found: list[Row] = self.raw.execute(*statement).fetchall()
        return found

    def _stream(self, statement: statements.Statement) -> Iterator[Row]:
        if not self.dialect.is_postgres:
            yield from self.raw.execute(*statement)
            return
        # The server's own cursor, since the driver would read all rows at once.
        with self.raw.cursor(name=f"c{id(statement)}") as cursor:
            cursor.itersize = READ_AHEAD
            cursor.execute(*statement)
            yield from cursor


def is_large(kind: str, where: Where, limit: int | None) -> bool:
    """Whether so many rows may come that they are read in batches."""
    few = limit is not None and limit <= READ_AHEAD
    return not few and (kind == "events" or (kind == "readings" and not where))


class SqlStore(Store):
    """A store in SQL; a class of its own says how to connect, begin and explain errors."""

    dialect: Dialect
    pool: Pool

    def __init__(self) -> None:
        self._thread = threading.local()

    # --- transactions -----------------------------------------------------------------------

    @abstractmethod
    def named_errors(self) -> AbstractContextManager[None]:
        """Turn errors of the database into a StoreFailed that names the store and says what to do."""

    @abstractmethod
    def begin(self, raw: Any, *, writes: bool, wait: bool = True) -> None:
        """Begin a transaction; one that writes waits until nobody else does, unless told not to."""

    @contextmanager
    def connection(self, begins: Callable[[Any], None] | None = None) -> Iterator[Any]:
        """A connection that nobody else uses, inside a transaction where one `begins`."""
        with self.named_errors():
            raw = self._open(begins or self.check)
            try:
                yield raw
                if begins is not None:
                    raw.execute("COMMIT")
            except BaseException:
                self.undo(raw)
                raise
            finally:
                self.pool.give(raw, is_sound=self.is_sound(raw))

    def _open(self, begins: Callable[[Any], None]) -> Any:
        """A connection in a transaction; one that broke while nobody used it is replaced."""
        while True:
            raw, is_new = self.pool.take()
            try:
                begins(raw)
            except BaseException:
                self.undo(raw)
                is_sound = self.is_sound(raw)
                self.pool.give(raw, is_sound=is_sound)
                if is_new or is_sound:
                    raise
            else:
                return raw

    def check(self, raw: Any) -> None:
        """Raise an error where the connection is broken."""

    @abstractmethod
    def is_sound(self, raw: Any) -> bool:
        """Whether a connection can be used again."""

    @abstractmethod
    def undo(self, raw: Any) -> None:
        """End a transaction without its changes, where it has not ended."""

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A connection in a transaction that sees nothing written meanwhile."""
        if (raw := self._writer) is not None:
            with self.named_errors():
                yield raw
            return
        with self.connection(lambda raw: self.begin(raw, writes=False)) as raw:
            yield raw

    @contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[Any]:
        """A connection in a transaction that writes all or nothing, while nobody else writes.

        StoreFailed where somebody else is writing, and does not finish in time; at once unless `wait`.
        """
        if (raw := self._writer) is not None:
            yield raw
            return
        with self.connection(lambda raw: self.begin(raw, writes=True, wait=wait)) as raw:
            self._thread.writer = raw
            try:
                yield raw
            finally:
                self._thread.writer = None

    @property
    def _writer(self) -> Any:
        """The connection of the transaction of this thread, if there is one."""
        return getattr(self._thread, "writer", None)

    def transact(self, work: Callable[[], T]) -> T:
        with self.writing():
            return work()

    @contextmanager
    def snapshot(self) -> Iterator[SqlReader]:
        with self.reading() as raw:
            yield self.view(raw)

    def view(self, raw: Any) -> SqlReader:
        """What reads by a connection."""
        return SqlReader(raw, self.dialect)

    # --- rows -------------------------------------------------------------------------------

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
        how: Any = {"columns": columns, "order": order, "limit": limit, "offset": offset}
        return self._read(lambda reader: reader.rows(kind, where, **how), is_large(kind, where, limit))

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
        how: Any = {"low": low, "high": high, "order": order, "limit": limit, "offset": offset}
        return self._read(lambda reader: reader.groups(kind, by, where, **how), is_large(kind, where, limit))

    def count(self, kind: str, where: Where = (), *, by: Sequence[str] = ()) -> int:
        with self.snapshot() as view:
            return view.count(kind, where, by=by)

    def _read(self, query: Callable[[SqlReader], Iterator[Row]], in_batches: bool) -> Iterator[Row]:
        if in_batches and self._writer is None:
            return self._stream(query)
        with self.snapshot() as view:
            return iter(list(query(view)))

    def _stream(self, query: Callable[[SqlReader], Iterator[Row]]) -> Iterator[Row]:
        with self.snapshot() as view:
            yield from query(view)

    def write(self, kind: str, rows: Iterable[Row]) -> None:
        with self.writing() as raw:
            if kind == "events":
                self.drop_blocks(raw)
            raw.cursor().executemany(statements.put(self.dialect, kind), self._numbered(raw, kind, rows))

    def append(self, events: Sequence[Row]) -> list[int]:
        if not events:
            return []
        with self.writing() as raw:
            rows = self._numbered(raw, "events", events)
            return self.insert_new(raw, events, rows)

    @abstractmethod
    def insert_new(self, raw: Any, events: Sequence[Row], rows: Iterable[Row]) -> list[int]:
        """Insert rows of the table of events, and return the positions of those that are there."""

    def known(self, raw: Any, events: Sequence[Row]) -> dict[tuple[str, str], int]:
        """The keys of the events that are there, by source and id."""
        ids: dict[str, list[str]] = {}
        for event in events:
            ids.setdefault(event[1], []).append(event[3])
        view = self.view(raw)
        return {
            (source, name): key
            for source, own in ids.items()
            for name, key in view.rows("events", [("source", "=", source), ("id", "in", own)],
                                       columns=["id", "key"], limit=len(own))
        }  # fmt: skip

    def delete(self, kind: str, where: Where = ()) -> int:
        with self.writing() as raw:
            if kind == "events":
                self.drop_blocks(raw)
            removed: int = raw.execute(*statements.delete(self.dialect, kind, where)).rowcount
            return removed

    def drop_blocks(self, raw: Any) -> None:
        """Remove copies of events as columns, which have what is being changed."""
        for table in ("block_subjects", "blocks"):
            raw.execute(f"DELETE FROM {table}")

    def columns(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        mates: bool = False,
        without: Collection[str] = (),
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> EventSequence:
        from .clustered import read_columns

        return read_columns(self, subjects, until, mates, without, scorers)

    def close(self) -> None:
        self.pool.close()

    # --- names and their numbers ------------------------------------------------------------

    def _numbered(self, raw: Any, kind: str, rows: Iterable[Row]) -> Iterable[Row]:
        """Rows as the tables have them, with numbers in place of the names of sources and subjects."""
        if kind not in statements.NAMES:
            return rows
        own = list(rows)
        if kind == "subjects":
            sources = self.source_keys(raw, {row[0] for row in own})
            return ((sources[row[0]], *row[1:]) for row in own)
        if kind == "events":
            sources, subjects = self._keys(raw, {(row[1], row[2]) for row in own})
            return ((row[0], sources[row[1]], subjects[row[1], row[2]], *row[3:]) for row in own)
        _, subjects = self._keys(raw, {(row[1], row[2]) for row in own})
        # Who was purged meanwhile needs no mark.
        return ((row[0], subjects[row[1], row[2]], *row[3:]) for row in own if (row[1], row[2]) in subjects)

    def source_keys(self, raw: Any, names: Iterable[str]) -> dict[str, int]:
        """The numbers of sources."""
        text = f"SELECT name, key FROM sources WHERE {self.dialect.is_one_of('name')}"
        return dict(raw.execute(self.dialect.text(text), [self.dialect.listed(sorted(names))]).fetchall())

    def _keys(
        self, raw: Any, subjects: Iterable[tuple[str, str]]
    ) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
        names: dict[str, list[str]] = {}
        for source, name in subjects:
            names.setdefault(source, []).append(name)
        sources = self.source_keys(raw, names)
        text = self.dialect.text(
            f"SELECT name, key FROM subjects WHERE source = ? AND {self.dialect.is_one_of('name')}"
        )
        keys = {
            (source, name): key
            for source, own in names.items()
            if source in sources
            for name, key in raw.execute(text, [sources[source], self.dialect.listed(own)]).fetchall()
        }
        return sources, keys
