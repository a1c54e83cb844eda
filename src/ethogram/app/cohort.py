"""A cohort table learnt from events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

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
    """A new version of the cohort table, from everybody with enough events.

    `date` is the day it is made. BadUsage where the version is a shipped one, or where fewer than twenty
    people have enough events.
    """
    if version < 2:
        raise BadUsage(f"invalid version {version}: expected 2 or above, since 0 and 1 come with the package")
    if date and not is_day(date):
        raise BadUsage(f"invalid date {date!r:.40}: expected a day like 2026-01-31")
    if not 0 < len(source.strip()) <= 400:
        raise BadUsage("invalid source: expected 1 to 400 characters on where the figures come from")
    return learn_cohort(summaries(events, settings or Settings()).values(), version, source, Limits(), date)


def summaries(events: Iterable[Event], settings: Settings) -> dict[str, Summary]:
    """The usage summary of each person, from events with times that no assistant, system or tool wrote."""
    result: dict[str, Summary] = {}
    for event in events:
        if event.timed and not is_by_service(event):
            state = result.get(event.subject, Summary())
            zone = event.attributes.get("time_zone") or settings.time_zone
            result[event.subject] = record(
                state,
                event.at.timestamp(),
                length=length_of(event),
                session=event.session,
                zone=zone if isinstance(zone, str) and is_zone(zone) else None,
            )
    return result


def length_of(event: Event) -> int | None:
    """Characters of a message, as stated or counted."""
    # A column of that name is an attribute in a file, and a reading in a store.
    length = event.attributes.get("length", event.readings.get("length"))
    if isinstance(length, (int, float)) and not isinstance(length, bool) and 0 <= length < 2**31:
        return int(length)
    return None if event.text is None else len(event.text)


def stored_events(path: str, at: datetime, who: str) -> Iterator[Event]:
    """The events of a store, subject by subject; in a private one the access is audited."""
    from ..store import open_store
    from .stored_events import note_looks

    with open_store(path) as store:
        note_looks(store, "cohort", [None], at=at, who=who)
        yield from store.events()


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database, and so a store."""
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    except OSError:
        return False
