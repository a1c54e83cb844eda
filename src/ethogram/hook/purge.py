"""Purging: what is known of runs, gone from every file of the state folder."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import EthogramError
from .keep import FORMAT
from .place import log_path, state_dir, state_path

WAIT = 10.0
TABLES = ("run", "said", "found")


@dataclass(frozen=True, slots=True)
class Purged:
    """How much is gone. `clean` is False where another program still holds old pages."""

    runs: int = 0
    said: int = 0
    found: int = 0
    files: tuple[str, ...] = ()
    clean: bool = True


def purge(session: str = "", before: float | None = None) -> Purged:
    """Remove what is known of a session, of what came to pass before a moment, or of everything.

    Files that were set aside go in any case: nobody can say what stands in them. With everything go plans
    and logs, too; how to undo an install stays, since it says nothing of runs.
    """
    gone = _rows(session, before)
    is_all = not session and before is None
    files = [*_aside(), *(_rest() if is_all else [])]
    if gone is None:
        files += _state_files() if is_all or os.path.exists(state_path()) else []
        gone = Purged()
    removed = tuple(str(one) for one in files if _unlinked(one))
    return replace(gone, files=removed)


def _rows(session: str, before: float | None) -> Purged | None:
    """The rows that went; None where there is no file, or none that can be read."""
    path = Path(state_path())
    if not path.exists():
        return None
    where = "1"
    values: list[str | float] = []
    if session:
        where, values = where + " and session=?", [*values, session]
    if before is not None:
        where, values = where + " and at<?", [*values, before]
    try:
        with closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as db:
            if db.execute("pragma user_version").fetchone()[0] != FORMAT:
                if where == "1":
                    return None
                raise EthogramError(f"{path}: another version of ethogram wrote it; only all of it can go")
            db.execute("pragma secure_delete=on")
            db.execute("begin immediate")
            counts = [db.execute(f"delete from {name} where {where}", values).rowcount for name in TABLES]
            db.execute("commit")
            # What was written before stands in free pages and in the log still, until both are made anew.
            db.execute("vacuum")
            busy = db.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
            runs, said, found = counts
            return Purged(runs, said, found, clean=not busy)
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise EthogramError(f"{path}: another program writes to it just now; try again") from None
        raise EthogramError(f"{path}: {error}") from None
    except sqlite3.DatabaseError:
        return None


def _state_files() -> list[Path]:
    return [Path(state_path() + end) for end in ("", "-wal", "-shm")]


def _aside() -> list[Path]:
    """Files that could not be read and were set aside."""
    name = Path(state_path()).name
    return sorted(Path(state_dir()).glob(f"{name}.unreadable*"))


def _rest() -> list[Path]:
    """Plans and logs."""
    logs = [Path(log_path()), Path(log_path() + ".old")]
    return [*sorted(Path(state_dir(), "plans").glob("*")), *logs]


def _unlinked(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
