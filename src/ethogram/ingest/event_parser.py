"""Event lines: fields checked, missing ids and times filled in, events made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from math import inf, isfinite
from typing import Annotated, Any

from msgspec import Meta

from ..errors import did_you_mean
from ..fields import Count, InputStruct
from ..lexicon.messages import author_key
from ..models import EPOCH, Event, Value, default_id, format_time, is_indicator_name, parse_time
from ..models.limits import Limits, over
from ..models.slotted import dataclass, field
from .errors import BadLine, shown, type_name

NUMBER, CATEGORY = "number", "category"
Range = tuple[float, float] | tuple[str, ...]
"""The lowest and highest number, both included; or the categories."""
Fields = dict[str, Any]
"""Arguments of Event. `id`, `seq`, `at` and `source` are missing where the line does not give them."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a line is checked against: sizes, the kind and range of each known signal, and the latest time.

    `names` and `plain` remember the names of readings, as the same few come on every line: the signal of each
    name, and the lowest and highest number and the name itself where the signal is a number of that name.
    """

    limits: Limits
    kinds: Mapping[str, str]
    names: dict[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    plain: dict[str, tuple[float, float, str]] = field(default_factory=dict)
    latest: datetime | None = None


# Names, texts and attributes.

_BROKEN = re.compile("[\x00\ud800-\udfff]")
"""Null characters, which PostgreSQL refuses, and lone surrogates, which no encoder takes."""


def replace_broken(text: str) -> str:
    """Return the text with each character that cannot be stored or printed replaced by U+FFFD.

    >>> replace_broken("a" + chr(0xD800)) == "a" + chr(0xFFFD)
    True
    """
    return text if is_plain(text) else _BROKEN.sub("\ufffd", text)


def is_plain(text: str) -> bool:
    """Return whether a text has no broken character; quicker than the pattern."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_name(what: str, value: Any, limits: Limits) -> str:
    """Return the value if it can be a name: text, not too long, without broken characters.

    Names are not repaired as texts are: two that differ only in a broken character would become one.
    """
    if not isinstance(value, str):
        raise BadLine(f"{what} must be text, not {type_name(value)}")
    if len(value) > limits.name:
        raise BadLine(over("name", limits.name, f"{what} is longer than {limits.name} characters"))
    if not is_plain(value):
        raise BadLine(f"{what} {shown(value)} holds a null or a lone surrogate")
    return value


