"""Blocks: rows of whole subjects, arranged by history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...language.history import FIELDS, History, key_of
from ...language.program import Program
from ...models import Event, Value
from .numbers import CACHED
from .table import Columns, Floats, Ints, Mask, Rows, Values, changes

# Which rows of a block are in which history, one history after another.

Membership = tuple[tuple[str, ...], tuple[str, ...], bool]
"""History fields, signals, and whether evaluated events belong: programs that share it share histories."""

WHOLE = ("subject",)


def membership(program: Program) -> Membership:
    """What decides which events are in which history of a program."""
    return program.group_by, program.signals, program.evaluated


def arrange(block: Block, member: Membership) -> tuple[Ints | None, Ints | None]:
    """Which rows are in a history, in order of histories, and the number of the history of each.

    Both None: all are, each subject's in one.
    """
    fields = member[0]
    inside = belong(block, member)
    if fields == WHOLE:
        if inside is None:
            return None, None
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


def belong(block: Block, member: Membership) -> Mask | None:
    """Where an event belongs; None where all do."""
    _, signals, evaluated = member
    if (not signals and not evaluated) or block.some_full(signals):
        return None
    inside = block.evaluated.copy() if evaluated else np.zeros(block.size, bool)
    for name in signals:
        inside |= block.reading(name).present(block.size)
        if inside.all():
            return None
    return inside


def key_codes(block: Block, name: str) -> Ints:
    """A number for each different value of a history field, -1 where it is lacking."""
    ints = group_codes(block.attribute(name), block.size)
    if name in FIELDS:
        return ints
    read = block.reading(name)
    size = block.size
    both = Values(
        _first(read.num, block.attribute(name).num, read.present(size)),
        _first(read.code, block.attribute(name).code, read.present(size)),
    )
    return group_codes(both, size)


def _first(value: Any, other: Any, present: Mask) -> Any:
    """The values of one where a row has any, else those of the other."""
    if value is None and other is None:
        return None
    like = value if value is not None else other
    empty = np.full(len(present), np.nan if like.dtype == np.float64 else -1, like.dtype)
    return np.where(present, empty if value is None else value, empty if other is None else other)


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


# Histories of a block, one after another, as columns and as the plain runner has them.

LOOKED_UP = 16
"""A column of all histories is made for no less than one in so many positions."""


class Arranged:
    """Histories of a block, one after another. Positions count through all of them.

    `index` gives the row of the block at each position, None where they are the same.
    """

    def __init__(self, block: Block, member: Membership) -> None:
        self.block, self.member = block, member
        self.timed = block.timed
        self.index, group = arrange(block, member)
        self.size = block.size if self.index is None else len(self.index)
        self.starts: Ints = block.starts if group is None else _first_of(group)
        self.times: Ints = block.times if self.index is None else block.times[self.index]
        self.memo: dict[Any, Any] = {}
        self._histories: dict[int, History] = {}

    def forget(self) -> None:
        """Let go of what can be worked out again."""
        self.memo.clear()
        for name in ("which", "start", "evaluated"):
            self.__dict__.pop(name, None)

    @cached_property
    def lengths(self) -> Ints:
        """How many events each history has."""
        return np.diff(self.starts, append=self.size)

    @cached_property
    def ends(self) -> Ints:
        return np.append(self.starts[1:], self.size)

    @cached_property
    def which(self) -> Ints:
        """The number of the history at each position."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    @cached_property
    def start(self) -> Ints:
        """The first position of the history at each position."""
        return np.repeat(self.starts, self.lengths)

    def number_of(self, positions: Ints) -> Ints:
        """The number of the history at some positions; few are looked up, so that none are made for all."""
        if "which" in self.__dict__ or LOOKED_UP * len(positions) > self.size:
            return self.which[positions]
        return np.searchsorted(self.starts, positions, "right") - 1

    def start_of(self, positions: Ints) -> Ints:
        """The first position of the history at some positions."""
        if "start" in self.__dict__ or LOOKED_UP * len(positions) > self.size:
            return self.start[positions]
        return self.starts[self.number_of(positions)]

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
        values: Values = self.block.column(kind, name)
        return values if self.index is None else values.at(self.index)

    def is_full(self, name: str) -> bool:
        """Whether every position has a number as its reading."""
        if self.block.is_full(name):
            return True
        token = ("full", name)
        if token not in self.memo:
            num = None if self.index is None else self.column("reading", name).num
            self.memo[token] = num is not None and not bool(np.isnan(num).any())
        found: bool = self.memo[token]
        return found

    @cached_property
    def evaluated(self) -> Mask:
        return self.block.evaluated if self.index is None else self.block.evaluated[self.index]

    def row(self, position: int) -> int:
        """The row in the columns at a position."""
        return self.block.number(position if self.index is None else int(self.index[position]))

    def key(self, number: int) -> tuple[str, tuple[Value, ...], int]:
        """Source, key and first row of a history."""
        row = self.row(int(self.starts[number]))
        if self.member[0] == WHOLE:
            source, subject = self.block.columns.who(row)
            return source, (subject,), row
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
            cast(list[int], Plain(self.times[start:end], int)),
            cast(list[bool], Plain(self.evaluated[start:end], bool)),
        )
        if self.member[0] != WHOLE:
            positions = self.in_whole(np.arange(start, end))
            owner = int(self.whole.number_of(positions[:1])[0])
            history.whole = self.whole.history(owner)
            history.index_in_whole = (positions - self.whole.starts[owner]).tolist()
        return history


