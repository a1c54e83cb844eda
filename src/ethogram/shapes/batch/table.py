"""Columns of a table whose columns are loaded when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, cast

import numpy as np

from ...records import TRAITS, Event, Value, default_id, is_indicator_name, moment
from ..history import FIELDS
from .columns import Columns, Ints, Mask, Texts, Values

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
        said: dict[str, Any] = {"subject": self.names[self.subject[row]], "at": int(self.times[row])}
        said["readings"] = {name: self.cell("reading", name, row) for name in self.readings}
        return default_id(self.source, seq, said)


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
        found: Value | None = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names() if self.columns.cell(self.kind, name, self.row) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)
