"""Examples of a pattern in code: histories that it must find something in, and such that it must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..library.examples import Example
from ..records import Event
from .given import Given, is_listed

EXAMPLE = ("story", "events", "at", "level", "as_of")


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
            elif key == "quiet" and (told.get("at") or told.get("level")):
                yield f"quiet, example {number}: has no at or level"
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
                level=told.get("level"),
                as_of=told.get("as_of"),
                line=line,
                column=number,
            )
