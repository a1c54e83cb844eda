"""Event lines: fields checked, missing ids and times filled in, events made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import inf, isfinite
from typing import Annotated, Any

from msgspec import Meta

from ..errors import did_you_mean
from ..fields import Count, InputStruct
from ..models import EPOCH, Event, Value, default_id, format_time, is_indicator_name, parse_time
from ..models.limits import Limits, over
from .errors import BadLine, shown, type_name

# Plain values: names, text and attributes that print, encode and compare without surprise.

_BROKEN = re.compile("[\x00\ud800-\udfff]")
"""Null characters, which PostgreSQL refuses, and half surrogate pairs, which no encoder takes."""


def is_plain(text: str) -> bool:
    """Whether a text certainly needs no mending; nearly every one, and this is quick to say."""
    return text.isascii() and "\0" not in text


def mended(text: str) -> str:
    """The text with each character that cannot be stored or printed replaced by U+FFFD.

    >>> mended("a" + chr(0xD800)) == "a" + chr(0xFFFD)
    True
    """
    return text if is_plain(text) else _BROKEN.sub("\ufffd", text)


def check_name(field: str, value: Any, limits: Limits) -> str:
    """The value, if it can name something: text, not too long, whole.

    Names are not mended as text is: two that differ only in a broken character would become one.
    """
    if not isinstance(value, str):
        raise BadLine(f"{field} must be text, not {type_name(value)}")
    if len(value) > limits.name:
        raise BadLine(over("name", limits.name, f"{field} is longer than {limits.name} characters"))
    if not is_plain(value) and _BROKEN.search(value):
        raise BadLine(f"{field} {shown(value)} holds a null or half a surrogate pair")
    return value


def finite(what: str, value: float) -> float:
    """The number as a float; BadLine where it is infinite, not a number, or too large for a float."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadLine(f"{what} is not a finite number")
    return number


def attribute(name: str, value: Any, limits: Limits) -> Any:
    """The value of an attribute, mended all through; kept as it is otherwise, ints and nulls included."""
    check_name("attribute name", name, limits)
    # The line's own object and `attributes` are the first two of the nested ones.
    return _plain(name, value, limits, limits.depth - 2)


