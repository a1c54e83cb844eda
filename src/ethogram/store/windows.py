"""Bounded parts of a store for pages: events of a subject in a period, threads, who did something of a kind.

Stores in SQL answer by queries that read no more than is shown. Any other store is read by its contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from ..models import EPOCH, Event, micros, moment
from . import schema
from .events import measured_readings
from .records import LinkRow, Store, Who
from .rows import event_of
from .sql import Sql, in_pieces, run

FIRST, LAST = -(2**63), 2**63 - 1
"""The earliest and the latest time a row can have."""
Period = tuple[int, int]
"""Microseconds since 1970, both ends included."""
Thread = tuple[str, str]
"""A source and the name of a thread."""
_FIELDS = ", ".join(f"e.{name}" for name in schema.EVENT_FIELDS)
_EVENTS = f"""SELECT e.key, o.name, u.name, {_FIELDS} FROM events e
  JOIN subjects u ON u.key = e.subject JOIN sources o ON o.key = e.source"""


class ThreadRow(NamedTuple):
    """A thread with its events of one kind; `last_at` is the newest of them."""

    source: str
    thread: str
    events: int
    last_at: datetime


class Window(NamedTuple):
    """Some events of a subject in order, and how many there are in the period."""

    events: list[Event]
    total: int


class Contacts(NamedTuple):
    """Who acted on whom, and since when that is counted (None: always)."""

    links: list[LinkRow]
    since: datetime | None


# --- one subject ----------------------------------------------------------------------------


def window(
    store: Store,
    who: Who,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    kind: str | None = None,
    most: int = 2_000,
    oldest: bool = False,
) -> Window:
    """The newest or oldest events of a subject in a period, both ends included; `most` 0 only counts them."""
    low = FIRST if since is None else micros(since)
    high = LAST if until is None else micros(until)
    if not isinstance(store, Sql):
        whole = [
            event
            for event in store.events([who], until=until)
            if micros(event.at) >= low and kind in (None, event.kind)
        ]
        return Window(whole[:most] if oldest else whole[max(0, len(whole) - most) :], len(whole))
    where = "e.subject = :subject AND e.at_us >= :low AND e.at_us <= :high"
    values: dict[str, Any] = {"low": low, "high": high}
    if kind is not None:
        where, values = f"{where} AND e.kind = :kind", {**values, "kind": kind}
    with store.reading() as connection:
        values["subject"] = _key_of(connection, who)
        # By the index alone: only the rows that are shown are read.
        total: int = run(connection, f"SELECT count(*) FROM events e WHERE {where}", **values).scalar()
        order = f"ORDER BY e.at_us{'' if oldest else ' DESC'} LIMIT :most"
        query = f"SELECT e.key FROM events e WHERE {where} {order}"
        keys = run(connection, query, **values, most=most).all() if most and total else []
        return Window(_by_key(connection, [key for (key,) in keys]), total)


def sample(store: Store, who: Who, since: datetime, until: datetime, most: int) -> list[Event]:
    """The first event of each of `most` equal parts of a period in which there is one."""
    low, high = micros(since), micros(until)
    step = (high - low) // most + 1
    if not isinstance(store, Sql):
        firsts: dict[int, Event] = {}
        for event in store.events([who], until=until):
            if micros(event.at) >= low:
                firsts.setdefault((micros(event.at) - low) // step, event)
        return list(firsts.values())
    query = """WITH RECURSIVE parts (n) AS (
      SELECT CAST(0 AS BIGINT) UNION ALL SELECT n + 1 FROM parts WHERE n + 1 < :most)
      SELECT (SELECT e.key FROM events e WHERE e.subject = :subject AND e.at_us >= :low + n * :step
      AND e.at_us < :low + (n + 1) * :step AND e.at_us <= :high ORDER BY e.at_us LIMIT 1) FROM parts"""
    values = {"low": low, "high": high, "step": step, "most": most}
    with store.reading() as connection:
        keys = run(connection, query, **values, subject=_key_of(connection, who)).all()
        return _by_key(connection, [key for (key,) in keys if key is not None])


def meetings(
    store: Store, periods: Mapping[Who, Sequence[Period]], until: datetime
) -> Iterator[tuple[str, str, str | None, datetime]]:
    """Source, subject, other and time of events in periods of their subjects that target or answer another.

    A store that is not in SQL may return events outside the periods too.
    """
    if not isinstance(store, Sql):
        events = store.columns(periods, until=until)
        authors = {(source, name): who for source, name, who in events.values("source", "id", "subject")}
        rows = events.values("source", "subject", "target", "reply_to", "at")
        for source, subject, target, reply_to, at in rows:
            for other in {target, authors.get((source, reply_to))}:
                yield source, subject, other, at
        return
    query = """SELECT e.target, u.name, e.at_us FROM events e
      LEFT JOIN events r ON r.source = e.source AND r.id = e.reply_to AND r.at_us <= :until
      LEFT JOIN subjects u ON u.key = r.subject
      WHERE e.subject = :key AND e.at_us >= :low AND e.at_us <= :high AND e.at_us <= :until
        AND (e.target IS NOT NULL OR e.reply_to IS NOT NULL)"""
    with store.reading() as connection:
        for who, some in periods.items():
            key = _key_of(connection, who)
            for low, high in some:
                values = {"key": key, "low": low, "high": high, "until": micros(until)}
                for target, author, at in run(connection, query, **values).all():
                    for other in {target, author}:
                        yield *who, other, moment(at)


def _key_of(connection: Connection, who: Who) -> int:
    """The key of a subject; one that nobody has where there is none."""
    find = """SELECT u.key FROM subjects u JOIN sources o ON o.key = u.source
      WHERE o.name = :source AND u.name = :name"""
    key: int | None = run(connection, find, source=who[0], name=who[1]).scalar()
    return -1 if key is None else key


def _by_key(connection: Connection, keys: Sequence[int]) -> list[Event]:
    rows: list[Any] = []
    for piece in in_pieces(keys):
        rows += run(connection, f"{_EVENTS} WHERE e.key IN ({', '.join(map(str, piece))})").all()
    return list(_made(connection, rows))


def _made(connection: Connection, rows: Sequence[Any]) -> Iterator[Event]:
    measured = measured_readings(connection, [row[0] for row in rows])
    events = [
        event_of(source, subject, tuple(row), measured.get(key, ())) for key, source, subject, *row in rows
    ]
    yield from sorted(events, key=lambda event: event.order)


# --- threads and actors ---------------------------------------------------------------------


def threads(store: Store, kind: str, *, limit: int = 100, offset: int = 0) -> tuple[list[ThreadRow], int]:
    """Threads with events of a kind, those with the newest first, and how many there are."""
    if isinstance(store, Sql):
        groups = """SELECT e.source, e.thread AS name, count(*) AS events, max(e.at_us) AS last FROM events e
          WHERE e.kind = :kind AND e.thread IS NOT NULL GROUP BY e.source, e.thread"""
        return _counted(store, groups, kind, limit, offset, ThreadRow)
    found: dict[Thread, list[datetime]] = {}
    for event in store.events():
        if event.kind == kind and event.thread is not None:
            found.setdefault((event.source, event.thread), []).append(event.at)
    rows = [ThreadRow(*key, len(times), max(times)) for key, times in found.items()]
    rows.sort(key=lambda row: (EPOCH - row.last_at, row.source, row.thread))
    return rows[offset : offset + limit], len(rows)


def actors(store: Store, kind: str, *, limit: int = 100, offset: int = 0) -> tuple[list[Who], int]:
    """Subjects with events of a kind, those with the newest first, and how many there are."""
    if isinstance(store, Sql):
        groups = """SELECT u.source, u.name, t.events, t.last FROM (SELECT e.subject, count(*) AS events,
          max(e.at_us) AS last FROM events e WHERE e.kind = :kind GROUP BY e.subject) t
          JOIN subjects u ON u.key = t.subject"""
        return _counted(store, groups, kind, limit, offset, lambda *row: (row[0], row[1]))
    last: dict[Who, datetime] = {}
    for event in store.events():
        if event.kind == kind:
            who = (event.source, event.subject)
            last[who] = max(last.get(who, event.at), event.at)
    names = sorted(last, key=lambda who: (EPOCH - last[who], who))
    return names[offset : offset + limit], len(names)


def _counted(
    store: Sql, groups: str, kind: str, limit: int, offset: int, make: Callable[..., Any]
) -> tuple[list[Any], int]:
    """A page of groups with source, name, events and last time, the newest first, and how many there are."""
    query = f"""SELECT o.name, g.name, g.events, g.last, count(*) OVER () FROM ({groups}) g
      JOIN sources o ON o.key = g.source ORDER BY g.last DESC, o.name, g.name LIMIT :limit OFFSET :offset"""
    with store.reading() as connection:
        rows = run(connection, query, kind=kind, limit=limit, offset=offset).all()
        if rows:
            total: int = rows[0][4]
        else:  # beyond the last
            total = run(connection, f"SELECT count(*) FROM ({groups}) g", kind=kind).scalar()
        return [make(*row[:3], moment(row[3])) for row in rows], total


def thread_events(store: Store, wanted: Sequence[Thread], *, most: int = 20_000) -> list[Event]:
    """The events in these threads, in order; of more than `most`, the newest."""
    if not isinstance(store, Sql):
        chosen = set(wanted)
        return [event for event in store.events() if (event.source, event.thread) in chosen][-most:]
    keys: list[tuple[int, int]] = []
    with store.reading() as connection:
        by_source: dict[str, list[str]] = {}
        for source, thread in wanted:
            by_source.setdefault(source, []).append(thread)
        for source, names in by_source.items():
            for piece in in_pieces(names, 200):
                marks = {f"t{number}": name for number, name in enumerate(piece)}
                query = f"""SELECT e.at_us, e.key FROM events e
                  WHERE e.source = (SELECT key FROM sources WHERE name = :source)
                  AND e.thread IN ({", ".join(f":{mark}" for mark in marks)})
                  ORDER BY e.at_us DESC LIMIT :most"""
                keys += run(connection, query, source=source, most=most, **marks).all()
        return _by_key(connection, [key for _, key in sorted(keys)[-most:]])


def within(rows: Sequence[ThreadRow], most: int) -> Sequence[ThreadRow]:
    """The first threads that have at most so many events together, and always the first one."""
    total = 0
    for place, row in enumerate(rows):
        total += row.events
        if total > most:
            return rows[: max(1, place)]
    return rows


# --- contacts -------------------------------------------------------------------------------


def contacts(store: Store, who: Who, *, most: int = 20_000) -> Contacts:
    """What a subject did to others and others did to it, in its own source.

    SQL reads a part: of a subject with more events, since the time of its newest `most` ones.
    """
    if not isinstance(store, Sql):
        links = {*store.links(subject=who[1]), *store.links(target=who[1])}
        return Contacts(sorted(link for link in links if link.source == who[0]), None)
    counted = "e.kind, count(*), min(e.at_us), max(e.at_us) FROM events e"
    bound = "SELECT at_us FROM events WHERE subject = :subject ORDER BY at_us DESC LIMIT 1 OFFSET :most"
    given = f"""SELECT e.target, {counted} WHERE e.subject = :subject AND e.at_us >= :low
      AND e.target IS NOT NULL GROUP BY e.target, e.kind"""
    got = f"""SELECT u.name, {counted} JOIN subjects u ON u.key = e.subject WHERE e.target = :name
      AND e.source = (SELECT key FROM sources WHERE name = :source) AND e.at_us >= :low
      GROUP BY u.name, e.kind"""
    rows = []
    with store.reading() as connection:
        key = _key_of(connection, who)
        low: int | None = run(connection, bound, subject=key, most=most).scalar()
        since = FIRST if low is None else low
        for target, *row in run(connection, given, subject=key, low=since).all():
            rows.append((who[1], target, *row))
        for subject, *row in run(connection, got, source=who[0], name=who[1], low=since).all():
            rows.append((subject, who[1], *row))
    # Who acts on itself is in both.
    found = {
        LinkRow(who[0], a, b, kind, n, moment(first), moment(last)) for a, b, kind, n, first, last in rows
    }
    return Contacts(sorted(found), None if low is None else moment(low))
