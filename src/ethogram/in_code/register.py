"""Patterns in code: registering one, for what a pattern file cannot say.

A function sees the newest events of one history, the present one last::

    @ethogram.pattern("ping_pong", title="Two files in turn", window=6, fires=[...], quiet=[...])
    def ping_pong(events: Sequence[Event]) -> Match | None:
        "The same two files are changed in turn, three times."

An object with `start` and `step` carries a state of its own, plain JSON data::

    class Streak:
        "Ten failures in a row."
        start = 0
        def step(self, event: Event, state: int) -> tuple[Match | None, int]: ...

    ethogram.register(Streak(), "streak", title="A streak of failures", fires=[...], quiet=[...])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .. import registry
from ..errors import EthogramError
from ..library.in_code import CodePattern, State
from ..records import Event
from ..signals import Options, Signal
from .checks import built, matched
from .given import Given
from .state import MOST_STATE, moved, told_text
from .window import NAME

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
    and `quiet` (examples: (story, events) or (story, events, at) or a dict with story, events, at and level;
    at least one that fires and two that stay quiet), `level` or `levels`, `history`, `window` (of a function:
    how many events it sees), `needs` (signals whose readings it looks at), `kinds` (of events it is about),
    `version`, `status`, `cause`, `confirms`, `recommendation`, `triage`, `false_positives`, `misses`, `tags`,
    `references`. All that is wrong is in one BadUsage.
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
        "scope": SCOPES.get(one.history, "subject"),
        "start": None,
        "max_state_bytes": MOST_STATE,
        "kinds": None if one.kinds is None else frozenset(one.kinds),
        "keeps": one.signal,
        "together": together,
    }
    made = [
        Signal(one.signal, f"How sure the pattern {one.name} is, in code.", (0, 1), **common),
        Signal(f"{one.signal}_level", f"How grave the pattern {one.name} is, in code.", (0, 3), **common),
        Signal(f"{one.signal}_told", f"What the pattern {one.name} tells, in code.", None, **common),
    ]
    for signal in made:
        # As functools.wraps does: what is not ours is not known to a process of ours.
        vars(signal).update(__module__=one.module, __qualname__=one.qualname)
    return made


def _together(one: CodePattern) -> Callable[[Event, State, Options], tuple[Mapping[str, Any], State]]:
    by_key = one.history not in SCOPES
    others = [name for name in one.history if name != "subject"]

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
        values[f"{one.signal}_level"] = float(one.levels.index(match.level or one.levels[0]))
        try:
            values[f"{one.signal}_told"] = told_text(match, one.needs)
        except TypeError as error:
            raise EthogramError(f"pattern {one.name!r} at event {event.id!r:.80}: details: {error}") from None
    return values, (after if one.keeps_events else moved(one.name, after, event),)