def _plain(name: str, value: Any, limits: Limits, deeper: int) -> Any:
    if isinstance(value, str):
        if len(value) > limits.text:
            what = f"attribute {shown(name)} is longer than {limits.text} characters"
            raise BadLine(over("text", limits.text, what))
        return mended(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        finite(f"attribute {shown(name)}", value)
        return value
    if deeper < 1:
        what = f"attribute {shown(name)} is nested more than {limits.depth} deep"
        raise BadLine(over("depth", limits.depth, what))
    if isinstance(value, Mapping):
        return {_key(name, key): _plain(name, item, limits, deeper - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(name, item, limits, deeper - 1) for item in value]
    raise BadLine(f"attribute {shown(name)} holds {type_name(value)}, which JSON cannot say")


def _key(name: str, key: Any) -> str:
    if not isinstance(key, str):
        raise BadLine(f"attribute {shown(name)} has a key that is {type_name(key)}, not text")
    return mended(key)


# The readings of one event line: a number or a category under each signal's name.

NUMBER, CATEGORY = "number", "category"
REMEMBERED = 4096
Range = tuple[float, float] | tuple[str, ...]
"""The lowest and highest number, both included; or the categories."""
PARTS = frozenset({"value", "scorer", "width"})


def signal_name(name: str) -> str:
    """The name a reading is kept under: indicators with an underscore, however they were written.

    >>> signal_name("MAN-LOVEBOMB"), signal_name("time-of-day")
    ('MAN_LOVEBOMB', 'time-of-day')
    """
    if "-" in name and is_indicator_name(name.replace("-", "_")):
        return name.replace("-", "_")
    return name


@dataclass(frozen=True, slots=True)
class Rules:
    """What a line is checked against: sizes, and the kind and range each known signal has.

    Times after `latest` are refused. `names` remembers what each name of a reading came to, as the same few
    come on every line; `plain` has the lowest and highest number, and the name itself, of each that
    stays as it is.
    """

    limits: Limits
    kinds: Mapping[str, str]
    names: dict[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    plain: dict[str, tuple[float, float, str]] = field(default_factory=dict)
    latest: datetime | None = None


def _checked_name(value: Any, rules: Rules) -> str:
    name = signal_name(check_name("reading name", value, rules.limits))
    if not name:
        raise BadLine("a reading has an empty name")
    if len(rules.names) < REMEMBERED:
        rules.names[value] = name
        if name == value and rules.kinds.get(name) != CATEGORY:
            low, high = _bounds(rules.ranges.get(name, ()))
            rules.plain[name] = (max(low, -LARGEST), min(high, LARGEST), name)
    return name


LARGEST = 1e100
"""Squares and sums of readings must still be numbers."""


def _bounds(allowed: Range | tuple[()]) -> tuple[float, float]:
    low, high = (allowed[0], allowed[-1]) if allowed else (-inf, inf)
    return (-inf, inf) if isinstance(low, str) or isinstance(high, str) else (low, high)


def plain_readings(given: Any, rules: Rules) -> dict[str, Value] | None:
    """The readings where all are numbers in range under names seen before, as nearly always; else None."""
    if type(given) is not dict or not 0 < len(given) <= rules.limits.readings:
        return None
    plain = rules.plain
    readings: dict[str, Value] = {}
    for record, value in given.items():
        known = plain.get(record)
        if known is None or not (type(value) is float or type(value) is int):
            return None
        low, high, name = known
        if not low <= value <= high:
            return None
        # The name as it was first seen, so that a million events hold it once.
        readings[name] = value if type(value) is float else float(value)
    return readings


def add_readings(fields: dict[str, Any], value: Any, rules: Rules) -> None:
    """Put `readings`, and `scorers` and `widths` where any are told, into an event's fields."""
    if (plain := plain_readings(value, rules)) is not None:
        fields["readings"] = plain
        return
    limits, kinds, ranges = rules.limits, rules.kinds, rules.ranges
    if not isinstance(value, Mapping):
        raise BadLine(f"readings must be an object, not {type_name(value)}")
    if len(value) > limits.readings:
        raise BadLine(over("readings", limits.readings, f"more than {limits.readings} readings"))
    readings: dict[str, Value] = {}
    for record, item in value.items():
        name = rules.names.get(record) or _checked_name(record, rules)
        if name in readings:
            raise BadLine(f"reading {shown(name)} is given twice")
        if isinstance(item, Mapping):
            item = _measured(fields, name, item, limits)
        if item is not None:  # null: not measured
            readings[name] = _value(name, item, limits, kinds.get(name))
            if name in ranges:
                _check_range(name, readings[name], ranges[name])
    if readings:
        fields["readings"] = readings


def _value(name: str, value: Any, limits: Limits, due: str | None) -> Value:
    if isinstance(value, float | int):
        if due == CATEGORY:
            raise BadLine(f"reading {shown(name)} is a number ({shown(value)}) where text is due")
        if isfinite(number := finite(f"reading {shown(name)}", value)) and abs(number) > LARGEST:
            raise BadLine(f"reading {shown(name)} is larger than {LARGEST:g}")
        return number
    if not isinstance(value, str):
        raise BadLine(f"reading {shown(name)} must be a number or text, not {type_name(value)}")
    if due == NUMBER:
        raise BadLine(f"reading {shown(name)} is text ({shown(value)}) where a number is due")
    return check_name(f"reading {shown(name)}", value, limits)


def _check_range(name: str, value: Value, allowed: Range) -> None:
    """Nothing where a value lies in the range of its signal; else BadLine. Kinds were looked at before."""
    if isinstance(value, str):
        if isinstance(allowed[0], str) and value not in allowed:
            raise BadLine(f"{name}: {shown(value)} is none of {', '.join(map(str, allowed))}")
        return
    low, high = allowed[0], allowed[-1]
    if not isinstance(low, str) and not isinstance(high, str) and not low <= value <= high:
        within = f"{_number(low)} or more" if high == inf else f"{_number(low)} to {_number(high)}"
        raise BadLine(f"{name}: {_number(value)} is outside {within}")


def _number(value: float) -> str:
    return shown(int(value)) if abs(value) < 1e15 and value == int(value) else shown(value)


def _measured(fields: dict[str, Any], name: str, record: Mapping[str, Any], limits: Limits) -> Any:
    """The value in {"value": 0.8, "scorer": "gpt@2", "width": 4}; who measured it goes into the fields."""
    what = f"reading {shown(name)}"
    for key in record:
        if key not in PARTS:
            near = did_you_mean(key, PARTS) if isinstance(key, str) else ""
            raise BadLine(f"{what}: unknown key {shown(key)}{near or '; known are value, scorer, width'}")
    if "value" not in record:
        raise BadLine(f"{what} has no value")
    scorer, width = record.get("scorer"), record.get("width")
    if width is not None and (type(width) is not int or not 0 <= width < 2**31):
        raise BadLine(f"{what}: width must be a whole number from 0, not {shown(width)}")
    if record["value"] is None:
        return None
    if scorer:
        fields.setdefault("scorers", {})[name] = check_name(f"{what}: scorer", scorer, limits)
    elif scorer is not None and scorer != "":
        raise BadLine(f"{what}: scorer must be text, not {type_name(scorer)}")
    if width is not None:
        fields.setdefault("widths", {})[name] = width
    return record["value"]


# One event line: its fields checked and in their plain form, whatever format it came from.

ZONED_TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}(:\d{2}){1,2}([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)$"
ReadingValue = Annotated[float | str | bool | None, Meta(description="Null: not measured.")]


class ReadingObject(InputStruct, forbid_unknown_fields=True):
    """A value with who measured it and how many events of context they saw."""

    value: ReadingValue
    scorer: str | None = None
    """Who measured it."""
    width: Count | None = None
    """How many events of context the scorer saw."""


class EventLine(InputStruct, kw_only=True):
    """One event as a line of JSON: what goes in. Keys that are not listed become attributes."""

    id: str | int | None = None
    """Stable. Left out: made from source, position, content."""
    at: Annotated[str, Meta(pattern=ZONED_TIME)] | None = None
    """ISO 8601 with a zone. Left out: the source has no times, and order is all there is."""
    seq: Count | None = None
    """Position in the source; breaks ties of `at`."""
    source: str | None = None
    """Where it comes from."""
    subject: Annotated[str, Meta(pattern=r"\S")]
    """Who did or met it."""
    target: str | None = None
    """To whom, if anyone."""
    reply_to: str | None = None
    """The id of the event this one answers."""
    thread: str | None = None
    """Conversation, run or task."""
    session: str | None = None
    """One sitting."""
    kind: str | None = None
    """message, action, result, usage, ..."""
    text: str | None = None
    """What was said."""
    attributes: dict[str, Any] | None = None
    """Facts about the event: tool, path, ..."""
    readings: dict[str, ReadingValue | ReadingObject] | None = None
    """Values by signal or indicator. Absent is not 0."""


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
        fields["attributes"] = {name: attribute(name, item, limits) for name, item in value.items()}


def _too_many(most: int) -> str:
    return over("attributes", most, f"more than {most} attributes")


def _readings(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    add_readings(fields, value, rules)


def _keep_unknown(fields: Fields, unknown: Mapping[str, Any], rules: Rules) -> None:
    """Put strange keys among the attributes; refuse likely slips, since a typo must not lose a value."""
    record: dict[str, Any] = dict(fields.get("attributes", ()))
    if len(record) + len(unknown) > rules.limits.attributes:  # before each is compared with what is known
        raise BadLine(_too_many(rules.limits.attributes))
    for name, value in unknown.items():
        if near := did_you_mean(str(name), FIELDS):
            raise BadLine(f"unknown key {shown(name)}{near} (or put it in attributes)")
        if name in rules.kinds or is_indicator_name(str(name).replace("-", "_")):
            raise BadLine(f"{shown(name)} is a signal; put it in readings")
        if name in record:
            raise BadLine(f"{shown(name)} is given both as a key and in attributes")
        record[name] = value
    _attributes(fields, "attributes", record, rules)


_READ: dict[str, Callable[[Fields, str, Any, Rules], None]] = {
    **dict.fromkeys(NAMES, _name),
    "id": _id,
    "at": _at,
    "seq": _seq,
    "text": _text,
    "attributes": _attributes,
    "readings": _readings,
}
FIELDS = frozenset(EventLine.__struct_fields__)


# What a line does not say: the id, the position, the time; then the event.

LAST_SECOND = 253_402_300_799
"""The last whole second of the year 9999, which is as far as an untimed source can count."""


def completed(fields: Fields, source: str, number: int, latest: datetime | None = None) -> Fields:
    """Checked fields with what the line did not give. Without a time, `seq` counts seconds up to `latest`."""
    fields["source"] = source
    seq = fields.setdefault("seq", number)
    if "id" not in fields:
        fields["id"] = default_id(source, seq, content_of(fields))
    if "at" not in fields:
        fields["at"], fields["timed"] = _counted(seq, latest), False
    return fields


def event_of(fields: Fields) -> Event:
    """The event of complete fields."""
    get = fields.get
    return Event(
        fields["id"],
        fields["at"],
        fields["subject"],
        fields["seq"],
        fields["source"],
        get("timed", True),
        None,
        get("target"),
        get("reply_to"),
        get("thread"),
        get("session"),
        get("kind", "event"),
        get("text"),
        get("attributes") or {},
        get("readings") or {},
        get("scorers") or {},
        get("widths") or {},
    )


def _counted(seq: int, latest: datetime | None) -> datetime:
    last = LAST_SECOND if latest is None else int(latest.timestamp())
    if seq > last:
        raise BadLine(f"seq {seq} is too large for a source without times; the largest is {last}")
    return EPOCH + timedelta(seconds=seq)


def content_of(fields: Fields) -> dict[str, Any]:
    """What `Event.to_dict` would say of these fields, apart from id and seq, before there is an event."""
    told = ("subject", "target", "reply_to", "thread", "session", "text", "attributes")
    content = {name: fields[name] for name in told if name in fields}
    content["kind"] = fields.get("kind", "event")
    if "at" in fields:
        content["at"] = format_time(fields["at"])
    if readings := fields.get("readings"):
        scorers, widths = fields.get("scorers", {}), fields.get("widths", {})
        content["readings"] = {
            name: _told(value, scorers.get(name), widths.get(name)) for name, value in readings.items()
        }
    return content


def _told(value: Value, scorer: str | None, width: int | None) -> Any:
    if scorer is None and width is None:
        return value
    parts = {"value": value, "scorer": scorer, "width": width}
    return {name: part for name, part in parts.items() if part is not None}
