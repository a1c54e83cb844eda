"""Moving: staged events become visible, subjects and sources know of them, all in the caller's commit."""

from __future__ import annotations

from sqlalchemy import Connection

from ..errors import BadEvents, Fault
from ..models import Reading, format_time
from . import tables
from .protocol import Added, Clash, Clashes
from .rows import event_of, event_values, reading_of
from .sql import run

FIELDS = ", ".join(tables.EVENT_FIELDS)
TAKEN = """FROM staged s JOIN sources o ON o.name = s.source JOIN events e ON e.source = o.key AND e.id = s.id
  WHERE s.import = :number"""
DIFFERENT = 50
"""Ids with other content that are told one by one."""


def move(connection: Connection, number: int, *, skip_clashes: bool = False) -> Added:
    """What became of the events of an import: all but those the store has are in it now."""
    _make_sources(connection, number)
    repeated, clashes = _leave_out(connection, number, skip_clashes=skip_clashes)
    _make_subjects(connection, number)
    base = last_key(connection)
    offset = (
        base - (run(connection, "SELECT min(n) FROM staged WHERE import = :i", i=number).scalar() or 0) + 1
    )
    fields = ", ".join(f"s.{name}" for name in tables.EVENT_FIELDS)
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
    """The last number given to a change; keys of events are never used twice, even after a purge."""
    keys = "SELECT coalesce(max(key), 0) FROM events"
    kept = "SELECT coalesce(max(value), 0) FROM meta WHERE name = 'last_key'"
    return max(int(run(connection, query).scalar_one()) for query in (keys, kept))


def set_meta(connection: Connection, name: str, value: int) -> None:
    """Remember a number under a name."""
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
            faults.append(Fault("", 0, 0, _mixed(name, known)))
        elif known is None:
            new = "INSERT INTO sources (name, timed, next_seq, kinds) VALUES (:name, :timed, 0, '{}')"
            run(connection, new, name=name, timed=low)
    if faults:
        raise BadEvents(faults)


def _mixed(name: str, known: int | None) -> str:
    if known is None:
        return f"some events of the source {name!r:.60} have a time and some have none; all or none must"
    has, here = ("has times", "lack one") if known else ("has no times", "have one")
    return f"the source {name!r:.60} in the store {has}, and these events {here}; give them another --source"


def _leave_out(connection: Connection, number: int, *, skip_clashes: bool) -> tuple[int, tuple[Clash, ...]]:
    """How many staged events the store has, and which it has with other content; both are unstaged."""
    repeated = run(connection, f"SELECT count(*) {TAKEN}", number=number).scalar_one()
    if not repeated:
        return 0, ()
    query = f"SELECT e.key, s.file, s.line, s.content {TAKEN} AND e.content <> s.content ORDER BY s.n"
    clashes: list[Clash] = []
    for key, file, line, content in run(connection, query, number=number).all():
        clash = _clash(connection, key, file, line, content)
        if clash is not None:
            clashes.append(clash)
    if clashes and not skip_clashes:
        raise Clashes(clashes[:DIFFERENT])
    run(connection, f"DELETE FROM staged WHERE n IN (SELECT s.n {TAKEN})", number=number)
    return repeated - len(clashes), tuple(clashes)


def _clash(connection: Connection, key: int, file: int, line: int, content: bytes) -> Clash | None:
    """The clash with an event of the store, or None where the newcomer is that event without its text.

    So what `export` wrote can come back where texts were not kept.
    """
    query = f"""SELECT o.name, u.name, {", ".join(f"e.{name}" for name in tables.EVENT_FIELDS)} FROM events e
      JOIN sources o ON o.key = e.source JOIN subjects u ON u.key = e.subject WHERE e.key = :key"""
    source, subject, *row = run(connection, query, key=key).one()
    bare = [*row[:11], None, *row[12:]]
    for measured in ((), _measured(connection, key)):
        event = event_of(source, subject, tuple(bare), measured)
        if event_values(event, keep_text=False)[1] == content:
            return None
    when = f" at {format_time(event.at)}" if event.timed else f", number {event.seq}"
    return Clash(event.id, file, line, f"in the store (of {subject!r:.60}{when})")


def _measured(connection: Connection, key: int) -> list[Reading]:
    query = "SELECT signal, number, text, scorer, width FROM readings WHERE event = :key"
    return [reading_of(*row) for row in run(connection, query, key=key).all()]


def _make_subjects(connection: Connection, number: int) -> None:
    run(
        connection,
        """INSERT INTO subjects (source, name, events, first_us, last_us, changed)
          SELECT o.key, s.subject, 0, min(s.at_us), max(s.at_us), 0 FROM staged s
          JOIN sources o ON o.name = s.source WHERE s.import = :number GROUP BY o.key, s.subject
          ON CONFLICT DO NOTHING""",
        number=number,
    )


def _count(connection: Connection, number: int, offset: int) -> None:
    """Tell subjects and sources of what was moved. From staged, since that is small beside events."""
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
