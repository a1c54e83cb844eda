"""Analysis: detections, what was quiet and what could not be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Annotated, Any

from ..engine.detect import SearchResult
from ..engine.match import Insufficient, InsufficientHistories
from ..errors import Fault, did_you_mean
from ..fields import Count, Name, RecordStruct
from ..ingest import Gathered
from ..ingest.batch import EventSequence, Unknown
from ..language.ast import Attribute, Indicator, Signal
from ..language.program import Program
from ..language.vocabulary import Vocabulary
from ..models import Detection, Value, rank
from ..models.detection import StepRange
from ..models.mute import Muting, MutingSummary
from ..models.record import Record
from ..models.slotted import dataclass, field, replace
from ..patterns.library import Library
from .evaluation.records import EvaluateSummary
from .readings import missing, names_by_kind
from .run_record import Run
from .swarms import swarms
from .traces import Traces

# Readings that nobody reads and whose names look misspelt: told, since their values are lost otherwise.

Order = tuple[datetime, int, str]
MOST = 200
"""Strange names that are counted; looking for near ones costs about a millisecond each."""


@dataclass(frozen=True, slots=True)
class Unread(Record):
    """A name of readings that no pattern and no vocabulary knows, and the known names it is near to."""

    signal: str
    count: Count
    near: tuple[str, ...]


def unread(
    counts: Mapping[str, int], strays: Mapping[str, int], programs: Sequence[Program], vocabulary: Vocabulary
) -> tuple[Unread, ...]:
    """What looks misspelt among strange readings, and among table columns that were kept as attributes."""
    signals = known_signals(programs, vocabulary)
    used = (name for program in programs for name in names_by_kind(program)[Attribute])
    attributes = {*vocabulary.attributes, *used}
    every = Counter(counts)
    every.update({name: n for name, n in strays.items() if name not in attributes})
    found = (Unread(name, n, _near(name, signals)) for name, n in sorted(every.items()))
    return tuple(item for item in found if item.near)


def strange(events: EventSequence, known: set[str]) -> Counter[str]:
    """How often each name that is not known has a reading; only the first MOST such names count."""
    return Counter({name: n for name, (n, _) in events.unknown_readings(known, MOST).items()})


def joined(some: Iterable[Unknown]) -> Counter[str]:
    """How often each of the first MOST names came in several lots of events that share none."""
    counts: Counter[str] = Counter()
    first: dict[str, Order] = {}
    for found in some:
        for name, (n, order) in found.items():
            counts[name] += n
            first[name] = min(first.get(name, order), order)
    earliest = sorted(first, key=lambda name: (first[name], name))[:MOST]
    return Counter({name: counts[name] for name in earliest})


def known_signals(programs: Sequence[Program], vocabulary: Vocabulary) -> set[str]:
    """Names that somebody reads."""
    kinds = [names_by_kind(program)[kind] for program in programs for kind in (Signal, Indicator)]
    return {*vocabulary.signals, *vocabulary.indicators, *chain.from_iterable(kinds)}


def _near(name: str, known: Iterable[str]) -> tuple[str, ...]:
    hint = did_you_mean(name, known)
    return tuple(sorted(item for item in known if repr(item) in hint)) if hint else ()


@dataclass(frozen=True, slots=True)
class Checked(Record):
    """What became of one pattern: in how many histories it was looked for, and what came of it."""

    pattern: str
    histories: Count
    detections: Count
    insufficient: Count
    missing: tuple[str, ...] = ()
    """Signals that it needs and no event has: it could not be judged."""

    @property
    def quiet(self) -> bool:
        """Whether nothing was found, and something could have been."""
        return not self.detections and not self.missing and self.histories > self.insufficient


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found. Iterating gives the detections; `kept` are those of shadow patterns.

    `as_of` is None where nothing was asked about and there was no event to take it from.
    """

    detections: tuple[Detection, ...]
    kept: tuple[Detection, ...]
    insufficient: InsufficientHistories
    checked: tuple[Checked, ...]
    as_of: datetime | None
    events: int
    subjects: int
    repeated: int = 0
    after_as_of: int = 0
    bad: tuple[Fault, ...] = ()
    bad_count: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    """What was left out of the input, by what it was."""
    unused: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unmeasured: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unknown: tuple[Unread, ...] = ()
    traces: Traces = field(default_factory=Traces)
    muting: Muting = field(default_factory=Muting)
    untimed: frozenset[str] = frozenset()
    """Sources without times."""
    is_untimed: bool = False
    """Whether no source has times."""
    evaluated: Mapping[str, Any] | None = None
    """What an evaluator did before: an `evaluate_summary` record; None where none was asked."""

    @property
    def notes(self) -> list[str]:
        """What was left out of the input, a sentence each; empty where all was read."""
        from ..report.wording import skipped_text

        return [f"Skipped: {skipped_text(what, count)}" for what, count in sorted(self.skipped.items())]

    @property
    def every(self) -> list[Detection]:
        """What was found of the patterns asked for, shadow patterns included, in output order."""
        return sorted((*self.detections, *self.kept), key=lambda detection: detection.order)

    def with_counts(self, *, events: int, **more: Any) -> Analysis:
        """The same, with what only whoever saw the events can count; it had the events after `as_of` too."""
        changed: Analysis = replace(self, events=events, after_as_of=self.events - events, **more)
        return changed

    def __iter__(self) -> Iterator[Detection]:
        return iter(self.detections)

    def __len__(self) -> int:
        return len(self.detections)

    def __repr__(self) -> str:
        from ..report.text import headline

        return f"<Analysis: {headline(self)}>"

    def _repr_html_(self) -> str:
        """The report with its chart, for notebooks."""
        from ..report.html import fragment

        return fragment(self)

    def to_arrow(self) -> Any:
        """The detections as an Arrow table, one row each (extra: parquet)."""
        from ..report.frames import to_arrow

        return to_arrow(self.detections)

    def to_pandas(self) -> Any:
        """The detections as a pandas DataFrame (needs pandas, and the extra parquet)."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The detections as a Polars DataFrame (needs polars, and the extra parquet)."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def at_or_above(self, severity: str) -> list[Detection]:
        """The detections at this severity or a graver one, those that an untrusted file mutes included."""
        every = (*self.detections, *(item for item, _ in self.muting.shown))
        return [item for item in every if rank(item.severity) >= rank(severity)]

    def listed(self, *, muted: bool = False) -> list[Detection]:
        """The detections, and the muted ones if asked for."""
        return [*self.detections, *(item for item, _ in self.muting.muted if muted)]

    def counted(self, *, muted: bool = False) -> list[Detection]:
        """The detections, those that an untrusted file mutes included, and all muted ones if asked for."""
        shown = {entry.id for _, entry in self.muting.shown}
        return [*self.detections, *(item for item, by in self.muting.muted if muted or by in shown)]

    def to_dicts(self, *, muted: bool = False, runs: Iterable[Run] = ()) -> Iterator[dict[str, Any]]:
        """JSON records: detections, runs with any, insufficient ones, a summary.

        Muted detections if asked for, and always those that an untrusted file mutes.
        """
        runs = [run for run in runs if run.episodes]
        steps = {
            item.detection: StepRange(item.from_step, item.detected_step, item.to_step)
            for run in runs
            for item in run.episodes
        }
        for detection in self.detections:
            yield self._record(replace(detection, steps=steps.get(detection.id)))
        shown = {item.id for _, item in self.muting.shown}
        for item, by in self.muting.muted:
            if muted or by in shown:
                own = replace(item, muted=by, muted_by_untrusted=True if by in shown else None)
                yield self._record(replace(own, steps=steps.get(item.id)))
        yield from (run.to_dict() for run in runs)
        yield from (insufficient_record(item).to_dict() for item in self.insufficient)
        yield self.summary()

    def _record(self, detection: Detection) -> dict[str, Any]:
        """The JSON form of a detection; without times where its source has none."""
        return detection.to_dict(timed=detection.source not in self.untimed)

    def summary(self) -> dict[str, Any]:
        """Counts of what was read, checked and left out."""
        return Summary(
            as_of=None if self.is_untimed else self.as_of,
            events=self.events,
            subjects=self.subjects,
            detections=len(self.detections),
            muted=self.muting.summary(),
            shadow=len(self.kept),
            insufficient=len(self.insufficient),
            checked=self.checked,
            repeated=self.repeated,
            after_as_of=self.after_as_of,
            bad=self.bad_count,
            skipped=dict(sorted(self.skipped.items())),
            unused_readings=[UnusedReading(*key, count) for key, count in sorted(self.unused.items())],
            evaluated=self.evaluated,
            unmeasured=[Unmeasured(*key, count) for key, count in sorted(self.unmeasured.items())],
            unknown_readings=self.unknown,
        ).to_dict()


class UnusedReading(RecordStruct):
    """How many readings of a signal were not used, since another scorer's count."""

    signal: str
    scorer: str
    count: Count


