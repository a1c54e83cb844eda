"""Buckets: events that do not fit into memory, shared out on disk by subject.

Every history holds the subject in its key, so a bucket has all that its histories need. What is written is
read by the same program only, so it is in Python's own plain format, six times as quick as pickles.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator
from heapq import merge
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, BinaryIO
from zlib import crc32

from ..records import Event, micros, moment
from ..records.quick import quick_event

BUCKETS = 64
AT_ONCE = 16_384
"""Rows held back before they are written, of all buckets together."""
IN_ONE_PIECE = 256
LENGTH = 8
"""Bytes in front of each piece that say how long it is."""

Row = tuple[Any, ...]
"""Number, file and line of an event, then its fields as Event has them, times as microseconds."""
NUMBER, FILE, LINE, ID, AT, SUBJECT, SOURCE, TIMED = 0, 1, 2, 3, 4, 5, 7, 8


def row_of(event: Event, number: int = 0, file: int = 0, line: int = 0) -> Row:
    """The row of an event.

    >>> event_of_row(row_of(Event.sample())) == Event.sample()
    True
    """
    received = None if event.received_at is None else micros(event.received_at)
    return (
        *(number, file, line, event.id, micros(event.at), event.subject, event.seq, event.source),
        *(
            event.timed,
            received,
            event.target,
            event.reply_to,
            event.thread,
            event.session,
            event.kind,
            event.text,
        ),
        *map(dict, (event.attributes, event.readings, event.scorers, event.widths)),
    )


def event_of_row(row: Row) -> Event:
    """The event of a row."""
    _, _, _, name, at, subject, seq, source, timed, received, *rest = row
    received = None if received is None else moment(received)
    return quick_event(name, moment(at), subject, seq, source, timed, received, *rest)


def bucket_of(source: str, subject: str, count: int) -> int:
    """The bucket of a subject: the same in every process."""
    return crc32(f"{source}\0{subject}".encode("utf-8", "surrogatepass")) % count


class Buckets:
    """Rows on disk, in a folder of its own that is removed at the end.

    >>> with Buckets(count=2) as found:
    ...     found.put(row_of(Event.sample()))
    ...     found.flush()
    ...     sum(len(list(found.rows(number))) for number in range(2))
    1
    """

    def __init__(self, *, count: int = BUCKETS, folder: Path | None = None) -> None:
        self.total = 0
        self.newest = -(2**63)
        self._folder = TemporaryDirectory(prefix="ethogram-", dir=folder)
        self.folder = Path(self._folder.name)
        self.paths = [self.folder / f"{number:04d}" for number in range(count)]
        self._waiting: list[list[Row]] = [[] for _ in self.paths]
        self._left = AT_ONCE
        self._files: list[BinaryIO] = []

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
        self._files = self._files or [path.open("ab") for path in self.paths]
        for file, rows in zip(self._files, self._waiting, strict=True):
            _put(file, rows)
        self._left = AT_ONCE

    def flush(self) -> None:
        """Write everything that was put."""
        self._write()
        for file in self._files:
            file.close()
        self._files = []

    def rows(self, number: int) -> Iterator[Row]:
        """The rows of one bucket as they came, few of them in memory at a time."""
        return rows_of(self.paths[number])

    def all_rows(self) -> Iterator[Row]:
        """The rows of all buckets in the order of their numbers, which is how each of them was written."""
        return merge(*map(rows_of, self.paths), key=itemgetter(NUMBER))

    def close(self) -> None:
        """Remove everything written."""
        for file in self._files:
            file.close()
        self._files = []
        self._folder.cleanup()

    def __enter__(self) -> Buckets:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def rows_of(path: Path) -> Iterator[Row]:
    """The rows in a file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        while length := file.read(LENGTH):
            yield from marshal.loads(file.read(int.from_bytes(length, "little")))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Rows into a file, in place of what is there."""
    with path.open("wb") as file:
        waiting: list[Row] = []
        for row in rows:
            waiting.append(row)
            if len(waiting) >= IN_ONE_PIECE:
                _put(file, waiting)
        _put(file, waiting)


def _put(file: BinaryIO, rows: list[Row]) -> None:
    if rows:
        packed = marshal.dumps(rows)
        file.write(len(packed).to_bytes(LENGTH, "little") + packed)
        rows.clear()
