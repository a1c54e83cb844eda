"""The SQLite store: one file, and a -wal beside it while it is open."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ..errors import BadUsage
from ..files import sqlite
from . import statements, store
from .kinds import Row
from .old_staging import LAST_VERSION, take_staged
from .pool import Pool
from .schema import SCHEMA
from .sql import SqlStore
from .statements import SQLITE

BUSY = 30_000
"""Milliseconds to wait for another writer."""
CACHE, MOST_CACHE = 16_384, 262_144
"""KiB of pages in memory, and in a large import."""
MOST_CONNECTIONS = 15
SYNCHRONOUS = ("normal", "full")
PRIVATE_BUSY = 60_000
"""Milliseconds to wait for another writer of a file of people."""
MEMORY = ":memory:"
INSERT = statements.insert_new(SQLITE)
PRAGMAS = (
    "foreign_keys = ON",
    f"cache_size = -{CACHE}",
    "secure_delete = OFF",
    # The commit that fills the log waits for the disk: seldom, and whoever writes all day calls `settle`.
    "wal_autocheckpoint = 10000",
)


@store("sqlite")
class SQLiteStore(SqlStore):
    """A file in WAL mode: one writes while others read, and a killed process leaves it whole.

    `synchronous=normal` loses nothing that was acknowledged when a process dies. When the power fails, the
    last commits may be missing, never torn; a finished import is brought to the disk at once.
    `?synchronous=full` in the URL waits for the disk at every commit.
    """

    dialect = SQLITE
    pragmas: Sequence[str] = PRAGMAS
    most_connections = MOST_CONNECTIONS
    made_by = "store import"

    def __init__(self, url: str, *, create: bool = False, busy: int = BUSY) -> None:
        self.url, self.address, self.version, self._busy = url, url, SCHEMA.version, busy
        self.path, synchronous = parse(url)
        self._synchronous, self._cache = synchronous.upper(), CACHE
        self._claim_file(create=create)

    def _claim_file(self, *, create: bool) -> None:
        """Check or make the file, and bring it to the newest version."""
        if not sqlite.is_new(self.path):
            sqlite.check_kind(self.path, SCHEMA)
        elif create:
            sqlite.create(self.path)
        else:
            how = f"`ethogram {self.made_by} FILE --store {self.path}` makes one"
            raise BadUsage(f"there is no store at {self.path}; {how}")
        self._start()

    def _start(self) -> None:
        super().__init__()
        self.pool = Pool(self.url, self._connect, self.most_connections)
        try:
            with self.writing() as raw:
                (version,) = raw.execute("PRAGMA user_version").fetchone()
                staged = take_staged(raw) if 0 < version <= LAST_VERSION else []
                sqlite.upgrade(raw, SCHEMA, self.url)
                sqlite.check_columns(raw, SCHEMA)
                self.write("staged", staged)
        except BaseException:
            # So that no log is left beside a file that is not used.
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        return sqlite.connect(
            self.path, SCHEMA, busy=self._busy, synchronous=self._synchronous, pragmas=self.pragmas
        )

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        with sqlite.named_errors(self.url):
            yield

    def begin(self, raw: Any, *, writes: bool, wait: bool = True) -> None:
        if not writes:
            raw.execute("BEGIN")
            return
        raw.execute(f"PRAGMA busy_timeout = {self._busy if wait else 0}")
        raw.execute(f"PRAGMA cache_size = -{CACHE}")
        raw.execute("BEGIN IMMEDIATE")
        self._appended = 0

    def undo(self, raw: Any) -> None:
        # SQLite itself ends a transaction when the disk is full.
        with suppress(sqlite3.Error):
            if raw.in_transaction:
                raw.execute("ROLLBACK")

    def is_sound(self, raw: Any) -> bool:
        with suppress(sqlite3.Error):
            return not raw.in_transaction
        return False

    def insert_new(self, raw: Any, events: Sequence[Row], rows: Iterable[Row]) -> list[int]:
        # Where indexes do not fit, each row reads and writes pages of its own. 64 bytes for a row.
        self._appended += len(events)
        if self._appended // 16 > CACHE:
            raw.execute(f"PRAGMA cache_size = -{min(MOST_CACHE, self._appended // 16)}")
        added = raw.executemany(INSERT, rows).rowcount
        if added == len(events):
            return []
        known = self.known(raw, events)
        return [place for place, event in enumerate(events) if known[event[1], event[3]] != event[0]]

    def settle(self) -> None:
        """Bring commits to the disk, and from the -wal into the file as far as readers and its room allow."""
        with self._outside() as raw:
            sqlite.checkpoint(raw, "PASSIVE")
            raw.execute("PRAGMA shrink_memory")

    def scrub(self) -> bool:
        """Rewrite the file so that no removed row is left; False where others or a full disk prevent it."""
        with self._outside() as raw:
            return sqlite.scrub(raw)

    def check_integrity(self) -> None:
        """Raise EthogramError where a page of the file is damaged."""
        with self._outside() as raw:
            sqlite.check_integrity(raw)

    @contextmanager
    def _outside(self) -> Iterator[sqlite3.Connection]:
        """A connection for what may not run inside a transaction."""
        with self.connection() as raw:
            yield raw

    def size(self) -> int:
        """Bytes of the file and its log."""
        beside = (self.path, Path(f"{self.path}-wal"))
        return sum(item.stat().st_size for item in beside if item.exists())


class PrivateSQLiteStore(SQLiteStore):
    """People of a service in a file whose removed rows are overwritten at once, or (`path=None`) in memory.

    After a fork the child goes on with connections of its own, or with a copy of the memory.
    """

    pragmas = (
        "foreign_keys = ON",
        # What is removed is overwritten at once, not only when a purge rewrites the file.
        "secure_delete = ON",
        "cache_size = -32768",
        "temp_store = MEMORY",
    )
    made_by = "usage record"

    def __init__(self, path: Path | None, *, create: bool = False) -> None:
        self._parents: list[Pool] = []
        self.in_memory = path is None
        if path is not None:
            super().__init__(str(path), create=create, busy=PRIVATE_BUSY)
            return
        self.url = self.address = "memory"
        self.version, self._busy, self.path = SCHEMA.version, PRIVATE_BUSY, Path(MEMORY)
        # Another connection would be another database.
        self.most_connections, self._synchronous, self._cache = 1, "OFF", CACHE
        self._start()

    def begin(self, raw: Any, *, writes: bool, wait: bool = True) -> None:
        raw.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        self._appended = 0

    def settle(self) -> None:
        """Empty the log, in which what was overwritten still stands, as far as readers and the disk allow."""
        with self._outside() as raw:
            sqlite.checkpoint(raw, "TRUNCATE")

    def scrub(self) -> bool:
        return self.in_memory or super().scrub()

    def before_fork(self) -> None:
        """Wait until nobody is at work in memory, whose copy goes to the child."""
        if self.in_memory:
            self._held, _ = self.pool.take()

    def after_fork(self, *, is_child: bool) -> None:
        """Let threads work again; a child waits for none of the parent's, and closes nothing of it."""
        if is_child:
            self._parents.append(self.pool)
            self._thread = threading.local()
            connect = (lambda: self._held) if self.in_memory else self._connect
            self.pool = Pool(self.url, connect, self.most_connections)
        elif self.in_memory:
            self.pool.give(self._held)


def parse(url: str) -> tuple[Path, str]:
    """The file and how commits wait for the disk.

    >>> parse("events.db"), parse("sqlite:////var/lib/e.db?synchronous=full")
    ((PosixPath('events.db'), 'normal'), (PosixPath('/var/lib/e.db'), 'full'))
    """
    if "://" not in url:
        return Path(url), SYNCHRONOUS[0]
    place, _, query = url.partition("://")[2].partition("?")
    host, _, database = place.partition("/")
    try:
        options = dict(parse_qsl(query, strict_parsing=bool(query)))
    except ValueError:
        raise BadUsage(f"invalid store URL {url!r:.80}: expected sqlite:///path or a path") from None
    if not database or host:
        raise BadUsage(
            f"{url!r:.80} names no file; write sqlite:///relative/path or sqlite:////absolute/path"
        )
    synchronous = options.pop("synchronous", SYNCHRONOUS[0]).lower()
    if options or synchronous not in SYNCHRONOUS:
        raise BadUsage(f"invalid store URL {url!r:.80}: expected ?synchronous=normal or ?synchronous=full")
    return Path(database), synchronous
