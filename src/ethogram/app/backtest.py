"""Backtest: what patterns would have found in stored history."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ..config import Settings
from ..engine.detect import find
from ..errors import BadPattern, BadUsage, Fault, did_you_mean
from ..fields import Count, Name, Ratio, RecordStruct
from ..ingest import Batch, OnDisk
from ..language.history import belongs, key_of
from ..language.program import Program
from ..models import Detection, Event
from ..models.detection import STANDING
from ..models.record import Record
from ..models.redaction import excerpt
from ..patterns.catalogue import load_vocabulary
from ..patterns.library import Library, load_patterns, places_of
from ..risk.backtest import Backtest, Fields, backtest, common_fields, events_of, histories_of
from ..signals import plan
from ..store.protocol import Store, SubjectRow, Who
from .analyze import analyze_gathered
from .mute import evidence_events
from .readings import measured_events, needed, only_scorers, said_again
from .result import Analysis
from .stored_events import IN_MEMORY
from .sweep import chunk_events, chunks, look, reaches_others

# Histories of a backtest: how many there are to look at, as each pattern tells them apart.


def counted(store: Store, programs: Collection[Program]) -> tuple[int, dict[str, int]]:
    """How many events there are, and how many histories each program has among them."""
    keys: dict[str, set[object]] = {program.name: set() for program in programs}
    events = 0
    for event in store.events(ordered=False):
        events += 1
        for program in programs:
            if (key := key_of(program, event)) is not None:
                keys[program.name].add((event.source, key))
    return events, {name: len(every) for name, every in keys.items()}


def lacking_fields(program: Program, events: Iterable[Event]) -> tuple[str, ...]:
    """What a pattern's histories are told apart by and no event has."""
    left = set(program.group_by)
    for event in events:
        left -= {name for name in left if key_of(replace(program, group_by=(name,)), event) is not None}
        if not left:
            break
    return tuple(name for name in program.group_by if name in left)


def wider_histories(
    program: Program, own: Sequence[Detection], others: Iterable[Detection], events: Iterable[Event]
) -> dict[Fields, int]:
    """How many the histories of a pattern are by fewer fields: those that it shares with other patterns."""
    if not own:
        return {}
    one_of_each = {(other.pattern, *sorted(other.history)): other for other in others}
    asked = {common_fields(own[:1], [other]) for other in one_of_each.values()} - {common_fields(own, own)}
    asked.discard(())
    if not asked:
        return {}
    every: dict[Fields, set[object]] = {fields: set() for fields in asked}
    read: dict[Fields, set[object]] = {fields: set() for fields in asked}
    for event in events:
        if (key := key_of(program, event)) is None:
            continue
        values = dict(zip(program.group_by, key, strict=True))
        for fields in asked:
            history = (event.source, *(values[name] for name in fields))
            every[fields].add(history)
            if belongs(program, event):
                read[fields].add(history)
    # Readings of our own are not on the events yet: then all histories with the fields are taken.
    return {fields: len(read[fields] or every[fields]) for fields in asked}


# Backtest: what patterns would have found in history, beside chance and beside what others find there.

SHUFFLES = 10
EXAMPLES = 3
MOST_SHUFFLED = 500_000
"""Events up to which histories are shuffled: they must be in memory, and each shuffle is a whole run."""
Tell = Callable[[int, int, str], None]
Since = timedelta | datetime | None


@dataclass(frozen=True, slots=True)
class Against(Record):
    """How what a pattern finds differs from what another version finds.

    `both` are detections that share an event with one of the other's; `only` and `only_other` share none.
    """

    RECORD = "backtest_against"

    pattern: Name
    other: Name
    version: str | None
    detections: Count
    """Of the other."""
    histories: Count
    both: Count
    """Detections that share an event with one of the other's."""
    only: Count
    only_other: Count
    jaccard: Ratio | None


class BacktestSummary(RecordStruct):
    """What a backtest looked at: the last line."""

    RECORD = "backtest_summary"

    patterns: Count
    events: Count
    as_of: datetime | None
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Backtested:
    """What came of a backtest. `as_of` is None where there were no events; `since` None where all count.

    `lacking` are patterns that could look at nothing, with what their histories are told apart by and no
    event has.
    """

    backtests: tuple[Backtest, ...]
    against: tuple[Against, ...]
    events: int
    as_of: datetime | None
    since: datetime | None
    untimed: frozenset[str] = frozenset()
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_dicts(self) -> Iterator[dict[str, Any]]:
        """JSON records: every pattern, every comparison with another version, then a summary."""
        yield from (backtest.to_dict() for backtest in self.backtests)
        yield from (item.to_dict() for item in self.against)
        yield self.summary()

    def summary(self) -> dict[str, Any]:
        """What was looked at."""
        summary = BacktestSummary(
            patterns=len(self.backtests), events=self.events, as_of=self.as_of, since=self.since
        )
        return summary.to_dict()


