"""In batches: what can be asked without waiting for other answers goes in large jobs, the rest one by one.

A job is remembered before anything is waited for, so whoever is interrupted fetches its answers later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from ..errors import BadUsage, EvaluatorStopped
from ..evaluators.protocol import Answer, Evaluation, Evaluator, Question
from .asking import INTERRUPTED, Asked, Asking

EVERY = 30.0
"""Seconds between two looks at a job."""


class Jobs(Protocol):
    """What a model's side offers for large jobs; evaluators/batch.py is one."""

    def submit(self, questions: list[Question]) -> str: ...
    def ended(self, job: str) -> bool: ...
    def results(self, job: str, questions: list[Question]) -> dict[str, Answer]: ...
    def worst_cost(self, question: Question) -> float | None: ...


def jobs_of(evaluator: Evaluator) -> Jobs:
    """The jobs of an evaluator; BadUsage where it has none."""
    from ..evaluators.anthropic import Anthropic
    from ..evaluators.batch import Batches

    if not isinstance(evaluator, Anthropic):
        raise BadUsage(f"--batch: {evaluator.name} answers no batches; leave it out, or ask anthropic")
    return _Batches(Batches(evaluator))


class _Batches:
    def __init__(self, batches: object) -> None:
        from ..evaluators.batch import Batches

        assert isinstance(batches, Batches)
        self._batches = batches
        self.worst_cost = batches.worst_cost

    def submit(self, questions: list[Question]) -> str:
        return self._batches.submit(questions)

    def ended(self, job: str) -> bool:
        return self._batches.poll(job).ended

    def results(self, job: str, questions: list[Question]) -> dict[str, Answer]:
        # A question is called by its key there.
        return self._batches.results(job, questions)


class InBatches:
    """Runs an Asking with as many of its questions as possible in jobs."""

    def __init__(
        self,
        jobs: Jobs,
        *,
        most: int = 10_000,
        every: float = EVERY,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._jobs, self._most, self._every, self._sleep = jobs, most, every, sleep

    def __call__(self, asking: Asking) -> Asked:
        """Fetch what earlier runs asked for, ask for the rest, wait; then one by one what is left.

        A job holds what its questions may cost at most; what they did not cost is for the next job.
        """
        questions = asking.without_history()
        under_way: list[tuple[str, list[str]]] = []
        try:
            under_way += self._earlier(asking, questions)
            while under_way or self._submit(asking, questions, under_way):
                job, keys = under_way[0]
                while not self._jobs.ended(job):
                    self._sleep(self._every)
                self._take(asking, job, {key: questions[key] for key in keys if key in questions})
                if all(key in questions for key in keys):
                    asking.answers.end_job(job)
                del under_way[0]
        except (KeyboardInterrupt, EvaluatorStopped) as stop:
            asking.out.stopped = INTERRUPTED if isinstance(stop, KeyboardInterrupt) else str(stop)
            asking.out.in_jobs = sum(key in questions for _, keys in under_way for key in keys)
            return asking.run()
        # What a job could not answer is asked once more by itself, while the budget allows it.
        return asking.run()

    def _earlier(self, asking: Asking, questions: dict[str, Question]) -> list[tuple[str, list[str]]]:
        """Jobs of earlier runs that hold questions of this one."""
        found = [(job, keys) for job, keys in asking.answers.jobs(asking.identity)]
        return [(job, keys) for job, keys in found if any(key in questions for key in keys)]

    def _submit(
        self, asking: Asking, questions: dict[str, Question], under_way: list[tuple[str, list[str]]]
    ) -> bool:
        """Whether there was anything to ask that fits the budget; it is under way then."""
        part: dict[str, Question] = {}
        for key, question in questions.items():
            if asking.answers.get(key) is not None or asking.was_fetched(key):
                continue
            worst = self._jobs.worst_cost(question) or 0.0
            if len(part) == self._most or not asking.budget.fits(worst):
                break
            asking.budget.hold(worst)
            part[key] = question
        if part:
            job = self._jobs.submit(list(part.values()))
            asking.answers.add_job(job, asking.identity, list(part), asking.now())
            under_way.append((job, list(part)))
        return bool(part)

    def _take(self, asking: Asking, job: str, questions: dict[str, Question]) -> None:
        if not questions:
            return
        for key, answer in self._jobs.results(job, list(questions.values())).items():
            asking.budget.settle(self._jobs.worst_cost(questions[key]) or 0.0, 0.0)
            if isinstance(answer, Evaluation):
                asking.answers.put(key, answer, asking.now())
            asking.fetched(key, answer)
