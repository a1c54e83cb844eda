"""Notes of the service: small records by kind and key, such as API keys and the state of an inbox."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..models import micros
from .rows import encode
from .sql import Sql, run


class Notes(Sql):
    """Records that are not derived from events."""

    def put_note(self, kind: str, key: str, record: Mapping[str, Any] | None, at: datetime) -> None:
        """Replace a record; None removes it."""
        save = """INSERT INTO notes (kind, key, at_us, record) VALUES (:kind, :key, :at, :record)
          ON CONFLICT (kind, key) DO UPDATE SET at_us = excluded.at_us, record = excluded.record"""
        drop = "DELETE FROM notes WHERE kind = :kind AND key = :key"
        with self.writing() as connection:
            if record is None:
                run(connection, drop, kind=kind, key=key)
            else:
                run(connection, save, kind=kind, key=key, at=micros(at), record=encode(dict(record)))

    def notes(self, kind: str) -> dict[str, dict[str, Any]]:
        """The records of a kind by key, oldest first."""
        query = "SELECT key, record FROM notes WHERE kind = :kind ORDER BY at_us, key"
        with self.reading() as connection:
            return {key: json.loads(record) for key, record in run(connection, query, kind=kind).all()}

    def note(self, kind: str, key: str) -> dict[str, Any] | None:
        """One record, or None."""
        query = "SELECT record FROM notes WHERE kind = :kind AND key = :key"
        with self.reading() as connection:
            record = run(connection, query, kind=kind, key=key).scalar()
        return None if record is None else json.loads(record)