def backtest_patterns(
    batch: Batch | OnDisk,
    library: Library,
    others: Library,
    *,
    settings: Settings,
    against: Library | None = None,
    as_of: datetime | None = None,
    since: Since = None,
    shuffles: int = SHUFFLES,
    seed: int = 0,
    examples: int = EXAMPLES,
    excerpts: bool = False,
    tell: Tell | None = None,
) -> Backtested:
    """What every chosen pattern finds in events, by itself, beside chance, and beside others.

    `others` are the patterns that it may overlap with, `against` another version of it. Events before
    `since` (a moment, or a time before the newest event) are read too, as what went before; what was
    detected then does not count.
    """
    analysis = _looked(batch, library, settings, as_of, tell, "the pattern")
    start = _start(since, analysis.as_of)
    rest = _looked(batch, others, settings, as_of, tell, "others").every
    chance = _shuffled(batch, library, settings, analysis.as_of, start, shuffles, seed, tell)
    untimed = _untimed(batch)
    programs = {program.name: program for program in library.programs}
    told, lacking = [], {}
    for checked in analysis.checked:
        own = [item for item in analysis.every if item.pattern == checked.pattern]
        program = programs[checked.pattern]
        if not checked.histories and analysis.events and (fields := lacking_fields(program, batch.events)):
            lacking[checked.pattern] = fields
        made = backtest(
            checked.pattern,
            own,
            rest,
            histories=checked.histories,
            wider=wider_histories(program, own, rest, _until(batch.events, analysis.as_of)),
            timed=not untimed,
            since=start,
            shuffled=chance.get(checked.pattern, ()),
            examples=examples,
        )
        told.append(_with_excerpts(made, batch.events) if excerpts else made)
    compared: tuple[Against, ...] = ()
    if against is not None:
        other = _looked(batch, against, settings, as_of, tell, "the other version")
        compared = versions(analysis, other, start)
    return Backtested(tuple(told), compared, analysis.events, analysis.as_of, start, untimed, lacking)


def _looked(
    batch: Batch | OnDisk,
    library: Library,
    settings: Settings,
    as_of: datetime | None,
    tell: Tell | None,
    what: str,
) -> Analysis:
    if tell is not None:
        tell(0, 0, f"looking for {what}")
    return analyze_gathered(batch, library, as_of=as_of, settings=settings)


def _until(events: Iterable[Event], as_of: datetime | None) -> Iterator[Event]:
    return (event for event in events if as_of is None or event.at <= as_of)


def _start(since: Since, as_of: datetime | None) -> datetime | None:
    if isinstance(since, timedelta):
        return None if as_of is None else as_of - since
    return since


def _untimed(batch: Batch | OnDisk) -> frozenset[str]:
    return (
        frozenset() if batch.timed else frozenset(event.source for event in batch.events if not event.timed)
    )


def readable(events: Iterable[Event], programs: Sequence[Program], settings: Settings) -> list[Event]:
    """Events as the programs see them: with our own readings, and those of the chosen scorers only."""
    supplied, _ = only_scorers(list(events), settings.scorers)
    measured, _ = measured_events(supplied, programs, settings)
    scored, _ = only_scorers(measured, settings.scorers)
    return scored


def shuffled(events: Sequence[Event], rng: random.Random) -> list[Event]:
    """The same events, with the readings of each subject in another order among its events that have any.

    >>> first, second = Event.sample(readings={"a": 1.0}), Event.sample(readings={"a": 2.0})
    >>> sorted(one.readings["a"] for one in shuffled([first, second], random.Random(1)))
    [1.0, 2.0]
    """
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, event in enumerate(events):
        if event.readings:
            places[event.source, event.subject].append(place)
    out = list(events)
    for own in places.values():
        drawn = own[:]
        rng.shuffle(drawn)
        for place, other in zip(own, drawn, strict=True):
            from_ = events[other]
            out[place] = replace(
                events[place], readings=from_.readings, scorers=from_.scorers, widths=from_.widths
            )
    return out


