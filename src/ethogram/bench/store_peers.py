"""What the store is measured against: the sqlite3 module and nothing else, and a Parquet file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..records import Event, format_time

TABLE = """CREATE TABLE events (
  id TEXT NOT NULL UNIQUE, at TEXT NOT NULL, subject TEXT NOT NULL, target TEXT, readings TEXT) STRICT"""
INDEX = "CREATE INDEX by_subject ON events (subject, at)"
INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"
AT_ONCE = 5000

Row = tuple[str, str, str, str | None, str]


class Peer:
    """A table of events with the same two ways in (by id, by subject and time), filled in one commit.

    It checks nothing, resumes nothing, and takes no line that is not as it expects: a floor.
    """

    def __init__(self, path: Path) -> None:
        self._opened = sqlite3.connect(path, isolation_level=None)
        self._opened.execute("PRAGMA journal_mode = WAL")
        self._opened.execute("PRAGMA synchronous = NORMAL")
        self._opened.execute(TABLE)
        self._opened.execute(INDEX)

    def load(self, path: Path) -> None:
        """All lines of a file."""
        self._opened.execute("BEGIN IMMEDIATE")
        self._opened.executemany(INSERT, _rows(path))
        self._opened.execute("COMMIT")

    def read_all(self) -> int:
        """How many events there are, after making a dict of each."""
        rows = self._opened.execute("SELECT * FROM events ORDER BY at")
        return sum(1 for row in rows if json.loads(row[4]) is not None)

    def add_each(self, events: Iterable[Event]) -> None:
        """Each in a commit of its own."""
        for one in events:
            row = (one.id, format_time(one.at), one.subject, one.target, json.dumps(dict(one.readings)))
            self._opened.execute("BEGIN IMMEDIATE")
            self._opened.execute(INSERT, row)
            self._opened.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._opened.close()


def _rows(path: Path) -> Iterator[Row]:
    with path.open() as lines:
        for line in lines:
            one = json.loads(line)
            yield one["id"], one["at"], one["subject"], one.get("target"), json.dumps(one["readings"])


def write_parquet(path: Path, to: Path) -> None:
    """The lines of a file as a Parquet file, so many at a time."""
    import pyarrow
    import pyarrow.parquet

    writer: Any = None
    for rows in _in_pieces(path):
        flat = [{**{k: v for k, v in one.items() if k != "readings"}, **one["readings"]} for one in rows]
        table = pyarrow.Table.from_pylist(flat)
        writer = writer or pyarrow.parquet.ParquetWriter(to, table.schema)
        writer.write_table(table)
    writer.close()


def _in_pieces(path: Path) -> Iterator[list[dict[str, Any]]]:
    with path.open() as lines:
        piece: list[dict[str, Any]] = []
        for line in lines:
            piece.append(json.loads(line))
            if len(piece) >= AT_ONCE:
                yield piece
                piece = []
        if piece:
            yield piece


def duckdb_read(path: Path) -> int:
    """How many rows a Parquet file has, each made a Python tuple, in order of time."""
    import duckdb

    rows = duckdb.connect().execute('SELECT * FROM read_parquet(?) ORDER BY "at"', [str(path)]).fetchall()
    return len(rows)
