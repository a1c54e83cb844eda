"""Analyze events on disk, bucket by bucket, by several processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from heapq import merge
from pathlib import Path

from ..config import Settings
from ..engine.detect import Part, Whole, find_part
from ..ingest import Gathered, OnDisk
from ..ingest.batch import EventSequence, Unknown
from ..ingest.ordering import by_order
from ..ingest.processes import in_turn, usable_cores
from ..ingest.spill import (
    BucketFolder,
    Buckets,
    bucket_of,
    event_of_row,
    read_bucket,
    row_of,
    rows_of,
    write_rows,
)
from ..language.program import Program
from ..models import EPOCH, Detection, Event
from ..models.slotted import dataclass, replace
from ..patterns.catalogue import load_vocabulary
from ..patterns.library import Library
from ..signals.measurer import MAX_REASONS, OTHER
from .readings import (
    are_ours,
    beyond_subjects,
    depends_on_others,
    judged,
    lone_scorer,
    measurer_of,
    only_scorers,
    scored_events,
    without_steps,
)
from .result import MOST as MOST_UNREAD
from .result import Analysis, joined, known_signals, summed_up, unread
from .traces import Traces, history_key, joined_traces, trace

WORTH_IT = 16 * 2**20
"""Bytes in buckets from which on starting processes, half a second each, is made up for."""


def look_in_turn(job: Job, paths: Sequence[Path], workers: int | None = None) -> Iterator[Looked]:
    """What is in each bucket, in the order of the paths. `workers`: up to 1 is this process alone."""
    paths = [path for path in paths if path.exists()]
    if workers is None:
        enough = sum(path.stat().st_size for path in paths) >= WORTH_IT
        workers = usable_cores() if enough and are_ours(job.measuring) else 1
    return in_turn(look_at, job, paths, workers)


class EventsByTime:
    """The events of buckets in order of time, for any number of iterations; `folder` holds them meanwhile."""

    def __init__(self, paths: Iterable[Path], folder: Path, read: Callable[[Path], Iterable[Event]]) -> None:
        self._paths = []
        for path in paths:
            self._paths.append(folder / f"{path.name}.sorted")
            write_rows(self._paths[-1], map(row_of, read(path)))

    def __iter__(self) -> Iterator[Event]:
        return merge(*(map(event_of_row, rows_of(path)) for path in self._paths), key=by_order)


def in_buckets(events: Iterable[Event], count: int, folder: Path | None = None) -> Buckets:
    """The events in so many buckets on disk; the caller closes them."""
    buckets = Buckets(count=count, folder=folder)
    try:
        for number, event in enumerate(events):
            buckets.put(row_of(event, number))
        buckets.flush()
    except BaseException:
        buckets.close()
        raise
    return buckets


Counts = Counter[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Job:
    """What is looked for in every bucket. `measured`: the events have the readings of our signals already."""

    programs: tuple[Program, ...]
    settings: Settings
    as_of: datetime
    measured: bool = False
    names: frozenset[str] | None = None
    """The signals that any event has a reading of; None where that is not known."""
    known: frozenset[str] = frozenset()
    """Signals that were measured before the events were split."""

    @property
    def measuring(self) -> Sequence[Program]:
        """The programs whose signals are measured."""
        return self.programs if self.names is None else judged(self.programs, self.names)


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found in one bucket."""

    part: Part
    events: int
    subjects: int
    unused: Counts
    unmeasured: Counts
    strange: Unknown
    names: set[str]


def analyze_on_disk(
    on_disk: OnDisk,
    library: Library,
    settings: Settings,
    *,
    as_of: datetime | None = None,
    traced: bool = False,
    workers: int | None = None,
) -> Analysis:
    """What the same events in memory give, with one bucket of them in memory for each worker."""
    asked_for = job_of(on_disk.events.buckets, library, settings, as_of or on_disk.newest or EPOCH)
    with prepared(on_disk.events.buckets, asked_for) as (job, paths, unused, unmeasured):
        tally = Tally(library, job.as_of, unused, unmeasured)
        for item in look_in_turn(job, paths, workers):
            tally.add(item)
        if lone := lone_scorer(tally.unused, tally.names, settings.scorers):
            ours = replace(settings, scorers={**settings.scorers, **lone})
            return analyze_on_disk(on_disk, library, ours, as_of=as_of, traced=traced, workers=workers)
        analysis = tally.analysis(on_disk, settings, as_of)
        return replace(analysis, traces=_traces(analysis, job, paths)) if traced else analysis


