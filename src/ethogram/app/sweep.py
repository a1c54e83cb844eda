"""Sweep: look again at every subject of a store with something new, and save each change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache

from ..config import Settings
from ..engine.detect import find
from ..engine.history import CAP
from ..errors import BadUsage
from ..fields import Count, RecordStruct
from ..ingest.batch import EventSequence
from ..ingest.collector import latest_time
from ..ingest.processes import in_turn, usable_cores
from ..language.program import Program
from ..models import Detection, Event, format_time, micros, rank, stable_hash
from ..models.detection import STANDING
from ..models.mute import Mute
from ..models.slotted import dataclass, replace
from ..patterns.library import Library
from ..signals import Options, plan
from ..store import open_store
from ..store.records import Change, Held, Store, SubjectRow, Swept, SweptDetection, Who
from .changes import compare
from .lost_texts import Lost, bare_events, lost_in, without_texts
from .readings import (
    Copies,
    Marks,
    are_ours,
    needed,
    reads_all,
    reads_targets,
    said_again,
    scored_events,
)
from .stored_events import chunks, mutes_in, not_read
from .sweep_contagion import Names, reaches_others, sweep_contagion

MANY_EVENTS = 200_000
"""Events of subjects with something new from which on several processes pay off."""
LATEST = 2**62
"""Microseconds; a deadline after it never comes."""
PENDING = "sweep: sources"
"""State of a store: sources whose spreads are yet to be looked at, and their subjects that changed."""
MOST_NAMES = 1_000
"""Changed subjects of a source; where more did, all count."""
MARKS = "sweep: readings by others"
"""State of a store: a mark for each subject of the readings that depend on everybody's texts and targets.

