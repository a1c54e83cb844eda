"""Imports: events are staged in batches, and become visible in one commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from ..errors import BadEvents, BadUsage, Fault
from ..models import Event, format_time, micros
from . import schema
from .events import measured_readings
from .records import Added, Clash, Clashes, Import, Place, Staged
from .rows import Row, encode, event_of, event_values, reading_values
from .sql import Sql, in_pieces, insert_rows, run

FIELDS = ", ".join(schema.EVENT_FIELDS)
TAKEN = """FROM staged s JOIN sources o ON o.name = s.source JOIN events e ON e.source = o.key AND e.id = s.id
  WHERE s.import = :number"""
MAX_CLASHES = 50
"""Ids with other content that are listed."""
PURGES = "purges"
"""The row of `meta` that counts purges."""
DIRECT = 0
"""The import number of events that are staged and moved in one go."""


class Imports(Sql):
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
        with self.writing() as connection:
            repeated, _ = stage_rows(connection, DIRECT, batch, rows, skip_clashes=False)
            again = run(connection, f"SELECT s.line {TAKEN}", number=DIRECT).scalars().all()
            moved = move(connection, DIRECT)
            _save_kinds(connection, kinds or {})
            clear(connection, DIRECT)
        return Added(moved.added, moved.repeated + repeated, again=tuple(again))

    def begin_import(self, key: str, state: Mapping[str, Any], at: datetime) -> Import:
        """Continue the import of a key, or begin a new one with this state."""
        begin = """INSERT INTO imports (key, begun_us, staged, repeated, state)
          VALUES (:key, :at, 0, 0, :state) ON CONFLICT (key) DO NOTHING"""
        with self.writing() as connection:
            run(connection, begin, key=key, at=micros(at), state=encode(dict(state)))
            return _imports(connection, key)[0]

    def imports(self) -> list[Import]:
        """Unfinished imports."""
        with self.reading() as connection:
            return _imports(connection)

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
        with self.writing(rows=of.staged) as connection:
            repeated, clashes = stage_rows(connection, of.number, batch, rows, skip_clashes=skip_clashes)
            more = """UPDATE imports SET staged = staged + :staged, repeated = repeated + :repeated,
                state = :state WHERE number = :number"""
            new = len(batch) - repeated - len(clashes)
            values = {"staged": new, "repeated": repeated, "state": encode(dict(state))}
            if run(connection, more, number=of.number, **values).rowcount != 1:
                raise BadUsage("this import was dropped while running, for example by a purge; run it again")
            return _imports(connection, of.key)[0], clashes

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
        """Make an import visible. `kinds`: source -> signal -> kind."""
        known = "INSERT INTO files VALUES (:options, :hash, :events, :at) ON CONFLICT DO NOTHING"
        with self.writing(rows=of.staged) as connection:
            moved = move(connection, of.number, skip_clashes=skip_clashes)
            _save_kinds(connection, kinds)
            for name, count in files.items():
                run(connection, known, options=options, hash=name, events=count, at=micros(at))
            clear(connection, of.number)
        self.settle()
        return Added(moved.added, moved.repeated + of.repeated, moved.clashes)

    def drop_import(self, of: Import) -> None:
        """Remove an import and everything staged for it."""
        with self.writing() as connection:
            clear(connection, of.number)

    def staged_untimed(self, of: Import, source: str, *, drop: bool) -> tuple[int, list[Place]]:
        """Count staged events of a source without a time, and list the first; `drop` removes them."""
        which = "FROM staged WHERE import = :number AND source = :source AND timed = 0"
        values = {"number": of.number, "source": source}
        with self.writing() as connection:
            count = run(connection, f"SELECT count(*) {which}", **values).scalar()
            rows = run(connection, f"SELECT file, line {which} ORDER BY file, line LIMIT 50", **values).all()
            if drop:
                run(connection, f"DELETE {which}", **values)
        return count, [(file, line) for file, line in rows]

    def known_files(self, options: str) -> dict[str, int]:
        """Hashes of files imported under these options, with their numbers of events."""
        with self.reading() as connection:
            rows = run(connection, "SELECT hash, events FROM files WHERE options = :o", o=options).all()
        return dict(tuple(row) for row in rows)


def _save_kinds(connection: Connection, kinds: Mapping[str, Mapping[str, str]]) -> None:
    update = "UPDATE sources SET kinds = :kinds WHERE name = :name"
    for source, seen in kinds.items():
        run(connection, update, kinds=encode(dict(seen)), name=source)


def _imports(connection: Connection, key: str | None = None) -> list[Import]:
    where = "" if key is None else "WHERE key = :key"
    query = f"SELECT number, key, staged, repeated, state FROM imports {where} ORDER BY number"
    rows = run(connection, query, **({} if key is None else {"key": key})).all()
    return [Import(number, name, n, again, json.loads(state)) for number, name, n, again, state in rows]


def clear(connection: Connection, number: int) -> None:
    """Remove an import and what is staged for it."""
    run(connection, "DELETE FROM staged WHERE import = :number", number=number)
    run(connection, "DELETE FROM imports WHERE number = :number", number=number)


def stage_rows(
    connection: Connection, number: int, batch: Sequence[Staged], rows: Sequence[Row], *, skip_clashes: bool
) -> tuple[int, tuple[Clash, ...]]:
    """Stage a batch; return how many were staged before, and which have other content."""
    if len({(row[1], row[5]) for row in rows}) == len(rows):
        try:
            with connection.begin_nested():
                _insert(connection, batch, rows)
            return 0, ()
        except IntegrityError:
            pass  # some are staged already
    new, repeated, clashes = compare_rows(rows, _staged_before(connection, number, rows))
    if clashes and not skip_clashes:
        raise Clashes(clashes)
    _insert(connection, [batch[i] for i in new], [rows[i] for i in new])
    return repeated, tuple(clashes)


def row_of(number: int, staged: Staged, keep_text: bool, received_us: int | None = None) -> Row:
    """A row to stage: import, source, subject, file, line, then the event's fields."""
    event = staged.event
    where = (number, event.source, event.subject, staged.file, staged.line)
    return where + event_values(event, keep_text=keep_text, received_us=received_us)


