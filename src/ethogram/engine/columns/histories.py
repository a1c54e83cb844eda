"""Histories: the rows of a block of whole subjects, one history after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...language.program import Program
from ...models import Value
from .table import FITS, Column, EventTable, Ints, Mask, Rows, fixed

Membership = tuple[tuple[str, ...], tuple[str, ...], bool]
"""Fields of the key, signals, and whether evaluated events belong: programs that share it share histories."""

Key = tuple[str, tuple[Value, ...]]
"""Source and key of a history."""

SUBJECT = ("subject",)
NO_TIME = -FITS
"""Before all times there are."""

BLOCK_ROWS = 262_144
"""Rows in a block, or those of one subject where it has more: its columns stay in the cache."""

MODERATE = 1e4
"""One larger number must not make the sums of all blocks too large for an int64."""

FIRST_ROWS = 16_384
"""Rows in the first block, which shows which conditions are rare: the other blocks test those first."""


def membership(program: Program) -> Membership:
    """What decides which events are in which history of a program."""
    return program.group_by, program.signals, program.evaluated


def blocks(table: EventTable, size: int = 0) -> Iterator[Block]:
    """All rows in blocks of whole subjects; within a block all are timed, or none."""
    size = size or BLOCK_ROWS
    if not table.rows:
        return
    changes = _changes(table.who)
    order, timed = by_subject(table.who, changes), table.timed
    if order is not None:
        changes, timed = _changes(table.who[order]), timed[order]
    turns = _changes(timed)
    first = np.union1d(changes, turns) if len(turns) else changes
    ends, turns = np.append(first, table.rows), np.append(turns, table.rows)
    start = 0
    while start < table.rows:
        wanted = start + (size if start else min(size, FIRST_ROWS))
        k = min(int(np.searchsorted(ends, wanted, "left")), len(ends) - 1)
        end = min(int(ends[k]), int(turns[np.searchsorted(turns, start, "right")]))
        starts = first[np.searchsorted(first, start, "right") : np.searchsorted(first, end, "left")] - start
        rows = slice(start, end) if order is None else order[start:end]
        yield Block(table, rows, np.append(0, starts))
        start = end


def by_subject(who: Ints, changes: Ints) -> Ints | None:
    """An order of rows in which those of one subject stand together, or None where they already do.

    `changes` are the rows of another subject than the row before.
    """
    first = who[np.append(0, changes)]
    if bool((first[1:] > first[:-1]).all()) or int(np.bincount(first).max(initial=0)) == 1:
        return None
    # By 16 bits at a time, which is several times as quick as by 64.
    order = np.argsort(who.astype(np.uint16), kind="stable")
    if int(who.max()) >= 2**16:
        order = order[np.argsort((who >> 16)[order].astype(np.uint16), kind="stable")]
    return order if int(who.max()) < 2**32 else np.argsort(who, kind="stable")


def _changes(values: Any) -> Ints:
    """The rows whose value is not that of the row before."""
    if values.strides == (0,):
        return np.empty(0, np.int64)
    return np.flatnonzero(values[1:] != values[:-1]) + 1


class Block:
    """Rows of some subjects. `rows` are their numbers in the table, `starts` where each subject begins."""

    def __init__(self, table: EventTable, rows: Rows, starts: Ints) -> None:
        self.table, self.rows, self.starts = table, rows, starts
        self.times = table.times[rows]
        self.size = len(self.times)
        self.timed = bool(table.timed[rows][0])
        self._histories: dict[Membership, Histories] = {}
        self._columns: dict[tuple[str, str], Column] = {}
        self._grouped: dict[tuple[str, ...], tuple[Ints, Ints]] = {}

    def numbers(self, rows: Ints) -> Ints:
        """The numbers in the table of some rows of the block."""
        return rows + self.rows.start if isinstance(self.rows, slice) else self.rows[rows]

    def column(self, kind: str, name: str) -> Column:
        """Readings or attributes of these rows."""
        if (kind, name) not in self._columns:
            self._columns[kind, name] = self.table.column(kind, name).at(self.rows)
        return self._columns[kind, name]

    @cached_property
    def evaluated(self) -> Mask:
        return self.table.evaluated[self.rows]

    def histories(self, member: Membership) -> Histories:
        """The histories of programs with this membership."""
        if member not in self._histories:
            inside = self._belonging(member)
            everyone = (member[0], (), False)
            if inside is None and member != everyone:
                self._histories[member] = self.histories(everyone)
            else:
                self._histories[member] = Histories(self, member, inside)
        return self._histories[member]

    def _belonging(self, member: Membership) -> Mask | None:
        """Where an event belongs; None where all do."""
        _, signals, evaluated = member
        if not (signals or evaluated) or any(self.table.extent(name)[0] for name in signals):
            return None
        inside = self.evaluated.copy() if evaluated else np.zeros(self.size, bool)
        for name in signals:
            column = self.column("reading", name)
            inside |= column.known(self.size) if column.carried is None else column.carried
        return None if inside.all() else inside

    def grouped(self, fields: tuple[str, ...]) -> tuple[Ints, Ints]:
        """The rows that have all fields of a key, in order of keys, and a number for the key of each."""
        if fields not in self._grouped:
            who = self.table.who[self.rows]
            group = who - who.min()
            lacking = np.zeros(self.size, bool)
            for name in (name for name in fields if name != "subject"):
                codes = group_codes(self.column("attribute", name), self.size)
                lacking |= codes < 0
                width = int(codes.max(initial=0)) + 2
                if int(group.max()) * width >= FITS:
                    group = np.unique(group, return_inverse=True)[1]
                group = group * width + codes
            order = np.flatnonzero(~lacking)
            order = order[np.argsort(group[order], kind="stable")]
            self._grouped[fields] = (order, group[order])
        return self._grouped[fields]

    def forget(self) -> None:
        """Drop what was computed; histories of findings stay usable."""
        for histories in self._histories.values():
            histories.memo.clear()
        self._histories.clear()
        self._columns.clear()
        self._grouped.clear()


class Histories:
    """Histories of a block, one after another. Positions count through all of them.

    `index` gives the row of the block at each position, None where they are the same. `first_times` says when
    the first event of each history was.
    """

    def __init__(self, block: Block, member: Membership, inside: Mask | None) -> None:
        self.block, self.member, self.timed = block, member, block.timed
        self.index, group = self._arrange(inside)
        self.size = block.size if self.index is None else len(self.index)
        self.starts: Ints = block.starts if group is None else np.append(0, _changes(group))[: self.size]
        self.times: Ints = block.times if self.index is None else block.times[self.index]
        self.ends: Ints = np.append(self.starts[1:], self.size)[: len(self.starts)]
        self.lengths: Ints = self.ends - self.starts
        self.longest = int(self.lengths.max(initial=0))
        self.first_times: Ints = self.times[self.starts]
        self.memo: dict[Any, Any] = {}

    def _arrange(self, inside: Mask | None) -> tuple[Ints | None, Ints | None]:
        """Rows in order of histories, and the history of each. Both None: each subject is one."""
        block, fields = self.block, self.member[0]
        if fields == SUBJECT:
            index = None if inside is None else np.flatnonzero(inside)
            return index, None if index is None else block.table.who[block.rows][index]
        order, group = block.grouped(fields)
        if inside is None:
            return order, group
        belongs = inside[order]
        return order[belongs], group[belongs]

    @cached_property
    def positions(self) -> Ints:
        return np.arange(self.size)

    @cached_property
    def which(self) -> Ints:
        """The number of the history at each position."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    @cached_property
    def start(self) -> Ints:
        """The first position of the history at each position."""
        return np.repeat(self.starts, self.lengths)

    @cached_property
    def so_far(self) -> Ints:
        """How many events the history at each position has up to there."""
        out = np.arange(1, self.size + 1)
        out -= self.start
        return out

    def number_of(self, positions: Ints) -> Ints:
        """The number of the history at some positions."""
        if "which" in self.__dict__ or 16 * len(positions) > self.size:
            return self.which[positions]
        return np.searchsorted(self.starts, positions, "right") - 1

    def start_of(self, positions: Ints) -> Ints:
        """The first position of the history at some positions."""
        if "start" in self.__dict__ or 16 * len(positions) > self.size:
            return self.start[positions]
        return self.starts[self.number_of(positions)]

    @cached_property
    def previous(self) -> Ints:
        """The time of the event before each in its history; `NO_TIME` for the first."""
        out = np.append(NO_TIME, self.times[:-1])
        out[self.starts] = NO_TIME
        return out

    @cached_property
    def whole(self) -> Histories:
        """The subjects' own histories, of which these are parts."""
        return self.block.histories((SUBJECT, *self.member[1:]))

    def in_whole(self, positions: Ints) -> Ints:
        """The positions of the same events in `whole`."""
        if self.whole is self:
            return positions
        rows = positions if self.index is None else self.index[positions]
        # Rows of a block are in order of subjects, so those of `whole` rise.
        return rows if self.whole.index is None else np.searchsorted(self.whole.index, rows)

    def column(self, kind: str, name: str) -> Column:
        """Readings or attributes at all positions."""
        column = self.block.column(kind, name)
        return column if self.index is None else column.at(self.index)

    def extent(self, name: str) -> tuple[bool, float]:
        """Whether every position has a number as its reading, and the largest size of one, or more."""
        full, largest = self.block.table.extent(name)
        if full and largest < MODERATE:
            return full, largest
        extent: tuple[bool, float] = self.once(
            ("extent", name), lambda: self.column("reading", name).extent()
        )
        return extent

    @cached_property
    def evaluated(self) -> Mask:
        evaluated = self.block.evaluated
        return evaluated if self.index is None else evaluated[self.index]

    def block_rows(self, positions: Ints) -> Ints:
        """The rows of the block at some positions."""
        return positions if self.index is None else self.index[positions]

    def rows(self, positions: Ints) -> Ints:
        """The rows of the table at some positions."""
        return self.block.numbers(self.block_rows(positions))

    def keys_at(self, rows: Ints) -> Keys:
        """Source and key of the history of each of some rows of the table."""
        table, fields = self.block.table, self.member[0]
        others = None if fields == SUBJECT else [table.values("attribute", name, rows) for name in fields]
        return Keys(table.names, table.who[rows], others)

    def once(self, token: Any, make: Callable[[], Any]) -> Any:
        """Something made once for all programs."""
        memo = self.memo
        if token not in memo:
            memo[token] = make()
        return memo[token]


