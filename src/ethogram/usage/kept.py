"""Kept: people in a file that many processes share. Short transactions; nothing acknowledged is ever lost.

Whoever is killed leaves the file whole (SQLite's write-ahead log). Names are hashes, and are made inside the
transaction by the keys that the file has then, so that a key may be added while others write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from .clock import offset
from .coarse import due, forget_before, tidied
from .kept_file import PERSON, RETENTION, STATE, columns_of, person_of
from .kept_reading import KeptReading
from .kept_schema import telling
from .seen import Seen, added
from .shelf import Batch, Gone, has_id, with_id
from .summary import Summary

__all__ = ["RETENTION", "Kept"]

LAG = 60
"""Seconds by which the newest moment that the file knows may be behind, so that not every event writes it."""
AT_ONCE = 200
"""People, and times ten events, that one transaction lets go of beside what it is for."""
FIND = f"SELECT {PERSON} FROM people WHERE name = ?"
PUT = f"""INSERT INTO people (name, {STATE}, ids, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET first = excluded.first, newest = excluded.newest, events = excluded.events,
    ahead = excluded.ahead, zoned = excluded.zoned, stretches = excluded.stretches, days = excluded.days,
    ids = excluded.ids, due = excluded.due RETURNING key"""
EVENT = "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"


class Kept(KeptReading):
    """A usage store: adding to it, and letting go of what need not be kept."""

    def add(self, batch: Batch, now: float, mark: tuple[bytes, int] | None = None) -> int:
        """How many of the events were new; all are in the file when this returns.

        `mark`: the name of what the events are from, and how many of it are in with these.
        """
        by_name: dict[bytes, list[Seen]] = {}
        for base, seen in batch:
            by_name.setdefault(base, []).append(seen)
        with self._writing() as raw:
            (before,) = raw.execute("SELECT newest FROM about").fetchone()
            newest = max(before, max((seen.at for _, seen in batch), default=0))
            clock = min(now, newest)
            final = self.keys.final
            count = sum(self._add(raw, final(base), events, clock) for base, events in by_name.items())
            if mark is not None:
                put = "INSERT INTO files VALUES (?, ?) ON CONFLICT DO UPDATE SET done = excluded.done"
                raw.execute(put, (self.keys.final(mark[0]), mark[1]))
            if newest >= before + LAG or self.is_stale:
                raw.execute("UPDATE about SET newest = ?", (newest,))
                self.is_stale = self._tidy_some(raw, clock)
        return count

    def done(self, base: bytes) -> int:
        """How many events of something are in already (see `add`)."""
        with self._lock, telling(self.path):
            self._check_keys()
            query = "SELECT done FROM files WHERE name = ?"
            row = self._connection().execute(query, (self.keys.final(base),)).fetchone()
        return 0 if row is None else int(row[0])

    def _add(self, raw: sqlite3.Connection, name: bytes, events: Sequence[Seen], clock: float) -> int:
        row = raw.execute(FIND, (name,)).fetchone()
        key, state, ids, was_due = (None, Summary(), b"", 0) if row is None else person_of(row)
        if key is None and self.keeping.exact:
            # Events need a row to belong to.
            key = self._put(raw, name, state, ids)
        new = 0
        for seen in events:
            known = None if seen.id is None else self.keys.final(seen.id)
            if self.keeping.exact:
                if not self._add_event(raw, key or 0, seen, known):
                    continue
            elif known is not None:
                if has_id(ids, known):
                    continue
                ids = with_id(ids, known)
            new += 1
            state = added(state, seen)
        if new:
            is_due = was_due <= clock or due(state, self.keeping) <= clock
            left = tidied(state, clock, self.keeping) if is_due else state
            self._put(raw, name, Summary() if left is None else left, ids)
        return new

    def _add_event(self, raw: sqlite3.Connection, key: int, seen: Seen, known: bytes | None) -> bool:
        session = None if seen.session is None else self.keys.final(seen.session)
        ahead = None if seen.zone is None else offset(seen.at, seen.zone)
        row = (key, seen.at, seen.length, seen.flags, session, ahead, known)
        return raw.execute(EVENT, row).rowcount > 0

    def _put(self, raw: sqlite3.Connection, name: bytes, state: Summary, ids: bytes) -> int:
        row = (name, *columns_of(state), ids, due(state, self.keeping))
        key: int = raw.execute(PUT, row).fetchone()[0]
        return key

    # --- letting go -------------------------------------------------------------------------

    def tidy(self, now: float) -> None:
        """Let go of everything that need not be kept as of a moment."""
        more = True
        while more:
            with self._writing() as raw:
                (newest,) = raw.execute("SELECT newest FROM about").fetchone()
                raw.execute("UPDATE about SET newest = ?", (max(newest, int(now)),))
                more = self._tidy_some(raw, now)
                old = int(now) - self.keeping.retention
                raw.execute("DELETE FROM told WHERE last < ?", (old,))
        # What was overwritten still stands in the log until it is emptied.
        with self._lock, telling(self.path):
            self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _tidy_some(self, raw: sqlite3.Connection, clock: float) -> bool:
        """Let go of a part of what is due; whether there may be more."""
        query = f"SELECT {PERSON} FROM people WHERE due <= ? LIMIT ?"
        rows = raw.execute(query, (int(clock), AT_ONCE)).fetchall()
        for row in rows:
            key, state, ids, _ = person_of(row)
            left = tidied(state, clock, self.keeping)
            if left is None:
                raw.execute("DELETE FROM people WHERE key = ?", (key,))
            else:
                self._put(raw, row[-1], left, ids)
        before = int(clock) - self.keeping.retention
        old = "SELECT rowid FROM events WHERE at < ? LIMIT ?"
        gone = raw.execute(f"DELETE FROM events WHERE rowid IN ({old})", (before, 10 * AT_ONCE)).rowcount
        return len(rows) == AT_ONCE or gone == 10 * AT_ONCE

    def purge(self, name: bytes | None, before: int | None) -> Gone:
        """What was removed for good: a person, or what lies before a moment, or both."""
        people = events = 0
        with self._writing() as raw:
            where, values = ("", ()) if name is None else ("WHERE name = ?", (name,))
            query = f"SELECT {PERSON} FROM people {where}"
            for row in raw.execute(query, values).fetchall():
                key, state, ids, _ = person_of(row)
                left = None if before is None else forget_before(state, before)
                events += state.events - (left.events if left else 0)
                if left is not None:
                    self._put(raw, row[-1], left, ids)
                    raw.execute("DELETE FROM events WHERE person = ? AND at < ?", (key, before))
                    raw.execute("DELETE FROM told WHERE person = ? AND last < ?", (key, before))
                    continue
                people += 1
                raw.execute("DELETE FROM people WHERE key = ?", (key,))
                raw.execute("UPDATE audit SET person = NULL, why = '' WHERE person = ?", (row[-1],))
            if name is not None and before is None:
                # Looks at somebody who is not there are about them all the same.
                raw.execute("UPDATE audit SET person = NULL, why = '' WHERE person = ?", (name,))
        return Gone(people, events, self.scrub())

    def scrub(self) -> bool:
        """Whether every page that held removed rows is gone: the file is written anew, the log emptied."""
        with self._lock, telling(self.path):
            raw = self._connection()
            raw.execute("VACUUM")
            (busy, *_) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy
