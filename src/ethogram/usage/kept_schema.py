"""The file of a usage store: its tables, how it is made and how it is opened."""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..errors import BadUsage
from ..files import check_columns, columns_of, make_private_file, read_head, telling
from .pseudonym import Keys

APPLICATION = 0x65746875
"""'ethu', which SQLite keeps in the head of the file: no other program's file is ever written to."""
OF_EVENTS = 0x6574686F
"""'etho', which is in the head of a store of events."""
VERSION = 3
PURPOSE = "usage"
"""What the pseudonyms of such a file are for (see Keys.scoped); its column `salt` is empty in old files."""
SALT_BYTES = 16
BUSY = 60_000
"""Milliseconds to wait for another writer."""
# There is no column for any text of a person: the only words are those of who looked at somebody, in `audit`.
TABLES = (
    """CREATE TABLE about (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      key_check BLOB NOT NULL,
      exact INTEGER NOT NULL,
      retention INTEGER NOT NULL,
      newest INTEGER NOT NULL,
      salt BLOB
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


def is_usage_store(path: str | Path) -> bool:
    """Whether a file is a usage store, or is empty and may become one."""
    try:
        head = read_head(path)
    except BadUsage:
        return False
    return head is not None and (head.application == APPLICATION or not Path(path).stat().st_size)


def make_file(path: Path) -> None:
    """Make an empty file that only its owner may read; an existing one stays. BadUsage where it cannot be."""
    if not path.parent.is_dir():
        raise BadUsage(f"there is no folder {path.parent} to make a store in")
    try:
        make_private_file(path)
    except OSError as error:
        raise BadUsage(f"{path} cannot be made: {error.strerror or error}") from None


def check_file(path: Path, *, create: bool) -> None:
    """Check that a file is a usage store or may become one, without changing it; else BadUsage."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        if not create:
            how = f"`ethogram usage record FILE --store {path}` makes one"
            raise BadUsage(f"there is no usage store at {path}; {how}")
        return
    head = read_head(path)
    if head is None:
        raise BadUsage(f"{path} is not a usage store: it is no SQLite file; if it was one, restore a backup")
    if head.application == OF_EVENTS:
        how = "`ethogram analyze --store`, `sweep`, `subject` and `store` are for it"
        raise BadUsage(f"{path} is a store of events, not a usage store; {how}")
    if head.application != APPLICATION:
        raise BadUsage(f"{path} is not a usage store; name another file")


def connect(path: Path) -> sqlite3.Connection:
    """A connection with the pragmas every one needs."""
    raw = sqlite3.connect(path, timeout=BUSY / 1000, isolation_level=None, check_same_thread=False)
    try:
        if not raw.execute("PRAGMA page_count").fetchone()[0]:
            # Before WAL: so it stands in the file itself, and not in the log beside it, from the first.
            raw.execute(f"PRAGMA application_id = {APPLICATION}")
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
    except BaseException:
        raw.close()
        raise
    return raw


def prepare(raw: sqlite3.Connection, path: Path, keys: Keys, *, exact: bool, retention: int) -> None:
    """Make the tables of a new file; BadUsage where a newer program wrote it. Held by the caller's BEGIN."""
    (version,) = raw.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise BadUsage(f"{path} has schema {version}, and this ethogram knows up to {VERSION}; upgrade it")
    if version == 1:
        raw.execute("ALTER TABLE files ADD COLUMN newest INTEGER NOT NULL DEFAULT 0")
    if version in (1, 2):
        raw.execute("ALTER TABLE about ADD COLUMN salt BLOB")
        raw.execute(f"PRAGMA user_version = {VERSION}")
    if version:
        check_columns(raw, _columns())
        return
    if raw.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise BadUsage(f"{path} is an SQLite file of another program; name another file")
    for statement in TABLES:
        raw.execute(statement)
    salt = secrets.token_bytes(SALT_BYTES)
    about = (keys.scoped(PURPOSE, salt).check(), int(exact), retention, salt)
    raw.execute("INSERT INTO about VALUES (1, ?, ?, ?, 0, ?)", about)
    raw.execute(f"PRAGMA user_version = {VERSION}")


@cache
def _columns() -> dict[str, set[str]]:
    """The columns of every table of a new file."""
    with closing(sqlite3.connect(":memory:")) as raw:
        for statement in TABLES:
            raw.execute(statement)
        return columns_of(raw)


class Marks(NamedTuple):
    """What a store keeps to know its keys again: their check (see Keys.check), and its own number."""

    check: bytes
    salt: bytes | None

    def until(self, keys: Keys) -> Keys | None:
        """The keys, up to one of these, that the store has; None where it has others."""
        return keys.scoped(PURPOSE, self.salt).until(self.check)


def marks_of(path: Path) -> Marks:
    """The marks of a store, of any version."""
    check_file(path, create=False)
    with telling(path), closing(connect(path)) as raw:
        names = {row[1] for row in raw.execute("PRAGMA table_info(about)")}
        query = (
            "SELECT key_check, salt FROM about" if "salt" in names else "SELECT key_check, NULL FROM about"
        )
        return Marks(*raw.execute(query).fetchone())
