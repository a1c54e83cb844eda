"""Read regular event lines as columns: the quick way for files without a single fault.

Files are decoded in large chunks and checked column by column. Anything out of the ordinary (a bad line, an
unknown key, an id that comes twice) raises Irregular, and the caller reads the files line by line, which is
slower and explains every fault. What this way accepts, that one reads as the same events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from operator import itemgetter
from typing import Annotated, Any, BinaryIO

import numpy as np
from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder
from msgspec.structs import astuple
from numpy.typing import NDArray

from ..models import micros
from ..models.limits import FREE_RECORDS
from .errors import BadLine
from .event_columns import Coded, Column, EventColumns, Readings, in_order
from .event_parser import (
    CATEGORY,
    LARGEST,
    LARGEST_SEQ,
    LAST_SECOND,
    NUMBER,
    Rules,
    checked_attributes,
    signal_name,
)
from .streams import BOM, decode, parse

CHUNK = 4 * 2**20
"""Bytes decoded at once."""
MOST_BLANK = 1_000
"""Blank lines of a chunk, beyond one for each row: a file with more is read line by line."""
MANY_NAMES = 64
"""Signals of a chunk from which on most rows have few of them."""
NAMES = ("source", "subject", "target", "reply_to", "thread", "session", "kind")
NANOSECONDS = re.compile(rb'\.\d{7,}(?:[Zz]|[+-]\d\d:?\d\d)"')


_LONG = re.compile(rb"[:\[,]\s*-?\d{19}")
"""An integer that the decoder may turn into a float."""


class Row(Struct, forbid_unknown_fields=True, gc=False):
    """One event line as it was written."""

    subject: str
    id: str | int | None = None
    at: Annotated[datetime, Meta(tz=True)] | None = None
    seq: Annotated[int, Meta(ge=0, le=LARGEST_SEQ)] | None = None
    source: str | None = None
    target: str | None = None
    reply_to: str | None = None
    thread: str | None = None
    session: str | None = None
    kind: str | None = None
    text: str | None = None
    attributes: dict[str, Any] | None = None
    readings: dict[str, float | str | None] | None = None


class NumericRow(Row, forbid_unknown_fields=True, gc=False):
    """A line whose readings are all numbers, as nearly always."""

    readings: dict[str, float] | None = None  # type: ignore[assignment]


_ROWS, _NUMERIC_ROWS = Decoder(Row), Decoder(NumericRow)
_FIELDS = tuple(name for name in Row.__struct_fields__ if name not in ("at", "readings"))


class Irregular(Exception):
    """The input needs to be read line by line."""


class ColumnReader:
    """Decodes event lines of files that make one source; Irregular where they need a closer look."""

    def __init__(self, source: str, rules: Rules) -> None:
        self.source, self.rules = source, rules
        self.rows = 0
        self.timed = True
        self.strays: dict[str, int] = {}
        self._lists: dict[str, list[Any]] = {name: [] for name in _FIELDS}
        self._coded: dict[str, Coded] = {}
        self._times: list[NDArray[np.int64] | None] = []
        self._chunks: list[tuple[int, dict[str, Readings]]] = []

    def read(self, stream: BinaryIO, compressed: Callable[[], int] | None) -> Iterator[None]:
        """Take in a file, chunk by chunk."""
        rest = b""
        first = True
        while block := stream.read(CHUNK):
            if first:
                block, first = block.removeprefix(BOM), False
            cut = block.rfind(b"\n") + 1
            if not cut:
                rest += block
                if len(rest) > self.rules.limits.line:
                    raise Irregular
                continue
            self._take(rest + block[:cut])
            rest = block[cut:]
            if compressed is not None and self.rows > FREE_RECORDS + self.rules.limits.density * compressed():
                raise Irregular
            yield
        if rest:
            self._take(rest)
            yield

    def _take(self, chunk: bytes) -> None:
        if b"\\u0000" in chunk or (b'"attributes"' in chunk and _LONG.search(chunk)):
            raise Irregular
        lines = chunk.split(b"\n")
        if max(map(len, lines)) >= self.rules.limits.line:
            raise Irregular
        rows = _decode(chunk)
        filled = len(lines) - 1 if len(rows) == len(lines) - 1 and not lines[-1] else sum(map(_filled, lines))
        if len(rows) != filled or len(lines) - filled > filled + MOST_BLANK:
            raise Irregular
        self.rows += len(rows)
        if self.rows > self.rules.limits.events:
            raise Irregular
        columns = dict(zip(Row.__struct_fields__, zip(*map(astuple, rows), strict=True), strict=True))
        self._check_keys(chunk, lines, columns)
        times = columns.pop("at")
        if any(at is not None and at.microsecond for at in times) and NANOSECONDS.search(chunk):
            raise Irregular
        self._times.append(micros_of(times))
        self._chunks.append((len(rows), self._readings(columns.pop("readings"))))
        for name, column in columns.items():
            self._lists[name] += column

    def _check_keys(self, chunk: bytes, lines: list[bytes], columns: dict[str, tuple[Any, ...]]) -> None:
        """Raise Irregular where a key is there twice, which the decoder does not see."""
        keys = sum(len(column) - column.count(None) for column in columns.values())
        keys += sum(map(len, filter(None, columns["readings"])))
        keys += sum(map(_keys_in, filter(None, columns["attributes"])))
        if chunk.count(b'":') == keys:
            return
        # A text with such characters in it, or a field that is null.
        for line in lines:
            if line.strip():
                try:
                    parse(decode(line.strip()))
                except BadLine:
                    raise Irregular from None

    def columns(self) -> EventColumns:
        """Return what was read, in order."""
        lists: dict[str, Column] = {**self._lists, **self._coded}
        if not self.rows:
            raise Irregular
        for name in NAMES:
            lists[name] = self._checked_names(name, lists[name])
        source = lists.pop("source")
        if set(source.words if isinstance(source, Coded) else source) - {None, self.source}:
            raise Irregular
        ids = self._ids(lists.pop("id"))
        seq = self._seq(lists.pop("seq"))
        if (ids is None or None in ids) and len(np.unique(seq)) < len(seq):
            raise Irregular  # two lines with the same content would be one event
        times = self._joined_times(seq)
        self._check_texts(lists)
        readings = self._joined()
        fields = {name: column for name, column in lists.items() if len(column) - column.count(None)}
        events = EventColumns(self.source, times, seq, ids, fields, readings, timed=self.timed)
        return in_order(events)

    def _checked_names(self, name: str, column: Column) -> Column:
        values = set(column.words if isinstance(column, Coded) else column)
        if "" in values and name != "subject":
            column = [value or None for value in column]
        limit = self.rules.limits.name
        for value in values:
            if value is not None and (len(value) > limit or (name == "subject" and not value.strip())):
                raise Irregular
        if name == "subject" and (column.count(None) or not len(column)):
            raise Irregular
        return column

    def _ids(self, values: Column) -> list[str | None] | None:
        column = [None if value is None or value == "" else str(value) for value in values]
        missing = column.count(None)
        if missing == len(column):
            return None
        unique = set(column)
        if len(unique) - bool(missing) + missing != len(column):
            raise Irregular
        if max(len(value) for value in unique if value is not None) > self.rules.limits.name:
            raise Irregular
        return column

    def _seq(self, values: Column) -> NDArray[np.int64]:
        if values.count(None) == len(values):
            return np.arange(self.rows, dtype=np.int64)
        return np.array([number if own is None else own for number, own in enumerate(values)], np.int64)

    def _joined_times(self, seq: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the times, or positions in seconds where no event has one, and note which."""
        values = [times for times in self._times if times is not None]
        latest = self.rules.latest
        self.timed = bool(values)
        if not values:
            last = LAST_SECOND if latest is None else int(latest.timestamp())
            if int(seq.max()) > last:
                raise Irregular
            return seq * 1_000_000
        times = np.concatenate(values)
        lowest, highest = int(times.min()), int(times.max())
        late = latest is not None and highest > micros(latest)
        if len(times) != self.rows or lowest < _FIRST or highest > _LAST or late:
            raise Irregular
        return times

    def _check_texts(self, lists: dict[str, Column]) -> None:
        limits = self.rules.limits
        if max((len(text) for text in lists["text"] if text), default=0) > limits.text:
            raise Irregular
        try:
            lists["attributes"] = [
                None if attributes is None else checked_attributes(attributes, limits) or None
                for attributes in lists["attributes"]
            ]
        except BadLine:
            raise Irregular from None

    def _readings(self, rows: Sequence[dict[str, Any] | None]) -> dict[str, Readings]:
        """Return the readings of a chunk by signal."""
        dicts = [row or {} for row in rows]
        sizes = set(map(len, dicts))
        if max(sizes) > self.rules.limits.readings:
            raise Irregular
        return {name: self._reading(name, column) for name, column in columns_by_name(dicts).items()}

    def _reading(self, name: str, column: Sequence[Any] | NDArray[np.float64]) -> Readings:
        rules = self.rules
        if not name or signal_name(name) != name or len(name) > rules.limits.name:
            raise Irregular
        kind, range_ = rules.kinds.get(name), rules.ranges.get(name)
        types = {float} if isinstance(column, np.ndarray) else set(map(type, column)) - {type(None)}
        if types <= {float}:
            numbers = np.asarray(column, np.float64) if types else np.full(len(column), np.nan)
            if kind == CATEGORY and not np.isnan(numbers).all():
                raise Irregular
            low, high = -LARGEST, LARGEST
            if range_ is not None and not isinstance(range_[0], str):
                low, high = max(low, range_[0]), min(high, float(range_[-1]))
            known = numbers[numbers == numbers]
            if len(known) and not (known.min() >= low and known.max() <= high):
                raise Irregular
            return numbers
        if types != {str} or kind == NUMBER:
            raise Irregular
        values = set(column) - {None}
        if max(map(len, values)) > rules.limits.name:
            raise Irregular
        if range_ is not None and isinstance(range_[0], str) and not values <= set(range_):
            raise Irregular
        return list(column)

    def _joined(self) -> dict[str, Readings]:
        """Return the readings of all chunks by signal; Irregular where one is a number and a text."""
        names = dict.fromkeys(chain.from_iterable(readings for _, readings in self._chunks))
        out: dict[str, Readings] = {}
        for name in names:
            parts = [(rows, readings.pop(name, None)) for rows, readings in self._chunks]
            kinds = {type(part) for _, part in parts if part is not None and _has_values(part)}
            if len(kinds) > 1:
                raise Irregular
            if kinds == {list}:
                out[name] = [value for rows, part in parts for value in (part or [None] * rows)]
            elif kinds:
                filled = [np.full(rows, np.nan) if part is None else np.asarray(part) for rows, part in parts]
                out[name] = np.concatenate(filled)
        self._chunks.clear()
        return out


