"""Events as messages of a graph: write, import and read them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any

from ...errors import BadEvents, BadUsage, Fault
from ...ingest.batch import EventSequence
from ...models import INPUT_SCORER, TRAITS, Event, Reading, is_indicator_name, micros, moment
from .. import schema
from ..imports import DIRECT, MAX_CLASHES, compare_rows, mixed_times, row_of
from ..records import NO_SCORERS, Added, Clash, Clashes, Import, Place, Source, Staged, SubjectRow, Who
from ..rows import COLUMNS, MARK, STEPS, Row, encode, event_of, event_values, reading_of, reading_values
from ..sql import in_pieces
from .connection import STEP, Graph, Transaction

FIELDS = schema.EVENT_FIELDS
BATCH = 1000
"""Rows in one query."""
FIRST = -(2**63)
FIELD_LIST = ", ".join(f"m.{name}" for name in FIELDS)
ORDER = "ORDER BY m.at_us, m.seq, m.id, m.key"
ROW = ", ".join(f"m.{name}" for name in COLUMNS if name not in ("key", "subject"))
LAST_KEY = "last_key"
TAKEN = "MATCH (x:Staged {import: $number}) MATCH (m:Message {source: x.source, id: x.id})"
"""Staged events whose id the graph has."""


# --- properties -----------------------------------------------------------------------------


def properties_of(row: Mapping[str, Any], measured: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The properties of a message: its row, and each reading and attribute by name, for queries.

    `trait_x` and `signal_x` are numbers, `category_x` texts; `scorer_x` is who measured, unless it was given.
    `attribute_x` are numbers, `tag_x` texts. `other_scorers` measured what others had measured before them.
    """
    event = event_of(row["source"], row["subject"], _row(row), [reading_of(*item) for item in measured])
    out = dict(row)
    out["content"] = row["content"].hex() if isinstance(row["content"], bytes) else row["content"]
    out["at"] = event.at
    out["measured"] = encode_measured(measured)
    evaluated: set[str] = set()
    for name, value in event.readings.items():
        scorer = event.scorers.get(name, INPUT_SCORER)
        if isinstance(value, str):
            out[f"category_{name}"] = value
        elif isfinite(value):
            out[number_property(name)] = float(value)
        if scorer != INPUT_SCORER:
            out[f"scorer_{name}"] = scorer
        if name in TRAITS or is_indicator_name(name):
            evaluated.add(scorer)
    out["evaluated_by"] = sorted(evaluated) or None
    out["other_scorers"] = (
        sorted({item[3] for item in measured if event.scorers.get(item[0]) != item[3]}) or None
    )
    # Whoever scored an indicator; the highest score.
    shown: dict[str, float] = {}
    for name, value in (*event.readings.items(), *((item[0], item[1]) for item in measured)):
        if is_indicator_name(name) and isinstance(value, int | float) and isfinite(value) and value != 0:
            shown[name] = max(float(value), shown.get(name, float(value)))
    out["shows"] = sorted(shown) or None
    out["scores"] = [shown[name] for name in sorted(shown)] or None
    for name, value in event.attributes.items():
        if isinstance(value, str):
            out[f"tag_{name}"] = value
        elif isinstance(value, bool | int | float) and abs(value) < 1e300:
            out[f"attribute_{name}"] = float(value)
    out["bare"] = True if event.kind in STEPS and MARK in event.attributes else None
    return out


def number_property(name: str) -> str:
    """The property with the number that a signal reads."""
    return f"trait_{name}" if name in TRAITS else f"signal_{name}"


def encode_measured(measured: Sequence[Sequence[Any]]) -> str | None:
    """Readings that were added to an event, as `reading_values` gives them, by signal and scorer."""
    return json.dumps(sorted(measured, key=lambda item: (item[0], item[3]))) if measured else None


def decode_measured(text: str | None) -> list[Any]:
    return json.loads(text) if text else []


def _row(values: Mapping[str, Any]) -> Row:
    return tuple(values.get(name) for name in FIELDS)


def _readings(text: str | None) -> list[Reading]:
    return [reading_of(*item) for item in decode_measured(text)]


# --- write and import -----------------------------------------------------------------------


