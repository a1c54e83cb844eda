"""Histories of a block, one after another, as columns and as the plain runner has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ...records import Event, Value
from ..history import History, key_of
from ..program import Program
from .arrange import WHOLE, Membership, arrange
from .columns import Columns, Ints, Mask, Values

if TYPE_CHECKING:
    from .blocks import Block

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
        found: Values = self.block.column(kind, name)
        return found if self.index is None else found.at(self.index)

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

    def __init__(self, history: tuple[str, ...]) -> None:
        self.history = history


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
