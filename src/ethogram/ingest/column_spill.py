"""Columns larger than memory: spilled to disk in buckets by subject."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.limits import Limits
from .column_reader import ColumnReader, Fields
from .event_columns import Coded, Column, EventColumns, Readings, Sparse, coded, places_of, taken
from .event_parser import Rules
from .spill import BUCKETS, BucketFolder, bucket_of, pieces_of, put_piece

MOST_KNOWN = 500_000
"""Subjects whose bucket is remembered."""


class ColumnBuckets(BucketFolder):
    """Chunks of columns on disk; a bucket has all events of its subjects."""

    suffix = ".columns"

    def __init__(self, source: str, *, count: int = BUCKETS, folder: Path | None = None) -> None:
        super().__init__(count=count, folder=folder)
        self.source = source
        self.fields: set[str] = set()
        self.readings: set[str] = set()
        self.kinds: set[str | None] = set()
        self._known = _BucketOf(source, count)
        self._last: tuple[list[str], NDArray[np.uint16]] = [], np.empty(0, np.uint16)

    def put(
        self,
        seq: NDArray[np.int64],
        times: NDArray[np.int64],
        fields: Fields,
        readings: dict[str, Readings],
        *,
        timed: bool,
    ) -> None:
        """Add the rows of a chunk, each to the bucket of its subject."""
        self.total += len(seq)
        self.newest = max(self.newest, int(times.max()))
        self.fields |= fields.keys()
        self.readings |= readings.keys()
        self.kinds |= set(fields.get("kind", (None,)))
        subjects = coded(fields["subject"])
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        if self._last[0] is not subjects.words:
            buckets = map(self._known.__getitem__, subjects.words)
            self._last = subjects.words, np.fromiter(buckets, np.uint16, len(subjects.words))
        of_rows = self._last[1][subjects.codes]
        order = np.argsort(of_rows, kind="stable")
        ends = np.cumsum(np.bincount(of_rows, minlength=len(self.paths))).tolist()
        seq, times = seq[order], times[order]
        own = {name: taken(column, order) for name, column in fields.items()}
        places = places_of(order, len(order))
        measured: dict[str, Any] = {
            name: column.moved(places, len(order)) if isinstance(column, Sparse) else taken(column, order)
            for name, column in readings.items()
        }
        start = 0
        for file, end in zip(self._open(), ends, strict=True):
            if start < end:
                cut = slice(start, end)
                put_piece(
                    file,
                    (
                        self.source,
                        timed,
                        seq[cut].tobytes(),
                        times[cut].tobytes(),
                        {name: _packed_texts(column[cut]) for name, column in own.items()},
                        {
                            name: packed
                            for name, column in measured.items()
                            if (packed := _packed(column, start, end)) is not None
                        },
                    ),
                )
            start = end


def read_columns(path: Path) -> EventColumns:
    """Return the events of a bucket, in order."""
    reader: ColumnReader | None = None
    for source, timed, seq, times, fields, readings in pieces_of(path):
        reader = reader or ColumnReader(source, Rules(Limits(), {}))
        unpacked = {name: _unpacked(column) for name, column in readings.items()}
        texts = {name: _unpacked_texts(column) for name, column in fields.items()}
        reader.keep(_numbers(seq), _numbers(times), texts, unpacked, timed=timed)
    if reader is None:
        empty = np.empty(0, np.int64)
        return EventColumns("", empty, empty, None, {"subject": []}, {}, timed=True)
    return reader.columns()


class _BucketOf(dict[str, int]):
    """The bucket of each subject met lately."""

    def __init__(self, source: str, count: int) -> None:
        self._source, self._count = source, count

    def __missing__(self, subject: str) -> int:
        self[subject] = bucket = bucket_of(self._source, subject, self._count)
        return bucket


def _packed_texts(column: Column) -> Any:
    if not isinstance(column, Coded):
        return column
    used, codes = np.unique(column.codes, return_inverse=True)
    words = [column.words[code] for code in used.tolist() if code >= 0]
    return words, (codes - int(len(used) > len(words))).astype(np.int32).tobytes()


def _unpacked_texts(column: Any) -> Column:
    return column if isinstance(column, list) else Coded(np.frombuffer(column[1], np.int32), column[0])


def _packed(column: Readings, start: int, end: int) -> Any:
    """Return some rows of a column as plain data; None where they have no number."""
    if not isinstance(column, Sparse):
        return column[start:end] if isinstance(column, list) else column[start:end].tobytes()
    first, last = np.searchsorted(column.rows, [start, end]).tolist()
    if first == last:
        return None
    return (column.rows[first:last] - start).tobytes(), column.values[first:last].tobytes(), end - start


def _unpacked(packed: Any) -> Readings:
    if isinstance(packed, tuple):
        rows, values, size = packed
        return Sparse(_numbers(rows), np.frombuffer(values, np.float64), size)
    return packed if isinstance(packed, list) else np.frombuffer(packed, np.float64)


def _numbers(content: bytes) -> NDArray[np.int64]:
    return np.frombuffer(content, np.int64)
