"""Check a pattern on a history with both engines and a watch; AssertionError with the reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..app.analyze import analyze
from ..app.live.watch import Watch
from ..app.pattern_tests import run_examples
from ..config import Settings
from ..models import Detection, Event
from ..patterns.code_patterns import CodePattern, code_patterns
from ..patterns.examples import Example
from ..patterns.library import Library, select
from .events import numbered
from .scenarios import history

Named = str | Path | CodePattern | Any
"""A pattern: its name, its file, or the function or object that is registered as one."""
Events = str | Sequence[Event]
"""A history: events, or the name of a scenario."""


def assert_fires(
    pattern: Named, events: Events, *, at: int | None = None, severity: str | None = None
) -> Detection:
    """The first detection of a pattern; AssertionError where there is none, or not as stated.

    `at` is the position of the event it fires at, from 1, `severity` what it reaches. Both engines and a
    watch that is saved and loaded half-way must find the same.
    """
    return _checked(pattern, events, Example("the history", True, (), at, severity))[0]


def assert_quiet(pattern: Named, events: Events) -> None:
    """Nothing; AssertionError where the pattern finds something, by either engine or a watch."""
    _checked(pattern, events, Example("the history", False, ()))


def confidence(pattern: Named, events: Events) -> float:
    """The highest confidence of a pattern in a history; 0.0 where it finds nothing."""
    return max((detection.confidence for detection in detections(pattern, events)), default=0.0)


def detections(pattern: Named, events: Events) -> list[Detection]:
    """All that a pattern finds in a history, its own parts and others left out."""
    library = _library(pattern)
    return analyze(_events(events), patterns=library, settings=Settings()).every


def _checked(pattern: Named, events: Events, stated: Example) -> list[Detection]:
    library, own = _library(pattern), _events(events)
    (name,) = library.chosen
    example = replace(stated, events=tuple(own))
    file = replace(library.files[name], examples=(example,))
    for result in run_examples(replace(library, files={**library.files, name: file})):
        if not result.ok:
            raise AssertionError(str(result.fault))
    every = analyze(own, patterns=library, settings=Settings()).every
    live = _live(library, own)
    if [item.to_dict() for item in live] != [item.to_dict() for item in every]:
        raise AssertionError(f"{name}: live {_brief(live)}, but over the whole history {_brief(every)}")
    return every


def _library(pattern: Named) -> Library:
    if isinstance(pattern, (str, Path)):
        library = select([pattern])
        if len(library) != 1:
            raise AssertionError(
                f"{pattern} is {len(library)} patterns; name one of {', '.join(library.chosen)}"
            )
        return library
    names = [name for name, item in code_patterns().items() if _is(item, pattern)]
    if len(names) != 1:
        how = "name the one meant" if names else "register this very object, or name the one meant"
        raise AssertionError(f"{pattern!r:.120} is registered as {', '.join(names) or 'no pattern'}; {how}")
    return select(names)


def _is(code_pattern: CodePattern, value: Any) -> bool:
    """Whether a pattern in code is made of this very function or object, or of a class that was decorated."""
    return (
        value is code_pattern
        or value is code_pattern.made
        or (isinstance(value, type) and type(code_pattern.made) is value)
    )


def _events(events: Events) -> list[Event]:
    return history(events) if isinstance(events, str) else numbered(events)


def _live(library: Library, events: Sequence[Event]) -> list[Detection]:
    """The detections of a watch that is saved and loaded half-way, in their newest state."""
    record: dict[str, Detection] = {}
    watch = Watch(library, settings=Settings())
    for place, event in enumerate(sorted(events, key=lambda event: event.order)):
        if place == len(events) // 2:
            watch = Watch.load(json.loads(json.dumps(watch.save())), library, settings=Settings())
        _note(record, watch, watch.observe(event))
    _note(record, watch, watch.flush())
    record |= {item.id: item for item in watch.open()}
    return sorted(record.values(), key=lambda item: item.order)


def _note(record: dict[str, Detection], watch: Watch, new: Sequence[Detection]) -> None:
    record |= {item.id: item for item in (*new, *watch.kept)}


def _brief(result: Sequence[Detection]) -> str:
    return ", ".join(f"{item.pattern} {item.severity} at {item.fired_event}" for item in result) or "nothing"
