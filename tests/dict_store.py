"""A store in dictionaries, as somebody might write one: no rule of ethogram is in it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock, local
from typing import Any, TypeVar

from ethogram.errors import BadUsage
from ethogram.store import Store
from ethogram.store.kinds import KINDS, Row
from ethogram.store.row_store import Condition, Reader, Where

T = TypeVar("T")
Tables = dict[str, dict[tuple[Any, ...], Row]]
MEMORY: dict[str, Tables] = {}
"""The tables of each address, for as long as the process lives."""
WRITING = RLock()
"""Held by who writes."""


class DictReader(Reader):
    """Reads tables that nobody changes."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

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
        names = KINDS[kind].names
        places = [names.index(column) for column in columns or names]
        found = ordered(matching(self.tables, kind, where), names, order)
        end = None if limit is None else offset + limit
        return iter([tuple(row[place] for place in places) for row in found[offset:end]])

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
        members: dict[Row, list[Row]] = {}
        names = KINDS[kind].names
        for row in matching(self.tables, kind, where):
            members.setdefault(tuple(row[names.index(column)] for column in by), []).append(row)
        found: list[Row] = [
            (*key, len(rows), extreme(min, rows, names, low), extreme(max, rows, names, high))
            for key, rows in members.items()
        ]
        end = None if limit is None else offset + limit
        return iter(ordered(found, (*by, "count", "low", "high"), order or by)[offset:end])

    def count(self, kind: str, where: Where = (), *, by: Sequence[str] = ()) -> int:
        return len(list(self.groups(kind, by, where))) if by else len(matching(self.tables, kind, where))


class DictStore(DictReader, Store):
    """Tables in the memory of this process; `@store("dict")` above the class would register it for good."""

    def __init__(self, url: str, *, create: bool = False) -> None:
        if url not in MEMORY and not create:
            raise BadUsage(f"there is no store at {url}")
        MEMORY.setdefault(url, {kind: {} for kind in KINDS})
        self.url = self.address = url
        self._thread = local()

    @property
    def tables(self) -> Tables:  # type: ignore[override]
        """What is stored, and in a transaction its draft; what is stored is replaced as a whole."""
        return getattr(self._thread, "draft", None) or MEMORY[self.url]

    def transact(self, work: Callable[[], T]) -> T:
        if getattr(self._thread, "draft", None):
            return work()
        with WRITING:
            draft = self._thread.draft = {kind: dict(rows) for kind, rows in self.tables.items()}
            try:
                result = work()
            finally:
                self._thread.draft = None
            MEMORY[self.url] = draft
            return result

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        yield DictReader(self.tables)

    def write(self, kind: str, rows: Iterable[Row]) -> None:
        names, key = KINDS[kind].names, KINDS[kind].key

        def work() -> None:
            for row in rows:
                self.tables[kind][tuple(row[names.index(column)] for column in key)] = copy.copy(tuple(row))

        self.transact(work)

    def append(self, events: Sequence[Row]) -> list[int]:
        def work() -> list[int]:
            known = {(row[1], row[3]) for row in self.tables["events"].values()}
            here = [place for place, row in enumerate(events) if (row[1], row[3]) in known]
            self.write("events", [row for place, row in enumerate(events) if place not in here])
            return here

        return self.transact(work)

    def delete(self, kind: str, where: Where = ()) -> int:
        names, key = KINDS[kind].names, KINDS[kind].key

        def work() -> int:
            gone = matching(self.tables, kind, where)
            for row in gone:
                del self.tables[kind][tuple(row[names.index(column)] for column in key)]
            if kind == "events":
                for row in gone:
                    self.delete("readings", [("event", "=", row[0])])
            return len(gone)

        return self.transact(work)

    def close(self) -> None:
        pass


def matching(tables: Tables, kind: str, where: Where) -> list[Row]:
    """The rows that meet all conditions."""
    names = KINDS[kind].names
    return [row for row in tables[kind].values() if all(holds(row, names, condition) for condition in where)]


def holds(row: Row, names: Sequence[str], condition: Condition) -> bool:
    """Whether a row meets a condition."""
    columns, operator, value = condition
    values = [row[names.index(name)] for name in ((columns,) if isinstance(columns, str) else columns)]
    if operator == "contains":
        return any(own is not None and value in own for own in values)
    (own,) = values
    if operator in ("=", "!="):
        return bool((own == value) == (operator == "="))
    if operator == "in":
        return own is not None and own in value
    if own is None or value is None:
        return False
    return bool({"<": own < value, "<=": own <= value, ">": own > value, ">=": own >= value}[operator])


def ordered(rows: Sequence[Row], names: Sequence[str], order: Sequence[str]) -> list[Row]:
    """The rows in an order, the last column sorted first; None comes first."""
    found = list(rows)
    for column in reversed(order):
        place = names.index(column.removeprefix("-"))
        found.sort(key=lambda row: (row[place] is not None, row[place]), reverse=column.startswith("-"))
    return found


def extreme(choose: Any, rows: Sequence[Row], names: Sequence[str], column: str | None) -> Any:
    """The lowest or highest value of a column."""
    values = [] if column is None else [row[names.index(column)] for row in rows]
    return choose((value for value in values if value is not None), default=None)
