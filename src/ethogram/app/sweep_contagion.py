"""The last part of a sweep: spreads, and their combinations, from the saved detections of each source."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..engine.combination import combine, parts_meant
from ..engine.contagion import contacts_of, spread
from ..engine.detect import by_depth
from ..language.ast import Spread
from ..language.program import Program
from ..models import Detection, micros
from ..models.detection import STANDING
from ..store.records import Held, Who
from ..store.windows import Period, meetings

if TYPE_CHECKING:
    from .sweep import SweepJob

Names = set[str] | None
"""Subjects of a source; None: all."""


def reaches_others(program: Program, programs: Sequence[Program]) -> bool:
    """Whether a program joins detections of several subjects, by itself or through a part."""
    if isinstance(program.body, Spread):
        return True
    parts = [item for item in programs if item.name != program.name and parts_meant(program.parts, item.name)]
    return any(reaches_others(part, programs) for part in parts)


def sweep_contagion(
    job: SweepJob, changed: Mapping[str, Names], lock: Held, clock: Callable[[], datetime]
) -> None:
    """Save the changes of spreads, and of their combinations, by the subjects of each source that changed.

    Spreads that no changed subject can be a part of are left alone, unless their time is over.
    """
    programs = [item for item in by_depth(job.programs) if reaches_others(item, job.programs)]
    if not programs:
        return
    store, sources = job.store, job.store.sources()
    limits = {program.name: program.body.within for program in programs if isinstance(program.body, Spread)}
    ending: dict[str, set[str]] = {}
    for item in store.detections(patterns=limits, states=["opened"]):
        if item.evidence and micros(job.as_of) > micros(item.evidence[0].at) + limits[item.pattern]:
            ending.setdefault(item.source, set()).add(item.subject)
    used = [item.name for item in job.programs if any(parts_meant(by.parts, item.name) for by in programs)]
    for source in sorted({*changed, *ending} & sources.keys()):
        names = changed.get(source, set())
        names = None if names is None else names | ending.get(source, set())
        own = [program for program in programs if sources[source].timed or not program.timed_only]
        seen = store.detections(sources=[source], patterns=used, states=STANDING) if own else []
        for program in own:
            saved = store.detections(sources=[source], patterns=[program.name])
            parts = [item for item in seen if parts_meant(program.parts, item.pattern)]
            whose: Names = None
            if isinstance(program.body, Spread):
                whose = _starters(program.body, parts, saved, names)
                detections = _spread(job, program, program.body, parts, whose)
            else:
                detections = combine(program, parts)
            before = [item for item in saved if whose is None or item.subject in whose]
            if changes := job.compare(before, detections, [program]):
                job.save(changes, (), lock, clock())
                if names is not None:
                    names = names | {item.detection.subject for _, item in changes}
            detections += [
                item
                for item in saved
                if whose is not None and item.subject not in whose and item.state in STANDING
            ]
            seen = [item for item in seen if item.pattern != program.name] + detections


def _ends(body: Spread, parts: Iterable[Detection]) -> list[Detection]:
    return [part for part in parts if parts_meant((body.then,), part.pattern)]


def _starts(body: Spread, parts: Iterable[Detection]) -> list[Detection]:
    return [part for part in parts if parts_meant((body.first,), part.pattern)]


def _starters(
    body: Spread, parts: Sequence[Detection], saved: Iterable[Detection], changed: Names
) -> set[str]:
    """The subjects whose spreads may be others, now that some have changed."""
    standing = [item for item in saved if item.state in STANDING]
    starts = _starts(body, parts)
    if changed is None:
        return {item.subject for item in (*starts, *standing)}
    same = {part.id for part in parts if part.subject not in changed}
    times = sorted(micros(end.detected_at) for end in _ends(body, parts) if end.subject in changed)

    def may_reach(start: Detection) -> bool:
        at = micros(start.detected_at)
        return bisect_right(times, at) < bisect_right(times, at + body.within)

    whose = changed | {item.subject for item in standing if not same.issuperset(item.parts)}
    return whose | {start.subject for start in starts if may_reach(start)}


def _spread(
    job: SweepJob, program: Program, body: Spread, parts: Sequence[Detection], whose: set[str]
) -> list[Detection]:
    """The spreads that begin with some subjects."""
    starts, ends = [part for part in _starts(body, parts) if part.subject in whose], _ends(body, parts)
    periods = _periods(starts, ends, body.within)
    if not periods:
        return []
    met = contacts_of(meetings(job.store, periods, job.as_of), periods.keys())
    own = list({part.id: part for part in (*starts, *ends)}.values())
    return [item for item in spread(program, own, met, job.as_of) if item.subject in whose]


def _periods(starts: Iterable[Detection], ends: Iterable[Detection], within: int) -> dict[Who, list[Period]]:
    """When a contact of each subject may matter: after a start, before an end that comes in time."""
    begun = sorted(micros(start.detected_at) for start in starts)
    ended = sorted(micros(end.detected_at) for end in ends)
    periods: dict[Who, list[Period]] = {}
    for start in starts:
        at = micros(start.detected_at)
        if bisect_right(ended, at) < (last := bisect_right(ended, at + within)):
            periods.setdefault((start.source, start.subject), []).append((at, ended[last - 1]))
    for end in ends:
        at = micros(end.detected_at)
        if (first := bisect_left(begun, at - within)) < bisect_left(begun, at):
            periods.setdefault((end.source, end.subject), []).append((begun[first], at))
    return {who: _merged(some) for who, some in periods.items()}


def _merged(periods: Iterable[Period]) -> list[Period]:
    merged: list[Period] = []
    for low, high in sorted(periods):
        if merged and low <= merged[-1][1]:
            low, high = merged[-1][0], max(high, merged.pop()[1])
        merged.append((low, high))
    return merged
