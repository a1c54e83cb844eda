"""Columns larger than memory: spilled to disk in buckets by subject."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.limits import Limits
from .column_reader import NAMES, Chunk, ColumnReader, Numbers, Words
from .event_columns import Coded, Column, EventColumns, Readings, Sparse, coded, places_of, taken
from .event_parser import Rules
from .spill import BUCKETS, BucketFolder, bucket_of, pieces_of, put_piece

MOST_KNOWN = 500_000
"""Words of a field that are numbered; others are written out."""
WORDS = "words"
"""The file of the numbered words, by field."""


class ColumnBuckets(BucketFolder):
    """Chunks of columns on disk; a bucket has all events of its subjects."""

    suffix = ".columns"

    def __init__(self, source: str, *, count: int = BUCKETS, folder: Path | None = None) -> None:
        super().__init__(count=count, folder=folder)
        self.source = source
        self.fields: set[str] = set()
        self.readings: set[str] = set()
        self.kinds: set[str | None] = set()
        self._buckets = Numbers(lambda subject: bucket_of(source, subject, count), np.uint16)
        self._numbered: dict[str, Words] = {}

    def put(self, chunk: Chunk) -> None:
        """Add the rows of a chunk, each to the bucket of its subject."""
        seq, times, fields, readings, timed = chunk
        self.total += len(seq)
        self.timed = self.source, timed
        self.newest = max(self.newest, int(times.max()))
        self.fields |= fields.keys()
        self.readings |= readings.keys()
        self.kinds |= set(fields.get("kind", (None,)))
        subjects = coded(fields["subject"])
        of_rows = self._buckets(subjects.words)[subjects.codes]
        order = np.argsort(of_rows, kind="stable")
        ends = np.cumsum(np.bincount(of_rows, minlength=len(self.paths))).tolist()
        seq, times = seq[order], times[order]
        own = {name: taken(self._packed(name, column), order) for name, column in fields.items()}
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
                        {
                            name: column[cut].tobytes() if isinstance(column, np.ndarray) else column[cut]
                            for name, column in own.items()
                        },
                    ),
                )
                packed = ((name, _packed(column, start, end)) for name, column in measured.items())
                put_piece(file, {name: own for name, own in packed if own is not None})
            start = end

    def flush(self) -> None:
        """Write everything that was put."""
        super().flush()
        with (self.folder / WORDS).open("wb") as file:
            put_piece(file, {name: own.words for name, own in self._numbered.items()})

    def _packed(self, name: str, column: Column) -> Column | NDArray[np.int32]:
        if name not in NAMES:
            return column
        known = self._numbered.setdefault(name, Words())
        return known.codes(column) if len(known) < MOST_KNOWN else list(column)


def read_columns(path: Path, names: Collection[str] | None = None) -> EventColumns:
    """Return the events of a bucket, in order; with `names` they need not have other fields, nor readings."""
    bare = names is not None and "id" not in names  # ids may be made of content
    reader: ColumnReader | None = None
    numbered: dict[str, list[tuple[int, NDArray[np.int32]]]] = {}
    pieces = pieces_of(path, skip=bare)
    for (source, timed, seq, times, fields), readings in zip(pieces, pieces, strict=True):
        reader = reader or ColumnReader(source, Rules(Limits(), {}))
        if bare:
            fields = {name: column for name, column in fields.items() if name in {"subject", *(names or ())}}
        unpacked = {name: _unpacked(column) for name, column in (readings or {}).items()}
        for name in [name for name, column in fields.items() if isinstance(column, bytes)]:
            codes = np.frombuffer(fields.pop(name), np.int32)
            numbered.setdefault(name, []).append((reader.rows, codes))
        reader.keep(Chunk(_numbers(seq), _numbers(times), fields, unpacked, timed))
    if reader is None:
        empty = np.empty(0, np.int64)
        return EventColumns("", empty, empty, None, {"subject": []}, {}, timed=True)
    (words,) = pieces_of(path.with_name(WORDS))
    return reader.columns({name: _joined(reader.rows, numbered[name], words[name]) for name in numbered})


def _joined(size: int, parts: list[tuple[int, NDArray[np.int32]]], words: list[str]) -> Coded:
    """Return the column of so many rows, with no other words than it has."""
    whole = np.full(size, -1, np.int32)
    for start, codes in parts:
        whole[start : start + len(codes)] = codes
    used, own = np.unique(whole, return_inverse=True)
    known = [words[code] for code in used.tolist() if code >= 0]
    return Coded(own - (len(used) - len(known)), known)


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
