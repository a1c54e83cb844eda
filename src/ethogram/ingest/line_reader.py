"""Read event lines as columns: the quick way for files without a single fault."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Annotated, Any, BinaryIO

import msgspec
import numpy as np
from msgspec import DecodeError, Meta, Struct, defstruct
from msgspec.json import Decoder
from msgspec.structs import astuple
from numpy.typing import NDArray

from ..models import micros, parse_time
from ..models.limits import FREE_RECORDS
from .column_reader import NAMES, ColumnReader, Irregular, Sink
from .errors import BadLine
from .event_columns import MANY_SIGNALS, THIN, Readings, Sparse
from .event_parser import LARGEST_SEQ, Rules, is_plain, replace_broken
from .format import Record, Skipped
from .streams import BOM, decode, parse

CHUNK = 4 * 2**20
"""Bytes decoded at once."""
MOST_BLANK = 1_000
"""Blank lines of a chunk, beyond one for each row: a file with more is read line by line."""
NANOSECONDS = re.compile(rb'\.\d{7,}(?:[Zz]|[+-]\d\d:?\d\d)"')
_LONG = re.compile(rb"[:\[,]\s*-?\d{19}")
"""An integer that the decoder may turn into a float."""
_UTC = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?)(?:Z|\+00:00)")
RECORDS = 16_384
"""Records of an adapter that are taken in at once."""
MOST_MISSES = 2
"""Chunks whose lines are not all alike, after which that is not tried any more."""
_UNDECODABLE = (DecodeError, UnicodeDecodeError, RecursionError)


Aware = Annotated[datetime, Meta(tz=True)]
Place = Annotated[int, Meta(ge=0, le=LARGEST_SEQ)]


_TYPES: dict[str, set[type]] = {
    **{name: {str, type(None)} for name in (*NAMES, "text", "at")},
    **{name: {dict, type(None)} for name in ("attributes", "readings")},
    "id": {str, int, type(None)},
}
"""What the fields of a line are; without `seq`, which no format but event lines has."""


class Row(Struct, forbid_unknown_fields=True, gc=False):
    """One event line as it was written."""

    subject: str
    id: str | int | None = None
    at: Aware | None = None
    seq: Place | None = None
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


class Alike:
    """Decodes lines with the keys of the first one and times written like its time, as in most files.

    Also the readings have the same names, unless it is `wide`.
    """

    def __init__(self, first: dict[str, Any], wide: bool) -> None:
        self.first, self.wide = first, wide
        self.names = [] if wide else list(first.get("readings", ()))
        numbers = {f"n{number}": name for number, name in enumerate(self.names)}
        at = first.get("at")
        self.at = at if isinstance(at, str) and _UTC.fullmatch(at) else None
        kinds: dict[str, Any] = {
            **dict.fromkeys((*NAMES, "text"), str),
            "id": str | int,
            "at": Aware if self.at is None else str,
            "seq": Place,
            "attributes": dict[str, Any],
            "readings": dict[str, float]
            if wide
            else _struct("Numbers", dict.fromkeys(numbers, float), numbers),
        }
        self.fields = {name: kinds[name] for name in Row.__struct_fields__ if name in first}
        self._decoder = Decoder(_struct("Alike", self.fields))

    @classmethod
    def of(cls, line: bytes) -> Alike | None:
        """Return the decoder of lines like this one, None where it is out of the ordinary."""
        try:
            first = msgspec.json.decode(line)
            row = msgspec.convert(first, NumericRow)
        except _UNDECODABLE:
            return None
        has_empty = None in first.values() or row.readings == {}
        return None if has_empty or len(first) < 2 else cls(first, wide=False)

    def widened(self) -> Alike | None:
        """Return the decoder of lines whose readings have other names, None where this is one."""
        return None if self.wide or "readings" not in self.first else Alike(self.first, wide=True)

    def decode(self, chunk: bytes) -> tuple[int, dict[str, Sequence[Any]], Any] | None:
        """Return how many rows there are, their fields, and their readings: by signal, or by row if wide."""
        try:
            rows = self._decoder.decode_lines(chunk)
        except _UNDECODABLE:
            return None
        fields: dict[str, Any] = dict(zip(self.fields, zip(*map(astuple, rows), strict=True), strict=True))
        if self.at is not None:
            times = _utc_times(fields["at"], self.at)
            if times is None:
                return None
            fields["at"] = times
        readings = fields.pop("readings", ())
        if self.wide:
            return len(rows), fields, readings
        shape = len(rows), len(self.names)
        values = chain.from_iterable(map(astuple, readings))
        numbers = np.fromiter(values, np.float64, shape[0] * shape[1]).reshape(shape)
        return len(rows), fields, numbers.T.copy()


def _struct(name: str, fields: dict[str, Any], rename: dict[str, str] | None = None) -> type[Struct]:
    return defstruct(name, fields.items(), rename=rename, forbid_unknown_fields=True, gc=False)


def _utc_times(texts: Sequence[str], like: str) -> NDArray[np.int64] | None:
    """Return times of UTC written like this one, in microseconds; None where one is not."""
    size = len(like)
    written = _UTC.fullmatch(like)
    assert written is not None
    try:
        cells = np.array(texts, f"S{size + 1}")
        signs = cells.view(np.uint8).reshape(len(texts), size + 1)
        model = np.frombuffer(like.encode() + b"\0", np.uint8)
        digit = (model >= ord("0")) & (model <= ord("9"))
        if (signs[:, ~digit] != model[~digit]).any() or (signs[:, digit] - ord("0") > 9).any():
            return None
        return cells.astype(f"S{len(written[1])}").astype("datetime64[us]").astype(np.int64)
    except ValueError:
        return None


class LineReader(ColumnReader):
    """Decodes event lines of files that make one source; Irregular where they need a closer look."""

    def __init__(self, source: str, rules: Rules, sink: Sink | None = None) -> None:
        super().__init__(source, rules, sink)
        self._alike: Alike | None = None
        self._misses = 0

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

    def read_records(self, records: Iterator[Record], strays: Mapping[str, int]) -> Iterator[None]:
        """Take in what an adapter yields, many records at a time, and the strays that it counts meanwhile."""
        while batch := list(islice(records, RECORDS)):
            lines: list[dict[str, Any]] = []
            for _, value, _ in batch:
                if isinstance(value, dict):
                    lines.append(value)
                elif isinstance(value, Skipped):
                    self.skipped[str(value)] += 1
                else:
                    raise Irregular
            if lines:
                self._take_lines(lines)
            yield
        for name, count in strays.items():
            self.strays[name] = self.strays.get(name, 0) + count

    def _take_lines(self, lines: list[dict[str, Any]]) -> None:
        columns: dict[str, Any] = {}
        for name in set().union(*lines):
            columns[name] = column = list(map(dict.get, lines, repeat(name)))
            if not set(map(type, column)) <= _TYPES.get(name, set()):
                raise Irregular
            if name == "id" and not is_plain("".join(map(str, column))):
                raise Irregular
        if "text" in columns and not is_plain("".join(filter(None, columns["text"]))):
            columns["text"] = [text and replace_broken(text) for text in columns["text"]]
        try:
            times = micros_of([None if at is None else parse_time(at) for at in columns.pop("at", [None])])
        except ValueError:
            raise Irregular from None
        readings: dict[str, Readings] = {}
        if "readings" in columns:
            rows = columns.pop("readings")
            texts = (text for row in rows for pair in (row or {}).items() for text in pair)
            if not is_plain("".join(text for text in texts if isinstance(text, str))):
                raise Irregular
            readings = self._readings(rows)
        self.add_chunk(len(lines), times, columns, readings)

    def _take(self, chunk: bytes) -> None:
        if b"\\u0000" in chunk or (b'"attributes"' in chunk and _LONG.search(chunk)):
            raise Irregular
        lines = chunk.split(b"\n")
        if max(map(len, lines)) >= self.rules.limits.line:
            raise Irregular
        if chunk.isspace():
            if len(lines) > MOST_BLANK:
                raise Irregular
            return
        if self._take_alike(chunk, lines):
            return
        rows = _decode(chunk)
        self._check_lines(lines, len(rows))
        columns = dict(zip(Row.__struct_fields__, zip(*map(astuple, rows), strict=True), strict=True))
        keys = sum(len(column) - column.count(None) for column in columns.values())
        keys += sum(map(len, filter(None, columns["readings"])))
        _check_keys(chunk, lines, keys, columns["attributes"])
        times = self._times_of(columns.pop("at"), chunk)
        readings = self._readings(columns.pop("readings"))
        present = {name: column for name, column in columns.items() if column.count(None) < len(column)}
        self.add_chunk(len(rows), times, present, readings)

    def _take_alike(self, chunk: bytes, lines: list[bytes]) -> bool:
        """Whether the lines could be decoded as all alike."""
        if self._misses > MOST_MISSES:
            return False
        if self._alike is None:
            self._alike = Alike.of(lines[0])
        decoded = None if self._alike is None else self._alike.decode(chunk)
        if decoded is None and self._alike is not None and (wide := self._alike.widened()) is not None:
            self._alike, decoded = wide, wide.decode(chunk)
        if self._alike is None or decoded is None:
            self._alike, self._misses = None, self._misses + 1
            return False
        rows, fields, own = decoded
        names = self._alike.names
        if len(names) > self.rules.limits.readings:
            raise Irregular
        self._check_lines(lines, rows)
        keys = rows * (len(self._alike.fields) + len(names)) + (sum(map(len, own)) if self._alike.wide else 0)
        _check_keys(chunk, lines, keys, fields.get("attributes", ()))
        times: Any = fields.pop("at", None)
        if times is not None and self._alike.at is None:
            times = self._times_of(times, chunk)
        if self._alike.wide:
            readings = self._readings(own)
        else:
            readings = {name: self.reading(name, column) for name, column in zip(names, own, strict=True)}
        self.add_chunk(rows, times, fields, readings)
        return True

    def _check_lines(self, lines: list[bytes], rows: int) -> None:
        filled = len(lines) - 1 if rows == len(lines) - 1 and not lines[-1] else sum(map(_filled, lines))
        if rows != filled or len(lines) - filled > filled + MOST_BLANK:
            raise Irregular

    def _times_of(self, times: Sequence[datetime | None], chunk: bytes) -> NDArray[np.int64] | None:
        if any(at is not None and at.microsecond for at in times) and NANOSECONDS.search(chunk):
            raise Irregular
        return micros_of(times)

    def _readings(self, rows: Sequence[dict[str, Any] | None]) -> dict[str, Readings]:
        """Return the readings of a chunk by signal."""
        dicts = [row or {} for row in rows]
        if max(map(len, dicts)) > self.rules.limits.readings:
            raise Irregular
        counts = Counter(chain.from_iterable(dicts))
        # Of many signals most rows have few.
        cells: dict[str, tuple[list[int], list[Any]]] = {
            name: ([], [])
            for name, count in counts.items()
            if len(counts) > MANY_SIGNALS and THIN * count < len(dicts)
        }
        always = [name for name, count in counts.items() if count == len(dicts)]
        for number, row in enumerate(dicts) if cells else ():
            for name in row.keys() & cells.keys() if len(row) > len(always) else ():
                if (value := row[name]) is not None:
                    cells[name][0].append(number)
                    cells[name][1].append(value)
        columns: dict[str, Any] = {}
        if len(always) > 1:
            columns = dict(zip(always, zip(*map(itemgetter(*always), dicts), strict=True), strict=True))
        return {
            name: self._thin(name, *cells[name], len(dicts))
            if name in cells
            else self.reading(name, columns.get(name) or [row.get(name) for row in dicts])
            for name in counts
        }

    def _thin(self, name: str, rows: list[int], values: list[Any], size: int) -> Readings:
        known = self.reading(name, values)
        if isinstance(known, np.ndarray):
            return Sparse(np.array(rows, np.int64), known, size)
        texts: list[str | None] = [None] * size
        for row, value in zip(rows, values, strict=True):
            texts[row] = value
        return texts


def _check_keys(chunk: bytes, lines: list[bytes], keys: int, attributes: Sequence[Any]) -> None:
    """Raise Irregular where a key is there twice, which the decoder does not see."""
    keys += sum(map(_keys_in, filter(None, attributes)))
    if chunk.count(b'":') == keys:
        return
    # A text with such characters in it, or a field that is null.
    for line in lines:
        if line.strip():
            try:
                parse(decode(line.strip()))
            except BadLine:
                raise Irregular from None


def _decode(chunk: bytes) -> Sequence[Row]:
    try:
        return _NUMERIC_ROWS.decode_lines(chunk)
    except _UNDECODABLE:
        pass
    try:
        return _ROWS.decode_lines(chunk)
    except _UNDECODABLE:
        raise Irregular from None


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
