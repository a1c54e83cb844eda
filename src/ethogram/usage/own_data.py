"""Own data: everything that is kept of a person, as records that the person can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..records import format_time, moment
from .clock import HALF_HOUR, hour_of
from .finding import LEVELS
from .seen import BY_SERVICE
from .shelf import KeptEvent, Person, Shelf
from .summary import CLOSING, EMOTIONAL, LENGTH_STEPS, MARKED, Day, Stretch, read_days, read_stretches
from .telling import Episode, signal_names


def own_data(shelf: Shelf, name: bytes, person: Person | None) -> Iterator[dict[str, Any]]:
    """The person, the events kept, days and half-hours, what was told about them, and who looked."""
    looks = list(shelf.looks(name))
    if person is not None:
        yield _person(person)
        yield from (_event(one) for one in shelf.events(name))
        yield from (_day(one) for one in read_days(person.state))
        yield from (_half_hour(one) for one in read_stretches(person.state))
        yield from (_told(one) for one in sorted(person.told, key=lambda one: one.opened))
    yield from (one.to_dict() for one in looks)


def _time(at: float) -> str:
    return format_time(moment(int(at) * 1_000_000))


def _person(one: Person) -> dict[str, Any]:
    state = one.state
    return {
        "record": "usage_person",
        "person": one.name.hex(),
        "events": state.events,
        "first_at": _time(state.first) if state.events else None,
        "last_at": _time(state.newest) if state.events else None,
        "clock_ahead": state.ahead if state.zoned else None,
    }


def _event(one: KeptEvent) -> dict[str, Any]:
    return {
        "record": "usage_event",
        "at": _time(one.at),
        "length": one.length,
        "is_user": not one.flags & BY_SERVICE,
        "emotional": bool(one.flags & EMOTIONAL),
        "closing": bool(one.flags & CLOSING),
        "ended_abruptly": bool(one.flags & MARKED),
        "session": None if one.session is None else one.session.hex(),
        "clock_ahead": one.ahead,
    }


def _day(one: Day) -> dict[str, Any]:
    hours = [hour_of(slot) for slot in range(48) if one.active >> slot & 1]
    date = format_time(moment(one.day * 86_400_000_000))[:10]
    return {"record": "usage_day", "day": date, "events": one.events, "active_hours": hours}


def _half_hour(one: Stretch) -> dict[str, Any]:
    begin = one.half_hour * HALF_HOUR
    typical = 2 ** (one.octaves / LENGTH_STEPS / one.measured) - 1 if one.measured else None
    return {
        "record": "usage_half_hour",
        "first_at": _time(begin + one.first),
        "last_at": _time(begin + one.last),
        "events": one.events,
        "typical_length": None if typical is None else round(typical, 1),
        "emotional": bool(one.flags & EMOTIONAL),
        "closing": bool(one.flags & CLOSING),
        "ended_abruptly": bool(one.flags & MARKED),
    }


def _told(one: Episode) -> dict[str, Any]:
    return {
        "record": "usage_told",
        "signal": signal_names().get(one.signal, str(one.signal)),
        "level": LEVELS[one.level],
        "since": _time(one.opened),
        "last": _time(one.last),
    }
