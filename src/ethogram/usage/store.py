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

from ..errors import BadUsage
from ..files import sqlite
from ..files.sqlite import named_errors
from ..models import moment
from . import tables
from .clock import DAY, HALF_HOUR, offset
from .event import UsageEvent
from .pseudonym import NAME_BYTES, Keys, Pseudonym, name_of, read_keys, waiting_file
from .records import UsageLook
from .retention import Policy, due, forget_before, rebuild, retained, retention_start
from .signals import Episode
from .summary import EMPTY, Summary, add_event, session_mark

PURPOSE = "usage"
"""Purpose of the pseudonyms of such a file (see Keys.scoped)."""
SALT_BYTES = 16
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
MAX_PEOPLE = 1_000_000
"""People in memory, of about 2 KB each; those longest without an event are evicted first."""

Who = bytes | Pseudonym
"""A person: the name by the first key alone (see Keys.base), or the name that the store has."""
Batch = Sequence[tuple[bytes, UsageEvent]]
"""Names by the first key with one event each."""


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
        self._expired = (0, 0)  # people and events that `add` removed, until `tidy` reports them
        self._is_stale = False  # whether something is to be removed, however little time has passed
        self._lock = RLock()
        self._raw: sqlite3.Connection | None = None
        self._pid = 0
        self._inherited: list[sqlite3.Connection | None] = []
        self._salt = b""
        if self.path is not None:
            tables.check_file(self.path, create=create)
            sqlite.create(self.path)
        try:
            with named_errors(self.label), self._lock:
                self._prepare()
                try:
                    self._check_keys()
                except BadUsage:
                    refused = UsageLook(moment(int(at * 1e6)), "refused", None, who, "")
                    self._connection().execute(tables.ADD_LOOK, tables.look_row(refused))
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
            self._raw, self._pid = tables.connect(self.path), os.getpid()
        return self._raw

    def _prepare(self) -> None:
        with sqlite.transaction(self._connection()) as raw:
            if not sqlite.upgrade(raw, tables.SCHEMA, self.label):
                # Names in memory depend on the key alone.
                salt = b"" if self.path is None else secrets.token_bytes(SALT_BYTES)
                check = self.keys.scoped(PURPOSE, salt).check()
                about = (check, int(self.policy.exact), self.policy.retention, salt)
                raw.execute("INSERT INTO about VALUES (1, ?, ?, ?, 0, ?)", about)
            sqlite.check_columns(raw, tables.SCHEMA)
            self._salt = tables.read_value(raw, "SELECT salt FROM about")
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
        check = tables.read_value(self._connection(), "SELECT key_check FROM about")
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
        with self.transaction() as raw:
            before = tables.read_value(raw, "SELECT newest FROM about")
            # What retention counts from. What the file has is rounded up: it outlives whoever was there then.
            clock = min(now, max(newest, before - HALF_HOUR))
            people = [(self.keys.final(base), events) for base, events in by_base.items()]
            count = 0
            for start in range(0, len(people), PAGE):
                page = dict(people[start : start + PAGE])
                rows = tables.find_rows(raw, list(page))
                if self.stores_events and (missing := [name for name in page if name not in rows]):
                    # Events need a row to belong to.
                    tables.write_rows(raw, dict.fromkeys(missing, tables.NO_ROW))
                    rows |= tables.find_rows(raw, missing)
                new, changed = self._merge(raw, rows, page, clock)
                tables.write_rows(raw, changed)
                count += new
            if mark is not None:
                raw.execute(
                    tables.ADD_FILE, (self.keys.final(mark[0]), mark[1], tables.round_up(newest, DAY))
                )
            if newest > before or self._is_stale:
                raw.execute("UPDATE about SET newest = ?", (max(before, tables.round_up(newest, HALF_HOUR)),))
                # Some of what is due by then.
                due_rows = tables.read_rows(raw, "WHERE due <= ? LIMIT ?", int(clock), AT_ONCE)
                some_people, some_events, self._is_stale = self._retain(raw, due_rows, clock, clock)
                self._expired = (self._expired[0] + some_people, self._expired[1] + some_events)
            if self.path is None:
                self._evict(raw)
        return count

    def _merge(
        self,
        raw: sqlite3.Connection,
        rows: dict[bytes, tables.Row],
        people: dict[bytes, list[UsageEvent]],
        clock: float,
    ) -> tuple[int, dict[bytes, tables.Row]]:
        """Add the events of people to their rows: how many were new, and the rows that changed."""
        stores_events, policy = self.stores_events, self.policy
        changed: dict[bytes, tables.Row] = {}
        count = 0
        for name, events in people.items():
            key, before, ids, _ = rows.get(name, tables.NO_ROW)
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
                changed[name] = tables.Row(key, state, ids, when)
        return count, changed

    def _add_event(self, raw: sqlite3.Connection, key: int, event: UsageEvent, ids: bytes) -> bytes | None:
        """Store an event, or its id in the ids; return the ids, or None where the event is known."""
        name = None if event.id is None else self.keys.final(event.id)
        if self.stores_events:
            session = None if event.session is None else self.keys.final(event.session)
            ahead = None if event.zone is None else offset(event.at, event.zone)
            row = (key, event.at, event.length, event.flags, session, ahead, name)
            return ids if raw.execute(tables.ADD_EVENT, row).rowcount > 0 else None
        if name is None:
            return ids
        return None if name in ids else (ids + name)[-IDS * NAME_BYTES :]

    def done(self, base: bytes) -> int:
        """Return how many events of a source are stored (see `add`)."""
        with self._reading() as raw:
            self._check_keys()
            row = raw.execute("SELECT done FROM files WHERE name = ?", (self.keys.final(base),)).fetchone()
        return 0 if row is None else int(row[0])

    def _evict(self, raw: sqlite3.Connection) -> None:
        """Remove those longest without an event where there are too many, and one in a hundred more."""
        # The highest key is read at once; counting reads an index.
        if (tables.read_value(raw, "SELECT max(key) FROM people") or 0) <= self.max_people:
            return
        excess = tables.read_value(raw, "SELECT count(*) FROM people") - self.max_people
        if excess > 0:
            oldest = "SELECT key FROM people ORDER BY newest, key LIMIT ?"
            count = excess + self.max_people // 100
            self.evicted += raw.execute(f"DELETE FROM people WHERE key IN ({oldest})", (count,)).rowcount

    # --- reading ------------------------------------------------------------------------------

    def name(self, who: Who) -> bytes:
        """Return the name of somebody, known or not."""
        with self._reading():
            self._check_keys()
            return name_of(self.keys, who)

    def person(self, who: Who) -> tables.Person | None:
        """Return the person with a name."""
        return next(self.people([who]), None)

    def people(self, whom: Sequence[Who] | None = None) -> Iterator[tables.Person]:
        """Yield everybody, a page at a time, or these."""
        if whom is not None:
            for item in whom:
                yield from (person for _, person in self._people("WHERE name = ?", self.name(item)))
            return
        last = 0
        while page := self._people("WHERE key > ? ORDER BY key LIMIT ?", last, PAGE):
            last = page[-1][0]
            yield from (person for _, person in page)

    def _people(self, where: str, *values: object) -> list[tuple[int, tables.Person]]:
        with self._reading() as raw:
            rows = tables.read_rows(raw, where, *values)
            keys = [row.key for row in rows.values()]
            episodes: dict[int, list[Episode]] = {key: [] for key in keys}
            if rows:
                query = "SELECT * FROM reported WHERE person BETWEEN ? AND ?"
                for person, *episode in raw.execute(query, (keys[0], keys[-1])):
                    episodes.setdefault(person, []).append(Episode(*episode))
        return [
            (row.key, tables.Person(name, row.state, tuple(episodes[row.key]))) for name, row in rows.items()
        ]

    def events(self, name: bytes) -> list[tables.StoredEvent]:
        """Return the stored events of a person, oldest first."""
        with self._reading() as raw:
            return tables.read_events(raw, "(SELECT key FROM people WHERE name = ?)", name)

    def counts(self) -> dict[str, int]:
        """Count what is stored."""
        with self._reading() as raw:
            counts = {
                name: tables.read_value(raw, f"SELECT count(*) FROM {table}")
                for name, table in (("people", "people"), ("events", "events"), ("looks", "audit"))
            }
        return {**counts, "evicted": self.evicted} if self.evicted else counts

    # --- reports and audit --------------------------------------------------------------------

    def remember(self, reported: Iterable[tuple[bytes, Sequence[Episode]]]) -> None:
        """Remember what was reported about people, by name."""
        with self.transaction() as raw:
            rows = [(*episode, name) for name, episodes in reported for episode in episodes]
            raw.executemany(tables.ADD_EPISODE, rows)

    def log(self, look: UsageLook) -> None:
        """Add a line to the audit."""
        with self.transaction() as raw:
            raw.execute(tables.ADD_LOOK, tables.look_row(look))
            if self.path is None:
                query = "DELETE FROM audit WHERE key <= (SELECT max(key) FROM audit) - ?"
                raw.execute(query, (MAX_LOOKS,))

    def looks(self, name: bytes | None = None) -> list[UsageLook]:
        """Return the audit, oldest first: all of it, or the lines about one person."""
        where, values = ("", ()) if name is None else ("WHERE person = ?", (name,))
        query = f"SELECT at, what, person, who, why FROM audit {where} ORDER BY key"
        with self._reading() as raw:
            return [tables.read_look(*row) for row in raw.execute(query, values)]

    # --- retention and purge ------------------------------------------------------------------

    @property
    def newest(self) -> int:
        """Seconds since 1970 that the retention counts back from: the newest event, rounded up."""
        with self._reading() as raw:
            return int(tables.read_value(raw, "SELECT newest FROM about"))

    def retained_from(self, newest: float, now: float) -> int:
        """Seconds since 1970 before which nothing is kept, with an event at `newest` recorded."""
        return retention_start(
            min(now, max(self.newest, tables.round_up(int(newest), HALF_HOUR))), self.policy
        )

    def tidy(self, now: float) -> tables.Removed:
        """Remove everything that need not be kept as of a moment.

        The retention counts back from the newest event where that is before the moment, so that a store of
        old data does not empty itself. Lines of the audit that are older lose their person. Returns what went
        since the last call, with what `add` removed.
        """
        last = 0
        (people, events), self._expired = self._expired, (0, 0)
        is_more = True
        while is_more:
            with self.transaction() as raw:
                newest = min(now, tables.read_value(raw, "SELECT newest FROM about"))
                rows = tables.read_rows(
                    raw, "WHERE key > ? AND due <= ? ORDER BY key LIMIT ?", last, int(now), AT_ONCE
                )
                some_people, some_events, is_more = self._retain(raw, rows, now, newest)
                people, events = people + some_people, events + some_events
                last = max((row.key for row in rows.values()), default=last)
                if not is_more:
                    raw.execute(
                        "DELETE FROM reported WHERE last < ?", (retention_start(newest, self.policy),)
                    )
                    old = int(now) - self.policy.retention
                    raw.execute(f"{tables.HIDE} WHERE at < ? AND person IS NOT NULL", (old * 1_000_000,))
        # What was overwritten still stands in the log until it is emptied.
        with self._reading() as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return tables.Removed(people, events, True)

    def _retain(
        self, raw: sqlite3.Connection, rows: Mapping[bytes, tables.Row], now: float, newest: float
    ) -> tuple[int, int, bool]:
        """Apply the policy to rows that are due: people and events removed, and whether there may be more."""
        people = events = 0
        for name, row in rows.items():
            gone = self._keep(raw, name, row, retained(row.state, now, self.policy, newest))
            people, events = people + gone[0], events + gone[1]
        before = retention_start(newest, self.policy)
        old = "SELECT rowid FROM events WHERE at < ? LIMIT ?"
        count = raw.execute(f"DELETE FROM events WHERE rowid IN ({old})", (before, 10 * AT_ONCE)).rowcount
        self._unmark(raw, before)
        return people, events + count, len(rows) == AT_ONCE or count == 10 * AT_ONCE

    def _keep(
        self, raw: sqlite3.Connection, name: bytes, row: tables.Row, left: Summary | None
    ) -> tuple[int, int]:
        """Store what is left of a person, or remove them: people and events that went."""
        # Events that are not stored count by what the summary lost.
        lost = 0 if self.stores_events else max(0, row.state.events - (left.events if left else 0))
        if left is not None:
            tables.write_rows(raw, {name: row._replace(state=left, due=due(left, self.policy))})
            return 0, lost
        gone = raw.execute("DELETE FROM events WHERE person = ?", (row.key,)).rowcount
        raw.execute("DELETE FROM people WHERE key = ?", (row.key,))
        return 1, lost + gone

    def _unmark(self, raw: sqlite3.Connection, before: int) -> None:
        """Forget the files of which nothing is left, so that they can be recorded again."""
        is_empty = tables.read_value(raw, "SELECT NOT EXISTS (SELECT 1 FROM people)")
        raw.execute("DELETE FROM files WHERE ? OR newest BETWEEN 1 AND ?", (is_empty, before))

    def purge(self, name: bytes | None, before: int | None) -> tables.Removed:
        """Remove for good: a person, or what lies before a moment, or both."""
        people = events = 0
        with self.transaction() as raw:
            where, values = ("", ()) if name is None else ("WHERE name = ?", (name,))
            for person, row in tables.read_rows(raw, where, *values).items():
                left, count = (None, 0) if before is None else self._purge_before(raw, row, before)
                gone = self._keep(raw, person, row, left)
                people, events = people + gone[0], events + gone[1] + count
                if left is None:
                    raw.execute(f"{tables.HIDE} WHERE person = ?", (person,))
            if name is not None and before is None:
                # Looks at somebody who is not there are about them all the same.
                raw.execute(f"{tables.HIDE} WHERE person = ?", (name,))
            self._unmark(raw, before or 0)
            newest = tables.read_value(raw, "SELECT coalesce(max(newest), 0) FROM people")
            # When somebody who is gone was last here is not kept.
            raw.execute("UPDATE about SET newest = ?", (tables.round_up(newest, HALF_HOUR),))
        return tables.Removed(people, events, self.scrub())

    def _purge_before(
        self, raw: sqlite3.Connection, row: tables.Row, before: int
    ) -> tuple[Summary | None, int]:
        """Return what is left of a person after a moment, and how many stored events before it went."""
        gone = raw.execute("DELETE FROM events WHERE person = ? AND at < ?", (row.key, before)).rowcount
        raw.execute("DELETE FROM reported WHERE person = ? AND last < ?", (row.key, before))
        if self.stores_events and gone:
            return rebuild(row.state, before, tables.read_events(raw, "?", row.key)), gone
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


def is_usage_store(path: str | Path) -> bool:
    """Return whether a file is a usage store, or is empty and may become one."""
    try:
        header = sqlite.read_header(path)
    except BadUsage:
        return False
    return header is not None and (header.application == tables.SCHEMA.application or sqlite.is_new(path))
