"""The latest time an event may have: one dated 9999 would make every event after it late."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from ..errors import BadEvents, Fault
from ..records import Event, format_time
from .batch import Batch, Place
from .errors import BadLine
from .faults import Faults
from .limits import Limits
from .order import in_order


def latest_time(now: datetime, ahead: int | None) -> datetime | None:
    """The moment `ahead` microseconds after `now`; None where there is no limit.

    >>> from datetime import UTC
    >>> latest_time(datetime(2026, 1, 1, tzinfo=UTC), 86_400_000_000).isoformat()
    '2026-01-02T00:00:00+00:00'
    """
    if ahead is None:
        return None
    try:
        return now + timedelta(microseconds=ahead)
    except OverflowError:  # past the year 9999: no time can be later
        return None


def check_time(at: datetime | None, latest: datetime | None) -> None:
    """Raise BadLine where a time lies after the latest one allowed."""
    if latest is not None and at is not None and at > latest:
        raise BadLine(future_message(at, latest))


def future_message(at: datetime, latest: datetime) -> str:
    """What is wrong with a time after the latest one allowed, and which setting raises the limit."""
    try:
        when = format_time(at)
    except OverflowError:  # in a zone in which the year 9999 is not over when it is in UTC
        when = at.isoformat()
    return (
        f"at: {when} is in the future: expected a time up to {format_time(latest)} "
        "(to raise it: max_future: ... in ethogram.yaml)"
    )


def checked_events(events: Iterable[Event], latest: datetime | None, *, skip_bad: bool = False) -> Batch:
    """Event objects in order, each once; faults as in a file, by position from 1.

    Raises BadEvents where one lies in the future, unless `skip_bad`.
    """
    faults, good, count = Faults(Limits().faults), [], 0
    for count, event in enumerate(events, 1):
        try:
            check_time(event.at, latest)
        except BadLine as bad:
            faults.add(Place(0, count, "events"), bad.message)
        else:
            good.append(event)
    bad_events: tuple[Fault, ...] = faults.told()
    if bad_events and not skip_bad:
        raise BadEvents(bad_events, more=faults.count - len(bad_events))
    ordered = in_order(good)
    timed = any(one.timed for one in ordered)
    return Batch(ordered, bad_events, faults.count, len(good) - len(ordered), timed)
