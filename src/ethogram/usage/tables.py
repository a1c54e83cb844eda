"""SQL of a usage store: its schema, the rows of people and events, and opening a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BadUsage
from ..files import sqlite
from ..files.sqlite import Schema
from ..models import micros, moment
from ..models.record import Record
from ..models.slotted import dataclass
from .audit import WHATS
from .records import UsageLook
from .signals import Episode
from .summary import EMPTY, Summary

if TYPE_CHECKING:
    from ..fields import Count


BUSY = 60_000
"""Milliseconds to wait for another writer."""
PRAGMAS = (
    "foreign_keys = ON",
    # What is removed is overwritten at once, not only when a purge rewrites the file.
    "secure_delete = ON",
    "cache_size = -32768",
    "temp_store = MEMORY",
)

# No column holds any text of a person: the only words are those of who looked at somebody, in `audit`.
TABLES = """
CREATE TABLE about (
  one INTEGER PRIMARY KEY CHECK (one = 1), key_check BLOB NOT NULL, exact INTEGER NOT NULL,
  retention INTEGER NOT NULL, newest INTEGER NOT NULL, salt BLOB NOT NULL
) STRICT;
CREATE TABLE people (
  key INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, first INTEGER NOT NULL, newest INTEGER NOT NULL,
  events INTEGER NOT NULL, ahead INTEGER NOT NULL, zoned INTEGER NOT NULL, stretches BLOB NOT NULL,
  days BLOB NOT NULL, ids BLOB NOT NULL, due INTEGER NOT NULL
) STRICT;
CREATE INDEX people_by_due ON people (due);
CREATE TABLE events (
  person INTEGER NOT NULL REFERENCES people (key) ON DELETE CASCADE, at INTEGER NOT NULL, length INTEGER,
  flags INTEGER NOT NULL, session BLOB, ahead INTEGER, id BLOB
) STRICT;
CREATE INDEX events_by_at ON events (at);
CREATE UNIQUE INDEX events_by_id ON events (person, id);
CREATE TABLE reported (
  person INTEGER NOT NULL REFERENCES people (key) ON DELETE CASCADE, signal INTEGER NOT NULL,
  opened INTEGER NOT NULL,
  severity INTEGER NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (person, signal, opened)
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
  name BLOB PRIMARY KEY, done INTEGER NOT NULL, newest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
  key INTEGER PRIMARY KEY, at INTEGER NOT NULL, what INTEGER NOT NULL, person BLOB, who TEXT NOT NULL,
  why TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_person ON audit (person);
"""
SCHEMA = Schema(0x65746875, (TABLES,))
STATE = "first, newest, events, ahead, zoned, stretches, days"
PERSON = f"name, key, {STATE}, ids, due"
PUT_PERSON = f"""INSERT INTO people (name, {STATE}, ids, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET first = excluded.first, newest = excluded.newest,
  events = excluded.events, ahead = excluded.ahead, zoned = excluded.zoned,
  stretches = excluded.stretches, days = excluded.days, ids = excluded.ids, due = excluded.due"""
EVENT = "at, length, flags, session, ahead"
ADD_EVENT = "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
ADD_EPISODE = """INSERT INTO reported SELECT key, ?, ?, ?, ? FROM people WHERE name = ?
  ON CONFLICT DO UPDATE SET severity = excluded.severity, last = excluded.last"""
ADD_FILE = """INSERT INTO files VALUES (?, ?, ?) ON CONFLICT DO UPDATE
  SET done = excluded.done, newest = max(newest, excluded.newest)"""
ADD_LOOK = "INSERT INTO audit (at, what, person, who, why) VALUES (?, ?, ?, ?, ?)"
HIDE = "UPDATE audit SET person = NULL, why = ''"


class Person(NamedTuple):
    """A stored person: the name, the summary, and what was reported about them."""

    name: bytes
    state: Summary
    episodes: tuple[Episode, ...]


class StoredEvent(NamedTuple):
    """One event of a file. `ahead`: seconds that the own clock was ahead of UTC, if known."""

    at: int
    length: int | None
    flags: int
    session: bytes | None
    ahead: int | None


@dataclass(frozen=True, slots=True)
class Removed(Record):
    """What was removed of people's use.

    `clean` is false where another program kept old pages from going.
    """

    RECORD = "usage_purge"

    people: Count
    events: Count
    clean: bool


class Row(NamedTuple):
    """A row of PERSON; `key` is 0 for a person who is not stored yet."""

    key: int
    state: Summary
    ids: bytes
    due: int


NO_ROW = Row(0, EMPTY, b"", 0)


def connect(path: Path | None) -> sqlite3.Connection:
    """Open a file, or a database in memory."""
    return sqlite.connect(path or ":memory:", SCHEMA, busy=BUSY, pragmas=PRAGMAS if path else PRAGMAS[:1])


def check_file(path: Path, *, create: bool) -> None:
    """Check that a file is a usage store or may become one, without changing it; else BadUsage."""
    if not sqlite.is_new(path):
        sqlite.check_kind(path, SCHEMA)
    elif not create:
        hint = f"`ethogram usage record FILE --store {path}` makes one"
        raise BadUsage(f"there is no usage store at {path}; {hint}")


def read_value(raw: sqlite3.Connection, query: str) -> Any:
    return raw.execute(query).fetchone()[0]


def read_rows(raw: sqlite3.Connection, where: str, *values: object) -> dict[bytes, Row]:
    rows = raw.execute(f"SELECT {PERSON} FROM people {where}", values).fetchall()
    return {row[0]: Row(row[1], Summary._make(row[2:9]), row[9], row[10]) for row in rows}


def find_rows(raw: sqlite3.Connection, names: Sequence[bytes]) -> dict[bytes, Row]:
    return read_rows(raw, f"WHERE name IN ({', '.join('?' * len(names))})", *names)


def write_rows(raw: sqlite3.Connection, rows: Mapping[bytes, Row]) -> None:
    """Write rows by name; the keys stay, and new rows get one."""
    raw.executemany(PUT_PERSON, [(name, *row.state, row.ids, row.due) for name, row in rows.items()])


def read_events(raw: sqlite3.Connection, person: str, value: object) -> list[StoredEvent]:
    query = f"SELECT {EVENT} FROM events WHERE person = {person} ORDER BY at, rowid"
    return [StoredEvent(*row) for row in raw.execute(query, (value,))]


def look_row(look: UsageLook) -> tuple[Any, ...]:
    person = None if look.person is None else bytes.fromhex(look.person)
    return micros(look.at), WHATS.index(look.what), person, look.who, look.why


def read_look(at: int, what: int, person: bytes | None, who: str, why: str) -> UsageLook:
    return UsageLook(moment(at), WHATS[what], None if person is None else person.hex(), who, why)


def round_up(at: int, step: int) -> int:
    """Return the end of the half-hour, or day, of a moment: when exactly somebody was here is theirs.

    >>> round_up(1801, 1800), round_up(1800, 1800), round_up(0, 1800)
    (3600, 1800, 0)
    """
    return -(-at // step) * step
