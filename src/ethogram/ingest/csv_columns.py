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

from ..models.limits import FREE_RECORDS
from .column_reader import CHUNK, MOST_BLANK, NANOSECONDS, ColumnReader, Irregular, micros_of
from .errors import BadLine
from .event_columns import Readings
from .event_parser import CATEGORY
from .formats.csv import attribute_cell, delimiter_of, reading_cell
from .streams import BOM
from .tables import ATTRIBUTES, OBJECTS, READINGS, Table

ROWS = 65_536
"""Rows taken at once."""
NUMBER_CHARACTERS = frozenset("0123456789.eE+-")
LARGEST_CHARACTER = 8
"""Bytes of one character in a cell at most: four, and twice as many where quotes are doubled."""
_TIMES = Decoder(list[Annotated[datetime, Meta(tz=True)] | None])


class CsvReader(ColumnReader):
    """Takes in the rows of a table; Irregular where a row needs to be looked at by itself."""

    def read(self, stream: BinaryIO, compressed: Callable[[], int] | None) -> Iterator[None]:
        lines = self._lines(stream)
        first = next((line for line in lines if not line.isspace()), "")
        limits = self.rules.limits
        csv.field_size_limit(max(csv.field_size_limit(), limits.line))
        rows = csv.reader(lines, delimiter=delimiter_of(first.encode()), strict=True)
        try:
            header = next(csv.reader([first], delimiter=delimiter_of(first.encode()), strict=True), [])
            self.table = Table.of(header, self.rules.kinds)
            self.strays = dict.fromkeys(self.table.strays.values(), 0)
            while chunk := list(islice(rows, ROWS)):
                self._add([row for row in chunk if row], len(chunk))
                if compressed is not None and self.rows > FREE_RECORDS + limits.density * compressed():
                    raise Irregular
                yield
        except (csv.Error, BadLine, UnicodeDecodeError):
            raise Irregular from None

    def _lines(self, stream: BinaryIO) -> Iterator[str]:
        rest, most = b"", self.rules.limits.line
        is_first = True
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

    def _add(self, rows: Sequence[Sequence[str]], lines: int) -> None:
        columns = self.table.columns
        if set(map(len, rows)) - {len(columns)} or lines - len(rows) > len(rows) + MOST_BLANK:
            raise Irregular
        if not rows:
            return
        self.rows += len(rows)
        limits, longest = self.rules.limits, 0
        if self.rows > limits.events:
            raise Irregular
        readings: dict[str, Readings] = {}
        attributes: dict[str, list[Any]] = {}
        times = None
        for number, (place, cells) in enumerate(zip(columns, zip(*rows, strict=True), strict=True)):
            longest += max(map(len, cells)) + 1
            if place.place == READINGS:
                readings[place.name] = self._reading(place.name, self._values(place.name, cells))
            elif place.place == ATTRIBUTES:
                values = {cell: attribute_cell(cell) if cell else None for cell in set(cells)}
                attributes[place.name] = [values[cell] for cell in cells]
            elif place.name in OBJECTS:
                raise Irregular
            elif place.name == "at":
                times = _times(cells)
            elif place.name == "seq":
                self._lists["seq"] += map(_whole, cells)
            else:
                self._lists[place.name] += [cell or None for cell in cells]
            if number in self.table.strays:
                self.strays[self.table.strays[number]] += len(cells) - cells.count("")
        if longest * LARGEST_CHARACTER > limits.line or len(readings) > limits.readings:
            raise Irregular
        self._times.append(times)
        self._chunks.append((len(rows), readings))
        if attributes:
            pairs = zip(*attributes.values(), strict=True)
            self._lists["attributes"] += [
                {name: value for name, value in zip(attributes, row, strict=True) if value is not None}
                or None
                for row in pairs
            ]
        if self.table.kind is not None:
            self._lists["kind"] += [self.table.kind] * len(rows)

    def _values(self, name: str, cells: Sequence[str]) -> Sequence[Any]:
        if self.rules.kinds.get(name) == CATEGORY:
            return [cell or None for cell in cells]
        if set("".join(cells)) <= NUMBER_CHARACTERS:
            try:
                return np.array([float(cell) if cell else np.nan for cell in cells], np.float64)  # type: ignore[return-value]
            except ValueError:
                pass
        values = {cell: reading_cell(cell) if cell else None for cell in set(cells)}
        if any(value != value for value in values.values()):
            raise Irregular  # not a number, which is refused
        return [values[cell] for cell in cells]


def _whole(cell: str) -> int | None:
    if not cell:
        return None
    if not (cell.isascii() and cell.isdecimal() and len(cell) <= 18):
        raise Irregular
    return int(cell)


def _times(cells: Sequence[str]) -> Any:
    written = encode([cell or None for cell in cells])
    if NANOSECONDS.search(written):
        raise Irregular
    try:
        return micros_of(_TIMES.decode(written))
    except DecodeError:
        raise Irregular from None
