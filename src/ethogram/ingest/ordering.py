"""The order of events: sorted at once for files, or held back a while for a live stream."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from ..errors import Conflict
from ..models import Event, content_hash
from ..models.slotted import dataclass, replace
from .errors import shown

by_order = attrgetter("order")
AT_ONCE = timedelta(0)
MOST_WAITING = 100_000
"""Events of a source that wait for earlier ones; beyond that the earliest need not wait any longer."""


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events sorted by (at, seq, id), each once. Conflict where one id has two contents.

    >>> late, early = Event.sample(id="b", seq=2), Event.sample(id="a", seq=1)
    >>> [event.id for event in in_order([late, early, late])]
    ['a', 'b']
    """
    first: dict[tuple[str, str], Event] = {}
    for event in events:
        known = first.setdefault((event.source, event.id), event)
        if known is not event:
            check_same(known, event)
    return tuple(sorted(first.values(), key=by_order))


def same_content(event: Event, other: Event) -> bool:
    """Return whether two events have the same content, wherever in their source they stood."""
    return event.timed == other.timed and content_hash(event.to_dict()) == content_hash(other.to_dict())


def check_same(known: Event, event: Event) -> None:
    """Raise Conflict where an event does not repeat the one known under its id."""
    if not same_content(known, event):
        raise Conflict(f"the event id {shown(event.id)} came twice with different content")


@dataclass(frozen=True, slots=True)
class Buffer:
    """The live events of one source that may still be overtaken by earlier ones.

    `newest` is the latest `at` or tick seen, `last` the event released last, `late` how many came too late.
    """

    waiting: tuple[Event, ...] = ()
    newest: datetime | None = None
    last: Event | None = None
    late: int = 0


class Released(NamedTuple):
    """A buffer after a step, the events it released, in order, and the one that came too late, if it did."""

    buffer: Buffer
    events: tuple[Event, ...] = ()
    late: tuple[Event, ...] = ()


def release(buffer: Buffer, came: Event | datetime, lateness: timedelta = AT_ONCE) -> Released:
    """Return what follows from one event, or from a tick of the clock.

    An event is released when the newest `at`, or a tick, reaches its `at` + lateness: at once where that is
    0. One before the last released, in the order (at, seq, id), is late: counted and returned apart. A repeat
    is ignored, and a Conflict raised, as far back as the buffer still holds the first one.
    """
    at = came if isinstance(came, datetime) else came.at
    if isinstance(came, Event):
        if buffer.last is not None and came.order < buffer.last.order:
            return Released(replace(buffer, late=buffer.late + 1), late=(came,))
        place = bisect_left(buffer.waiting, came.order, key=by_order)
        for known in (*buffer.waiting[place : place + 1], buffer.last):
            if known is not None and known.order == came.order:
                check_same(known, came)
                return Released(buffer)
        buffer = replace(buffer, waiting=(*buffer.waiting[:place], came, *buffer.waiting[place:]))
    newest = at if buffer.newest is None else max(buffer.newest, at)
    # As differences: `at` + lateness may lie beyond the last year there is.
    ready = bisect_right(buffer.waiting, -lateness, key=lambda event: event.at - newest)
    return _split(replace(buffer, newest=newest), max(ready, len(buffer.waiting) - MOST_WAITING))


def flush(buffer: Buffer) -> Released:
    """Release everything still waiting, at the end of a stream."""
    return _split(buffer, len(buffer.waiting))


def _split(buffer: Buffer, ready: int) -> Released:
    if not ready:
        return Released(buffer)
    released = buffer.waiting[:ready]
    return Released(replace(buffer, waiting=buffer.waiting[ready:], last=released[-1]), released)
