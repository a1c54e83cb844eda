"""The Neo4j store: subjects, their messages and the patterns they exhibit as a graph on a server."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from ..errors import BadUsage
from ..models import moment
from . import store
from .graph.connection import connect
from .graph.events import Events
from .graph.findings import Findings, Notes
from .graph.imports import Imports
from .graph.moving import Links, Moves
from .graph.purge import Purges
from .graph.records import Detections, States, Sweeps, Verdicts
from .graph.schema import VERSION, Schema
from .graph.scores import Scores
from .records import Info, SourceRow

__all__ = ["Neo4jStore", "open_graph"]


@store("bolt")
@store("neo4j")
class Neo4jStore(
    Schema, Imports, Events, Scores, Detections, Findings, Verdicts, Sweeps, States, Notes, Purges, Links,
    Moves,
):  # fmt: skip
    """A database of a Neo4j server, `neo4j://USER:PASSWORD@HOST:PORT/DATABASE`.

    One store writes at a time. A write that a broken connection interrupts is repeated as a whole.
    """

    def __init__(self, url: str, *, create: bool = False, labels: Mapping[str, str] | None = None) -> None:
        self.driver, address = connect(url)
        self.url, self.address, self.database, self.labels = address.shown, url, address.database, {}
        try:
            self.open(create=create, labels=labels)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.driver.close()

    def settle(self) -> None:
        """Nothing: the server has brought every commit to the disk."""

    def __enter__(self) -> Neo4jStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def info(self) -> Info:
        """What is in the store. The server does not say how many bytes that takes: 0."""
        counts, (first, last), swept = self.totals()
        return Info(
            store=self.url,
            schema=VERSION,
            bytes=0,
            **counts,
            first_at=None if first is None else moment(first),
            last_at=None if last is None else moment(last),
            sources=[SourceRow(source.name, source.timed) for source in self.sources().values()],
            unfinished_imports=[unfinished.staged for unfinished in self.imports()],
            last_sweep=None if swept is None else moment(swept),
        )


def open_graph(url: str, *, labels: Mapping[str, str] | None = None) -> Neo4jStore:
    """Open the graph at a URL, or make one with these labels; BadUsage for a store of another kind."""
    from . import kind_of

    if kind_of(url) not in ("neo4j", "bolt"):
        raise BadUsage(f"{url!r:.80} is no graph: expected neo4j://USER:PASSWORD@HOST:PORT/DATABASE")
    return Neo4jStore(url, create=True, labels=labels)
