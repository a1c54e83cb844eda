"""What the SQL stores share: transactions, and inserting many rows without ceremony."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Table, insert, text

READ_AHEAD = 2000
IN_ONE_QUERY = 500
"""Names asked for in one query."""


class Sql:
    """An engine with reading and writing transactions. Parts of the store are mixed in from other files."""

    engine: Engine
    url: str

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One look at the store: nothing written meanwhile is seen."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """All or nothing, and nobody else writes meanwhile. Kept once the block ends."""
        with self.engine.connect() as opened:
            connection = opened.execution_options(writes=True)
            with connection.begin():
                yield connection


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]], skip: int = 0) -> None:
    """Insert tuples in the order of the table's columns, without its first `skip`, straight by the driver."""
    if not rows:
        return
    columns = [column.name for column in table.columns][skip:]
    statement = insert(table).values(dict.fromkeys(columns)).compile(connection)
    connection.exec_driver_sql(str(statement), list(rows))


def run(connection: Connection, statement: str, **values: Any) -> Any:
    """The result of a statement with :names in it."""
    return connection.execute(text(statement), values)


def in_pieces(items: Sequence[Any], size: int = IN_ONE_QUERY) -> Iterator[Sequence[Any]]:
    """The items, at most so many at a time.

    >>> list(in_pieces([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]
