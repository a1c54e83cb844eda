"""Add events to a graph, at once or by an import.

An import stages its events in pieces, which nobody sees: a node for each event would be written twice.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...errors import BadUsage
from ...models import micros
from ...models.event import Event
from ..imports import DIRECT, MAX_CLASHES, Known, compare_rows, row_of
from ..records import Added, Clash, Clashes, Import, Place, Staged
from ..rows import Row, encode, reading_values
from .connection import STEP, Graph, Transaction
from .messages import BATCH, NewEvent, check_sources, next_number, sift, write_events

NO_KEYS = np.empty(0, np.uint64)
_PIECE = msgspec.msgpack.Decoder(list[tuple[str, str, int, int, tuple[Any, ...], list[Any]]])


def new_event(row: Row, item: Staged) -> NewEvent:
    """An event to write, of a row by `row_of`."""
    _, source, subject, file, line, *values = row
    measured = [reading_values(reading) for reading in item.measured]
    return NewEvent(source, subject, file, line, tuple(values), measured)


def encode_piece(events: Sequence[NewEvent]) -> bytes:
    """Events as they are staged."""
    return zlib.compress(msgspec.msgpack.encode(events), 1)


def decode_piece(data: bytes) -> list[NewEvent]:
    """The events of a staged piece."""
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
