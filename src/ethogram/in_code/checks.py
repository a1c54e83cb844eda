"""What is asked of a pattern in code when it is registered, and of every match it gives."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..errors import BadUsage, EthogramError, Fault, did_you_mean
from ..library.in_code import CodePattern, Match
from ..records import LEVELS, Event, rank
from ..shapes.parse import HISTORY_FIELDS, STATUSES
from .examples import examples_of, faults_of_examples
from .given import Given, is_listed
from .state import frozen
from .window import Window

MOST_WINDOW = 256
WINDOW = 50
TEXTS = ("title", "description", "cause", "recommendation", "triage", "author")
LISTS = ("false_positives", "misses", "references", "tags", "confirms", "needs")
KEYS = (
    *TEXTS, *LISTS, "fires", "quiet", "level", "levels", "history", "window", "kinds", "version", "status",
)  # fmt: skip
WORDS = ("recommendation", "triage", "author", "false_positives", "misses", "references", "tags")
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
        levels=_levels(given),
        history=("subject", *(one for one in given.get("history", ()) if one != "subject")),
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
    if match.level is not None and match.level not in one.levels:
        raise EthogramError(
            f"{where}: level {match.level!r:.40} is none of its levels, {', '.join(one.levels)}"
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
    if each.source != event.source or any(getattr(each, n) != getattr(event, n) for n in one.history):
        return "is of another history"
    return "is later than that event" if each.at > event.at else ""


def _description(given: Given) -> str:
    made = given.made if hasattr(given.made, "__code__") else type(given.made)
    return given.get("description") or inspect.cleandoc(made.__doc__ or "")


def _levels(given: Given) -> tuple[str, ...]:
    levels = given.get("levels") or (given.get("level", "medium"),)
    return tuple(sorted(levels, key=rank))


def _faults(given: Given) -> Iterator[str]:
    for key in given.said:
        if key not in KEYS:
            yield f"unknown argument {key!r:.60}{did_you_mean(key, KEYS)}"
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
    levels = given.get("levels") or (given.get("level", "medium"),)
    if not is_listed(levels) or not levels or any(one not in LEVELS for one in levels):
        yield f"level is one of {', '.join(LEVELS)}, and levels some of them; not {levels!r:.60}"
    history = given.get("history", ())
    if not is_listed(history) or any(one not in HISTORY_FIELDS for one in history):
        yield f"history is some of {', '.join(HISTORY_FIELDS)}, not {history!r:.60}"
    version = given.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        yield f"version counts from 1, not {version!r:.40}"
    status = given.get("status", "stable")
    if status not in STATUSES:
        yield f"status is one of {', '.join(STATUSES)}, not {status!r:.40}"
    kinds = given.get("kinds")
    if kinds is not None and not (is_listed(kinds) and all(isinstance(one, str) for one in kinds)):
        yield "kinds is a list of kinds of events, such as ['action']"
