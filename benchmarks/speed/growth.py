"""`speed growth`: how the cost of looking grows with readings and with the length of histories."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from benchmarks.speed.data import TRAITS, Evaluations, evaluations, six_programs
from benchmarks.speed.shapes import ours, ratio_record
from ethogram.engine.detect import find
from ethogram.language.program import Program
from ethogram.models import EPOCH, Event

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Readings; an evaluation has seven."""
LENGTHS = (10, 100, 1_000, 10_000, 100_000)
"""Events of one history."""
FIXED = 100_000
"""Events in all where the length of histories changes."""
IN_A_PART = 50_000
"""Events made at a time for the live engine, so that a million of them need not be in memory."""
EVEN = (2.0, 1.3)
"""An event may cost at most so many times as much as in the first case that counts: bar and goal."""
MANY, LONG = 100_000, 100
"""Readings and lengths from which on an event's cost counts: before, what a run or a history costs does."""


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of one engine over so many events in histories of one length."""

    engine: str
    events: int
    length: int
    cpu: float
    found: int

    @property
    def each(self) -> float:
        """Microseconds an event."""
        return self.cpu / self.events * 1e6


def growth(most: int = SIZES[-1]) -> Iterator[dict[str, Any]]:
    """Records of every cost as it is measured, then how evenly each engine grows; up to so many readings."""
    programs = six_programs()
    by_size: list[Cost] = []
    for readings in [size for size in SIZES if size <= most] or [most]:
        data = evaluations(readings // len(TRAITS))
        for cost in _both(programs, data, length=100):
            by_size.append(cost)
            yield _record("readings", cost)
    by_length: list[Cost] = []
    for length in LENGTHS:
        data = evaluations(min(FIXED, most), per_subject=length)
        for cost in _both(programs, data, length=length):
            by_length.append(cost)
            yield _record("length", cost)
    enough = [item for item in by_size if item.events * len(TRAITS) >= MANY - len(TRAITS)]
    longer = [item for item in by_length if item.length >= LONG]
    for what, costs in ((f"{MANY:,} readings", enough), (f"histories of {LONG}", longer)):
        for engine in ("columns", "live"):
            each = [cost.each for cost in costs if cost.engine == engine]
            if len(each) > 1:
                yield _even(f"{engine}: an event at most, beside one of {what}", max(each) / each[0])


def _both(programs: Sequence[Program], data: Evaluations, *, length: int) -> Iterator[Cost]:
    cpu, found = _timed(lambda: len(ours(data)()))
    yield Cost("columns", data.rows, length, cpu, found)
    total, hits = 0.0, 0
    for events in _parts(data):
        cpu, found = _timed(lambda: len(_live(programs, events)))  # noqa: B023 (called at once)
        total, hits = total + cpu, hits + found
    yield Cost("live", data.rows, length, total, hits)


def _live(programs: Sequence[Program], events: list[Event]) -> list[Any]:
    return find(programs, events, as_of=events[-1].at, engine="live").detections


def _parts(data: Evaluations) -> Iterator[list[Event]]:
    """The evaluations as events, whole subjects at a time."""
    start = 0
    while start < data.rows:
        end = min(start + IN_A_PART, data.rows)
        while end < data.rows and data.subject[end] == data.subject[end - 1]:
            end += 1
        yield [_event(data, row) for row in range(start, end)]
        start = end


def _event(data: Evaluations, row: int) -> Event:
    readings = {name: float(column[row]) for name, column in data.traits.items()}
    at = EPOCH + timedelta(microseconds=int(data.at[row]))
    who, observed = f"s{data.subject[row]}", {"observed": float(data.observed[row])}
    return Event(id=f"e{row}", at=at, subject=who, seq=row, readings=readings, attributes=observed)


def _timed(run: Callable[[], int]) -> tuple[float, int]:
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def _record(what: str, cost: Cost) -> dict[str, Any]:
    return {
        "record": "cost",
        "grows": what,
        "engine": cost.engine,
        "readings": cost.events * len(TRAITS),
        "events": cost.events,
        "history_length": cost.length,
        "cpu_seconds": cost.cpu,
        "microseconds_per_event": round(cost.each, 3),
        "found": cost.found,
    }


def _even(what: str, ratio: float) -> dict[str, Any]:
    bar, goal = EVEN
    return ratio_record(what, ratio, bar, goal, ratio <= bar, ratio <= goal)
