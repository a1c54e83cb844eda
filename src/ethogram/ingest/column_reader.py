"""Columns of events under construction: what readers of regular input have in common.

Input is decoded in large chunks and checked column by column. Anything out of the ordinary (a bad line, an
unknown key, an id that comes twice) raises Irregular, and the caller reads the input line by line, which is
slower and explains every fault. What this way accepts, that one reads as the same events.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count, islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..models import micros
from .errors import BadLine
from .event_columns import Coded, Column, EventColumns, Readings, Sparse, coded, in_order, rows_with
from .event_parser import (
    LAST_SECOND,
    Rules,
    check_name,
    checked_attribute,
    checked_attributes,
    checked_reading,
    is_plain,
    signal_name,
)
from .ledger import Ledger

NAMES = ("source", "subject", "target", "reply_to", "thread", "session", "kind")
"""Fields whose texts come again and again."""
Fields = dict[str, Column]
Steps = Generator[None, None, None]
"""Takes in more input at each step."""
N = TypeVar("N", bound=np.integer[Any])
FIRST, LAST = micros(datetime.min.replace(tzinfo=UTC)), micros(datetime.max.replace(tzinfo=UTC))


class Irregular(Exception):
    """The input needs to be read line by line."""


class Numbers(Generic[N]):
    """The numbers of the words of a column, found once where chunks share a list of words that may grow."""

    def __init__(self, number: Callable[[str], int], kind: type[N]) -> None:
        self._number = number
        self._words: Sequence[str] = []
        self._known: NDArray[N] = np.empty(0, kind)

    def __call__(self, words: Sequence[str]) -> NDArray[N]:
        known = self._known if words is self._words else self._known[:0]
        new = np.fromiter(map(self._number, islice(words, len(known), None)), known.dtype)
        self._words, self._known = words, np.append(known, new)
        return self._known


class Words:
    """The texts of a column under construction, each with a number; rows that it was not given have none."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = defaultdict(count().__next__, {None: -1})
        self._codes = Numbers(self._numbers.__getitem__, np.int32)
        self._parts: list[NDArray[np.int32]] = []
        self._rows = 0

    @property
    def words(self) -> list[str]:
        """The texts, in the order of their numbers."""
        return [word for word in self._numbers if word is not None]

    def __len__(self) -> int:
        return len(self._numbers)

    def codes(self, column: Column) -> NDArray[np.int32]:
        """Return the number of the text in each row, -1 where there is none."""
        texts = coded(column)
        codes: NDArray[np.int32] = np.append(self._codes(texts.words), np.int32(-1))[texts.codes]
        return codes

    def add(self, row: int, column: Column) -> None:
        """Add the texts of rows from this one on."""
        self._put(row, self.codes(column))

    def column(self, rows: int) -> Coded | None:
        """Return the column of so many rows, None where no row has a text."""
        self._put(rows, np.empty(0, np.int32))
        codes = np.concatenate(self._parts)
        return Coded(codes, self.words) if (codes >= 0).any() else None

    def _put(self, row: int, codes: NDArray[np.int32]) -> None:
        if row > self._rows:
            self._parts.append(np.full(row - self._rows, -1, np.int32))
        self._parts.append(codes)
        self._rows = row + len(codes)


class Chunk(NamedTuple):
    """Rows whose fields are checked: places, times in microseconds, fields by name and readings by signal."""

    seq: NDArray[np.int64]
    times: NDArray[np.int64]
    fields: Fields
    readings: dict[str, Readings]
    timed: bool


Sink = Callable[[Chunk], None]
"""Takes chunks that do not go into memory."""


