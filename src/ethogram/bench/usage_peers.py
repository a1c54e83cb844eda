"""What the tracker is measured against: a list of events for each person, and the sqlite3 module alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from ..modes.validate_usage_fixed import fixed_limits

TABLE = """CREATE TABLE events (
  subject TEXT NOT NULL, at INTEGER NOT NULL, length INTEGER, flags INTEGER NOT NULL) STRICT"""
INDEX = "CREATE INDEX by_subject ON events (subject, at)"
INSERT = "INSERT INTO events VALUES (?, ?, ?, 0)"


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
        for one in events:
            self._opened.execute(INSERT, one)

    def add_all(self, events: Iterable[tuple[str, int, int]]) -> None:
        """All in one commit."""
        self._opened.execute("BEGIN IMMEDIATE")
        self._opened.executemany(INSERT, events)
        self._opened.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._opened.close()
