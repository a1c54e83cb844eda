"""SQLite: the embedded store. One file (and a -wal beside it while it is open); nothing to install."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from ..errors import BadUsage
from ..files import Head, check_columns, check_whole, read_head
from ..models import moment
from ..usage.store import APPLICATION as OF_USE
from ..usage.store import make_file
from .keeping import Keeps
from .locks import Locks
from .migrations import check_version, migrate, newest
from .opening import store
from .privacy import Privacy
from .protocol import Info
from .purging import Purges
from .reading import Reads
from .sql import run, telling
from .staging import Staging
from .states import States
from .sweeping import Sweeps
from .tables import METADATA
from .verdicts import Verdicts

APPLICATION = 0x6574686F
"""'etho', which SQLite keeps in the head of the file: no other program's file is ever written to."""
OWN_TABLES = {"schema_version", "sources", "subjects", "events", "staged"}
"""By these a store is known whose head has no number yet."""
BUSY = 30_000
"""Milliseconds to wait for another writer."""
SYNCHRONOUS = ("normal", "full")
COUNTED = ("events", "subjects", "readings", "detections", "verdicts", "runner_states")


@store("sqlite")
class SQLiteStore(Staging, Reads, Keeps, Verdicts, Sweeps, States, Locks, Purges, Privacy):
    """A file in WAL mode: one writes while others read, and a killed process leaves it whole.

    `synchronous=normal` loses nothing that was acknowledged when a process dies. When the power fails, the
    last commits may be missing, never torn; a finished import is brought to the disk at once.
    `?synchronous=full` in the URL waits for the disk at every commit.
    """

    def __init__(self, url: str, *, create: bool = False) -> None:
        self.url = url
        self.path, synchronous = parse(url)
        is_new = not self.path.exists() or not self.path.stat().st_size
        if is_new and not create:
            how = f"`ethogram store import FILE --store {self.path}` makes one"
            raise BadUsage(f"there is no store at {self.path}; {how}")
        if is_new:
            make_file(self.path)
        else:
            check_file(self.path)
        self.engine = make_engine(self.path, synchronous)
        try:
            self.schema = self._prepare()
        except BaseException:
            # So that no log is left beside a file that is not used.
            self.close()
            raise

    def _prepare(self) -> int:
        """The version of the schema, after bringing it up to date."""
        with self.reading() as connection:
            version = _version(connection)
            check_version(version, self.url)
        with self.writing() as connection:
            # Again, now that nobody else can be doing the same.
            version = _version(connection)
            check_version(version, self.url)
            if version == newest():
                raw: Any = connection.connection.dbapi_connection
                check_columns(raw, {one.name: {*one.columns.keys()} for one in METADATA.sorted_tables})
            return migrate(connection, version)

    def close(self) -> None:
        """Let go of the file."""
        self.engine.dispose()

    def __enter__(self) -> SQLiteStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def settle(self) -> None:
        """Bring what is committed from the -wal into the file and onto the disk, as far as readers let it."""
        self._outside("PRAGMA wal_checkpoint(PASSIVE)")

    def scrub(self) -> bool:
        """Whether every page that held removed rows is gone: the file is written anew, the -wal emptied."""
        self._outside("VACUUM")
        busy, *_ = self._outside("PRAGMA wal_checkpoint(TRUNCATE)")
        return not busy

    def check_whole(self) -> None:
        """EthogramError where a page of the file is damaged."""
        with telling(self.url), self.engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            check_whole(raw)

    def _outside(self, statement: str) -> tuple[Any, ...]:
        """The first row of a statement that may not run inside a transaction."""
        with telling(self.url), self.engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            return raw.execute(statement).fetchone() or (0,)

    def info(self) -> Info:
        """What is in the file."""
        with self.reading() as connection:
            counts = {name: run(connection, f"SELECT count(*) FROM {name}").scalar_one() for name in COUNTED}
            span = "SELECT min(at_us), max(at_us) FROM events e WHERE e.timed = 1"
            swept = run(connection, "SELECT max(as_of_us) FROM sweeps").scalar()
            times = [None if one is None else moment(one) for one in (*run(connection, span).one(), swept)]
        beside = (self.path, Path(f"{self.path}-wal"))
        return Info(
            url=self.url,
            schema=self.schema,
            bytes=sum(one.stat().st_size for one in beside if one.exists()),
            counts=counts,
            sources=tuple(self.sources().values()),
            first_at=times[0],
            last_at=times[1],
            imports=tuple(self.imports()),
            last_sweep=times[2],
        )


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
        raise BadUsage(f"{url!r:.80} is not the URL of a store; write sqlite:///path or a path") from None
    if not parsed.database or parsed.host:
        raise BadUsage(
            f"{url!r:.80} names no file; write sqlite:///relative/path or sqlite:////absolute/path"
        )
    asked = {name: str(value) for name, value in parsed.query.items()}
    synchronous = asked.pop("synchronous", SYNCHRONOUS[0]).lower()
    if asked or synchronous not in SYNCHRONOUS:
        raise BadUsage(f"{url!r:.80}: known is ?synchronous=normal or full")
    return Path(parsed.database), synchronous


def check_file(path: Path) -> None:
    """Check that a file is a store of ours, without changing it; BadUsage where it is something else."""
    head = read_head(path)
    if head is None:
        raise BadUsage(f"{path} is not a store: it is no SQLite file; if it was one, restore a backup")
    if head.application == OF_USE:
        how = "`ethogram usage signals`, `usage sweep`, `usage info`, `export` and `purge` are for it"
        raise BadUsage(f"{path} is a usage store, not a store of events; {how}")
    if not is_store(head):
        raise BadUsage(f"{path} is an SQLite file of another program, not a store of ethogram")


def is_store(head: Head) -> bool:
    """Whether a file is a store of events by its head, or, without a number there, by its tables."""
    return head.application == APPLICATION or (head.application == 0 and head.tables >= OWN_TABLES)


def make_engine(path: Path, synchronous: str) -> Engine:
    """The engine of a file, with the pragmas every connection needs."""
    address = URL.create("sqlite", database=os.fspath(path))
    engine = create_engine(address, connect_args={"timeout": BUSY / 1000})

    @event.listens_for(engine, "connect")
    def prepare(raw: sqlite3.Connection, _: object) -> None:
        # The driver's own idea of when to begin is in the way of BEGIN IMMEDIATE and of savepoints.
        raw.isolation_level = None
        if not raw.execute("PRAGMA page_count").fetchone()[0]:
            # Before WAL: so it stands in the file itself, and not in the log beside it, from the first.
            raw.execute(f"PRAGMA application_id = {APPLICATION}")
        for pragma in (
            f"busy_timeout = {BUSY}",
            "journal_mode = WAL",
            f"synchronous = {synchronous.upper()}",
            "foreign_keys = ON",
            "cache_size = -65536",
            "secure_delete = OFF",
        ):
            raw.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _version(connection: Any) -> int:
    tables = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
    if "schema_version" in tables:
        return int(run(connection, "SELECT coalesce(max(version), 0) FROM schema_version").scalar_one())
    if tables:
        raise sqlite3.DatabaseError("no such table: schema_version")
    return 0
