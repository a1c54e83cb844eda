"""Histories: the events of one key in order, and which history an event belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..language.history import CAP, attribute, belongs, key_of
from ..language.program import Program
from ..models.event import Event, Value
from ..models.timestamps import micros

__all__ = ["CAP", "NO_CHAIN", "Chain", "History", "Seen", "attribute", "belongs", "histories", "key_of"]


class Seen:
    """An event matched by a step. `values` holds what `step.x` reads there, by expression."""

    __slots__ = ("event", "position", "us", "values")

    def __init__(self, position: int, event: Event, us: int, values: Mapping[Any, Any]) -> None:
        self.position, self.event, self.us, self.values = position, event, us, values


Chain = Mapping[str, Sequence[Seen]]
"""The events matched by each step so far, oldest first."""
NO_CHAIN: Chain = {}


class History:
    """The events of one key. Positions count from the first event ever; `events` starts at position `base`.
    `n` is how many events there were, `us` the time of the newest, `first_us` that of the first.

    `whole` is the subject's own history where this is a part of it (for `over=subject`), and `whole_at` the
    position there of each event. `chain` and `results` are what expressions read through `step.x` and through
    names of the shape's own results. `columns` and `memo` belong to `live/rolling.py`, `plans` to
    `live/engine.py`.
    """

    __slots__ = (
        "base", "cap", "chain", "columns", "events", "first_us", "key", "known", "memo", "n", "plans",
        "results", "source", "states", "tested", "timed", "times", "us", "waits", "whole", "whole_at",
    )  # fmt: skip

    def __init__(
        self, key: tuple[Value, ...], source: str, timed: bool, cap: int = CAP, whole: History | None = None
    ) -> None:
        self.key, self.source, self.timed, self.cap, self.whole = key, source, timed, cap, whole
        self.n = self.base = self.us = 0
        self.events: list[Event] = []
        self.times: list[int] = []
        self.whole_at: list[int] = []
        self.first_us = 0
        self.chain: Chain = NO_CHAIN
        self.results: Mapping[str, Any] = {}
        self.columns: dict[Any, Any] = {}
        self.memo: dict[Any, tuple[int, Any]] = {}
        # What programs remember of it (`live/engine.py`): a state for each, None while nothing is under way,
        # and bits for those whose condition was tested, or had a known value, at some event.
        self.states: list[Any] = []
        self.known = self.tested = 0
        self.plans: Any = None
        self.waits: list[int | None] = []

    def add(self, event: Event, us: int) -> None:
        """Append the next event in order."""
        if not self.n:
            self.first_us = us
        self.n += 1
        self.us = us
        self.events.append(event)
        self.times.append(us)
        if self.whole is not None:
            self.whole_at.append(self.whole.n - 1)

    def extend(self, events: Sequence[Event], times: Sequence[int]) -> None:
        """Append the next events; there was one before, and the subject's whole history has them already."""
        if self.whole is not None:
            self.whole_at += range(self.whole.n - len(events), self.whole.n)
        self.n += len(events)
        self.us = times[-1]
        self.events += events
        self.times += times

    def trim(self, keep: int) -> None:
        """Forget all but the newest `keep` events; columns that look further back read them first."""
        for column in self.columns.values():
            column.catch_up(self)
        cut = len(self.events) - keep
        if cut > 0:
            self.base += cut
            del self.events[:cut], self.times[:cut], self.whole_at[:cut]
        for column in self.columns.values():
            column.trim(self.base)


def histories(program: Program, events: Iterable[Event], cap: int = CAP) -> list[History]:
    """The program's histories, in order of their first event. Events must be in order."""
    record: dict[tuple[Any, ...], History] = {}
    subjects: dict[tuple[str, str], History] = {}
    narrow = program.group_by != ("subject",)
    for event in events:
        if not belongs(program, event):
            continue
        us, whole = micros(event.at), None
        if narrow:
            subject = (event.source, event.subject)
            if subject not in subjects:
                subjects[subject] = History((event.subject,), event.source, event.timed, cap)
            whole = subjects[subject]
            whole.add(event, us)
        key = key_of(program, event)
        if key is None:
            continue
        full = (event.source, *key)
        if full not in record:
            record[full] = History(key, event.source, event.timed, cap, whole)
        record[full].add(event, us)
    return list(record.values())