def _first_of(group: Ints) -> Ints:
    """Where a number differs from the one before it."""
    return np.append(0, np.flatnonzero(group[1:] != group[:-1]) + 1)[: len(group)]


class _Key:
    """Just enough of a program to ask for a key."""

    def __init__(self, group_by: tuple[str, ...]) -> None:
        self.group_by = group_by


class Plain:
    """A column of a history as a list would give it: few of its values are ever read."""

    __slots__ = ("kind", "values")

    def __init__(self, values: NDArray[Any], kind: type) -> None:
        self.values, self.kind = values, kind

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: int | slice) -> Any:
        return self.values[at].tolist() if isinstance(at, slice) else self.kind(self.values[at])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())


class Lazy:
    """The events of a history, looked up when asked for."""

    __slots__ = ("columns", "kept", "rows")

    def __init__(self, columns: Columns, rows: Ints) -> None:
        self.columns, self.rows = columns, rows
        self.kept: dict[int, Event] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> Event:
        found = self.kept.get(at)
        if found is None:
            found = self.kept[at] = self.columns.event(int(self.rows[at]))
        return found

    def __iter__(self) -> Iterator[Event]:
        return (self[at] for at in range(len(self)))


# Blocks: whole subjects, so many rows at a time that what is worked out for each costs little.

ROWS = 524_288
"""Rows in a block, or those of one subject where it has more; heavy work takes a cache's worth at a time."""

FIRST = 16_384
"""Rows in the first block, which shows which conditions are rare: the others are asked in that order."""


def by_subject(columns: Columns) -> Ints | None:
    """An order of rows in which those of one subject stand together, or None where they already do."""
    subject = columns.subject
    first = subject[np.append(0, columns.turns)] if len(subject) else subject
    if bool((first[1:] > first[:-1]).all()) or len(np.unique(first)) == len(first):
        return None
    return np.argsort(subject, kind="stable")


def blocks(columns: Columns, order: Ints | None, rows: int = 0) -> Iterator[Block]:
    """All rows in blocks of whole subjects; within a block all are timed, or none."""
    rows = rows or ROWS
    if not columns.rows:
        return
    turn = changes(columns.timed if order is None else columns.timed[order])
    first = columns.turns if order is None else changes(columns.subject[order])
    if len(turn):
        first = np.union1d(first, turn)
    ends, turns = np.append(first, columns.rows), np.append(turn, columns.rows)
    start = 0
    while start < columns.rows:
        size = rows if start else min(rows, FIRST)
        k = min(int(np.searchsorted(ends, start + size, "left")), len(ends) - 1)
        end = min(int(ends[k]), int(turns[np.searchsorted(turns, start, "right")]))
        starts = first[np.searchsorted(first, start, "right") : np.searchsorted(first, end, "left")] - start
        some = slice(start, end) if order is None else order[start:end]
        yield Block(columns, some, np.append(0, starts))
        start = end


class Block:
    """Some subjects' rows. `rows` are their numbers in the columns, `starts` where each subject begins."""

    def __init__(self, columns: Columns, rows: Rows, starts: Ints) -> None:
        self.columns, self.rows, self.starts = columns, rows, starts
        self.times = columns.times[rows]
        self.size = len(self.times)
        self.timed = bool(columns.timed[rows][0])
        self.subject = columns.subject[rows]
        self._arranged: dict[Membership, Arranged] = {}
        self._members: dict[Membership, Membership] = {}
        self._kept: dict[tuple[str, str], Values] = {}
        self._full: dict[str, bool] = {}
        self._facts: dict[str, tuple[float, float, float] | None] = {}

    def reading(self, name: str) -> Values:
        return self.column("reading", name)

    def attribute(self, name: str) -> Values:
        return self.column("attribute", name)

    def column(self, kind: str, name: str) -> Values:
        """Readings or attributes of these rows."""
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

    def forget(self) -> None:
        """Let go of what was worked out; histories already handed out stay good."""
        for item in self._arranged.values():
            item.forget()
        self._arranged.clear()
        self._kept.clear()

    def arranged(self, member: Membership) -> Arranged:
        """The histories of programs with this membership; where all rows belong, they are one arrangement."""
        if member not in self._members:
            self._members[member] = (member[0], (), False) if belong(self, member) is None else member
        member = self._members[member]
        if member not in self._arranged:
            self._arranged[member] = Arranged(self, member)
        return self._arranged[member]

    def is_full(self, name: str) -> bool:
        """Whether every row has a number as its reading."""
        if name not in self._full:
            read = self.reading(name)
            # The least of anything with a NaN in it is NaN.
            self._full[name] = read.full or (read.num is not None and not np.isnan(read.num.min()))
        return self._full[name]

    def some_full(self, names: Iterable[str]) -> bool:
        """Whether one of some readings is a number in every row; those looked at already come first."""
        known = (self.reading(name).full or self._full.get(name) for name in names)
        return any(known) or any(map(self.is_full, names))

    def facts(self, name: str) -> tuple[float, float, float] | None:
        """The lowest and the highest reading and the mean of all, where every row has one."""
        if name not in self._facts:
            num = self.reading(name).num
            self._facts[name] = None if num is None or not self.is_full(name) else _facts(num)
        return self._facts[name]


def _facts(num: Floats) -> tuple[float, float, float]:
    """Lowest, highest and mean; a cache's worth at a time, since each is looked at thrice."""
    low, high, total = np.inf, -np.inf, 0.0
    for k in range(0, len(num), CACHED):
        part = num[k : k + CACHED]
        low, high = min(low, float(part.min())), max(high, float(part.max()))
        total += float(part.sum())
    return low, high, total / max(1, len(num))
