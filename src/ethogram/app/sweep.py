"""Sweep: look again at every subject of a store with something new."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from ..config import Settings
from ..engine.combination import combine, parts_meant
from ..engine.contagion import Contacts, contacts, spread
from ..engine.detect import by_depth, find
from ..engine.history import CAP, History, histories
from ..engine.live.expressions import number, read_at
from ..errors import BadUsage
from ..fields import Count, RecordStruct
from ..ingest.collector import latest_time
from ..language.ast import Spread
from ..language.program import Program, SilenceProgram
from ..models import Detection, Event, format_time, micros, rank, stable_hash
from ..models.detection import STANDING
from ..models.mute import Mute
from ..models.slotted import dataclass, replace
from ..patterns.library import Library
from ..signals import Options, plan
from ..store.protocol import Change, Held, Store, SubjectRow, Swept, SweptDetection, Who
from .analyze import measured_events
from .mute import evidence_events, mutes
from .readings import is_bare_step, needed, only_scorers, reads_steps, reads_text, said_again
from .stored_events import as_read

# Comparing: what was kept of a subject with what is found now.


def compare(
    saved: Iterable[Detection],
    detections: Iterable[Detection],
    programs: Sequence[Program],
    purged_before: int | None = None,
) -> Iterator[tuple[str, Detection]]:
    """Each change with the detection as it is now; '' for one that only grew.

    What is no longer found was undone by late events (withdrawn) or by another version of the pattern
    (superseded). What began before events were purged cannot be found again, and stays as it was.
    """
    versions = {program.name: program.version for program in programs}
    before = {item.id: item for item in saved}
    now = {item.id: item for item in detections}
    for item in now.values():
        yield from ((change, item) for change in changes_of(before.get(item.id), item))
    for item in before.values():
        if item.id in now or item.state not in STANDING:
            continue
        if purged_before is not None and micros(item.opened_at) < purged_before:
            continue
        state = "withdrawn" if item.version == versions.get(item.pattern) else "superseded"
        yield state, replace(item, state=state)


def changes_of(before: Detection | None, now: Detection) -> list[str]:
    """What happened to a detection, '' where it only grew, nothing where it is the same."""
    if before is None:
        return ["new"]
    if before.state not in STANDING:
        return ["found again"]
    changes = []
    if rank(now.severity) > rank(before.severity):
        changes.append("risen")
    if before.state == "opened" and now.state == "closed":
        changes.append("closed")
    if not changes and before.to_dict() != now.to_dict():
        changes.append("")
    return changes


# When a silence would begin if nothing came: then a subject has to be looked at, though it did nothing.

LATEST = 2**62


def next_due(
    programs: Sequence[Program], events: Sequence[Event], as_of: datetime, cap: int
) -> dict[Who, int]:
    """The first deadline of each subject that has not passed at `as_of`, in microseconds since 1970."""
    due: dict[Who, int] = {}
    now = micros(as_of)
    for program in programs:
        if not isinstance(program.body, SilenceProgram):
            continue
        for history in histories(program, events, cap):
            if program.timed_only and not history.timed:
                continue
            deadline = deadline_of(program.body, history)
            if deadline is not None and now <= deadline < LATEST:
                who = (history.source, history.events[-1].subject)
                due[who] = min(deadline, due.get(who, deadline))
    return due


def deadline_of(body: SilenceProgram, history: History) -> int | None:
    """When the silence after the last event would be too long, or None where it never is."""
    last = len(history.events) - 1
    if last < body.at_least - 1:
        return None
    if body.after is not None and read_at(body.after, history, last) is not True:
        return None
    seconds = number(read_at(body.longer_than, history, last))
    if seconds is None or seconds < 0 or seconds > LATEST / 1e6:
        return None
    return history.times[last] + round(seconds * 1e6)


# Spread in a sweep: it joins detections of several subjects, so it runs over what is kept of a source.

PENDING = "sweep: sources"


def reaches_others(program: Program, programs: Sequence[Program]) -> bool:
    """Whether a program joins detections of several subjects, by itself or through a part."""
    if isinstance(program.body, Spread):
        return True
    parts = [item for item in programs if item.name != program.name and parts_meant(program.parts, item.name)]
    return any(reaches_others(part, programs) for part in parts)


def sweep_neighbours(
    looking: Looking, touched: Iterable[str], lock: Held, clock: Callable[[], datetime]
) -> None:
    """Write what became of spreads, and of what is made of them, in each source where something changed."""
    programs = [item for item in by_depth(looking.programs) if reaches_others(item, looking.programs)]
    if not programs:
        return
    sources = looking.store.sources()
    for source in sorted({*touched, *_ending(looking, programs)} & sources.keys()):
        seen: list[Detection] | None = None
        for program in programs:
            if program.timed_only and not sources[source].timed:
                continue
            if seen is None:
                seen = _seen(looking, programs, source)
            detections = _found(looking, program, seen, source)
            kept = looking.store.detections(sources=[source], patterns=[program.name])
            changes = list(compare(kept, detections, [program], looking.store.purged_before()))
            if changes:
                looking.keep(changes, (), lock, clock())
            seen = [item for item in seen if item.pattern != program.name] + detections


def begun(looking: Looking, touched: set[str], at: datetime) -> set[str]:
    """Sources whose spreads are to be looked at: of this sweep, and of one killed before it could."""
    known = looking.store.load_state(PENDING, looking.selection)
    sources = touched | set(json.loads(known or b"[]"))
    if sources != set(json.loads(known or b"[]")):
        looking.store.save_state(PENDING, looking.selection, json.dumps(sorted(sources)).encode(), at)
    return sources


def ended(looking: Looking, at: datetime) -> None:
    """Forget what was begun: it is done."""
    if looking.store.load_state(PENDING, looking.selection) is not None:
        looking.store.save_state(PENDING, looking.selection, None, at)


def _seen(looking: Looking, programs: Sequence[Program], source: str) -> list[Detection]:
    wanted = [
        program.name
        for program in looking.programs
        if any(parts_meant(by.parts, program.name) for by in programs)
    ]
    return looking.store.detections(sources=[source], patterns=wanted, states=STANDING)


def _found(looking: Looking, program: Program, seen: Sequence[Detection], source: str) -> list[Detection]:
    parts = [item for item in seen if parts_meant(program.parts, item.pattern)]
    if not isinstance(program.body, Spread):
        return combine(program, parts)
    starts = {part.subject for part in parts if parts_meant((program.body.first,), part.pattern)}
    ends = {part.subject for part in parts if parts_meant((program.body.then,), part.pattern)}
    if not starts or (not ends - starts and len(starts) < 2):
        return []
    return spread(program, parts, _met(looking, source, starts | ends), looking.as_of)


def _met(looking: Looking, source: str, subjects: Iterable[str]) -> Contacts:
    """When these subjects met. An event between two of them is one of theirs, so no other need be read."""
    whose = [(source, name) for name in sorted(subjects)]
    events = looking.store.events(whose, until=looking.as_of)
    return contacts(sorted(events, key=lambda event: event.order))


def _ending(looking: Looking, programs: Sequence[Program]) -> set[str]:
    """Sources with an open spread whose time is over."""
    limits = {program.name: program.body.within for program in programs if isinstance(program.body, Spread)}
    opened = looking.store.detections(patterns=limits, states=["opened"])
    now = micros(looking.as_of)
    return {
        item.source
        for item in opened
        if item.evidence and now > micros(item.evidence[0].at) + limits[item.pattern]
    }


# Sweep: every subject with something new looked at again from the store, and each change told once.

MOST_EVENTS = 20_000
MOST_SUBJECTS = 500
"""A chunk is closed when it has so many of either: that much is in memory at once."""

Clock = Callable[[], datetime]


class SweepRecord(RecordStruct):
    """What a sweep looked at: its last line."""

    RECORD = "sweep"

    as_of: datetime
    subjects: Count
    events: Count
    insufficient: Count
    muted: Count
    without_text: tuple[str, ...]
    changes: dict[str, Count]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep did. `changes` are those nobody was told of yet, also of a sweep that was killed."""

    as_of: datetime
    changes: tuple[Change, ...]
    subjects: int
    events: int
    insufficient: int
    muted: tuple[Change, ...] = ()
    without_text: tuple[str, ...] = ()
    """Patterns that read texts, or steps of runs, where the store keeps none: they have nothing to go by."""

    def summary(self) -> SweepRecord:
        """What was looked at, and how many changes of each kind there were."""
        return SweepRecord(
            as_of=self.as_of,
            subjects=self.subjects,
            events=self.events,
            insufficient=self.insufficient,
            muted=len(self.muted),
            without_text=self.without_text,
            changes=dict(sorted(Counter(change.change for change in self.changes).items())),
        )

    def at_or_above(self, severity: str) -> list[Change]:
        """Changes that tell of a detection at this severity or a graver one: not those that take one back."""
        rising = [change for change in self.changes if change.change in ("new", "found again", "risen")]
        return [item for item in rising if rank(item.detection.severity) >= rank(severity)]


