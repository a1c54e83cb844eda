"""Assess: what was found in a run or a history, the risk it makes up, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..config import Settings
from ..errors import BadUsage, did_you_mean
from ..ingest import OnDisk
from ..models import EPOCH, Detection, Event, Verdict
from ..patterns.library import Library
from ..risk import assessment as parts
from ..risk.assessment import Assessment, Done
from ..risk.scoring import Given, Known, Weighing
from .analyze import Source, analyze_gathered, gathered_events, load_library, moment_of
from .result import Analysis
from .risk import weighing_of
from .run_record import Run
from .runs import run_report

Key = tuple[str, str]
"""A source, and a thread or a subject in it."""
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Looked:
    """What an assessment is made from: what was found, and what is known of where it was found.

    `given` are the rungs of the ladder that were taken in a run, by its thread and the pattern.
    """

    detections: Sequence[Detection]
    as_of: datetime | None
    weighing: Weighing
    known: Known = field(default_factory=Known)
    runs: tuple[Run, ...] = ()
    subjects: tuple[Key, ...] = ()
    rungs: tuple[str, ...] = ()
    given: Mapping[str, Mapping[str, Sequence[Given]]] = field(default_factory=dict)
    asked: datetime | None = None
    """The moment that was asked for; without one a run is looked at as of its own last event."""


def assess(
    source: Source | Analysis | Iterable[Detection],
    *,
    subject: str | None = None,
    thread: str | None = None,
    patterns: Sequence[str | Path] | Library | None = None,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    verdicts: Iterable[Verdict] = (),
) -> Assessment:
    """Where a run or a history stands: its patterns, their combinations, the risk, and what to do.

    `found` are events (or the path of a file of them), an analysis, or detections. Where they are of more
    than one run or subject, `thread` or `subject` says which is meant.

    >>> assess([]).overall_risk
    0.0
    """
    looked = look(source, patterns=patterns, as_of=as_of, settings=settings, verdicts=verdicts)
    if thread is not None:
        return _of_thread(looked, thread)
    if subject is not None:
        return _of_subject(looked, subject)
    return _of_all(looked)


def assess_each(
    source: Source | Analysis | Iterable[Detection],
    *,
    patterns: Sequence[str | Path] | Library | None = None,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    verdicts: Iterable[Verdict] = (),
) -> tuple[Assessment, ...]:
    """An assessment of every run, and of every subject outside of runs with a detection; gravest first."""
    return each(look(source, patterns=patterns, as_of=as_of, settings=settings, verdicts=verdicts))


def look(
    source: Source | Analysis | Iterable[Detection],
    *,
    patterns: Sequence[str | Path] | Library | None = None,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    verdicts: Iterable[Verdict] = (),
) -> Looked:
    """What there is to assess, whichever way it was given."""
    settings, asked, said = settings or Settings(), moment_of(as_of), tuple(verdicts)
    if isinstance(source, Analysis):
        weighing = weighing_of(settings)
        return Looked(source.detections, asked or source.as_of, weighing, Known(said), asked=asked)
    if not isinstance(source, str | Path | Iterable):
        raise BadUsage(f"assess takes a path, events, an Analysis or detections; here is {source!r:.80}")
    given = source if isinstance(source, str | Path) else list(source)
    if given and not isinstance(given, str | Path) and all(isinstance(item, Detection) for item in given):
        ones: list[Detection] = given  # type: ignore[assignment]
        last = max(item.held_at for item in ones)
        return Looked(ones, asked or last, weighing_of(settings), Known(said), asked=asked)
    library = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
    gathered = gathered_events(given, library, settings)  # type: ignore[arg-type]
    try:
        analysis = analyze_gathered(gathered, library, as_of=asked, settings=settings)
        return looked_at(analysis, gathered.events, library, settings, asked=asked, verdicts=said)
    finally:
        if isinstance(gathered, OnDisk):
            gathered.close()


def looked_at(
    analysis: Analysis,
    events: Collection[Event],
    library: Library,
    settings: Settings,
    *,
    runs: tuple[Run, ...] | None = None,
    asked: datetime | None = None,
    verdicts: Iterable[Verdict] = (),
    given: Mapping[str, Mapping[str, Sequence[Given]]] | None = None,
) -> Looked:
    """What there is to assess of events that were analysed, in memory or on disk."""
    if runs is None:
        runs = run_report(analysis.detections, events, as_of=analysis.as_of, settings=settings)
    untimed: set[str] = set()
    subjects: dict[Key, None] = {}
    for event in events:
        subjects.setdefault((event.source, event.subject))
        if not event.timed:
            untimed.add(event.source)
    return Looked(
        analysis.detections,
        analysis.as_of,
        weighing_of(settings, library.files),
        Known(tuple(verdicts), frozenset(untimed)),
        runs,
        tuple(subjects),
        ladder_of(settings),
        given or {},
        asked,
    )


def ladder_of(settings: Settings) -> tuple[str, ...]:
    """The rungs of the ladder that are on, from the mildest."""
    from ..models.constants import RUNGS

    on = settings.hook["rungs"]
    return tuple(rung for rung in RUNGS if rung in on and rung not in settings.hook["off"])


def each(looked: Looked) -> tuple[Assessment, ...]:
    """An assessment of every run, and of every subject outside of runs; highest risk first."""
    runs = {(run.source, run.thread) for run in looked.runs}
    rest: dict[Key, list[Detection]] = {}
    for detection in looked.detections:
        if detection.thread is None or (detection.source, detection.thread) not in runs:
            rest.setdefault((detection.source, detection.subject), []).append(detection)
    found = [_of_run(looked, run) for run in looked.runs]
    found += [_assessed(looked, own, *key) for key, own in rest.items()]
    return tuple(
        sorted(found, key=lambda item: (-item.overall_risk, item.source, item.thread or "", item.subject))
    )


def _of_all(looked: Looked) -> Assessment:
    """The one run or subject that there is; BadUsage where there are more."""
    threads = {(run.source, run.thread) for run in looked.runs}
    seen = {(detection.source, detection.subject) for detection in looked.detections} | set(looked.subjects)
    inside = all((detection.source, detection.thread) in threads for detection in looked.detections)
    if len(looked.runs) == 1 and inside:
        return _of_run(looked, looked.runs[0])
    if len(seen) <= 1 and not len(looked.runs) > 1:
        return _assessed(looked, looked.detections, *next(iter(seen), ("input", "")))
    names = sorted({name for _, name in (threads if len(threads) > 1 else seen)})
    which = "runs" if len(threads) > 1 else "subjects"
    shown = ", ".join(f"{name:.60}" for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    option = "thread=" if which == "runs" else "subject="
    raise BadUsage(f"there are {len(names)} {which} ({shown}); say which with {option}, or use assess_each")


def _of_thread(looked: Looked, thread: str) -> Assessment:
    for run in looked.runs:
        if run.thread == thread:
            return _of_run(looked, run)
    own = [detection for detection in looked.detections if detection.thread == thread]
    if not own:
        known = sorted({detection.thread for detection in looked.detections if detection.thread is not None})
        raise BadUsage(f"nothing was found in a thread {thread!r:.60}{did_you_mean(thread, known)}")
    return _assessed(looked, own, own[0].source, own[0].subject, thread)


def _of_subject(looked: Looked, subject: str) -> Assessment:
    seen = {(detection.source, detection.subject) for detection in looked.detections} | set(looked.subjects)
    keys = sorted(key for key in seen if key[1] == subject)
    if not keys:
        raise BadUsage(
            f"no subject {subject!r:.60} is in it{did_you_mean(subject, [name for _, name in seen])}"
        )
    if len(keys) > 1:
        sources = ", ".join(source for source, _ in keys)
        raise BadUsage(f"{subject!r:.60} is a subject of several sources ({sources}); give them one by one")
    own = [detection for detection in looked.detections if (detection.source, detection.subject) == keys[0]]
    return _assessed(looked, own, *keys[0])


def _of_run(looked: Looked, run: Run) -> Assessment:
    """A run, as of its own end unless another moment was asked for, with what was tried in it."""
    own = [
        detection
        for detection in looked.detections
        if (detection.source, detection.thread) == (run.source, run.thread)
    ]
    actions = {episode.detection: episode.tried for episode in run.episodes}
    done = Done(looked.rungs, looked.given.get(run.thread, {}), actions)
    last = max([item.held_at for item in own], default=None)
    as_of = looked.asked or max((at for at in (run.last_at, last) if at is not None), default=looked.as_of)
    name = run.agents[0].name if run.agents else ""
    return _assessed(looked, own, run.source, name, run.thread, done, as_of)


def _assessed(
    looked: Looked,
    own: Sequence[Detection],
    source: str,
    subject: str,
    thread: str | None = None,
    done: Done | None = None,
    as_of: datetime | None = None,
) -> Assessment:
    return parts.assess(
        own,
        as_of=as_of or looked.as_of or EPOCH,
        weighing=looked.weighing,
        known=looked.known,
        done=done,
        source=source,
        subject=subject,
        thread=thread,
    )
