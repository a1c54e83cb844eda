"""Columns: the events of an input, one array per field or reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ...language.ast import Attribute, Expr, Indicator, Signal
from ...language.history import FIELDS, attribute
from ...language.visitor import walk
from ...models import TRAITS, Event, Value, default_id, is_evaluated, is_indicator_name, micros, moment

# Columns: the events of a whole input, one array per field or reading that a program names.

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
Rows = slice | Ints

ABSENT = -1
LARGEST_WHOLE = 2**53


@dataclass(frozen=True, slots=True)
class Values:
    """One value per row: `num` is NaN where it is no number, `code` -1 where it is no text.

    Either is None where no row has one. `odd`: a value is neither (a truth, a NaN), so that only the plain
    runner reads it rightly.
    """

    num: Floats | None
    code: Codes | None
    odd: bool = False
    there: Mask | None = None
    """Where an odd column has anything at all."""
    full: bool = False
    """Whether it is known that every row has a number. Where it is not known, it is looked at when asked."""

    def at(self, rows: Rows) -> Values:
        """The values at some rows."""
        there = None if self.there is None else self.there[rows]
        num = None if self.num is None else self.num[rows].astype(np.float64, copy=False)
        return Values(num, None if self.code is None else self.code[rows], self.odd, there, self.full)

    def present(self, rows: int) -> Mask:
        """Where there is a value."""
        if self.there is not None:
            return self.there
        found = np.zeros(rows, bool) if self.num is None else self.num == self.num
        return found if self.code is None else found | (self.code >= 0)


class Texts:
    """A number for each different text. Equal texts have equal numbers, in all columns."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.texts: list[str] = []
        self._lock = RLock()

    def code(self, text: str) -> int:
        """The number of a text; a new one where it has not been seen."""
        value = self.codes.get(text)
        if value is None:
            with self._lock:
                value = self.codes.setdefault(text, len(self.texts))
                if value == len(self.texts):
                    self.texts.append(text)
        return value

    def encode(self, values: Iterable[Any]) -> Codes:
        """The numbers of texts, -1 for anything else."""
        code = self.code
        return np.array([code(value) if isinstance(value, str) else ABSENT for value in values], np.int32)


def changes(column: NDArray[Any]) -> Ints:
    """The rows whose value is not that of the row before; none where all share one cell of memory."""
    if column.strides == (0,):
        return np.empty(0, np.int64)
    return np.flatnonzero(column[1:] != column[:-1]) + 1


class Columns(ABC):
    """What a runner reads of an input. Rows of one subject are in order (at, seq, id)."""

    def __init__(self) -> None:
        self.texts = Texts()
        self._lock = RLock()
        self._kept: dict[tuple[str, str], Values] = {}
        self.shares: dict[tuple[Expr, bool], float] = {}
        """How often a condition was true (or false) where it was last asked: the rarer is asked first."""

    rows: int
    times: Ints
    timed: Mask
    subject: Ints
    """A number for each (source, subject)."""

    @cached_property
    def turns(self) -> Ints:
        """The rows at which another subject begins, in the order they are in."""
        return changes(self.subject)

    @abstractmethod
    def event(self, row: int) -> Event:
        """The event of a row, with at least what programs read."""

    @abstractmethod
    def who(self, row: int) -> tuple[str, str]:
        """Source and subject of a row."""

    @abstractmethod
    def evaluated(self) -> Mask:
        """Where an event carries a trait or an indicator."""

    @abstractmethod
    def _column(self, kind: str, name: str) -> Values: ...

    def reading(self, name: str) -> Values:
        """The readings of a signal or indicator."""
        return self._get("reading", name)

    def attribute(self, name: str) -> Values:
        """A field or attribute of the events."""
        return self._get("attribute", name)

    def is_odd(self, expr: Expr) -> bool:
        """Whether some reading or attribute in an expression holds what columns cannot."""
        return any(
            (isinstance(item, (Signal, Indicator)) and self.reading(item.name).odd)
            or (isinstance(item, Attribute) and self.attribute(item.name).odd)
            for item in walk(expr)
        )

    def _get(self, kind: str, name: str) -> Values:
        value = self._kept.get((kind, name))
        if value is None:
            with self._lock:
                value = self._kept.get((kind, name)) or self._column(kind, name)
                self._kept[kind, name] = value
        return value


