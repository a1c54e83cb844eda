"""UsageStore: people's summaries in SQLite, in memory or in a file that many processes share.

Transactions are short, and nothing that was acknowledged is lost: whoever is killed leaves the file whole.
Names are hashes, made inside the transaction by the keys that the file has then, so that a key may be added
while others write. In memory only summaries are stored, never single events.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BadUsage
from ..files import sqlite
from ..files.sqlite import Schema, named_errors
from ..models.record import Record
from .audit import WHATS, Look
from .clock import DAY, HALF_HOUR, offset
from .event import Seen, added
from .pseudonym import NAME_BYTES, Keys, Pseudonym, name_of, read_keys, waiting_file
from .retention import Policy, due, forget_before, oldest_kept, rebuild, retained
from .signals import Episode
from .summary import Summary

if TYPE_CHECKING:
    from ..fields import Count


PURPOSE = "usage"
"""What the pseudonyms of such a file are for (see Keys.scoped)."""
SALT_BYTES = 16
BUSY = 60_000
"""Milliseconds to wait for another writer."""
PRAGMAS = (
    "foreign_keys = ON",
    # What is removed is overwritten at once, not only when a purge rewrites the file.
    "secure_delete = ON",
    "cache_size = -32768",
    "temp_store = MEMORY",
)
RETENTION = 90 * 86_400
"""Seconds kept by default."""
AT_ONCE = 200
"""People, and times ten events, that one transaction removes beside what it is for."""
PAGE = 500
"""People read at once."""
IDS = 64
"""Event ids remembered for each person where the events themselves are not stored."""
MOST_LOOKS = 100_000
"""Lines of the audit in memory."""
NEVER = 2**62
MOST_PEOPLE = 1_000_000
"""People in memory, of about 2 KB each; those longest without an event go first."""

# There is no column for any text of a person: the only words are those of who looked at somebody, in `audit`.
TABLES = """
CREATE TABLE about (
  one INTEGER PRIMARY KEY CHECK (one = 1), key_check BLOB NOT NULL, exact INTEGER NOT NULL,
  retention INTEGER NOT NULL, newest INTEGER NOT NULL, salt BLOB
) STRICT;
CREATE TABLE people (
  key INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, first INTEGER NOT NULL, newest INTEGER NOT NULL,
  events INTEGER NOT NULL, ahead INTEGER NOT NULL, zoned INTEGER NOT NULL, stretches BLOB NOT NULL,
  days BLOB NOT NULL, ids BLOB NOT NULL, due INTEGER NOT NULL
) STRICT;
CREATE INDEX people_by_due ON people (due);
CREATE TABLE events (
  person INTEGER NOT NULL REFERENCES people (key) ON DELETE CASCADE, at INTEGER NOT NULL, length INTEGER,
  flags INTEGER NOT NULL, session BLOB, ahead INTEGER, id BLOB
) STRICT;
CREATE INDEX events_by_at ON events (at);
CREATE UNIQUE INDEX events_by_id ON events (person, id);
CREATE TABLE told (
  person INTEGER NOT NULL REFERENCES people (key) ON DELETE CASCADE, signal INTEGER NOT NULL,
  opened INTEGER NOT NULL,
  severity INTEGER NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (person, signal, opened)
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
  name BLOB PRIMARY KEY, done INTEGER NOT NULL, newest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
  key INTEGER PRIMARY KEY, at INTEGER NOT NULL, what INTEGER NOT NULL, person BLOB, who TEXT NOT NULL,
  why TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_person ON audit (person);
"""
SCHEMA = Schema(0x65746875, (TABLES,))
STATE = "first, newest, events, ahead, zoned, stretches, days"
PERSON = f"key, {STATE}, ids, due, name"
FIND = f"SELECT {PERSON} FROM people WHERE name = ?"
INSERT = f"INSERT INTO people ({STATE}, ids, due, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
UPDATE = """UPDATE people SET first = ?, newest = ?, events = ?, ahead = ?, zoned = ?, stretches = ?,
  days = ?, ids = ?, due = ? WHERE key = ?"""
ADD_EVENT = "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
ADD_LOOK = "INSERT INTO audit (at, what, person, who, why) VALUES (?, ?, ?, ?, ?)"
HIDE = "UPDATE audit SET person = NULL, why = ''"

Who = bytes | Pseudonym
"""A person: the name by the first key alone (see Keys.base), or the name that the store has."""
Batch = Sequence[tuple[bytes, Seen]]
"""Names by the first key with one event each."""


class Person(NamedTuple):
    """Who is stored under a name: the summary, and what was reported about them."""

    name: bytes
    state: Summary
    told: tuple[Episode, ...]


class StoredEvent(NamedTuple):
    """One event as a file has it. `ahead`: seconds that the own clock was ahead of UTC, if known."""

    at: int
    length: int | None
    flags: int
    session: bytes | None
    ahead: int | None


@dataclass(frozen=True, slots=True)
class Removed(Record):
    """What was removed of people's use.

    `clean` is false where another program kept old pages from going.
    """

    RECORD = "usage_purge"

    people: Count
    events: Count
    clean: bool


class _Row(NamedTuple):
    """A row of PERSON."""

    key: int
    state: Summary
    ids: bytes
    due: int
    name: bytes


class UsageStore:
    """People of a service, in a file or (`path=None`) in memory.

    `exact` and `retention` are the file's own unless given. `at` and `who` stand in the audit where the keys
    are wrong.
    """

    def __init__(
        self,
        path: str | Path | None,
        keys: Keys,
        *,
        key_file: Path | None = None,
        exact: bool | None = None,
        retention: int | None = None,
        create: bool = True,
        at: float = 0.0,
        who: str = "",
    ) -> None:
        self.path = None if path is None else Path(path)
        self.label = path or "memory"
        self.keys, self.key_file = keys, key_file
        self.policy = Policy(retention or RETENTION, exact is not False)
        self.evicted, self.most_people = 0, MOST_PEOPLE
        self._is_stale = False  # whether something is to be removed, however little time has passed
        self._lock = RLock()
        self._raw: sqlite3.Connection | None = None
        self._pid = 0
        self._inherited: list[sqlite3.Connection | None] = []
        self._salt: bytes | None = None
        if self.path is not None:
            check_file(self.path, create=create)
            sqlite.create(self.path)
        try:
            with named_errors(self.label), self._lock:
                self._prepare()
                self._check_opener(at, who)
                with self.transaction():
                    self.policy = self._settle(exact, retention)
        except BaseException:
            # So that no log is left beside a file that is not used.
            self.close()
            raise

    @property
    def stores_events(self) -> bool:
        """Whether single events are stored beside the summaries."""
        return self.policy.exact and self.path is not None

    # --- connection and keys ------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        # After a fork the parent's connection to a file must not be used, nor closed here.
        if self._raw is None or (self.path is not None and self._pid != os.getpid()):
            self._inherited.append(self._raw)
            self._raw, self._pid = connect(self.path), os.getpid()
        return self._raw

    def _prepare(self) -> None:
        with sqlite.transaction(self._connection()) as raw:
            if not sqlite.upgrade(raw, SCHEMA, self.label):
                # Names in memory depend on the key alone.
                salt = None if self.path is None else secrets.token_bytes(SALT_BYTES)
                check = self.keys.scoped(PURPOSE, salt).check()
                about = (check, int(self.policy.exact), self.policy.retention, salt)
                raw.execute("INSERT INTO about VALUES (1, ?, ?, ?, 0, ?)", about)
            sqlite.check_columns(raw, SCHEMA)
            (self._salt,) = raw.execute("SELECT salt FROM about").fetchone()
            self.keys = self._scoped(self.keys)

    def _settle(self, exact: bool | None, retention: int | None) -> Policy:
        raw = self._connection()
        was_exact, was_retention = raw.execute("SELECT exact, retention FROM about").fetchone()
        if exact is not None and exact != bool(was_exact):
            words = ("aggregates", "events")
            raise BadUsage(f"{self.path} keeps {words[was_exact]}, not {words[exact]}; name another file")
        if retention is not None and retention != was_retention:
            raw.execute("UPDATE about SET retention = ?", (retention,))
            raw.execute("UPDATE people SET due = 0")
            self._is_stale = True
        return Policy(was_retention if retention is None else retention, bool(was_exact))

    def _scoped(self, keys: Keys) -> Keys:
        return keys.scoped(PURPOSE, self._salt)

    def _check_keys(self) -> None:
        """Check that the keys are the file's; read them again where one was added. BadUsage otherwise."""
        if self.path is None:
            return
        (check,) = self._connection().execute("SELECT key_check FROM about").fetchone()
        if check == self.keys.check():
            return
        newest = self.keys
        if self.key_file is not None:
            # A store has its new names before the new keys are in the place of the old ones.
            waiting = waiting_file(self.key_file)
            for file in (waiting, self.key_file) if waiting.exists() else (self.key_file,):
                try:
                    newest = self._scoped(read_keys(file))
                except BadUsage:
                    if file is self.key_file:
                        raise
                if newest.check() == check:
                    self.keys = newest
                    return
        if newest.until(check) is not None:
            how = f"run `ethogram usage key rotate {self.key_file or 'FILE'} --store {self.path}`"
            raise BadUsage(f"{self.path}: this store has an older key of this file; {how}")
        raise BadUsage(f"{self.path}: the key is not that of this store; give the key that it was made with")

    def _check_opener(self, at: float, who: str) -> None:
        """Check the keys; wrong ones leave a line in the audit."""
        try:
            self._check_keys()
        except BadUsage:
            line = (int(at * 1_000_000), WHATS.index("refused"), None, who, "")
            self._connection().execute(ADD_LOOK, line)
            raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, named_errors(self.label):
            yield self._connection()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, with the keys that the file has now."""
        with self._lock, named_errors(self.label), sqlite.transaction(self._connection()) as raw:
            self._check_keys()
            yield raw

    def close(self) -> None:
        """Close the file; what was in memory is gone."""
        with self._lock:
            if self._raw is not None and (self.path is None or self._pid == os.getpid()):
                self._raw.close()
            self._raw = None

    # --- adding -------------------------------------------------------------------------------

    def add(self, batch: Batch, now: float, mark: tuple[bytes, int] | None = None) -> int:
        """Store events and return how many were new.

        `mark`: the name of what the events are from, and how many of it are in with these.
        """
        by_name: dict[bytes, list[Seen]] = {}
        for base, seen in batch:
            by_name.setdefault(base, []).append(seen)
        with self.transaction() as raw:
            (before,) = raw.execute("SELECT newest FROM about").fetchone()
            newest = max((seen.at for _, seen in batch), default=0)
            # What the file has is rounded up, for it outlives who was there then.
            clock = min(now, max(newest, before - HALF_HOUR))
            final = self.keys.final
            count = sum(self._add(raw, final(base), events, clock) for base, events in by_name.items())
            if mark is not None and self.path is not None:
                put = """INSERT INTO files VALUES (?, ?, ?) ON CONFLICT DO UPDATE
                  SET done = excluded.done, newest = max(newest, excluded.newest)"""
                raw.execute(put, (final(mark[0]), mark[1], _round_up(newest, DAY)))
            if newest > before or self._is_stale:
                raw.execute("UPDATE about SET newest = ?", (max(before, _round_up(newest, HALF_HOUR)),))
                query = f"SELECT {PERSON} FROM people WHERE due <= ? LIMIT ?"
                rows = _rows(raw, query, int(clock), AT_ONCE)
                self._is_stale = self._retain(raw, rows, clock, clock)[-1]
            if self.path is None:
                self._evict(raw)
        return count

    def done(self, base: bytes) -> int:
        """Return how many events of something are in already (see `add`)."""
        with self._reading() as raw:
            self._check_keys()
            query = "SELECT done FROM files WHERE name = ?"
            row = raw.execute(query, (self.keys.final(base),)).fetchone()
        return 0 if row is None else int(row[0])

    def _add(self, raw: sqlite3.Connection, name: bytes, events: Sequence[Seen], clock: float) -> int:
        row = raw.execute(FIND, (name,)).fetchone()
        key, state, ids, was_due, _ = _Row(0, Summary(), b"", NEVER, name) if row is None else _row(row)
        stores_events = self.stores_events
        if not key and stores_events:
            key = self._put(raw, 0, name, state, ids)  # events need a row to belong to
        new = 0
        for seen in events:
            known = None if seen.id is None else self.keys.final(seen.id)
            if stores_events:
                if not self._add_event(raw, key, seen, known):
                    continue
            elif known is not None:
                if has_id(ids, known):
                    continue
                ids = (ids + known)[-IDS * NAME_BYTES :]
            new += 1
            state = added(state, seen)
        if new:
            when = due(state, self.policy)
            if was_due <= clock or when <= clock:
                state = retained(state, clock, self.policy) or Summary()
                when = due(state, self.policy)
            self._put(raw, key, name, state, ids, when)
        return new

    def _add_event(self, raw: sqlite3.Connection, key: int, seen: Seen, known: bytes | None) -> bool:
        session = None if seen.session is None else self.keys.final(seen.session)
        ahead = None if seen.zone is None else offset(seen.at, seen.zone)
        row = (key, seen.at, seen.length, seen.flags, session, ahead, known)
        return raw.execute(ADD_EVENT, row).rowcount > 0

    def _put(
        self,
        raw: sqlite3.Connection,
        key: int,
        name: bytes,
        state: Summary,
        ids: bytes,
        when: int | None = None,
    ) -> int:
        """Store a summary and return its key; 0 for `key` is a new row. `when`: its `due`, where known."""
        when = due(state, self.policy) if when is None else when
        row = (
            state.first, state.newest, state.events, state.ahead, int(state.zoned), state.stretches,
            state.days, ids, when, key or name,
        )  # fmt: skip
        made = raw.execute(UPDATE if key else INSERT, row)
        return key or made.lastrowid or 0

    def _evict(self, raw: sqlite3.Connection) -> None:
        """Remove those longest without an event where there are too many, and one in a hundred more."""
        # The highest key is read at once; counting reads an index.
        for query in ("SELECT max(key) FROM people", "SELECT count(*) FROM people"):
            count = raw.execute(query).fetchone()[0] or 0
            if count <= self.most_people:
                return
        oldest = "SELECT key FROM people ORDER BY newest, key LIMIT ?"
        excess = count - self.most_people + self.most_people // 100
        self.evicted += raw.execute(f"DELETE FROM people WHERE key IN ({oldest})", (excess,)).rowcount

    # --- reading ------------------------------------------------------------------------------

    def name(self, who: Who) -> bytes:
        """Return the name of somebody, known or not."""
        with self._reading():
            self._check_keys()
            return name_of(self.keys, who)

    def person(self, who: Who) -> Person | None:
        """Return who is stored under a name."""
        return next(self.people([who]), None)

    def people(self, whom: Sequence[Who] | None = None) -> Iterator[Person]:
        """Yield everybody, a page at a time, or these."""
        if whom is not None:
            for item in whom:
                yield from (person for _, person in self._people("WHERE name = ?", self.name(item)))
            return
        last = 0
        while page := self._people("WHERE key > ? ORDER BY key LIMIT ?", last, PAGE):
            last = page[-1][0]
            yield from (person for _, person in page)

    def _people(self, where: str, *values: object) -> list[tuple[int, Person]]:
        with self._reading() as raw:
            rows = _rows(raw, f"SELECT {PERSON} FROM people {where}", *values)
            record: dict[int, list[Episode]] = {row.key: [] for row in rows}
            if rows:
                query = "SELECT person, signal, opened, severity, last FROM told WHERE person BETWEEN ? AND ?"
                for person, *episode in raw.execute(query, (rows[0].key, rows[-1].key)):
                    record.setdefault(person, []).append(Episode(*episode))
        return [(row.key, Person(row.name, row.state, tuple(record[row.key]))) for row in rows]

    def events(self, name: bytes) -> list[StoredEvent]:
        """Return the stored events of a person, oldest first."""
        query = """SELECT at, length, flags, session, e.ahead FROM events e JOIN people p ON p.key = e.person
          WHERE p.name = ? ORDER BY at, e.rowid"""
        with self._reading() as raw:
            return [StoredEvent(*row) for row in raw.execute(query, (name,))]

    def counts(self) -> dict[str, int]:
        """Count what is stored."""
        tables = {"people": "people", "events": "events", "looks": "audit"}
        with self._reading() as raw:
            counts = {
                name: raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for name, table in tables.items()
            }
        return {**counts, "evicted": self.evicted} if self.evicted else counts

    # --- what was reported, and who looked ----------------------------------------------------

    def tell(self, rows: Iterable[tuple[bytes, Sequence[Episode]]], looks: Iterable[Look]) -> None:
        """Remember what was reported, and who looked."""
        put = """INSERT INTO told SELECT key, ?, ?, ?, ? FROM people WHERE name = ?
          ON CONFLICT DO UPDATE SET severity = excluded.severity, last = excluded.last"""
        lines = [
            (int(look.at * 1_000_000), WHATS.index(look.what), look.person, look.who, look.why)
            for look in looks
        ]
        with self.transaction() as raw:
            raw.executemany(put, [(*episode, name) for name, episodes in rows for episode in episodes])
            raw.executemany(ADD_LOOK, lines)
            if self.path is None:
                query = "DELETE FROM audit WHERE key <= (SELECT max(key) FROM audit) - ?"
                raw.execute(query, (MOST_LOOKS,))

    def looks(self, name: bytes | None = None) -> Iterator[Look]:
        """Return the audit, oldest first: all of it, or the lines about one person."""
        where, values = ("", ()) if name is None else ("WHERE person = ?", (name,))
        query = f"SELECT at, what, person, who, why FROM audit {where} ORDER BY key"
        with self._reading() as raw:
            rows = raw.execute(query, values).fetchall()
        return (Look(at / 1_000_000, WHATS[what], person, who, why) for at, what, person, who, why in rows)

    # --- retention and purge ------------------------------------------------------------------

    def tidy(self, now: float) -> Removed:
        """Remove everything that need not be kept as of a moment.

        The retention counts back from the newest event where that is before the moment, so that a store of
        old data does not empty itself. Lines of the audit that are older lose their person.
        """
        people = events = last = 0
        is_more = True
        query = f"SELECT {PERSON} FROM people WHERE key > ? AND due <= ? ORDER BY key LIMIT ?"
        while is_more:
            with self.transaction() as raw:
                newest = min(now, raw.execute("SELECT newest FROM about").fetchone()[0])
                rows = _rows(raw, query, last, int(now), AT_ONCE)
                some_people, some_events, is_more = self._retain(raw, rows, now, newest)
                people, events = people + some_people, events + some_events
                last = max((row.key for row in rows), default=last)
                if not is_more:
                    raw.execute("DELETE FROM told WHERE last < ?", (oldest_kept(newest, self.policy),))
                    old = int(now) - self.policy.retention
                    raw.execute(f"{HIDE} WHERE at < ? AND person IS NOT NULL", (old * 1_000_000,))
        # What was overwritten still stands in the log until it is emptied.
        with self._reading() as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Removed(people, events, True)

    def _retain(
        self, raw: sqlite3.Connection, rows: Sequence[_Row], now: float, newest: float
    ) -> tuple[int, int, bool]:
        """Apply the policy to rows that are due: people and events removed, and whether there may be more."""
        people = events = 0
        for row in rows:
            left = retained(row.state, now, self.policy, newest)
            if not self.stores_events:
                events += max(0, row.state.events - (left.events if left else 0))
            if left is None:
                people += 1
                events += self._remove(raw, row.key)
            else:
                self._put(raw, row.key, row.name, left, row.ids)
        before = oldest_kept(newest, self.policy)
        old = "SELECT rowid FROM events WHERE at < ? LIMIT ?"
        gone = raw.execute(f"DELETE FROM events WHERE rowid IN ({old})", (before, 10 * AT_ONCE)).rowcount
        self._unmark(raw, before)
        return people, events + gone, len(rows) == AT_ONCE or gone == 10 * AT_ONCE

    def _remove(self, raw: sqlite3.Connection, key: int) -> int:
        """Remove a person and return how many stored events went."""
        gone = raw.execute("DELETE FROM events WHERE person = ?", (key,)).rowcount
        raw.execute("DELETE FROM people WHERE key = ?", (key,))
        return gone

    def _unmark(self, raw: sqlite3.Connection, before: int) -> None:
        """Forget the files of which nothing is left, so that they can be recorded again."""
        is_empty = raw.execute("SELECT NOT EXISTS (SELECT 1 FROM people)").fetchone()[0]
        raw.execute("DELETE FROM files WHERE ? OR newest BETWEEN 1 AND ?", (is_empty, before))

    def purge(self, name: bytes | None, before: int | None) -> Removed:
        """Remove for good: a person, or what lies before a moment, or both."""
        people = events = 0
        with self.transaction() as raw:
            where, values = ("", ()) if name is None else ("WHERE name = ?", (name,))
            for row in _rows(raw, f"SELECT {PERSON} FROM people {where}", *values):
                if before is not None:
                    is_left, gone = self._purge_before(raw, row, before)
                    events += gone
                    if is_left:
                        continue
                people += 1
                gone = self._remove(raw, row.key)
                events += gone if self.stores_events else row.state.events if before is None else 0
                raw.execute(f"{HIDE} WHERE person = ?", (row.name,))
            if name is not None and before is None:
                # Looks at somebody who is not there are about them all the same.
                raw.execute(f"{HIDE} WHERE person = ?", (name,))
            self._unmark(raw, before or 0)
            (newest,) = raw.execute("SELECT coalesce(max(newest), 0) FROM people").fetchone()
            # When somebody who is gone was last here is nothing to keep.
            raw.execute("UPDATE about SET newest = ?", (_round_up(newest, HALF_HOUR),))
        return Removed(people, events, self.scrub())

    def _purge_before(self, raw: sqlite3.Connection, row: _Row, before: int) -> tuple[bool, int]:
        """Return whether a person has anything after a moment, and how many events before it went."""
        gone = raw.execute("DELETE FROM events WHERE person = ? AND at < ?", (row.key, before)).rowcount
        raw.execute("DELETE FROM told WHERE person = ? AND last < ?", (row.key, before))
        if self.stores_events and gone:
            query = "SELECT at, length, flags, session, ahead FROM events WHERE person = ? ORDER BY at, rowid"
            left = rebuild(row.state, before, [StoredEvent(*e) for e in raw.execute(query, (row.key,))])
        else:
            left = forget_before(row.state, before)
        if not self.stores_events:
            gone = max(0, row.state.events - (left.events if left else 0))
        if left is not None:
            self._put(raw, row.key, row.name, left, row.ids)
        return left is not None, gone

    def check_integrity(self) -> None:
        """Raise EthogramError where the file is damaged, before anything is removed from it."""
        with self._reading() as raw:
            sqlite.check_integrity(raw)

    def scrub(self) -> bool:
        """Rewrite the file so that no removed row is left; False where another program prevents it."""
        with self._reading() as raw:
            return self.path is None or sqlite.scrub(raw)

    # --- fork ---------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Wait until nobody is at work in memory, whose copy goes to the child."""
        if self.path is None:
            self._lock.acquire()

    def after_fork(self, *, is_child: bool) -> None:
        """Let threads work again; a child waits for no lock of the parent's."""
        if is_child:
            self._lock = RLock()
        elif self.path is None:
            self._lock.release()


def connect(path: Path | None) -> sqlite3.Connection:
    """Open a file, or a database in memory."""
    return sqlite.connect(path or ":memory:", SCHEMA, busy=BUSY, pragmas=PRAGMAS if path else PRAGMAS[:1])


def is_usage_store(path: str | Path) -> bool:
    """Return whether a file is a usage store, or is empty and may become one."""
    try:
        header = sqlite.read_header(path)
    except BadUsage:
        return False
    return header is not None and (header.application == SCHEMA.application or sqlite.is_new(path))


def check_file(path: Path, *, create: bool) -> None:
    """Check that a file is a usage store or may become one, without changing it; else BadUsage."""
    if not sqlite.is_new(path):
        sqlite.check_kind(path, SCHEMA)
    elif not create:
        how = f"`ethogram usage record FILE --store {path}` makes one"
        raise BadUsage(f"there is no usage store at {path}; {how}")


def has_id(ids: bytes, wanted: bytes) -> bool:
    """Return whether an id is among those remembered.

    >>> has_id(b"a" * 16 + b"b" * 16, b"b" * 16), has_id(b"a" * 16 + b"b" * 16, b"a" * 8 + b"b" * 8)
    (True, False)
    """
    at = ids.find(wanted)
    while at >= 0 and at % NAME_BYTES:
        at = ids.find(wanted, at + 1)
    return at >= 0


def _rows(raw: sqlite3.Connection, query: str, *values: object) -> list[_Row]:
    return [_row(row) for row in raw.execute(query, values).fetchall()]


def _row(row: Sequence[object]) -> _Row:
    key, first, newest, events, ahead, zoned, stretches, days, ids, when, name = row
    state = Summary(first, newest, events, ahead, bool(zoned), stretches, days)  # type: ignore[arg-type]
    return _Row(key, state, ids, when, name)  # type: ignore[arg-type]


def _round_up(at: int, step: int) -> int:
    """Return the end of the half-hour, or day, of a moment: when exactly somebody was here is theirs.

    >>> _round_up(1801, 1800), _round_up(1800, 1800), _round_up(0, 1800)
    (3600, 1800, 0)
    """
    return -(-at // step) * step
