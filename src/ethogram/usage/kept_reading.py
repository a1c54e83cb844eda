"""Reading a usage store: people, events, what was told, and who looked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..files import telling
from .audit import WHATS, Look
from .kept_file import PERSON, KeptFile, person_of
from .pseudonym import name_of
from .shelf import KeptEvent, Person, Who
from .telling import Episode

PAGE = 500
"""People read at once."""
LOOK = "INSERT INTO audit (at, what, person, who, why) VALUES (?, ?, ?, ?, ?)"


class KeptReading(KeptFile):
    """What can be asked of a file."""

    def name(self, who: Who) -> bytes:
        """The name of somebody, known or not."""
        with self._lock, telling(self.path):
            self._check_keys()
            return name_of(self.keys, who)

    def person(self, who: Who) -> Person | None:
        """Who is kept under a name."""
        return next(self.people([who]), None)

    def people(self, whom: Sequence[Who] | None = None) -> Iterator[Person]:
        """Everybody, a page at a time, or these."""
        if whom is not None:
            for one in whom:
                name = self.name(one)
                yield from self._people("WHERE name = ?", (name,))
            return
        last, is_more = 0, True
        while is_more:
            keys: list[int] = []
            page = list(self._people("WHERE key > ? ORDER BY key LIMIT ?", (last, PAGE), keys))
            last, is_more = max(keys, default=0), bool(keys)
            yield from page

    def _people(
        self, where: str, values: tuple[object, ...], keys: list[int] | None = None
    ) -> Iterator[Person]:
        query = f"SELECT {PERSON} FROM people {where}"
        with self._lock, telling(self.path):
            raw = self._connection()
            rows = raw.execute(query, values).fetchall()
            told: dict[int, list[Episode]] = {}
            if rows:
                episodes = "SELECT person, signal, opened, level, last FROM told WHERE person BETWEEN ? AND ?"
                span = (min(row[0] for row in rows), max(row[0] for row in rows))
                for person, *one in raw.execute(episodes, span):
                    told.setdefault(person, []).append(Episode(*one))
        for row in rows:
            key, state, *_ = person_of(row)
            if keys is not None:
                keys.append(key)
            yield Person(row[-1], state, tuple(told.get(key, ())))

    def events(self, name: bytes) -> Iterator[KeptEvent]:
        """The events that are kept of a person, oldest first."""
        query = """SELECT at, length, flags, session, e.ahead FROM events e JOIN people p ON p.key = e.person
          WHERE p.name = ? ORDER BY at, e.rowid"""
        with self._lock, telling(self.path):
            rows = self._connection().execute(query, (name,)).fetchall()
        return (KeptEvent(*row) for row in rows)

    # --- what was told, and who looked ------------------------------------------------------

    def tell(self, rows: Iterable[tuple[bytes, Sequence[Episode]]], looks: Iterable[Look]) -> None:
        """Remember what was told, and who looked."""
        put = """INSERT INTO told SELECT key, ?, ?, ?, ? FROM people WHERE name = ?
          ON CONFLICT DO UPDATE SET level = excluded.level, last = excluded.last"""
        lines = [
            (int(one.at * 1_000_000), WHATS.index(one.what), one.person, one.who, one.why) for one in looks
        ]
        with self._writing() as raw:
            raw.executemany(put, [(*one, name) for name, episodes in rows for one in episodes])
            raw.executemany(LOOK, lines)

    def looks(self, name: bytes | None = None) -> Iterator[Look]:
        """The audit, oldest first: all, or the lines about one person."""
        where, values = ("", ()) if name is None else ("WHERE person = ?", (name,))
        query = f"SELECT at, what, person, who, why FROM audit {where} ORDER BY key"
        with self._lock, telling(self.path):
            rows = self._connection().execute(query, values).fetchall()
        return (Look(at / 1_000_000, WHATS[what], person, who, why) for at, what, person, who, why in rows)

    def counts(self) -> dict[str, int]:
        """How much is kept."""
        tables = {"people": "people", "events": "events", "looks": "audit"}
        with self._lock, telling(self.path):
            raw = self._connection()
            query = "SELECT count(*) FROM {}"
            return {name: raw.execute(query.format(one)).fetchone()[0] for name, one in tables.items()}