def _shuffled(
    batch: Batch | OnDisk,
    library: Library,
    settings: Settings,
    as_of: datetime | None,
    since: datetime | None,
    shuffles: int,
    seed: int,
    tell: Tell | None,
) -> Mapping[str, Sequence[int]]:
    """How much each pattern finds in each shuffle of the same histories; nothing where there is no shuffling.

    A pattern in code has read the events as they were, so a shuffle of readings says nothing about it.
    """
    programs = [program for program in library.programs if not library.files[program.pattern].in_code]
    # Shuffling needs all events in memory.
    if as_of is None or not programs or isinstance(batch, OnDisk) or len(batch.events) > MOST_SHUFFLED:
        return {}
    seen = readable((event for event in batch.events if event.at <= as_of), programs, settings)
    counts: dict[str, list[int]] = {program.name: [] for program in programs}
    for number in range(shuffles):
        if tell is not None:
            tell(number, shuffles, "shuffling histories")
        arranged = shuffled(seen, random.Random(f"{seed}:{number}"))
        detections = find(programs, arranged, as_of=as_of, engine="columns").detections
        for name, every in counts.items():
            every.append(sum(item.pattern == name and _is_since(item, since) for item in detections))
    return counts


def _is_since(detection: Detection, since: datetime | None) -> bool:
    return since is None or detection.detected_at >= since


def _with_excerpts(made: Backtest, events: Iterable[Event]) -> Backtest:
    said = {key: excerpt(event) for key, event in evidence_events(made.examples, events).items()}
    told = (
        replace(
            example,
            evidence=tuple(
                replace(each, excerpt=said.get((example.source, each.event))) for each in example.evidence
            ),
        )
        for example in made.examples
    )
    return replace(made, examples=tuple(told))


def versions(analysis: Analysis, other: Analysis, since: datetime | None) -> tuple[Against, ...]:
    """How what was found differs from what another selection finds: pattern by pattern.

    Each is compared with the other of the same name, or with the only one there is.
    """
    names = [item.pattern for item in other.checked]
    out = []
    for checked in analysis.checked:
        name = checked.pattern if checked.pattern in names else names[0] if len(names) == 1 else None
        if name is None:
            there = ", ".join(names)[:200]
            raise BadUsage(f"--against has nothing named {checked.pattern}, and more than one: {there}")
        own, theirs = (
            [item for item in every if item.pattern == wanted and _is_since(item, since)]
            for every, wanted in ((analysis.every, checked.pattern), (other.every, name))
        )
        out.append(_against(checked.pattern, name, own, theirs))
    return tuple(out)


def _against(pattern: str, name: str, own: Sequence[Detection], theirs: Sequence[Detection]) -> Against:
    mine, others = events_of(own), events_of(theirs)
    both = sum(bool(events_of([item]) & others) for item in own)
    return Against(
        pattern=pattern,
        other=name,
        version=theirs[0].version if theirs else None,
        detections=len(theirs),
        histories=len(histories_of(theirs)),
        both=both,
        only=len(own) - both,
        only_other=sum(not events_of([their]) & mine for their in theirs),
        jaccard=round(len(mine & others) / len(mine | others), 6) if mine | others else None,
    )


def shadow(store: Store, programs: Iterable[Program], *, as_of: datetime, since: Since = None) -> Backtested:
    """What shadow patterns have found in a store so far: the same as a backtest, going forward.

    Nothing is looked for anew; sweeps have kept it, and told nobody.
    """
    shadow = {program.name: program for program in programs if program.status == "shadow"}
    kept = store.detections(states=STANDING)
    start = _start(since, as_of)
    events, histories = counted(store, shadow.values())
    untimed = frozenset(source.name for source in store.sources().values() if not source.timed)
    rest = [item for item in kept if item.status != "shadow"]
    told = []
    for name, program in sorted(shadow.items()):
        own = [item for item in kept if item.pattern == name and item.status == "shadow"]
        wider = wider_histories(program, own, rest, store.events(ordered=False))
        told.append(
            backtest(name, own, rest, histories=histories[name], wider=wider, timed=not untimed, since=start)
        )
    return Backtested(tuple(told), (), events, as_of, start, untimed)


