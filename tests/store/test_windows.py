"""Bounded parts of a store: the queries give what reading everything gives."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from dict_store import DictStore
from ethogram import registry
from ethogram.models import Event
from ethogram.store.windows import actors, contacts, sample, thread_events, threads, window, within

NAMES = sorted({store: name for name, store in registry.stores.items()}.values())
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture(params=NAMES)
def stores(request: pytest.FixtureRequest, new_store: Any) -> Iterator[tuple[Any, Any]]:
    """Each store, and a toy of dictionaries with the same events."""
    toy = DictStore(f"dict://{secrets.token_hex(4)}", create=True)
    with new_store(request.param) as store:
        for each in (store, toy):
            fill(each)
        yield store, toy


def fill(store: Any) -> None:
    store.add(
        [
            Event.sample(
                id=f"e{number}",
                at=NOON + timedelta(minutes=number),
                seq=number,
                subject=f"s{number % 3}",
                source="a" if number % 2 else "b",
                thread=f"t{number % 4}" if number % 5 else None,
                kind="action" if number % 7 else "usage",
                target=f"s{number % 4}" if number % 3 else None,
                readings={"risk": number / 60},
            )
            for number in range(60)
        ]
    )


def test_a_window_is_the_same_by_query(stores: tuple[Any, Any]) -> None:
    bounds: list[dict[str, Any]] = [{}, {"since": NOON + 9 * MINUTE, "until": NOON + 45 * MINUTE}]
    for ends, kind, oldest, most in product(bounds, (None, "action", "usage"), (False, True), (0, 1, 4, 100)):
        fast, slow = (
            window(store, ("a", "s1"), kind=kind, most=most, oldest=oldest, **ends) for store in stores
        )
        assert fast == slow, (ends, kind, oldest, most)
        assert len(fast.events) == min(most, fast.total)


def test_a_sample_has_an_event_of_each_part_of_the_time(stores: tuple[Any, Any]) -> None:
    ends = (NOON + 5 * MINUTE, NOON + 55 * MINUTE)
    for most in (1, 2, 7, 200):
        fast, slow = (sample(store, ("a", "s1"), *ends, most) for store in stores)
        assert fast == slow, most
        assert len(fast) == min(most, 9)
        assert all(ends[0] <= event.at <= ends[1] for event in fast)


def test_threads_and_actors_are_the_same_by_query(stores: tuple[Any, Any]) -> None:
    for store in stores:
        rows, total = threads(store, "action", limit=3)
        assert (len(rows), total) == (3, 4)
        assert rows[0].last_at >= rows[1].last_at
    for reads in (threads, actors):
        fast, slow = (reads(store, "action", limit=2, offset=1) for store in stores)
        assert fast == slow
    wanted = [("a", "t1"), ("b", "t2"), ("b", "it's; DROP TABLE events --")]
    fast_events, slow_events = (thread_events(store, wanted) for store in stores)
    assert fast_events == slow_events
    assert {event.thread for event in fast_events} == {"t1", "t2"}


def test_nobody_has_no_events(stores: tuple[Any, Any]) -> None:
    for store in stores:
        assert window(store, ("a", "nobody")) == ([], 0)
        assert sample(store, ("a", "nobody"), NOON, NOON, 5) == []
        assert contacts(store, ("a", "nobody")) == ([], None)
        assert threads(store, "message") == ([], 0)
        assert actors(store, "message") == ([], 0)
        assert thread_events(store, []) == []


def test_contacts_go_both_ways_and_stay_in_the_source(stores: tuple[Any, Any]) -> None:
    fast, slow = (contacts(store, ("a", "s1")) for store in stores)
    assert fast == slow
    assert {link.source for link in fast.links} == {"a"}
    assert {"s1"} < {link.subject for link in fast.links}


def test_contacts_of_many_events_are_those_of_the_newest(stores: tuple[Any, Any]) -> None:
    some = contacts(stores[0], ("a", "s1"), most=3)
    assert some.since == window(stores[0], ("a", "s1"), most=4).events[0].at
    assert sum(link.events for link in some.links) < sum(
        link.events for link in contacts(stores[0], ("a", "s1")).links
    )


def test_threads_are_read_up_to_a_number_of_events(stores: tuple[Any, Any]) -> None:
    store = stores[0]
    rows, _ = threads(store, "action")
    assert list(within(rows, 1)) == rows[:1]
    assert list(within(rows, rows[0].events + rows[1].events)) == rows[:2]
    wanted = [(row.source, row.thread) for row in rows]
    assert len(thread_events(store, wanted, most=3)) == 3
    assert thread_events(store, wanted, most=3) == thread_events(store, wanted)[-3:]