class Imports(Graph):
    """Imports, and events that are added at once."""

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

        def work(tx: Transaction) -> Added:
            repeated, _ = stage_rows(tx, DIRECT, batch, rows, 1, skip_clashes=False)
            again = tx.run(f"{TAKEN} RETURN x.line ORDER BY x.n", number=DIRECT)
            known, _ = check_staged(tx, DIRECT)
            added = move(tx, DIRECT, len(rows))
            save_kinds(tx, kinds or {})
            return Added(added, known + repeated, again=tuple(line for (line,) in again))

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

        def work(tx: Transaction) -> tuple[Import, tuple[Clash, ...]]:
            first = tx.value("MATCH (i:Import {key: $key}) RETURN i.next_n", key=of.key)
            if first is None:
                raise BadUsage("this import was dropped while running, for example by a purge; run it again")
            repeated, clashes = stage_rows(tx, of.number, batch, rows, first, skip_clashes=skip_clashes)
            update = """MATCH (i:Import {key: $key}) SET i.staged = i.staged + $staged,
              i.repeated = i.repeated + $repeated, i.state = $state, i.next_n = i.next_n + $rows"""
            new = len(batch) - repeated - len(clashes)
            values = {"staged": new, "repeated": repeated, "state": encode(dict(state)), "rows": len(rows)}
            tx.run(update, key=of.key, **values)
            return _imports(tx, of.key)[0], clashes

        return self.write(work)

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

        def check(tx: Transaction) -> tuple[int, tuple[Clash, ...], int | None]:
            repeated, clashes = check_staged(tx, of.number, skip_clashes=skip_clashes)
            count = tx.value("MATCH (x:Staged {import: $number}) RETURN count(x)", number=of.number)
            if count > STEP:
                return repeated, clashes, None
            added = move(tx, of.number)
            close(tx)
            return repeated, clashes, added

        repeated, clashes, added = self.write(check)
        if added is None:
            added = 0
            while piece := self.write(lambda tx: move(tx, of.number)):
                added += piece
            self.write(close)
        return Added(added, repeated + of.repeated, clashes)

    def drop_import(self, of: Import) -> None:
        """Remove an import and everything staged for it."""
        self.write(lambda tx: tx.run("MATCH (i:Import {number: $number}) DELETE i", number=of.number))
        gone = "MATCH (x:Staged {import: $number}) WITH x LIMIT $most DELETE x RETURN count(x)"
        self.in_steps(gone, number=of.number)

    def staged_untimed(self, of: Import, source: str, *, drop: bool) -> tuple[int, list[Place]]:
        """Count staged events of a source without a time, and list the first 50; `drop` removes them."""
        which = "MATCH (x:Staged {import: $number, source: $source}) WHERE x.timed = 0"
        values = {"number": of.number, "source": source}

        def work(tx: Transaction) -> tuple[int, list[Place]]:
            count = tx.value(f"{which} RETURN count(x)", **values)
            listed = tx.run(f"{which} RETURN x.file, x.line ORDER BY x.file, x.line LIMIT 50", **values)
            if drop:
                tx.run(f"{which} DELETE x", **values)
            return count, listed

        return self.write(work)

    def known_files(self, options: str) -> dict[str, int]:
        """Hashes of files imported under these options, with their numbers of events."""
        query = "MATCH (f:ImportedFile {options: $options}) RETURN f.hash, f.events"
        return self.read(lambda tx: dict(tx.run(query, options=options)))


def save_kinds(tx: Transaction, kinds: Mapping[str, Mapping[str, str]]) -> None:
    """Replace what is known of the signals of sources."""
    rows = [[source, encode(dict(seen))] for source, seen in kinds.items()]
    tx.run("UNWIND $rows AS row MATCH (o:Source {name: row[0]}) SET o.kinds = row[1]", rows=rows)


def next_number(tx: Transaction, name: str, count: int = 1) -> int:
    """The first of so many numbers that were never given before."""
    query = """MERGE (c:Counter {name: $name}) SET c.value = coalesce(c.value, 0) + $count
      RETURN c.value - $count + 1"""
    first: int = tx.value(query, name=name, count=count)
    return first


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


