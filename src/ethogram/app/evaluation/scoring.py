"""Score messages with an evaluator: which are asked about, the answers, and the readings they become."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import registry
from ...config import Settings
from ...engine.detect import find
from ...errors import BadUsage, EvaluatorStopped
from ...evaluators.base import (
    SCORES,
    Answer,
    Evaluation,
    Evaluator,
    NotMeasured,
    Question,
    Usage,
    dimensions,
    is_scored,
    looks_at_scores,
    make_evaluator,
)
from ...evaluators.pricing import Budget
from ...evaluators.response_cache import Answers, default_path
from ...ingest import Batch, OnDisk
from ...ingest.batch import EventList
from ...ingest.spill import Buckets, EventsOnDisk, read_bucket
from ...lexicon.records import TIERS
from ...models import TRAITS, Detection, Event, Reading, format_time
from ...models.slotted import dataclass, field, replace
from ...patterns.catalogue import indicator_catalogue
from ...patterns.library import Library
from ..readings import measured_events, only_scorers
from .questions import (
    INTERRUPTED,
    LONGEST_HISTORY,
    OVER_BUDGET,
    WITH_HISTORY,
    InBatches,
    OnProgress,
    QuestionRun,
    RunResult,
    Sampling,
    batches_of,
    history_of,
    routed,
    sampling_for,
)
from .records import EvaluateSummary, TierCost
from .triage import Scanned

if TYPE_CHECKING:
    from .stored import StoredSubjects

Key = tuple[str, str]  # source and id of an event
Detections = Callable[[Sequence[Event]], list[Any]]  # what is detected in a subject's events so far
CHUNK = 1024  # questions that a free evaluator gets at once


@dataclass(slots=True)
class Evaluated:
    """The result of an evaluation: scores, messages without one (`missing`, with the reason), and costs."""

    evaluator: str
    scorer: str
    scanned: Scanned = field(default_factory=Scanned)
    answers: dict[Key, Evaluation] = field(default_factory=dict)
    tiers: dict[Key, str] = field(default_factory=dict)
    missing: dict[Key, NotMeasured] = field(default_factory=dict)
    cached: set[Key] = field(default_factory=set)
    cost: Counter[str] = field(default_factory=Counter)
    usage: dict[str, Usage] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    unpriced: bool = False
    unasked: int = 0  # messages not asked about, because the run `stopped` before
    in_jobs: int = 0  # those of them in a batch that goes on and will be billed
    stopped: str = ""
    untrusted: int = 0  # saved answers whose tag was not made with this user's key
    before: set[Key] = field(default_factory=set)  # messages that a store has scores of already

    def add(self, question: Question, answer: Answer) -> None:
        """Record the answer to a question."""
        key = (question.source, question.id)
        # A sampled message is scored like a focused one.
        tier = self.tiers[key] = "focused" if question.tier == "standard" else question.tier
        cost = answer.cost if isinstance(answer, Evaluation) else answer.spent
        self.unpriced |= cost is None
        self.cost[tier] += cost or 0.0  # type: ignore[assignment]
        self.usage[tier] = self.usage.get(tier, Usage()) + answer.usage
        if isinstance(answer, NotMeasured):
            self.missing[key] = answer
        else:
            self.answers[key] = answer
            self.dropped.update(answer.dropped)

    @property
    def spent(self) -> float:
        """Dollars spent in this run."""
        return float(sum(self.cost.values()))

    def readings_of(self, event: Event) -> Event:
        """The event with its scores in place of those it came with."""
        answer = self.answers.get((event.source, event.id))
        return event if answer is None else scored(event, answer)

    def must_not_have_stopped(self) -> None:
        """Raise what stopped the run: an interrupt or the evaluator; a used up budget raises nothing."""
        if self.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        if self.stopped and self.stopped != OVER_BUDGET:
            raise EvaluatorStopped(self.stopped)

    def must_have_scored(self) -> None:
        """Raise where questions were asked and not a single answer could be used."""
        if not self.answers and not self.before and any(not item.final for item in self.missing.values()):
            reason, _ = Counter(item.reason for item in self.missing.values()).most_common(1)[0]
            raise EvaluatorStopped(f"nothing could be scored: {reason}")

    def to_dict(self) -> dict[str, Any]:
        counter = Counter(self.tiers.values())
        measured = Counter(name for answer in self.answers.values() for name in answer.traits)
        return EvaluateSummary(
            evaluator=self.evaluator,
            scorer=self.scorer,
            messages=self.scanned.messages,
            evaluated=len(self.answers) + len(self.before),
            share=(len(self.answers) + len(self.before)) / max(1, self.scanned.messages),
            kept_before=len(self.cached) + len(self.before),
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


def scores_of(answer: Evaluation) -> dict[str, float]:
    """The readings of an answer: traits, what follows from them, and indicators."""
    scores: dict[str, float] = {**answer.traits, **dimensions(answer.traits)}
    return scores | {indicator.id: indicator.confidence for indicator in answer.indicators}


def readings_in(answer: Evaluation) -> tuple[Reading, ...]:
    """The same, as a store keeps them."""
    scores = scores_of(answer)
    return tuple(Reading(name, value, answer.scorer, answer.width) for name, value in scores.items())


def scored(event: Event, answer: Evaluation) -> Event:
    """An event with the readings of an answer in place of all other scores."""
    new = scores_of(answer)
    old = {name: value for name, value in event.readings.items() if not is_scored(name)}
    scorers = {name: scorer for name, scorer in event.scorers.items() if name in old}
    widths = {name: width for name, width in event.widths.items() if name in old}
    return replace(
        event,
        readings={**old, **new},
        scorers=scorers | dict.fromkeys(new, answer.scorer),
        widths=widths | dict.fromkeys(new, answer.width),
    )


def settings_for(settings: Settings, scorer: str) -> Settings:
    """The settings with the readings of this scorer counting, unless they name another scorer."""
    names = (*SCORES, *indicator_catalogue())
    return replace(settings, scorers={**dict.fromkeys(names, scorer), **settings.scorers})


@dataclass(frozen=True, slots=True)
class Paying:
    """How paid questions are asked: the cache, the budget, and how their batches run.

    `detections` is shown with a subject's history, and so is what is `known` beside the events.
    """

    answers: Answers = field(default_factory=Answers)
    budget: float | None = None
    detections: Detections | None = None
    known: StoredSubjects | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    run: Callable[[QuestionRun], RunResult] = QuestionRun.run


def evaluate_events(
    events: Iterable[Event],
    evaluator: Evaluator,
    *,
    sampling: Sampling | None = None,
    paying: Paying | None = None,
    progress: OnProgress | None = None,
    before: Collection[Key] = (),
) -> Evaluated:
    """Score the messages worth it; `events` are in order of time and may be iterated twice.

    Those in `before` have scores by this evaluator already and are not asked about.
    """
    out = Evaluated(evaluator.name, evaluator.scorer)
    questions: list[Question] = []

    def evaluate_free() -> None:
        for question, answer in zip(questions, evaluator.evaluate_many(questions), strict=True):
            out.add(question, answer)
        questions.clear()
        if progress is not None:
            progress(len(out.tiers), 0, 0.0)

    sampling = sampling or sampling_for(evaluator)
    for event, route, question in routed(events, sampling, with_threads=evaluator.wants_context):
        out.scanned.add(route)
        if question is not None and (event.source, event.id) in before:
            out.before.add((event.source, event.id))
        elif question is not None:
            questions.append(question)
            if not evaluator.paid and len(questions) == CHUNK:
                evaluate_free()
    if evaluator.paid:
        _evaluate_paid(events, questions, evaluator, paying or Paying(), out, progress)
    else:
        evaluate_free()
    return out


def subject_history(earlier: Sequence[Event], paying: Paying, who: Key, at: datetime) -> dict[str, Any]:
    """What a question about a message at a moment shows of its subject's newest events before it."""
    earlier = earlier[-LONGEST_HISTORY:]
    history = history_of(earlier)
    if paying.detections is not None:
        history["detections"] = paying.detections(earlier)
    if paying.known is not None:
        detections = history.setdefault("detections", [])
        detections += [item for item in paying.known.detections(who, at) if item not in detections]
    return history


