"""Scores of messages as they come: the same questions as of a whole input, one at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from ...evaluators.base import Evaluation, Evaluator, Question
from ...evaluators.pricing import Budget
from ...models import Event
from ...models.slotted import replace
from .questions import (
    INTERRUPTED,
    LONGEST_HISTORY,
    OVER_BUDGET,
    WITH_HISTORY,
    QuestionRun,
    Questions,
    Sampling,
    sampling_for,
)
from .scoring import Key, Paying, scored, subject_history

MOST_TEXTS = 100_000
"""Texts and threads that are remembered."""


class LiveScores:
    """Scores each message that is worth it, within the budget.

    What stops the evaluator is in `stopped`; messages after that are not scored.
    """

    def __init__(self, evaluator: Evaluator, paying: Paying, sampling: Sampling | None = None) -> None:
        self.evaluator, self.paying = evaluator, paying
        self.evaluated = self.not_measured = self.not_asked = 0
        self.stopped = ""
        self.budget = Budget(paying.budget)
        self._questions = Questions(
            sampling or sampling_for(evaluator), with_threads=evaluator.wants_context, most=MOST_TEXTS
        )
        self._earlier: dict[Key, deque[Event]] = {}

    def add(self, event: Event) -> Event:
        """The next event, with its scores in place of those it came with."""
        who = (event.source, event.subject)
        _, question = self._questions.add(event)
        if question is not None:
            if self.evaluator.wants_context and question.tier == WITH_HISTORY:
                history = subject_history(list(self._earlier.get(who, ())), self.paying, who, event.at)
                question = replace(question, history=history)
            event = self._scored(event, question)
        if self.evaluator.wants_context:
            self._earlier.setdefault(who, deque(maxlen=LONGEST_HISTORY)).append(event)
        return event

    def _scored(self, event: Event, question: Question) -> Event:
        if not self.evaluator.paid:
            answer: Any = self.evaluator.evaluate(question)
        elif self.stopped and self.stopped != OVER_BUDGET:
            answer = None
        else:
            run = QuestionRun(
                [question],
                self.evaluator,
                answers=self.paying.answers,
                budget=self.budget,
                now=self.paying.now,
            )
            result = run.run()
            self.stopped = result.stopped
            if result.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            answer = result.answers.get(0)
        if isinstance(answer, Evaluation):
            self.evaluated += 1
            return scored(event, answer)
        self.not_asked += answer is None
        self.not_measured += answer is not None
        return event

    def forget(self, source: str, subject: str) -> None:
        """Forget the history of a subject."""
        self._earlier.pop((source, subject), None)

    def save(self) -> dict[str, Any]:
        """What decides which messages are scored, without texts: threads and histories begin anew."""
        return {
            "scorer": self.evaluator.scorer,
            "router": self._questions.router.save(),
            "spent": self.budget.spent,
            "counts": [self.evaluated, self.not_measured, self.not_asked],
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Continue from what was saved."""
        self._questions.router.load(saved["router"])
        self.budget.spent = saved["spent"]
        self.evaluated, self.not_measured, self.not_asked = saved["counts"]
