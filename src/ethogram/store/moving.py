"""A store's rows, out of one and into another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from ..errors import BadUsage
from .kinds import KINDS, Row
from .records import COUNTED
from .row_store import READ_AHEAD, RowStore

Rows = tuple[str, Sequence[Row]]
"""A kind and some of its rows."""
VERSION = "schema"
"""The row of `meta` that has the version of the tables, where the database has no other place for it."""
PORTABLE = {name: kind.names for name, kind in KINDS.items() if kind.portable}
"""The kinds that a copy of a store has, and their columns."""


class Moves(RowStore):
    """Everything in a store as rows."""

    def dump(self) -> Iterator[Rows]:
        """Everything but locks and unfinished imports, as rows of the portable kinds.

        Kinds come in that order, in batches, as of one moment.
        """
        with self.snapshot() as view:
            for name in PORTABLE:
                where = [("name", "!=", VERSION)] if name == "meta" else []
                rows = view.rows(name, where, order=KINDS[name].key)
                while batch := list(islice(rows, READ_AHEAD)):
                    yield name, batch

    def load(self, rows: Iterable[Rows]) -> None:
        """Take over what `dump` gave; BadUsage where this store has any of what `info` counts.

        In one commit, or in several where a store cannot write so much at a time.
        """

        def begin() -> None:
            self.check_empty()
            for name in reversed(PORTABLE):
                self.delete(name, [("name", "!=", VERSION)] if name == "meta" else ())

        def everything() -> None:
            begin()
            for name, batch in rows:
                self.load_rows(name, batch)

        if self.max_events is None:
            self.transact(everything)
        else:
            self.transact(begin)
            for name, batch in rows:
                self.transact(partial(self.load_rows, name, batch))
        self.settle()

    def load_rows(self, kind: str, rows: Sequence[Row]) -> None:
        """Add rows that another store gave."""
        if kind == "events":
            self.append(rows)
        else:
            self.write(kind, rows)

    def check_empty(self) -> None:
        """Raise BadUsage where there is any of what `info` counts."""
        for name in (*COUNTED, "people"):
            if next(self.rows(name, columns=KINDS[name].key, limit=1), None) is not None:
                raise BadUsage(f"{self.url} has {name.replace('_', ' ')} already: copy into a new store")