class ColumnReader:
    """Gathers chunks of columns that make one source; Irregular where they need a closer look.

    With a `sink` the chunks go there, and only what all of them must agree on is remembered.
    """

    def __init__(self, source: str, rules: Rules, sink: Sink | None = None) -> None:
        self.source, self.rules, self.sink = source, rules, sink
        self.rows = 0
        self.timed: bool | None = None
        self.strays: dict[str, int] = {}
        self.skipped: Counter[str] = Counter()
        self.ledger = Ledger()
        self._words: dict[str, Words] = {}
        self._checked_words: dict[str, tuple[Sequence[str], int]] = {}
        """By field the list of texts that was checked last, and how many it had: chunks may share it."""
        self._lists: dict[str, list[Any]] = {}
        self._chunks: list[Chunk] = []
        self._texts: dict[str, bool] = {}
        """Whether a signal is a text."""
        self._hashes: list[NDArray[np.int64]] = []
        self._lacks_ids = self._has_seq = False

    def add_chunk(
        self,
        rows: int,
        times: NDArray[np.int64] | None,
        fields: Mapping[str, Column],
        readings: dict[str, Readings],
    ) -> None:
        """Add rows: times in microseconds if there are any, other fields by name, readings by signal."""
        self.add_checked(rows, times, self._checked(fields), readings)

    def add_checked(
        self, rows: int, times: NDArray[np.int64] | None, checked: Fields, readings: dict[str, Readings]
    ) -> None:
        """Add rows whose fields and readings are checked one by one, but not against other rows."""
        if self.rows + rows > self.rules.limits.events:
            raise Irregular
        seq = self._places(rows, checked.pop("seq", ()))
        times = self._checked_times(times, seq)
        chunk = Chunk(seq, times, checked, readings, bool(self.timed))
        if self.sink is None:
            self.keep(chunk)
            return
        known = [hash(own) for own in checked.get("id", ()) if own is not None]
        self._lacks_ids = self._lacks_ids or len(known) < rows
        self._hashes.append(np.array(known, np.int64))
        self._learn_kinds(readings)
        self.sink(chunk)
        self.rows += rows

    def columns(self, more: Mapping[str, Coded] | None = None) -> EventColumns:
        """Return what was read, in order, with the values of `more` fields where they have any."""
        if not self.rows:
            raise Irregular
        fields: dict[str, Column] = dict(more or {})
        for name, known in self._lists.items():
            if _has_any(known):
                fields[name] = known + [None] * (self.rows - len(known))
        for name, words in self._words.items():
            if (column := words.column(self.rows)) is not None:
                others = fields.get(name)
                if others is not None:
                    column = coded([own or more for own, more in zip(others, column, strict=True)])
                fields[name] = column
        ids = fields.pop("id", None)
        seq, times = (
            np.concatenate(parts) for parts in zip(*(chunk[:2] for chunk in self._chunks), strict=True)
        )
        self._check_ids(ids, seq)
        timed = bool(self.timed)
        return in_order(EventColumns(self.source, times, seq, ids, fields, self._joined(), timed=timed))

    def check_whole(self) -> None:
        """Raise Irregular where what went into the sink has an id twice; its ids were checked by hash."""
        if not self.rows or (self._lacks_ids and self._has_seq):
            raise Irregular
        hashes = np.sort(np.concatenate([np.empty(0, np.int64), *self._hashes]))
        if (hashes[1:] == hashes[:-1]).any():
            raise Irregular

    def keep(self, chunk: Chunk) -> None:
        """Add rows whose fields are checked."""
        self.timed = chunk.timed
        self._learn_kinds(chunk.readings)
        self._chunks.append(chunk._replace(fields={}))
        for name, column in chunk.fields.items():
            if name in NAMES:
                self._words.setdefault(name, self.new_words()).add(self.rows, column)
            else:
                known = self._lists.setdefault(name, [])
                known += [None] * (self.rows - len(known))
                known += column
        self.rows += len(chunk.seq)

    def new_words(self) -> Words:
        """Return what takes in the texts of one column."""
        return Words()

    def _learn_kinds(self, readings: dict[str, Readings]) -> None:
        for name, column in readings.items():
            is_text = isinstance(column, list)
            if (is_text or len(rows_with(column))) and self._texts.setdefault(name, is_text) is not is_text:
                raise Irregular

    def _checked(self, fields: Mapping[str, Column]) -> Fields:
        """Return the fields of a chunk that have values, each as it should be."""
        limits = self.rules.limits
        checked: Fields = {}
        for name, column in fields.items():
            if name == "attributes":
                column = self._attributes(column)
            elif name == "id" and (set(map(type, column)) != {str} or "" in column):
                column = [None if value is None or value == "" else str(value) for value in column]
            if name in NAMES:
                column = self._names(name, coded(column))
            elif name in ("text", "id"):
                most = limits.text if name == "text" else limits.name
                if max(map(len, filter(None, column)), default=0) > most:
                    raise Irregular
            if _has_any(column):
                checked[name] = column
        if "subject" not in checked or checked["subject"].count(None):
            raise Irregular
        checked.pop("source", None)
        return checked

    def _names(self, name: str, column: Coded) -> Coded:
        known, done = self._checked_words.get(name, (column.words, 0))
        words = column.words[done:] if known is column.words else column.words
        if "" in words and name != "subject":
            column = coded([value or None for value in column])
            words = column.words
        if name == "subject" and not all(map(str.strip, words)):
            raise Irregular
        if max(map(len, words), default=0) > self.rules.limits.name or not is_plain("".join(words)):
            raise Irregular
        if name == "source" and set(words) - {self.source}:
            raise Irregular
        self._checked_words[name] = column.words, len(column.words)
        return column

    def _attributes(self, column: Column) -> Column:
        limits = self.rules.limits
        try:
            if self._are_plain([own for own in column if own]):
                return [own or None for own in column]
            return [None if own is None else checked_attributes(own, limits) or None for own in column]
        except BadLine:
            raise Irregular from None

    def _are_plain(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether attributes can stay as they are: each name and value is checked once, as most recur."""
        limits = self.rules.limits
        for name in set().union(*rows):
            check_name("attribute name", name, limits)
        try:
            values = set(chain.from_iterable(row.values() for row in rows))
        except TypeError:  # lists and objects
            return False
        few = max(map(len, rows), default=0) <= limits.attributes
        return few and all(checked_attribute("", value, limits, 0) is value for value in values)

    def _places(self, rows: int, values: Column) -> NDArray[np.int64]:
        """Return the places of the rows: their own, or their numbers."""
        numbers = range(self.rows, self.rows + rows)
        if not values:
            return np.array(numbers, np.int64)
        self._has_seq = True
        pairs = zip(numbers, values, strict=True)
        return np.array([number if own is None else own for number, own in pairs], np.int64)

    def _checked_times(self, times: NDArray[np.int64] | None, seq: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the times, or positions in seconds where no event has one."""
        latest = self.rules.latest
        if self.timed is None:
            self.timed = times is not None
        if self.timed is not (times is not None):
            raise Irregular
        if times is None:
            last = LAST_SECOND if latest is None else int(latest.timestamp())
            if int(seq.max()) > last:
                raise Irregular
            return seq * 1_000_000
        late = latest is not None and int(times.max()) > micros(latest)
        if late or int(times.min()) < FIRST or int(times.max()) > LAST:
            raise Irregular
        return times

    def _check_ids(self, ids: Column | None, seq: NDArray[np.int64]) -> None:
        distinct = set(ids or (None,))
        missing = 0 if None not in distinct else self.rows if ids is None else ids.count(None)
        if len(distinct) - bool(missing) + missing != self.rows:
            raise Irregular
        if missing and self._has_seq and len(np.unique(seq)) < self.rows:
            raise Irregular  # ids are made of it

    def reading(self, name: str, column: Sequence[Any] | NDArray[np.float64]) -> Readings:
        """Return the checked values of one signal in a chunk."""
        if not name or signal_name(name) != name or len(name) > self.rules.limits.name:
            raise Irregular
        types = {float} if isinstance(column, np.ndarray) else set(map(type, column)) - {type(None)}
        try:
            if types <= {float, int}:
                numbers = np.asarray(column, np.float64) if types else np.full(len(column), np.nan)
                known = numbers[numbers == numbers]
                for extreme in (known.min(), known.max()) if len(known) else ():
                    checked_reading(name, float(extreme), self.rules)
                return numbers
            if types != {str}:
                raise Irregular
            for value in set(column) - {None}:
                checked_reading(name, value, self.rules)
            return list(column)
        except (BadLine, OverflowError):
            raise Irregular from None

    def _joined(self) -> dict[str, Readings]:
        """Return the readings of all chunks by signal."""
        out: dict[str, Readings] = {}
        for name, is_text in self._texts.items():
            parts = [(len(chunk.seq), chunk.readings.pop(name, None)) for chunk in self._chunks]
            if is_text:
                texts = (part if isinstance(part, list) else [None] * rows for rows, part in parts)
                out[name] = list(chain.from_iterable(texts))
            elif any(isinstance(part, Sparse) for _, part in parts):
                out[name] = _joined_sparse(parts)
            else:
                filled = [np.full(rows, np.nan) if part is None else part for rows, part in parts]
                out[name] = np.concatenate(filled)  # type: ignore[arg-type]
        self._chunks.clear()
        return out


def _joined_sparse(parts: list[tuple[int, Readings | None]]) -> Sparse:
    rows, values, start = [], [], 0
    for size, part in parts:
        if part is not None and not isinstance(part, list):
            rows.append(rows_with(part) + start)
            values.append(part.values if isinstance(part, Sparse) else part[rows_with(part)])
        start += size
    return Sparse(np.concatenate(rows), np.concatenate(values), start)


def _has_any(column: Column) -> bool:
    if isinstance(column, Coded):
        return column.count(None) < len(column)
    return any(value is not None for value in column)
