"""Where a subject stands: activity, readings, detections, partial matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from ..config import Settings
from ..engine.aggregates import mean, rise, tau
from ..engine.history import History, Seen, histories
from ..engine.live.engine import Engine
from ..engine.live.sequence import Link, Replay, SequenceState
from ..engine.live.sequence import Sequence as SequenceMachine
from ..errors import BadUsage, NotFound, did_you_mean
from ..fields import Count, Name, Ratio, RecordStruct, one_of
from ..language.program import Program, SequenceProgram
from ..language.templates import rounded
from ..models import Detection, Event, Value, micros
from ..models.event import millionths
from ..models.record import Record
from ..models.slotted import dataclass, field
from ..patterns.library import Library
from ..store.records import Store, SubjectRow
from .readings import scored_events

Trend = Annotated[str, one_of("rising", "falling", "steady", "")]
LAST = 50
"""Readings that averages and trends are computed over."""
STEADY = 0.2
"""A tau below this, either way, is no trend."""


@dataclass(frozen=True, slots=True)
class Progress(Record):
    """How far a sequence that has not fired has come in one history.

    `stage` counts whole steps, `events` matched events; `since` and `last` are the times of the first and the
    newest of them, `event` the newest. `step` is its step, `next` the one of the event that is to come.
    """

    RECORD = "progress"

    pattern: Name
    title: str
    source: str
    history: Mapping[str, Value]
    stage: Count
    of: Count
    step: str
    next: str
    events: Count
    since: datetime
    last: datetime
    event: str


def stages(programs: Sequence[Program], events: Sequence[Event], as_of: datetime) -> Iterator[Progress]:
    """Every partial match that could still be completed, the furthest of each history."""
    for program in programs:
        if isinstance(program.body, SequenceProgram):
            machine = SequenceMachine(program, program.body)
            for history in histories(program, events):
                if history.timed or not program.timed_only:
                    state = Replay(machine, history).state
                    yield from _progress(machine, history, state, history.n, micros(as_of))


def progress_of(engine: Engine, subject: str, source: str | None) -> list[Progress]:
    """Every partial match in a history of the subject."""
    result: list[Progress] = []
    for group in engine.groups:
        for k, machine in group.steps:
            if not isinstance(machine, SequenceMachine):
                continue
            for key, history in group.histories.items():
                if key[group.subject] == subject and source in (None, key[0]):
                    result += _progress(machine, history, history.states[k], history.n - 1, history.us)
    return result


def _progress(
    machine: SequenceMachine, history: History, state: SequenceState | None, position: int, us: int
) -> Iterator[Progress]:
    """The furthest chain that an event at this position and time could continue."""
    for i in range(len(machine.steps) - 2, -1, -1):
        link = None if state is None else state.standing[i]
        if state is None or link is None or link.first.position <= state.fired or state.blocked[i + 1]:
            continue
        now = Seen(position, link.seen.event, us, {})
        if machine.reaches(i + 1, link.seen, position, us, history.timed) and machine.inside(
            link.first, now, history.timed
        ):
            yield _progress_of_link(machine, history, link)
            return


def _progress_of_link(machine: SequenceMachine, history: History, link: Link) -> Progress:
    reached, steps = len(link.chain()), list(dict.fromkeys(machine.steps))
    step, following = machine.steps[reached - 1], machine.steps[reached]
    return Progress(
        pattern=machine.program.name,
        title=machine.program.title,
        source=history.source,
        history=dict(zip(machine.program.group_by, history.key, strict=True)),
        stage=steps.index(step) + (step != following),
        of=len(steps),
        step=step,
        next=following,
        events=reached,
        since=link.first.event.at,
        last=link.seen.event.at,
        event=link.seen.event.id,
    )


@dataclass(frozen=True, slots=True)
class SignalContext(Record):
    """One signal of a subject over its newest readings. A category has `values`, a number the rest.

    `rise` is the gain of a straight line through them, `tau` from -1 (always falling) to 1 (always rising).
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
        """rising, falling or steady; '' for a category or a single reading."""
        if self.tau is None:
            return ""
        return "steady" if abs(self.tau) < STEADY else "rising" if self.tau > 0 else "falling"

    def to_dict(self) -> dict[str, Any]:
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
    stages: tuple[Progress, ...]
    risk: Ratio | None = None
    """Filled by `ethogram store subject`."""


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
    """Where a subject stands at a moment, from the store alone; it may have no events.

    Partial matches are those of the patterns in `library`. Detections are those that sweeps saved, up to
    `as_of`.
    """
    settings = settings or Settings()
    programs = [
        program
        for program in (() if library is None else library.programs)
        if library is not None and library.is_chosen(program) and isinstance(program.body, SequenceProgram)
    ]
    stored = list(store.events([(source, name)], until=as_of, scorers=settings.scorers))
    events, _, _ = scored_events(stored, programs, settings)
    detections = [
        item
        for item in store.detections(subjects=[(source, name)], parts=False)
        if item.detected_at <= as_of and item.status != "shadow"
    ]
    if detections and store.has_verdicts():
        from .judging.accuracy import with_probabilities  # imports NumPy

        detections = with_probabilities(detections, store, settings)
    return SubjectContext(
        source=source,
        subject=name,
        as_of=as_of,
        events=len(events),
        timed=all(event.timed for event in events),
        first_at=events[0].at if events else None,
        last_at=events[-1].at if events else None,
        kinds=_counted(event.kind for event in stored),
        targets=_counted(event.target for event in events if event.target is not None),
        threads=len({event.thread for event in events if event.thread is not None}),
        signals=tuple(signal_contexts(events)),
        detections=tuple(detections),
        stages=tuple(stages(programs, events, as_of)),
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def signal_contexts(events: Sequence[Event], last: int = LAST) -> list[SignalContext]:
    """Every signal of the events, by name."""
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
    xs = [millionths(number) for number in numbers]
    n, total, weighted = len(xs), sum(xs), sum(k * x for k, x in enumerate(xs))
    gained = rise(n, total, weighted) if n > 1 else None
    return SignalContext(
        name, len(values), values[-1], rounded(mean(n, total)), rounded(gained), rounded(tau(xs))
    )


def find_subject(store: Store, name: str, source: str | None = None) -> SubjectRow:
    """The subject of that name, with events or detections.

    NotFound where there is none, BadUsage where each of several sources has one.
    """
    rows = [*store.subjects(name, source), *store.detected_subjects(name, source)]
    if len(rows) == 1:
        return rows[0]
    if rows:
        sources = ", ".join(item.source for item in rows)
        raise BadUsage(f"{name!r:.80} is a subject of several sources ({sources}): choose one with --source")
    detected = store.detected_subjects()
    every = sorted({*store.sources(), *(row.source for row in detected)})
    if source is not None and source not in every:
        near = did_you_mean(source, every) or f": expected one of {', '.join(every[:5])}"
        raise NotFound(f"no source {source!r:.80} in the store{near}")
    known = [row.name for row in (*store.subjects(), *detected) if source in (None, row.source)]
    raise NotFound(f"no subject {name!r:.80} in the store{did_you_mean(name, known)}")
