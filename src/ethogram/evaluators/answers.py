"""Answers: a file of what was answered, so that nothing is asked and paid for twice.

It holds numbers, ids of indicators and the places of their quotes in the text; no text and no name. A key is
a digest of the whole question, so whoever has the file learns nothing of what was asked.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import BadUsage
from .protocol import Evaluation, Found, Usage

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
  key TEXT PRIMARY KEY, scorer TEXT NOT NULL, at TEXT NOT NULL, answer TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY, scorer TEXT NOT NULL, at TEXT NOT NULL, keys TEXT NOT NULL
) WITHOUT ROWID;
"""
_VERSION = 1


class Answers:
    """A file of answers, or one in memory that is gone afterwards. Every answer is on disk once put."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        try:
            self._connection = _open(self.path)
        except (sqlite3.Error, OSError) as error:
            raise BadUsage(
                f"{self.path}: answers cannot be kept here ({type(error).__name__}); "
                "name another file, or move this one away"
            ) from None

    def get(self, key: str) -> Evaluation | None:
        """The answer to a question, if it was answered before."""
        row = self._connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else evaluation_of(json.loads(row[0]))

    def put(self, key: str, answer: Evaluation, at: datetime) -> None:
        """Keep an answer, at once."""
        said = json.dumps(record_of(answer), separators=(",", ":"))
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                (key, answer.scorer, at.isoformat(), said),
            )

    def add_job(self, name: str, scorer: str, keys: Sequence[str], at: datetime) -> None:
        """Remember a batch that is under way, and which questions are in it."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)",
                (name, scorer, at.isoformat(), json.dumps(list(keys))),
            )

    def jobs(self, scorer: str) -> Iterator[tuple[str, list[str]]]:
        """The batches of a scorer that are under way: name, and keys of the questions."""
        found = self._connection.execute(
            "SELECT id, keys FROM jobs WHERE scorer = ? ORDER BY at, id", (scorer,)
        ).fetchall()
        for name, keys in found:
            yield name, json.loads(keys)

    def end_job(self, name: str) -> None:
        """Forget a batch whose answers are kept."""
        with self._connection:
            self._connection.execute("DELETE FROM jobs WHERE id = ?", (name,))

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def _open(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Made by us, so that nobody else on the machine can read it.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(":memory:" if path is None else path, timeout=30)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError("made by another version")
        connection.executescript(_TABLES)
        connection.execute(f"PRAGMA user_version={_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def record_of(answer: Evaluation) -> dict[str, Any]:
    """An answer as JSON, without any text."""
    return {
        "traits": dict(answer.traits),
        "indicators": [asdict(one) for one in answer.indicators],
        "scorer": answer.scorer,
        "width": answer.width,
        "cost": answer.cost,
        "usage": asdict(answer.usage),
        "dropped": dict(answer.dropped),
    }


def evaluation_of(record: dict[str, Any]) -> Evaluation:
    """What `record_of` was made from."""
    return Evaluation(
        {name: float(value) for name, value in record["traits"].items()},
        tuple(Found(**one) for one in record["indicators"]),
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
