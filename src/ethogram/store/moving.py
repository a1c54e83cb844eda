"""A store's rows, out of one and into another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import BadUsage
from . import schema
from .contract import Rows
from .records import COUNTED
from .sql import READ_AHEAD, Sql, insert_rows, is_postgres, run

VERSION = "schema"
"""The row of `meta` that has the version of the tables, where the database has no other place for it."""


class Moves(Sql):
    """Everything in a store as rows."""

    def dump(self) -> Iterator[Rows]:
        """Every row of the tables in `schema.PORTABLE`, as of one moment."""
        with self.reading() as connection:
            for name in schema.PORTABLE:
                table = schema.MADE[name]
                query = table.select().order_by(*table.columns[:1])
                rows = connection.execution_options(yield_per=READ_AHEAD).execute(query)
                for batch in rows.partitions():
                    yield name, [tuple(row) for row in batch if name != "meta" or row[0] != VERSION]

    def load(self, rows: Iterable[Rows]) -> None:
        """Take over the rows of another store, in one commit; BadUsage where this one is not empty."""
        with self.writing() as connection:
            for name in COUNTED:
                if run(connection, f"SELECT EXISTS (SELECT 1 FROM {name})").scalar():
                    raise BadUsage(f"{self.url} has {name.replace('_', ' ')} already: copy into a new store")
            for name in reversed(schema.PORTABLE):
                rest = f" WHERE name <> '{VERSION}'" if name == "meta" else ""
                run(connection, f"DELETE FROM {name}{rest}")
            for name, batch in rows:
                insert_rows(connection, schema.MADE[name], batch)
            if is_postgres(connection):
                for name in schema.COUNTERS:
                    run(
                        connection,
                        f"""SELECT setval(pg_get_serial_sequence('{name}', 'key'), max(key)) FROM {name}""",
                    )
        self.settle()
