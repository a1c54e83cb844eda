"""SQLite files: whose a file is, found out without changing a byte of it, and what an error means."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Set
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from ..errors import BadUsage, EthogramError

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
"""What SQLite says of a file that may be in good order, and what to do about it."""
BAD_ROW = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What it raises to read a row whose content was damaged."""


class Head(NamedTuple):
    """What an SQLite file says of itself. `tables` is empty where the list of tables cannot be read."""

    application: int
    version: int
    tables: frozenset[str]


def read_head(path: str | Path) -> Head | None:
    """The head of a file; None where it is no SQLite file. BadUsage where it cannot be opened.

    Nothing is written, locked, recovered or put beside the file: `immutable` reads the file alone, not the
    log beside it. SQLite does the reading, since opening and closing the file by hand would drop the locks
    that other connections of this process hold on it.
    """
    try:
        address = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as raw:
            # Without this, a file that somebody is just writing to may look too short.
            raw.execute("PRAGMA writable_schema = ON")
            (application,) = raw.execute("PRAGMA application_id").fetchone()
            (version,) = raw.execute("PRAGMA user_version").fetchone()
            return Head(application, version, _tables(raw))
    except sqlite3.DatabaseError as error:
        if _code(error) == sqlite3.SQLITE_NOTADB:
            return None
        raise BadUsage(f"{path}: {complaint(error)}") from None


def _tables(raw: sqlite3.Connection) -> frozenset[str]:
    try:
        rows = raw.execute("SELECT CAST(name AS BLOB) FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.DatabaseError:
        return frozenset()
    return frozenset(bytes(name).decode("utf-8", "replace") for (name,) in rows)


@contextmanager
def telling(name: str | Path) -> Iterator[None]:
    """Turn what a database complains of (locked, full, damaged) into an error of ours that names the file."""
    try:
        yield
    except (sqlite3.Error, *BAD_ROW) as error:
        raise EthogramError(f"{name}: {complaint(error)}") from error


def check_whole(raw: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError where a file is damaged; reads all of it."""
    (found,) = raw.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(str(found).removeprefix("*** in database main ***").strip())


def columns_of(raw: sqlite3.Connection) -> dict[str, set[str]]:
    """The columns of every table."""
    found: dict[str, set[str]] = {}
    query = (
        "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
    )
    for table, column in raw.execute(query):
        found.setdefault(table, set()).add(column)
    return found


def check_columns(raw: sqlite3.Connection, expected: Mapping[str, Set[str]]) -> None:
    """Raise sqlite3.DatabaseError where a table, or a column of one, is not there."""
    found = columns_of(raw)
    for table, columns in expected.items():
        if table not in found:
            raise sqlite3.DatabaseError(f"no such table: {table}")
        if missing := sorted(columns - found[table]):
            raise sqlite3.DatabaseError(f"no such column: {table}.{missing[0]}")


def complaint(error: BaseException) -> str:
    """What an error of SQLite, or of reading a row, says of a file of ours, and what to do about it."""
    if (code := _code(error)) is not None and code in SOUND:
        return f"{error}{SOUND[code]}"
    what = (
        str(error) if isinstance(error, sqlite3.Error) else f"a row cannot be read ({type(error).__name__})"
    )
    return f"damaged: {what}; restore a backup, or save what can be read with `sqlite3 FILE .recover`"


def _code(error: BaseException) -> int | None:
    """SQLite's primary result code; None where the error has none."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
