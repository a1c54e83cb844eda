"""Seen: one event of a person's use, checked, with nothing in it that says who they are."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from ..errors import BadUsage
from ..models import Event, format_time, parse_time
from ..models.roles import is_by_service
from .clock import DAY
from .pseudonym import Keys
from .summary import CLOSING, EMOTIONAL, IN_TIME, MARKED, Summary, record

LONGEST_NAME = 512
"""Characters of ids of people, sessions and events."""
LONGEST_ZONE = 64
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}")
MOST_LENGTH = 2**31 - 1
AHEAD = float(DAY)
"""Seconds that an event may lie in the future: clocks differ; more than that would evict the past."""
STRONG = 0.6
"""A reading of feeling above which a message is full of it, as in the pattern abrupt_termination."""
BY_SERVICE = 8
"""The flag, beside those of a summary, of what the service itself did."""

Moment = datetime | float | str
"""A moment: a datetime with a zone, seconds since 1970 UTC, or a text such as 2026-11-15T03:10:00Z."""


class Seen(NamedTuple):
    """One event: whole seconds since 1970 UTC, characters, flags, and hashes of its session and its id."""

    at: int
    length: int | None
    flags: int
    session: bytes | None
    id: bytes | None
    zone: str | None


def added(state: Summary, seen: Seen) -> Summary:
    """The summary with one more event."""
    flags = seen.flags
    return record(
        state,
        seen.at,
        length=seen.length,
        is_user=not flags & BY_SERVICE,
        emotional=bool(flags & EMOTIONAL),
        closing=bool(flags & CLOSING),
        ended_abruptly=bool(flags & MARKED),
        session=None if seen.session is None else seen.session.hex(),
        zone=seen.zone,
    )


def seen_of(
    keys: Keys,
    latest: float,
    subject: str,
    at: Moment,
    length: float | None = None,
    is_user: bool = True,
    emotional: float = False,
    ended_abruptly: float = False,
    session: str | None = None,
    closing: float = False,
    time_zone: str | None = None,
    id: str | None = None,  # noqa: A002 (what an event's id is called everywhere)
) -> tuple[bytes, Seen]:
    """The person's name by the first key, and the event; BadUsage where something about it cannot be.

    `latest`: seconds since 1970 that no event may be after; infinite for no limit.
    """
    base = keys.base("person", check_name(subject, "subject"))
    flags = 0
    if emotional or closing or ended_abruptly:
        flags = EMOTIONAL * _truth(emotional, "emotional") | CLOSING * _truth(closing, "closing")
        flags |= MARKED * _truth(ended_abruptly, "ended_abruptly")
    # With the subject in it, so that nobody can see who was in a session with whom.
    return base, Seen(
        check_at(at, latest),
        check_length(length),
        flags | BY_SERVICE * (not is_user),
        None if session is None else keys.base("session", f"{subject}\0{check_name(session, 'session')}"),
        None if id is None else keys.base("event", f"{subject}\0{check_name(id, 'id')}"),
        check_zone(time_zone),
    )


def is_activity(seen: Seen) -> bool:
    """Whether an event counts: what the service did does not, unless it marks a session as broken off."""
    return not seen.flags & BY_SERVICE or bool(seen.flags & MARKED)


def seconds(at: Moment, what: str = "at") -> float:
    """Seconds since 1970 of a moment; BadUsage where it is none, or lies before."""
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise BadUsage(f"{what} has no time zone: {at.isoformat()}; write datetime.now(UTC), or seconds")
        return _whole(at.timestamp(), what)
    if isinstance(at, str):
        return _parsed(at, what)
    if isinstance(at, bool) or not isinstance(at, int | float):
        right = "a datetime, a text such as 2026-11-15T03:10:00Z, or seconds since 1970"
        raise BadUsage(f"{what} is {right}, not {type(at).__name__}")
    return _whole(at, what)


def _parsed(at: str, what: str) -> float:
    try:
        return _whole(parse_time(at).timestamp(), what)
    except ValueError as error:
        raise BadUsage(f"{what}: {error}") from None


def _whole(at: float, what: str) -> float:
    # Beyond the year 9999 no calendar goes; the comparison is false for what is not a number, too.
    if not 0 <= at < 253_402_300_800:
        raise BadUsage(f"{what} is a moment from 1970 to 9999; here is {at!r:.40} seconds since 1970")
    return at


def check_at(at: Moment, latest: float) -> int:
    """Whole seconds of an event's moment; BadUsage where it is none or after `latest`."""
    value = seconds(at)
    if value > latest:
        when, last = (format_time(datetime.fromtimestamp(int(item), UTC)) for item in (value, latest))
        raise BadUsage(f"at: {when} is in the future: expected a time up to {last} (see max_future)")
    if not IN_TIME[0] <= value < IN_TIME[1]:
        raise BadUsage(f"at is {value!r:.40} seconds since 1970; that is before there were services to use")
    return int(value)


def check_name(text: str, what: str) -> str:
    """The text, where it can be an id or a name; else BadUsage."""
    if not isinstance(text, str):
        raise BadUsage(f"{what} is a text, not {type(text).__name__}")
    if not text.strip():
        raise BadUsage(f"{what} is empty")
    if len(text) > LONGEST_NAME:
        raise BadUsage(f"{what} is longer than {LONGEST_NAME} characters ({len(text):,})")
    return text


def check_length(length: float | None) -> int | None:
    """A number of characters, if one is given; BadUsage where it is none."""
    if length is None:
        return None
    if isinstance(length, bool) or not isinstance(length, int | float):
        raise BadUsage(f"length is a number of characters, not {type(length).__name__}")
    if not (math.isfinite(length) and 0 <= length <= MOST_LENGTH and length == int(length)):
        raise BadUsage(f"length is a whole number of characters, 0 or more; here is {length!r:.40}")
    return int(length)


def check_zone(zone: str | None) -> str | None:
    """The zone, where it is one of the database's; BadUsage where not. Never read as a path."""
    if zone is None or (isinstance(zone, str) and len(zone) <= LONGEST_ZONE and _is_zone(zone)):
        return zone
    raise BadUsage(f"{zone!r:.80} is not a time zone; write one such as Europe/Berlin")


@lru_cache(maxsize=2048)
def _is_zone(zone: str) -> bool:
    if not _ZONE.fullmatch(zone):
        return False
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, LookupError):
        return False
    return True


def arguments_of(event: Event) -> dict[str, Any]:
    """What `UsageTracker.record` is given for an event: its fields, attributes and readings of those names.

    The length of a message with a text is the text's; what a service's role wrote is the service's. BadUsage
    where the event cannot be one of use.
    """
    said = {**event.attributes, **event.readings}
    if not event.timed:
        raise BadUsage("at is missing; use is told by when it was")
    length = said.get("length", len(event.text) if event.text is not None else None)
    truths = {
        name: _truth(said.get(name, False), name) for name in ("emotional", "ended_abruptly", "closing")
    }
    return {
        "subject": event.subject,
        "at": event.at,
        "length": length,
        "is_user": _truth(said.get("is_user", True), "is_user") and not is_by_service(event),
        **truths,
        "session": event.session,
        "time_zone": said.get("time_zone"),
        "id": event.id,
    }


def _truth(value: Any, name: str) -> bool:
    """Whether something is so; a number from 0 to 1, as a reading is, is so where it is above a limit."""
    if isinstance(value, int | float) and 0 <= value <= 1:
        return value > STRONG if name == "emotional" else value >= 0.5
    raise BadUsage(f"{name} is true or false, or a number from 0 to 1; here is {value!r:.40}")
