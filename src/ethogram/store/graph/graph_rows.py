"""Rows of kinds in a graph: read, written and removed as `row_store.RowStore` says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ...models import moment
from ..kinds import KINDS, Row
from ..row_store import Reader, RowStore, Where, in_pieces
from .connection import STEP, Graph, Transaction
from .messages import (
    BATCH,
    AddedReading,
    StoredMessage,
    create_messages,
    delete_messages,
    known_positions,
    replace_messages,
)
from .queries import (
    LABELS_OF_KINDS,
    PLACES,
    CypherQuery,
    count_rows,
    match_rows,
    readers_of,
    select_groups,
    select_rows,
)

T = TypeVar("T")


class GraphReader(Reader):
    """Reads rows; `stream` gives the records of a query."""

    stream: Callable[..., Iterator[Any]]

    def __init__(self, stream: Callable[..., Iterator[Any]]) -> None:
        self.stream = stream

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
        chosen = KINDS[kind].names if columns is None else columns
        return self._read(kind, chosen, select_rows(kind, where, chosen, order, limit, offset))

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
        query = select_groups(kind, by, where, low=low, high=high, order=order, limit=limit, offset=offset)
        return self._read(kind, by, query)

    def count(self, kind: str, where: Where = (), *, by: Sequence[str] = ()) -> int:
        query = count_rows(kind, where, by)
        ((count,),) = self.stream(query.text, **query.values)
        return int(count)

    def _read(self, kind: str, columns: Sequence[str], query: CypherQuery) -> Iterator[Row]:
        readers = readers_of(KINDS[kind], columns)
        for record in self.stream(query.text, **query.values):
            values = record.values()
            for place, read in readers.items():
                if values[place] is not None:
                    values[place] = read(values[place])
            yield tuple(values)


class GraphRows(Graph, GraphReader, RowStore):
    """The rows of a graph, read and written."""

    max_events = STEP

    def transact(self, work: Callable[[], T]) -> T:
        return self.change(lambda _: work())

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """Read in one transaction; as Neo4j locks no readers, it shows what others commit meanwhile."""
        with self.reading() as tx:
            yield GraphReader(tx.stream)

    def write(self, kind: str, rows: Iterable[Row]) -> None:
        new = list(rows)
        writers = {"events": self._write_events, "readings": self._write_readings, "detections": exhibit}
        self.change(lambda tx: writers[kind](tx, new) if kind in writers else write_nodes(tx, kind, new))

    def append(self, events: Sequence[Row]) -> list[int]:
        def work(tx: Transaction) -> list[int]:
            known = known_positions(tx, events)
            skipped = set(known)
            # Held back until the next query: readings that are added to them are part of the same messages.
            tx.hold(
                {row[0]: StoredMessage(row) for place, row in enumerate(events) if place not in skipped},
                lambda held: create_messages(tx, held.values()),
            )
            return known

        return self.change(work)

    def delete(self, kind: str, where: Where = ()) -> int:
        query = match_rows(kind, where)

        def work(tx: Transaction) -> int:
            if kind == "readings":
                return self._delete_readings(tx, where)
            if kind == "events":
                return delete_messages(tx, query.text, query.values)
            if kind == "subjects":
                return delete_subjects(tx, query)
            count: int = tx.value(f"{query.text} DELETE n RETURN count(n)", **query.values)
            if kind == "detections" and count:
                tx.run(_UNUSED)
            return count

        return self.change(work)

    # --- events and their readings ----------------------------------------------------------

    def _write_events(self, tx: Transaction, rows: Sequence[Row]) -> None:
        keys = [row[0] for row in rows]
        known = {key for (key,) in self.rows("events", [("key", "in", keys)], columns=("key",))}
        added = self._added(known)
        create_messages(tx, [StoredMessage(row) for row in rows if row[0] not in known])
        replace_messages(tx, [StoredMessage(row, added.get(row[0], ())) for row in rows if row[0] in known])

    def _write_readings(self, tx: Transaction, rows: Sequence[Row]) -> None:
        new: dict[int, list[AddedReading]] = {}
        for event, *reading in rows:
            new.setdefault(event, []).append(tuple(reading))
        held: dict[int, StoredMessage] = tx.held
        for event in new.keys() & held.keys():
            held[event] = held[event]._replace(added=merged(held[event].added, new.pop(event)))
        if new:
            before = self._added(new)
            self._replace_added(tx, {event: merged(before.get(event, ()), new[event]) for event in new})

    def _delete_readings(self, tx: Transaction, where: Where) -> int:
        gone = {
            (event, signal, scorer) for event, signal, scorer in self.rows("readings", where, columns=_KEY)
        }
        if not gone:
            return 0
        before = self._added({event for event, _, _ in gone})
        left = {
            event: [item for item in added if (event, item[0], item[3]) not in gone]
            for event, added in before.items()
        }
        self._replace_added(tx, left)
        return len(gone)

    def _added(self, events: Iterable[int]) -> dict[int, list[AddedReading]]:
        """The readings that were added to events, by the key of each."""
        added: dict[int, list[AddedReading]] = {}
        for event, *reading in self.rows("readings", [("event", "in", list(events))]):
            added.setdefault(event, []).append(tuple(reading))
        return added

    def _replace_added(self, tx: Transaction, added: Mapping[int, Sequence[AddedReading]]) -> None:
        for piece in in_pieces(list(added), BATCH):
            rows = self.rows("events", [("key", "in", piece)])
            replace_messages(tx, [StoredMessage(row, added[row[0]]) for row in rows])


_KEY = KINDS["readings"].key


def merged(old: Iterable[AddedReading], new: Iterable[AddedReading]) -> list[AddedReading]:
    """Readings of an event, one for each signal and scorer; new ones replace old ones."""
    return list({(item[0], item[3]): item for item in (*old, *new)}.values())


# --- nodes and detections -------------------------------------------------------------------


def write_nodes(tx: Transaction, kind: str, rows: Sequence[Row]) -> None:
    """Make or replace the nodes of a kind; other properties that they have stay."""
    own = {name: PLACES[kind].columns.get(name, name).removeprefix("n.") for name in KINDS[kind].names}
    key = ", ".join(f"`{own[name]}`: row.`{own[name]}`" for name in KINDS[kind].key)
    query = f"UNWIND $rows AS row MERGE (n:{LABELS_OF_KINDS[kind]} {{{key}}}) SET n += row"
    for piece in in_pieces(rows, BATCH):
        tx.run(query, rows=[dict(zip(own.values(), row, strict=True)) for row in piece])


def exhibit(tx: Transaction, rows: Sequence[Row]) -> None:
    """Add or replace detections: relationships from a subject to a pattern."""
    found = {}
    for row in rows:
        values = dict(zip(KINDS["detections"].names, row, strict=True))
        record = json.loads(values["record"])
        pattern = values.pop("pattern")
        values["episode"] = values.pop("state")
        values["detected_at"] = moment(values["detected_us"])
        values["start_eval_id"], values["end_eval_id"] = record.get("first_event"), record.get("last_event")
        values["eval_count"] = record.get("count")
        found[values["id"]] = [pattern, values]
    for piece in in_pieces(list(found.values()), BATCH):
        moved = tx.value(_MOVED, rows=piece)
        tx.run(_EXHIBIT, rows=piece)
        if moved:
            tx.run(_UNUSED)


def delete_subjects(tx: Transaction, query: CypherQuery) -> int:
    """Remove subjects; those that have detections stay, without events."""
    gone: int = tx.value(f"{query.text} AND NOT {_HAS_ANY} DETACH DELETE n RETURN count(n)", **query.values)
    bare = f"{query.text} SET n.events = 0 REMOVE n.first_us, n.last_us, n.changed RETURN count(n)"
    return gone + int(tx.value(bare, **query.values))


_HAS_ANY = "EXISTS { (n)-[:EXHIBITS_PATTERN]->() }"
_UNUSED = f"MATCH (n:Subject {{events: 0}}) WHERE NOT {_HAS_ANY} DETACH DELETE n"
"""Removes subjects without events and detections, so that no name stays behind."""
_MOVED = """UNWIND $rows AS row MATCH (s)-[r:EXHIBITS_PATTERN {id: row[1].id}]->(p)
  WHERE s.source <> row[1].source OR s.id <> row[1].subject OR p.name <> row[0] DELETE r RETURN count(r)"""
_EXHIBIT = """UNWIND $rows AS row
  MERGE (s:Subject {source: row[1].source, id: row[1].subject}) ON CREATE SET s.events = 0
  MERGE (p:Pattern {name: row[0]})
  MERGE (s)-[r:EXHIBITS_PATTERN {id: row[1].id}]->(p) SET r = row[1]"""
