"""Answers: a file of what was answered, so that nothing is asked and paid for twice.

It holds numbers, ids of indicators and the places of their quotes in the text; no text and no name. A key is
a digest of the whole question, so whoever has the file learns nothing of what was asked.

Every row has an HMAC by a key of this user's own, which is in no cache: an answer that somebody else wrote or
changed is not believed. It counts as absent, and is asked for again.
"""

from __future__ import annotations

import hmac
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import BadUsage
from ..files import make_private_file, make_private_folder, sqlite
from ..files.sqlite import Schema
from ..models import TRAITS
from ..patterns.catalogue import indicator_catalogue
from ..usage.pseudonym import Keys, new_keys, read_keys, write_keys
from .base import Evaluation, Found, Usage

TABLES = """
CREATE TABLE answers (
  key TEXT PRIMARY KEY, scorer TEXT NOT NULL, at TEXT NOT NULL, answer TEXT NOT NULL, tag BLOB
) WITHOUT ROWID;
CREATE TABLE jobs (
  id TEXT PRIMARY KEY, scorer TEXT NOT NULL, at TEXT NOT NULL, keys TEXT NOT NULL, tag BLOB
) WITHOUT ROWID;
"""
SCHEMA = Schema(0x65746861, (TABLES,))
BUSY = 30_000  # milliseconds to wait for another writer


class Answers:
    """A file of answers, or one in memory that is gone afterwards. Every answer is on disk once put.

    `untrusted` are the keys of answers, and the ids of batches, whose tag is wrong or missing.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.untrusted: set[str] = set()
        if self.path is not None and self.path.exists():
            check_file(self.path)
        self._keys = new_keys() if path is None else own_keys()
        with self._errors():
            self._connection = _open(self.path)

    def get(self, key: str) -> Evaluation | None:
        """The answer to a question, if it was answered before; one that somebody spoilt is none."""
        with self._errors():
            query = "SELECT key, scorer, at, answer, tag FROM answers WHERE key = ?"
            row = self._connection.execute(query, (key,)).fetchone()
        try:
            record = None if row is None or not self._is_own("answer", row) else json.loads(row[3])
        except (ValueError, TypeError, RecursionError):
            record = None
        return None if record is None or fault_of(record) else evaluation_of(record)

    def put(self, key: str, answer: Evaluation, at: datetime) -> None:
        """Keep an answer, at once; BadUsage where there is no room for it."""
        said = json.dumps(answer.to_dict(), separators=(",", ":"))
        with self._errors(), self._connection:
            row = (key, answer.scorer, at.isoformat(), said)
            put = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)"
            self._connection.execute(put, (*row, self._tag("answer", row)))

    def add_job(self, name: str, scorer: str, keys: Sequence[str], at: datetime) -> None:
        """Remember a batch that is under way, and which questions are in it."""
        with self._errors():
            row = (name, scorer, at.isoformat(), json.dumps(list(keys)))
            put = "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?)"
            self._connection.execute(put, (*row, self._tag("job", row)))

    def jobs(self, scorer: str) -> Iterator[tuple[str, list[str]]]:
        """The batches of a scorer that are under way: name, and keys of the questions."""
        with self._errors():
            query = "SELECT id, scorer, at, keys, tag FROM jobs WHERE scorer = ? ORDER BY at, id"
            found = self._connection.execute(query, (scorer,)).fetchall()
        for row in found:
            if self._is_own("job", row):
                yield row[0], json.loads(row[3])

    def end_job(self, name: str) -> None:
        """Forget a batch whose answers are kept."""
        with self._errors():
            self._connection.execute("DELETE FROM jobs WHERE id = ?", (name,))

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    def _tag(self, kind: str, row: Sequence[str]) -> bytes:
        said = json.dumps([kind, *row]).encode()
        return hmac.digest(self._keys.chain[0], said, "sha256")

    def _is_own(self, kind: str, row: Sequence[Any]) -> bool:
        """Whether this user wrote a row, as it is now; one of anybody else is counted."""
        *said, tag = row
        with suppress(TypeError):  # values of another kind than those that are written
            if isinstance(tag, bytes) and hmac.compare_digest(tag, self._tag(kind, said)):
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
        """Let go of the file."""
        self._connection.close()


def check_file(path: Path) -> None:
    """Check that a file is one of answers, and this user's own, without changing it; else BadUsage."""
    how = "name another file with --answers"
    about = path.stat()
    if hasattr(os, "geteuid"):
        if about.st_uid != os.geteuid():
            raise BadUsage(f"{path} belongs to another user; {how}")
        if about.st_mode & 0o022:
            raise BadUsage(f"{path} may be written by others; chmod 600 {path}, or {how}")
    if about.st_size:
        sqlite.check_kind(path, SCHEMA)


