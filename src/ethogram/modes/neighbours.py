"""Spread in a sweep: it joins detections of several subjects, so it runs over what is kept of a source."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..detections.combine import SEEN, combine, parts_meant
from ..detections.find import by_depth
from ..detections.spread import Contacts, contacts, spread
from ..records import Detection, micros
from ..shapes.program import Program
from ..shapes.tree import Spread
from ..stores.protocol import Held
from .compare import compare

if TYPE_CHECKING:
    from .sweep import Looking


PENDING = "sweep: sources"


def reaches_others(program: Program, programs: Sequence[Program]) -> bool:
    """Whether a program joins detections of several subjects, by itself or through a part."""
    if isinstance(program.body, Spread):
        return True
    parts = [one for one in programs if one.name != program.name and parts_meant(program.parts, one.name)]
    return any(reaches_others(one, programs) for one in parts)


def sweep_neighbours(
    looking: Looking, touched: Iterable[str], lock: Held, clock: Callable[[], datetime]
) -> None:
    """Write what became of spreads, and of what is made of them, in each source where something changed."""
    programs = [one for one in by_depth(looking.programs) if reaches_others(one, looking.programs)]
    if not programs:
        return
    sources = looking.store.sources()
    for source in sorted({*touched, *_ending(looking, programs)} & sources.keys()):
        seen: list[Detection] | None = None
        for program in programs:
            if program.timed_only and not sources[source].timed:
                continue
            if seen is None:
                seen = _seen(looking, programs, source)
            found = _found(looking, program, seen, source)
            kept = looking.store.detections(sources=[source], patterns=[program.name])
            changes = list(compare(kept, found, [program], looking.store.purged_before()))
            if changes:
                looking.keep(changes, (), lock, clock())
            seen = [one for one in seen if one.pattern != program.name] + found


def begun(looking: Looking, touched: set[str], at: datetime) -> set[str]:
    """Sources whose spreads are to be looked at: of this sweep, and of one killed before it could."""
    known = looking.store.load_state(PENDING, looking.selection)
    sources = touched | set(json.loads(known or b"[]"))
    if sources != set(json.loads(known or b"[]")):
        looking.store.save_state(PENDING, looking.selection, json.dumps(sorted(sources)).encode(), at)
    return sources


def ended(looking: Looking, at: datetime) -> None:
    """Forget what was begun: it is done."""
    if looking.store.load_state(PENDING, looking.selection) is not None:
        looking.store.save_state(PENDING, looking.selection, None, at)


def _seen(looking: Looking, programs: Sequence[Program], source: str) -> list[Detection]:
    wanted = [one.name for one in looking.programs if any(parts_meant(by.parts, one.name) for by in programs)]
    return looking.store.detections(sources=[source], patterns=wanted, states=SEEN)


def _found(looking: Looking, program: Program, seen: Sequence[Detection], source: str) -> list[Detection]:
    parts = [one for one in seen if parts_meant(program.parts, one.pattern)]
    if not isinstance(program.body, Spread):
        return combine(program, parts)
    starts = {one.subject for one in parts if parts_meant((program.body.first,), one.pattern)}
    ends = {one.subject for one in parts if parts_meant((program.body.then,), one.pattern)}
    if not starts or (not ends - starts and len(starts) < 2):
        return []
    return spread(program, parts, _met(looking, source, starts | ends), looking.as_of)


def _met(looking: Looking, source: str, subjects: Iterable[str]) -> Contacts:
    """When these subjects met. An event between two of them is one of theirs, so no other need be read."""
    whose = [(source, name) for name in sorted(subjects)]
    events = looking.store.events(whose, until=looking.as_of)
    return contacts(sorted(events, key=lambda event: event.order))


def _ending(looking: Looking, programs: Sequence[Program]) -> set[str]:
    """Sources with an open spread whose time is over."""
    limits = {one.name: one.body.within for one in programs if isinstance(one.body, Spread)}
    opened = looking.store.detections(patterns=limits, states=["opened"])
    now = micros(looking.as_of)
    return {
        one.source
        for one in opened
        if one.evidence and now > micros(one.evidence[0].at) + limits[one.pattern]
    }
