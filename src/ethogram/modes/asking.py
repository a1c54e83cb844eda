"""Asking: every question put to an evaluator, some at once, none past the budget and none of them twice.

A question that is to be told its subject's history waits until the subject's earlier ones are answered; all
others go as they come. Every answer is kept the moment it is there, so whoever is interrupted has paid for
nothing that is lost.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..errors import BadUsage, EvaluatorStopped
from ..evaluators.answers import Answers
from ..evaluators.budget import Budget
from ..evaluators.protocol import Answer, Evaluation, Evaluator, NotMeasured, Question, Usage
from .questions import WHOLE

INTERRUPTED = "interrupted"
OVER_BUDGET = "budget"

Tell = Callable[[int, int, float], None]
"""Told how many of how many questions are answered, and what that cost so far."""


@dataclass(slots=True)
class Asked:
    """What came of the questions, by their place in the list. `stopped` says why some were not asked."""

    answers: dict[int, Answer] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    """Those whose answer was there from before."""
    stopped: str = ""
    in_jobs: int = 0
    """Questions in batches that go on."""


class Asking:
    """One run over a list of questions."""

    def __init__(
        self,
        questions: Sequence[Question],
        evaluator: Evaluator,
        *,
        answers: Answers,
        budget: Budget,
        now: Callable[[], datetime],
        complete: Callable[[int], Question] | None = None,
        answered: Callable[[int, Answer], None] | None = None,
        tell: Tell | None = None,
    ) -> None:
        self.out = Asked()
        self.answers, self.budget, self.now, self.identity = answers, budget, now, evaluator.identity
        self._questions, self._evaluator = questions, evaluator
        self._complete, self._answered, self._tell = complete, answered, tell
        self._order: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._ready: list[int] = []
        self._under_way: dict[Future[Answer], tuple[str, float]] = {}
        self._waiting: dict[str, list[int]] = {}
        self._whole: dict[int, Question] = {}
        self._fetched: dict[str, Answer] = {}
        for k, one in enumerate(questions):
            self._order[one.source, one.subject].append(k)
        for line in self._order.values():
            line.reverse()
            self._ready += [k for k in line if not self._waits(k) or k == line[-1]]
        heapq.heapify(self._ready)

    def run(self) -> Asked:
        """Ask until all are answered, the budget is used up, or somebody interrupts."""
        pool = ThreadPoolExecutor(self._evaluator.concurrency, thread_name_prefix="evaluate")
        try:
            while self._send(pool) or self._under_way:
                self._collect()
        except KeyboardInterrupt:
            # What is under way is paid for: it is waited for and kept. A second interrupt lets it go.
            self.out.stopped = INTERRUPTED
            try:
                while self._under_way:
                    self._collect()
            except KeyboardInterrupt:
                self._evaluator.close()
                # It answers at once now; what was under way counts at its highest price.
                with suppress(KeyboardInterrupt):
                    while self._under_way:
                        self._collect()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return self.out

    def without_history(self) -> dict[str, Question]:
        """The questions that need not wait for other answers, by their keys."""
        return {one.key(self.identity): one for k, one in enumerate(self._questions) if not self._waits(k)}

    def fetched(self, key: str, answer: Answer) -> None:
        """An answer of this run that came some other way; what it cost counts."""
        self.budget.settle(0.0, _cost(answer))
        self._fetched[key] = answer

    def was_fetched(self, key: str) -> bool:
        """Whether a question was asked that way already, whatever came of it."""
        return key in self._fetched

    def _waits(self, k: int) -> bool:
        return self._complete is not None and self._questions[k].tier == WHOLE

    def _send(self, pool: ThreadPoolExecutor) -> bool:
        """Ask as many as may be under way at once; whether any was answered from what is kept."""
        seen = False
        while self._ready and self.out.stopped != INTERRUPTED:
            k = self._ready[0]
            question = self._question(k)
            key = question.key(self.identity)
            if self._is_known(k, key):
                seen = True
            elif key in self._waiting:
                self._waiting[key].append(k)
            elif len(self._under_way) >= self._evaluator.concurrency or not self._may_ask(question):
                break
            elif not self.out.stopped:
                worst = self._evaluator.worst_cost(question) or 0.0
                self.budget.hold(worst)
                self._waiting[key] = [k]
                self._under_way[pool.submit(self._evaluator.evaluate, question)] = (key, worst)
            heapq.heappop(self._ready)
        return seen

    def _is_known(self, k: int, key: str) -> bool:
        """Whether the answer is there already; then it is taken."""
        known = self.answers.get(key)
        # Places in a text of another length are those of a file that somebody changed.
        if known is None or any(one.end > len(self._questions[k].text) for one in known.indicators):
            return False
        fetched = self._fetched.pop(key, None)
        if fetched is None:
            self.out.kept.add(k)
        self._finish(k, fetched or _free(known))
        return True

    def _may_ask(self, question: Question) -> bool:
        """Whether there is no need to wait for what others cost; what never fits stops it all."""
        worst = self._evaluator.worst_cost(question) or 0.0
        if not self.out.stopped and self.budget.never_fits(worst):
            self.out.stopped = OVER_BUDGET
        # Once stopped, the rest is gone through for answers that are kept.
        return bool(self.out.stopped) or self.budget.fits(worst)

    def _question(self, k: int) -> Question:
        if not self._waits(k):
            return self._questions[k]
        if k not in self._whole:
            assert self._complete is not None
            self._whole[k] = self._complete(k)
        return self._whole[k]

    def _collect(self) -> None:
        if not self._under_way:
            return
        done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
        for future in done:
            key, worst = self._under_way.pop(future)
            answer = self._result(future)
            self.budget.settle(worst, _cost(answer))
            before = self._fetched.pop(key, None)
            if isinstance(answer, Evaluation):
                self._keep(key, answer)
            first, *others = self._waiting.pop(key)
            self._finish(first, answer if before is None else _both(before, answer))
            for k in others:
                # The same was asked twice and answered once.
                self.out.kept.add(k)
                self._finish(k, _free(answer))

    def _keep(self, key: str, answer: Evaluation) -> None:
        try:
            self.answers.put(key, answer, self.now())
        except BadUsage as full:
            # It counts for this run all the same, but nothing more is asked that could not be kept.
            self.out.stopped = self.out.stopped or str(full)

    def _result(self, future: Future[Answer]) -> Answer:
        try:
            return future.result()
        except EvaluatorStopped as stopped:
            self.out.stopped = self.out.stopped or str(stopped)
            return NotMeasured("the evaluator stopped", stopped.spent)

    def _finish(self, k: int, answer: Answer) -> None:
        self.out.answers[k] = answer
        self._whole.pop(k, None)
        if self._answered is not None:
            self._answered(k, answer)
        one = self._questions[k]
        line = self._order[one.source, one.subject]
        before = line[-1] if line else None
        line.remove(k)
        # Whoever is first in line now may have waited for this one.
        if line and line[-1] != before and self._waits(line[-1]):
            heapq.heappush(self._ready, line[-1])
        if self._tell is not None:
            self._tell(len(self.out.answers), len(self._questions), self.budget.spent)


def _cost(answer: Answer) -> float:
    return (answer.cost if isinstance(answer, Evaluation) else answer.spent) or 0.0


def _both(before: Answer, answer: Answer) -> Answer:
    """An answer with what the attempt before it cost added."""
    cost, usage = _cost(before) + _cost(answer), before.usage + answer.usage
    if isinstance(answer, Evaluation):
        return replace(answer, cost=cost, usage=usage)
    return replace(answer, spent=cost, usage=usage)


def _free(answer: Answer) -> Answer:
    if isinstance(answer, Evaluation):
        return replace(answer, cost=0.0, usage=Usage())
    return replace(answer, spent=0.0, usage=Usage())
