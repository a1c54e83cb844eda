"""Notes of the service, states of runners and conversations; pseudonyms and the audit of a private store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import BadUsage
from ..models import micros, moment
from .numbers import get_meta, next_numbers, set_meta
from .records import SavedState
from .row_store import Condition, RowStore, atomic
from .rows import encode

if TYPE_CHECKING:
    from ..usage.records import UsageLook

HAS_PEOPLE = "usage_retention"
"""The number that a store has once a usage tracker has used it."""
PRIVATE, SALT, MORE_SALT = "private", "private_salt", "private_salt_low"


class States(RowStore):
    """Records and states by kind and key."""

    def put_note(self, kind: str, key: str, record: Mapping[str, Any] | None, at: datetime) -> None:
        """Replace a record that is not derived from events, such as an API key; None removes it."""
        if record is None:
            self.delete("notes", [("kind", "=", kind), ("key", "=", key)])
        else:
            self.write("notes", [(kind, key, micros(at), encode(dict(record)))])

    def notes(self, kind: str, keys: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """The records of a kind by key, oldest first; of all keys or these."""
        where: list[Condition] = [("kind", "=", kind)]
        if keys is not None:
            where.append(("key", "in", keys))
        with self.snapshot() as view:
            rows = view.rows("notes", where, columns=("key", "record"), order=("at_us", "key"))
            return {key: json.loads(record) for key, record in rows}

    def note(self, kind: str, key: str) -> dict[str, Any] | None:
        """One record, or None."""
        where = [("kind", "=", kind), ("key", "=", key)]
        with self.snapshot() as view:
            for (text,) in view.rows("notes", where, columns=("record",), limit=1):
                record: dict[str, Any] = json.loads(text)
                return record
        return None

    def save_state(
        self, name: str, key: str, state: bytes | None, at: datetime, *, subject: str | None = None
    ) -> None:
        """Replace a state; None removes it.

        One with a `subject` belongs to it: a purge of others leaves it. One without can be rebuilt.
        """
        if state is None:
            self.delete("runner_states", [("name", "=", name), ("key", "=", key)])
        else:
            self.write("runner_states", [(name, key, micros(at), state, subject)])

    def load_state(self, name: str, key: str) -> bytes | None:
        """The state that was saved last, or None."""
        where = [("name", "=", name), ("key", "=", key)]
        for (state,) in self.rows("runner_states", where, columns=("state",), limit=1):
            return bytes(state)
        return None

    def states_of(self, subject: str) -> list[SavedState]:
        """A subject's own states, by name and key."""
        with self.snapshot() as view:
            rows = view.rows("runner_states", [("subject", "=", subject)], order=("name", "key"))
            return [
                SavedState(subject, name, key, moment(saved), json.loads(bytes(state)))
                for name, key, saved, state, _ in rows
            ]


class Privacy(RowStore):
    """The key check, salt and audit of a store of pseudonyms."""

    def private(self) -> int | None:
        """The check of the key; None where names are stored as they are."""
        return get_meta(self, PRIVATE)

    def private_salt(self) -> int | None:
        """The store's own random number, part of every pseudonym; None in those of the first scheme."""
        return get_meta(self, SALT)

    def check_events(self) -> None:
        """Raise BadUsage where there are people of a usage tracker and nothing else."""
        if get_meta(self, HAS_PEOPLE) is not None and not self.count("sources"):
            does = "`ethogram usage signals`, `usage sweep`, `usage info`, `export` and `purge` are for it"
            raise BadUsage(f"{self.url} is a usage store, not a store of events; {does}")

    def private_scope(self) -> tuple[str, bytes]:
        """The purpose and salt of the pseudonyms: see Keys.scoped. First usage trackers had longer salts."""
        salt, more = get_meta(self, SALT), get_meta(self, MORE_SALT)
        if more is None:
            return "events", (salt or 0).to_bytes(8, "big")
        return "usage", b"".join(part.to_bytes(8, "big", signed=True) for part in (salt or 0, more))

    @atomic
    def make_private(self, check: int, salt: int | None = None) -> None:
        """Mark the store as one of pseudonyms; one that is marked stays as it is."""
        if get_meta(self, PRIVATE) is not None:
            return
        set_meta(self, PRIVATE, check)
        if salt is not None:
            set_meta(self, SALT, salt)

    def add_looks(self, looks: Iterable[UsageLook]) -> None:
        """Write lines of the audit."""
        rows = [(micros(look.at), look.what, look.person, look.who, look.why) for look in looks]

        def work() -> None:
            numbers = next_numbers(self, "looks", len(rows))
            self.write("looks", [(key, *row) for key, row in zip(numbers, rows, strict=True)])

        self.transact(work)

    def looks(self, person: str | None = None) -> list[UsageLook]:
        """The audit, oldest first: all, or the lines about one person."""
        from ..usage.records import UsageLook  # here: it loads much

        where = () if person is None else [("person", "=", person)]
        with self.snapshot() as view:
            return [UsageLook(moment(at), *row) for _, at, *row in view.rows("looks", where, order=("key",))]
