"""UsageStore: people's summaries in a private store, in memory or in a file that many processes share.

Transactions are short, and nothing acknowledged is lost: a killed process leaves the file whole. Names are
hashes, made inside the transaction by the keys that the store has then, so that a key may be added while
others write. In memory only summaries are stored, never single events.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..errors import BadUsage, StoreFailed
from ..files import sqlite
from ..files.sqlite import named_errors
from ..models import moment
from ..store.events import highest
from ..store.numbers import get_meta, set_meta
from ..store.row_store import Condition, in_pieces
from ..store.schema import SCHEMA
from ..store.sqlite import PrivateSQLiteStore
from ..store.states import HAS_PEOPLE
from .clock import DAY, HALF_HOUR, offset
from .event import UsageEvent
from .migration import OLD, migrate
from .pseudonym import NAME_BYTES, Keys, Pseudonym, name_of, read_keys, waiting_file
from .records import UsageLook, UsagePurge
from .retention import Policy, StoredEvent, due, forget_before, rebuild, retained, retention_start
from .signals import Episode
from .store_keys import check_number, keys_until, make_private, scoped_keys, wrong_key
from .summary import EMPTY, Summary, add_event, session_mark

EXACT, RETENTION, NEWEST = "usage_exact", HAS_PEOPLE, "usage_newest"
"""Rows of `meta`: whether events are stored, for how many seconds, and when the newest was, rounded up."""
FILES = "usage"
"""What marks of recorded files stand under in the kind `files`."""
DEFAULT_RETENTION = 90 * DAY
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
SECOND_US = 1_000_000

Who = bytes | Pseudonym
"""A person: the name by the first key alone (see Keys.base), or the name that the store has."""
Batch = Sequence[tuple[bytes, UsageEvent]]
"""Names by the first key with one event each."""
T = TypeVar("T")


class Person(NamedTuple):
    """A stored person: the name, the summary, and what was reported about them."""

    name: str
    state: Summary
    episodes: tuple[Episode, ...]


class Row(NamedTuple):
    """A row of the kind `people`."""

    name: str
    state: Summary
    ids: bytes
    due: int

    @classmethod
    def read(cls, row: tuple[Any, ...]) -> Row:
        """The row of the store, as its parts."""
        name, *state, ids, due_at = row
        return cls(name, Summary._make(state), ids, due_at)

    def written(self) -> tuple[Any, ...]:
        """The row as the store has it."""
        first, newest, events, ahead, zoned, stretches, days = self.state
        return (self.name, first, newest, events, ahead, int(zoned), stretches, days, self.ids, self.due)


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
        self.keys, self.key_file = keys, key_file
        self.evicted, self.max_people = 0, MAX_PEOPLE
        self._most_people = 0  # in memory: at least as many as there are
        self._expired = (0, 0)  # people and events that `add` removed, until `tidy` reports them
        self._is_stale = False  # whether something is to be removed, however little time has passed
        if self.path is not None:
            check_file(self.path, create=create)
        self.rows = PrivateSQLiteStore(self.path, create=create)
        try:
            if self.path is None:
                # Names in memory depend on the key alone.
                self.keys = keys.scoped(FILES, b"")
            else:
                self._open_keys(at, who)
            self.policy = self.rows.transact(lambda: self._settle(exact, retention))
        except BaseException:
            self.close()  # so that no log is left beside a file that is not used
            raise

    @property
    def stores_events(self) -> bool:
        """Whether single events are stored beside the summaries."""
        return self.policy.exact and self.path is not None

    # --- keys and transactions ----------------------------------------------------------------

    @property
    def keys(self) -> Keys:
        """The keys as this store uses them."""
        return self._keys

    @keys.setter
    def keys(self, keys: Keys) -> None:
        self._keys, self._check = keys, check_number(keys)

    def _open_keys(self, at: float, who: str) -> None:
        """Take the keys as this store uses them; BadUsage, and a line in the audit, where they are others."""
        self.rows.transact(lambda: make_private(self.rows, self.keys))
        self.keys = scoped_keys(self.rows, self.keys)
        try:
            self._check_keys()
        except BadUsage:
            self.rows.add_looks([UsageLook(moment(int(at * SECOND_US)), "refused", None, who, "")])
            raise

    def _settle(self, exact: bool | None, retention: int | None) -> Policy:
        """Return the policy of the store, with a new retention where one is given."""
        was_retention = get_meta(self.rows, RETENTION)
        if was_retention is None:
            policy = Policy(retention or DEFAULT_RETENTION, exact is not False)
            for name, value in ((EXACT, int(policy.exact)), (RETENTION, policy.retention), (NEWEST, 0)):
                set_meta(self.rows, name, value)
            return policy
        was_exact = bool(get_meta(self.rows, EXACT))
        if exact is not None and exact != was_exact:
            words = ("aggregates", "events")
            raise BadUsage(f"{self.path} keeps {words[was_exact]}, not {words[exact]}; name another file")
        if retention is not None and retention != was_retention:
            set_meta(self.rows, RETENTION, retention)
            for piece in in_pieces([name for (name,) in self.rows.rows("people", columns=("name",))]):
                self._write(row._replace(due=0) for row in self._read([("name", "in", list(piece))]))
            self._is_stale = True
        return Policy(was_retention if retention is None else retention, was_exact)

    def _check_keys(self) -> None:
        """Check that the keys are the store's; read them again where one was added. BadUsage otherwise."""
        if self.path is None:
            return
        check = self.rows.private()
        if check == self._check:
            return
        newest = self.keys
        if self.key_file is not None:
            # A store has its new names before the new keys are in the place of the old ones.
            waiting = waiting_file(self.key_file)
            for file in (waiting, self.key_file) if waiting.exists() else (self.key_file,):
                try:
                    newest = scoped_keys(self.rows, read_keys(file))
                except BadUsage:
                    if file is self.key_file:
                        raise
                if check_number(newest) == check:
                    self.keys = newest
                    return
        if keys_until(self.rows, newest) is not None:
            hint = f"run `ethogram usage key rotate {self.key_file or 'FILE'} --store {self.path}`"
            raise BadUsage(f"{self.path}: this store has an older key of this file; {hint}")
        raise wrong_key(self.rows)

    def transact(self, work: Callable[[], T]) -> T:
        """Write all or nothing, with the keys that the store has now."""

        def checked() -> T:
            self._check_keys()
            return work()

        return self.rows.transact(checked)

    def close(self) -> None:
        """Close the file; what was in memory is gone."""
        self.rows.close()

    # --- adding -------------------------------------------------------------------------------

    def add(self, batch: Batch, now: float, mark: tuple[bytes, int] | None = None) -> int:
        """Store events and return how many were new.

        `mark`: the name of their source, and how many of its events are stored with these.
        """
        by_base: dict[bytes, list[UsageEvent]] = {}
        for base, event in batch:
            by_base.setdefault(base, []).append(event)
        newest = max((event.at for _, event in batch), default=0)
        return self.transact(lambda: self._add(by_base, newest, now, mark))

    def _add(
        self,
        by_base: Mapping[bytes, Sequence[UsageEvent]],
        newest: int,
        now: float,
        mark: tuple[bytes, int] | None,
    ) -> int:
        before = self.newest
        # What retention counts from. What the file has is rounded up: it outlives whoever was there then.
        clock = min(now, max(newest, before - HALF_HOUR))
        people = [(self._name(base), events) for base, events in by_base.items()]
        count = 0
        for start in range(0, len(people), PAGE):
            count += self._add_page(dict(people[start : start + PAGE]), clock)
        if mark is not None:
            file, day = self._name(mark[0]), round_up(newest, DAY) * SECOND_US
            self.rows.write("files", [(FILES, file, mark[1], max(day, self._mark(file)[1]))])
        if newest > before or self._is_stale:
            set_meta(self.rows, NEWEST, max(before, round_up(newest, HALF_HOUR)))
            # Some of what is due by then.
            due_rows = self._read([("due", "<=", int(clock))], limit=AT_ONCE)
            some_people, some_events, self._is_stale = self._retain(due_rows, clock, clock)
            self._expired = (self._expired[0] + some_people, self._expired[1] + some_events)
        if self.path is None:
            self._evict()
        return count

    def _add_page(self, page: Mapping[str, Sequence[UsageEvent]], clock: float) -> int:
        """Add the events of some people, and return how many were new."""
        rows = {row.name: row for row in self._read([("name", "in", list(page))])}
        uses = _NewUses(self, page.values()) if self.stores_events else None
        changed: list[Row] = []
        count = 0
        for name, events in page.items():
            row = rows.get(name)
            state, ids = (EMPTY, b"") if row is None else (row.state, row.ids)
            before = state
            for event in events:
                if uses is not None:
                    if not uses.add(name, event):
                        continue
                elif event.id is not None:
                    id_name = self.keys.final(event.id)
                    if id_name in ids:
                        continue
                    ids = (ids + id_name)[-IDS * NAME_BYTES :]
                count += 1
                at, length, flags, session, _, zone = event
                mark = 0 if session is None else session_mark(session.hex())
                state = add_event(state, at, length, flags, mark, zone)
            if state is not before:
                when = due(state, self.policy)
                if when <= clock:
                    state = retained(state, clock, self.policy) or EMPTY
                    when = due(state, self.policy)
                changed.append(Row(name, state, ids, when))
                self._most_people += row is None
        self._write(changed)
        if uses is not None:
            uses.write()
        return count

    def done(self, base: bytes) -> int:
        """Return how many events of a source are stored (see `add`)."""
        self._check_keys()
        return self._mark(self._name(base))[0]

    def _mark(self, file: str) -> tuple[int, int]:
        """How many events of a source are stored, and when the mark goes, in microseconds since 1970."""
        where = [("options", "=", FILES), ("hash", "=", file)]
        rows = self.rows.rows("files", where, columns=("events", "imported_us"), limit=1)
        done, until = next(rows, (0, 0))
        return done, until

    def _evict(self) -> None:
        """Remove those longest without an event where there are too many, and one in a hundred more."""
        if self._most_people <= self.max_people:
            return
        self._most_people = self.rows.count("people")
        excess = self._most_people - self.max_people
        if excess > 0:
            oldest = self.rows.rows(
                "people", columns=("name",), order=("newest", "name"), limit=excess + self.max_people // 100
            )
            for piece in in_pieces([name for (name,) in oldest]):
                gone = self.rows.delete("people", [("name", "in", list(piece))])
                self.evicted, self._most_people = self.evicted + gone, self._most_people - gone

    # --- reading ------------------------------------------------------------------------------

    def _name(self, base: bytes) -> str:
        return self.keys.final(base).hex()

    def _read(self, where: Sequence[Condition] = (), **how: Any) -> list[Row]:
        return [Row.read(row) for row in self.rows.rows("people", where, **how)]

    def _write(self, rows: Iterable[Row]) -> None:
        self.rows.write("people", [row.written() for row in rows])

    def name(self, who: Who) -> str:
        """Return the name of somebody, known or not."""
        self._check_keys()
        return name_of(self.keys, who).hex()

    def person(self, who: Who) -> Person | None:
        """Return the person with a name."""
        return next(self.people([who]), None)

    def people(self, whom: Sequence[Who] | None = None) -> Iterator[Person]:
        """Yield everybody, a page at a time, or these."""
        if whom is not None:
            for item in whom:
                yield from self._people([("name", "=", self.name(item))])
            return
        last = ""
        while page := self._people([("name", ">", last)]):
            last = page[-1].name
            yield from page

    def _people(self, where: Sequence[Condition]) -> list[Person]:
        def read() -> list[Person]:
            rows = self._read(where, order=("name",), limit=PAGE)
            episodes: dict[str, list[Episode]] = {row.name: [] for row in rows}
            if rows:
                for person, *episode in self.rows.rows("reported", [("person", "in", list(episodes))]):
                    episodes[person].append(Episode(*episode))
            return [Person(row.name, row.state, tuple(episodes[row.name])) for row in rows]

        return self.rows.transact(read)

    def events(self, name: str) -> list[StoredEvent]:
        """Return the stored events of a person, oldest first."""
        columns = ("at", "length", "flags", "session", "ahead")
        rows = self.rows.rows("uses", [("person", "=", name)], columns=columns, order=("at", "key"))
        return [StoredEvent(*row) for row in rows]

    def counts(self) -> dict[str, int]:
        """Count what is stored."""
        kinds = {"people": "people", "events": "uses", "looks": "looks"}
        counts = {name: self.rows.count(kind) for name, kind in kinds.items()}
        return {**counts, "evicted": self.evicted} if self.evicted else counts

    # --- reports and audit --------------------------------------------------------------------

    def remember(self, reported: Sequence[tuple[str, Sequence[Episode]]]) -> None:
        """Remember what was reported about people, by name."""

        def write() -> None:
            known = {row.name for row in self._read([("name", "in", [name for name, _ in reported])])}
            rows = [(name, *episode) for name, episodes in reported for episode in episodes if name in known]
            self.rows.write("reported", rows)

        if reported:
            self.transact(write)

    def log(self, look: UsageLook) -> None:
        """Add a line to the audit."""

        def write() -> None:
            self.rows.add_looks([look])
            if self.path is None and (last := highest(self.rows, "looks", "key")) > MAX_LOOKS:
                self.rows.delete("looks", [("key", "<=", last - MAX_LOOKS)])

        self.transact(write)

    def _hide(self, where: Sequence[Condition]) -> None:
        """Take person and reason out of lines of the audit."""
        looks = list(self.rows.rows("looks", where))
        self.rows.write("looks", [(key, at, what, None, who, "") for key, at, what, _, who, _ in looks])

    # --- retention and purge ------------------------------------------------------------------

    @property
    def newest(self) -> int:
        """Seconds since 1970 that the retention counts back from: the newest event, rounded up."""
        return get_meta(self.rows, NEWEST) or 0

    def retained_from(self, newest: float, now: float) -> int:
        """Seconds since 1970 before which nothing is kept, with an event at `newest` recorded."""
        return retention_start(min(now, max(self.newest, round_up(int(newest), HALF_HOUR))), self.policy)

    def tidy(self, now: float) -> UsagePurge:
        """Remove everything that need not be kept as of a moment.

        The retention counts back from the newest event where that is before the moment, so that a store of
        old data does not empty itself. Lines of the audit that are older lose their person. Returns what went
        since the last call, with what `add` removed.
        """
        last = ""
        (people, events), self._expired = self._expired, (0, 0)

        def step() -> tuple[int, int, bool, str]:
            newest = min(now, self.newest)
            rows = self._read([("name", ">", last), ("due", "<=", int(now))], order=("name",), limit=AT_ONCE)
            gone = self._retain(rows, now, newest)
            if not gone[2]:
                self.rows.delete("reported", [("last", "<", retention_start(newest, self.policy))])
                old = (int(now) - self.policy.retention) * SECOND_US
                self._hide([("at_us", "<", old), ("person", "!=", None)])
            return *gone, rows[-1].name if rows else last

        is_more = True
        while is_more:
            some_people, some_events, is_more, last = self.transact(step)
            people, events = people + some_people, events + some_events
        # What was overwritten still stands in the log until it is emptied.
        self.rows.settle()
        return UsagePurge(people, events, True)

    def _retain(self, rows: Sequence[Row], now: float, newest: float) -> tuple[int, int, bool]:
        """Apply the policy to rows that are due: people and events removed, and whether there may be more."""
        people = events = 0
        for row in rows:
            gone = self._keep(row, retained(row.state, now, self.policy, newest))
            people, events = people + gone[0], events + gone[1]
        before = retention_start(newest, self.policy)
        count = 0
        if self.stores_events:
            some = self.rows.rows("uses", [("at", "<", before)], columns=("key",), limit=10 * AT_ONCE)
            if keys := [key for (key,) in some]:
                count = self.rows.delete("uses", [("key", "in", keys)])
        self._unmark(before)
        return people, events + count, len(rows) == AT_ONCE or count == 10 * AT_ONCE

    def _keep(self, row: Row, left: Summary | None) -> tuple[int, int]:
        """Store what is left of a person, or remove them: people and events that went."""
        # Events that are not stored count by what the summary lost.
        lost = 0 if self.stores_events else max(0, row.state.events - (left.events if left else 0))
        if left is not None:
            self._write([row._replace(state=left, due=due(left, self.policy))])
            return 0, lost
        gone = self.rows.delete("uses", [("person", "=", row.name)])
        self.rows.delete("reported", [("person", "=", row.name)])
        self.rows.delete("people", [("name", "=", row.name)])
        return 1, lost + gone

    def _unmark(self, before: int) -> None:
        """Forget the files of which nothing is left, so that they can be recorded again."""
        own: list[Condition] = [("options", "=", FILES)]
        if next(self.rows.rows("people", columns=("name",), limit=1), None) is not None:
            own += [("imported_us", ">", 0), ("imported_us", "<=", before * SECOND_US)]
        self.rows.delete("files", own)

    def purge(self, name: str | None, before: int | None) -> UsagePurge:
        """Remove for good: a person, or what lies before a moment, or both."""
        people, events = self.transact(lambda: self._purge(name, before))
        return UsagePurge(people, events, self.rows.scrub())

    def _purge(self, name: str | None, before: int | None) -> tuple[int, int]:
        people = events = 0
        for row in self._read([] if name is None else [("name", "=", name)]):
            left, count = (None, 0) if before is None else self._purge_before(row, before)
            gone = self._keep(row, left)
            people, events = people + gone[0], events + gone[1] + count
            if left is None:
                self._hide([("person", "=", row.name)])
        if name is not None and before is None:
            # Looks at somebody who is not there are about them all the same.
            self._hide([("person", "=", name)])
        self._unmark(before or 0)
        # When somebody who is gone was last here is not kept.
        set_meta(self.rows, NEWEST, round_up(highest(self.rows, "people", "newest") or 0, HALF_HOUR))
        return people, events

    def _purge_before(self, row: Row, before: int) -> tuple[Summary | None, int]:
        """Return what is left of a person after a moment, and how many stored events before it went."""
        own: Condition = ("person", "=", row.name)
        gone = self.rows.delete("uses", [own, ("at", "<", before)])
        self.rows.delete("reported", [own, ("last", "<", before)])
        if self.stores_events and gone:
            return rebuild(row.state, before, self.events(row.name)), gone
        return forget_before(row.state, before), gone


