"""Checks of settings: from plain data to the value, or a sentence about what was expected.

A check takes the value, its place (the keys that lead to it) and where to report; it returns the value
as Settings has it, or MISSING. Mappings lose their bad entries only, so that every fault is found.
`check_for` derives the check of a setting from its type.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, UnsetType

from ..errors import did_you_mean
from ..language.expressions import ELAPSED, NAMES
from ..models import parse_duration
from ..models.constants import NOT_PLACES

Place = tuple[str | int, ...]
Check = Callable[[Any, Place, "Report"], Any]

MISSING: Any = object()
SHOWN = 50
# Units of time are functions too, but good names for signals: the catalogue has one of them.
FUNCTIONS = frozenset(NAMES) - {"seconds", "minutes", "hours", "days"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
SECRETS = frozenset((
    "key", "keys", "apikey", "token", "secret", "secrets", "password",
    "passwd", "passphrase", "credential", "credentials", "auth", "authorization", "bearer",
))  # fmt: skip
"""How the name of an option ends that would hold a secret."""
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
SIGNAL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Report:
    """The faults found so far: place, whether it is the key that is wrong, and the sentence.

    Those above SHOWN are only counted, so that a file of ten thousand mistakes is refused at once.
    """

    def __init__(self) -> None:
        self.found: list[tuple[Place, bool, str]] = []
        self.more = 0

    def add(self, place: Place, sentence: Callable[[], str], *, key: bool = False) -> None:
        """Keep or count one fault; the sentence is made only if it is kept."""
        if len(self.found) < SHOWN:
            self.found.append((place, key, sentence()))
        else:
            self.more += 1


def items(each: Check) -> Check:
    """A check for a list whose items pass a check; a tuple."""

    def check(value: Any, place: Place, report: Report) -> Any:
        if not isinstance(value, (list, tuple)):
            return _wrong(value, "a list, like [a, b]", place, report)
        checked = [each(item, (*place, index), report) for index, item in enumerate(value)]
        return MISSING if MISSING in checked else tuple(checked)

    return check


def selectors(value: Any, place: Place, report: Report) -> Any:
    """A tuple of names, globs, files or folders of patterns; never code, whoever wrote the settings."""
    code = [
        number
        for number, item in enumerate(value if isinstance(value, (list, tuple)) else ())
        if isinstance(item, str) and item.endswith(".py")
    ]
    for number in code:
        message = (
            f"{_dotted((*place, number))} is code, which settings never run; here is {value[number]!r:.60}; "
            "name it on the command line (--patterns FILE.py), or install it with an entry point"
        )
        report.add((*place, number), partial(str, message))
    return MISSING if code else items(text)(value, place, report)


def text(value: Any, place: Place, report: Report) -> Any:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        return _wrong(value, "a text", place, report)
    return value


def number(low: float | None = None, high: float | None = None, above: float | None = None) -> Check:
    """A check for a finite number from `low` to `high`, ends included, or above a number."""
    right = "a number"
    if above is not None:
        right += f" above {above:g}"
    elif low is not None:
        right += f" from {low:g} on" if high is None else f" from {low:g} to {high:g}"

    def check(value: Any, place: Place, report: Report) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        inside = is_number and (low is None or low <= value) and (high is None or value <= high)
        if not inside or (above is not None and value <= above):
            return _wrong(value, right, place, report)
        return value if low is None else float(value)

    return check


def yes_or_no(value: Any, place: Place, report: Report) -> Any:
    """True or false; as a word too, since a variable is text."""
    known = {"true": True, "false": False}
    if isinstance(value, str) and value.lower() in known:
        return known[value.lower()]
    return value if isinstance(value, bool) else _wrong(value, "true or false", place, report)


def option(value: Any, place: Place, report: Report) -> Any:
    """A text, a number, true or false; or a mapping of such."""
    if isinstance(value, Mapping):
        return mapping(option, Keys(wrong=bad_option_name))(value, place, report)
    if place[-1] == "key_env" and not (isinstance(value, str) and VARIABLE.fullmatch(value)):
        return _wrong(value, "the name of an environment variable in capitals, not the key", place, report)
    if isinstance(value, bool) or (isinstance(value, str) and value.strip()):
        return value
    if isinstance(value, (int, float)) and math.isfinite(value):
        return value
    return _wrong(value, "a text, a number, true or false", place, report)


def count(value: Any, place: Place, report: Report) -> Any:
    """A whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63:
        return _wrong(value, "a whole number above 0", place, report)
    return value


