"""Blocks: whole subjects, so many rows at a time that what is worked out for each costs little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from .arrange import Membership, belong
from .arranged import Arranged
from .columns import Columns, Floats, Ints, Mask, Rows, Values, changes
from .numbers import CACHED

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
        for one in self._arranged.values():
            one.forget()
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
