"""Score messages with an evaluator, in order of time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path
from typing import Any

from ... import registry
from ...config import Settings
from ...engine.detect import find
from ...errors import BadUsage, EvaluatorStopped
from ...evaluators.base import (
    DIMENSIONS,
    Answer,
    Evaluation,
    Evaluator,
    NotMeasured,
    Question,
    Usage,
    dimensions,
    make_evaluator,
)
from ...evaluators.pricing import Budget
from ...evaluators.response_cache import Answers, default_path
from ...ingest import Batch, OnDisk
from ...ingest.ordering import by_order
from ...ingest.spill import AT, Buckets, EventsOnDisk, event_of_row, row_of, rows_of, write_rows
from ...language.program import Program
from ...lexicon.records import TIERS
from ...models import TRAITS, Event, format_time, is_indicator_name, micros
from ...patterns.catalogue import indicator_catalogue
from ...patterns.library import Library
from ..readings import measured_events, only_scorers
from .questions import (
    INTERRUPTED,
    OVER_BUDGET,
    WHOLE,
    Asked,
    Asking,
    InBatches,
    Sampling,
    Tell,
    Told,
    jobs_of,
    routed,
    sampling_for,
    with_history,
)
from .records import EvaluateSummary, TierCost
from .triage import Scanned

# Evaluated: what an evaluator said of messages, what it cost, and the readings that come of it.

Key = tuple[str, str]  # source and id of an event


@dataclass(slots=True)
class Evaluated:
    """What came of an evaluation. `missing` are messages that could not be scored, with the reason.

    `unasked` counts those that were not asked about since it was `stopped` before.
    """

    evaluator: str
    scorer: str
    scanned: Scanned = field(default_factory=Scanned)
    answers: dict[Key, Evaluation] = field(default_factory=dict)
    tiers: dict[Key, str] = field(default_factory=dict)
    missing: dict[Key, NotMeasured] = field(default_factory=dict)
    kept: set[Key] = field(default_factory=set)
    cost: Counter[str] = field(default_factory=Counter)
    usage: dict[str, Usage] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    unpriced: bool = False
    unasked: int = 0
    in_jobs: int = 0
    """Of those, how many are in a batch that goes on and will be billed."""
    stopped: str = ""
    untrusted: int = 0
    """Kept answers that were not believed, since this user's key did not make their tag."""

    def take(self, question: Question, answer: Answer, *, kept: bool = False) -> None:
        """One question more is done with."""
        key, tier = (question.source, question.id), question.tier
        # One that was sampled is looked at like a focused one.
        tier = "focused" if tier == "standard" else tier
        self.tiers[key] = tier
        cost = answer.cost if isinstance(answer, Evaluation) else answer.spent
        self.unpriced |= cost is None
        self.cost[tier] += cost or 0.0  # type: ignore[assignment]
        self.usage[tier] = self.usage.get(tier, Usage()) + answer.usage
        if kept:
            self.kept.add(key)
        if isinstance(answer, NotMeasured):
            self.missing[key] = answer
        else:
            self.answers[key] = answer
            self.dropped.update(answer.dropped)

    @property
    def spent(self) -> float:
        """Dollars, for this run."""
        return float(sum(self.cost.values()))

    def readings_of(self, event: Event) -> Event:
        """The event with what it was scored, instead of readings that came with it."""
        answer = self.answers.get((event.source, event.id))
        return event if answer is None else scored(event, answer)

    def must_not_have_stopped(self) -> None:
        """Raise what stopped it, an interrupt or the evaluator itself; a used up budget is no fault."""
        if self.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        if self.stopped and self.stopped != OVER_BUDGET:
            raise EvaluatorStopped(self.stopped)

    def must_have_scored(self) -> None:
        """Raise where somebody was asked and not a single answer could be used."""
        if not self.answers and any(not item.final for item in self.missing.values()):
            reason, _ = Counter(item.reason for item in self.missing.values()).most_common(1)[0]
            raise EvaluatorStopped(f"nothing could be scored: {reason}")

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON."""
        counter = Counter(self.tiers.values())
        measured = Counter(name for answer in self.answers.values() for name in answer.traits)
        return EvaluateSummary(
            evaluator=self.evaluator,
            scorer=self.scorer,
            messages=self.scanned.messages,
            evaluated=len(self.answers),
            share=len(self.answers) / max(1, self.scanned.messages),
            kept_before=len(self.kept),
            untrusted=self.untrusted,
            not_measured=len(self.missing),
            reasons=dict(Counter(item.reason for item in self.missing.values()).most_common()),
            not_asked=self.unasked,
            in_batches=self.in_jobs,
            stopped=self.stopped or None,
            spent=None if self.unpriced else self.spent,
            traits={name: measured[name] for name in TRAITS if measured[name]},
            not_measured_traits=[name for name in TRAITS if not measured[name]],
            indicators=sum(len(answer.indicators) for answer in self.answers.values()),
            dropped=dict(self.dropped.most_common()),
            tiers=[self._tier(tier, counter[tier]) for tier in TIERS[1:]],
            copies=self.scanned.copies,
            unknown_language=self.scanned.unknown_language,
        ).to_dict()

    def _tier(self, tier: str, messages: int) -> TierCost:
        cost = None if self.unpriced else self.cost[tier]
        return TierCost(tier=tier, messages=messages, cost=cost, usage=self.usage.get(tier, Usage()))


def scored(event: Event, answer: Evaluation) -> Event:
    """An event with the readings of an answer; what else scored its traits and indicators is left out."""
    new: dict[str, float] = {**answer.traits, **dimensions(answer.traits)}
    new |= {indicator.id: indicator.confidence for indicator in answer.indicators}
    old = {name: value for name, value in event.readings.items() if not is_scored(name)}
    return replace(
        event,
        readings={**old, **new},
        scorers={
            **{n: by for n, by in event.scorers.items() if n in old},
            **dict.fromkeys(new, answer.scorer),
        },
        widths={**{n: by for n, by in event.widths.items() if n in old}, **dict.fromkeys(new, answer.width)},
    )


def is_scored(name: str) -> bool:
    """Whether a reading is one that evaluators make."""
    return name in _OURS or is_indicator_name(name)


_OURS = frozenset((*TRAITS, *DIMENSIONS, "balance"))


def settings_for(settings: Settings, scorer: str) -> Settings:
    """The settings with the readings of this scorer counting, wherever they do not say whose do."""
    names = (*TRAITS, *DIMENSIONS, "balance", *indicator_catalogue())
    return replace(settings, scorers={**dict.fromkeys(names, scorer), **settings.scorers})


# Evaluating: the messages that earn it are scored, in order of time.

CHUNK = 1024  # questions that a free evaluator is given at once


@dataclass(frozen=True, slots=True)
class Paying:
    """How questions are asked that cost something: what is kept, what may be spent, what subjects are told.

    `told` says what was detected in a subject's events so far, for questions that show a history.
    """

    answers: Answers = field(default_factory=Answers)
    budget: float | None = None
    told: Told | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    run: Callable[[Asking], Asked] = Asking.run
    """One after the other, or in batches."""


def evaluate_events(
    events: Collection[Event],
    evaluator: Evaluator,
    *,
    sampling: Sampling | None = None,
    paying: Paying | None = None,
    tell: Tell | None = None,
) -> Evaluated:
    """What an evaluator says of the messages that earn it; the events come in order of time."""
    out = Evaluated(evaluator.name, evaluator.scorer)
    sampling = sampling or sampling_for(evaluator)
    if not evaluator.paid:
        _ask_free(events, evaluator, sampling, out, tell)
        return out
    questions = []
    for _, route, question in routed(events, sampling, with_threads=evaluator.wants_context):
        out.scanned.add(route)
        if question is not None:
            questions.append(question)
    _ask_paid(events, questions, evaluator, paying or Paying(), out, tell)
    return out


def _ask_free(
    events: Iterable[Event], evaluator: Evaluator, sampling: Sampling, out: Evaluated, tell: Tell | None
) -> None:
    held: list[Question] = []

    def ask() -> None:
        for item, answer in zip(held, evaluator.evaluate_many(held), strict=True):
            out.take(item, answer)
        held.clear()
        if tell is not None:
            tell(len(out.tiers), 0, 0.0)

    for _, route, question in routed(events, sampling, with_threads=evaluator.wants_context):
        out.scanned.add(route)
        if question is not None:
            held.append(question)
            if len(held) == CHUNK:
                ask()
    ask()


def _ask_paid(
    events: Iterable[Event],
    questions: Sequence[Question],
    evaluator: Evaluator,
    paying: Paying,
    out: Evaluated,
    tell: Tell | None,
) -> None:
    if paying.budget is not None and questions and evaluator.worst_cost(questions[0]) is None:
        raise BadUsage(
            f"--budget: no price is known for {evaluator.scorer}; "
            "say what a million tokens cost, as options price.input and price.output"
        )
    histories = _Histories(events, questions, out, paying.told)
    run = Asking(
        questions,
        evaluator,
        answers=paying.answers,
        budget=Budget(paying.budget),
        now=paying.now,
        complete=histories.complete if evaluator.wants_context else None,
        answered=lambda k, answer: out.take(questions[k], answer),
        tell=tell,
    )
    asked = paying.run(run)
    out.untrusted = len(paying.answers.untrusted)
    out.kept |= {(questions[k].source, questions[k].id) for k in asked.kept}
    out.unasked, out.in_jobs = len(questions) - len(asked.answers), asked.in_jobs
    out.stopped = asked.stopped


class _Histories:
    """The events of subjects whose history somebody will be shown, and only theirs."""

    def __init__(
        self, events: Iterable[Event], questions: Sequence[Question], out: Evaluated, told: Told | None
    ) -> None:
        self._questions, self._out, self._told = questions, out, told
        shown = {(question.source, question.subject) for question in questions if question.tier == WHOLE}
        self._events: Mapping[Key, list[Event]] = defaultdict(list)
        if shown:
            for event in events:
                if (event.source, event.subject) in shown:
                    self._events[event.source, event.subject].append(event)

    def complete(self, k: int) -> Question:
        """The question with the history of its subject up to it."""
        return with_history(self._questions[k], list(self._before(self._questions[k])), self._told)

    def _before(self, question: Question) -> Iterator[Event]:
        for event in self._events[question.source, question.subject]:
            if event.id == question.id:
                return
            yield self._out.readings_of(event)


# Evaluate: events that were read, in memory or on disk, with the scores of an evaluator as readings.


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
            events = [event for event in gathered.events if as_of is None or event.at <= as_of]
            evaluated = self._ask(events)
            return replace(gathered, events=tuple(map(evaluated.readings_of, gathered.events))), evaluated
        old = gathered.events.buckets
        with Buckets(count=1, folder=old.folder) as scratch:
            ordered = _Ordered(old, scratch.folder, None if as_of is None else micros(as_of))
            evaluated = self._ask(ordered)
        new = Buckets(count=len(old.paths), folder=old.folder.parent)
        try:
            for number, event in enumerate(gathered.events):
                new.put(row_of(evaluated.readings_of(event), number))
            new.flush()
        except BaseException:
            new.close()
            raise
        return replace(gathered, events=EventsOnDisk(new)), evaluated

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

    def __contains__(self, value: object) -> bool:
        return any(value == event for event in self)


def evaluator_of(
    settings: Settings, name: str | None = None, options: Mapping[str, Any] | None = None
) -> Evaluator | None:
    """The evaluator of that name, or the one in the settings; None for nobody.

    `options` are laid over those in the settings.
    """
    for evaluator in settings.evaluators:
        registry.evaluators.get(evaluator)
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
    programs = [program for program in library.programs if looks_at_scores(program)]
    ours = settings_for(settings, scorer)

    def told(events: Sequence[Event]) -> list[dict[str, str]]:
        if not events:
            return []
        supplied, _ = only_scorers(events, ours.scorers)
        measured, _ = measured_events(supplied, programs, ours)
        found = find(programs, measured, as_of=events[-1].at)
        return [
            {
                "pattern": detection.pattern,
                "severity": str(detection.severity),
                "at": format_time(detection.detected_at),
            }
            for detection in found.detections
            if detection.status != "shadow"
        ]

    return told


def looks_at_scores(program: Program) -> bool:
    """Whether a pattern of events reads what an evaluator gives."""
    return not program.is_combination and (program.evaluated or any(map(is_scored, program.signals)))
