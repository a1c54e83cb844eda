"""Values as other programs write them: lenient access to fields, times, texts, arguments, token counts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

from ..models import parse_time
from .errors import BadLine, shown, type_name
from .event_parser import MILLISECONDS
from .streams import parse_only

T = TypeVar("T")
_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "text"}
_ZONE = re.compile(r"(Z|z|[+-]\d\d:?\d\d)$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d($|[T ]\d\d:\d\d)")
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_DURATION = re.compile(r"PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?")
DATE_ONLY = 10
DEEPEST = 8


def need(value: Any, kind: type[T], what: str) -> T:
    """Return the value if it is of this kind, else raise BadLine.

    >>> need({"a": 1}, dict, "a step")
    {'a': 1}
    """
    if isinstance(value, kind):
        return value
    raise BadLine(f"{what} must be {_KINDS.get(kind, kind.__name__)}, not {type_name(value)}")


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; nothing where the value is no list."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def as_name(value: Any) -> str | None:
    """Return a name or whole number as text; None for anything else and for blank text."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def text_at(record: Any, *keys: str) -> str | None:
    """Return the first text that is not empty under these keys of an object.

    >>> text_at({"a": "", "b": 1, "c": "x"}, "a", "b", "c")
    'x'
    """
    for key in keys if isinstance(record, dict) else ():
        if isinstance(value := record.get(key), str) and value:
            return value
    return None


