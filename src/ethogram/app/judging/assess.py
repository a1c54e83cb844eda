"""Assess the detections of a run or a history: risk and recommendations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ...config import Settings
from ...errors import BadUsage, did_you_mean
from ...ingest import OnDisk
from ...ingest.batch import EventCollection
from ...models import EPOCH, Detection, Verdict
from ...patterns.library import Library
from ...risk import assessment
from ...risk.assessment import Assessment, Intervention, ResponseHistory
from ...risk.scoring import RiskContext, RiskWeights
from ..analyze import Source, analyze_gathered, gathered_events, load_library, moment_of
from ..result import Analysis
from ..run_record import Run
from ..runs import run_report
from .risk import risk_weights

Key = tuple[str, str]
"""(source, thread) or (source, subject)."""
Interventions = Mapping[str, Mapping[str, Sequence[Intervention]]]
"""Interventions in runs, by thread and pattern."""
SHOWN = 5


@dataclass(frozen=True, slots=True)
class AssessmentInput:
    """Detections to assess, and the runs and subjects they were looked for in.

    `requested` is the moment asked for; without one a run is assessed as of its own last event.
    """

    detections: Sequence[Detection]
    as_of: datetime | None
    weights: RiskWeights
    context: RiskContext = field(default_factory=RiskContext)
    runs: tuple[Run, ...] = ()
    subjects: tuple[Key, ...] = ()
    rungs: tuple[str, ...] = ()
    interventions: Interventions = field(default_factory=dict)
    requested: datetime | None = None

    @property
    def all_subjects(self) -> set[Key]:
        """Subjects with or without detections."""
        return {(item.source, item.subject) for item in self.detections} | set(self.subjects)

    def assess(
        self,
        detections: Sequence[Detection],
        source: str,
        subject: str,
        thread: str | None = None,
        **options: Any,
    ) -> Assessment:
        """The assessment of some of the detections."""
        common = {"as_of": self.as_of or EPOCH, "weights": self.weights, "context": self.context}
        return assessment.assess(
            detections, source=source, subject=subject, thread=thread, **{**common, **options}
        )

    def assess_run(self, run: Run) -> Assessment:
        """A run, as of its own end unless another moment was requested."""
        own = [item for item in self.detections if (item.source, item.thread) == (run.source, run.thread)]
        actions = {episode.detection: episode.tried for episode in run.episodes}
        responses = ResponseHistory(self.rungs, self.interventions.get(run.thread, {}), actions)
        ends = [at for at in (run.last_at, *(item.held_at for item in own)) if at is not None]
        as_of = self.requested or max(ends, default=self.as_of)
        name = run.agents[0].name if run.agents else ""
        return self.assess(own, run.source, name, run.thread, responses=responses, as_of=as_of or EPOCH)


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
    """Assess a run or a history: its detections, their combinations, the risk, and what to do.

    `source` is events (or the path of a file of events), an analysis, or detections. With more than one run
    or subject, `thread` or `subject` selects one.

    >>> assess([]).overall_risk
    0.0
    """
    inputs = _input(source, patterns=patterns, as_of=as_of, settings=settings, verdicts=verdicts)
    if thread is not None:
        return _assess_thread(inputs, thread)
    if subject is not None:
        return _assess_subject(inputs, subject)
    return _assess_only(inputs)


def assess_each(
    source: Source | Analysis | Iterable[Detection],
    *,
    patterns: Sequence[str | Path] | Library | None = None,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    verdicts: Iterable[Verdict] = (),
) -> tuple[Assessment, ...]:
    """Assess every run, and every subject with a detection outside of runs; highest risk first."""
    return assess_all(_input(source, patterns=patterns, as_of=as_of, settings=settings, verdicts=verdicts))


def _input(
    source: Source | Analysis | Iterable[Detection],
    *,
    patterns: Sequence[str | Path] | Library | None,
    as_of: datetime | str | None,
    settings: Settings | None,
    verdicts: Iterable[Verdict],
) -> AssessmentInput:
    settings, requested, verdicts = settings or Settings(), moment_of(as_of), tuple(verdicts)
    detections: Sequence[Detection] = ()
    last = None
    if isinstance(source, Analysis):
        detections, last = source.detections, source.as_of
    elif not isinstance(source, str | Path | Iterable):
        raise BadUsage(f"assess takes a path, events, an Analysis or detections; here is {source!r:.80}")
    elif not isinstance(source, str | Path):
        source = list(source)  # type: ignore[assignment]
        if source and all(isinstance(item, Detection) for item in source):
            detections = source  # type: ignore[assignment]
            last = max(item.held_at for item in detections)
    if detections or isinstance(source, Analysis):
        context = RiskContext(verdicts)
        weights = risk_weights(settings)
        return AssessmentInput(detections, requested or last, weights, context, requested=requested)
    library = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
    batch = gathered_events(source, library, settings)  # type: ignore[arg-type]
    try:
        analysis = analyze_gathered(batch, library, as_of=requested, settings=settings)
        return assessment_input(
            analysis, batch.events, library, settings, requested=requested, verdicts=verdicts
        )
    finally:
        if isinstance(batch, OnDisk):
            batch.close()


def assessment_input(
    analysis: Analysis,
    events: EventCollection,
    library: Library,
    settings: Settings,
    *,
    runs: tuple[Run, ...] | None = None,
    requested: datetime | None = None,
    verdicts: Iterable[Verdict] = (),
    interventions: Interventions | None = None,
) -> AssessmentInput:
    """What there is to assess in analysed events, in memory or on disk."""
    from ...models.constants import RUNGS

    if runs is None:
        runs = run_report(analysis.detections, events, as_of=analysis.as_of, settings=settings)
    subjects = dict.fromkeys(events.values("source", "subject"))
    hook = settings.hook
    return AssessmentInput(
        analysis.detections,
        analysis.as_of,
        risk_weights(settings, library.files),
        RiskContext(tuple(verdicts), frozenset(events.untimed_sources())),
        runs,
        tuple(subjects),
        tuple(rung for rung in RUNGS if rung in hook["rungs"] and rung not in hook["off"]),
        interventions or {},
        requested,
    )


def assess_all(inputs: AssessmentInput) -> tuple[Assessment, ...]:
    """Assess every run, and every subject with a detection outside of runs; highest risk first."""
    runs = {(run.source, run.thread) for run in inputs.runs}
    rest: dict[Key, list[Detection]] = {}
    for item in inputs.detections:
        if item.thread is None or (item.source, item.thread) not in runs:
            rest.setdefault((item.source, item.subject), []).append(item)
    results = [inputs.assess_run(run) for run in inputs.runs]
    results += [inputs.assess(own, *key) for key, own in rest.items()]
    return tuple(
        sorted(results, key=lambda item: (-item.overall_risk, item.source, item.thread or "", item.subject))
    )


def _assess_only(inputs: AssessmentInput) -> Assessment:
    """The only run or subject; BadUsage where there are more."""
    threads, subjects = {(run.source, run.thread) for run in inputs.runs}, inputs.all_subjects
    if len(inputs.runs) == 1 and all((item.source, item.thread) in threads for item in inputs.detections):
        return inputs.assess_run(inputs.runs[0])
    if len(subjects) <= 1 and len(inputs.runs) <= 1:
        return inputs.assess(inputs.detections, *next(iter(subjects), ("input", "")))
    keys, kind, option = (
        (threads, "runs", "thread=") if len(threads) > 1 else (subjects, "subjects", "subject=")
    )
    names = sorted({name for _, name in keys})
    shown = ", ".join(f"{name:.60}" for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    raise BadUsage(f"there are {len(names)} {kind} ({shown}); choose one with {option}, or use assess_each")


def _assess_thread(inputs: AssessmentInput, thread: str) -> Assessment:
    for run in inputs.runs:
        if run.thread == thread:
            return inputs.assess_run(run)
    own = [item for item in inputs.detections if item.thread == thread]
    if not own:
        known = {item.thread for item in inputs.detections if item.thread is not None}
        raise BadUsage(f"no detection in a thread {thread!r:.60}{did_you_mean(thread, known)}")
    return inputs.assess(own, own[0].source, own[0].subject, thread)


def _assess_subject(inputs: AssessmentInput, subject: str) -> Assessment:
    subjects = inputs.all_subjects
    keys = sorted(key for key in subjects if key[1] == subject)
    if not keys:
        near = did_you_mean(subject, [name for _, name in subjects])
        raise BadUsage(f"no subject {subject!r:.60} in the input{near}")
    if len(keys) > 1:
        sources = ", ".join(source for source, _ in keys)
        raise BadUsage(f"{subject!r:.60} is a subject of several sources ({sources}): assess one at a time")
    own = [item for item in inputs.detections if (item.source, item.subject) == keys[0]]
    return inputs.assess(own, *keys[0])