def _evaluate_paid(
    events: Iterable[Event],
    questions: Sequence[Question],
    evaluator: Evaluator,
    paying: Paying,
    out: Evaluated,
    progress: OnProgress | None,
) -> None:
    if paying.budget is not None and questions and evaluator.worst_cost(questions[0]) is None:
        raise BadUsage(
            f"--budget: no price is known for {evaluator.scorer}: "
            "set the dollars per million tokens with the options price.input and price.output"
        )
    shown = {(question.source, question.subject) for question in questions if question.tier == WITH_HISTORY}
    by_subject: dict[Key, list[Event]] = defaultdict(list)
    for event in events if shown else ():
        if (event.source, event.subject) in shown:
            by_subject[event.source, event.subject].append(event)

    def complete(k: int) -> Question:
        """The question with its subject's history up to it."""
        question = questions[k]
        who = question.source, question.subject
        own = by_subject[who]
        place = next(n for n, event in enumerate(own) if event.id == question.id)
        earlier = list(map(out.readings_of, own[:place]))
        if paying.known is not None:
            ids, order = {event.id for event in own}, own[place].order
            others = (e for e in paying.known.events(who) if e.order < order and e.id not in ids)
            earlier = sorted((*earlier, *others), key=lambda event: event.order)
        return replace(question, history=subject_history(earlier, paying, who, own[place].at))

    run = QuestionRun(
        questions,
        evaluator,
        answers=paying.answers,
        budget=Budget(paying.budget),
        now=paying.now,
        complete=complete if evaluator.wants_context else None,
        answered=lambda k, answer: out.add(questions[k], answer),
        progress=progress,
    )
    result = paying.run(run)
    out.untrusted = len(paying.answers.untrusted)
    out.cached |= {(questions[k].source, questions[k].id) for k in result.cached}
    out.unasked, out.in_jobs = len(questions) - len(result.answers), result.in_jobs
    out.stopped = result.stopped


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An evaluator and how it is asked, as a step of an analysis."""

    evaluator: Evaluator
    sampling: Sampling | None = None
    paying: Paying | None = None
    progress: OnProgress | None = None
    before: Collection[Key] = ()

    def __call__(self, gathered: Batch | OnDisk, as_of: datetime | None = None) -> tuple[Any, Evaluated]:
        """The same input with the scores as readings, and the evaluation; events after `as_of` are skipped.

        The caller closes what is on disk.
        """
        evaluated = self.evaluate(gathered, as_of)
        if isinstance(gathered, Batch):
            return replace(gathered, events=EventList(map(evaluated.readings_of, gathered.events))), evaluated
        from ..out_of_core import in_buckets

        old = gathered.events.buckets
        scored = map(evaluated.readings_of, gathered.events)
        beside = None if old.scratch is None else old.scratch.parent
        new = in_buckets(scored, len(old.paths), beside)
        return replace(gathered, events=EventsOnDisk(new)), evaluated

    def evaluate(self, gathered: Batch | OnDisk, as_of: datetime | None = None) -> Evaluated:
        """The evaluation alone; events after `as_of` are skipped."""
        if isinstance(gathered, Batch):
            return self._evaluate(gathered.events if as_of is None else gathered.events.until(as_of))
        from ..out_of_core import EventsByTime

        def read(path: Path) -> Iterable[Event]:
            return read_bucket(path) if as_of is None else read_bucket(path).until(as_of)

        old = gathered.events.buckets
        with Buckets(count=1, folder=old.scratch) as scratch:
            return self._evaluate(EventsByTime(old.paths, scratch.folder, read))

    def _evaluate(self, events: Iterable[Event]) -> Evaluated:
        try:
            return evaluate_events(
                events,
                self.evaluator,
                sampling=self.sampling,
                paying=self.paying,
                progress=self.progress,
                before=self.before,
            )
        finally:
            if self.paying is not None:
                self.paying.answers.close()


def evaluator_of(
    settings: Settings, name: str | None = None, options: Mapping[str, Any] | None = None
) -> Evaluator | None:
    """The evaluator of that name or of the settings, None for `none`; `options` override the settings."""
    for known in settings.evaluators:
        registry.evaluators.get(known)
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
    """How an evaluator is paid; answers are saved in the file that the settings name."""
    run = InBatches(batches_of(evaluator)) if in_batches else QuestionRun.run
    if not evaluator.paid:
        return Paying(budget=budget)
    path = Path(settings.answers) if settings.answers else default_path()
    detections = None if library is None else _detections(library, settings, evaluator.scorer)
    return Paying(Answers(path), budget, detections, run=run)


def _detections(library: Library, settings: Settings, scorer: str) -> Detections:
    """What the patterns that read scores detect in a subject's events."""
    programs = [program for program in library.programs if looks_at_scores(program)]
    own_settings = settings_for(settings, scorer)

    def detect(events: Sequence[Event]) -> list[dict[str, str]]:
        if not events:
            return []
        supplied, _ = only_scorers(events, own_settings.scorers)
        measured, _ = measured_events(supplied, programs, own_settings)
        return shown_detections(find(programs, measured, as_of=events[-1].at).detections)

    return detect


def shown_detections(detections: Iterable[Detection]) -> list[dict[str, str]]:
    """Detections as a prompt shows them, without those of shadow patterns."""
    return [
        {"pattern": item.pattern, "severity": item.severity, "at": format_time(item.detected_at)}
        for item in detections
        if item.status != "shadow"
    ]