def _finite(what: str, name: str, value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if not isfinite(number):
        raise BadLine(f"{what} {shown(name)} is not a finite number")
    return number


def checked_attribute(name: str, value: Any, limits: Limits, deeper: int) -> Any:
    """Return the value of an attribute with every text in it repaired."""
    if isinstance(value, str):
        if len(value) > limits.text:
            what = f"attribute {shown(name)} is longer than {limits.text} characters"
            raise BadLine(over("text", limits.text, what))
        return replace_broken(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        _finite("attribute", name, value)
        return value
    if deeper < 1:
        what = f"attribute {shown(name)} is nested more than {limits.depth} deep"
        raise BadLine(over("depth", limits.depth, what))
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise BadLine(f"attribute {shown(name)} has a key that is {type_name(key)}, not text")
        return {
            replace_broken(key): checked_attribute(name, item, limits, deeper - 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [checked_attribute(name, item, limits, deeper - 1) for item in value]
    raise BadLine(f"attribute {shown(name)} holds {type_name(value)}: expected a JSON value")


# Readings: a number or a category under each signal's name.

REMEMBERED_NAMES = 4096
LARGEST = 1e100
"""Squares and sums of readings must still be numbers."""
READING_KEYS = ("value", "scorer", "width")


def signal_name(name: str) -> str:
    """Return the signal of a reading's name: indicators have an underscore, however they were written.

    >>> signal_name("MAN-LOVEBOMB"), signal_name("time-of-day")
    ('MAN_LOVEBOMB', 'time-of-day')
    """
    if "-" in name and is_indicator_name(name.replace("-", "_")):
        return name.replace("-", "_")
    return name


def _checked_signal(name: Any, rules: Rules) -> str:
    signal = signal_name(check_name("reading name", name, rules.limits))
    if not signal:
        raise BadLine("a reading has an empty name")
    if len(rules.names) < REMEMBERED_NAMES:
        rules.names[name] = signal
        if signal == name and rules.kinds.get(name) != CATEGORY:
            range_ = rules.ranges.get(name) or (-inf, inf)
            low, high = range_[0], range_[-1]
            if isinstance(low, str) or isinstance(high, str):
                low, high = -inf, inf
            rules.plain[name] = (max(low, -LARGEST), min(high, LARGEST), name)
    return signal


def _plain_readings(values: Any, rules: Rules) -> dict[str, Value] | None:
    """Return the readings where all are numbers in range under known names, as nearly always; else None."""
    if type(values) is not dict or not 0 < len(values) <= rules.limits.readings:
        return None
    plain = rules.plain
    readings: dict[str, Value] = {}
    for name, value in values.items():
        known = plain.get(name)
        if known is None or not (type(value) is float or type(value) is int):
            return None
        low, high, signal = known
        if not low <= value <= high:
            return None
        # The name as it was first seen, so that a million events hold it once.
        readings[signal] = value if type(value) is float else float(value)
    return readings


def _readings(fields: Fields, key: str, values: Any, rules: Rules) -> None:
    """Set `readings`, and `scorers` and `widths` where the line has any."""
    if (plain := _plain_readings(values, rules)) is not None:
        fields["readings"] = plain
        return
    limits = rules.limits
    if not isinstance(values, Mapping):
        raise BadLine(f"readings must be an object, not {type_name(values)}")
    if len(values) > limits.readings:
        raise BadLine(over("readings", limits.readings, f"more than {limits.readings} readings"))
    readings: dict[str, Value] = {}
    for name, value in values.items():
        signal = rules.names.get(name) or _checked_signal(name, rules)
        if signal in readings:
            raise BadLine(f"duplicate reading {shown(signal)}")
        if isinstance(value, Mapping):
            value = _measured(fields, signal, value, limits)
        if value is not None:  # null: not measured
            readings[signal] = checked_reading(signal, value, rules)
    if readings:
        fields["readings"] = readings


def checked_reading(signal: str, value: Any, rules: Rules) -> Value:
    """Return the value of a signal; BadLine where it is of another kind or outside the range."""
    what, kind = f"reading {shown(signal)}", rules.kinds.get(signal)
    reading: Value
    if isinstance(value, float | int):
        if kind == CATEGORY:
            raise BadLine(f"{what} is a number ({shown(value)}): expected text")
        if abs(reading := _finite("reading", signal, value)) > LARGEST:
            raise BadLine(f"{what} is larger than {LARGEST:g}")
    else:
        if not isinstance(value, str):
            raise BadLine(f"{what} must be a number or text, not {type_name(value)}")
        if kind == NUMBER:
            raise BadLine(f"{what} is text ({shown(value)}): expected a number")
        reading = check_name(what, value, rules.limits)
    if signal in rules.ranges:
        _check_range(signal, reading, rules.ranges[signal])
    return reading


def _check_range(signal: str, value: Value, range_: Range) -> None:
    """Raise BadLine where a value lies outside the range of its signal. Its kind was checked before."""
    low, high = range_[0], range_[-1]
    if isinstance(value, str):
        if isinstance(low, str) and value not in range_:
            raise BadLine(f"{signal}: {shown(value)} is none of {', '.join(map(str, range_))}")
    elif not isinstance(low, str) and not isinstance(high, str) and not low <= value <= high:
        within = f"{_number(low)} or more" if high == inf else f"{_number(low)} to {_number(high)}"
        raise BadLine(f"{signal}: {_number(value)} is outside {within}")


def _number(value: float) -> str:
    return shown(int(value)) if abs(value) < 1e15 and value == int(value) else shown(value)


def _measured(fields: Fields, signal: str, parts: Mapping[str, Any], limits: Limits) -> Any:
    """Return the value in {"value": 0.8, "scorer": "gpt@2", "width": 4}; the rest goes into the fields."""
    what = f"reading {shown(signal)}"
    for key in parts:
        if key not in READING_KEYS:
            near = did_you_mean(key, READING_KEYS) if isinstance(key, str) else ""
            raise BadLine(f"{what}: unknown key {shown(key)}{near or ': expected value, scorer or width'}")
    if "value" not in parts:
        raise BadLine(f"{what} has no value")
    scorer, width = parts.get("scorer"), parts.get("width")
    if width is not None and (type(width) is not int or not 0 <= width < 2**31):
        raise BadLine(f"{what}: width must be a whole number from 0, not {shown(width)}")
    if parts["value"] is None:
        return None
    if scorer is not None and scorer != "":
        fields.setdefault("scorers", {})[signal] = check_name(f"{what}: scorer", scorer, limits)
    if width is not None:
        fields.setdefault("widths", {})[signal] = width
    return parts["value"]


# The fields of an event line.

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
    at: Annotated[str, Meta(pattern=ZONED_TIME)] | Annotated[float, Meta(ge=1e8)] | None = None
    """ISO 8601 with a zone, or seconds or milliseconds since 1970. Left out: the source has no times, and
    order is all there is."""
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
EARLIEST, MILLISECONDS = 1e8, 1e11
"""Numbers from the first on are seconds since 1970 (1973), from the second on milliseconds (also 1973)."""


def fields_of(line: Mapping[str, Any], rules: Rules) -> Fields:
    """Return the fields of the event a line describes; BadLine says what is wrong with it."""
    fields: Fields = {}
    unknown: dict[str, Any] = {}
    longest = rules.limits.name
    for key, value in line.items():
        # Inline, since most of what is ever read is a short plain name and a call costs more than this.
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
    is_nobody = "subject" not in fields and line.get("subject") != ""
    if is_nobody and (near := author_key(line)) is not None:
        raise BadLine(f"an event needs a subject (there is {shown(near)}: rename it)")
    if unknown:
        _add_unknown(fields, unknown, rules)
    if is_nobody:
        raise BadLine("an event needs a subject")
    if not fields.get("subject", "").strip():
        raise BadLine("subject is empty")
    return fields


def _name(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    # An empty name is none: many writers have no other way to leave it out.
    if value != "":
        fields[key] = check_name(key, value, rules.limits)


def _id(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    _name(fields, key, str(value) if type(value) is int else value, rules)


def _at(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
        try:
            fields["at"] = parse_time(value)
        except ValueError as error:
            raise BadLine(f"at: {error}") from None
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        fields["at"] = since_1970(value)
    elif not isinstance(value, datetime):
        raise BadLine(f"at must be an ISO 8601 time such as 2026-11-15T03:10:00Z, not {type_name(value)}")
    elif value.tzinfo is None:
        raise BadLine(f"at: time {value.isoformat()} has no zone: expected UTC")
    else:
        try:
            fields["at"] = value.astimezone(UTC)
        except OverflowError:
            raise BadLine("at: outside the years 1 to 9999") from None


def since_1970(value: float | str) -> datetime:
    """Return the time of seconds since 1970, or of milliseconds; BadLine where it may be something else.

    >>> since_1970(1_772_358_900).isoformat(), since_1970("1772358900000").isoformat()
    ('2026-03-01T09:55:00+00:00', '2026-03-01T09:55:00+00:00')
    """
    try:
        seconds = float(value)
    except OverflowError:
        seconds = inf
    if seconds >= MILLISECONDS:
        seconds /= 1000
    # Smaller numbers are dates without signs (20260301), or count from another start.
    if not EARLIEST <= seconds < MILLISECONDS:
        raise BadLine(
            f"at: {shown(value)} is not a time: expected 2026-11-15T03:10:00Z, or seconds since 1970"
        )
    return EPOCH + timedelta(microseconds=round(seconds * 1e6))


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
    fields["text"] = replace_broken(value)


def _attributes(fields: Fields, key: str, value: Any, rules: Rules) -> None:
    if not isinstance(value, Mapping):
        raise BadLine(f"attributes must be an object, not {type_name(value)}")
    if value:
        fields["attributes"] = checked_attributes(value, rules.limits)


def checked_attributes(attributes: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Return attributes with every text in them repaired; BadLine where one cannot be stored."""
    if len(attributes) > limits.attributes:
        raise BadLine(_too_many_attributes(limits))
    checked: dict[str, Any] = {}
    longest_name, longest_text = limits.name, limits.text
    for name, value in attributes.items():
        # Inline, as in fields_of: nearly all names and values are plain.
        if not (type(name) is str and len(name) <= longest_name and name.isascii() and "\0" not in name):
            check_name("attribute name", name, limits)
        is_plain_text = (
            type(value) is str and len(value) <= longest_text and value.isascii() and "\0" not in value
        )
        if not is_plain_text and not (type(value) is int and -LARGEST_SEQ <= value <= LARGEST_SEQ):
            # The line's own object and `attributes` are the first two of the nested ones.
            value = checked_attribute(name, value, limits, limits.depth - 2)
        checked[name] = value
    return checked


def _add_unknown(fields: Fields, unknown: Mapping[str, Any], rules: Rules) -> None:
    """Add unknown keys to the attributes; refuse likely slips, since a typo must not lose a value."""
    attributes: dict[str, Any] = dict(fields.get("attributes", ()))
    if len(attributes) + len(unknown) > rules.limits.attributes:  # before each is compared with known names
        raise BadLine(_too_many_attributes(rules.limits))
    for name, value in unknown.items():
        if near := did_you_mean(str(name), FIELDS):
            raise BadLine(f"unknown key {shown(name)}{near} (or put it in attributes)")
        if name in rules.kinds or is_indicator_name(str(name).replace("-", "_")):
            raise BadLine(f"{shown(name)} is a signal: put it in readings")
        if name in attributes:
            raise BadLine(f"{shown(name)} is both a key and in attributes")
        attributes[name] = value
    _attributes(fields, "attributes", attributes, rules)


def _too_many_attributes(limits: Limits) -> str:
    return over("attributes", limits.attributes, f"more than {limits.attributes} attributes")


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


# Defaults for a missing id, position or time.

LAST_SECOND = 253_402_300_799
"""The last whole second of the year 9999, which is as far as an untimed source can count."""


def complete(fields: Fields, source: str, number: int, latest: datetime | None = None) -> Fields:
    """Add what the line did not give. Without a time, `seq` counts seconds up to `latest`."""
    fields["source"] = source
    seq = fields.setdefault("seq", number)
    if "id" not in fields:
        fields["id"] = default_id(source, seq, content_of(fields))
    if "at" not in fields:
        last = LAST_SECOND if latest is None else int(latest.timestamp())
        if seq > last:
            raise BadLine(f"seq {seq} is too large for a source without times: expected at most {last}")
        fields["at"], fields["timed"] = EPOCH + timedelta(seconds=seq), False
    return fields


def event_of(fields: Fields) -> Event:
    """Return the event of complete fields."""
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


def content_of(fields: Fields) -> dict[str, Any]:
    """Return what `Event.to_dict` would return of these fields, apart from id and seq."""
    names = ("subject", "target", "reply_to", "thread", "session", "text", "attributes")
    content = {name: fields[name] for name in names if name in fields}
    content["kind"] = fields.get("kind", "event")
    if "at" in fields:
        content["at"] = format_time(fields["at"])
    if readings := dict(fields.get("readings", ())):
        for key, name in (("scorers", "scorer"), ("widths", "width")):
            for signal, part in fields.get(key, {}).items():
                value = readings[signal]
                readings[signal] = {**(value if isinstance(value, dict) else {"value": value}), name: part}
        content["readings"] = readings
    return content