def _insert(connection: Connection, batch: Iterable[Staged], rows: Sequence[Row]) -> None:
    first = run(connection, "SELECT coalesce(max(n), 0) + 1 FROM staged").scalar()
    insert_rows(connection, schema.staged, [(first + i, *row) for i, row in enumerate(rows)])
    measured = [
        (first + i, *reading_values(reading)) for i, item in enumerate(batch) for reading in item.measured
    ]
    insert_rows(connection, schema.staged_readings, measured)


Known = dict[tuple[str, str], tuple[bytes, str]]
"""(source, id) to content and position."""


def _staged_before(connection: Connection, number: int, rows: Sequence[Row]) -> Known:
    known: Known = {}
    staged = schema.staged.c
    for piece in in_pieces(rows):
        query = schema.staged.select().where(
            staged["import"] == number, staged.id.in_([row[5] for row in piece])
        )
        for row in connection.execute(query).mappings():
            place = f"at {row['file']}:{row['line']}"
            known[(row["source"], row["id"])] = (row["content"], place)
    return known


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


def move(connection: Connection, number: int, *, skip_clashes: bool = False) -> Added:
    """Move the staged events of an import into the store, except those it has."""
    _make_sources(connection, number)
    repeated, clashes = _leave_out(connection, number, skip_clashes=skip_clashes)
    run(
        connection,
        """INSERT INTO subjects (source, name, events, first_us, last_us, changed)
          SELECT o.key, s.subject, 0, min(s.at_us), max(s.at_us), 0 FROM staged s
          JOIN sources o ON o.name = s.source WHERE s.import = :number GROUP BY o.key, s.subject
          ON CONFLICT DO NOTHING""",
        number=number,
    )
    first = run(connection, "SELECT min(n) FROM staged WHERE import = :number", number=number).scalar()
    offset = last_key(connection) - (first or 0) + 1
    fields = ", ".join(f"s.{name}" for name in schema.EVENT_FIELDS)
    added = run(
        connection,
        f"""INSERT INTO events (key, source, subject, {FIELDS})
          SELECT s.n + :offset, o.key, u.key, {fields} FROM staged s
          JOIN sources o ON o.name = s.source JOIN subjects u ON u.source = o.key AND u.name = s.subject
          WHERE s.import = :number ORDER BY s.n""",
        offset=offset,
        number=number,
    ).rowcount
    run(
        connection,
        """INSERT INTO readings SELECT r.n + :offset, r.signal, r.number, r.text, r.scorer, r.width
          FROM staged_readings r JOIN staged s ON s.n = r.n WHERE s.import = :number""",
        offset=offset,
        number=number,
    )
    _count(connection, number, offset)
    return Added(added, repeated, clashes)


def last_key(connection: Connection) -> int:
    """The highest key of an event so far; keys are never reused, even after a purge."""
    highest = run(connection, "SELECT coalesce(max(key), 0) FROM events").scalar()
    return max(int(highest), get_meta(connection, "last_key") or 0)


