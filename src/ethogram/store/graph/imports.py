"""Write events as messages of a graph, at once or by an import.

An import stages its events in pieces, which nobody sees: a node for each event would be written twice.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...errors import BadEvents, BadUsage, Fault
from ...models import micros
from ...models.event import Event
from ..imports import DIRECT, MAX_CLASHES, Known, compare_rows, mixed_times, row_of, where_in_store
from ..records import Added, Clash, Clashes, Import, Place, Staged, Who
from ..rows import Row, encode, event_of, event_values, reading_values
from ..sql import in_pieces
from .connection import STEP, Graph, Transaction
from .events import FIELDS, properties_of, readings_of

BATCH = 1000
"""Events in one query, and in a staged piece."""
LAST_KEY = "last_key"
NO_KEYS = np.empty(0, np.uint64)
LATEST_SEQ = 2**63 - 1


class NewEvent(NamedTuple):
    """An event to write: where it was read, its values of FIELDS, and readings that were measured."""

    source: str
    subject: str
    file: int
    line: int
    values: Row
    measured: Sequence[Sequence[Any]]

    @property
    def id(self) -> str:
        return str(self.values[0])

    @property
    def content(self) -> bytes:
        return bytes(self.values[1])

    @property
    def is_timed(self) -> int:
        return int(self.values[4])

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place in a history: time, seq, id."""
        return (self.values[2], self.values[3], self.id)

    @property
    def properties(self) -> dict[str, Any]:
        """The properties of its message."""
        row = {"source": self.source, "subject": self.subject, **dict(zip(FIELDS, self.values, strict=True))}
        made = properties_of(row, self.measured)
        return {name: value for name, value in made.items() if value is not None}


_PIECE = msgspec.msgpack.Decoder(list[tuple[str, str, int, int, tuple[Any, ...], list[Any]]])


def new_event(row: Row, item: Staged) -> NewEvent:
    """An event to write, of a row by `row_of`."""
    _, source, subject, file, line, *values = row
    measured = [reading_values(reading) for reading in item.measured]
    return NewEvent(source, subject, file, line, tuple(values), measured)


def encode_piece(events: Sequence[NewEvent]) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(events), 1)


def decode_piece(data: bytes) -> list[NewEvent]:
    return [NewEvent._make(item) for item in _PIECE.decode(zlib.decompress(data))]


def hashed_keys(keys: Iterable[tuple[str, str]]) -> NDArray[np.uint64]:
    """Eight bytes for each (source, id)."""
    digests = [blake2b(f"{source}\0{name}".encode(), digest_size=8).digest() for source, name in keys]
    return np.frombuffer(b"".join(digests), "<u8")


