"""`speed usage`: events into a tracker, alone and by many at once, questions, sweeps and memory.

What the tracker is measured against: a list of events for each person, and the sqlite3 module alone.
"""

from __future__ import annotations

import gc
import multiprocessing
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from benchmarks.quality.usage_baseline import fixed_limits
from benchmarks.speed.shapes import ratio_record
from benchmarks.speed.store import Timing, timed
from ethogram.usage import Summary
from ethogram.usage import record as recorded
from ethogram.usage.clock import DAY
from ethogram.usage.pseudonym import Keys, new_keys
from ethogram.usage.tables import NO_ROW
from ethogram.usage.tracker import UsageTracker

BEGIN = 1_767_225_600
AT_ONCE = 4
"""Threads, or processes, that record at once."""
ZONE = "Europe/Berlin"
Event = tuple[str, int, int]
Step = tuple[str, int, Callable[[], object]]
BARS = {
    "thousand events/s in memory": ("memory", 20.0, 50.0),
    "thousand events/s in memory, four threads": ("memory, 4 threads", 20.0, 50.0),
    "thousand events/s into a file, held 1 s": ("file, held 1 s", 10.0, 20.0),
}
"""At least so many: what must hold, and what is wanted."""
BYTES = (1000.0, 400.0)
"""Megabytes for 100,000 people at most."""
PEOPLE_AT_BAR = 100_000
TABLE = """CREATE TABLE events (
  subject TEXT NOT NULL, at INTEGER NOT NULL, length INTEGER, flags INTEGER NOT NULL) STRICT"""
INDEX = "CREATE INDEX by_subject ON events (subject, at)"
INSERT = "INSERT INTO events VALUES (?, ?, ?, 0)"