def stage_rows(
    tx: Transaction,
    number: int,
    batch: Sequence[Staged],
    rows: Sequence[Row],
    first: int,
    *,
    skip_clashes: bool,
) -> tuple[int, tuple[Clash, ...]]:
    """Stage a batch; return how many were staged before, and which have other content."""
    known: dict[tuple[str, str], tuple[bytes, str]] = {}
    if number != DIRECT:
        query = """UNWIND $keys AS key MATCH (x:Staged {import: $number, source: key[0], id: key[1]})
          RETURN x.source, x.id, x.content, x.file, x.line"""
        for source, name, content, file, line in tx.run(
            query, number=number, keys=[[row[1], row[5]] for row in rows]
        ):
            known[source, name] = (bytes.fromhex(content), f"at {file}:{line}")
    new, repeated, clashes = compare_rows(rows, known)
    if clashes and not skip_clashes:
        raise Clashes(clashes)
    for piece in in_pieces(new, BATCH):
        made = []
        for i in piece:
            own, source, subject, file, line, *values = rows[i]
            row = {"source": source, "subject": subject, **dict(zip(FIELDS, values, strict=True))}
            measured = [list(reading_values(reading)) for reading in batch[i].measured]
            where = {"import": own, "n": first + i, "file": file, "line": line}
            made.append(properties_of(row, measured) | where)
        tx.run("UNWIND $rows AS row CREATE (x:Staged) SET x = row", rows=made)
    return repeated, tuple(clashes)


def check_staged(
    tx: Transaction, number: int, *, skip_clashes: bool = False
) -> tuple[int, tuple[Clash, ...]]:
    """Make the sources of an import, and unstage what the graph has: how many, and what clashes."""
    _make_sources(tx, number)
    return _leave_out(tx, number, skip_clashes=skip_clashes)


def move(tx: Transaction, number: int, most: int | None = None) -> int:
    """Make the first staged events of an import messages, at most so many or STEP; return how many."""
    query = """MATCH (x:Staged {import: $number}) WITH x.n AS n ORDER BY n LIMIT $most
      RETURN min(n), max(n)"""
    ((first, last),) = tx.run(query, number=number, most=STEP if most is None else most)
    if first is None:
        return 0
    offset = (get_meta(tx, LAST_KEY) or 0) - first + 1
    values = {"number": number, "offset": offset, "last": last}
    touched = tx.maps(_SUBJECTS, **values)
    new = [row for row in touched if row.pop("is_new")]
    first_key = next_number(tx, "subjects", len(new))
    keyed = [[row["source"], row["subject"], first_key + n] for n, row in enumerate(new)]
    tx.run(_SUBJECT_KEYS, rows=keyed)
    tx.run(_SOURCES, **values)
    added: int = tx.value(_MESSAGES, **values)
    show_moved(tx)
    for piece in in_pieces(touched, BATCH):
        tx.run(PRECEDES, touched=piece)
    set_meta(tx, LAST_KEY, last + offset)
    return added


def show_moved(tx: Transaction) -> None:
    """Link new messages to the indicators they show."""
    tx.run(f"MATCH (m:Moved) {SHOW}")
    tx.run("MATCH (m:Moved) REMOVE m:Moved")


_SUBJECTS = """MATCH (x:Staged {import: $number}) WHERE x.n <= $last
  WITH x.source AS source, x.subject AS subject, count(x) AS n, min(x.at_us) AS low, max(x.at_us) AS high,
    max(x.n) + $offset AS changed
  MERGE (s:Subject {source: source, id: subject})
  SET s.events = coalesce(s.events, 0) + n, s.changed = changed,
    s.first_us = CASE WHEN s.first_us < low THEN s.first_us ELSE low END,
    s.last_us = CASE WHEN s.last_us > high THEN s.last_us ELSE high END
  RETURN source, subject, low, s.key IS NULL AS is_new"""
_SUBJECT_KEYS = """UNWIND $rows AS row MATCH (s:Subject {source: row[0], id: row[1]}) SET s.key = row[2]"""
_SOURCES = """MATCH (x:Staged {import: $number}) WHERE x.n <= $last AND x.seq < 9223372036854775807
  WITH x.source AS source, max(x.seq) + 1 AS next
  MATCH (o:Source {name: source}) WHERE o.next_seq < next SET o.next_seq = next"""
_MESSAGES = """MATCH (x:Staged {import: $number}) WHERE x.n <= $last
  MATCH (s:Subject {source: x.source, id: x.subject})
  SET x:Message, x:Moved, x.key = x.n + $offset
  REMOVE x:Staged, x.import, x.n, x.file, x.line
  CREATE (s)-[:SENT]->(x)
  RETURN count(x)"""
