"""Evaluate: events that were read, in memory or on disk, with the scores of an evaluator as readings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from pathlib import Path
from typing import Any

from .. import registry
from ..config import Settings
from ..detections.find import find
from ..evaluators.answers import Answers, default_path
from ..evaluators.protocol import Evaluator, make_evaluator
from ..ingest import Batch, OnDisk
from ..ingest.buckets import AT, Buckets, event_of_row, row_of, rows_of, write_rows
from ..ingest.order import by_order
from ..ingest.spill import EventsOnDisk
from ..library.load import Library
from ..records import Event, format_time, micros
from ..shapes.program import Program
from .asking import Asking, Tell
from .evaluated import Evaluated, is_scored, settings_for
from .evaluating import Paying, evaluate_events
from .in_batches import InBatches, jobs_of
from .measured import measured_events
from .questions import Sampling, Told
from .scorers import only_scorers


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An evaluator, and how it is asked."""

    evaluator: Evaluator
    sampling: Sampling | None = None
    paying: Paying | None = None
    tell: Tell | None = None

    def __call__(self, gathered: Batch | OnDisk, as_of: datetime | None = None) -> tuple[Any, Evaluated]:
        """The same with the scores as readings, and what came of it.

        Events after `as_of` are not asked about. What is on disk is there until the caller closes it.
        """
        if isinstance(gathered, Batch):
            asked = [event for event in gathered.events if as_of is None or event.at <= as_of]
            found = self._ask(asked)
            return replace(gathered, events=tuple(map(found.readings_of, gathered.events))), found
        old = gathered.events.buckets
        with Buckets(count=1, folder=old.folder) as scratch:
            ordered = _Ordered(old, scratch.folder, None if as_of is None else micros(as_of))
            found = self._ask(ordered)
        new = Buckets(count=len(old.paths), folder=old.folder.parent)
        try:
            for number, event in enumerate(gathered.events):
                new.put(row_of(found.readings_of(event), number))
            new.flush()
        except BaseException:
            new.close()
            raise
        return replace(gathered, events=EventsOnDisk(new)), found

    def _ask(self, events: Collection[Event]) -> Evaluated:
        try:
            return evaluate_events(
                events, self.evaluator, sampling=self.sampling, paying=self.paying, tell=self.tell
            )
        finally:
            if self.paying is not None:
                self.paying.answers.close()


class _Ordered(Collection[Event]):
    """The events of buckets in order of time, however often one looks."""

    def __init__(self, buckets: Buckets, folder: Path, until: int | None) -> None:
        self._paths = []
        for path in buckets.paths:
            rows = (row for row in rows_of(path) if until is None or row[AT] <= until)
            ordered = sorted(map(event_of_row, rows), key=by_order)
            self._paths.append(folder / f"{path.name}.sorted")
            write_rows(self._paths[-1], map(row_of, ordered))
        self._total = buckets.total

    def __iter__(self) -> Iterator[Event]:
        return merge(*(map(event_of_row, rows_of(path)) for path in self._paths), key=by_order)

    def __len__(self) -> int:
        return self._total

    def __contains__(self, one: object) -> bool:
        return any(one == event for event in self)


def evaluator_of(
    settings: Settings, name: str | None = None, options: Mapping[str, Any] | None = None
) -> Evaluator | None:
    """The evaluator of that name, or the one in the settings; None for nobody.

    `options` are laid over those in the settings.
    """
    for one in settings.evaluators:
        registry.evaluators.get(one)
    chosen = name or settings.evaluator
    if not chosen or chosen == "none":
        return None
    return make_evaluator(chosen, {**settings.evaluators.get(chosen, {}), **(options or {})})


def paying_for(
    evaluator: Evaluator,
    settings: Settings,
    library: Library | None,
    *,
    budget: float | None = None,
    in_batches: bool = False,
) -> Paying:
    """How an evaluator is asked that costs something: answers are kept in the file of the settings."""
    run = InBatches(jobs_of(evaluator)) if in_batches else Asking.run
    if not evaluator.paid:
        return Paying(budget=budget)
    path = Path(settings.answers) if settings.answers else default_path()
    told = None if library is None else detections_told(library, settings, evaluator.scorer)
    return Paying(Answers(path), budget, told, run=run)


def detections_told(library: Library, settings: Settings, scorer: str) -> Told:
    """What the patterns that look at scores find in a subject's events so far."""
    programs = [one for one in library.programs if looks_at_scores(one)]
    ours = settings_for(settings, scorer)

    def told(events: Sequence[Event]) -> list[dict[str, str]]:
        if not events:
            return []
        supplied, _ = only_scorers(events, ours.scorers)
        measured, _ = measured_events(supplied, programs, ours)
        found = find(programs, measured, as_of=events[-1].at)
        return [
            {"pattern": one.pattern, "level": str(one.level), "at": format_time(one.detected_at)}
            for one in found.detections
            if one.status != "test"
        ]

    return told


def looks_at_scores(program: Program) -> bool:
    """Whether a pattern of events reads what an evaluator gives."""
    return not program.is_combination and (program.evaluated or any(map(is_scored, program.signals)))
