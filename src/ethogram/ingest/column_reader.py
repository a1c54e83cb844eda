"""Columns of events under construction: what readers of regular input have in common.

Input is decoded in large chunks and checked column by column. Anything out of the ordinary (a bad line, an
unknown key, an id that comes twice) raises Irregular, and the caller reads the input line by line, which is
slower and explains every fault. What this way accepts, that one reads as the same events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import micros
from .errors import BadLine
from .event_columns import Coded, Column, EventColumns, Readings, in_order
from .event_parser import CATEGORY, LARGEST, LAST_SECOND, NUMBER, Rules, checked_attributes, signal_name

NAMES = ("source", "subject", "target", "reply_to", "thread", "session", "kind")
"""Fields whose texts come again and again."""
FIRST, LAST = micros(datetime.min.replace(tzinfo=UTC)), micros(datetime.max.replace(tzinfo=UTC))


class Irregular(Exception):
    """The input needs to be read line by line."""


class Words:
    """A column of texts under construction; rows that it was not given have none."""

    def __init__(self, name: str) -> None:
        self._numbers: dict[str | None, int] = {None: -1}
        if name != "subject":
            self._numbers[""] = -1
        self._none = len(self._numbers)
        self._parts: list[NDArray[np.int32]] = []
        self._rows = 0

    def add(self, row: int, texts: Iterable[str | None]) -> None:
        """Add the texts of rows from this one on."""
        column = texts if isinstance(texts, Sequence) else list(texts)
        self._learn(dict.fromkeys(column))
        self._put(row, np.fromiter(map(self._numbers.__getitem__, column), np.int32, len(column)))

    def add_coded(self, row: int, codes: NDArray[np.int64], words: Sequence[str]) -> None:
        """Add rows by the numbers of their words, -1 where there is none."""
        self._learn(words)
        self._put(row, np.array([*map(self._numbers.__getitem__, words), -1], np.int32)[codes])

    def column(self, rows: int) -> Coded | None:
        """Return the column of so many rows, None where no row has a text."""
        self._put(rows, np.empty(0, np.int32))
        words = [word for word in self._numbers if word is not None][self._none - 1 :]
        codes = np.concatenate(self._parts)
        return Coded(codes, words) if (codes >= 0).any() else None

    def _learn(self, words: Iterable[str | None]) -> None:
        for word in words:
            self._numbers.setdefault(word, len(self._numbers) - self._none)

    def _put(self, row: int, codes: NDArray[np.int32]) -> None:
        if row > self._rows:
            self._parts.append(np.full(row - self._rows, -1, np.int32))
        self._parts.append(codes)
        self._rows = row + len(codes)


class ColumnReader:
    """Gathers chunks of columns that make one source; Irregular where they need a closer look."""

    def __init__(self, source: str, rules: Rules) -> None:
        self.source, self.rules = source, rules
        self.rows = 0
        self.timed = True
        self.strays: dict[str, int] = {}
        self.words = {name: Words(name) for name in NAMES}
        self._lists: dict[str, list[Any]] = {}
        self._times: list[NDArray[np.int64] | None] = []
        self._chunks: list[tuple[int, dict[str, Readings]]] = []

    def add_chunk(
        self,
        rows: int,
        times: NDArray[np.int64] | None,
        fields: Mapping[str, Sequence[Any]],
        readings: dict[str, Readings],
    ) -> None:
        """Add rows: times in microseconds if there are any, other fields by name, readings by signal."""
        self._times.append(times)
        self._chunks.append((rows, readings))
        for name, column in fields.items():
            if name in self.words:
                self.words[name].add(self.rows, column)
            else:
                known = self._lists.setdefault(name, [])
                known += [None] * (self.rows - len(known))
                known += column
        self.rows += rows
        if self.rows > self.rules.limits.events:
            raise Irregular

    def columns(self) -> EventColumns:
        """Return what was read, in order."""
        if not self.rows:
            raise Irregular
        lists: dict[str, Column] = {}
        for name, known in self._lists.items():
            known += [None] * (self.rows - len(known))
            if known.count(None) < self.rows:
                lists[name] = known
        for name, words in self.words.items():
            if (column := words.column(self.rows)) is not None:
                self._check_names(name, column)
                lists[name] = column
        if "subject" not in lists or lists["subject"].count(None):
            raise Irregular
        if set(getattr(lists.pop("source", None), "words", ())) - {self.source}:
            raise Irregular
        ids = self._ids(lists.pop("id", []))
        seq = self._seq(lists.pop("seq", []), has_ids=ids is not None and None not in ids)
        times = self._joined_times(seq)
        self._check_texts(lists)
        events = EventColumns(self.source, times, seq, ids, lists, self._joined(), timed=self.timed)
        return in_order(events)

    def _check_names(self, name: str, column: Coded) -> None:
        blank = name == "subject" and not all(map(str.strip, column.words))
        if blank or max(map(len, column.words)) > self.rules.limits.name:
            raise Irregular

    def _ids(self, values: Column) -> list[str | None] | None:
        column = [None if value is None or value == "" else str(value) for value in values]
        missing = column.count(None)
        if missing == len(column):
            return None
        unique = set(column)
        if len(unique) - bool(missing) + missing != len(column):
            raise Irregular
        unique.discard(None)
        if max(map(len, unique)) > self.rules.limits.name:  # type: ignore[arg-type]
            raise Irregular
        return column

    def _seq(self, values: Column, has_ids: bool) -> NDArray[np.int64]:
        if not values:
            return np.arange(self.rows, dtype=np.int64)
        seq = np.array([number if own is None else own for number, own in enumerate(values)], np.int64)
        if not has_ids and len(np.unique(seq)) < len(seq):
            raise Irregular  # ids are made of it
        return seq

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
        if len(times) != self.rows or lowest < FIRST or highest > LAST or late:
            raise Irregular
        return times

    def _check_texts(self, lists: dict[str, Column]) -> None:
        limits = self.rules.limits
        if max(map(len, filter(None, lists.get("text", ()))), default=0) > limits.text:
            raise Irregular
        if "attributes" not in lists:
            return
        try:
            checked = [
                None if attributes is None else checked_attributes(attributes, limits) or None
                for attributes in lists.pop("attributes")
            ]
        except BadLine:
            raise Irregular from None
        if checked.count(None) < len(checked):
            lists["attributes"] = checked

    def reading(self, name: str, column: Sequence[Any] | NDArray[np.float64]) -> Readings:
        """Return the checked values of one signal in a chunk."""
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
