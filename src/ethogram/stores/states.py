"""States of runners: bytes under a name and a key, such as those of one history."""

from __future__ import annotations

from datetime import datetime

from ..records import micros
from .sql import Sql, run


class States(Sql):
    """What runners saved."""

    def save_state(self, name: str, key: str, state: bytes | None, at: datetime) -> None:
        """Keep a state in place of the one before; None forgets it."""
        keep = """INSERT INTO runner_states VALUES (:name, :key, :at, :state)
          ON CONFLICT (name, key) DO UPDATE SET saved_us = excluded.saved_us, state = excluded.state"""
        drop = "DELETE FROM runner_states WHERE name = :name AND key = :key"
        with self.writing() as connection:
            if state is None:
                run(connection, drop, name=name, key=key)
            else:
                run(connection, keep, name=name, key=key, at=micros(at), state=state)

    def load_state(self, name: str, key: str) -> bytes | None:
        """The state that was saved last, or None."""
        query = "SELECT state FROM runner_states WHERE name = :name AND key = :key"
        with self.reading() as connection:
            found: bytes | None = run(connection, query, name=name, key=key).scalar()
        return found
