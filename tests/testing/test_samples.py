"""Samples: what a signal and an evaluator say of texts, and which contracts are checked."""

from __future__ import annotations

import pytest

from ethogram import registry, signal
from ethogram.errors import BadUsage, EthogramError
from ethogram.evaluators.base import Evaluation, Evaluator, IndicatorSpan, NotMeasured
from ethogram.testing import measure, says, score


def test_texts_and_events_are_measured_in_order():
    assert measure("question", ["Is it?", says("It is.")]) == [1.0, 0.0]
    assert measure("question", []) == []
    with pytest.raises(BadUsage, match="unknown signal"):
        measure("no_such_signal", ["x"])


def test_a_state_that_is_not_plain_is_found():
    hidden: list[int] = []

    @signal("impure", range=(0, 99))
    class Impure:
        """Counts in a list that no state holds."""

        scope, start, max_state_bytes = "subject", 0, 10

        def measure(self, event, state):
            hidden.append(1)
            return float(len(hidden)), state

    try:
        with pytest.raises(AssertionError, match="after a restart"):
            measure("impure", ["a", "b"])
    finally:
        registry.signals.discard("impure")


class Mine(Evaluator):
    name, scorer = "mine", "mine@1"

    def __init__(self, answer) -> None:
        self.answer = answer

    def evaluate(self, question):
        return self.answer


def test_a_sound_answer_passes():
    sound = Evaluation({"manipulation": 0.5}, (), "mine@1", 0)
    assert score(Mine(sound), ["a", "b"]) == [sound, sound]
    assert score(Mine(NotMeasured("empty")), ["a"])[0].reason == "empty"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "expected an Evaluation"),
        (NotMeasured(""), "needs a reason"),
        (Evaluation({"manipulation": 1.5}, (), "mine@1", 0), "expected 0 to 1"),
        (Evaluation({"mood": 0.5}, (), "mine@1", 0), "unknown trait"),
        (Evaluation({}, (), "other@1", 0), "expected its own"),
        (Evaluation({}, (IndicatorSpan("NO_SUCH", 0.5, 0, 1),), "mine@1", 0), "is unknown, or not within"),
    ],
)
def test_a_broken_contract_is_named(answer, words):
    with pytest.raises(AssertionError, match=words):
        score(Mine(answer), ["a"])


def test_a_value_outside_the_range_is_an_error():
    @signal("outside", range=(0, 1))
    def outside(event):
        """Two."""
        return 2.0

    try:
        with pytest.raises(EthogramError, match="its range is 0 to 1"):
            measure("outside", ["a"])
    finally:
        registry.signals.discard("outside")
