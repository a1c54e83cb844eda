"""UsageStore: people's summaries in SQLite, in memory or in a file that many processes share.

Transactions are short, and nothing acknowledged is lost: a killed process leaves the file whole. Names are
hashes, made inside the transaction by the keys that the file has then, so that a key may be added while
others write. In memory only summaries are stored, never single events.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from ..errors import BadUsage
from ..files import sqlite
from ..files.sqlite import Schema, named_errors
from .audit import WHATS, Look
from .clock import DAY, HALF_HOUR, offset
from .event import UsageEvent
from .pseudonym import NAME_BYTES, Keys, Pseudonym, name_of, read_keys, waiting_file
from .retention import Policy, due, forget_before, oldest_kept, rebuild, retained
from .signals import Episode
from .summary import EMPTY, Summary, add_event, session_mark

PURPOSE = "usage"
"""Purpose of the pseudonyms of such a file (see Keys.scoped)."""
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
RETENTION = 90 * DAY
"""Seconds kept by default."""
AT_ONCE = 200
"""People, and times ten events, that one transaction removes beside its own work."""
PAGE = 500
"""People read at once."""
IDS = 64
"""Event ids remembered for each person where the events themselves are not stored."""
MAX_LOOKS = 100_000
"""Lines of the audit in memory."""
MAX_UNSAVED = 100_000
"""People in memory whose rows wait to be written, at most."""
MAX_PEOPLE = 1_000_000
"""People in memory, of about 2 KB each; those longest without an event are evicted first."""

# No column holds any text of a person: the only words are those of who looked at somebody, in `audit`.
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
PERSON = f"name, key, {STATE}, ids, due"
INSERT = f"INSERT INTO people ({STATE}, ids, due, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
UPDATE = """UPDATE people SET first = ?, newest = ?, events = ?, ahead = ?, zoned = ?, stretches = ?,
  days = ?, ids = ?, due = ? WHERE key = ?"""
EVENT = "at, length, flags, session, ahead"
ADD_EVENT = "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
ADD_EPISODE = """INSERT INTO told SELECT key, ?, ?, ?, ? FROM people WHERE name = ?
  ON CONFLICT DO UPDATE SET severity = excluded.severity, last = excluded.last"""
ADD_FILE = """INSERT INTO files VALUES (?, ?, ?) ON CONFLICT DO UPDATE
  SET done = excluded.done, newest = max(newest, excluded.newest)"""
ADD_LOOK = "INSERT INTO audit (at, what, person, who, why) VALUES (?, ?, ?, ?, ?)"
HIDE = "UPDATE audit SET person = NULL, why = ''"

Who = bytes | Pseudonym
"""A person: the name by the first key alone (see Keys.base), or the name that the store has."""
Batch = Sequence[tuple[bytes, UsageEvent]]
"""Names by the first key with one event each."""


class Person(NamedTuple):
    """A stored person: the name, the summary, and what was reported about them."""

    name: bytes
    state: Summary
    episodes: tuple[Episode, ...]


class StoredEvent(NamedTuple):
    """One event of a file. `ahead`: seconds that the own clock was ahead of UTC, if known."""

    at: int
    length: int | None
    flags: int
    session: bytes | None
    ahead: int | None


class Removed(NamedTuple):
    """What was removed. `clean` is false where another program kept old pages from going."""

    people: int
    events: int
    clean: bool


class _Row(NamedTuple):
    """A row of PERSON; `key` is 0 for a person who is not stored yet."""

    key: int
    state: Summary
    ids: bytes
    due: int


_NO_ROW = _Row(0, EMPTY, b"", 0)


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
        self.evicted, self.max_people = 0, MAX_PEOPLE
        self._is_stale = False  # whether something is to be removed, however little time has passed
        self._unsaved: dict[bytes, _Row] = {}
        self._newest, self._now, self._has_saved = 0, 0.0, False
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
                try:
                    self._check_keys()
                except BadUsage:
                    self._connection().execute(ADD_LOOK, _look_row(Look(at, "refused", None, who, "")))
                    raise
                with self.transaction() as raw:
                    self.policy = self._settle(raw, exact, retention)
        except BaseException:
            self.close()  # so that no log is left beside a file that is not used
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
            self._salt = _value(raw, "SELECT salt FROM about")
            self.keys = self.keys.scoped(PURPOSE, self._salt)

    def _settle(self, raw: sqlite3.Connection, exact: bool | None, retention: int | None) -> Policy:
        """Return the policy of the file, with a new retention where one is given."""
        was_exact, was_retention = raw.execute("SELECT exact, retention FROM about").fetchone()
        if exact is not None and exact != bool(was_exact):
            words = ("aggregates", "events")
            raise BadUsage(f"{self.path} keeps {words[was_exact]}, not {words[exact]}; name another file")
        if retention is not None and retention != was_retention:
            raw.execute("UPDATE about SET retention = ?", (retention,))
            raw.execute("UPDATE people SET due = 0")
            self._is_stale = True
        return Policy(was_retention if retention is None else retention, bool(was_exact))

    def _check_keys(self) -> None:
        """Check that the keys are the file's; read them again where one was added. BadUsage otherwise."""
        if self.path is None:
            return
        check = _value(self._connection(), "SELECT key_check FROM about")
        if check == self.keys.check():
            return
        newest = self.keys
        if self.key_file is not None:
            # A store has its new names before the new keys are in the place of the old ones.
            waiting = waiting_file(self.key_file)
            for file in (waiting, self.key_file) if waiting.exists() else (self.key_file,):
                try:
                    newest = read_keys(file).scoped(PURPOSE, self._salt)
                except BadUsage:
                    if file is self.key_file:
                        raise
                if newest.check() == check:
                    self.keys = newest
                    return
        if newest.until(check) is not None:
            hint = f"run `ethogram usage key rotate {self.key_file or 'FILE'} --store {self.path}`"
            raise BadUsage(f"{self.path}: this store has an older key of this file; {hint}")
        raise BadUsage(f"{self.path}: the key is not that of this store; give the key that it was made with")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, named_errors(self.label):
            self._save()
            yield self._connection()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, with the keys that the file has now."""
        with self._reading() as connection, sqlite.transaction(connection) as raw:
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

        `mark`: the name of their source, and how many of its events are stored with these.
        """
        by_base: dict[bytes, list[UsageEvent]] = {}
        for base, event in batch:
            by_base.setdefault(base, []).append(event)
        newest = max((event.at for _, event in batch), default=0)
        if self.path is None:
            return self._add_in_memory(by_base, newest, now)
        with self.transaction() as raw:
            clock = self._clock(raw, newest, now)
            people = [(self.keys.final(base), events) for base, events in by_base.items()]
            count = 0
            for start in range(0, len(people), PAGE):
                page = dict(people[start : start + PAGE])
                rows = _find(raw, list(page))
                if self.stores_events and (missing := [name for name in page if name not in rows]):
                    # Events need a row to belong to.
                    raw.executemany(INSERT, [(*EMPTY, b"", 0, name) for name in missing])
                    rows |= _find(raw, missing)
                new, changed = self._merge(raw, rows, page, clock)
                _write(raw, changed)
                count += new
            if mark is not None:
                raw.execute(ADD_FILE, (self.keys.final(mark[0]), mark[1], _round_up(newest, DAY)))
            self._advance(raw, newest, clock)
        return count

    def _add_in_memory(self, by_base: dict[bytes, list[UsageEvent]], newest: int, now: float) -> int:
        """Add events to the rows that `_save` writes before anybody reads: SQLite would double the time."""
        with self._lock, named_errors(self.label):
            people = {self.keys.final(base): events for base, events in by_base.items()}
            rows = {name: self._unsaved[name] for name in people if name in self._unsaved}
            missing = [name for name in people if name not in rows]
            if self._has_saved:
                for start in range(0, len(missing), PAGE):
                    rows |= _find(self._connection(), missing[start : start + PAGE])
            self._newest, self._now = max(self._newest, newest), now
            count, changed = self._merge(self._connection(), rows, people, min(now, self._newest))
            self._unsaved |= changed
            if len(self._unsaved) >= MAX_UNSAVED:
                self._save()
        return count

    def _save(self) -> None:
        """Write the rows that were added in memory."""
        if self._unsaved:
            with sqlite.transaction(self._connection()) as raw:
                _write(raw, self._unsaved)
                self._advance(raw, self._newest, self._clock(raw, self._newest, self._now))
                self._evict(raw)
            self._unsaved, self._has_saved = {}, True

    def _clock(self, raw: sqlite3.Connection, newest: int, now: float) -> float:
        """The moment that retention counts from: the newest event of the store, never later than now."""
        # What the file has is rounded up, since it outlives whoever was there then.
        before: int = _value(raw, "SELECT newest FROM about")
        return min(now, max(newest, before - HALF_HOUR))

    def _advance(self, raw: sqlite3.Connection, newest: int, clock: float) -> None:
        """Note the newest event, and remove some of what is due by then."""
        before = _value(raw, "SELECT newest FROM about")
        if newest > before or self._is_stale:
            raw.execute("UPDATE about SET newest = ?", (max(before, _round_up(newest, HALF_HOUR)),))
            rows = _rows(raw, "WHERE due <= ? LIMIT ?", int(clock), AT_ONCE)
            self._is_stale = self._retain(raw, rows, clock, clock)[-1]

    def _merge(
        self,
        raw: sqlite3.Connection,
        rows: dict[bytes, _Row],
        people: dict[bytes, list[UsageEvent]],
        clock: float,
    ) -> tuple[int, dict[bytes, _Row]]:
        """Add the events of people to their rows: how many were new, and the rows that changed."""
        stores_events, policy = self.stores_events, self.policy
        changed: dict[bytes, _Row] = {}
        count = 0
        for name, events in people.items():
            key, before, ids, _ = rows.get(name, _NO_ROW)
            state = before
            for event in events:
                if event.id is not None or stores_events:
                    ids_after = self._add_event(raw, key, event, ids)
                    if ids_after is None:
                        continue
                    ids = ids_after
                count += 1
                at, length, flags, session, _, zone = event
                mark = 0 if session is None else session_mark(session.hex())
                state = add_event(state, at, length, flags, mark, zone)
            if state is not before:
                when = due(state, policy)
                if when <= clock:
                    state = retained(state, clock, policy) or EMPTY
                    when = due(state, policy)
                changed[name] = _Row(key, state, ids, when)
        return count, changed

    def _add_event(self, raw: sqlite3.Connection, key: int, event: UsageEvent, ids: bytes) -> bytes | None:
        """Store an event, or its id in the ids; return the ids, or None where the event is known."""
        name = None if event.id is None else self.keys.final(event.id)
        if self.stores_events:
            session = None if event.session is None else self.keys.final(event.session)
            ahead = None if event.zone is None else offset(event.at, event.zone)
            row = (key, event.at, event.length, event.flags, session, ahead, name)
            return ids if raw.execute(ADD_EVENT, row).rowcount > 0 else None
        if name is None:
            return ids
        return None if has_id(ids, name) else (ids + name)[-IDS * NAME_BYTES :]

    def _put(self, raw: sqlite3.Connection, name: bytes, row: _Row, state: Summary) -> None:
        """Store another summary of a person."""
        _write(raw, {name: row._replace(state=state, due=due(state, self.policy))})

    def done(self, base: bytes) -> int:
        """Return how many events of a source are stored (see `add`)."""
        with self._reading() as raw:
            self._check_keys()
            row = raw.execute("SELECT done FROM files WHERE name = ?", (self.keys.final(base),)).fetchone()
        return 0 if row is None else int(row[0])

    def _evict(self, raw: sqlite3.Connection) -> None:
        """Remove those longest without an event where there are too many, and one in a hundred more."""
        # The highest key is read at once; counting reads an index.
        for query in ("SELECT max(key) FROM people", "SELECT count(*) FROM people"):
            count = _value(raw, query) or 0
            if count <= self.max_people:
                return
        oldest = "SELECT key FROM people ORDER BY newest, key LIMIT ?"
        excess = count - self.max_people + self.max_people // 100
        self.evicted += raw.execute(f"DELETE FROM people WHERE key IN ({oldest})", (excess,)).rowcount

    # --- reading ------------------------------------------------------------------------------

    def name(self, who: Who) -> bytes:
        """Return the name of somebody, known or not."""
        with self._reading():
            self._check_keys()
            return name_of(self.keys, who)

    def person(self, who: Who) -> Person | None:
        """Return the person with a name."""
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
            rows = _rows(raw, where, *values)
            keys = [row.key for row in rows.values()]
            episodes: dict[int, list[Episode]] = {key: [] for key in keys}
            if rows:
                query = "SELECT person, signal, opened, severity, last FROM told WHERE person BETWEEN ? AND ?"
                for person, *episode in raw.execute(query, (keys[0], keys[-1])):
                    episodes.setdefault(person, []).append(Episode(*episode))
        return [(row.key, Person(name, row.state, tuple(episodes[row.key]))) for name, row in rows.items()]

    def events(self, name: bytes) -> list[StoredEvent]:
        """Return the stored events of a person, oldest first."""
        with self._reading() as raw:
            return _events(raw, "(SELECT key FROM people WHERE name = ?)", name)

    def counts(self) -> dict[str, int]:
        """Count what is stored."""
        tables = {"people": "people", "events": "events", "looks": "audit"}
        with self._reading() as raw:
            counts = {name: _value(raw, f"SELECT count(*) FROM {table}") for name, table in tables.items()}
        return {**counts, "evicted": self.evicted} if self.evicted else counts

    # --- reports and audit --------------------------------------------------------------------

    def remember(self, reported: Iterable[tuple[bytes, Sequence[Episode]]]) -> None:
        """Remember what was reported about people, by name."""
        with self.transaction() as raw:
            rows = [(*episode, name) for name, episodes in reported for episode in episodes]
            raw.executemany(ADD_EPISODE, rows)

    def log(self, look: Look) -> None:
        """Add a line to the audit."""
        with self.transaction() as raw:
            raw.execute(ADD_LOOK, _look_row(look))
            if self.path is None:
                query = "DELETE FROM audit WHERE key <= (SELECT max(key) FROM audit) - ?"
                raw.execute(query, (MAX_LOOKS,))

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
        while is_more:
            with self.transaction() as raw:
                newest = min(now, _value(raw, "SELECT newest FROM about"))
                rows = _rows(raw, "WHERE key > ? AND due <= ? ORDER BY key LIMIT ?", last, int(now), AT_ONCE)
                some_people, some_events, is_more = self._retain(raw, rows, now, newest)
                people, events = people + some_people, events + some_events
                last = max((row.key for row in rows.values()), default=last)
                if not is_more:
                    raw.execute("DELETE FROM told WHERE last < ?", (oldest_kept(newest, self.policy),))
                    old = int(now) - self.policy.retention
                    raw.execute(f"{HIDE} WHERE at < ? AND person IS NOT NULL", (old * 1_000_000,))
        # What was overwritten still stands in the log until it is emptied.
        with self._reading() as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Removed(people, events, True)

    def _retain(
        self, raw: sqlite3.Connection, rows: Mapping[bytes, _Row], now: float, newest: float
    ) -> tuple[int, int, bool]:
        """Apply the policy to rows that are due: people and events removed, and whether there may be more."""
        people = events = 0
        for name, row in rows.items():
            left = retained(row.state, now, self.policy, newest)
            events += self._lost(row, left)
            if left is None:
                people += 1
                events += self._remove(raw, row.key)
            else:
                self._put(raw, name, row, left)
        before = oldest_kept(newest, self.policy)
        old = "SELECT rowid FROM events WHERE at < ? LIMIT ?"
        gone = raw.execute(f"DELETE FROM events WHERE rowid IN ({old})", (before, 10 * AT_ONCE)).rowcount
        self._unmark(raw, before)
        return people, events + gone, len(rows) == AT_ONCE or gone == 10 * AT_ONCE

    def _lost(self, row: _Row, left: Summary | None) -> int:
        """Events that a summary lost, where the events themselves are not stored and so not counted."""
        return 0 if self.stores_events else max(0, row.state.events - (left.events if left else 0))

    def _remove(self, raw: sqlite3.Connection, key: int) -> int:
        """Remove a person and return how many stored events went."""
        gone = raw.execute("DELETE FROM events WHERE person = ?", (key,)).rowcount
        raw.execute("DELETE FROM people WHERE key = ?", (key,))
        return gone

    def _unmark(self, raw: sqlite3.Connection, before: int) -> None:
        """Forget the files of which nothing is left, so that they can be recorded again."""
        is_empty = _value(raw, "SELECT NOT EXISTS (SELECT 1 FROM people)")
        raw.execute("DELETE FROM files WHERE ? OR newest BETWEEN 1 AND ?", (is_empty, before))

    def purge(self, name: bytes | None, before: int | None) -> Removed:
        """Remove for good: a person, or what lies before a moment, or both."""
        people = events = 0
        with self.transaction() as raw:
            where, values = ("", ()) if name is None else ("WHERE name = ?", (name,))
            for person, row in _rows(raw, where, *values).items():
                left: Summary | None = None
                if before is not None:
                    left, gone = self._purge_before(raw, row, before)
                    events += gone
                events += self._lost(row, left)
                if left is not None:
                    self._put(raw, person, row, left)
                    continue
                people += 1
                events += self._remove(raw, row.key)
                raw.execute(f"{HIDE} WHERE person = ?", (person,))
            if name is not None and before is None:
                # Looks at somebody who is not there are about them all the same.
                raw.execute(f"{HIDE} WHERE person = ?", (name,))
            self._unmark(raw, before or 0)
            newest = _value(raw, "SELECT coalesce(max(newest), 0) FROM people")
            # When somebody who is gone was last here is not kept.
            raw.execute("UPDATE about SET newest = ?", (_round_up(newest, HALF_HOUR),))
        return Removed(people, events, self.scrub())

    def _purge_before(self, raw: sqlite3.Connection, row: _Row, before: int) -> tuple[Summary | None, int]:
        """Return what is left of a person after a moment, and how many stored events before it went."""
        gone = raw.execute("DELETE FROM events WHERE person = ? AND at < ?", (row.key, before)).rowcount
        raw.execute("DELETE FROM told WHERE person = ? AND last < ?", (row.key, before))
        if self.stores_events and gone:
            return rebuild(row.state, before, _events(raw, "?", row.key)), gone
        return forget_before(row.state, before), gone

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
        hint = f"`ethogram usage record FILE --store {path}` makes one"
        raise BadUsage(f"there is no usage store at {path}; {hint}")


