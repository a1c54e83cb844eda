"""Bring a graph of an older version up to date, in steps that can be repeated."""

from __future__ import annotations

import json
import zlib
from functools import partial
from typing import Any

import msgspec

from ..imports import Piece, encode_piece
from .connection import STEP, Graph, Transaction
from .messages import added_lists

_OLD_PIECE = msgspec.msgpack.Decoder(list[tuple[str, str, int, int, tuple[Any, ...], list[Any]]])
_COMPRESSED = b"\x78"
"""How data by zlib begin, and a piece of this version never does."""


def migrate(graph: Graph, version: int) -> None:
    """Change what version 1 wrote: readings are lists, and how far subjects were swept is in nodes.

    The version is written last, so that an interrupted migration goes on.
    """
    after: int | None = 0
    while after is not None:
        after = graph.change(partial(list_readings, after=after))
    graph.in_steps(_SWEPT)
    pieces = graph.ask(lambda tx: tx.run("MATCH (x:Staged) RETURN x.import, x.n"))
    for number, n in pieces:
        graph.change(partial(encode_again, number=number, n=n))
    graph.change(partial(finish, version=version))


def list_readings(tx: Transaction, after: int) -> int | None:
    """Change some messages with keys above `after`; return the highest key, or None where there are none."""
    find = """MATCH (m:Message) WHERE m.key > $after WITH m ORDER BY m.key LIMIT $most
      REMOVE m.evaluated_by, m.other_scorers, m.bare RETURN m.key, m.measured"""
    found = tx.run(find, after=after, most=STEP)
    lists = [[key, added_lists(json.loads(measured))] for key, measured in found if measured]
    change = """UNWIND $lists AS row MATCH (m:Message {key: row[0]})
      SET m:Measured, m += row[1] REMOVE m.measured"""
    tx.run(change, lists=lists)
    return max((key for key, _ in found), default=None)


def encode_again(tx: Transaction, number: int, n: int) -> None:
    """Write a staged piece of an import as this version does."""
    find = "MATCH (x:Staged {import: $number, n: $n}) RETURN x.data"
    data = bytes(tx.value(find, number=number, n=n) or b"")
    if data.startswith(_COMPRESSED):
        events = _OLD_PIECE.decode(zlib.decompress(data))
        rows = [(number, *where, *values) for *where, values, _ in events]
        readings = [(place, *item) for place, (*_, own) in enumerate(events) for item in own]
        change = "MATCH (x:Staged {import: $number, n: $n}) SET x.data = $data"
        tx.run(change, number=number, n=n, data=encode_piece(Piece.of(rows, readings)))


def finish(tx: Transaction, version: int) -> None:
    """Keep the numbers that were given, remove what is no longer used, and write the version."""
    tx.run("MATCH (w:Sweep) WHERE w.as_of_us IS NULL DETACH DELETE w")
    tx.run("MATCH (c:Counter) MERGE (m:Meta {name: 'last_' + c.name}) SET m.value = c.value DELETE c")
    tx.run("MATCH (e:Ethogram {name: 'store'}) SET e.schema = $version", version=version)


_SWEPT = """MATCH (s:Subject)-[r:SWEPT]->(w:Sweep) WITH s, r, w LIMIT $most
  CREATE (n:Swept {selection: w.selection, source: s.source, subject: s.id}) SET n += properties(r)
  DELETE r RETURN count(n)"""
