"""Register patterns in code, for what a pattern file cannot express.

A function sees the newest events of one history, the present one last::

    @ethogram.pattern("ping_pong", title="Two files in turn", window=6, fires=[...], quiet=[...])
    def ping_pong(events: Sequence[Event]) -> Match | None:
        "The same two files are changed in turn, three times."

An object with `start` and `step` has a state of its own, plain JSON data::

    class Streak:
        "Ten failures in a row."
        start = 0
        def step(self, event: Event, state: int) -> tuple[Match | None, int]: ...

    ethogram.register(Streak(), "streak", title="A streak of failures", fires=[...], quiet=[...])
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from .. import registry
from ..errors import BadUsage, EthogramError, Fault, did_you_mean
from ..language.fields import renamed
from ..language.history import attribute
from ..language.parser import GROUP_FIELDS
from ..models import SEVERITIES, Event, rank
from ..models.constants import STATUSES
from ..models.slotted import dataclass
from ..signals import Options, Signal
from .code_patterns import CodePattern, Match, State
from .code_state import ID, MAX_STATE, Window, checked_state, frozen, match_text
from .examples import Example

T = TypeVar("T")

MAX_EVENTS = 256
DEFAULT_EVENTS = 50
"""Events that a function sees at most, and where `window` is not set."""
MAX_HISTORIES = 64
"""Histories of one subject, other than its threads, whose states are saved; the newest."""
TEXTS = ("description", "cause", "recommendation", "triage", "author")
LISTS = ("false_positives", "misses", "references", "tags", "confirms", "needs")
OPTIONS = (
    "title", *TEXTS, *LISTS, "fires", "quiet", "severity", "group_by", "window", "kinds", "version", "status",
)  # fmt: skip
WORDS = ("recommendation", "triage", "author", "false_positives", "misses", "references", "tags")
EXAMPLE = ("story", "events", "at", "severity", "as_of")
SCOPES = {("subject",): "subject", ("subject", "thread"): "run"}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")


def pattern(name: str, **options: Any) -> Callable[[T], T]:
    """Decorate a function or class to register it as a pattern; takes the options of `register`."""

    def decorate(made: T) -> T:
        register(made() if isinstance(made, type) else made, name, **options)
        return made

    return decorate


def register(made: Any, name: str, **options: Any) -> CodePattern:
    """Register a function of events, or an object with `start` and `step`, as the pattern of that name.

    Options, by keyword or as attributes of the object: `title`, `description` (default: the docstring),
    `fires` and `quiet` (examples: (story, events) or (story, events, at) or a dict with story, events, at and
    severity; at least one that fires and two that stay quiet), `severity` (one or several), `group_by`,
    `window` (of a function: how many events it sees), `needs` (signals whose readings it uses), `kinds`
    (of events it is about), `version`, `status`, `cause`, `confirms`, `recommendation`, `triage`,
    `false_positives`, `misses`, `tags`, `references`. BadUsage carries every fault.
    """
    code_pattern = _build(_Declaration(made, name, options))
    registry.patterns.add(name, code_pattern)
    for signal in _signals_of(code_pattern):
        registry.signals.add(signal.name, signal)
    return code_pattern


def forget(name: str) -> None:
    """Undo `register`, if something is registered under that name; for tests."""
    item = registry.patterns.discard(name)
    if isinstance(item, CodePattern):
        for signal in _signals_of(item):
            registry.signals.discard(signal.name)


@dataclass(frozen=True, slots=True)
class _Declaration:
    """The arguments of `register`."""

    made: Any
    name: str
    options: Mapping[str, Any]

    def get(self, key: str, default: Any = None) -> Any:
        """An option, by keyword or else as an attribute of the object."""
        if key in self.options:
            return self.options[key]
        return default if inspect.isfunction(self.made) else getattr(self.made, key, default)

    @property
    def has_state(self) -> bool:
        return hasattr(self.made, "step")

    @property
    def code(self) -> Any:
        """The function, or the class of the object."""
        return self.made if hasattr(self.made, "__code__") else type(self.made)

    @property
    def place(self) -> tuple[str, int]:
        """File and line of the code; its name and 0 where there is no source."""
        try:
            return inspect.getsourcefile(self.code) or "", inspect.getsourcelines(self.code)[1]
        except (OSError, TypeError):
            return f"{getattr(self.code, '__module__', '?')}.{getattr(self.code, '__qualname__', '?')}", 0

    @property
    def description(self) -> str:
        return self.get("description") or inspect.cleandoc(self.code.__doc__ or "")

    @property
    def severities(self) -> Any:
        severity = self.get("severity", "medium")
        return (severity,) if isinstance(severity, str) else severity


def _build(declaration: _Declaration) -> CodePattern:
    """The pattern; BadUsage carries every fault of its declaration."""
    path, line = declaration.place
    if faults := list(_faults(declaration)):
        prefix = f"pattern {declaration.name!r:.60}"
        raise BadUsage([Fault(path, line, 0, f"{prefix}: {fault}") for fault in faults])
    made, get = declaration.made, declaration.get
    named = made if hasattr(made, "__qualname__") else type(made)
    return CodePattern(
        name=declaration.name,
        words={
            "title": get("title"),
            "status": get("status", "stable"),
            "description": declaration.description,
            "cause": get("cause") or declaration.name,
            "confirms": list(get("confirms", ())),
            **{key: get(key) for key in WORDS if get(key)},
        },
        step=made.step if declaration.has_state else Window(made, get("window", DEFAULT_EVENTS)).step,
        start=frozen(made.start) if declaration.has_state else (),
        severities=tuple(sorted(declaration.severities, key=rank)),
        group_by=("subject", *(item for item in get("group_by", ()) if item != "subject")),
        examples=tuple(_examples(declaration, line)),
        version=get("version", 1),
        needs=tuple(get("needs", ())),
        kinds=None if get("kinds") is None else tuple(get("kinds")),
        path=path,
        line=line,
        module=str(getattr(named, "__module__", "?")),
        qualname=str(getattr(named, "__qualname__", "?")),
        made=made,
        keeps_events=not declaration.has_state,
    )


def _faults(declaration: _Declaration) -> Iterator[str]:
    get = declaration.get
    for key in declaration.options:
        if key not in OPTIONS:
            yield renamed(key, OPTIONS) or f"unknown argument {key!r:.60}{did_you_mean(key, OPTIONS)}"
    yield from _code_faults(declaration)
    title, group_by, kinds = get("title"), get("group_by", ()), get("kinds")
    severities, version, status = declaration.severities, get("version", 1), get("status", "stable")
    checks = {
        "its name is small letters, digits and _, at most 50, like ping_pong": _NAME.fullmatch(
            str(declaration.name)
        ),
        "title is missing": isinstance(title, str) and title.strip(),
        "description is missing: a docstring will do": declaration.description,
        **{f"{key} is a text": isinstance(get(key, ""), str) for key in TEXTS},
        **{f"{key} is a list of texts": _is_list(get(key, ()), str) for key in LISTS},
        f"severity is one or several of {', '.join(SEVERITIES)}; not {severities!r:.60}": _is_list(severities)
        and severities
        and all(item in SEVERITIES for item in severities),
        f"group_by is some of {', '.join(GROUP_FIELDS)}, not {group_by!r:.60}": _is_list(group_by)
        and all(item in GROUP_FIELDS for item in group_by),
        f"version counts from 1, not {version!r:.40}": _is_number(version),
        f"status is one of {', '.join(STATUSES)}, not {status!r:.40}": status in STATUSES,
        "kinds is a list of kinds of events, such as ['action']": kinds is None or _is_list(kinds, str),
    }
    yield from (message for message, holds in checks.items() if not holds)
    yield from _example_faults(declaration)


def _code_faults(declaration: _Declaration) -> Iterator[str]:
    made = declaration.made
    if isinstance(made, type):
        yield "is a class; register an object of it, or decorate it"
    elif declaration.has_state:
        if not callable(made.step):
            yield "step is a method: step(event, state) gives (match or None, state)"
        if not hasattr(made, "start"):
            yield "start is missing: the state before the first event"
        else:
            try:
                frozen(made.start)
            except TypeError as error:
                yield f"start: {error}"
        if declaration.get("window") is not None:
            yield "window is for functions; an object has what it needs in its state"
    elif not callable(made):
        yield "is a function of events, or an object with start and step"
    elif not _is_number(window := declaration.get("window", DEFAULT_EVENTS), MAX_EVENTS):
        yield f"window is a number of events from 1 to {MAX_EVENTS}, not {window!r:.40}"


def _example_faults(declaration: _Declaration) -> Iterator[str]:
    for key, least in (("fires", 1), ("quiet", 2)):
        examples = declaration.get(key, ())
        if not _is_list(examples) or len(examples) < least:
            yield f"{key} needs at least {least} example{'s' if least > 1 else ''}: (story, events)"
            continue
        for number, item in enumerate(examples, start=1):
            fields = _example_fields(item)
            where = f"{key}, example {number}"
            if not fields.get("story") or not fields.get("events"):
                forms = f"(story, events), (story, events, at) or a dict of {', '.join(EXAMPLE)}"
                yield f"{where}: {forms}"
            elif not all(isinstance(event, Event) for event in fields["events"]):
                yield f"{where}: events are Event objects, as ethogram.testing makes them"
            elif key == "quiet" and (fields.get("at") or fields.get("severity")):
                yield f"{where}: has no at or severity"
            elif fields.get("at") is not None and not _is_number(fields["at"], len(fields["events"])):
                yield f"{where}: at is the position of an event, from 1"


def _example_fields(value: Any) -> Mapping[str, Any]:
    """The parts of an example by name; empty where it is not an example."""
    if isinstance(value, Mapping):
        return value if set(value) <= set(EXAMPLE) else {}
    return dict(zip(EXAMPLE, value, strict=False)) if _is_list(value) and 2 <= len(value) <= 3 else {}


def _examples(declaration: _Declaration, line: int) -> Iterator[Example]:
    items = [(True, item) for item in declaration.get("fires")]
    items += [(False, item) for item in declaration.get("quiet")]
    for number, (fires, item) in enumerate(items, start=1):
        fields = _example_fields(item)
        yield Example(
            story=fields["story"],
            fires=fires,
            events=tuple(fields["events"]),
            at=fields.get("at"),
            severity=fields.get("severity"),
            as_of=fields.get("as_of"),
            line=line,
            column=number,
        )


def _is_list(value: Any, of: type = object) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    return is_list and all(isinstance(item, of) for item in value)


def _is_number(value: Any, most: int = 2**63) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _signals_of(code_pattern: CodePattern) -> list[Signal]:
    """The signals of a pattern in code: its confidence, its severity, and its report as JSON."""
    name = code_pattern.name

    def alone(event: Event, state: State, options: Options) -> tuple[Any, State]:
        raise EthogramError(f"signals of the pattern {name!r} are measured together")

    common: dict[str, Any] = {
        "cost": "cheap",
        "version": code_pattern.version,
        "step": alone,
        "needs": code_pattern.needs,
        "scope": SCOPES.get(code_pattern.group_by, "subject"),
        "start": None,
        "max_state_bytes": MAX_STATE,
        "kinds": None if code_pattern.kinds is None else frozenset(code_pattern.kinds),
        "keeps": code_pattern.signal,
        "together": _together(code_pattern),
    }
    signal = code_pattern.signal
    signals = [
        Signal(signal, f"How sure the pattern {name} is, in code.", (0, 1), **common),
        Signal(f"{signal}_severity", f"How grave the pattern {name} is, in code.", (0, 3), **common),
        Signal(f"{signal}_report", f"What the pattern {name} tells, in code.", None, **common),
    ]
    for item in signals:
        # As functools.wraps does: the module is the one of the user's code.
        vars(item).update(__module__=code_pattern.module, __qualname__=code_pattern.qualname)
    return signals


def _together(
    code_pattern: CodePattern,
) -> Callable[[Event, State, Options], tuple[Mapping[str, Any], State]]:
    """The step of the three signals, with a state for each history of the subject or run."""
    others = [name for name in code_pattern.group_by if name != "subject"]

    def together(event: Event, state: State, options: Options) -> tuple[Mapping[str, Any], State]:
        key = [attribute(event, name) for name in others]
        if None in key:
            return {}, state
        if code_pattern.group_by in SCOPES:
            return _measure(code_pattern, event, code_pattern.start if state is None else state[0])
        history = json.dumps(key)
        rest = [pair for pair in state or () if pair[0] != history]
        own = next((pair[1] for pair in state or () if pair[0] == history), None)
        readings, after = _measure(code_pattern, event, code_pattern.start if own is None else own[0])
        return readings, (*rest, (history, after))[-MAX_HISTORIES:]

    return together


def _measure(code_pattern: CodePattern, event: Event, state: State) -> tuple[Mapping[str, Any], State]:
    """The readings of the three signals, and the state in a tuple: the state itself may be None."""
    name, signal = code_pattern.name, code_pattern.signal
    try:
        match, after = code_pattern.step(event, state)
    except EthogramError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise EthogramError(f"pattern {name!r} failed at event {event.id!r:.80}: {text:.200}") from error
    readings: dict[str, Any] = {signal: 0.0}
    if match is not None:
        shown = {row[ID] for row in after} if code_pattern.keeps_events else None
        if message := _match_fault(code_pattern, match, event, shown):
            raise EthogramError(f"pattern {name!r} at event {event.id!r:.80}: {message}")
        severities = code_pattern.severities
        readings[signal] = float(match.confidence)
        readings[f"{signal}_severity"] = float(severities.index(match.severity or severities[0]))
        try:
            readings[f"{signal}_report"] = match_text(match, code_pattern.needs)
        except TypeError as error:
            message = f"pattern {name!r} at event {event.id!r:.80}: details: {error}"
            raise EthogramError(message) from None
    return readings, (after if code_pattern.keeps_events else checked_state(name, after, event),)


def _match_fault(code_pattern: CodePattern, match: Any, event: Event, shown: Collection[str] | None) -> str:
    """What is wrong with a match, '' for nothing. `shown` are the ids of the events it saw, where known."""
    if not isinstance(match, Match):
        return f"expected a Match or None, not {match!r:.80}"
    confidence = match.confidence
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 < confidence <= 1:
        return f"confidence is above 0 and at most 1, not {confidence!r:.40}; None for no match"
    if match.severity is not None and match.severity not in code_pattern.severities:
        listed = ", ".join(code_pattern.severities)
        return f"severity {match.severity!r:.40} is none of its severities, {listed}"
    details: Any = match.details
    explanation: Any = match.explanation
    if not isinstance(details, Mapping) or not isinstance(explanation, str):
        return "details is a dict, and explanation a text"
    evidence: Sequence[Any] = match.evidence
    for item in evidence:
        if not isinstance(item, Event):
            return "evidence is events"
        if shown is not None:
            fault = "" if item.id in shown else "is none of the events it was shown"
        elif any(
            attribute(item, name) != attribute(event, name) for name in ("source", *code_pattern.group_by)
        ):
            fault = "is of another history"
        else:
            fault = "is later than that event" if item.at > event.at else ""
        if fault:
            return f"evidence {item.id!r:.80} {fault}"
    return ""
