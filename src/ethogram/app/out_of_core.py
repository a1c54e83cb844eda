"""Analyze events on disk, bucket by bucket, by several processes."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from heapq import merge
from pathlib import Path
from typing import Any, BinaryIO

from ..config import Settings
from ..engine.detect import Part, Whole, find_part
from ..errors import BadUsage, EthogramError
from ..ingest import OnDisk
from ..ingest.batch import EventSequence, Unknown
from ..ingest.ordering import by_order
from ..ingest.spill import (
    BucketFolder,
    Buckets,
    EventsOnDisk,
    bucket_of,
    event_of_row,
    read_bucket,
    row_of,
    rows_of,
    write_rows,
)
from ..language.history import CAP
from ..language.program import Program
from ..models import EPOCH, Detection
from ..models.slotted import dataclass, replace
from ..patterns.catalogue import load_vocabulary
from ..patterns.library import Library
from ..signals import plan
from ..signals.measurer import MAX_REASONS, OTHER
from .readings import looks_beyond_subjects, measurer_of, needed, only_scorers, scored_events, without_steps
from .result import MOST as MOST_UNREAD
from .result import Analysis, joined, known_signals, summed_up, unread
from .traces import Traces, joined_traces, trace

# Workers: buckets looked at one after the other, or by a few processes of our own at once.
#
# The processes are started as programs, not forked from this one: a fork would copy locks that threads of
# the caller hold, and `multiprocessing` would run the caller's script again.

MOST = 2
WORTH_IT = 16 * 2**20
"""Bytes in buckets from which on starting processes, half a second each, is made up for."""
LENGTH = 8
START = "from ethogram.app.out_of_core import work; work()"


def in_turn(job: Job, paths: Sequence[Path], workers: int | None = None) -> Iterator[Looked]:
    """What is in each bucket, in the order of the paths. `workers`: 0 is this process alone."""

    paths = [path for path in paths if path.exists()]
    if workers is None:
        workers = _worth(job, paths)
    if workers < 1:
        yield from (look_at(job, path) for path in paths)
        return
    with _Workers(job, workers) as crew:
        yield from crew.map(paths)


def _worth(job: Job, paths: Iterable[Path]) -> int:
    # Signals that the caller's own script registered are not known to another process.
    ours = all(
        vars(item).get("__module__", "").startswith("ethogram.") for item in plan(needed(job.programs))
    )
    enough = sum(path.stat().st_size for path in paths) >= WORTH_IT
    cores = min(MOST, os.cpu_count() or 1)
    return cores if ours and enough and cores > 1 else 0


class _Workers:
    """Processes that each look at one bucket at a time."""

    def __init__(self, job: Job, count: int) -> None:
        # -P and the path: what they import is what we import, not what lies in the working directory.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(item for item in sys.path if item)}
        self._all: list[subprocess.Popen[bytes]] = []
        for _ in range(count):
            command = [sys.executable, "-P", "-c", START]
            started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
            self._all.append(started)
        self._free = list(self._all)
        self._job = job
        self._pool = ThreadPoolExecutor(count)

    def __enter__(self) -> _Workers:
        packed = pickle.dumps(self._job)
        for item in self._all:
            _send(item.stdin, packed)
        return self

    def __exit__(self, *_: object) -> None:
        # After Ctrl-C they are in the middle of something nobody waits for any more.
        for item in self._all:
            item.kill()
        self._pool.shutdown(cancel_futures=True)
        for item in self._all:
            for pipe in (item.stdin, item.stdout):
                if pipe is not None:
                    pipe.close()
            item.wait()

    def map(self, paths: Sequence[Path]) -> Iterator[Looked]:
        """What is in each bucket. Few answers are held at a time."""
        return self._pool.map(self._ask, paths)

    def _ask(self, path: Path) -> Looked:
        item = self._free.pop()
        try:
            _send(item.stdin, os.fsencode(path))
            answer = _receive(item.stdout)
        except OSError:
            answer = b""
        if not answer:
            raise EthogramError("a process that looked at a part of the events died; is memory short?")
        value: Any = pickle.loads(answer)
        if isinstance(value, BaseException):
            raise value
        self._free.append(item)
        looked: Looked = value
        return looked


def work() -> None:
    """What such a process does: a job comes in, then one path after the other, until nothing comes."""

    # Ctrl-C reaches the whole group; whoever started us decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    come, go = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    job: Job = pickle.loads(_receive(come))
    while path := _receive(come):
        try:
            answer: object = look_at(job, Path(os.fsdecode(path)))
        except Exception as error:
            answer = error
        _send(go, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))


def _send(pipe: Any, content: bytes) -> None:
    pipe.write(len(content).to_bytes(LENGTH, "little"))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: BinaryIO | Any) -> bytes:
    """The next message; b"" where there is none."""
    head = pipe.read(LENGTH)
    return pipe.read(int.from_bytes(head, "little")) if len(head) == LENGTH else b""


# Analyze events on disk: bucket by bucket, on two cores where there is enough to do.

Counts = Counter[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Job:
    """What is looked for in every bucket. `measured`: the events have the readings of our signals already."""

    programs: tuple[Program, ...]
    settings: Settings
    as_of: datetime
    cap: int
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found in one bucket."""

    part: Part
    events: int
    subjects: int
    unused: Counts
    unmeasured: Counts
    strange: Unknown


