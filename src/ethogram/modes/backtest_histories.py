"""Histories of a backtest: how many there are to look at, as each pattern tells them apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ..records import Detection, Event
from ..risk.backtest import Fields, common_fields
from ..shapes.history import belongs, key_of
from ..shapes.program import Program
from ..stores.protocol import Store


def counted(store: Store, programs: Collection[Program]) -> tuple[int, dict[str, int]]:
    """How many events there are, and how many histories each program has among them."""
    keys: dict[str, set[object]] = {one.name: set() for one in programs}
    events = 0
    for event in store.events(ordered=False):
        events += 1
        for one in programs:
            if (key := key_of(one, event)) is not None:
                keys[one.name].add((event.source, key))
    return events, {name: len(every) for name, every in keys.items()}


def lacking_fields(program: Program, events: Iterable[Event]) -> tuple[str, ...]:
    """What a pattern's histories are told apart by and no event has."""
    left = set(program.history)
    for event in events:
        left -= {name for name in left if key_of(replace(program, history=(name,)), event) is not None}
        if not left:
            break
    return tuple(name for name in program.history if name in left)


def wider_histories(
    program: Program, own: Sequence[Detection], others: Iterable[Detection], events: Iterable[Event]
) -> dict[Fields, int]:
    """How many the histories of a pattern are by fewer fields: those that it shares with other patterns."""
    if not own:
        return {}
    one_of_each = {(other.pattern, *sorted(other.history)): other for other in others}
    asked = {common_fields(own[:1], [other]) for other in one_of_each.values()} - {common_fields(own, own)}
    asked.discard(())
    if not asked:
        return {}
    every: dict[Fields, set[object]] = {fields: set() for fields in asked}
    read: dict[Fields, set[object]] = {fields: set() for fields in asked}
    for event in events:
        if (key := key_of(program, event)) is None:
            continue
        values = dict(zip(program.history, key, strict=True))
        for fields in asked:
            history = (event.source, *(values[name] for name in fields))
            every[fields].add(history)
            if belongs(program, event):
                read[fields].add(history)
    # Readings of our own are not on the events yet: then all histories with the fields are taken.
    return {fields: len(read[fields] or every[fields]) for fields in asked}
