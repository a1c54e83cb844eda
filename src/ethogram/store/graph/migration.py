"""Bring a graph of an older version up to date, in steps that can be repeated."""

from __future__ import annotations

import json

from .connection import STEP, Graph, Transaction
from .messages import added_lists


def migrate(graph: Graph, version: int) -> None:
    """Change what version 1 wrote: readings as lists, how far subjects were swept as nodes, numbers in Meta.

    An interruption loses nothing: the version is written last.
    """
    after: int | None = 0
    while after is not None:
        after = graph.change(lambda tx, after=after: _readings_to_lists(tx, after))  # type: ignore[misc]
    graph.in_steps(_SWEPT)

    def close(tx: Transaction) -> None:
        tx.run("MATCH (w:Sweep) WHERE w.as_of_us IS NULL DETACH DELETE w")
        tx.run("""MATCH (c:Counter) MERGE (m:Meta {name: 'last_' + c.name}) SET m.value = c.value DELETE c""")
        tx.run("MATCH (e:Ethogram {name: 'store'}) SET e.schema = $version", version=version)

    graph.change(close)


def _readings_to_lists(tx: Transaction, after: int) -> int | None:
    """Change some messages with keys above `after`; return the highest key, or None where there are none."""
    find = """MATCH (m:Message) WHERE m.key > $after WITH m ORDER BY m.key LIMIT $most
      REMOVE m.evaluated_by, m.other_scorers, m.bare RETURN m.key, m.measured"""
    found = tx.run(find, after=after, most=STEP)
    lists = [[key, added_lists(json.loads(measured))] for key, measured in found if measured]
    change = """UNWIND $lists AS row MATCH (m:Message {key: row[0]})
      SET m:Measured, m += row[1] REMOVE m.measured"""
    tx.run(change, lists=lists)
    return max((key for key, _ in found), default=None)


_SWEPT = """MATCH (s:Subject)-[r:SWEPT]->(w:Sweep) WITH s, r, w LIMIT $most
  CREATE (n:Swept {selection: w.selection, source: s.source, subject: s.id}) SET n += properties(r)
  DELETE r RETURN count(n)"""
