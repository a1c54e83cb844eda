"""Exchange: who accused whom, what was asked for, and whether it was given."""

from __future__ import annotations

import pytest

from ethogram import Event
from ethogram.signals import Measurer
from ethogram.signals.exchange import spoken

SCORED = {"manipulation": 0.5}
NAMES = ("accused", "request_made", "request_size", "other_complied")


def readings(*messages: tuple[str, str, str | None]) -> list[dict[str, float]]:
    """The exchange readings of messages (subject, text, target) in one thread."""
    measurer = Measurer(NAMES)
    events = [
        Event.sample(id=f"m{k}", subject=who, thread="t", text=text, target=target, readings=SCORED)
        for k, (who, text, target) in enumerate(messages)
    ]
    return [
        {name: measured.readings[name] for name in NAMES if name in measured.readings}
        for measured in map(measurer.measure, events)
    ]


def test_whoever_speaks_after_an_accusation_or_question_was_accused():
    assert readings(("bo", "You deleted the logs.", None), ("ann", "No.", None))[1]["accused"] == 1
    assert readings(("bo", "Where are the logs?", None), ("ann", "No.", None))[1]["accused"] == 1
    assert "accused" not in readings(("bo", "The logs are there.", None), ("ann", "Good.", None))[1]


def test_an_accusation_is_of_whom_it_names():
    met = readings(
        ("ann", "Good day.", None),
        ("cy", "Good day.", None),
        ("bo", "You lied.", "ann"),
        ("cy", "I agree.", None),
        ("ann", "No.", None),
    )
    assert ["accused" in item for item in met] == [False, False, False, False, True]


def test_it_is_forgotten_once_answered():
    met = readings(("bo", "You lied.", "ann"), ("ann", "No.", "bo"), ("ann", "I mean it.", "bo"))
    assert ["accused" in item for item in met] == [False, True, False]


@pytest.mark.parametrize(
    ("answer", "value"),
    [("Done, I sent it.", 1.0), ("I would rather not.", 0.0), ("Sure, here you go.", 1.0)],
)
def test_a_request_that_is_met_or_not(answer: str, value: float):
    met = readings(("ann", "Please send me the file.", "bo"), ("bo", answer, "ann"), ("ann", "I see.", "bo"))
    assert met[0]["request_made"] == 1
    assert met[2]["other_complied"] == value
    assert "other_complied" not in met[1]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("Could you take a look?", 0.2),
        ("Can you help me with the index?", 0.4),
        ("Please send me the wallet key.", 0.8),
        ("The index is slow.", None),
        ("You do not need to send me money.", None),
    ],
)
def test_sizes_of_requests(text: str, size: float | None):
    assert readings(("ann", text, "bo"))[0].get("request_size") == size


def test_messages_that_nobody_scored_have_none_and_still_count_as_spoken():
    measurer = Measurer(NAMES)
    asked = measurer.measure(Event.sample(id="a", subject="bo", thread="t", text="Why did you lie?"))
    assert not asked.readings
    denied = Event.sample(id="b", subject="ann", thread="t", text="No.", readings=SCORED)
    assert measurer.measure(denied).readings["accused"] == 1


def test_what_is_quoted_or_denied_is_not_said():
    assert spoken("He wrote 'you lied' on the wall.") == frozenset()
    assert "accusation" not in spoken("I do not think that you lied.")