class Unmeasured(RecordStruct):
    """At how many events a signal could not be measured, and why."""

    signal: str
    reason: str
    count: Count


class Summary(RecordStruct):
    """What was read, checked and left out: the last line of an analysis."""

    RECORD = "summary"

    as_of: datetime | None
    """The time of the analysis; null: there was no event, or none has a time."""
    events: Count
    subjects: Count
    detections: Count
    muted: MutingSummary
    shadow: Count
    """Detections of shadow patterns."""
    insufficient: Count
    checked: tuple[Checked, ...]
    repeated: Count
    """Events that came twice with the same content."""
    after_as_of: Count
    bad: Count
    skipped: Mapping[str, Count]
    """What was left out of the input, by what it was: files, records and objects that became no event."""
    unused_readings: list[UnusedReading]
    """Readings of scorers that do not count here."""
    evaluated: Annotated[Mapping[str, Any], EvaluateSummary] | None
    unmeasured: list[Unmeasured]
    unknown_readings: tuple[Unread, ...]
    """Names that are near a known signal."""


class InsufficientRecord(RecordStruct):
    """A pattern that had too little to answer for a history."""

    RECORD = "insufficient"

    pattern: Name
    source: str
    subject: Name
    history: Mapping[str, Value]
    have: Value | None
    """What there was."""
    need: Value | None
    """What the pattern needs before it can answer."""
    reason: str


