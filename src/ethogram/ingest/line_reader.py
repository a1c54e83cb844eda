"""Read event lines as columns: the quick way for files without a single fault."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import chain, islice, repeat
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from msgspec import DecodeError, Meta, Struct, defstruct
from msgspec.json import Decoder
from msgspec.structs import astuple
from numpy.typing import NDArray

from ..models import micros, parse_time
from .column_reader import NAMES, ColumnReader, Irregular, Sink, Steps
from .errors import BadLine
from .event_columns import MANY_SIGNALS, THIN, Column, Readings, Sparse
from .event_parser import LARGEST_SEQ, Rules, is_plain, replace_broken
from .format import Input, Record, Skipped
from .processes import in_turn
from .streams import BOM, decode, parse

CHUNK = 4 * 2**20
"""Bytes read at once."""
PART = 2**18
"""Bytes decoded at once."""
MOST_BLANK = 1_000
"""Blank lines of a chunk, beyond one for each row: a file with more is read line by line."""
NANOSECONDS = re.compile(rb'\.\d{7,}(?:[Zz]|[+-]\d\d:?\d\d)"')
_LONG = re.compile(rb"[:\[,]\s*-?\d{19}")
"""An integer that the decoder may turn into a float."""
_UTC = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?)(?:Z|\+00:00)")
KEY = b'":'
"""The end of every key."""
NEWLINE = ord("\n")
SAMPLE = 64
"""Lines that show which readings all have."""
RECORDS = 16_384
"""Records of an adapter that are taken in at once."""
MOST_MISSES = 2
"""Chunks whose lines are not all alike, after which that is not tried any more."""
_UNDECODABLE = (DecodeError, UnicodeDecodeError, RecursionError)


Aware = Annotated[datetime, Meta(tz=True)]
Place = Annotated[int, Meta(ge=0, le=LARGEST_SEQ)]


KINDS: dict[str, Any] = {
    **dict.fromkeys((*NAMES, "text"), str),
    "id": str | int,
    "at": Aware,
    "seq": Place,
    "attributes": dict[str, Any],
}
"""The fields of an event line as they are written, apart from the readings."""


def _row(name: str, readings: Any) -> type[Struct]:
    """Return the struct of a line with these readings; all but the subject may be missing or null."""
    others = {field: kind for field, kind in KINDS.items() if field != "subject"} | {"readings": readings}
    optional = [(field, kind | None, None) for field, kind in others.items()]
    return defstruct(name, [("subject", str), *optional], forbid_unknown_fields=True, gc=False)


_TYPES: dict[str, set[type]] = {
    **{name: {str, type(None)} for name in (*NAMES, "text", "at")},
    **{name: {dict, type(None)} for name in ("attributes", "readings")},
    "id": {str, int, type(None)},
}
"""What the fields of a line are that an adapter yields; no format but event lines has `seq`."""

Row = _row("Row", dict[str, float | str | None])
NumericRow = _row("NumericRow", dict[str, float])
"""A line whose readings are all numbers, as nearly always."""


class Scores(Struct, gc=False):
    """The readings of a line, whatever else it has."""

    readings: dict[str, float]


_ROWS, _NUMERIC_ROWS, _SCORES = Decoder(Row), Decoder(NumericRow), Decoder(Scores)


class Alike:
    """Decodes lines with the keys of the first one and times written like its time, as in most files.

    Each has the readings `names`, and may have others.
    """

    def __init__(self, first: dict[str, Any], names: list[str]) -> None:
        self.names = names
        numbers = {f"n{number}": name for number, name in enumerate(names)}
        at = first.get("at")
        self.at = at if isinstance(at, str) and _UTC.fullmatch(at) else None
        kinds = KINDS | {
            "at": Aware if self.at is None else str,
            "readings": defstruct(
                "Numbers", [(number, float) for number in numbers], rename=numbers, gc=False
            ),
        }
        self.fields = {name: kinds[name] for name in Row.__struct_fields__ if name in first}
        row = defstruct("Alike", self.fields.items(), forbid_unknown_fields=True, gc=False)
        self._decoder = Decoder(row)

    @classmethod
    def of(cls, lines: Sequence[bytes]) -> Alike | None:
        """Return the decoder of lines like these, None where they are out of the ordinary."""
        try:
            rows = [msgspec.json.decode(line) for line in lines if line]
            readings = [msgspec.convert(row, NumericRow).readings or {} for row in rows]  # type: ignore[attr-defined]
        except _UNDECODABLE:
            return None
        if not rows:
            return None
        first = rows[0]
        names = [name for name in readings[0] if all(name in own for own in readings)]
        has_empty = None in first.values() or ("readings" in first and not names)
        return None if has_empty or len(first) < 2 else cls(first, names)

    def decode(self, chunk: bytes, longest: int) -> list[Piece] | None:
        """Return the rows of lines, each shorter than `longest`; None where they are not all alike."""
        try:
            return [piece for part in _parts(chunk) if (piece := self._decode(part, longest)).size]
        except _UNDECODABLE:
            return None

    def _decode(self, part: bytes, longest: int) -> Piece:
        rows = self._decoder.decode_lines(part)
        starts, ends = _bounds(part, len(rows), longest)
        signs = np.frombuffer(part, np.uint8)
        keys_at = np.flatnonzero((signs[:-1] == KEY[0]) & (signs[1:] == KEY[1]))
        usual = len(self.fields) + len(self.names)
        counts = np.diff(np.searchsorted(keys_at, np.append(starts, len(part))))
        longer = np.flatnonzero(counts > usual).tolist() if self.names else []
        lines = [part[starts[row] : ends[row]] for row in longer]
        others = [row.readings for row in _SCORES.decode_lines(b"\n".join(lines))]
        fields: dict[str, Any] = dict(zip(self.fields, zip(*map(astuple, rows), strict=True), strict=False))
        keys = len(rows) * usual + sum(map(len, others)) - len(self.names) * len(others)
        _check_keys(len(keys_at), keys + _keys_of(fields.get("attributes", ()), part), part)
        shape = len(rows), len(self.names)
        values = chain.from_iterable(map(astuple, fields.pop("readings", ())))
        numbers = np.fromiter(values, np.float64, shape[0] * shape[1]).reshape(shape)
        return Piece(len(rows), fields, numbers, list(zip(longer, others, strict=True)))


class Piece(NamedTuple):
    """Some rows: fields, the readings that all have, and all readings of rows that have others."""

    size: int
    fields: dict[str, Sequence[Any]]
    numbers: NDArray[np.float64]
    others: list[tuple[int, dict[str, float]]]


def _parts(chunk: bytes) -> Iterator[bytes]:
    """Yield whole lines, few enough that what is decoded of them stays in the processor's cache."""
    start = 0
    while start < len(chunk):
        end = chunk.rfind(b"\n", start, start + PART) + 1 or chunk.find(b"\n", start) + 1 or len(chunk)
        yield chunk[start:end]
        start = end


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

    def read(self, stream: BinaryIO) -> Steps:
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
            yield
        if rest:
            self._take(rest)
            yield

    def read_in_processes(self, stream: BinaryIO, path: str, size: int, workers: int) -> Steps:
        """Take in a file, decoded range by range by so many processes; the stream shows how far."""
        ranges = [(start, min(start + CHUNK, size)) for start in range(0, size, CHUNK)]
        job = self.source, self.rules, path
        with closing(in_turn(decode_range, job, ranges, workers)) as decoded:
            for (_, end), chunks in zip(ranges, decoded, strict=True):
                for chunk in chunks:
                    self.add_checked(*chunk)
                stream.seek(end)
                yield

    def read_records(self, records: Iterator[Record], file: Input) -> Steps:
        """Take in what an adapter yields, many records at a time, and what is counted meanwhile."""
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
        for name, count in file.strays.items():
            self.strays[name] = self.strays.get(name, 0) + count
        self.ledger.add(file.ledger)

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
            own = ((number, row) for number, row in enumerate(rows) if row)
            readings = self._readings({}, own, len(rows))
        self.add_chunk(len(lines), times, columns, readings)

    def _take(self, chunk: bytes) -> None:
        if b"\\" in chunk and b"\\u0000" in chunk:
            raise Irregular
        if self._take_alike(chunk):
            return
        rows = _decode(chunk)
        _bounds(chunk, len(rows), self.rules.limits.line)
        if not rows:
            return
        columns = dict(zip(Row.__struct_fields__, zip(*map(astuple, rows), strict=True), strict=True))
        keys = sum(len(column) - column.count(None) for column in columns.values())
        keys += sum(map(len, filter(None, columns["readings"])))
        _check_keys(chunk.count(KEY), keys + _keys_of(columns["attributes"], chunk), chunk)
        times = _times_of(columns.pop("at"), chunk)
        own = enumerate(columns.pop("readings"))
        readings = self._readings({}, ((row, values) for row, values in own if values), len(rows))
        present = {name: column for name, column in columns.items() if column.count(None) < len(column)}
        self.add_chunk(len(rows), times, present, readings)

    def _take_alike(self, chunk: bytes) -> bool:
        """Whether the lines could be decoded as all alike."""
        if self._misses > MOST_MISSES:
            return False
        self._alike = self._alike or Alike.of(chunk.split(b"\n", SAMPLE)[:SAMPLE])
        if self._alike is not None and self._decode_alike(self._alike, chunk):
            return True
        self._alike, self._misses = None, self._misses + 1
        return False

    def _decode_alike(self, alike: Alike, chunk: bytes) -> bool:
        pieces = alike.decode(chunk, self.rules.limits.line)
        if not pieces:
            return pieces is not None
        size, others = 0, list[tuple[int, dict[str, float]]]()
        for piece in pieces:
            others += [(size + row, own) for row, own in piece.others]
            size += piece.size
        fields = {
            name: list(chain.from_iterable(piece.fields[name] for piece in pieces))
            for name in pieces[0].fields
        }
        times = None
        if (texts := fields.pop("at", None)) is not None:
            times = _times_of(texts, chunk) if alike.at is None else _utc_times(texts, alike.at)
            if times is None:
                return False
        numbers = zip(alike.names, np.concatenate([piece.numbers for piece in pieces]).T, strict=True)
        columns = {name: self.reading(name, column.copy()) for name, column in numbers}
        self.add_chunk(size, times, fields, self._readings(columns, others, size))
        return True

    def _readings(
        self, columns: dict[str, Readings], rows: Iterable[tuple[int, dict[str, Any]]], size: int
    ) -> dict[str, Readings]:
        """Return the readings of a chunk by signal: the columns, and what rows have beside them."""
        most = self.rules.limits.readings
        if len(columns) > most:
            raise Irregular
        cells: dict[str, tuple[list[int], list[Any]]] = {}
        for row, own in rows:
            if len(own) > most:
                raise Irregular
            for name, value in own.items():
                if name not in columns:
                    if name not in cells:
                        cells[name] = [], []
                    if value is not None:
                        at, values = cells[name]
                        at.append(row)
                        values.append(value)
        is_wide = len(columns) + len(cells) > MANY_SIGNALS
        return columns | {name: self._column(name, *cell, size, is_wide) for name, cell in cells.items()}

    def _column(self, name: str, rows: list[int], values: list[Any], size: int, is_wide: bool) -> Readings:
        known = self.reading(name, values)
        if len(rows) == size:
            return known
        if isinstance(known, np.ndarray):
            thin = Sparse(np.array(rows, np.int64), known, size)
            return thin if is_wide and THIN * len(rows) < size else thin.dense()
        texts: list[str | None] = [None] * size
        for row, value in zip(rows, values, strict=True):
            texts[row] = value
        return texts


