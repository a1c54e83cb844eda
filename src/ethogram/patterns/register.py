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


def faults_of_examples(given: Given) -> Iterator[str]:
    for key, least in (("fires", 1), ("quiet", 2)):
        every = given.get(key, ())
        if not is_listed(every) or len(every) < least:
            yield f"{key} needs at least {least} example{'s' if least > 1 else ''}: (story, events)"
            continue
        for number, one in enumerate(every, start=1):
            told = as_example(one)
            if told is None or not told.get("story") or not told.get("events"):
                forms = f"(story, events), (story, events, at) or a dict of {', '.join(EXAMPLE)}"
                yield f"{key}, example {number}: {forms}"
            elif not all(isinstance(event, Event) for event in told["events"]):
                yield f"{key}, example {number}: events are Event objects, as ethogram.testing makes them"
            elif key == "quiet" and (told.get("at") or told.get("severity")):
                yield f"quiet, example {number}: has no at or severity"
            elif told.get("at") is not None and not _is_place(told["at"], len(told["events"])):
                yield f"{key}, example {number}: at is the position of an event, from 1"


def _is_place(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def as_example(one: Any) -> Mapping[str, Any] | None:
    """The parts of an example by name; None where it is none."""
    if isinstance(one, Mapping):
        return one if set(one) <= set(EXAMPLE) else None
    if isinstance(one, Sequence) and not isinstance(one, str) and 2 <= len(one) <= 3:
        return dict(zip(EXAMPLE, one, strict=False))
    return None


def examples_of(given: Given, line: int) -> Iterator[Example]:
    number = 0
    for fires in (True, False):
        for one in given.get("fires" if fires else "quiet"):
            told = as_example(one) or {}
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
        return tuple(frozen(one) for one in value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: frozen(one) for key, one in value.items()}
    raise TypeError(f"{value!r:.60} is no plain JSON data")


def moved(name: str, state: Any, event: Event) -> Any:
    """The state that a pattern returned, as it is kept; an error that names it where it cannot be."""
    try:
        plain = frozen(state)
    except (TypeError, RecursionError) as error:
        said = str(error) if isinstance(error, TypeError) else "it is nested too deep"
        raise EthogramError(f"pattern {name!r}, state after event {event.id!r:.80}: {said}") from None
    if (size := length(plain)) > MOST_STATE:
        said = f"{size:,} characters of JSON; keep it within {MOST_STATE:,}"
        raise EthogramError(f"pattern {name!r}, state after event {event.id!r:.80}: {said}")
    return plain


def length(plain: Any) -> int:
    """About how many characters plain data takes as JSON.

    >>> length({"a": (1, "bc")})
    16
    """
    if isinstance(plain, str):
        return len(plain) + 2
    if isinstance(plain, tuple):
        return 2 + sum(length(one) + 1 for one in plain)
    if isinstance(plain, dict):
        return 2 + sum(len(key) + 4 + length(one) for key, one in plain.items())
    return len(str(plain)) if isinstance(plain, (int, float)) else 4


def told_text(match: Match, needs: tuple[str, ...]) -> str:
    """What a match tells as one text of JSON: details, evidence and explanation, each of a bounded size."""
    evidence = [
        [one.id, micros(one.at), {name: one.readings[name] for name in needs if name in one.readings}]
        for one in list(match.evidence)[-MOST_EVIDENCE:]
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
        return {str(name)[:MOST_TEXT]: cut(one, depth + 1) for name, one in some}
    if isinstance(value, (list, tuple)):
        return [cut(one, depth + 1) for one in value[:MOST_ITEMS]]
    if isinstance(value, (set, frozenset)):
        return [cut(one, depth + 1) for one in sorted(value, key=str)[:MOST_ITEMS]]
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
    attributes = _within({str(name): _plain(one) for name, one in event.attributes.items()})
    own = {name: _cut(one) for name, one in event.readings.items() if not name.startswith(PREFIX)}
    row = (event.id, micros(event.at), event.seq, event.timed, given, attributes, _within(own))
    return (length(row), *row)


def _within(values: Mapping[str, Any]) -> dict[str, Any]:
    """As many of the values, from the first on, as there is room for."""
    out, left = {}, MOST_VALUES
    for name, one in values.items():
        left -= len(name) + length(one)
        if left < 0:
            break
        out[name] = one
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


def built(given: Given) -> CodePattern:
    """The pattern, or BadUsage with all that is wrong with it."""
    path, line = given.place
    if faults := list(_faults(given)):
        raise BadUsage([Fault(path, line, 0, f"pattern {given.name!r:.60}: {one}") for one in faults])
    made = given.made
    window = given.get("window", WINDOW)
    step = made.step if given.is_object else Window(made, window).step
    named = made if hasattr(made, "__qualname__") else type(made)
    return CodePattern(
        name=given.name,
        title=given.get("title"),
        description=_description(given),
        step=step,
        start=frozen(made.start) if given.is_object else (),
        severities=_severities(given),
        group_by=("subject", *(one for one in given.get("group_by", ()) if one != "subject")),
        examples=tuple(examples_of(given, line)),
        version=given.get("version", 1),
        status=given.get("status", "stable"),
        cause=given.get("cause", ""),
        confirms=tuple(given.get("confirms", ())),
        needs=tuple(given.get("needs", ())),
        kinds=None if given.get("kinds") is None else tuple(given.get("kinds")),
        words={
            key: given.get(key)
            for key in (
                "recommendation",
                "triage",
                "author",
                "false_positives",
                "misses",
                "references",
                "tags",
            )
            if given.get(key)
        },
        path=path,
        line=line,
        module=str(getattr(named, "__module__", "?")),
        qualname=str(getattr(named, "__qualname__", "?")),
        made=made,
        keeps_events=not given.is_object,
    )


def matched(one: CodePattern, match: Any, event: Event, seen: Collection[str] | None = None) -> Match:
    """The match itself; an error that says what is wrong with it, and at which event.

    `seen` are the ids of the events that were shown, where that is known.
    """
    where = f"pattern {one.name!r} at event {event.id!r:.80}"
    if not isinstance(match, Match):
        raise EthogramError(f"{where}: a Match or None is due, not {match!r:.80}")
    sure = match.confidence
    if isinstance(sure, bool) or not isinstance(sure, (int, float)) or not (0 < sure <= 1):
        raise EthogramError(
            f"{where}: confidence is above 0 and at most 1, not {sure!r:.40}; None for no match"
        )
    if match.severity is not None and match.severity not in one.severities:
        raise EthogramError(
            f"{where}: severity {match.severity!r:.40} is none of its severities, {', '.join(one.severities)}"
        )
    if not all(isinstance(each, Event) for each in match.evidence):
        raise EthogramError(f"{where}: evidence is events")
    for each in match.evidence:
        if said := _foreign(one, each, event, seen):
            raise EthogramError(f"{where}: evidence {each.id!r:.80} {said}")
    if not isinstance(match.details, Mapping) or not isinstance(match.explanation, str):
        raise EthogramError(f"{where}: details is a dict, and explanation a text")
    return match


def _foreign(one: CodePattern, each: Event, event: Event, seen: Collection[str] | None) -> str:
    """Why an event cannot be evidence at another one; '' where it can."""
    if seen is not None:
        return "" if each.id in seen else "is none of the events it was shown"
    if each.source != event.source or any(getattr(each, n) != getattr(event, n) for n in one.group_by):
        return "is of another history"
    return "is later than that event" if each.at > event.at else ""


def _description(given: Given) -> str:
    made = given.made if hasattr(given.made, "__code__") else type(given.made)
    return given.get("description") or inspect.cleandoc(made.__doc__ or "")


def _severities(given: Given) -> tuple[str, ...]:
    return tuple(sorted(_listed_severities(given), key=rank))


def _listed_severities(given: Given) -> Any:
    severity = given.get("severity", "medium")
    return (severity,) if isinstance(severity, str) else severity


def _faults(given: Given) -> Iterator[str]:
    for key in given.said:
        if key not in KEYS:
            yield renamed(key, KEYS) or f"unknown argument {key!r:.60}{did_you_mean(key, KEYS)}"
    if not _NAME.fullmatch(str(given.name)):
        yield "its name is small letters, digits and _, at most 50, like ping_pong"
    if not isinstance(given.get("title"), str) or not given.get("title").strip():
        yield "title is missing"
    if not _description(given):
        yield "description is missing: a docstring will do"
    yield from _faults_of_code(given)
    yield from _faults_of_words(given)
    yield from _faults_of_meaning(given)
    yield from faults_of_examples(given)


def _faults_of_code(given: Given) -> Iterator[str]:
    made = given.made
    if isinstance(made, type):
        yield "is a class; register an object of it, or decorate it"
    elif given.is_object:
        if not callable(made.step):
            yield "step is a method: step(event, state) gives (match or None, state)"
        if not hasattr(made, "start"):
            yield "start is missing: the state before the first event"
        else:
            try:
                frozen(made.start)
            except TypeError as error:
                yield f"start: {error}"
        if given.get("window") is not None:
            yield "window is for functions; an object keeps what it needs in its state"
    elif not callable(made):
        yield "is a function of events, or an object with start and step"
    else:
        window = given.get("window", WINDOW)
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


def _faults_of_meaning(given: Given) -> Iterator[str]:
    severities = _listed_severities(given)
    if not is_listed(severities) or not severities or any(one not in SEVERITIES for one in severities):
        yield f"severity is one or several of {', '.join(SEVERITIES)}; not {severities!r:.60}"
    group_by = given.get("group_by", ())
    if not is_listed(group_by) or any(one not in GROUP_FIELDS for one in group_by):
        yield f"group_by is some of {', '.join(GROUP_FIELDS)}, not {group_by!r:.60}"
    version = given.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        yield f"version counts from 1, not {version!r:.40}"
    status = given.get("status", "stable")
    if status not in STATUSES:
        yield f"status is one of {', '.join(STATUSES)}, not {status!r:.40}"
    kinds = given.get("kinds")
    if kinds is not None and not (is_listed(kinds) and all(isinstance(one, str) for one in kinds)):
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
    one = built(Given(made, name, given))
    registry.patterns.add(name, one)
    for signal in signals_of(one):
        registry.signals.add(signal.name, signal)
    return one


def forget(name: str) -> None:
    """Undo `register`, if something is registered under that name; for tests, which leave nothing behind."""
    one = registry.patterns.discard(name)
    if isinstance(one, CodePattern):
        for signal in signals_of(one):
            registry.signals.discard(signal.name)


def signals_of(one: CodePattern) -> list[Signal]:
    """The signals that a pattern in code makes: how sure it is, how grave, and what it tells."""
    together = _together(one)

    def alone(event: Event, state: State, options: Options) -> tuple[Any, State]:
        raise EthogramError(f"signals of the pattern {one.name!r} are measured together")

    common: dict[str, Any] = {
        "cost": "cheap",
        "version": one.version,
        "step": alone,
        "needs": one.needs,
        "scope": SCOPES.get(one.group_by, "subject"),
        "start": None,
        "max_state_bytes": MOST_STATE,
        "kinds": None if one.kinds is None else frozenset(one.kinds),
        "keeps": one.signal,
        "together": together,
    }
    made = [
        Signal(one.signal, f"How sure the pattern {one.name} is, in code.", (0, 1), **common),
        Signal(f"{one.signal}_severity", f"How grave the pattern {one.name} is, in code.", (0, 3), **common),
        Signal(f"{one.signal}_told", f"What the pattern {one.name} tells, in code.", None, **common),
    ]
    for signal in made:
        # As functools.wraps does: what is not ours is not known to a process of ours.
        vars(signal).update(__module__=one.module, __qualname__=one.qualname)
    return made


def _together(one: CodePattern) -> Callable[[Event, State, Options], tuple[Mapping[str, Any], State]]:
    by_key = one.group_by not in SCOPES
    others = [name for name in one.group_by if name != "subject"]

    def together(event: Event, state: State, options: Options) -> tuple[Mapping[str, Any], State]:
        key = [getattr(event, name) for name in others]
        if None in key:
            return {}, state
        if not by_key:
            return _stepped(one, event, one.start if state is None else state[0])
        named = json.dumps(key)
        kept = [pair for pair in state or () if pair[0] != named]
        own = next((pair[1] for pair in state or () if pair[0] == named), None)
        found, after = _stepped(one, event, one.start if own is None else own[0])
        return found, (*kept, (named, after))[-MOST_KEYS:]

    return together


def _stepped(one: CodePattern, event: Event, state: State) -> tuple[Mapping[str, Any], State]:
    """The values of the three signals, and the state in a list of its own: it may be None itself."""
    try:
        match, after = one.step(event, state)
    except EthogramError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message = f"pattern {one.name!r} failed at event {event.id!r:.80}: {said:.200}"
        raise EthogramError(message) from error
    values: dict[str, Any] = {one.signal: 0.0}
    if match is not None:
        seen = {row[NAME] for row in after} if one.keeps_events else None
        match = matched(one, match, event, seen)
        values[one.signal] = float(match.confidence)
        values[f"{one.signal}_severity"] = float(one.severities.index(match.severity or one.severities[0]))
        try:
            values[f"{one.signal}_told"] = told_text(match, one.needs)
        except TypeError as error:
            raise EthogramError(f"pattern {one.name!r} at event {event.id!r:.80}: details: {error}") from None
    return values, (after if one.keeps_events else moved(one.name, after, event),)
