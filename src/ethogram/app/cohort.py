"""A cohort's table learnt from events: everybody's summary, and the middle of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from ..config import Settings
from ..errors import BadUsage
from ..models import Event
from ..models.roles import is_by_service
from ..signals.timing import is_zone
from ..usage import Cohort, Summary, learn_cohort, record
from ..usage import Settings as Limits
from ..usage.cohort import is_day

DATABASE = b"SQLite format 3\0"


def cohort_from(
    events: Iterable[Event], *, version: int, source: str, date: str = "", settings: Settings | None = None
) -> Cohort:
    """A new version of the table from everybody who is in the events long enough.

    `date` is the day it is made, since nothing here looks at the clock. BadUsage where the version is one
    that is shipped, or where fewer than twenty people are known well enough.
    """
    if version < 2:
        raise BadUsage(f"versions 0 and 1 come with the package; a new one is 2 or above, here is {version}")
    if date and not is_day(date):
        raise BadUsage(f"the date must be a day, like 2026-01-31; here is {date!r:.40}")
    if not 0 < len(source.strip()) <= 400:
        raise BadUsage("say in some words where the figures come from, 400 characters at most")
    return learn_cohort(summaries(events, settings or Settings()).values(), version, source, Limits(), date)


def summaries(events: Iterable[Event], settings: Settings) -> dict[str, Summary]:
    """What is kept of each person, from events with times that no assistant, system or tool wrote."""
    result: dict[str, Summary] = {}
    for event in events:
        if event.timed and not is_by_service(event):
            state = result.get(event.subject, Summary())
            length, zone = length_of(event), zone_of(event, settings)
            at = event.at.timestamp()
            result[event.subject] = record(state, at, length=length, session=event.session, zone=zone)
    return result


def length_of(event: Event) -> int | None:
    """Characters of a message, as it is told or counted."""
    # A column of that name is a fact in a file, and a reading in a store.
    length = event.attributes.get("length", event.readings.get("length"))
    if isinstance(length, (int, float)) and not isinstance(length, bool) and 0 <= length < 2**31:
        return int(length)
    return None if event.text is None else len(event.text)


def zone_of(event: Event, settings: Settings) -> str | None:
    """Where the person lives, if a zone of that name is known."""
    name: Any = event.attributes.get("time_zone") or settings.time_zone
    return name if isinstance(name, str) and is_zone(name) else None


def stored_events(path: str, at: datetime, who: str) -> Iterator[Event]:
    """The events of a store, one subject after the other; a private one has a line of who looked when."""
    from ..store import open_store
    from .stored_events import note_looks

    with open_store(path) as store:
        note_looks(store, "cohort", [None], at=at, who=who)
        yield from store.events()


def is_database(path: Path) -> bool:
    """Whether a file is a database, and so a store."""
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    except OSError:
        return False