class RangeReader(LineReader):
    """Decodes some lines of a file; the rows are added to those of other ranges elsewhere."""

    def __init__(self, source: str, rules: Rules) -> None:
        super().__init__(source, rules)
        self.decoded: list[Decoded] = []

    def add_chunk(
        self,
        rows: int,
        times: NDArray[np.int64] | None,
        fields: Mapping[str, Column],
        readings: dict[str, Readings],
    ) -> None:
        self.decoded.append((rows, times, self._checked(fields), readings))


Decoded = tuple[int, NDArray[np.int64] | None, dict[str, Column], dict[str, Readings]]
"""The arguments of `ColumnReader.add_checked`."""


def decode_range(job: tuple[str, Rules, str], bounds: tuple[int, int]) -> list[Decoded]:
    """Return the rows of the lines that begin within these bytes of a file, in a process of its own."""
    gc.disable()  # rows hold no cycles
    source, rules, path = job
    reader = RangeReader(source, rules)
    with open(path, "rb") as file:
        if content := _lines_within(file, *bounds, rules.limits.line):
            reader._take(content)
    return reader.decoded


def _lines_within(file: BinaryIO, start: int, end: int, longest: int) -> bytes:
    """Return the lines that begin within these bytes."""
    before = min(start, 1)  # a line begins at `start` where the byte before ends one
    file.seek(start - before)
    content = file.read(end - start + before)
    cut = content.find(b"\n") + 1 if before else 0
    if before and not cut:
        return b""
    content = content[cut:] if before else content.removeprefix(BOM)
    if content and not content.endswith(b"\n"):
        rest = file.readline(longest + 1)
        if len(rest) > longest:
            raise Irregular
        content += rest
    return content


