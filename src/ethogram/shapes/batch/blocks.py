"""Blocks: whole subjects, a cache's worth of rows at a time; and their histories, arranged one after another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np

from ...records import Event, Value
from ..history import FIELDS, History, key_of
from ..program import Program
from .columns import Columns, Ints, Mask, Rows, Values

ROWS = 65_536
"""Rows in a block, or those of one subject where it has more."""

Membership = tuple[tuple[str, ...], tuple[str, ...], bool]
"""History fields, signals, and whether evaluated events belong: programs that share it share histories."""

WHOLE = ("subject",)


def membership(program: Program) -> Membership:
    """What decides which events are in which history of a program."""
    return program.history, program.signals, program.evaluated


def by_subject(columns: Columns) -> Ints | None:
    """An order of rows in which those of one subject stand together, or None where they already do."""
    subject = columns.subject
    first = np.flatnonzero(np.concatenate(([True], subject[1:] != subject[:-1]))) if columns.rows else subject
    if len(np.unique(subject[first])) == len(first):
        return None
    return np.argsort(subject, kind="stable")


def blocks(columns: Columns, order: Ints | None, rows: int = 0) -> Iterator[Block]:
    """All rows in blocks of whole subjects; within a block all are timed, or none."""
    rows = rows or ROWS
    if not columns.rows:
        return
    subject = columns.subject if order is None else columns.subject[order]
    timed = columns.timed if order is None else columns.timed[order]
    change = (subject[1:] != subject[:-1]) | (timed[1:] != timed[:-1])
    turn = np.flatnonzero((timed[1:] != timed[:-1])) + 1
    ends = np.append(np.flatnonzero(change) + 1, columns.rows)
    start = 0
    while start < columns.rows:
        k = min(int(np.searchsorted(ends, start + rows, "left")), len(ends) - 1)
        end = int(ends[k])
        later = turn[np.searchsorted(turn, start, "right") :]
        end = min(end, int(later[0])) if len(later) else end
        yield Block(columns, slice(start, end) if order is None else order[start:end])
        start = end


class Block:
    """Some subjects' rows. `rows` are their numbers in the columns."""

    def __init__(self, columns: Columns, rows: Rows) -> None:
        self.columns, self.rows = columns, rows
        self.times = columns.times[rows]
        self.size = len(self.times)
        self.timed = bool(columns.timed[rows][0])
        self.subject = columns.subject[rows]
        self._arranged: dict[Membership, Arranged] = {}
        self._kept: dict[tuple[str, str], Values] = {}

    def reading(self, name: str) -> Values:
        return self._get("reading", name)

    def attribute(self, name: str) -> Values:
        return self._get("attribute", name)

    def _get(self, kind: str, name: str) -> Values:
        if (kind, name) not in self._kept:
            whole = getattr(self.columns, kind)(name)
            self._kept[kind, name] = whole.at(self.rows)
        return self._kept[kind, name]

    @cached_property
    def evaluated(self) -> Mask:
        return self.columns.evaluated()[self.rows]

    def number(self, at: int) -> int:
        """The row in the columns of a row of this block."""
        return at + (self.rows.start or 0) if isinstance(self.rows, slice) else int(self.rows[at])

    def arranged(self, member: Membership) -> Arranged:
        """The histories of programs with this membership."""
        if member not in self._arranged:
            self._arranged[member] = Arranged(self, member)
        return self._arranged[member]


