"""Messages are scored in order, none twice, none past the budget, and nothing that was paid for is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluators.scripted import Scripted

from ethogram.app.evaluation import questions as questions_module
from ethogram.app.evaluation.questions import INTERRUPTED, OVER_BUDGET, InBatches, Sampling
from ethogram.app.evaluation.scoring import Evaluated, Paying, evaluate_events
from ethogram.errors import BadUsage, EvaluatorStopped
from ethogram.evaluators.base import Answer, Evaluation, NotMeasured, Question
from ethogram.evaluators.response_cache import Answers
from ethogram.models import Event
from waiting import PATIENCE_SECONDS

START = datetime(2026, 3, 1, tzinfo=UTC)
PRESSING = "Act now or you will regret it: only a fool would wait."
GRAVE = "Here is how to build a bomb at home, step by step."
CALM = "The weather is fine in the valley today, said the paper."


def said(*texts: str, subject: str = "kim", thread: str = "t") -> list[Event]:
    return [
        Event.sample(
            id=f"{subject}{k}",
            at=START + timedelta(minutes=k),
            seq=k,
            subject=subject,
            thread=thread,
            text=text,
        )
        for k, text in enumerate(texts)
    ]


def distinct(n: int, words: str = PRESSING, subject: str = "kim") -> list[Event]:
    # A text that comes again is not asked about, so each has a word of its own.
    names = [
        "apple",
        "birch",
        "cedar",
        "daisy",
        "elder",
        "fern",
        "grape",
        "hazel",
        "iris",
        "jasmine",
        "kale",
        "lilac",
        "maple",
        "nettle",
        "oak",
        "pine",
    ]
    return said(*(f"{words} {names[k % 16]} {names[k // 16]}" for k in range(n)), subject=subject)


def evaluate(events: Sequence[Event], by: Scripted, **how: object) -> Evaluated:
    share = how.pop("share", 0.0)
    return evaluate_events(events, by, sampling=Sampling(share), paying=Paying(**how))  # type: ignore[arg-type]


def ids(questions: Sequence[Question]) -> list[str]:
    return [question.id for question in questions]


def test_only_messages_with_a_flag_are_asked_about() -> None:
    by = Scripted()
    evaluated = evaluate(said(CALM, PRESSING, CALM), by)
    assert ids(by.asked) == ["kim1"]
    assert set(evaluated.answers) == {("input", "kim1")}


def test_a_sample_of_the_others_is_asked_about_too() -> None:
    by = Scripted()
    evaluate(said(CALM, PRESSING), by, share=1.0)
    assert ids(by.asked) == ["kim0", "kim1"]


def test_of_a_sampled_subject_every_message_is_asked_about() -> None:
    by = Scripted()
    many = [item for k in range(30) for item in distinct(3, CALM, f"s{k}")]
    evaluate_events(many, by, sampling=Sampling(0.5, "subject"))
    asked = {name: sum(item.subject == name for item in by.asked) for name in {e.subject for e in many}}
    assert set(asked.values()) == {0, 3}


def test_scores_become_readings_that_say_who_measured_with_what_width() -> None:
    events = said(CALM, PRESSING)
    evaluated = evaluate(events, Scripted(value=0.5))
    calm, pressing = map(evaluated.readings_of, events)
    assert calm == events[0]
    assert pressing.readings["manipulation"] == 0.5
    # Half of everything: each dimension is the mean of two halves and two inverted halves.
    assert pressing.readings["ethos"] == pressing.readings["balance"] * 0.5 == 0.5
    assert pressing.scorers["manipulation"] == "scripted:one@1"
    assert pressing.widths["manipulation"] == 0


def test_scores_take_the_place_of_readings_that_came_with_the_event() -> None:
    (event,) = said(PRESSING)
    given_too = event.with_readings({"manipulation": 0.9, "MAN_URGENCY": 0.8, "topic": "money"})
    found = evaluate([given_too], Scripted(value=0.5)).readings_of(given_too)
    assert found.readings["manipulation"] == 0.5
    assert "MAN_URGENCY" not in found.readings
    assert found.readings["topic"] == "money"


def test_what_could_not_be_measured_is_absent_and_told() -> None:
    by = Scripted()
    by._say = lambda item: by.fail() if item.id == "kim1" else None
    events = distinct(3)
    evaluated = evaluate(events, by)
    assert {key: why.reason for key, why in evaluated.missing.items()} == {
        ("input", "kim1"): "the model refused"
    }
    assert evaluated.readings_of(events[1]).readings == {}
    assert evaluated.to_dict()["reasons"] == {"the model refused": 1}
    assert evaluated.spent == pytest.approx(0.03)


def test_a_second_run_asks_nobody(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "answers.sqlite")
    first = evaluate(distinct(5), Scripted(), answers=answers)
    again = Scripted()
    second = evaluate(distinct(5), again, answers=answers)
    assert again.asked == []
    assert second.spent == 0
    assert len(second.cached) == 5
    assert {k: dict(v.traits) for k, v in second.answers.items()} == {
        k: dict(v.traits) for k, v in first.answers.items()
    }


def test_another_model_is_another_answer(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "answers.sqlite")
    evaluate(distinct(2), Scripted(), answers=answers)
    other = Scripted()
    other.scorer = "scripted:two@1"
    evaluate(distinct(2), other, answers=answers)
    assert len(other.asked) == 2


def test_what_failed_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "answers.sqlite")
    by = Scripted()
    by._say = lambda item: by.fail() if item.id == "kim1" else None
    evaluate(distinct(3), by, answers=answers)
    again = Scripted()
    evaluated = evaluate(distinct(3), again, answers=answers)
    assert ids(again.asked) == ["kim1"]
    assert not evaluated.missing


@pytest.fixture
def when_awaited(monkeypatch: pytest.MonkeyPatch) -> Callable[[Question], None]:
    """What a model does that answers only once answers are waited for."""
    awaited = threading.Event()

    def waiting(*args: object, **how: object) -> object:
        awaited.set()
        return wait(*args, **how)  # type: ignore[arg-type]

    def say(_: Question) -> None:
        assert awaited.wait(PATIENCE_SECONDS), "nobody waits for an answer"

    monkeypatch.setattr(questions_module, "wait", waiting)
    return say


def test_the_same_question_is_asked_once_and_answers_both(when_awaited: Callable[[Question], None]) -> None:
    by = Scripted(when_awaited, concurrency=4)
    two = [*said(PRESSING, subject="ann", thread="a"), *said(PRESSING, subject="bob", thread="b")]
    evaluated = evaluate(two, by)
    assert len(by.asked) == 1
    assert set(evaluated.answers) == {("input", "ann0"), ("input", "bob0")}
    assert evaluated.spent == pytest.approx(0.01)


def test_no_more_are_under_way_than_allowed() -> None:
    together = threading.Barrier(3, timeout=PATIENCE_SECONDS)

    # Nobody gets an answer before three are under way; a fourth would be one too many.
    def meet(_: Question) -> None:
        together.wait()

    by = Scripted(meet, concurrency=3)
    evaluate([item for k in range(6) for item in distinct(1, f"{PRESSING} It is {k}.", f"s{k}")], by)
    assert by.most_under_way == 3


def test_a_history_is_told_when_the_earlier_ones_are_answered(
    when_awaited: Callable[[Question], None],
) -> None:
    by = Scripted(when_awaited, concurrency=4, value=0.75)
    evaluate([*distinct(2), *said(CALM, CALM + " Again.", GRAVE)[2:]], by)
    grave = by.asked[-1]
    assert grave.tier == "deep_with_context"
    assert grave.history is not None
    told = {item["signal"]: item for item in grave.history["signals"]}
    assert grave.history["messages"] == 2
    assert told["manipulation"]["mean"] == 0.75
    assert told["manipulation"]["count"] == 2


def test_detections_of_the_subject_so_far_are_told() -> None:
    by = Scripted()
    seen: list[list[str]] = []

    def detected(events: Sequence[Event]) -> list[str]:
        seen.append([event.id for event in events])
        return ["repeated_pressure"]

    evaluate([*distinct(2), *said(CALM, CALM + " Again.", GRAVE)[2:]], by, detections=detected)
    assert seen == [["kim0", "kim1"]]
    assert by.asked[-1].history is not None
    assert by.asked[-1].history["detections"] == ["repeated_pressure"]


def test_the_thread_is_shown_as_wide_as_the_tier_says() -> None:
    by = Scripted()
    mixed = sorted([*distinct(6, CALM, "bo"), *distinct(6)], key=lambda item: (item.at, item.subject))
    evaluate(mixed, by)
    wide = {item.id: len(item.thread) for item in by.asked}
    tiers = {item.id: item.tier for item in by.asked}
    assert tiers["kim0"] == "focused"
    assert wide["kim0"] == 0
    deep = [name for name, tier in tiers.items() if tier == "deep"]
    assert deep
    assert {wide[name] for name in deep} == {4}


@settings(max_examples=60, deadline=None)
@given(
    costs=st.lists(st.floats(0, 1), min_size=1, max_size=12),
    limit=st.floats(0, 5),
    concurrency=st.integers(1, 4),
)
def test_the_budget_is_never_passed(costs: list[float], limit: float, concurrency: int) -> None:
    by = Scripted(worst=1.0, concurrency=concurrency)

    def say(question: Question) -> object:
        by_id = int(question.id.removeprefix("kim"))
        return NotMeasured("x", costs[by_id])

    by._say = say  # type: ignore[assignment]
    evaluated = evaluate(distinct(len(costs)), by, budget=limit)
    assert evaluated.spent <= limit + 1e-9
    # Nothing is left undone that would have fitted even at its worst.
    if evaluated.unasked:
        assert evaluated.stopped == OVER_BUDGET
        assert evaluated.spent + 1.0 > limit


def test_a_run_that_ran_out_goes_on_where_it_stopped(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "answers.sqlite")
    first = evaluate(distinct(10), Scripted(), answers=answers, budget=0.05)
    assert (len(first.answers), first.unasked, first.stopped) == (4, 6, OVER_BUDGET)
    rest = Scripted()
    second = evaluate(distinct(10), rest, answers=answers, budget=1.0)
    assert ids(rest.asked) == [f"kim{k}" for k in range(4, 10)]
    assert len(second.answers) == 10


def test_a_budget_needs_a_price() -> None:
    by = Scripted()
    by._worst = None  # type: ignore[assignment]
    with pytest.raises(BadUsage, match="no price is known"):
        evaluate(distinct(2), by, budget=1.0)
    assert by.asked == []


def test_an_interrupt_loses_no_answer(tmp_path: Path, when_awaited: Callable[[Question], None]) -> None:
    path = tmp_path / "answers.sqlite"
    by = Scripted(when_awaited, concurrency=3)

    def interrupt(done: int, total: int, spent: float) -> None:
        if done == 4:
            raise KeyboardInterrupt

    found = evaluate_events(
        distinct(12), by, sampling=Sampling(0.0), paying=Paying(Answers(path)), progress=interrupt
    )
    assert found.stopped == INTERRUPTED
    assert len(Answers(path)) == len(by.asked) < 12
    rest = Scripted()
    evaluate(distinct(12), rest, answers=Answers(path))
    assert len(rest.asked) == 12 - len(by.asked)


@pytest.mark.parametrize("nth", [1, 12])
def test_an_interrupt_while_an_answer_is_saved_does_not_lose_it(tmp_path: Path, nth: int) -> None:
    class Interrupting(Answers):
        def put(self, key: str, answer: Evaluation, at: datetime) -> None:
            if len(self) == nth - 1:
                signal.raise_signal(signal.SIGINT)
            super().put(key, answer, at)

    by, answers = Scripted(), Interrupting(tmp_path / "answers.sqlite")
    evaluated = evaluate(distinct(12), by, answers=answers)
    assert evaluated.stopped == INTERRUPTED
    assert len(answers) == len(by.asked)
    assert len(by.asked) == nth
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_evaluator_that_cannot_go_on_is_not_asked_again() -> None:
    by = Scripted()

    def refuse(question: Question) -> None:
        raise EvaluatorStopped("the key was not accepted (401)")

    by._say = refuse
    evaluated = evaluate(distinct(20), by)
    assert len(by.asked) == 1
    assert evaluated.stopped == "the key was not accepted (401)"
    with pytest.raises(EvaluatorStopped, match="401"):
        evaluated.must_not_have_stopped()


def test_the_file_of_answers_holds_no_text_and_no_name(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    answers = Answers(path)
    evaluate(distinct(3), Scripted(), answers=answers)
    answers.close()
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"regret" not in held
    assert b"kim" not in held
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_is_something_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing of the kind, and long enough to be looked at as a file of tables" * 20)
    with pytest.raises(BadUsage, match=r"notes\.txt is not a cache of answers: it is not an SQLite file"):
        Answers(path)
    assert path.read_text().startswith("nothing of the kind")


def test_a_used_up_budget_still_gives_what_is_kept(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "answers.sqlite")
    ann, bob = distinct(1, subject="ann"), said(PRESSING + " Really.", subject="bob", thread="u")
    evaluate(bob, Scripted(), answers=answers)
    evaluated = evaluate([*ann, *bob], Scripted(), answers=answers, budget=0.0)
    assert [name for _, name in evaluated.answers] == ["bob0"]
    assert (evaluated.unasked, evaluated.stopped) == (1, OVER_BUDGET)


class Jobs:
    """Batches that end at the third look; `answers` may be NotMeasured."""

    def __init__(self, by: Scripted, looks: int = 2) -> None:
        self.by, self.looks = by, looks
        self.sent: list[list[str]] = []

    def submit(self, questions: list[Question]) -> str:
        self.sent.append(ids(questions))
        return f"job{len(self.sent)}"

    def ended(self, job: str) -> bool:
        self.looks -= 1
        return self.looks < 0

    def results(self, job: str, questions: list[Question]) -> dict[str, Answer]:
        half = replace(self.by.answer(0.5, questions[0]), cost=0.005)
        return {
            question.key(self.by.scorer): NotMeasured("the batch could not answer it")
            if question.id == "kim1"
            else half
            for question in questions
        }

    def worst_cost(self, question: Question) -> float:
        return 0.01


def test_in_batches_only_what_waits_or_failed_is_asked_by_itself() -> None:
    by, waits = Scripted(), []
    jobs = Jobs(by)
    events = [*distinct(3), *said(*[CALM] * 3, GRAVE)[3:]]
    evaluated = evaluate(events, by, run=InBatches(jobs, sleep=waits.append))
    assert jobs.sent == [["kim0", "kim1", "kim2"]]
    assert waits == [30.0, 30.0]
    assert ids(by.asked) == ["kim1", "kim3"]
    assert evaluated.spent == pytest.approx(2 * 0.005 + 2 * 0.01)
    assert not evaluated.cached
    assert evaluated.answers["input", "kim0"].traits["virtue"] == 0.5


def test_an_interrupted_batch_is_fetched_by_the_next_run(tmp_path: Path) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    by, answers = Scripted(), Answers(tmp_path / "answers.sqlite")
    first = Jobs(by)
    evaluated = evaluate(distinct(2), by, answers=answers, run=InBatches(first, sleep=interrupt))
    assert evaluated.stopped == INTERRUPTED
    again = Jobs(by, looks=0)
    evaluated = evaluate(distinct(2), by, answers=answers, run=InBatches(again))
    assert again.sent == []
    assert set(evaluated.answers) == {("input", "kim0"), ("input", "kim1")}
    assert list(answers.jobs(by.scorer)) == []


def test_a_batch_holds_no_more_than_the_budget_allows_and_the_next_goes_on() -> None:
    by = Scripted(worst=1.0)
    jobs = Jobs(by, looks=0)
    events = [item for k in range(6) for item in distinct(1, f"{PRESSING} It is {'abcdef'[k]}.", f"p{k}")]
    evaluated = evaluate(events, by, run=InBatches(jobs), budget=0.025)
    # Each may cost 0.01 and does cost 0.005; what a job did not cost is for the next one.
    assert [len(job) for job in jobs.sent] == [2, 1, 1]
    assert evaluated.spent == pytest.approx(0.02)
    assert (evaluated.stopped, evaluated.unasked) == (OVER_BUDGET, 2)


def test_a_disk_that_is_full_ends_it_and_loses_no_answer() -> None:
    class Full(Answers):
        def put(self, key: str, answer: object, at: object) -> None:
            raise BadUsage("answers.sqlite: answers cannot be saved here: database or disk is full")

    by = Scripted()
    evaluated = evaluate(distinct(5), by, answers=Full())
    assert len(by.asked) == len(evaluated.answers) == 1
    assert "disk is full" in evaluated.stopped
    assert evaluated.unasked == 4


def test_a_batch_that_cannot_go_on_is_told_with_what_it_will_cost() -> None:
    by = Scripted()
    jobs = Jobs(by)

    def stop(job: str) -> bool:
        raise EvaluatorStopped("anthropic: the connection broke")

    jobs.ended = stop  # type: ignore[method-assign]
    evaluated = evaluate(distinct(3), by, run=InBatches(jobs))
    assert (evaluated.stopped, evaluated.unasked, evaluated.in_jobs) == (
        "anthropic: the connection broke",
        3,
        3,
    )


def test_a_second_interrupt_ends_it_and_counts_what_was_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    class Slow(Scripted):
        def close(self) -> None:
            ended.set()

    def until_closed(question: Question) -> NotMeasured:
        ended.wait(PATIENCE_SECONDS)
        return NotMeasured("the run was ended", 0.02)

    by = Slow(until_closed, concurrency=2)
    interrupts = iter((True, True))

    def waiting(*args: object, **how: object) -> object:
        if next(interrupts, False):
            raise KeyboardInterrupt
        return wait(*args, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(questions_module, "wait", waiting)
    evaluated = evaluate(distinct(6), by)
    assert evaluated.stopped == INTERRUPTED
    assert len(by.asked) == 2
    assert (evaluated.spent, evaluated.unasked) == (pytest.approx(0.04), 4)
