"""Buckets: split events once, analyze any share of them anywhere, and merge what was found.

A history never leaves its bucket. Three things span subjects, and are done where all events are at hand:
signals about others in a thread or copies of a text are measured when the events are split; contagion, and
combinations with a contagion as a part, are made when the shares are merged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..config import Settings
from ..engine.detect import Part
from ..errors import BadUsage
from ..files.whole import write_whole
from ..ingest import Batch, OnDisk
from ..ingest.batch import EventSequence, Unknown
from ..ingest.parquet_buckets import (
    BucketWriter,
    Manifest,
    ParquetBuckets,
    Scorers,
    joined_scorers,
    scorer_times,
)
from ..ingest.spill import bucket_of, read_bucket
from ..models import EPOCH, Detection, Event, micros, moment, stable_hash
from ..models.slotted import replace
from ..patterns.library import Library
from ..signals import Measurer, Options, plan
from ..store.rows import stored_detection
from .out_of_core import EventsByTime, Job, Looked, Tally, in_buckets, job_of, look_in_turn
from .readings import beyond_subjects, dropped, judged, lone_scorer, needed, only_scorers, without_steps
from .result import Analysis

FORMAT = 1
MOST_BUCKETS = 512
"""Not more, since each is an open file while events are read."""


def bucket(
    gathered: Batch | OnDisk, library: Library, settings: Settings, folder: str | Path, buckets: int
) -> Manifest:
    """Write events that were read into a new folder; those on disk are in a multiple of `buckets` already.

    Signals that look beyond a subject are measured for the patterns of the library.
    """
    out = Path(folder)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadUsage(f"{out}: exists already: expected a new or empty folder")
    out.mkdir(parents=True, exist_ok=True, mode=0o700)
    parts = _Parts(gathered, buckets)
    measurer = _Beyond(parts, library, settings)
    writer = BucketWriter(out, parts.count)
    for number, events in measurer.measured() if measurer.signals else parts:
        writer.write(number, events)
    return writer.close(gathered, measurer.scorers, _how(measurer.settings) if measurer.signals else "")


def _how(settings: Settings) -> str:
    """A hash of what decides how signals are measured."""
    return stable_hash(dict(settings.scorers), asdict(Options.of(settings)))[:16]


class _Parts:
    """The events of each file, by number."""

    def __init__(self, gathered: Batch | OnDisk, buckets: int) -> None:
        self.gathered = gathered
        self.count = buckets if isinstance(gathered, Batch) else len(gathered.events.buckets.paths)

    def __iter__(self) -> Iterator[tuple[int, EventSequence]]:
        if isinstance(self.gathered, Batch):
            return self.split(self.gathered.events)
        return ((number, read_bucket(path)) for number, path in enumerate(self.gathered.events.buckets.paths))

    def split(self, events: EventSequence) -> Iterator[tuple[int, EventSequence]]:
        """The events of a sequence by file."""
        rows: dict[int, list[int]] = {}
        of: dict[tuple[str, str], int] = {}
        for row, (source, subject) in enumerate(events.values("source", "subject")):
            if (number := of.get((source, subject))) is None:
                number = of[source, subject] = bucket_of(source, subject, self.count)
            rows.setdefault(number, []).append(row)
        return ((number, events.take(own)) for number, own in sorted(rows.items()))


class _Beyond:
    """Measures the signals that look beyond a subject, over all events in order of time."""

    def __init__(self, parts: _Parts, library: Library, settings: Settings) -> None:
        self.parts, self.settings = parts, settings
        self.signals: list[str] = []
        self.scorers: dict[str, str] = {}
        if not beyond_subjects(library.programs):
            return
        times = joined_scorers(scorer_times(events) for _, events in parts)
        self.settings = with_lone_scorer(settings, times, None)
        self.signals = beyond_subjects(judged(library.programs, times))
        self.measurer = Measurer(self.signals, Options.of(settings))
        self.scorers = {item.name: item.scorer for item in plan(self.signals) if item.name in self.signals}

    def measured(self) -> Iterator[tuple[int, EventSequence]]:
        """The events of each file with their readings, measured in order of time."""
        gathered = self.parts.gathered
        if isinstance(gathered, Batch):
            measurer = self.measurer
            yield from self.parts.split(gathered.events.mapped(self._measure, measurer.rows_about))
            return
        buckets = gathered.events.buckets
        with in_buckets((), 1, buckets.scratch) as scratch:
            ordered = EventsByTime(buckets.paths, scratch.folder, read_bucket)
            made = in_buckets(map(self._measure, ordered), self.parts.count, buckets.scratch)
        with made:
            for number, path in enumerate(made.paths):
                yield number, read_bucket(path)

    def _measure(self, event: Event) -> Event:
        (counted,), _ = only_scorers([event], self.settings.scorers)
        measured = self.measurer.measure(without_steps(counted))
        added = {
            name: measured.readings[name]
            for name, scorer in self.scorers.items()
            if name in measured.readings and measured.scorers.get(name) == scorer
        }
        if not added:
            return event
        scorers = {name: self.scorers[name] for name in added}
        return event.read_as({**event.readings, **added}, {**event.scorers, **scorers})


def with_lone_scorer(settings: Settings, times: Scorers, as_of: datetime | None) -> Settings:
    """The settings with the scorer of signals that only one has scored, as in an analysis of all events."""
    drop = dropped(settings.scorers)
    until = None if as_of is None else micros(as_of)
    pairs = [
        (name, scorer)
        for name, own in times.items()
        for scorer, at in own.items()
        if until is None or at <= until
    ]
    unused = {pair: 1 for pair in pairs if drop(*pair)}
    lone = lone_scorer(unused, {name for name, by in pairs if (name, by) not in unused}, settings.scorers)
    return replace(settings, scorers={**settings.scorers, **lone}) if lone else settings


# --- shares ---------------------------------------------------------------------------------


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a file of shared detections; a line for each detection follows."""

    record: Literal["share"] = "share"
    format: int = FORMAT
    folder: str
    """Where the buckets were; an absolute path."""
    digest: str
    """Which buckets: see Manifest."""
    how: str
    """A hash of patterns and settings: the same for all shares."""
    as_of: int
    share: int
    of: int
    detections: int
    events: int
    subjects: int
    checked: dict[str, int]
    untimed: list[str]
    notes: list[tuple[int, int, str, list[tuple[str, list[Any]]], list[int]]]
    unused: list[tuple[str, str, int]]
    unmeasured: list[tuple[str, str, int]]
    strange: dict[str, tuple[int, tuple[int, int, str]]]
    names: list[str]


