"""SQLite files of ethogram: open, transactions, schema versions, and refusing files that are not ours.

Each kind of file is a `Schema`: its number in the header, and the SQL from one version to the next.
Only the standard library is imported, and nothing slow: the hook starts a process for every event.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager
from functools import cache
from typing import Any, NamedTuple

from ..errors import BadUsage, EthogramError, StoreFailed
from .private import make_private_file

KINDS = {
    0x6574686F: (
        "store of events",
        "`ethogram analyze --store`, `sweep`, `subject` and `store` are for it",
    ),
    0x65746875: (
        "usage store",
        "`ethogram usage signals`, `usage sweep`, `usage info`, `export` and `purge` are for it",
    ),
    0x65746861: ("cache of answers", "`ethogram evaluate --answers` is for it"),
    0x65746868: ("state of the hook", "`ethogram hook status` is for it"),
}
"""application_id in the header of each kind of file: what it is, and which commands use it."""
TRIES = 5
PATIENCE = 3000
"""How often `scrub` tries to empty the log while another program reads, and milliseconds that each waits."""
SOUND = {
    sqlite3.SQLITE_BUSY: "; another program is writing to it: try again",
    sqlite3.SQLITE_LOCKED: "; another program is writing to it: try again",
    sqlite3.SQLITE_READONLY: "; it must be writable, even for reading",
    sqlite3.SQLITE_FULL: "; nothing was changed",
    sqlite3.SQLITE_CANTOPEN: "; check the path and who may read and write it",
    sqlite3.SQLITE_PERM: "; check who may read and write it",
    sqlite3.SQLITE_IOERR: "; check the disk",
    sqlite3.SQLITE_INTERRUPT: "",
    sqlite3.SQLITE_NOMEM: "",
}
"""Result codes that do not mean a damaged file, and what to do about each."""
BAD_ROW = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""Exceptions from reading a row whose content was damaged."""


class Schema(NamedTuple):
    """One kind of file. `steps[i]` is the SQL from version i to i + 1, with `;` at the ends of lines only."""

    application: int
    steps: tuple[str, ...]

    @property
    def version(self) -> int:
        """The version that this program writes."""
        return len(self.steps)

    @property
    def kind(self) -> str:
        """What such a file is called."""
        return KINDS[self.application][0]


class Header(NamedTuple):
    """The header of an SQLite file."""

    application: int
    version: int


def read_header(path: str | os.PathLike[str]) -> Header | None:
    """Return the header of a file; None where it is not SQLite. BadUsage where it cannot be opened.

    Nothing is written, locked, recovered or put beside the file: `immutable` reads the file alone, not the
    log beside it. SQLite does the reading, since opening and closing the file by hand would drop the locks
    that other connections of this process hold on it.
    """
    from pathlib import Path

    try:
        address = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as raw:
            # Without this, a file that somebody is just writing to may look too short.
            raw.execute("PRAGMA writable_schema = ON")
            return Header(_pragma(raw, "application_id"), _pragma(raw, "user_version"))
    except sqlite3.DatabaseError as error:
        if error_code(error) == sqlite3.SQLITE_NOTADB:
            return None
        raise BadUsage(f"{path}: {explain(error)}") from None


def is_new(path: str | os.PathLike[str]) -> bool:
    """Whether there is no file yet, or an empty one."""
    return not os.path.exists(path) or (os.path.isfile(path) and not os.path.getsize(path))


def check_kind(path: str | os.PathLike[str], schema: Schema) -> None:
    """Check that a file is of a kind, without changing it; BadUsage where it is something else."""
    if os.path.isdir(path):
        url = " or a URL" if "store" in schema.kind else ""
        raise BadUsage(f"{path} is a folder, not a {schema.kind}: expected the name of a file{url}")
    header = read_header(path)
    if header is None:
        raise BadUsage(
            f"{path} is not a {schema.kind}: it is not an SQLite file; if it was one, restore a backup"
        )
    _check_application(path, header.application, schema)


def _check_application(path: str | os.PathLike[str], application: int, schema: Schema) -> None:
    if application == schema.application:
        return
    if application in KINDS:
        kind, commands = KINDS[application]
        raise BadUsage(f"{path} is a {kind}, not a {schema.kind}; {commands}")
    raise BadUsage(f"{path} is not a {schema.kind}: another program made it; name another file")


def create(path: str | os.PathLike[str]) -> None:
    """Create an empty file that only its owner may read; an existing one stays. BadUsage where that fails."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise BadUsage(f"there is no folder {folder} to make a store in")
    try:
        make_private_file(path)
    except OSError as error:
        raise BadUsage(f"{path} cannot be made: {error.strerror or error}") from None


def connect(path: str | os.PathLike[str], schema: Schema, **how: Any) -> sqlite3.Connection:
    """Open a file in autocommit mode, for use by any thread; `how` as in `configure`."""
    raw = sqlite3.connect(
        path, timeout=how["busy"] / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        configure(raw, schema, **how)
    except BaseException:
        raw.close()
        raise
    return raw


def open_current(path: str | os.PathLike[str], schema: Schema, **how: Any) -> sqlite3.Connection:
    """Open a file and bring it to the newest version; `how` as in `configure`."""
    raw = connect(path, schema, **how)
    try:
        if not is_current(raw, schema):
            with transaction(raw):
                upgrade(raw, schema, path)
    except BaseException:
        raw.close()  # so that no log is left beside a file that is not used
        raise
    return raw


def configure(
    raw: sqlite3.Connection,
    schema: Schema,
    *,
    busy: int,
    synchronous: str = "NORMAL",
    pragmas: Sequence[str] = (),
) -> None:
    """Prepare a new connection. `busy`: milliseconds to wait for another writer."""
    raw.isolation_level = None  # the driver's own BEGIN would be in the way of BEGIN IMMEDIATE
    if not _pragma(raw, "page_count"):
        # Before WAL: so it stands in the file itself, and not in the log beside it, from the first.
        raw.execute(f"PRAGMA application_id = {schema.application}")
    for pragma in (f"busy_timeout = {busy}", "journal_mode = WAL", f"synchronous = {synchronous}", *pragmas):
        raw.execute(f"PRAGMA {pragma}")


@contextmanager
def transaction(raw: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Write all or nothing; nobody else writes from the first read to the commit."""
    raw.execute("BEGIN IMMEDIATE")
    try:
        yield raw
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


