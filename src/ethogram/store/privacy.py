"""Privacy: a store that keeps people under other names knows the check of its key, and who looked at whom."""

from __future__ import annotations

from collections.abc import Iterable

from .kept import LookRow
from .moving import set_meta
from .sql import Sql, run, run_many

PRIVATE, SALT = "private", "private_salt"


class Privacy(Sql):
    """What a store of pseudonyms knows beside its events."""

    def private(self) -> int | None:
        """The check of the key; None where names are kept as they are."""
        return self._number(PRIVATE)

    def private_salt(self) -> int | None:
        """The store's own random number, part of every pseudonym; None in those of the first scheme."""
        return self._number(SALT)

    def _number(self, name: str) -> int | None:
        with self.reading() as connection:
            found: int | None = run(connection, "SELECT value FROM meta WHERE name = :n", n=name).scalar()
        return found

    def make_private(self, check: int, salt: int | None = None) -> None:
        """Mark the store as one of pseudonyms; one that is marked stays as it is."""
        with self.writing() as connection:
            if run(connection, "SELECT 1 FROM meta WHERE name = :n", n=PRIVATE).first() is not None:
                return
            set_meta(connection, PRIVATE, check)
            if salt is not None:
                set_meta(connection, SALT, salt)

    def add_looks(self, looks: Iterable[LookRow]) -> None:
        """Write lines of the audit."""
        insert = (
            "INSERT INTO looks (at_us, what, person, who, why) VALUES (:at_us, :what, :person, :who, :why)"
        )
        with self.writing() as connection:
            run_many(connection, insert, [one._asdict() for one in looks])

    def looks(self, person: str | None = None) -> list[LookRow]:
        """The audit, oldest first: all, or the lines about one person."""
        where = "" if person is None else "WHERE person = :person"
        query = f"SELECT at_us, what, person, who, why FROM looks {where} ORDER BY key"
        with self.reading() as connection:
            values = {} if person is None else {"person": person}
            found = [LookRow(*row) for row in run(connection, query, **values).all()]
            for one in found:
                one.to_dict()  # so that a damaged row is told as one
        return found