class Tally:
    """Joins what was found in buckets, in any order, into an analysis."""

    def __init__(self, library: Library, as_of: datetime, unused: Counts, unmeasured: Counts) -> None:
        self.library, self.as_of, self.unused, self.unmeasured = library, as_of, unused, unmeasured
        self.names: set[str] = set()
        self._whole = Whole(library.programs, as_of)
        self._strange: list[Unknown] = []
        self._events = self._subjects = 0

    def add(self, item: Looked) -> None:
        """Add what was found in one bucket."""
        self._whole.add(item.part)
        self._events += item.events
        self._subjects += item.subjects
        self.unused += item.unused
        self._strange.append(item.strange)
        self.names |= item.names
        for (name, reason), n in item.unmeasured.items():
            # Of more than MAX_REASONS, the others together, as the measurer has it.
            known = (name, reason) in self.unmeasured or len(self.unmeasured) < MAX_REASONS
            self.unmeasured[(name, reason) if known else (name, OTHER)] += n

    def analysis(self, gathered: Gathered, settings: Settings, as_of: datetime | None) -> Analysis:
        """The analysis, with what spans subjects; `gathered` has all events in any order."""
        events, library = gathered.events, self.library
        asked = self.as_of if as_of or len(events) else None
        analysis = summed_up(library, self._whole.result(events), gathered, asked, self.names)
        vocabulary = load_vocabulary(settings.signals)
        return analysis.with_counts(
            events=self._events,
            subjects=self._subjects,
            unused=dict(self.unused),
            unmeasured=dict(self.unmeasured),
            unknown=unread(joined(self._strange), gathered.strays, library.programs, vocabulary),
        )


def job_of(buckets: BucketFolder, library: Library, settings: Settings, as_of: datetime) -> Job:
    """What is to be looked for in the buckets of a folder."""
    names = None if buckets.fields is None else frozenset(buckets.readings)
    return Job(library.programs, settings, as_of, names=names)


def look_at(job: Job, path: Path) -> Looked:
    return look_at_events(job, _read(job, path))


def look_at_events(job: Job, events: EventSequence) -> Looked:
    """What is in events that have all events of their subjects, in order and not after the moment."""
    scored, unused, unmeasured = _scored(job, events)
    known = known_signals(job.programs, load_vocabulary(job.settings.signals))
    names = events.unknown_readings(known, 10 * MOST_UNREAD)
    part = find_part(job.programs, scored, as_of=job.as_of)
    counts = len(events), events.count_subjects()
    return Looked(part, *counts, unused, unmeasured, names, scored.reading_names())


def _read(job: Job, path: Path) -> EventSequence:
    return read_bucket(path).until(job.as_of)


def _scored(job: Job, events: EventSequence) -> tuple[EventSequence, Counts, Counts]:
    """The events with the readings that count, and how many do not, and why some are lacking."""
    if job.measured:
        scored, unused = only_scorers(events, job.settings.scorers)
        return scored, unused, Counter()
    scored, unused, unmeasured = scored_events(events, job.measuring, job.settings, job.known)
    return scored, unused, Counter(unmeasured)


@contextmanager
def prepared(buckets: BucketFolder, job: Job) -> Iterator[tuple[Job, Sequence[Path], Counts, Counts]]:
    """Buckets that can be looked at one by one: as they are, or measured in order of time before.

    What others did in a thread is in the readings of some signals, and others are in other buckets. With
    them how many readings were left out, and how many could not be measured, and why.
    """
    measurer = measurer_of(job.measuring, job.settings)
    unused = Counter[tuple[str, str]]()
    silent = buckets.fields is not None and not depends_on_others(
        job.measuring, job.settings, buckets.kinds, buckets.fields, buckets.readings
    )
    if silent or not beyond_subjects(job.measuring):
        yield job, buckets.paths, unused, Counter()
        return

    def supplied(path: Path) -> EventSequence:
        events, more = only_scorers(_read(job, path), job.settings.scorers)
        unused.update(more)
        return events

    with Buckets(count=1, folder=buckets.scratch) as scratch:
        events = EventsByTime(buckets.paths, scratch.folder, supplied)
        measured = (measurer.measure(without_steps(event)) for event in events)
        made = in_buckets(measured, len(buckets.paths), buckets.scratch)
    with made:
        yield replace(job, measured=True), made.paths, unused, Counter(measurer.unmeasured)


def _traces(analysis: Analysis, job: Job, paths: Sequence[Path]) -> Traces:
    """What a chart needs, from the buckets of those who have detections."""
    every = analysis.every
    by_bucket: dict[int, list[Detection]] = {}
    for item in every:
        by_bucket.setdefault(bucket_of(item.source, item.subject, len(paths)), []).append(item)

    def each() -> Iterator[Traces]:
        for number, here in by_bucket.items():
            scored, _, _ = _scored(job, _read(job, paths[number]))
            yield trace(here, scored, job.as_of)

    return joined_traces(each(), map(history_key, every))
