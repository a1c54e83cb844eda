"""Run programs over events, then combinations and spread over their detections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from ..ingest.batch import EventSequence, sequence_of
from ..language.ast import Spread
from ..language.history import CAP, FIELDS, key_of
from ..language.program import Program
from ..models import Detection, Event, Value, micros
from .combination import combine, parts_meant
from .contagion import contacts, spread
from .detections import detection_of
from .match import NO_TIMES, InsufficientHistories, Outcome, Unjudged


def run_columns(programs: Iterable[Program], events: Sequence[Event], *, as_of: int, cap: int) -> Outcome:
    """The columnar engine; NumPy is loaded only when it is used."""
    from .columns.run import run

    return run(programs, events, as_of=as_of, cap=cap)


def run_live(programs: Iterable[Program], events: Sequence[Event], *, as_of: int, cap: int) -> Outcome:
    """The live engine, fed with all events in order."""
    from .live.engine import run

    return run(programs, events, as_of=as_of, cap=cap)


ENGINES: dict[str, Callable[..., Outcome]] = {"columns": run_columns, "live": run_live}
"""Both take (programs, events, as_of=, cap=) and give the same outcome."""
MANY_EVENTS = 5_000
"""From so many events on, columns are faster even where NumPy is not loaded yet."""


class SearchResult:
    """Detections in output order, histories that could not be judged, and histories checked by program."""

    __slots__ = ("checked", "detections", "insufficient")

    def __init__(
        self, detections: list[Detection], insufficient: InsufficientHistories, checked: dict[str, int]
    ) -> None:
        self.detections = sorted(detections, key=lambda detection: detection.order)
        self.insufficient = insufficient
        self.checked = checked


def find(
    programs: Sequence[Program],
    events: Sequence[Event],
    *,
    as_of: datetime,
    cap: int = CAP,
    engine: str | None = None,
) -> SearchResult:
    """Run programs over events that are in order and not after `as_of`.

    By default the number of events decides the engine; results are the same.
    """
    events = sequence_of(events)
    outcome, detections = search_events(programs, events, as_of=as_of, cap=cap, engine=engine)
    met = None
    untimed = events.untimed_sources()
    for program in by_depth(programs):
        outcome.checked[program.name] = len(keys_of(program, events))
        seen = [detection for detection in detections if parts_meant(program.parts, detection.pattern)]
        if untimed and program.timed_only:
            seen = [item for item in seen if item.source not in untimed]
            outcome.unjudged.append(without_times(program, events))
        if isinstance(program.body, Spread):
            met = contacts(events, detections, as_of) if met is None else met
            detections += spread(program, seen, met, as_of)
        else:
            detections += combine(program, seen)
    return SearchResult(detections, outcome.insufficient, outcome.checked)


def search_events(
    programs: Sequence[Program],
    events: Sequence[Event],
    *,
    as_of: datetime,
    cap: int,
    engine: str | None = None,
) -> tuple[Outcome, list[Detection]]:
    """Detections over events, without combinations and spread."""
    if not events:
        return Outcome(checked={program.name: 0 for program in programs if not program.is_combination}), []
    engine = engine or ("columns" if len(events) >= MANY_EVENTS else "live")
    outcome = ENGINES[engine](programs, events, as_of=micros(as_of), cap=cap)
    return outcome, [detection_of(match) for match in outcome.matches]


def without_times(program: Program, events: EventSequence) -> Unjudged:
    """The keys of a combination in sources without times, where durations have no meaning."""
    counts = keys_of(program, events, untimed_only=True)
    return Unjudged(program, 0, NO_TIMES, list(counts), list(counts.values()))


def keys_of(
    program: Program, events: EventSequence, *, untimed_only: bool = False
) -> Counter[tuple[str, tuple[Value, ...]]]:
    """How many events each source and key of a combination has."""
    if set(program.group_by) <= set(FIELDS):
        counts = events.counts("source", "timed", *program.group_by)
    else:
        keyed = ((event, key_of(program, event)) for event in events)
        counts = Counter((event.source, event.timed, *key) for event, key in keyed if key is not None)
    keys: Counter[tuple[str, tuple[Value, ...]]] = Counter()
    for (source, timed, *key), count in counts.items():
        if None not in key and not (timed and untimed_only):
            keys[source, tuple(key)] += count
    return keys


def by_depth(programs: Iterable[Program]) -> list[Program]:
    """Combinations, each after its parts."""
    waiting = {program.name: program for program in programs if program.is_combination}
    ordered: list[Program] = []
    while waiting:
        ready = [
            item
            for item in waiting.values()
            if not any(parts_meant(item.parts, other) for other in waiting if other != item.name)
        ]
        ordered += ready or list(waiting.values())
        for item in ready or list(waiting.values()):
            waiting.pop(item.name, None)
    return ordered
