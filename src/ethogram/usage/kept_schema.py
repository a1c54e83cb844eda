"""The file of a usage store: its tables, how it is made and how it is opened."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import BadUsage, EthogramError

APPLICATION = 0x65746875
"""'ethu', which SQLite keeps in the head of the file: no other program's file is ever written to."""
OF_EVENTS = 0x6574686F
"""'etho', which is in the head of a store of events."""
VERSION = 2
BUSY = 60_000
"""Milliseconds to wait for another writer."""
HINTS = {
    "database is locked": "; another program has been writing to it for a minute, try again",
    "attempt to write a readonly database": "; it must be writable, even for reading",
}
# There is no column for any text of a person: the only words are those of who looked at somebody, in `audit`.
TABLES = (
    """CREATE TABLE about (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      key_check BLOB NOT NULL,
      exact INTEGER NOT NULL,
      retention INTEGER NOT NULL,
      newest INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE people (
      key INTEGER PRIMARY KEY,
      name BLOB NOT NULL UNIQUE,
      first INTEGER NOT NULL,
      newest INTEGER NOT NULL,
      events INTEGER NOT NULL,
      ahead INTEGER NOT NULL,
      zoned INTEGER NOT NULL,
      stretches BLOB NOT NULL,
      days BLOB NOT NULL,
      ids BLOB NOT NULL,
      due INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX people_by_due ON people (due)",
    """CREATE TABLE events (
      person INTEGER NOT NULL REFERENCES people (key) ON DELETE CASCADE,
      at INTEGER NOT NULL,
      length INTEGER,
      flags INTEGER NOT NULL,
      session BLOB,
      ahead INTEGER,
      id BLOB
    ) STRICT""",
    "CREATE INDEX events_by_at ON events (at)",
    "CREATE UNIQUE INDEX events_by_id ON events (person, id)",
    """CREATE TABLE told (
      person INTEGER NOT NULL REFERENCES people (key) ON DELETE CASCADE,
      signal INTEGER NOT NULL,
      opened INTEGER NOT NULL,
      level INTEGER NOT NULL,
      last INTEGER NOT NULL,
      PRIMARY KEY (person, signal, opened)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE files (
      name BLOB PRIMARY KEY, done INTEGER NOT NULL, newest INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE audit (
      key INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      what INTEGER NOT NULL,
      person BLOB,
      who TEXT NOT NULL,
      why TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX audit_by_person ON audit (person)",
)


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """What the database complains of (locked, full, torn), as an error of ours that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise EthogramError(f"{path}: {error}{HINTS.get(str(error), '')}") from error


def is_usage_store(path: str | Path) -> bool:
    """Whether a file is a usage store, or has no tables yet and may become one."""
    return _head(path) in (APPLICATION, None)


def _head(path: str | Path) -> int | None:
    """What is in the head of an SQLite file; None where it has no tables yet, and -1 where it is none."""
    # Asked through SQLite, never by opening the file: closing it again would take away the locks that
    # connections of this process have on it, and others would write over what they write.
    try:
        raw = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=rw", timeout=BUSY / 1000, uri=True)
        try:
            (tables,) = raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (found,) = raw.execute("PRAGMA application_id").fetchone()
        finally:
            raw.close()
    except sqlite3.Error:
        return -1
    return int(found) if tables or found == APPLICATION else None


def make_file(path: Path) -> None:
    """An empty file that only its owner may read; what SQLite puts beside it gets the same mode."""
    if not path.parent.is_dir():
        raise BadUsage(f"there is no folder {path.parent} to make a store in")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise BadUsage(f"{path} cannot be made: {error.strerror or error}") from None


def check_file(path: Path, *, create: bool) -> None:
    """Nothing, where a file is a usage store or may become one; else BadUsage."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        if not create:
            how = f"`ethogram usage record FILE --store {path}` makes one"
            raise BadUsage(f"there is no usage store at {path}; {how}")
        return
    head = _head(path)
    if head == OF_EVENTS:
        how = "`ethogram analyze --store`, `sweep`, `subject` and `store` are for it"
        raise BadUsage(f"{path} is a store of events, not a usage store; {how}")
    if head not in (APPLICATION, None):
        raise BadUsage(f"{path} is not a usage store; name another file")


def connect(path: Path) -> sqlite3.Connection:
    """A connection with the pragmas every one needs."""
    raw = sqlite3.connect(path, timeout=BUSY / 1000, isolation_level=None, check_same_thread=False)
    for pragma in (
        f"busy_timeout = {BUSY}",
        "journal_mode = WAL",
        "synchronous = NORMAL",
        "foreign_keys = ON",
        # What is removed is overwritten at once, not only when a purge writes the file anew.
        "secure_delete = ON",
        "cache_size = -32768",
        "temp_store = MEMORY",
    ):
        raw.execute(f"PRAGMA {pragma}")
    return raw


def prepare(raw: sqlite3.Connection, path: Path, key_check: bytes, *, exact: bool, retention: int) -> None:
    """Make the tables of a new file; BadUsage where a newer program wrote it. Held by the caller's BEGIN."""
    (version,) = raw.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise BadUsage(f"{path} has schema {version}, and this ethogram knows up to {VERSION}; upgrade it")
    if version == VERSION:
        return
    if version == 1:
        raw.execute("ALTER TABLE files ADD COLUMN newest INTEGER NOT NULL DEFAULT 0")
        raw.execute(f"PRAGMA user_version = {VERSION}")
        return
    if raw.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise BadUsage(f"{path} is an SQLite file of another program; name another file")
    for statement in TABLES:
        raw.execute(statement)
    raw.execute("INSERT INTO about VALUES (1, ?, ?, ?, 0)", (key_check, int(exact), retention))
    raw.execute(f"PRAGMA application_id = {APPLICATION}")
    raw.execute(f"PRAGMA user_version = {VERSION}")


def key_check_of(path: Path) -> bytes:
    """What a store keeps to know its keys again (see Keys.check)."""
    check_file(path, create=False)
    with telling(path):
        raw = connect(path)
        try:
            check: bytes = raw.execute("SELECT key_check FROM about").fetchone()[0]
        finally:
            raw.close()
    return check
