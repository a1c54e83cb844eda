"""EventTable: the events of an input as columns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...language.ast import Expr
from ...language.history import FIELDS
from ...models import TRAITS, Event, default_id, is_indicator_name, micros, moment

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

        num, code, carried = put(self.num, np.nan), put(self.code, -1), put(self.carried, False)
        return replace(self, num=num, code=code, carried=carried)

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
    names: list[tuple[str, str]]

    def __init__(self, texts: Texts | None = None) -> None:
        self.texts = texts or Texts()
        self._columns: dict[tuple[str, str], Column] = {}
        self._lowest: dict[str, float] = {}
        self._lock = RLock()
        self.shares: dict[tuple[Expr, bool], float] = {}
        """How often a condition was true (or false) in an earlier block: the rarest is asked first."""

    @abstractmethod
    def event(self, row: int) -> Event:
        """The event of a row."""

    @abstractmethod
    def id_of(self, row: int) -> str:
        """The id of the event in a row."""

    @abstractmethod
    def events(self, rows: Ints, names: Collection[str]) -> list[Event]:
        """The events of some rows, with at least the readings of some names."""

    @abstractmethod
    def _load(self, kind: str, name: str) -> Column: ...

    @abstractmethod
    def _evaluated(self) -> Mask: ...

    @abstractmethod
    def take(self, rows: Ints) -> EventTable:
        """A table of some rows that holds on to no others."""

    @abstractmethod
    def followed_by(self, later: EventTable) -> EventTable:
        """The rows of two tables of the same kind, these first."""

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

    def lowest(self, name: str) -> float:
        """The lowest reading of a name where every row has a number, else NaN."""
        if name not in self._lowest:
            num = self.column("reading", name).num
            # The least of anything with a NaN in it is NaN.
            self._lowest[name] = math.nan if num is None or not len(num) else float(num.min())
        return self._lowest[name]

    def is_full(self, name: str) -> bool:
        """Whether every row has a number as its reading."""
        low = self.lowest(name)
        return low == low

    def values(self, kind: str, name: str, rows: Ints) -> list[Any]:
        """Values at some rows; None where they are absent."""
        return self.column(kind, name).at(rows).to_list(self.texts, len(rows))

    def value(self, kind: str, name: str, row: int) -> Any:
        """One value; None where it is absent."""
        return self.values(kind, name, np.array([row]))[0]


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

    def event(self, row: int) -> Event:
        return self._events[row]

    def id_of(self, row: int) -> str:
        return self._events[row].id

    def events(self, rows: Ints, names: Collection[str]) -> list[Event]:
        return [self._events[row] for row in rows.tolist()]

    def take(self, rows: Ints) -> EventTable:
        return EventRows([self._events[row] for row in rows.tolist()])

    def followed_by(self, later: EventTable) -> EventTable:
        assert isinstance(later, EventRows)
        return EventRows([*self._events, *later._events])

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
        return np.fromiter(map(_Evaluated(), self._events), bool, self.rows)

    def _load(self, kind: str, name: str) -> Column:
        if kind == "reading":
            rows, values = self._readings.get(name, ([], []))
            return column_of(values, self.texts).spread(rows, self.rows)
        if name in FIELDS:
            return column_of([getattr(event, name) for event in self._events], self.texts)
        return column_of([_attribute(event, name) for event in self._events], self.texts)


def _attribute(event: Event, name: str) -> Any:
    value = event.attributes.get(name)
    return event.readings.get(name) if value is None else value


class _Evaluated:
    """Whether an event carries a trait or an indicator; each name is looked at once."""

    def __init__(self) -> None:
        self.names: dict[str, bool] = dict.fromkeys(TRAITS, True)

    def __call__(self, event: Event) -> bool:
        names = self.names
        for name in event.readings:
            if name not in names:
                names[name] = is_indicator_name(name)
            if names[name]:
                return True
        return False


class PlainColumns(EventTable):
    """A table of one source made of columns; `load` gives the column under a name when it is needed.

    `readings` and `attributes` name the columns of each kind, `fields` those that are fields of an event.
    `ids` gives the id of the event in a row, or None where it has none of its own.
    """

    def __init__(
        self,
        times: Ints,
        who: Ints,
        subjects: Sequence[str],
        load: Callable[[str], Column],
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
        super().__init__(texts)
        self.times, self.who, self.source = times, who, source
        self.names = [(source, subject) for subject in subjects]
        self.timed = np.broadcast_to(np.array(timed), (len(times),))
        self.seq, self.ids, self.loader, self.is_timed = seq, ids, load, timed
        self.readings, self.attributes = tuple(readings), tuple(attributes)
        self.fields = tuple(name for name in fields if name in FIELDS)
        self._same: dict[str, Any] = {
            "readings": self.readings, "attributes": self.attributes, "fields": self.fields,
            "source": source, "timed": timed, "texts": self.texts,
        }  # fmt: skip

    def event(self, row: int) -> Event:
        return self.events(np.array([row]), self.readings)[0]

    def events(self, rows: Ints, names: Collection[str]) -> list[Event]:
        def read(kind: str, names: Iterable[str]) -> list[dict[str, Any]]:
            out: list[dict[str, Any]] = [{} for _ in rows]
            for name in names:
                for values, value in zip(out, self.values(kind, name, rows), strict=True):
                    if value is not None:
                        values[name] = value
            return out

        columns = zip(
            rows.tolist(),
            self.times[rows].tolist(),
            self.who[rows].tolist(),
            (rows if self.seq is None else self.seq[rows]).tolist(),
            read("attribute", self.fields),
            read("attribute", self.attributes),
            read("reading", (name for name in self.readings if name in names)),
            strict=True,
        )
        return [
            Event(
                self.id_of(row), moment(at), self.names[who][1], seq, self.source, self.is_timed, None,
                field.get("target"), field.get("reply_to"), field.get("thread"), field.get("session"),
                field.get("kind", "event"), None, attributes, readings,
            )
            for row, at, who, seq, field, attributes, readings in columns
        ]  # fmt: skip

    def id_of(self, row: int) -> str:
        own = None if self.ids is None else self.ids(row)
        if own is not None:
            return own
        readings = {name: self.value("reading", name, row) for name in self.readings}
        content = {"subject": self.names[self.who[row]][1], "at": int(self.times[row]), "readings": readings}
        seq = row if self.seq is None else int(self.seq[row])
        return default_id(self.source, seq, content)

    def _evaluated(self) -> Mask:
        names = [name for name in self.readings if name in TRAITS or is_indicator_name(name)]
        if any(map(self.is_full, names)):
            return np.broadcast_to(np.array(True), (self.rows,))
        evaluated = np.zeros(self.rows, bool)
        for name in names:
            evaluated |= self.column("reading", name).known(self.rows)
        return evaluated

    def _load(self, kind: str, name: str) -> Column:
        if kind == "reading":
            return self.loader(name) if name in self.readings else Column()
        if name == "subject":
            return Column(code=self.texts.encode(subject for _, subject in self.names)[self.who])
        if name in self.fields or name in self.attributes:
            return self.loader(name)
        if name in ("source", "kind"):
            text = self.source if name == "source" else "event"
            return Column(code=np.full(self.rows, self.texts.code(text), np.int32))
        return self.column("reading", name) if name not in FIELDS else Column()

    def take(self, rows: Ints) -> EventTable:
        codes, who = np.unique(self.who[rows], return_inverse=True)
        columns = {name: self.column(kind, name).at(rows) for name, kind in self._kinds().items()}
        return PlainColumns(
            self.times[rows],
            who,
            [self.names[code][1] for code in codes.tolist()],
            columns.__getitem__,
            seq=rows if self.seq is None else self.seq[rows],
            ids=[self.id_of(row) for row in rows.tolist()].__getitem__,
            **self._same,
        )

    def followed_by(self, later: EventTable) -> EventTable:
        assert isinstance(later, PlainColumns)
        recode, size = self.texts.encode(later.texts.texts), self.rows
        subjects = {subject: number for number, (_, subject) in enumerate(self.names)}
        who = np.array([subjects.setdefault(name, len(subjects)) for _, name in later.names], np.int64)
        seqs = [np.arange(table.rows) if table.seq is None else table.seq for table in (self, later)]
        columns = {
            name: _joined(self.column(kind, name), later.column(kind, name), size, later.rows, recode)
            for name, kind in self._kinds().items()
        }
        return PlainColumns(
            np.concatenate((self.times, later.times)),
            np.concatenate((self.who, who[later.who])),
            list(subjects),
            columns.__getitem__,
            seq=np.concatenate(seqs),
            ids=lambda row: self.id_of(row) if row < size else later.id_of(row - size),
            **self._same,
        )

    def _kinds(self) -> dict[str, str]:
        attributes = dict.fromkeys((*self.fields, *self.attributes), "attribute")
        return dict.fromkeys(self.readings, "reading") | attributes


def _joined(first: Column, second: Column, rows: int, more: int, recode: Codes) -> Column:
    """One column of two, the codes of the second replaced by those of the first."""
    num: Any = None
    code: Any = None
    if first.num is not None or second.num is not None:
        num = np.concatenate([_filled(first.num, rows, np.nan), _filled(second.num, more, np.nan)])
    if first.code is not None or second.code is not None:
        later = _filled(second.code, more, -1)
        later = np.where(later < 0, -1, recode[later] if len(recode) else -1)
        code = np.concatenate([_filled(first.code, rows, -1), later]).astype(np.int32)
    return Column(num, code, rounded=first.rounded and second.rounded)


def _filled(values: Any, rows: int, absent: float) -> Any:
    return np.full(rows, absent, np.int32 if absent == -1 else np.float64) if values is None else values


# Arrow and Parquet.


def in_order(times: Ints, who: Ints, seq: Ints) -> Ints | None:
    """An order by subject, time and sequence, or None where the rows of each subject are so already."""
    same = who[1:] == who[:-1]
    later = (times[1:] > times[:-1]) | ((times[1:] == times[:-1]) & (seq[1:] >= seq[:-1]))
    together = not len(who) or int(np.count_nonzero(~same)) + 1 == len(np.unique(who))
    return None if together and bool((later | ~same).all()) else np.lexsort((seq, times, who))