def open_share(
    folder: str | Path, library: Library, settings: Settings, as_of: datetime | None = None
) -> tuple[ParquetBuckets, Job]:
    """A folder of buckets, and what is looked for in every share of it."""
    buckets = ParquetBuckets(folder)
    manifest = buckets.manifest
    asked = as_of or (EPOCH if manifest.newest is None else moment(manifest.newest))
    ours = with_lone_scorer(settings, manifest.scorers, asked)
    job = job_of(buckets, library, ours, asked)
    lacking = sorted(set(beyond_subjects(job.measuring)) - manifest.measured.keys())
    if not lacking and job.known.intersection(beyond_subjects(job.measuring)):
        usual = with_lone_scorer(settings, manifest.scorers, None)
        lacking = sorted(job.known) if manifest.how != _how(usual) else []
    if lacking:
        raise BadUsage(
            f"{buckets.folder}: a pattern reads {', '.join(lacking)}, which depends on other subjects and "
            "was not measured with these settings when the events were split: "
            "run `ethogram bucket` again with the same --patterns and settings as this command"
        )
    return buckets, job


def analyze_share(
    folder: str | Path,
    library: Library,
    settings: Settings,
    *,
    share: int,
    of: int,
    output: str | Path,
    as_of: datetime | None = None,
    workers: int | None = None,
) -> Share:
    """Look at share number `share` (from 1) of `of` equal ones, and write what was found to a file."""
    buckets, job = open_share(folder, library, settings, as_of)
    if not 1 <= share <= of:
        raise BadUsage(f"invalid --bucket {share}/{of}: expected a number from 1 to {of} before the slash")
    if of > len(buckets.paths):
        raise BadUsage(f"invalid --bucket {share}/{of}: {buckets.folder} has {len(buckets.paths)} buckets")
    looked = list(look_in_turn(job, buckets.paths[share - 1 :: of], workers))
    header = _header(buckets, job, share, of, looked)
    detections = (item for one in looked for item in one.part.detections)
    encode = msgspec.json.encode
    write_whole(output, [encode(header), b"\n", *(f"{detection_line(item)}\n" for item in detections)])
    return header


def detection_line(detection: Detection) -> str:
    """A detection as one line of JSON with all its fields; secrets and personal data are masked."""
    hidden = {name: getattr(detection, name) for name in Detection.HIDDEN}
    return json.dumps({**detection.to_dict(), **hidden})