def duration(value: Any, place: Place, report: Report) -> Any:
    """Microseconds."""
    try:
        return parse_duration(value if isinstance(value, str) else "")
    except ValueError:
        return _wrong(value, "a duration, like 90s, 30m, 48h, 7d or 2w", place, report)


def half_life(value: Any, place: Place, report: Report) -> Any:
    """Microseconds, and more than none."""
    result = duration(value, place, report)
    if result is not MISSING and result <= 0:
        return _wrong(value, "longer than nothing, like 7d", place, report)
    return result


def time_zone(value: Any, place: Place, report: Report) -> Any:
    """The name of an IANA time zone."""
    from zoneinfo import available_timezones

    known = available_timezones() - NOT_PLACES
    if isinstance(value, str) and value in known:
        return value
    return _wrong(value, "the name of a time zone, like Europe/Paris", place, report, known)


def hours(value: Any, place: Place, report: Report) -> Any:
    """Two different hours of the day, from and to; also over midnight."""
    is_pair = isinstance(value, (list, tuple)) and len(value) == 2 and value[0] != value[1]
    if not is_pair or not all(type(item) is int and 0 <= item <= 23 for item in value):
        return _wrong(value, "two different hours from 0 to 23, like [2, 5]", place, report)
    return tuple(value)


def version_or_file(value: Any, place: Place, report: Report) -> Any:
    """The number of a version, or the path of a file, as text."""
    if type(value) is int and value >= 0:
        return str(value)
    return text(value, place, report)


def region(value: Any, place: Place, report: Report) -> Any:
    """A country or a part of it."""
    from ..usage.helpline import REGION  # here, since nearly nobody sets it and it takes a tenth of a second

    if isinstance(value, str) and REGION.fullmatch(value):
        return value
    return _wrong(value, "a region, like DE or US-CA", place, report)


def helplines(value: Any, place: Place, report: Report) -> Any:
    """One line of text for each region."""
    if not isinstance(value, Mapping):
        return _wrong(value, "texts by region, like {DE: ...}", place, report)
    from ..usage.helpline import fault

    found = {name: fault(name, said) for name, said in value.items()}
    for name, wrong in found.items():
        if wrong is not None:
            report.add((*place, name), partial(str, wrong))
    return {name: value[name] for name, wrong in found.items() if wrong is None}


def one_of(options: Iterable[str], *, none: bool = False) -> Check:
    """A check for one of these words, or for None too."""
    known = tuple(options)

    def check(value: Any, place: Place, report: Report) -> Any:
        if (value is None and none) or (isinstance(value, str) and value in known):
            return value
        listed = ", ".join([*known, "null"] if none else known)
        return _wrong(value, f"one of {listed}", place, report, known)

    return check


class Keys:
    """The keys of a mapping: those that are `known`, or any that nothing is `wrong` with."""

    def __init__(self, *known: str, wrong: Callable[[str], str] = lambda key: "") -> None:
        self.known, self.wrong = known, wrong


def mapping(of: Check, keys: Keys) -> Check:
    """A check for a mapping with values that pass a check."""

    def check(value: Any, place: Place, report: Report) -> Any:
        if not isinstance(value, Mapping):
            return _wrong(value, "a mapping, like {name: value}", place, report)
        found = {}
        for key, item in value.items():
            if keys.known and key not in keys.known:
                unknown_key(key, place, keys.known, report)
            elif why := keys.wrong(key):
                report.add((*place, key), partial("{}: {}".format, _dotted(place), why), key=True)
            elif (checked := of(item, (*place, key), report)) is not MISSING:
                found[key] = checked
        return found

    return check


