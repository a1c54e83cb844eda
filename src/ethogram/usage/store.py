"""UsageStore: summaries of people in SQLite."""

from __future__ import annotations

import atexit
import os
import secrets
import sqlite3
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Lock, RLock, Timer
from typing import NamedTuple, Protocol

from ..errors import BadUsage
from ..files import check_columns, check_whole, make_private_file, read_head, telling
from ..files import columns_of as columns_of_kept_schema
from .audit import WHATS, Look
from .clock import DAY, HALF_HOUR, day_of, offset
from .event import Seen, added
from .pseudonym import NAME_BYTES, Keys, Pseudonym, name_of, read_keys, waiting_file
from .retention import Keeping, due, forget_before, oldest_kept, tidied, without
from .signals import Episode
from .summary import Summary

# The file of a usage store: its tables, how it is made and how it is opened.

APPLICATION = 0x65746875
"""'ethu', which SQLite keeps in the head of the file: no other program's file is ever written to."""
OF_EVENTS = 0x6574686F
"""'etho', which is in the head of a store of events."""
VERSION = 4
PURPOSE = "usage"
"""What the pseudonyms of such a file are for (see Keys.scoped); its column `salt` is empty in old files."""
SALT_BYTES = 16
BUSY = 60_000
"""Milliseconds to wait for another writer."""
# There is no column for any text of a person: the only words are those of who looked at somebody, in `audit`.
TABLES = (
    """CREATE TABLE about (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      key_check BLOB NOT NULL,
      exact INTEGER NOT NULL,
      retention INTEGER NOT NULL,
      newest INTEGER NOT NULL,
      salt BLOB
    ) STRICT""",
    """CREATE TABLE people (
      key INTEGER PRIMARY KEY,
      name BLOB NOT NULL UNIQUE,
      first INTEGER NOT NULL,
      newest INTEGER NOT NULL,
      events INTEGER NOT NULL,
      ahead INTEGER NOT NULL,
      zoned INTEGER NOT NULL,
      stretches BLOB NOT NULL,
      days BLOB NOT NULL,
      ids BLOB NOT NULL,
      due INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX people_by_due ON people (due)",
    """CREATE TABLE events (
      person INTEGER NOT NULL REFERENCES people (key) ON DELETE CASCADE,
      at INTEGER NOT NULL,
      length INTEGER,
      flags INTEGER NOT NULL,
      session BLOB,
      ahead INTEGER,
      id BLOB
    ) STRICT""",
    "CREATE INDEX events_by_at ON events (at)",
    "CREATE UNIQUE INDEX events_by_id ON events (person, id)",
    """CREATE TABLE told (
      person INTEGER NOT NULL REFERENCES people (key) ON DELETE CASCADE,
      signal INTEGER NOT NULL,
      opened INTEGER NOT NULL,
      severity INTEGER NOT NULL,
      last INTEGER NOT NULL,
      PRIMARY KEY (person, signal, opened)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE files (
      name BLOB PRIMARY KEY, done INTEGER NOT NULL, newest INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE audit (
      key INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      what INTEGER NOT NULL,
      person BLOB,
      who TEXT NOT NULL,
      why TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX audit_by_person ON audit (person)",
)


def is_usage_store(path: str | Path) -> bool:
    """Whether a file is a usage store, or is empty and may become one."""
    try:
        head = read_head(path)
    except BadUsage:
        return False
    return head is not None and (head.application == APPLICATION or not Path(path).stat().st_size)


def make_file(path: Path) -> None:
    """Make an empty file that only its owner may read; an existing one stays. BadUsage where it cannot be."""
    if not path.parent.is_dir():
        raise BadUsage(f"there is no folder {path.parent} to make a store in")
    try:
        make_private_file(path)
    except OSError as error:
        raise BadUsage(f"{path} cannot be made: {error.strerror or error}") from None


def check_file(path: Path, *, create: bool) -> None:
    """Check that a file is a usage store or may become one, without changing it; else BadUsage."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        if not create:
            how = f"`ethogram usage record FILE --store {path}` makes one"
            raise BadUsage(f"there is no usage store at {path}; {how}")
        return
    head = read_head(path)
    if head is None:
        raise BadUsage(f"{path} is not a usage store: it is no SQLite file; if it was one, restore a backup")
    if head.application == OF_EVENTS:
        how = "`ethogram analyze --store`, `sweep`, `subject` and `store` are for it"
        raise BadUsage(f"{path} is a store of events, not a usage store; {how}")
    if head.application != APPLICATION:
        raise BadUsage(f"{path} is not a usage store; name another file")


def connect(path: Path) -> sqlite3.Connection:
    """A connection with the pragmas every one needs."""
    raw = sqlite3.connect(path, timeout=BUSY / 1000, isolation_level=None, check_same_thread=False)
    try:
        if not raw.execute("PRAGMA page_count").fetchone()[0]:
            # Before WAL: so it stands in the file itself, and not in the log beside it, from the first.
            raw.execute(f"PRAGMA application_id = {APPLICATION}")
        for pragma in (
            f"busy_timeout = {BUSY}",
            "journal_mode = WAL",
            "synchronous = NORMAL",
            "foreign_keys = ON",
            # What is removed is overwritten at once, not only when a purge writes the file anew.
            "secure_delete = ON",
            "cache_size = -32768",
            "temp_store = MEMORY",
        ):
            raw.execute(f"PRAGMA {pragma}")
    except BaseException:
        raw.close()
        raise
    return raw


def prepare(raw: sqlite3.Connection, path: Path, keys: Keys, *, exact: bool, retention: int) -> None:
    """Make the tables of a new file; BadUsage where a newer program wrote it. Held by the caller's BEGIN."""
    (version,) = raw.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise BadUsage(f"{path} has schema {version}, and this ethogram knows up to {VERSION}; upgrade it")
    if version == 1:
        raw.execute("ALTER TABLE files ADD COLUMN newest INTEGER NOT NULL DEFAULT 0")
    if version in (1, 2):
        raw.execute("ALTER TABLE about ADD COLUMN salt BLOB")
    if version in (1, 2, 3):
        raw.execute("ALTER TABLE told RENAME COLUMN level TO severity")
        raw.execute(f"PRAGMA user_version = {VERSION}")
    if version:
        check_columns(raw, _columns())
        return
    if raw.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise BadUsage(f"{path} is an SQLite file of another program; name another file")
    for statement in TABLES:
        raw.execute(statement)
    salt = secrets.token_bytes(SALT_BYTES)
    about = (keys.scoped(PURPOSE, salt).check(), int(exact), retention, salt)
    raw.execute("INSERT INTO about VALUES (1, ?, ?, ?, 0, ?)", about)
    raw.execute(f"PRAGMA user_version = {VERSION}")


@cache
def _columns() -> dict[str, set[str]]:
    """The columns of every table of a new file."""
    with closing(sqlite3.connect(":memory:")) as raw:
        for statement in TABLES:
            raw.execute(statement)
        return columns_of_kept_schema(raw)


class Marks(NamedTuple):
    """What a store keeps to know its keys again: their check (see Keys.check), and its own number."""

    check: bytes
    salt: bytes | None

    def until(self, keys: Keys) -> Keys | None:
        """The keys, up to one of these, that the store has; None where it has others."""
        return keys.scoped(PURPOSE, self.salt).until(self.check)


def marks_of(path: Path) -> Marks:
    """The marks of a store, of any version."""
    check_file(path, create=False)
    with telling(path), closing(connect(path)) as raw:
        names = {row[1] for row in raw.execute("PRAGMA table_info(about)")}
        query = (
            "SELECT key_check, salt FROM about" if "salt" in names else "SELECT key_check, NULL FROM about"
        )
        return Marks(*raw.execute(query).fetchone())


# The file behind a usage store: opened, its keys checked, and its transactions.

STATE = "first, newest, events, ahead, zoned, stretches, days"
PERSON = f"key, {STATE}, ids, due, name"
RETENTION = 90 * 86_400
"""Seconds that are kept where nobody says otherwise."""


class KeptFile:
    """A file, and how it is read and written. `exact` and `retention` are its own where they are not given.

    `at` and `who` stand in the audit where the keys are wrong.
    """

    def __init__(
        self,
        path: str | Path,
        keys: Keys,
        *,
        key_file: Path | None = None,
        exact: bool | None = None,
        retention: int | None = None,
        create: bool = True,
        at: float = 0.0,
        who: str = "",
    ) -> None:
        self.path, self.keys, self.key_file = Path(path), keys, key_file
        self._lock = RLock()
        self._raw: sqlite3.Connection | None = None
        self._pid = 0
        self._salt: bytes | None = None
        self.is_stale = False  # whether there is something to let go of, however little time has passed
        self._left: list[sqlite3.Connection | None] = []
        check_file(self.path, create=create)
        make_file(self.path)
        self.keeping = Keeping(retention or RETENTION, exact is not False)
        try:
            with telling(self.path), self._lock:
                self._make()
                self._check_opener(at, who)
                with self._writing():
                    self.keeping = self._settled(exact, retention)
        except BaseException:
            # So that no log is left beside a file that is not used.
            self.close()
            raise

    def _make(self) -> None:
        raw = self._connection()
        raw.execute("BEGIN IMMEDIATE")
        try:
            keeping = self.keeping
            prepare(raw, self.path, self.keys, exact=keeping.exact, retention=keeping.retention)
            (self._salt,) = raw.execute("SELECT salt FROM about").fetchone()
            self.keys = self._scoped(self.keys)
        except BaseException:
            raw.execute("ROLLBACK")
            raise
        raw.execute("COMMIT")

    def _scoped(self, keys: Keys) -> Keys:
        return keys.scoped(PURPOSE, self._salt)

    def _settled(self, exact: bool | None, retention: int | None) -> Keeping:
        raw = self._connection()
        was_exact, was_retention = raw.execute("SELECT exact, retention FROM about").fetchone()
        if exact is not None and exact != bool(was_exact):
            words = ("aggregates", "events")
            raise BadUsage(f"{self.path} keeps {words[was_exact]}, not {words[exact]}; name another file")
        if retention is not None and retention != was_retention:
            raw.execute("UPDATE about SET retention = ?", (retention,))
            raw.execute("UPDATE people SET due = 0")
            self.is_stale = True
        return Keeping(was_retention if retention is None else retention, bool(was_exact))

    def _connection(self) -> sqlite3.Connection:
        # After a fork the parent's connection must not be touched.
        if self._raw is None or self._pid != os.getpid():
            # Nor closed: it is the parent's, and closing it here would be of no use to anybody.
            self._left.append(self._raw)
            self._raw, self._pid = connect(self.path), os.getpid()
        return self._raw

    def begin_anew(self) -> None:
        """In a forked child: wait for no lock of the parent's."""
        self._lock = RLock()

    def _check_keys(self) -> None:
        """Nothing, where the keys are the file's; read anew where a key was added. BadUsage where neither."""
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
        how = "give the key that it was made with"
        raise BadUsage(f"{self.path}: the key is not that of this store; {how}")

    def _check_opener(self, at: float, who: str) -> None:
        """Nothing, where the keys are the file's; else a line in the audit, and BadUsage."""
        try:
            self._check_keys()
        except BadUsage:
            line = "INSERT INTO audit (at, what, person, who, why) VALUES (?, ?, NULL, ?, '')"
            self._connection().execute(line, (int(at * 1_000_000), WHATS.index("refused"), who))
            raise

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, with the keys that the file has now. Kept once the block ends."""
        with self._lock, telling(self.path):
            raw = self._connection()
            raw.execute("BEGIN IMMEDIATE")
            try:
                self._check_keys()
                yield raw
                raw.execute("COMMIT")
            except BaseException:
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._raw is not None and self._pid == os.getpid():
                self._raw.close()
            self._raw = None


def columns_of(state: Summary) -> tuple[object, ...]:
    """The values of STATE."""
    return (
        state.first, state.newest, state.events, state.ahead, int(state.zoned), state.stretches, state.days
    )  # fmt: skip


def person_of(row: Sequence[object]) -> tuple[int, Summary, bytes, int]:
    """Key, summary, ids and due of a row."""
    key, first, newest, events, ahead, zoned, stretches, days, ids, when, *_ = row
    state = Summary(first, newest, events, ahead, bool(zoned), stretches, days)  # type: ignore[arg-type]
    return key, state, ids, when  # type: ignore[return-value]


# Shelf: what a tracker asks of the place where people are kept, in memory or in a file.

Who = bytes | Pseudonym
"""A person: the name by the first key alone (see Keys.base), or the name that the store has."""
Batch = Sequence[tuple[bytes, Seen]]
"""Names by the first key with one event each."""
IDS = 64
"""Ids of a person's events that are remembered where the events themselves are not."""


class Person(NamedTuple):
    """Who is kept under a name: the summary, and what was told about them."""

    name: bytes
    state: Summary
    told: tuple[Episode, ...]


class KeptEvent(NamedTuple):
    """One event as a file keeps it. `ahead`: seconds that the own clock was ahead of UTC, if known."""

    at: int
    length: int | None
    flags: int
    session: bytes | None
    ahead: int | None


class Gone(NamedTuple):
    """What was removed. `clean` is false where another program kept old pages from going."""

    people: int
    events: int
    clean: bool


class Shelf(Protocol):
    """Everything that is acknowledged by returning is kept. Names are hashes; times are arguments."""

    keys: Keys
    keeping: Keeping

    def add(self, batch: Batch, now: float, mark: tuple[bytes, int] | None = None) -> int: ...
    def done(self, base: bytes) -> int: ...
    def name(self, who: Who) -> bytes: ...
    def person(self, who: Who) -> Person | None: ...
    def people(self, whom: Sequence[Who] | None = None) -> Iterator[Person]: ...
    def tell(self, rows: Iterable[tuple[bytes, Sequence[Episode]]], looks: Iterable[Look]) -> None: ...
    def looks(self, name: bytes | None = None) -> Iterator[Look]: ...
    def events(self, name: bytes) -> Iterator[KeptEvent]: ...
    def tidy(self, now: float) -> Gone: ...
    def check_whole(self) -> None: ...
    def purge(self, name: bytes | None, before: int | None) -> Gone: ...
    def counts(self) -> dict[str, int]: ...
    def begin_anew(self) -> None: ...
    def close(self) -> None: ...


def has_id(ids: bytes, one: bytes) -> bool:
    """Whether an id is among those remembered.

    >>> has_id(b"a" * 16 + b"b" * 16, b"b" * 16), has_id(b"a" * 16 + b"b" * 16, b"a" * 8 + b"b" * 8)
    (True, False)
    """
    at = ids.find(one)
    while at >= 0 and at % NAME_BYTES:
        at = ids.find(one, at + 1)
    return at >= 0


def with_id(ids: bytes, one: bytes) -> bytes:
    """The newest ids with one more."""
    return (ids + one)[-IDS * NAME_BYTES :]


# Reading a usage store: people, events, what was told, and who looked.

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
                episodes = (
                    "SELECT person, signal, opened, severity, last FROM told WHERE person BETWEEN ? AND ?"
                )
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
          ON CONFLICT DO UPDATE SET severity = excluded.severity, last = excluded.last"""
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


# Kept: people in a file that many processes share. Short transactions; nothing acknowledged is ever lost.
#
# Whoever is killed leaves the file whole (SQLite's write-ahead log). Names are hashes, and are made
# inside the
# transaction by the keys that the file has then, so that a key may be added while others write.

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


# Memory: people in a dictionary. A summary each, at most 2 KB, and nothing of events but what is in it.

LOOKS = 100_000
"""Lines of the audit that are held."""
MOST_PEOPLE = 1_000_000
"""People that are held, of 2 KB each; those longest without an event are let go first."""


class _Held(NamedTuple):
    state: Summary
    ids: bytes = b""
    told: tuple[Episode, ...] = ()


class Memory:
    """People of one process, for as long as it runs."""

    def __init__(self, keys: Keys, keeping: Keeping, most: int = MOST_PEOPLE) -> None:
        self.keys, self.keeping = keys, keeping
        self.evicted, self._most = 0, most
        self.newest = 0
        self._people: dict[bytes, _Held] = {}
        self._looks: deque[Look] = deque(maxlen=LOOKS)
        # One for each first byte, so that threads hardly ever wait for one another.
        self._locks = [Lock() for _ in range(256)]

    def add(self, batch: Batch, now: float, mark: tuple[bytes, int] | None = None) -> int:
        """How many of the events were new; all are in now."""
        count = 0
        for base, seen in batch:
            name = self.keys.final(base)
            with self._locks[name[0]]:
                count += self._add(name, seen)
            while len(self._people) > self._most and self._evict():
                pass
        return count

    def _evict(self) -> bool:
        """Let go of whoever is longest without an event, unless another thread is at work there."""
        try:
            name = next(iter(self._people))
        except (StopIteration, RuntimeError):  # another thread changed it in between
            return False
        if not self._locks[name[0]].acquire(blocking=False):
            return False
        try:
            self.evicted += self._people.pop(name, None) is not None
        finally:
            self._locks[name[0]].release()
        return True

    def done(self, base: bytes) -> int:
        """Nothing is remembered of files here."""
        return 0

    def _add(self, name: bytes, seen: Seen) -> bool:
        held = self._people.get(name)
        if held is None:
            held = _Held(Summary())
        ids = held.ids
        if seen.id is not None:
            if has_id(ids, seen.id):
                return False
            ids = with_id(ids, seen.id)
        self.newest = max(self.newest, seen.at)
        state = added(held.state, seen)
        if self._is_due(held.state, seen):
            left = tidied(state, self.newest, self.keeping)
            state = Summary() if left is None else left
        self._people.pop(name, None)  # the newest stand last
        self._people[name] = _Held(state, ids, held.told)
        return True

    def _is_due(self, before: Summary, seen: Seen) -> bool:
        if not self.keeping.exact and day_of(before.newest, before.ahead) != day_of(seen.at, before.ahead):
            return True
        return bool(before.events) and self.newest - before.first > self.keeping.retention + DAY

    def put(self, name: bytes, state: Summary) -> None:
        """Keep a whole summary under a name, in place of what was there."""
        with self._locks[name[0]]:
            self._people[name] = _Held(state)
        self.newest = max(self.newest, state.newest)

    def name(self, who: Who) -> bytes:
        """The name of somebody, known or not."""
        return name_of(self.keys, who)

    def person(self, who: Who) -> Person | None:
        """Who is kept under a name."""
        name = self.name(who)
        held = self._people.get(name)
        return None if held is None else Person(name, held.state, held.told)

    def people(self, whom: Sequence[Who] | None = None) -> Iterator[Person]:
        """Everybody, or these."""
        chosen = list(self._people) if whom is None else [self.name(one) for one in whom]
        for name in chosen:
            if (held := self._people.get(name)) is not None:
                yield Person(name, held.state, held.told)

    def tell(self, rows: Iterable[tuple[bytes, Sequence[Episode]]], looks: Iterable[Look]) -> None:
        """Remember what was told, and who looked."""
        self._looks.extend(looks)
        for name, episodes in rows:
            with self._locks[name[0]]:
                if (held := self._people.get(name)) is not None:
                    kept = {(one.signal, one.opened): one for one in (*held.told, *episodes)}
                    self._people[name] = held._replace(told=tuple(kept.values())[-IDS:])

    def looks(self, name: bytes | None = None) -> Iterator[Look]:
        """The audit, oldest first: all, or the lines about one person."""
        return (one for one in tuple(self._looks) if name is None or one.person == name)

    def events(self, name: bytes) -> Iterator[KeptEvent]:
        """No events are kept here."""
        return islice((), 0)

    def tidy(self, now: float) -> Gone:
        """What was let go of: all that need not be kept as of a moment, or of the newest event before it."""
        people = events = 0
        newest = min(now, self.newest)
        for name in list(self._people):
            with self._locks[name[0]]:
                if (held := self._people.get(name)) is not None:
                    left = tidied(held.state, now, self.keeping, newest)
                    people += left is None
                    events += max(0, held.state.events - (left.events if left else 0))
                    self._put(name, held, left)
        self._forget_looks(before=now - self.keeping.retention)
        return Gone(people, events, True)

    def check_whole(self) -> None:
        """Nothing here can be damaged."""

    def purge(self, name: bytes | None, before: int | None) -> Gone:
        """What was removed: a person, or what lies before a moment, or both."""
        events = people = 0
        for one in list(self._people) if name is None else [name]:
            with self._locks[one[0]]:
                held = self._people.get(one)
                if held is None:
                    continue
                left = None if before is None else forget_before(held.state, before)
                events += held.state.events - (left.events if left else 0)
                self._put(one, held, left)
            if left is None:
                people += 1
                self._forget_looks(one)
        self.newest = max((held.state.newest for held in list(self._people.values())), default=0)
        return Gone(people, events, True)

    def _forget_looks(self, name: bytes | None = None, before: float = 0.0) -> None:
        """Take the person out of the lines about somebody, and of those before a moment."""
        hidden = [
            one._replace(person=None, why="") if one.at < before or one.person == (name or b"") else one
            for one in list(self._looks)
        ]
        self._looks = deque(hidden, maxlen=LOOKS)

    def _put(self, name: bytes, held: _Held, left: Summary | None) -> None:
        if left is None:
            del self._people[name]
        elif left is not held.state:
            self._people[name] = held._replace(state=left)

    def counts(self) -> dict[str, int]:
        """How much is kept."""
        evicted = {"evicted": self.evicted} if self.evicted else {}
        return {"people": len(self._people), "events": 0, "looks": len(self._looks), **evicted}

    def begin_anew(self) -> None:
        """In a forked child: wait for no lock of the parent's."""
        self._locks = [Lock() for _ in range(256)]

    def close(self) -> None:
        """Nothing: memory goes with the process."""


# Holding: events of one process that wait a moment, so that many are written in one short transaction.

MOST_HELD = 20_000
"""Events held back at most, however long they might wait."""


class Holding:
    """Events on their way to a shelf. `hold`: seconds that they may wait; 0: none."""

    def __init__(self, shelf: Shelf, hold: float, clock: Callable[[], float]) -> None:
        self.shelf = shelf
        self._hold, self._clock = hold, clock
        self._pending: list[tuple[bytes, Seen]] = []
        self._timer: Timer | None = None
        self._lock, self._flushing = Lock(), Lock()
        _ALIVE.add(self)

    def add(self, base: bytes, seen: Seen) -> None:
        """Write an event, or hold it back for a while."""
        if not self._hold:
            self.shelf.add([(base, seen)], self._clock())
            return
        with self._lock:
            self._pending.append((base, seen))
            is_full = len(self._pending) >= MOST_HELD
            if self._timer is None:
                self._timer = Timer(self._hold, self._flush_late)
                self._timer.daemon = True
                self._timer.start()
        if is_full:
            self.flush()

    def _flush_late(self) -> None:
        try:
            self.flush()
        except Exception:
            # Nobody is there to be told; it is held still, and the next call or `close` says what is wrong.
            with self._lock:
                self._timer = None

    def flush(self) -> None:
        """Write what is held back. Where that fails nothing is lost: it is held still."""
        if not self._hold:
            return
        with self._flushing:
            with self._lock:
                batch, self._pending = self._pending, []
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            try:
                if batch:
                    self.shelf.add(batch, self._clock())
            except BaseException:
                with self._lock:
                    self._pending = batch + self._pending
                raise

    def begin_anew(self) -> None:
        """In a forked child: hold nothing back, for the parent still does, and wait for none of its locks."""
        self._pending, self._timer = [], None
        self._lock, self._flushing = Lock(), Lock()
        self.shelf.begin_anew()


_ALIVE: weakref.WeakSet[Holding] = weakref.WeakSet()


def _flush_all() -> None:
    for one in list(_ALIVE):
        one.flush()


def _begin_anew() -> None:
    for one in list(_ALIVE):
        one.begin_anew()


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
