"""Columns of a table whose columns are loaded when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from ...records import TRAITS, Event, Value, default_id, is_indicator_name, moment
from ..history import FIELDS
from .columns import Columns, Ints, Mask, Texts, Values

Load = Callable[[str], Values]
_TEXT_FIELDS = ("kind", "target", "thread", "session", "reply_to")


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
            found = np.zeros(self.rows, bool)
            for name in self.readings:
                if (name in TRAITS or is_indicator_name(name)) and not found.all():
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
        """The event of a row; its readings are looked up when they are read."""
        fields: dict[str, Any] = {
            name: self.cell("attribute", name, row) for name in _TEXT_FIELDS if name in self.fields
        }
        at = int(self.times[row])
        seq = row if self.seq is None else int(self.seq[row])
        return Event(
            id=self._id(row, seq),
            at=moment(at),
            subject=self.names[self.subject[row]],
            seq=seq,
            source=self.source,
            timed=self.is_timed,
            attributes=Cells(self, "attribute", row),
            readings=Cells(self, "reading", row),
            **fields,
        )

    def _id(self, row: int, seq: int) -> str:
        found = None if self.ids is None else self.ids(row)
        if found is not None:
            return found
        said: dict[str, Any] = {"subject": self.names[self.subject[row]], "at": int(self.times[row])}
        said["readings"] = {name: self.cell("reading", name, row) for name in self.readings}
        return default_id(self.source, seq, said)


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
