"""What message formats have in common: names, times and labels as event lines have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .errors import BadLine, shown

_ZONE = re.compile(r"(Z|z|[+-]\d\d:?\d\d)$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d($|[T ]\d\d:\d\d)")
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
DATE_ONLY = 10
MILLISECONDS = 1e11
"""Numbers above this are thousandths of a second: as seconds they would be in the year 5138."""
KNOWN = frozenset(("id", "kind", "parent", "to", "depth"))
"""Labels that become fields, or say only what those say."""


def name_of(given: Any) -> str | None:
    """A name or number as a name; None for anything else and for an empty one.

    >>> name_of(7), name_of("ann"), name_of({"name": "bob"}), name_of("")
    ('7', 'ann', 'bob', None)
    """
    if isinstance(given, Mapping):
        given = next((given[key] for key in ("name", "username", "id") if given.get(key)), None)
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    return given if isinstance(given, str) and given else None


def time_of(given: Any) -> tuple[str | None, str | None]:
    """A time with its zone, or a time of day alone; BadLine where it is neither. (None, None): there is none.

    Without a zone it is taken as UTC, a date alone as its first moment; numbers are seconds since 1970, or
    thousandths of them.

    >>> time_of("2004-12-25T09:14:00"), time_of(0), time_of("14:16:47")
    (('2004-12-25T09:14:00Z', None), ('1970-01-01T00:00:00Z', None), (None, '14:16:47'))
    """
    if given is None or given == "":
        return None, None
    if isinstance(given, str) and _NUMBER.fullmatch(given):
        given = float(given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return _moment(given), None
    if isinstance(given, str) and _CLOCK.fullmatch(given):
        return None, given
    if not isinstance(given, str) or not _DATE.match(given):
        raise BadLine(f"{shown(given)} is no time; write it like 2026-11-15T03:10:00Z")
    if len(given) == DATE_ONLY:
        return f"{given}T00:00:00Z", None
    return (given if _ZONE.search(given) else f"{given}Z"), None


def _moment(number: float) -> str:
    try:
        seconds = number / 1000 if abs(number) > MILLISECONDS else number
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        raise BadLine(f"{shown(number)} is no time: too far from now for seconds since 1970") from None


def plain_labels(labels: Mapping[str, Any]) -> dict[str, Any]:
    """Labels that are names or numbers, as attributes; the others are left out.

    >>> plain_labels({"up": 1, "parent": "p", "score": "3", "tags": ["a"]})
    {'up': 1, 'score': '3'}
    """
    return {k: v for k, v in labels.items() if k not in KNOWN and isinstance(v, str | int | float | bool)}
