"""Check that a store keeps the contract; AssertionError with the promise that it breaks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from ..errors import BadUsage
from ..models import Event, Reading
from ..store import Store, open_store
from ..store.kinds import KINDS, Row
from ..store.moving import VERSION
from ..store.records import COUNTED
from ..store.row_store import Condition, Reader, Where

WAIT_SECONDS = 0.3
"""Seconds that another thread gets to do what it must not do yet."""
THREAD_SECONDS = 60.0
"""Seconds in which another thread must be able to write, once it may."""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WORDS = ("Zoe", "ann", "ann-2", "it's 100% {a}_b:c \\", "\u00e9t\u00e9", "\U0001f600", "")
"""Texts in the order of code points, but for the last."""
NUMBERS = (0, 1, -5, 2**63 - 1, -(2**63) + 1)
PARENTS = {
    "subjects": ("sources",),
    "events": ("sources", "subjects"),
    "readings": ("sources", "subjects", "events"),
    "swept": ("sources", "subjects"),
    "changes": ("detections",),
}
"""Kinds whose rows are there before those of a kind."""
COMPARE: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def check_store(url: str) -> None:
    """Check a store of one's own at a URL, where there is none yet; what is written there stays.

    The store is registered (`@store("name")`), so that `open_store` makes it.
    """
    _check_missing(url)
    with open_store(url, create=True) as store:
        if any(store.count(kind) for kind in COUNTED):
            raise AssertionError(f"a new store is empty; there is something in {store.url}")
        address = store.address
        for check in (
            _check_rows, _check_transactions, _check_snapshots, _check_threads, _check_conditions,
            _check_orders, _check_groups, _check_append, _check_numbers_and_names, _check_rules,
        ):  # fmt: skip
            check(store)
            _clear(store)
        store.write("notes", [("kept", "key", 1, "{}")])
        store.settle()
    with open_store(address) as again:
        _gives(again, [("kept", "key", 1, "{}")], "its address opens it again", "rows", "notes")
        again.delete("notes")


def _check_missing(url: str) -> None:
    """Where there is no store, none is made without `create`."""
    try:
        with open_store(url) as store:
            where = store.url
    except BadUsage:
        return
    raise AssertionError(
        f"a store that is not there is BadUsage without create=True: {where} opened; is there one already?"
    )


def _check_rows(store: Store) -> None:
    """Rows of every kind come back as they were, are replaced by their key, and go."""
    for kind in KINDS:
        _clear(store)
        for parent in PARENTS.get(kind, ()):
            store.write(parent, [_sample(parent, number) for number in range(3)])
        rows = [_sample(kind, number) for number in range(3)]
        store.write(kind, rows)
        key = KINDS[kind].key
        _equal(_rows(store, kind), rows, f"{kind} come back as they were")
        _equal(store.count(kind, _own(kind)), 3, f"{kind} are counted")
        store.write(kind, rows[1:])
        _equal(_rows(store, kind), rows, f"{kind} with a known key are replaced")
        own = [(name, "=", rows[1][KINDS[kind].names.index(name)]) for name in key]
        _equal(_rows(store, kind, own), rows[1:2], f"{kind} are found by their key")
        _equal(store.delete(kind, own), 1, f"delete says how many {kind} went")
        _equal(_rows(store, kind), [rows[0], rows[2]], f"{kind} that are removed are gone, and no others")
        store.write(kind, [])


def _check_transactions(store: Store) -> None:
    """What is written in a transaction is stored together or not at all."""
    store.write("notes", [("a", "x", 1, "{}")])

    def work() -> str:
        store.write("notes", [("a", "y", 2, "{}")])
        store.transact(lambda: store.delete("notes", [("key", "=", "x")]))
        _equal(_rows(store, "notes"), [("a", "y", 2, "{}")], "a transaction reads what it wrote")
        with store.snapshot() as view:
            _equal(view.count("notes"), 1, "a snapshot inside a transaction sees what that wrote")
        return "done"

    def fail() -> None:
        work()
        raise _Stop

    with _expected(_Stop):
        store.transact(fail)
    _equal(_rows(store, "notes"), [("a", "x", 1, "{}")], "a transaction that fails changes nothing")
    _equal(store.transact(work), "done", "transact returns what its work returns")
    _equal(_rows(store, "notes"), [("a", "y", 2, "{}")], "a transaction is stored")
    reading = store.rows("notes")
    next(reading)
    store.write("notes", [("a", "z", 3, "{}")])
    _equal(store.count("notes"), 2, "whoever reads is in nobody's way")


def _check_snapshots(store: Store) -> None:
    """A snapshot is of one moment, whatever others write."""
    store.write("notes", [("a", "x", 1, "{}")])
    with store.snapshot() as view:
        _gives(view, 1, "a snapshot reads", "count", "notes")
        other = _Thread(lambda: store.write("notes", [("a", "y", 2, "{}")]))
        other.join(WAIT_SECONDS)
        if store.has_snapshots:
            promise = "a snapshot sees nothing that another thread writes meanwhile"
            _gives(view, [("a", "x", 1, "{}")], promise, "rows", "notes")
    other.finish("a thread writes, at the latest when the snapshot of another ends")
    _gives(store, 2, "what another thread writes during a snapshot is stored", "count", "notes")


def _check_threads(store: Store) -> None:
    """Any thread may call a store, and only one writes at a time."""
    others: list[_Thread] = []

    def work() -> bool:
        store.write("notes", [("a", "x", 1, "{}")])
        if not others:  # a store may call it again
            others.append(_Thread(lambda: store.write("notes", [("a", "y", 2, "{}")])))
        others[0].join(WAIT_SECONDS)
        return others[0].is_alive()

    if not store.transact(work):
        others[0].finish("any thread may call a store")
        raise AssertionError("nobody else writes during a transaction: another thread's write() returned")
    others[0].finish("a thread writes once the transaction of another has ended")
    _gives(store, 2, "what two threads write is stored", "count", "notes")


def _check_conditions(store: Store) -> None:
    """Conditions select the rows that meet them all."""
    rows = [
        (number, at, "what", person, f"by {person}", "why \u00c9")
        for number, (at, person) in enumerate(
            ((at, person) for at in NUMBERS for person in (*WORDS, None)), 1
        )
    ]
    store.write("looks", rows)
    wheres: list[list[Condition]] = [[("person", "=", None)], [("person", "!=", None)]]
    for word in WORDS:
        wheres += [[("person", operator, word)] for operator in ("=", "!=", "<", "<=", ">", ">=", "contains")]
        wheres += [[(("person", "who"), "contains", word)], [("person", "in", [word, "nobody", *WORDS[2:4]])]]
    for at in NUMBERS:
        wheres += [[("at_us", operator, at)] for operator in ("=", "!=", "<", "<=", ">", ">=")]
        wheres.append([("at_us", "in", [at, 77]), ("person", "!=", "ann"), ("person", ">=", "a")])
    wheres += [[("key", "in", list(range(3, 10_000)))], [("key", "in", [])], [("why", "contains", "\u00e9")]]
    for where in wheres:
        expected = [row for row in rows if _holds("looks", row, where)]
        _equal(_rows(store, "looks", where), expected, f"the conditions {where!r:.200} select")
        _equal(store.count("looks", where), len(expected), f"the conditions {where!r:.200} count")
    where = wheres[-3]
    expected = [row for row in rows if _holds("looks", row, where)]
    _equal(store.delete("looks", where), len(expected), "delete takes the rows that meet the conditions")
    _equal(_rows(store, "looks"), [row for row in rows if row not in expected], "delete leaves the others")


def _check_orders(store: Store) -> None:
    """Rows come in the order that is asked for, and no more of them."""
    rows = [(number, -number % 3, "what", None, word, "") for number, word in enumerate(WORDS)]
    store.write("looks", rows)
    by_word = [*rows[6:], *rows[:6]]
    _equal(list(store.rows("looks", order=("who",))), by_word, "texts are ordered by code points")
    _equal(list(store.rows("looks", order=("-who",))), by_word[::-1], "an order is turned round by -")
    ordered = sorted(rows, key=lambda row: (-row[1], row[0]))
    for limit, offset in ((3, 0), (0, 0), (2, 2), (50, 5), (1, 7), (None, 2)):
        end = None if limit is None else offset + limit
        page = list(store.rows("looks", order=("-at_us", "key"), limit=limit, offset=offset))
        _equal(page, ordered[offset:end], f"limit {limit} and offset {offset} give a page")
    pairs = [tuple(row) for row in store.rows("looks", columns=("who", "key"), order=("key",))]
    _equal(pairs, [(row[4], row[0]) for row in rows], "columns come as they are asked for")


def _check_groups(store: Store) -> None:
    """Groups have the distinct values, with how many there are, the lowest and the highest."""
    _write_events(store)
    groups: dict[tuple[str, ...], list[Row]] = {
        ("source", "subject"): [("s", "ann", 3, 0, 5), ("s", "bo", 1, 9, 9), ("t", "ann", 1, 1, 1)],
        ("subject",): [("ann", 4, 0, 5), ("bo", 1, 9, 9)],
        ("target", "kind"): [("bo", "event", 2, 0, 5)],
    }
    for by, expected in groups.items():
        where: Where = [(by[0], "!=", None)]
        found = store.groups("events", by, where, low="at_us", high="at_us")
        _equal([tuple(row) for row in found], expected, f"groups by {by}")
        _equal(store.count("events", where, by=by), len(expected), f"distinct values of {by} are counted")
    newest = store.groups("events", ("subject",), high="at_us", order=("-high",), limit=1)
    _equal([tuple(row) for row in newest], [("bo", 1, None, 9)], "groups are ordered, limited")
    most = store.groups("events", ("subject",), order=("-count",))
    _equal([tuple(row) for row in most], [("ann", 4, None, None), ("bo", 1, None, None)], "groups by count")
    _equal(list(store.groups("looks", ("what",))), [], "no rows have no groups")


def _check_append(store: Store) -> None:
    """New events are added, known ones named, and readings go with their events."""
    _write_events(store)
    again = [_event(11, "s", "ann", "e1", 0), _event(12, "t", "ann", "e1", 0), _event(13, "s", "bo", "e9", 4)]
    _equal(store.append(again), [0], "append returns the places of events whose source has the id")
    _equal([row[0] for row in _rows(store, "events")], [1, 2, 3, 4, 5, 12, 13], "append adds the others")
    _equal(store.append([]), [], "append of nothing adds nothing")
    store.write("readings", [(1, "risk", 0.5, None, "m@1", None), (2, "topic", None, "x", "m@1", 4)])
    where: Where = [("source", "=", "s"), ("subject", "in", ["ann", "nobody"]), ("at_us", "<=", 3)]
    _equal([row[0] for row in _rows(store, "events", where)], [1, 2], "events are found by subject and time")
    _equal(store.delete("events", where), 2, "delete says how many events went")
    _equal(store.count("readings"), 0, "readings go with their events")
    replaced = (*_event(5, "t", "ann", "new id", 7)[:9], "bo", *_event(5, "t", "ann", "new id", 7)[10:])
    store.write("events", [replaced])
    _equal(_rows(store, "events", [("key", "=", 5)]), [replaced], "write replaces an event by its number")


def _check_numbers_and_names(store: Store) -> None:
    """Numbers are kept to the last bit, and texts as they are."""
    numbers = (0.1 + 0.2, 1e300, 5e-324, -2.5)
    _write_events(store)
    store.write(
        "readings", [(1, f"r{place}", number, None, "m", None) for place, number in enumerate(numbers)]
    )
    found = [row[2] for row in store.rows("readings", order=("signal",))]
    _equal([number.hex() for number in found], [number.hex() for number in numbers], "numbers are exact")
    state = bytes(range(256))
    store.write("runner_states", [("name", word, 0, state, word) for word in WORDS])
    for word in WORDS:
        ((kept, subject),) = store.rows("runner_states", [("key", "=", word)], columns=("state", "subject"))
        _equal((bytes(kept), subject), (state, word), f"bytes under the name {word!r}")


def _check_rules(store: Store) -> None:
    """What ethogram does with a store works on this one."""
    events = [
        Event.sample(
            id=f"e{number}", at=NOON + timedelta(minutes=number), seq=number, subject=f"s{number % 3}",
            target="s0" if number % 2 else None, thread=f"t{number % 2}", readings={"risk": number / 10},
        )
        for number in range(10)
    ]  # fmt: skip
    _equal(store.add(events)[:2], (10, 0), "events are added")
    _equal(store.add(events[3:])[:2], (0, 7), "events are added once")
    store.add_readings(("input", "e4"), [Reading("later", 0.5, "m@1")])
    kept = list(store.events())
    _equal([item.id for item in kept], [item.id for item in events], "events come in order")
    _equal(list(store.columns()), kept, "columns are the same events")
    _equal([row.name for row in store.touched("s", "v", NOON)], ["s0"], "who has something new is found")
    _equal([row.events for row in store.links(target="s0")], [2, 2, 1], "links are counted")
    store.put_note("kind", "key", {"n": 1}, NOON)
    rows = [(name, tuple(row)) for name, batch in store.dump() for row in batch]
    _equal(len([name for name, _ in rows if name == "events"]), 10, "a copy has every event")
    done = store.purge(subject="s0")
    _equal(
        (done.events, store.count("events"), store.info().subjects), (4, 6, 2), "a purge removes a subject"
    )
    _equal(store.count("events", [("target", "=", "s0")]), 0, "a purge removes the name of a subject")


# --- rows to write ---------------------------------------------------------------------------


def _sample(kind: str, number: int) -> Row:
    """A row of a kind; those of other numbers have other keys."""
    values: list[Any] = []
    for name, of in KINDS[kind].columns.items():
        if name in KINDS[kind].optional and number == 1 and not (kind == "readings" and name == "number"):
            values.append(None)
        elif name in ("key", "number") and of is int:
            values.append(number + 1)
        elif kind == "readings" and name in ("event", "text"):
            values.append(number + 1 if name == "event" else None)
        elif kind == "readings" and name == "width":
            values.append(4)
        elif kind == "sources" and name == "name":
            values.append(f"source {number}")
        elif name == "detection" and kind == "changes":
            values.append(f"id {number}")
        elif name == "timed":
            values.append(1)
        elif name in ("kinds", "state", "record", "attributes", "readings") and of is str:
            values.append("{}")
        else:
            values.append(
                {int: number + 10, float: number + 0.5, bytes: b"\0\xff", str: f"{name} {number}"}[of]
            )
    if kind in ("swept", "events"):
        values[2] = f"name {number}"
    return tuple(values)


def _event(key: int, source: str, subject: str, name: str, at: int, target: str | None = None) -> Row:
    values = {"key": key, "source": source, "subject": subject, "id": name, "at_us": at, "target": target}
    values |= {"content": name.encode(), "seq": key, "timed": 1, "kind": "event"}
    return tuple(values.get(column) for column in KINDS["events"].names)


def _write_events(store: Store) -> None:
    store.write("sources", [("s", 1, 0, "{}"), ("t", 1, 0, "{}")])
    subjects = (("s", "ann", 3, 0, 5, 4), ("s", "bo", 1, 9, 9, 3), ("t", "ann", 1, 1, 1, 5))
    store.write("subjects", subjects)
    known = store.append(
        [
            _event(1, "s", "ann", "e1", 0, "bo"),
            _event(2, "s", "ann", "e2", 3),
            _event(3, "s", "bo", "e3", 9),
            _event(4, "s", "ann", "e4", 5, "bo"),
            _event(5, "t", "ann", "e2", 1),
        ]
    )
    _equal(known, [], "the same id in two sources is two events")


def _clear(store: Store) -> None:
    for kind in reversed(KINDS):
        store.delete(kind, _own(kind))
        _equal(store.count(kind, _own(kind)), 0, f"all {kind} can be removed")


def _own(kind: str) -> Where:
    """Conditions for what is not the store's own: its version may be a row of `meta`."""
    return [("name", "!=", VERSION)] if kind == "meta" else ()


