"""Which messages an evaluator is asked about, and the requests within the budget."""

from __future__ import annotations

import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from ...errors import BadUsage, EvaluatorStopped
from ...evaluators.base import Answer, Evaluation, Evaluator, NotMeasured, Question, Usage
from ...evaluators.pricing import Budget
from ...evaluators.prompt import Said
from ...evaluators.response_cache import Answers
from ...lexicon.triage import PRIOR, SAMPLED, Route, Router
from ...models import Event
from ..subject import signal_contexts

# Questions: which messages an evaluator is asked about, and what it is shown of their thread and subject.

WHOLE = "deep_with_context"  # the tier that sees what is known of the subject
LONGEST_THREAD = 400  # earlier messages of a thread that are held for it; a prompt shows fewer


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which messages without a flag are asked about all the same: a share of them, or of all subjects.

    Of a subject that is chosen every message is, so that its history has no holes.
    """

    share: float = SAMPLED
    by: str = "message"


FREE = Sampling(0.15, "subject")  # where asking costs nothing


def sampling_for(evaluator: Evaluator) -> Sampling:
    """What is sampled unless somebody says otherwise: everything where it was decided before."""
    if evaluator.name == "recorded":
        return Sampling(1.0)
    return Sampling() if evaluator.paid else FREE


class Questioner:
    """Routes events one after the other, and makes a question of each that is worth one."""

    def __init__(self, sampling: Sampling, *, with_threads: bool) -> None:
        self._router = Router(sampling.share, by=sampling.by)
        self._threads: dict[tuple[str, str], list[Said]] = {}
        self._with_threads = with_threads

    def ask(self, event: Event) -> tuple[Route, Question | None]:
        """Where an event goes, and what is asked about it; its subject's history is for later."""
        route = self._router.route(event)
        question = None
        if route.depth is not None and event.text is not None:
            question = Question(
                event.source, event.id, event.subject, event.text, route.scan, route.tier, self._before(route)
            )
        if self._with_threads and event.thread is not None and event.text is not None:
            said = self._threads.setdefault((event.source, event.thread), [])
            said.append((event.subject, event.text, route.scan))
            del said[:-LONGEST_THREAD]
        return route, question

    def _before(self, route: Route) -> tuple[Said, ...]:
        prior, thread = PRIOR.get(route.tier, 0), route.event.thread
        if not prior or not self._with_threads or thread is None:
            return ()
        text = self._threads.get((route.event.source, thread), ())
        return tuple(text if prior < 0 else text[-prior:])


def routed(
    events: Iterable[Event], sampling: Sampling, *, with_threads: bool
) -> Iterator[tuple[Event, Route, Question | None]]:
    """Every event in order, where it goes, and what is asked about it."""
    questioner = Questioner(sampling, with_threads=with_threads)
    for event in events:
        yield event, *questioner.ask(event)


"""The subject's events before the one of a question, with the readings they have so far."""
Told = Callable[[Sequence[Event]], Sequence[Any]]  # what was detected in some events of one subject


def with_history(question: Question, own: Sequence[Event], record: Told | None = None) -> Question:
    """The question with what is known of its subject so far: counts, averages, trends, detections."""
    history: dict[str, Any] = {
        "messages": len(own),
        "threads": len({item.thread for item in own if item.thread is not None}),
        "signals": [context.to_dict() for context in signal_contexts(own)],
    }
    if record is not None:
        history["detections"] = list(record(own))
    return replace(question, history=history)


# Asking: every question put to an evaluator, some at once, none past the budget and none of them twice.
#
# A question that is to be told its subject's history waits until the subject's earlier ones are answered; all
# others go as they come. Every answer is kept the moment it is there, so whoever is interrupted has paid for
# nothing that is lost.

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
        for k, question in enumerate(questions):
            self._order[question.source, question.subject].append(k)
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
        return {
            question.key(self.identity): question
            for k, question in enumerate(self._questions)
            if not self._waits(k)
        }

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
        if known is None or any(
            indicator.end > len(self._questions[k].text) for indicator in known.indicators
        ):
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
        question = self._questions[k]
        line = self._order[question.source, question.subject]
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


# In batches: what can be asked without waiting for other answers goes in large jobs, the rest one by one.
#
# A job is remembered before anything is waited for, so whoever is interrupted fetches its answers later.

EVERY = 30.0  # seconds between two looks at a job


class Jobs(Protocol):
    """What a model's side offers for large jobs; evaluators/batch.py is one."""

    def submit(self, questions: list[Question]) -> str: ...
    def ended(self, job: str) -> bool: ...
    def results(self, job: str, questions: list[Question]) -> dict[str, Answer]: ...
    def worst_cost(self, question: Question) -> float | None: ...


def jobs_of(evaluator: Evaluator) -> Jobs:
    """The jobs of an evaluator; BadUsage where it has none."""
    from ...evaluators.anthropic import Anthropic, Batches

    if not isinstance(evaluator, Anthropic):
        raise BadUsage(f"--batch: {evaluator.name} answers no batches; leave it out, or ask anthropic")
    return _Batches(Batches(evaluator))


class _Batches:
    def __init__(self, batches: object) -> None:
        from ...evaluators.anthropic import Batches

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
