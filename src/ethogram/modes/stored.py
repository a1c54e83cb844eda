"""Events from a store, as they would have come from their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from .. import registry
from ..records import Event
from ..signals import plan


def as_read(events: Iterable[Event], names: Iterable[str]) -> Iterator[Event]:
    """Events without what was measured on their texts before these went, unless one of these names needs it.

    So a detection does not name scorers of signals that its pattern never looks at.
    """
    needed = {one.name for one in plan(names)}
    left_out = {name for name in registry.signals.names() if name not in needed}
    for event in events:
        dropped = [n for n, by in event.scorers.items() if n in left_out and by.startswith(f"{n}@")]
        if dropped:
            readings = {name: value for name, value in event.readings.items() if name not in dropped}
            scorers = {name: by for name, by in event.scorers.items() if name not in dropped}
            event = replace(event, readings=readings, scorers=scorers)
        yield event
