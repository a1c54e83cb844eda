"""Events larger than memory: spilled to disk in buckets by subject."""

from __future__ import annotations

import marshal
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from heapq import merge
from itertools import chain
from operator import itemgetter
from os import SEEK_CUR
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Self
from zlib import crc32

from ..models import Event, content_hash, micros, moment
from ..models.limits import Limits
from ..models.slotted import dataclass, field
from .batch import Batch, EventCollection, EventList, EventSequence, Faults, Gathered, Key, Place
from .collector import NO_TIME, Collector, SourceState, check_kinds, id_conflict, too_many
from .errors import BadLine
from .event_parser import Fields, Rules, event_of
from .ordering import by_order

# Every history holds the subject in its key, so a bucket has all that its histories need. Rows are read by
# the same program only, so they are in Python's marshal format, six times as quick as pickles.

BUCKETS = 64
AT_ONCE = 16_384
"""Rows held back before they are written, of all buckets together."""
INSERT_ROWS = 256
LENGTH = 8
"""Bytes in front of each piece that say how long it is."""

Row = tuple[Any, ...]
"""Number, file and line of an event, then its fields as Event has them, times as microseconds."""
NUMBER, FILE, LINE, ID, AT, SUBJECT, SOURCE, TIMED = 0, 1, 2, 3, 4, 5, 7, 8


def row_of(event: Event, number: int = 0, file: int = 0, line: int = 0) -> Row:
    """Return the row of an event.

    >>> event_of_row(row_of(Event.sample())) == Event.sample()
    True
    """
    received = None if event.received_at is None else micros(event.received_at)
    return (
        *(number, file, line, event.id, micros(event.at), event.subject, event.seq, event.source),
        *(event.timed, received, event.target, event.reply_to, event.thread, event.session),
        *(event.kind, event.text),
        *map(dict, (event.attributes, event.readings, event.scorers, event.widths)),
    )


def event_of_row(row: Row) -> Event:
    """Return the event of a row."""
    _, _, _, name, at, subject, seq, source, timed, received, *rest = row
    received = None if received is None else moment(received)
    return Event(name, moment(at), subject, seq, source, timed, received, *rest)


def bucket_of(source: str, subject: str, count: int) -> int:
    """Return the bucket of a subject: the same in every process."""
    return crc32(f"{source}\0{subject}".encode("utf-8", "surrogatepass")) % count


class BucketFolder:
    """Files of buckets, in a folder of its own that is removed at the end."""

    suffix = ""
    fields: set[str] | None = None
    """Optional fields that any event has, with the kinds of events and names of readings; None if unknown."""
    kinds: Collection[str | None] = ()
    readings: Collection[str] = ()
    timed: tuple[str, bool] | None = None
    """The source of all events, and whether they have times; None where that is not known."""
    scratch: Path | None
    """Where further folders are made; None: where the system has temporary files."""

    def __init__(self, *, count: int = BUCKETS, folder: Path | None = None) -> None:
        self.total = 0
        self.newest = -(2**63)
        self._folder = TemporaryDirectory(prefix="ethogram-", dir=folder)
        self.folder = self.scratch = Path(self._folder.name)
        self.paths = [self.folder / f"{number:04d}{self.suffix}" for number in range(count)]
        self._files: list[BinaryIO] = []

    def flush(self) -> None:
        """Write everything that was put."""
        for file in self._files:
            file.close()
        self._files = []

    def close(self) -> None:
        """Remove everything written."""
        BucketFolder.flush(self)
        self._folder.cleanup()

    def has(self, name: str) -> bool:
        """Whether any event may have a value in this field."""
        return self.fields is None or name in self.fields

    def _open(self) -> list[BinaryIO]:
        self._files = self._files or [path.open("ab") for path in self.paths]
        return self._files

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Buckets(BucketFolder):
    """Rows on disk.

    >>> with Buckets(count=2) as buckets:
    ...     buckets.put(row_of(Event.sample()))
    ...     buckets.flush()
    ...     len(list(buckets.all_rows()))
    1
    """

    def __init__(self, *, count: int = BUCKETS, folder: Path | None = None) -> None:
        super().__init__(count=count, folder=folder)
        self._waiting: list[list[Row]] = [[] for _ in self.paths]
        self._left = AT_ONCE

    def put(self, row: Row) -> None:
        """Add a row; it is on disk after `flush`."""
        self._waiting[bucket_of(row[SOURCE], row[SUBJECT], len(self.paths))].append(row)
        self.total += 1
        if row[AT] > self.newest:
            self.newest = row[AT]
        self._left -= 1
        if not self._left:
            self._write()

    def _write(self) -> None:
        for file, rows in zip(self._open(), self._waiting, strict=True):
            put_rows(file, rows)
        self._left = AT_ONCE

    def flush(self) -> None:
        """Write everything that was put."""
        self._write()
        super().flush()

    def all_rows(self) -> Iterator[Row]:
        """Yield the rows of all buckets in the order of their numbers, as each was written."""
        return merge(*map(rows_of, self.paths), key=itemgetter(NUMBER))


