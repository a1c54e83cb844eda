"""Shared by SQL stores: transactions, and fast inserts and statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, Table, insert
from sqlalchemy.exc import DBAPIError, IntegrityError

READ_AHEAD = 2000
MAX_VALUES = 500
"""Values in one query."""
NO_CONNECTION = "all connections are in use: try again"


@contextmanager
def unwrapped() -> Iterator[None]:
    """Raise the driver's own errors in place of those that SQLAlchemy makes of them.

    SQLite itself ends a transaction when the disk is full; undoing it then fails too, and is not the cause.
    """
    try:
        yield
    except DBAPIError as error:
        first, before = error, error.__context__
        while before is not None:
            first, before = (before if isinstance(before, DBAPIError) else first), before.__context__
        raise (first.orig or first) from error


class Sql:
    """An engine with reading and writing transactions; base of the parts of a store."""

    engine: Engine
    url: str

    def named_errors(self) -> AbstractContextManager[None]:
        """Turn errors of the database into a StoreFailed that names the store and says what to do."""
        raise NotImplementedError

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that sees nothing written meanwhile."""
        raise NotImplementedError

    def writing(self, *, wait: bool = True, rows: int = 0) -> AbstractContextManager[Connection]:
        """A transaction that writes all or nothing, while nobody else writes; about so many `rows`.

        StoreFailed where somebody else is writing, and does not finish in time; at once unless `wait`.
        """
        raise NotImplementedError

    def settle(self) -> None:
        """Make commits survive a loss of power, where they do not already."""


def driver(connection: Connection) -> Any:
    """Return the driver's own connection."""
    return connection.connection.dbapi_connection


def is_postgres(connection: Connection) -> bool:
    """Whether a connection is to PostgreSQL; else it is to SQLite."""
    return connection.dialect.name == "postgresql"


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert tuples in the order of the table's columns, straight by the driver."""
    if not rows:
        return
    if not is_postgres(connection):
        connection.exec_driver_sql(_insert(table, connection.dialect), list(rows))
        return
    columns = ", ".join(column.name for column in table.columns)
    raw = driver(connection)
    try:
        with raw.cursor() as cursor, cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.IntegrityError as error:
        raise IntegrityError(None, None, error) from error


@lru_cache
def _insert(table: Table, dialect: Dialect) -> str:
    names = [column.name for column in table.columns]
    return str(insert(table).values(dict.fromkeys(names)).compile(dialect=dialect))


class Rows:
    """The methods of SQLAlchemy's result that are used here, without its overhead."""

    def __init__(self, cursor: Any, form: Callable[[Any], Any] | None = None) -> None:
        self._cursor, self._form = cursor, form

    @property
    def rowcount(self) -> int:
        count: int = self._cursor.rowcount
        return count

    def all(self) -> list[Any]:
        rows: list[Any] = self._cursor.fetchall()
        return rows if self._form is None else [self._form(row) for row in rows]

    def first(self) -> Any:
        row = self._cursor.fetchone()
        return row if row is None or self._form is None else self._form(row)

    def one(self) -> Any:
        (row,) = self.all()
        return row

    def scalar(self) -> Any:
        """The first value of the first row, or None."""
        row = self._cursor.fetchone()
        return None if row is None else row[0]

    def scalars(self) -> Rows:
        """The same, with the first value in place of each row."""
        return Rows(self._cursor, lambda row: row[0])

    def mappings(self) -> Rows:
        """The same, with a dict in place of each row."""
        names = [column[0] for column in self._cursor.description]
        return Rows(self._cursor, lambda row: dict(zip(names, row, strict=True)))


def run(connection: Connection, statement: str, **values: Any) -> Rows:
    """The result of a statement with :names in it; SQLAlchemy itself takes ten times as long as SQLite."""
    return Rows(driver(connection).execute(_in_dialect(connection, statement), values))


def run_many(connection: Connection, statement: str, rows: Sequence[dict[str, Any]]) -> None:
    """Run a statement with :names in it for each row."""
    if rows:
        connection.exec_driver_sql(_in_dialect(connection, statement), list(rows))


def _in_dialect(connection: Connection, statement: str) -> str:
    return with_percents(statement) if is_postgres(connection) else statement


@lru_cache(1024)
def with_percents(statement: str) -> str:
    """A statement with :names as psycopg takes them.

    >>> with_percents("SELECT x::text FROM t WHERE name = :name AND x % 2 = 0")
    'SELECT x::text FROM t WHERE name = %(name)s AND x %% 2 = 0'
    """
    return re.sub(r"(?<!:):([a-z_]\w*)", r"%(\1)s", statement.replace("%", "%%"))


def in_pieces(items: Sequence[Any], size: int = MAX_VALUES) -> Iterator[Sequence[Any]]:
    """The items, at most so many at a time.

    >>> list(in_pieces([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]
