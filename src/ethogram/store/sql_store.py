"""What the stores in SQL share: all of the contract but how to connect."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from ..models import moment
from .events import Events
from .findings import Findings
from .imports import Imports
from .links import Links
from .moving import Moves
from .notes import Notes
from .purge import Purges
from .records import COUNTED, Info, SourceRow
from .scores import Scores
from .sql import run
from .states import Privacy, States
from .sweeps import Sweeps
from .verdicts import Detections, Verdicts


class SqlStore(
    Imports, Events, Scores, Detections, Findings, Verdicts, Sweeps, States, Notes, Purges, Privacy, Links,
    Moves,
):  # fmt: skip
    """A store in SQL; a class of its own says how to connect, read and write."""

    version: int
    """Of the schema."""

    def close(self) -> None:
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def size(self) -> int:
        """Bytes on disk."""
        raise NotImplementedError

    def info(self) -> Info:
        """What is in the store."""
        with self.reading() as connection:
            counts = {name: run(connection, f"SELECT count(*) FROM {name}").scalar() for name in COUNTED}
            span = "SELECT min(at_us), max(at_us) FROM events e WHERE e.timed = 1"
            swept = run(connection, "SELECT max(as_of_us) FROM sweeps").scalar()
            times = [None if item is None else moment(item) for item in (*run(connection, span).one(), swept)]
        return Info(
            store=self.url,
            schema=self.version,
            bytes=self.size(),
            **counts,
            first_at=times[0],
            last_at=times[1],
            sources=[SourceRow(source.name, source.timed) for source in self.sources().values()],
            unfinished_imports=[unfinished.staged for unfinished in self.imports()],
            last_sweep=times[2],
        )
