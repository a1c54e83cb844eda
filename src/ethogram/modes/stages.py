"""Stages: how far a sequence has come in a history and could still go on from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..records import Event, Value, format_time, micros
from ..shapes.history import CAP, History, histories
from ..shapes.match import Matcher
from ..shapes.program import Program, SequenceProgram
from ..shapes.tree import Duration, Events, Limits


@dataclass(frozen=True, slots=True)
class Stage:
    """A sequence under way: so many of its steps were reached, the last at `at`, the first at `since`.

    A step that must be met three times counts as three. `next` is the step it waits for.
    """

    pattern: str
    title: str
    history: Mapping[str, Value]
    reached: int
    steps: int
    step: str
    next: str
    since: datetime
    at: datetime
    event: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "pattern": self.pattern,
            "title": self.title,
            "history": dict(self.history),
            "reached": self.reached,
            "steps": self.steps,
            "step": self.step,
            "next": self.next,
            "since": format_time(self.since),
            "at": format_time(self.at),
            "event": self.event,
        }


def stages(programs: Sequence[Program], events: Sequence[Event], as_of: datetime) -> Iterator[Stage]:
    """Every sequence that has begun and could still be completed, the furthest of each history."""
    for program in programs:
        if not isinstance(program.body, SequenceProgram):
            continue
        for history in histories(program, events):
            if program.timed_only and not history.timed:
                continue
            found = _stage(program, program.body, history, micros(as_of))
            if found is not None:
                yield found


def _stage(program: Program, body: SequenceProgram, history: History, now: int) -> Stage | None:
    matcher = Matcher(body, history, CAP)
    for _ in matcher.firings():
        pass
    for place in reversed(range(len(body.places) - 1)):
        latest = matcher.latest[place]
        if latest is None:
            continue
        positions = matcher.positions(place, latest)
        if positions[0] > matcher.last_fired and _goes_on(matcher, place, positions, now):
            return Stage(
                pattern=program.name,
                title=program.title,
                history=dict(zip(program.history, history.key, strict=True)),
                reached=place + 1,
                steps=len(body.places),
                step=body.places[place].step,
                next=body.places[place + 1].step,
                since=history.events[positions[0]].at,
                at=history.events[latest].at,
                event=history.events[latest].id,
            )
    return None


def _goes_on(matcher: Matcher, place: int, positions: list[int], now: int) -> bool:
    """Whether an event that came now could be the next place."""
    history, following = matcher.history, matcher.body.places[place + 1]
    latest, coming = positions[-1], len(matcher.history.events)
    if following.gaps is not None and coming - latest - 1 > following.gaps:
        return False
    if matcher.last_never[place + 1] > latest or not _holds(history, following.soon, latest, coming, now, 0):
        return False
    return _holds(history, matcher.body.within, positions[0], coming, now, 1)


def _holds(history: History, limits: Limits, start: int, coming: int, now: int, ends: int) -> bool:
    for limit in limits:
        if isinstance(limit, Events) and coming - start + ends > limit.n:
            return False
        if isinstance(limit, Duration) and history.timed and now - history.times[start] > limit.us:
            return False
    return True
