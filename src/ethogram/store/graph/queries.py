"""Where the rows of each kind are in a graph, and the queries that read them.

Most kinds are nodes with a label of their own and their columns as properties. Subjects, events and
detections are the graph that people look at; readings that were added to an event are lists of its message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..kinds import KINDS, Kind
from ..row_store import Condition, Where

LABELS_OF_KINDS = {
    "meta": "Meta", "sources": "Source", "subjects": "Subject", "events": "Message", "imports": "Import",
    "staged": "Staged", "files": "ImportedFile", "changes": "Change", "verdicts": "Verdict",
    "verdict_counts": "VerdictCount", "settled": "Settled", "tries": "Try", "sweeps": "Sweep",
    "swept": "Swept", "runner_states": "State", "looks": "Look", "notes": "Note", "locks": "Lock",
    "people": "UsagePerson", "uses": "UsageEvent", "reported": "UsageReport",
}  # fmt: skip
"""The labels of kinds that are nodes."""
FIRST = -(2**63)
_OPERATORS = ("=", "<", "<=", ">", ">=")


class KindInGraph(NamedTuple):
    """Where the rows of a kind are.

    `match` finds `n`, the node or relationship; `of_subjects` finds those of the Subject node `who`.
    `columns` are expressions where they are not properties of `n` by the same name. `rows` makes rows of a
    node, `holds` is a condition that all nodes meet, and `outer` are columns that all rows of a node share.
    """

    match: str
    of_subjects: str = ""
    columns: Mapping[str, str] = {}
    rows: str = ""
    holds: str = ""
    outer: frozenset[str] = frozenset()


ADDED = ("signal", "number", "text", "scorer", "width")
"""Columns of a reading that was added to an event; lists of its message hold them, one each."""
_LISTS = {name: f"n.measured_{name}s" for name in ADDED}
PLACES = {
    name: KindInGraph(f"MATCH (n:{label})") for name, label in LABELS_OF_KINDS.items()
} | {
    "subjects": KindInGraph("MATCH (n:Subject)", columns={"name": "n.id"}, holds="n.events > 0"),
    "events": KindInGraph("MATCH (n:Message)", of_subjects="MATCH (who)-[:SENT]->(n:Message)"),
    "readings": KindInGraph(
        "MATCH (n:Message:Measured)",
        columns={
            "event": "n.key",
            "signal": f"{_LISTS['signal']}[i]",
            "scorer": f"{_LISTS['scorer']}[i]",
            # A list has no place for what is absent: a text has '=' before it, and no width is -1.
            "number": f"CASE {_LISTS['text']}[i] WHEN '' THEN {_LISTS['number']}[i] END",
            "text": f"CASE {_LISTS['text']}[i] WHEN '' THEN null ELSE substring({_LISTS['text']}[i], 1) END",
            "width": f"CASE WHEN {_LISTS['width']}[i] >= 0 THEN {_LISTS['width']}[i] END",
        },
        rows=f"UNWIND range(0, size({_LISTS['signal']}) - 1) AS i WITH n, i",
        outer=frozenset(("event",)),
    ),
    "detections": KindInGraph(
        "MATCH ()-[n:EXHIBITS_PATTERN]->(p:Pattern)",
        of_subjects="MATCH (who)-[n:EXHIBITS_PATTERN]->(p:Pattern)",
        columns={"pattern": "p.name", "state": "n.episode"},
    ),
}  # fmt: skip


class CypherQuery(NamedTuple):
    """The beginning of a query, which finds the rows of a kind under a condition, and its parameters."""

    text: str
    values: dict[str, Any]


def expression(kind: str, column: str) -> str:
    """The Cypher of a column, in a query that begins with `match_rows`."""
    if column not in KINDS[kind].columns:
        raise KeyError(f"{kind} have no column {column!r}")
    return PLACES[kind].columns.get(column, f"n.`{column}`")


def match_rows(kind: str, where: Where = ()) -> CypherQuery:
    """The query for the rows that meet all conditions; `n` is the node or relationship of each."""
    place, values = PLACES[kind], dict[str, Any]()
    begin, left = _start(place, where, values)
    outer = [place.holds] if place.holds else []
    inner: list[str] = []
    for condition in left:
        is_outer = not place.rows or condition[0] in place.outer
        (outer if is_outer else inner).append(_condition(kind, condition, values))
    parts = [begin, _where(outer), place.rows, _where(inner)]
    return CypherQuery(" ".join(part for part in parts if part), values)


def select_rows(
    kind: str,
    where: Where,
    columns: Sequence[str],
    order: Sequence[str] = (),
    limit: int | None = None,
    offset: int = 0,
) -> CypherQuery:
    """The query for these columns of rows."""
    names = {column: expression(kind, column) for column in KINDS[kind].columns}
    text, values = match_rows(kind, [*where, *_in_order(kind, order)])
    # Sorted before the properties are read: they need not all be in the server's memory.
    page = _page(order, names, limit, offset, values)
    shown = ", ".join(names[column] for column in columns)
    return CypherQuery(f"{text} {f'WITH * {page}' if page else ''} RETURN {shown}", values)


def select_groups(
    kind: str,
    by: Sequence[str],
    where: Where,
    *,
    low: str | None = None,
    high: str | None = None,
    order: Sequence[str] = (),
    limit: int | None = None,
    offset: int = 0,
) -> CypherQuery:
    """The query for distinct values of columns, their number, and the lowest and highest of others."""
    text, values = match_rows(kind, where)
    names = {column: f"by{n}" for n, column in enumerate(by)}
    parts = [f"{expression(kind, column)} AS {name}" for column, name in names.items()]
    parts.append("count(*) AS count")
    parts.append(f"min({expression(kind, low)}) AS low" if low else "null AS low")
    parts.append(f"max({expression(kind, high)}) AS high" if high else "null AS high")
    page = _page(
        order or by, names | {name: name for name in ("count", "low", "high")}, limit, offset, values
    )
    shown = ", ".join((*names.values(), "count", "low", "high"))
    return CypherQuery(f"{text} WITH {', '.join(parts)} {page} RETURN {shown}", values)


def count_rows(kind: str, where: Where, by: Sequence[str] = ()) -> CypherQuery:
    """The query for the number of rows, or of distinct values of columns."""
    text, values = match_rows(kind, where)
    if by:
        text += (
            f" WITH DISTINCT {', '.join(f'{expression(kind, name)} AS by{n}' for n, name in enumerate(by))}"
        )
    return CypherQuery(f"{text} RETURN count(*)", values)


def readers_of(kind: Kind, columns: Iterable[str]) -> dict[int, Callable[[Any], Any]]:
    """What makes of a property the value of a column, by its position, where they differ."""
    readers: dict[int, Callable[[Any], Any]] = {}
    for place, column in enumerate(columns):
        if is_hex(kind.name, column):
            readers[place] = bytes.fromhex
        elif kind.columns[column] is bytes:
            readers[place] = bytes
    return readers


def is_hex(kind: str, column: str) -> bool:
    """Whether bytes are stored as hexadecimal digits, so that people can compare them."""
    return (kind, column) == ("events", "content")


def _in_order(kind: str, order: Sequence[str]) -> list[Condition]:
    """Conditions that are always met, for which the server takes an order from an index."""
    columns = [item.removeprefix("-") for item in order]
    outer = PLACES[kind].outer or columns
    return [(name, "!=", None) for name in columns if name in outer and name not in KINDS[kind].optional]


def _start(place: KindInGraph, where: Where, values: dict[str, Any]) -> tuple[str, list[Condition]]:
    """How to find the nodes: by their subjects, where conditions name these; and the conditions left."""
    if place.of_subjects:
        source = next((item for item in where if item[:2] == ("source", "=")), None)
        subject = next((item for item in where if item[0] == "subject" and item[1] in ("=", "in")), None)
        if source is not None and subject is not None:
            names = subject[2] if subject[1] == "in" else [subject[2]]
            values |= {"source": source[2], "subjects": list(dict.fromkeys(names))}
            start = "UNWIND $subjects AS name MATCH (who:Subject {source: $source, id: name})"
            left = [item for item in where if item is not source and item is not subject]
            return f"{start} {place.of_subjects}", left
    return place.match, list(where)


def _condition(kind: str, condition: Condition, values: dict[str, Any]) -> str:
    """The Cypher of a condition; its value becomes a parameter."""
    columns, operator, value = condition
    names = [columns] if isinstance(columns, str) else list(columns)
    if operator == "contains":
        key = _parameter(values, value)
        return f"({' OR '.join(f'{expression(kind, name)} CONTAINS ${key}' for name in names)})"
    (name,) = names
    column = expression(kind, name)
    if is_hex(kind, name):
        value = value.hex() if isinstance(value, bytes) else [item.hex() for item in value]
    if operator in ("=", "!=") and value is None:
        return f"{column} IS {'NOT ' if operator == '!=' else ''}NULL"
    if operator == "in":
        some = list(value)
        key = _parameter(values, [item for item in some if item is not None])
        return f"({column} IN ${key} OR {column} IS NULL)" if None in some else f"{column} IN ${key}"
    key = _parameter(values, value)
    if operator == "!=":
        return f"({column} <> ${key} OR {column} IS NULL)"
    if operator not in _OPERATORS:
        raise ValueError(f"unknown operator {operator!r}")
    return f"{column} {operator} ${key}"


def _parameter(values: dict[str, Any], value: Any) -> str:
    key = f"v{len(values)}"
    values[key] = value
    return key


def _where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _page(
    order: Sequence[str], names: Mapping[str, str], limit: int | None, offset: int, values: dict[str, Any]
) -> str:
    """ORDER BY, SKIP and LIMIT."""
    parts = [f"{names[item.removeprefix('-')]}{' DESC' if item.startswith('-') else ''}" for item in order]
    text = [f"ORDER BY {', '.join(parts)}"] if parts else []
    if offset:
        text.append(f"SKIP ${_parameter(values, offset)}")
    if limit is not None:
        text.append(f"LIMIT ${_parameter(values, limit)}")
    return " ".join(text)
