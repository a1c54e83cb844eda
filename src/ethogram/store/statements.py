"""The contract in SQL: conditions, orders and rows of kinds as text for SQLite and PostgreSQL.

Tables have numbers in place of the names of sources and subjects; here these become names again. The few
differences of dialect are the functions of `Dialect`. Values stand for `?`, in order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .kinds import EVENT_FIELDS, KINDS
from .row_store import Where

Statement = tuple[str, list[Any]]
SOURCE_OF = {"subjects": "t.source", "events": "t.source", "swept": "u.source"}
"""Where the number of a row's source is, in kinds whose tables have it in place of the name."""
WITH_SUBJECT = ("events", "swept")
NAMES = {
    "subjects": {"source": "o.name"},
    "events": {"source": "o.name", "subject": "u.name"},
    "swept": {"source": "o.name", "subject": "u.name"},
}
EVENT_COLUMNS = ("key", "source", "subject", *EVENT_FIELDS)


class Dialect(NamedTuple):
    """What a database calls things; `is_postgres` decides the rest."""

    is_postgres: bool
    mark: str
    """What stands for a value."""

    def contains(self, column: str) -> str:
        """Whether a text has a part."""
        return f"strpos({column}, ?) > 0" if self.is_postgres else f"instr({column}, ?) > 0"

    def is_one_of(self, column: str) -> str:
        """Whether a column is in a list, which is one value however long it is."""
        return f"{column} = ANY(?)" if self.is_postgres else f"{column} IN (SELECT value FROM json_each(?))"

    def listed(self, values: Sequence[Any]) -> Any:
        """A list as the value of `is_one_of`."""
        return list(values) if self.is_postgres else json.dumps(values)

    def text(self, statement: str) -> str:
        """A statement as the driver takes it."""
        return statement.replace("?", self.mark)


SQLITE, POSTGRES = Dialect(False, "?"), Dialect(True, "%s")
Shape = tuple[tuple[str | tuple[str, ...], str, bool], ...]
"""Conditions without their values: column, operator, and whether the value is None."""


def _prepared(kind: str, where: Where, dialect: Dialect) -> tuple[Shape, list[Any]]:
    """The conditions in the order in which the text has them, and their values."""
    shape: list[tuple[str | tuple[str, ...], str, bool]] = []
    values: list[Any] = []
    for column, operator, value in sorted(where, key=lambda item: _rank(kind, item[0])):
        if operator == "in":
            some = list(value)
            if some and isinstance(some[0], bytes) and not dialect.is_postgres:
                operator = f"in {len(some)}"  # JSON has no bytes
                values += some
            elif len(some) == 1:
                operator = "="
                values += some
            else:
                values.append(dialect.listed(some))
        elif operator == "contains":
            values += [value] * (1 if isinstance(column, str) else len(column))
        elif value is not None:
            values.append(value)
        shape.append((column, operator, value is None))
    return tuple(shape), values


def _rank(kind: str, column: str | tuple[str, ...]) -> int:
    if kind in NAMES and column == "source":
        return 0
    return 1 if kind in WITH_SUBJECT and column == "subject" else 2


def _test(column: str | tuple[str, ...], operator: str, is_none: bool, prefix: str, dialect: Dialect) -> str:
    """One condition on columns of a table."""
    if operator == "contains":
        columns = (column,) if isinstance(column, str) else column
        tests = [dialect.contains(f"{prefix}{name}") for name in columns]
        return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"
    name = f"{prefix}{column}"
    if is_none:
        return f"{name} IS NULL" if operator == "=" else f"{name} IS NOT NULL"
    if operator == "in":
        return dialect.is_one_of(name)
    if operator.startswith("in "):
        return f"{name} IN ({', '.join('?' * int(operator[3:]))})"
    if operator == "!=":
        return f"({name} IS NULL OR {name} <> ?)"
    return f"{name} {operator} ?"