def _keys_of(attributes: Sequence[Any], chunk: bytes) -> int:
    """Return how many keys attributes have; Irregular where an integer may have become a float."""
    present = [own for own in attributes if own]
    if present and _LONG.search(chunk):
        raise Irregular
    return sum(map(_keys_in, present))


def _check_keys(count: int, keys: int, chunk: bytes) -> None:
    """Raise Irregular where a key is there twice, which the decoder does not see."""
    if count == keys:
        return
    # A text with such characters in it, or a field that is null.
    for line in chunk.split(b"\n"):
        if line.strip():
            try:
                parse(decode(line.strip()))
            except BadLine:
                raise Irregular from None


def _decode(chunk: bytes) -> Sequence[Struct]:
    try:
        return _NUMERIC_ROWS.decode_lines(chunk)
    except _UNDECODABLE:
        pass
    try:
        return _ROWS.decode_lines(chunk)
    except _UNDECODABLE:
        raise Irregular from None


def _times_of(times: Sequence[datetime | None], chunk: bytes) -> NDArray[np.int64] | None:
    if any(at is not None and at.microsecond for at in times) and NANOSECONDS.search(chunk):
        raise Irregular
    return micros_of(times)


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


def _bounds(chunk: bytes, rows: int, longest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where lines that are not blank start and end; Irregular if they are not the rows or too long."""
    ends = np.append(np.flatnonzero(np.frombuffer(chunk, np.uint8) == NEWLINE), len(chunk))
    starts = np.append(0, ends[:-1] + 1)
    if (ends - starts).max() >= longest:
        raise Irregular
    if rows == len(ends) - 1 and starts[-1] == ends[-1]:
        return starts[:-1], ends[:-1]
    lines = zip(starts.tolist(), ends.tolist(), strict=True)
    filled = [number for number, (start, end) in enumerate(lines) if chunk[start:end].strip()]
    if rows != len(filled) or len(ends) - rows > rows + MOST_BLANK:
        raise Irregular
    return starts[filled], ends[filled]


def _keys_in(value: Any) -> int:
    """Return how many keys an object has with those inside it."""
    if isinstance(value, dict):
        return len(value) + sum(map(_keys_in, value.values()))
    return sum(map(_keys_in, value)) if isinstance(value, list) else 0
