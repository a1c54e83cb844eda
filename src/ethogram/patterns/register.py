"""Patterns in code: register one, check it, keep its state."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import registry
from ..errors import BadUsage, EthogramError, Fault, did_you_mean
from ..language.fields import renamed
from ..language.parser import GROUP_FIELDS
from ..models import SEVERITIES, Event, micros, moment, rank
from ..models.constants import STATUSES
from ..signals import Options, Signal
from .code_patterns import PREFIX, CodePattern, Match, State
from .examples import Example

# What was given to `register`, by keyword or as attributes of the thing itself.


@dataclass(frozen=True, slots=True)
class Given:
    """What was given to `register`: a thing, a name, and what is said about it by keyword."""

    made: Any
    name: str
    said: Mapping[str, Any]

    def get(self, key: str, default: Any = None) -> Any:
        """What was said by keyword, or else by an attribute of the thing."""
        if key in self.said:
            return self.said[key]
        return default if inspect.isfunction(self.made) else getattr(self.made, key, default)

    @property
    def is_object(self) -> bool:
        """Whether it keeps a state of its own."""
        return hasattr(self.made, "step")

    @property
    def place(self) -> tuple[str, int]:
        """The file and line it is written at; '' and 0 where nobody knows."""
        made = self.made if hasattr(self.made, "__code__") else type(self.made)
        try:
            return inspect.getsourcefile(made) or "", inspect.getsourcelines(made)[1]
        except (OSError, TypeError):
            return f"{getattr(made, '__module__', '?')}.{getattr(made, '__qualname__', '?')}", 0


def is_listed(value: Any) -> bool:
    """Whether something is a list of things, and not a text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


# Examples of a pattern in code: histories that it must find something in, and such that it must not.

EXAMPLE = ("story", "events", "at", "severity", "as_of")


def faults_of_examples(value: Given) -> Iterator[str]:
    for key, least in (("fires", 1), ("quiet", 2)):
        every = value.get(key, ())
        if not is_listed(every) or len(every) < least:
            yield f"{key} needs at least {least} example{'s' if least > 1 else ''}: (story, events)"
            continue
        for number, item in enumerate(every, start=1):
            record = as_example(item)
            if record is None or not record.get("story") or not record.get("events"):
                forms = f"(story, events), (story, events, at) or a dict of {', '.join(EXAMPLE)}"
                yield f"{key}, example {number}: {forms}"
            elif not all(isinstance(event, Event) for event in record["events"]):
                yield f"{key}, example {number}: events are Event objects, as ethogram.testing makes them"
            elif key == "quiet" and (record.get("at") or record.get("severity")):
                yield f"quiet, example {number}: has no at or severity"
            elif record.get("at") is not None and not _is_place(record["at"], len(record["events"])):
                yield f"{key}, example {number}: at is the position of an event, from 1"


