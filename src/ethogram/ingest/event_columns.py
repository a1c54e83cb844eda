"""Event lines as columns: the quick way into memory for files without a single fault.

Files are decoded in large chunks and checked column by column. Anything out of the ordinary (a bad line, an
unknown key, an id that comes twice) ends the attempt with None, and the caller reads the files line by line,
which is slower and explains every fault. What this way accepts, that one reads as the same events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from operator import itemgetter
from typing import Annotated, Any, BinaryIO, overload

import numpy as np
from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder
from msgspec.structs import astuple
from numpy.typing import NDArray

from ..models import Event, Value, default_id, micros, moment
from ..models.limits import FREE_RECORDS
from .batch import ColumnarEvents
from .errors import BadLine
from .event_parser import (
    CATEGORY,
    LARGEST,
    LARGEST_SEQ,
    LAST_SECOND,
    NUMBER,
    Rules,
    checked_attributes,
    content_of,
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
_NANOSECONDS = re.compile(rb'\.\d{7,}(?:[Zz]|[+-]\d\d:?\d\d)"')


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
Column = Sequence[Any]
Readings = NDArray[np.float64] | list[str | None]
"""The values of one signal: numbers with NaN, or categories with None, where there is none."""


class Coded(Sequence[str | None]):
    """A column of texts in which each text is there once: `words`, and the number of the word in each row.

    >>> list(Coded(np.array([1, 0, -1]), ["a", "b"]))
    ['b', 'a', None]
    """

    __slots__ = ("codes", "words")

    def __init__(self, codes: NDArray[np.integer[Any]], words: list[str]) -> None:
        self.codes, self.words = codes, words

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> str | None: ...
    @overload
    def __getitem__(self, row: slice | NDArray[np.int64]) -> Coded: ...
    def __getitem__(self, row: int | slice | NDArray[np.int64]) -> str | Coded | None:
        if not isinstance(row, int):
            return Coded(self.codes[row], self.words)
        code = int(self.codes[row])
        return self.words[code] if code >= 0 else None

    def __iter__(self) -> Iterator[str | None]:
        words = [*self.words, None]  # -1 is the last
        return (words[code] for code in self.codes.tolist())

    def count(self, value: object) -> int:
        if value is None:
            return int(np.count_nonzero(self.codes < 0))
        return sum(own == value for own in self)


class Irregular(Exception):
    """The input needs to be read line by line."""


class EventColumns(ColumnarEvents):
    """Events of one source in order, as columns; an Event is made when it is asked for.

    Fields that no event has are missing from `fields`.
    """

    __slots__ = ("_made", "fields", "ids", "readings", "seq", "source", "timed", "times")

    def __init__(
        self,
        source: str,
        times: NDArray[np.int64],
        seq: NDArray[np.int64],
        ids: list[str | None] | None,
        fields: dict[str, Column],
        readings: dict[str, Readings],
        *,
        timed: bool,
    ) -> None:
        self.source, self.times, self.seq, self.ids = source, times, seq, ids
        self.fields, self.readings, self.timed = fields, readings, timed
        self._made: dict[str, int] = {}
        """Rows of ids that were made of content."""

    def __len__(self) -> int:
        return len(self.times)

    def until(self, at: datetime) -> EventColumns:
        """Return the events up to a time."""
        rows = int(np.searchsorted(self.times, micros(at), "right"))
        if rows == len(self):
            return self
        return EventColumns(
            self.source,
            self.times[:rows],
            self.seq[:rows],
            None if self.ids is None else self.ids[:rows],
            {name: column[:rows] for name, column in self.fields.items()},
            {name: column[:rows] for name, column in self.readings.items()},
            timed=self.timed,
        )

    def event(self, row: int) -> Event:
        """Return the event of a row."""
        fields = {name: column[row] for name, column in self.fields.items() if column[row] is not None}
        at = moment(int(self.times[row]))
        return Event(
            self.id_of(row), at, fields["subject"], int(self.seq[row]), self.source, self.timed, None,
            fields.get("target"), fields.get("reply_to"), fields.get("thread"), fields.get("session"),
            fields.get("kind", "event"), fields.get("text"), fields.get("attributes", {}),
            self.readings_of(row),
        )  # fmt: skip

    def readings_of(self, row: int) -> dict[str, Value]:
        """Return the readings of a row."""
        out: dict[str, Value] = {}
        for name, column in self.readings.items():
            value = column[row]
            if isinstance(value, str):
                out[name] = value
            elif value is not None and value == value:
                out[name] = float(value)
        return out

    def id_of(self, row: int) -> str:
        """Return the id of the event in a row; one without its own gets it from its place and content."""
        own = None if self.ids is None else self.ids[row]
        if own is not None:
            return own
        fields = {name: column[row] for name, column in self.fields.items() if column[row] is not None}
        if self.timed:
            fields["at"] = moment(int(self.times[row]))
        if readings := self.readings_of(row):
            fields["readings"] = readings
        made = default_id(self.source, int(self.seq[row]), content_of(fields))
        self._made[made] = row
        return made

    def rows_of(self, ids: Collection[str]) -> list[int]:
        """Return the rows of the events with these ids, in order."""
        if self.ids is not None:
            rows = [row for row, own in enumerate(self.ids) if own in ids]
            if len(rows) == len(ids):
                return rows
        if any(name not in self._made for name in ids):
            return [row for row in range(len(self)) if self.id_of(row) in ids]
        return sorted(self._made[name] for name in ids)


class MeasuredLines(ColumnarEvents):
    """Event lines of which some were given further readings: `measured` has those, by row."""

    __slots__ = ("fields", "lines", "measured", "source", "timed")

    def __init__(self, lines: EventColumns, measured: dict[int, Event]) -> None:
        self.lines, self.measured = lines, measured
        self.source, self.fields, self.timed = lines.source, lines.fields, lines.timed

    def __len__(self) -> int:
        return len(self.lines)

    def event(self, row: int) -> Event:
        return self.measured.get(row) or self.lines.event(row)

    def rows_of(self, ids: Collection[str]) -> list[int]:
        return self.lines.rows_of(ids)


def strange_names(
    events: ColumnarEvents, known: Collection[str], most: int
) -> dict[str, tuple[int, tuple[datetime, int, str]]]:
    """Return how often each of the first unknown names has a reading, and the order of its first event."""
    lines = events.lines if isinstance(events, MeasuredLines) else events
    assert isinstance(lines, EventColumns)
    first: list[tuple[int, str, int]] = []
    for name in set(lines.readings) - set(known):
        rows = np.flatnonzero([value is not None and value == value for value in lines.readings[name]])
        if len(rows):
            first.append((int(rows[0]), name, len(rows)))
    return {name: (count, lines.event(row).order) for row, name, count in sorted(first)[:most]}


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
        if any(at is not None and at.microsecond for at in times) and _NANOSECONDS.search(chunk):
            raise Irregular
        self._times.append(_micros(times))
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
        times = self._joined_times(seq)
        self._check_texts(lists)
        readings = self._joined()
        fields = {name: column for name, column in lists.items() if len(column) - column.count(None)}
        events = EventColumns(self.source, times, seq, ids, fields, readings, timed=self.timed)
        return _in_order(events)

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
        names = list(dict.fromkeys(chain.from_iterable(dicts)))
        columns: dict[str, Any]
        if sizes == {len(names)} and len(names) > 1:
            columns = dict(zip(names, zip(*map(itemgetter(*names), dicts), strict=True), strict=True))
        elif len(names) <= MANY_NAMES:
            columns = {name: [row.get(name) for row in dicts] for name in names}
        else:
            columns = {name: [None] * len(dicts) for name in names}
            for number, row in enumerate(dicts):
                for name, value in row.items():
                    columns[name][number] = value
        return {name: self._reading(name, column) for name, column in columns.items()}

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


def _micros(times: Sequence[datetime | None]) -> NDArray[np.int64] | None:
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


def _in_order(events: EventColumns) -> EventColumns:
    times, seq = events.times, events.seq
    later = (times[1:] > times[:-1]) | ((times[1:] == times[:-1]) & (seq[1:] > seq[:-1]))
    if later.all():
        return events
    order = np.lexsort((seq, times))
    times, seq = times[order], seq[order]
    rows = order.tolist()
    ties = (times[1:] == times[:-1]) & (seq[1:] == seq[:-1])
    if ties.any():
        rows.sort(key=lambda row: (int(events.times[row]), int(events.seq[row]), events.id_of(row)))
        order = np.array(rows)
    ids = events.ids
    return EventColumns(
        events.source,
        times,
        seq,
        None if ids is None else [ids[row] for row in rows],
        {
            name: column[order] if isinstance(column, Coded) else [column[row] for row in rows]
            for name, column in events.fields.items()
        },
        {
            name: column[order] if isinstance(column, np.ndarray) else [column[row] for row in rows]
            for name, column in events.readings.items()
        },
        timed=events.timed,
    )
