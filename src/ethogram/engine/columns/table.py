"""EventTable: the events of an input as columns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ingest.event_columns import EventColumns, Sparse, coded
from ...language.ast import Expr
from ...language.history import EXCHANGE, FIELDS, attribute
from ...models import TRAITS, Event, is_evaluated, is_indicator_name, micros

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
Rows = slice | Ints

FITS = 2**62
"""Integers below this have room in an int64."""


class Texts:
    """Codes of texts: equal texts have equal codes in all columns of a table."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.texts: list[str] = []
        self._lock = RLock()

    def code(self, text: str) -> int:
        """The code of a text, a new one where it has none yet."""
        code = self.codes.get(text)
        if code is None:
            with self._lock:
                code = self.codes.setdefault(text, len(self.texts))
                if code == len(self.texts):
                    self.texts.append(text)
        return code

    def encode(self, values: Iterable[Any]) -> Codes:
        """The codes of texts, -1 for anything else."""
        code = self.code
        return np.array([code(value) if isinstance(value, str) else -1 for value in values], np.int32)


@dataclass(frozen=True, slots=True)
class Column:
    """One value per row: `num` is NaN where it is no number, `code` -1 where it is no text.

    Either is None where no row has one.
    `carried` marks the rows that have a reading at all, where some is neither (NaN, a list). `rounded` is
    false for readings that are not in fixed point yet: they are rounded to millionths when they are read.
    """

    num: NDArray[Any] | None = None
    code: Codes | None = None
    carried: Mask | None = None
    rounded: bool = True

    def at(self, rows: Rows) -> Column:
        """The values at some rows."""
        num, code, carried = self.num, self.code, self.carried
        return Column(
            None if num is None else num[rows].astype(np.float64, copy=False),
            None if code is None else code[rows],
            None if carried is None else carried[rows],
            self.rounded,
        )

    def spread(self, rows: Sequence[int], size: int) -> Column:
        """A column of that size with these values at some rows, and none at the others."""
        if len(rows) == size:
            return self
        at = np.array(rows, np.int64)

        def put(values: Any, absent: Any) -> Any:
            if values is None:
                return None
            out = np.full(size, absent, values.dtype)
            out[at] = values
            return out

        return Column(put(self.num, np.nan), put(self.code, -1), put(self.carried, False), self.rounded)

    def extent(self) -> tuple[bool, float]:
        """Whether every row has a number, and the largest size of one; 0 where there is none."""
        if self.num is None or not len(self.num):
            return False, 0.0
        # The least of anything with a NaN in it is NaN.
        low = float(self.num.min())
        if low == low:
            return True, max(float(self.num.max()), -low)
        low, high = float(np.fmin.reduce(self.num)), float(np.fmax.reduce(self.num))
        return False, max(high, -low) if high == high else 0.0

    def known(self, rows: int) -> Mask:
        """Where there is a number or a text."""
        known = np.zeros(rows, bool) if self.num is None else self.num == self.num
        return known if self.code is None else known | (self.code >= 0)

    def to_list(self, texts: Texts, rows: int) -> list[Any]:
        """The values as Python has them, numbers rounded to millionths; None where they are absent."""
        out: list[Any] = [None] * rows
        if self.num is not None:
            num = self.num if self.rounded else fixed(self.num)
            out = [None if x != x else x for x in num.tolist()]
        if self.code is not None:
            names = texts.texts
            out = [names[code] if code >= 0 else x for code, x in zip(self.code.tolist(), out, strict=True)]
        return out


def fixed(x: Any, largest: float = 1e9) -> Any:
    """Numbers below a size rounded to six decimals, as events round their readings."""
    out = np.rint(x * 1e6)
    out /= 1e6
    if len(x) and not (np.fmax.reduce(np.abs(x)) < largest):
        out = np.where(np.abs(x) < largest, out, x)
    return out


def column_of(values: list[Any], texts: Texts) -> Column:
    """A column of Python values; None is absent, true and false are 1 and 0.

    >>> column_of([0.5, None, "a", True], Texts()).code.tolist()
    [-1, -1, 0, -1]
    """
    kinds = set(map(type, values)) - {type(None)}
    code = texts.encode(values) if any(issubclass(kind, str) for kind in kinds) else None
    if not any(issubclass(kind, (int, float)) for kind in kinds):
        num = None
    elif kinds == {float}:
        num = np.array(values, np.float64)
    else:
        num = np.array([_float(value) for value in values], np.float64)
    strange = bool(kinds - {float, int, bool, str})
    if num is not None and not np.isfinite(num).all():
        strange = strange or any(isinstance(x, float) and not math.isfinite(x) for x in values)
        num[~np.isfinite(num)] = np.nan
    carried = np.array([value is not None for value in values]) if strange else None
    return Column(num, code, carried)


