"""Analyze: events in, detections out, with what was quiet and what could not be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ..config import Loaded, Settings
from ..detections.find import find
from ..errors import BadUsage, Fault
from ..ingest import Batch, Limits, events_of, in_order, read_events
from ..library.load import Library, load_patterns
from ..library.settings_check import check_patterns
from ..library.vocabulary import known_ranges, load_vocabulary
from ..records import EPOCH, Detection, Event, format_time, parse_time, rank
from ..records.mute import Muting
from ..shapes.finding import Insufficient
from ..shapes.history import CAP
from ..shapes.program import Program
from ..signals import Measurer, Options, plan
from .scorers import only_scorers
from .traces import Traces, trace
from .unread import Unread, unread


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one pattern: in how many histories it was looked for, and what came of it."""

    pattern: str
    histories: int
    detections: int
    insufficient: int

    @property
    def quiet(self) -> bool:
        """Whether nothing was found, and something could have been."""
        return not self.detections and self.histories > self.insufficient


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found. Iterating gives the detections; `kept` are those of patterns under test.

    `as_of` is None where nothing was asked about and there was no event to take it from.
    """

    detections: tuple[Detection, ...]
    kept: tuple[Detection, ...]
    insufficient: tuple[Insufficient, ...]
    checked: tuple[Checked, ...]
    as_of: datetime | None
    events: int
    subjects: int
    repeated: int = 0
    after_as_of: int = 0
    bad: tuple[Fault, ...] = ()
    bad_count: int = 0
    unused: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unmeasured: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unknown: tuple[Unread, ...] = ()
    traces: Traces = field(default_factory=Traces)
    muting: Muting = field(default_factory=Muting)

    def __iter__(self) -> Iterator[Detection]:
        return iter(self.detections)

    def __len__(self) -> int:
        return len(self.detections)

    def at_or_above(self, level: str) -> list[Detection]:
        """The detections at this level or a graver one."""
        return [one for one in self.detections if rank(one.level) >= rank(level)]

    def to_dicts(self, *, muted: bool = False) -> Iterator[dict[str, Any]]:
        """JSON records: detections, muted ones if asked for, insufficient ones, then one summary."""
        for one in self.detections:
            yield one.to_dict()
        for one, by in self.muting.muted if muted else ():
            yield {**one.to_dict(), "muted": by}
        for lacking in self.insufficient:
            yield insufficient_to_dict(lacking)
        yield self.summary()

    def summary(self) -> dict[str, Any]:
        """Counts of what was read, checked and left out."""
        return {
            "record": "summary",
            "as_of": None if self.as_of is None else format_time(self.as_of),
            "events": self.events,
            "subjects": self.subjects,
            "detections": len(self.detections),
            "muted": self.muting.summary(),
            "under_test": len(self.kept),
            "insufficient": len(self.insufficient),
            "checked": [
                {
                    "pattern": one.pattern,
                    "histories": one.histories,
                    "detections": one.detections,
                    "insufficient": one.insufficient,
                }
                for one in self.checked
            ],
            "repeated": self.repeated,
            "after_as_of": self.after_as_of,
            "bad": self.bad_count,
            "unused_readings": [
                {"signal": signal, "scorer": scorer, "count": count}
                for (signal, scorer), count in sorted(self.unused.items())
            ],
            "unmeasured": [
                {"signal": signal, "reason": reason, "count": count}
                for (signal, reason), count in sorted(self.unmeasured.items())
            ],
            "unknown_readings": [
                {"signal": one.signal, "count": one.count, "near": list(one.near)} for one in self.unknown
            ],
        }


def insufficient_to_dict(one: Insufficient) -> dict[str, Any]:
    """The JSON form of a history about which a pattern cannot say yes or no."""
    history = dict(zip(one.program.history, one.key, strict=True))
    return {
        "record": "insufficient",
        "pattern": one.program.name,
        "source": one.source,
        "subject": history["subject"],
        "history": history,
        "have": one.have,
        "need": one.need if one.need > 1 else None,
        "reason": one.reason,
    }


Source = str | Path | Iterable[Event] | Iterable[Mapping[str, Any]]


def analyze(
    events: Source,
    patterns: Sequence[str | Path] | Library | None = None,
    *,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    skip_bad: bool = False,
) -> Analysis:
    """Look for patterns in events: Event objects, dicts as in an event line, or a path to read.

    `patterns` are files, folders, names or globs; without any, those that are on by default. `as_of` is
    the moment of the question, with a time zone or as ISO text (default: the newest event). Nothing is
    kept.

    >>> analyze([], patterns=["love_bombing"]).detections
    ()
    """
    settings = settings or Settings()
    library = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
    moment = _moment(as_of)
    batch = _batch(events, library, settings, skip_bad)
    return analyze_batch(batch, library, as_of=moment, settings=settings)


def _moment(given: object) -> datetime | None:
    if isinstance(given, str):
        try:
            return parse_time(given)
        except ValueError as error:
            raise BadUsage(f"as_of: {error}") from None
    if given is None or isinstance(given, datetime):
        return given
    raise BadUsage(f"as_of takes a datetime or ISO text like 2026-01-31T12:00:00Z; here is {given!r:.80}")


def load_library(patterns: Sequence[str | Path] | str | Path | None, settings: Settings | Loaded) -> Library:
    """The patterns asked for, with the overlays of the settings.

    Given with their origins, a mistake in them is BadConfig that says where it was made.
    """
    chosen = [patterns] if isinstance(patterns, (str, Path)) else patterns
    if isinstance(settings, Loaded):
        check_patterns(settings, chosen)
        settings = settings.settings
    return load_patterns(
        chosen,
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        status=settings.status,
    )


def _batch(events: Source, library: Library, settings: Settings, skip_bad: bool) -> Batch:
    limits = Limits(**settings.limits)
    common = {
        "source": settings.source,
        "skip_bad": skip_bad,
        "kinds": library.kinds,
        "ranges": known_ranges(),
        "limits": limits,
    }
    if isinstance(events, (str, Path)):
        return read_events([events], **common)  # type: ignore[arg-type]
    if isinstance(events, (bytes, Mapping, Event)) or not isinstance(events, Iterable):
        raise BadUsage(
            f"events are a path, or a list of Event objects or of dicts; here is {type(events).__name__}"
        )
    given = list(events)
    if all(isinstance(one, Event) for one in given):
        ordered = in_order(given)  # type: ignore[arg-type]
        repeated = len(given) - len(ordered)
        timed = any(one.timed for one in ordered)
        return Batch(tuple(ordered), (), 0, repeated, timed, 0)
    if any(isinstance(one, Event) for one in given):
        raise BadUsage("events are all Event objects or all dicts, not a mixture")
    return events_of(given, **common)  # type: ignore[arg-type]


def analyze_batch(
    batch: Batch,
    library: Library,
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    cap: int = CAP,
    runner: str = "stream",
    traced: bool = False,
) -> Analysis:
    """The analysis of events that were read already; `traced` keeps what a chart of it needs."""
    settings = settings or Settings()
    asked = as_of or max((event.at for event in batch.events), default=EPOCH)
    if asked.tzinfo is None:
        raise BadUsage("as_of needs a time zone: datetime(..., tzinfo=UTC)")
    programs = library.programs
    events = [event for event in batch.events if event.at <= asked]
    supplied, unused = only_scorers(events, settings.scorers)
    measured, unmeasured = measured_events(supplied, programs, settings)
    scored, not_ours = only_scorers(measured, settings.scorers)
    found = find(programs, scored, as_of=asked, cap=cap, runner=runner)
    chosen = {program.name: program for program in programs if library.is_chosen(program)}
    told = [one for one in found.detections if one.pattern in chosen]
    lacking = tuple(one for one in found.insufficient if one.program.name in chosen)
    return Analysis(
        detections=tuple(one for one in told if one.status != "test"),
        kept=tuple(one for one in told if one.status == "test"),
        insufficient=lacking,
        checked=_checked(chosen, found.checked, told, lacking),
        as_of=asked if as_of or batch.events else None,
        events=len(events),
        subjects=len({(event.source, event.subject) for event in events}),
        repeated=batch.repeated,
        after_as_of=len(batch.events) - len(events),
        bad=batch.bad,
        bad_count=batch.bad_count,
        unused=dict(unused + not_ours),
        unmeasured=dict(unmeasured),
        unknown=unread(events, batch.strays, programs, load_vocabulary(settings.signals)),
        traces=trace(told, scored, asked) if traced else Traces(),
    )


def measured_events(
    events: list[Event], programs: Iterable[Program], settings: Settings
) -> tuple[list[Event], Mapping[tuple[str, str], int]]:
    """Events with the readings of every signal of ours that a program names, and why some are lacking."""
    names = {name for program in programs for name in names_used(program)}
    if not plan(names):
        return events, {}
    options = Options(time_zone=settings.time_zone, session_inactivity=settings.session_inactivity)
    measurer = Measurer(names, options)
    return [measurer.measure(event) for event in events], measurer.unmeasured


def names_used(program: Program) -> set[str]:
    """Signals a program reads anywhere, in its shape or in what a detection says."""
    from ..shapes.tree import Signal
    from ..shapes.walk import named

    used = set(named((program.body, program.confidence, program.levels, program.details), Signal))
    return used | set(named(program.explanation, Signal)) | set(program.history)


def _checked(
    chosen: Mapping[str, Program],
    histories: Mapping[str, int],
    detections: Iterable[Detection],
    insufficient: Iterable[Insufficient],
) -> tuple[Checked, ...]:
    found = Counter(one.pattern for one in detections)
    lacking = Counter(one.program.name for one in insufficient)
    return tuple(Checked(name, histories.get(name, 0), found[name], lacking[name]) for name in sorted(chosen))
