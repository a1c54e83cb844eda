"""An evaluator that answers as it is told to, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ethogram.evaluators.base import Answer, Evaluation, Evaluator, NotMeasured, Question, Usage
from ethogram.models import TRAITS

Say = Callable[[Question], Answer | None]


class Scripted(Evaluator):
    """Gives every trait the same number; `say` may answer otherwise. Costs `cost`, at most `worst`."""

    name = "scripted"
    scorer = "scripted:one@1"
    paid = True
    wants_context = True

    def __init__(
        self,
        say: Say | None = None,
        *,
        value: float = 0.25,
        cost: float = 0.01,
        worst: float = 0.02,
        concurrency: int = 1,
    ) -> None:
        self._say, self._value, self._cost, self._worst = say, value, cost, worst
        self.concurrency = concurrency
        self.asked: list[Question] = []
        self.under_way = self.most_under_way = 0
        self._lock = threading.Lock()

    def evaluate(self, question: Question) -> Answer:
        with self._lock:
            self.asked.append(question)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            said = None if self._say is None else self._say(question)
            return said or self.answer(self._value, question)
        finally:
            with self._lock:
                self.under_way -= 1

    def answer(self, value: float, question: Question) -> Evaluation:
        return Evaluation(
            dict.fromkeys(TRAITS, value), (), self.scorer, question.width, self._cost, Usage(100, 20)
        )

    def fail(self, reason: str = "the model refused") -> NotMeasured:
        return NotMeasured(reason, self._cost, Usage(100, 20))

    def worst_cost(self, question: Question) -> float | None:
        return self._worst
