"""Many questions in one job: each gets its own answer, whatever order they come back in."""

from __future__ import annotations

import pytest

from ethogram.app.evaluation.questions import BATCH_SIZE
from ethogram.errors import BadUsage, EvaluatorStopped
from ethogram.evaluators.anthropic import MOST_QUESTIONS, Anthropic, Batches
from ethogram.evaluators.base import Evaluation, NotMeasured, Question, Usage
from ethogram.evaluators.pricing import Price
from ethogram.evaluators.prompt import MOST_TEXT, MOST_THREAD, system_prompt
from ethogram.lexicon.records import Scan
from evaluators.model_server import SECRET_ECHO, ModelServer, honest_answer

PRICE = {"input": 2.0, "output": 10.0, "cache_read": 0.2, "cache_write": 2.5}


def question(text: str) -> Question:
    return Question("net", text, "ann", text, Scan((), len(text.split()), "en", "v1"), "focused")


QUESTIONS = [question(f"Message {k} of the batch") for k in range(10)]


def batches(server, sleeps=None, **options) -> Batches:
    sleep = (sleeps if sleeps is not None else []).append
    return Batches(Anthropic({"base_url": server.url, "price": PRICE, **options}, sleep=sleep))


def test_every_question_has_its_own_answer_at_half_the_price():
    with ModelServer(polls=2, batch=["stray"]).running() as server:
        jobs = batches(server)
        job = jobs.submit(QUESTIONS)
        assert [jobs.ended(job) for _ in range(3)] == [False, False, True]
        # Another process, which knows the questions and the job.
        answers = batches(server).results(job, QUESTIONS)
    assert server.problems == []
    assert list(answers) == [jobs.name(question) for question in QUESTIONS]
    for item in QUESTIONS:
        answer = answers[jobs.name(item)]
        assert isinstance(answer, Evaluation)
        assert answer.traits == honest_answer(item.prompt()[1])["traits"]
        assert answer.cost <= jobs.worst_cost(item)
    full = sum(Price(**PRICE).cost(Usage(**count)) for count in server.billed)
    assert sum(answer.cost for answer in answers.values()) == pytest.approx(full / 2)


def test_what_the_job_could_not_answer_is_not_measured():
    kinds = ["errored", "expired", "canceled", "another", "refusal", "high", "half", "missing", "cut", "ok"]
    with ModelServer(batch=kinds).running() as server:
        jobs = batches(server)
        answers = list(jobs.results(jobs.submit(QUESTIONS), QUESTIONS).values())
    assert [getattr(answer, "reason", None) for answer in answers] == [
        "the batch could not answer it",
        "the batch ran out of time",
        "the batch was cancelled",
        "the answer is for another message",
        "the model refused",
        "traits are no numbers from 0 to 1: virtue",
        "the answer is not one JSON object",
        "the batch has no answer for it",
        "the answer was cut off at max_tokens",
        None,
    ]
    assert [answer.spent for answer in answers[:3]] == [0, 0, 0]
    assert all(answer.spent > 0 for answer in answers[3:7])
    assert SECRET_ECHO not in repr(answers)


def test_a_text_without_a_letter_is_in_no_job():
    with ModelServer().running() as server:
        jobs, empty = batches(server), question(" \n")
        answers = jobs.results(jobs.submit([empty, QUESTIONS[0]]), [empty, QUESTIONS[0]])
        assert len(server.requests[0]["body"]["requests"]) == 1
    assert answers[jobs.name(empty)] == NotMeasured("the text is empty", final=True)
    assert isinstance(answers[jobs.name(QUESTIONS[0])], Evaluation)


def test_after_the_end_no_job_is_sent():
    with ModelServer().running() as server:
        jobs = batches(server)
        job = jobs.submit(QUESTIONS)
        jobs.model.close()
        with pytest.raises(EvaluatorStopped, match="the run was ended"):
            jobs.submit(QUESTIONS)
        with pytest.raises(EvaluatorStopped, match="the run was ended"):
            jobs.ended(job)
    assert len(server.requests) == 1


def test_equal_questions_are_asked_once_and_both_answered():
    with ModelServer().running() as server:
        jobs = batches(server)
        job = jobs.submit([QUESTIONS[0], QUESTIONS[0], QUESTIONS[1]])
        assert len(server.requests[0]["body"]["requests"]) == 2
        server.polls = 0
        assert len(jobs.results(job, QUESTIONS[:2])) == 2


def test_a_job_is_sent_again_only_where_it_cannot_have_arrived():
    sleeps: list[float] = []
    with ModelServer(["429:3", "529"]).running() as server:
        jobs = batches(server, sleeps)
        assert jobs.submit(QUESTIONS) == "msgbatch_0"
    assert (len(server.requests), len(server.batches)) == (3, 1)
    assert 3 <= sleeps[0] <= 3.25
    with ModelServer(lambda _: "401").running() as server, pytest.raises(EvaluatorStopped, match="HTTP 401"):
        batches(server).submit(QUESTIONS)
    with ModelServer(lambda _: "drop").running() as server:
        with pytest.raises(EvaluatorStopped, match="may have been made all the same"):
            batches(server).submit(QUESTIONS)
        assert (len(server.requests), len(server.batches)) == (1, 1)


def test_jobs_that_are_not_there_or_not_ready_say_so():
    with ModelServer(polls=5).running() as server:
        jobs = batches(server)
        with pytest.raises(EvaluatorStopped, match="HTTP 404"):
            jobs.ended("msgbatch_unknown")
        with pytest.raises(EvaluatorStopped, match="not ready"):
            jobs.results(jobs.submit(QUESTIONS), QUESTIONS)
        with pytest.raises(BadUsage, match="invalid id of a batch"):
            jobs.ended("../../v1/models")
        with pytest.raises(BadUsage, match="from 1 to"):
            jobs.submit([])


def test_answers_are_not_fetched_from_another_host():
    with ModelServer().running() as other, ModelServer().running() as server:
        server.results_at = other.url
        jobs = batches(server)
        job = jobs.submit(QUESTIONS)
        with pytest.raises(EvaluatorStopped, match="another host"):
            jobs.results(job, QUESTIONS)
    assert other.requests == []


def test_a_full_batch_is_not_too_large_for_the_server():
    each = len(system_prompt()) + MOST_TEXT + MOST_THREAD + 2_000
    assert BATCH_SIZE * each < 256_000_000
    assert BATCH_SIZE <= MOST_QUESTIONS


def test_without_a_price_nothing_is_told_of_costs():
    with ModelServer().running() as server:
        jobs = Batches(Anthropic({"base_url": server.url, "model": "nobody-knows-it"}))
        answers = jobs.results(jobs.submit(QUESTIONS[:1]), QUESTIONS[:1])
    assert [answer.cost for answer in answers.values()] == [None]
    assert not any(isinstance(answer, NotMeasured) for answer in answers.values())
