"""What every store does: the contract of `RowStore`, and all rules above it, which are written once."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from ..models import moment
from .detections import Detections
from .events import Events, highest
from .imports import Imports
from .links import Links
from .locks import Locks
from .moving import Moves
from .purge import Purges
from .records import COUNTED, Info, SourceRow
from .scores import Scores
from .states import Privacy, States
from .sweeps import Sweeps
from .verdicts import Verdicts


class Store(
    Events, Imports, Scores, Detections, Verdicts, Sweeps, Locks, States, Privacy, Purges, Links, Moves
):  # fmt: skip
    """A store of events, readings, detections, verdicts and states.

    Times are UTC and kept to the microsecond, names and texts as they are. A method that writes does all of
    it or nothing. A class under `@store("name")` that derives from this has the methods of `RowStore`, and
    may replace others where its database is faster.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def info(self) -> Info:
        """What is in the store."""
        with self.snapshot() as view:
            counts = {name: view.count(name) for name in COUNTED}
            spans = {
                timed: ends
                for timed, _, *ends in view.groups("events", ("timed",), low="at_us", high="at_us")
            }
            ends = [*spans.get(1, (None, None)), highest(view, "sweeps", "as_of_us")]
            times = [None if at is None else moment(at) for at in ends]
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
