"""`speed store`: events into a store and out again, beside what the plainest program would do.

What the store is measured against: the sqlite3 module and nothing else, and a Parquet file.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.speed.data import Evaluations, evaluations
from benchmarks.speed.shapes import ratio_record
from ethogram.app.importing import import_events
from ethogram.app.sweep import sweep
from ethogram.config import Settings
from ethogram.models import Event, format_time, moment
from ethogram.patterns.library import Library, load_patterns
from ethogram.store import Store, open_store

SINGLE = 500
"""Events added one by one."""
PER_SUBJECT = 100
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANY_TIME = Settings(max_future=None)
BARS = {
    "times a plain import": ("import", "plain import", 8.0, 4.0),
    "times a plain reading": ("read all", "plain read all", 6.0, 3.0),
    "times a plain single commit": ("single commits", "plain single commits", 20.0, 5.0),
    "of a first sweep for one with nothing new": ("sweep unchanged", "sweep", 0.05, 0.005),
}
"""At most so many times as long, for each event: what must hold, and what is wanted."""
Step = tuple[str, int, Callable[[], object]]
TABLE = """CREATE TABLE events (
  id TEXT NOT NULL UNIQUE, at TEXT NOT NULL, subject TEXT NOT NULL, target TEXT, readings TEXT) STRICT"""
INDEX = "CREATE INDEX by_subject ON events (subject, at)"
INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"
AT_ONCE = 5000
Row = tuple[str, str, str, str | None, str]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for so many events."""

    name: str
    events: int
    wall: float
    cpu: float

    def record(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "record": "timing",
            "name": self.name,
            "wall_seconds": self.wall,
            "cpu_seconds": self.cpu,
            "events": self.events,
            "per_second": round(self.events / max(self.wall, 1e-9)),
        }


def compare(rows: int, *, peers: bool = True, swept: bool = True) -> Iterator[dict[str, Any]]:
    """Records of every timing as it is taken, then the ratios. `swept` is most of the time it takes."""
    timings: dict[str, Timing] = {}
    with TemporaryDirectory(prefix="ethogram-bench-") as folder:
        path = Path(folder) / "events.jsonl"
        write_lines(path, evaluations(rows, per_subject=PER_SUBJECT))
        # One after the other: each step is run before the next is made.
        steps = chain(_ours(Path(folder), path, rows, swept), _peers(folder, path, rows, peers))
        for name, events, run in steps:
            timings[name] = timed(name, events, run)
            yield timings[name].record()
    for what, (mine, other, bar, goal) in BARS.items():
        if mine in timings and other in timings:
            item, two = timings[mine], timings[other]
            ratio = (item.wall / item.events) / (two.wall / two.events)
            yield ratio_record(what, ratio, bar, goal, ratio <= bar, ratio <= goal)


def _ours(folder: Path, path: Path, rows: int, swept: bool) -> Iterator[Step]:
    with open_store(str(folder / "events.db"), create=True) as store:
        yield "import", rows, lambda: import_events(store, [path], at=NOW, settings=ANY_TIME)
        yield "read all", rows, lambda: sum(1 for _ in store.events())
        library = load_patterns(["love_bombing"])
        if swept:
            yield "sweep", rows, lambda: _sweep(store, library)
            yield "sweep unchanged", rows, lambda: _sweep(store, library)
        yield "single commits", SINGLE, lambda: [store.add([item]) for item in single()]


def _sweep(store: Store, library: Library) -> None:
    later = NOW + timedelta(days=36500)
    done = sweep(store, library, as_of=later, clock=lambda: later)
    store.mark_reported(change.key for change in done.changes)


def _peers(folder: str, path: Path, rows: int, peers: bool) -> Iterator[Step]:
    plain = Peer(Path(folder) / "plain.db")
    yield "plain import", rows, lambda: plain.load(path)
    yield "plain read all", rows, plain.read_all
    yield "plain single commits", SINGLE, lambda: plain.add_each(single())
    plain.close()
    if peers:
        parquet = Path(folder) / "events.parquet"
        yield "Parquet written", rows, lambda: write_parquet(path, parquet)
        yield "Parquet read by DuckDB", rows, lambda: duckdb_read(parquet)


def timed(name: str, events: int, run: Callable[[], object]) -> Timing:
    """How long something takes, on the clock and on the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Timing(name, events, time.perf_counter() - wall, time.process_time() - cpu)


def single() -> list[Event]:
    """Events of a subject of its own, to be added one by one."""
    at = datetime(2027, 1, 1, tzinfo=UTC)
    return [
        Event(id=f"single-{k}", at=at + timedelta(seconds=k), subject="one", seq=k, readings={"risk": 0.5})
        for k in range(SINGLE)
    ]


def write_lines(path: Path, data: Evaluations) -> None:
    """The evaluations as event lines, in order of time: subjects take turns."""
    subjects = int(data.subject[-1]) + 1
    with path.open("w") as file:
        for turn in range(PER_SUBJECT):
            for row in range(turn, subjects * PER_SUBJECT, PER_SUBJECT):
                if row < data.rows:
                    file.write(json.dumps(_line(data, row, turn * subjects + row // PER_SUBJECT)) + "\n")
        for row in range(subjects * PER_SUBJECT, data.rows):
            file.write(json.dumps(_line(data, row, row)) + "\n")


def _line(data: Evaluations, row: int, minute: int) -> dict[str, Any]:
    readings = {name: round(float(column[row]), 3) for name, column in data.traits.items()}
    at = format_time(moment(minute * 60_000_000))
    who = {"subject": f"s{data.subject[row]}", "target": "bo"}
    return {"id": f"e{row}", "at": at, **who, "readings": readings}


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
        for event in events:
            row = (
                event.id,
                format_time(event.at),
                event.subject,
                event.target,
                json.dumps(dict(event.readings)),
            )
            self._opened.execute("BEGIN IMMEDIATE")
            self._opened.execute(INSERT, row)
            self._opened.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._opened.close()


def _rows(path: Path) -> Iterator[Row]:
    with path.open() as lines:
        for line in lines:
            data = json.loads(line)
            yield data["id"], data["at"], data["subject"], data.get("target"), json.dumps(data["readings"])


def write_parquet(path: Path, to: Path) -> None:
    """The lines of a file as a Parquet file, so many at a time."""
    import pyarrow
    import pyarrow.parquet

    writer: Any = None
    for rows in _in_pieces(path):
        flat = [{**{k: v for k, v in row.items() if k != "readings"}, **row["readings"]} for row in rows]
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
