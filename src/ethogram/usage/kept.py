"""Kept: people in a file that many processes share. Short transactions; nothing acknowledged is ever lost.

Whoever is killed leaves the file whole (SQLite's write-ahead log). Names are hashes, and are made inside the
transaction by the keys that the file has then, so that a key may be added while others write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..files import check_whole, telling
from .broken import without
from .clock import DAY, HALF_HOUR, offset
from .coarse import due, forget_before, oldest_kept, tidied
from .kept_file import PERSON, RETENTION, STATE, columns_of, person_of
from .kept_reading import KeptReading
from .kept_schema import BUSY
from .seen import Seen, added
from .shelf import Batch, Gone, KeptEvent, has_id, with_id
from .summary import Summary

__all__ = ["RETENTION", "Kept"]

TRIES = 5
PATIENCE = 3000
"""How often a purge tries to empty the log while another program reads, and milliseconds that each waits."""
AT_ONCE = 200
"""People, and times ten events, that one transaction lets go of beside what it is for."""
FIND = f"SELECT {PERSON} FROM people WHERE name = ?"
DUE = f"SELECT {PERSON} FROM people WHERE due <= ? LIMIT ?"
PUT = f"""INSERT INTO people (name, {STATE}, ids, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET first = excluded.first, newest = excluded.newest, events = excluded.events,
    ahead = excluded.ahead, zoned = excluded.zoned, stretches = excluded.stretches, days = excluded.days,
    ids = excluded.ids, due = excluded.due RETURNING key"""
MARK = """INSERT INTO files VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET done = excluded.done, newest = max(newest, excluded.newest)"""
HIDE = "UPDATE audit SET person = NULL, why = ''"
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
            newest = max((seen.at for _, seen in batch), default=0)
            # What the file has is rounded up, for it outlives who was there then.
            clock = min(now, max(newest, before - HALF_HOUR))
            final = self.keys.final
            count = sum(self._add(raw, final(base), events, clock) for base, events in by_name.items())
            if mark is not None:
                raw.execute(MARK, (self.keys.final(mark[0]), mark[1], _rounded(newest, DAY)))
            if newest > before or self.is_stale:
                raw.execute("UPDATE about SET newest = ?", (max(before, _rounded(newest, HALF_HOUR)),))
                rows = raw.execute(DUE, (int(clock), AT_ONCE)).fetchall()
                self.is_stale = self._let_go(raw, rows, clock, clock)[-1]
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

    def tidy(self, now: float) -> Gone:
        """What was let go of: everything that need not be kept as of a moment.

        The retention counts back from the newest event where that is before the moment, so that a store of
        old data does not empty itself. Lines of the audit that are older lose their person.
        """
        people = events = last = 0
        more = True
        query = f"SELECT {PERSON} FROM people WHERE key > ? AND due <= ? ORDER BY key LIMIT ?"
        while more:
            with self._writing() as raw:
                newest = min(now, raw.execute("SELECT newest FROM about").fetchone()[0])
                rows = raw.execute(query, (last, int(now), AT_ONCE)).fetchall()
                one_people, one_events, more = self._let_go(raw, rows, now, newest)
                people, events = people + one_people, events + one_events
                last = max((row[0] for row in rows), default=last)
                if not more:
                    raw.execute("DELETE FROM told WHERE last < ?", (oldest_kept(newest, self.keeping),))
                    old = int(now) - self.keeping.retention
                    raw.execute(f"{HIDE} WHERE at < ? AND person IS NOT NULL", (old * 1_000_000,))
        # What was overwritten still stands in the log until it is emptied.
        with self._lock, telling(self.path):
            self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Gone(people, events, True)

    def _let_go(
        self, raw: sqlite3.Connection, rows: Sequence[Sequence[object]], now: float, newest: float
    ) -> tuple[int, int, bool]:
        """People and events let go of, of some rows that are due; whether there may be more."""
        people = events = 0
        for row in rows:
            key, state, ids, _ = person_of(row)
            left = tidied(state, now, self.keeping, newest)
            if not self.keeping.exact:
                events += max(0, state.events - (left.events if left else 0))
            if left is None:
                people += 1
                events += self._remove(raw, key)
            else:
                self._put(raw, row[-1], left, ids)  # type: ignore[arg-type]
        before = oldest_kept(newest, self.keeping)
        old = "SELECT rowid FROM events WHERE at < ? LIMIT ?"
        gone = raw.execute(f"DELETE FROM events WHERE rowid IN ({old})", (before, 10 * AT_ONCE)).rowcount
        self._unmark(raw, before)
        return people, events + gone, len(rows) == AT_ONCE or gone == 10 * AT_ONCE

    def _remove(self, raw: sqlite3.Connection, key: int) -> int:
        """How many events a person had here who is not any more."""
        gone = raw.execute("DELETE FROM events WHERE person = ?", (key,)).rowcount
        raw.execute("DELETE FROM people WHERE key = ?", (key,))
        return gone

    def _unmark(self, raw: sqlite3.Connection, before: int) -> None:
        """Forget the files of which nothing is left, so that they can be recorded again."""
        empty = raw.execute("SELECT NOT EXISTS (SELECT 1 FROM people)").fetchone()[0]
        raw.execute("DELETE FROM files WHERE ? OR newest BETWEEN 1 AND ?", (empty, before))

    def purge(self, name: bytes | None, before: int | None) -> Gone:
        """What was removed for good: a person, or what lies before a moment, or both."""
        people = events = 0
        with self._writing() as raw:
            where, values = ("", ()) if name is None else ("WHERE name = ?", (name,))
            query = f"SELECT {PERSON} FROM people {where}"
            for row in raw.execute(query, values).fetchall():
                if before is not None:
                    is_left, gone = self._purge_before(raw, row, before)
                    events += gone
                    if is_left:
                        continue
                key, state, *_ = person_of(row)
                people += 1
                gone = self._remove(raw, key)
                events += gone if self.keeping.exact else state.events if before is None else 0
                raw.execute(f"{HIDE} WHERE person = ?", (row[-1],))
            if name is not None and before is None:
                # Looks at somebody who is not there are about them all the same.
                raw.execute(f"{HIDE} WHERE person = ?", (name,))
            self._unmark(raw, before or 0)
            (newest,) = raw.execute("SELECT coalesce(max(newest), 0) FROM people").fetchone()
            # When somebody who is gone was last here is nothing to keep.
            raw.execute("UPDATE about SET newest = ?", (_rounded(newest, HALF_HOUR),))
        return Gone(people, events, self.scrub())

    def _purge_before(self, raw: sqlite3.Connection, row: Sequence[object], before: int) -> tuple[bool, int]:
        """Whether a person has anything after a moment, and how many events before it went."""
        key, state, ids, _ = person_of(row)
        gone = raw.execute("DELETE FROM events WHERE person = ? AND at < ?", (key, before)).rowcount
        raw.execute("DELETE FROM told WHERE person = ? AND last < ?", (key, before))
        if self.keeping.exact:
            query = "SELECT at, length, flags, session, ahead FROM events WHERE person = ? ORDER BY at, rowid"
            kept = [KeptEvent(*one) for one in raw.execute(query, (key,))]
            left = without(state, before, kept) if gone else forget_before(state, before)
        else:
            left = forget_before(state, before)
            gone = max(0, state.events - (left.events if left else 0))
        if left is not None:
            self._put(raw, row[-1], left, ids)  # type: ignore[arg-type]
        return left is not None, gone

    def check_whole(self) -> None:
        """Raise EthogramError where the file is damaged, before anything is removed from it."""
        with self._lock, telling(self.path):
            check_whole(self._connection())

    def scrub(self) -> bool:
        """Whether every page that held removed rows is gone: the file is written anew, the log emptied."""
        with self._lock, telling(self.path):
            raw = self._connection()
            raw.execute("VACUUM")
            raw.execute(f"PRAGMA busy_timeout = {PATIENCE}")
            try:
                empty = "PRAGMA wal_checkpoint(TRUNCATE)"
                return any(not raw.execute(empty).fetchone()[0] for _ in range(TRIES))
            finally:
                raw.execute(f"PRAGMA busy_timeout = {BUSY}")


def _rounded(at: int, step: int) -> int:
    """The end of the half-hour, or day, that a moment lies in: when exactly somebody was here is theirs.

    >>> _rounded(1801, 1800), _rounded(1800, 1800), _rounded(0, 1800)
    (3600, 1800, 0)
    """
    return -(-at // step) * step
