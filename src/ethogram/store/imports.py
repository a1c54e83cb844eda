"""Add events: at once, or by an import that is staged in pieces and becomes visible in one commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import count
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
READING = ("event", "signal", "number", "text", "scorer", "width")


class Piece(NamedTuple):
    """Events to store, by column: so there are few objects, however many events.

    `columns` are those of rows by `row_of`, `measured` the readings that were measured before texts are
    dropped, with the place of their event in the piece first.
    """

    columns: list[list[Any]]
    measured: list[list[Any]]

    @classmethod
    def of(cls, rows: Sequence[Row], readings: Sequence[Row]) -> Piece:
        """A piece of rows by `row_of`, and of readings with the place of their row first."""
        columns = list(map(list, zip(*rows, strict=True))) or [[] for _ in range(5 + len(EVENT_FIELDS))]
        return cls(columns, list(map(list, zip(*readings, strict=True))) or [[] for _ in READING])

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def keys(self) -> Iterator[tuple[str, str]]:
        """The source and id of each event."""
        return zip(self.columns[1], self.columns[ID], strict=True)

    def row(self, place: int) -> Row:
        """One of the rows."""
        return tuple(column[place] for column in self.columns)

    def without(self, places: set[int]) -> Piece:
        """The piece without some of its events."""
        stay = [place for place in range(len(self)) if place not in places]
        new = {place: number for number, place in enumerate(stay)}
        readings = [number for number, place in enumerate(self.measured[0]) if place in new]
        measured = [[column[number] for number in readings] for column in self.measured]
        measured[0] = [new[place] for place in measured[0]]
        return Piece([[column[place] for place in stay] for column in self.columns], measured)


class _Counts:
    """What new events add to the subjects and sources."""

    def __init__(self, first: int, piece: Piece, left_out: set[int]) -> None:
        self.subjects: dict[Who, list[int]] = {}
        self.next_seq: dict[str, int] = {}
        columns = piece.columns
        rows = zip(count(first), columns[1], columns[2], columns[AT], columns[SEQ])
        for key, source, subject, at, seq in rows:
            if left_out and key - first in left_out:
                continue
            entry = self.subjects.get((source, subject))
            if entry is None:
                self.subjects[source, subject] = [1, at, at, key]
            else:
                entry[0] += 1
                if at < entry[1]:
                    entry[1] = at
                elif at > entry[2]:
                    entry[2] = at
                entry[3] = key  # keys grow
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
        piece = _piece(rows, batch, new)

        def work() -> Added:
            done = _Adding(self).add(piece)
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
            for some in in_pieces(new, PIECE):
                self._write_piece(of.number, _piece(rows, batch, some), [hashes[i] for i in some])
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

    def _write_piece(self, number: int, piece: Piece, hashes: Sequence[bytes]) -> None:
        last = self.rows("staged", [("import", "=", number)], columns=("n", "events"), order=("-n",), limit=1)
        n = next((n + max(1, size) for n, size in last), 1)
        self.write("staged", [(number, n, len(piece), b"".join(hashes), encode_piece(piece))])

    @atomic
    def staged_untimed(self, of: Import, source: str, *, drop: bool) -> tuple[int, list[Place]]:
        """Count staged events of a source without a time, and list the first 50; `drop` removes them."""
        found: list[Place] = []
        for n, piece in _pieces(self, of.number):
            columns = piece.columns
            gone = {
                place
                for place, (name, is_timed) in enumerate(zip(columns[1], columns[TIMED], strict=True))
                if name == source and not is_timed
            }
            found += [(columns[3][place], columns[4][place]) for place in gone]
            if drop and gone:
                left = piece.without(gone)
                self.write("staged", [(of.number, n, len(left), hashes_of(left), encode_piece(left))])
        return len(found), sorted(found)[:50]

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
        for _, piece in _pieces(self, number):
            done = _sum(done, adding.add(piece))
        if done.clashes and not skip_clashes:
            raise Clashes(done.clashes[:MAX_CLASHES])
        return done

    def _move_piece(self, number: int) -> Added | None:
        """Add the events of the first piece, which was checked; None where none is left."""
        for n, piece in _pieces(self, number, limit=1):
            done = _Adding(self).add(piece)
            self.delete("staged", [("import", "=", number), ("n", "=", n)])
            return done
        return None

    def _check_pieces(self, number: int, *, skip_clashes: bool) -> None:
        """Raise BadEvents or Clashes where staged events cannot be added."""
        adding = _Adding(self)
        clashes: list[Clash] = []
        for _, piece in _pieces(self, number):
            adding.check_sources(piece)
            if not skip_clashes and len(clashes) < MAX_CLASHES:
                known = adding.known(piece.keys)
                there = [place for place, key in enumerate(piece.keys) if key in known]
                clashes += adding.compare(piece, there)[1]
        if clashes:
            raise Clashes(clashes[:MAX_CLASHES])

    @atomic
    def drop_import(self, of: Import) -> None:
        """Remove an import and everything staged for it."""
        _clear(self, of.number)

    def known_files(self, options: str) -> dict[str, int]:
        """Hashes of files imported under these options, with their numbers of events."""
        rows = self.rows("files", [("options", "=", options)], columns=("hash", "events"))
        return dict(tuple(row) for row in rows)


class _Adding:
    """Adds events inside a transaction; sources that it made itself are not those of the store before."""

    def __init__(self, store: RowStore) -> None:
        self._store = store
        self._made: dict[str, int] = {}

    def add(self, piece: Piece) -> Added:
        """Add events, and return how many are new, how many were there, and clashes with those."""
        if not len(piece):
            return Added(0, 0)
        self.check_sources(piece, make=True)
        store, first, columns = self._store, last_key(self._store) + 1, piece.columns
        counts = _Counts(first, piece, set())
        before = _subject_rows(store, counts.subjects)
        self._write_subjects(before, counts)
        keys = range(first, first + len(piece))
        known = store.append(list(zip(keys, *columns[1:3], *columns[5:], strict=True)))
        again: list[int] = []
        clashes: list[Clash] = []
        measured = piece.measured
        if known:
            again, clashes = self.compare(piece, known)
            measured = piece.without(set(known)).measured
            counts = self._count_again(before, counts, _Counts(first, piece, set(known)))
            stay = [key for place, key in enumerate(keys) if place not in set(known)]
            measured = [[stay[place] for place in measured[0]], *measured[1:]]
        else:
            measured = [[first + place for place in measured[0]], *measured[1:]]
        if measured[0]:
            store.write("readings", zip(*measured, strict=True))
        self._write_sources(counts)
        set_meta(store, LAST_KEY, keys[-1])
        lines = tuple(columns[4][place] for place in again)
        return Added(len(piece) - len(known), len(again), tuple(clashes), lines)

    def _count_again(self, before: Mapping[Who, Row], counted: _Counts, counts: _Counts) -> _Counts:
        """Write the subjects of fewer events than were counted at first."""
        self._write_subjects(before, counts)
        for who in counted.subjects.keys() - counts.subjects.keys():
            if who in before:
                self._store.write("subjects", [before[who]])
            else:
                self._store.delete("subjects", [("source", "=", who[0]), ("name", "=", who[1])])
        return counts

    def check_sources(self, piece: Piece, *, make: bool = False) -> None:
        """BadEvents where a source has times and none; `make` makes those that are new."""
        times: dict[str, set[int]] = {}
        for name, is_timed in set(zip(piece.columns[1], piece.columns[TIMED], strict=True)):
            times.setdefault(name, set()).add(is_timed)
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

    def known(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], bytes]:
        """The contents of the events that the store has, by source and id."""
        return {
            (source, name): bytes(content)
            for source, names in by_source(keys)
            for name, content in self._store.rows(
                "events", [("source", "=", source), ("id", "in", names)], columns=("id", "content")
            )
        }

    def compare(self, piece: Piece, places: Sequence[int]) -> tuple[list[int], list[Clash]]:
        """Of events whose ids the store has, the places of those that are the same, and clashes."""
        rows = [piece.row(place) for place in places]
        known = self.known((row[1], row[ID]) for row in rows)
        again: list[int] = []
        clashes: list[Clash] = []
        for place, row in zip(places, rows, strict=True):
            clash = None if known[row[1], row[ID]] == row[CONTENT] else self._clash(row)
            if clash is None:
                again.append(place)
            else:
                clashes.append(clash)
        return again, clashes

    def _clash(self, row: Row) -> Clash | None:
        """The clash with an event of the store; None where the new event is the same without its text.

        So an export without texts can be imported again.
        """
        where = [("source", "=", row[1]), ("id", "=", row[ID])]
        ((key, source, subject, *stored),) = self._store.rows("events", where)
        bare = tuple(
            None if name == "text" else value for name, value in zip(EVENT_FIELDS, stored, strict=True)
        )
        for measured in ((), measured_readings(self._store, [key]).get(key, ())):
            event = event_of(source, subject, bare, measured)
            if event_values(event, keep_text=False)[1] == row[CONTENT]:
                return None
        return Clash(event.id, row[3], row[4], where_in_store(event))

    def _write_subjects(self, before: Mapping[Who, Row], counts: _Counts) -> None:
        rows = []
        for (source, name), (events, low, high, changed) in counts.subjects.items():
            if (row := before.get((source, name))) is not None:
                events, low, high = row[2] + events, min(row[3], low), max(row[4], high)
            rows.append((source, name, events, low, high, changed))
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


def _piece(rows: Sequence[Row], batch: Sequence[Staged], places: Sequence[int]) -> Piece:
    """Some of the rows of a batch, with what was measured."""
    readings = [
        (number, *reading_values(reading))
        for number, place in enumerate(places)
        for reading in batch[place].measured
    ]
    return Piece.of([rows[place] for place in places], readings)


def encode_piece(piece: Piece) -> bytes:
    """Events as they are staged."""
    return msgspec.msgpack.encode(piece)


_PIECE = msgspec.msgpack.Decoder(tuple[list[list[Any]], list[list[Any]]])


def decode_piece(data: bytes) -> Piece:
    """The events of a staged piece."""
    return Piece(*_PIECE.decode(data))


def _hash(source: str, name: str) -> bytes:
    return blake2b(f"{source}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def hashes_of(piece: Piece) -> bytes:
    """Eight bytes for each event of a piece."""
    return b"".join(_hash(*key) for key in piece.keys)


def _pieces(store: RowStore, number: int, limit: int | None = None) -> Iterator[tuple[int, Piece]]:
    """The numbers and events of what is staged, one piece in memory at a time."""
    numbers = store.rows("staged", [("import", "=", number)], columns=("n",), order=("n",), limit=limit)
    for (n,) in list(numbers):
        where = [("import", "=", number), ("n", "=", n)]
        for (data,) in store.rows("staged", where, columns=("data",), limit=1):
            yield n, decode_piece(bytes(data))


def _staged_before(store: RowStore, number: int, hashes: set[bytes]) -> Known:
    """The staged events that may have one of these hashes."""
    known: Known = {}
    for _, piece in _pieces(store, number):
        for place, key in enumerate(piece.keys):
            if _hash(*key) in hashes:
                row = piece.row(place)
                known[key] = (row[CONTENT], f"at {row[3]}:{row[4]}")
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
