"""Run programs over events, whole or in parts, then combinations and spread over their detections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..ingest.batch import EventCollection, EventSequence, sequence_of
from ..language.ast import Spread
from ..language.history import CAP, FIELDS, key_of
from ..language.program import Program
from ..models import Detection, Event, Value, micros
from ..models.slotted import dataclass
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


Keys = Counter[tuple[str, tuple[Value, ...]]]
"""How many events each source and key of a combination has."""
Note = tuple[int, int, str, Sequence[Any], Sequence[int]]
"""Histories that cannot be judged: the number of their program, then as in Unjudged."""


@dataclass(frozen=True, slots=True)
class Part:
    """The result for one part of the events. Programs are given by number, to keep it small."""

    detections: list[Detection]
    notes: list[Note]
    checked: dict[str, int]
    untimed: frozenset[str]


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
    events, whole = sequence_of(events), Whole(programs, as_of)
    whole.add(find_part(programs, events, as_of=as_of, cap=cap, engine=engine))
    return whole.result(events)


def find_part(
    programs: Sequence[Program],
    events: EventSequence,
    *,
    as_of: datetime,
    cap: int = CAP,
    engine: str | None = None,
) -> Part:
    """Detect within one part of the events, in which all events of a subject are, and so every history."""
    if events:
        engine = engine or ("columns" if len(events) >= MANY_EVENTS else "live")
        outcome = ENGINES[engine](programs, events, as_of=micros(as_of), cap=cap)
    else:
        outcome = Outcome(checked={program.name: 0 for program in programs if not program.is_combination})
    untimed = frozenset(events.untimed_sources())
    keys = {item.name: keys_of(item, events) for item in programs if item.is_combination}
    without = {
        item.name: keys_of(item, events, untimed_only=True)
        for item in programs
        if untimed and item.is_combination and item.timed_only
    }
    return _part_of(programs, outcome, keys, without, untimed)


def _part_of(
    programs: Sequence[Program],
    outcome: Outcome,
    keys: Mapping[str, Keys],
    without: Mapping[str, Keys],
    untimed: frozenset[str],
) -> Part:
    """The part of an outcome; `keys` are those of combinations, `without` those of them without times."""
    here = [detection_of(match) for match in outcome.matches]
    ordered = by_depth(programs)
    beyond = across(ordered)
    for program in ordered:
        outcome.checked[program.name] = len(keys[program.name])
        if own := without.get(program.name):
            # Durations have no meaning in sources without times.
            outcome.unjudged.append(Unjudged(program, 0, NO_TIMES, list(own), list(own.values())))
        if program not in beyond:
            here += combine(program, _seen(program, here, untimed))
    number = {program.name: place for place, program in enumerate(programs)}
    notes = [(number[group.program.name], *group[1:]) for group in outcome.unjudged]
    return Part(here, notes, outcome.checked, untimed)


class LongPart:
    """A part whose events come in pieces, one after the other, and are not kept: a history of any length."""

    def __init__(self, programs: Sequence[Program], as_of: datetime, cap: int = CAP) -> None:
        from .live.engine import Feed

        self._programs, self._as_of, self._feed = programs, micros(as_of), Feed(programs, cap)
        self._keys: dict[str, Keys] = {item.name: Counter() for item in programs if item.is_combination}
        self._without: dict[str, Keys] = {}
        self._untimed: set[str] = set()

    def add(self, events: EventSequence) -> None:
        """Add the next events, in order and not after the moment."""
        self._feed.add(events)
        untimed = events.untimed_sources()
        self._untimed |= untimed
        for program in self._programs:
            if program.is_combination:
                self._keys[program.name] += keys_of(program, events)
                if untimed and program.timed_only:
                    without = self._without.setdefault(program.name, Counter())
                    without += keys_of(program, events, untimed_only=True)

    def result(self) -> Part:
        """The same part as `find_part` gives for all events at once."""
        outcome = self._feed.outcome(self._as_of)
        return _part_of(self._programs, outcome, self._keys, self._without, frozenset(self._untimed))


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


def keys_of(program: Program, events: EventSequence, *, untimed_only: bool = False) -> Keys:
    """How many events each source and key of a combination has."""
    if set(program.group_by) <= set(FIELDS) - {"target"}:
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


def across(programs: Sequence[Program]) -> list[Program]:
    """The combinations that span subjects: spread, and combinations with a spread as a part."""
    result: list[Program] = []
    for program in programs:
        beyond = any(parts_meant(program.parts, other.name) for other in result)
        if isinstance(program.body, Spread) or beyond:
            result.append(program)
    return result
