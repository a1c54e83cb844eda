"""Bounded parts of a store for pages: events of a subject in a period, threads, who did something of a kind.

Stores in SQL answer by queries that read no more than is shown. Any other store is read by its contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


# --- one subject ----------------------------------------------------------------------------


def window(
    store: Store,
    who: Who,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    kind: str | None = None,
    most: int = 2_000,
    order: str = "newest",
) -> Window:
    """At most `most` events of a subject in a period, both ends included; 0 only counts them.

    `order`: the newest, the oldest, or even: as many of each part of the period, with its first and last.
    """
    low = FIRST if since is None else micros(since)
    high = LAST if until is None else micros(until)
    if not isinstance(store, Sql):
        whole = [
            event
            for event in store.events([who], until=until)
            if micros(event.at) >= low and kind in (None, event.kind)
        ]
        return Window([whole[place] for place in places(len(whole), most, order)], len(whole))
    find = """SELECT u.key FROM subjects u JOIN sources o ON o.key = u.source
      WHERE o.name = :source AND u.name = :name"""
    where = "e.subject = :subject AND e.at_us >= :low AND e.at_us <= :high"
    values: dict[str, Any] = {"low": low, "high": high}
    if kind is not None:
        where, values = f"{where} AND e.kind = :kind", {**values, "kind": kind}
    with store.reading() as connection:
        values["subject"] = run(connection, find, source=who[0], name=who[1]).scalar()
        if values["subject"] is None:
            return Window([], 0)
        # By the index alone: only the rows that are shown are read.
        total: int = run(connection, f"SELECT count(*) FROM events e WHERE {where}", **values).scalar()
        query, down = f"SELECT e.key FROM events e WHERE {where} ORDER BY e.at_us", ""
        if order != "even":
            down = " DESC" if order == "newest" else ""
            query, values = f"{query}{down} LIMIT :most", {**values, "most": most}
        keys = run(connection, query, **values).all() if most else []
        chosen = [keys[place][0] for place in places(len(keys), most, order)]
        return Window(_by_key(connection, chosen), total)


def places(size: int, most: int, order: str) -> Sequence[int]:
    """The positions of at most `most` of `size` things.

    >>> [list(places(10, 4, order)) for order in ("newest", "oldest", "even")]
    [[6, 7, 8, 9], [0, 1, 2, 3], [0, 3, 6, 9]]
    """
    if size <= most:
        return range(size)
    if order == "even":
        return [round(number * (size - 1) / max(1, most - 1)) for number in range(most)]
    return range(most) if order == "oldest" else range(size - most, size)


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
        return _counted(
            store,
            "o.name, e.thread",
            "e.kind = :kind AND e.thread IS NOT NULL",
            kind,
            limit,
            offset,
            ThreadRow,
        )
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
        rows, total = _counted(
            store, "o.name, u.name", "e.kind = :kind", kind, limit, offset, lambda *row: (row[0], row[1])
        )
        return rows, total
    last: dict[Who, datetime] = {}
    for event in store.events():
        if event.kind == kind:
            who = (event.source, event.subject)
            last[who] = max(last.get(who, event.at), event.at)
    names = sorted(last, key=lambda who: (EPOCH - last[who], who))
    return names[offset : offset + limit], len(names)


def _counted(
    store: Sql, by: str, where: str, kind: str, limit: int, offset: int, make: Callable[..., Any]
) -> tuple[list[Any], int]:
    query = f"""SELECT {by}, count(*), max(e.at_us) FROM events e
      JOIN subjects u ON u.key = e.subject JOIN sources o ON o.key = e.source WHERE {where} GROUP BY {by}"""
    with store.reading() as connection:
        total: int = run(connection, f"SELECT count(*) FROM ({query}) AS t", kind=kind).scalar()
        shown = f"{query} ORDER BY 4 DESC, 1, 2 LIMIT :limit OFFSET :offset"
        rows = run(connection, shown, kind=kind, limit=limit, offset=offset).all()
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


def contacts(store: Store, who: Who) -> list[LinkRow]:
    """What a subject did to others and others did to it, in its own source."""
    if not isinstance(store, Sql):
        links = [*store.links(subject=who[1]), *store.links(target=who[1])]
        return sorted({link for link in links if link.source == who[0]})
    counted = "e.kind, count(*), min(e.at_us), max(e.at_us) FROM events e"
    given = f"""SELECT e.target, {counted} WHERE e.subject = (SELECT s.key FROM subjects s
      JOIN sources o ON o.key = s.source WHERE o.name = :source AND s.name = :name)
      AND e.target IS NOT NULL GROUP BY e.target, e.kind"""
    got = f"""SELECT u.name, {counted} JOIN subjects u ON u.key = e.subject WHERE e.target = :name
      AND e.source = (SELECT key FROM sources WHERE name = :source) GROUP BY u.name, e.kind"""
    values = {"source": who[0], "name": who[1]}
    links = []
    with store.reading() as connection:
        for target, kind, events, first, last in run(connection, given, **values).all():
            links.append(LinkRow(who[0], who[1], target, kind, events, moment(first), moment(last)))
        for subject, kind, events, first, last in run(connection, got, **values).all():
            links.append(LinkRow(who[0], subject, who[1], kind, events, moment(first), moment(last)))
    # Who acts on itself is in both.
    return sorted(set(links))
