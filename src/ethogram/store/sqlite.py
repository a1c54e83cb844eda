"""The SQLite store: one file, and a -wal beside it while it is open."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.exc import TimeoutError as NoConnection

from ..errors import BadUsage, StoreFailed
from ..files import sqlite
from . import store
from .schema import SCHEMA
from .sql import NO_CONNECTION, driver, unwrapped
from .sql_store import SqlStore

BUSY = 30_000
"""Milliseconds to wait for another writer."""
CACHE, MOST_CACHE = 16_384, 262_144
"""KiB of pages in memory, and in a large import."""
SYNCHRONOUS = ("normal", "full")
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

    def __init__(self, url: str, *, create: bool = False, busy: int = BUSY) -> None:
        self.url, self.address, self.version, self._busy = url, url, SCHEMA.version, busy
        self.path, synchronous = parse(url)
        if not sqlite.is_new(self.path):
            sqlite.check_kind(self.path, SCHEMA)
        elif create:
            sqlite.create(self.path)
        else:
            how = f"`ethogram store import FILE --store {self.path}` makes one"
            raise BadUsage(f"there is no store at {self.path}; {how}")
        self.engine = make_engine(self.path, synchronous, busy)
        try:
            with self.writing() as connection:
                sqlite.upgrade(driver(connection), SCHEMA, self.url)
                sqlite.check_columns(driver(connection), SCHEMA)
        except BaseException:
            # So that no log is left beside a file that is not used.
            self.close()
            raise

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        try:
            with sqlite.named_errors(self.url), unwrapped():
                yield
        except NoConnection:
            raise StoreFailed(f"{self.url}: {NO_CONNECTION}") from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.named_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, *, wait: bool = True, rows: int = 0) -> Iterator[Connection]:
        with self.named_errors(), self.engine.connect() as opened:
            connection = opened.execution_options(writes=True)
            driver(connection).execute(f"PRAGMA busy_timeout = {self._busy if wait else 0}")
            # Where indexes do not fit, each row reads and writes pages of its own. 64 bytes for a row.
            driver(connection).execute(f"PRAGMA cache_size = -{min(MOST_CACHE, max(CACHE, rows // 16))}")
            with connection.begin():
                yield connection

    def settle(self) -> None:
        """Write commits from the -wal into the file and to the disk, as far as readers allow."""
        with self._outside() as raw:
            raw.execute("PRAGMA wal_checkpoint(PASSIVE)")
            raw.execute("PRAGMA shrink_memory")

    def scrub(self) -> bool:
        """Rewrite the file so that no removed row is left; False where another program prevents it."""
        with self._outside() as raw:
            return sqlite.scrub(raw)

    def check_integrity(self) -> None:
        """Raise EthogramError where a page of the file is damaged."""
        with self._outside() as raw:
            sqlite.check_integrity(raw)

    @contextmanager
    def _outside(self) -> Iterator[sqlite3.Connection]:
        """A connection for what may not run inside a transaction."""
        with self.named_errors(), self.engine.connect() as connection:
            yield driver(connection)

    def size(self) -> int:
        """Bytes of the file and its log."""
        beside = (self.path, Path(f"{self.path}-wal"))
        return sum(item.stat().st_size for item in beside if item.exists())


def parse(url: str) -> tuple[Path, str]:
    """The file and how commits wait for the disk.

    >>> parse("events.db"), parse("sqlite:////var/lib/e.db?synchronous=full")
    ((PosixPath('events.db'), 'normal'), (PosixPath('/var/lib/e.db'), 'full'))
    """
    if "://" not in url:
        return Path(url), SYNCHRONOUS[0]
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise BadUsage(f"invalid store URL {url!r:.80}: expected sqlite:///path or a path") from None
    if not parsed.database or parsed.host:
        raise BadUsage(
            f"{url!r:.80} names no file; write sqlite:///relative/path or sqlite:////absolute/path"
        )
    options = {name: str(value) for name, value in parsed.query.items()}
    synchronous = options.pop("synchronous", SYNCHRONOUS[0]).lower()
    if options or synchronous not in SYNCHRONOUS:
        raise BadUsage(f"invalid store URL {url!r:.80}: expected ?synchronous=normal or ?synchronous=full")
    return Path(parsed.database), synchronous


def make_engine(path: Path, synchronous: str, busy: int) -> Engine:
    """The engine of a file, with the pragmas every connection needs."""
    address = URL.create("sqlite", database=os.fspath(path))
    engine = create_engine(address, connect_args={"timeout": busy / 1000}, pool_use_lifo=True)

    @event.listens_for(engine, "connect")
    def prepare(raw: sqlite3.Connection, _: object) -> None:
        sqlite.configure(raw, SCHEMA, busy=busy, synchronous=synchronous.upper(), pragmas=PRAGMAS)

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
