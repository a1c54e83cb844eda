"""Times and durations: whole microseconds inside, ISO 8601 and '7d' outside.

With a float of seconds, "exactly seven days" would depend on the year.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
_MICROSECOND = timedelta(microseconds=1)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(s|m|h|d|w)")
_EVENTS = re.compile(r"(\d{1,9})\s+events?")


def micros(at: datetime) -> int:
    """Whole microseconds since 1970 of an aware moment.

    >>> micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (at - EPOCH) // _MICROSECOND


def moment(us: int) -> datetime:
    """The aware UTC moment so many microseconds after 1970."""
    return EPOCH + timedelta(0, 0, us)


def parse_time(text: str) -> datetime:
    """The UTC time of an ISO 8601 text with a zone; ValueError says what is wrong.

    >>> parse_time("2026-11-15T03:10:00+01:00").isoformat()
    '2026-11-15T02:10:00+00:00'
    """
    if not 10 <= len(text) <= 40:
        raise ValueError(f"{text[:40]!r} is not a time: expected one such as 2026-11-15T03:10:00Z")
    try:
        at = datetime.fromisoformat(text.removesuffix("z") + "Z" if text.endswith("z") else text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time: expected one such as 2026-11-15T03:10:00Z") from None
    if at.tzinfo is None:
        whole = text if len(text) > 10 else f"{text}T00:00:00"
        raise ValueError(f"time {text!r} has no zone: expected {whole}Z or {whole}+01:00")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"time {text!r} is outside the years 1 to 9999") from None


def format_time(at: datetime) -> str:
    """ISO 8601 in UTC, with a Z, and microseconds only where there are any.

    >>> format_time(datetime(2026, 11, 15, 3, 10, tzinfo=UTC))
    '2026-11-15T03:10:00Z'
    """
    return at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def parse_duration(text: str) -> int:
    """Microseconds of '90s', '30m', '48h', '7d', '2w'; ValueError says what was expected.

    >>> parse_duration("48h") == 48 * 3600 * SECOND
    True
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a duration: expected 90s, 30m, 48h, 7d or 2w")
    return round(float(match[1]) * UNITS[match[2]] * SECOND)


def parse_event_count(text: str) -> int | None:
    """n of 'n events', or None where the text is something else.

    >>> parse_event_count("6 events")
    6
    """
    match = _EVENTS.fullmatch(text.strip())
    return int(match[1]) if match else None


def format_duration(us: int) -> str:
    """The shortest text of a duration that parses to the same.

    >>> format_duration(parse_duration("48h")), format_duration(1_234_567)
    ('2d', '1.234567s')
    """
    for unit, seconds in sorted(UNITS.items(), key=lambda pair: -pair[1]):
        if us and us % (seconds * SECOND) == 0:
            return f"{us // (seconds * SECOND)}{unit}"
    whole, part = divmod(us, SECOND)
    return f"{whole}.{part:06d}".rstrip("0").rstrip(".") + "s"
