"""Sessions: a subject's events cut where the subject paused for longer than `inactivity`.

Where both an event and the session under way have a name (`event.session`), the names decide instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..records import Event, micros
from .names import short

Place = tuple[int | None, str | None, int]
"""At an event: its time in microseconds (None: untimed), its session's name, its position from 1."""


@dataclass(frozen=True, slots=True)
class Session:
    """One stretch of a subject's events, in order; never empty."""

    source: str
    subject: str
    events: tuple[Event, ...]


def advance(before: Place | None, event: Event, inactivity: int) -> Place | None:
    """Where in which session an event stands, given where the subject's event before it stood.

    None where nothing can tell: the source has no times and the event names no session.
    A pause of exactly `inactivity` microseconds is still inside the session.
    """
    name = None if event.session is None else short(event.session)
    at = micros(event.at) if event.timed else None
    if at is None and name is None:
        return None
    if before is None or _is_cut(before, at, name, inactivity):
        return (at, name, 1)
    return (at, name or before[1], before[2] + 1)


def _is_cut(before: Place, at: int | None, name: str | None, inactivity: int) -> bool:
    last, named, _ = before
    if name is not None and named is not None:
        return name != named
    return at is None or last is None or at - last > inactivity


def sessions(events: Iterable[Event], inactivity: int) -> list[Session]:
    """The sessions in these events, which must be in order, sorted by their first event.

    Events that no session can be told for are in none.
    """
    places: dict[tuple[str, str], Place] = {}
    under_way: dict[tuple[str, str], list[Event]] = {}
    cut: list[list[Event]] = []
    for event in events:
        whose = (event.source, event.subject)
        place = advance(places.get(whose), event, inactivity)
        if place is None:
            continue
        places[whose] = place
        if place[2] == 1:
            under_way[whose] = []
            cut.append(under_way[whose])
        under_way[whose].append(event)
    return [Session(one[0].source, one[0].subject, tuple(one)) for one in cut]