def number_at(record: Any, *keys: str) -> Any:
    """Return the first number under these keys of an object, also where it is written as text."""
    for key in keys if isinstance(record, dict) else ():
        value = record.get(key)
        if value is None:
            continue
        if type(value) is int and -1e15 < value < 1e15:  # as mostly
            return value
        if isinstance(value, str) and re.fullmatch(r"\d{1,15}(\.\d{1,9})?", value):
            value = float(value) if "." in value else int(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15:
            return value
    return None


def without_none(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {key: value for key, value in fields.items() if value is not None}


def words(text: str) -> frozenset[str]:
    """Return the words of a text, for sets of names."""
    return frozenset(text.split())


def name_of(value: Any) -> str | None:
    """Return a name, a whole number or the name in an object as text; None for anything else.

    >>> name_of(7), name_of("ann"), name_of({"name": "bob"}), name_of("")
    ('7', 'ann', 'bob', None)
    """
    if isinstance(value, dict):
        value = next((value[key] for key in ("name", "username", "id") if value.get(key)), None)
    if value is None or isinstance(value, str):
        return value or None
    return as_name(value)


def time_of(value: Any, key: str = "") -> tuple[str | None, str | None]:
    """Return a time with its zone, or a time of day alone; (None, None) without a value, else BadLine.

    Without a zone it is taken as UTC, a date alone as its first moment; numbers are seconds or milliseconds
    since 1970. Messages name the `key` of the value.

    >>> time_of("2004-12-25T09:14:00"), time_of(0), time_of("14:16:47")
    (('2004-12-25T09:14:00Z', None), ('1970-01-01T00:00:00Z', None), (None, '14:16:47'))
    """
    if value is None or value == "":
        return None, None
    if isinstance(value, str) and _DATE.match(value):
        if len(value) == DATE_ONLY:
            return f"{value}T00:00:00Z", None
        return (value if _ZONE.search(value) else f"{value}Z"), None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            seconds = value / 1000 if abs(value) > MILLISECONDS else value
            return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z"), None
        except (ValueError, OverflowError, OSError):
            raise BadLine(_no_time(key, value, "seconds since 1970")) from None
    if isinstance(value, str) and _CLOCK.fullmatch(value):
        return None, value
    raise BadLine(_no_time(key, value, "one like 2026-11-15T03:10:00Z"))


def _no_time(key: str, value: Any, expected: str) -> str:
    what = f"{key}: {shown(value)}" if key else shown(value)
    return f"{what} is no time: expected {expected}"


def moment_of(value: Any) -> datetime | None:
    """Return a time as a datetime; None where there is none, BadLine where it is something else."""
    if isinstance(value, datetime):
        return value
    at, _ = time_of(value)
    if at is None:
        return None
    try:
        return parse_time(at)
    except ValueError as error:
        raise BadLine(f"time: {error}") from None


def seconds_of(value: Any) -> float | None:
    """Return a duration in seconds: a number, or ISO 8601 such as PT1M29.8S.

    >>> seconds_of("PT1M29.5S"), seconds_of(2), seconds_of("soon")
    (89.5, 2, None)
    """
    if value is None:
        return None
    if not isinstance(value, str):
        number: float | None = number_at({"value": value}, "value")
        return number
    match = _DURATION.fullmatch(value)
    if match is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return round(3600 * hours + 60 * minutes + seconds, 9)


def parsed(text: str) -> Any:
    """Return the value of a JSON text; None where it is not JSON."""
    try:
        return parse_only(text, lenient=True)
    except BadLine:
        return None


def text_of(content: Any) -> str:
    """Return the text of a message's content: plain, or in parts, of which those without text are named.

    >>> text_of([{"type": "text", "text": "a"}, {"type": "image"}, "b"])
    'a\\n[image]\\nb'
    """
    if content is None:
        return ""
    if isinstance(content, (str, dict)):
        return _part_text(content)
    if not isinstance(content, list):
        return json.dumps(content)
    return "\n".join(text for part in content if (text := _part_text(part)))


def recorded_text(content: Any) -> str | None:
    """Return the text of a content; None where none was recorded, which is not an empty text.

    >>> recorded_text(None), recorded_text([]), recorded_text("ok")
    (None, '', 'ok')
    """
    return None if content is None else text_of(content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    fields = as_dict(part)
    for key in ("text", "content", "output", "output_text", "input_text", "refusal"):
        if isinstance(value := fields.get(key), str):
            return value
        if isinstance(value, list):
            return text_of(value)
    return f"[{fields['type']}]" if isinstance(fields.get("type"), str) else json.dumps(part) if part else ""


def block_texts(content: Any, kind: str, key: str) -> str:
    """Return the texts under a key of the content blocks of one type, joined by newlines."""
    return join_texts(text_at(block, key) for block in as_dicts(content) if block.get("type") == kind)


def join_texts(texts: Iterable[str | None]) -> str:
    """Join the texts that are not empty by newlines."""
    return "\n".join(text for text in texts if text)


def tool_arguments(arguments: Any, most: int) -> dict[str, Any]:
    """Return arguments as an object, also from JSON text; long texts and deep parts are cut.

    >>> tool_arguments('{"a": 1}', 10), tool_arguments("ls -l " * 9, 5), tool_arguments(None, 5)
    ({'a': 1}, {'input': 'ls -l'}, {})
    """
    value = arguments
    if isinstance(arguments, str):
        try:
            value = parse_only(arguments, lenient=True) if arguments.strip() else {}
        except BadLine:
            value = arguments
    if value is None:
        return {}
    small = _truncate_all(value, most, DEEPEST)
    return small if isinstance(small, dict) else {"input": small}


def _truncate_all(value: Any, most: int, deeper: int) -> Any:
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 1e300:
        return None
    if isinstance(value, (dict, list)) and deeper < 1:
        return json.dumps(value)[:most]
    if isinstance(value, dict):
        return {key[:most]: _truncate_all(item, most, deeper - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_truncate_all(item, most, deeper - 1) for item in value]
    return value


def token_usage(usage: Any, **others: Any) -> dict[str, Any]:
    """Return tokens in, out and in all. Tokens read from or written to a cache count as input.

    >>> token_usage({"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 2})
    {'input_tokens': 13, 'output_tokens': 2, 'tokens': 15}
    """
    fields = as_dict(usage)
    output = number_at(fields, "output_tokens", "completion_tokens")
    total = number_at(fields, "total_tokens")
    input_ = number_at(fields, "input_tokens", "prompt_tokens")
    if total is not None and output is not None and input_ is not None:
        input_ = max(input_, total - output)
    elif input_ is not None and "prompt_tokens" not in fields:
        cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
        input_ += sum(number_at(fields, key) or 0 for key in cached)
    if total is None and (input_ is not None or output is not None):
        total = (input_ or 0) + (output or 0)
    return without_none(input_tokens=input_, output_tokens=output, tokens=total, **others)
