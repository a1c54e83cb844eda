"""Buckets: events that do not fit into memory, shared out on disk by subject.

Every history holds the subject in its key, so a bucket has all that its histories need.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import BinaryIO
from zlib import crc32

from ...records import EPOCH, Event

BUCKETS = 64
AT_ONCE = 256
"""Events of a bucket written in one piece."""


class Buckets:
    """Events on disk, in a folder of its own that is removed at the end.

    >>> with Buckets([Event.sample(id="a"), Event.sample(id="b", seq=1)], count=2) as found:
    ...     [[event.id for event in events] for events in found if events]
    [['a', 'b']]
    """

    def __init__(self, events: Iterable[Event], *, count: int = BUCKETS, folder: Path | None = None) -> None:
        self._folder = TemporaryDirectory(prefix="ethogram-", dir=folder)
        self.paths = [Path(self._folder.name) / f"{number:04d}" for number in range(count)]
        self.newest = EPOCH
        self.events = 0
        try:
            self._write(events)
        except BaseException:
            self.close()
            raise

    def _write(self, events: Iterable[Event]) -> None:
        files = [path.open("wb") for path in self.paths]
        waiting: list[list[Event]] = [[] for _ in files]
        try:
            for event in events:
                number = bucket_of(event, len(files))
                waiting[number].append(event)
                self.newest = max(self.newest, event.at)
                self.events += 1
                if len(waiting[number]) >= AT_ONCE:
                    _put(files[number], waiting[number])
            for file, rest in zip(files, waiting, strict=True):
                _put(file, rest)
        finally:
            for file in files:
                file.close()

    def __iter__(self) -> Iterator[list[Event]]:
        """The events of each bucket, in order; a repeated id is kept once."""
        return (self.bucket(number) for number in range(len(self.paths)))

    def bucket(self, number: int, until: datetime | None = None) -> list[Event]:
        """The events of one bucket up to a moment, in order."""
        found: dict[tuple[str, str], Event] = {}
        for event in self.read(number):
            if until is None or event.at <= until:
                found.setdefault((event.source, event.id), event)
        return sorted(found.values(), key=lambda event: event.order)

    def read(self, number: int) -> Iterator[Event]:
        """The events of one bucket as they came, few of them in memory at a time."""
        with self.paths[number].open("rb") as file:
            while True:
                try:
                    yield from pickle.load(file)
                except EOFError:
                    return

    def close(self) -> None:
        """Remove everything written."""
        self._folder.cleanup()

    def __enter__(self) -> Buckets:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def bucket_of(event: Event, count: int) -> int:
    """The bucket of an event: the same in every process for all events of a subject."""
    return crc32(f"{event.source}\0{event.subject}".encode()) % count


def _put(file: BinaryIO, events: list[Event]) -> None:
    if events:
        pickle.dump(events, file, pickle.HIGHEST_PROTOCOL)
        events.clear()
