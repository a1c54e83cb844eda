"""Files of events into a tracker: everything that is wrong with them at once, and then all or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .inputs import Asked, latest_of

if TYPE_CHECKING:
    from ..ingest import Batch
    from ..models import Event
    from ..usage.tracker import UsageTracker


def read_files(paths: Sequence[str], *, skip_bad: bool, config: str, as_json: bool) -> Batch:
    """The events of the paths; BadEvents with every fault, or bad lines told and left out."""
    from ..app.importing import known_kinds
    from ..ingest import Limits, read_events
    from ..patterns.catalogue import known_ranges
    from .progress import Progress

    asked = Asked(paths, config=config, skip_bad=skip_bad, as_json=as_json)
    settings, progress = asked.settings(), Progress()
    batch = read_events(
        asked.paths,
        source=settings.source,
        skip_bad=asked.skip_bad,
        kinds=known_kinds(settings),
        ranges=known_ranges(),
        limits=Limits(**settings.limits),
        progress=progress.read,
        check=checker(),
        latest=latest_of(settings),
    )
    progress.stop()
    asked.tell_bad(batch)
    return batch


def checker() -> Callable[[Event], None]:
    """What raises BadLine at an event that could not be recorded, its time apart."""
    from ..errors import BadUsage
    from ..ingest import BadLine
    from ..usage.event import arguments_of, make_event
    from ..usage.pseudonym import new_keys

    keys = new_keys()

    def check(event: Event) -> None:
        try:
            make_event(keys, math.inf, **arguments_of(event))
        except BadUsage as error:
            raise BadLine(str(error)) from None

    return check


def record_events(tracker: UsageTracker, batch: Batch) -> dict[str, int]:
    """How many events were added, known already, and left out: not by the person, or bad."""
    from ..usage.event import arguments_of
    from .progress import Progress

    events = [arguments_of(event) for event in batch.events]
    progress = Progress()
    try:
        added, _ = tracker.record_all(
            events, name_of(events), lambda done, of: progress.count(done, of, "recording")
        )
    finally:
        progress.stop()
    others = sum(not one["is_user"] and not one["ended_abruptly"] for one in events)
    known = len(events) - others - added + batch.repeated
    return {"added": added, "known": known, "not_by_person": others, "bad": batch.bad_count}


def name_of(events: Sequence[dict[str, Any]]) -> str:
    """What stands for these events, so that the same again are known."""
    import hashlib

    made = hashlib.sha256()
    for one in events:
        made.update(repr(sorted(one.items())).encode("utf-8", "surrogatepass"))
    return made.hexdigest()