def insufficient_record(insufficient: Insufficient) -> InsufficientRecord:
    """The record of a history about which a pattern cannot say yes or no."""
    history = dict(zip(insufficient.program.group_by, insufficient.key, strict=True))
    return InsufficientRecord(
        pattern=insufficient.program.name,
        source=insufficient.source,
        subject=str(history["subject"]),
        history=history,
        have=insufficient.have,
        need=insufficient.need if insufficient.need > 1 else None,
        reason=insufficient.reason,
    )


def summed_up(
    library: Library,
    result: SearchResult,
    gathered: Gathered,
    as_of: datetime | None,
    names: Collection[str],
) -> Analysis:
    """What was found of the patterns asked for; `events` are all that were read.

    `names` are the signals that an event up to the moment has a reading of.
    """
    chosen = {program.name: program for program in library.programs if library.is_chosen(program)}
    detections = swarms(detection for detection in result.detections if detection.pattern in chosen)
    lacking = result.insufficient.of(chosen)
    sources = gathered.events.counts("source", "timed")
    untimed = frozenset(source for source, has_times in sources if not has_times)
    return Analysis(
        detections=tuple(item for item in detections if item.status != "shadow"),
        kept=tuple(item for item in detections if item.status == "shadow"),
        insufficient=lacking,
        checked=checked_patterns(chosen, result.checked, detections, lacking, names),
        as_of=as_of,
        events=len(gathered.events),
        subjects=0,
        repeated=gathered.repeated,
        bad=gathered.bad,
        bad_count=gathered.bad_count,
        skipped=dict(gathered.skipped),
        untimed=untimed,
        is_untimed=bool(untimed) and len(untimed) == len(sources),
    )


def checked_patterns(
    chosen: Mapping[str, Program],
    histories: Mapping[str, int],
    detections: Iterable[Detection],
    insufficient: InsufficientHistories,
    names: Collection[str],
) -> tuple[Checked, ...]:
    """What became of every pattern that was asked for."""
    counter = Counter(detection.pattern for detection in detections)
    lacking: Counter[str] = Counter()
    for (name, _), n in insufficient.counts().items():
        lacking[name] += n
    return tuple(
        Checked(
            name,
            histories.get(name, 0),
            counter[name],
            lacking[name],
            () if counter[name] else missing(chosen[name], names),
        )
        for name in sorted(chosen)
    )