class Keys(Sequence[Key]):
    """Sources and keys of histories; each is made when it is read."""

    __slots__ = ("_names", "_values", "_who")

    def __init__(
        self, names: Sequence[tuple[str, str]], who: Ints, values: Sequence[list[Value]] | None
    ) -> None:
        self._names, self._who, self._values = names, who, values

    def __len__(self) -> int:
        return len(self._who)

    def __getitem__(self, number: Any) -> Any:
        source, subject = self._names[self._who[number]]
        return source, (subject,) if self._values is None else tuple(own[number] for own in self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def first_known(first: Column, other: Column, size: int) -> Column:
    """The values of one column where it has any, else those of another."""
    known = first.known(size)
    nums = [np.full(size, np.nan) if column.num is None else column.num for column in (first, other)]
    codes = [np.full(size, -1, np.int32) if column.code is None else column.code for column in (first, other)]
    return Column(np.where(known, *nums), np.where(known, *codes), rounded=first.rounded and other.rounded)


def group_codes(column: Column, size: int) -> Ints:
    """A number for each different value, -1 where absent; numbers are compared exactly."""
    out = np.full(size, -1, np.int64) if column.code is None else column.code.astype(np.int64)
    if column.num is not None:
        num = column.num if column.rounded else fixed(column.num)
        known = num == num
        if known.any():
            out[known] = int(out.max(initial=-1)) + 1 + np.unique(num[known], return_inverse=True)[1]
    return out
