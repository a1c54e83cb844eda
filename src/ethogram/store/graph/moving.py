"""A graph as rows of a store's tables, and rows as a graph; who acted on whom, and what several share."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from ...errors import BadUsage, EthogramError
from ...models import moment
from ..moving import Rows
from ..records import COUNTED, LinkRow, SharedRow, ShownRow, Who
from ..rows import stored_detection
from ..schema import EVENT_FIELDS, PORTABLE
from ..sql import READ_AHEAD, in_pieces
from .connection import STEP, Graph, Transaction
from .events import FIRST, decode_measured, properties_of
from .messages import BATCH, PRECEDES, SENT
from .records import exhibited, save_detections
from .scores import MESSAGE, measure

PLAIN = {
    "meta": "Meta", "files": "ImportedFile", "changes": "Change", "verdicts": "Verdict",
    "verdict_counts": "VerdictCount", "settled": "Settled", "tries": "Try", "runner_states": "State",
    "looks": "Look", "notes": "Note",
}  # fmt: skip
"""Tables whose rows are nodes with the same properties."""
COUNTERS = ("sources", "subjects", "changes", "verdicts", "tries", "looks")
EMPTY = {
    "events": "(:Message)", "subjects": "(:Subject)", "detections": "()-[:EXHIBITS_PATTERN]->()",
    "verdicts": "(:Verdict)", "runner_states": "(:State)",
}  # fmt: skip


class Links(Graph):
    """What subjects have to do with each other."""

    def links(self, subject: str | None = None, target: str | None = None) -> list[LinkRow]:
        """Events with a target, counted by source, subject, target and kind."""
        query = """MATCH (s:Subject)-[:SENT]->(m:Message) WHERE m.target IS NOT NULL
          AND ($subject IS NULL OR s.id = $subject) AND ($target IS NULL OR m.target = $target)
          WITH s.source AS source, s.id AS subject, m.target AS target, m.kind AS kind, m.at_us AS at
          RETURN source, subject, target, kind, count(*), min(at), max(at)
          ORDER BY source, subject, target, kind"""
        rows = self.read(lambda tx: tx.run(query, subject=subject, target=target))
        return [LinkRow._make((*row[:5], moment(row[5]), moment(row[6]))) for row in rows]

    def shown(self) -> list[ShownRow]:
        """The indicators of each subject, with number, first time and highest score."""
        query = """MATCH (s:Subject)-[:SENT]->(m:Message)-[r:SHOWS]->(i:Indicator) WHERE r.score > 0
          WITH s.source AS source, s.id AS subject, i.name AS indicator, m.at_us AS at, r.score AS score
          RETURN source, subject, indicator, count(*), min(at), max(score)
          ORDER BY source, subject, indicator"""
        rows = self.read(lambda tx: tx.run(query))
        return [ShownRow._make((*row[:4], moment(row[4]), row[5])) for row in rows]

    def shared(self, by: str) -> Iterator[SharedRow]:
        """Events whose target or text another subject's have too, by source, value and time."""
        column = {"target": "m.target", "text": "m.text"}[by]
        query = f"""MATCH (m:Message) WHERE {column} IS NOT NULL
          WITH m.source AS source, {column} AS value, collect(DISTINCT m.subject) AS subjects,
            collect(m) AS all
          WHERE size(subjects) > 1 UNWIND all AS m
          RETURN source, value, m.subject, m.id, m.at_us AS at ORDER BY source, value, at, m.seq, m.id"""
        with self.streaming() as tx:
            for record in tx.stream(query):
                row = record.values()
                yield SharedRow._make((*row[:4], moment(row[4])))


