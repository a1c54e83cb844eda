"""Shared by SQL stores: transactions, and fast inserts and statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, Table, insert
from sqlalchemy.exc import DBAPIError

from ..files import sqlite

READ_AHEAD = 2000
MAX_VALUES = 500
"""Values in one query."""


@contextmanager
def named_errors(url: str) -> Iterator[None]:
    """Turn errors of the database, also those that SQLAlchemy wraps, into an EthogramError with the URL."""
    with sqlite.named_errors(url):
        try:
            yield
        except DBAPIError as error:
            raise (error.orig or error) from error


class Sql:
    """An engine with reading and writing transactions; base of the parts of a store."""

    engine: Engine
    url: str

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees nothing written meanwhile."""
        with named_errors(self.url), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes all or nothing, while nobody else writes."""
        with named_errors(self.url), self.engine.connect() as opened:
            connection = opened.execution_options(writes=True)
            with connection.begin():
                yield connection


def driver(connection: Connection) -> sqlite3.Connection:
    """Return the driver's own connection."""
    raw: Any = connection.connection.dbapi_connection
    return raw  # type: ignore[no-any-return]


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert tuples in the order of the table's columns, straight by the driver."""
    if rows:
        connection.exec_driver_sql(_insert(table, connection.dialect), list(rows))


@lru_cache
def _insert(table: Table, dialect: Dialect) -> str:
    names = [column.name for column in table.columns]
    return str(insert(table).values(dict.fromkeys(names)).compile(dialect=dialect))


class Rows:
    """The methods of SQLAlchemy's result that are used here, without its overhead."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        return self._cursor.rowcount

    def all(self) -> list[Any]:
        return self._cursor.fetchall()

    def first(self) -> Any:
        return self._cursor.fetchone()

    def one(self) -> Any:
        (row,) = self._cursor.fetchall()
        return row

    def scalar(self) -> Any:
        """The first value of the first row, or None."""
        row = self._cursor.fetchone()
        return None if row is None else row[0]

    def scalars(self) -> Rows:
        """The same, with the first value in place of each row."""
        self._cursor.row_factory = lambda _, row: row[0]
        return self

    def mappings(self) -> Rows:
        """The same, with a dict in place of each row."""
        names = [column[0] for column in self._cursor.description]
        self._cursor.row_factory = lambda _, row: dict(zip(names, row, strict=True))
        return self


def run(connection: Connection, statement: str, **values: Any) -> Rows:
    """The result of a statement with :names in it; SQLAlchemy itself takes ten times as long as SQLite."""
    return Rows(driver(connection).execute(statement, values))


def run_many(connection: Connection, statement: str, rows: Sequence[dict[str, Any]]) -> None:
    """Run a statement with :names in it for each row."""
    if rows:
        connection.exec_driver_sql(statement, list(rows))


def in_pieces(items: Sequence[Any], size: int = MAX_VALUES) -> Iterator[Sequence[Any]]:
    """The items, at most so many at a time.

    >>> list(in_pieces([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]