SHOW = """WHERE m.shows IS NOT NULL
  UNWIND range(0, size(m.shows) - 1) AS i
  MERGE (of:Indicator {name: m.shows[i]})
  CREATE (m)-[:SHOWS {score: m.scores[i]}]->(of)"""
PRECEDES = """UNWIND $touched AS t
  CALL (t) {
    OPTIONAL MATCH (b:Message {source: t.source, subject: t.subject}) WHERE b.at_us < t.low
    RETURN b ORDER BY b.source DESC, b.subject DESC, b.at_us DESC, b.seq DESC, b.id DESC LIMIT 1
  }
  CALL (t) {
    MATCH (m:Message {source: t.source, subject: t.subject}) WHERE m.at_us >= t.low
    WITH m ORDER BY m.at_us, m.seq, m.id
    RETURN collect(m) AS later
  }
  WITH [x IN [b] WHERE x IS NOT NULL] + later AS line
  CALL (line) {
    UNWIND line AS m
    MATCH (m)-[r:PRECEDES]->()
    DELETE r
  }
  UNWIND range(0, size(line) - 2) AS i
  WITH line[i] AS earlier, line[i + 1] AS later
  CREATE (earlier)-[:PRECEDES]->(later)"""


def get_meta(tx: Transaction, name: str) -> int | None:
    """A number under a name, or None."""
    number: int | None = tx.value("MATCH (m:Meta {name: $name}) RETURN m.value", name=name)
    return number


def set_meta(tx: Transaction, name: str, value: int) -> None:
    """Set a number under a name."""
    tx.run("MERGE (m:Meta {name: $name}) SET m.value = $value", name=name, value=value)


def _make_sources(tx: Transaction, number: int) -> None:
    query = """MATCH (x:Staged {import: $number})
      WITH x.source AS name, min(x.timed) AS low, max(x.timed) AS high
      OPTIONAL MATCH (o:Source {name: name}) RETURN name, low, high, o.timed"""
    faults = []
    for name, low, high, known in tx.run(query, number=number):
        if low != high or known not in (None, low):
            faults.append(Fault("", 0, 0, mixed_times(name, known)))
        elif known is None:
            tx.run(
                "CREATE (:Source {key: $key, name: $name, timed: $timed, next_seq: 0, kinds: '{}'})",
                key=next_number(tx, "sources"),
                name=name,
                timed=low,
            )
    if faults:
        raise BadEvents(faults)


def _leave_out(tx: Transaction, number: int, *, skip_clashes: bool) -> tuple[int, tuple[Clash, ...]]:
    """Unstage events that the graph has; return how many, and those with other content."""
    repeated = tx.value(f"{TAKEN} RETURN count(x)", number=number)
    if not repeated:
        return 0, ()
    query = f"""{TAKEN} WHERE m.content <> x.content
      RETURN x.file AS file, x.line AS line, x.content AS new, m.source AS source, m.subject AS subject,
        m.measured AS measured, {", ".join(f"m.{name} AS {name}" for name in FIELDS)} ORDER BY x.n"""
    clashes = [clash for row in tx.maps(query, number=number) if (clash := _clash(row)) is not None]
    if clashes and not skip_clashes:
        raise Clashes(clashes[:MAX_CLASHES])
    tx.run(f"{TAKEN} DELETE x", number=number)
    return repeated - len(clashes), tuple(clashes)


def _clash(row: Mapping[str, Any]) -> Clash | None:
    """The clash with a message; None where the new event is the same without its text."""
    from ..imports import where_in_store

    bare = tuple(None if name == "text" else row[name] for name in FIELDS)
    for measured in ((), _readings(row["measured"])):
        event = event_of(row["source"], row["subject"], bare, measured)
        if event_values(event, keep_text=False)[1].hex() == row["new"]:
            return None
    return Clash(event.id, row["file"], row["line"], where_in_store(event))


# --- read -----------------------------------------------------------------------------------


