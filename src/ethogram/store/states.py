"""States of runners: bytes under a name and a key, such as those of one history or one conversation."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from ..models import micros
from .kept import TALKS, StateRow, Who
from .sql import Sql, run


class States(Sql):
    """What runners saved."""

    def save_state(
        self, name: str, key: str, state: bytes | None, at: datetime, *, subject: str | None = None
    ) -> None:
        """Keep a state in place of the one before; None forgets it.

        With a `subject` it is that one's own: a purge of others leaves it. One without can be made again.
        """
        keep = """INSERT INTO runner_states (name, key, saved_us, state, subject)
          VALUES (:name, :key, :at, :state, :subject) ON CONFLICT (name, key) DO UPDATE SET
          saved_us = excluded.saved_us, state = excluded.state, subject = excluded.subject"""
        drop = "DELETE FROM runner_states WHERE name = :name AND key = :key"
        with self.writing() as connection:
            if state is None:
                run(connection, drop, name=name, key=key)
            else:
                run(connection, keep, name=name, key=key, at=micros(at), state=state, subject=subject)

    def load_state(self, name: str, key: str) -> bytes | None:
        """The state that was saved last, or None."""
        query = "SELECT state FROM runner_states WHERE name = :name AND key = :key"
        with self.reading() as connection:
            found: bytes | None = run(connection, query, name=name, key=key).scalar()
        return found

    def states_of(self, subject: str) -> list[StateRow]:
        """A subject's own states, by name and key."""
        query = """SELECT name, key, saved_us, state FROM runner_states WHERE subject = :subject
          ORDER BY name, key"""
        with self.reading() as connection:
            found = [StateRow(*row) for row in run(connection, query, subject=subject).all()]
            for one in found:
                one.to_dict(subject)  # so that a damaged row is told as one
        return found


def purge_states(connection: Connection, subject: Who | str | None, before: datetime | None) -> int:
    """How many states of subjects were removed; those of nobody go all, since they can be made again.

    Of a subject in a source, only where that is the source of conversations; before a moment, those that
    were saved last before it.
    """
    run(connection, "DELETE FROM runner_states WHERE subject IS NULL")
    if isinstance(subject, tuple) and subject[0] != TALKS:
        return 0
    conditions: list[str] = ["subject IS NOT NULL"]
    values: dict[str, str | int] = {}
    if subject is not None:
        conditions.append("subject = :name")
        values["name"] = subject if isinstance(subject, str) else subject[1]
    if before is not None:
        conditions.append("saved_us < :before")
        values["before"] = micros(before)
    removed: int = run(
        connection, f"DELETE FROM runner_states WHERE {' AND '.join(conditions)}", **values
    ).rowcount
    return removed