def _open(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        make_private_folder(path.parent)
        make_private_file(path)
    return sqlite.open_current(path or ":memory:", SCHEMA, busy=BUSY, synchronous="FULL")


def own_keys() -> Keys:
    """The key by which this user's answers are tagged, made when it is first needed.

    It is where the system keeps state, not in the cache, in a file that only its owner may read.
    """
    home = os.environ.get("XDG_STATE_HOME")
    path = (Path(home) if home else Path.home() / ".local" / "state") / "ethogram" / "answers.key"
    how = "set XDG_STATE_HOME to a folder of yours"
    if not path.exists():
        try:
            make_private_folder(path.parent)
            write_keys(path, new_keys())
        except OSError as error:
            raise BadUsage(f"{path} cannot be written: {error.strerror or error}; {how}") from None
        except BadUsage:
            if not path.exists():  # another process may have been first
                raise
    return read_keys(path, how=how)


def fault_of(record: Any) -> str:
    """What is wrong with an answer as JSON; '' where nothing is."""
    if not isinstance(record, Mapping):
        return "no JSON object"
    width, cost = record.get("width"), record.get("cost", 0.0)
    if not isinstance(record.get("scorer"), str) or type(width) is not int or width < 0:
        return "an answer needs scorer, a text, and width, a whole number from 0"
    if cost is not None and (isinstance(cost, bool) or not isinstance(cost, (int, float)) or not cost >= 0):
        return "cost must be a number from 0, or null"
    traits, indicators = record.get("traits"), record.get("indicators")
    if not isinstance(traits, Mapping) or not isinstance(indicators, list):
        return "an answer needs traits, an object, and indicators, a list"
    for name, value in traits.items():
        if name not in TRAITS or not _is_share(value):
            return f"traits: {name!r:.40} must be one of the twelve, with a number from 0 to 1"
    for indicator in indicators:
        if not isinstance(indicator, Mapping) or not {"id", "confidence", "start", "end"} <= set(indicator):
            return "an indicator has id, confidence, start and end"
        if indicator["id"] not in indicator_catalogue() or not _is_share(indicator["confidence"]):
            return "an indicator needs a known id and a confidence from 0 to 1"
        places = (indicator["start"], indicator["end"])
        if any(type(n) is not int for n in places) or not 0 <= places[0] < places[1]:
            return "an indicator's start and end are places in the text"
    return _usage_fault(record)


def _usage_fault(record: Mapping[str, Any]) -> str:
    for name in ("usage", "dropped"):
        counts = record.get(name, {})
        if not isinstance(counts, Mapping) or any(type(n) is not int or n < 0 for n in counts.values()):
            return f"{name} must be an object of counts"
    if not set(record.get("usage", {})) <= set(Usage.__dataclass_fields__):
        return "usage counts input, output, cache_read and cache_write"
    return ""


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def evaluation_of(record: Mapping[str, Any]) -> Evaluation:
    """The answer that gave a record."""
    return Evaluation(
        {name: float(value) for name, value in record["traits"].items()},
        tuple(
            Found(item["id"], float(item["confidence"]), item["start"], item["end"])
            for item in record["indicators"]
        ),
        record["scorer"],
        record["width"],
        record.get("cost", 0.0),
        Usage(**record.get("usage", {})),
        record.get("dropped", {}),
    )


def default_path() -> Path:
    """Where answers are kept unless the settings or the command say otherwise."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "ethogram" / "answers.sqlite"