def analyze_on_disk(
    on_disk: OnDisk,
    library: Library,
    settings: Settings,
    *,
    as_of: datetime | None = None,
    cap: int = CAP,
    traced: bool = False,
    workers: int | None = None,
) -> Analysis:
    """What the same events in memory give, with one bucket of them in memory for each worker."""
    asked = as_of or on_disk.newest or EPOCH
    if asked.tzinfo is None:
        raise BadUsage("as_of needs a time zone: datetime(..., tzinfo=UTC)")
    job = Job(library.programs, settings, asked, cap)
    whole, seen = Whole(library.programs, asked), Seen()
    with Prepared(on_disk.events, job) as prepared:
        seen.unused += prepared.unused
        seen.add_unmeasured(prepared.unmeasured)
        for item in in_turn(prepared.job, prepared.buckets.paths, workers):
            whole.add(item.part)
            seen.add(item)
        analysis = summed_up(
            library, whole.result(on_disk.events), on_disk, asked if as_of or len(on_disk.events) else None
        )
        traces = _traces(analysis, prepared) if traced else Traces()
    vocabulary = load_vocabulary(settings.signals)
    return analysis.with_counts(
        events=seen.events,
        subjects=seen.subjects,
        unused=dict(seen.unused),
        unmeasured=dict(seen.unmeasured),
        unknown=unread(joined(seen.strange), on_disk.strays, library.programs, vocabulary),
        traces=traces,
    )


class Seen:
    """Counts over all buckets."""

    def __init__(self) -> None:
        self.events = self.subjects = 0
        self.unused: Counts = Counter()
        self.unmeasured: Counts = Counter()
        self.strange: list[Unknown] = []

    def add(self, looked: Looked) -> None:
        """One bucket more."""
        self.events += looked.events
        self.subjects += looked.subjects
        self.unused += looked.unused
        self.strange.append(looked.strange)
        self.add_unmeasured(looked.unmeasured)

    def add_unmeasured(self, counts: Counts) -> None:
        """Reasons and how often; of more than MAX_REASONS, the others together, as the measurer has it."""
        for (name, reason), n in counts.items():
            known = (name, reason) in self.unmeasured or len(self.unmeasured) < MAX_REASONS
            self.unmeasured[(name, reason) if known else (name, OTHER)] += n


def look_at(job: Job, path: Path) -> Looked:
    """What is in one bucket."""
    events = _read(path, job.as_of)
    scored, unused, unmeasured = _scored(job, events)
    known = known_signals(job.programs, load_vocabulary(job.settings.signals))
    names = events.unknown_readings(known, 10 * MOST_UNREAD)
    part = find_part(job.programs, scored, as_of=job.as_of, cap=job.cap)
    return Looked(part, len(events), events.count_subjects(), unused, unmeasured, names)


def _read(path: Path, as_of: datetime) -> EventSequence:
    return read_bucket(path).until(as_of)


def _scored(job: Job, events: EventSequence) -> tuple[EventSequence, Counts, Counts]:
    """The events with the readings that count, and how many do not, and why some are lacking."""
    if job.measured:
        scored, unused = only_scorers(events, job.settings.scorers)
        return scored, unused, Counter()
    scored, unused, unmeasured = scored_events(events, job.programs, job.settings)
    return scored, unused, Counter(unmeasured)


class Prepared:
    """Buckets that can be looked at one by one: as they are, or measured in order of time before.

    What others did in a thread is in the readings of some signals, and others are in other buckets.
    """

    def __init__(self, events: EventsOnDisk, job: Job) -> None:
        self.buckets, self.job = events.buckets, job
        self.unused: Counts = Counter()
        self.unmeasured: Counts = Counter()
        self._made: Buckets | None = None

    def __enter__(self) -> Prepared:
        old = self.buckets
        if looks_beyond_subjects(self.job.programs) and not self._is_silent(old):
            self._made = Buckets(count=len(old.paths), folder=old.folder)
            try:
                self._measure(old, self._made)
            except BaseException:
                self._made.close()
                raise
            self.buckets = self._made
            self.job = replace(self.job, measured=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._made is not None:
            self._made.close()

    def _is_silent(self, buckets: BucketFolder) -> bool:
        """Whether no signal has anything to say of events with such fields."""
        if buckets.fields is None:
            return False
        measurer = measurer_of(self.job.programs, self.job.settings)
        return not any(measurer.needs(buckets.kinds, buckets.fields, buckets.readings).values())

    def _measure(self, old: BucketFolder, new: Buckets) -> None:
        job, measurer = self.job, measurer_of(self.job.programs, self.job.settings)
        for path in old.paths:
            supplied, unused = only_scorers(_read(path, job.as_of), job.settings.scorers)
            self.unused += unused
            write_rows(new.folder / f"{path.name}.sorted", map(row_of, supplied))
        streams = (map(event_of_row, rows_of(new.folder / f"{path.name}.sorted")) for path in old.paths)
        for number, event in enumerate(merge(*streams, key=by_order)):
            new.put(row_of(measurer.measure(without_steps(event)), number))
        new.flush()
        self.unmeasured += measurer.unmeasured


def _traces(analysis: Analysis, prepared: Prepared) -> Traces:
    """What a chart needs, from the buckets of those who have detections."""
    job, paths = prepared.job, prepared.buckets.paths
    every = analysis.every
    by_bucket: dict[int, list[Detection]] = {}
    for item in every:
        by_bucket.setdefault(bucket_of(item.source, item.subject, len(paths)), []).append(item)

    def each() -> Iterator[Traces]:
        for number, here in by_bucket.items():
            scored, _, _ = _scored(job, _read(paths[number], job.as_of))
            yield trace(here, scored, job.as_of)

    return joined_traces(each(), [(item.source, item.subject) for item in every])
