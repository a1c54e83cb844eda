"""Rows: the newest events of one history, as columns of what the measures ask of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ...records import Event, Value


class Mark(NamedTuple):
    """What is kept of an event that may become evidence: no text, no attributes."""

    id: str
    at: datetime
    us: int
    seq: int
    readings: Mapping[str, Value]
    scorers: Mapping[str, str]
    widths: Mapping[str, int]

    @property
    def order(self) -> tuple[int, int, str]:
        """What events of a history are sorted by."""
        return (self.us, self.seq, self.id)


class Kept(NamedTuple):
    """An event kept by `keep=n`, however far back."""

    position: int
    us: int
    value: Any
    mark: Mark


def _nothing(name: str) -> None:
    return None


class Rows:
    """The newest events of one history, and what is read at the one it stands at.

    `n` counts all events so far; lists hold the newest of them, the current one last. `whole` is the
    subject's own history, of which this is a part.
    """

    __slots__ = (
        "age", "columns", "deadline_text", "distances", "evaluated", "event", "first", "gap", "get", "kept",
        "marks", "memo", "n", "running", "timed", "times", "us", "whole",
    )  # fmt: skip

    def __init__(self, timed: bool, columns: int, kept: int, whole: Rows | None = None) -> None:
        self.timed = timed
        self.n = 0
        self.us = self.first = 0
        self.times: list[int] = []
        self.marks: list[Mark] = []
        self.columns: list[list[Any]] = [[] for _ in range(columns)]
        self.kept: list[list[Kept]] = [[] for _ in range(kept)]
        self.memo: list[Any] = []
        self.whole = whole
        self.gap: float | None = None
        self.age: float | None = None
        self.evaluated = False
        self.event: Any = None
        self.get: Callable[[str], Any] = _nothing
        self.deadline_text: str | None = None
        self.distances: dict[int, Any] = {}
        """What measures remember to save work; made anew where it is lacking, so it is not saved."""
        self.running: list[Any] = [-1]
        """What running.py adds up; likewise. The first is -1 where it is to be made anew."""


class Layout(NamedTuple):
    """How rows of a program are filled.

    `enter` (rows, event, mark, evaluated) moves a history on to its next event; `need` rows are kept, and
    no more than `most` (n + skip) of each list of kept values.
    """

    enter: Callable[[Rows, Event, Mark, bool], None]
    columns: int
    keeps: tuple[int, ...]
    need: int
    with_marks: bool
    wanted: tuple[tuple[str, Any, Any], ...] = ()
    """The columns: kind, expression, and where it counts."""
    kept: tuple[tuple[str, Any, Any, int], ...] = ()
    elapsed: bool = False
    """Whether gap or age are asked for."""


def trim(rows: Rows, need: int) -> None:
    """Forget all rows but the newest."""
    lists: list[list[Any]] = [rows.times, rows.marks, *rows.columns]
    for one in lists:
        del one[: max(0, len(one) - need)]


def keep(rows: Rows, slot: int, value: Any, most: int, mark: Mark) -> None:
    """Remember a value that `keep=n` may count, and no more than `most` (n + skip) of them."""
    kept = rows.kept[slot]
    kept.append(Kept(rows.n - 1, rows.us, value, mark))
    if len(kept) > most + 32:
        del kept[:-most]
