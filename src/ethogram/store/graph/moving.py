"""A graph as rows of a store's tables, and rows as a graph; who acted on whom, and what several share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...errors import BadUsage
from ...models import moment
from ..contract import Rows
from ..records import COUNTED, LinkRow, SharedRow, ShownRow
from ..rows import detection_of
from ..schema import EVENT_FIELDS, PORTABLE
from ..sql import READ_AHEAD, in_pieces
from .connection import Graph, Transaction
from .events import _NEW_SHOWS, _PRECEDES, BATCH, decode_measured, properties_of
from .records import exhibited, save_detections

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
                while batch := [row for row, _ in zip(rows, range(READ_AHEAD), strict=False)]:
                    yield table, batch

    def load(self, rows: Iterable[Rows]) -> None:
        """Take over the rows of another store, in one commit; BadUsage where this one is not empty."""
        tables: dict[str, list[Any]] = {}
        batches = [(name, list(batch)) for name, batch in rows]
        for name, batch in batches:
            tables.setdefault(name, []).extend(batch)

        def work(tx: Transaction) -> None:
            for name in COUNTED:
                if name in EMPTY and tx.value(f"RETURN EXISTS {{ MATCH {EMPTY[name]} }}"):
                    raise BadUsage(f"{self.url} has {name.replace('_', ' ')} already: copy into a new store")
            for label in (*PLAIN.values(), "Source", "Sweep", "Counter"):
                tx.run(f"MATCH (n:{label}) DETACH DELETE n")
            _load(tx, tables)

        self.write(work)


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
    "events": f"""MATCH (m:Message) RETURN m.key AS key, m.source AS source, m.subject AS subject,
      {", ".join(f"m.{name} AS {name}" for name in EVENT_FIELDS)} ORDER BY key""",
    "readings": "MATCH (m:Message) WHERE m.measured IS NOT NULL RETURN m.key AS key, m.measured AS measured"
    " ORDER BY key",
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


def _load(tx: Transaction, tables: dict[str, list[Sequence[Any]]]) -> None:
    """Make nodes and relationships of rows."""

    def of(table: str) -> list[dict[str, Any]]:
        return [dict(zip(PORTABLE[table], row, strict=True)) for row in tables.get(table, ())]

    for table, label in PLAIN.items():
        for piece in in_pieces(of(table), BATCH):
            tx.run(f"UNWIND $rows AS row CREATE (n:{label}) SET n = row", rows=piece)
    sources = {row["key"]: row["name"] for row in of("sources")}
    tx.run("UNWIND $rows AS row CREATE (o:Source) SET o = row", rows=of("sources"))
    subjects = {row["key"]: (sources[row["source"]], row["name"]) for row in of("subjects")}
    rows = [row | {"source": sources[row["source"]]} for row in of("subjects")]
    make = """UNWIND $rows AS row MERGE (s:Subject {source: row.source, id: row.name})
      SET s.key = row.key, s.events = row.events, s.first_us = row.first_us, s.last_us = row.last_us,
        s.changed = row.changed"""
    for piece in in_pieces(rows, BATCH):
        tx.run(make, rows=piece)
    measured: dict[int, list[Any]] = {}
    for row in tables.get("readings", ()):
        measured.setdefault(row[0], []).append(list(row[1:]))
    create = """UNWIND $rows AS row MATCH (s:Subject {source: row.source, id: row.subject})
      CREATE (s)-[:SENT]->(m:Message:Moved) SET m = row"""
    for piece in in_pieces(of("events"), BATCH):
        nodes = []
        for row in piece:
            source, subject = subjects[row["subject"]]
            row |= {"source": source, "subject": subject}
            nodes.append(properties_of(row, measured.get(row["key"], [])))
        tx.run(create, rows=nodes)
    tx.run(_NEW_SHOWS)
    tx.run("MATCH (m:Moved) REMOVE m:Moved")
    touched = [{"source": source, "subject": name, "low": -(2**63)} for source, name in subjects.values()]
    for piece in in_pieces(touched, BATCH):
        tx.run(_PRECEDES, touched=piece)
    for piece in in_pieces(of("detections"), BATCH):
        found = [(row, detection_of(row["record"], state=row["state"])) for row in piece]
        save_detections(
            tx, [(row["pattern"], exhibited(item, part=bool(row["part"]))) for row, item in found]
        )
    tx.run("UNWIND $rows AS row MERGE (w:Sweep {selection: row.selection}) SET w = row", rows=of("sweeps"))
    mark = """UNWIND $rows AS row MATCH (s:Subject {source: row.source, id: row.name})
      MERGE (w:Sweep {selection: row.selection}) CREATE (s)-[r:SWEPT]->(w)
      SET r.versions = row.versions, r.changed = row.changed, r.as_of_us = row.as_of_us,
        r.due_us = row.due_us"""
    swept = [
        row | dict(zip(("source", "name"), subjects[row["subject"]], strict=True)) for row in of("swept")
    ]
    for piece in in_pieces(swept, BATCH):
        tx.run(mark, rows=piece)
    for table in COUNTERS:
        last = max((row["key"] for row in of(table)), default=0)
        tx.run("MERGE (c:Counter {name: $name}) SET c.value = $last", name=table, last=last)
