"""One event line: its fields checked and in their plain form, whatever format it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import did_you_mean
from ..records import is_indicator_name, parse_time
from .errors import BadLine, shown, type_name
from .limits import over
from .readings import Rules, add_readings
from .values import attribute, check_name, mended

NAMES = frozenset({"id", "source", "subject", "target", "reply_to", "thread", "session", "kind"})
LARGEST_SEQ = 2**63 - 1

Fields = dict[str, Any]
"""Arguments of Event. `id`, `seq`, `at` and `source` are missing where the line does not give them."""


def fields_of(line: Mapping[str, Any], rules: Rules) -> Fields:
    """The fields of the event a line describes; BadLine says what is wrong with it."""
    fields: Fields = {}
    unknown: dict[str, Any] = {}
    longest = rules.limits.name
    for key, value in line.items():
        # Written out, since most of what is ever read is a short plain name and a call costs more than this.
        if (
            type(value) is str
            and key in NAMES
            and 0 < len(value) <= longest
            and value.isascii()
            and "\0" not in value
        ):
            fields[key] = value
        elif (read := _READ.get(key)) is None:
            unknown[key] = value
        elif value is not None:
            read(fields, key, value, rules)
    if unknown:
        _keep_unknown(fields, unknown, rules)
    if "subject" not in fields:
        raise BadLine("subject is empty" if line.get("subject") == "" else "an event needs a subject")
    if fields["subject"].isspace():
        raise BadLine("subject is empty")
    return fields


def _name(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    # An empty name is none: many writers have no other way to leave it out.
    if value != "":
        fields[key] = check_name(key, value, rules.limits)


def _id(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    _name(fields, key, str(value) if type(value) is int else value, rules)


def _at(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    if isinstance(value, str):
        try:
            fields["at"] = parse_time(value)
        except ValueError as error:
            raise BadLine(f"at: {error}") from None
    elif isinstance(value, datetime):
        fields["at"] = _utc(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        raise BadLine("at is a number; write the time as ISO 8601 with a zone, such as 2026-11-15T03:10:00Z")
    else:
        raise BadLine(f"at must be a time such as 2026-11-15T03:10:00Z, not {type_name(value)}")


def _utc(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise BadLine(f"at: time {at.isoformat()} has no zone; store it as UTC")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise BadLine("at: outside the years 1 to 9999") from None


def _seq(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadLine(f"seq must be a whole number, not {shown(value)}")
    if not 0 <= value <= LARGEST_SEQ:
        most = f" to {LARGEST_SEQ}" if value > LARGEST_SEQ else ""
        raise BadLine(f"seq must be a whole number from 0{most}, not {shown(value)}")
    fields["seq"] = value


def _text(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    if not isinstance(value, str):
        raise BadLine(f"text must be text, not {type_name(value)}")
    limits = rules.limits
    if len(value) > limits.text:
        raise BadLine(over("text", limits.text, f"text is longer than {limits.text} characters"))
    fields["text"] = mended(value)


def _attributes(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    if not isinstance(value, Mapping):
        raise BadLine(f"attributes must be an object, not {type_name(value)}")
    limits = rules.limits
    if len(value) > limits.attributes:
        raise BadLine(_too_many(limits.attributes))
    if value:
        fields["attributes"] = {name: attribute(name, one, limits) for name, one in value.items()}


def _too_many(most: int) -> str:
    return over("attributes", most, f"more than {most} attributes")


def _readings(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    add_readings(fields, value, rules)


def _keep_unknown(fields: Fields, unknown: Mapping[str, Any], rules: Rules) -> None:
    """Put strange keys among the attributes; refuse likely slips, since a typo must not lose a value."""
    kept: dict[str, Any] = dict(fields.get("attributes", ()))
    if len(kept) + len(unknown) > rules.limits.attributes:  # before each is compared with what is known
        raise BadLine(_too_many(rules.limits.attributes))
    for name, value in unknown.items():
        if near := did_you_mean(str(name), FIELDS):
            raise BadLine(f"unknown key {shown(name)}{near} (or put it in attributes)")
        if name in rules.kinds or is_indicator_name(str(name).replace("-", "_")):
            raise BadLine(f"{shown(name)} is a signal; put it in readings")
        if name in kept:
            raise BadLine(f"{shown(name)} is given both as a key and in attributes")
        kept[name] = value
    _attributes(fields, "attributes", kept, rules)


_READ: dict[str, Callable[[Fields, str, Any, Rules], None]] = {
    **dict.fromkeys(NAMES, _name),
    "id": _id,
    "at": _at,
    "seq": _seq,
    "text": _text,
    "attributes": _attributes,
    "readings": _readings,
}
FIELDS = frozenset(_READ)