def _header(buckets: ParquetBuckets, job: Job, share: int, of: int, looked: Sequence[Looked]) -> Share:
    checked, unused, unmeasured = Counter[str](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in looked:
        checked.update(one.part.checked)
        unused += one.unused
        unmeasured += one.unmeasured
    return Share(
        folder=str(buckets.folder.resolve()),
        digest=buckets.manifest.digest,
        how=how_of(job),
        as_of=micros(job.as_of),
        share=share,
        of=of,
        detections=sum(len(one.part.detections) for one in looked),
        events=sum(one.events for one in looked),
        subjects=sum(one.subjects for one in looked),
        checked=dict(checked),
        untimed=sorted({source for one in looked for source in one.part.untimed}),
        notes=[
            (number, need, reason, [(source, list(key)) for source, key in keys], list(have))
            for one in looked
            for number, need, reason, keys, have in one.part.notes
            if len(have)
        ],
        unused=[(*pair, n) for pair, n in sorted(unused.items())],
        unmeasured=[(*pair, n) for pair, n in sorted(unmeasured.items())],
        strange=_joined_strange(one.strange for one in looked),
        names=sorted({name for one in looked for name in one.names}),
    )


def how_of(job: Job) -> str:
    """A hash of what is looked for and how: the same for all shares that can be merged."""
    programs = [(item.name, stable_hash(item.to_json())) for item in job.programs]
    return stable_hash(programs, _how(job.settings), sorted(needed(job.measuring)))[:16]


def _joined_strange(parts: Iterable[Unknown]) -> dict[str, tuple[int, tuple[int, int, str]]]:
    first: dict[str, tuple[int, tuple[int, int, str]]] = {}
    for part in parts:
        for name, (count, (at, seq, event)) in part.items():
            own = (micros(at), seq, event)
            known, before = first.get(name, (0, own))
            first[name] = (known + count, min(before, own))
    return first


def looked_of(share: Share, detections: list[Detection]) -> Looked:
    """What was found in a share, as if it had been looked at here."""
    notes = [
        (number, need, reason, [(source, tuple(key)) for source, key in keys], have)
        for number, need, reason, keys, have in share.notes
    ]
    part = Part(detections, list(notes), dict(share.checked), frozenset(share.untimed))
    strange: Unknown = {
        name: (count, (moment(at), seq, event)) for name, (count, (at, seq, event)) in share.strange.items()
    }
    unused = Counter({(name, by): n for name, by, n in share.unused})
    unmeasured = Counter({(name, reason): n for name, reason, n in share.unmeasured})
    return Looked(part, share.events, share.subjects, unused, unmeasured, strange, set(share.names))


# --- merge ----------------------------------------------------------------------------------


def read_share(path: str | Path) -> tuple[Share, list[Detection]]:
    """The share in a file; BadUsage where it is not whole."""
    try:
        with open(path, "rb") as file:
            header = msgspec.json.decode(file.readline(), type=Share)
            detections = [stored_detection(line) for line in file.read().decode().splitlines()]
    except OSError as error:
        raise BadUsage(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, ValueError, KeyError, TypeError):
        raise BadUsage(
            f"{path}: not a share: expected a file of `ethogram analyze --bucket --output`"
        ) from None
    if header.format != FORMAT or len(detections) != header.detections:
        raise BadUsage(f"{path}: cut off, or of another version: run its share again")
    return header, detections


def merge(
    paths: Collection[str | Path],
    library: Library,
    settings: Settings,
    *,
    folder: str | Path | None = None,
    as_of: datetime | None = None,
) -> tuple[Analysis, OnDisk, Settings]:
    """The analysis of all shares, its events, and the settings with the scorers that count.

    Contagion is looked for in the events of `folder` (default: where the shares found them). BadUsage where a
    share is missing, comes twice, or was made of other events, patterns or settings.
    """
    shares = [(path, *read_share(path)) for path in paths]
    if not shares:
        raise BadUsage("missing input: name the files of all shares")
    _, first, _ = shares[0]
    buckets, job = open_share(folder or first.folder, library, settings, as_of or moment(first.as_of))
    expected: Mapping[str, Any] = {
        "digest": (buckets.manifest.digest, f"other events than {buckets.folder}"),
        "how": (how_of(job), "other patterns or settings than this command"),
        "as_of": (micros(job.as_of), "another --as-of"),
        "of": (first.of, f"another number of shares than {first.of}"),
    }
    for path, share, _ in shares:
        for name, (value, what) in expected.items():
            if getattr(share, name) != value:
                raise BadUsage(f"{path}: made with {what}")
    numbers = Counter(share.share for _, share, _ in shares)
    if twice := [number for number, n in numbers.items() if n > 1]:
        raise BadUsage(f"share {twice[0]}/{first.of} comes twice")
    if missing := sorted(set(range(1, first.of + 1)) - numbers.keys()):
        raise BadUsage(f"missing shares of {first.of}: {', '.join(map(str, missing[:20]))}")
    tally = Tally(library, job.as_of, Counter(), Counter())
    for _, share, detections in shares:
        tally.add(looked_of(share, detections))
    if lone_scorer(tally.unused, tally.names, job.settings.scorers):
        raise BadUsage("readings of one scorer only, which is not the one that counts: name it with --scorer")
    gathered = buckets.gathered()
    given = as_of or (None if buckets.manifest.newest is None else job.as_of)
    return tally.analysis(gathered, job.settings, given), gathered, job.settings