def _conditions(kind: str, shape: Shape, dialect: Dialect, prefix: str) -> str:
    """The conditions on a table, names of sources and subjects by queries of their numbers."""
    of_source = [item for item in shape if not _rank(kind, item[0])]
    of_subject = [item for item in shape if _rank(kind, item[0]) == 1]
    tests = []
    source = " AND ".join(_test("name", *item[1:], "", dialect) for item in of_source)
    source_in = f"{_equals(of_source)} (SELECT key FROM sources WHERE {source})"
    if kind in WITH_SUBJECT and (of_subject or (of_source and kind == "swept")):
        own = [f"source {source_in}"] if of_source else []
        own += [_test("name", *item[1:], "", dialect) for item in of_subject]
        equals = _equals([*of_source, *of_subject]) if of_source and of_subject else "IN"
        tests.append(f"{prefix}subject {equals} (SELECT key FROM subjects WHERE {' AND '.join(own)})")
    elif of_source:
        tests.append(f"{prefix}source {source_in}")
    tests += [_test(*item, prefix, dialect) for item in shape if _rank(kind, item[0]) == 2]
    return f" WHERE {' AND '.join(tests)}" if tests else ""


def _equals(items: Sequence[tuple[Any, str, bool]]) -> str:
    return "=" if items and all(operator == "=" for _, operator, _ in items) else "IN"


def _joined(kind: str, columns: Sequence[str]) -> str:
    """The table of a kind as `t`, with those that have the names of these columns."""
    names = NAMES.get(kind, {})
    wanted = {names[column] for column in columns if column in names}
    table = f"{kind} t"
    if "u.name" in wanted or (kind == "swept" and wanted):
        table += " JOIN subjects u ON u.key = t.subject"
    if "o.name" in wanted:
        table += f" JOIN sources o ON o.key = {SOURCE_OF[kind]}"
    return table


def _columns(kind: str, columns: Sequence[str]) -> list[str]:
    names = NAMES.get(kind, {})
    return [names.get(column, f"t.{column}") for column in columns]


def _ordered(order: Sequence[str], names: dict[str, str]) -> str:
    terms = [
        f"{names.get(name.removeprefix('-'), name.removeprefix('-'))}{' DESC' * name.startswith('-')}"
        for name in order
    ]
    return f" ORDER BY {', '.join(terms)}" if terms else ""


def _paged(limit: int | None, offset: int, dialect: Dialect) -> Statement:
    if limit is None and not offset:
        return "", []
    if limit is None:
        limit = 2**62
    return (" LIMIT ? OFFSET ?", [limit, offset]) if offset else (" LIMIT ?", [limit])


@lru_cache(1024)
def _select_text(
    kind: str, columns: tuple[str, ...], shape: Shape, order: tuple[str, ...], dialect: Dialect
) -> str:
    bare = [name.removeprefix("-") for name in order]
    names = dict(zip(bare, _columns(kind, bare), strict=True))
    return (
        f"SELECT {', '.join(_columns(kind, columns))} FROM {_joined(kind, (*columns, *bare))}"
        f"{_conditions(kind, shape, dialect, 't.')}{_ordered(order, names)}"
    )


def select(
    dialect: Dialect,
    kind: str,
    where: Where,
    columns: Sequence[str] | None,
    order: Sequence[str],
    limit: int | None,
    offset: int,
) -> Statement:
    """A query of the rows of a kind."""
    shape, values = _prepared(kind, where, dialect)
    text = _select_text(kind, tuple(columns or KINDS[kind].names), shape, tuple(order), dialect)
    page, bounds = _paged(limit, offset, dialect)
    return dialect.text(text + page), values + bounds


def _by_number(by: Sequence[str]) -> bool:
    """Whether numbers can be grouped in place of names: those of subjects are of one source each."""
    return "subject" not in by or "source" in by


