"""Evaluating: the messages that earn it are scored, in order of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..errors import BadUsage
from ..evaluators.answers import Answers
from ..evaluators.budget import Budget
from ..evaluators.protocol import Evaluator, Question
from ..records import Event
from .asking import Asked, Asking, Tell
from .evaluated import Evaluated, Key
from .questions import WHOLE, Sampling, Told, routed, sampling_for, with_history

CHUNK = 1024
"""Questions that a free evaluator is given at once."""


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
        for one, answer in zip(held, evaluator.evaluate_many(held), strict=True):
            out.take(one, answer)
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
        shown = {(one.source, one.subject) for one in questions if one.tier == WHOLE}
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