def columns_by_name(rows: Sequence[dict[str, Any]]) -> dict[str, Sequence[Any]]:
    """Return the values of each name in all rows, None where a row has none."""
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    if len(names) > 1 and set(map(len, rows)) == {len(names)}:
        return dict(zip(names, zip(*map(itemgetter(*names), rows), strict=True), strict=True))
    if len(names) <= MANY_NAMES:
        return {name: [row.get(name) for row in rows] for name in names}
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in names}
    for number, row in enumerate(rows):
        for name, value in row.items():
            columns[name][number] = value
    return dict(columns)


def _has_values(part: Readings) -> bool:
    return isinstance(part, list) or bool((part == part).any())


def _decode(chunk: bytes) -> Sequence[Row]:
    try:
        return _NUMERIC_ROWS.decode_lines(chunk)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _ROWS.decode_lines(chunk)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        raise Irregular from None


_FIRST, _LAST = micros(datetime.min.replace(tzinfo=UTC)), micros(datetime.max.replace(tzinfo=UTC))


def micros_of(times: Sequence[datetime | None]) -> NDArray[np.int64] | None:
    """Return the times of a chunk in microseconds, None where it has none; Irregular where only some do."""
    missing = times.count(None)
    if missing == len(times):
        return None
    if missing:
        raise Irregular
    try:
        return np.array([micros(at) for at in times if at is not None], np.int64)
    except OverflowError:
        raise Irregular from None


def _filled(line: bytes) -> bool:
    return bool(line.strip())


def _keys_in(value: Any) -> int:
    """Return how many keys an object has with those inside it."""
    if isinstance(value, dict):
        return len(value) + sum(map(_keys_in, value.values()))
    return sum(map(_keys_in, value)) if isinstance(value, list) else 0