class Events(Graph):
    """Events, sources and subjects."""

    def events(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        ordered: bool = True,
        with_text: bool = False,
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> Iterator[Event]:
        """Events of all or some subjects in the order (at, seq, id), read in batches. `until` is included.

        Subjects are read a few hundred at a time; only within these the order holds. Not `ordered`: unsorted.
        `with_text`: only events with a text. `scorers`: signal (or '*') to the scorer whose readings come
        before all others.
        """
        where = "m.at_us >= $first AND m.at_us <= $until" + (" AND m.text IS NOT NULL" if with_text else "")
        tail = f"RETURN m.source, m.subject, m.measured, {FIELD_LIST} {ORDER if ordered else ''}"
        values: dict[str, Any] = {"first": FIRST, "until": _until(until)}
        queries = [(f"MATCH (m:Message) WHERE {where} {tail}", values)]
        if subjects is not None:
            some = f"{OF_SUBJECTS} WHERE {where} {tail}"
            queries = [(some, {**values, "who": _pairs(piece)}) for piece in in_pieces(list(subjects))]
        for query, given in queries:
            with self.streaming() as tx:
                for record in tx.stream(query, **given):
                    source, subject, measured, *row = record.values()
                    yield event_of(source, subject, tuple(row), _readings(measured), scorers)

    def columns(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        mates: bool = False,
        without: Collection[str] = (),
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> EventSequence:
        """Events of all or some subjects in order, as columns where that is possible. `until` is included.

        `mates` adds the events of others in the threads of these subjects. Stored readings of our own signals
        that `without` names are left out; steps of a run without their texts get another kind.
        """
        from ..columns import columns_of, row_columns

        tail = f"WHERE m.at_us <= $until RETURN m.source, m.subject, m.measured, m.key, {ROW}"
        queries: list[tuple[str, dict[str, Any]]] = [(f"MATCH (m:Message) {tail}", {})]
        if subjects is not None:
            pieces = [{"who": _pairs(piece)} for piece in in_pieces(list(subjects))]
            queries = [(f"{OF_SUBJECTS} {tail}", piece) for piece in pieces]
            if mates:
                queries += [(f"{OF_MATES} {tail}", piece) for piece in pieces]
        rows: dict[int, Row] = {}
        numbers: dict[Who, int] = {}
        measured: dict[int, list[Reading]] = {}
        for query, given in queries:
            with self.streaming() as tx:
                for record in tx.stream(query, until=_until(until), **given):
                    source, subject, later, key, *row = record.values()
                    rows[key] = (key, numbers.setdefault((source, subject), len(numbers)), *row)
                    if later:
                        # Our own readings of these signals are measured anew, or not read.
                        measured[key] = [
                            item
                            for item in _readings(later)
                            if not (item.signal in without and item.scorer.startswith(f"{item.signal}@"))
                        ]
        whose = {number: who for who, number in numbers.items()}
        columns = row_columns(list(rows.values()))
        return columns_of(columns, whose, self.sources(), measured, without, scorers)

    def sources(self) -> dict[str, Source]:
        """Every source by name."""
        query = "MATCH (o:Source) RETURN o.name, o.timed, o.next_seq, o.kinds ORDER BY o.name"
        rows = self.read(lambda tx: tx.run(query))
        return {name: Source(name, bool(timed), seq, json.loads(kinds)) for name, timed, seq, kinds in rows}

    def subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects with events, by source and name; `name` and `source` select."""
        query = f"""MATCH (s:Subject) WHERE s.events > 0 AND ($name IS NULL OR s.id = $name)
          AND ($source IS NULL OR s.source = $source) {SUBJECT}"""
        return self.read(lambda tx: subject_rows(tx.run(query, name=name, source=source)))


OF_SUBJECTS = """UNWIND $who AS who MATCH (:Subject {source: who[0], id: who[1]})-[:SENT]->(m:Message)"""
OF_MATES = """UNWIND $who AS who MATCH (:Subject {source: who[0], id: who[1]})-[:SENT]->(o:Message)
  WHERE o.thread IS NOT NULL WITH DISTINCT o.source AS source, o.thread AS thread
  MATCH (m:Message {source: source, thread: thread})"""
SUBJECT = """RETURN s.source AS source, s.id AS name, s.events AS events, s.first_us AS first,
  s.last_us AS last, s.changed AS changed ORDER BY source, name"""


def subject_rows(rows: Iterable[Sequence[Any]]) -> list[SubjectRow]:
    return [
        SubjectRow(source, name, events, moment(first), moment(last), changed)
        for source, name, events, first, last, changed in rows
    ]


def _pairs(subjects: Sequence[Who]) -> list[list[str]]:
    return [list(who) for who in subjects]


def _until(until: datetime | None) -> int:
    return 2**63 - 1 if until is None else micros(until)