class EventColumns(Columns):
    """Columns of Event objects that are in order."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__()
        self.events = events
        self.rows = len(events)
        self.times = np.fromiter((micros(event.at) for event in events), np.int64, self.rows)
        self.timed = np.fromiter((event.timed for event in events), bool, self.rows)
        numbers: dict[tuple[str, str], int] = {}
        who = (numbers.setdefault((e.source, e.subject), len(numbers)) for e in events)
        self.subject = np.fromiter(who, np.int64, self.rows)
        self._evaluated: Mask | None = None

    def event(self, row: int) -> Event:
        return self.events[row]

    def who(self, row: int) -> tuple[str, str]:
        return self.events[row].source, self.events[row].subject

    def evaluated(self) -> Mask:
        if self._evaluated is None:
            found = (is_evaluated(event.readings) for event in self.events)
            self._evaluated = np.fromiter(found, bool, self.rows)
        return self._evaluated

    def _column(self, kind: str, name: str) -> Values:
        if kind == "reading":
            return values_of([event.readings.get(name) for event in self.events], self.texts)
        if name in FIELDS:
            return values_of([getattr(event, name) for event in self.events], self.texts)
        return values_of([attribute(event, name) for event in self.events], self.texts)


def values_of(values: list[Any], texts: Texts) -> Values:
    """A column of Python values; None is absent.

    >>> values_of([0.5, None, "a"], Texts()).code.tolist()
    [-1, -1, 0]
    """
    kinds = set(map(type, values)) - {type(None)}
    strings = any(issubclass(kind, str) for kind in kinds)
    numbers = any(issubclass(kind, (int, float)) for kind in kinds)
    odd = any(issubclass(kind, bool) or not issubclass(kind, (str, int, float)) for kind in kinds)
    code = texts.encode(values) if strings else None
    there = np.fromiter((x is not None for x in values), bool, len(values))
    if odd:
        return Values(None, code, True, there)
    if not numbers:
        return Values(None, code)
    if any(isinstance(x, int) and abs(x) >= LARGEST_WHOLE for x in values if kinds - {float}):
        return Values(None, code, True, there)
    num = np.array(
        [x if isinstance(x, (int, float)) else None for x in values] if kinds - {float} else values
    )
    num = num.astype(np.float64)
    known = there if code is None else there & (code < 0)
    if not np.isfinite(num[known]).all():
        return Values(None, code, True, there)
    return Values(num, code, full=code is None and bool(there.all()))


# Columns of a table whose columns are loaded when they are needed.

Load = Callable[[str], Values]


class TableColumns(Columns):
    """Columns of one source; `load` gives the values under a column's name.

    `readings` and `attributes` name the columns of each sort, `fields` those that are fields of an event.
    """

    def __init__(
        self,
        times: Ints,
        subjects: Ints,
        names: list[str],
        load: Load,
        *,
        readings: Collection[str],
        attributes: Collection[str] = (),
        fields: Collection[str] = (),
        seq: Ints | None = None,
        ids: Callable[[int], str | None] | None = None,
        source: str = "input",
        timed: bool = True,
        texts: Texts | None = None,
    ) -> None:
        super().__init__()
        self.texts = texts or self.texts
        self.rows, self.times, self.source, self.is_timed = len(times), times, source, timed
        self.subject, self.names, self.seq, self.ids = subjects, names, seq, ids
        self.timed = np.broadcast_to(np.array(timed), (self.rows,))
        self.readings, self.attributes = dict.fromkeys(readings), frozenset(attributes)
        self.fields = frozenset(fields)
        self._load = load
        self._evaluated: Mask | None = None

    def _column(self, kind: str, name: str) -> Values:
        if kind == "reading":
            return self._load(name) if name in self.readings else Values(None, None)
        if name == "subject":
            codes = self.texts.encode(self.names)
            return Values(None, codes[self.subject])
        if name == "source":
            return Values(None, np.full(self.rows, self.texts.code(self.source), np.int32))
        if name in FIELDS:
            return self._field(name)
        found = self._load(name) if name in self.attributes else Values(None, None)
        return found if name in self.attributes or name not in self.readings else self.reading(name)

    def _field(self, name: str) -> Values:
        if name in self.fields:
            return self._load(name)
        kind = np.full(self.rows, self.texts.code("event"), np.int32) if name == "kind" else None
        return Values(None, kind)

    def who(self, row: int) -> tuple[str, str]:
        return self.source, self.names[self.subject[row]]

    def evaluated(self) -> Mask:
        if self._evaluated is None:
            names = [name for name in self.readings if name in TRAITS or is_indicator_name(name)]
            if any(self.reading(name).full for name in names):
                self._evaluated = np.broadcast_to(np.array(True), (self.rows,))
                return self._evaluated
            found = np.zeros(self.rows, bool)
            for name in names:
                if not found.all():
                    found |= self.reading(name).present(self.rows)
            self._evaluated = found
        return self._evaluated

    def cell(self, kind: str, name: str, row: int) -> Value | None:
        """One value as Python has it; None where it is absent."""
        found = self._kept.get((kind, name)) or self._get(kind, name)
        if found.code is not None and found.code[row] >= 0:
            return self.texts.texts[int(found.code[row])]
        if found.num is None:
            return None
        value = float(found.num[row])
        return None if value != value else value

    def event(self, row: int) -> Event:
        """The event of a row; what it says is looked up when it is read."""
        return cast(Event, Row(self, row))

    def id_of(self, row: int) -> str:
        """The id of the event in a row."""
        return self._id(row, row if self.seq is None else int(self.seq[row]))

    def _id(self, row: int, seq: int) -> str:
        found = None if self.ids is None else self.ids(row)
        if found is not None:
            return found
        record: dict[str, Any] = {"subject": self.names[self.subject[row]], "at": int(self.times[row])}
        record["readings"] = {name: self.cell("reading", name, row) for name in self.readings}
        return default_id(self.source, seq, record)


class Row:
    """An event of a table. Of the many that a history has, few are ever read, and of those a field or two."""

    __slots__ = ("columns", "row")
    received_at = text = None
    scorers: ClassVar[Mapping[str, str]] = {}
    widths: ClassVar[Mapping[str, int]] = {}

    def __init__(self, columns: TableColumns, row: int) -> None:
        self.columns, self.row = columns, row

    @property
    def id(self) -> str:
        return self.columns.id_of(self.row)

    @property
    def at(self) -> datetime:
        return moment(int(self.columns.times[self.row]))

    @property
    def seq(self) -> int:
        seq = self.columns.seq
        return self.row if seq is None else int(seq[self.row])

    @property
    def subject(self) -> str:
        return str(self.columns.names[self.columns.subject[self.row]])

    @property
    def source(self) -> str:
        return self.columns.source

    @property
    def timed(self) -> bool:
        return self.columns.is_timed

    @property
    def order(self) -> tuple[datetime, int, str]:
        return (self.at, self.seq, self.id)

    @property
    def readings(self) -> Cells:
        return Cells(self.columns, "reading", self.row)

    @property
    def attributes(self) -> Cells:
        return Cells(self.columns, "attribute", self.row)

    @property
    def kind(self) -> Any:
        return self._field("kind") or "event"

    @property
    def target(self) -> Any:
        return self._field("target")

    @property
    def thread(self) -> Any:
        return self._field("thread")

    @property
    def session(self) -> Any:
        return self._field("session")

    @property
    def reply_to(self) -> Any:
        return self._field("reply_to")

    def _field(self, name: str) -> Any:
        return self.columns.cell("attribute", name, self.row) if name in self.columns.fields else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and (self.columns, self.row) == (other.columns, other.row)

    def __hash__(self) -> int:
        return hash(self.row)


class Cells(Mapping[str, Any]):
    """The readings or attributes of one row."""

    __slots__ = ("columns", "kind", "row")

    def __init__(self, columns: TableColumns, kind: str, row: int) -> None:
        self.columns, self.kind, self.row = columns, kind, row

    def _names(self) -> Collection[str]:
        return self.columns.readings if self.kind == "reading" else self.columns.attributes

    def get(self, name: str, default: Any = None) -> Any:
        found = self.columns.cell(self.kind, name, self.row) if name in self._names() else None
        return default if found is None else found

    def __getitem__(self, name: str) -> Value:
        value: Value | None = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names() if self.columns.cell(self.kind, name, self.row) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


# Columns of a flat Parquet file, each read when it is needed.

AT_ONCE = 131_072
"""Rows of a column read in one piece."""


def from_parquet(path: Path | str, *, signals: Collection[str] = (), source: str = "input") -> TableColumns:
    """A flat Parquet file: fields of events, readings (traits, indicators, `signals`), else attributes.

    Rows of one subject must stand in order of time, or they are put so; columns are read when needed.
    """
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    names = list(file.schema_arrow.names)
    known = {*FIELDS, "id", "at", "seq"}
    readings = [n for n in names if n not in known and (n in TRAITS or is_indicator_name(n) or n in signals)]
    texts = Texts()
    timed = "at" in names
    seq = _ints(file, "seq") if "seq" in names else None
    subjects, people = _subjects(file)
    rows = len(subjects)
    times = _times(file) if timed else (np.arange(rows) if seq is None else seq) * 1_000_000
    order = in_order(times, subjects, np.arange(rows) if seq is None else seq)

    def put(values: Any) -> Any:
        return values if order is None else values[order]

    def load(name: str) -> Values:
        result = _values(file, name, texts)
        return result if order is None else result.at(order)

    text: list[Any] = []

    def event_id(row: int) -> str | None:
        if not text:
            # Many texts that only detections ask for.
            text.append(_column_of(file, "id") if "id" in names else None)
        found = None if text[0] is None else text[0][row if order is None else int(order[row])].as_py()
        return None if found is None else str(found)

    if order is not None:
        seq = order if seq is None else seq[order]
    return TableColumns(
        put(times),
        put(subjects).astype(np.int64),
        people,
        load,
        readings=readings,
        attributes=[n for n in names if n not in known and n not in readings],
        fields=[n for n in names if n in known],
        seq=seq,
        ids=event_id,
        source=source,
        timed=timed,
        texts=texts,
    )


def in_order(times: Ints, subjects: Codes, seq: Ints) -> Ints | None:
    """An order by subject, time and sequence, or None where rows of each subject are so already."""
    if not len(times):
        return None
    same = subjects[1:] == subjects[:-1]
    later = (times[1:] > times[:-1]) | ((times[1:] == times[:-1]) & (seq[1:] >= seq[:-1]))
    together = int(np.count_nonzero(~same)) + 1 == len(np.unique(subjects))
    if together and bool((later | ~same).all()):
        return None
    return np.lexsort((seq, times, subjects))


def _column_of(file: Any, name: str) -> Any:
    table = file.read(columns=[name])
    return table.column(0).combine_chunks() if table.num_rows else table.column(0)


def _ints(file: Any, name: str) -> Ints:
    return np.asarray(_column_of(file, name).to_numpy(zero_copy_only=False)).astype(np.int64)


def _times(file: Any) -> Ints:
    import pyarrow

    column = _column_of(file, "at")
    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    return np.asarray(column.cast(pyarrow.int64()).to_numpy(zero_copy_only=False))


def _subjects(file: Any) -> tuple[Codes, list[str]]:
    column = _column_of(file, "subject").dictionary_encode()
    codes = np.asarray(column.indices.to_numpy(zero_copy_only=False)).astype(np.int32)
    return codes, [str(name) for name in column.dictionary.to_pylist()]


def _values(file: Any, name: str, texts: Texts) -> Values:
    import pyarrow

    kind = file.schema_arrow.field(name).type
    if pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind):
        floats = _numbers(file, name, np.float32 if kind == pyarrow.float32() else np.float64)
        return Values(floats, None, full=not len(floats) or not np.isnan(floats.min()))
    column = _column_of(file, name)
    if not pyarrow.types.is_dictionary(kind):
        column = column.dictionary_encode()
    new = texts.encode([str(item) for item in column.dictionary.to_pylist()])
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Values(None, np.where(codes < 0, -1, new[codes] if len(new) else -1).astype(np.int32))


def _numbers(file: Any, name: str, kind: Any) -> Floats:
    """A column of numbers, filled piece by piece, so that it is in memory only once."""
    out = np.empty(file.metadata.num_rows, kind)
    start = 0
    for batch in file.iter_batches(AT_ONCE, columns=[name]):
        column = batch.column(0)
        if column.type == "bool":
            column = column.cast("int8")
        out[start : start + len(column)] = column.to_numpy(zero_copy_only=False)
        start += len(column)
    return out
