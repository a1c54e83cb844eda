"""Blocks of columns: the same events as the rows, whatever was added, purged or asked for since."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ethogram.models import Event, Reading
from ethogram.store import Store, clustered, open_store
from ethogram.store.blocks import decode_block, encode_block
from ethogram.store.columns import row_columns
from sampling import seeds
from stores_support import NOON


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, new_store, monkeypatch) -> Iterator[Store]:
    monkeypatch.setattr(clustered, "MANY", 10)
    with new_store(request.param) as opened:
        yield opened


def made(rng: random.Random, first: int, count: int) -> list[Event]:
    """Events with some of all there is, but no scorers, which blocks do not have."""
    return [
        Event.sample(
            id=f"e{number}",
            at=NOON + timedelta(minutes=rng.randrange(500)),
            seq=rng.randrange(3),
            subject=f"s{rng.randrange(6)}",
            source=rng.choice(["input", "forum"]),
            target=rng.choice([None, "bo", "caf\u00e9"]),
            thread=rng.choice([None, None, "t1", "t2"]),
            kind=rng.choice(["message", "action"]),
            attributes=rng.choice([{}, {"n": 1}]),
            readings=rng.choice(
                [{}, {"risk": rng.random()}, {"risk": -0.0, "topic": "x"}, {"risk": 1e9 + 0.5, "mixed": 1.0}]
            ),
        )
        for number in range(first, first + count)
    ]


def blocks(store: Store) -> int:
    with store.reading() as connection:
        count: int = connection.execute("SELECT count(*) FROM blocks").fetchone()[0]
        return count


def same(store: Store, **how) -> None:
    """Columns are what rows say, for all and for some subjects."""
    rows = store.subjects()
    for subjects in (None, [row.who for row in rows], [row.who for row in rows[1:]], [rows[0].who]):
        events = sorted(store.events(subjects, **how), key=lambda item: item.order)
        assert list(store.columns(subjects, **how)) == events


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_columns_are_the_same_whatever_happens_between(store, seed):
    rng = random.Random(seed)
    total = 0
    for step in range(6):
        store.add(made(rng, total, size := rng.choice([3, 60])))
        total += size
        same(store)
        same(store, until=NOON + timedelta(minutes=rng.randrange(500)))
        if step == 2:
            store.add([replace(made(rng, 9_999, 1)[0], at=NOON - timedelta(days=1))])
            same(store)
        if step == 3:
            some = next(iter(store.events()))
            store.add_readings(
                (some.source, some.id), [Reading("risk", 0.5, "m@1"), Reading("late", 1.0, "m@1")]
            )
            same(store)
        if step == 4:
            store.purge(subject="s1")
            assert blocks(store) == 0
            same(store)
    assert blocks(store) > 0


def test_thread_mates_come_along(store):
    rng = random.Random(9)
    store.add(made(rng, 0, 100))
    everybody = list(store.columns())
    for row in store.subjects():
        threads = {event.thread for event in everybody if (event.source, event.subject) == row.who} - {None}
        expected = [
            event
            for event in everybody
            if (event.source, event.subject) == row.who
            or (event.source == row.source and event.thread in threads)
        ]
        assert list(store.columns([row.who], mates=True)) == expected


def test_a_purge_leaves_nothing_in_blocks_and_a_block_read_before_it_is_not_written_after(store, monkeypatch):
    store.add(made(random.Random(1), 0, 100))
    keep, done = clustered.keep_block, []

    def purge_and_keep(*args: Any) -> None:
        store.purge(subject="s2")
        keep(*args)
        done.append(args)

    # A purge comes between the read and the block.
    monkeypatch.setattr(clustered, "keep_block", purge_and_keep)
    list(store.columns())
    assert done
    assert blocks(store) == 0


def test_nobody_waits_to_write_a_block(store):
    store.add(made(random.Random(1), 0, 100))
    with open_store(store.address) as other, other.writing():
        assert len(store.columns()) == 100
    assert blocks(store) == 0
    assert len(store.columns()) == 100
    assert blocks(store) == 1


def test_numbers_come_back_to_the_last_bit():
    values = [0.1, -0.0, 0.0, 1e300, 5e-324, 123.456789, -2000.5]
    for own in (values, [0.1, 123.456789], [2147.483648], [-0.0]):
        rows = [
            (
                number,
                1,
                f"e{number}",
                number,
                0,
                None,
                None,
                None,
                None,
                "x",
                None,
                None,
                f'{{"r":{value!r}}}',
            )
            for number, value in enumerate(own)
        ]
        back = decode_block(encode_block(row_columns(rows)))
        assert list(map(repr, back.cells["r"][1].tolist())) == list(map(repr, own))
        assert list(back.texts["id"]) == [f"e{number}" for number in range(len(own))]
