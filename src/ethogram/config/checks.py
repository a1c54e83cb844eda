"""What each setting may be: from plain data to the value, or a sentence about what would be right.

A check takes the value, its place (the keys that lead to it) and where to report; it returns the value
as Settings has it, or MISSING. Mappings lose their bad entries only, so that every fault is found.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ..chat.records import SIGNALS
from ..errors import did_you_mean
from ..language.expressions import ELAPSED, NAMES
from ..models import SEVERITIES, parse_duration
from ..models.constants import NORMALIZATION, NOT_PLACES, RESOURCES, RUNGS, STATUSES, USAGE_KINDS
from .settings import EMBEDDERS, LIMITS, USAGE, USAGE_LIMITS

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


def words(value: Any, place: Place, report: Report) -> Any:
    """A tuple of texts."""
    if not isinstance(value, (list, tuple)):
        return _wrong(value, "a list, like [a, b]", place, report)
    checked = [text(item, (*place, index), report) for index, item in enumerate(value)]
    return MISSING if MISSING in checked else tuple(checked)


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
    return MISSING if code else words(value, place, report)


def text(value: Any, place: Place, report: Report) -> Any:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        return _wrong(value, "a text", place, report)
    return value


def number(value: Any, place: Place, report: Report) -> Any:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return _wrong(value, "a number", place, report)
    return value


def positive(value: Any, place: Place, report: Report) -> Any:
    """A finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        return _wrong(value, "a number above 0", place, report)
    return value


def yes_or_no(value: Any, place: Place, report: Report) -> Any:
    """True or false; as a word too, since a variable is text."""
    known = {"true": True, "false": False}
    if isinstance(value, str) and value.lower() in known:
        return known[value.lower()]
    return value if isinstance(value, bool) else _wrong(value, "true or false", place, report)


def some_of(options: Iterable[str]) -> Check:
    """A check for a list of some of these words."""
    each = one_of(options)

    def check(value: Any, place: Place, report: Report) -> Any:
        if not isinstance(value, (list, tuple)):
            return _wrong(value, "a list, like [a, b]", place, report)
        checked = [each(item, (*place, index), report) for index, item in enumerate(value)]
        return MISSING if MISSING in checked else tuple(checked)

    return check


def option(value: Any, place: Place, report: Report) -> Any:
    """A text, a number, true or false; or a mapping of such."""
    if isinstance(value, Mapping):
        return mapping(option, bad_option_name)(value, place, report)
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


def multiplier(value: Any, place: Place, report: Report) -> Any:
    """A finite number from 1 on: two things together are never less than one of them."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value < math.inf:
        return _wrong(value, "a number from 1 on", place, report)
    return float(value)


def time_zone(value: Any, place: Place, report: Report) -> Any:
    """The name of an IANA time zone, or None."""
    if value is None:
        return None
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


def share(value: Any, place: Place, report: Report) -> Any:
    """A number from 0 to 1."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    return _wrong(value, "a number from 0 to 1", place, report)


def weight(value: Any, place: Place, report: Report) -> Any:
    """A number from 0 to 10."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 10:
        return float(value)
    return _wrong(value, "a number from 0 to 10", place, report)


def one_of(options: Iterable[str], *, none: bool = False) -> Check:
    """A check for one of these words, or for None too."""
    known = tuple(options)

    def check(value: Any, place: Place, report: Report) -> Any:
        if (value is None and none) or (isinstance(value, str) and value in known):
            return value
        listed = ", ".join([*known, "null"] if none else known)
        return _wrong(value, f"one of {listed}", place, report, known)

    return check


def or_none(of: Check) -> Check:
    """A check for what passes another, or None."""
    return lambda value, place, report: None if value is None else of(value, place, report)


def mapping(of: Check, bad_key: Callable[[str], str] = lambda key: "", known: Iterable[str] = ()) -> Check:
    """A check for a mapping with values that pass a check, and keys that are known, if any are.

    `bad_key` says what is wrong with a key; nothing where it is fine.
    """
    names = tuple(known)

    def check(value: Any, place: Place, report: Report) -> Any:
        if not isinstance(value, Mapping):
            return _wrong(value, "a mapping, like {name: value}", place, report)
        found = {}
        for key, item in value.items():
            if names and key not in names:
                unknown_key(key, place, names, report)
            elif why := bad_key(key):
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


CHECKS: Mapping[str, Check] = {
    "patterns": selectors,
    "enabled_patterns": selectors,
    "combination_detection": yes_or_no,
    "parameters": mapping(mapping(number)),
    "status": mapping(one_of(STATUSES)),
    "scorers": mapping(text),
    "signals": mapping(one_of(("number", "category")), bad_signal_name),
    "time_zone": time_zone,
    "session_inactivity": duration,
    "normalization": one_of(NORMALIZATION),
    "normalization_level": one_of(NORMALIZATION, none=True),
    "allow": words,
    "deny": words,
    "critical_paths": words,
    "cwd": or_none(text),
    "goal": or_none(text),
    "inference_enabled": yes_or_no,
    "semantic_analysis": one_of(("basic", "advanced")),
    "resources_monitored": some_of(RESOURCES),
    "resource_limits": mapping(positive, known=RESOURCES),
    "lateness": duration,
    "max_future": or_none(duration),
    "max_histories": count,
    "source": text,
    "limits": mapping(count, known=LIMITS),
    "memory": count,
    "fail_on": one_of(SEVERITIES, none=True),
    "mutes": or_none(text),
    "evaluator": or_none(text),
    "evaluators": mapping(mapping(option, bad_option_name), bad_option_name),
    "answers": or_none(text),
    "hook": record(
        {
            "rungs": some_of(RUNGS),
            "off": words,
            "patterns": selectors,
            "cool_down": count,
            "most": count,
            "lowest": one_of(SEVERITIES),
            "critical": one_of(("ask", "off")),
        }
    ),
    "usage": record(
        {
            "kinds": some_of(USAGE_KINDS),
            "cohort": version_or_file,
            "night": hours,
            "region": or_none(region),
            "helplines": helplines,
            "weights": mapping(share, known=USAGE["weights"]),
            **dict.fromkeys(USAGE_LIMITS, positive),
        }
    ),
    "conversation": record(
        {
            "embedder": one_of(EMBEDDERS, none=True),
            "weights": mapping(weight, known=SIGNALS),
            "half_life": duration,
            "memory": yes_or_no,
        }
    ),
    "risk": record(
        {
            "weights": mapping(share, known=SEVERITIES),
            "half_life": half_life,
            "half_lives": mapping(half_life),
            "multipliers": mapping(multiplier),
            "floor": share,
            "floor_half_life": half_life,
        }
    ),
    "learning": record(
        {
            "enabled": yes_or_no,
            "automatic": yes_or_no,
            **dict.fromkeys(("adjustment_threshold", "luck", "second_look", "step", "far", "lose"), share),
            **dict.fromkeys(("minimum", "each", "accuracy_minimum"), count),
            **dict.fromkeys(("history_retention_days", "apart_days"), count),
            "file": or_none(text),
        }
    ),
    "calibration": yes_or_no,
}
"""Every setting, by name."""

DURATIONS = ("session_inactivity", "lateness", "max_future", "conversation.half_life", "risk.half_life",
             "risk.half_lives", "risk.floor_half_life")  # fmt: skip


def is_duration(place: Place) -> bool:
    """Whether what stands at a place is a duration, or one of several.

    >>> is_duration(("lateness",)), is_duration(("risk", "half_lives", "stuck")), is_duration(("memory",))
    (True, True, False)
    """
    return ".".join(map(str, place[:2])) in DURATIONS