def get_meta(connection: Connection, name: str) -> int | None:
    """A number in the table `meta`, or None."""
    number: int | None = run(connection, "SELECT value FROM meta WHERE name = :name", name=name).scalar()
    return number


def set_meta(connection: Connection, name: str, value: int) -> None:
    """Set a number in the table `meta`."""
    upsert = "INSERT INTO meta VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    run(connection, upsert, name=name, value=value)


def _make_sources(connection: Connection, number: int) -> None:
    seen = run(
        connection,
        """SELECT s.source, min(s.timed), max(s.timed), o.timed FROM staged s
          LEFT JOIN sources o ON o.name = s.source WHERE s.import = :number GROUP BY s.source, o.timed""",
        number=number,
    ).all()
    faults = []
    for name, low, high, known in seen:
        if low != high or known not in (None, low):
            faults.append(Fault("", 0, 0, mixed_times(name, known)))
        elif known is None:
            new = "INSERT INTO sources (name, timed, next_seq, kinds) VALUES (:name, :timed, 0, '{}')"
            run(connection, new, name=name, timed=low)
    if faults:
        raise BadEvents(faults)


def mixed_times(name: str, known: int | None) -> str:
    """What is wrong where events of a source have times and others have none."""
    if known is None:
        return f"some events of the source {name!r:.60} have a time and some have none; all or none must"
    has, here = ("has times", "lack one") if known else ("has no times", "have one")
    return f"the source {name!r:.60} in the store {has}, and these events {here}; give them another --source"


def _leave_out(connection: Connection, number: int, *, skip_clashes: bool) -> tuple[int, tuple[Clash, ...]]:
    """Unstage events that the store has; return how many, and those with other content."""
    repeated = run(connection, f"SELECT count(*) {TAKEN}", number=number).scalar()
    if not repeated:
        return 0, ()
    query = f"SELECT e.key, s.file, s.line, s.content {TAKEN} AND e.content <> s.content ORDER BY s.n"
    clashes: list[Clash] = []
    for key, file, line, content in run(connection, query, number=number).all():
        clash = _clash(connection, key, file, line, content)
        if clash is not None:
            clashes.append(clash)
    if clashes and not skip_clashes:
        raise Clashes(clashes[:MAX_CLASHES])
    run(connection, f"DELETE FROM staged WHERE n IN (SELECT s.n {TAKEN})", number=number)
    return repeated - len(clashes), tuple(clashes)


def _clash(connection: Connection, key: int, file: int, line: int, content: bytes) -> Clash | None:
    """The clash with an event of the store; None where the new event is the same without its text.

    So an export without texts can be imported again.
    """
    query = f"""SELECT o.name, u.name, {", ".join(f"e.{name}" for name in schema.EVENT_FIELDS)} FROM events e
      JOIN sources o ON o.key = e.source JOIN subjects u ON u.key = e.subject WHERE e.key = :key"""
    source, subject, *row = run(connection, query, key=key).one()
    bare = [*row[:11], None, *row[12:]]
    for measured in ((), measured_readings(connection, [key]).get(key, ())):
        event = event_of(source, subject, tuple(bare), measured)
        if event_values(event, keep_text=False)[1] == content:
            return None
    return Clash(event.id, file, line, where_in_store(event))


def where_in_store(event: Event) -> str:
    """Which event of the store a clash is with."""
    when = f" at {format_time(event.at)}" if event.timed else f", number {event.seq}"
    return f"in the store (of {event.subject!r:.60}{when})"


def _count(connection: Connection, number: int, offset: int) -> None:
    """Update subjects and sources from the staged events, which are few beside all events."""
    run(
        connection,
        """UPDATE subjects SET events = subjects.events + new.n, changed = new.changed,
            first_us = CASE WHEN new.low < subjects.first_us THEN new.low ELSE subjects.first_us END,
            last_us = CASE WHEN new.high > subjects.last_us THEN new.high ELSE subjects.last_us END
          FROM (SELECT o.key AS source, s.subject AS name, count(*) AS n, max(s.n) + :offset AS changed,
              min(s.at_us) AS low, max(s.at_us) AS high
            FROM staged s JOIN sources o ON o.name = s.source
            WHERE s.import = :number GROUP BY o.key, s.subject) AS new
          WHERE subjects.source = new.source AND subjects.name = new.name""",
        number=number,
        offset=offset,
    )
    run(
        connection,
        """UPDATE sources SET next_seq = new.next
          FROM (SELECT source, max(seq) + 1 AS next FROM staged
            WHERE import = :number AND seq < 9223372036854775807 GROUP BY source) AS new
          WHERE sources.name = new.source AND sources.next_seq < new.next""",
        number=number,
    )
    set_meta(connection, "last_key", last_key(connection))
