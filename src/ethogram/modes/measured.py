"""Events with the readings of our own signals that programs look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from ..config import Settings
from ..records import Event
from ..shapes.program import Program
from ..signals import Measurer, Options, plan
from ..stores.bare import MARK, STEPS

Who = tuple[str, str]
"""Source and subject."""
NOT_KEPT = ", its text not kept"


def measured_events(
    events: list[Event], programs: Iterable[Program], settings: Settings
) -> tuple[list[Event], Mapping[tuple[str, str], int]]:
    """Events with the readings of every signal of ours that a program names, and why some are lacking."""
    measurer = measurer_of(programs, settings)
    if not measurer.signals:
        return events, {}
    return [measurer.measure(without_steps(event)) for event in events], measurer.unmeasured


def measurer_of(programs: Iterable[Program], settings: Settings) -> Measurer:
    """What measures every signal of ours that a program names."""
    options = Options.of(settings)
    return Measurer(needed(programs), options)


def needed(programs: Iterable[Program]) -> set[str]:
    """Names of everything the programs read."""
    return {name for program in programs for name in names_used(program)}


# Remembered, since every new conversation asks it of the same programs.
@lru_cache(maxsize=512)
def names_used(program: Program) -> frozenset[str]:
    """Signals a program reads anywhere, in its shape or in what a detection says."""
    from ..shapes.tree import Signal
    from ..shapes.walk import named

    said = (program.body, program.confidence, program.levels, program.details, program.explanation)
    return frozenset((*named(said, Signal), *program.history))


def looks_beyond_subjects(programs: Iterable[Program]) -> bool:
    """Whether a signal of ours that a program names depends on what others did or said."""
    return any(one.scope in ("thread", "text") for one in plan(needed(programs)))


def said_again(
    events: Iterable[Event], programs: Iterable[Program], settings: Settings, whose: Collection[Who]
) -> dict[tuple[str, str], Event]:
    """The events of some subjects with the readings about copies, which all events in order are needed for.

    Empty where no program names such a signal. Only events that have such readings are held.
    """
    names = [one.name for one in plan(needed(programs)) if one.scope == "text"]
    if not names:
        return {}
    options = Options.of(settings)
    measurer, out = Measurer(names, options), {}
    for event in events:
        found = measurer.measure(event)
        if found is not event and (event.source, event.subject) in whose:
            out[event.source, event.id] = found
    return out


def reads_text(program: Program) -> bool:
    """Whether a signal of ours that a program names compares or counts what was said."""
    return any(one.scope == "text" for one in plan(names_used(program)))


def reads_steps(program: Program) -> bool:
    """Whether a signal of ours that a program names reads the calls of a run and what they gave."""
    return any(one.kinds is not None and "result" in one.kinds for one in plan(names_used(program)))


def without_steps(event: Event) -> Event:
    """The event; a call or result whose texts were not kept has another kind, which no signal reads.

    Two commands without their words are not the same command, and would be taken for it.
    """
    if event.kind in STEPS and MARK in event.attributes:
        return replace(event, kind=f"{event.kind}{NOT_KEPT}")
    return event


def is_bare_step(event: Event) -> bool:
    """Whether an event is a call or result without its texts, and without readings that came with it."""
    return event.kind.endswith(NOT_KEPT) and not event.readings