# --- what is expected ------------------------------------------------------------------------


class _Thread(threading.Thread):
    """Work that another thread does, from now on."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error

    def finish(self, promise: str) -> None:
        """Wait for the end; AssertionError where there is none, or an error."""
        self.join(THREAD_SECONDS)
        if self.is_alive():
            raise AssertionError(f"{promise}: it still waits after {THREAD_SECONDS:.0f} seconds")
        if self._error is not None:
            raise AssertionError(f"{promise}: it raised {self._error!r:.500}") from self._error


class _Stop(Exception):
    """Ends a transaction."""


@contextmanager
def _expected(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError("transact raises what its work raises")


def _rows(store: Store, kind: str, where: Where = ()) -> list[Row]:
    """The rows of a kind in the order of their keys."""
    rows = (
        tuple(bytes(value) if isinstance(value, bytearray | memoryview) else value for value in row)
        for row in store.rows(kind, [*_own(kind), *where])
    )
    key = [KINDS[kind].names.index(name) for name in KINDS[kind].key]
    return sorted(rows, key=lambda row: tuple(row[place] for place in key))


def _holds(kind: str, row: Row, where: Where) -> bool:
    """Whether a row meets all conditions."""
    values = dict(zip(KINDS[kind].names, row, strict=True))
    return all(_meets(values, condition) for condition in where)


def _meets(values: dict[str, Any], condition: Condition) -> bool:
    column, operator, wanted = condition
    if operator == "contains":
        columns: Sequence[str] = (column,) if isinstance(column, str) else column
        return any(values[name] is not None and wanted in values[name] for name in columns)
    assert isinstance(column, str)
    value = values[column]
    if operator == "in":
        return value is not None and value in wanted
    if operator in ("=", "!="):
        return bool((eq if operator == "=" else ne)(value, wanted))
    return value is not None and COMPARE[operator](value, wanted)


def _equal(found: object, expected: object, promise: str) -> None:
    if found != expected:
        raise AssertionError(f"{promise}: found {found!r:.500}, expected {expected!r:.500}")


def _gives(reader: Reader, expected: object, promise: str, method: str, *args: Any, **how: Any) -> None:
    """Compare what a call returns; AssertionError names the call."""
    result = getattr(reader, method)(*args, **how)
    values = [f"{value!r:.200}" for value in args] + [f"{name}={value!r:.200}" for name, value in how.items()]
    found = list(result) if isinstance(expected, list) else result
    _equal(found, expected, f"{promise}: {method}({', '.join(values)})")