class Arranged:
    """Histories of a block, one after another. Positions count through all of them.

    `index` gives the row of the block at each position, None where they are the same.
    """

    def __init__(self, block: Block, member: Membership) -> None:
        self.block, self.member = block, member
        self.timed = block.timed
        self.index, group = _arrange(block, member)
        self.size = block.size if self.index is None else len(self.index)
        new = np.ones(self.size, bool)
        new[1:] = group[1:] != group[:-1]
        self.new: Mask = new
        self.starts: Ints = np.flatnonzero(new)
        self.times: Ints = block.times if self.index is None else block.times[self.index]
        self.memo: dict[Any, Any] = {}
        self._histories: dict[int, History] = {}

    @cached_property
    def ends(self) -> Ints:
        return np.append(self.starts[1:], self.size)

    @cached_property
    def which(self) -> Ints:
        """The number of the history at each position."""
        return np.cumsum(self.new) - 1

    @cached_property
    def start(self) -> Ints:
        """The first position of the history at each position."""
        return np.repeat(self.starts, np.diff(np.append(self.starts, self.size)))

    @cached_property
    def whole(self) -> Arranged:
        """The subjects' own histories, of which these are parts."""
        return self.block.arranged((WHOLE, *self.member[1:]))

    def in_whole(self, positions: Ints) -> Ints:
        """The positions of the same events in `whole`."""
        if self.whole is self:
            return positions
        rows = positions if self.index is None else self.index[positions]
        # Rows of the block are in the subjects' order, so those of the whole rise.
        return rows if self.whole.index is None else np.searchsorted(self.whole.index, rows)

    def column(self, kind: str, name: str) -> Values:
        """Readings or attributes at all positions."""
        found: Values = self.block._get(kind, name)
        return found if self.index is None else found.at(self.index)

    @cached_property
    def evaluated(self) -> Mask:
        return self.block.evaluated if self.index is None else self.block.evaluated[self.index]

    def row(self, position: int) -> int:
        """The row in the columns at a position."""
        return self.block.number(position if self.index is None else int(self.index[position]))

    def key(self, number: int) -> tuple[str, tuple[Value, ...], int]:
        """Source, key and first row of a history."""
        row = self.row(int(self.starts[number]))
        event = self.block.columns.event(row)
        found = key_of(cast(Program, _Key(self.member[0])), event)
        assert found is not None
        return event.source, found, row

    def _rows(self, start: int, end: int) -> Ints:
        inside = np.arange(start, end) if self.index is None else self.index[start:end]
        rows = self.block.rows
        return inside + (rows.start or 0) if isinstance(rows, slice) else rows[inside]

    def history(self, number: int) -> History:
        """A history as the plain runner has it; its events are made when they are read."""
        if number not in self._histories:
            self._histories[number] = self._make(number)
        return self._histories[number]

    def _make(self, number: int) -> History:
        start, end = int(self.starts[number]), int(self.ends[number])
        source, key, _ = self.key(number)
        history = History(
            key,
            source,
            self.timed,
            cast(list[Event], Lazy(self.block.columns, self._rows(start, end))),
            self.times[start:end].tolist(),
            self.evaluated[start:end].tolist(),
        )
        if self.member[0] != WHOLE:
            positions = self.in_whole(np.arange(start, end))
            owner = int(self.whole.which[positions[0]])
            history.whole = self.whole.history(owner)
            history.index_in_whole = (positions - self.whole.starts[owner]).tolist()
        return history


class _Key:
    """Just enough of a program to ask for a key."""

    def __init__(self, history: tuple[str, ...]) -> None:
        self.history = history


class Lazy:
    """The events of a history, looked up when asked for."""

    __slots__ = ("columns", "rows")

    def __init__(self, columns: Columns, rows: Ints) -> None:
        self.columns, self.rows = columns, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> Event:
        return self.columns.event(int(self.rows[at]))

    def __iter__(self) -> Iterator[Event]:
        return (self.columns.event(row) for row in self.rows.tolist())


def _arrange(block: Block, member: Membership) -> tuple[Ints | None, Ints]:
    """Which rows are in a history, in order of histories, and the number of the history of each."""
    fields, signals, evaluated = member
    inside = _inside(block, signals, evaluated)
    if fields == WHOLE:
        if inside is None:
            return None, block.subject
        index = np.flatnonzero(inside)
        return index, block.subject[index]
    inside = np.ones(block.size, bool) if inside is None else inside
    group = np.unique(block.subject, return_inverse=True)[1].astype(np.int64)
    for name in fields:
        codes = key_codes(block, name)
        inside &= codes >= 0
        group = np.unique(group * (int(codes.max(initial=0)) + 2) + codes, return_inverse=True)[1]
    index = np.flatnonzero(inside)
    index = index[np.argsort(group[index], kind="stable")]
    return index, group[index]


def _inside(block: Block, signals: tuple[str, ...], evaluated: bool) -> Mask | None:
    """Where an event belongs; None where all do."""
    if not signals and not evaluated:
        return None
    inside = block.evaluated.copy() if evaluated else np.zeros(block.size, bool)
    for name in signals:
        inside |= block.reading(name).present(block.size)
        if inside.all():
            return None
    return inside


def key_codes(block: Block, name: str) -> Ints:
    """A number for each different value of a history field, -1 where it is lacking."""
    found = group_codes(block.attribute(name), block.size)
    if name in FIELDS:
        return found
    read = block.reading(name)
    size = block.size
    both = Values(
        _first(read.num, block.attribute(name).num, read.present(size)),
        _first(read.code, block.attribute(name).code, read.present(size)),
    )
    return group_codes(both, size)


def _first(one: Any, other: Any, present: Mask) -> Any:
    """The values of one where a row has any, else those of the other."""
    if one is None and other is None:
        return None
    like = one if one is not None else other
    empty = np.full(len(present), np.nan if like.dtype == np.float64 else -1, like.dtype)
    return np.where(present, empty if one is None else one, empty if other is None else other)


def group_codes(values: Values, size: int) -> Ints:
    """A number for each different value, -1 where absent. Numbers are told apart exactly."""
    out = np.full(size, -1, np.int64)
    if values.code is not None:
        out = values.code.astype(np.int64)
    if values.num is not None:
        known = values.num == values.num
        if known.any():
            base = int(out.max(initial=-1)) + 1
            out[known] = base + np.unique(values.num[known], return_inverse=True)[1]
    return out