def _is_place(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def as_example(value: Any) -> Mapping[str, Any] | None:
    """The parts of an example by name; None where it is none."""
    if isinstance(value, Mapping):
        return value if set(value) <= set(EXAMPLE) else None
    if isinstance(value, Sequence) and not isinstance(value, str) and 2 <= len(value) <= 3:
        return dict(zip(EXAMPLE, value, strict=False))
    return None


def examples_of(value: Given, line: int) -> Iterator[Example]:
    number = 0
    for fires in (True, False):
        for item in value.get("fires" if fires else "quiet"):
            told = as_example(item) or {}
            number += 1
            yield Example(
                story=told["story"],
                fires=fires,
                events=tuple(told["events"]),
                at=told.get("at"),
                severity=told.get("severity"),
                as_of=told.get("as_of"),
                line=line,
                column=number,
            )


# What a pattern in code keeps and tells, as plain data of a bounded size.

MOST_STATE = 64 * 1024
"""Characters of JSON that the state of one history may take."""
MOST_TEXT = 200
MOST_ITEMS = 20
DEEPEST = 4
MOST_EVIDENCE = 20


def frozen(value: Any) -> Any:
    """Plain data as it is after a restart: lists are tuples, keys are texts. TypeError for anything else.

    >>> frozen({"a": [1, (2, None)]})
    {'a': (1, (2, None))}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: frozen(item) for key, item in value.items()}
    raise TypeError(f"{value!r:.60} is no plain JSON data")


def moved(name: str, state: Any, event: Event) -> Any:
    """The state that a pattern returned, as it is kept; an error that names it where it cannot be."""
    try:
        plain = frozen(state)
    except (TypeError, RecursionError) as error:
        text = str(error) if isinstance(error, TypeError) else "it is nested too deep"
        raise EthogramError(f"pattern {name!r}, state after event {event.id!r:.80}: {text}") from None
    if (size := length(plain)) > MOST_STATE:
        text = f"{size:,} characters of JSON; keep it within {MOST_STATE:,}"
        raise EthogramError(f"pattern {name!r}, state after event {event.id!r:.80}: {text}")
    return plain


def length(plain: Any) -> int:
    """About how many characters plain data takes as JSON.

    >>> length({"a": (1, "bc")})
    16
    """
    if isinstance(plain, str):
        return len(plain) + 2
    if isinstance(plain, tuple):
        return 2 + sum(length(item) + 1 for item in plain)
    if isinstance(plain, dict):
        return 2 + sum(len(key) + 4 + length(item) for key, item in plain.items())
    return len(str(plain)) if isinstance(plain, (int, float)) else 4


def told_text(match: Match, needs: tuple[str, ...]) -> str:
    """What a match tells as one text of JSON: details, evidence and explanation, each of a bounded size."""
    evidence = [
        [item.id, micros(item.at), {name: item.readings[name] for name in needs if name in item.readings}]
        for item in list(match.evidence)[-MOST_EVIDENCE:]
    ]
    said = {
        "details": cut(match.details),
        "evidence": evidence,
        "explanation": match.explanation[: 2 * MOST_TEXT],
    }
    return json.dumps(said, sort_keys=True)


def cut(value: Any, depth: int = 0) -> Any:
    """Details of a bounded size: long texts and lists are cut, and what lies too deep is left out.

    A set is told in order, a number that is none as None; TypeError for what is no plain data.

    >>> cut({"a": ["x" * 300] * 30})["a"] == ["x" * 200] * 20
    True
    """
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if depth >= DEEPEST:
        return None
    if isinstance(value, Mapping):
        some = list(value.items())[:MOST_ITEMS]
        if wrong := [name for name, _ in some if not isinstance(name, (str, int, float))]:
            raise TypeError(f"a key is a text, not {wrong[0]!r:.60}")
        return {str(name)[:MOST_TEXT]: cut(item, depth + 1) for name, item in some}
    if isinstance(value, (list, tuple)):
        return [cut(item, depth + 1) for item in value[:MOST_ITEMS]]
    if isinstance(value, (set, frozenset)):
        return [cut(item, depth + 1) for item in sorted(value, key=str)[:MOST_ITEMS]]
    raise TypeError(f"{value!r:.60} is no plain JSON data")


# A window of events as the state of a pattern in code: the newest ones, as plain data of a bounded size.

WINDOW_MOST_TEXT = 2_000
"""Characters of a text, and of what an attribute says, that a pattern sees."""
MOST_VALUES = 8_000
"""Characters of all attributes of an event together, and of all its readings."""
WINDOW_MOST_WINDOW = 48_000
"""Characters of all events of a window together; of longer ones fewer are kept, at least the present one."""
FIELDS = ("subject", "source", "target", "reply_to", "thread", "session", "kind", "text")


NAME = 1
"""Where the id of an event stands in its row."""


class Window:
    """A function of the newest events of a history, as a step with a state."""

    start: State = ()

    def __init__(self, function: Callable[[Sequence[Event]], Match | None], size: int) -> None:
        self.function, self.size = function, size

    def step(self, event: Event, state: State) -> tuple[Match | None, State]:
        """What the function says of the newest events, and those events."""
        rows = (*state, row_of(event))[-self.size :]
        total, first = 0, len(rows) - 1
        for place in range(len(rows) - 1, -1, -1):
            total += rows[place][0]
            if total > WINDOW_MOST_WINDOW:
                break
            first = place
        rows = rows[first:]
        return self.function(tuple(event_of(row) for row in rows)), rows


def row_of(event: Event) -> tuple[Any, ...]:
    """An event as plain data: its length, where it stands, its fields, attributes and readings."""
    given = tuple(_cut(getattr(event, name)) for name in FIELDS)
    attributes = _within({str(name): _plain(attribute) for name, attribute in event.attributes.items()})
    own = {name: _cut(reading) for name, reading in event.readings.items() if not name.startswith(PREFIX)}
    row = (event.id, micros(event.at), event.seq, event.timed, given, attributes, _within(own))
    return (length(row), *row)


def _within(values: Mapping[str, Any]) -> dict[str, Any]:
    """As many of the values, from the first on, as there is room for."""
    out, left = {}, MOST_VALUES
    for name, value in values.items():
        left -= len(name) + length(value)
        if left < 0:
            break
        out[name] = value
    return out


def event_of(row: Sequence[Any]) -> Event:
    """The event of a row. Everything in it is as `row_of` had it."""
    _, name, us, seq, timed, given, attributes, readings = row
    fields: dict[str, Any] = dict(zip(FIELDS, given, strict=True))
    return Event(
        id=name, at=moment(us), seq=seq, timed=timed, attributes=attributes, readings=readings, **fields
    )


def _cut(value: Any) -> Any:
    return value[:WINDOW_MOST_TEXT] if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """An attribute as plain data; one that says too much is cut, a nested one as its JSON."""
    if isinstance(value, str):
        return value[:WINDOW_MOST_TEXT]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, (list, tuple, Mapping)):
        text = json.dumps(value, default=str, allow_nan=True)
        is_plain = len(text) <= WINDOW_MOST_TEXT and "NaN" not in text and "Infinity" not in text
        return frozen(json.loads(text)) if is_plain else text[:WINDOW_MOST_TEXT]
    return str(value)[:WINDOW_MOST_TEXT]


# What is asked of a pattern in code when it is registered, and of every match it gives.

MOST_WINDOW = 256
WINDOW = 50
TEXTS = ("title", "description", "cause", "recommendation", "triage", "author")
LISTS = ("false_positives", "misses", "references", "tags", "confirms", "needs")
KEYS = (
    *TEXTS, *LISTS, "fires", "quiet", "severity", "group_by", "window", "kinds", "version", "status",
)  # fmt: skip
_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")


def built(value: Given) -> CodePattern:
    """The pattern, or BadUsage with all that is wrong with it."""
    path, line = value.place
    if faults := list(_faults(value)):
        raise BadUsage([Fault(path, line, 0, f"pattern {value.name!r:.60}: {fault}") for fault in faults])
    made = value.made
    window = value.get("window", WINDOW)
    step = made.step if value.is_object else Window(made, window).step
    named = made if hasattr(made, "__qualname__") else type(made)
    return CodePattern(
        name=value.name,
        title=value.get("title"),
        description=_description(value),
        step=step,
        start=frozen(made.start) if value.is_object else (),
        severities=_severities(value),
        group_by=("subject", *(item for item in value.get("group_by", ()) if item != "subject")),
        examples=tuple(examples_of(value, line)),
        version=value.get("version", 1),
        status=value.get("status", "stable"),
        cause=value.get("cause", ""),
        confirms=tuple(value.get("confirms", ())),
        needs=tuple(value.get("needs", ())),
        kinds=None if value.get("kinds") is None else tuple(value.get("kinds")),
        words={
            key: value.get(key)
            for key in (
                "recommendation",
                "triage",
                "author",
                "false_positives",
                "misses",
                "references",
                "tags",
            )
            if value.get(key)
        },
        path=path,
        line=line,
        module=str(getattr(named, "__module__", "?")),
        qualname=str(getattr(named, "__qualname__", "?")),
        made=made,
        keeps_events=not value.is_object,
    )


def matched(
    code_pattern: CodePattern, match: Any, event: Event, seen: Collection[str] | None = None
) -> Match:
    """The match itself; an error that says what is wrong with it, and at which event.

    `seen` are the ids of the events that were shown, where that is known.
    """
    where = f"pattern {code_pattern.name!r} at event {event.id!r:.80}"
    if not isinstance(match, Match):
        raise EthogramError(f"{where}: a Match or None is due, not {match!r:.80}")
    sure = match.confidence
    if isinstance(sure, bool) or not isinstance(sure, (int, float)) or not (0 < sure <= 1):
        raise EthogramError(
            f"{where}: confidence is above 0 and at most 1, not {sure!r:.40}; None for no match"
        )
    if match.severity is not None and match.severity not in code_pattern.severities:
        raise EthogramError(
            f"{where}: severity {match.severity!r:.40} is none of its severities, "
            f"{', '.join(code_pattern.severities)}"
        )
    if not all(isinstance(each, Event) for each in match.evidence):
        raise EthogramError(f"{where}: evidence is events")
    for each in match.evidence:
        if text := _foreign(code_pattern, each, event, seen):
            raise EthogramError(f"{where}: evidence {each.id!r:.80} {text}")
    if not isinstance(match.details, Mapping) or not isinstance(match.explanation, str):
        raise EthogramError(f"{where}: details is a dict, and explanation a text")
    return match


def _foreign(code_pattern: CodePattern, each: Event, event: Event, seen: Collection[str] | None) -> str:
    """Why an event cannot be evidence at another one; '' where it can."""
    if seen is not None:
        return "" if each.id in seen else "is none of the events it was shown"
    if each.source != event.source or any(
        getattr(each, n) != getattr(event, n) for n in code_pattern.group_by
    ):
        return "is of another history"
    return "is later than that event" if each.at > event.at else ""


def _description(value: Given) -> str:
    made = value.made if hasattr(value.made, "__code__") else type(value.made)
    return value.get("description") or inspect.cleandoc(made.__doc__ or "")


def _severities(value: Given) -> tuple[str, ...]:
    return tuple(sorted(_listed_severities(value), key=rank))


def _listed_severities(value: Given) -> Any:
    severity = value.get("severity", "medium")
    return (severity,) if isinstance(severity, str) else severity


def _faults(value: Given) -> Iterator[str]:
    for key in value.said:
        if key not in KEYS:
            yield renamed(key, KEYS) or f"unknown argument {key!r:.60}{did_you_mean(key, KEYS)}"
    if not _NAME.fullmatch(str(value.name)):
        yield "its name is small letters, digits and _, at most 50, like ping_pong"
    if not isinstance(value.get("title"), str) or not value.get("title").strip():
        yield "title is missing"
    if not _description(value):
        yield "description is missing: a docstring will do"
    yield from _faults_of_code(value)
    yield from _faults_of_words(value)
    yield from _faults_of_meaning(value)
    yield from faults_of_examples(value)


def _faults_of_code(value: Given) -> Iterator[str]:
    made = value.made
    if isinstance(made, type):
        yield "is a class; register an object of it, or decorate it"
    elif value.is_object:
        if not callable(made.step):
            yield "step is a method: step(event, state) gives (match or None, state)"
        if not hasattr(made, "start"):
            yield "start is missing: the state before the first event"
        else:
            try:
                frozen(made.start)
            except TypeError as error:
                yield f"start: {error}"
        if value.get("window") is not None:
            yield "window is for functions; an object keeps what it needs in its state"
    elif not callable(made):
        yield "is a function of events, or an object with start and step"
    else:
        window = value.get("window", WINDOW)
        if isinstance(window, bool) or not isinstance(window, int) or not 1 <= window <= MOST_WINDOW:
            yield f"window is a number of events from 1 to {MOST_WINDOW}, not {window!r:.40}"


def _faults_of_words(given: Given) -> Iterator[str]:
    for key in TEXTS:
        if key not in ("title",) and not isinstance(given.get(key, ""), str):
            yield f"{key} is a text"
    for key in LISTS:
        value = given.get(key, ())
        if (
            isinstance(value, str)
            or not isinstance(value, Sequence)
            or not all(isinstance(o, str) for o in value)
        ):
            yield f"{key} is a list of texts"


def _faults_of_meaning(value: Given) -> Iterator[str]:
    severities = _listed_severities(value)
    if (
        not is_listed(severities)
        or not severities
        or any(severity not in SEVERITIES for severity in severities)
    ):
        yield f"severity is one or several of {', '.join(SEVERITIES)}; not {severities!r:.60}"
    group_by = value.get("group_by", ())
    if not is_listed(group_by) or any(item not in GROUP_FIELDS for item in group_by):
        yield f"group_by is some of {', '.join(GROUP_FIELDS)}, not {group_by!r:.60}"
    version = value.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        yield f"version counts from 1, not {version!r:.40}"
    status = value.get("status", "stable")
    if status not in STATUSES:
        yield f"status is one of {', '.join(STATUSES)}, not {status!r:.40}"
    kinds = value.get("kinds")
    if kinds is not None and not (is_listed(kinds) and all(isinstance(kind, str) for kind in kinds)):
        yield "kinds is a list of kinds of events, such as ['action']"


# Patterns in code: registering one, for what a pattern file cannot say.
#
# A function sees the newest events of one history, the present one last::
#
#     @ethogram.pattern("ping_pong", title="Two files in turn", window=6, fires=[...], quiet=[...])
#     def ping_pong(events: Sequence[Event]) -> Match | None:
#         "The same two files are changed in turn, three times."
#
# An object with `start` and `step` carries a state of its own, plain JSON data::
#
#     class Streak:
#         "Ten failures in a row."
#         start = 0
#         def step(self, event: Event, state: int) -> tuple[Match | None, int]: ...
#
#     ethogram.register(Streak(), "streak", title="A streak of failures", fires=[...], quiet=[...])

T = TypeVar("T")
MOST_KEYS = 64
"""Histories of one subject, other than its threads, whose states are kept; the newest."""
SCOPES = {("subject",): "subject", ("subject", "thread"): "run"}


def pattern(name: str, **given: Any) -> Callable[[T], T]:
    """The decorator: registers a function or class as a pattern and gives it back unchanged.

    It takes what `register` takes.
    """

    def decorate(made: T) -> T:
        register(made() if isinstance(made, type) else made, name, **given)
        return made

    return decorate


def register(made: Any, name: str, **given: Any) -> CodePattern:
    """Register a function of events, or an object with `start` and `step`, as the pattern of that name.

    Known by keyword, or as attributes of the object: `title`, `description` (default: the docstring), `fires`
    and `quiet` (examples: (story, events) or (story, events, at) or a dict with story, events, at and
    severity; at least one that fires and two that stay quiet), `severity` (one or several), `group_by`,
    `window` (of a function: how many events it sees), `needs` (signals whose readings it looks at), `kinds`
    (of events it is about), `version`, `status`, `cause`, `confirms`, `recommendation`, `triage`,
    `false_positives`, `misses`, `tags`, `references`. All that is wrong is in one BadUsage.
    """
    code_pattern = built(Given(made, name, given))
    registry.patterns.add(name, code_pattern)
    for signal in signals_of(code_pattern):
        registry.signals.add(signal.name, signal)
    return code_pattern


def forget(name: str) -> None:
    """Undo `register`, if something is registered under that name; for tests, which leave nothing behind."""
    item = registry.patterns.discard(name)
    if isinstance(item, CodePattern):
        for signal in signals_of(item):
            registry.signals.discard(signal.name)


def signals_of(code_pattern: CodePattern) -> list[Signal]:
    """The signals that a pattern in code makes: how sure it is, how grave, and what it tells."""
    together = _together(code_pattern)

    def alone(event: Event, state: State, options: Options) -> tuple[Any, State]:
        raise EthogramError(f"signals of the pattern {code_pattern.name!r} are measured together")

    common: dict[str, Any] = {
        "cost": "cheap",
        "version": code_pattern.version,
        "step": alone,
        "needs": code_pattern.needs,
        "scope": SCOPES.get(code_pattern.group_by, "subject"),
        "start": None,
        "max_state_bytes": MOST_STATE,
        "kinds": None if code_pattern.kinds is None else frozenset(code_pattern.kinds),
        "keeps": code_pattern.signal,
        "together": together,
    }
    made = [
        Signal(
            code_pattern.signal, f"How sure the pattern {code_pattern.name} is, in code.", (0, 1), **common
        ),
        Signal(
            f"{code_pattern.signal}_severity",
            f"How grave the pattern {code_pattern.name} is, in code.",
            (0, 3),
            **common,
        ),
        Signal(
            f"{code_pattern.signal}_told",
            f"What the pattern {code_pattern.name} tells, in code.",
            None,
            **common,
        ),
    ]
    for signal in made:
        # As functools.wraps does: what is not ours is not known to a process of ours.
        vars(signal).update(__module__=code_pattern.module, __qualname__=code_pattern.qualname)
    return made


def _together(
    code_pattern: CodePattern,
) -> Callable[[Event, State, Options], tuple[Mapping[str, Any], State]]:
    by_key = code_pattern.group_by not in SCOPES
    others = [name for name in code_pattern.group_by if name != "subject"]

    def together(event: Event, state: State, options: Options) -> tuple[Mapping[str, Any], State]:
        key = [getattr(event, name) for name in others]
        if None in key:
            return {}, state
        if not by_key:
            return _stepped(code_pattern, event, code_pattern.start if state is None else state[0])
        named = json.dumps(key)
        pairs = [pair for pair in state or () if pair[0] != named]
        own = next((pair[1] for pair in state or () if pair[0] == named), None)
        found, after = _stepped(code_pattern, event, code_pattern.start if own is None else own[0])
        return found, (*pairs, (named, after))[-MOST_KEYS:]

    return together


def _stepped(code_pattern: CodePattern, event: Event, state: State) -> tuple[Mapping[str, Any], State]:
    """The values of the three signals, and the state in a list of its own: it may be None itself."""
    try:
        match, after = code_pattern.step(event, state)
    except EthogramError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message = f"pattern {code_pattern.name!r} failed at event {event.id!r:.80}: {said:.200}"
        raise EthogramError(message) from error
    values: dict[str, Any] = {code_pattern.signal: 0.0}
    if match is not None:
        seen = {row[NAME] for row in after} if code_pattern.keeps_events else None
        match = matched(code_pattern, match, event, seen)
        values[code_pattern.signal] = float(match.confidence)
        values[f"{code_pattern.signal}_severity"] = float(
            code_pattern.severities.index(match.severity or code_pattern.severities[0])
        )
        try:
            values[f"{code_pattern.signal}_told"] = told_text(match, code_pattern.needs)
        except TypeError as error:
            raise EthogramError(
                f"pattern {code_pattern.name!r} at event {event.id!r:.80}: details: {error}"
            ) from None
    return values, (after if code_pattern.keeps_events else moved(code_pattern.name, after, event),)