class Moves(Graph):
    """Everything in a graph as rows."""

    def dump(self) -> Iterator[Rows]:
        """Every row of the tables in `schema.PORTABLE`, as of one moment."""
        with self.streaming(locked=True) as tx:
            source_keys = dict(tx.run("MATCH (o:Source) RETURN o.name, o.key"))
            names = "MATCH (s:Subject) WHERE s.events > 0 RETURN s.source, s.id, s.key"
            subject_keys = {(source, name): key for source, name, key in tx.run(names)}
            for table in PORTABLE:
                rows = _rows(tx, table, source_keys, subject_keys)
                while batch := list(islice(rows, READ_AHEAD)):
                    yield table, batch

    def load(self, rows: Iterable[Rows]) -> None:
        """Take over the rows of another store; BadUsage where this one is not empty.

        In steps, since a transaction must fit into the server's memory. Until the last one, others cannot
        open the store or write to it. An error removes what was copied; the next copy removes what a killed
        one left.
        """
        token = uuid.uuid4().hex

        def begin(tx: Transaction) -> None:
            for name in COUNTED:
                where = EMPTY.get(name)
                if self.copy_token is None and where and tx.value(f"RETURN EXISTS {{ MATCH {where} }}"):
                    raise BadUsage(f"{self.url} has {name.replace('_', ' ')} already: copy into a new store")
            tx.run("MATCH (w:Ethogram {name: 'store'}) SET w.copying = $token", token=token)

        left = "MATCH (w:Ethogram {name: 'store'}) RETURN w.copying"
        self.copy_token = self.read(lambda tx: tx.value(left))
        try:
            self.write(begin)
            self.copy_token = token
            try:
                self._empty()
                copy = Copy(self)
                for table, batch in rows:
                    copy.add(table, batch)
                copy.finish()
            except BaseException:
                with suppress(EthogramError):
                    self._empty()
                    self.write(end_copy)
                raise
        finally:
            self.copy_token = None

    def _empty(self) -> None:
        for label in ("Message", "Subject", *PLAIN.values(), "Source", "Sweep", "Counter"):
            self.in_steps(f"MATCH (n:{label}) WITH n LIMIT $most DETACH DELETE n RETURN count(n)")


def _rows(
    tx: Transaction, table: str, sources: dict[str, int], subjects: dict[tuple[str, str], int]
) -> Iterator[tuple[Any, ...]]:
    """The rows of a table in the order of its columns."""
    columns = PORTABLE[table]
    if table in PLAIN:
        which = ", ".join(f"n.{name}" for name in columns)
        for record in tx.stream(f"MATCH (n:{PLAIN[table]}) RETURN {which} ORDER BY n.{columns[0]}"):
            yield tuple(bytes(value) if isinstance(value, bytearray) else value for value in record.values())
        return
    query = _QUERIES[table]
    for record in tx.stream(query):
        row = record.data()
        if table == "subjects":
            row["source"] = sources[row["source"]]
        elif table == "events":
            row["subject"] = subjects[row["source"], row["subject"]]
            row["source"], row["content"] = sources[row["source"]], bytes.fromhex(row["content"])
        elif table == "readings":
            for item in decode_measured(row["measured"]):
                signal, number, text, scorer, width = item
                yield (row["key"], signal, number, text, scorer, width)
            continue
        elif table == "swept":
            if (row["source"], row["subject"]) not in subjects:
                continue
            row["subject"] = subjects[row["source"], row["subject"]]
        yield tuple(row[name] for name in columns)


_DETECTION = tuple(name for name in PORTABLE["detections"] if name not in ("pattern", "state"))
_QUERIES = {
    "sources": "MATCH (o:Source) RETURN o.key AS key, o.name AS name, o.timed AS timed,"
    " o.next_seq AS next_seq, o.kinds AS kinds ORDER BY key",
    "subjects": """MATCH (s:Subject) WHERE s.events > 0
      RETURN s.key AS key, s.source AS source, s.id AS name, s.events AS events,
        s.first_us AS first_us,
        s.last_us AS last_us, s.changed AS changed ORDER BY key""",
    # Sorted before the properties are read: they need not all be in the server's memory.
    "events": f"""MATCH (m:Message) WITH m, m.key AS key ORDER BY key
      RETURN key, m.source AS source, m.subject AS subject,
      {", ".join(f"m.{name} AS {name}" for name in EVENT_FIELDS)}""",
    "readings": """MATCH (m:Message) WHERE m.measured IS NOT NULL WITH m, m.key AS key ORDER BY key
      RETURN key, m.measured AS measured""",
    "detections": f"""MATCH ()-[r:EXHIBITS_PATTERN]->(p:Pattern)
      RETURN p.name AS pattern, r.episode AS state, {", ".join(f"r.{name} AS {name}" for name in _DETECTION)}
      ORDER BY r.id""",
    "sweeps": """MATCH (w:Sweep) WHERE w.as_of_us IS NOT NULL
      RETURN w.selection AS selection, w.versions AS versions, w.as_of_us AS as_of_us,
        w.finished_us AS finished_us ORDER BY selection""",
    "swept": """MATCH (s:Subject)-[r:SWEPT]->(w:Sweep)
      RETURN w.selection AS selection, s.source AS source, s.id AS subject, r.versions AS versions,
        r.changed AS changed, r.as_of_us AS as_of_us, r.due_us AS due_us
      ORDER BY selection, source, subject""",
}