def _float(value: Any) -> float:
    try:
        return float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:
        return math.nan


class EventTable(ABC):
    """The events of an input. Rows of one subject are in order (at, seq, id).

    `who` numbers the subjects of all sources, `names` gives source and subject of each number.
    """

    times: Ints
    timed: Mask
    who: Ints
    names: Sequence[tuple[str, str]]

    def __init__(self, texts: Texts | None = None) -> None:
        self.texts = texts or Texts()
        self._columns: dict[tuple[str, str], Column] = {}
        self._extents: dict[str, tuple[bool, float]] = {}
        self._lock = RLock()
        self.shares: dict[tuple[Expr, bool], float] = {}
        """How often a condition was true (or false) in an earlier block: the rarest is tested first."""

    @abstractmethod
    def ids(self, rows: Ints) -> list[str]:
        """The ids of the events of some rows."""

    @abstractmethod
    def events(self, rows: Ints, names: Collection[str] | None = None) -> list[Event]:
        """The events of some rows, with all readings or at least those of some names."""

    @abstractmethod
    def _load(self, kind: str, name: str) -> Column: ...

    @abstractmethod
    def _evaluated(self) -> Mask: ...

    @property
    def rows(self) -> int:
        return len(self.times)

    @cached_property
    def evaluated(self) -> Mask:
        """Where an event carries a trait or an indicator."""
        return self._evaluated()

    def column(self, kind: str, name: str) -> Column:
        """The values of a `reading` or of an `attribute` (a field of the event included)."""
        column = self._columns.get((kind, name))
        if column is None:
            with self._lock:
                column = self._columns.get((kind, name)) or self._load(kind, name)
                self._columns[kind, name] = column
        return column

    def extent(self, name: str) -> tuple[bool, float]:
        """Whether every row has a number as its reading, and the largest size of one."""
        if name not in self._extents:
            self._extents[name] = self.column("reading", name).extent()
        return self._extents[name]

    def values(self, kind: str, name: str, rows: Ints) -> list[Any]:
        """Values at some rows; None where they are absent."""
        return self.column(kind, name).at(rows).to_list(self.texts, len(rows))