def is_current(raw: sqlite3.Connection, schema: Schema) -> bool:
    """Return whether a file is of a kind and has its newest version."""
    has = (_pragma(raw, "application_id"), _pragma(raw, "user_version"))
    return has == (schema.application, schema.version)


def upgrade(raw: sqlite3.Connection, schema: Schema, name: str | os.PathLike[str]) -> int:
    """Bring a file to the newest version inside the caller's transaction; return the version it had.

    A new file has version 0. BadUsage where another or a newer program made the file.
    """
    version = _pragma(raw, "user_version")
    _check_application(name, _pragma(raw, "application_id"), schema)
    if version > schema.version:
        raise BadUsage(
            f"{name} has schema {version}, and this ethogram knows up to {schema.version}: a newer one wrote "
            "it. Upgrade ethogram, or name another file"
        )
    if not version and raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise sqlite3.DatabaseError("it has tables and no schema version")
    run_steps(raw, schema.steps[version:])
    if version < schema.version:
        raw.execute(f"PRAGMA user_version = {schema.version}")
    return version


def run_steps(raw: sqlite3.Connection, steps: Sequence[str]) -> None:
    """Run the SQL from one version to the next, inside the caller's transaction."""
    # Not executescript, which would commit.
    for step in steps:
        for statement in step.split(";\n"):
            raw.execute(statement)


def checkpoint(raw: sqlite3.Connection, mode: str) -> bool:
    """Write commits from the log into the file; False where readers or a full disk prevent it.

    SQLite syncs the log first, so the commits survive there, and a later checkpoint writes them.
    """
    try:
        return not _pragma(raw, f"wal_checkpoint({mode})")
    except sqlite3.Error as error:
        if error_code(error) != sqlite3.SQLITE_FULL:
            raise
        return False


def scrub(raw: sqlite3.Connection) -> bool:
    """Rewrite the file and empty the log, so that no removed row is left.

    False while others read or write, or where the disk is too full for it: copies may be left then.
    """
    busy = _pragma(raw, "busy_timeout")
    try:
        raw.execute("VACUUM")
    except sqlite3.Error as error:
        # What was removed is committed before: an error would say that nothing was changed.
        if error_code(error) not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY):
            raise
        return False
    raw.execute(f"PRAGMA busy_timeout = {PATIENCE}")
    try:
        return any(checkpoint(raw, "TRUNCATE") for _ in range(TRIES))
    finally:
        raw.execute(f"PRAGMA busy_timeout = {busy}")


def _pragma(raw: sqlite3.Connection, name: str) -> int:
    value: int = raw.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def check_integrity(raw: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError where a file is damaged; reads all of it."""
    (result,) = raw.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise sqlite3.DatabaseError(str(result).removeprefix("*** in database main ***").strip())


@cache
def columns(schema: Schema) -> Mapping[str, Mapping[str, str]]:
    """The columns of every table of a new file, with their types."""
    with closing(sqlite3.connect(":memory:")) as raw:
        run_steps(raw, schema.steps)
        return _columns(raw)


def _columns(raw: sqlite3.Connection) -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = {}
    query = """SELECT t.name, c.name, c.type FROM sqlite_master t JOIN pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!'"""
    for table, column, kind in raw.execute(query):
        tables.setdefault(table, {})[column] = kind
    return tables


def check_columns(raw: sqlite3.Connection, schema: Schema) -> None:
    """Raise sqlite3.DatabaseError where a table of the newest version, or a column of one, is missing."""
    present = _columns(raw)
    for table, expected in columns(schema).items():
        if table not in present:
            raise sqlite3.DatabaseError(f"no such table: {table}")
        missing: Set[str] = expected.keys() - present[table].keys()
        if missing:
            raise sqlite3.DatabaseError(f"no such column: {table}.{min(missing)}")


@contextmanager
def named_errors(name: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of SQLite (locked, full, damaged) into a StoreFailed that names the file."""
    try:
        yield
    except UnicodeEncodeError as error:
        # A value to look for or to write, which no row of the file is to blame for.
        raise EthogramError(f"{name}: a text cannot be stored: {error.reason}") from error
    except (sqlite3.Error, *BAD_ROW) as error:
        raise StoreFailed(f"{name}: {explain(error)}") from error


def explain(error: BaseException) -> str:
    """Say what an error of SQLite, or of reading a row, means for a file, and what to do about it."""
    code = error_code(error)
    if code in SOUND:
        return f"{error}{SOUND[code]}"
    what = (
        str(error) if isinstance(error, sqlite3.Error) else f"a row cannot be read ({type(error).__name__})"
    )
    return f"damaged: {what}; restore a backup, or save what can be read with `sqlite3 FILE .recover`"


def error_code(error: BaseException) -> int:
    """SQLite's primary result code; -1 where the error has none."""
    code: int = getattr(error, "sqlite_errorcode", -1)
    return code if code < 0 else code & 0xFF
