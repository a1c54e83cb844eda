"""Bounded parts of a store for pages: events of a subject in a period, threads, who did something of a kind.

The store reads no more than is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ..models import Event, micros, moment
from .events import events_of
from .kinds import KINDS
from .records import LinkRow, Store, Who
from .row_store import Condition, Reader, in_pieces

AT = KINDS["events"].names.index("at_us")
FIRST, LAST = -(2**63), 2**63 - 1
"""The earliest and the latest time a row can have."""
Period = tuple[int, int]
"""Microseconds since 1970, both ends included."""
Thread = tuple[str, str]
"""A source and the name of a thread."""


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
    where = _of(who)
    if since is not None:
        where.append(("at_us", ">=", micros(since)))
    if until is not None:
        where.append(("at_us", "<=", micros(until)))
    if kind is not None:
        where.append(("kind", "=", kind))
    with store.snapshot() as view:
        total = view.count("events", where)
        order = ("at_us",) if oldest else ("-at_us",)
        rows = list(view.rows("events", where, order=order, limit=most)) if most and total else []
        return Window(_in_order(view, rows), total)


def sample(store: Store, who: Who, since: datetime, until: datetime, most: int) -> list[Event]:
    """The first event of each of `most` equal parts of a period in which there is one."""
    low, high = micros(since), micros(until)
    step = (high - low) // most + 1
    rows: list[Any] = []
    with store.snapshot() as view:
        start = low
        while True:
            where = [*_of(who), ("at_us", ">=", start), ("at_us", "<=", high)]
            found = list(view.rows("events", where, order=("at_us",), limit=1))
            if not found:
                return _in_order(view, rows)
            rows += found
            # The first of the next part in which there is one.
            start = low + ((found[0][AT] - low) // step + 1) * step


def meetings(
    store: Store, periods: Mapping[Who, Sequence[Period]], until: datetime
) -> Iterator[tuple[str, str, str | None, datetime]]:
    """Source, subject, other and time of events that target or answer another, in periods of subjects."""
    columns = ("target", "reply_to", "at_us")
    last = micros(until)
    for who, some in periods.items():
        met: list[tuple[str | None, str | None, int]] = []
        with store.snapshot() as view:
            for low, high in some:
                where = [*_of(who), ("at_us", ">=", low), ("at_us", "<=", min(high, last))]
                rows = view.rows("events", where, columns=columns)
                met += [(row[0], row[1], row[2]) for row in rows if row[0] is not None or row[1] is not None]
            authors: dict[str | None, str] = {}
            for piece in in_pieces(sorted({answered for _, answered, _ in met if answered is not None})):
                where = [("source", "=", who[0]), ("id", "in", list(piece)), ("at_us", "<=", last)]
                authors.update(tuple(row) for row in view.rows("events", where, columns=("id", "subject")))
        for target, answered, at in met:
            for other in {target, authors.get(answered)}:
                yield *who, other, moment(at)


def _of(who: Who) -> list[Condition]:
    return [("source", "=", who[0]), ("subject", "=", who[1])]


def _in_order(view: Reader, rows: Sequence[Any]) -> list[Event]:
    return sorted(events_of(view, rows), key=lambda event: event.order)


# --- threads and actors ---------------------------------------------------------------------


def threads(store: Store, kind: str, *, limit: int = 100, offset: int = 0) -> tuple[list[ThreadRow], int]:
    """Threads with events of a kind, those with the newest first, and how many there are."""
    rows, total = _newest(store, "thread", kind, limit, offset)
    return [ThreadRow(source, name, events, moment(last)) for source, name, events, _, last in rows], total


def actors(store: Store, kind: str, *, limit: int = 100, offset: int = 0) -> tuple[list[Who], int]:
    """Subjects with events of a kind, those with the newest first, and how many there are."""
    rows, total = _newest(store, "subject", kind, limit, offset)
    return [(source, name) for source, name, *_ in rows], total


def _newest(store: Store, column: str, kind: str, limit: int, offset: int) -> tuple[list[Any], int]:
    """A page of groups of events of a kind, those with the newest first, and how many there are."""
    by = ("source", column)
    where: list[Condition] = [("kind", "=", kind), (column, "!=", None)]
    with store.snapshot() as view:
        rows = view.groups(
            "events", by, where, high="at_us", order=("-high", *by), limit=limit, offset=offset
        )
        return list(rows), view.count("events", where, by=by)


def thread_events(store: Store, wanted: Sequence[Thread], *, most: int = 20_000) -> list[Event]:
    """The events in these threads, in order; of more than `most`, the newest."""
    names: dict[str, list[str]] = {}
    for source, thread in wanted:
        names.setdefault(source, []).append(thread)
    rows: list[Any] = []
    with store.snapshot() as view:
        for source, own in names.items():
            for piece in in_pieces(own):
                where = [("source", "=", source), ("thread", "in", list(piece))]
                rows += view.rows("events", where, order=("-at_us",), limit=most)
        rows.sort(key=lambda row: (row[AT], row[0]))
        return _in_order(view, rows[-most:])


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

    Of a subject with more events, only what was since the time of its newest `most` ones.
    """
    source, name = who
    bounds: dict[str, Any] = {"low": "at_us", "high": "at_us"}
    with store.snapshot() as view:
        newest = view.rows("events", _of(who), columns=("at_us",), order=("-at_us",), limit=1, offset=most)
        since = next((at for (at,) in newest), None)
        when: list[Condition] = [("at_us", ">=", FIRST if since is None else since)]
        given = view.groups(
            "events", ("target", "kind"), [*_of(who), ("target", "!=", None), *when], **bounds
        )
        rows = [(name, *row) for row in given]
        target: list[Condition] = [("source", "=", source), ("target", "=", name)]
        got = view.groups("events", ("subject", "kind"), [*target, *when], **bounds)
        rows += [(subject, name, *row) for subject, *row in got]
    # Who acts on itself is in both.
    found = {
        LinkRow(source, a, b, kind, n, moment(first), moment(last)) for a, b, kind, n, first, last in rows
    }
    return Contacts(sorted(found), None if since is None else moment(since))