It is missing while a sweep is under way.
"""

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
    """The result of a sweep. `changes` are all that were not reported yet, also by a killed sweep."""

    as_of: datetime
    changes: tuple[Change, ...]
    subjects: int
    events: int
    insufficient: int
    muted: tuple[Change, ...] = ()
    without_text: tuple[str, ...] = ()
    """Patterns that read texts, or steps of runs, where the store keeps none: they cannot match."""

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
        """Changes that report a detection at this severity or above, without those that withdraw one."""
        rising = [change for change in self.changes if change.change in ("new", "found again", "risen")]
        return [item for item in rising if rank(item.detection.severity) >= rank(severity)]


@dataclass(frozen=True, slots=True)
class SweepJob:
    """The programs, settings and moment of one sweep.

    `selection` is a hash of the names of its patterns and of those that were chosen, `versions` of their
    content and how events are read.
    """

    store: Store
    library: Library
    settings: Settings
    as_of: datetime
    selection: str
    versions: str

    @classmethod
    def of(cls, store: Store, library: Library, settings: Settings, as_of: datetime) -> SweepJob:
        programs = sorted(library.programs, key=lambda program: program.name)
        content = [stable_hash(program.to_json()) for program in programs]
        signals = [f"{item.name}@{item.version}" for item in plan(needed(programs))]
        how = [dict(settings.scorers), asdict(Options.of(settings)), signals]
        selection = stable_hash("sweep", [program.name for program in programs], sorted(library.chosen))
        return cls(store, library, settings, as_of, selection[:16], stable_hash(content, how)[:16])

    @property
    def programs(self) -> tuple[Program, ...]:
        """All programs, also of parts."""
        return self.library.programs

    def touched(self, since: datetime | None = None, min_events: int = 1) -> list[SubjectRow]:
        """Subjects with something new, see `Store.touched`."""
        return self.store.touched(
            self.selection,
            self.versions,
            self.as_of,
            since=since,
            min_events=min_events,
            threads=self.reads_threads,
        )

    def copies(self, subjects: Iterable[SubjectRow]) -> tuple[Copies, Marks]:
        """The readings of events of these subjects that depend on everybody's texts and targets.

        With them a mark of such readings for each subject of the store.
        """
        events = self.store.events(until=self.as_of, with_text=not reads_targets(self.programs))
        return said_again(events, self.programs, self.settings, {row.who for row in subjects})

    @property
    def reads_threads(self) -> bool:
        """Whether a signal depends on others in the same thread."""
        return _reads_threads(self.programs)

    def chunk_job(self, copies: Copies, *, elsewhere: bool = False) -> ChunkJob:
        """What is looked for in every chunk of subjects, by this process or elsewhere."""
        alone = [program for program in self.programs if not reaches_others(program, self.programs)]
        store = None if elsewhere else self.store
        return ChunkJob(self.programs, alone, self.settings, self.as_of, copies, self.store.address, store)

    def events_of(self, chunk: Sequence[SubjectRow], copies: Copies) -> EventSequence:
        """The events of these subjects with all readings, in order."""
        return events_of(self.chunk_job(copies), self.store, chunk)

    def compare(
        self, saved: Sequence[Detection], detections: Sequence[Detection], programs: Sequence[Program]
    ) -> list[tuple[str, SweptDetection]]:
        """Each change, see `changes.compare`; several selections of patterns may sweep one store.

        What one of them has shown stays shown where the pattern is a part here. What was only a part so far
        is new where the pattern is chosen, and withdrawn in silence where it does not stand any more.
        """
        changes = list(compare(saved, detections, programs, self.store.purged_before()))
        parts = {program.name for program in self.programs if not self.library.is_chosen(program)}
        known = {item.id for item in saved}
        hidden = self.store.parts_among(known)
        current = {item.id: item for item in (*saved, *detections, *(item for _, item in changes))}
        shown_now = {
            name for name in hidden if current[name].state in STANDING and current[name].pattern not in parts
        }

        rows = [("new", SweptDetection(item)) for name, item in current.items() if name in shown_now]
        for change, item in changes:
            if item.id not in shown_now:
                part = item.id in hidden if item.id in known else item.pattern in parts
                rows.append((change, SweptDetection(item, part=part)))
        return rows

    def save(
        self,
        changes: Sequence[tuple[str, SweptDetection]],
        swept: Sequence[Swept],
        lock: Held,
        at: datetime,
    ) -> None:
        """Write in one commit, if the lock is still ours."""
        self.store.save_sweep(
            self.selection, self.versions, self.as_of, detections=changes, swept=swept, lock=lock, at=at
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
    jobs: int | None = None,
) -> Sweep:
    """What changed since the last sweep; it is in the store before this returns.

    Looks at subjects with something new, and with a silence that is due by `as_of`; with `since`, at all with
    an event from then on. The caller reports the changes, then calls `store.mark_reported`. `clock` is for
    the lock; `as_of` may not be more than `settings.max_future` ahead of it. `jobs` processes share the work
    (default: all cores where that pays); the result is the same.
    """
    settings = settings or Settings()
    job = SweepJob.of(store, library, settings, as_of)
    _check_moment(as_of, store.last_sweep(), clock(), settings.max_future)
    lock = store.lock("sweep", clock())
    try:
        return _sweep(job, lock, clock, since, min_events, progress, jobs)
    finally:
        store.unlock(lock)


def _check_moment(as_of: datetime, last: datetime | None, now: datetime, max_future: int | None) -> None:
    """BadUsage where a sweep as of this moment would block all later ones, or lies before the last."""
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
    """Forget sweeps as of later than now; returns how many subjects the next one looks at again.

    Their detections stay; the next sweep withdraws those that do not hold.
    """
    lock = store.lock("sweep", now)
    try:
        return store.reset_sweeps(now)
    finally:
        store.unlock(lock)


def _sweep(
    job: SweepJob,
    lock: Held,
    clock: Clock,
    since: datetime | None,
    min_events: int,
    progress: Callable[[int, int], None] | None,
    jobs: int | None,
) -> Sweep:
    store, as_of = job.store, job.as_of
    touched = job.touched(since, min_events)
    touched, copies, marks = _with_others(job, touched, min_events, clock)
    changed = _changed(job, touched, clock)
    done = events = lacking = 0
    bare = Lost()
    pieces = list(chunks(touched))
    if jobs is None:
        many = sum(item.events for item in touched) >= MANY_EVENTS and are_ours(job.programs)
        jobs = usable_cores() if many else 1
    here = job.chunk_job(copies, elsewhere=min(jobs, len(pieces)) > 1)
    alone = here.alone
    for chunk, found in zip(pieces, in_turn(look_at_chunk, here, pieces, jobs), strict=True):
        bare |= found.bare
        saved = store.detections(
            subjects=[item.who for item in chunk], patterns=[program.name for program in alone]
        )
        changes = job.compare(saved, found.detections, alone)
        swept = [Swept(item.who, item.changed, found.due.get(item.who)) for item in chunk]
        job.save(changes, swept, lock, clock())
        done, events = done + len(chunk), events + found.events
        lacking += found.insufficient
        if progress is not None:
            progress(done, len(touched))
    sweep_contagion(job, changed, lock, clock)
    if changed:
        store.save_state(PENDING, job.selection, None, clock())
    if marks is not None:
        rows = [(*who, mark) for who, mark in sorted(marks.items())]
        store.save_state(MARKS, job.selection, json.dumps(rows).encode(), clock())
    store.close_sweep(job.selection, job.versions, as_of, clock())
    return Sweep(
        as_of,
        tuple(store.unreported()),
        done,
        events,
        lacking,
        without_text=without_texts(job.library, lost_in(store, bare)),
    )


def _with_others(
    job: SweepJob, touched: list[SubjectRow], min_events: int, clock: Clock
) -> tuple[list[SubjectRow], Copies, Marks | None]:
    """The subjects to look at, also those of whom a late event of another changed readings.

    With them these readings, and the marks to save at the end of the sweep; None where nothing changed.
    """
    store = job.store
    saved = store.load_state(MARKS, job.selection)
    if not reads_all(job.programs) or (saved is not None and not touched):
        return touched, {}, None
    copies, marks = job.copies(touched)
    before = {(source, name): mark for source, name, mark in json.loads(saved or b"[]")}
    others = {who for who, _ in marks.items() ^ before.items()} - {row.who for row in touched}
    if others:
        rows = [row for row in store.subjects() if row.who in others and row.events >= min_events]
        touched = sorted([*touched, *rows], key=lambda row: row.who)
        copies, marks = job.copies(touched)
    if saved is not None:
        store.save_state(MARKS, job.selection, None, clock())
    return touched, copies, marks


def _changed(job: SweepJob, touched: Iterable[SubjectRow], clock: Clock) -> dict[str, Names]:
    """The subjects of each source that changed, also in a sweep that was killed before their spreads."""
    saved = json.loads(job.store.load_state(PENDING, job.selection) or b"{}")
    pending: dict[str, list[str] | None] = saved if isinstance(saved, dict) else dict.fromkeys(saved)
    names: dict[str, set[str]] = {source: set(some or ()) for source, some in pending.items()}
    for row in touched:
        names.setdefault(row.source, set()).add(row.name)
    changed: dict[str, Names] = {
        source: None if len(own) > MOST_NAMES or pending.get(source, ()) is None else own
        for source, own in names.items()
    }
    state = {source: None if own is None else sorted(own) for source, own in changed.items()}
    if state != pending:
        job.store.save_state(PENDING, job.selection, json.dumps(state).encode(), clock())
    return changed


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """What is looked for in every chunk of subjects: `alone` are the programs that need no other subjects.

    Without a `store` the one at `address` is opened.
    """

    programs: tuple[Program, ...]
    alone: Sequence[Program]
    settings: Settings
    as_of: datetime
    copies: Copies
    address: str
    store: Store | None


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """What was found of the subjects of a chunk."""

    detections: list[Detection]
    insufficient: int
    events: int
    due: dict[Who, int]
    bare: Lost


def look_at_chunk(job: ChunkJob, chunk: Sequence[SubjectRow]) -> ChunkResult:
    """What is found of some subjects, by themselves."""
    seen = events_of(job, job.store or _opened(job.address), chunk)
    result = find(job.alone, seen, as_of=job.as_of)
    due = next_due(job.alone, seen, job.as_of, CAP)
    return ChunkResult(result.detections, len(result.insufficient), len(seen), due, bare_events(seen))


@cache
def _opened(url: str) -> Store:
    """The store of a process that looks at chunks; open until the process ends."""
    return open_store(url)


def events_of(job: ChunkJob, store: Store, chunk: Sequence[SubjectRow]) -> EventSequence:
    """The events of these subjects with all readings, in order."""
    whose: set[Who] = {item.who for item in chunk}
    # Readings of these subjects may depend on what others did in a thread.
    events = store.columns(
        whose,
        until=job.as_of,
        mates=_reads_threads(job.programs),
        without=not_read(job.programs),
        scorers=job.settings.scorers,
    )
    if copies := job.copies:
        keys = events.values("source", "id")
        rows = [row for row, key in enumerate(keys) if key in copies]
        events = events.mapped(lambda event: _with_copies(event, copies), lambda *_: rows)
    scored, _, _ = scored_events(events, job.programs, job.settings)
    return scored.of_subjects(whose)


def _reads_threads(programs: Sequence[Program]) -> bool:
    """Whether a signal depends on others in the same thread."""
    return any(item.scope == "thread" for item in plan(needed(programs)))


def _with_copies(event: Event, copies: Copies) -> Event:
    readings, scorers = copies.get((event.source, event.id), ({}, {}))
    return event.read_as({**readings, **event.readings}, {**scorers, **event.scorers}) if readings else event


def mute_changes(done: Sweep, entries: Sequence[Mute], store: Store, now: datetime) -> Sweep:
    """The sweep with the changes that an entry mutes at this moment set apart."""
    muting = mutes_in(entries, [change.detection for change in done.changes], store, now)
    muted = tuple(change for change in done.changes if muting(change.detection))
    changes = tuple(change for change in done.changes if change not in muted)
    return replace(done, changes=changes, muted=muted)


def next_due(
    programs: Sequence[Program], events: Sequence[Event], as_of: datetime, cap: int
) -> dict[Who, int]:
    """The first deadline of each subject that has not passed at `as_of`, in microseconds since 1970."""
    from ..engine.columns.silence import last_deadlines

    due: dict[Who, int] = {}
    now = micros(as_of)
    for who, deadline in last_deadlines(programs, events, cap):
        if now <= deadline < LATEST:
            due[who] = min(deadline, due.get(who, deadline))
    return due
