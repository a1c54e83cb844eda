"""Questions to an evaluator: which messages, and how they are sent within the budget.

A question that shows its subject's history waits until the subject's earlier ones are answered; all others
go as they come. Every answer is saved when it arrives, so an interrupted run loses nothing it paid for.
"""

from __future__ import annotations

import heapq
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ...errors import BadUsage, EvaluatorStopped
from ...evaluators.base import Answer, Evaluation, Evaluator, NotMeasured, Question, Usage
from ...evaluators.pricing import Budget
from ...evaluators.prompt import FIRST_MESSAGES, PriorMessage
from ...evaluators.response_cache import Answers
from ...lexicon.triage import SAMPLED, SAMPLED_SUBJECTS, Route, Router
from ...models import Event
from ...models.slotted import dataclass, field, replace
from ..subject import signal_contexts

if TYPE_CHECKING:
    from ...evaluators.anthropic import Batches

WITH_HISTORY = "deep_with_context"  # the tier that is shown its subject's history
LONGEST_HISTORY = 400  # newest events of a subject that its history is made of
LONGEST_THREAD = (
    400  # earlier messages of a thread held in memory, its first among them; a prompt shows fewer
)
POLL_SECONDS = 30.0
BATCH_SIZE = 4_000  # a server takes 256 MB
INTERRUPTED = "interrupted"
OVER_BUDGET = "budget"

OnProgress = Callable[[int, int, float], None]  # questions answered, questions in all, dollars so far


@dataclass(frozen=True, slots=True)
class Sampling:
    """Share of the messages without a flag, or of the subjects (with all their messages), that is scored too.

    Sampling by subject leaves no holes in a history.
    """

    share: float = SAMPLED
    by: str = "message"


def sampling_for(evaluator: Evaluator) -> Sampling:
    """The default sampling: everything for recorded answers, whole subjects where scoring is free."""
    if evaluator.name == "recorded":
        return Sampling(1.0)
    return Sampling() if evaluator.paid else Sampling(SAMPLED_SUBJECTS, "subject")


class Questions:
    """Makes the question about each message that is worth one, as messages come.

    `most`, for streams without an end, is how many threads and texts are remembered.
    """

    def __init__(self, sampling: Sampling, *, with_threads: bool, most: int | None = None) -> None:
        self.router = Router(sampling.share, by=sampling.by, most=most)
        self._with_threads, self._most = with_threads, most
        self._threads: dict[tuple[str, str], list[PriorMessage]] = {}

    def add(self, event: Event) -> tuple[Route, Question | None]:
        """The route of the next event, and the question where it is worth one (without history)."""
        route, question = self.router.route(event), None
        if event.text is None:
            return route, None
        shown = self._with_threads and event.thread is not None
        thread = self._thread((event.source, event.thread or "")) if shown else []
        if route.depth is not None:
            earlier = tuple(thread if route.prior < 0 else thread[-route.prior :] if route.prior else ())
            question = Question(
                event.source, event.id, event.subject, event.text, route.scan, route.tier, earlier
            )
        if shown:
            thread.append((event.subject, event.text, route.scan))
            del thread[FIRST_MESSAGES : FIRST_MESSAGES + len(thread) - LONGEST_THREAD]
        return route, question

    def _thread(self, key: tuple[str, str]) -> list[PriorMessage]:
        thread = self._threads.pop(key, [])
        if self._most is not None and len(self._threads) >= self._most:
            del self._threads[next(iter(self._threads))]
        self._threads[key] = thread
        return thread


def routed(
    events: Iterable[Event], sampling: Sampling, *, with_threads: bool
) -> Iterator[tuple[Event, Route, Question | None]]:
    """Every event in order with its route, and the question where it is worth one (without history)."""
    questions = Questions(sampling, with_threads=with_threads)
    for event in events:
        yield event, *questions.add(event)


def history_of(events: Sequence[Event]) -> dict[str, Any]:
    """What a prompt shows of a subject's earlier events."""
    return {
        "messages": len(events),
        "threads": len({event.thread for event in events if event.thread is not None}),
        "signals": [context.to_dict() for context in signal_contexts(events)],
    }


@dataclass(slots=True)
class RunResult:
    """Answers by the index of their question, and why the run stopped where it did."""

    answers: dict[int, Answer] = field(default_factory=dict)
    cached: set[int] = field(default_factory=set)  # answered before this run, or as part of another question
    stopped: str = ""
    in_jobs: int = 0  # questions in batches that are still running