def has_id(ids: bytes, wanted: bytes) -> bool:
    """Return whether an id is among those remembered.

    >>> has_id(b"a" * 16 + b"b" * 16, b"b" * 16), has_id(b"a" * 16 + b"b" * 16, b"a" * 8 + b"b" * 8)
    (True, False)
    """
    at = ids.find(wanted)
    while at >= 0 and at % NAME_BYTES:
        at = ids.find(wanted, at + 1)
    return at >= 0


def _value(raw: sqlite3.Connection, query: str) -> Any:
    return raw.execute(query).fetchone()[0]


def _rows(raw: sqlite3.Connection, where: str, *values: object) -> dict[bytes, _Row]:
    rows = raw.execute(f"SELECT {PERSON} FROM people {where}", values).fetchall()
    return {row[0]: _Row(row[1], Summary._make(row[2:9]), row[9], row[10]) for row in rows}


def _find(raw: sqlite3.Connection, names: Sequence[bytes]) -> dict[bytes, _Row]:
    return _rows(raw, f"WHERE name IN ({', '.join('?' * len(names))})", *names)


def _write(raw: sqlite3.Connection, rows: Mapping[bytes, _Row]) -> None:
    """Write rows by name; those without a key are new."""
    raw.executemany(UPDATE, [(*row.state, row.ids, row.due, row.key) for row in rows.values() if row.key])
    raw.executemany(
        INSERT, [(*row.state, row.ids, row.due, name) for name, row in rows.items() if not row.key]
    )


def _events(raw: sqlite3.Connection, person: str, value: object) -> list[StoredEvent]:
    query = f"SELECT {EVENT} FROM events WHERE person = {person} ORDER BY at, rowid"
    return [StoredEvent(*row) for row in raw.execute(query, (value,))]


def _look_row(look: Look) -> tuple[Any, ...]:
    return int(look.at * 1_000_000), WHATS.index(look.what), look.person, look.who, look.why


def _round_up(at: int, step: int) -> int:
    """Return the end of the half-hour, or day, of a moment: when exactly somebody was here is theirs.

    >>> _round_up(1801, 1800), _round_up(1800, 1800), _round_up(0, 1800)
    (3600, 1800, 0)
    """
    return -(-at // step) * step