def measure(events: int = 100_000, people: int = 100_000) -> Iterator[dict[str, Any]]:
    """Records of every timing as it is taken, then what must hold."""
    timings: dict[str, Timing] = {}
    made = drawn(events, max(1, events // 50))
    with TemporaryDirectory(prefix="ethogram-bench-") as folder:
        for name, count, run in _steps(Path(folder), made):
            timings[name] = timed(name, count, run)
            yield timings[name].record()
    for what, (name, bar, goal) in BARS.items():
        found = timings[name].events / max(timings[name].wall, 1e-9) / 1000
        yield ratio_record(what, found, bar, goal, found >= bar, found >= goal)
    yield from _crowd(people)


def drawn(count: int, people: int) -> list[Event]:
    """Events of people who take turns at random, a few seconds apart."""
    rng = random.Random(1)
    return [(f"person {rng.randrange(people)}", BEGIN + 7 * k, rng.randrange(400)) for k in range(count)]


def _steps(folder: Path, events: list[Event]) -> Iterator[Step]:
    keys, few = new_keys(), events[: max(1, len(events) // 20)]

    def now() -> float:
        return float(events[-1][1])

    memory, fixed = UsageTracker(key=keys, clock=now), FixedLimits()
    yield "memory", len(events), lambda: _record(memory, events)
    threads = UsageTracker(key=keys, clock=now)
    yield f"memory, {AT_ONCE} threads", len(events), lambda: _by_threads(threads, events)
    yield "peer: lists", len(events), lambda: _keep(fixed, events)
    asked = [(item[0], events[-1][1]) for item in few]
    yield "questions", len(asked), lambda: [memory.signals(*item) for item in asked]
    yield "peer: questions", len(asked), lambda: [fixed.signals(*item) for item in asked]
    yield "file", len(few), lambda: _into(folder / "each.db", keys, few, 0.0)
    yield "file, aggregates", len(few), lambda: _into(folder / "less.db", keys, few, 0.0, "aggregates")
    yield "file, held 1 s", len(events), lambda: _into(folder / "held.db", keys, events, 1.0)
    yield f"file, {AT_ONCE} processes", len(few), lambda: _by_processes(folder / "many.db", keys, few, 0.0)
    held = f"file, {AT_ONCE} processes, held 1 s"
    yield held, len(events), lambda: _by_processes(folder / "many-held.db", keys, events, 1.0)
    table = PlainTable(folder / "plain.db")
    yield "peer: sqlite3, each", len(few), lambda: table.add_each(few)
    yield "peer: sqlite3, at once", len(events), lambda: table.add_all(events)
    table.close()


def _record(tracker: UsageTracker, events: list[Event]) -> None:
    for subject, at, length in events:
        tracker.record(subject, at, length, time_zone=ZONE)


def _keep(peer: FixedLimits, events: list[Event]) -> None:
    for event in events:
        peer.record(*event)


def _into(path: Path, keys: Keys, events: list[Event], hold: float, keep: str = "events") -> None:
    with UsageTracker(path, key=keys, hold=hold, keep=keep) as tracker:
        _record(tracker, events)


def _by_threads(tracker: UsageTracker, events: list[Event]) -> None:
    parts = [events[start::AT_ONCE] for start in range(AT_ONCE)]
    threads = [Thread(target=_record, args=(tracker, part)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _by_processes(path: Path, keys: Keys, events: list[Event], hold: float) -> None:
    UsageTracker(path, key=keys).close()
    made = multiprocessing.get_context("fork")
    parts = [events[start::AT_ONCE] for start in range(AT_ONCE)]
    ran = [made.Process(target=_into, args=(path, keys, part, hold)) for part in parts]
    for item in ran:
        item.start()
    for item in ran:
        item.join()
    if any(item.exitcode for item in ran):
        raise RuntimeError("a process that was to record has failed")


# --- many people ----------------------------------------------------------------------------------


def _crowd(people: int) -> Iterator[dict[str, Any]]:
    """Memory of so many people at the bound of what is kept of each, and a sweep over them."""
    full = _full()
    gc.collect()
    before = _resident()
    tracker = UsageTracker(clock=lambda: float(full.newest))
    store = tracker._store
    with store.transaction() as raw:
        for i in range(people):
            state = full._replace(first=full.first + i % DAY)
            store._put(raw, i.to_bytes(16, "big"), NO_ROW, state)
    used = (_resident() - before) / 1e6
    swept = timed("sweep", people, lambda: sum(1 for _ in tracker.sweep(full.newest + 3 * DAY)))
    yield swept.record()
    each = used * PEOPLE_AT_BAR / people
    bar, goal = BYTES
    yield ratio_record("MB for 100,000 people", each, bar, goal, each <= bar, each <= goal)


def _full() -> Summary:
    """A person of whom as much is kept as ever can be."""
    state = Summary()
    for day in range(70):
        for hour in (9.0, 12.3, 20.0):
            for k in range(3):
                at = BEGIN + day * DAY + int(hour * 3600) + k * 90
                state = recorded(state, at, length=100, zone=ZONE)
    return state


def _resident() -> int:
    """Bytes that this process has in memory; 0 where the system does not say."""
    import os

    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class FixedLimits:
    """A tracker with fixed limits that keeps every event: it takes them in order only, and checks nothing."""

    def __init__(self) -> None:
        self._events: dict[str, list[int]] = {}

    def record(self, subject: str, at: int, length: int) -> None:
        """Keep one event."""
        self._events.setdefault(subject, []).append(at)

    def signals(self, subject: str, as_of: int) -> frozenset[str]:
        """What is on for a person."""
        return fixed_limits(self._events.get(subject, ()), None, as_of)


class PlainTable:
    """A table of events that is only ever added to: no summary, no hashes, no retention."""

    def __init__(self, path: Path) -> None:
        self._opened = sqlite3.connect(path, isolation_level=None)
        self._opened.execute("PRAGMA journal_mode = WAL")
        self._opened.execute("PRAGMA synchronous = NORMAL")
        self._opened.execute(TABLE)
        self._opened.execute(INDEX)

    def add_each(self, events: Iterable[tuple[str, int, int]]) -> None:
        """Each in a commit of its own."""
        for event in events:
            self._opened.execute(INSERT, event)

    def add_all(self, events: Iterable[tuple[str, int, int]]) -> None:
        """All in one commit."""
        self._opened.execute("BEGIN IMMEDIATE")
        self._opened.executemany(INSERT, events)
        self._opened.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._opened.close()
