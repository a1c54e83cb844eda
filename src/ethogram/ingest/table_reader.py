"""Tables as columns of events: what readers of CSV, Parquet and DataFrames have in common, and that of CSV.

Anything out of the ordinary is read row by row instead.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, BinaryIO

import numpy as np
from msgspec import DecodeError, Meta
from msgspec.json import Decoder, encode
from numpy.typing import NDArray

from .column_reader import ColumnReader, Irregular, Sink, Steps
from .errors import BadLine
from .event_columns import MANY_SIGNALS, Column, Readings, thinned
from .event_parser import CATEGORY, Rules
from .formats.csv import attribute_cell, delimiter_of, reading_cell
from .line_reader import CHUNK, MOST_BLANK, NANOSECONDS, micros_of
from .streams import BOM
from .tables import ATTRIBUTES, OBJECTS, READINGS, Table

ROWS = 65_536
"""Rows taken at once."""
NUMBER_CHARACTERS = frozenset("0123456789.eE+-")
LARGEST_CHARACTER = 8
"""Bytes of one character in a cell at most: four, and twice as many where quotes are doubled."""
_TIMES = Decoder(list[Annotated[datetime, Meta(tz=True)] | None])


class TableReader(ColumnReader):
    """Takes in chunks of a table, column by column; a subclass reads the values of its kind of columns."""

    def __init__(self, source: str, rules: Rules, names: Iterable[str], sink: Sink | None = None) -> None:
        super().__init__(source, rules, sink)
        try:
            self.table = Table.of(list(names), rules.kinds)
        except BadLine:
            raise Irregular from None
        self.strays = dict.fromkeys(self.table.strays.values(), 0)

    def add_columns(self, rows: int, columns: Iterable[Any]) -> None:
        """Add rows by the columns of the table."""
        fields: dict[str, Column] = {}
        readings: dict[str, Readings] = {}
        attributes: dict[str, Sequence[Any]] = {}
        times = None
        is_wide = sum(place.place == READINGS for place in self.table.columns) > MANY_SIGNALS
        for number, (place, column) in enumerate(zip(self.table.columns, columns, strict=True)):
            if place.place == READINGS:
                own = self.reading(place.name, self.readings_of(place.name, column))
                readings[place.name] = thinned(own) if is_wide else own
            elif place.place == ATTRIBUTES:
                attributes[place.name] = self.attributes_of(column)
            elif place.name in OBJECTS:
                raise Irregular
            elif place.name == "at":
                times = self.times_of(column)
            else:
                fields[place.name] = self.field_of(place.name, column)
            if number in self.table.strays:
                self.strays[self.table.strays[number]] += rows - self.count_empty(column)
        if len(readings) > self.rules.limits.readings:
            raise Irregular
        if attributes:
            fields["attributes"] = [
                {name: value for name, value in zip(attributes, row, strict=True) if value is not None}
                or None
                for row in zip(*attributes.values(), strict=True)
            ]
        if self.table.kind is not None:
            fields["kind"] = [self.table.kind] * rows
        self.add_chunk(rows, times, fields, readings)

    def readings_of(self, name: str, column: Any) -> Sequence[Any] | NDArray[np.float64]:
        """Return the values of a signal."""
        raise NotImplementedError

    def attributes_of(self, column: Any) -> Sequence[Any]:
        """Return the values of an attribute."""
        raise NotImplementedError

    def field_of(self, name: str, column: Any) -> Column:
        """Return the values of a field of events."""
        raise NotImplementedError

    def times_of(self, column: Any) -> NDArray[np.int64] | None:
        """Return the times in microseconds, None where there are none."""
        raise NotImplementedError

    def count_empty(self, column: Any) -> int:
        """Return how many cells are empty."""
        raise NotImplementedError


def read_csv(
    stream: BinaryIO, source: str, rules: Rules, sink: Sink | None = None
) -> tuple[CsvReader, Steps]:
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
    return reader, reader.take(csv.reader(lines, **form))


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

    def take(self, rows: Iterator[Sequence[str]]) -> Steps:
        """Take in rows, many at a time."""
        try:
            while chunk := list(islice(rows, ROWS)):
                self._add([row for row in chunk if row], len(chunk))
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
        if name != "seq":
            return [cell or None for cell in column]
        if not all(cell.isascii() and cell.isdecimal() and len(cell) <= 18 for cell in column if cell):
            raise Irregular
        return [int(cell) if cell else None for cell in column]

    def times_of(self, column: Any) -> NDArray[np.int64] | None:
        written = encode([cell or None for cell in column])
        if NANOSECONDS.search(written):
            raise Irregular
        try:
            return micros_of(_TIMES.decode(written))
        except DecodeError:
            raise Irregular from None

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