class Copy:
    """Makes nodes and relationships of rows that come table by table, a transaction for some of them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources: dict[int, str] = {}
        self.subjects: dict[int, Who] = {}
        self.events: dict[int, int] = {}
        self.last = dict.fromkeys(COUNTERS, 0)

    def add(self, table: str, batch: Sequence[Sequence[Any]]) -> None:
        """Add rows of a table; those of the tables before it in `schema.PORTABLE` are there."""
        for piece in in_pieces(batch, BATCH):
            rows = [dict(zip(PORTABLE[table], row, strict=True)) for row in piece]
            if table in self.last:
                self.last[table] = max(self.last[table], *(row["key"] for row in rows))
            self.graph.write(partial(self._add, table=table, rows=rows))

    def _add(self, tx: Transaction, table: str, rows: list[dict[str, Any]]) -> None:
        if table in PLAIN:
            tx.run(f"UNWIND $rows AS row CREATE (n:{PLAIN[table]}) SET n = row", rows=rows)
        elif table == "sources":
            self.sources |= {row["key"]: row["name"] for row in rows}
            tx.run("UNWIND $rows AS row CREATE (o:Source) SET o = row", rows=rows)
        elif table == "subjects":
            self.subjects |= {row["key"]: (self.sources[row["source"]], row["name"]) for row in rows}
            self.events |= {row["key"]: row["events"] for row in rows}
            tx.run(_MAKE, rows=[row | {"source": self.sources[row["source"]]} for row in rows])
        elif table == "events":
            named = [row | self._who(row["subject"]) for row in rows]
            sent = [[row["source"], row["subject"], [properties_of(row, [])]] for row in named]
            tx.run(SENT.replace("m:Message", "m:Message:Copied"), histories=sent)
        elif table == "readings":
            _add_readings(tx, rows)
        elif table == "detections":
            found = [(row, stored_detection(row["record"], state=row["state"])) for row in rows]
            save_detections(
                tx, [(row["pattern"], exhibited(item, part=bool(row["part"]))) for row, item in found]
            )
        elif table == "sweeps":
            tx.run("UNWIND $rows AS row MERGE (w:Sweep {selection: row.selection}) SET w = row", rows=rows)
        elif table == "swept":
            tx.run(_MARK, rows=[row | self._who(row["subject"]) for row in rows])

    def _who(self, key: int) -> dict[str, str]:
        source, subject = self.subjects[key]
        return {"source": source, "subject": subject}

    def finish(self) -> None:
        """Link the messages of each subject, and open the store to others."""
        touched: list[dict[str, Any]] = []
        events = 0
        for key, count in self.events.items():
            touched.append(self._who(key) | {"low": FIRST, "high": -FIRST - 1})
            events += count
            if events >= STEP:
                self._link(touched)
                touched, events = [], 0
        self._link(touched)
        self.graph.in_steps("MATCH (m:Copied) WITH m LIMIT $most REMOVE m:Copied RETURN count(m)")

        def close(tx: Transaction) -> None:
            count = "UNWIND $rows AS row MERGE (c:Counter {name: row[0]}) SET c.value = row[1]"
            tx.run(count, rows=[list(item) for item in self.last.items()])
            end_copy(tx)

        self.graph.write(close)

    def _link(self, touched: list[dict[str, Any]]) -> None:
        self.graph.write(lambda tx: tx.run(PRECEDES, touched=touched))


def end_copy(tx: Transaction) -> None:
    """Open the store to others."""
    tx.run("MATCH (w:Ethogram {name: 'store'}) REMOVE w.copying")


def _add_readings(tx: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    """Add readings to the messages of a copy; those of one message may come in several calls."""
    measured: dict[int, list[Any]] = {}
    for row in rows:
        own = [row[name] for name in ("signal", "number", "text", "scorer", "width")]
        measured.setdefault(row["event"], []).append(own)
    find = f"UNWIND $keys AS key MATCH (m:Copied {{key: key}}) RETURN m.key AS key, {MESSAGE}"
    changes = []
    for message in tx.maps(find, keys=list(measured)):
        new = measured[message.pop("key")]
        changes.append((message, [*decode_measured(message["measured"]), *new]))
    measure(tx, changes)


_MAKE = """UNWIND $rows AS row MERGE (s:Subject {source: row.source, id: row.name})
  SET s.key = row.key, s.events = row.events, s.first_us = row.first_us, s.last_us = row.last_us,
    s.changed = row.changed"""
_MARK = """UNWIND $rows AS row MATCH (s:Subject {source: row.source, id: row.subject})
  MERGE (w:Sweep {selection: row.selection}) CREATE (s)-[r:SWEPT]->(w)
  SET r.versions = row.versions, r.changed = row.changed, r.as_of_us = row.as_of_us,
    r.due_us = row.due_us"""