class EventRows(EventTable):
    """A table of Event objects that are in order; columns are made when a program names them."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__()
        self._events, rows = events, len(events)
        self.times = np.fromiter((micros(event.at) for event in events), np.int64, rows)
        self.timed = np.fromiter((event.timed for event in events), bool, rows)
        numbers: dict[tuple[str, str], int] = {}
        who = (numbers.setdefault((event.source, event.subject), len(numbers)) for event in events)
        self.who = np.fromiter(who, np.int64, rows)
        self.names = list(numbers)

    def ids(self, rows: Ints) -> list[str]:
        return [self._events[row].id for row in rows.tolist()]

    def events(self, rows: Ints, names: Collection[str] | None = None) -> list[Event]:
        return [self._events[row] for row in rows.tolist()]

    @cached_property
    def _readings(self) -> dict[str, tuple[list[int], list[Any]]]:
        """The rows that have a reading of a name, and what they read: most names are on few events."""
        readings: dict[str, tuple[list[int], list[Any]]] = {}
        for row, event in enumerate(self._events):
            for name, value in event.readings.items():
                if name not in readings:
                    readings[name] = ([], [])
                rows, values = readings[name]
                rows.append(row)
                values.append(value)
        return readings

    def _evaluated(self) -> Mask:
        return np.fromiter((is_evaluated(event.readings) for event in self._events), bool, self.rows)

    def _load(self, kind: str, name: str) -> Column:
        if kind == "reading":
            rows, values = self._readings.get(name, ([], []))
            return column_of(values, self.texts).spread(rows, self.rows)
        if name in FIELDS or name == EXCHANGE:
            return column_of([attribute(event, name) for event in self._events], self.texts)
        return column_of([_attribute(event, name) for event in self._events], self.texts)


def _attribute(event: Event, name: str) -> Any:
    value = event.attributes.get(name)
    return event.readings.get(name) if value is None else value


class Names(Sequence[tuple[str, str]]):
    """The subjects of one source, each with it."""

    __slots__ = ("source", "words")

    def __init__(self, source: str, words: Sequence[str]) -> None:
        self.source, self.words = source, words

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, number: Any) -> Any:
        return self.source, self.words[number]


class LineTable(EventTable):
    """A table of event lines; `measured` has the events that were given further readings, by row."""

    def __init__(self, lines: EventColumns, measured: Mapping[int, Event] | None = None) -> None:
        super().__init__()
        self.lines, self.measured = lines, measured or {}
        self.times = lines.times
        self.timed = np.broadcast_to(np.array(lines.timed), (len(lines),))
        subjects = coded(lines.fields["subject"])
        self.who = subjects.codes.astype(np.int64, copy=False)
        self.names = Names(lines.source, subjects.words)
        if "source" in lines.fields:
            sources = coded(lines.fields["source"])
            pairs, self.who = np.unique(sources.codes * len(self.names) + self.who, return_inverse=True)
            places = [divmod(pair, len(self.names)) for pair in pairs.tolist()]
            self.names = [(sources.words[source], subjects.words[subject]) for source, subject in places]

    def ids(self, rows: Ints) -> list[str]:
        return self.lines.ids_of(rows)

    def events(self, rows: Ints, names: Collection[str] | None = None) -> list[Event]:
        return self.lines.events(rows, names)

    def _evaluated(self) -> Mask:
        evaluated = np.zeros(self.rows, bool)
        for name, own in self.lines.readings.items():
            if name in TRAITS or is_indicator_name(name):
                if isinstance(own, Sparse):
                    evaluated[own.rows] = True
                else:
                    evaluated |= self.column("reading", name).known(self.rows)
        for row, event in self.measured.items():
            evaluated[row] = evaluated[row] or is_evaluated(event.readings)
        return evaluated

    def _load(self, kind: str, name: str) -> Column:
        if kind == "reading":
            return self._readings(name)
        if name == EXCHANGE:
            threads, targets = (self.column("attribute", field).code for field in ("thread", "target"))
            # Where there is no thread the target has no other name than its own.
            if threads is None or targets is None:
                return Column(code=targets)
            return Column(code=np.where(threads < 0, targets, threads))
        if name in FIELDS:
            if name == "source" and name not in self.lines.fields:
                return Column(code=np.full(self.rows, self.texts.code(self.lines.source), np.int32))
            values = self.lines.fields.get(name)
            if name == "kind":
                values = ["event" if value is None else value for value in values or [None] * self.rows]
            if values is None:
                return self.column("attribute", "thread") if name == "target" else Column()
            texts = coded(values)
            codes = np.append(self.texts.encode(texts.words), np.int32(-1))[texts.codes]
            if name == "target" and (threads := self.column("attribute", "thread").code) is not None:
                codes = np.where(codes < 0, threads, codes)
            return Column(code=codes)
        attributes = self.lines.fields.get("attributes")
        column = self.column("reading", name)
        if attributes is None:
            return column
        values = [None if own is None else own.get(name) for own in attributes]
        if all(value is None for value in values):
            return column
        return column_of([self._attribute(row, name, value) for row, value in enumerate(values)], self.texts)

    def _attribute(self, row: int, name: str, value: Any) -> Any:
        return self.lines.event(row).readings.get(name) if value is None else value

    def _readings(self, name: str) -> Column:
        own = self.lines.readings.get(name)
        if isinstance(own, Sparse):
            own = own.dense()
        if not self.measured:
            if own is None:
                return Column()
            return Column(own, rounded=False) if isinstance(own, np.ndarray) else column_of(own, self.texts)
        supplied: list[Any] = own.tolist() if isinstance(own, np.ndarray) else own or [None] * self.rows
        values = [None if value != value else value for value in supplied]
        for row, event in self.measured.items():
            values[row] = event.readings.get(name)
        return replace(column_of(values, self.texts), rounded=False)


def table_of(events: Sequence[Event]) -> EventTable:
    """The table of events that are in order."""
    return LineTable(events, events.measured) if isinstance(events, EventColumns) else EventRows(events)
