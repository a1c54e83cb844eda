"""Events from a store, as they would have come from their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .. import registry
from ..ingest import Batch, OnDisk
from ..ingest.buckets import Buckets, row_of
from ..ingest.spill import EventsOnDisk
from ..records import Event
from ..shapes.program import Program
from ..signals import plan
from ..stores.protocol import Store
from .measured import needed, without_steps

if TYPE_CHECKING:
    from .importing import Imported

IN_MEMORY = 1500
"""About how many bytes an event from a store takes."""
IN_BUCKET = 16_000
"""About how many events are meant to be in a bucket."""


def gather(
    store: Store,
    programs: Iterable[Program],
    *,
    memory: int,
    imported: Imported | None = None,
    folder: Path | None = None,
) -> Batch | OnDisk:
    """Everything in a store, and what an import into it said: in memory, or on disk where it is too much.

    What is on disk is there until the caller closes it.
    """
    names, count = needed(programs), sum(one.events for one in store.subjects())
    timed = all(one.timed for one in store.sources().values())
    told = {} if imported is None else imported.told()
    if count * IN_MEMORY <= memory:
        return Batch(tuple(as_read(store.events(), names)), timed=timed, **told)
    buckets = Buckets(count=min(200, max(8, count // IN_BUCKET)), folder=folder)
    try:
        for number, event in enumerate(as_read(store.events(ordered=False), names)):
            buckets.put(row_of(event, number))
        buckets.flush()
    except BaseException:
        buckets.close()
        raise
    return OnDisk(EventsOnDisk(buckets), timed=timed, **told)


def as_read(events: Iterable[Event], names: Iterable[str]) -> Iterator[Event]:
    """Events without what was measured on their texts before these went, unless one of these names needs it.

    So a detection does not name scorers of signals that its pattern never looks at. Steps of a run without
    their texts are no steps to any signal.
    """
    wanted = {one.name for one in plan(names)}
    left_out = {name for name in registry.signals.names() if name not in wanted}
    for event in map(without_steps, events):
        dropped = [n for n, by in event.scorers.items() if n in left_out and by.startswith(f"{n}@")]
        if dropped:
            readings = {name: value for name, value in event.readings.items() if name not in dropped}
            scorers = {name: by for name, by in event.scorers.items() if name not in dropped}
            event = replace(event, readings=readings, scorers=scorers)
        yield event