class Imports(Graph):
    """Imports, and events that are added at once."""

    _staged: tuple[int, NDArray[np.uint64]] = (DIRECT, NO_KEYS)
    """The import that this store is staging, and the keys of its events, sorted."""

    def add(
        self,
        events: Sequence[Event | Staged],
        *,
        keep_text: bool = False,
        received_at: datetime | None = None,
        kinds: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Added:
        """Add events; Clashes, and none is added, where an id has other content.

        `kinds`: source -> signal -> kind, of all signals of the source.
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
        chosen = [new_event(rows[i], batch[i]) for i in new]

        def work(tx: Transaction) -> Added:
            done = write_events(tx, chosen, skip_clashes=False)
            save_kinds(tx, kinds or {})
            return done._replace(repeated=done.repeated + repeated)

        return self.write(work)

    def begin_import(self, key: str, state: Mapping[str, Any], at: datetime) -> Import:
        """Continue the import of a key, or begin a new one with this state."""

        def work(tx: Transaction) -> Import:
            if not (found := _imports(tx, key)):
                begin = """CREATE (:Import {number: $number, key: $key, begun_us: $at, staged: 0, repeated: 0,
                  state: $state, next_n: 1})"""
                values = {"key": key, "at": micros(at), "state": encode(dict(state))}
                tx.run(begin, number=next_number(tx, "imports"), **values)
                found = _imports(tx, key)
            return found[0]

        return self.write(work)

    def imports(self) -> list[Import]:
        """Unfinished imports, oldest first."""
        return self.read(lambda tx: _imports(tx))

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
        """Stage a batch, and its state in the same commit; return the import and the skipped clashes."""
        received = None if received_at is None else micros(received_at)
        rows = [row_of(of.number, item, keep_text, received) for item in batch]
        keys = hashed_keys((row[1], row[5]) for row in rows)

        def work(tx: Transaction) -> tuple[Import, tuple[Clash, ...], NDArray[np.uint64]]:
            first = tx.value("MATCH (i:Import {key: $key}) RETURN i.next_n", key=of.key)
            if first is None:
                raise BadUsage("this import was dropped while running, for example by a purge; run it again")
            before = self._staged_keys(tx, of.number, first - 1)
            again = keys[np.isin(keys, before)]
            known = staged_before(tx, of.number, again) if len(again) else {}
            new, repeated, clashes = compare_rows(rows, known)
            if clashes and not skip_clashes:
                raise Clashes(clashes)
            for start in range(0, len(new), BATCH):
                piece = new[start : start + BATCH]
                values = {"n": first + start, "events": len(piece), "keys": keys[piece].tobytes()}
                data = encode_piece([new_event(rows[i], batch[i]) for i in piece])
                tx.run(_STAGE, row={"import": of.number, **values, "data": data})
            update = """MATCH (i:Import {key: $key}) SET i.staged = i.staged + $staged,
              i.repeated = i.repeated + $repeated, i.state = $state, i.next_n = i.next_n + $staged"""
            counts = {"staged": len(new), "repeated": repeated}
            tx.run(update, key=of.key, state=encode(dict(state)), **counts)
            return _imports(tx, of.key)[0], tuple(clashes), np.union1d(before, keys[new])

        done, clashes, all_keys = self.write(work)
        self._staged = (of.number, all_keys)
        return done, clashes

    def _staged_keys(self, tx: Transaction, number: int, count: int) -> NDArray[np.uint64]:
        """The keys of the events that are staged, so many; of an import that is continued from the graph."""
        own, keys = self._staged
        if own == number and len(keys) == count:
            return keys
        found = tx.run("MATCH (x:Staged {import: $number}) RETURN x.keys", number=number)
        return np.unique(np.concatenate([NO_KEYS, *(np.frombuffer(data, "<u8") for (data,) in found)]))

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
        """Make an import visible. `kinds`: source -> signal -> kind.

        More than STEP events are checked together, then become visible in steps, since a transaction must fit
        into the server's memory; after an interruption the same call continues.
        """

        def close(tx: Transaction) -> None:
            save_kinds(tx, kinds)
            known = """UNWIND $rows AS row MERGE (f:ImportedFile {options: $options, hash: row[0]})
              ON CREATE SET f.events = row[1], f.imported_us = $at"""
            tx.run(known, rows=[list(item) for item in files.items()], options=options, at=micros(at))
            clear(tx, of.number)

        def begin(tx: Transaction) -> Added | None:
            count = tx.value("MATCH (x:Staged {import: $number}) RETURN sum(x.events)", number=of.number)
            if count > STEP:
                check_staged(tx, of.number, skip_clashes=skip_clashes)
                return None
            done = move(tx, of.number, skip_clashes=skip_clashes) or Added(0, 0)
            close(tx)
            return done

        done = self.write(begin)
        if done is None:
            done = Added(0, 0)
            while step := self.write(lambda tx: move(tx, of.number, skip_clashes=skip_clashes)):
                sums = (done.added + step.added, done.repeated + step.repeated)
                done = Added(*sums, done.clashes + step.clashes)
            self.write(close)
        return done._replace(repeated=done.repeated + of.repeated, again=())

    def drop_import(self, of: Import) -> None:
        """Remove an import and everything staged for it."""
        self.write(lambda tx: clear(tx, of.number))

    def staged_untimed(self, of: Import, source: str, *, drop: bool) -> tuple[int, list[Place]]:
        """Count staged events of a source without a time, and list the first 50; `drop` removes them."""

        def work(tx: Transaction) -> tuple[int, list[Place]]:
            places: list[Place] = []
            for n, events in _pieces(tx, of.number):
                stay = [item for item in events if item.source != source or item.is_timed]
                places += [(item.file, item.line) for item in events if item not in stay]
                if drop and len(stay) < len(events):
                    _replace_piece(tx, of.number, n, stay)
            return len(places), sorted(places)[:50]

        return self.write(work)

    def known_files(self, options: str) -> dict[str, int]:
        """Hashes of files imported under these options, with their numbers of events."""
        query = "MATCH (f:ImportedFile {options: $options}) RETURN f.hash, f.events"
        return self.read(lambda tx: dict(tx.run(query, options=options)))


_STAGE = "CREATE (x:Staged) SET x = $row"


def save_kinds(tx: Transaction, kinds: Mapping[str, Mapping[str, str]]) -> None:
    """Replace what is known of the signals of sources."""
    if rows := [[source, encode(dict(seen))] for source, seen in kinds.items()]:
        tx.run("UNWIND $rows AS row MATCH (o:Source {name: row[0]}) SET o.kinds = row[1]", rows=rows)


def next_number(tx: Transaction, name: str, count: int = 1) -> int:
    """The first of so many numbers that were never given before."""
    query = """MERGE (c:Counter {name: $name}) SET c.value = coalesce(c.value, 0) + $count
      RETURN c.value - $count + 1"""
    first: int = tx.value(query, name=name, count=count)
    return first


def get_meta(tx: Transaction, name: str) -> int | None:
    """A number under a name, or None."""
    number: int | None = tx.value("MATCH (m:Meta {name: $name}) RETURN m.value", name=name)
    return number


def set_meta(tx: Transaction, name: str, value: int) -> None:
    """Set a number under a name."""
    tx.run("MERGE (m:Meta {name: $name}) SET m.value = $value", name=name, value=value)


# --- staged pieces --------------------------------------------------------------------------


def _imports(tx: Transaction, key: str | None = None) -> list[Import]:
    which = "" if key is None else " {key: $key}"
    query = f"""MATCH (i:Import{which}) RETURN i.number, i.key, i.staged, i.repeated, i.state
      ORDER BY i.number"""
    rows = tx.run(query, **({} if key is None else {"key": key}))
    return [Import(number, name, n, again, json.loads(state)) for number, name, n, again, state in rows]


def clear(tx: Transaction, number: int) -> None:
    """Remove an import and what is staged for it."""
    tx.run("MATCH (x:Staged {import: $number}) DELETE x", number=number)
    tx.run("MATCH (i:Import {number: $number}) DELETE i", number=number)


def staged_before(tx: Transaction, number: int, keys: NDArray[np.uint64]) -> Known:
    """The staged events that may have one of these keys."""
    known: Known = {}
    for data, own in tx.run("MATCH (x:Staged {import: $n}) RETURN x.data, x.keys", n=number):
        if np.isin(np.frombuffer(own, "<u8"), keys).any():
            for item in decode_piece(data):
                known[item.source, item.id] = (item.content, f"at {item.file}:{item.line}")
    return known


def _pieces(tx: Transaction, number: int) -> Iterator[tuple[int, list[NewEvent]]]:
    """The numbers and events of what is staged, one piece in memory at a time."""
    query = "MATCH (x:Staged {import: $number, n: $n}) RETURN x.data"
    for (n,) in tx.run("MATCH (x:Staged {import: $number}) RETURN x.n AS n ORDER BY n", number=number):
        yield n, decode_piece(tx.value(query, number=number, n=n))


def _replace_piece(tx: Transaction, number: int, n: int, events: Sequence[NewEvent]) -> None:
    """Write a piece with fewer events."""
    query = "MATCH (x:Staged {import: $number, n: $n}) SET x += $row"
    keys = hashed_keys((item.source, item.id) for item in events)
    row = {"events": len(events), "keys": keys.tobytes(), "data": encode_piece(events)}
    tx.run(query, number=number, n=n, row=row)


def check_staged(tx: Transaction, number: int, *, skip_clashes: bool) -> None:
    """Raise BadEvents or Clashes where staged events cannot be written."""
    times: dict[str, set[int]] = {}
    clashes: list[Clash] = []
    for _, events in _pieces(tx, number):
        for item in events:
            times.setdefault(item.source, set()).add(item.is_timed)
        if not skip_clashes and len(clashes) < MAX_CLASHES:
            clashes += sift(tx, events)[2]
    check_sources(tx, times)
    if clashes:
        raise Clashes(clashes[:MAX_CLASHES])


def move(tx: Transaction, number: int, *, skip_clashes: bool) -> Added | None:
    """Make messages of the first pieces of an import, of up to STEP events; None where none is left."""
    query = "MATCH (x:Staged {import: $number}) RETURN x.n AS n, x.events ORDER BY n LIMIT $most"
    chosen: list[int] = []
    count = 0
    for n, size in tx.run(query, number=number, most=STEP):
        if chosen and count + size > STEP:
            break
        chosen.append(n)
        count += size
    if not chosen:
        return None
    which = "UNWIND $chosen AS n MATCH (x:Staged {import: $number, n: n})"
    pieces = tx.run(f"{which} RETURN x.data", number=number, chosen=chosen)
    tx.run(f"{which} DELETE x", number=number, chosen=chosen)
    return write_events(tx, [item for (data,) in pieces for item in decode_piece(data)], skip_clashes)


# --- messages -------------------------------------------------------------------------------


def write_events(tx: Transaction, events: Sequence[NewEvent], skip_clashes: bool = False) -> Added:
    """Write events that the graph does not have; Clashes, unless skipped, where an id has other content."""
    times: dict[str, set[int]] = {}
    for item in events:
        times.setdefault(item.source, set()).add(item.is_timed)
    check_sources(tx, times, make=True)
    new, again, clashes = sift(tx, events)
    if clashes and not skip_clashes:
        raise Clashes(clashes[:MAX_CLASHES])
    if new:
        _write(tx, new)
    return Added(len(new), len(again), tuple(clashes), tuple(item.line for item in again))


def check_sources(tx: Transaction, times: Mapping[str, set[int]], *, make: bool = False) -> None:
    """BadEvents where a source has times and none; `make` makes those that are new."""
    query = "UNWIND $names AS name MATCH (o:Source {name: name}) RETURN name, o.timed"
    known = dict(tx.run(query, names=list(times)))
    faults = [
        Fault("", 0, 0, mixed_times(name, known.get(name)))
        for name, own in times.items()
        if len(own) > 1 or known.get(name) not in (None, *own)
    ]
    if faults:
        raise BadEvents(faults)
    for name, (timed,) in times.items():
        if make and name not in known:
            new = "CREATE (:Source {key: $key, name: $name, timed: $timed, next_seq: 0, kinds: '{}'})"
            tx.run(new, key=next_number(tx, "sources"), name=name, timed=timed)


def sift(tx: Transaction, events: Sequence[NewEvent]) -> tuple[list[NewEvent], list[NewEvent], list[Clash]]:
    """The events that the graph has not, those that it has, and clashes with those of other content."""
    keys = [[item.source, item.id] for item in events]
    find = (
        "UNWIND $keys AS key MATCH (m:Message {source: key[0], id: key[1]}) RETURN m.source, m.id, m.content"
    )
    known = {(source, name): content for source, name, content in tx.run(find, keys=keys)}
    if not known:
        return list(events), [], []
    row = f"""MATCH (m:Message {{source: $source, id: $id}})
      RETURN m.subject, m.measured, {", ".join(f"m.{name}" for name in FIELDS)}"""
    new: list[NewEvent] = []
    again: list[NewEvent] = []
    clashes: list[Clash] = []
    for item in events:
        content = known.get((item.source, item.id))
        if content is None:
            new.append(item)
            continue
        clash = None
        if content != item.content.hex():
            ((subject, measured, *values),) = tx.run(row, source=item.source, id=item.id)
            clash = _clash(item, subject, measured, values)
        if clash is None:
            again.append(item)
        else:
            clashes.append(clash)
    return new, again, clashes


def _clash(item: NewEvent, subject: str, measured: str | None, values: Sequence[Any]) -> Clash | None:
    """The clash with a message; None where the new event is the same without its text."""
    bare = tuple(None if name == "text" else value for name, value in zip(FIELDS, values, strict=True))
    for readings in ((), readings_of(measured)):
        event = event_of(item.source, subject, bare, readings)
        if event_values(event, keep_text=False)[1] == item.content:
            return None
    return Clash(item.id, item.file, item.line, where_in_store(event))


def _write(tx: Transaction, events: Sequence[NewEvent]) -> None:
    """Make messages of events, in the order of their keys, and link them."""
    first = (get_meta(tx, LAST_KEY) or 0) + 1
    histories: dict[Who, list[tuple[NewEvent, int]]] = {}
    seqs: dict[str, int] = {}
    for key, item in enumerate(events, first):
        histories.setdefault((item.source, item.subject), []).append((item, key))
        if item.values[3] < LATEST_SEQ:
            seqs[item.source] = max(item.values[3] + 1, seqs.get(item.source, 0))
    rows = []
    for (source, subject), own in histories.items():
        changed = own[-1][1]
        own.sort(key=lambda pair: pair[0].order)
        low, high = own[0][0].values[2], own[-1][0].values[2]
        rows.append([source, subject, len(own), low, high, changed])
    touched, unknown = [], []
    for source, subject, low, high, before in tx.run(_SUBJECTS, rows=rows):
        if before is None:
            unknown.append([source, subject])
        else:
            # Where all are later than what was there, only the first is linked to what is before it.
            ends = {"low": low, "high": low if before < low else high}
            touched.append({"source": source, "subject": subject, **ends})
    if unknown:
        start = next_number(tx, "subjects", len(unknown))
        tx.run(_SUBJECT_KEYS, rows=[[*who, start + n] for n, who in enumerate(unknown)])
    tx.run(_SOURCES, rows=[list(item) for item in seqs.items()])
    group: list[list[Any]] = []
    count = 0
    for who, own in histories.items():
        group.append([*who, [item.properties | {"key": key} for item, key in own]])
        count += len(own)
        if count >= BATCH:
            tx.stream(LINKED, histories=group)  # the next are made while the server writes these
            group, count = [], 0
    if group:
        tx.stream(LINKED, histories=group)
    for part in in_pieces(touched, BATCH):
        tx.run(PRECEDES, touched=part)
    set_meta(tx, LAST_KEY, first + len(events) - 1)


_SUBJECTS = """UNWIND $rows AS row
  MERGE (s:Subject {source: row[0], id: row[1]})
  WITH s, row, CASE WHEN s.key IS NULL THEN NULL ELSE coalesce(s.last_us, row[3]) END AS before
  SET s.events = coalesce(s.events, 0) + row[2], s.changed = row[5],
    s.first_us = CASE WHEN s.first_us < row[3] THEN s.first_us ELSE row[3] END,
    s.last_us = CASE WHEN s.last_us > row[4] THEN s.last_us ELSE row[4] END
  RETURN row[0], row[1], row[3], row[4], before"""
_SUBJECT_KEYS = """UNWIND $rows AS row MATCH (s:Subject {source: row[0], id: row[1]}) SET s.key = row[2]"""
_SOURCES = """UNWIND $rows AS row MATCH (o:Source {name: row[0]}) WHERE o.next_seq < row[1]
  SET o.next_seq = row[1]"""
AT = "datetime({{epochMillis: 0}}) + duration({{microseconds: {}.at_us}})"
"""The time of a message; the driver takes long to send one."""
SHOW = """WHERE m.shows IS NOT NULL
  UNWIND range(0, size(m.shows) - 1) AS i
  MERGE (of:Indicator {name: m.shows[i]})
  CREATE (m)-[:SHOWS {score: m.scores[i]}]->(of)"""
SENT = f"""UNWIND $histories AS history
  MATCH (s:Subject {{source: history[0], id: history[1]}})
  CALL (s, history) {{
    UNWIND history[2] AS row
    CREATE (s)-[:SENT]->(m:Message)
    SET m = row, m.at = {AT.format("row")}
    RETURN collect(m) AS line
  }}
  CALL (line) {{ UNWIND line AS m WITH m {SHOW} }}"""
"""Makes messages of histories: source, subject and rows each."""
_LINK = """UNWIND range(0, size(line) - 2) AS i
  WITH line[i] AS earlier, line[i + 1] AS later
  CREATE (earlier)-[:PRECEDES]->(later)"""
LINKED = f"{SENT} {_LINK}"
PRECEDES = f"""UNWIND $touched AS t
  CALL (t) {{
    OPTIONAL MATCH (b:Message {{source: t.source, subject: t.subject}}) WHERE b.at_us < t.low
    RETURN b ORDER BY b.source DESC, b.subject DESC, b.at_us DESC, b.seq DESC, b.id DESC LIMIT 1
  }}
  CALL (t) {{
    OPTIONAL MATCH (a:Message {{source: t.source, subject: t.subject}}) WHERE a.at_us > t.high
    RETURN a ORDER BY a.source, a.subject, a.at_us, a.seq, a.id LIMIT 1
  }}
  CALL (t) {{
    MATCH (m:Message {{source: t.source, subject: t.subject}}) WHERE t.low <= m.at_us <= t.high
    WITH m ORDER BY m.at_us, m.seq, m.id
    RETURN collect(m) AS between
  }}
  WITH [x IN [b] + between + [a] WHERE x IS NOT NULL] AS line
  CALL (line) {{
    UNWIND line[..-1] AS m
    MATCH (m)-[r:PRECEDES]->()
    DELETE r
  }}
  {_LINK}"""
"""Links the messages of subjects anew from `low` to `high`, and to those before and after."""
