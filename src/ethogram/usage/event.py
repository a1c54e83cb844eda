"""One event of a person's use: checked, and without anything that says who they are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..errors import BadUsage
from ..models import Event, format_time, parse_time
from ..models.constants import USAGE_KINDS
from ..models.roles import is_by_service
from .clock import DAY, find_zone
from .pseudonym import Keys
from .summary import BY_SERVICE, CLOSING, EMOTIONAL, MARKED, MAX_TIME, MIN_TIME

MAX_NAME = 512
"""Characters of ids of people, sessions and events."""
MAX_LENGTH = 2**31 - 1
END_OF_TIME = 253_402_300_800
"""Seconds since 1970 of the year 10000."""
MAX_FUTURE = float(DAY)
"""Seconds that an event may lie in the future: clocks differ; more would evict the past."""
STRONG = 0.6
"""A reading of `emotional` counts above this, as in the pattern abrupt_termination."""

Moment = datetime | float | str
"""A datetime with a zone, seconds since 1970 UTC, or a text such as 2026-11-15T03:10:00Z."""


class UsageEvent(NamedTuple):
    """Whole seconds since 1970 UTC, characters, flags, and hashes of session and id by the first key."""

    at: int
    length: int | None
    flags: int
    session: bytes | None
    id: bytes | None
    zone: str | None


def make_event(
    keys: Keys,
    latest: float,
    subject: str,
    at: Moment,
    length: float | None = None,
    is_user: float = True,
    emotional: float = False,
    ended_abruptly: float = False,
    session: str | None = None,
    closing: float = False,
    time_zone: str | None = None,
    id: str | None = None,  # noqa: A002 (what an event's id is called everywhere)
) -> tuple[bytes, UsageEvent]:
    """Return the person's name by the first key, and the event; BadUsage where an argument is invalid.

    `latest`: seconds since 1970 after which no event may lie; infinite for no limit.
    """
    base = keys.base("person", check_name(subject, "subject"))
    flags = 0
    if emotional or closing or ended_abruptly:
        flags = EMOTIONAL * _truth(emotional, "emotional") | CLOSING * _truth(closing, "closing")
        flags |= MARKED * _truth(ended_abruptly, "ended_abruptly")
    if is_user is not True and not _truth(is_user, "is_user"):
        flags |= BY_SERVICE
    # Hashes of sessions and events include the subject, so that nobody can see who shared a session.
    return base, UsageEvent(
        _check_at(at, latest),
        None if length is None else _check_length(length),
        flags,
        None if session is None else keys.base("session", f"{subject}\0{check_name(session, 'session')}"),
        None if id is None else keys.base("event", f"{subject}\0{check_name(id, 'id')}"),
        check_zone(time_zone),
    )


def is_activity(event: UsageEvent) -> bool:
    """Whether an event counts: one of the service does not, unless it marks a session as broken off."""
    return not event.flags & BY_SERVICE or bool(event.flags & MARKED)


def seconds(at: Moment, what: str = "at") -> float:
    """Seconds since 1970 of a moment; BadUsage where it is none, or lies before."""
    if type(at) is int or type(at) is float:  # most are, and other checks take longer
        pass
    elif isinstance(at, datetime):
        if at.tzinfo is None:
            raise BadUsage(
                f"{what} has no time zone: expected datetime.now(UTC) or seconds, not {at.isoformat()}"
            )
        at = at.timestamp()
    elif isinstance(at, str):
        try:
            at = parse_time(at).timestamp()
        except ValueError as error:
            raise BadUsage(f"{what}: {error}") from None
    elif isinstance(at, bool) or not isinstance(at, int | float):
        right = "a datetime, a text such as 2026-11-15T03:10:00Z, or seconds since 1970"
        raise BadUsage(f"invalid {what} of type {type(at).__name__}: expected {right}")
    if not 0 <= at < END_OF_TIME:  # also for NaN
        raise BadUsage(f"{what} is {at!r:.40} seconds since 1970: expected a moment from 1970 to 9999")
    return at


def _check_at(at: Moment, latest: float) -> int:
    value = seconds(at)
    if value > latest:
        when, last = (format_time(datetime.fromtimestamp(int(item), UTC)) for item in (value, latest))
        raise BadUsage(f"at: {when} is in the future: expected a time up to {last} (see max_future)")
    if not MIN_TIME <= value < MAX_TIME:
        raise BadUsage(f"at is {value!r:.40} seconds since 1970: expected a time from 1970-01-03 to 2147")
    return int(value)


def check_name(text: str, what: str) -> str:
    """Return the text where it can be an id or a name; else BadUsage."""
    if not isinstance(text, str):
        raise BadUsage(f"invalid {what} of type {type(text).__name__}: expected text")
    if not text.strip():
        raise BadUsage(f"{what} is empty")
    if len(text) > MAX_NAME:
        raise BadUsage(f"{what} is longer than {MAX_NAME} characters ({len(text):,})")
    return text


def _check_length(length: float) -> int:
    if type(length) is not int and (isinstance(length, bool) or not isinstance(length, int | float)):
        raise BadUsage(f"invalid length of type {type(length).__name__}: expected a number of characters")
    if not (0 <= length <= MAX_LENGTH and length == int(length)):
        raise BadUsage(f"length is {length!r:.40}: expected a whole number of characters, 0 or more")
    return int(length)


def check_zone(zone: str | None) -> str | None:
    """Return the zone where it is known; else BadUsage."""
    if zone is not None:
        if not isinstance(zone, str):
            raise BadUsage(f"unknown time zone {zone!r:.60}: expected a text such as Europe/Berlin")
        find_zone(zone)
    return zone


def arguments_of(event: Event) -> dict[str, Any]:
    """The arguments of `UsageTracker.record` for an event: its fields, attributes and readings.

    The length of a message with a text is the text's; what a service's role wrote is the service's. BadUsage
    where the event cannot be one of use.
    """
    values = {**event.attributes, **event.readings}
    if event.kind not in USAGE_KINDS:
        kinds = f"{', '.join(USAGE_KINDS[:-1])} or {USAGE_KINDS[-1]}"
        raise BadUsage(f"kind {event.kind!r:.40} is not a person's use of a service: expected {kinds}")
    if not event.timed:
        raise BadUsage("at is missing: expected the time of the event")
    return {
        "subject": event.subject,
        "at": event.at,
        "length": values.get("length", len(event.text) if event.text is not None else None),
        "is_user": _truth(values.get("is_user", True), "is_user") and not is_by_service(event),
        "emotional": _truth(values.get("emotional", False), "emotional"),
        "ended_abruptly": _truth(values.get("ended_abruptly", False), "ended_abruptly"),
        "closing": _truth(values.get("closing", False), "closing"),
        "session": event.session,
        "time_zone": values.get("time_zone"),
        "id": event.id,
    }


def _truth(value: Any, name: str) -> bool:
    """Whether something holds; a reading from 0 to 1 does above a limit."""
    if isinstance(value, int | float) and 0 <= value <= 1:
        return value > STRONG if name == "emotional" else value >= 0.5
    raise BadUsage(f"invalid {name} {value!r:.40}: expected true, false or a number from 0 to 1")
