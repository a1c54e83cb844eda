"""Cache of answers in a SQLite file, so that nothing is asked and paid for twice.

It holds scores, ids of indicators and offsets, but no text and no names; keys are digests of the question.
Every row has an HMAC made with the user's own key, which is stored elsewhere: a row that somebody else wrote
or changed counts as absent.
"""

from __future__ import annotations

import hmac
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ..errors import BadUsage
from ..files import make_private_file, make_private_folder, sqlite
from ..files.sqlite import Schema
from ..models import TRAITS
from ..models.slotted import replace
from ..patterns.catalogue import indicator_catalogue
from ..usage.pseudonym import Keys, new_keys, read_keys, write_keys
from .base import Evaluation

TABLES = """
CREATE TABLE answers (
  key TEXT PRIMARY KEY, scorer TEXT NOT NULL, at TEXT NOT NULL, answer TEXT NOT NULL, tag BLOB
) WITHOUT ROWID;
CREATE TABLE jobs (
  id TEXT PRIMARY KEY, scorer TEXT NOT NULL, at TEXT NOT NULL, keys TEXT NOT NULL, tag BLOB
) WITHOUT ROWID;
"""
SCHEMA = Schema(0x65746861, (TABLES,))
BUSY_MS = 30_000  # wait for another writer


class Answers:
    """Saved answers in a file or in memory; `untrusted` are keys and batch ids with a wrong or no tag."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.untrusted: set[str] = set()
        if self.path is not None and self.path.exists():
            check_file(self.path)
        self._keys = new_keys() if path is None else own_keys()
        with self._errors():
            if self.path is not None:
                make_private_folder(self.path.parent)
                make_private_file(self.path)
            self._connection = sqlite.open_current(
                self.path or ":memory:", SCHEMA, busy=BUSY_MS, synchronous="FULL"
            )

    def get(self, key: str) -> Evaluation | None:
        """The saved answer to a question; None where there is none, or it is damaged or not this user's."""
        with self._errors():
            query = "SELECT key, scorer, at, answer, tag FROM answers WHERE key = ?"
            row = self._connection.execute(query, (key,)).fetchone()
        if row is None or not self._is_own("answer", row):
            return None
        try:
            return evaluation_of(json.loads(row[3]))
        except (ValueError, TypeError, RecursionError):
            return None

    def put(self, key: str, answer: Evaluation, at: datetime) -> None:
        """Save an answer to disk; BadUsage where that fails."""
        with self._errors(), self._connection:
            text = json.dumps(answer.to_dict(), separators=(",", ":"))
            self._insert("answer", (key, answer.scorer, at.isoformat(), text))

    def add_job(self, name: str, scorer: str, keys: Sequence[str], at: datetime) -> None:
        """Save a running batch and the keys of its questions."""
        with self._errors():
            self._insert("job", (name, scorer, at.isoformat(), json.dumps(list(keys))))

    def jobs(self, scorer: str) -> Iterator[tuple[str, list[str]]]:
        """The running batches of a scorer: name, and keys of the questions."""
        with self._errors():
            query = "SELECT id, scorer, at, keys, tag FROM jobs WHERE scorer = ? ORDER BY at, id"
            rows = self._connection.execute(query, (scorer,)).fetchall()
        for row in rows:
            if self._is_own("job", row):
                yield row[0], json.loads(row[3])

    def end_job(self, name: str) -> None:
        """Delete a batch whose answers are saved."""
        with self._errors():
            self._connection.execute("DELETE FROM jobs WHERE id = ?", (name,))

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    def _insert(self, kind: str, row: Sequence[str]) -> None:
        query = f"INSERT OR REPLACE INTO {kind}s VALUES (?, ?, ?, ?, ?)"
        self._connection.execute(query, (*row, self._tag(kind, row)))

    def _tag(self, kind: str, row: Sequence[str]) -> bytes:
        return hmac.digest(self._keys.chain[0], json.dumps([kind, *row]).encode(), "sha256")

    def _is_own(self, kind: str, row: Sequence[Any]) -> bool:
        """Whether this user wrote the row as it is; others are added to `untrusted`."""
        *values, tag = row
        with suppress(TypeError):  # values that are not text
            if isinstance(tag, bytes) and hmac.compare_digest(tag, self._tag(kind, values)):
                return True
        self.untrusted.add(str(row[0]))
        return False

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            why = sqlite.explain(error) if isinstance(error, sqlite3.Error) else error.strerror or error
            raise BadUsage(f"{self.path}: answers cannot be saved here: {why}") from None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def check_file(path: Path) -> None:
    """Raise BadUsage unless a file is this user's own and a cache of answers; the file is not changed."""
    other = "name another file with --answers"
    status = path.stat()
    if hasattr(os, "geteuid"):
        if status.st_uid != os.geteuid():
            raise BadUsage(f"{path} belongs to another user: {other}")
        if status.st_mode & 0o022:
            raise BadUsage(f"{path} may be written by others: chmod 600 {path}, or {other}")
    if status.st_size:
        sqlite.check_kind(path, SCHEMA)


def own_keys() -> Keys:
    """The key of this user's tags: in the state folder, readable by its owner only, made when missing."""
    home = os.environ.get("XDG_STATE_HOME")
    path = (Path(home) if home else Path.home() / ".local" / "state") / "ethogram" / "answers.key"
    how = "set XDG_STATE_HOME to a folder of yours"
    if not path.exists():
        try:
            make_private_folder(path.parent)
            write_keys(path, new_keys())
        except OSError as error:
            raise BadUsage(f"{path} cannot be written: {error.strerror or error}: {how}") from None
        except BadUsage:
            if not path.exists():  # another process may have been first
                raise
    return read_keys(path, hint=how)


def evaluation_of(record: Any) -> Evaluation:
    """The answer in a JSON record; ValueError says what is wrong with it."""
    try:
        answer = msgspec.convert(record, Evaluation)
    except msgspec.ValidationError as error:
        raise ValueError(f"invalid answer: {error}") from None
    for name in answer.traits:
        if name not in TRAITS:
            raise ValueError(f"invalid answer: unknown trait {name!r:.40}")
    for item in answer.indicators:
        if item.id not in indicator_catalogue():
            raise ValueError(f"invalid answer: unknown indicator {item.id!r:.40}")
        if item.start >= item.end:
            raise ValueError("invalid answer: an indicator must end after its start")
    return replace(answer, indicators=tuple(replace(item, quote=None) for item in answer.indicators))


def default_path() -> Path:
    """The default cache file."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "ethogram" / "answers.sqlite"
