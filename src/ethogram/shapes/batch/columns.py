"""Columns: the events of a whole input, one array per field or reading that a program names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...records import Event, is_evaluated, micros
from ..history import FIELDS, attribute
from ..tree import Attribute, Expr, Indicator, Signal
from ..walk import walk

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
        found = self.codes.get(text)
        if found is None:
            with self._lock:
                found = self.codes.setdefault(text, len(self.texts))
                if found == len(self.texts):
                    self.texts.append(text)
        return found

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
            (isinstance(one, (Signal, Indicator)) and self.reading(one.name).odd)
            or (isinstance(one, Attribute) and self.attribute(one.name).odd)
            for one in walk(expr)
        )

    def _get(self, kind: str, name: str) -> Values:
        found = self._kept.get((kind, name))
        if found is None:
            with self._lock:
                found = self._kept.get((kind, name)) or self._column(kind, name)
                self._kept[kind, name] = found
        return found


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


def values_of(found: list[Any], texts: Texts) -> Values:
    """A column of Python values; None is absent.

    >>> values_of([0.5, None, "a"], Texts()).code.tolist()
    [-1, -1, 0]
    """
    kinds = set(map(type, found)) - {type(None)}
    strings = any(issubclass(kind, str) for kind in kinds)
    numbers = any(issubclass(kind, (int, float)) for kind in kinds)
    odd = any(issubclass(kind, bool) or not issubclass(kind, (str, int, float)) for kind in kinds)
    code = texts.encode(found) if strings else None
    there = np.fromiter((x is not None for x in found), bool, len(found))
    if odd:
        return Values(None, code, True, there)
    if not numbers:
        return Values(None, code)
    if any(isinstance(x, int) and abs(x) >= LARGEST_WHOLE for x in found if kinds - {float}):
        return Values(None, code, True, there)
    num = np.array([x if isinstance(x, (int, float)) else None for x in found] if kinds - {float} else found)
    num = num.astype(np.float64)
    known = there if code is None else there & (code < 0)
    if not np.isfinite(num[known]).all():
        return Values(None, code, True, there)
    return Values(num, code, full=code is None and bool(there.all()))
