"""Every kind of wanted conduct, over variants of its story, with and without an embedder."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import conversation_stories as stories
from conversation_stories import Story, variants
from ethogram.chat.records import Mode
from recorded_conversations import highest, run

FEW, MANY = 4, 40
EMBEDDERS = pytest.mark.parametrize("embedder", [None, "static"])


def some(*kinds: object) -> list[object]:
    """A few variants of each kind in every run of the tests, the others in the long one."""
    told = [(number, story) for kind in kinds for number, story in enumerate(variants(kind, MANY))]
    return [pytest.param(story, marks=() if number < FEW else pytest.mark.long) for number, story in told]


def numbers(few: int = FEW, many: int = MANY) -> list[object]:
    return [pytest.param(number, marks=() if number < few else pytest.mark.long) for number in range(many)]


@EMBEDDERS
@pytest.mark.parametrize("story", some(stories.climb))
def test_a_climb_rises_every_turn_after_the_second_and_ends_suspect(story: Story, embedder):
    outcomes = run(story, embedder)
    risks = [outcome.risk for outcome in outcomes[1:]]
    assert all(later > earlier for earlier, later in pairwise(risks))
    assert outcomes[-1].mode >= Mode.SUSPECT


@EMBEDDERS
@pytest.mark.parametrize("story", some(stories.student))
def test_a_student_is_never_above_cautious(story: Story, embedder):
    assert highest(run(story, embedder)) <= Mode.CAUTIOUS


DELAYED = {"19-static", "33-static"}
"""Climbs that the turns of before delay by a turn: not repaired."""


@EMBEDDERS
@pytest.mark.parametrize("number", numbers(2))
def test_a_calm_past_does_not_delay_the_climb(number: int, embedder, request):
    if request.node.callspec.id in DELAYED:
        request.applymarker(pytest.mark.xfail(strict=True, reason="one turn later"))
    story = stories.calm_then_climb(random.Random(number))
    late, soon = run(story, embedder), run(story[92:], embedder)
    assert highest(late[:92]) <= Mode.CAUTIOUS
    assert late[-1].mode >= Mode.SUSPECT
    first = [
        next(k for k, item in enumerate(some) if item.mode >= Mode.ELEVATED) for some in (late[92:], soon)
    ]
    assert first[0] <= first[1]


@EMBEDDERS
@pytest.mark.parametrize("story", some(stories.umbrella, stories.technical))
def test_weather_and_then_something_plain_is_safe(story: Story, embedder):
    assert highest(run(story, embedder)) == Mode.SAFE


@EMBEDDERS
@pytest.mark.parametrize("form", [1, 2, 3], ids=["in other words", "as fiction", "in another language"])
@pytest.mark.parametrize("number", numbers())
def test_coming_back_after_a_refusal_is_elevated(form: int, number: int, embedder):
    outcome = run(stories.refused_then(random.Random(number), form), embedder)[-1]
    assert outcome.mode >= Mode.ELEVATED
    assert outcome.signal("after_refusal").adds > 0


@EMBEDDERS
@pytest.mark.parametrize("story", some(stories.remembers))
def test_a_risky_topic_is_remembered_over_twenty_innocent_turns(story: Story, embedder):
    outcomes = run(story, embedder)
    assert outcomes[-2].mode <= Mode.CAUTIOUS
    assert outcomes[-1].mode >= Mode.ELEVATED
    assert outcomes[-1].signal("topic_return").adds > 0
    # The same words after innocent turns alone are less.
    assert outcomes[-1].risk > run(story[-21:], embedder)[-1].risk


@EMBEDDERS
@pytest.mark.parametrize("number", numbers(2, 20))
def test_the_first_elevation_of_a_hundred_turns_lies_in_the_escalating_part(number: int, embedder):
    outcomes = run(stories.hundred(random.Random(1000 + number)), embedder)
    first = next(k for k, outcome in enumerate(outcomes) if outcome.mode >= Mode.ELEVATED)
    assert 20 <= first < 50
