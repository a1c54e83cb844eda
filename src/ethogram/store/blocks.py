"""Rows of events as columns, and blocks of them that a store keeps, so that no row is decoded twice.

A block has the events of some subjects. It says how far each had come (`changed`) and counts for those who
have not changed since; a purge removes all blocks. Whoever reads many rows leaves a block behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..ingest.event_columns import Coded, coded
from ..models import Reading
from ..models.slotted import dataclass

NUMBERS = ("key", "subject", "at_us", "seq")
TEXTS = ("id", "target", "thread", "session", "reply_to", "kind", "text", "attributes")
LONGEST = 200
"""Characters of texts and attributes of an event, on average, up to which a block is worth its place."""
MILLION = 1e6
NONE = np.empty(0, np.int64)

Cells = tuple[NDArray[np.int64], NDArray[np.float64] | list[Any]]
"""Rows that have a reading, in order, and its values."""


@dataclass(frozen=True, slots=True)
class RowColumns:
    """Rows of events by column; `scored` has the readings that name their scorer, by row."""

    numbers: dict[str, NDArray[np.int64]]
    texts: dict[str, Sequence[str | None]]
    """Columns that are all None are missing."""
    cells: dict[str, Cells]
    scored: Mapping[int, list[Reading]]

    def __len__(self) -> int:
        return len(self.numbers["key"])

    @property
    def is_light(self) -> bool:
        """Whether a block of this is worth keeping."""
        if self.scored:
            return False
        long = [self.texts[name] for name in ("text", "attributes") if name in self.texts]
        return sum(len(value or "") for column in long for value in column) <= LONGEST * len(self)

    def chosen(self, mask: NDArray[np.bool_]) -> RowColumns:
        """The rows where the mask is true."""
        if mask.all():
            return self
        rows, places = np.flatnonzero(mask), np.cumsum(mask) - 1
        texts: dict[str, Sequence[str | None]] = {
            name: column[rows] if isinstance(column, Coded) else [column[row] for row in rows.tolist()]
            for name, column in self.texts.items()
        }
        cells: dict[str, Cells] = {}
        for name, (at, values) in self.cells.items():
            own = mask[at]
            if own.any():
                left = values[own] if isinstance(values, np.ndarray) else _where(values, own)
                cells[name] = (places[at[own]], left)
        scored = {int(places[row]): own for row, own in self.scored.items() if mask[row]}
        return RowColumns({name: own[rows] for name, own in self.numbers.items()}, texts, cells, scored)


def _where(values: list[Any], mask: NDArray[np.bool_]) -> list[Any]:
    return [value for value, own in zip(values, mask.tolist(), strict=True) if own]


def joined(parts: Sequence[RowColumns]) -> RowColumns:
    """The rows of all parts, one after the other."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *map(len, parts[:-1])]).tolist()
    placed = list(zip(starts, parts, strict=True))
    numbers = {name: np.concatenate([NONE, *(part.numbers[name] for part in parts)]) for name in NUMBERS}
    names = dict.fromkeys(name for part in parts for name in part.texts)
    texts = {
        name: _joined_texts([part.texts.get(name) or [None] * len(part) for part in parts]) for name in names
    }
    cells: dict[str, Cells] = {}
    for name in sorted({name for part in parts for name in part.cells}):
        own = [(start, *part.cells[name]) for start, part in placed if name in part.cells]
        rows = np.concatenate([start + at for start, at, _ in own])
        arrays = [values for _, _, values in own if isinstance(values, np.ndarray)]
        is_number = len(arrays) == len(own)
        cells[name] = (rows, np.concatenate(arrays) if is_number else [v for _, _, some in own for v in some])
    scored = {start + row: own for start, part in placed for row, own in part.scored.items()}
    return RowColumns(numbers, texts, cells, scored)


def _joined_texts(columns: Sequence[Sequence[str | None]]) -> Sequence[str | None]:
    coded_parts = [column for column in columns if isinstance(column, Coded)]
    if len(coded_parts) < len(columns):
        return [value for column in columns for value in column]
    words: dict[str, int] = {}
    codes = []
    for part in coded_parts:
        # The last place is for -1: no text.
        new = np.array([*(words.setdefault(word, len(words)) for word in part.words), -1], np.int64)
        codes.append(new[part.codes])
    return Coded(np.concatenate(codes), list(words))


# --- as bytes -------------------------------------------------------------------------------


def encode_block(columns: RowColumns) -> bytes:
    """A block; numbers of six decimals take four bytes."""
    size = len(columns)
    texts: dict[str, Any] = {}
    for name, column in columns.texts.items():
        own = coded(column)
        few = 2 * len(own.words) < size
        texts[name] = [own.codes.astype("<i4").tobytes(), own.words] if few else list(column)
    cells = {
        name: [b"" if len(rows) == size else rows.astype("<i4").tobytes(), _encoded(values)]
        for name, (rows, values) in columns.cells.items()
    }
    numbers = {name: own.astype("<i8").tobytes() for name, own in columns.numbers.items()}
    return msgspec.msgpack.encode([size, numbers, texts, cells])


def _encoded(values: NDArray[np.float64] | list[Any]) -> Any:
    if isinstance(values, list):
        return values
    scaled = np.rint(values * MILLION)
    if np.abs(scaled).max(initial=0) < 2**31:
        whole = scaled.astype("<i4")
        if np.array_equal(whole / MILLION, values) and not np.signbit(values[values == 0]).any():
            return [4, whole.tobytes()]
    return [8, values.astype("<f8").tobytes()]


def decode_block(data: bytes) -> RowColumns:
    """The rows of a block."""
    size, numbers, texts, cells = msgspec.msgpack.decode(data)
    every = np.arange(size)
    return RowColumns(
        {name: np.frombuffer(own, "<i8").astype(np.int64) for name, own in numbers.items()},
        {name: _texts(own) for name, own in texts.items()},
        {
            name: (np.frombuffer(at, "<i4").astype(np.int64) if at else every, _values(own))
            for name, (at, own) in cells.items()
        },
        {},
    )


def _texts(own: Any) -> Sequence[str | None]:
    if own and isinstance(own[0], bytes):
        return Coded(np.frombuffer(own[0], "<i4").astype(np.int64), own[1])
    texts: list[str | None] = own
    return texts


def _values(own: Any) -> NDArray[np.float64] | list[Any]:
    if len(own) == 2 and isinstance(own[1], bytes):
        return np.frombuffer(own[1], "<i4") / MILLION if own[0] == 4 else np.frombuffer(own[1], "<f8").copy()
    values: list[Any] = own
    return values
