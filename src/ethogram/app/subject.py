"""Where a subject stands: activity, readings, detections, partial matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from ..config import Settings
from ..engine.live.engine import Stream
from ..engine.live.groups import Track, Watched
from ..engine.live.sequence import Link, SequenceMachine
from ..engine.plain import Matcher
from ..engine.values import mean, rise, tau
from ..errors import BadUsage, did_you_mean
from ..fields import Count, Name, Ratio, RecordStruct, one_of
from ..language.ast import Duration, Events, Limits
from ..language.history import CAP, History, histories
from ..language.program import Program, SequenceProgram
from ..language.templates import rounded
from ..models import Detection, Event, Value, micros
from ..models.record import Record
from ..models.slotted import dataclass, field
from ..patterns.library import Library
from ..store.protocol import Store, SubjectRow
from .readings import measured_events, only_scorers

# Stages: how far a sequence has come in a history and could still go on from.


@dataclass(frozen=True, slots=True)
class Stage(Record):
    """A sequence under way: so many of its steps were reached, the last at `at`, the first at `since`.

    A step that must be met three times counts as three. `next` is the step it waits for.
    """

    pattern: str
    title: str
    history: Mapping[str, Value]
    reached: Count
    steps: Count
    step: str
    next: str
    since: datetime
    at: datetime
    event: str


def stages(programs: Sequence[Program], events: Sequence[Event], as_of: datetime) -> Iterator[Stage]:
    """Every sequence that has begun and could still be completed, the furthest of each history."""
    for program in programs:
        if not isinstance(program.body, SequenceProgram):
            continue
        for history in histories(program, events):
            if program.timed_only and not history.timed:
                continue
            stage = _stage(program, program.body, history, micros(as_of))
            if stage is not None:
                yield stage


def _stage(program: Program, body: SequenceProgram, history: History, now: int) -> Stage | None:
    matcher = Matcher(body, history, CAP)
    for _ in matcher.firings():
        pass
    for place in reversed(range(len(body.places) - 1)):
        latest = matcher.latest[place]
        if latest is None:
            continue
        positions = matcher.positions(place, latest)
        if positions[0] > matcher.last_fired and _goes_on(matcher, place, positions, now):
            return Stage(
                pattern=program.name,
                title=program.title,
                history=dict(zip(program.group_by, history.key, strict=True)),
                reached=place + 1,
                steps=len(body.places),
                step=body.places[place].step,
                next=body.places[place + 1].step,
                since=history.events[positions[0]].at,
                at=history.events[latest].at,
                event=history.events[latest].id,
            )
    return None


def _goes_on(matcher: Matcher, place: int, positions: list[int], now: int) -> bool:
    """Whether an event that came now could be the next place."""
    history, following = matcher.history, matcher.body.places[place + 1]
    latest, coming = positions[-1], len(matcher.history.events)
    if following.max_gap is not None and coming - latest - 1 > following.max_gap:
        return False
    if matcher.last_never[place + 1] > latest or not _holds(
        history, following.within, latest, coming, now, 0
    ):
        return False
    return _holds(history, matcher.body.within, positions[0], coming, now, 1)


def _holds(history: History, limits: Limits, start: int, coming: int, now: int, ends: int) -> bool:
    for limit in limits:
        if isinstance(limit, Events) and coming - start + ends > limit.n:
            return False
        if isinstance(limit, Duration) and history.timed and now - history.times[start] > limit.us:
            return False
    return True


# Where a subject stands: what it did, where its readings go, what was detected, what is under way.

Trend = Annotated[str, one_of("rising", "falling", "steady", "")]
LAST = 50
"""Readings that averages and trends are taken over."""
STEADY = 0.2
"""A tau of less than this, either way, is no trend."""


@dataclass(frozen=True, slots=True)
class SignalContext(Record):
    """One signal of a subject over its newest readings. A category has `values`, a number the rest.

    `rise` is what a straight line through them gains, `tau` from -1 (always falling) to 1 (always rising).
    """

    JSON = "signal count latest values mean rise tau trend"
    OPTIONAL = ("values", "mean", "rise", "tau", "trend")

    signal: Name
    count: Count
    latest: Value
    mean: float | None = None
    rise: float | None = None
    tau: float | None = None
    values: Mapping[str, Count] = field(default_factory=dict)

    @property
    def trend(self) -> Trend:
        """rising, falling or steady; '' where there is none to speak of."""
        if self.tau is None:
            return ""
        return "steady" if abs(self.tau) < STEADY else "rising" if self.tau > 0 else "falling"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        names = ("mean", "rise", "tau", "trend") if self.values else ("values",)
        return {name: value for name, value in Record.to_dict(self).items() if name not in names}


@dataclass(frozen=True, slots=True)
class SubjectContext(Record):
    """What a subject did, where its readings go, what was detected."""

    RECORD = "subject"
    OMITTED = ("risk",)

    source: str
    subject: Name
    as_of: datetime
    events: Count
    timed: bool
    first_at: datetime | None
    last_at: datetime | None
    kinds: Mapping[str, Count]
    targets: Mapping[str, Count]
    threads: Count
    signals: tuple[SignalContext, ...]
    detections: tuple[Detection, ...]
    stages: tuple[Stage, ...]
    risk: Ratio | None = None
    """Filled by `ethogram subject`."""


class SubjectRowRecord(RecordStruct):
    """A subject of a store, in a line."""

    RECORD = "subject_row"

    source: str
    subject: Name
    events: Count
    timed: bool
    first_at: datetime
    last_at: datetime
    detections: Count


def subject_context(
    store: Store,
    source: str,
    name: str,
    as_of: datetime,
    *,
    library: Library | None = None,
    settings: Settings | None = None,
) -> SubjectContext:
    """Where a subject stands at a moment, from the store alone; of a subject without events, an empty one.

    `library` are the patterns whose stages are told; without it none are. Detections are those that sweeps
    kept; what was detected later than `as_of` is left out.
    """
    settings = settings or Settings()
    programs = (
        [] if library is None else [program for program in library.programs if library.is_chosen(program)]
    )
    staged = [program for program in programs if isinstance(program.body, SequenceProgram)]
    value = list(store.events([(source, name)], until=as_of))
    supplied, _ = only_scorers(value, settings.scorers)
    measured, _ = measured_events(supplied, staged, settings)
    events, _ = only_scorers(measured, settings.scorers)
    kept = store.detections(subjects=[(source, name)], parts=False)
    told = [item for item in kept if item.detected_at <= as_of and item.status != "shadow"]
    if told and store.has_verdicts():
        from .accuracy import with_probabilities  # which brings in numpy

        told = with_probabilities(told, store, settings)
    return SubjectContext(
        source=source,
        subject=name,
        as_of=as_of,
        events=len(events),
        timed=all(event.timed for event in events),
        first_at=events[0].at if events else None,
        last_at=events[-1].at if events else None,
        kinds=_counted(event.kind for event in value),
        targets=_counted(event.target for event in events if event.target is not None),
        threads=len({event.thread for event in events if event.thread is not None}),
        signals=tuple(signal_contexts(events)),
        detections=tuple(told),
        stages=tuple(stages(staged, events, as_of)),
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def signal_contexts(events: Sequence[Event], last: int = LAST) -> list[SignalContext]:
    """Every signal the events carry, by name."""
    readings: dict[str, list[Value]] = {}
    for event in events:
        for signal, value in event.readings.items():
            readings.setdefault(signal, []).append(value)
    return [_signal(name, values, last) for name, values in sorted(readings.items())]


def _signal(name: str, values: list[Value], last: int) -> SignalContext:
    newest = values[-last:]
    numbers = [float(item) for item in newest if not isinstance(item, str)]
    if len(numbers) < len(newest):
        return SignalContext(name, len(values), values[-1], values=_counted(str(item) for item in newest))
    middle, gained, order = (rounded(measure(numbers)) for measure in (mean, rise, tau))
    return SignalContext(name, len(values), values[-1], middle, gained, order)


def find_subject(store: Store, name: str, source: str | None = None) -> SubjectRow:
    """The one subject of that name; BadUsage where there is none, or one in each of several sources."""
    found = store.subjects(name, source)
    if len(found) == 1:
        return found[0]
    if found:
        sources = ", ".join(item.source for item in found)
        raise BadUsage(f"{name!r:.80} is a subject of several sources ({sources}); say which with --source")
    every = [source.name for source in store.sources().values()]
    if source is not None and source not in every:
        near = did_you_mean(source, every) or f"; there are {', '.join(every[:5])}"
        raise BadUsage(f"no source {source!r:.80} in the store{near}")
    known = [subject.name for subject in store.subjects(source=source)]
    raise BadUsage(f"no subject {name!r:.80} in the store{did_you_mean(name, known)}")


# Progress: how far sequences have come that have not fired.


@dataclass(frozen=True, slots=True)
class Progress(Record):
    """How far a sequence that has not fired has come in one history.

    `stage` counts whole steps, `events` matched events, `since` and `last` are the times of the first and the
    newest of them.
    """

    RECORD = "progress"

    pattern: Name
    source: str
    history: dict[str, Value]
    stage: Count
    of: Count
    step: str
    events: Count
    since: datetime
    last: datetime


def progress_of(stream: Stream, subject: str, source: str | None) -> list[Progress]:
    """Every sequence that has come some way in a history of the subject."""
    stream.cells.write_all()
    return [
        item
        for track in stream.tracks
        if isinstance(track.machine, SequenceMachine)
        for watched in track.watched.values()
        if watched.key[1 + track.subject] == subject and source in (None, watched.key[0])
        for item in _standing(track, watched)
    ]


def _standing(track: Track, watched: Watched) -> Iterator[Progress]:
    """The furthest chain that could still become a detection, if there is one."""
    machine: SequenceMachine = track.machine
    rows, places = watched.rows, machine.body.places
    for i in range(len(places) - 1, -1, -1):
        link: Link | None = watched.state.standing[i]
        if link is None or link.first.position <= watched.state.fired:
            continue
        first = link.first
        if not machine.goes_on(i, link, rows):
            continue
        if not machine.within.holds(rows.n - first.position, rows.us - first.mark.us, rows.timed):
            continue
        step = places[i].step
        is_whole = i + 1 == len(places) or places[i + 1].step != step
        yield Progress(
            pattern=track.program.name,
            source=watched.key[0],
            history=dict(zip(track.program.group_by, watched.key[1:], strict=True)),
            stage=machine.steps[i] + is_whole,
            of=machine.steps[-1] + 1,
            step=step,
            events=i + 1,
            since=first.mark.at,
            last=link.seen.mark.at,
        )
        return
