"""The Neo4j store: subjects, their messages and the patterns they exhibit as a graph on a server."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from ..errors import BadUsage, EthogramError
from ..models import moment
from . import store
from .base import Store
from .graph.connection import Transaction, connect
from .graph.graph_rows import GraphRows
from .graph.queries import LABELS_OF_KINDS
from .graph.schema import VERSION, Schema
from .moving import Rows
from .records import ShownRow

__all__ = ["Neo4jStore", "open_graph"]


@store("bolt")
@store("neo4j")
class Neo4jStore(Schema, GraphRows, Store):
    """A database of a Neo4j server, `neo4j://USER:PASSWORD@HOST:PORT/DATABASE`.

    One store writes at a time. A write that a broken connection interrupts is repeated as a whole.
    """

    version = VERSION
    has_snapshots = False  # transactions of Neo4j are read-committed

    def __init__(self, url: str, *, create: bool = False, labels: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.driver, address = connect(url)
        self.url, self.address, self.database, self.labels = address.shown, url, address.database, {}
        try:
            self.open(create=create, labels=labels)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.driver.close()

    def shown(self) -> list[ShownRow]:
        """The indicators of each subject, with number, first time and highest score."""
        query = """MATCH (s:Subject)-[:SENT]->(m:Message)-[r:SHOWS]->(i:Indicator) WHERE r.score > 0
          WITH s.source AS source, s.id AS subject, i.name AS indicator, m.at_us AS at, r.score AS score
          RETURN source, subject, indicator, count(*), min(at), max(score)
          ORDER BY source, subject, indicator"""
        rows = self.ask(lambda tx: tx.run(query))
        return [ShownRow._make((*row[:4], moment(row[4]), row[5])) for row in rows]

    # --- copies -----------------------------------------------------------------------------

    def dump(self) -> Iterator[Rows]:
        """Everything but locks and unfinished imports, while no other store writes."""
        with self.alone():
            yield from super().dump()

    def load(self, rows: Iterable[Rows]) -> None:
        """Take over what `dump` gave; BadUsage where this store has any of what `info` counts.

        In steps, since a transaction must fit into the server's memory. Until the last one, others cannot
        open the store or write to it. An error removes what was copied; the next copy removes what a killed
        one left.
        """
        token = uuid.uuid4().hex
        left = self.ask(lambda tx: tx.value("MATCH (w:Ethogram {name: 'store'}) RETURN w.copying"))
        self.copy_token = left
        try:
            self.change(lambda tx: self._begin_copy(tx, token, is_new=left is None))
            self.copy_token = token
            try:
                self._empty()
                super().load(rows)
            except BaseException:
                with suppress(EthogramError):
                    self._empty()
                    self.change(_end_copy)
                raise
            self.change(_end_copy)
        finally:
            self.copy_token = None

    def _begin_copy(self, tx: Transaction, token: str, *, is_new: bool) -> None:
        if is_new:
            self.check_empty()
        tx.run("MATCH (w:Ethogram {name: 'store'}) SET w.copying = $token", token=token)

    def _empty(self) -> None:
        for label in LABELS_OF_KINDS.values():
            self.in_steps(f"MATCH (n:{label}) WITH n LIMIT $most DETACH DELETE n RETURN count(n)")


def _end_copy(tx: Transaction) -> None:
    tx.run("MATCH (w:Ethogram {name: 'store'}) REMOVE w.copying")


def open_graph(url: str, *, labels: Mapping[str, str] | None = None) -> Neo4jStore:
    """Open the graph at a URL, or make one with these labels; BadUsage for a store of another kind."""
    from . import kind_of

    if kind_of(url) not in ("neo4j", "bolt"):
        raise BadUsage(f"{url!r:.80} is no graph: expected neo4j://USER:PASSWORD@HOST:PORT/DATABASE")
    return Neo4jStore(url, create=True, labels=labels)
