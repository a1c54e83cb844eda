"""Read a regular CSV file as columns; anything out of the ordinary is read row by row instead."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, BinaryIO

import numpy as np
from msgspec import DecodeError, Meta
from msgspec.json import Decoder, encode
from numpy.typing import NDArray

from ..models.limits import FREE_RECORDS
from .column_reader import Irregular, Sink
from .event_parser import CATEGORY, Rules
from .formats.csv import attribute_cell, delimiter_of, reading_cell
from .line_reader import CHUNK, MOST_BLANK, NANOSECONDS, micros_of
from .streams import BOM
from .table_reader import TableReader

ROWS = 65_536
"""Rows taken at once."""
NUMBER_CHARACTERS = frozenset("0123456789.eE+-")
LARGEST_CHARACTER = 8
"""Bytes of one character in a cell at most: four, and twice as many where quotes are doubled."""
_TIMES = Decoder(list[Annotated[datetime, Meta(tz=True)] | None])


def read_csv(
    stream: BinaryIO,
    compressed: Callable[[], int] | None,
    source: str,
    rules: Rules,
    sink: Sink | None = None,
) -> tuple[CsvReader, Iterator[None]]:
    """Return the reader of a table, and what takes in its rows."""
    limits = rules.limits
    lines = _lines(stream, limits.line)
    csv.field_size_limit(max(csv.field_size_limit(), limits.line))
    try:
        first = next((line for line in lines if not line.isspace()), "")
        form: dict[str, Any] = {"delimiter": delimiter_of(first.encode()), "strict": True}
        reader = CsvReader(source, rules, next(csv.reader([first], **form), []), sink)
    except (csv.Error, UnicodeDecodeError):
        raise Irregular from None
    return reader, reader.take(csv.reader(lines, **form), compressed)


def _lines(stream: BinaryIO, most: int) -> Iterator[str]:
    rest, is_first = b"", True
    while block := stream.read(CHUNK):
        if is_first:
            block, is_first = block.removeprefix(BOM), False
        *whole, rest = (rest + block).split(b"\n")
        if b"\0" in block or max(map(len, whole), default=0) >= most or len(rest) > most:
            raise Irregular
        for line in whole:
            yield line.decode() + "\n"
    if rest:
        yield rest.decode()


class CsvReader(TableReader):
    """Takes in the rows of a table; Irregular where a row needs to be looked at by itself."""

    def take(self, rows: Iterator[Sequence[str]], compressed: Callable[[], int] | None) -> Iterator[None]:
        """Take in rows, many at a time."""
        limits = self.rules.limits
        try:
            while chunk := list(islice(rows, ROWS)):
                self._add([row for row in chunk if row], len(chunk))
                if compressed is not None and self.rows > FREE_RECORDS + limits.density * compressed():
                    raise Irregular
                yield
        except (csv.Error, UnicodeDecodeError):
            raise Irregular from None

    def _add(self, rows: Sequence[Sequence[str]], lines: int) -> None:
        if set(map(len, rows)) - {len(self.table.columns)} or lines - len(rows) > len(rows) + MOST_BLANK:
            raise Irregular
        if rows:
            columns = list(zip(*rows, strict=True))
            longest = sum(max(map(len, cells)) + 1 for cells in columns)
            if longest * LARGEST_CHARACTER > self.rules.limits.line:
                raise Irregular
            self.add_columns(len(rows), columns)

    def attributes_of(self, column: Any) -> Sequence[Any]:
        values = {cell: attribute_cell(cell) if cell else None for cell in set(column)}
        return [values[cell] for cell in column]

    def field_of(self, name: str, column: Any) -> Sequence[Any]:
        return list(map(_whole, column)) if name == "seq" else [cell or None for cell in column]

    def times_of(self, column: Any) -> NDArray[np.int64] | None:
        return _times(column)

    def count_empty(self, column: Any) -> int:
        return int(column.count(""))

    def readings_of(self, name: str, column: Any) -> Sequence[Any] | NDArray[np.float64]:
        if self.rules.kinds.get(name) == CATEGORY:
            return [cell or None for cell in column]
        if set("".join(column)) <= NUMBER_CHARACTERS:
            try:
                return np.array([float(cell) if cell else np.nan for cell in column], np.float64)
            except ValueError:
                pass
        values = {cell: reading_cell(cell) if cell else None for cell in set(column)}
        if any(value != value for value in values.values()):
            raise Irregular  # not a number, which is refused
        return [values[cell] for cell in column]


def _whole(cell: str) -> int | None:
    if not cell:
        return None
    if not (cell.isascii() and cell.isdecimal() and len(cell) <= 18):
        raise Irregular
    return int(cell)


def _times(cells: Sequence[str]) -> NDArray[np.int64] | None:
    written = encode([cell or None for cell in cells])
    if NANOSECONDS.search(written):
        raise Irregular
    try:
        return micros_of(_TIMES.decode(written))
    except DecodeError:
        raise Irregular from None
