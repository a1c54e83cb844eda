"""Run report: every run of an agent in the input, with what was found in it; the gravest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from ..config import Settings
from ..ingest.buckets import event_of_row, rows_of
from ..ingest.order import by_order
from ..ingest.spill import EventsOnDisk
from ..records import Detection, Event
from ..signals import Measurer, Options
from .run_record import Run
from .run_steps import READINGS
from .run_tally import Key, Tally
from .scorers import only_scorers


def run_report(
    detections: Iterable[Detection],
    events: Collection[Event],
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
) -> tuple[Run, ...]:
    """The runs among these events, in memory or on disk, ranked; () where there are none.

    A run is a thread in which somebody acts. Of runs without a detection only counts are held, and of the
    others what is shown of each step, so that it does not matter how long their results are.
    """
    settings = settings or Settings()
    keys = runs_among(events)
    if not keys:
        return ()
    found: dict[Key, list[Detection]] = {}
    for one in detections:
        if one.thread is not None and (key := (one.source, one.thread)) in keys:
            found.setdefault(key, []).append(one)
    runs = {key: Tally(key, found.get(key, ())) for key in keys}
    for lot in lots(events):
        seen = (event for event in lot if as_of is None or event.at <= as_of)
        ours = (event for event in seen if event.thread is not None and (event.source, event.thread) in keys)
        count(runs, ours, settings)
    return tuple(sorted((tally.run() for tally in runs.values() if tally.acts), key=lambda one: one.place))


def runs_among(events: Iterable[Event]) -> set[Key]:
    """The threads in which somebody acts."""
    return {
        (event.source, event.thread)
        for event in events
        if event.kind == "action" and event.thread is not None
    }


def lots(events: Collection[Event]) -> Iterator[list[Event]]:
    """The events in order, all at once or as they lie on disk; those of one subject are in one lot."""
    if isinstance(events, EventsOnDisk):
        for path in events.buckets.paths:
            yield sorted((event_of_row(row) for row in rows_of(path)), key=by_order)
    else:
        yield sorted(events, key=by_order)


def count(runs: dict[Key, Tally], events: Iterable[Event], settings: Settings) -> None:
    """Add events to their runs; where something was found, with the readings that say what is the same."""
    measurer = Measurer(READINGS, Options.of(settings))
    for event in events:
        tally = runs[event.source, event.thread or ""]
        if tally.found:
            (event,), _ = only_scorers([event], settings.scorers)
            event = measurer.measure(event)
        tally.add(event)