class Interrupts:
    """Ctrl-C while questions are asked takes effect only where the run waits.

    Anywhere else it could fall between an answer that is paid for and its saving.
    """

    def __init__(self) -> None:
        self._waiting = self._pending = False

    def __enter__(self) -> Interrupts:
        self._before = signal.getsignal(signal.SIGINT)
        # Another handler, or an ignored signal, is somebody's choice; and only the main thread may set one.
        self._held = (
            self._before is signal.default_int_handler
            and threading.current_thread() is threading.main_thread()
        )
        if self._held:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._held:
            signal.signal(signal.SIGINT, self._before)

    def none(self) -> bool:
        """Raise KeyboardInterrupt where there was a Ctrl-C since the last wait; otherwise True."""
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt
        return True

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A wait that may be interrupted."""
        self._waiting = True
        try:
            self.none()
            yield
        finally:
            self._waiting = False

    def _handle(self, number: int, frame: object) -> None:
        if self._waiting:
            raise KeyboardInterrupt
        self._pending = True


class QuestionRun:
    """Sends questions to an evaluator: several at once, none past the budget, none of them twice.

    `complete` adds the subject's history to the question of an index; `answered` receives every answer.
    """

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
        progress: OnProgress | None = None,
    ) -> None:
        self.out = RunResult()
        self.answers, self.budget, self.now, self.identity = answers, budget, now, evaluator.identity
        self.fetched: dict[str, Answer] = {}  # answers of this run that came in batches, by key
        self._questions, self._evaluator = questions, evaluator
        self._complete, self._answered, self._progress = complete, answered, progress
        self._queues: dict[tuple[str, str], list[int]] = defaultdict(list)  # by subject, the next one last
        self._ready: list[int] = []
        self._in_flight: dict[Future[Answer], tuple[str, float]] = {}
        self._waiting: dict[str, list[int]] = {}
        self._completed: dict[int, Question] = {}
        self._interrupts = Interrupts()
        for k, question in enumerate(questions):
            self._queues[question.source, question.subject].append(k)
        for queue in self._queues.values():
            queue.reverse()
            self._ready += [k for k in queue if not self._waits(k) or k == queue[-1]]
        heapq.heapify(self._ready)

    def run(self) -> RunResult:
        """Ask until all are answered, the budget is used up, or the user interrupts."""
        with self._interrupts:
            return self._run()

    def _run(self) -> RunResult:
        pool = ThreadPoolExecutor(self._evaluator.concurrency, thread_name_prefix="evaluate")
        try:
            while self._interrupts.none() and (self._send(pool) or self._in_flight):
                self._collect()
        except KeyboardInterrupt:
            # Requests in flight are paid for, so wait for them; a second interrupt abandons them.
            self.out.stopped = INTERRUPTED
            try:
                while self._in_flight:
                    self._collect()
            except KeyboardInterrupt:
                # A closed evaluator answers at once; what was in flight counts at its highest price.
                self._evaluator.close()
                with suppress(KeyboardInterrupt):
                    while self._in_flight:
                        self._collect()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return self.out

    def without_history(self) -> dict[str, Question]:
        """The questions that need no earlier answers, by key."""
        questions = (question for k, question in enumerate(self._questions) if not self._waits(k))
        return {question.key(self.identity): question for question in questions}

    def _waits(self, k: int) -> bool:
        return self._complete is not None and self._questions[k].tier == WITH_HISTORY

    def _send(self, pool: ThreadPoolExecutor) -> bool:
        """Send as many as may be in flight at once; whether any was answered from the cache."""
        hit = False
        while self._ready and self.out.stopped != INTERRUPTED:
            k = self._ready[0]
            question = self._question(k)
            key = question.key(self.identity)
            if self._take_cached(k, key):
                hit = True
            elif key in self._waiting:
                self._waiting[key].append(k)
            elif len(self._in_flight) >= self._evaluator.concurrency:
                break
            else:
                worst = self._evaluator.worst_cost(question) or 0.0
                if not self._may_send(worst):
                    break
                if not self.out.stopped:
                    self.budget.hold(worst)
                    self._waiting[key] = [k]
                    self._in_flight[pool.submit(self._evaluator.evaluate, question)] = (key, worst)
            heapq.heappop(self._ready)
        return hit

    def _take_cached(self, k: int, key: str) -> bool:
        """Use the saved answer, if there is one."""
        known = self.answers.get(key)
        # Quotes beyond the end of the text: the saved answer is of another text.
        if known is None or any(item.end > len(self._questions[k].text) for item in known.indicators):
            return False
        fetched = self.fetched.pop(key, None)
        if fetched is None:
            self.out.cached.add(k)
        self._finish(k, fetched or _priced(known, 0.0, Usage()))
        return True

    def _may_send(self, worst: float) -> bool:
        """Whether a question fits the budget now; one that never will stops the run.

        Once stopped, the remaining questions are looked up in the cache only.
        """
        if not self.out.stopped and self.budget.never_fits(worst):
            self.out.stopped = OVER_BUDGET
        return bool(self.out.stopped) or self.budget.fits(worst)

    def _question(self, k: int) -> Question:
        if self._complete is None or not self._waits(k):
            return self._questions[k]
        if k not in self._completed:
            self._completed[k] = self._complete(k)
        return self._completed[k]

    def _collect(self) -> None:
        with self._interrupts.allowed():
            done, _ = wait(self._in_flight, return_when=FIRST_COMPLETED) if self._in_flight else ((), ())
        for future in done:
            key, worst = self._in_flight.pop(future)
            answer = self._result(future)
            self.budget.settle(worst, cost_of(answer))
            if isinstance(answer, Evaluation):
                self._save(key, answer)
            if (before := self.fetched.pop(key, None)) is not None:
                cost = cost_of(before) + cost_of(answer)
                answer = _priced(answer, cost, before.usage + answer.usage)
            first, *others = self._waiting.pop(key)
            self._finish(first, answer)
            for k in others:
                self.out.cached.add(k)
                self._finish(k, _priced(answer, 0.0, Usage()))

    def _save(self, key: str, answer: Evaluation) -> None:
        try:
            self.answers.put(key, answer, self.now())
        except BadUsage as full:
            # The answer counts for this run, but nothing more is sent that could not be saved.
            self.out.stopped = self.out.stopped or str(full)

    def _result(self, future: Future[Answer]) -> Answer:
        try:
            return future.result()
        except EvaluatorStopped as stopped:
            self.out.stopped = self.out.stopped or str(stopped)
            return NotMeasured("the evaluator stopped", stopped.spent)

    def _finish(self, k: int, answer: Answer) -> None:
        self.out.answers[k] = answer
        self._completed.pop(k, None)
        if self._answered is not None:
            self._answered(k, answer)
        queue = self._queues[self._questions[k].source, self._questions[k].subject]
        before = queue[-1] if queue else None
        queue.remove(k)
        # The subject's next question may have waited for this answer.
        if queue and queue[-1] != before and self._waits(queue[-1]):
            heapq.heappush(self._ready, queue[-1])
        if self._progress is not None:
            self._progress(len(self.out.answers), len(self._questions), self.budget.spent)


def cost_of(answer: Answer) -> float:
    """What an answer cost in dollars; 0 where no price is known."""
    return (answer.cost if isinstance(answer, Evaluation) else answer.spent) or 0.0


def _priced(answer: Answer, cost: float, usage: Usage) -> Answer:
    if isinstance(answer, Evaluation):
        return replace(answer, cost=cost, usage=usage)
    return replace(answer, spent=cost, usage=usage)


def batches_of(evaluator: Evaluator) -> Batches:
    """The batch interface of an evaluator; BadUsage where it has none."""
    from ...evaluators.anthropic import Anthropic, Batches

    if not isinstance(evaluator, Anthropic):
        raise BadUsage(f"--batch: {evaluator.name} answers no batches: omit it, or use anthropic")
    return Batches(evaluator)


class InBatches:
    """Runs questions in batches as far as possible, and the rest one by one.

    A batch is saved before it is waited for, so that a later run can fetch its answers.
    """

    def __init__(self, batches: Batches, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._batches, self._sleep = batches, sleep
        self._interrupts = Interrupts()

    def __call__(self, run: QuestionRun) -> RunResult:
        """Fetch the batches of earlier runs, submit the rest, wait; then ask one by one what is left.

        A batch holds what its questions may cost at most; what they did not cost is for the next one.
        """
        questions = run.without_history()
        jobs: list[tuple[str, list[str]]] = []
        try:
            with self._interrupts:
                self._fetch(run, questions, jobs)
        except (KeyboardInterrupt, EvaluatorStopped) as stop:
            run.out.stopped = INTERRUPTED if isinstance(stop, KeyboardInterrupt) else str(stop)
            run.out.in_jobs = sum(key in questions for _, keys in jobs for key in keys)
        return run.run()

    def _fetch(
        self, run: QuestionRun, questions: dict[str, Question], jobs: list[tuple[str, list[str]]]
    ) -> None:
        earlier = list(run.answers.jobs(run.identity))
        jobs += [(job, keys) for job, keys in earlier if any(key in questions for key in keys)]
        while jobs or self._submit(run, questions, jobs):
            job, keys = jobs[0]
            while not self._batches.ended(job):
                with self._interrupts.allowed():
                    self._sleep(POLL_SECONDS)
            self._take(run, job, {key: questions[key] for key in keys if key in questions})
            if all(key in questions for key in keys):
                run.answers.end_job(job)
            del jobs[0]

    def _submit(
        self, run: QuestionRun, questions: dict[str, Question], jobs: list[tuple[str, list[str]]]
    ) -> bool:
        """Submit the questions that fit the budget; whether there were any."""
        part: dict[str, Question] = {}
        for key, question in questions.items():
            if run.answers.get(key) is not None or key in run.fetched:
                continue
            worst = self._batches.worst_cost(question) or 0.0
            if len(part) == BATCH_SIZE or not run.budget.fits(worst):
                break
            run.budget.hold(worst)
            part[key] = question
        if part:
            job = self._batches.submit(list(part.values()))
            run.answers.add_job(job, run.identity, list(part), run.now())
            jobs.append((job, list(part)))
        return bool(part)

    def _take(self, run: QuestionRun, job: str, questions: dict[str, Question]) -> None:
        if not questions:
            return
        for key, answer in self._batches.results(job, list(questions.values())).items():
            run.budget.settle(self._batches.worst_cost(questions[key]) or 0.0, cost_of(answer))
            if isinstance(answer, Evaluation):
                run.answers.put(key, answer, run.now())
            run.fetched[key] = answer
