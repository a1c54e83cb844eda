"""length and question: measures of the text itself."""

import math

import pytest

from ethogram.models import Event
from ethogram.signals.text import length, question


def test_length_counts_characters_not_bytes():
    assert length(Event.sample(text="naïve 🦞")) == 7


def test_an_empty_text_has_length_0_and_no_text_has_none():
    assert length(Event.sample(text="")) == 0
    assert length(Event.sample()) is None


def test_length_is_taken_from_the_attribute_only_where_there_is_no_text():
    assert length(Event.sample(attributes={"length": 240})) == 240
    assert length(Event.sample(text="hi", attributes={"length": 240})) == 2


@pytest.mark.parametrize("given", [-1, math.nan, math.inf, "240", True, None, [1], 10**400])
def test_an_attribute_that_is_no_length_is_no_reading(given: object):
    assert length(Event.sample(attributes={"length": given})) is None


@pytest.mark.parametrize(
    "text",
    ["Why?", "Why? Tell me.", "really?!", '"who?" she said', "你好吗？我很好", "كيف حالك؟", "(what?)"],
)
def test_a_text_with_a_question_mark_asks(text: str):
    assert question(Event.sample(text=text)) == 1.0


@pytest.mark.parametrize("text", ["", "Tell me.", "see https://example.org/page?id=1&x=2", "a?b"])
def test_a_text_without_one_or_with_an_address_does_not(text: str):
    assert question(Event.sample(text=text)) == 0.0


def test_without_text_nothing_is_known_about_questions():
    assert question(Event.sample()) is None
