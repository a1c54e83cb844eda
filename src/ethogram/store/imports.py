"""Add events: at once, or by an import that is staged in pieces and becomes visible in one commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from ..errors import BadEvents, BadUsage, Fault
from ..models import Event, format_time, micros
from .events import measured_readings
from .kinds import EVENT_FIELDS, Row
from .numbers import LAST_KEY, last_key, next_numbers, set_meta
from .records import Added, Clash, Clashes, Import, Place, Staged, Who
from .row_store import Reader, RowStore, atomic, by_source, in_pieces
from .rows import encode, event_of, event_values, reading_values

MAX_CLASHES = 50
"""Ids with other content that are listed."""
PURGES = "purges"
"""The row of `meta` that counts purges."""
DIRECT = 0
"""The import number of events that are added in one go."""
PIECE = 5000
"""Events of a staged piece."""
LATEST_SEQ = 2**63 - 1
ID, CONTENT, AT, SEQ, TIMED = (
    5 + EVENT_FIELDS.index(name) for name in ("id", "content", "at_us", "seq", "timed")
)
"""Where a row by `row_of` has the fields of its event."""
Known = dict[tuple[str, str], tuple[bytes, str]]
"""(source, id) to content and position."""


class NewEvent(NamedTuple):
    """An event to store: its row by `row_of`, and readings that were measured before its text is dropped."""

    row: Row
    measured: Sequence[Sequence[Any]]


class _Counts:
    """What new events add to the subjects and sources."""

    def __init__(self) -> None:
        self.subjects: dict[Who, list[int]] = {}
        self.next_seq: dict[str, int] = {}

    def add(self, key: int, row: Row) -> None:
        """Count the event of a row under a key; keys grow."""
        _, source, subject, *_ = row
        at, seq = row[AT], row[SEQ]
        entry = self.subjects.get((source, subject))
        if entry is None:
            self.subjects[source, subject] = [1, at, at, key]
        else:
            entry[0] += 1
            if at < entry[1]:
                entry[1] = at
            if at > entry[2]:
                entry[2] = at
            entry[3] = key
        if seq < LATEST_SEQ and seq >= self.next_seq.get(source, 0):
            self.next_seq[source] = seq + 1


class Imports(RowStore):
    """Imports, and events that are added at once."""

    _staged: tuple[int, Any] = (DIRECT, None)
    """The import that this store is staging, and the keys of its events, sorted."""

    def add(
        self,
        events: Sequence[Event | Staged],
        *,
        keep_text: bool = False,
        received_at: datetime | None = None,
        kinds: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Added:
        """Add events and return when they are stored; each id of a source once.

        The same content again is counted as repeated. Other content under a known id raises `Clashes`, and
        nothing of the call is added. Texts go unless `keep_text` (`rows.bare_attributes` for agent runs);
        content is compared with the text all the same. The numbers of a subject (`SubjectRow`) follow.
        `kinds` (source -> signal -> kind) replaces what is known of these sources. `Added.again` has the
        lines of `Staged` items, or the positions of events, that were there.
        """
        batch = [
            event if isinstance(event, Staged) else Staged(event, 0, number)
            for number, event in enumerate(events)
        ]
        received = None if received_at is None else micros(received_at)
        rows = [row_of(DIRECT, item, keep_text, received) for item in batch]
        new, repeated, clashes = compare_rows(rows, {})
        if clashes:
            raise Clashes(clashes)
        chosen = [_new_event(rows[place], batch[place]) for place in new]

        def work() -> Added:
            done = _Adding(self).add(chosen)
            if done.clashes:
                raise Clashes(done.clashes[:MAX_CLASHES])
            _save_kinds(self, kinds or {})
            return done

        done = self.transact(work)
        return Added(done.added, done.repeated + repeated, again=done.again)

    @atomic
    def begin_import(self, key: str, state: Mapping[str, Any], at: datetime) -> Import:
        """Continue the import of a key, or begin a new one with this state."""
        for known in _imports(self, key):
            return known
        (number,) = next_numbers(self, "imports")
        self.write("imports", [(number, key, micros(at), 0, 0, encode(dict(state)))])
        return Import(number, key, 0, 0, state)

    def imports(self) -> list[Import]:
        """Unfinished imports, oldest first."""
        with self.snapshot() as view:
            return _imports(view)

    def stage(
        self,
        of: Import,
        batch: Sequence[Staged],
        state: Mapping[str, Any],
        *,
        keep_text: bool = False,
        skip_clashes: bool = False,
        received_at: datetime | None = None,
    ) -> tuple[Import, tuple[Clash, ...]]:
        """Stage a batch, and its state in the same commit; return the import and the skipped clashes.

        Nobody sees staged events. An event staged before is counted as repeated; under other content it is a
        clash that names both places, raised as `Clashes` unless `skip_clashes`.
        """
        received = None if received_at is None else micros(received_at)
        rows = [row_of(of.number, item, keep_text, received) for item in batch]
        hashes = [_hash(row[1], row[ID]) for row in rows]

        def work() -> tuple[Import, tuple[Clash, ...], Any]:
            found = list(self.rows("imports", [("number", "=", of.number)]))
            if not found:
                raise BadUsage("this import was dropped while running, for example by a purge; run it again")
            _, key, begun, staged, before, _ = found[0]
            keys = self._staged_keys(of.number, staged)
            again = keys.found(hashes)
            known = _staged_before(self, of.number, again) if again else {}
            new, repeated, clashes = compare_rows(rows, known)
            if clashes and not skip_clashes:
                raise Clashes(clashes)
            self._write_pieces(of.number, [(_new_event(rows[i], batch[i]), hashes[i]) for i in new])
            row = (of.number, key, begun, staged + len(new), before + repeated, encode(dict(state)))
            self.write("imports", [row])
            done = Import(of.number, key, row[3], row[4], state)
            return done, tuple(clashes), keys.having(hashes[i] for i in new)

        done, clashes, keys = self.transact(work)
        self._staged = (of.number, keys)
        return done, clashes

    def _staged_keys(self, number: int, count: int) -> Any:
        """The hashes of what is staged; read from the store where another program has begun the import."""
        from .staged_keys import StagedKeys

        if self._staged[0] == number and len(self._staged[1]) == count:
            return self._staged[1]
        pieces = self.rows("staged", [("import", "=", number)], columns=("keys",))
        return StagedKeys.decode([bytes(keys) for (keys,) in pieces])

    def _write_pieces(self, number: int, events: Sequence[tuple[NewEvent, bytes]]) -> None:
        last = self.rows("staged", [("import", "=", number)], columns=("n", "events"), order=("-n",), limit=1)
        n = next((n + max(1, size) for n, size in last), 1)
        for piece in in_pieces(events, PIECE):
            hashes = b"".join(own for _, own in piece)
            data = encode_piece([event for event, _ in piece])
            self.write("staged", [(number, n, len(piece), hashes, data)])
            n += len(piece)

    @atomic
    def staged_untimed(self, of: Import, source: str, *, drop: bool) -> tuple[int, list[Place]]:
        """Count staged events of a source without a time, and list the first 50; `drop` removes them."""
        places: list[Place] = []
        for n, events in _pieces(self, of.number):
            stay = [item for item in events if item.row[1] != source or item.row[TIMED]]
            if len(stay) == len(events):
                continue
            places += [(item.row[3], item.row[4]) for item in events if item not in stay]
            if drop:
                hashes = b"".join(_hash(item.row[1], item.row[ID]) for item in stay)
                self.write("staged", [(of.number, n, len(stay), hashes, encode_piece(stay))])
        return len(places), sorted(places)[:50]

    def finish_import(
        self,
        of: Import,
        kinds: Mapping[str, Mapping[str, str]],
        *,
        files: Mapping[str, int],
        options: str,
        at: datetime,
        skip_clashes: bool = False,
    ) -> Added:
        """Make everything staged visible in one commit, as `add` would. `kinds`: source -> signal -> kind.

        `BadEvents` where some events of a source have times and some have none. `files` (hash -> number of
        events) are known under `options` from then on. Where a store cannot write so much at a time, all is
        checked together and then becomes visible in steps; after an interruption the same call continues.
        """

        def close() -> None:
            _save_kinds(self, kinds)
            known = {name for (name,) in self.rows("files", [("options", "=", options)], columns=("hash",))}
            new = [(options, name, count, micros(at)) for name, count in files.items() if name not in known]
            self.write("files", new)
            _clear(self, of.number)

        def everything() -> Added:
            done = self._move_pieces(of.number, skip_clashes=skip_clashes)
            close()
            return done

        sizes = [size for (size,) in self.rows("staged", [("import", "=", of.number)], columns=("events",))]
        if self.max_events is None or sum(sizes) <= self.max_events:
            done = self.transact(everything)
        else:
            self.transact(lambda: self._check_pieces(of.number, skip_clashes=skip_clashes))
            done = Added(0, 0)
            while step := self.transact(lambda: self._move_piece(of.number)):
                done = _sum(done, step)
            self.transact(close)
        self.settle()
        return Added(done.added, done.repeated + of.repeated, done.clashes)

    def _move_pieces(self, number: int, *, skip_clashes: bool) -> Added:
        """Add the events of all pieces; Clashes, unless skipped, of which the first are listed."""
        adding, done = _Adding(self), Added(0, 0)
        for _, events in _pieces(self, number):
            done = _sum(done, adding.add(events))
        if done.clashes and not skip_clashes:
            raise Clashes(done.clashes[:MAX_CLASHES])
        return done

    def _move_piece(self, number: int) -> Added | None:
        """Add the events of the first piece, which was checked; None where none is left."""
        for n, events in _pieces(self, number, limit=1):
            done = _Adding(self).add(events)
            self.delete("staged", [("import", "=", number), ("n", "=", n)])
            return done
        return None

    def _check_pieces(self, number: int, *, skip_clashes: bool) -> None:
        """Raise BadEvents or Clashes where staged events cannot be added."""
        adding = _Adding(self)
        clashes: list[Clash] = []
        for _, events in _pieces(self, number):
            adding.check_sources(events)
            if not skip_clashes and len(clashes) < MAX_CLASHES:
                known = adding.known(events)
                clashes += adding.compare([item for item in events if (item.row[1], item.row[ID]) in known])[
                    1
                ]
        if clashes:
            raise Clashes(clashes[:MAX_CLASHES])

    @atomic
    def drop_import(self, of: Import) -> None:
        """Remove an import and everything staged for it."""
        _clear(self, of.number)

    def known_files(self, options: str) -> dict[str, int]:
        """Hashes of files imported under these options, with their numbers of events."""
        rows = self.rows("files", [("options", "=", options)], columns=("hash", "events"))
        return dict(tuple(row) for row in rows)  # type: ignore[misc]


class _Adding:
    """Adds events inside a transaction; sources that it made itself are not those of the store before."""

    def __init__(self, store: RowStore) -> None:
        self._store = store
        self._made: dict[str, int] = {}

    def add(self, events: Sequence[NewEvent]) -> Added:
        """Add events, and return how many are new, how many were there, and clashes with those."""
        if not events:
            return Added(0, 0)
        self.check_sources(events, make=True)
        store, first = self._store, last_key(self._store) + 1
        before = _subject_rows(store, {(item.row[1], item.row[2]) for item in events})
        counts = _Counts()
        for key, item in enumerate(events, first):
            counts.add(key, item.row)
        self._write_subjects(before, counts)
        known = store.append([(key, *item.row[1:3], *item.row[5:]) for key, item in enumerate(events, first)])
        again: list[NewEvent] = []
        clashes: list[Clash] = []
        if known:
            again, clashes = self.compare([events[place] for place in known])
            left_out = set(known)
            fewer = _Counts()
            for place, item in enumerate(events):
                if place not in left_out:
                    fewer.add(first + place, item.row)
            self._write_subjects(before, fewer)
            for who in counts.subjects.keys() - fewer.subjects.keys():
                if who in before:
                    store.write("subjects", [before[who]])
                else:
                    store.delete("subjects", [("source", "=", who[0]), ("name", "=", who[1])])
            counts = fewer
        else:
            left_out = set()
        store.write(
            "readings",
            [
                (first + place, *reading)
                for place, item in enumerate(events)
                if item.measured and place not in left_out
                for reading in item.measured
            ],
        )
        self._write_sources(counts)
        set_meta(store, LAST_KEY, first + len(events) - 1)
        lines = tuple(item.row[4] for item in again)
        return Added(len(events) - len(known), len(again), tuple(clashes), lines)

    def check_sources(self, events: Iterable[NewEvent], *, make: bool = False) -> None:
        """BadEvents where a source has times and none; `make` makes those that are new."""
        times: dict[str, set[int]] = {}
        for item in events:
            times.setdefault(item.row[1], set()).add(item.row[TIMED])
        stored = self._store.rows("sources", [("name", "in", list(times))], columns=("name", "timed"))
        known = {name: timed for name, timed in stored if name not in self._made}
        faults = []
        for name, own in times.items():
            if len(own) > 1 or own - {known.get(name, self._made.get(name, min(own)))}:
                faults.append(Fault("", 0, 0, mixed_times(name, known.get(name))))
            elif name not in known and name not in self._made:
                self._made[name] = min(own)
                if make:
                    self._store.write("sources", [(name, min(own), 0, "{}")])
        if faults:
            raise BadEvents(faults)

    def known(self, events: Sequence[NewEvent]) -> dict[tuple[str, str], bytes]:
        """The contents of the events that the store has, by source and id."""
        ids = {(item.row[1], item.row[ID]) for item in events}
        return {
            (source, name): bytes(content)
            for source, names in by_source(ids)
            for name, content in self._store.rows(
                "events", [("source", "=", source), ("id", "in", names)], columns=("id", "content")
            )
        }

    def compare(self, events: Sequence[NewEvent]) -> tuple[list[NewEvent], list[Clash]]:
        """Of events whose ids the store has, those that are the same, and clashes."""
        known = self.known(events)
        again: list[NewEvent] = []
        clashes: list[Clash] = []
        for item in events:
            clash = None
            if known[item.row[1], item.row[ID]] != item.row[CONTENT]:
                clash = self._clash(item)
            if clash is None:
                again.append(item)
            else:
                clashes.append(clash)
        return again, clashes

    def _clash(self, item: NewEvent) -> Clash | None:
        """The clash with an event of the store; None where the new event is the same without its text.

        So an export without texts can be imported again.
        """
        where = [("source", "=", item.row[1]), ("id", "=", item.row[ID])]
        ((key, source, subject, *row),) = self._store.rows("events", where)
        bare = tuple(None if name == "text" else value for name, value in zip(EVENT_FIELDS, row, strict=True))
        for measured in ((), measured_readings(self._store, [key]).get(key, ())):
            event = event_of(source, subject, bare, measured)
            if event_values(event, keep_text=False)[1] == item.row[CONTENT]:
                return None
        return Clash(event.id, item.row[3], item.row[4], where_in_store(event))

    def _write_subjects(self, before: Mapping[Who, Row], counts: _Counts) -> None:
        rows = []
        for (source, name), (count, low, high, changed) in counts.subjects.items():
            if (row := before.get((source, name))) is not None:
                count, low, high = row[2] + count, min(row[3], low), max(row[4], high)
            rows.append((source, name, count, low, high, changed))
        self._store.write("subjects", rows)

    def _write_sources(self, counts: _Counts) -> None:
        names = list(counts.next_seq)
        rows = []
        for name, timed, next_seq, kinds in self._store.rows("sources", [("name", "in", names)]):
            if counts.next_seq[name] > next_seq:
                rows.append((name, timed, counts.next_seq[name], kinds))
        self._store.write("sources", rows)


def _subject_rows(store: RowStore, subjects: Iterable[Who]) -> dict[Who, Row]:
    return {
        (row[0], row[1]): row
        for source, names in by_source(subjects)
        for row in store.rows("subjects", [("source", "=", source), ("name", "in", names)])
    }


def _save_kinds(store: RowStore, kinds: Mapping[str, Mapping[str, str]]) -> None:
    rows = store.rows("sources", [("name", "in", list(kinds))]) if kinds else ()
    store.write("sources", [(*row[:3], encode(dict(kinds[row[0]]))) for row in rows])


def _imports(view: Reader, key: str | None = None) -> list[Import]:
    rows = view.rows("imports", () if key is None else [("key", "=", key)], order=("number",))
    return [Import(number, name, n, again, json.loads(state)) for number, name, _, n, again, state in rows]


def _clear(store: RowStore, number: int) -> None:
    store.delete("staged", [("import", "=", number)])
    store.delete("imports", [("number", "=", number)])


def _sum(done: Added, step: Added) -> Added:
    return Added(done.added + step.added, done.repeated + step.repeated, done.clashes + step.clashes)


# --- staged pieces --------------------------------------------------------------------------


def _new_event(row: Row, item: Staged) -> NewEvent:
    return NewEvent(row, [reading_values(reading) for reading in item.measured] if item.measured else ())


_PIECE = msgspec.msgpack.Decoder(list[tuple[tuple[Any, ...], list[Any]]])


def encode_piece(events: Sequence[NewEvent]) -> bytes:
    """Events as they are staged."""
    return msgspec.msgpack.encode(events)


def decode_piece(data: bytes) -> list[NewEvent]:
    """The events of a staged piece."""
    return [NewEvent(row, measured) for row, measured in _PIECE.decode(data)]


def _hash(source: str, name: str) -> bytes:
    return blake2b(f"{source}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _pieces(store: RowStore, number: int, limit: int | None = None) -> Iterator[tuple[int, list[NewEvent]]]:
    """The numbers and events of what is staged, one piece in memory at a time."""
    numbers = store.rows("staged", [("import", "=", number)], columns=("n",), order=("n",), limit=limit)
    for (n,) in list(numbers):
        where = [("import", "=", number), ("n", "=", n)]
        for (data,) in store.rows("staged", where, columns=("data",), limit=1):
            yield n, decode_piece(bytes(data))


def _staged_before(store: RowStore, number: int, hashes: set[bytes]) -> Known:
    """The staged events that may have one of these hashes."""
    known: Known = {}
    for _, events in _pieces(store, number):
        for item in events:
            if _hash(item.row[1], item.row[ID]) in hashes:
                place = f"at {item.row[3]}:{item.row[4]}"
                known[item.row[1], item.row[ID]] = (item.row[CONTENT], place)
    return known


def row_of(number: int, staged: Staged, keep_text: bool, received_us: int | None = None) -> Row:
    """A row to stage: import, source, subject, file, line, then the event's fields."""
    event = staged.event
    where = (number, event.source, event.subject, staged.file, staged.line)
    return where + event_values(event, keep_text=keep_text, received_us=received_us)


def compare_rows(rows: Sequence[Row], known: Known) -> tuple[list[int], int, list[Clash]]:
    """The positions of new rows, how many are repeats, and those with other content than `known` ones."""
    new: list[int] = []
    clashes: list[Clash] = []
    for i, (_, source, _, file, line, name, content, *_) in enumerate(rows):
        before = known.setdefault((source, name), (content, f"at {file}:{line}"))
        if before[0] != content:
            clashes.append(Clash(name, file, line, before[1]))
        elif before[1] == f"at {file}:{line}":
            new.append(i)
    return new, len(rows) - len(new) - len(clashes), clashes


def mixed_times(name: str, known: int | None) -> str:
    """What is wrong where events of a source have times and others have none."""
    if known is None:
        return f"some events of the source {name!r:.60} have a time and some have none; all or none must"
    has, here = ("has times", "lack one") if known else ("has no times", "have one")
    return f"the source {name!r:.60} in the store {has}, and these events {here}; give them another --source"


def where_in_store(event: Event) -> str:
    """Which event of the store a clash is with."""
    when = f" at {format_time(event.at)}" if event.timed else f", number {event.seq}"
    return f"in the store (of {event.subject!r:.60}{when})"