class _NewUses:
    """Single events on their way to the store, each once."""

    def __init__(self, store: UsageStore, events: Iterable[Sequence[UsageEvent]]) -> None:
        self._rows, self._keys = store.rows, store.keys
        ids = [self._keys.final(event.id).hex() for own in events for event in own if event.id is not None]
        self._known = {
            name
            for piece in in_pieces(ids)
            for (name,) in self._rows.rows("uses", [("id", "in", list(piece))], columns=("id",))
        }
        self._next = (highest(self._rows, "uses", "key") or 0) + 1
        self._new: list[tuple[Any, ...]] = []

    def add(self, person: str, event: UsageEvent) -> bool:
        """Add an event, and return whether it is new."""
        name = None if event.id is None else self._keys.final(event.id).hex()
        if name is not None:
            if name in self._known:
                return False
            self._known.add(name)
        session = None if event.session is None else self._keys.final(event.session).hex()
        ahead = None if event.zone is None else offset(event.at, event.zone)
        key = self._next + len(self._new)
        self._new.append((key, person, event.at, event.length, event.flags, session, ahead, name))
        return True

    def write(self) -> None:
        """Write the events that are new."""
        self._rows.write("uses", self._new)


def round_up(at: int, step: int) -> int:
    """Return the end of the half-hour, or day, of a moment: when exactly somebody was here is theirs.

    >>> round_up(1801, 1800), round_up(1800, 1800), round_up(0, 1800)
    (3600, 1800, 0)
    """
    return -(-at // step) * step


def check_file(path: Path, *, create: bool) -> None:
    """Check that a file has people or may have them; one of the first trackers becomes a private store."""
    if sqlite.is_new(path):
        if not create:
            hint = f"`ethogram usage record FILE --store {path}` makes one"
            raise BadUsage(f"there is no usage store at {path}; {hint}")
        return
    header = sqlite.read_header(path)
    if header is None or header.application != SCHEMA.application:
        sqlite.check_kind(path, OLD)
        migrate(path)
    elif not create and not has_people(path):
        hint = f"`ethogram usage record FILE --store {path}` adds people"
        raise BadUsage(f"{path} is a store of events, not a usage store; {hint}")


def has_people(path: str | Path) -> bool:
    """Whether a store in a file was used by a tracker; StoreFailed where it is damaged."""
    return _finds(path, f"SELECT 1 FROM meta WHERE name = '{RETENTION}'")


def has_events(path: str | Path) -> bool:
    """Whether a store in a file has events that are not a tracker's; StoreFailed where it is damaged."""
    return _finds(path, "SELECT 1 FROM sources LIMIT 1")


def _finds(path: str | Path, query: str) -> bool:
    # Not read-only: that would leave a log beside the file.
    address = f"{Path(path).absolute().as_uri()}?mode=rw"
    with named_errors(path), closing(sqlite3.connect(address, uri=True)) as raw:
        return raw.execute(query).fetchone() is not None


def is_usage_store(path: str | Path) -> bool:
    """Return whether a file has people, or is empty and may have them."""
    try:
        header = sqlite.read_header(path)
        if header is not None and header.application == SCHEMA.application:
            return has_people(path)
    except (BadUsage, StoreFailed):
        return False  # whoever opens it says what is wrong
    return header is not None and (header.application == OLD.application or sqlite.is_new(path))
