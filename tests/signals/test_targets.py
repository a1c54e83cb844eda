"""first_contacts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ethogram.models import Event
from ethogram.signals import Measurer, measure_all
from ethogram.signals import targets as target_signals

START = Event.sample().at


def acts(*whose: tuple[float, str], **fields: Any) -> list[Event]:
    """Events towards zoe: minute and subject of each."""
    return [
        Event.sample(
            id=str(n), seq=n, at=START + timedelta(minutes=minute), subject=who, **{"target": "zoe", **fields}
        )
        for n, (minute, who) in enumerate(whose)
    ]


def readings(events: list[Event], name: str = "first_contacts") -> list[object]:
    return [event.readings.get(name) for event in measure_all(events, [name])]


def test_subjects_who_begin_within_ten_minutes_are_counted_once_each():
    events = acts((0, "ann"), (1, "bo"), (2, "ann"), (10, "cy"), (11, "di"), (12, "ann"), (30, "cy"))
    # At 11 ann began more than ten minutes ago; at 12 and 30 those who act are no longer new.
    assert readings(events) == [1, 2, 2, 3, 3, None, None]
    assert readings(events, "first_contact_members")[:4] == ["ann", "ann, bo", "ann, bo", "ann, bo, cy"]


def test_kinds_targets_and_sources_are_apart():
    events = [
        *acts((0, "ann")), *acts((1, "bo"), kind="call"), *acts((2, "cy"), target="yan"),
        *acts((3, "di"), source="x"), *acts((4, "ed")),
    ]  # fmt: skip
    assert readings(events) == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("fields", [{"target": None}, {"target": "ann"}, {"timed": False}])
def test_without_another_or_a_time_there_is_no_reading(fields):
    assert readings(acts((0, "ann"), **fields)) == [None]


def test_what_is_usual_is_how_many_began_before():
    events = acts(*((15 * n, f"s{n}") for n in range(6)))
    # At minute 75 five began before, in the 65 minutes up to ten minutes ago.
    assert readings(events, "first_contacts_usual") == [
        0.0, 1.0, pytest.approx(2 * 10 / 20), pytest.approx(3 * 10 / 35), pytest.approx(0.8),
        pytest.approx(5 * 10 / 65, abs=1e-6),
    ]  # fmt: skip


def test_the_subject_that_began_first_is_forgotten_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(target_signals, "MOST_SUBJECTS", 2)
    assert readings(acts((0, "ann"), (1, "bo"), (2, "cy"), (3, "ann"))) == [1, 2, 2, 2]


def test_what_is_remembered_survives_saving():
    events = acts((0, "ann"), (1, "bo"), (2, "cy"))
    measurer, other = Measurer(["first_contacts"]), Measurer(["first_contacts"])
    measurer.measure(events[0])
    other.load(measurer.save())
    assert [other.measure(event).readings["first_contacts"] for event in events[1:]] == [2, 3]
