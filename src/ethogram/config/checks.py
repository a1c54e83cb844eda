"""Checks that turn plain data from a settings file into values, and report what is wrong.

A check takes a value, its place (the keys that lead to it) and a report; it returns the checked value, or
MISSING. A mapping loses its bad entries only, so that every fault of a file is reported at once.
`check_for` derives the check of a setting from its type.
"""

from __future__ import annotations

import keyword
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, UnsetType

from ..errors import BadConfig, Fault, did_you_mean
from ..language.yaml_source import Fields, Items, Node
from ..models import parse_duration, parse_time
from ..models.constants import RESOURCES, VARIABLE

Place = tuple[str | int, ...]
Check = Callable[[Any, Place, "Report"], Any]

MISSING: Any = object()
MAX_FAULTS = 50
_SIGNAL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRETS = frozenset((
    "key", "keys", "apikey", "token", "secret", "secrets", "password",
    "passwd", "passphrase", "credential", "credentials", "auth", "authorization", "bearer",
))  # fmt: skip
"""Last words of option names that would hold a secret."""


class Report:
    """Faults by place. Only the first MAX_FAULTS are worded; the others are counted."""

    def __init__(self) -> None:
        self.faults: list[tuple[Place, bool, str]] = []
        """Place, whether its key is wrong (not the value), and the message."""
        self.more = 0

    def add(self, place: Place, message: str | Callable[[], str], *, key: bool = False) -> Any:
        """Add a fault and return MISSING."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append((place, key, message if isinstance(message, str) else message()))
        else:
            self.more += 1
        return MISSING

    def located(self, path: str, node: Node | None) -> list[Fault]:
        """The faults with line and column in a parsed file."""
        return [Fault(path, *position(node, place, key=key), message) for place, key, message in self.faults]


def check_file(value: Any, check: Check, path: str, node: Node) -> Any:
    """Return the checked content of a file; BadConfig carries every fault."""
    report = Report()
    checked = check(value, (), report)
    if report.faults:
        raise BadConfig(report.located(path, node), more=report.more)
    return checked


def position(node: Node | None, place: Place, *, key: bool) -> tuple[int, int]:
    """Line and column of the value at a place, or of its key; (0, 0) without a node.

    Of what is missing in the file, the position of what it is missing from.
    """
    spot: Node | None = node
    for part in place:
        if isinstance(node, Fields) and (name := node.key(str(part))):
            spot, node = name, node.get(str(part))
        elif isinstance(node, Items):
            spot = node = node.items[int(part)]
    spot = spot if key else node
    return (spot.line, spot.column) if spot is not None else (0, 0)


def dotted(place: Place) -> str:
    """The name of a place: 'limits.events'."""
    return ".".join(f"{part!s:.60}" for part in place)


def wrong(value: Any, expected: str, place: Place, report: Report, known: Iterable[str] = ()) -> Any:
    """Report a value that is not what was expected; `known` are words it may be a misspelling of."""

    def message() -> str:
        text = f"{dotted(place)} must be {expected}".lstrip()
        # The options of evaluators may hold a key by mistake, so their values are not shown.
        if place[:1] == ("evaluators",) and value is not None:
            return text
        shown = "nothing" if value is None else f"{value!r:.60}"
        return f"{text}; got {shown}{did_you_mean(value, known) if isinstance(value, str) else ''}"

    return report.add(place, message)


def items(each: Check) -> Check:
    """Check a list item by item; a tuple."""

    def check(value: Any, place: Place, report: Report) -> Any:
        if not isinstance(value, (list, tuple)):
            return wrong(value, "a list, like [a, b]", place, report)
        checked = [each(item, (*place, index), report) for index, item in enumerate(value)]
        return MISSING if MISSING in checked else tuple(checked)

    return check


def mapping(
    of: Check | Mapping[str, Check],
    bad_name: Callable[[str], str] = lambda key: "",
    required: Iterable[str] = (),
) -> Check:
    """Check a mapping: all values alike, or each known key by its own check.

    `bad_name` says what is wrong with a key, '' for nothing.
    """

    def check(value: Any, place: Place, report: Report) -> Any:
        if not isinstance(value, Mapping):
            return wrong(value, "a mapping, like {name: value}", place, report)
        checked = {}
        for key, item in value.items():
            if isinstance(of, Mapping) and key not in of:
                unknown_key(key, place, of, report)
            elif message := bad_name(key):
                report.add((*place, key), f"{dotted(place)}: {message}", key=True)
            else:
                result = (of[key] if isinstance(of, Mapping) else of)(item, (*place, key), report)
                if result is not MISSING:
                    checked[key] = result
        for key in required:
            if key not in value:
                report.add(place, f"{dotted(place)}: {key} is missing")
        return checked

    return check


def unknown_key(key: str, place: Place, known: Iterable[str], report: Report) -> None:
    """Report a key that is not known."""
    what = f"unknown key in {dotted(place)}:" if place else "unknown key"
    report.add((*place, key), lambda: f"{what} {key!r:.60}{did_you_mean(key, known)}", key=True)


def text(value: Any, place: Place, report: Report) -> Any:
    """A text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        return wrong(value, "a text", place, report)
    return value