# Replays: what a pattern would have found in a store with other parameters.
#
# Cheap in three ways: only subjects with something judged are replayed; signals are measured once, since
# parameters do not change them; and the variants of a pattern are run together, which shares the histories.

Overlay = Mapping[str, float]
Chunks = Callable[[], Iterable[Sequence[Event]]]
"""Measured events in pieces that have nothing to do with each other; can be gone through again and again."""
AT_ONCE = 16
"""How many variants are run together; more would hold too many detections at a time."""
ENGINE = "columns"


def variant(pattern: str, settings: Settings, overlay: Overlay | None = None) -> Library | None:
    """One pattern with numbers laid over those in force; None where they make no pattern.

    `pattern` is a name and never a path: it may come from a file of verdicts.
    """
    if pattern not in (places := places_of(settings.patterns, ())):
        near = did_you_mean(pattern, places)
        raise BadPattern([Fault("", 0, 0, f"no pattern is named {pattern!r:.80}{near}")])
    own = {**settings.parameters.get(pattern, {}), **(overlay or {})}
    rest = {name: numbers for name, numbers in settings.parameters.items() if name != pattern}
    try:
        return load_patterns(
            [pattern],
            more=settings.patterns,
            vocabulary=load_vocabulary(settings.signals),
            parameters={**rest, pattern: own} if own else rest,
            status=settings.status,
            any_status=True,
        )
    except BadPattern:
        if overlay:
            return None
        raise


def stored_chunks(
    store: Store, library: Library, settings: Settings, as_of: datetime, whose: Iterable[Who] | None = None
) -> Chunks:
    """The events of these subjects (of all, without any) with every reading that the library looks at.

    Held in memory where they are few enough for the settings, and measured anew each time where not.
    """
    programs = library.programs
    rows = store.subjects()
    if whose is not None and not any(reaches_others(program, programs) for program in programs):
        wanted = set(whose)
        rows = [row for row in rows if row.who in wanted]

    def measured() -> Iterator[Sequence[Event]]:
        looking = look(store, library, settings, as_of)
        threads = any(item.scope == "thread" for item in plan(needed(programs)))
        own = {row.who for row in rows}
        again = said_again(store.events(until=as_of), programs, settings, own)
        for piece in _pieces(rows, programs):
            yield chunk_events(looking, piece, again, threads=threads)

    if sum(row.events for row in rows) * IN_MEMORY > settings.memory:
        return measured
    held = list(measured())
    return lambda: held


def _pieces(rows: Sequence[SubjectRow], programs: Sequence[Program]) -> Iterable[Sequence[SubjectRow]]:
    # What spreads from one subject to another is seen only where both are there.
    return [rows] if any(reaches_others(program, programs) for program in programs) else chunks(rows)


def replayer(
    pattern: str, settings: Settings, events: Chunks, as_of: datetime
) -> Callable[[Sequence[Overlay]], Iterator[list[Detection] | None]]:
    """What finds the detections with each of some overlays, in the same order; None for no pattern."""

    def replay(overlays: Sequence[Overlay]) -> Iterator[list[Detection] | None]:
        libraries = [variant(pattern, settings, overlay) for overlay in overlays]
        for some in _together(libraries):
            detections = _found(some, events, as_of)
            for library in some:
                yield None if library is None else _own(library, detections)

    return replay


def _found(libraries: Sequence[Library | None], events: Chunks, as_of: datetime) -> list[Detection]:
    programs = {
        (program.name, program.version): program
        for library in libraries
        if library
        for program in library.programs
    }
    return [
        detection
        for chunk in (events() if programs else ())
        for detection in find(list(programs.values()), list(chunk), as_of=as_of, engine=ENGINE).detections
    ]


def _together(libraries: Sequence[Library | None]) -> Iterator[Sequence[Library | None]]:
    """Variants that can be run at once: combinations go by names of parts, so each of theirs runs alone."""
    alone = any(program.is_combination for library in libraries if library for program in library.programs)
    most = 1 if alone else AT_ONCE
    for start in range(0, len(libraries), most):
        yield libraries[start : start + most]


def _own(library: Library, detections: Iterable[Detection]) -> list[Detection]:
    """The detections of one variant, known by the version of its programs.

    What is told early is not the pattern, and parts are there for combinations only.
    """
    own = {(program.name, program.version) for program in library.programs if library.is_chosen(program)}
    return [item for item in detections if (item.pattern, item.version) in own and "@" not in item.pattern]
