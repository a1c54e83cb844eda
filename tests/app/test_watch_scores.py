"""`Watch(evaluator=...)` scores what `analyze(..., evaluator=...)` scores, and finds the same."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

import pytest
from tests.evaluators.scripted import Scripted

from ethogram import Event, Watch, analyze
from ethogram.config import Settings
from ethogram.errors import BadUsage, EvaluatorStopped
from ethogram.evaluators.base import Evaluation, Question
from sampling import seeds

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
NOW = datetime(2026, 3, 20, tzinfo=UTC)
SAID = [
    "You are so smart, nobody else understands me.",
    "Act now or you will regret it: only a fool would wait.",
    "The weather in the valley is fine.",
    "Do not tell anybody; keep this between us. You are so smart.",
    "I never said that, you are imagining things.",
]
WORDS = ["oak", "fern", "iris", "kale", "elder", "birch", "cedar", "daisy"]


def talk(seed: int, count: int = 120) -> list[Event]:
    rng = random.Random(seed)
    return [
        Event(
            f"m{k}",
            START + timedelta(minutes=30 * k),
            rng.choice(["kim", "bo", "cy"]),
            k,
            target="di",
            thread=rng.choice([None, "t1", "t2"]),
            kind="message",
            text=None if rng.random() < 0.1 else f"{rng.choice(SAID)} {rng.choice(WORDS)} {k}",
            readings={"manipulation": 0.9} if rng.random() < 0.1 else {},
        )
        for k in range(count)
    ]


class Varied(Scripted):
    """Scores that depend on the words of the message and on what is shown with it."""

    def evaluate(self, question: Question) -> Evaluation:
        rng = random.Random(question.key("varied"))
        answer = super().evaluate(question)
        return Evaluation(
            {trait: round(rng.random(), 3) for trait in answer.traits}, (), self.scorer, question.width, 0.01
        )


@pytest.fixture(autouse=True)
def answers(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def settings(tmp_path, name: str) -> Settings:
    return Settings(answers=str(tmp_path / f"{name}.sqlite"))


PATTERNS = ["lasting_manipulation", "intermittent_reward", "love_bombing", "sandbagging"]


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_live_equals_batch(seed, tmp_path):
    events = talk(seed)
    batch, live = Varied(), Varied()
    whole = analyze(events, PATTERNS, evaluator=batch, settings=settings(tmp_path, "a"), now=NOW)
    watch = Watch(PATTERNS, evaluator=live, settings=settings(tmp_path, "b"), clock=lambda: NOW)
    reported = [*watch.observe_many(events), *watch.flush(), *watch.open()]
    found = {item.id: item for item in reported}
    assert {item.prompt() for item in live.asked} == {item.prompt() for item in batch.asked}
    assert any(item.tier == "deep_with_context" for item in live.asked)
    assert {key: item.to_dict() for key, item in found.items()} == {item.id: item.to_dict() for item in whole}
    assert watch.scores is not None
    assert watch.scores.evaluated == whole.evaluated["evaluated"]


def test_the_local_evaluator_live_equals_batch():
    events = talk(5)
    whole = analyze(events, PATTERNS, evaluator="local", now=NOW)
    watch = Watch(PATTERNS, evaluator="local", clock=lambda: NOW)
    found = {item.id for item in [*watch.observe_many(events), *watch.flush()]}
    assert found == {item.id for item in whole}
    assert watch.scores is not None
    assert watch.scores.evaluated == whole.evaluated["evaluated"] > 0


def test_a_saved_watch_routes_on_as_before(tmp_path):
    events = talk(7)
    first, whole = (Watch(PATTERNS, evaluator="local", clock=lambda: NOW) for _ in range(2))
    whole.observe_many(events)
    first.observe_many(events[:60])
    saved = json.loads(json.dumps(first.save()))
    second = Watch.load(saved, PATTERNS, evaluator="local", clock=lambda: NOW)
    second.observe_many(events[60:])
    assert second.scores is not None
    assert whole.scores is not None
    assert second.scores.save() == whole.scores.save()
    assert not any(said in json.dumps(saved["scores"]) for said in SAID)


def test_the_budget_is_never_exceeded(tmp_path):
    watch = Watch(
        PATTERNS,
        evaluator=Varied(worst=0.02),
        budget=0.05,
        settings=settings(tmp_path, "c"),
        clock=lambda: NOW,
    )
    watch.observe_many(talk(1))
    assert watch.scores is not None
    assert (watch.scores.budget.spent, watch.scores.stopped) == (pytest.approx(0.04), "budget")
    assert watch.scores.not_asked > 0
    with pytest.raises(BadUsage, match="budget needs an evaluator"):
        Watch(PATTERNS, budget=1.0)


def test_what_stops_the_evaluator_does_not_stop_the_watch(tmp_path):
    def stop(question: Question) -> None:
        raise EvaluatorStopped("the key was not accepted")

    watch = Watch(PATTERNS, evaluator=Scripted(stop), settings=settings(tmp_path, "d"), clock=lambda: NOW)
    watch.observe_many(talk(1))
    assert watch.scores is not None
    assert watch.scores.stopped == "the key was not accepted"
    assert watch.scores.evaluated == 0
