"""Backtest: what patterns would have found in past events, compared with chance and other patterns."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ..config import Settings
from ..engine.detect import find, keys_of
from ..errors import BadUsage
from ..fields import Count, Name, Ratio, RecordStruct
from ..ingest import Batch, OnDisk
from ..ingest.batch import EventSequence, sequence_of
from ..ingest.processes import in_turn, usable_cores
from ..language.history import key_of
from ..language.program import Program
from ..models import Detection, Event
from ..models.detection import STANDING
from ..models.record import Record
from ..patterns.library import Library
from ..risk.backtest import Backtest, backtest, events_of, histories_of
from ..store.records import Store
from .analyze import analyze_gathered
from .mute import add_excerpts
from .readings import counted_events
from .result import Analysis
from .stored_events import chunks

SHUFFLES = 10
EXAMPLES = 3
MOST_SHUFFLED = 500_000
"""Events up to which histories are shuffled: they must be in memory, and each shuffle is a whole run."""
MANY_SHUFFLED = 1_000_000
"""Events in all shuffles from which on several processes pay off."""
Progress = Callable[[int, int, str], None]
Since = timedelta | datetime | None


@dataclass(frozen=True, slots=True)
class BacktestComparison(Record):
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
class BacktestResult:
    """The backtests of some patterns. `as_of` is None without events, `since` where all detections count.

    `lacking` maps patterns that have no histories here to the `group_by` fields that no event has.
    """

    backtests: tuple[Backtest, ...]
    against: tuple[BacktestComparison, ...]
    events: int
    as_of: datetime | None
    since: datetime | None
    untimed: frozenset[str] = frozenset()
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_dicts(self) -> Iterator[dict[str, Any]]:
        """JSON records: every pattern, every comparison with another version, then a summary."""
        yield from (item.to_dict() for item in self.backtests)
        yield from (item.to_dict() for item in self.against)
        yield BacktestSummary(
            patterns=len(self.backtests), events=self.events, as_of=self.as_of, since=self.since
        ).to_dict()


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
    progress: Progress | None = None,
    jobs: int | None = None,
) -> BacktestResult:
    """What every chosen pattern finds in events, compared with shuffled events and with other patterns.

    `others` are the patterns it may overlap with, `against` another version of it. Events before `since` (a
    moment, or a time before the newest event) are read as context; detections before it do not count. `jobs`
    processes share the work (default: all cores where that pays); the result is the same.
    """

    def run(library: Library, what: str) -> Analysis:
        if progress is not None:
            progress(0, 0, f"looking for {what}")
        return analyze_gathered(batch, library, as_of=as_of, settings=settings, jobs=jobs)

    analysis, rest = run(library, "the pattern"), run(others, "others").every
    start = _start(since, analysis.as_of)
    shuffled = _count_in_shuffles(
        batch, library, settings, analysis.as_of, start, shuffles, seed, progress, jobs
    )
    untimed = frozenset(() if batch.timed else batch.events.untimed_sources())
    programs = {program.name: program for program in library.programs}
    backtests, lacking = [], {}
    for checked in analysis.checked:
        program = programs[checked.pattern]
        if not checked.histories and analysis.events and (fields := _lacking_fields(program, batch.events)):
            lacking[checked.pattern] = fields
        own = [item for item in analysis.every if item.pattern == checked.pattern]
        result = backtest(
            checked.pattern,
            own,
            rest,
            histories=checked.histories,
            timed=not untimed,
            since=start,
            shuffled=shuffled.get(checked.pattern, ()),
            examples=examples,
        )
        if excerpts:
            result = replace(result, examples=tuple(add_excerpts(result.examples, batch.events)))
        backtests.append(result)
    compared = () if against is None else _compare(analysis, run(against, "the other version"), start)
    return BacktestResult(
        tuple(backtests), compared, analysis.events, analysis.as_of, start, untimed, lacking
    )


def backtest_shadow(
    store: Store, programs: Iterable[Program], *, as_of: datetime, since: Since = None
) -> BacktestResult:
    """What shadow patterns have found in the sweeps of a store so far."""
    shadow = {program.name: program for program in programs if program.status == "shadow"}
    histories: dict[str, set[object]] = {name: set() for name in shadow}
    subjects = store.subjects()
    for chunk in chunks(subjects):
        own_events = store.columns([row.who for row in chunk])
        for name, program in shadow.items():
            histories[name].update(keys_of(program, own_events))
    events = sum(row.events for row in subjects)
    detections, start = store.detections(states=STANDING), _start(since, as_of)
    untimed = frozenset(source.name for source in store.sources().values() if not source.timed)
    rest = [item for item in detections if item.status != "shadow"]
    backtests = []
    for name in sorted(shadow):
        own = [item for item in detections if item.pattern == name and item.status == "shadow"]
        count = len(histories[name])
        backtests.append(backtest(name, own, rest, histories=count, timed=not untimed, since=start))
    return BacktestResult(tuple(backtests), (), events, as_of, start, untimed)


def _start(since: Since, as_of: datetime | None) -> datetime | None:
    if isinstance(since, timedelta):
        return None if as_of is None else as_of - since
    return since


def _is_since(detection: Detection, since: datetime | None) -> bool:
    return since is None or detection.detected_at >= since


def _lacking_fields(program: Program, events: Iterable[Event]) -> tuple[str, ...]:
    """The `group_by` fields of a pattern that no event has."""
    left = set(program.group_by)
    for event in events:
        left -= {name for name in left if key_of(replace(program, group_by=(name,)), event) is not None}
        if not left:
            break
    return tuple(name for name in program.group_by if name in left)


def shuffled(events: Sequence[Event], rng: random.Random) -> EventSequence:
    """The events with the readings of each subject permuted among its events that have any.

    >>> first, second = Event.sample(readings={"a": 1.0}), Event.sample(readings={"a": 2.0})
    >>> sorted(event.readings["a"] for event in shuffled([first, second], random.Random(1)))
    [1.0, 2.0]
    """
    events = sequence_of(events)
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, (who, has) in enumerate(
        zip(events.values("source", "subject"), events.has_readings(), strict=True)
    ):
        if has:
            places[who].append(place)
    rows = list(range(len(events)))
    for own in places.values():
        permuted = own[:]
        rng.shuffle(permuted)
        for place, other in zip(own, permuted, strict=True):
            rows[place] = other
    return events.with_readings_of(rows)


def _count_in_shuffles(
    batch: Batch | OnDisk,
    library: Library,
    settings: Settings,
    as_of: datetime | None,
    since: datetime | None,
    shuffles: int,
    seed: int,
    progress: Progress | None,
    jobs: int | None,
) -> Mapping[str, Sequence[int]]:
    """Detections of each pattern in each shuffle; empty where events cannot be shuffled.

    A pattern in code has read the events as they were, so a shuffle of readings says nothing about it.
    """
    programs = [program for program in library.programs if not library.files[program.pattern].in_code]
    if as_of is None or not programs or isinstance(batch, OnDisk) or len(batch.events) > MOST_SHUFFLED:
        return {}
    events, _, _ = counted_events(batch.events.until(as_of), programs, settings)
    if jobs is None:
        jobs = usable_cores() if shuffles * len(events) >= MANY_SHUFFLED else 1
    job, each = Shuffles(programs, events, as_of, since, seed), []
    for number, own in enumerate(in_turn(count_in_shuffle, job, range(shuffles), jobs)):
        if progress is not None:
            progress(number, shuffles, "shuffling histories")
        each.append(own)
    return {program.name: [own[program.name] for own in each] for program in programs}


@dataclass(frozen=True, slots=True)
class Shuffles:
    """What is counted in every shuffle."""

    programs: Sequence[Program]
    events: EventSequence
    as_of: datetime
    since: datetime | None
    seed: int


def count_in_shuffle(job: Shuffles, number: int) -> Mapping[str, int]:
    """Detections of each program in one shuffle."""
    arranged = shuffled(job.events, random.Random(f"{job.seed}:{number}"))
    detections = find(job.programs, arranged, as_of=job.as_of, engine="columns").detections
    return Counter(item.pattern for item in detections if _is_since(item, job.since))


def _compare(analysis: Analysis, other: Analysis, since: datetime | None) -> tuple[BacktestComparison, ...]:
    """Each pattern compared with the other of the same name, or with the only one there is."""
    names = [item.pattern for item in other.checked]
    comparisons = []
    for pattern in (item.pattern for item in analysis.checked):
        name = pattern if pattern in names else names[0] if len(names) == 1 else None
        if name is None:
            known = ", ".join(names)[:200]
            raise BadUsage(f"--against has nothing named {pattern}, and more than one: {known}")
        own, theirs = (
            [item for item in every if item.pattern == wanted and _is_since(item, since)]
            for every, wanted in ((analysis.every, pattern), (other.every, name))
        )
        mine, others = events_of(own), events_of(theirs)
        both = sum(bool(events_of([item]) & others) for item in own)
        comparisons.append(
            BacktestComparison(
                pattern=pattern,
                other=name,
                version=theirs[0].version if theirs else None,
                detections=len(theirs),
                histories=len(histories_of(theirs)),
                both=both,
                only=len(own) - both,
                only_other=sum(not events_of([item]) & mine for item in theirs),
                jaccard=round(len(mine & others) / len(mine | others), 6) if mine | others else None,
            )
        )
    return tuple(comparisons)
