"""How far a pattern got in a history where it stayed quiet: what to change in it, or in its example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..detections.combine import parts_meant
from ..detections.find import Found
from ..records import Event
from ..shapes.evaluate import NO_CHAIN, reader
from ..shapes.history import CAP, History, histories
from ..shapes.match import Matcher
from ..shapes.program import LevelProgram, Place, Program, SequenceProgram

Positions = Mapping[tuple[str, str], int]
"""(source, id) of an event to its position, as a person counts them."""


def how_far(program: Program, events: Sequence[Event], found: Found, positions: Positions) -> str:
    """In a few words, what was lacking for the program to fire."""
    lacking = [one for one in found.insufficient if one.program.name == program.name]
    checked = found.checked.get(program.name, 0)
    if lacking and len(lacking) >= checked:
        return lacking[0].reason
    if program.is_combination:
        return _parts_seen(program, found)
    if not checked:
        key = ", ".join(program.history)
        return f"no event has a reading that its shape names and all of its history: [{key}]"
    match program.body:
        case SequenceProgram() as body:
            return _steps_met(program, body, events, positions)
        case LevelProgram() as body:
            return _truth(program, body, events)
        case _:
            return "no pause was longer than longer_than"


def _parts_seen(program: Program, found: Found) -> str:
    seen = {part for one in found.detections for part in parts_meant(program.parts, one.pattern)}
    missing = [part for part in program.parts if part not in seen]
    if missing:
        return f"nothing was detected of {', '.join(missing)}"
    return "all its parts were detected, but not together as the shape asks"


def _steps_met(program: Program, body: SequenceProgram, events: Sequence[Event], positions: Positions) -> str:
    reached, at = max(_standing(body, history, positions) for history in histories(program, events))
    if reached < 0:
        return f"step {body.places[0].step!r} was not met at any event"
    if reached == len(body.places) - 1:
        return f"all steps stood at event {at}, but not within its limits"
    return _stuck(body.places, reached, at)


def _standing(body: SequenceProgram, history: History, positions: Positions) -> tuple[int, int]:
    """The last place that ever stood, -1 for none, and the latest event at which it did."""
    matcher = Matcher(body, history, CAP)
    for _ in matcher.firings():
        pass
    for place in reversed(range(len(body.places))):
        latest = matcher.latest[place]
        if latest is not None:
            event = history.events[latest]
            return place, positions[(event.source, event.id)]
    return -1, 0


def _stuck(places: Sequence[Place], reached: int, at: int) -> str:
    step, following = places[reached].step, places[reached + 1].step
    if step == following:
        done = sum(place.step == step for place in places[: reached + 1])
        return f"step {step!r} got to {done} of {sum(place.step == step for place in places)}, at event {at}"
    return f"step {step!r} stood last at event {at}, and step {following!r} did not follow as it must"


def _truth(program: Program, body: LevelProgram, events: Sequence[Event]) -> str:
    when = reader(body.when, CAP)
    truths = [
        when(history, at, NO_CHAIN)
        for history in histories(program, events)
        for at in range(len(history.events))
    ]
    if True in truths:
        return "its condition was true, but only where it clears too"
    return f"its condition was never true (false: {truths.count(False)}, unknown: {truths.count(None)})"
