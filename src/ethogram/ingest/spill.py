"""Spilling: events go on gathering on disk once they would take too much memory."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType

from ..errors import Fault
from ..records import Event, micros, moment
from .batch import Batch, Place
from .buckets import AT_ONCE, BUCKETS, Buckets, event_of_row, row_of, rows_of
from .collect import Collector, Seen, check_kinds, too_many
from .errors import BadLine
from .event_line import Fields
from .readings import Rules
from .replay import replay, rewrite, twice

EVENT, READING, ATTRIBUTE = 1000, 40, 300
"""About how many bytes of memory an event takes, and each reading and attribute of it more."""


class EventsOnDisk(Collection[Event]):
    """The events in buckets, in no order; each look at them reads them anew."""

    def __init__(self, buckets: Buckets) -> None:
        self.buckets = buckets

    def __iter__(self) -> Iterator[Event]:
        return (event_of_row(row) for path in self.buckets.paths for row in rows_of(path))

    def __len__(self) -> int:
        return self.buckets.total

    def __contains__(self, one: object) -> bool:
        return any(one == event for event in self)


@dataclass(frozen=True, slots=True)
class OnDisk:
    """What a Batch says, with its events in buckets on disk, which are gone after `close`."""

    events: EventsOnDisk
    bad: tuple[Fault, ...] = ()
    bad_count: int = 0
    repeated: int = 0
    timed: bool = True
    files: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    not_events: tuple[str, ...] = ()
    strays: Mapping[str, int] = field(default_factory=dict)

    @property
    def newest(self) -> datetime | None:
        """The time of the newest event."""
        return moment(self.events.buckets.newest) if len(self.events) else None

    def close(self) -> None:
        """Remove everything from the disk."""
        self.events.buckets.close()

    def __enter__(self) -> OnDisk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Spilling(Collector):
    """A collector that holds at most about `memory` bytes of events; the others are on disk.

    What depends on events before it, which are not at hand then, is settled at the end.
    """

    def __init__(
        self, source: str, rules: Rules, memory: int, *, count: int = BUCKETS, folder: Path | None = None
    ) -> None:
        super().__init__(source, rules)
        self._room, self._count, self._folder = memory, count, folder
        self._buckets: Buckets | None = None
        self._hashes = array("q")
        self._names: dict[int, str] = {}
        self._unsettled = False
        self._most = self._limits.events

    def _take(self, state: Seen, fields: Fields, place: Place) -> None:
        self._names[place.file] = place.path
        if self._buckets is not None:
            self._write(self._buckets, state, fields, place)
            return
        super()._take(state, fields, place)
        self._room -= EVENT + READING * len(fields.get("readings", ())) + len(fields.get("text") or "")
        self._room -= ATTRIBUTE * len(fields.get("attributes", ()))
        if self._room < 0:
            self._spill()

    def _spill(self) -> None:
        self._buckets = Buckets(count=self._count, folder=self._folder)
        for number, (event, place) in enumerate(zip(self._events, self._places, strict=True)):
            self._hashes.append(hash((event.source, event.id)))
            self._buckets.put(row_of(event, number, place.file, place.line))
        self._events, self._places = [], []
        for state in self._sources.values():
            state.by_id.clear()

    def _write(self, buckets: Buckets, state: Seen, fields: Fields, place: Place) -> None:
        if buckets.total >= self._most:
            self._make_room(buckets, place)
        try:
            check_kinds(state, fields.get("readings", {}), place)
        except BadLine:
            self._unsettled = True  # a fault, unless its id came before
        get, source, name = fields.get, fields["source"], fields["id"]
        timed = get("timed", True)
        state.saw(timed)
        self._hashes.append(hash((source, name)))
        buckets.put(
            (
                *(buckets.total, place.file, place.line, name, micros(fields["at"]), fields["subject"]),
                *(fields["seq"], source, timed, None, get("target"), get("reply_to"), get("thread")),
                *(get("session"), get("kind", "event"), get("text"), get("attributes") or {}),
                *(get("readings") or {}, get("scorers") or {}, get("widths") or {}),
            )
        )

    def _make_room(self, buckets: Buckets, place: Place) -> None:
        """Find out how many of the rows count; BadEvents where one more is too many."""
        suspects = twice(self._hashes)
        if not suspects and not self._unsettled:
            raise too_many(place, self._limits.events)
        buckets.flush()
        limits = self._limits
        done = replay(buckets, self._names, suspects, most=limits.events, told=limits.faults)
        self._most = buckets.total + max(AT_ONCE, limits.events - done.kept)

    def gathered(self, files: int) -> Batch | OnDisk:
        """What was gathered: in memory, or on disk."""
        if self._buckets is None:
            return self.batch(files)
        buckets, limits = self._buckets, self._limits
        buckets.flush()
        suspects = twice(self._hashes)
        untimed = {name for name, one in self._sources.items() if one.is_untimed}
        if suspects or self._unsettled or self.mixed_sources():
            done = replay(buckets, self._names, suspects, most=limits.events, told=limits.faults)
            self.faults.add_all(done.faults)
            self.repeated += done.repeated
            rewrite(buckets, done.dropped)
            untimed = {name for name, one in done.sources.items() if one.is_untimed}
        return OnDisk(
            EventsOnDisk(buckets),
            self.faults.told(),
            self.faults.count,
            self.repeated,
            not untimed,
            files,
            dict(self.skipped),
            tuple(self.not_events),
            dict(self.strays),
        )

    def close(self) -> None:
        """Remove what is on disk, if anything is."""
        if self._buckets is not None:
            self._buckets.close()