def number(low: float | None = None, high: float | None = None, above: float | None = None) -> Check:
    """Check a finite number from `low` to `high`, ends included, or above a number."""
    expected = "a number"
    if above is not None:
        expected += f" above {above:g}"
    elif low is not None:
        expected += f" from {low:g} on" if high is None else f" from {low:g} to {high:g}"

    def check(value: Any, place: Place, report: Report) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        inside = is_number and (low is None or low <= value) and (high is None or value <= high)
        if not inside or (above is not None and value <= above):
            return wrong(value, expected, place, report)
        return value if low is None else float(value)

    return check


def boolean(value: Any, place: Place, report: Report) -> Any:
    """True or false; also as a word, since environment variables are text."""
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    return value if isinstance(value, bool) else wrong(value, "true or false", place, report)


def count(value: Any, place: Place, report: Report) -> Any:
    """A whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63:
        return wrong(value, "a whole number above 0", place, report)
    return value


def one_of(words: Iterable[str], *, none: bool = False) -> Check:
    """Check one of some words; with `none` also null."""
    known = tuple(words)

    def check(value: Any, place: Place, report: Report) -> Any:
        if (value is None and none) or (isinstance(value, str) and value in known):
            return value
        nothing = " (leave it out for none)" if none else ""
        return wrong(value, f"one of {', '.join(known)}{nothing}", place, report, known)

    return check


RESOURCE_NAMES = {"memory": "memory_mb", "api_calls": "calls", "execution_time": "seconds"}
"""Other names of resources."""


def resource(value: Any, place: Place, report: Report) -> Any:
    """A resource of a run, also by another name."""
    known = RESOURCE_NAMES.get(value, value) if isinstance(value, str) else value
    return one_of((*RESOURCES, *RESOURCE_NAMES))(value, place, report) if known not in RESOURCES else known


def time(value: Any, place: Place, report: Report) -> Any:
    """A moment, from ISO 8601 text."""
    try:
        return parse_time(str(value))
    except ValueError as error:
        return report.add(place, f"{place[-1]}: {error}")


def duration(value: Any, place: Place, report: Report) -> Any:
    """Microseconds, from a text like 30m."""
    try:
        return parse_duration(value if isinstance(value, str) else "")
    except ValueError:
        return wrong(value, "a duration, like 90s, 30m, 48h, 7d or 2w", place, report)


def half_life(value: Any, place: Place, report: Report) -> Any:
    """Microseconds above 0."""
    result = duration(value, place, report)
    if result is not MISSING and result <= 0:
        return wrong(value, "longer than nothing, like 7d", place, report)
    return result


def selectors(value: Any, place: Place, report: Report) -> Any:
    """Names, globs, files or folders of patterns. Code is refused, whoever wrote the settings."""
    code = [
        index
        for index, item in enumerate(value if isinstance(value, (list, tuple)) else ())
        if isinstance(item, str) and item.endswith(".py")
    ]
    for index in code:
        message = (
            f"{dotted((*place, index))} is code, which settings never run; got {value[index]!r:.60}; "
            "name it on the command line (--patterns FILE.py), or install it with an entry point"
        )
        report.add((*place, index), message)
    return MISSING if code else items(text)(value, place, report)


def option(value: Any, place: Place, report: Report) -> Any:
    """An evaluator's option: a text, a number, true or false; or a mapping of such."""
    if isinstance(value, Mapping):
        return mapping(option, bad_option_name)(value, place, report)
    if place[-1] == "key_env" and not (isinstance(value, str) and VARIABLE.fullmatch(value)):
        return wrong(value, "the name of an environment variable in capitals, not the key", place, report)
    if isinstance(value, bool) or (isinstance(value, str) and value.strip()):
        return value
    if isinstance(value, (int, float)) and math.isfinite(value):
        return value
    return wrong(value, "a text, a number, true or false", place, report)


def time_zone(value: Any, place: Place, report: Report) -> Any:
    """The name of an IANA time zone."""
    from zoneinfo import available_timezones

    from ..models.constants import NOT_PLACES

    known = available_timezones() - NOT_PLACES
    if isinstance(value, str) and value in known:
        return value
    return wrong(value, "the name of a time zone, like Europe/Paris", place, report, known)


def embedder(value: Any, place: Place, report: Report) -> Any:
    """The name of an embedder; a folder is absolute, since settings are read from anywhere."""
    kind, _, rest = value.partition(":") if isinstance(value, str) else ("", "", "")
    if value == "none":
        return None
    is_folder = kind == "onnx" and os.path.isabs(os.path.expanduser(rest))  # noqa: PTH111, PTH117
    if value == "static" or is_folder or (kind == "openai" and rest):
        return value
    return wrong(
        value, "static, onnx:/FOLDER (absolute), openai:MODEL@URL or none", place, report, ["static"]
    )