def record(of: Mapping[str, Check]) -> Check:
    """A check for a mapping in which each key has a check of its own."""

    def check(value: Any, place: Place, report: Report) -> Any:
        if not isinstance(value, Mapping):
            return _wrong(value, "a mapping, like {name: value}", place, report)
        found = {}
        for key, item in value.items():
            if key not in of:
                unknown_key(key, place, of, report)
            elif (checked := of[key](item, (*place, key), report)) is not MISSING:
                found[key] = checked
        return found

    return check


def unknown_key(key: str, place: Place, known: Iterable[str], report: Report) -> None:
    """Report a key that may not stand here."""
    what = f"unknown key in {_dotted(place)}:" if place else "unknown setting"
    report.add((*place, key), lambda: f"{what} {key!r:.60}{did_you_mean(key, known)}", key=True)


def bad_signal_name(key: str) -> str:
    """Why no signal can be called that; pattern files must be able to write it.

    >>> bad_signal_name("my_score")
    ''
    >>> bad_signal_name("mean")
    "'mean' is a function of the pattern language; choose another name"
    """
    if not SIGNAL_NAME.fullmatch(key):
        return f"the name {key!r:.60} must be a plain word: small letters, digits and _"
    if key in FUNCTIONS:
        return f"{key!r} is a function of the pattern language; choose another name"
    if key in ELAPSED or keyword.iskeyword(key):
        return f"{key!r} is a word of the pattern language; choose another name"
    return ""


def bad_option_name(key: str) -> str:
    """Why an evaluator's option may not be called that: what it holds would be a secret.

    >>> bad_option_name("max_tokens"), bad_option_name("key_env")
    ('', '')
    >>> bad_option_name("apiKey").partition(";")[0]
    'apiKey: keys to services never stand here'
    """
    *_, last = ["", *WORD.findall(key)]
    if last.lower() not in SECRETS:
        return ""
    return (
        f"{key:.60}: keys to services never stand here; name the environment variable that holds it: key_env"
    )


def _wrong(value: Any, right: str, place: Place, report: Report, known: Iterable[str] = ()) -> Any:
    def sentence() -> str:
        # Among the options of evaluators somebody may have put a key.
        if place[0] == "evaluators" and value is not None:
            return f"{_dotted(place)} must be {right}"
        shown = "nothing" if value is None else f"{value!r:.60}"
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        return f"{_dotted(place)} must be {right}; here is {shown}{hint}"

    report.add(place, sentence)
    return MISSING


def _dotted(place: Place) -> str:
    return ".".join(f"{part!s:.60}" for part in place)


def check_for(hint: Any) -> Check:
    """The check of a value of this type. A function among the annotations is the check itself."""
    kind, *metas = (hint.__origin__, *hint.__metadata__) if get_origin(hint) is Annotated else (hint,)
    for meta in metas:
        if isinstance(meta, FunctionType):
            return meta
        if isinstance(meta, type):
            return record({name: check_for(item) for name, item in section_types(meta).items()})
    limits = next((meta for meta in metas if isinstance(meta, Meta)), Meta())
    if get_origin(kind) in (Union, UnionType):
        (inner,) = (arg for arg in get_args(kind) if arg not in (NoneType, UnsetType))
        return _or_none(inner) if NoneType in get_args(kind) else check_for(inner)
    if kind is bool:
        return yes_or_no
    if words := (limits.extra_json_schema or {}).get("enum"):
        return one_of(words)
    if get_origin(kind) is tuple:
        return items(check_for(get_args(kind)[0]))
    if get_origin(kind) is Mapping:
        keys = next((meta for meta in metas if isinstance(meta, Keys)), Keys())
        return mapping(check_for(get_args(kind)[1]), keys)
    if kind is float:
        return number(limits.ge, limits.le, limits.gt)
    return count if kind is int else text


def _or_none(hint: Any) -> Check:
    of = check_for(hint)
    for meta in getattr(hint, "__metadata__", ()):
        if isinstance(meta, Meta) and "enum" in (meta.extra_json_schema or {}):
            of = one_of(meta.extra_json_schema["enum"], none=True)  # type: ignore[index]
    return lambda value, place, report: None if value is None else of(value, place, report)


def section_types(section: type) -> dict[str, Any]:
    """The types of a class of settings, by name."""
    return get_type_hints(section, include_extras=True)
