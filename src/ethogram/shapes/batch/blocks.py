"""Blocks: whole subjects, a cache's worth of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from .arrange import Membership
from .arranged import Arranged
from .columns import Columns, Ints, Mask, Rows, Values

ROWS = 131_072
"""Rows in a block, or those of one subject where it has more."""


def by_subject(columns: Columns) -> Ints | None:
    """An order of rows in which those of one subject stand together, or None where they already do."""
    subject = columns.subject
    if bool((subject[1:] >= subject[:-1]).all()):
        return None
    first = np.flatnonzero(np.concatenate(([True], subject[1:] != subject[:-1])))
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
    turn = np.flatnonzero(timed[1:] != timed[:-1]) + 1
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
        """The histories of programs with this membership."""
        if member not in self._arranged:
            self._arranged[member] = Arranged(self, member)
        return self._arranged[member]