def hours(value: Any, place: Place, report: Report) -> Any:
    """Two different hours of the day, from and to; also over midnight."""
    is_pair = isinstance(value, (list, tuple)) and len(value) == 2 and value[0] != value[1]
    if not is_pair or not all(type(item) is int and 0 <= item <= 23 for item in value):
        return wrong(value, "two different hours from 0 to 23, like [2, 5]", place, report)
    return tuple(value)


def version_or_file(value: Any, place: Place, report: Report) -> Any:
    """The number of a version, or the path of a file, as text."""
    if type(value) is int and value >= 0:
        return str(value)
    return text(value, place, report)


def label(value: Any, place: Place, report: Report) -> Any:
    """A label or relationship type of a graph."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", value):
        return value
    return wrong(value, "letters, digits and underscores, like Agent", place, report)


def region(value: Any, place: Place, report: Report) -> Any:
    """A country or a part of it."""
    from ..usage.helpline import REGION  # takes a tenth of a second, and few people set it

    if isinstance(value, str) and REGION.fullmatch(value):
        return value
    return wrong(value, "a region, like DE or US-CA", place, report)


def helplines(value: Any, place: Place, report: Report) -> Any:
    """One line of text for each region."""
    if not isinstance(value, Mapping):
        return wrong(value, "texts by region, like {DE: ...}", place, report)
    from ..usage.helpline import fault

    messages = {name: fault(name, line) for name, line in value.items()}
    for name, message in messages.items():
        if message is not None:
            report.add((*place, name), message)
    return {name: value[name] for name, message in messages.items() if message is None}


def bad_signal_name(key: str) -> str:
    """What is wrong with the name of a signal, '' for nothing; pattern files must be able to write it.

    >>> bad_signal_name("my_score")
    ''
    >>> bad_signal_name("mean")
    "'mean' is a function of the pattern language; choose another name"
    """
    from ..language.expressions import ELAPSED, NAMES

    if not _SIGNAL_NAME.fullmatch(key):
        return f"the name {key!r:.60} must be a plain word: small letters, digits and _"
    # Units of time are functions too, but good names for signals: the catalogue has one of them.
    if key in NAMES and key not in ("seconds", "minutes", "hours", "days"):
        return f"{key!r} is a function of the pattern language; choose another name"
    if key in ELAPSED or keyword.iskeyword(key):
        return f"{key!r} is a word of the pattern language; choose another name"
    return ""


def bad_option_name(key: str) -> str:
    """What is wrong with the name of an evaluator's option: it would hold a secret. '' for nothing.

    >>> bad_option_name("max_tokens"), bad_option_name("key_env")
    ('', '')
    >>> bad_option_name("apiKey").partition(";")[0]
    'apiKey: keys to services must not be in settings'
    """
    *_, last = ["", *_WORD.findall(key)]
    if last.lower() not in _SECRETS:
        return ""
    return f"{key:.60}: keys to services must not be in settings; name the environment variable in key_env"


class Keys:
    """Annotation of a mapping's keys: the `known` ones, or any that `bad_name` finds nothing wrong with."""

    def __init__(self, *known: str, bad_name: Callable[[str], str] = lambda key: "") -> None:
        self.known, self.bad_name = known, bad_name


def check_for(hint: Any) -> Check:
    """Return the check of a type. A function among the annotations is the check itself."""
    kind, *metas = (hint.__origin__, *hint.__metadata__) if get_origin(hint) is Annotated else (hint,)
    for meta in metas:
        if isinstance(meta, FunctionType):
            return meta
        if isinstance(meta, type):
            return mapping({name: check_for(item) for name, item in section_types(meta).items()})
    limits = next((meta for meta in metas if isinstance(meta, Meta)), Meta())
    if get_origin(kind) in (Union, UnionType):
        (inner,) = (arg for arg in get_args(kind) if arg not in (NoneType, UnsetType))
        return _optional(inner) if NoneType in get_args(kind) else check_for(inner)
    if kind is bool:
        return boolean
    if words := (limits.extra_json_schema or {}).get("enum"):
        return one_of(words)
    if get_origin(kind) is tuple:
        return items(check_for(get_args(kind)[0]))
    if get_origin(kind) is Mapping:
        keys = next((meta for meta in metas if isinstance(meta, Keys)), Keys())
        each = check_for(get_args(kind)[1])
        return mapping(dict.fromkeys(keys.known, each) if keys.known else each, keys.bad_name)
    if kind is float:
        return number(limits.ge, limits.le, limits.gt)
    return count if kind is int else text


def _optional(hint: Any) -> Check:
    check = check_for(hint)
    for meta in getattr(hint, "__metadata__", ()):
        if isinstance(meta, Meta) and "enum" in (meta.extra_json_schema or {}):
            check = one_of(meta.extra_json_schema["enum"], none=True)  # type: ignore[index]
    return lambda value, place, report: None if value is None else check(value, place, report)


def section_types(section: type) -> dict[str, Any]:
    """The types of a class of settings, by name."""
    return get_type_hints(section, include_extras=True)
