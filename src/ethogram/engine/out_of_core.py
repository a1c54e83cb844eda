"""Detect over events in parts: within each part, then across parts.

All events of a subject are in one part, and so is every history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..ingest.batch import EventCollection, EventSequence
from ..language.ast import Spread
from ..language.history import CAP
from ..language.program import Program
from ..models import Detection
from .combination import combine, parts_meant
from .contagion import contacts, spread
from .detect import SearchResult, by_depth, keys_of, search_events, without_times
from .match import InsufficientHistories, Unjudged

Note = tuple[int, int, str, Sequence[Any], Sequence[int]]
"""Histories that cannot be judged: the number of their program, then as in Unjudged."""


@dataclass(frozen=True, slots=True)
class Part:
    """The result for one part of the events. Programs are given by number, to keep it small."""

    detections: list[Detection]
    notes: list[Note]
    checked: dict[str, int]
    untimed: frozenset[str]


def find_part(
    programs: Sequence[Program],
    events: EventSequence,
    *,
    as_of: datetime,
    cap: int = CAP,
) -> Part:
    """Detect within one part, whose events are in order and not after `as_of`."""
    outcome, here = search_events(programs, events, as_of=as_of, cap=cap)
    checked = outcome.checked
    untimed = frozenset(events.untimed_sources())
    ordered = by_depth(programs)
    beyond = across(ordered)
    for program in ordered:
        checked[program.name] = len(keys_of(program, events))
        if untimed and program.timed_only:
            outcome.unjudged.append(without_times(program, events))
        if program not in beyond:
            here += combine(program, _seen(program, here, untimed))
    number = {program.name: place for place, program in enumerate(programs)}
    notes = [(number[group.program.name], *group[1:]) for group in outcome.unjudged]
    return Part(here, notes, checked, untimed)


def _seen(
    program: Program, detections: Iterable[Detection], untimed: frozenset[str] | set[str]
) -> list[Detection]:
    """The detections a combination sees."""
    out = untimed if program.timed_only else frozenset()
    return [
        detection
        for detection in detections
        if parts_meant(program.parts, detection.pattern) and detection.source not in out
    ]


class Whole:
    """Joins the results of parts. Only detections and notes are stored."""

    def __init__(self, programs: Sequence[Program], as_of: datetime) -> None:
        self.programs, self.as_of = programs, as_of
        self.ordered = by_depth(programs)
        self.detections: list[Detection] = []
        self.notes: list[Note] = []
        self.checked: dict[str, int] = {}
        self.untimed: set[str] = set()

    def add(self, part: Part) -> None:
        """Add a part; the order does not matter."""
        self.detections += part.detections
        self.notes += part.notes
        self.untimed |= part.untimed
        for name, histories in part.checked.items():
            self.checked[name] = self.checked.get(name, 0) + histories

    def result(self, events: EventCollection) -> SearchResult:
        """The same result as `find`. `events` are all events in any order, readable more than once."""
        beyond = across(self.ordered)
        # The order must not depend on the order of parts.
        self.detections.sort(key=lambda detection: detection.order)
        met = contacts(events, self.detections, self.as_of) if beyond else {}
        for program in beyond:
            seen = _seen(program, self.detections, self.untimed)
            if isinstance(program.body, Spread):
                self.detections += spread(program, seen, met, self.as_of)
            else:
                self.detections += combine(program, seen)
        groups = [Unjudged(self.programs[note[0]], *note[1:]) for note in self.notes]
        names = [program.name for program in (*self.programs, *self.ordered) if program.name in self.checked]
        return SearchResult(
            self.detections, InsufficientHistories(groups), {name: self.checked[name] for name in names}
        )


def across(programs: Sequence[Program]) -> list[Program]:
    """The combinations that span subjects: spread, and combinations with a spread as a part."""
    result: list[Program] = []
    for program in programs:
        beyond = any(parts_meant(program.parts, other.name) for other in result)
        if isinstance(program.body, Spread) or beyond:
            result.append(program)
    return result
