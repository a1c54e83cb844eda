"""States of runners and conversations; the key check, salt and audit of a store of pseudonyms."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import asdict
from sqlalchemy import Connection

from ..models import micros, moment
from ..usage.records import UsageLook
from .imports import get_meta, set_meta
from .records import TALK_SOURCES, SavedState, Who
from .sql import Sql, run, run_many

PRIVATE, SALT = "private", "private_salt"


class States(Sql):
    """States of runners and conversations."""

    def save_state(
        self, name: str, key: str, state: bytes | None, at: datetime, *, subject: str | None = None
    ) -> None:
        """Replace a state; None removes it.

        One with a `subject` belongs to it: a purge of others leaves it. One without can be rebuilt.
        """
        save = """INSERT INTO runner_states (name, key, saved_us, state, subject)
          VALUES (:name, :key, :at, :state, :subject) ON CONFLICT (name, key) DO UPDATE SET
          saved_us = excluded.saved_us, state = excluded.state, subject = excluded.subject"""
        drop = "DELETE FROM runner_states WHERE name = :name AND key = :key"
        with self.writing() as connection:
            if state is None:
                run(connection, drop, name=name, key=key)
            else:
                run(connection, save, name=name, key=key, at=micros(at), state=state, subject=subject)

    def load_state(self, name: str, key: str) -> bytes | None:
        """The state that was saved last, or None."""
        query = "SELECT state FROM runner_states WHERE name = :name AND key = :key"
        with self.reading() as connection:
            state: bytes | None = run(connection, query, name=name, key=key).scalar()
        return state

    def states_of(self, subject: str) -> list[SavedState]:
        """A subject's own states, by name and key."""
        query = """SELECT name, key, saved_us, state FROM runner_states WHERE subject = :subject
          ORDER BY name, key"""
        with self.reading() as connection:
            return [
                SavedState(subject, kind, key, moment(saved), json.loads(state))
                for kind, key, saved, state in run(connection, query, subject=subject).all()
            ]


def purge_states(connection: Connection, subject: Who | str | None, before: datetime | None) -> int:
    """Remove states, and return how many of subjects; all without a subject go, since they can be rebuilt.

    Of a subject in a source, only where that is one of conversations; before a moment, those that
    were saved last before it.
    """
    run(connection, "DELETE FROM runner_states WHERE subject IS NULL")
    if isinstance(subject, tuple) and subject[0] not in TALK_SOURCES:
        return 0
    where = "subject IS NOT NULL"
    record: dict[str, str | int] = {}
    if subject is not None:
        where += " AND subject = :name"
        record["name"] = subject if isinstance(subject, str) else subject[1]
    if before is not None:
        where += " AND saved_us < :before"
        record["before"] = micros(before)
    removed: int = run(connection, f"DELETE FROM runner_states WHERE {where}", **record).rowcount
    return removed


class Privacy(Sql):
    """The key check, salt and audit of a store of pseudonyms."""

    def private(self) -> int | None:
        """The check of the key; None where names are stored as they are."""
        with self.reading() as connection:
            return get_meta(connection, PRIVATE)

    def private_salt(self) -> int | None:
        """The store's own random number, part of every pseudonym; None in those of the first scheme."""
        with self.reading() as connection:
            return get_meta(connection, SALT)

    def make_private(self, check: int, salt: int | None = None) -> None:
        """Mark the store as one of pseudonyms; one that is marked stays as it is."""
        with self.writing() as connection:
            if get_meta(connection, PRIVATE) is not None:
                return
            set_meta(connection, PRIVATE, check)
            if salt is not None:
                set_meta(connection, SALT, salt)

    def add_looks(self, looks: Iterable[UsageLook]) -> None:
        """Write lines of the audit."""
        insert = "INSERT INTO looks (at_us, what, person, who, why) VALUES (:at, :what, :person, :who, :why)"
        with self.writing() as connection:
            run_many(connection, insert, [{**asdict(look), "at": micros(look.at)} for look in looks])

    def looks(self, person: str | None = None) -> list[UsageLook]:
        """The audit, oldest first: all, or the lines about one person."""
        where = "" if person is None else "WHERE person = :person"
        query = f"SELECT at_us, what, person, who, why FROM looks {where} ORDER BY key"
        with self.reading() as connection:
            values = {} if person is None else {"person": person}
            return [UsageLook(moment(at), *row) for at, *row in run(connection, query, **values).all()]