def pieces_of(path: Path, *, skip: bool = False) -> Iterator[Any]:
    """Yield the pieces of a file, as they were put there; with `skip` None for every second one."""
    if not path.exists():
        return
    with path.open("rb") as file:
        number = 0
        while length := file.read(LENGTH):
            size = int.from_bytes(length, "little")
            if skip and number % 2:
                file.seek(size, SEEK_CUR)
                yield None
            else:
                yield marshal.loads(file.read(size))
            number += 1


def put_piece(file: BinaryIO, piece: Any) -> None:
    """Add a piece, plain data, to a file."""
    packed = marshal.dumps(piece)
    file.write(len(packed).to_bytes(LENGTH, "little") + packed)


def rows_of(path: Path) -> Iterator[Row]:
    """Yield the rows in a file."""
    return chain.from_iterable(pieces_of(path))


def read_bucket(path: Path, names: Collection[str] | None = None) -> EventSequence:
    """Return the events of a bucket of rows or of columns, in order.

    With `names` they need not have other fields than those, nor readings.
    """
    if path.suffix:
        from .column_spill import read_columns

        return read_columns(path, names)
    return EventList(sorted(map(event_of_row, rows_of(path)), key=by_order))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows into a file, in place of what is there."""
    with path.open("wb") as file:
        waiting: list[Row] = []
        for row in rows:
            waiting.append(row)
            if len(waiting) >= INSERT_ROWS:
                put_rows(file, waiting)
        put_rows(file, waiting)


def put_rows(file: BinaryIO, rows: list[Row]) -> None:
    """Move rows, if there are any, into a file."""
    if rows:
        put_piece(file, rows)
        rows.clear()


# Replay: find duplicate ids, readings that change their kind, and untimed events in a timed source. Earlier
# ids are not in memory while rows are written; afterwards only duplicates must be remembered.

READINGS = 17
"""Where the readings are in a row."""
First = tuple[bool, str, Place]
"""Whether the first event of an id has a time, the hash of its content, and its place."""


@dataclass(slots=True)
class Replayed:
    """The outcome of a replay. `dropped` has a 1 at the number of every row that does not count."""

    dropped: bytearray
    faults: Faults
    repeated: int = 0
    counted: int = 0
    sources: dict[str, SourceState] = field(default_factory=dict)


def twice(hashes: array[int]) -> set[int]:
    """Return the hashes that are there more than once.

    >>> twice(array("q", [3, 1, 3]))
    {3}
    """
    import numpy as np

    ordered = np.sort(np.frombuffer(hashes, np.int64)) if hashes else np.empty(0, np.int64)
    return set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())


def replay(buckets: Buckets, names: Mapping[int, str], suspects: set[int], limits: Limits) -> Replayed:
    """Return the outcome of the same events in memory. BadEvents where there are too many."""
    done = Replayed(bytearray(buckets.total), Faults(limits.faults))
    first: dict[tuple[str, str], First] = {}
    for row in buckets.all_rows():
        place = Place(row[FILE], row[LINE], names[row[FILE]])
        state = done.sources.setdefault(row[SOURCE], SourceState())
        try:
            counts = _counts(row, place, state, suspects, first)
        except BadLine as bad:
            counts = False
            done.faults.add(place, bad.message)
        else:
            done.repeated += not counts
        if not counts:
            done.dropped[row[NUMBER]] = 1
            continue
        if done.counted >= limits.events:
            raise too_many(place, limits.events)
        done.counted += 1
        state.add(row[TIMED])
    _drop_untimed(buckets, names, done)
    return done


def _counts(
    row: Row, place: Place, state: SourceState, suspects: set[int], first: dict[tuple[str, str], First]
) -> bool:
    """Return whether a row is an event of its own: false for a repeat, BadLine where it does not fit."""
    key = (row[SOURCE], row[ID])
    if hash(key) not in suspects:
        check_kinds(state, row[READINGS], place)
        return True
    content = (row[TIMED], content_hash(event_of_row(row).to_dict()))
    if (known := first.get(key)) is not None:
        if known[:2] != content:
            raise BadLine(id_conflict(row[ID], known[2]))
        return False
    check_kinds(state, row[READINGS], place)
    first[key] = (*content, place)
    return True


def _drop_untimed(buckets: Buckets, names: Mapping[int, str], done: Replayed) -> None:
    mixed = {name for name, state in done.sources.items() if state.is_mixed}
    for row in buckets.all_rows() if mixed else ():
        if not row[TIMED] and row[SOURCE] in mixed and not done.dropped[row[NUMBER]]:
            done.dropped[row[NUMBER]] = 1
            done.counted -= 1
            done.faults.add(Place(row[FILE], row[LINE], names[row[FILE]]), NO_TIME)
    for name in mixed:
        done.sources[name].is_untimed = False


def rewrite(buckets: Buckets, dropped: bytearray) -> None:
    """Drop the rows that do not count from the buckets."""
    newest = buckets.newest = -(2**63)
    for path in buckets.paths:
        if not path.exists():
            continue
        new = path.with_suffix(".new")
        write_rows(new, (row for row in rows_of(path) if not dropped[row[NUMBER]]))
        new.replace(path)
        newest = max(newest, max((row[AT] for row in rows_of(path)), default=newest))
    buckets.newest, buckets.total = newest, dropped.count(0)


EVENT, READING, ATTRIBUTE = 1000, 40, 300
"""About how many bytes of memory an event takes, and each reading and attribute of it more."""


class EventsOnDisk(EventCollection):
    """The events in buckets, in no order; each look at them reads them anew."""

    def __init__(self, buckets: BucketFolder) -> None:
        self.buckets = buckets

    def parts(self, names: Collection[str] | None = None) -> Iterator[EventSequence]:
        """Yield the events bucket by bucket, each in order; those of one subject are in one bucket.

        With `names` they need not have other fields than those, nor readings.
        """
        return (read_bucket(path, names) for path in self.buckets.paths)

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(self.parts())

    def values(self, *names: str) -> Iterator[Any]:
        return chain.from_iterable(part.values(*names) for part in self.parts(names))

    def values_of(self, whose: Collection[tuple[str, str]], *names: str) -> Iterator[Any]:
        paths = self.buckets.paths
        numbers = sorted({bucket_of(source, subject, len(paths)) for source, subject in whose})
        parts = (read_bucket(paths[number], names).of_subjects(whose) for number in numbers)
        return chain.from_iterable(part.values(*names) for part in parts)

    def counts(self, *names: str) -> Counter[Any]:
        if names == ("source", "timed") and self.buckets.timed is not None:
            return Counter({self.buckets.timed: len(self)})
        return sum((part.counts(*names) for part in self.parts(names)), Counter())

    def has(self, name: str) -> bool:
        return self.buckets.has(name) and super().has(name)

    def reading_names(self) -> set[str]:
        return set().union(*(part.reading_names() for part in self.parts()))

    def by_key(self, keys: Mapping[Key, datetime]) -> dict[Key, Event]:
        return {key: event for part in self.parts() for key, event in part.by_key(keys).items()}

    def __len__(self) -> int:
        return self.buckets.total

    def __contains__(self, item: object) -> bool:
        return any(item == event for event in self)


@dataclass(frozen=True, slots=True)
class OnDisk(Gathered):
    """Everything that was read, with the events in buckets on disk, which are gone after `close`."""

    events: EventsOnDisk

    @property
    def newest(self) -> datetime | None:
        """The time of the newest event."""
        return moment(self.events.buckets.newest) if len(self.events) else None

    def close(self) -> None:
        """Remove everything from the disk."""
        self.events.buckets.close()

    def __enter__(self) -> OnDisk:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class SpillingCollector(Collector):
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

    def _take(self, state: SourceState, fields: Fields, place: Place) -> None:
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

    def _write(self, buckets: Buckets, state: SourceState, fields: Fields, place: Place) -> None:
        if buckets.total >= self._most:
            self._make_room(buckets, place)
        try:
            check_kinds(state, fields.get("readings", {}), place)
        except BadLine:
            self._unsettled = True  # a fault, unless its id came before
        event = event_of(fields)
        state.add(event.timed)
        self._hashes.append(hash((event.source, event.id)))
        buckets.put(row_of(event, buckets.total, place.file, place.line))

    def _make_room(self, buckets: Buckets, place: Place) -> None:
        """Count the rows that count as events; BadEvents where one more is too many."""
        suspects = twice(self._hashes)
        if not suspects and not self._unsettled:
            raise too_many(place, self._limits.events)
        buckets.flush()
        limits = self._limits
        done = replay(buckets, self._names, suspects, limits)
        self._most = buckets.total + max(AT_ONCE, limits.events - done.counted)

    def gathered(self, files: int) -> Batch | OnDisk:
        """Return what was gathered: in memory, or on disk."""
        if self._buckets is None:
            return self.batch(files)
        buckets, limits = self._buckets, self._limits
        buckets.flush()
        suspects = twice(self._hashes)
        sources = self._sources
        if suspects or self._unsettled or self.mixed_sources():
            done = replay(buckets, self._names, suspects, limits)
            self.faults.add_all(done.faults)
            self.repeated += done.repeated
            rewrite(buckets, done.dropped)
            sources = done.sources
        timed = not any(state.is_untimed for state in sources.values())
        return OnDisk(EventsOnDisk(buckets), **self._summary(timed, files))

    def close(self) -> None:
        """Remove what is on disk, if anything is."""
        if self._buckets is not None:
            self._buckets.close()