@lru_cache(256)
def _group_text(
    kind: str,
    by: tuple[str, ...],
    shape: Shape,
    low: str | None,
    high: str | None,
    order: tuple[str, ...],
    dialect: Dialect,
) -> str:
    lowest = "NULL" if low is None else f"min(t.{low})"
    highest = "NULL" if high is None else f"max(t.{high})"
    values = f"count(*) AS n, {lowest} AS low, {highest} AS high"
    where = _conditions(kind, shape, dialect, "t.")
    names = {"count": "g.n", "low": "g.low", "high": "g.high", **{name: f"g.{name}" for name in by}}
    columns = [f"g.{name}" for name in by]
    if kind == "events" and _by_number(by):
        # Numbers are grouped, and their names looked up afterwards.
        own = ", ".join(f"t.{name}" for name in by)
        inner = f"SELECT {own}, {values} FROM events t{where} GROUP BY {own}"
        table = f"({inner}) g"
        for name, other in (("source", "o"), ("subject", "u")):
            if name in by:
                table += f" JOIN {name}s {other} ON {other}.key = g.{name}"
                names[name] = f"{other}.name"
        columns = [names[name] for name in by]
    else:
        own = ", ".join(f"{column} AS {name}" for column, name in zip(_columns(kind, by), by, strict=True))
        inner = (
            f"SELECT {own}, {values} FROM {_joined(kind, by)}{where} GROUP BY {', '.join(_columns(kind, by))}"
        )
        table = f"({inner}) g"
    return (
        f"SELECT {', '.join([*columns, 'g.n', 'g.low', 'g.high'])} FROM {table}{_ordered(order or by, names)}"
    )


def group(
    dialect: Dialect,
    kind: str,
    by: Sequence[str],
    where: Where,
    low: str | None,
    high: str | None,
    order: Sequence[str],
    limit: int | None,
    offset: int,
) -> Statement:
    """A query of the distinct values of some columns."""
    shape, values = _prepared(kind, where, dialect)
    text = _group_text(kind, tuple(by), shape, low, high, tuple(order), dialect)
    page, bounds = _paged(limit, offset, dialect)
    return dialect.text(text + page), values + bounds


def count(dialect: Dialect, kind: str, where: Where, by: Sequence[str]) -> Statement:
    """A query of how many rows, or distinct values, there are."""
    shape, values = _prepared(kind, where, dialect)
    tests = _conditions(kind, shape, dialect, "t.")
    if by:
        own = ", ".join((f"t.{name}" for name in by) if _by_number(by) else _columns(kind, by))
        table = f"{kind} t" if _by_number(by) else _joined(kind, by)
        return dialect.text(f"SELECT count(*) FROM (SELECT DISTINCT {own} FROM {table}{tests}) g"), values
    return dialect.text(f"SELECT count(*) FROM {kind} t{tests}"), values


def delete(dialect: Dialect, kind: str, where: Where) -> Statement:
    """A statement that removes rows."""
    shape, values = _prepared(kind, where, dialect)
    return dialect.text(f"DELETE FROM {kind}{_conditions(kind, shape, dialect, '')}"), values


@lru_cache
def put(dialect: Dialect, kind: str) -> str:
    """A statement that adds a row or replaces the one with its key."""
    names, key = KINDS[kind].names, KINDS[kind].key
    if kind == "swept":
        names, key = tuple(name for name in names if name != "source"), ("selection", "subject")
    rest = [f"{name} = excluded.{name}" for name in names if name not in key]
    return dialect.text(
        f"INSERT INTO {kind} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {', '.join(rest)}"
    )


def insert_new(dialect: Dialect) -> str:
    """A statement that adds a row of the table of events, unless its source has the id."""
    names = ", ".join(EVENT_COLUMNS)
    marks = ", ".join("?" * len(EVENT_COLUMNS))
    return dialect.text(f"INSERT INTO events ({names}) VALUES ({marks}) ON CONFLICT (source, id) DO NOTHING")