@dataclass(frozen=True, slots=True)
class Looking:
    """One sweep: what it looks for, and as of when.

    `selection` stands for the names of its patterns, `versions` for what they say and how events are read.
    """

    store: Store
    library: Library
    programs: tuple[Program, ...]
    settings: Settings
    as_of: datetime
    selection: str
    versions: str

    def found(self, detection: Detection) -> SweptDetection:
        """A detection, with whether it was asked for or is only a part."""
        return SweptDetection(detection, part=detection.pattern not in self.chosen)

    @property
    def chosen(self) -> frozenset[str]:
        return frozenset(program.name for program in self.programs if self.library.is_chosen(program))

    def keep(
        self, changes: Sequence[tuple[str, Detection]], swept: Sequence[Swept], lock: Held, at: datetime
    ) -> None:
        """Write in one commit, if the lock is still ours."""
        found = [(change, self.found(item)) for change, item in changes]
        self.store.save_sweep(
            self.selection, self.versions, self.as_of, detections=found, swept=swept, lock=lock, at=at
        )


def sweep(
    store: Store,
    library: Library,
    *,
    as_of: datetime,
    clock: Clock,
    settings: Settings | None = None,
    since: datetime | None = None,
    min_events: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """What changed since the last sweep, written to the store before it is told.

    Looks at subjects with something new, and with a silence that is due by `as_of`; with `since`, at all with
    an event from then on. The caller tells the changes, then calls `store.mark_reported`. `clock` is for the
    lock, and no sweep is as of a moment more than `settings.max_future` ahead of it.
    """
    settings = settings or Settings()
    looking = look(store, library, settings, as_of)
    _check_moment(as_of, store.last_sweep(), clock(), settings.max_future)
    lock = store.lock("sweep", clock())
    try:
        return _sweep(looking, lock, clock, since, min_events, progress)
    finally:
        store.unlock(lock)


def _check_moment(as_of: datetime, last: datetime | None, now: datetime, max_future: int | None) -> None:
    """BadUsage where a sweep as of this moment would block all later ones, or goes back behind the last."""
    latest = latest_time(now, max_future)
    if latest is not None and as_of > latest:
        raise BadUsage(
            f"as of {format_time(as_of)} is in the future: expected a time up to {format_time(latest)}; "
            "it would block every sweep before it (to raise it: max_future: ... in ethogram.yaml)"
        )
    if last is None or as_of >= last:
        return
    if last > now:
        raise BadUsage(
            f"the last sweep was as of {format_time(last)}, which is in the future: a clock was wrong then. "
            "ethogram sweep --reset-clock forgets that moment, keeps every detection, and looks at everybody "
            "again"
        )
    raise BadUsage(
        f"the last sweep was as of {format_time(last)}, and a sweep goes forward only; to look back, "
        f"use ethogram analyze --store with --as-of {format_time(as_of)}"
    )


def reset_clock(store: Store, now: datetime) -> int:
    """Forget sweeps as of later than now; how many subjects the next one looks at again.

    What they found is kept, and withdrawn by the next sweep where it does not hold.
    """
    lock = store.lock("sweep", now)
    try:
        return store.reset_sweeps(now)
    finally:
        store.unlock(lock)


def look(store: Store, library: Library, settings: Settings, as_of: datetime) -> Looking:
    """What a sweep of these patterns looks for."""
    programs = library.programs
    names = sorted(program.name for program in programs)
    content = [
        stable_hash(program.to_json()) for program in sorted(programs, key=lambda program: program.name)
    ]
    ours = [f"{item.name}@{item.version}" for item in plan(needed(programs))]
    how = [dict(settings.scorers), asdict(Options.of(settings)), ours]
    selection, versions = stable_hash("sweep", names)[:16], stable_hash(content, how)[:16]
    return Looking(store, library, programs, settings, as_of, selection, versions)


def _sweep(
    looking: Looking,
    lock: Held,
    clock: Clock,
    since: datetime | None,
    min_events: int,
    progress: Callable[[int, int], None] | None,
) -> Sweep:
    store, as_of = looking.store, looking.as_of
    threads = any(item.scope == "thread" for item in plan(needed(looking.programs)))
    touched = store.touched(
        looking.selection, looking.versions, as_of, since=since, min_events=min_events, threads=threads
    )
    sources = begun(looking, {item.source for item in touched}, clock())
    alone = [program for program in looking.programs if not reaches_others(program, looking.programs)]
    done = events = lacking = 0
    bare_runs = False
    again = said_again(
        store.events(until=as_of), looking.programs, looking.settings, {item.who for item in touched}
    )
    for chunk in chunks(touched):
        seen = chunk_events(looking, chunk, again, threads=threads)
        bare_runs = bare_runs or any(map(is_bare_step, seen))
        found = find(alone, seen, as_of=as_of)
        whose = [item.who for item in chunk]
        kept = store.detections(subjects=whose, patterns=[item.name for item in alone])
        changes = list(compare(kept, found.detections, alone, store.purged_before()))
        looking.keep(changes, list(_swept(looking, chunk, alone, seen)), lock, clock())
        done, events, lacking = done + len(chunk), events + len(seen), lacking + len(found.insufficient)
        if progress is not None:
            progress(done, len(touched))
    sweep_neighbours(looking, sources, lock, clock)
    ended(looking, clock())
    store.close_sweep(looking.selection, looking.versions, as_of, clock())
    chosen = [program for program in looking.programs if program.name in looking.chosen]
    reading = {item.name for item in chosen if reads_text(item)}
    blind = reading if reading and not any(event.text for event in store.events(until=as_of)) else set()
    blind |= {item.name for item in chosen if bare_runs and reads_steps(item)}
    return Sweep(as_of, tuple(store.unreported()), done, events, lacking, without_text=tuple(sorted(blind)))


def mute_changes(done: Sweep, entries: Sequence[Mute], store: Store, now: datetime) -> Sweep:
    """The sweep with the changes that an entry mutes at this moment set apart."""
    active = [entry for entry in entries if not entry.is_expired(now)]
    if not active or not done.changes:
        return done
    detections = [change.detection for change in done.changes]
    known: Mapping[tuple[str, str], Event] = {}
    if any({"path", "command"} & item.asks.keys() for item in active):
        known = evidence_events(
            detections, store.events({(item.source, item.subject) for item in detections})
        )
    muted = [
        change for change in done.changes if any(mutes(entry, change.detection, known) for entry in active)
    ]
    changes = tuple(change for change in done.changes if change not in muted)
    return replace(done, changes=changes, muted=tuple(muted))


def chunks(subjects: Sequence[SubjectRow]) -> Iterator[list[SubjectRow]]:
    """Subjects in pieces of a bounded number of events; one with more than that is a piece by itself."""
    piece: list[SubjectRow] = []
    total = 0
    for subject in subjects:
        if piece and (total + subject.events > MOST_EVENTS or len(piece) >= MOST_SUBJECTS):
            yield piece
            piece, total = [], 0
        piece.append(subject)
        total += subject.events
    if piece:
        yield piece


def chunk_events(
    looking: Looking, chunk: Sequence[SubjectRow], again: Mapping[Who, Event], *, threads: bool
) -> Sequence[Event]:
    """The events of these subjects with all readings, in order."""
    whose: set[Who] = {item.who for item in chunk}
    if threads:
        # What others did in a thread may be in the readings of these.
        events = looking.store.thread_mates(sorted(whose), looking.as_of)
    else:
        events = sorted(looking.store.events(whose, until=looking.as_of), key=lambda event: event.order)
    events = [again.get((event.source, event.id), event) for event in events] if again else events
    read = as_read(events, needed(looking.programs))
    supplied, _ = only_scorers(read, looking.settings.scorers)
    measured, _ = measured_events(supplied, looking.programs, looking.settings)
    own = [event for event in measured if (event.source, event.subject) in whose]
    return only_scorers(own, looking.settings.scorers)[0]


def _swept(
    looking: Looking, chunk: Sequence[SubjectRow], programs: Sequence[Program], events: Sequence[Event]
) -> Iterator[Swept]:
    due = next_due(programs, events, looking.as_of, CAP)
    for item in chunk:
        yield Swept(item.who, item.changed, due.get(item.who))
