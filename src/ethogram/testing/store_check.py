"""Check that a store keeps the contract; AssertionError with the promise that it breaks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ..errors import BadUsage
from ..models import Event, Reading
from ..store import Store, open_store
from ..store.kinds import KINDS, Row
from ..store.records import COUNTED
from ..store.row_store import Condition, Where
from .store_compare import (
    OtherThread,
    Stop,
    check_call,
    check_equal,
    check_rows,
    expect,
    meets_all,
    own_rows,
    sorted_rows,
)  # fmt: skip

WAIT_SECONDS = 0.3
"""Seconds that another thread gets to do what it must not do yet."""
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
        check_call(again, [("kept", "key", 1, "{}")], "its address opens it again", "rows", "notes")
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
        check_rows(store, rows, f"{kind} come back as they were", kind)
        check_call(store, 3, f"{kind} are counted", "count", kind, own_rows(kind))
        store.write(kind, rows[1:])
        check_rows(store, rows, f"{kind} with a known key are replaced", kind)
        own = [(name, "=", rows[1][KINDS[kind].names.index(name)]) for name in key]
        check_rows(store, rows[1:2], f"{kind} are found by their key", kind, own)
        check_call(store, 1, f"delete says how many {kind} went", "delete", kind, own)
        check_rows(store, [rows[0], rows[2]], f"{kind} that are removed are gone, and no others", kind)
        store.write(kind, [])


def _check_transactions(store: Store) -> None:
    """What is written in a transaction is stored together or not at all."""
    store.write("notes", [("a", "x", 1, "{}")])

    def work() -> str:
        store.write("notes", [("a", "y", 2, "{}")])
        store.transact(lambda: store.delete("notes", [("key", "=", "x")]))
        check_rows(store, [("a", "y", 2, "{}")], "a transaction reads what it wrote", "notes")
        with store.snapshot() as view:
            check_call(view, 1, "a snapshot inside a transaction sees what that wrote", "count", "notes")
        return "done"

    def fail() -> None:
        work()
        raise Stop

    with expect(Stop):
        store.transact(fail)
    check_rows(store, [("a", "x", 1, "{}")], "a transaction that fails changes nothing", "notes")
    check_equal(store.transact(work), "done", "transact returns what its work returns")
    check_rows(store, [("a", "y", 2, "{}")], "a transaction is stored", "notes")
    reading = store.rows("notes")
    next(reading)
    store.write("notes", [("a", "z", 3, "{}")])
    check_call(store, 2, "whoever reads is in nobody's way", "count", "notes")


def _check_snapshots(store: Store) -> None:
    """A snapshot is of one moment, whatever others write."""
    store.write("notes", [("a", "x", 1, "{}")])
    with store.snapshot() as view:
        check_call(view, 1, "a snapshot reads", "count", "notes")
        other = OtherThread(lambda: store.write("notes", [("a", "y", 2, "{}")]))
        other.join(WAIT_SECONDS)
        if store.has_snapshots:
            promise = "a snapshot sees nothing that another thread writes meanwhile"
            check_call(view, [("a", "x", 1, "{}")], promise, "rows", "notes")
    other.finish("a thread writes, at the latest when the snapshot of another ends")
    check_call(store, 2, "what another thread writes during a snapshot is stored", "count", "notes")


def _check_threads(store: Store) -> None:
    """Any thread may call a store, and only one writes at a time."""
    others: list[OtherThread] = []

    def work() -> bool:
        store.write("notes", [("a", "x", 1, "{}")])
        if not others:  # a store may call it again
            others.append(OtherThread(lambda: store.write("notes", [("a", "y", 2, "{}")])))
        others[0].join(WAIT_SECONDS)
        return others[0].is_alive()

    if not store.transact(work):
        others[0].finish("any thread may call a store")
        raise AssertionError("nobody else writes during a transaction: another thread's write() returned")
    others[0].finish("a thread writes once the transaction of another has ended")
    check_call(store, 2, "what two threads write is stored", "count", "notes")


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
        expected = [row for row in rows if meets_all("looks", row, where)]
        check_rows(store, expected, "the rows that meet all conditions are read", "looks", where)
        check_call(
            store, len(expected), "the rows that meet all conditions are counted", "count", "looks", where
        )
    where = wheres[-3]
    expected = [row for row in rows if meets_all("looks", row, where)]
    check_call(
        store, len(expected), "delete takes the rows that meet the conditions", "delete", "looks", where
    )
    check_rows(store, [row for row in rows if row not in expected], "delete leaves the others", "looks")


def _check_orders(store: Store) -> None:
    """Rows come in the order that is asked for, and no more of them."""
    rows = [(number, -number % 3, "what", None, word, "") for number, word in enumerate(WORDS)]
    store.write("looks", rows)
    by_word = [*rows[6:], *rows[:6]]
    check_call(store, by_word, "texts are ordered by code points", "rows", "looks", order=("who",))
    check_call(store, by_word[::-1], "an order is turned round by -", "rows", "looks", order=("-who",))
    ordered = sorted(rows, key=lambda row: (-row[1], row[0]))
    for limit, offset in ((3, 0), (0, 0), (2, 2), (50, 5), (1, 7), (None, 2)):
        end = None if limit is None else offset + limit
        how: dict[str, Any] = {"order": ("-at_us", "key"), "limit": limit, "offset": offset}
        check_call(store, ordered[offset:end], "limit and offset give a page", "rows", "looks", **how)
    pairs = [(row[4], row[0]) for row in rows]
    how = {"columns": ("who", "key"), "order": ("key",)}
    check_call(store, pairs, "columns come as they are asked for", "rows", "looks", **how)


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
        how = {"low": "at_us", "high": "at_us"}
        check_call(store, expected, "groups are distinct values", "groups", "events", by, where, **how)
        check_call(store, len(expected), "distinct values are counted", "count", "events", where, by=by)
    newest: dict[str, Any] = {"high": "at_us", "order": ("-high",), "limit": 1}
    promise = "groups are ordered and limited"
    check_call(store, [("bo", 1, None, 9)], promise, "groups", "events", ("subject",), **newest)
    most = [("ann", 4, None, None), ("bo", 1, None, None)]
    check_call(store, most, "groups by count", "groups", "events", ("subject",), order=("-count",))
    check_call(store, [], "limit 0 gives no groups", "groups", "events", ("subject",), limit=0)
    check_call(store, [], "no rows have no groups", "groups", "looks", ("what",))


def _check_append(store: Store) -> None:
    """New events are added, known ones named, and readings go with their events."""
    _write_events(store)
    again = [_event(11, "s", "ann", "e1", 0), _event(12, "t", "ann", "e1", 0), _event(13, "s", "bo", "e9", 4)]
    check_call(store, [0], "append returns the places of events whose source has the id", "append", again)
    check_equal(
        [row[0] for row in sorted_rows(store, "events")], [1, 2, 3, 4, 5, 12, 13], "append adds the others"
    )
    check_call(store, [], "append of nothing adds nothing", "append", [])
    store.write("readings", [(1, "risk", 0.5, None, "m@1", None), (2, "topic", None, "x", "m@1", 4)])
    where: Where = [("source", "=", "s"), ("subject", "in", ["ann", "nobody"]), ("at_us", "<=", 3)]
    check_equal(
        [row[0] for row in sorted_rows(store, "events", where)],
        [1, 2],
        "events are found by subject and time",
    )
    check_call(store, 2, "delete says how many events went", "delete", "events", where)
    check_call(store, 0, "readings go with their events", "count", "readings")
    replaced = (*_event(5, "t", "ann", "new id", 7)[:9], "bo", *_event(5, "t", "ann", "new id", 7)[10:])
    store.write("events", [replaced])
    check_rows(store, [replaced], "write replaces an event by its number", "events", [("key", "=", 5)])


def _check_numbers_and_names(store: Store) -> None:
    """Numbers are kept to the last bit, and texts as they are."""
    numbers = (0.1 + 0.2, 1e300, 5e-324, -2.5)
    _write_events(store)
    store.write(
        "readings", [(1, f"r{place}", number, None, "m", None) for place, number in enumerate(numbers)]
    )
    found = [row[2] for row in store.rows("readings", order=("signal",))]
    check_equal([number.hex() for number in found], [number.hex() for number in numbers], "numbers are exact")
    state = bytes(range(256))
    store.write("runner_states", [("name", word, 0, state, word) for word in WORDS])
    for word in WORDS:
        ((kept, subject),) = store.rows("runner_states", [("key", "=", word)], columns=("state", "subject"))
        check_equal((bytes(kept), subject), (state, word), f"bytes under the name {word!r}")


def _check_rules(store: Store) -> None:
    """What ethogram does with a store works on this one."""
    events = [
        Event.sample(
            id=f"e{number}", at=NOON + timedelta(minutes=number), seq=number, subject=f"s{number % 3}",
            target="s0" if number % 2 else None, thread=f"t{number % 2}", readings={"risk": number / 10},
        )
        for number in range(10)
    ]  # fmt: skip
    check_equal(store.add(events)[:2], (10, 0), "events are added")
    check_equal(store.add(events[3:])[:2], (0, 7), "events are added once")
    store.add_readings(("input", "e4"), [Reading("later", 0.5, "m@1")])
    kept = list(store.events())
    check_equal([item.id for item in kept], [item.id for item in events], "events come in order")
    check_equal(list(store.columns()), kept, "columns are the same events")
    check_equal([row.name for row in store.touched("s", "v", NOON)], ["s0"], "who has something new is found")
    check_equal([row.events for row in store.links(target="s0")], [2, 2, 1], "links are counted")
    store.put_note("kind", "key", {"n": 1}, NOON)
    rows = [(name, tuple(row)) for name, batch in store.dump() for row in batch]
    check_equal(len([name for name, _ in rows if name == "events"]), 10, "a copy has every event")
    done = store.purge(subject="s0")
    check_equal(
        (done.events, store.count("events"), store.info().subjects), (4, 6, 2), "a purge removes a subject"
    )
    check_call(store, 0, "a purge removes the name of a subject", "count", "events", [("target", "=", "s0")])


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
    check_equal(known, [], "the same id in two sources is two events")


def _clear(store: Store) -> None:
    for kind in reversed(KINDS):
        store.delete(kind, own_rows(kind))
        check_call(store, 0, f"all {kind} can be removed", "count", kind, own_rows(kind))
